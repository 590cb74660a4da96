/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include "kal_script.h"

#include <glib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define CQ_MAX     16
#define EVENTS_MAX 256

struct kal_client {
	void (*kick)(void *arg);
	void *arg;
	pthread_mutex_t lock;
	struct kal_event events[EVENTS_MAX];
	unsigned first, count;
};

struct ri_urnic {
	int unused;
};

struct kal_script script = {.engine_fd = -1};

static struct kal_client *last_client;
static struct ri_ucq cqs[CQ_MAX];
static unsigned cq_next;
static struct ri_urnic the_rnic;

void
script_reset(void)
{
	if (script.engine_fd >= 0)
		close(script.engine_fd);
	memset(&script, 0, sizeof(script));
	script.engine_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	script.attr = (struct ri_rnic_attr){
		.size = sizeof(script.attr),
		.transport = RI_TRANSPORT_IWARP,
		.name = "script",
		.num_ports = 1,
		.cq_resizable = false,
		.software = true,
		.addr_ip = true,
	};
	cq_next = 0;
}

void
script_check_empty(void)
{
	g_assert_cmpint(script.clients, ==, 0);
	g_assert_cmpint(script.rnics, ==, 0);
	g_assert_cmpint(script.pds, ==, 0);
	g_assert_cmpint(script.cqs, ==, 0);
	g_assert_cmpint(script.user_rnics, ==, 0);
	g_assert_cmpint(script.user_cqs, ==, 0);
	g_assert_false(atomic_load(&script.leading));
}

struct ri_ucq *
script_cq(void)
{
	return &cqs[cq_next - 1];
}

/* --- the kAL ------------------------------------------------------------------------------ */

enum ri_status
kal_client_open(const struct kal_client_params *params, struct kal_client **out)
{
	if (script.fail_client != RI_SUCCESS)
		return script.fail_client;
	last_client = g_new0(struct kal_client, 1);
	last_client->kick = params->kick;
	last_client->arg = params->arg;
	pthread_mutex_init(&last_client->lock, NULL);
	script.clients++;
	*out = last_client;
	return RI_SUCCESS;
}

void
kal_client_close(struct kal_client *client)
{
	pthread_mutex_destroy(&client->lock);
	g_free(client);
	script.clients--;
}

const struct ri_host *
kal_client_host(struct kal_client *client)
{
	(void)client;
	return kal_host_default();
}

static void
rnic_reply(struct kal_rnic_open_rep *rep)
{
	*rep = (struct kal_rnic_open_rep){.id = 1, .attr = script.attr};
	script.rnics++;
}

static void
cq_reply(const struct kal_cq_create_req *req, struct kal_cq_rep *rep)
{
	struct ri_ucq *cq = &cqs[cq_next++ % CQ_MAX];

	memset(cq, 0, sizeof(*cq));
	pthread_mutex_init(&cq->lock, NULL);
	cq->ctx = req->ctx;
	*rep = (struct kal_cq_rep){
		.id = cq_next, .entries = req->entries, .map = {.addr = (uintptr_t)cq}};
	script.cqs++;
}

static enum ri_status
listen_reply(const struct kal_listen_req *req, struct kal_listen_rep *rep)
{
	if (!script.listens)
		return RI_ERR_UNSUPPORTED;
	*rep = (struct kal_listen_rep){.id = 1, .service = req->service};
	return RI_SUCCESS;
}

static enum ri_status
reject(uint32_t request)
{
	if (script.on_reject == NULL)
		return RI_ERR_UNSUPPORTED;
	script.on_reject(request);
	return RI_SUCCESS;
}

enum ri_status
kal_call(struct kal_client *client, struct kal_msg *msg)
{
	(void)client;
	if (msg->call == KAL_LISTEN && script.on_listen != NULL)
		script.on_listen(((const struct kal_listen_req *)msg->req)->ctx);
	if (script.fail[msg->call] != RI_SUCCESS)
		return script.fail[msg->call];
	switch (msg->call) {
	case KAL_RNIC_OPEN:
		rnic_reply((struct kal_rnic_open_rep *)msg->rep);
		return RI_SUCCESS;
	case KAL_RNIC_CLOSE:
		script.rnics--;
		return RI_SUCCESS;
	case KAL_PD_CREATE:
		((struct kal_id_rep *)msg->rep)->id = (uint32_t)++script.pds;
		return RI_SUCCESS;
	case KAL_PD_DESTROY:
		script.pds--;
		return RI_SUCCESS;
	case KAL_CQ_CREATE:
		cq_reply((const struct kal_cq_create_req *)msg->req, (struct kal_cq_rep *)msg->rep);
		return RI_SUCCESS;
	case KAL_CQ_DESTROY:
		script.cqs--;
		return RI_SUCCESS;
	case KAL_LISTEN:
		return listen_reply((const struct kal_listen_req *)msg->req,
				    (struct kal_listen_rep *)msg->rep);
	case KAL_REJECT:
		return reject(((const struct kal_cm_req *)msg->req)->request);
	default:
		return RI_ERR_UNSUPPORTED;
	}
}

bool
kal_next_event(struct kal_client *client, struct kal_event *event)
{
	bool any;

	pthread_mutex_lock(&client->lock);
	any = client->count > 0;
	if (any) {
		*event = client->events[client->first];
		client->first = (client->first + 1) % EVENTS_MAX;
		client->count--;
	}
	pthread_mutex_unlock(&client->lock);
	if (any && script.on_event != NULL)
		script.on_event();
	if (!any && script.on_empty != NULL)
		script.on_empty();
	return any;
}

void
script_queue(const struct kal_event *event)
{
	struct kal_client *client = last_client;

	pthread_mutex_lock(&client->lock);
	g_assert_cmpuint(client->count, <, EVENTS_MAX);
	client->events[(client->first + client->count) % EVENTS_MAX] = *event;
	client->count++;
	pthread_mutex_unlock(&client->lock);
}

void
script_event(const struct kal_event *event)
{
	script_queue(event);
	last_client->kick(last_client->arg);
}

void
script_async(enum ri_event event, enum ri_object object, uint64_t ctx)
{
	struct kal_event queued = {
		.kind = KAL_EVENT_ASYNC,
		.ctx = ctx,
		.u.async = {.event = event, .object = object, .ctx = ctx},
	};

	script_event(&queued);
}

/* --- the provider's user half --------------------------------------------------------------- */

static enum ri_status
user_step(void)
{
	if (script.fail_user != RI_SUCCESS && --script.fail_user_at == 0)
		return script.fail_user;
	return RI_SUCCESS;
}

static enum ri_status
user_rnic_open(const struct ri_host *host, const struct ri_map *map, struct ri_urnic **out)
{
	enum ri_status status = user_step();

	(void)host;
	(void)map;
	if (status != RI_SUCCESS)
		return status;
	script.user_rnics++;
	*out = &the_rnic;
	return RI_SUCCESS;
}

static void
user_rnic_close(struct ri_urnic *rnic)
{
	g_assert_true(rnic == &the_rnic);
	script.user_rnics--;
}

static enum ri_status
user_cq_open(struct ri_urnic *rnic, const struct ri_map *map, struct ri_ucq **out)
{
	enum ri_status status = user_step();

	(void)rnic;
	if (status != RI_SUCCESS)
		return status;
	*out = (struct ri_ucq *)(uintptr_t)map->addr;
	(*out)->open = true;
	script.user_cqs++;
	return RI_SUCCESS;
}

static void
user_cq_close(struct ri_ucq *cq)
{
	g_assert_true(cq->open);
	cq->open = false;
	script.user_cqs--;
}

/* Is the condition true? Call with the lock held. */
static bool
is_due(const struct ri_ucq *cq, enum ri_arm how, uint32_t count)
{
	if (how == RI_ARM_COUNT)
		return cq->count >= count;
	for (uint32_t i = 0; how == RI_ARM_SOLICITED && i < cq->count; i++)
		if ((cq->wc[(cq->head + i) % SCRIPT_ENTRIES].flags & RI_WC_SOLICITED) != 0)
			return true;
	return how == RI_ARM_NEXT && cq->count > 0;
}

void
script_complete(struct ri_ucq *cq, uint64_t wr_id, uint8_t flags)
{
	struct kal_event event = {.kind = KAL_EVENT_CQ, .ctx = cq->ctx};
	bool fire;

	pthread_mutex_lock(&cq->lock);
	g_assert_cmpuint(cq->count, <, SCRIPT_ENTRIES);
	cq->wc[(cq->head + cq->count) % SCRIPT_ENTRIES] =
		(struct ri_wc){.wr_id = wr_id, .opcode = RI_OP_RDMA_WRITE, .flags = flags};
	cq->count++;
	fire = is_due(cq, cq->how, cq->arm_count);
	if (fire)
		cq->how = RI_ARM_NONE;
	pthread_mutex_unlock(&cq->lock);
	if (fire)
		script_event(&event);
}

static uint32_t
fast_progress(struct ri_urnic *rnic, uint32_t budget)
{
	uint64_t drained;

	(void)rnic;
	(void)budget;
	atomic_fetch_add(&script.progresses, 1);
	if (read(script.engine_fd, &drained, sizeof(drained)) != (ssize_t)sizeof(drained))
		return 0;
	if (script.on_progress != NULL)
		script.on_progress();
	return 1;
}

static uint32_t
fast_poll(struct ri_ucq *cq, struct ri_wc *wc, uint32_t n)
{
	bool empty;

	pthread_mutex_lock(&cq->lock);
	empty = cq->count == 0;
	pthread_mutex_unlock(&cq->lock);
	if (empty)
		(void)fast_progress(&the_rnic, 1);
	pthread_mutex_lock(&cq->lock);
	if (n > cq->count)
		n = cq->count;
	for (uint32_t i = 0; i < n; i++)
		wc[i] = cq->wc[(cq->head + i) % SCRIPT_ENTRIES];
	cq->head = (cq->head + n) % SCRIPT_ENTRIES;
	cq->count -= n;
	pthread_mutex_unlock(&cq->lock);
	return n;
}

static uint32_t
fast_depth(struct ri_ucq *cq)
{
	uint32_t count;

	pthread_mutex_lock(&cq->lock);
	count = cq->count;
	pthread_mutex_unlock(&cq->lock);
	return count;
}

static enum ri_status
fast_arm(struct ri_ucq *cq, enum ri_arm how, uint32_t count)
{
	bool due;

	pthread_mutex_lock(&cq->lock);
	due = is_due(cq, how, count);
	if (!due) {
		cq->how = how;
		cq->arm_count = count;
	}
	pthread_mutex_unlock(&cq->lock);
	return due ? RI_ERR_NOT_EMPTY : RI_SUCCESS;
}

static bool
fast_lead_enter(struct ri_urnic *rnic, int *fd)
{
	(void)rnic;
	if (atomic_exchange(&script.leading, true))
		return false;
	atomic_fetch_add(&script.leads, 1);
	*fd = script.engine_fd;
	return true;
}

static void
fast_lead_leave(struct ri_urnic *rnic)
{
	(void)rnic;
	g_assert_true(atomic_exchange(&script.leading, false));
}

static bool
fast_spin_futile(struct ri_urnic *rnic)
{
	(void)rnic;
	return !script.spin_pays;
}

static const struct ri_user_ops user_ops = {
	.size = sizeof(user_ops),
	.rnic_open = user_rnic_open,
	.rnic_close = user_rnic_close,
	.cq_open = user_cq_open,
	.cq_close = user_cq_close,
};

static const struct ri_fast_ops fast_ops = {
	.size = sizeof(fast_ops),
	.poll_cq = fast_poll,
	.cq_depth = fast_depth,
	.arm_cq = fast_arm,
	.progress = fast_progress,
	.leader_enter = fast_lead_enter,
	.leader_leave = fast_lead_leave,
	.spin_futile = fast_spin_futile,
};

enum ri_status
kal_user_half(struct kal_client *client, uint32_t rnic, const struct ri_user_ops **user,
	      const struct ri_fast_ops **fast)
{
	enum ri_status status = user_step();

	(void)client;
	(void)rnic;
	*user = &user_ops;
	*fast = &fast_ops;
	return status;
}

/* Nothing is counted here. */
struct ri_qp_counters *
kal_count_qp(struct kal_client *client, uint32_t qp)
{
	(void)client;
	(void)qp;
	return NULL;
}

struct ri_cq_counters *
kal_count_cq(struct kal_client *client, uint32_t cq)
{
	(void)client;
	(void)cq;
	return NULL;
}

struct ri_qp_counters *
kal_count_srq(struct kal_client *client, uint32_t srq)
{
	(void)client;
	(void)srq;
	return NULL;
}

struct kal_waits *
kal_count_waits(struct kal_client *client, uint32_t rnic)
{
	(void)client;
	(void)rnic;
	return NULL;
}
