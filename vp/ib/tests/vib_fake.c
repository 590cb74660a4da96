/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* The librdmacm of vib_fake.h, and what a test does with it. */
#include "vib_fake.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "vib_profile.h"

struct fake_id {
	struct rdma_cm_id id;
	unsigned unacked;
	bool under_way; /* an iWARP attempt: rdma_destroy_id would wait */
};

struct fake_cm_event {
	struct rdma_cm_event event;
	struct fake_id *counted; /* the id that waits for its acknowledgement */
	char pdata[64];
};

struct fake *fake_of_process;

/* librdmacm has one state for a process. */
static struct {
	GPtrArray *ids;
	GQueue events;
	GString *calls;
	GHashTable *failures;
	struct rdma_event_channel channel;
	struct rdma_conn_param param;
	char pdata[RI_PDATA_MAX + 1];
	uint16_t last_port;
	uint8_t ack_timeout;
} cm;

/* --- librdmacm --------------------------------------------------------------------------------------- */

int
fake_call(const char *name)
{
	int error = GPOINTER_TO_INT(g_hash_table_lookup(cm.failures, name));

	if (!g_str_has_suffix(name, "_id"))
		g_string_append_printf(cm.calls, "%s ", name);
	if (error == 0)
		return 0;
	errno = error;
	return -1;
}

static void
note_pdata(const void *data, size_t len)
{
	memset(cm.pdata, 0, sizeof(cm.pdata));
	if (len > 0)
		memcpy(cm.pdata, data, len);
}

struct rdma_event_channel *
rdma_create_event_channel(void)
{
	if (fake_call("create_event_channel") != 0)
		return NULL;
	cm.channel.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return &cm.channel;
}

void
rdma_destroy_event_channel(struct rdma_event_channel *channel)
{
	close(channel->fd);
}

int
rdma_create_id(struct rdma_event_channel *channel, struct rdma_cm_id **id, void *context,
	       enum rdma_port_space ps)
{
	struct fake_id *made;

	if (fake_call("create_id") != 0)
		return -1;
	made = g_new0(struct fake_id, 1);
	made->id.channel = channel;
	made->id.context = context;
	made->id.ps = ps;
	made->id.port_num = 1;
	g_ptr_array_add(cm.ids, made);
	*id = &made->id;
	return 0;
}

int
rdma_destroy_id(struct rdma_cm_id *id)
{
	struct fake_id *fake_id = (struct fake_id *)id;

	/* It would wait for ever. */
	g_assert_cmpuint(fake_id->unacked, ==, 0);
	g_assert_false(fake_id->under_way);
	for (GList *l = cm.events.head, *next; l != NULL; l = next) {
		struct fake_cm_event *event = l->data;

		next = l->next;
		if (event->counted != fake_id)
			continue;
		g_queue_delete_link(&cm.events, l);
		g_free(event);
	}
	g_assert_true(g_ptr_array_remove(cm.ids, fake_id));
	g_free(fake_id);
	return 0;
}

int
rdma_bind_addr(struct rdma_cm_id *id, struct sockaddr *addr)
{
	struct sockaddr_in *in = (void *)addr;

	if (fake_call("bind_addr") != 0 || (in->sin_port != 0 && fake_call("bind_port") != 0))
		return -1;
	if (in->sin_port == 0)
		in->sin_port = htons(++cm.last_port);
	memcpy(&id->route.addr.src_sin, in, sizeof(*in));
	id->verbs = &fake_of_process->verbs;
	return 0;
}

int
rdma_listen(struct rdma_cm_id *id, int backlog)
{
	(void)id;
	g_assert_cmpint(backlog, >, 0);
	return fake_call("listen");
}

int
rdma_resolve_addr(struct rdma_cm_id *id, struct sockaddr *src_addr, struct sockaddr *dst_addr,
		  int timeout_ms)
{
	g_assert_cmpint(timeout_ms, >, 0);
	memcpy(&id->route.addr.src_sin, src_addr, sizeof(struct sockaddr_in));
	memcpy(&id->route.addr.dst_sin, dst_addr, sizeof(struct sockaddr_in));
	id->verbs = &fake_of_process->verbs;
	return fake_call("resolve_addr");
}

int
rdma_resolve_route(struct rdma_cm_id *id, int timeout_ms)
{
	(void)id;
	g_assert_cmpint(timeout_ms, >, 0);
	return fake_call("resolve_route");
}

/* As the kernel fills them: with InfiniBand everything, with iWARP next to nothing. */
int
rdma_init_qp_attr(struct rdma_cm_id *id, struct ibv_qp_attr *qp_attr, int *qp_attr_mask)
{
	static const int masks[] = {
		[IBV_QPS_INIT] =
			IBV_QP_STATE | IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX | IBV_QP_PORT,
		[IBV_QPS_RTR] = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER |
				1 << 21,
		[IBV_QPS_RTS] = IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
				IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC,
	};

	(void)id;
	if (fake_call("init_qp_attr") != 0)
		return -1;
	*qp_attr_mask = masks[qp_attr->qp_state];
	qp_attr->max_dest_rd_atomic = 100;
	qp_attr->max_rd_atomic = 100;
	if (qp_attr->qp_state == IBV_QPS_RTR) {
		qp_attr->ah_attr = fake_of_process->way;
		qp_attr->path_mtu = IBV_MTU_2048;
		qp_attr->dest_qp_num = 0x7654;
		qp_attr->rq_psn = 0x111111;
		qp_attr->min_rnr_timer = 3;
	} else if (qp_attr->qp_state == IBV_QPS_RTS) {
		qp_attr->sq_psn = 0x222222;
		qp_attr->timeout = 18;
		qp_attr->retry_cnt = 5;
		qp_attr->rnr_retry = 4;
	}
	if (fake_of_process->rnic.iwarp)
		*qp_attr_mask =
			qp_attr->qp_state == IBV_QPS_RTS ? 0 : IBV_QP_STATE | IBV_QP_ACCESS_FLAGS;
	return 0;
}

static int
parametered(const char *name, struct rdma_cm_id *id, const struct rdma_conn_param *param)
{
	struct fake_id *fake_id = (struct fake_id *)id;

	cm.param = *param;
	note_pdata(param->private_data, param->private_data_len);
	if (fake_call(name) != 0)
		return -1;
	fake_id->under_way = fake_of_process->rnic.iwarp;
	return 0;
}

int
rdma_connect(struct rdma_cm_id *id, struct rdma_conn_param *conn_param)
{
	int result = parametered("connect", id, conn_param);

	if (fake_of_process->in_connect != NULL)
		fake_of_process->in_connect(fake_of_process->in_connect_arg);
	return result;
}

int
rdma_set_option(struct rdma_cm_id *id, int level, int optname, void *optval, size_t optlen)
{
	(void)id;
	g_assert_cmpint(level, ==, RDMA_OPTION_ID);
	g_assert_cmpint(optname, ==, RDMA_OPTION_ID_ACK_TIMEOUT);
	g_assert_cmpuint(optlen, ==, sizeof(cm.ack_timeout));
	memcpy(&cm.ack_timeout, optval, sizeof(cm.ack_timeout));
	return fake_call("ack_timeout");
}

int
rdma_accept(struct rdma_cm_id *id, struct rdma_conn_param *conn_param)
{
	if (fake_of_process->in_accept != NULL)
		fake_of_process->in_accept(fake_of_process->in_accept_arg);
	return parametered("accept", id, conn_param);
}

int
rdma_reject(struct rdma_cm_id *id, const void *private_data, uint8_t private_data_len)
{
	(void)id;
	note_pdata(private_data, private_data_len);
	return fake_call("reject");
}

int
rdma_reject_ece(struct rdma_cm_id *id, const void *private_data, uint8_t private_data_len)
{
	(void)id;
	note_pdata(private_data, private_data_len);
	return fake_call("reject_ece");
}

int
rdma_establish(struct rdma_cm_id *id)
{
	(void)id;
	if (fake_of_process->in_establish != NULL)
		fake_of_process->in_establish(fake_of_process->in_establish_arg);
	return fake_call("establish");
}

int
rdma_disconnect(struct rdma_cm_id *id)
{
	g_assert_false(((struct fake_id *)id)->under_way); /* it would wait */
	return fake_call("disconnect");
}

int
rdma_notify(struct rdma_cm_id *id, enum ibv_event_type event)
{
	g_assert_nonnull(id);
	g_assert_cmpint(event, ==, IBV_EVENT_COMM_EST);
	return fake_call("notify");
}

int
rdma_get_cm_event(struct rdma_event_channel *channel, struct rdma_cm_event **event)
{
	int error = GPOINTER_TO_INT(g_hash_table_lookup(cm.failures, "get_cm_event"));
	struct fake_cm_event *next;
	uint64_t count;

	g_assert_cmpuint(++fake_of_process->reads, <, 1000); /* nobody reads again and again */
	if (error != 0) {
		errno = error; /* the descriptor stays readable */
		return -1;
	}
	next = g_queue_pop_head(&cm.events);
	if (next == NULL) {
		(void)!read(channel->fd, &count, sizeof(count));
		errno = EAGAIN;
		return -1;
	}
	next->counted->unacked++;
	next->counted->under_way = false;
	*event = &next->event;
	return 0;
}

int
rdma_ack_cm_event(struct rdma_cm_event *event)
{
	struct fake_cm_event *acked = (struct fake_cm_event *)event;

	acked->counted->unacked--;
	g_free(acked);
	return 0;
}

static __be16
port_of(const struct sockaddr_in *in)
{
	return in->sin_port;
}

__be16
rdma_get_src_port(struct rdma_cm_id *id)
{
	return port_of(&id->route.addr.src_sin);
}

__be16
rdma_get_dst_port(struct rdma_cm_id *id)
{
	return port_of(&id->route.addr.dst_sin);
}

const char *
rdma_event_str(enum rdma_cm_event_type event)
{
	static char text[32];

	g_snprintf(text, sizeof(text), "event %d", (int)event);
	return text;
}

/* --- for tests -------------------------------------------------------------------------------------------- */

static void
on_cm_event(void *self, const struct ri_cm_event *event)
{
	struct fake *fake = self;

	g_array_append_vals(fake->upcalled, event, 1);
}

static void
profile_fill(struct fake *fake)
{
	struct ri_rnic_attr *attr = &fake->rnic.attr;

	attr->num_ports = 1;
	attr->max_ird = 16;
	attr->max_ord = 16;
	attr->ud = !fake->rnic.iwarp;
	vib_cm_profile(&fake->rnic, attr);
	attr->cm_number = false; /* a test that wants it says so */
}

static const struct vib_quirk usual = {.driver = ""};

struct fake *
fake_new(bool iwarp)
{
	static const uint8_t octets[3][4] = {{192, 0, 2, 1}, {192, 0, 2, 2}, {192, 0, 2, 3}};
	struct fake *fake = g_new0(struct fake, 1);

	memset(&cm, 0, sizeof(cm));
	fake_of_process = fake;
	cm.ids = g_ptr_array_new();
	cm.calls = g_string_new(NULL);
	cm.failures = g_hash_table_new(g_str_hash, g_str_equal);
	cm.last_port = 4000;
	fake->vth = vth_new(false);
	fake->upcalled = g_array_new(FALSE, TRUE, sizeof(struct ri_cm_event));
	fake->upcalls.self = fake;
	fake->upcalls.cm_event = on_cm_event;
	g_strlcpy(fake->device.name, "fake0", sizeof(fake->device.name));
	fake->verbs.device = &fake->device;
	fake->rnic.host = vth_host(fake->vth);
	fake->rnic.upcalls = &fake->upcalls;
	fake->rnic.verbs = &fake->verbs;
	fake->rnic.iwarp = iwarp;
	fake->rnic.quirk = &usual;
	for (unsigned i = 0; i < G_N_ELEMENTS(octets); i++) {
		fake->addrs[i].family = RI_ADDR_IPV4;
		memcpy(fake->addrs[i].octets, octets[i], 4);
	}
	fake->num_addrs = 1;
	fake->context.rnic = &fake->rnic;
	fake->pd.context = &fake->context;
	pthread_mutex_init(&fake->context.lock, NULL);
	vib_list_init(&fake->context.listens);
	profile_fill(fake);
	g_assert_cmpint(vib_cm_open(&fake->rnic), ==, RI_SUCCESS);
	return fake;
}

enum ri_status
fake_open_fails(struct fake *fake, int error, const char *text)
{
	struct vib_cm *had = fake->rnic.cm;
	enum ri_status status;

	fake_fail("create_event_channel", error);
	status = vib_cm_open(&fake->rnic);
	g_assert_true(fake->rnic.cm == had);
	g_assert_cmpstr(fake_last_log(), ==, text);
	fake_fail("create_event_channel", 0);
	return status;
}

void
fake_free(struct fake **freed)
{
	struct fake *fake = *freed;

	fake_run(fake); /* what is due when calls have returned */
	vib_cm_context_end(&fake->context);
	vib_cm_close(&fake->rnic);
	g_assert_cmpuint(cm.ids->len, ==, 0);
	g_ptr_array_free(cm.ids, TRUE);
	g_string_free(cm.calls, TRUE);
	g_hash_table_destroy(cm.failures);
	g_assert_cmpuint(fake->upcalled->len, ==, 0);
	g_array_free(fake->upcalled, TRUE);
	pthread_mutex_destroy(&fake->context.lock);
	vth_free(&fake->vth);
	g_free(fake);
}

void
fake_run(struct fake *fake)
{
	vth_run(fake->vth);
}

void
fake_advance(struct fake *fake, uint64_t ms)
{
	vth_advance(fake->vth, ms * 1000000);
}

const struct ri_cm_event *
fake_upcall(struct fake *fake, enum ri_cm_event_kind kind)
{
	static struct ri_cm_event event;

	g_assert_cmpuint(fake->upcalled->len, >, 0);
	event = g_array_index(fake->upcalled, struct ri_cm_event, 0);
	g_array_remove_index(fake->upcalled, 0);
	g_assert_cmpint(event.kind, ==, kind);
	return &event;
}

void
fake_no_upcall(const struct fake *fake)
{
	g_assert_cmpuint(fake->upcalled->len, ==, 0);
}

char *
fake_calls(void)
{
	char *had = g_strdup(cm.calls->str);

	g_string_truncate(cm.calls, 0);
	return had;
}

void
fake_fail(const char *name, int error)
{
	g_hash_table_insert(cm.failures, (gpointer)name, GINT_TO_POINTER(error));
}

guint
fake_live_ids(void)
{
	return cm.ids->len;
}

struct rdma_cm_id *
fake_last_id(void)
{
	return g_ptr_array_index(cm.ids, cm.ids->len - 1);
}

const struct rdma_conn_param *
fake_last_param(void)
{
	return &cm.param;
}

uint8_t
fake_last_ack_timeout(void)
{
	return cm.ack_timeout;
}

const char *
fake_last_pdata(void)
{
	return cm.pdata;
}

static struct fake_cm_event *
event_new(struct rdma_cm_id *id, enum rdma_cm_event_type type, int status, const char *pdata)
{
	struct fake_cm_event *event = g_new0(struct fake_cm_event, 1);
	struct rdma_conn_param *param = &event->event.param.conn;

	event->counted = (struct fake_id *)id;
	event->event.id = id;
	event->event.event = type;
	event->event.status = status;
	if (pdata != NULL)
		g_strlcpy(event->pdata, pdata, sizeof(event->pdata));
	if (id->ps == RDMA_PS_UDP) {
		event->event.param.ud.private_data = pdata != NULL ? event->pdata : NULL;
		event->event.param.ud.private_data_len = pdata != NULL ? sizeof(event->pdata) : 0;
		event->event.param.ud.qp_num = 99;
		event->event.param.ud.qkey = RDMA_UDP_QKEY;
		return event;
	}
	param->private_data = pdata != NULL ? event->pdata : NULL;
	param->private_data_len = pdata != NULL ? sizeof(event->pdata) : 0;
	param->responder_resources = 3; /* what the peer may have outstanding: its ORD */
	param->initiator_depth = 5;     /* its IRD */
	return event;
}

static void
event_send(struct fake *fake, struct fake_cm_event *event)
{
	void (*lie)(struct rdma_cm_event * told) = fake->lie;
	uint64_t one = 1;

	fake->lie = NULL;
	if (lie != NULL)
		lie(&event->event);

	g_queue_push_tail(&cm.events, event);
	g_assert_cmpint(write(cm.channel.fd, &one, sizeof(one)), ==, sizeof(one));
	fake_run(fake);
}

void
fake_event(struct fake *fake, struct rdma_cm_id *id, enum rdma_cm_event_type type, int status,
	   const char *pdata)
{
	event_send(fake, event_new(id, type, status, pdata));
}

struct rdma_cm_id *
fake_request(struct fake *fake, struct rdma_cm_id *listen, const char *pdata)
{
	struct fake_cm_event *event = event_new(listen, RDMA_CM_EVENT_CONNECT_REQUEST, 0, pdata);
	struct rdma_cm_id *id;

	g_assert_cmpint(rdma_create_id(listen->channel, &id, listen->context, listen->ps), ==, 0);
	id->verbs = &fake->verbs;
	id->route = listen->route;
	id->route.addr.dst_sin = listen->route.addr.src_sin;
	id->route.addr.dst_sin.sin_port = htons(5555);
	event->event.listen_id = listen;
	event->event.id = id;
	event_send(fake, event);
	return id;
}
