/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Managers with a host: timers and upcalls on its service thread. In virtual time each step is
 * checked; with a real service thread, several threads connect and disconnect at once.
 */
#include <pthread.h>
#include <string.h>

#include "vrc_service.h"
#include "vsw_test_host.h"

#define MS   UINT64_C(1000000)
#define PORT 7174

struct parcel {
	struct end *to;
	uint8_t octets[VRC_MAD_SIZE];
};

struct end {
	struct net *net;
	struct end *other;
	struct vrc_service *service;
	struct ri_addr addr;
	gint events[RI_CM_KIND_COUNT]; /* atomic */
	guint64 request;
	gint inside; /* upcalls that run */
};

/* Datagrams are queued, and delivered by a task of the host. */
struct net {
	struct vth *vth;
	const struct ri_host *host;
	pthread_mutex_t lock;
	GQueue parcels;
	struct ri_task task;
	guint drop; /* so many first ones are lost */
	struct end a;
	struct end b;
};

static void
net_deliver(void *arg)
{
	struct net *net = arg;

	for (;;) {
		pthread_mutex_lock(&net->lock);
		struct parcel *parcel = g_queue_pop_head(&net->parcels);
		pthread_mutex_unlock(&net->lock);
		if (parcel == NULL)
			return;
		struct vrc_path path = {.local = parcel->to->addr, .peer = parcel->to->other->addr};
		if (parcel->to->service != NULL)
			vrc_service_receive(parcel->to->service, &path, parcel->octets,
					    VRC_MAD_SIZE);
		g_free(parcel);
	}
}

static void
net_send(void *self, const struct vrc_path *path, const uint8_t *octets)
{
	struct end *from = self;
	struct net *net = from->net;

	(void)path;
	pthread_mutex_lock(&net->lock);
	if (net->drop > 0) {
		net->drop--;
	} else {
		struct parcel *parcel = g_new(struct parcel, 1);
		parcel->to = from->other;
		memcpy(parcel->octets, octets, VRC_MAD_SIZE);
		g_queue_push_tail(&net->parcels, parcel);
	}
	pthread_mutex_unlock(&net->lock);
	net->host->task_run(net->host->self, &net->task);
}

static struct vrc_params
params_of(struct end *end, uint32_t qpn)
{
	struct ri_cm_params given = {
		.local = end->addr,
		.peer = end->other->addr,
		.service = {.kind = RI_SERVICE_PORT, .port = GUINT16_TO_BE(PORT)},
		.ird = 3,
		.ord = 4,
		.deadline = RI_NEVER};
	struct vrc_params params = vrc_params_of(&given);

	g_assert_cmpuint(params.ird, ==, 3);
	g_assert_cmpuint(params.ord, ==, 4);
	params.qpn = qpn;
	params.mtu = 1024;
	return params;
}

/* The owner accepts at once, in the upcall. */
static void
on_raise(void *self, const struct vrc_event *event)
{
	struct end *end = self;

	g_assert_cmpint(g_atomic_int_add(&end->inside, 1), ==, 0);
	g_atomic_int_inc(&end->events[event->cm.kind]);
	if (event->cm.kind == RI_CM_REQUEST) {
		struct vrc_params params = params_of(end, 0x1000 + event->cm.reach.qpn);
		end->request = event->number;
		struct vrc_cm *cm = vrc_service_enter(end->service);
		(void)vrc_accept(cm, event->number, &params);
		vrc_service_leave(end->service);
	}
	g_atomic_int_add(&end->inside, -1);
}

static void
end_start(struct net *net, struct end *end, struct end *other, guint8 last)
{
	struct vrc_config config = {.host = net->host,
				    .send = net_send,
				    .self = end,
				    .path_mtu = 1024,
				    .max_requests = 256,
				    .max_conns = 2048};

	end->net = net;
	end->other = other;
	end->addr = (struct ri_addr){.family = RI_ADDR_IPV4, .octets = {192, 0, 2, last}};
	end->service = vrc_service_new(&config, on_raise, end);
	g_assert_nonnull(end->service);
}

static void
start(struct net *net, bool threaded)
{
	struct ri_service service = {.kind = RI_SERVICE_PORT, .port = GUINT16_TO_BE(PORT)};
	struct vrc_listen *listen;

	memset(net, 0, sizeof(*net));
	net->vth = vth_new(threaded);
	net->host = vth_host(net->vth);
	pthread_mutex_init(&net->lock, NULL);
	g_queue_init(&net->parcels);
	net->task = (struct ri_task){.fire = net_deliver, .arg = net};
	end_start(net, &net->a, &net->b, 1);
	end_start(net, &net->b, &net->a, 2);
	g_assert_cmpint(vrc_listen(vrc_service_enter(net->b.service), 1, &service, 256, &listen),
			==, RI_SUCCESS);
	vrc_service_leave(net->b.service);
}

static void
stop(struct net *net)
{
	/* What is sent from now on is lost, so that nothing is delivered to what is freed. */
	pthread_mutex_lock(&net->lock);
	net->drop = G_MAXUINT;
	g_queue_clear_full(&net->parcels, g_free);
	pthread_mutex_unlock(&net->lock);
	net->host->task_stop(net->host->self, &net->task);
	vrc_service_free(net->a.service);
	vrc_service_free(net->b.service);
	net->host->task_stop(net->host->self, &net->task);
	vth_free(&net->vth);
	pthread_mutex_destroy(&net->lock);
}

static guint64
connect_one(struct end *end, uint32_t qpn)
{
	struct vrc_params params = params_of(end, qpn);
	guint64 number = 0;

	g_assert_cmpint(vrc_connect(vrc_service_enter(end->service), &params, &number), ==,
			RI_SUCCESS);
	vrc_service_leave(end->service);
	return number;
}

/* Nothing is raised before the service thread runs; a lost REQ is repeated by the timer; the end comes by it, too. */
static void
test_virtual(void)
{
	struct net net RI_AT_END(stop);

	start(&net, false);
	net.drop = 2;
	guint64 number = connect_one(&net.a, 0x11);
	vth_run(net.vth);
	g_assert_cmpuint(net.b.events[RI_CM_REQUEST], ==, 0);
	vth_advance(net.vth, 260 * MS);
	g_assert_cmpuint(net.b.events[RI_CM_REQUEST], ==, 0);
	vth_advance(net.vth, 20 * MS); /* lost, too */
	g_assert_cmpuint(net.b.events[RI_CM_REQUEST], ==, 0);
	vth_advance(net.vth, 540 * MS);
	g_assert_cmpuint(net.b.events[RI_CM_REQUEST], ==, 1);
	g_assert_cmpuint(net.a.events[RI_CM_ESTABLISHED], ==, 1);
	g_assert_cmpuint(net.b.events[RI_CM_ESTABLISHED], ==, 1);
	g_assert_cmpint(vrc_disconnect(vrc_service_enter(net.a.service), number, NULL, 0), ==,
			RI_SUCCESS);
	vrc_service_leave(net.a.service);
	vth_advance(net.vth, 1000 * MS);
	g_assert_cmpuint(net.b.events[RI_CM_DISCONNECTED], ==, 1);
	g_assert_cmpuint(net.a.events[RI_CM_TIME_WAIT_OVER], ==, 0);
	vth_advance(net.vth, 2000 * MS);
	g_assert_cmpuint(net.a.events[RI_CM_TIME_WAIT_OVER], ==, 1);
	g_assert_cmpuint(net.b.events[RI_CM_TIME_WAIT_OVER], ==, 1);
}

/* After abandon and settle no upcall names the number, though its events were ready. */
static void
test_settle(void)
{
	struct net net RI_AT_END(stop);

	start(&net, false);
	guint64 number = connect_one(&net.a, 0x11);
	/* Everything but the upcalls: what that of b would do is done here. */
	net_deliver(&net);
	struct vrc_params params = params_of(&net.b, 0x22);
	struct vrc_event event;
	struct vrc_cm *cm = vrc_service_enter(net.b.service);
	g_assert_true(vrc_cm_next(cm, &event));
	g_assert_cmpint(vrc_accept(cm, event.number, &params), ==, RI_SUCCESS);
	vrc_service_leave(net.b.service);
	net_deliver(&net);
	g_assert_true(vrc_cm_has_next(vrc_service_enter(net.a.service)));
	vrc_service_leave(net.a.service);
	vrc_abandon(vrc_service_enter(net.a.service), number);
	vrc_service_leave(net.a.service);
	vrc_service_settle(net.a.service);
	vth_advance(net.vth, 5000 * MS);
	g_assert_cmpuint(net.a.events[RI_CM_ESTABLISHED] + net.a.events[RI_CM_DISCONNECTED] +
				 net.a.events[RI_CM_TIME_WAIT_OVER],
			 ==, 0);
}

/* The end of an adapter with an open connection is reported to the peer. */
static void
test_free(void)
{
	struct net net RI_AT_END(stop);

	start(&net, false);
	(void)connect_one(&net.a, 0x11);
	vth_advance(net.vth, 100 * MS);
	g_assert_cmpuint(net.b.events[RI_CM_ESTABLISHED], ==, 1);
	vrc_service_free(net.a.service);
	net.a.service = NULL;
	vth_run(net.vth);
	g_assert_cmpuint(net.b.events[RI_CM_DISCONNECTED], ==, 1);
	end_start(&net, &net.a, &net.b, 1);
}

#define THREADS 4
#define EACH    100

static void *
connect_many(void *arg)
{
	struct end *end = arg;
	static gint next;

	for (guint i = 0; i < EACH; i++) {
		uint32_t qpn = 0x100u + (uint32_t)g_atomic_int_add(&next, 1);
		guint64 number = connect_one(end, qpn);

		if (i % 3 == 0)
			continue;
		if (i % 3 == 1) {
			vrc_abandon(vrc_service_enter(end->service), number);
			vrc_service_leave(end->service);
			vrc_service_settle(end->service);
			continue;
		}
		(void)vrc_disconnect(vrc_service_enter(end->service), number, NULL, 0);
		vrc_service_leave(end->service);
	}
	return NULL;
}

static void
test_threads(void)
{
	struct net net;
	pthread_t threads[THREADS];

	start(&net, true);
	for (guint i = 0; i < THREADS; i++)
		g_assert_cmpint(pthread_create(&threads[i], NULL, connect_many, &net.a), ==, 0);
	for (guint i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	/* A third of them stays established, a third is left. */
	const gint want = THREADS * (EACH / 3);
	for (guint i = 0; i < 20000; i++) {
		if (g_atomic_int_get(&net.a.events[RI_CM_ESTABLISHED]) >= want &&
		    g_atomic_int_get(&net.a.events[RI_CM_DISCONNECTED]) >= want)
			break;
		g_usleep(1000);
	}
	stop(&net);
	g_assert_cmpint(net.a.events[RI_CM_ESTABLISHED], >=, want);
	g_assert_cmpint(net.a.events[RI_CM_DISCONNECTED], >=, want);
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/roce/cm/service/virtual", test_virtual);
	g_test_add_func("/roce/cm/service/settle", test_settle);
	g_test_add_func("/roce/cm/service/free", test_free);
	g_test_add_func("/roce/cm/service/threads", test_threads);
	return g_test_run();
}
