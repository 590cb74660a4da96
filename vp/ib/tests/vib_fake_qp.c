/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* The rest of the provider, as vib_cm*.c sees it; see vib_fake.h. */
#include <errno.h>
#include <string.h>

#include "vib_chain.h"
#include "vib_events.h"
#include "vib_fake.h"
#include "vib_profile.h"

static char last_log[256];

const char *
ibv_get_device_name(struct ibv_device *device)
{
	return device->name;
}

int
_ibv_query_gid_ex(struct ibv_context *context, uint32_t port, uint32_t index,
		  struct ibv_gid_entry *entry, uint32_t flags, size_t size)
{
	g_assert_true(context == fake_of_process->rnic.verbs);
	g_assert_cmpuint(port, ==, 1);
	g_assert_cmpuint(flags, ==, 0);
	g_assert_cmpuint(size, ==, sizeof(*entry));
	if (index >= fake_of_process->num_gids)
		return ENODATA;
	*entry = fake_of_process->gids[index];
	return 0;
}

uint32_t
vib_port_interface(const struct ri_rnic *rnic, uint32_t port)
{
	(void)rnic;
	g_assert_cmpuint(port, ==, 0);
	return 77;
}

enum ri_status
vib_status_of_errno(int error)
{
	(void)error;
	return RI_ERR_RESOURCES;
}

enum ri_status
vib_status_of_open(int error)
{
	if (error == EACCES || error == EPERM)
		return RI_ERR_PERMISSION;
	return error == ENODEV ? RI_ERR_NO_DEVICE : RI_ERR_RESOURCES;
}

void
vib_log(const struct ri_rnic *rnic, enum ri_log_level level, const char *format, ...)
{
	va_list args;

	(void)rnic;
	(void)level;
	va_start(args, format);
	g_vsnprintf(last_log, sizeof(last_log), format, args);
	va_end(args);
}

void
vib_log_qp(const struct vib_qp *qp, enum ri_log_level level, const char *format, ...)
{
	int length = g_snprintf(last_log, sizeof(last_log), "peer %s: ", qp->peer);
	va_list args;

	(void)level;
	va_start(args, format);
	g_vsnprintf(last_log + length, sizeof(last_log) - (gulong)length, format, args);
	va_end(args);
}

void
vib_peer_name(struct vib_qp *qp, const struct ri_addr *addr, uint16_t port)
{
	ri_log_addr(addr, port, qp->peer, sizeof(qp->peer));
}

/* vib_why.c names the statuses of completions; nothing completes here. */
const char *
ibv_wc_status_str(enum ibv_wc_status status)
{
	(void)status;
	g_assert_not_reached();
}

const char *
fake_last_log(void)
{
	return last_log;
}

bool
vib_port_addrs(struct ri_rnic *rnic, uint32_t port, struct ri_addr addrs[RI_PORT_ADDR_MAX],
	       uint32_t *count)
{
	(void)rnic;
	g_assert_cmpuint(port, ==, 0);
	*count = 0;
	if (fake_of_process->addrs_unknown)
		return false;
	memcpy(addrs, fake_of_process->addrs, sizeof(fake_of_process->addrs));
	*count = fake_of_process->num_addrs;
	return true;
}

int
vib_call_start(void (*run)(void *arg), void *arg)
{
	if (fake_call("thread_id") != 0)
		return errno;
	g_assert_true(fake_of_process->held == NULL);
	fake_of_process->held = run;
	fake_of_process->held_arg = arg;
	if (!fake_of_process->hold)
		fake_release(fake_of_process);
	return 0;
}

void
fake_release(struct fake *fake)
{
	void (*run)(void *arg) = fake->held;

	fake->held = NULL;
	run(fake->held_arg);
}

void
vib_chain_finish(struct ri_uqp *qp)
{
	(void)qp;
	(void)fake_call("chain");
}

enum ri_status
vib_qp_heal(struct vib_qp *qp)
{
	g_assert_cmpint(pthread_mutex_trylock(&qp->lock), ==, 0);
	g_assert_cmpint(pthread_mutex_unlock(&qp->lock), ==, 0);
	return fake_call("heal_id") == 0 ? RI_SUCCESS : RI_ERR_RESOURCES;
}

enum ri_status
vib_qp_begin(struct vib_qp *qp)
{
	if (qp->state != RI_QPS_IDLE)
		return RI_ERR_INVALID_STATE;
	qp->state = RI_QPS_CONNECTING;
	return RI_SUCCESS;
}

void
vib_qp_begin_undo(struct vib_qp *qp)
{
	g_assert_cmpint(qp->state, ==, RI_QPS_CONNECTING);
	qp->state = RI_QPS_IDLE;
}

bool
vib_qp_closing(struct vib_qp *qp)
{
	if (qp->state != RI_QPS_RTS)
		return false;
	qp->state = RI_QPS_CLOSING;
	return true;
}

enum ri_status
vib_qp_device_modify(struct vib_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	struct fake_qp *fake_qp = (struct fake_qp *)qp;
	static const char *const names[] = {
		[IBV_QPS_INIT] = "INIT ", [IBV_QPS_RTR] = "RTR ", [IBV_QPS_RTS] = "RTS "};

	g_assert_cmpint(mask & 1 << 21, ==, 0);
	g_string_append(fake_qp->moves, names[attr->qp_state]);
	if ((mask & IBV_QP_MAX_DEST_RD_ATOMIC) != 0)
		fake_qp->last.max_dest_rd_atomic = attr->max_dest_rd_atomic;
	if ((mask & IBV_QP_MAX_QP_RD_ATOMIC) != 0)
		fake_qp->last.max_rd_atomic = attr->max_rd_atomic;
	return fake_call("modify") == 0 ? RI_SUCCESS : RI_ERR_INVALID_ARG;
}

bool
vib_qp_device_failed(const struct vib_qp *qp)
{
	return ((const struct fake_qp *)qp)->failed;
}

void
vib_device_failed(struct ri_rnic *rnic)
{
	vib_of(rnic, struct fake, rnic)->failures++;
}

void
vib_events_catch_up(struct ri_rnic *rnic)
{
	const struct ri_cm_event broken = {.kind = RI_CM_BROKEN};
	struct fake *fake = vib_of(rnic, struct fake, rnic);
	struct vib_qp *qp = fake->refused;

	fake->refused = NULL;
	if (qp != NULL)
		(void)vib_qp_end(qp, &broken, RI_EVENT_NONE);
	if (fake->in_catch_up != NULL)
		fake->in_catch_up(fake->in_catch_up_arg);
}

void
vib_qp_raise(struct vib_qp *qp, struct ri_cm_event *event)
{
	event->ctx = qp->ctx;
	g_array_append_vals(fake_of_process->upcalled, event, 1);
}

bool
vib_qp_established(struct vib_qp *qp, struct ri_cm_event *event)
{
	if (qp->state != RI_QPS_CONNECTING)
		return false;
	qp->state = RI_QPS_RTS;
	vib_qp_raise(qp, event);
	return true;
}

static void
end_tell(void *arg)
{
	struct fake_qp *fake_qp = arg;

	if (fake_qp->qp.end.kind != RI_CM_NONE)
		vib_qp_raise(&fake_qp->qp, &fake_qp->qp.end);
}

bool
vib_qp_end(struct vib_qp *qp, const struct ri_cm_event *event, uint32_t async)
{
	const struct ri_host *host = fake_of_process->rnic.host;

	g_assert_cmpint(async, ==, RI_EVENT_NONE);
	if (qp->state == RI_QPS_ERROR || qp->state == RI_QPS_IDLE)
		return false;
	qp->state = RI_QPS_ERROR;
	qp->end = *event;
	host->task_run(host->self, &((struct fake_qp *)qp)->tell);
	return true;
}

struct fake_qp *
fake_qp_new(struct fake *fake)
{
	struct fake_qp *qp = g_new0(struct fake_qp, 1);

	qp->qp.pd = &fake->pd;
	qp->qp.state = RI_QPS_IDLE;
	qp->qp.ctx = 77;
	qp->qp.user.qp = &qp->device;
	qp->device.qp_num = 0x1234;
	qp->tell.fire = end_tell;
	qp->tell.arg = qp;
	qp->moves = g_string_new(NULL);
	pthread_mutex_init(&qp->qp.lock, NULL);
	return qp;
}

void
fake_qp_free(struct fake_qp **freed)
{
	struct fake_qp *qp = *freed;
	const struct ri_host *host = fake_of_process->rnic.host;

	vib_cm_forget(&qp->qp);
	g_assert_null(qp->qp.conn);
	host->task_stop(host->self, &qp->tell);
	pthread_mutex_destroy(&qp->qp.lock);
	g_string_free(qp->moves, TRUE);
	g_free(qp);
}
