/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* [profile] */
/* mc_provider.c: the adapter, its profile, the entry of the provider. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mc.h"

/* Copies a struct into that of the caller, which may have fewer members. Both begin with their size. */
static void
answer(void *to, const void *from, uint32_t size)
{
	uint32_t room;

	memcpy(&room, to, sizeof(room));
	memcpy(to, from, room < size ? room : size);
}

static enum ri_status
device_query(struct ri_rnic *rnic, struct ri_rnic_attr *attr)
{
	struct ri_rnic_attr own = {
		.size = sizeof(own),
		.transport = RI_TRANSPORT_IB,
		.name = MC_NAME,
		.vendor = "the template of itapi",
		.num_ports = 1,

		.max_pd = MC_OBJECTS,
		.max_qp = MC_OBJECTS,
		.max_cq = MC_OBJECTS,
		.max_cqe = MC_ENTRIES,
		.max_mr = MC_OBJECTS,
		.max_mr_length = MC_LENGTH,
		.max_sq_wr = MC_REQUESTS,
		.max_rq_wr = MC_REQUESTS,
		.max_send_sge = 1,
		.max_recv_sge = 1,
		.max_write_sge = 1,
		.max_read_sge = 1,
		.max_ird = MC_DEPTH,
		.max_ord = MC_DEPTH,
		.max_message_size = MC_MESSAGE,
		.num_completion_handlers = 1,

		.mr_key_owner = RI_KEY_PROVIDER,
		.rnr_mode = RI_RNR_TERMINATE,
		.completion_acked = true,
		.remote_status = true,
		.in_order_completion = true,
		.cq_notify_flag = true,
		.cq_arm_count = true,
		.solicited_works = true,
		.thread_safe_queues = true,
		.enables_modifiable = true,
		.ord_increasable = true,
		.ird_modifiable = true,

		.cm_forms = RI_CM_ADDRESS,
		.connect_pdata = MC_PDATA,
		.accept_pdata = MC_PDATA,
		.reject_pdata = MC_PDATA,
		.addr_ip = true,
		.one_address_space = true,
	};

	(void)rnic;
	answer(attr, &own, sizeof(own));
	return RI_SUCCESS;
}
/* [profile] */

/* [spigot] */
/* --- the spigot --------------------------------------------------------------------------- */

const struct ri_addr mc_address = {.family = RI_ADDR_IPV4, .octets = {127, 0, 0, 1}};

static enum ri_status
device_query_port(struct ri_rnic *rnic, uint32_t port, struct ri_port_attr *attr)
{
	struct ri_port_attr own = {.size = sizeof(own), .online = true, .max_message = MC_MESSAGE};

	(void)rnic;
	if (port != 0)
		return RI_ERR_INVALID_ARG; /* there is one spigot */
	own.num_addrs = 1;
	own.addrs[0] = mc_address;
	answer(attr, &own, sizeof(own));
	return RI_SUCCESS;
}
/* [spigot] */

/* [lock] */
/* --- the lock, and notes ------------------------------------------------------------------ */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t started = PTHREAD_COND_INITIALIZER;
static struct ri_rnic *due; /* adapters that have notes, and whose task is to be started */

void
mc_lock(void)
{
	pthread_mutex_lock(&lock);
}

/* Starts the tasks first, without the lock: that can be a system call. */
void
mc_unlock(void)
{
	while (due != NULL) {
		struct ri_rnic *rnic = due;

		due = rnic->next_due;
		rnic->due = false;
		rnic->starting++; /* so it is not closed now */
		pthread_mutex_unlock(&lock);
		rnic->host->task_run(rnic->host->self, &rnic->task);
		pthread_mutex_lock(&lock);
		if (--rnic->starting == 0)
			pthread_cond_broadcast(&started);
	}
	pthread_mutex_unlock(&lock);
}

/*
 * A forked child has no adapters of its parent, only the memory of them. So what finds objects is emptied there. The thread
 * that forks owns the lock meanwhile, so no other thread is in the middle of a change.
 */
static void
after_fork_parent(void)
{
	pthread_mutex_unlock(&lock);
}

static void
after_fork_child(void)
{
	pthread_mutex_init(&lock, NULL);
	pthread_cond_init(&started, NULL);
	due = NULL;
	mc_objects_forked();
	mc_cm_forked();
}

static void
watch_forks(void)
{
	static bool watched;

	if (!watched)
		pthread_atfork(mc_lock, after_fork_parent, after_fork_child);
	watched = true;
}

void
mc_note_init(struct mc_note *note, struct ri_rnic *rnic, void (*tell)(void *), void *object)
{
	*note = (struct mc_note){.rnic = rnic, .tell = tell, .object = object};
}

void
mc_note_queue(struct mc_note *note)
{
	struct ri_rnic *rnic = note->rnic;
	struct mc_note **at = &rnic->notes;

	if (note->queued)
		return;
	while (*at != NULL)
		at = &(*at)->next;
	note->queued = true;
	note->next = NULL;
	*at = note;
	if (!rnic->due) {
		rnic->due = true;
		rnic->next_due = due;
		due = rnic;
	}
}

/* On the service thread. */
static void
tell_all(void *arg)
{
	struct ri_rnic *rnic = arg;

	mc_lock();
	while (rnic->notes != NULL) {
		struct mc_note *note = rnic->notes;

		mc_note_unlink(note);
		note->tell(note->object);
	}
	mc_unlock();
}

void
mc_note_unlink(struct mc_note *note)
{
	struct mc_note **at = &note->rnic->notes;

	while (*at != NULL && *at != note)
		at = &(*at)->next;
	if (*at == note)
		*at = note->next;
	note->queued = false;
}

void
mc_note_forget(struct mc_note *note)
{
	struct ri_rnic *rnic = note->rnic;

	mc_lock();
	mc_note_unlink(note);
	mc_unlock();
	rnic->host->task_stop(rnic->host->self, &rnic->task); /* waits while the task runs */
	rnic->host->task_run(rnic->host->self, &rnic->task);  /* there may be other notes */
}
/* [lock] */

/* [open] */
/* --- open and close ----------------------------------------------------------------------- */

static enum ri_status
device_probe(const struct ri_host *host, struct ri_device_desc *descs, uint32_t *count)
{
	(void)host;
	if (*count > 0)
		descs[0] = (struct ri_device_desc){.name = MC_NAME,
						   .description = "copies memory in this process",
						   .transport = RI_TRANSPORT_IB,
						   .num_ports = 1};
	*count = 1;
	return RI_SUCCESS;
}

static enum ri_status
device_open(const struct ri_open *open, struct ri_rnic **out)
{
	struct ri_rnic *rnic;

	if (strcmp(open->name, MC_NAME) != 0)
		return RI_ERR_NO_DEVICE;
	rnic = calloc(1, sizeof(*rnic));
	if (rnic == NULL)
		return RI_ERR_RESOURCES;
	rnic->host = open->host;
	rnic->upcalls = open->upcalls;
	rnic->task = (struct ri_task){.fire = tell_all, .arg = rnic};
	*out = rnic;
	return RI_SUCCESS;
}

static void
device_close(struct ri_rnic *rnic)
{
	mc_refuse_all(rnic);
	mc_lock();
	while (rnic->due || rnic->starting > 0)
		pthread_cond_wait(&started, &lock);
	mc_unlock();
	rnic->host->task_stop(rnic->host->self, &rnic->task);
	free(rnic);
}

static enum ri_status
context_create(struct ri_rnic *rnic, const struct ri_owner *owner, struct ri_context **out,
	       struct ri_map *map)
{
	struct ri_context *context;

	if (owner->shared)
		return RI_ERR_UNSUPPORTED; /* its queues would have to be in memory that two processes map */
	context = calloc(1, sizeof(*context));
	if (context == NULL)
		return RI_ERR_RESOURCES;
	context->rnic = rnic;
	context->owner = *owner;
	map->words[0] = (uintptr_t)rnic;
	*out = context;
	return RI_SUCCESS;
}

static void
context_destroy(struct ri_context *context)
{
	mc_take_back(context);
	free(context);
}
/* [open] */

/* [entry] */
/* --- what is registered ------------------------------------------------------------------- */

static const struct ri_device_ops device_ops = {
	.size = sizeof(device_ops),
	.probe = device_probe,
	.open = device_open,
	.close = device_close,
	.query = device_query,
	.query_port = device_query_port,
	.context_create = context_create,
	.context_destroy = context_destroy,
};

static const struct ri_provider provider = {
	.abi_major = RI_ABI_MAJOR,
	.abi_minor = RI_ABI_MINOR,
	.size = sizeof(provider),
	.name = "memcopy",
	.description = "the template of a provider",
	.device = &device_ops,
	.pd = &mc_pd_ops,
	.cq = &mc_cq_ops,
	.qp = &mc_qp_ops,
	.mem = &mc_mem_ops,
	.cm = &mc_cm_ops,
	.user = &mc_user_ops,
	.fast = &mc_fast_ops,
};

__attribute__((visibility("default"))) const struct ri_provider *ri_provider_entry(void);
/* The report of it-certify has it. */
__attribute__((visibility("default"))) extern const char ri_provider_version[];
const char ri_provider_version[] = "1.0";

const struct ri_provider *
ri_provider_entry(void)
{
	watch_forks();
	return &provider;
}
/* [entry] */
