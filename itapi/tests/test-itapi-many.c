/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * 2, 64 and 1,000 endpoints in one process, connected in pairs at the same time: each moves data that is verified,
 * and each idle endpoint needs little memory.
 */

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "it_pair.h"

#define OCTETS      64
#define IDLE_OCTETS (64 * 1024) /* most memory of an idle endpoint */
#define SAMPLE      1000        /* endpoints by which memory is measured */

struct many {
	unsigned pairs;
	it_ep_handle_t *active;
	it_ep_handle_t *passive;
	it_evd_handle_t dto[2];
	it_evd_handle_t cm[2];
};

static it_ep_handle_t
endpoint(struct end *end, it_evd_handle_t dto, it_evd_handle_t cm)
{
	it_ep_handle_t ep = NULL;
	it_ep_attributes_t attr = end->attr;

	attr.max_request_dtos = 4;
	attr.max_recv_dtos = 4;
	g_assert_cmpint(it_ep_rc_create(end->pz, dto, dto, cm, 0, &attr, &ep), ==, IT_SUCCESS);
	return ep;
}

static it_evd_handle_t
dispatcher(const struct end *end, it_event_type_t stream)
{
	it_evd_handle_t evd = NULL;

	g_assert_cmpint(it_evd_create(end->ia, stream, 0, 4096, 1, NULL, &evd, NULL), ==,
			IT_SUCCESS);
	return evd;
}

static void
connect_all(struct pair *pair, struct many *many)
{
	struct end *a = &pair->active, *b = &pair->passive;

	for (unsigned i = 0; i < many->pairs; i++) {
		it_event_t event;

		many->active[i] = endpoint(a, many->dto[0], many->cm[0]);
		many->passive[i] = endpoint(b, many->dto[1], many->cm[1]);
		g_assert_cmpint(it_ep_connect(many->active[i], &pair->path, NULL, &pair->qual,
					      IT_CONNECT_FLAG_TWO_WAY, NULL, 0),
				==, IT_SUCCESS);
		event = end_expect(b->cm_req, IT_CM_REQ_CONN_REQUEST_EVENT);
		g_assert_cmpint(it_ep_accept(many->passive[i], event.conn_req.cn_est_id, NULL, 0),
				==, IT_SUCCESS);
		end_expect(many->cm[0], IT_CM_MSG_CONN_ESTABLISHED_EVENT);
		end_expect(many->cm[1], IT_CM_MSG_CONN_ESTABLISHED_EVENT);
	}
}

/* Every connection carries its own number, between places of its own. */
static void
write_all(struct pair *pair, struct many *many)
{
	struct end *a = &pair->active, *b = &pair->passive;

	for (unsigned i = 0; i < many->pairs; i++) {
		size_t at = (size_t)i * OCTETS;
		it_lmr_triplet_t out = end_segment(a, at, OCTETS);

		memset(a->buffer + at, (int)(i % 251 + 1), OCTETS);
		g_assert_cmpint(it_post_rdma_write(many->active[i], &out, 1, i, 0,
						   it_make_rdma_addr_absolute(b->buffer + at),
						   b->context),
				==, IT_SUCCESS);
		out.length = 0;
		/* The Read behind it proves that the Write is in place. */
		g_assert_cmpint(it_post_rdma_read(many->active[i], NULL, 0, i, IT_COMPLETION_FLAG,
						  0, b->context),
				==, IT_SUCCESS);
	}
	for (unsigned i = 0; i < many->pairs; i++) {
		it_event_t event = end_expect(many->dto[0], IT_DTO_RDMA_READ_CMPL_EVENT);

		g_assert_cmpint(event.dto_cmpl.dto_status, ==, IT_DTO_SUCCESS);
	}
	for (unsigned i = 0; i < many->pairs; i++) {
		for (size_t k = 0; k < OCTETS; k++)
			g_assert_cmpuint(b->buffer[(size_t)i * OCTETS + k], ==, i % 251 + 1);
	}
}

static void
end_all(struct many *many)
{
	for (unsigned i = 0; i < many->pairs; i++)
		g_assert_cmpint(it_ep_disconnect(many->active[i], NULL, 0), ==, IT_SUCCESS);
	for (unsigned i = 0; i < many->pairs; i++) {
		end_expect(many->cm[0], IT_CM_MSG_CONN_DISCONNECT_EVENT);
		end_expect(many->cm[1], IT_CM_MSG_CONN_DISCONNECT_EVENT);
	}
	for (unsigned i = 0; i < many->pairs; i++) {
		g_assert_cmpint(it_ep_free(many->active[i]), ==, IT_SUCCESS);
		g_assert_cmpint(it_ep_free(many->passive[i]), ==, IT_SUCCESS);
	}
}

/* Resident private memory of this process, in octets. */
static size_t
resident(void)
{
	unsigned long pages = 0, shared = 0, all = 0;
	FILE *file = fopen("/proc/self/statm", "re");

	g_assert_nonnull(file);
	g_assert_cmpint(fscanf(file, "%lu %lu %lu", &all, &pages, &shared), ==, 3);
	fclose(file);
	return (size_t)(pages - shared) * (size_t)sysconf(_SC_PAGESIZE);
}

/* Raise the limit of descriptors as far as the machine allows. */
static bool
allow(unsigned descriptors)
{
	struct rlimit limit;

	g_assert_cmpint(getrlimit(RLIMIT_NOFILE, &limit), ==, 0);
	limit.rlim_cur = limit.rlim_max;
	g_assert_cmpint(setrlimit(RLIMIT_NOFILE, &limit), ==, 0);
	return limit.rlim_cur >= descriptors;
}

static void
run(struct pair *pair, unsigned endpoints)
{
	struct many many = {.pairs = endpoints / 2};
	struct end *ends[] = {&pair->active, &pair->passive};
	size_t before;

	if (!allow(2 * endpoints + 100)) {
		g_test_skip("the machine does not allow so many descriptors");
		return;
	}
	many.active = g_new0(it_ep_handle_t, many.pairs);
	many.passive = g_new0(it_ep_handle_t, many.pairs);
	for (int i = 0; i < 2; i++) {
		many.dto[i] = dispatcher(ends[i], IT_DTO_EVENT_STREAM);
		many.cm[i] = dispatcher(ends[i], IT_CM_MSG_EVENT_STREAM);
	}
	before = resident();
	connect_all(pair, &many);
	write_all(pair, &many);
	size_t each = (resident() - before) / endpoints;
	g_test_message("%u endpoints: %zu octets each", endpoints, each);
	if (endpoints >= SAMPLE && g_getenv("ITAPI_TEST_NO_RSS") == NULL)
		g_assert_cmpuint(each, <=, IDLE_OCTETS);
	end_all(&many);
	for (int i = 0; i < 2; i++) {
		g_assert_cmpint(it_evd_free(many.dto[i]), ==, IT_SUCCESS);
		g_assert_cmpint(it_evd_free(many.cm[i]), ==, IT_SUCCESS);
	}
	g_free(many.active);
	g_free(many.passive);
}

/* Two endpoints exchange data at once. */
static void
test_two(struct pair *pair)
{
	run(pair, 2);
}

/* Sixty-four endpoints exchange data at once. */
static void
test_64(struct pair *pair)
{
	run(pair, 64);
}

/* A thousand endpoints exchange data at once. */
static void
test_1000(struct pair *pair)
{
	run(pair, 1000);
}

static void
add_tests(void)
{
	pair_add("many/2", test_two);
	pair_add("many/64", test_64);
	pair_add("many/1000", test_1000);
}

int
main(int argc, char **argv)
{
	return pair_main(argc, argv, add_tests);
}
