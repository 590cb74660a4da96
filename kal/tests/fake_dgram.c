/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Datagrams of the fake provider: address handles, and queries, which it only records. */

#include "fake_internal.h"

uint64_t fake_queried;
uint64_t fake_cancelled;
struct ri_service_answer fake_answer;

struct ri_ah {
	struct ri_pd *pd;
};

static enum ri_status
ah_create(struct ri_pd *pd, const struct ri_ah_init *init, struct ri_ah **out, uint32_t *id)
{
	if (init->dest.family == RI_ADDR_NONE)
		return RI_ERR_NO_ROUTE;
	*out = fake_make(sizeof(**out));
	(*out)->pd = pd;
	pd->users++;
	*id = 17;
	return RI_SUCCESS;
}

static enum ri_status
ah_modify(struct ri_ah *ah, const struct ri_ah_init *init)
{
	(void)ah;
	return init->dest.family == RI_ADDR_NONE ? RI_ERR_NO_ROUTE : RI_SUCCESS;
}

static enum ri_status
ah_destroy(struct ri_ah *ah)
{
	ah->pd->users--;
	fake_free(ah);
	return RI_SUCCESS;
}

const struct ri_ah_ops fake_ah_ops = {
	.size = sizeof(fake_ah_ops),
	.create = ah_create,
	.modify = ah_modify,
	.destroy = ah_destroy,
};

enum ri_status
fake_resolve(struct ri_context *context, uint64_t ctx, const struct ri_cm_params *params)
{
	(void)context;
	fake_queried = ctx;
	fake_cm_params = *params;
	return fake_cm_status;
}

void
fake_resolve_cancel(struct ri_context *context, uint64_t ctx)
{
	(void)context;
	fake_cancelled = ctx;
}

enum ri_status
fake_resolve_answer(struct ri_request *request, const struct ri_service_answer *answer)
{
	(void)request;
	fake_answer = *answer;
	return fake_cm_status;
}
