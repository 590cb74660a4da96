/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Each job gets a thread of its own, since such jobs are rare and slow. The lists of a user's jobs
 * belong to the main loop. A thread returns a finished job through the list `finished`, which has a
 * lock.
 */
#include "kald_apart.h"

#include <glib-unix.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "ri_fd.h"

#define THREADS_OF_ONE 2u     /* user */
#define STACK          262144 /* octets: a claim has its table there */
#define AGAIN_MS       100    /* when no thread could be made */
#define PATIENCE_MS    500    /* at the end, with work that does not hang */

struct work {
	struct work *next; /* of those that are finished */
	struct kald_apart *apart;
	struct user *user;
	void (*work)(void *arg);
	void (*done)(void *arg);
	void *arg;
};

struct user {
	uint32_t uid;
	unsigned threads;
	guint again; /* timer, or 0 */
	GQueue waiting;
	struct kald_apart *apart;
};

struct kald_apart {
	int event;
	guint source;
	GHashTable *users; /* that have work, by uid */
	pthread_mutex_t lock;
	struct work *finished;
	unsigned threads; /* and the owner: the last of them frees it; under the lock */
};

/* The last one that knows it frees it. */
static void
apart_unref(struct kald_apart *apart)
{
	bool last;

	pthread_mutex_lock(&apart->lock);
	last = --apart->threads == 0;
	pthread_mutex_unlock(&apart->lock);
	if (!last)
		return;
	close(apart->event);
	pthread_mutex_destroy(&apart->lock);
	g_free(apart);
}

static void *
work_run(void *arg)
{
	struct work *work = arg;
	struct kald_apart *apart = work->apart;
	uint64_t one = 1;

	work->work(work->arg);
	pthread_mutex_lock(&apart->lock);
	work->next = apart->finished;
	apart->finished = work;
	pthread_mutex_unlock(&apart->lock);
	(void)!write(apart->event, &one, sizeof(one));
	apart_unref(apart);
	return NULL;
}

bool
kald_thread_begin(void *(*run)(void *arg), void *arg)
{
	pthread_attr_t attr;
	pthread_t thread;
	bool begun;

	if (pthread_attr_init(&attr) != 0)
		return false;
	(void)pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	(void)pthread_attr_setstacksize(&attr, STACK);
	begun = pthread_create(&thread, &attr, run, arg) == 0;
	(void)pthread_attr_destroy(&attr);
	return begun;
}

static bool
work_begin(struct work *work)
{
	pthread_mutex_lock(&work->apart->lock);
	work->apart->threads++;
	pthread_mutex_unlock(&work->apart->lock);
	if (kald_thread_begin(work_run, work))
		return true;
	apart_unref(work->apart);
	return false;
}

static gboolean user_again(gpointer arg);

static void
user_run(struct user *user)
{
	while (user->threads < THREADS_OF_ONE && user->waiting.length > 0) {
		if (!work_begin(g_queue_peek_head(&user->waiting))) {
			if (user->again == 0)
				user->again = g_timeout_add(AGAIN_MS, user_again, user);
			return;
		}
		(void)g_queue_pop_head(&user->waiting);
		user->threads++;
	}
	if (user->threads == 0 && user->again == 0)
		g_hash_table_remove(user->apart->users, GUINT_TO_POINTER(user->uid));
}

static gboolean
user_again(gpointer arg)
{
	struct user *user = arg;

	user->again = 0;
	user_run(user);
	return G_SOURCE_REMOVE;
}

static gboolean
work_finished(gint fd, GIOCondition condition, gpointer arg)
{
	struct kald_apart *apart = arg;
	struct work *work;
	uint64_t count;

	(void)condition;
	(void)!read(fd, &count, sizeof(count));
	pthread_mutex_lock(&apart->lock);
	work = apart->finished;
	apart->finished = NULL;
	pthread_mutex_unlock(&apart->lock);
	while (work != NULL) {
		struct work *next = work->next;

		work->done(work->arg);
		work->user->threads--;
		user_run(work->user);
		g_free(work);
		work = next;
	}
	return G_SOURCE_CONTINUE;
}

struct kald_apart *
kald_apart_new(void)
{
	struct kald_apart *apart = g_new0(struct kald_apart, 1);

	apart->event = ri_fd_eventfd();
	if (apart->event < 0) {
		g_free(apart);
		return NULL;
	}
	apart->users = g_hash_table_new_full(g_direct_hash, g_direct_equal, NULL, g_free);
	apart->source = g_unix_fd_add(apart->event, G_IO_IN, work_finished, apart);
	apart->threads = 1;
	pthread_mutex_init(&apart->lock, NULL);
	return apart;
}

/* Let what does not hang end. */
static void
work_end(struct kald_apart *apart)
{
	const gint64 deadline = g_get_monotonic_time() + PATIENCE_MS * 1000;
	GPollFD finished = {.fd = apart->event, .events = G_IO_IN};

	while (g_hash_table_size(apart->users) != 0 && g_get_monotonic_time() < deadline)
		if (g_poll(&finished, 1, PATIENCE_MS / 10) > 0)
			(void)work_finished(apart->event, G_IO_IN, apart);
}

void
kald_apart_free(struct kald_apart *apart)
{
	GHashTableIter iter;
	gpointer value;

	work_end(apart);
	g_source_remove(apart->source);
	g_hash_table_iter_init(&iter, apart->users);
	while (g_hash_table_iter_next(&iter, NULL, &value)) {
		struct user *user = value;

		if (user->again != 0)
			g_source_remove(user->again);
		g_queue_clear_full(&user->waiting, g_free);
	}
	g_hash_table_destroy(apart->users);
	apart_unref(apart);
}

void
kald_apart_do(struct kald_apart *apart, uint32_t uid, void (*work)(void *arg),
	      void (*done)(void *arg), void *arg)
{
	struct user *user = g_hash_table_lookup(apart->users, GUINT_TO_POINTER(uid));
	struct work *one = g_new0(struct work, 1);

	if (user == NULL) {
		user = g_new0(struct user, 1);
		user->uid = uid;
		user->apart = apart;
		g_queue_init(&user->waiting);
		g_hash_table_insert(apart->users, GUINT_TO_POINTER(uid), user);
	}
	*one = (struct work){.apart = apart, .user = user, .work = work, .done = done, .arg = arg};
	g_queue_push_tail(&user->waiting, one);
	user_run(user);
}
