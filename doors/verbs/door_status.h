/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* The statuses of RNIC-PI in the words of verbs. */
#ifndef DOOR_STATUS_H
#define DOOR_STATUS_H

#include "rnicpi_types.h"

/* The errno that stands for a status; 0 for RI_SUCCESS. */
int door_errno(enum ri_status status);

#endif /* DOOR_STATUS_H */
