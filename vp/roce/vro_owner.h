/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#ifndef VRO_OWNER_H
#define VRO_OWNER_H

#include <stddef.h>

#include "rnicpi_attr.h"

#define VRO_OWNER_TEXT 80u

/* The process that has UDP port 4791 of that address, IPv4 or IPv6: words for a sentence. */
void vro_owner_name(const struct ri_addr *addr, char *text, size_t room);

#endif /* VRO_OWNER_H */
