/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* A thread that was given a host table: what it opens uses that table, and nothing of the real machine is made for it. */

#include "kal_fixture.h"
#include "kal_host_use.h"

#include <pthread.h>

#define BEGIN UINT64_C(7000000000) /* the clock of the host, ns */

static struct {
	unsigned asked_time, started;
	GPtrArray *lines;
} seen;

static uint64_t
own_now(void *self)
{
	(void)self;
	seen.asked_time++;
	return BEGIN;
}

static void
own_random(void *self, void *buf, size_t len)
{
	(void)self;
	memset(buf, 0x5a, len);
}

static void
own_timer_start(void *self, struct ri_timer *timer, uint64_t deadline)
{
	(void)self;
	(void)timer;
	(void)deadline;
	seen.started++;
}

static void
own_timer_stop(void *self, struct ri_timer *timer)
{
	(void)self;
	(void)timer;
}

static void
own_task(void *self, struct ri_task *task)
{
	(void)self;
	(void)task;
}

static void
own_log(void *self, enum ri_log_level level, const char *where, const char *text)
{
	(void)self;
	(void)level;
	g_ptr_array_add(seen.lines, g_strdup_printf("%s: %s", where, text));
}

static enum ri_status
own_attach(void *self, uint64_t owner, struct ri_mem *mem, uint32_t access)
{
	(void)self;
	(void)owner;
	(void)access;
	mem->base = (uint8_t *)(uintptr_t)mem->addr;
	return RI_SUCCESS;
}

static void
own_detach(void *self, struct ri_mem *mem)
{
	(void)self;
	mem->base = NULL;
}

static const struct ri_host own = {
	.size = sizeof(own),
	.log_level = RI_LOG_DEBUG,
	.now = own_now,
	.random = own_random,
	.timer_start = own_timer_start,
	.timer_stop = own_timer_stop,
	.task_run = own_task,
	.task_stop = own_task,
	.log = own_log,
	.mem_attach = own_attach,
	.mem_detach = own_detach,
};

/* The threads of this process. */
static unsigned
threads(void)
{
	g_autoptr(GDir) dir = g_dir_open("/proc/self/task", 0, NULL);
	unsigned count = 0;

	g_assert_nonnull(dir);
	while (g_dir_read_name(dir) != NULL)
		count++;
	return count;
}

/* First, since the host of production stays once it was made. */
static void
test_no_thread(void)
{
	unsigned before = threads();
	struct kal_client *client = NULL;
	const struct kal_client_params params = {.host = NULL};
	struct fixture f;

	itapi_host_use(&own);
	g_assert_true(kal_host_here() == &own);
	g_assert_true(kal_client_host(NULL) == &own);
	g_assert_cmpint(kal_client_open(&params, &client), ==, RI_SUCCESS);
	g_assert_true(kal_client_host(client) == &own);
	kal_client_close(client);
	f = fixture_open_on(NULL);
	g_assert_true(kal_client_host(f.client) == &own);
	fixture_close(&f);
	g_assert_cmpuint(threads(), ==, before);
	itapi_host_use(NULL);
}

static void
test_time(void)
{
	unsigned before = seen.asked_time;

	itapi_host_use(&own);
	g_assert_cmpuint(kal_host_time(), ==, BEGIN);
	g_assert_cmpuint(seen.asked_time, ==, before + 1);
	itapi_host_use(NULL);
	g_assert_cmpuint(kal_host_time(), !=, BEGIN);
	g_assert_cmpuint(seen.asked_time, ==, before + 1);
}

/* Privileges are those of the machine, which a given host is not. */
static void
test_privileges(void)
{
	const struct kal_client_params params = {.host = NULL};
	struct kal_rnic_open_req open = {.name = "fake"};
	struct kal_rnic_open_rep opened;
	struct fixture f;

	itapi_host_use(&own);
	g_assert_cmpint(kal_client_open(&params, &f.client), ==, RI_SUCCESS);
	g_assert_cmpint(
		fixture_call(&f, KAL_RNIC_OPEN, &open, sizeof(open), &opened, sizeof(opened)), ==,
		RI_SUCCESS);
	g_assert_cmpuint(opened.privileged, ==, 0);
	kal_client_close(f.client);
	itapi_host_use(NULL);
}

static void
test_log(void)
{
	struct kal_client *client = NULL;
	const struct kal_client_params params = {.host = NULL};
	struct kal_rnic_open_req open = {.name = "absent"};
	struct kal_rnic_open_rep opened;
	struct kal_msg msg = {.call = KAL_RNIC_OPEN,
			      .fd = -1,
			      .req = &open,
			      .req_len = sizeof(open),
			      .rep = &opened,
			      .rep_len = sizeof(opened)};

	g_ptr_array_set_size(seen.lines, 0);
	itapi_host_use(&own);
	g_assert_cmpint(kal_client_open(&params, &client), ==, RI_SUCCESS);
	g_assert_cmpint(kal_call(client, &msg), ==, RI_ERR_NO_DEVICE);
	kal_client_close(client);
	itapi_host_use(NULL);
	g_assert_cmpuint(seen.lines->len, >, 0);
}

static void *
other_thread(void *arg)
{
	*(bool *)arg = kal_host_here() == &own;
	return NULL;
}

/* Last, since it makes the host of production. */
static void
test_other_threads(void)
{
	bool is_own = true;
	pthread_t thread;

	itapi_host_use(&own);
	g_assert_cmpint(pthread_create(&thread, NULL, other_thread, &is_own), ==, 0);
	pthread_join(thread, NULL);
	g_assert_false(is_own);
	g_assert_true(kal_host_here() == &own);
	g_assert_true(kal_host_is_own(&own));
	itapi_host_use(NULL);
	g_assert_true(kal_host_here() == kal_host_default());
	g_assert_false(kal_host_is_own(kal_host_default()));
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	fake_register();
	seen.lines = g_ptr_array_new_with_free_func(g_free);
	g_test_add_func("/kal/here/no-thread", test_no_thread);
	g_test_add_func("/kal/here/time", test_time);
	g_test_add_func("/kal/here/privileges", test_privileges);
	g_test_add_func("/kal/here/log", test_log);
	g_test_add_func("/kal/here/other-threads", test_other_threads);
	return g_test_run();
}
