/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Addresses that processes share: calls go to the part of this process that talks to the daemon, if there is one. */
#include "kal_host_share.h"

#include <stdatomic.h>

#include "kal_host.h"

static _Atomic(const struct kal_share_source *) now;

void
kal_share_source_set(const struct kal_share_source *source)
{
	atomic_store(&now, source);
}

enum ri_status
kal_host_share(void *self, struct ri_share *share)
{
	const struct kal_host *host = self;
	const struct kal_share_source *source = atomic_load(&now);

	if (atomic_load(&host->dead))
		return RI_ERR_FATAL;
	return source != NULL ? source->share(share) : RI_ERR_UNSUPPORTED;
}

void
kal_host_share_over(void *self, struct ri_share *share)
{
	const struct kal_host *host = self;
	const struct kal_share_source *source = atomic_load(&now);

	if (source != NULL && !atomic_load(&host->dead))
		source->share_over(share);
}

enum ri_status
kal_host_share_service(void *self, struct ri_share *share, uint32_t service, bool over)
{
	const struct kal_host *host = self;
	const struct kal_share_source *source = atomic_load(&now);

	if (atomic_load(&host->dead))
		return RI_ERR_FATAL;
	return source != NULL ? source->service(share, service, over) : RI_ERR_RESOURCES;
}
