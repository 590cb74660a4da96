/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* The copy that places data in the memory of an application whose peer has sent it. */
#ifndef VSW_COPY_H
#define VSW_COPY_H

#include <stddef.h>
#include <stdint.h>

/* Copy in order: no later byte is written before an earlier one. Fast path. */
void vsw_copy(uint8_t *to, const uint8_t *from, size_t len);

#endif /* VSW_COPY_H */
