/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* The provider of fake_provider.h: adapters, objects that count, the tables. */

#include <glib.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "fake_internal.h"
#include "ri_registry.h"

static atomic_int objects;
static struct ri_cq *last_cq;
static struct ri_srq *last_srq;
static struct ri_rnic *last_rnic;
static pthread_mutex_t moving =
	PTHREAD_MUTEX_INITIALIZER; /* the address of fake_addrs changed while there were listeners */

struct ri_rnic_attr fake_attr;
struct ri_addr fake_addrs[2];
const char *fake_beside = "";
enum ri_status fake_fail_create;
enum ri_status fake_fail_attach;
struct ri_dmabuf fake_dmabuf;
struct ri_mr_init fake_dmabuf_init;
struct ri_mr_init fake_mr_init;
sem_t *fake_reg_begun, *fake_reg_go;

void
fake_reset(void)
{
	fake_attr = (struct ri_rnic_attr){
		.size = sizeof(fake_attr),
		.transport = RI_TRANSPORT_IWARP,
		.name = "fake",
		.vendor = "tests",
		.num_ports = 2,
		.max_pd = 1000,
		.max_qp = 100000,
		.max_cq = 1000,
		.max_cqe = 4096,
		.max_srq = 10,
		.max_srq_wr = 100,
		.max_mr = 1000,
		.max_mw = 1000,
		.max_mr_length = UINT64_MAX,
		.max_sq_wr = 100,
		.max_rq_wr = 100,
		.max_send_sge = 4,
		.max_recv_sge = 4,
		.max_write_sge = 4,
		.max_read_sge = 1,
		.max_ird = 128,
		.max_ord = 128,
		.max_message_size = UINT32_MAX,
		.srq = true,
		.cm_forms = RI_CM_STREAM,
		.llp_startup = RI_LLP_STARTUP_MPA,
		.rtr_types = RI_RTR_WRITE | RI_RTR_READ,
		.ird_ord_exchange = true,
		.ird_ord_suppressible = true,
		.connect_pdata = 251,
		.accept_pdata = 251,
		.reject_pdata = 251,
		.addr_ip = true,
	};
	fake_addrs[0] = (struct ri_addr){.family = RI_ADDR_IPV4, .octets = {127, 0, 0, 1}};
	fake_addrs[1] = (struct ri_addr){.family = RI_ADDR_IPV6, .octets = {[15] = 1}};
	fake_fail_create = RI_SUCCESS;
	fake_fail_attach = RI_SUCCESS;
	fake_cm_last = FAKE_CM_NONE;
	fake_cm_status = RI_SUCCESS;
	fake_peer_status = RI_SUCCESS;
	fake_clinging = false;
}

int
fake_objects(void)
{
	return atomic_load(&objects);
}

void *
fake_make(size_t size)
{
	atomic_fetch_add(&objects, 1);
	return g_malloc0(size);
}

void
fake_free(void *object)
{
	atomic_fetch_sub(&objects, 1);
	g_free(object);
}

/* --- adapters ----------------------------------------------------------------------------- */

static enum ri_status
probe(const struct ri_host *host, struct ri_device_desc *descs, uint32_t *count)
{
	(void)host;
	if (*count > 0)
		*descs = (struct ri_device_desc){.name = "fake",
						 .description = "for tests",
						 .transport = fake_attr.transport,
						 .num_ports = fake_attr.num_ports};
	*count = 1;
	return RI_SUCCESS;
}

static enum ri_status
device_open(const struct ri_open *args, struct ri_rnic **out)
{
	*out = fake_make(sizeof(**out));
	(*out)->host = args->host;
	(*out)->up = args->upcalls;
	last_rnic = *out;
	return RI_SUCCESS;
}

static void
device_close(struct ri_rnic *rnic)
{
	fake_talk_end();
	fake_free(rnic);
}

static enum ri_status
device_query(struct ri_rnic *rnic, struct ri_rnic_attr *attr)
{
	uint32_t size = attr->size;

	(void)rnic;
	memcpy(attr, &fake_attr, MIN(size, sizeof(fake_attr)));
	return RI_SUCCESS;
}

/* Spigot 0 has the addresses of fake_addrs, spigot 1 none. */
static enum ri_status
query_port(struct ri_rnic *rnic, uint32_t port, struct ri_port_attr *attr)
{
	(void)rnic;
	if (port >= fake_attr.num_ports)
		return RI_ERR_INVALID_ARG;
	attr->online = true;
	if (port == 1) {
		g_strlcpy(attr->if_name, fake_beside, sizeof(attr->if_name));
		return RI_SUCCESS;
	}
	attr->num_addrs = 2;
	pthread_mutex_lock(&moving);
	memcpy(attr->addrs, fake_addrs, sizeof(fake_addrs));
	pthread_mutex_unlock(&moving);
	return RI_SUCCESS;
}

static enum ri_status
context_create(struct ri_rnic *rnic, const struct ri_owner *owner, struct ri_context **out,
	       struct ri_map *map)
{
	(void)owner;
	(void)map;
	*out = fake_make(sizeof(**out));
	(*out)->rnic = rnic;
	return RI_SUCCESS;
}

static void
context_destroy(struct ri_context *context)
{
	fake_let_go(context->rnic);
	fake_free(context);
}

static enum ri_status
route(struct ri_rnic *rnic, const struct ri_addr *peer, struct ri_addr *local, uint32_t *port)
{
	struct ri_port_attr attr = {0};

	(void)query_port(rnic, 0, &attr);
	if (peer->family != RI_ADDR_IPV4 && peer->family != RI_ADDR_IPV6)
		return RI_ERR_NO_ROUTE;
	*local = attr.addrs[peer->family == RI_ADDR_IPV6];
	*port = 0;
	return RI_SUCCESS;
}

static const struct ri_device_ops device_ops = {
	.size = sizeof(device_ops),
	.probe = probe,
	.open = device_open,
	.close = device_close,
	.query = device_query,
	.query_port = query_port,
	.context_create = context_create,
	.context_destroy = context_destroy,
	.route = route,
};

static enum ri_status
pd_create(struct ri_context *context, struct ri_pd **out)
{
	if (fake_fail_create != RI_SUCCESS)
		return fake_fail_create;
	*out = fake_make(sizeof(**out));
	(*out)->rnic = context->rnic;
	return RI_SUCCESS;
}

static enum ri_status
pd_destroy(struct ri_pd *pd)
{
	if (fake_clings(pd, RI_OBJECT_PD, 0) || pd->users > 0)
		return RI_ERR_BUSY;
	fake_free(pd);
	return RI_SUCCESS;
}

static const struct ri_pd_ops pd_ops = {sizeof(pd_ops), pd_create, pd_destroy};

static enum ri_status
cq_create(struct ri_context *context, uint64_t ctx, uint32_t *entries, struct ri_cq **out,
	  struct ri_map *map)
{
	(void)map;
	if (fake_fail_create != RI_SUCCESS)
		return fake_fail_create;
	*entries += 7;
	*out = fake_make(sizeof(**out));
	(*out)->rnic = context->rnic;
	(*out)->ctx = ctx;
	last_cq = *out;
	return RI_SUCCESS;
}

static enum ri_status
cq_destroy(struct ri_cq *cq)
{
	if (fake_clings(cq, RI_OBJECT_CQ, cq->ctx))
		return RI_ERR_BUSY;
	fake_free(cq);
	return RI_SUCCESS;
}

static const struct ri_cq_ops cq_ops = {
	.size = sizeof(cq_ops), .create = cq_create, .destroy = cq_destroy};

static enum ri_status
srq_create(struct ri_pd *pd, struct ri_srq_attr *attr, struct ri_srq **out, struct ri_map *map)
{
	(void)map;
	if (attr->max_wr > fake_attr.max_srq_wr)
		return RI_ERR_LIMIT;
	*out = fake_make(sizeof(**out));
	(*out)->pd = pd;
	(*out)->attr = *attr;
	last_srq = *out;
	pd->users++;
	return RI_SUCCESS;
}

static enum ri_status
srq_modify(struct ri_srq *srq, struct ri_srq_attr *attr, bool resize, struct ri_map *map)
{
	(void)resize;
	(void)map;
	srq->attr.limit = attr->limit;
	return RI_SUCCESS;
}

static enum ri_status
srq_query(struct ri_srq *srq, struct ri_srq_attr *attr)
{
	*attr = srq->attr;
	return RI_SUCCESS;
}

static enum ri_status
srq_destroy(struct ri_srq *srq)
{
	if (fake_clings(srq, RI_OBJECT_SRQ, srq->attr.ctx))
		return RI_ERR_BUSY;
	srq->pd->users--;
	fake_free(srq);
	return RI_SUCCESS;
}

static const struct ri_srq_ops srq_ops = {sizeof(srq_ops), srq_create, srq_modify, srq_query,
					  srq_destroy};

/* A registration that takes as long as the test wants. */
static void
reg_wait(void)
{
	if (fake_reg_begun == NULL)
		return;
	sem_post(fake_reg_begun);
	sem_wait(fake_reg_go);
}

static enum ri_status
mr_reg(struct ri_pd *pd, const struct ri_mr_init *init, struct ri_mr **out, uint32_t *stag)
{
	reg_wait();
	*out = fake_make(sizeof(**out));
	(*out)->pd = pd;
	(*out)->init = fake_mr_init = *init;
	*stag = 0x1234500u | init->key;
	pd->users++;
	return RI_SUCCESS;
}

static enum ri_status
mr_reg_dmabuf(struct ri_pd *pd, const struct ri_mr_init *init, const struct ri_dmabuf *from,
	      struct ri_mr **out, uint32_t *stag)
{
	fake_dmabuf = *from;
	fake_dmabuf_init = *init;
	return fake_fail_create == RI_SUCCESS ? mr_reg(pd, init, out, stag) : fake_fail_create;
}

static enum ri_status
mr_rereg(struct ri_mr *mr, struct ri_pd *pd, const struct ri_mr_init *init, uint32_t *stag)
{
	reg_wait();
	mr->pd->users--;
	mr->pd = pd;
	mr->init = *init;
	*stag = 0x1234600u | init->key;
	pd->users++;
	return RI_SUCCESS;
}

static enum ri_status
mr_query(struct ri_mr *mr, struct ri_mr_attr *attr)
{
	attr->addr = mr->init.addr;
	attr->length = mr->init.length;
	attr->access = mr->init.access;
	return RI_SUCCESS;
}

static enum ri_status
mr_dereg(struct ri_mr *mr)
{
	if (fake_clings(mr, RI_OBJECT_MR, 0))
		return RI_ERR_BUSY;
	mr->pd->users--;
	fake_free(mr);
	return RI_SUCCESS;
}

static const struct ri_mem_ops mem_ops = {
	.size = sizeof(mem_ops),
	.mr_reg = mr_reg,
	.mr_rereg = mr_rereg,
	.mr_query = mr_query,
	.mr_dereg = mr_dereg,
	.mr_reg_dmabuf = mr_reg_dmabuf,
};

/* --- raising things --------------------------------------------------------------------------- */

void
fake_fire_cq(void)
{
	last_cq->rnic->up->cq_event(last_cq->rnic->up->self, last_cq->ctx);
}

void
fake_raise(enum ri_event event, enum ri_object object)
{
	struct ri_async_event async = {.event = event, .object = object};

	if (object == RI_OBJECT_CQ)
		async.ctx = last_cq->ctx;
	else if (object == RI_OBJECT_SRQ)
		async.ctx = last_srq->attr.ctx;
	else if (object == RI_OBJECT_QP)
		async.ctx = fake_last_qp->init.ctx;
	last_rnic->up->async_event(last_rnic->up->self, &async);
}

const struct ri_upcalls *
fake_last_upcalls(void)
{
	return last_rnic->up;
}

void
fake_move(const struct ri_addr *addr)
{
	pthread_mutex_lock(&moving);
	fake_addrs[0] = *addr;
	pthread_mutex_unlock(&moving);
	fake_raise(RI_EVENT_PORT_CHANGE, RI_OBJECT_PORT);
}

void
fake_raise_cm(const struct ri_cm_event *event)
{
	last_rnic->up->cm_event(last_rnic->up->self, event);
}

/* --- the user half: never called by the kAL ---------------------------------------------------- */

static enum ri_status
none(void)
{
	return RI_ERR_UNSUPPORTED;
}

#define NONE(type, member) .member = (__typeof__(((struct type *)0)->member))(void (*)(void))none

static const struct ri_user_ops user_ops = {
	.size = sizeof(user_ops),
	NONE(ri_user_ops, rnic_open),
	NONE(ri_user_ops, rnic_close),
	NONE(ri_user_ops, cq_open),
	NONE(ri_user_ops, cq_remap),
	NONE(ri_user_ops, cq_close),
	NONE(ri_user_ops, qp_open),
	NONE(ri_user_ops, qp_close),
	NONE(ri_user_ops, srq_open),
	NONE(ri_user_ops, srq_close),
};

static const struct ri_fast_ops fast_ops = {
	.size = sizeof(fast_ops),
	NONE(ri_fast_ops, post_sq),
	NONE(ri_fast_ops, post_rq),
	NONE(ri_fast_ops, post_srq),
	NONE(ri_fast_ops, flush_sq),
	NONE(ri_fast_ops, poll_cq),
	NONE(ri_fast_ops, cq_depth),
	NONE(ri_fast_ops, arm_cq),
	NONE(ri_fast_ops, progress),
	NONE(ri_fast_ops, leader_enter),
	NONE(ri_fast_ops, leader_leave),
};

static const struct ri_setting settings[] = {
	{.name = "ITAPI_FAKE_COLOUR",
	 .meaning = "a setting for tests",
	 .kind = RI_SETTING_WORD,
	 .form = "red|blue",
	 .preset = "red"},
};

const struct ri_provider fake_provider = {
	.abi_major = RI_ABI_MAJOR,
	.abi_minor = RI_ABI_MINOR,
	.size = sizeof(fake_provider),
	.name = "fake",
	.description = "a provider for tests",
	.device = &device_ops,
	.pd = &pd_ops,
	.cq = &cq_ops,
	.qp = &fake_qp_ops,
	.mem = &mem_ops,
	.srq = &srq_ops,
	.ah = &fake_ah_ops,
	.cm = &fake_cm_ops,
	.llp = &fake_llp_ops,
	.peer = &fake_peer_ops,
	.user = &user_ops,
	.fast = &fast_ops,
	.settings = settings,
	.num_settings = 1,
	.setting_size = sizeof(settings[0]),
};

void
fake_register(void)
{
	struct ri_error error;

	fake_reset();
	if (ri_registry_count() == 0 && !ri_registry_add(&fake_provider, "registered", &error))
		g_error("%s", error.text);
}
