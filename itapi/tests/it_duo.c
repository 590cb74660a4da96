/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include "it_duo.h"

#include <string.h>

const char *const duo_adapters[] = {"iwarp:lo", "emul:ib", "emul:iwarp", NULL};

static bool
present(const char *adapter)
{
	it_interface_t list[64];
	size_t count = G_N_ELEMENTS(list), total = 0;

	it_interface_list(list, &count, &total);
	for (size_t i = 0; i < count; i++)
		if (strcmp(list[i].name, adapter) == 0)
			return true;
	return false;
}

void
duo_add_tests(const char *path, void (*run)(gconstpointer adapter))
{
	for (size_t i = 0; duo_adapters[i] != NULL; i++) {
		g_autofree char *name = g_strdup_printf("%s/%s", path, duo_adapters[i]);

		if (present(duo_adapters[i]))
			g_test_add_data_func(name, duo_adapters[i], run);
	}
}

it_ia_handle_t
duo_open(const char *adapter)
{
	it_ia_handle_t ia = NULL;

	duo_ok(it_ia_create(adapter, 2, 1, &ia));
	g_assert_nonnull(ia);
	return ia;
}

it_evd_handle_t
duo_sevd(it_ia_handle_t ia, it_event_type_t stream, size_t threshold)
{
	it_evd_handle_t evd = NULL;

	duo_ok(it_evd_create(ia, stream, (it_evd_flags_t)0, 2 * DUO_DTOS, threshold, NULL, &evd,
			     NULL));
	g_assert_nonnull(evd);
	return evd;
}

static void
end_make(struct duo *duo, struct duo_end *end, size_t threshold, int *fd)
{
	it_ep_attributes_t attr = {
		.max_dto_payload_size = DUO_BUFFER,
		.max_request_dtos = DUO_DTOS,
		.max_recv_dtos = DUO_DTOS,
		.max_send_segments = 1,
		.max_recv_segments = 1,
		.srv.rc.rdma_read_enable = IT_TRUE,
		.srv.rc.rdma_write_enable = IT_TRUE,
		.srv.rc.max_rdma_read_segments = 1,
		.srv.rc.max_rdma_write_segments = 1,
		.srv.rc.rdma_read_ird = 4,
		.srv.rc.rdma_read_ord = 4,
		.srv.rc.hard_hi_watermark = IT_HARD_HI_WATERMARK_DISABLE,
	};

	end->request = duo_sevd(duo->ia, IT_DTO_EVENT_STREAM, threshold);
	duo_ok(it_evd_create(duo->ia, IT_DTO_EVENT_STREAM,
			     fd != NULL ? IT_EVD_CREATE_FD : (it_evd_flags_t)0, 2 * DUO_DTOS,
			     threshold, NULL, &end->recv, fd));
	end->connect = duo_sevd(duo->ia, IT_CM_MSG_EVENT_STREAM, 1);
	duo_ok(it_ep_rc_create(duo->pz, end->request, end->recv, end->connect, IT_EP_NO_FLAG, &attr,
			       &end->ep));
	end->buffer = (unsigned char *)g_malloc0(DUO_BUFFER);
	duo_ok(it_lmr_create10(duo->pz, end->buffer, DUO_BUFFER,
			       (it_mem_priv_t)(IT_PRIV_LOCAL | IT_PRIV_REMOTE), IT_LMR_FLAG_NONE, 0,
			       &end->lmr, &end->context));
}

void
duo_make_fd(struct duo *duo, const char *adapter, size_t threshold, int *fd)
{
	memset(duo, 0, sizeof(*duo));
	duo->ia = duo_open(adapter);
	duo_ok(it_pz_create(duo->ia, &duo->pz));
	duo->requests = duo_sevd(duo->ia, IT_CM_REQ_EVENT_STREAM, 1);
	end_make(duo, &duo->active, threshold, NULL);
	end_make(duo, &duo->passive, threshold, fd);
}

void
duo_make(struct duo *duo, const char *adapter, size_t threshold)
{
	duo_make_fd(duo, adapter, threshold, NULL);
}

static it_path_t
path_to_self(it_ia_handle_t ia)
{
	size_t paths = 1, total = 0;
	it_ia_info_t *info = NULL;
	it_path_t path;

	duo_ok(it_ia_query(ia, &info));
	g_assert_cmpuint(info->num_spigots, >, 0);
	g_assert_cmpuint(info->spigot_info[0].num_net_addr, >, 0);
	duo_ok(it_get_pathinfo(ia, 0, &info->spigot_info[0].net_addr[0], &paths, &total, &path));
	g_assert_cmpuint(paths, ==, 1);
	it_ia_info_free(info);
	return path;
}

void
duo_expect(it_evd_handle_t evd, it_event_type_t number, it_event_t *event)
{
	duo_ok(it_evd_wait(evd, DUO_WAIT, event, NULL));
	g_assert_cmphex(event->event_number, ==, number);
	g_assert_true(event->any.evd == evd);
}

void
duo_connect(struct duo *duo)
{
	it_conn_qual_t qual = {.type = IT_IANA_PORT};
	it_path_t path = path_to_self(duo->ia);
	it_event_t event;

	duo_ok(it_listen_create(duo->ia, 0, duo->requests, IT_LISTEN_NO_FLAG, &qual, &duo->listen));
	duo_ok(it_ep_connect(duo->active.ep, &path, NULL, &qual, IT_CONNECT_FLAG_TWO_WAY, NULL, 0));
	duo_expect(duo->requests, IT_CM_REQ_CONN_REQUEST_EVENT, &event);
	duo_ok(it_ep_accept(duo->passive.ep, event.conn_req.cn_est_id, NULL, 0));
	duo_expect(duo->active.connect, IT_CM_MSG_CONN_ESTABLISHED_EVENT, &event);
	duo_expect(duo->passive.connect, IT_CM_MSG_CONN_ESTABLISHED_EVENT, &event);
}

static void
end_free(struct duo_end *end)
{
	duo_ok(it_ep_free(end->ep));
	duo_ok(it_lmr_free(end->lmr));
	duo_ok(it_evd_free(end->request));
	duo_ok(it_evd_free(end->recv));
	duo_ok(it_evd_free(end->connect));
	g_free(end->buffer);
}

void
duo_free(struct duo *duo)
{
	end_free(&duo->active);
	end_free(&duo->passive);
	if (duo->listen != NULL)
		duo_ok(it_listen_free(duo->listen));
	duo_ok(it_evd_free(duo->requests));
	duo_ok(it_pz_free(duo->pz));
	duo_ok(it_ia_free(duo->ia));
}

/* Sends come from the front of the buffer, receives go to its second half, Writes to its middle. */
static it_lmr_triplet_t
segment(struct duo_end *end, size_t offset, size_t len)
{
	return (it_lmr_triplet_t){.lmr = end->lmr, .addr.abs = end->buffer + offset, .length = len};
}

it_status_t
duo_write(struct duo *duo, size_t len, it_dto_cookie_t cookie, unsigned flags)
{
	it_lmr_triplet_t from = segment(&duo->active, 0, len);

	return it_post_rdma_write(duo->active.ep, &from, 1, cookie, (it_dto_flags_t)flags,
				  it_make_rdma_addr_absolute(duo->passive.buffer + DUO_BUFFER / 4),
				  duo->passive.context);
}

it_status_t
duo_send(struct duo_end *end, size_t len, it_dto_cookie_t cookie, unsigned flags)
{
	it_lmr_triplet_t from = segment(end, 0, len);

	return it_post_send(end->ep, &from, 1, cookie, (it_dto_flags_t)flags);
}

it_status_t
duo_recv(struct duo_end *end, size_t len, it_dto_cookie_t cookie)
{
	it_lmr_triplet_t to = segment(end, DUO_BUFFER / 2, len);

	return it_post_recv((it_handle_t)end->ep, &to, 1, cookie, (it_dto_flags_t)0);
}
