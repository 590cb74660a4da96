/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Asynchronous events of the device, over one that the test plays: each becomes its event of RNIC-PI, a device that
 * fails or is removed while it is in use ends its connections and then the adapter, and every later call returns the
 * status for that.
 */
#include <limits.h>

#include "vib_cq.h"
#include "vib_data.h"
#include "vib_post.h"
#include "vib_profile.h"
#include "vib_qp_end.h"
#include "vib_ring.h"
#include "vib_told.h"

static uint8_t memory[4096];

static enum ri_status
write_post(struct vib_qp *qp, uint32_t flags, uint64_t id)
{
	const struct ri_sge piece = {.addr = (uintptr_t)memory, .length = 1000, .stag = 1};
	const struct ri_wr wr = {.wr_id = id,
				 .sgl = &piece,
				 .num_sge = 1,
				 .opcode = RI_OP_RDMA_WRITE,
				 .flags = flags};

	return vib_post_sq(&qp->user, &wr);
}

/* --- events of objects --------------------------------------------------------------------------------- */

static void
test_objects(void)
{
	struct device *d RI_AT_END(setting_free) = setting_new();
	struct vib_qp *qp = device_qp(d, false);
	const struct {
		struct ibv_async_event event;
		uint32_t raised;
		uint32_t object;
		uint64_t ctx;
	} rows[] = {
		{{.event_type = IBV_EVENT_CQ_ERR, .element.cq = d->cq->user.cq},
		 RI_EVENT_CQ_OP_ERROR,
		 RI_OBJECT_CQ,
		 1},
		{{.event_type = IBV_EVENT_PORT_ERR, .element.port_num = 1},
		 RI_EVENT_PORT_ERROR,
		 RI_OBJECT_PORT,
		 0},
		{{.event_type = IBV_EVENT_PORT_ACTIVE, .element.port_num = 1},
		 RI_EVENT_PORT_ACTIVE,
		 RI_OBJECT_PORT,
		 0},
		{{.event_type = IBV_EVENT_GID_CHANGE, .element.port_num = 1},
		 RI_EVENT_PORT_CHANGE,
		 RI_OBJECT_PORT,
		 0},
		{{.event_type = IBV_EVENT_QP_ACCESS_ERR, .element.qp = qp->user.qp},
		 RI_EVENT_QP_ACCESS,
		 RI_OBJECT_QP,
		 7},
	};

	for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
		const struct ri_async_event *raised;

		event_send(d, &rows[i].event);
		g_assert_cmpuint(acknowledged, ==, i + 1);
		g_assert_cmpuint(d->async_events->len, ==, i + 1);
		raised = &g_array_index(d->async_events, struct ri_async_event, i);
		g_assert_cmpint(raised->event, ==, rows[i].raised);
		g_assert_cmpint(raised->object, ==, rows[i].object);
		g_assert_cmpuint(raised->ctx, ==, rows[i].ctx);
	}
	/* The last one was an end. */
	g_assert_cmpuint(d->cm_events->len, ==, 1);
	/* A message that only a newer kernel sends is read and ignored. */
	event_send(d, &(struct ibv_async_event){.event_type = (enum ibv_event_type)77});
	g_assert_cmpuint(acknowledged, ==, G_N_ELEMENTS(rows) + 1);
	g_assert_cmpuint(d->async_events->len, ==, G_N_ELEMENTS(rows));
	g_assert_cmpint(vib_qp_ops.destroy((struct ri_qp *)qp), ==, RI_SUCCESS);
}

/* A port that the device does not have is no spigot. */
static void
test_ports(void)
{
	static const int numbers[] = {0, -1, 3, 256, INT_MAX, INT_MIN};
	struct device *d RI_AT_END(setting_free) = setting_new();

	d->rnic.attr.num_ports = 2;
	for (unsigned i = 0; i < G_N_ELEMENTS(numbers); i++) {
		event_send(d, &(struct ibv_async_event){.event_type = IBV_EVENT_PORT_ERR,
							.element.port_num = numbers[i]});
		g_assert_cmpuint(acknowledged, ==, i + 1);
		g_assert_cmpuint(d->async_events->len, ==, 0);
	}
	event_send(d, &(struct ibv_async_event){.event_type = IBV_EVENT_PORT_ERR,
						.element.port_num = 2});
	g_assert_cmpuint(d->async_events->len, ==, 1);
	g_assert_cmpuint(g_array_index(d->async_events, struct ri_async_event, 0).ctx, ==, 1);
	/* The device has another address: listeners may have it now. */
	follows = 0;
	event_send(d, &(struct ibv_async_event){.event_type = IBV_EVENT_GID_CHANGE,
						.element.port_num = 2});
	g_assert_cmpuint(follows, ==, 1);
	g_assert_cmpuint(d->async_events->len, ==, 2);
}

/* What comes late of a queue pair of the device that was replaced does not end the one in its place. */
static void
test_former(void)
{
	static const struct vib_quirk once = {.driver = "once", .no_reuse = true};
	const struct ri_qp_attr idle = {.state = RI_QPS_IDLE};
	struct device *d RI_AT_END(setting_free) = setting_new();
	struct ri_cm_event up = {.kind = RI_CM_ESTABLISHED};
	struct ibv_qp former;
	struct vib_qp *qp;

	d->rnic.quirk = &once;
	qp = device_qp(d, false);
	former = *qp->user.qp;
	event_send(d, &(struct ibv_async_event){.event_type = IBV_EVENT_QP_FATAL,
						.element.qp = qp->user.qp});
	g_assert_cmpuint(d->cm_events->len, ==, 1);
	g_assert_cmpint(vib_qp_ops.modify((struct ri_qp *)qp, &idle, RI_QP_ATTR_STATE), ==,
			RI_SUCCESS);
	g_assert_cmpuint(qp->user.qpn, !=, former.qp_num);
	pthread_mutex_lock(&qp->lock);
	g_assert_cmpint(vib_qp_begin(qp), ==, RI_SUCCESS);
	pthread_mutex_unlock(&qp->lock);
	g_assert_true(vib_qp_established(qp, &up));
	g_array_set_size(d->cm_events, 0);
	event_send(d, &(struct ibv_async_event){.event_type = IBV_EVENT_QP_FATAL,
						.element.qp = &former});
	g_assert_cmpuint(acknowledged, ==, 2);
	g_assert_cmpuint(d->cm_events->len, ==, 0);
	g_assert_cmpuint(qp->state, ==, RI_QPS_RTS);
	event_send(d, &(struct ibv_async_event){.event_type = IBV_EVENT_QP_FATAL,
						.element.qp = qp->user.qp});
	g_assert_cmpuint(d->cm_events->len, ==, 1);
	g_assert_cmpint(vib_qp_ops.destroy((struct ri_qp *)qp), ==, RI_SUCCESS);
}

/* --- the device fails -------------------------------------------------------------------------------------- */

static unsigned ends_before_death;

/* Counts the ends that were raised when the death of the adapter is. */
static void
on_async_event(void *self, const struct ri_async_event *event)
{
	struct device *d = self;

	if (event->event == RI_EVENT_DEVICE_CATASTROPHIC)
		ends_before_death = d->cm_events->len;
	g_array_append_vals(d->async_events, event, 1);
}

/* Every verb that makes something says so. */
static void
check_dead(struct device *d, struct ri_pd *pd)
{
	const struct ri_mr_init init = {
		.addr = (uintptr_t)memory, .length = 64, .access = RI_ACCESS_LOCAL_READ};
	const struct ri_ah_init ah_init = {.dest = {.family = RI_ADDR_IPV4}};
	struct ri_qp_init qp_init = {.type = RI_QP_RC};
	uint32_t entries = 1, number;
	struct ri_mr *mr;
	struct ri_mw *mw;
	struct ri_ah *ah;
	struct vib_qp *qp;
	struct ri_cq *cq;
	struct ri_pd *other;
	struct ri_map map;

	g_assert_cmpint(vib_pd_ops.create(d->context, &other), ==, RI_ERR_FATAL);
	g_assert_cmpint(vib_cq_ops.create(d->context, 1, &entries, &cq, &map), ==, RI_ERR_FATAL);
	g_assert_cmpint(vib_mem_ops.mr_reg(pd, &init, &mr, &number), ==, RI_ERR_FATAL);
	g_assert_cmpint(vib_mem_ops.mw_alloc(pd, RI_MW_NARROW, &mw, &number), ==, RI_ERR_FATAL);
	g_assert_cmpint(vib_ah_ops.create(pd, &ah_init, &ah, &number), ==, RI_ERR_FATAL);
	g_assert_cmpint(
		vib_qp_ops.create(pd, &qp_init, d->cq, d->cq, NULL, (struct ri_qp **)&qp, &map), ==,
		RI_ERR_FATAL);
}

enum way {
	BY_EVENT = 0,
	BY_ASYNC,
	BY_CHANNEL,
	BY_OTHER /* an error that does not name a loss */
};

static void
device_remove(struct device *d, enum way way)
{
	d->gone = true;
	if (way == BY_EVENT) {
		event_send(d, &(struct ibv_async_event){.event_type = IBV_EVENT_DEVICE_FATAL});
	} else if (way == BY_ASYNC) {
		read_error = EIO;
		readable(d, d->verbs.async_fd);
	} else {
		channel_error = way == BY_CHANNEL ? EIO : EINVAL;
		readable(d, channel.fd);
	}
}

/*
 * The device is removed: an event reports it, or a read of one of its descriptors fails. There are
 * two connections, one with requests at the device and in a chain, one idle, and a queue pair for
 * datagrams. The device answers no call any more, and no thread may wait for it; late completions
 * are awaited only for a moment.
 */
static void
test_removed(gconstpointer data)
{
	struct device *d RI_AT_END(setting_free) = setting_new();
	struct vib_qp *busy = device_qp(d, false), *idle = device_qp(d, false);
	struct vib_qp *ud = device_qp(d, true);
	struct ri_wc wc;

	d->upcalls.async_event = on_async_event;
	ends_before_death = 99;
	for (uint64_t id = 1; id <= 3; id++)
		g_assert_cmpint(write_post(busy, id == 3 ? RI_WR_COALESCE : RI_WR_SIGNALED, id), ==,
				RI_SUCCESS);
	device_remove(d, (enum way)GPOINTER_TO_INT(data));
	vth_advance(d->vth, 60 * 1000 * 1000);
	g_assert_true(vth_logged(d->vth, "the device has failed or was removed"));
	g_assert_cmpuint(cm_told, ==, 1);
	/* Each end once, all before the death, which comes once. */
	g_assert_cmpuint(d->cm_events->len, ==, 2);
	g_assert_cmpuint(ends_before_death, ==, 2);
	g_assert_cmpuint(d->async_events->len, ==, 2);
	g_assert_cmpint(g_array_index(d->async_events, struct ri_async_event, 0).event, ==,
			RI_EVENT_QP_CATASTROPHIC);
	g_assert_cmpint(g_array_index(d->async_events, struct ri_async_event, 1).event, ==,
			RI_EVENT_DEVICE_CATASTROPHIC);
	for (uint64_t id = 1; id <= 3; id++) {
		g_assert_cmpuint(vib_poll_cq(&d->cq->user, &wc, 1), ==, 1);
		g_assert_cmpuint(wc.wr_id, ==, id);
		g_assert_cmpint(wc.status, ==, RI_WC_FLUSHED);
	}
	/* What is posted now is flushed; a second event changes nothing. */
	g_assert_cmpint(write_post(idle, 0, 4), ==, RI_SUCCESS);
	g_assert_cmpuint(vib_poll_cq(&d->cq->user, &wc, 1), ==, 1);
	g_assert_cmpint(wc.status, ==, RI_WC_FLUSHED);
	event_send(d, &(struct ibv_async_event){.event_type = IBV_EVENT_DEVICE_FATAL});
	g_assert_cmpuint(d->async_events->len, ==, 2);
	check_dead(d, d->pd);
	g_assert_cmpint(vib_qp_ops.destroy((struct ri_qp *)busy), ==, RI_SUCCESS);
	g_assert_cmpint(vib_qp_ops.destroy((struct ri_qp *)idle), ==, RI_SUCCESS);
	g_assert_cmpint(vib_qp_ops.destroy((struct ri_qp *)ud), ==, RI_SUCCESS);
}

/* A queue pair with two receives, whose device is removed. */
static struct vib_qp *
receives_fatal(struct device *d)
{
	struct vib_qp *qp = device_qp(d, false);

	for (uint64_t id = 1; id <= 2; id++)
		g_assert_cmpint(vib_post_rq(&qp->user, &(struct ri_recv_wr){.wr_id = id}), ==,
				RI_SUCCESS);
	event_send(d, &(struct ibv_async_event){.event_type = IBV_EVENT_DEVICE_FATAL});
	return qp;
}

/* A device whose removal waits for its programs flushes by itself, a moment later: each receive is completed once. */
static void
test_removal_waits(void)
{
	const struct ibv_wc flushed = {.status = IBV_WC_WR_FLUSH_ERR};
	struct device *d RI_AT_END(setting_free) = setting_new();
	struct vib_qp *qp = receives_fatal(d);
	struct ri_wc wc;

	vth_advance(d->vth, 10 * 1000 * 1000);
	device_receive(d, 0, &flushed);
	device_receive(d, 1, &flushed);
	vth_advance(d->vth, 60 * 1000 * 1000);
	for (uint64_t id = 1; id <= 2; id++) {
		g_assert_cmpuint(vib_poll_cq(&d->cq->user, &wc, 1), ==, 1);
		g_assert_cmpuint(wc.wr_id, ==, id);
		g_assert_cmpint(wc.status, ==, RI_WC_FLUSHED);
	}
	g_assert_cmpuint(vib_poll_cq(&d->cq->user, &wc, 1), ==, 0);
	g_assert_cmpuint(d->cm_events->len, ==, 1);
	g_assert_cmpint(vib_qp_ops.destroy((struct ri_qp *)qp), ==, RI_SUCCESS);
}

/* It flushes when this side has: nothing is completed twice, nor is the queue's order lost. */
static void
test_removal_too_long(void)
{
	const struct ibv_wc flushed = {.status = IBV_WC_WR_FLUSH_ERR};
	struct device *d RI_AT_END(setting_free) = setting_new();
	struct vib_qp *qp = receives_fatal(d);
	struct ri_wc wc;

	vth_advance(d->vth, 60 * 1000 * 1000);
	g_assert_cmpuint(vib_poll_cq(&d->cq->user, &wc, 1), ==, 1);
	device_receive(d, 0, &flushed);
	g_assert_cmpuint(vib_poll_cq(&d->cq->user, &wc, 1), ==, 1);
	g_assert_cmpuint(wc.wr_id, ==, 2);
	g_assert_cmpuint(vib_poll_cq(&d->cq->user, &wc, 1), ==, 0);
	device_receive(d, 1, &flushed);
	g_assert_cmpuint(vib_poll_cq(&d->cq->user, &wc, 1), ==, 0);
	g_assert_cmpuint(vib_ring_open(&qp->user.rq), ==, 0);
	g_assert_cmpint(vib_qp_ops.destroy((struct ri_qp *)qp), ==, RI_SUCCESS);
}

/* The death waits for an end that began before; when the adapter is closed meanwhile, it does not come. */
static void
test_removed_and_closed(void)
{
	struct device *d RI_AT_END(device_free) = setting_new();
	struct vib_qp *qp = device_qp(d, false);
	const struct ri_cm_event event = {.kind = RI_CM_DISCONNECTED};

	d->gone = true; /* so that the drain of this end takes its whole second */
	g_assert_cmpint(write_post(qp, RI_WR_SIGNALED, 1), ==, RI_SUCCESS);
	vib_qp_end(qp, &event, RI_EVENT_NONE);
	event_send(d, &(struct ibv_async_event){.event_type = IBV_EVENT_DEVICE_FATAL});
	vth_advance(d->vth, 900 * 1000 * 1000);
	g_assert_cmpuint(d->async_events->len, ==, 0);
	g_assert_cmpint(vib_qp_ops.destroy((struct ri_qp *)qp), ==, RI_SUCCESS);
	vib_events_stop(&d->rnic);
	vth_advance(d->vth, UINT64_C(2000) * 1000 * 1000);
	g_assert_cmpuint(d->async_events->len, ==, 0);
	close(d->verbs.async_fd);
}

/* --- a queue is destroyed while an event of it is handled -------------------------------------------- */

static struct device *setting;
static atomic_bool notifying, notified;
static unsigned notifications;

/* Asks for the next event, slowly. */
static int
notify_slowly(struct ibv_cq *cq, int solicited)
{
	(void)cq;
	(void)solicited;
	notifications++;
	atomic_store(&notifying, true);
	g_usleep(50 * 1000);
	atomic_store(&notified, true);
	return 0;
}

static void *
completions_fire(void *unused)
{
	setting->rnic.completions.fire(setting->rnic.completions.arg, RI_WATCH_IN);
	return unused;
}

static struct ri_cq *destroyed;
static GThread *service;

/* An event that was read before; the memory of the queue is gone. */
static void
event_comes(void)
{
	g_assert_true(atomic_load(&notified));
	(void)g_thread_join(service);
	completed = destroyed;
	(void)completions_fire(NULL);
	g_assert_null(completed);
	setting->in_cq_destroy = NULL;
}

/* The destruction waits for the handler, and one that comes later leaves the queue alone. */
static void
test_queue_goes(void)
{
	uint32_t entries = 16;
	struct ri_map map;

	setting = setting_new();
	setting->verbs.ops.req_notify_cq = notify_slowly;
	g_assert_cmpint(vib_cq_ops.create(setting->context, 2, &entries, &destroyed, &map), ==,
			RI_SUCCESS);
	completed = destroyed;
	service = g_thread_new("service", completions_fire, NULL);
	while (!atomic_load(&notifying))
		g_usleep(100);
	setting->in_cq_destroy = event_comes;
	g_assert_cmpint(vib_cq_ops.destroy(destroyed), ==, RI_SUCCESS);
	g_assert_null(setting->in_cq_destroy);
	g_assert_cmpuint(notifications, ==, 1);
	setting_free(&setting);
}

/* Announcements of the kernel: the removal of this device ends the adapter once, and no other one does. */
static void
test_messages(void)
{
	static const struct kernel_message rows[] = {
		{"add@/devices/virtual/infiniband_verbs/uverbs1", 0, false},
		{"remove@/devices/virtual/infiniband_verbs/uverbs11", 0, false},
		{"remove@/devices/virtual/infiniband_verbs/uverbs", 0, false},
		{"remove@/devices/virtual/other/uverbs1", 0, false},
		{"remove@uverbs1", 0, false},
		{"remove@", 0, false},
		{"", 0, false},
		{"remove@/devices/virtual/infiniband_verbs/uverbs1", 4711, false},
		{NULL, 0, false},
		{"remove@/devices/virtual/infiniband_verbs/uverbs1", 0, true},
		{"remove@/devices/pci0000:00/0000:00:04.0/infiniband_verbs/uverbs1", 0, true},
	};

	for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
		struct device *d RI_AT_END(setting_free) = setting_new();

		g_assert_cmpint(d->rnic.removal.fd, >=, 0);
		for (int twice = 0; twice < 2; twice++) {
			g_test_message("row %u", (unsigned)i);
			message = &rows[i];
			d->rnic.removal.fire(d->rnic.removal.arg, RI_WATCH_IN);
			g_assert_null(message);
		}
		g_assert_cmpuint(d->async_events->len, ==, rows[i].removes);
	}
}

/* Messages are lost, or the adapter is opened while its device goes: then the device's folder shows that. */
static void
test_messages_lost(void)
{
	static const struct kernel_message lost = {0};
	struct device *d RI_AT_END(device_free) = setting_new();

	g_strlcpy(d->device.dev_path, "/nowhere", sizeof(d->device.dev_path));
	message = &lost;
	d->rnic.removal.fire(d->rnic.removal.arg, RI_WATCH_IN);
	g_assert_cmpuint(d->async_events->len, ==, 1);
	vib_events_stop(&d->rnic);
	g_assert_cmpint(d->rnic.removal.fd, ==, -1);
	g_assert_cmpint(vib_events_start(&d->rnic), ==, RI_ERR_NO_DEVICE);
	g_assert_cmpint(d->rnic.removal.fd, ==, -1);
	close(d->verbs.async_fd);
}

/* Without a connection manager the first message is reported to the layers above, and a fatal event is the end, which the log has. */
static void
test_bare(void)
{
	struct device *d RI_AT_END(setting_free) = setting_new();
	struct vib_qp *qp RI_AT_END(data_qp_end) = device_qp(d, true);
	struct ibv_async_event event = {.event_type = IBV_EVENT_COMM_EST,
					.element.qp = qp->user.qp};

	event_send(d, &event);
	g_assert_cmpuint(cm_told, ==, 0);
	g_assert_cmpuint(d->async_events->len, ==, 1);
	g_assert_cmpint(g_array_index(d->async_events, struct ri_async_event, 0).event, ==,
			RI_EVENT_QP_COMM_EST);
	event.event_type = IBV_EVENT_QP_FATAL;
	event_send(d, &event);
	g_assert_true(
		vth_logged(d->vth, "the queue pair has failed: the device reports: a fatal event"));
	g_assert_cmpuint(d->async_events->len, ==, 2);
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/ib/events/objects", test_objects);
	g_test_add_func("/ib/events/ports", test_ports);
	g_test_add_func("/ib/events/former", test_former);
	g_test_add_data_func("/ib/events/fatal", GINT_TO_POINTER(BY_EVENT), test_removed);
	g_test_add_data_func("/ib/events/removed", GINT_TO_POINTER(BY_ASYNC), test_removed);
	g_test_add_data_func("/ib/events/removed-channel", GINT_TO_POINTER(BY_CHANNEL),
			     test_removed);
	g_test_add_data_func("/ib/events/unreadable", GINT_TO_POINTER(BY_OTHER), test_removed);
	g_test_add_func("/ib/events/removal-waits", test_removal_waits);
	g_test_add_func("/ib/events/removal-takes-too-long", test_removal_too_long);
	g_test_add_func("/ib/events/removed-and-closed", test_removed_and_closed);
	g_test_add_func("/ib/events/queue-goes", test_queue_goes);
	g_test_add_func("/ib/events/messages", test_messages);
	g_test_add_func("/ib/events/messages-lost", test_messages_lost);
	g_test_add_func("/ib/events/bare", test_bare);
	return g_test_run();
}
