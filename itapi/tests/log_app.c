/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Produces the events that test_log.py expects in the log.   log_app ADAPTER CASE
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "it_ext.h"
#include "it_pair.h"

/* Calls that are refused, and one that returns IT_ERR_QUEUE_EMPTY, which is no refusal. */
static void
refusal(struct pair *pair)
{
	it_lmr_triplet_t segment = end_segment(&pair->active, 0, 8);
	it_event_t event;
	it_pz_handle_t pz;

	g_assert_cmpint(it_post_send(pair->active.ep, &segment, 1, 1, 0), ==,
			IT_ERR_INVALID_EP_STATE);
	g_assert_cmpint(it_pz_create(NULL, &pz), ==, IT_ERR_INVALID_IA);
	g_assert_cmpint(it_evd_dequeue(pair->active.recv, &event), ==, IT_ERR_QUEUE_EMPTY);
}

static void
take_line(void *context, int level, const char *where, const char *text)
{
	unsigned *lines = context;

	if (level == ITX_LOG_DEBUG && strcmp(where, "ual") == 0 &&
	    strstr(text, "it_pz_create: IT_ERR_INVALID_IA") != NULL)
		(*lines)++;
}

/* Log lines go to a writer of the program, until it is removed. */
static void
writer(struct pair *pair)
{
	unsigned lines = 0;
	it_pz_handle_t pz;

	(void)pair;
	itx_log_set_writer(take_line, &lines);
	g_assert_cmpint(it_pz_create(NULL, &pz), ==, IT_ERR_INVALID_IA);
	g_assert_cmpint(it_pz_create(NULL, &pz), ==, IT_ERR_INVALID_IA);
	itx_log_set_writer(NULL, NULL);
	g_assert_cmpuint(lines, ==, 2);
	g_assert_cmpint(it_pz_create(NULL, &pz), ==, IT_ERR_INVALID_IA);
}

/* A Write with a key that was never issued. */
static void
stag(struct pair *pair)
{
	it_lmr_triplet_t segment = end_segment(&pair->active, 0, 8);

	pair_establish(pair);
	pair_ok(it_post_rdma_write(pair->active.ep, &segment, 1, 1, IT_COMPLETION_FLAG, 4096,
				   pair->passive.context ^ 0x5a5a00));
	end_expect(pair->passive.cm_msg, IT_CM_MSG_CONN_BROKEN_EVENT);
	end_expect(pair->active.cm_msg, IT_CM_MSG_CONN_BROKEN_EVENT);
}

/* Connects to a port whose listener is gone. */
static void
attempt(struct pair *pair)
{
	pair_ok(it_listen_free(pair->listen));
	pair->listen = NULL;
	pair_connect(pair);
	end_expect(pair->active.cm_msg, IT_CM_MSG_CONN_NONPEER_REJECT_EVENT);
}

/* The same dispatcher overflows twice. */
static void
lost(struct pair *pair)
{
	const it_evd_param_t over = {.evd_overflowed = IT_FALSE};
	struct end *end = &pair->active;
	it_ep_handle_t eps[4];

	pair_resize(pair->passive.cm_req, 1);
	for (unsigned i = 0; i < 4; i++) {
		it_event_t event;

		pair_ok(it_ep_rc_create(end->pz, end->request, end->recv, end->cm_msg, 0,
					&end->attr, &eps[i]));
		pair_ok(it_ep_connect(eps[i], &pair->path, NULL, &pair->qual,
				      IT_CONNECT_FLAG_TWO_WAY, NULL, 0));
		if (i % 2 == 0) {
			/*
			 * One event fills the dispatcher; the next event is lost; then the first is taken, another
			 * one fills the dispatcher, and the event after it is lost again.
			 */
			continue;
		}
		(void)end_expect(end->cm_msg, IT_CM_MSG_CONN_NONPEER_REJECT_EVENT);
		event = end_expect(pair->passive.cm_req, IT_CM_REQ_CONN_REQUEST_EVENT);
		pair_ok(it_reject(event.conn_req.cn_est_id, NULL, 0));
		end_expect(end->cm_msg, IT_CM_MSG_CONN_PEER_REJECT_EVENT);
		pair_ok(it_evd_modify(pair->passive.cm_req, IT_EVD_PARAM_OVERFLOWED, &over));
	}
	for (unsigned i = 0; i < 4; i++)
		pair_ok(it_ep_free(eps[i]));
}

/* Data go their way. */
static void
transfer(struct pair *pair)
{
	pair_ok(pair_write(pair, 8, 1, IT_COMPLETION_FLAG));
	end_expect(pair->active.request, IT_DTO_RDMA_WRITE_CMPL_EVENT);
}

/* Strangers at the port of the listener: each causes a line. Meanwhile nobody reads stderr. */
static void
crowd(struct pair *pair)
{
	const it_net_addr_t *at = &pair->passive.info->spigot_info[pair->spigot].net_addr[0];
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = pair->qual.conn_qual.port};

	g_assert_cmpint(at->addr_type, ==, IT_IPV4);
	to.sin_addr = at->addr.ipv4;
	for (unsigned i = 0; i < 1200; i++) {
		int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		char text[64] = "what is this";

		g_assert_cmpint(connect(fd, (struct sockaddr *)&to, sizeof(to)), ==, 0);
		g_assert_cmpint(write(fd, text, sizeof(text)), ==, sizeof(text));
		while (read(fd, text, sizeof(text)) > 0)
			;
		close(fd);
	}
	pair_establish(pair);
	transfer(pair);
	g_print("done\n");
	(void)getchar(); /* the test has read enough */
}

/* stdin, stdout and stderr were closed before the first call: no descriptor of the library has their numbers. */
static void
closed(struct pair *pair)
{
	it_evd_handle_t evd;
	int fd = -1;

	refusal(pair); /* writes lines */
	pair_establish(pair);
	pair_ok(it_evd_create(pair->active.ia, IT_SOFTWARE_EVENT_STREAM, IT_EVD_CREATE_FD, 1, 0,
			      NULL, &evd, &fd));
	for (int number = 0; number < 3; number++)
		g_assert_cmpint(fcntl(number, F_GETFD), ==, -1);
	transfer(pair);
	pair_disconnect(pair); /* writes more */
	pair_ok(it_evd_free(evd));
}

int
main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(struct pair *pair);
	} cases[] = {{"refusal", refusal}, {"writer", writer}, {"stag", stag},
		     {"attempt", attempt}, {"lost", lost},     {"crowd", crowd},
		     {"closed", closed}};
	struct pair pair;

	g_assert_cmpint(argc, ==, 3);
	pair_use(argv[1]);
	for (int number = 0; number < 3 && strcmp(argv[2], "closed") == 0; number++)
		close(number);
	g_assert_true(pair_open(&pair));
	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++)
		if (strcmp(argv[2], cases[i].name) == 0)
			cases[i].run(&pair);
	pair_close(&pair);
	return 0;
}
