/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Who shares addresses with other processes: the client half of the daemon, while there is one. */
#ifndef KAL_HOST_SHARE_H
#define KAL_HOST_SHARE_H

#include "rnicpi_host.h"

/* As the entries of struct ri_host. */
struct kal_share_source {
	enum ri_status (*share)(struct ri_share *share);
	void (*share_over)(struct ri_share *share);
	enum ri_status (*service)(struct ri_share *share, uint32_t service, bool over);
};

/* NULL: nobody. */
void kal_share_source_set(const struct kal_share_source *source);

enum ri_status kal_host_share(void *self, struct ri_share *share) RI_MUST_CHECK;
void kal_host_share_over(void *self, struct ri_share *share);
enum ri_status kal_host_share_service(void *self, struct ri_share *share, uint32_t service,
				      bool over) RI_MUST_CHECK;

#endif /* KAL_HOST_SHARE_H */
