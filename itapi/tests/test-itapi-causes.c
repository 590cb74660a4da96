/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Each way in which an access or a request can fail. The log must name the right cause, with the
 * values that decide it, and no other cause. The table has one row for each way.
 */

#include <glib.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "it_ext.h"
#include "it_window.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static GString *said;

static void
gather(void *context, int level, const char *where, const char *text)
{
	(void)context;
	if (level > ITX_LOG_INFO)
		return;
	pthread_mutex_lock(&lock);
	g_string_append_printf(said, "%s: %s\n", where, text);
	pthread_mutex_unlock(&lock);
}

/* What a row does, and the words of the line that it must cause; %K and %A: key and address in hexadecimal. */
struct row {
	const char *name;
	void (*run)(struct pair *pair, struct row *row);
	const char *wanted;
	unsigned needs;
	bool no_write, no_read; /* of the passive endpoint */
	uint32_t key;           /* set by run() */
	uint64_t addr;
};

static it_rmr_context_t
region(const struct end *end, it_mem_priv_t privs, size_t length, it_lmr_handle_t *lmr)
{
	it_rmr_context_t context = 0;

	pair_ok(it_lmr_create20(end->pz, end->buffer, length, IT_ADDR_MODE_ABSOLUTE, privs,
				IT_LMR_FLAG_NONE, 0, lmr, &context));
	return context;
}

static void
write_to(struct pair *pair, struct row *row, it_rmr_context_t key, uint64_t addr)
{
	it_lmr_triplet_t segment = end_segment(&pair->active, 0, 8);

	row->key = (uint32_t)key;
	row->addr = addr;
	pair_ok(it_post_rdma_write(pair->active.ep, &segment, 1, 1, IT_COMPLETION_FLAG, addr, key));
}

static void
read_from(struct pair *pair, struct row *row, it_rmr_context_t key, uint64_t addr)
{
	it_lmr_triplet_t segment = end_segment(&pair->active, 0, 8);

	row->key = (uint32_t)key;
	row->addr = addr;
	pair_ok(it_post_rdma_read(pair->active.ep, &segment, 1, 1, IT_COMPLETION_FLAG, addr, key));
}

static uint64_t
buffer_of(const struct end *end)
{
	return (uintptr_t)end->buffer;
}

static void
wrong_key(struct pair *pair, struct row *row)
{
	write_to(pair, row, pair->passive.context ^ 0x5a5a00, buffer_of(&pair->passive));
}

static void
read_wrong_key(struct pair *pair, struct row *row)
{
	read_from(pair, row, pair->passive.context ^ 0x5a5a00, buffer_of(&pair->passive));
}

static void
bounds(struct pair *pair, struct row *row)
{
	write_to(pair, row, pair->passive.context, buffer_of(&pair->passive) - 8);
}

static void
read_bounds(struct pair *pair, struct row *row)
{
	read_from(pair, row, pair->passive.context, buffer_of(&pair->passive) - 8);
}

static void
right(struct pair *pair, struct row *row)
{
	it_lmr_handle_t lmr;

	write_to(pair, row, region(&pair->passive, IT_PRIV_LOCAL | IT_PRIV_REMOTE_READ, 64, &lmr),
		 buffer_of(&pair->passive));
}

static void
read_right(struct pair *pair, struct row *row)
{
	it_lmr_handle_t lmr;

	read_from(pair, row, region(&pair->passive, IT_PRIV_LOCAL | IT_PRIV_REMOTE_WRITE, 64, &lmr),
		  buffer_of(&pair->passive));
}

static void
endpoint(struct pair *pair, struct row *row)
{
	write_to(pair, row, pair->passive.context, buffer_of(&pair->passive));
}

static void
read_endpoint(struct pair *pair, struct row *row)
{
	read_from(pair, row, pair->passive.context, buffer_of(&pair->passive));
}

static void
linked_twice(struct pair *pair, struct row *row)
{
	const struct end *end = &pair->active;
	it_rmr_context_t context;
	it_rmr_handle_t rmr;

	pair_ok(it_rmr_create20(end->pz, IT_RMR_TYPE_NARROW, &rmr));
	for (int i = 0; i < 2; i++)
		pair_ok(it_rmr_link(rmr, end->lmr, end->buffer, 64, IT_ADDR_MODE_ABSOLUTE,
				    IT_PRIV_REMOTE_WRITE, end->ep, 7, IT_COMPLETION_FLAG,
				    &context));
	row->key = (uint32_t)context;
	row->addr = buffer_of(end);
}

/* The source of a Send reaches beyond its region. */
static void
segment(struct pair *pair, struct row *row)
{
	const struct end *end = &pair->active;
	it_lmr_triplet_t part = end_segment(end, 0, 8);
	it_lmr_handle_t lmr;

	row->key = (uint32_t)region(end, IT_PRIV_LOCAL | IT_PRIV_REMOTE_READ, 4, &lmr);
	row->addr = buffer_of(end);
	part.lmr = lmr;
	pair_ok(it_post_send(end->ep, &part, 1, 1, IT_COMPLETION_FLAG));
}

static void
too_long(struct pair *pair, struct row *row)
{
	(void)row;
	pair_ok(end_recv(&pair->passive, 8, 2));
	pair_ok(end_send(&pair->active, 16, 1, IT_COMPLETION_FLAG));
}

static void
no_receive(struct pair *pair, struct row *row)
{
	(void)row;
	pair_ok(end_send(&pair->active, 16, 1, IT_COMPLETION_FLAG));
}

/* --- atomics; of an address that is no multiple of 8 the call itself says so -------------------------------- */

static void
add_to(struct pair *pair, struct row *row, it_rmr_context_t key, uint64_t addr)
{
	it_lmr_triplet_t result = end_segment(&pair->active, 0, 8);

	row->key = (uint32_t)key;
	row->addr = addr;
	g_assert_cmpint(it_post_atomic(pair->active.ep, IT_FETCH_AND_ADD, 1, 0, &result, 1,
				       IT_COMPLETION_FLAG, addr + 4, key),
			==, IT_ERR_INVALID_ADDRESS);
	pair_ok(it_post_atomic(pair->active.ep, IT_FETCH_AND_ADD, 1, 0, &result, 1,
			       IT_COMPLETION_FLAG, addr, key));
}

static void
atomic_key(struct pair *pair, struct row *row)
{
	add_to(pair, row, pair->passive.context ^ 0x5a5a00, buffer_of(&pair->passive));
}

static void
atomic_right(struct pair *pair, struct row *row)
{
	it_lmr_handle_t lmr;

	add_to(pair, row, region(&pair->passive, IT_PRIV_LOCAL | IT_PRIV_REMOTE, 64, &lmr),
	       buffer_of(&pair->passive));
}

static void
atomic_bounds(struct pair *pair, struct row *row)
{
	add_to(pair, row, pair->passive.context, buffer_of(&pair->passive) + END_BUFFER);
}

/* --- windows and revoked keys ------------------------------------------------------------------------------- */

static uint64_t
window_of(const struct end *end)
{
	return buffer_of(end) + WINDOW;
}

static void
window_right(struct pair *pair, struct row *row)
{
	const struct end *end = &pair->passive;
	it_rmr_handle_t rmr = window_make(end, IT_RMR_TYPE_DEFAULT);

	write_to(pair, row, window_link(end, rmr, IT_PRIV_REMOTE_READ, IT_ADDR_MODE_ABSOLUTE),
		 window_of(end));
}

static void
window_bounds(struct pair *pair, struct row *row)
{
	const struct end *end = &pair->passive;
	it_rmr_handle_t rmr = window_make(end, IT_RMR_TYPE_DEFAULT);

	read_from(pair, row, window_link(end, rmr, IT_PRIV_REMOTE, IT_ADDR_MODE_ABSOLUTE),
		  window_of(end) + WINDOW - 4);
}

static void
unlinked(struct pair *pair, struct row *row)
{
	const struct end *end = &pair->passive;
	it_rmr_handle_t rmr = window_make(end, IT_RMR_TYPE_DEFAULT);
	it_rmr_context_t key = window_link(end, rmr, IT_PRIV_REMOTE, IT_ADDR_MODE_ABSOLUTE);

	window_unlink(end, rmr, 0);
	write_to(pair, row, key, window_of(end));
}

/* A wide window that is linked is moved: its former key is over. */
static void
moved(struct pair *pair, struct row *row)
{
	const struct end *end = &pair->passive;
	it_rmr_handle_t rmr = window_make(end, IT_RMR_TYPE_WIDE);
	it_rmr_context_t key = window_link(end, rmr, IT_PRIV_REMOTE, IT_ADDR_MODE_ABSOLUTE);

	(void)window_link(end, rmr, IT_PRIV_REMOTE, IT_ADDR_MODE_ABSOLUTE);
	write_to(pair, row, key, window_of(end));
}

static void
freed(struct pair *pair, struct row *row)
{
	it_lmr_handle_t lmr;
	it_rmr_context_t key = region(&pair->passive, IT_PRIV_ALL, 64, &lmr);

	pair_ok(it_lmr_free(lmr));
	read_from(pair, row, key, buffer_of(&pair->passive));
}

static it_rmr_context_t
of_other_zone(const struct end *end)
{
	it_rmr_context_t key = 0;
	it_lmr_handle_t lmr;
	it_pz_handle_t pz;

	pair_ok(it_pz_create(end->ia, &pz));
	pair_ok(it_lmr_create21(pz, end->buffer, NULL, 64, IT_ADDR_MODE_ABSOLUTE, IT_PRIV_ALL,
				IT_LMR_FLAG_NON_SHAREABLE, 0, &lmr, &key));
	return key;
}

static void
other_zone(struct pair *pair, struct row *row)
{
	write_to(pair, row, of_other_zone(&pair->passive), buffer_of(&pair->passive));
}

static void
atomic_zone(struct pair *pair, struct row *row)
{
	add_to(pair, row, of_other_zone(&pair->passive), buffer_of(&pair->passive));
}

/* --- keys that a peer may not invalidate -------------------------------------------------------------------- */

static void
unlink_by_send(struct pair *pair, struct row *row, it_rmr_context_t key)
{
	it_lmr_triplet_t out = end_segment(&pair->active, 0, 8);

	row->key = (uint32_t)key;
	pair_ok(end_recv(&pair->passive, 64, 2));
	pair_ok(it_post_send_and_unlink(pair->active.ep, &out, 1, 3, IT_COMPLETION_FLAG, key));
}

static void
unlink_key(struct pair *pair, struct row *row)
{
	unlink_by_send(pair, row, pair->passive.context ^ 0x5a5a00);
}

static void
unlink_shared(struct pair *pair, struct row *row)
{
	unlink_by_send(pair, row, pair->passive.context);
}

static void
unlink_zone(struct pair *pair, struct row *row)
{
	unlink_by_send(pair, row, of_other_zone(&pair->passive));
}

static struct row rows[] = {
	{"write-key", wrong_key,
	 "the peer's RDMA Write is refused: 8 octets at 0x%A, key %K: no region or window has this "
	 "key",
	 0, 0, 0, 0, 0},
	{"read-key", read_wrong_key,
	 "the peer's RDMA Read is refused: 8 octets at 0x%A, key %K: no region or window has this "
	 "key",
	 0, 0, 0, 0, 0},
	{"write-bounds", bounds, "8 octets at 0x%A, key %K: outside of the bounds of the region, ",
	 0, 0, 0, 0, 0},
	{"read-bounds", read_bounds,
	 "8 octets at 0x%A, key %K: outside of the bounds of the region, ", 0, 0, 0, 0, 0},
	{"write-right", right,
	 "8 octets at 0x%A, key %K: the region has the rights \"local read, local write, remote "
	 "read",
	 0, 0, 0, 0, 0},
	{"read-right", read_right, "and lacks \"remote read\"", 0, 0, 0, 0, 0},
	{"write-endpoint", endpoint,
	 "the peer's RDMA Write is refused: this endpoint allows its peer no RDMA Write "
	 "(rdma_write_enable)",
	 0, true, 0, 0, 0},
	{"read-endpoint", read_endpoint,
	 "the peer's RDMA Read is refused: this endpoint allows its peer no RDMA Read "
	 "(rdma_read_enable)",
	 0, 0, true, 0, 0},
	{"linked-twice", linked_twice, "link of a window: 64 octets at 0x%A of the region",
	 NEEDS_NARROW, 0, 0, 0, 0},
	{"segment", segment,
	 "Send of 8 octets: its segment 0: 8 octets at 0x%A, key %K: outside of the bounds of the "
	 "region, 4 octets at 0x%A",
	 0, 0, 0, 0, 0},
	{"atomic-key", atomic_key,
	 "the peer's atomic operation is refused: 8 octets at 0x%A, key %K: no region or window "
	 "has this key",
	 NEEDS_ATOMICS, 0, 0, 0, 0},
	{"atomic-right", atomic_right, "and lacks \"remote atomic\"", NEEDS_ATOMICS, 0, 0, 0, 0},
	{"atomic-bounds", atomic_bounds,
	 "the peer's atomic operation is refused: 8 octets at 0x%A, key %K: outside of the bounds",
	 NEEDS_ATOMICS, 0, 0, 0, 0},
	{"atomic-zone", atomic_zone,
	 "8 octets at 0x%A, key %K: the region is of another protection domain", NEEDS_ATOMICS, 0,
	 0, 0, 0},
	{"window-right", window_right,
	 "8 octets at 0x%A, key %K: the window has the rights \"remote read\" and lacks \"remote "
	 "write\"",
	 NEEDS_WINDOWS, 0, 0, 0, 0},
	{"window-bounds", window_bounds,
	 "8 octets at 0x%A, key %K: outside of the bounds of the window, 4096 octets",
	 NEEDS_WINDOWS, 0, 0, 0, 0},
	{"unlinked", unlinked,
	 "key %K: the key is not valid: the window was unlinked, or has another key now",
	 NEEDS_UNLINK, 0, 0, 0, 0},
	{"moved", moved,
	 "key %K: the key is not valid: the window was unlinked, or has another key now",
	 NEEDS_WIDE, 0, 0, 0, 0},
	{"freed", freed, "8 octets at 0x%A, key %K: no region or window has this key", 0, 0, 0, 0,
	 0},
	{"other-zone", other_zone,
	 "8 octets at 0x%A, key %K: the region is of another protection domain", 0, 0, 0, 0, 0},
	{"unlink-key", unlink_key,
	 "a Send of the peer may not invalidate: key %K: no region or window has this key",
	 NEEDS_REMOTE_UNLINK, 0, 0, 0, 0},
	{"unlink-shared", unlink_shared,
	 "a Send of the peer may not invalidate: key %K: the region is shared", NEEDS_LMR_UNLINK, 0,
	 0, 0, 0},
	{"unlink-zone", unlink_zone,
	 "a Send of the peer may not invalidate: key %K: the region is of another protection "
	 "domain",
	 NEEDS_REMOTE_UNLINK, 0, 0, 0, 0},
	{"too-long", too_long, "a Send of the peer is longer than its receive", 0, 0, 0, 0, 0},
	{"no-receive", no_receive, "a Send of the peer waits, since no receive is posted", 0, 0, 0,
	 0, 0},
};

static char *
expanded(const struct row *row)
{
	g_autofree char *key = g_strdup_printf("%08" PRIx32, row->key);
	g_autofree char *addr = g_strdup_printf("%" PRIx64, row->addr);
	g_autoptr(GString) text = g_string_new(row->wanted);

	(void)g_string_replace(text, "%K", key, 0);
	(void)g_string_replace(text, "%A", addr, 0);
	return g_strdup(text->str);
}

/* Until the line has come, or the test runs out of time. */
static void
await_line(const char *wanted)
{
	gint64 until = g_get_monotonic_time() + 60 * G_USEC_PER_SEC;
	bool found = false;

	while (!found && g_get_monotonic_time() < until) {
		pthread_mutex_lock(&lock);
		found = strstr(said->str, wanted) != NULL;
		pthread_mutex_unlock(&lock);
		if (!found)
			g_usleep(1000);
	}
	if (!found)
		g_error("not said: %s\nbut: %s", wanted, said->str);
}

/* With all that the row has created. */
static void
pair_drop(struct pair *pair)
{
	struct end *const ends[] = {&pair->active, &pair->passive};

	for (size_t i = 0; i < G_N_ELEMENTS(ends); i++) {
		it_ia_info_free(ends[i]->info);
		pair_ok(it_ia_free(ends[i]->ia));
		g_free(ends[i]->buffer);
	}
}

/* Each status that a call returns has its cause in the log. */
static void
test_causes(struct pair *pair)
{
	for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
		struct row *row = &rows[i];
		g_autofree char *wanted = NULL;
		struct pair own;

		if (!end_has(&pair->active, row->needs))
			continue;
		g_assert_true(pair_open(&own));
		if (row->no_write)
			own.passive.attr.srv.rc.rdma_write_enable = IT_FALSE;
		if (row->no_read)
			own.passive.attr.srv.rc.rdma_read_enable = IT_FALSE;
		end_new_ep(&own.passive);
		pair_establish(&own);
		pthread_mutex_lock(&lock);
		g_string_truncate(said, 0);
		pthread_mutex_unlock(&lock);
		g_test_message("%s", row->name);
		row->run(&own, row);
		wanted = expanded(row);
		await_line(wanted);
		pair_drop(&own);
	}
}

static void
add(void)
{
	pair_add("causes", test_causes);
}

int
main(int argc, char **argv)
{
	int status;

	g_setenv("ITAPI_LOG", "info", TRUE);
	said = g_string_new(NULL);
	itx_log_set_writer(gather, NULL);
	status = pair_main(argc, argv, add);
	itx_log_set_writer(NULL, NULL);
	g_string_free(said, TRUE);
	return status;
}
