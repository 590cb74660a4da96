/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * A second access layer (small_layer.h) over the real kAL and a real provider: it moves data, its
 * threads sleep and lead, and nothing of a thread that is cancelled, or of an adapter that is
 * closed or has failed, is left behind.
 *
 * Usage: test-session ADAPTER
 */

#include <glib.h>
#include <glib/gstdio.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "small_layer.h"

#define PATIENCE    20000 /* ms until a test gives up */
#define PATIENCE_US (20 * G_USEC_PER_SEC)
#define LOOK_FOR_US 20000 /* long enough for an event that must not come */
#define MESSAGES    200
#define ROUNDS      20

#define UNTIL(condition)                                             \
	do {                                                         \
		for (unsigned ms_ = 0; !(condition); g_usleep(1000)) \
			g_assert_cmpuint(ms_++, <, PATIENCE);        \
	} while (0)

static const char *adapter;

/* Two adapters with a queue pair each, connected. */
static struct {
	struct small small;
	struct small_cq cq;
	struct small_qp qp;
} ends[2];

/* False: the test is skipped. */
static bool
scene_open(void)
{
	for (unsigned i = 0; i < 2; i++) {
		if (!small_open(&ends[i].small, adapter)) {
			g_assert_cmpuint(i, ==, 0);
			g_test_skip("there is no such adapter");
			return false;
		}
		small_cq_open(&ends[i].small, &ends[i].cq);
		small_qp_open(&ends[i].cq, &ends[i].qp);
	}
	small_connect(&ends[0].qp, &ends[1].qp);
	return true;
}

static void
scene_close(void)
{
	for (unsigned i = 0; i < 2; i++) {
		small_qp_close(&ends[i].qp);
		small_cq_close(&ends[i].cq);
		small_close(&ends[i].small);
	}
}

static bool
poll_one(struct small_cq *cq, struct ri_wc *wc)
{
	return cq->small->session.fast->poll_cq(cq->queue, wc, 1) == 1;
}

/* Wait for a completion, asleep: arm, then poll once more, then take the event. */
static struct ri_wc
completion(struct small_cq *cq)
{
	struct kal_event event;
	struct ri_wc wc;

	while (!poll_one(cq, &wc)) {
		if (!small_cq_arm(cq))
			continue;
		g_assert_cmpint(small_get(&cq->small->completions, PATIENCE_US, &event), ==,
				RI_SUCCESS);
		g_assert_cmpuint(event.kind, ==, KAL_EVENT_CQ);
		g_assert_cmpuint(event.ctx, ==, cq->ctx);
	}
	g_assert_cmpint(wc.status, ==, RI_WC_SUCCESS);
	return wc;
}

/* One message from an end to the other one, which waits for it. Its octets are its number. */
static void
message(unsigned from, uint64_t number)
{
	struct small *sender = &ends[from].small, *receiver = &ends[1 - from].small;
	struct ri_wc wc;

	memset(sender->memory, (int)number + 1, sizeof(sender->memory));
	memset(receiver->memory, 0, sizeof(receiver->memory));
	small_recv(&ends[1 - from].qp, number);
	small_send(&ends[from].qp, number);
	wc = completion(&ends[1 - from].cq);
	g_assert_cmpuint(wc.wr_id, ==, number);
	g_assert_cmpuint(wc.opcode, ==, RI_OP_RECV);
	g_assert_cmpuint(wc.byte_len, ==, SMALL_MESSAGE);
	wc = completion(&ends[from].cq);
	g_assert_cmpuint(wc.wr_id, ==, number);
	g_assert_cmpuint(wc.opcode, ==, RI_OP_SEND);
	for (unsigned i = 0; i < SMALL_MEMORY; i++) {
		bool here = i / SMALL_MESSAGE == number % (SMALL_MEMORY / SMALL_MESSAGE);

		g_assert_cmpuint(receiver->memory[i], ==, here ? (uint8_t)(number + 1) : 0);
	}
}

static void
test_messages(void)
{
	if (!scene_open())
		return;
	for (uint64_t i = 0; i < MESSAGES; i++)
		message(i % 2 != 0, i);
	scene_close();
}

/* --- events ----------------------------------------------------------------------------------- */

static void
expect_none(struct small_channel *channel)
{
	struct kal_event event;

	g_assert_cmpint(small_get(channel, 0, &event), ==, RI_ERR_TIMEOUT);
}

/*
 * A queue that is armed once has one event; one that is not armed has none; and none comes after
 * the queue has ended.
 */
static void
test_once(void)
{
	struct small_cq *cq = &ends[1].cq;
	struct small *small = &ends[1].small;
	struct kal_event event;
	struct ri_wc wc;
	unsigned dispatched;

	if (!scene_open())
		return;
	for (uint64_t i = 0; i < ROUNDS; i++) {
		g_assert_true(small_cq_arm(cq));
		for (unsigned k = 0; k < 3; k++)
			small_recv(&ends[1].qp, i);
		for (unsigned k = 0; k < 3; k++)
			small_send(&ends[0].qp, i);
		g_assert_cmpint(small_get(&small->completions, PATIENCE_US, &event), ==,
				RI_SUCCESS);
		for (unsigned k = 0; k < 3; k++) {
			UNTIL(poll_one(cq, &wc));
			(void)completion(&ends[0].cq);
		}
		expect_none(&small->completions);
	}
	g_assert_true(small_cq_arm(cq));
	small_recv(&ends[1].qp, 0);
	small_qp_close(&ends[1].qp);
	small_cq_close(cq);
	dispatched = atomic_load(&small->dispatched);
	small_qp_close(&ends[0].qp);
	g_usleep(LOOK_FOR_US);
	expect_none(&small->completions);
	expect_none(&small->others);
	g_assert_cmpuint(atomic_load(&small->dispatched), ==, dispatched);
	small_cq_close(&ends[0].cq);
	small_close(&ends[0].small);
	small_close(small);
}

/* Events of one connection come in order: its end, which the peer causes, is the last. */
static void
test_end(void)
{
	struct kal_event event;

	if (!scene_open())
		return;
	message(0, 0);
	small_qp_close(&ends[0].qp);
	do {
		g_assert_cmpint(small_get(&ends[1].small.others, PATIENCE_US, &event), ==,
				RI_SUCCESS);
		g_assert_cmpuint(event.ctx, ==, ends[1].qp.ctx);
	} while (event.kind == KAL_EVENT_ASYNC);
	g_assert_cmpuint(event.kind, ==, KAL_EVENT_CM);
	g_assert_true(event.u.cm.kind == KAL_CM_BROKEN || event.u.cm.kind == KAL_CM_DISCONNECTED);
	g_usleep(LOOK_FOR_US);
	expect_none(&ends[1].small.others);
	small_qp_open(&ends[0].cq, &ends[0].qp);
	scene_close();
}

/*
 * --- threads that wait -------------------------------------------------------------------------
 */

struct waiter {
	pthread_t thread;
	struct small_channel *channel;
	uint64_t timeout_us;
	enum ri_status status;
	atomic_bool returned;
};

static void *
waiter_run(void *arg)
{
	struct waiter *waiter = (struct waiter *)arg;
	struct kal_event event;

	waiter->status = small_get(waiter->channel, waiter->timeout_us, &event);
	atomic_store(&waiter->returned, true);
	return NULL;
}

static unsigned
asleep(struct small *small)
{
	unsigned count = 0;

	pthread_mutex_lock(&small->session.waiters.lock);
	for (const struct session_waiter *s = small->session.waiters.asleep; s != NULL; s = s->next)
		count++;
	pthread_mutex_unlock(&small->session.waiters.lock);
	return count;
}

/* When this returns, one more thread sleeps. */
static void
waiter_start(struct waiter *waiter, struct small_channel *channel)
{
	unsigned before = asleep(channel->small);

	waiter->channel = channel;
	waiter->timeout_us = UINT64_MAX;
	waiter->status = RI_SUCCESS;
	atomic_store(&waiter->returned, false);
	g_assert_cmpint(pthread_create(&waiter->thread, NULL, waiter_run, waiter), ==, 0);
	UNTIL(asleep(channel->small) == before + 1);
}

static void
waiter_join(struct waiter *waiter, enum ri_status status)
{
	UNTIL(atomic_load(&waiter->returned));
	pthread_join(waiter->thread, NULL);
	g_assert_cmpint(waiter->status, ==, status);
}

static void
waiter_cancel(struct waiter *waiter)
{
	void *end = NULL;

	g_assert_cmpint(pthread_cancel(waiter->thread), ==, 0);
	g_assert_cmpint(pthread_join(waiter->thread, &end), ==, 0);
	g_assert_true(end == PTHREAD_CANCELED);
}

/* The passive end's provider, with the leaders of its engine counted. */
static struct ri_fast_ops counted;
static const struct ri_fast_ops *uncounted;
static atomic_int leaders;
static atomic_uint led;

static bool
leader_enter_counted(struct ri_urnic *rnic, int *fd)
{
	bool leads = uncounted->leader_enter(rnic, fd);

	if (leads) {
		atomic_fetch_add(&leaders, 1);
		atomic_fetch_add(&led, 1);
	}
	return leads;
}

static void
leader_leave_counted(struct ri_urnic *rnic)
{
	atomic_fetch_sub(&leaders, 1);
	uncounted->leader_leave(rnic);
}

static void
count_leaders(struct small *small)
{
	uncounted = small->session.fast;
	counted = *uncounted;
	counted.leader_enter = leader_enter_counted;
	counted.leader_leave = leader_leave_counted;
	small->session.fast = &counted;
	atomic_store(&leaders, 0);
	atomic_store(&led, 0);
}

/* Wake the thread that has waited longest for completions of the passive end. */
static void
send_to_sleeper(uint64_t number)
{
	struct ri_wc wc;

	g_assert_true(small_cq_arm(&ends[1].cq));
	small_recv(&ends[1].qp, number);
	small_send(&ends[0].qp, number);
	(void)completion(&ends[0].cq);
	UNTIL(poll_one(&ends[1].cq, &wc));
	g_assert_cmpuint(wc.wr_id, ==, number);
}

/*
 * Two threads sleep. If the engine needs a sleeper, one of them leads. The first thread gets the
 * first event and leaves; then the other one leads, and gets the second event.
 */
static void
test_leader(void)
{
	struct waiter first, second;
	bool one_leads;

	if (!scene_open())
		return;
	count_leaders(&ends[1].small);
	for (uint64_t i = 0; i < ROUNDS; i++) {
		unsigned before = atomic_load(&led);

		waiter_start(&first, &ends[1].small.completions);
		UNTIL(atomic_load(&led) == before + 1);
		waiter_start(&second, &ends[1].small.completions);
		one_leads = g_str_has_prefix(adapter, "iwarp");
		if (one_leads)
			g_assert_cmpint(atomic_load(&leaders), ==, 1);
		send_to_sleeper(2 * i);
		waiter_join(&first, RI_SUCCESS);
		UNTIL(atomic_load(&led) == before + 2 && atomic_load(&leaders) == 1);
		g_assert_false(atomic_load(&second.returned));
		send_to_sleeper(2 * i + 1);
		waiter_join(&second, RI_SUCCESS);
		g_assert_cmpint(atomic_load(&leaders), ==, 0);
	}
	scene_close();
}

/*
 * Each thread of three is cancelled in turn, the leader or not. The other two get one event each.
 */
static void
test_cancel(void)
{
	struct waiter waiters[3];

	if (!scene_open())
		return;
	for (unsigned victim = 0; victim < G_N_ELEMENTS(waiters); victim++) {
		for (unsigned i = 0; i < G_N_ELEMENTS(waiters); i++)
			waiter_start(&waiters[i], &ends[1].small.completions);
		waiter_cancel(&waiters[victim]);
		for (unsigned i = 0; i < G_N_ELEMENTS(waiters); i++) {
			if (i == victim)
				continue;
			send_to_sleeper(i);
			waiter_join(&waiters[i], RI_SUCCESS);
		}
		g_assert_cmpuint(ends[1].small.completions.line.count, ==, 0);
		expect_none(&ends[1].small.completions);
	}
	scene_close();
}

/*
 * An event and a cancellation come at once: a thread takes the event, or it stays there for the
 * next.
 */
static void
test_cancel_race(void)
{
	struct waiter victim, heir;

	if (!scene_open())
		return;
	for (uint64_t i = 0; i < ROUNDS; i++) {
		waiter_start(&victim, &ends[1].small.completions);
		waiter_start(&heir, &ends[1].small.completions);
		g_assert_true(small_cq_arm(&ends[1].cq));
		small_recv(&ends[1].qp, i);
		small_send(&ends[0].qp, i);
		g_assert_cmpint(pthread_cancel(victim.thread), ==, 0);
		pthread_join(victim.thread, NULL);
		UNTIL(atomic_load(&victim.returned) || atomic_load(&heir.returned));
		(void)completion(&ends[1].cq);
		(void)completion(&ends[0].cq);
		if (!atomic_load(&heir.returned))
			send_to_sleeper(i);
		waiter_join(&heir, RI_SUCCESS);
		expect_none(&ends[1].small.completions);
	}
	scene_close();
}

static void
test_timeout(void)
{
	struct kal_event event;
	uint64_t begin;
	struct small *small = &ends[1].small;

	if (!scene_open())
		return;
	for (unsigned i = 0; i < 2; i++) {
		begin = session_now(&small->session);
		g_assert_cmpint(
			small_get(i == 0 ? &small->completions : &small->others, 3000, &event), ==,
			RI_ERR_TIMEOUT);
		g_assert_cmpuint(session_now(&small->session) - begin, >=, 3000 * 1000);
	}
	g_assert_cmpuint(asleep(small), ==, 0);
	scene_close();
}

/*
 * --- ends --------------------------------------------------------------------------------------
 */

static void
sleep_everywhere(struct waiter waiters[4])
{
	for (unsigned i = 0; i < 4; i++)
		waiter_start(&waiters[i],
			     i < 2 ? &ends[1].small.completions : &ends[1].small.others);
}

/* Closing wakes all, and nobody falls asleep later. */
static void
test_close(void)
{
	struct waiter waiters[4];
	struct kal_event event;

	if (!scene_open())
		return;
	sleep_everywhere(waiters);
	session_end_waits(&ends[1].small.session);
	for (unsigned i = 0; i < G_N_ELEMENTS(waiters); i++)
		waiter_join(&waiters[i], RI_ERR_FATAL);
	g_assert_cmpint(small_get(&ends[1].small.others, UINT64_MAX, &event), ==, RI_ERR_FATAL);
	scene_close();
}

/* The program that listens at ITAPI_EMUL_CONTROL. */
static int door = -1;
static char *door_folder;
static char *door_path;

static void
door_begin(void)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};

	door_folder = g_dir_make_tmp("itapi-session-XXXXXX", NULL);
	g_assert_nonnull(door_folder);
	door_path = g_build_filename(door_folder, "door", NULL);
	g_assert_cmpuint(g_strlcpy(at.sun_path, door_path, sizeof(at.sun_path)), <,
			 sizeof(at.sun_path));
	door = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	g_assert_cmpint(door, >=, 0);
	g_assert_cmpint(bind(door, (const struct sockaddr *)&at, sizeof(at)), ==, 0);
	g_assert_cmpint(listen(door, 4), ==, 0);
	g_assert_true(g_setenv("ITAPI_EMUL_CONTROL", door_path, TRUE));
}

static void
door_end(void)
{
	g_unsetenv("ITAPI_EMUL_CONTROL");
	close(door);
	g_assert_cmpint(g_unlink(door_path), ==, 0);
	g_assert_cmpint(g_rmdir(door_folder), ==, 0);
	g_free(door_path);
	g_free(door_folder);
}

/* The adapter that was opened second fails. */
static void
fail_adapter(void)
{
	static const char command[] = "fail adapter";
	int first = accept4(door, NULL, NULL, SOCK_CLOEXEC);
	int second = accept4(door, NULL, NULL, SOCK_CLOEXEC);
	char answer[256] = "";

	g_assert_cmpint(first, >=, 0);
	g_assert_cmpint(second, >=, 0);
	g_assert_cmpint(recv(second, answer, sizeof(answer) - 1, 0), >, 0);
	g_assert_cmpint(send(second, command, strlen(command), MSG_NOSIGNAL), >, 0);
	memset(answer, 0, sizeof(answer));
	g_assert_cmpint(recv(second, answer, sizeof(answer) - 1, 0), >, 0);
	g_assert_cmpstr(answer, ==, "ok");
	close(first);
	close(second);
}

/*
 * The adapter fails: threads that wait for completions return and say so, now and later. The layer
 * gets the events from before, the end of its connection among them, and the failure last.
 * Everything can be closed.
 */
static void
test_failure(void)
{
	struct waiter waiters[2];
	struct kal_event event = {0};
	bool ended = false;

	door_begin();
	g_assert_true(scene_open());
	g_assert_false(atomic_load(&ends[1].small.session.dead));
	for (unsigned i = 0; i < 2; i++)
		waiter_start(&waiters[i], &ends[1].small.completions);
	fail_adapter();
	for (unsigned i = 0; i < 2; i++)
		waiter_join(&waiters[i], RI_ERR_FATAL);
	g_assert_true(atomic_load(&ends[1].small.session.dead));
	g_assert_cmpint(small_get(&ends[1].small.completions, UINT64_MAX, &event), ==,
			RI_ERR_FATAL);
	while (small_get(&ends[1].small.others, 0, &event) == RI_SUCCESS)
		ended |= event.kind == KAL_EVENT_CM;
	g_assert_true(ended);
	g_assert_cmpuint(event.kind, ==, KAL_EVENT_ASYNC);
	g_assert_cmpuint(event.u.async.event, ==, RI_EVENT_DEVICE_CATASTROPHIC);
	scene_close();
	door_end();
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_assert_cmpint(argc, ==, 2);
	adapter = argv[1];
	g_test_add_func("/session/layer/messages", test_messages);
	g_test_add_func("/session/layer/once", test_once);
	g_test_add_func("/session/layer/end", test_end);
	g_test_add_func("/session/layer/leader", test_leader);
	g_test_add_func("/session/layer/cancel", test_cancel);
	g_test_add_func("/session/layer/cancel-race", test_cancel_race);
	g_test_add_func("/session/layer/timeout", test_timeout);
	g_test_add_func("/session/layer/close", test_close);
	if (g_str_has_prefix(adapter, "emul"))
		g_test_add_func("/session/layer/failure", test_failure);
	return g_test_run();
}
