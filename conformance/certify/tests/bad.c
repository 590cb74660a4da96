/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The emulated provider with one fault, which CERT_BAD names: for the tests of it-certify itself. What a fault costs and
 * how it is told is what is tested; the mutants of conformance/mutants are the faults of real devices.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rnicpi.h"

const struct ri_provider *BAD_OF(void);
__attribute__((visibility("default"))) const struct ri_provider *ri_provider_entry(void);

static const struct ri_provider *whole;
static struct ri_provider provider;
static struct ri_device_ops device;
static struct ri_pd_ops pd;
static struct ri_cq_ops cq;
static struct ri_mem_ops mem;
static struct ri_fast_ops fast;
static const struct ri_host *host;
static const struct ri_upcalls *upcalls;

/* Crashes in the first post. */
static enum ri_status
post_crash(struct ri_uqp *qp, const struct ri_wr *wr)
{
	(void)qp;
	(void)wr;
	abort();
}

/* Never returns from the first post. */
static enum ri_status
post_hang(struct ri_uqp *qp, const struct ri_wr *wr)
{
	(void)qp;
	(void)wr;
	while (pause() != 0)
		continue;
	return RI_SUCCESS;
}

/* Says what is no status. */
static enum ri_status
pd_odd(struct ri_context *context, struct ri_pd **out)
{
	enum ri_status status = whole->pd->create(context, out);

	return status == RI_SUCCESS ? (enum ri_status)99 : status;
}

/* Makes an upcall inside a control verb. */
static enum ri_status
cq_loud(struct ri_context *context, uint64_t ctx, uint32_t *entries, struct ri_cq **out,
	struct ri_map *map)
{
	upcalls->cq_event(upcalls->self, ctx);
	return whole->cq->create(context, ctx, entries, out, map);
}

static enum ri_status
open_noted(const struct ri_open *open, struct ri_rnic **out)
{
	host = open->host;
	upcalls = open->upcalls;
	return whole->device->open(open, out);
}

/* Leaves a timer behind. */
static void
fire(void *arg)
{
	(void)arg;
}

static void
close_leaving(struct ri_rnic *rnic)
{
	struct ri_timer *timer = calloc(1, sizeof(*timer)); /* the host's for good */

	whole->device->close(rnic);
	if (timer == NULL)
		abort();
	timer->fire = fire;
	host->timer_start(host->self, timer, host->now(host->self) + UINT64_C(3600000000000));
}

/* Keeps a descriptor for each region. */
static enum ri_status
reg_growing(struct ri_pd *of, const struct ri_mr_init *init, struct ri_mr **out, uint32_t *stag)
{
	int kept = dup(STDERR_FILENO);

	return kept < 0 ? RI_ERR_RESOURCES : whole->mem->mr_reg(of, init, out, stag);
}

/* Claims what it has no entry for. */
static enum ri_status
query_boasting(struct ri_rnic *rnic, struct ri_rnic_attr *attr)
{
	enum ri_status status = whole->device->query(rnic, attr);

	attr->cm_forms |= RI_CM_STREAM;
	return status;
}

static void
copy(void)
{
	whole = BAD_OF();
	provider = *whole;
	provider.name = "bad";
	provider.device = memcpy(&device, whole->device, sizeof(device));
	provider.pd = memcpy(&pd, whole->pd, sizeof(pd));
	provider.cq = memcpy(&cq, whole->cq, sizeof(cq));
	provider.mem = memcpy(&mem, whole->mem, sizeof(mem));
	provider.fast = memcpy(&fast, whole->fast, sizeof(fast));
	device.open = open_noted;
}

const struct ri_provider *
ri_provider_entry(void)
{
	const char *fault = secure_getenv("CERT_BAD");

	copy();
	if (fault == NULL)
		return &provider;
	if (strcmp(fault, "crash") == 0)
		fast.post_sq = post_crash;
	else if (strcmp(fault, "hang") == 0)
		fast.post_sq = post_hang;
	else if (strcmp(fault, "odd") == 0)
		pd.create = pd_odd;
	else if (strcmp(fault, "loud") == 0)
		cq.create = cq_loud;
	else if (strcmp(fault, "leaving") == 0)
		device.close = close_leaving;
	else if (strcmp(fault, "boasting") == 0)
		device.query = query_boasting;
	else if (strcmp(fault, "growing") == 0)
		mem.mr_reg = reg_growing;
	else if (strcmp(fault, "absent") == 0)
		return NULL;
	return &provider;
}
