/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Loopback addresses of one test process: runs at the same time, of this build or another one, have others. */
#ifndef ROCE_ADDRESS_H
#define ROCE_ADDRESS_H

#include <glib.h>
#include <unistd.h>

#include "rnicpi_attr.h"

/* `which`: 0 to 3. */
static inline struct ri_addr
roce_address(unsigned which)
{
	unsigned pid = (unsigned)getpid();

	return (struct ri_addr){.family = RI_ADDR_IPV4,
				.octets = {127, (uint8_t)(128 + (pid >> 14 & 63)),
					   (uint8_t)(pid >> 6), (uint8_t)(pid << 2 | which)}};
}

/* Adapters that are opened from now on have that address. */
static inline void
roce_address_use(const struct ri_addr *addr)
{
	g_autofree char *text = g_strdup_printf("%u.%u.%u.%u", addr->octets[0], addr->octets[1],
						addr->octets[2], addr->octets[3]);

	g_setenv("ITAPI_ROCE_ADDRESS", text, TRUE);
}

#endif /* ROCE_ADDRESS_H */
