/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Names that the template of today uses and that version 1.6 did not have; included in front of its files. */
#ifndef OLD_H
#define OLD_H

#include <rnicpi/rnicpi.h>

#define RI_WR_INLINE         (1u << 8)
#define RI_WR_IMMEDIATE      (1u << 9)
#define RI_CM_REASON_REFUSED RI_CM_REASON_OTHER

#endif /* OLD_H */
