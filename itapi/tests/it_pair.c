/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include "it_pair.h"

#include <stdbool.h>
#include <string.h>

#define ALL_PRIVS IT_PRIV_ALL

static const char *adapter;

struct job {
	void (*test)(struct pair *pair);
};

void
pair_use(const char *name)
{
	adapter = name;
}

const char *
pair_adapter(void)
{
	return adapter;
}

static void
evd_make(struct end *end, it_event_type_t stream, it_evd_handle_t *out)
{
	g_assert_cmpint(it_evd_create(end->ia, stream, 0, 256, 1, NULL, out, NULL), ==, IT_SUCCESS);
}

static void
attr_make(struct end *end)
{
	it_rc_only_attributes_t *rc = &end->attr.srv.rc;

	end->attr.max_request_dtos = REQUEST_SLOTS;
	end->attr.max_recv_dtos = RECV_SLOTS;
	end->attr.max_send_segments = 4;
	end->attr.max_recv_segments = 4;
	rc->max_rdma_read_segments = 1;
	rc->max_rdma_write_segments = 4;
	rc->rdma_read_enable = IT_TRUE;
	rc->rdma_write_enable = IT_TRUE;
	rc->atomics_enable = end->info->atomic_support;
	rc->rdma_read_ird = 4;
	rc->rdma_read_ord = 4;
	rc->hard_hi_watermark = IT_HARD_HI_WATERMARK_DISABLE;
}

bool
end_open(struct end *end)
{
	it_status_t status;

	memset(end, 0, sizeof(*end));
	status = it_ia_create(adapter, 2, 0, &end->ia);
	if (status == IT_ERR_INVALID_NAME)
		return false;
	g_assert_cmpint(status, ==, IT_SUCCESS);
	g_assert_cmpint(it_ia_query(end->ia, &end->info), ==, IT_SUCCESS);
	g_assert_cmpint(it_pz_create(end->ia, &end->pz), ==, IT_SUCCESS);
	evd_make(end, IT_DTO_EVENT_STREAM, &end->request);
	evd_make(end, IT_DTO_EVENT_STREAM, &end->recv);
	evd_make(end, IT_CM_MSG_EVENT_STREAM, &end->cm_msg);
	evd_make(end, IT_CM_REQ_EVENT_STREAM, &end->cm_req);
	attr_make(end);
	end->buffer = g_malloc0(END_BUFFER);
	g_assert_cmpint(it_lmr_create21(end->pz, end->buffer, NULL, END_BUFFER,
					IT_ADDR_MODE_ABSOLUTE, ALL_PRIVS, IT_LMR_FLAG_NONE, 0,
					&end->lmr, &end->context),
			==, IT_SUCCESS);
	return true;
}

/* In the natural order, so that every free is tried. */
void
end_close(struct end *end)
{
	if (end->ep != NULL)
		g_assert_cmpint(it_ep_free(end->ep), ==, IT_SUCCESS);
	g_assert_cmpint(it_lmr_free(end->lmr), ==, IT_SUCCESS);
	g_assert_cmpint(it_evd_free(end->request), ==, IT_SUCCESS);
	g_assert_cmpint(it_evd_free(end->recv), ==, IT_SUCCESS);
	g_assert_cmpint(it_evd_free(end->cm_msg), ==, IT_SUCCESS);
	g_assert_cmpint(it_evd_free(end->cm_req), ==, IT_SUCCESS);
	g_assert_cmpint(it_pz_free(end->pz), ==, IT_SUCCESS);
	it_ia_info_free(end->info);
	g_assert_cmpint(it_ia_free(end->ia), ==, IT_SUCCESS);
	g_free(end->buffer);
}

void
end_new_ep(struct end *end)
{
	if (end->ep != NULL)
		g_assert_cmpint(it_ep_free(end->ep), ==, IT_SUCCESS);
	g_assert_cmpint(it_ep_rc_create(end->pz, end->request, end->recv, end->cm_msg,
					IT_EP_NO_FLAG, &end->attr, &end->ep),
			==, IT_SUCCESS);
}

/* A spigot with an address, and how its services are named. */
void
pair_listen(struct pair *pair)
{
	const it_ia_info_t *info = pair->passive.info;
	it_conn_qual_t qual = {.type = IT_IANA_PORT};
	it_net_addr_t *addr = NULL;
	size_t paths = 1, total = 0;

	for (size_t i = 0; i < info->num_spigots && addr == NULL; i++) {
		pair->spigot = i;
		if (info->spigot_info[i].num_net_addr > 0)
			addr = info->spigot_info[i].net_addr;
	}
	g_assert_nonnull(addr);
	if ((info->spigot_info[pair->spigot].passive_side_conn_qual & IT_IANA_PORT) == 0)
		qual.type = IT_IB_SERVICEID;
	g_assert_cmpint(it_listen_create(pair->passive.ia, pair->spigot, pair->passive.cm_req,
					 IT_LISTEN_NO_FLAG, &qual, &pair->listen),
			==, IT_SUCCESS);
	pair->qual = qual;
	g_assert_cmpint(
		it_get_pathinfo(pair->active.ia, pair->spigot, addr, &paths, &total, &pair->path),
		==, IT_SUCCESS);
	g_assert_cmpuint(paths, >=, 1);
}

static void
run(const void *data)
{
	const struct job *job = data;
	struct pair pair;

	memset(&pair, 0, sizeof(pair));
	if (!end_open(&pair.active)) {
		g_test_skip("no such adapter");
		return;
	}
	g_assert_true(end_open(&pair.passive));
	end_new_ep(&pair.active);
	end_new_ep(&pair.passive);
	pair_listen(&pair);
	job->test(&pair);
	if (pair.listen != NULL)
		g_assert_cmpint(it_listen_free(pair.listen), ==, IT_SUCCESS);
	end_close(&pair.active);
	end_close(&pair.passive);
}

void
pair_add(const char *path, void (*test)(struct pair *pair))
{
	struct job *job = g_new(struct job, 1);
	char *name = g_strdup_printf("/itapi/%s/%s", adapter, path);

	job->test = test;
	g_test_add_data_func_full(name, job, (GTestDataFunc)(void (*)(void))run, g_free);
	g_free(name);
}

int
pair_main(int argc, char **argv, void (*add)(void))
{
	g_test_init(&argc, &argv, NULL);
	adapter = argc > 1 ? argv[1] : "emul:ib";
	add();
	return g_test_run();
}

it_event_t
end_next(it_evd_handle_t evd)
{
	it_event_t event;

	memset(&event, 0, sizeof(event));
	g_assert_cmpint(it_evd_wait(evd, WAIT_US, &event, NULL), ==, IT_SUCCESS);
	g_assert_true(event.any.evd == evd);
	return event;
}

it_event_t
end_expect(it_evd_handle_t evd, it_event_type_t number)
{
	it_event_t event = end_next(evd);

	g_assert_cmphex(event.event_number, ==, number);
	return event;
}

void
end_expect_none(it_evd_handle_t evd)
{
	it_event_t event;

	g_assert_cmpint(it_evd_dequeue(evd, &event), ==, IT_ERR_QUEUE_EMPTY);
}

it_ep_state_rc_t
end_state(const struct end *end)
{
	it_ep_param_t params;

	g_assert_cmpint(it_ep_query(end->ep, IT_EP_PARAM_STATE, &params), ==, IT_SUCCESS);
	return params.ep_state.rc;
}

uint32_t
end_ord(const struct end *end)
{
	it_ep_param_t params;

	g_assert_cmpint(it_ep_query(end->ep, IT_EP_PARAM_MAX_ORD, &params), ==, IT_SUCCESS);
	return params.attr.srv.rc.rdma_read_ord;
}

void
end_reset(struct end *end)
{
	it_status_t status = IT_ERR_CANNOT_RESET;

	for (int i = 0; i < 5000 && status == IT_ERR_CANNOT_RESET; i++) {
		status = it_ep_reset(end->ep);
		if (status == IT_ERR_CANNOT_RESET)
			g_usleep(1000);
	}
	g_assert_cmpint(status, ==, IT_SUCCESS);
	g_assert_cmpint(end_state(end), ==, IT_EP_STATE_UNCONNECTED);
}

unsigned
pair_descriptors(void)
{
	GDir *dir = g_dir_open("/proc/self/fd", 0, NULL);
	unsigned count = 0;

	g_assert_nonnull(dir);
	while (g_dir_read_name(dir) != NULL)
		count++;
	g_dir_close(dir);
	return count;
}

it_lmr_triplet_t
end_segment(const struct end *end, size_t offset, size_t length)
{
	it_lmr_triplet_t segment = {.lmr = end->lmr, .length = length};

	segment.addr.abs = end->buffer + offset;
	return segment;
}

void
pair_connect(struct pair *pair)
{
	g_assert_cmpint(it_ep_connect(pair->active.ep, &pair->path, NULL, &pair->qual,
				      IT_CONNECT_FLAG_TWO_WAY, NULL, 0),
			==, IT_SUCCESS);
}

void
pair_establish(struct pair *pair)
{
	it_event_t event;

	pair_connect(pair);
	event = end_expect(pair->passive.cm_req, IT_CM_REQ_CONN_REQUEST_EVENT);
	g_assert_cmpint(it_ep_accept(pair->passive.ep, event.conn_req.cn_est_id, NULL, 0), ==,
			IT_SUCCESS);
	event = end_expect(pair->active.cm_msg, IT_CM_MSG_CONN_ESTABLISHED_EVENT);
	g_assert_true(event.conn.ep == pair->active.ep);
	event = end_expect(pair->passive.cm_msg, IT_CM_MSG_CONN_ESTABLISHED_EVENT);
	g_assert_true(event.conn.ep == pair->passive.ep);
}

void
pair_disconnect(struct pair *pair)
{
	g_assert_cmpint(it_ep_disconnect(pair->active.ep, NULL, 0), ==, IT_SUCCESS);
	g_assert_cmpint(end_state(&pair->active), ==, IT_EP_STATE_NONOPERATIONAL);
	end_expect(pair->active.cm_msg, IT_CM_MSG_CONN_DISCONNECT_EVENT);
	end_expect(pair->passive.cm_msg, IT_CM_MSG_CONN_DISCONNECT_EVENT);
	g_assert_cmpint(end_state(&pair->passive), ==, IT_EP_STATE_NONOPERATIONAL);
}
