/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Listeners, their connection qualifiers and their end [IT 2.4], [IT 6.7], [IT 9.1], [IT 9.4]. */

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cm_scene.h"

#define NOBODY 65534

static it_status_t
try_listen(struct pair *pair, size_t spigot, it_evd_handle_t evd, unsigned int flags,
	   it_conn_qual_t qual)
{
	it_listen_handle_t made = (it_listen_handle_t)pair;
	it_status_t status = it_listen_create(pair->passive.ia, spigot, evd,
					      (it_listen_flags_t)flags, &qual, &made);

	if (status == IT_SUCCESS)
		g_assert_cmpint(it_listen_free(made), ==, IT_SUCCESS);
	else
		g_assert_null(made);
	return status;
}

/* Listeners return the statuses of their arguments. */
static void
test_statuses(struct pair *pair)
{
	it_evd_handle_t evd = pair->passive.cm_req;
	it_conn_qual_t none = {0};
	it_listen_handle_t made;

	g_assert_cmpint(it_listen_create(NULL, 0, evd, 0, &none, &made), ==, IT_ERR_INVALID_IA);
	g_assert_cmpint(it_listen_create(pair->passive.ia, 0, evd, 0, NULL, &made), ==,
			IT_ERR_FAULT);
	g_assert_cmpint(it_listen_create(pair->passive.ia, 0, evd, 0, &none, NULL), ==,
			IT_ERR_FAULT);
	g_assert_cmpint(try_listen(pair, pair->passive.info->num_spigots, evd, 0, pair->qual), ==,
			IT_ERR_INVALID_SPIGOT);
	g_assert_cmpint(try_listen(pair, pair->spigot, NULL, 0, pair->qual), ==,
			IT_ERR_INVALID_CONN_EVD);
	g_assert_cmpint(try_listen(pair, pair->spigot, pair->passive.cm_msg, 0, pair->qual), ==,
			IT_ERR_INVALID_CONN_EVD);
	g_assert_cmpint(try_listen(pair, pair->spigot, pair->active.cm_req, 0, pair->qual), ==,
			IT_ERR_INVALID_CONN_EVD);
	g_assert_cmpint(try_listen(pair, pair->spigot, evd, 0x80, pair->qual), ==,
			IT_ERR_INVALID_FLAGS);
	g_assert_cmpint(try_listen(pair, pair->spigot, evd, 0, none), ==, IT_ERR_INVALID_CONN_QUAL);
	none.type = IT_VIA_DISCRIMINATOR;
	g_assert_cmpint(try_listen(pair, pair->spigot, evd, 0, none), ==, IT_ERR_INVALID_CONN_QUAL);
	none.type = IT_IANA_PORT | IT_IANA_LR_PORT;
	g_assert_cmpint(try_listen(pair, pair->spigot, evd, 0, none), ==, IT_ERR_INVALID_CONN_QUAL);
	none.type = pair->qual.type;
	g_assert_cmpint(try_listen(pair, pair->spigot, evd, IT_LISTEN_CONN_QUAL_INPUT, none), ==,
			IT_ERR_INVALID_CONN_QUAL);
	g_assert_cmpint(try_listen(pair, pair->spigot, evd, IT_LISTEN_CONN_QUAL_INPUT, pair->qual),
			==, IT_ERR_CONN_QUAL_BUSY);
	g_assert_cmpint(try_listen(pair, pair->spigot, evd, 0, none), ==, IT_SUCCESS);
	g_assert_cmpint(it_listen_free(NULL), ==, IT_ERR_INVALID_LISTEN);
	made = pair->listen;
	g_assert_cmpint(it_listen_free(made), ==, IT_SUCCESS);
	g_assert_cmpint(it_listen_free(made), ==, IT_ERR_INVALID_LISTEN);
	/* A qualifier that was freed can be used again. */
	g_assert_cmpint(it_listen_create(pair->passive.ia, pair->spigot, evd,
					 IT_LISTEN_CONN_QUAL_INPUT, &pair->qual, &pair->listen),
			==, IT_SUCCESS);
	pair_establish(pair);
}

/* Each bit writes its member and no other. */
static void
test_query(struct pair *pair)
{
	it_listen_param_t params, all;
	it_listen_param_t untouched;

	memset(&untouched, 0xa5, sizeof(untouched));
	g_assert_cmpint(it_listen_query(pair->listen, IT_LISTEN_PARAM_ALL, &all), ==, IT_SUCCESS);
	g_assert_true(all.ia_handle == pair->passive.ia);
	g_assert_true(all.connect_evd == pair->passive.cm_req);
	g_assert_cmpuint(all.spigot_id, ==, pair->spigot);
	g_assert_cmpint(all.connect_qual.type, ==, pair->qual.type);
	for (unsigned int bit = 0; bit <= IT_LISTEN_PARAM_CONN_QUAL;
	     bit = bit == 0 ? 2 : bit << 1) {
		params = untouched;
		g_assert_cmpint(it_listen_query(pair->listen, (it_listen_param_mask_t)bit, &params),
				==, IT_SUCCESS);
		g_assert_true((params.ia_handle == all.ia_handle) ==
			      (bit == IT_LISTEN_PARAM_IA_HANDLE));
		g_assert_true((params.spigot_id == all.spigot_id) ==
			      (bit == IT_LISTEN_PARAM_SPIGOT_ID));
		g_assert_true((params.connect_evd == all.connect_evd) ==
			      (bit == IT_LISTEN_PARAM_CONNECT_EVD));
		g_assert_true((params.connect_qual.type == all.connect_qual.type) ==
			      (bit == IT_LISTEN_PARAM_CONN_QUAL));
	}
	g_assert_cmpint(it_listen_query(pair->listen, 0x20, &params), ==, IT_ERR_INVALID_MASK);
	g_assert_cmpint(it_listen_query(pair->listen, 0x3, &params), ==, IT_ERR_INVALID_MASK);
	g_assert_cmpint(it_listen_query(NULL, IT_LISTEN_PARAM_ALL, &params), ==,
			IT_ERR_INVALID_LISTEN);
	g_assert_cmpint(it_listen_query(pair->listen, IT_LISTEN_PARAM_ALL, NULL), ==, IT_ERR_FAULT);
}

/* Qualifiers of every kind, chosen by the library and by the application; R-22: in network order on both sides. */
static void
test_qualifiers(struct pair *pair)
{
	const it_conn_qual_type_t kinds[] = {IT_IANA_PORT, IT_IANA_LR_PORT, IT_IB_SERVICEID};
	const it_spigot_info_t *spigot = &pair->passive.info->spigot_info[pair->spigot];

	for (gsize i = 0; i < G_N_ELEMENTS(kinds); i++) {
		it_conn_qual_t qual = {.type = kinds[i]}, to;
		it_conn_request_event_t request;
		it_listen_handle_t listen;
		it_status_t status;

		status = it_listen_create(pair->passive.ia, pair->spigot, pair->passive.cm_req,
					  IT_LISTEN_NO_FLAG, &qual, &listen);
		if ((spigot->passive_side_conn_qual & kinds[i]) == 0) {
			g_assert_cmpint(status, ==, IT_ERR_INVALID_CONN_QUAL);
			continue;
		}
		g_assert_cmpint(status, ==, IT_SUCCESS);
		to = qual;
		if (kinds[i] == IT_IANA_LR_PORT) {
			to.conn_qual.lr_port.remote = qual.conn_qual.lr_port.local;
			to.conn_qual.lr_port.local = 0;
		}
		g_assert_cmpint(cm_connect(pair, pair->active.ep, &to), ==, IT_SUCCESS);
		request = cm_request(pair);
		g_assert_cmpint(request.conn_qual.type, ==, kinds[i]);
		if (kinds[i] == IT_IB_SERVICEID)
			g_assert_true(request.conn_qual.conn_qual.serviceid ==
					      qual.conn_qual.serviceid &&
				      qual.conn_qual.serviceid != 0);
		else if (kinds[i] == IT_IANA_PORT)
			g_assert_true(request.conn_qual.conn_qual.port == qual.conn_qual.port &&
				      ntohs(qual.conn_qual.port) >= 1024);
		else
			g_assert_true(request.conn_qual.conn_qual.lr_port.local ==
					      qual.conn_qual.lr_port.local &&
				      (request.conn_qual.conn_qual.lr_port.remote != 0 ||
				       pair_certified())); /* peers need not have ports */
		g_assert_cmpint(it_reject(request.cn_est_id, NULL, 0), ==, IT_SUCCESS);
		end_expect(pair->active.cm_msg, IT_CM_MSG_CONN_PEER_REJECT_EVENT);
		end_reset(&pair->active);
		g_assert_cmpint(it_listen_free(listen), ==, IT_SUCCESS);
	}
}

/* port 0x1234 is the octets 12 34 in every byte order. The kernel's table is the witness. */
static void
test_network_order(struct pair *pair)
{
	it_conn_qual_t qual = {.type = IT_IANA_PORT};
	it_listen_handle_t listen = NULL;
	char line[256], wanted[16];
	bool found = false;
	FILE *file;
	int fd = cm_raw_connect(pair);

	for (unsigned int port = 0x5b01; listen == NULL && port < 0x5c00; port++) {
		qual.conn_qual.port = htons((uint16_t)port);
		(void)it_listen_create(pair->passive.ia, pair->spigot, pair->passive.cm_req,
				       IT_LISTEN_CONN_QUAL_INPUT, &qual, &listen);
		snprintf(wanted, sizeof(wanted), ":%04X ", port);
	}
	g_assert_nonnull(listen);
	if (fd >= 0) {
		close(fd);
		file = fopen("/proc/net/tcp", "r");
		g_assert_nonnull(file);
		while (!found && fgets(line, sizeof(line), file) != NULL)
			found = strstr(line, wanted) != NULL;
		fclose(file);
		g_assert_true(found);
	}
	g_assert_cmpint(it_listen_free(listen), ==, IT_SUCCESS);
}

/* A port that the host reserves for root. The effective user decides, so a test that runs as root changes its effective user. */
static void
test_no_permission(struct pair *pair)
{
	it_conn_qual_t qual = {.type = IT_IANA_PORT};
	bool root = geteuid() == 0;
	FILE *file = fopen("/proc/sys/net/ipv4/ip_unprivileged_port_start", "r");
	unsigned int first = 1024;

	if (file != NULL) {
		if (fscanf(file, "%u", &first) != 1)
			first = 1024;
		fclose(file);
	}
	if (first == 0) {
		g_test_skip("this host reserves no ports");
		return;
	}
	qual.conn_qual.port = htons((uint16_t)(first - 1));
	if (root)
		g_assert_cmpint(seteuid(NOBODY), ==, 0);
	g_assert_cmpint(try_listen(pair, pair->spigot, pair->passive.cm_req,
				   IT_LISTEN_CONN_QUAL_INPUT, qual),
			==, IT_ERR_NO_PERMISSION);
	if (root)
		g_assert_cmpint(seteuid(0), ==, 0);
}

/* The EVD is the backlog: a request that finds it full is refused [IT 6.7]. */
static void
test_backlog(struct pair *pair)
{
	it_conn_qual_t qual = {.type = pair->qual.type};
	it_evd_param_t params;
	it_listen_handle_t listen;
	it_evd_handle_t small;
	it_ep_handle_t eps[64];
	it_event_t event;
	size_t count;

	g_assert_cmpint(it_evd_create(pair->passive.ia, IT_CM_REQ_EVENT_STREAM, 0, 1, 1, NULL,
				      &small, NULL),
			==, IT_SUCCESS);
	pair_resize(small, 1);
	g_assert_cmpint(it_evd_query(small, IT_EVD_PARAM_QUEUE_SIZE, &params), ==, IT_SUCCESS);
	count = params.sevd_queue_size + 1;
	g_assert_cmpuint(count, <=, G_N_ELEMENTS(eps));
	g_assert_cmpint(it_listen_create(pair->passive.ia, pair->spigot, small, 0, &qual, &listen),
			==, IT_SUCCESS);
	for (size_t i = 0; i < count; i++) {
		eps[i] = cm_ep(&pair->active, IT_EP_NO_FLAG);
		g_assert_cmpint(cm_connect(pair, eps[i], &qual), ==, IT_SUCCESS);
	}
	cm_expect_refused(pair->active.cm_msg, pair_no_room());
	end_expect_none(pair->active.cm_msg);
	/* There is room again: the next request is accepted. */
	event = end_expect(small, IT_CM_REQ_CONN_REQUEST_EVENT);
	g_assert_cmpint(it_reject(event.conn_req.cn_est_id, NULL, 0), ==, IT_SUCCESS);
	end_expect(pair->active.cm_msg, IT_CM_MSG_CONN_PEER_REJECT_EVENT);
	g_assert_cmpint(cm_connect(pair, pair->active.ep, &qual), ==, IT_SUCCESS);
	end_expect(small, IT_CM_REQ_CONN_REQUEST_EVENT);
	for (size_t i = 0; i < count; i++)
		g_assert_cmpint(it_ep_free(eps[i]), ==, IT_SUCCESS);
	g_assert_cmpint(it_listen_free(listen), ==, IT_SUCCESS);
	g_assert_cmpint(it_evd_free(small), ==, IT_SUCCESS);
}

/* A full backlog, with a peer that suppresses IRD and ORD. */
static void
test_backlog_suppressed(struct pair *pair)
{
	it_conn_qual_t qual = {.type = pair->qual.type};
	it_listen_handle_t listen;
	it_evd_handle_t small;
	it_event_t event;

	if (!pair->active.info->ird_ord_suppressible) {
		pair_inapplicable("ird_ord_suppressible is not claimed");
		return;
	}
	g_assert_cmpint(it_evd_create(pair->passive.ia, IT_CM_REQ_EVENT_STREAM, 0, 1, 1, NULL,
				      &small, NULL),
			==, IT_SUCCESS);
	pair_resize(small, 1);
	g_assert_cmpint(it_listen_create(pair->passive.ia, pair->spigot, small, 0, &qual, &listen),
			==, IT_SUCCESS);
	/* One of these finds no room, whatever the real size is. */
	do {
		end_new_ep(&pair->active);
		g_assert_cmpint(it_ep_connect(pair->active.ep, &pair->path, NULL, &qual,
					      IT_CONNECT_SUPPRESS_IRD_ORD, NULL, 0),
				==, IT_SUCCESS);
	} while (it_evd_wait(pair->active.cm_msg, 200 * 1000, &event, NULL) != IT_SUCCESS);
	/* Revision 1 of MPA can only reset the stream, which says less. */
	g_assert_cmphex(event.event_number, ==, IT_CM_MSG_CONN_NONPEER_REJECT_EVENT);
	g_assert_true(event.conn.reject_reason_code == IT_CN_REJ_RESOURCES ||
		      event.conn.reject_reason_code == IT_CN_REJ_OTHER);
	g_assert_cmpint(it_listen_free(listen), ==, IT_SUCCESS);
	g_assert_cmpint(it_evd_free(small), ==, IT_SUCCESS);
}

/* Identifiers stay valid without their listener, whether their event was dequeued or not. */
static void
test_free_with_pending(struct pair *pair)
{
	it_ep_handle_t other = cm_ep(&pair->active, IT_EP_NO_FLAG);
	it_cn_est_identifier_t taken, queued;
	size_t more = 0;
	it_event_t event;

	g_assert_cmpint(cm_connect(pair, pair->active.ep, &pair->qual), ==, IT_SUCCESS);
	taken = cm_request(pair).cn_est_id;
	g_assert_cmpint(cm_connect(pair, other, &pair->qual), ==, IT_SUCCESS);
	/* Handed to the same listener, the request waits there again. */
	queued = cm_request(pair).cn_est_id;
	g_assert_cmpint(it_handoff(&pair->qual, pair->spigot, queued), ==, IT_SUCCESS);
	g_assert_cmpint(it_listen_free(pair->listen), ==, IT_SUCCESS);
	pair->listen = NULL;
	g_assert_cmpint(it_ep_accept(pair->passive.ep, taken, NULL, 0), ==, IT_SUCCESS);
	event = end_expect(pair->active.cm_msg, IT_CM_MSG_CONN_ESTABLISHED_EVENT);
	g_assert_true(event.conn.ep == pair->active.ep);
	end_expect(pair->passive.cm_msg, IT_CM_MSG_CONN_ESTABLISHED_EVENT);
	g_assert_cmpint(it_evd_wait(pair->passive.cm_req, 0, &event, &more), ==, IT_SUCCESS);
	g_assert_cmpuint(event.conn_req.cn_est_id, !=, queued);
	g_assert_cmpint(it_reject(event.conn_req.cn_est_id, NULL, 0), ==, IT_SUCCESS);
	event = end_expect(pair->active.cm_msg, IT_CM_MSG_CONN_PEER_REJECT_EVENT);
	g_assert_true(event.conn.ep == other);
	g_assert_cmpint(it_ep_free(other), ==, IT_SUCCESS);
	/* No new event comes. */
	g_assert_cmpint(it_ep_disconnect(pair->active.ep, NULL, 0), ==, IT_SUCCESS);
	end_expect(pair->active.cm_msg, IT_CM_MSG_CONN_DISCONNECT_EVENT);
	end_reset(&pair->active);
	pair_connect(pair);
	cm_expect_refused(pair->active.cm_msg, IT_CN_REJ_OTHER);
	end_expect_none(pair->passive.cm_req);
}

/*
 * An IA is freed with everything under it: unanswered requests, attempts of either side, a connection. The peers get
 * their events, and the identifiers become invalid [IT 2.4].
 */
static void
test_ia_free(struct pair *pair)
{
	enum {
		ASKED,
		PENDING,
		STANDS,
		EPS
	};
	it_ep_handle_t eps[EPS];
	it_conn_qual_t qual = {.type = pair->qual.type};
	struct end doomed;
	struct pair with = *pair;
	it_event_t event;
	bool seen[EPS + 1] = {false};
	it_cn_est_identifier_t id = 0;

	g_assert_true(end_open(&doomed));
	end_new_ep(&doomed);
	g_assert_cmpint(
		it_listen_create(doomed.ia, pair->spigot, doomed.cm_req, 0, &qual, &with.listen),
		==, IT_SUCCESS);
	for (int i = 0; i < EPS; i++)
		eps[i] = cm_ep(&pair->active, IT_EP_NO_FLAG);
	g_assert_cmpint(cm_connect(pair, eps[STANDS], &qual), ==, IT_SUCCESS);
	event = end_expect(doomed.cm_req, IT_CM_REQ_CONN_REQUEST_EVENT);
	g_assert_cmpint(it_ep_accept(doomed.ep, event.conn_req.cn_est_id, NULL, 0), ==, IT_SUCCESS);
	end_expect(doomed.cm_msg, IT_CM_MSG_CONN_ESTABLISHED_EVENT);
	end_expect(pair->active.cm_msg, IT_CM_MSG_CONN_ESTABLISHED_EVENT);
	g_assert_cmpint(cm_connect(pair, eps[ASKED], &qual), ==, IT_SUCCESS);
	id = end_expect(doomed.cm_req, IT_CM_REQ_CONN_REQUEST_EVENT).conn_req.cn_est_id;
	/* And an attempt of this IA. */
	g_assert_cmpint(cm_connect(pair, cm_ep(&doomed, IT_EP_NO_FLAG), &pair->qual), ==,
			IT_SUCCESS);
	cm_request(pair);
	g_assert_cmpint(cm_connect(pair, eps[PENDING], &qual), ==, IT_SUCCESS);
	it_ia_info_free(doomed.info);
	g_assert_cmpint(it_ia_free(doomed.ia), ==, IT_SUCCESS);
	g_free(doomed.buffer);
	g_assert_cmpint(it_reject(id, NULL, 0), ==, IT_ERR_INVALID_CN_EST_ID);
	g_assert_cmpint(it_listen_free(with.listen), ==, IT_ERR_INVALID_LISTEN);
	for (int i = 0; i < EPS; i++) {
		int which = 0;

		event = end_next(pair->active.cm_msg);
		while (which < EPS && event.conn.ep != eps[which])
			which++;
		g_assert_cmpint(which, <, EPS);
		g_assert_false(seen[which]);
		seen[which] = true;
		if (which != STANDS) {
			g_assert_cmphex(event.event_number, ==,
					IT_CM_MSG_CONN_NONPEER_REJECT_EVENT);
			cm_expect_other(event.conn.reject_reason_code);
		} else {
			g_assert_true(event.event_number == IT_CM_MSG_CONN_BROKEN_EVENT ||
				      event.event_number == IT_CM_MSG_CONN_DISCONNECT_EVENT);
		}
	}
	for (int i = 0; i < EPS; i++)
		g_assert_cmpint(it_ep_free(eps[i]), ==, IT_SUCCESS);
}

/* The administrator's limits hold: no listeners, no endpoints. */
static void
test_resources(struct pair *pair)
{
	it_conn_qual_t qual = {.type = pair->qual.type};
	it_listen_handle_t listen;
	it_ep_handle_t ep;
	struct end poor;
	g_autofree char *path = NULL;
	int fd = g_file_open_tmp("itapi-XXXXXX", &path, NULL);

	g_assert_cmpint(fd, >=, 0);
	close(fd);
	g_assert_true(g_file_set_contents(path, "[limits.client]\nlisten = 0\nqp = 0\n", -1, NULL));
	g_setenv("ITAPI_CONFIG", path, TRUE);
	g_assert_true(end_open(&poor));
	g_unsetenv("ITAPI_CONFIG");
	g_assert_cmpint(it_listen_create(poor.ia, pair->spigot, poor.cm_req, 0, &qual, &listen), ==,
			IT_ERR_RESOURCES);
	g_assert_null(listen);
	g_assert_cmpint(
		it_ep_rc_create(poor.pz, poor.request, poor.recv, poor.cm_msg, 0, &poor.attr, &ep),
		==, IT_ERR_RESOURCES);
	g_assert_null(ep);
	end_close(&poor);
	g_assert_cmpint(unlink(path), ==, 0);
}

static void
add(void)
{
	pair_add("listen/statuses", test_statuses);
	pair_add("listen/query", test_query);
	pair_add("listen/qualifiers", test_qualifiers);
	pair_add("listen/resources", test_resources);
	pair_add("listen/backlog", test_backlog);
	pair_add("listen/backlog-suppressed", test_backlog_suppressed);
	pair_add("listen/free-with-pending", test_free_with_pending);
	pair_add("listen/ia-free", test_ia_free);
	pair_add("rulings/r-22-network-order", test_network_order);
	/* The last one: then Linux's connection manager serves the threads of this process no more [RI 12.1.10]. */
	pair_add("listen/no-permission", test_no_permission);
}

int
main(int argc, char **argv)
{
	return pair_main(argc, argv, add);
}
