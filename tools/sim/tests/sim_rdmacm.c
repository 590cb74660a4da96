/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* A program of librdmacm, which a simulation does not run. */
#include <rdma/rdma_cma.h>

int
main(void)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();

	if (channel == NULL)
		return 1;
	rdma_destroy_event_channel(channel);
	return 0;
}
