/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Deregistration under a flood from another process. The other process runs this program, too; it
 * connects, and repeatedly Writes into a region until its connection breaks. This process frees the region
 * at a random moment of the flood, and uses the page for something else at once: it is mapped again,
 * filled with a pattern, or made inaccessible. A late octet would show in the page, or crash this process.
 *
 * ITAPI_TEST_RUNS: the number of regions.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "it_pair.h"

#define RUNS    500
#define ROOM    65536u /* octets of a region */
#define PATTERN 0xa5
#define FLOOD   0x3c

static const char *self;

struct place {
	uint64_t context, addr;
};

static unsigned
runs_wanted(void)
{
	const char *text = g_getenv("ITAPI_TEST_RUNS");

	return text != NULL ? (unsigned)g_ascii_strtoull(text, NULL, 10) : RUNS;
}

/* --- the flood ------------------------------------------------------------------------------ */

/* Write until the connection is over. */
static void
flood(struct end *end, const struct place *far)
{
	it_event_t event;

	for (uint64_t i = 0;; i++) {
		it_lmr_triplet_t part = end_segment(end, 0, 1 + i * 4099 % ROOM);
		it_status_t status =
			it_post_rdma_write(end->ep, &part, 1, i, IT_COMPLETION_FLAG,
					   it_ntoh64(far->addr), it_ntoh64(far->context));

		if (status != IT_SUCCESS && status != IT_ERR_TOO_MANY_POSTS)
			return;
		while (it_evd_dequeue(end->request, &event) == IT_SUCCESS)
			continue;
		if (it_evd_dequeue(end->cm_msg, &event) == IT_SUCCESS)
			return;
	}
}

static int
flood_main(char **argv)
{
	struct pair pair = {0};
	it_event_t event;
	struct place far;

	pair_use(argv[2]);
	g_assert_true(end_open(&pair.active));
	g_assert_true(end_open(&pair.passive));
	pair_listen(&pair);
	memset(pair.active.buffer, FLOOD, END_BUFFER);
	pair.qual.conn_qual.port = (uint16_t)atoi(argv[3]);
	for (;;) {
		end_new_ep(&pair.active);
		pair_connect(&pair);
		event = end_next(pair.active.cm_msg);
		if (event.event_number != IT_CM_MSG_CONN_ESTABLISHED_EVENT)
			continue;
		memcpy(&far, event.conn.private_data, sizeof(far));
		flood(&pair.active, &far);
		while (it_evd_dequeue(pair.active.cm_msg, &event) == IT_SUCCESS ||
		       it_evd_dequeue(pair.active.request, &event) == IT_SUCCESS)
			continue;
	}
	return 0;
}

/* --- the target ----------------------------------------------------------------------------- */

struct target {
	struct end *end;
	unsigned char *room; /* the region's memory */
	it_lmr_handle_t lmr;
	unsigned hit; /* rounds in which the flood had come before the region was freed */
};

static unsigned char *
room_map(void *at)
{
	void *room = mmap(at, ROOM, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | (at != NULL ? MAP_FIXED : 0), -1, 0);

	g_assert_true(room != MAP_FAILED);
	return room;
}

/* A new region, and a connection whose other end floods it. */
static void
target_begin(struct target *t)
{
	struct end *end = t->end;
	it_rmr_context_t context;
	struct place near;
	it_event_t event;

	memset(t->room, 0, ROOM);
	pair_ok(it_lmr_create21(end->pz, t->room, NULL, ROOM, IT_ADDR_MODE_ABSOLUTE, IT_PRIV_ALL,
				IT_LMR_FLAG_NONE, 0, &t->lmr, &context));
	near = (struct place){it_hton64(context), it_hton64(it_make_rdma_addr_absolute(t->room))};
	event = end_expect(end->cm_req, IT_CM_REQ_CONN_REQUEST_EVENT);
	pair_ok(it_ep_accept(end->ep, event.conn_req.cn_est_id, (void *)&near, sizeof(near)));
	end_expect(end->cm_msg, IT_CM_MSG_CONN_ESTABLISHED_EVENT);
}

static bool
is_all(const unsigned char *room, unsigned char octet)
{
	return room[0] == octet && memcmp(room, room + 1, ROOM - 1) == 0;
}

/* Free the region in the flood, and use its page for something else at once. */
static void
target_free(struct target *t, unsigned round)
{
	volatile unsigned char *first = t->room;
	gint64 deadline = g_get_monotonic_time() + WAIT_US;

	while (*first != FLOOD && round % 8 != 0)
		g_assert_cmpint(g_get_monotonic_time(), <, deadline);
	for (volatile unsigned i = 0; i < round * 7919u % 20000u; i++)
		continue;
	t->hit += *first == FLOOD;
	pair_ok(it_lmr_free(t->lmr));
	switch (round % 3) {
	case 0:
		memset(t->room, PATTERN, ROOM);
		break;
	case 1:
		g_assert_cmpint(munmap(t->room, ROOM), ==, 0);
		t->room = room_map(t->room);
		break;
	default:
		g_assert_cmpint(mprotect(t->room, ROOM, PROT_NONE), ==, 0);
		break;
	}
}

/* The flood has ended its connection; the page is as its new owner has left it. */
static void
target_check(struct target *t, unsigned round)
{
	end_expect(t->end->cm_msg, IT_CM_MSG_CONN_BROKEN_EVENT);
	if (round % 3 == 2)
		g_assert_cmpint(mprotect(t->room, ROOM, PROT_READ | PROT_WRITE), ==, 0);
	if (round % 3 != 2)
		g_assert_true(is_all(t->room, round % 3 == 0 ? PATTERN : 0));
	end_new_ep(t->end);
}

static void
test_flood(struct pair *pair)
{
	struct target t = {.end = &pair->passive, .room = room_map(NULL)};
	unsigned runs = runs_wanted();
	char port[8];
	int status;

	g_snprintf(port, sizeof(port), "%u", pair->qual.conn_qual.port);
	pid_t pid = fork();
	if (pid == 0) {
		execl(self, self, "flood", pair_adapter(), port, (char *)NULL);
		_exit(127);
	}
	g_assert_cmpint(pid, >, 0);
	for (unsigned round = 0; round < runs; round++) {
		target_begin(&t);
		target_free(&t, round);
		target_check(&t, round);
	}
	g_assert_cmpint(kill(pid, SIGKILL), ==, 0);
	g_assert_cmpint(waitpid(pid, &status, 0), ==, pid);
	/* A request of the flood may have come meanwhile; it ends with its process. */
	g_test_message("%u regions were freed, %u of them after octets had come", runs, t.hit);
	g_assert_cmpuint(t.hit, >=, runs / 2);
	g_assert_cmpint(munmap(t.room, ROOM), ==, 0);
}

static void
add(void)
{
	pair_add("flood/deregister", test_flood);
}

int
main(int argc, char **argv)
{
	self = argv[0];
	if (argc == 4 && strcmp(argv[1], "flood") == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		return flood_main(argv);
	}
	return pair_main(argc, argv, add);
}
