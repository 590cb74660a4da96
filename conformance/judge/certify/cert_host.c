/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Each entry counts the call and passes it to the entry of the production table, with the first argument of
 * that table. Any thread may call; counts and orders are atomic. Timers and tasks may end without a further
 * call, so they are not counted; at the end the production host reports those that are still queued.
 */
#include "cert_host.h"

#include <limits.h>
#include <stdatomic.h>

#include "cert_frame.h"
#include "cert_profile.h"
#include "kal_host.h"
#ifdef CERT_SCARCE
#include "scarce.h"
#endif

struct cert_host {
	struct ri_host table;
	const struct ri_host *base;
	struct kal_host *own;
	atomic_uint now, random, timers, tasks, watches, parks, attaches, logs, relaxes;
	atomic_uint attached;
	atomic_uint attach_refusal, attach_status, watch_refusal;
	atomic_bool copy_only;
	pthread_mutex_t lock; /* guards what follows */
	GHashTable *watched;  /* struct ri_watch, started */
	bool repeat;
	uint64_t state;
};

/* --- memory that runs out ------------------------------------------------------------------------- */

#ifdef CERT_SCARCE
bool
cert_host_can_starve(void)
{
	return g_getenv("ITAPI_TEST_NO_SCARCE") == NULL;
}

void
cert_host_starve(unsigned n, bool for_good)
{
	scarce_arm_here(n, for_good);
}

unsigned
cert_host_feed(void)
{
	return (unsigned)scarce_disarm();
}

long
cert_host_blocks(void)
{
	return scarce_live_here();
}

/* What the host itself allocates is not the provider's. */
static void
service_begin(void)
{
	scarce_pause();
}

static void
service_end(void)
{
	scarce_resume();
}
#else
bool
cert_host_can_starve(void)
{
	return false;
}

void
cert_host_starve(unsigned n, bool for_good)
{
	(void)n;
	(void)for_good;
}

unsigned
cert_host_feed(void)
{
	return 0;
}

long
cert_host_blocks(void)
{
	return 0;
}

static void
service_begin(void)
{
}

static void
service_end(void)
{
}
#endif

/* --- the entries ------------------------------------------------------------------------------------ */

/* True for the n-th call from an order on. */
static bool
is_due(atomic_uint *order)
{
	unsigned left = atomic_load(order);

	while (left > 0 && !atomic_compare_exchange_weak(order, &left, left - 1))
		continue;
	return left == 1;
}

static uint64_t
host_now(void *self)
{
	struct cert_host *host = self;

	atomic_fetch_add(&host->now, 1);
	return host->base->now(host->base->self);
}

static void
host_random(void *self, void *buf, size_t len)
{
	struct cert_host *host = self;
	uint8_t *at = buf;
	bool repeat;

	atomic_fetch_add(&host->random, 1);
	pthread_mutex_lock(&host->lock);
	repeat = host->repeat;
	for (size_t i = 0; repeat && i < len; i++)
		at[i] = (uint8_t)cert_sequence_next(&host->state);
	pthread_mutex_unlock(&host->lock);
	if (!repeat)
		host->base->random(host->base->self, buf, len);
}

static void
host_timer_start(void *self, struct ri_timer *timer, uint64_t deadline)
{
	struct cert_host *host = self;

	atomic_fetch_add(&host->timers, 1);
	host->base->timer_start(host->base->self, timer, deadline);
}

static void
host_timer_stop(void *self, struct ri_timer *timer)
{
	struct cert_host *host = self;

	host->base->timer_stop(host->base->self, timer);
}

static void
host_task_run(void *self, struct ri_task *task)
{
	struct cert_host *host = self;

	atomic_fetch_add(&host->tasks, 1);
	host->base->task_run(host->base->self, task);
}

static void
host_task_stop(void *self, struct ri_task *task)
{
	struct cert_host *host = self;

	host->base->task_stop(host->base->self, task);
}

static enum ri_status
host_watch_start(void *self, struct ri_watch *watch)
{
	struct cert_host *host = self;
	enum ri_status status;

	if (is_due(&host->watch_refusal))
		return RI_ERR_RESOURCES;
	service_begin();
	status = host->base->watch_start(host->base->self, watch);
	if (status == RI_SUCCESS) {
		atomic_fetch_add(&host->watches, 1);
		pthread_mutex_lock(&host->lock);
		g_hash_table_add(host->watched, watch);
		pthread_mutex_unlock(&host->lock);
	}
	service_end();
	return status;
}

static void
host_watch_change(void *self, struct ri_watch *watch, uint32_t events)
{
	struct cert_host *host = self;

	host->base->watch_change(host->base->self, watch, events);
}

/* To stop what is not started does nothing. */
static void
host_watch_stop(void *self, struct ri_watch *watch)
{
	struct cert_host *host = self;

	service_begin();
	host->base->watch_stop(host->base->self, watch);
	pthread_mutex_lock(&host->lock);
	g_hash_table_remove(host->watched, watch);
	pthread_mutex_unlock(&host->lock);
	service_end();
}

static enum ri_status
host_park(void *self, struct ri_parker *parker, const int *fds, uint32_t nfds, uint64_t deadline)
{
	struct cert_host *host = self;

	atomic_fetch_add(&host->parks, 1);
	service_begin();
	enum ri_status status = host->base->park(host->base->self, parker, fds, nfds, deadline);
	service_end();
	return status;
}

static void
host_wake(void *self, struct ri_parker *parker)
{
	struct cert_host *host = self;

	host->base->wake(host->base->self, parker);
}

static void
host_parker_close(void *self, struct ri_parker *parker)
{
	struct cert_host *host = self;

	host->base->parker_close(host->base->self, parker);
}

static void
host_log(void *self, enum ri_log_level level, const char *where, const char *text)
{
	struct cert_host *host = self;

	atomic_fetch_add(&host->logs, 1);
	service_begin();
	host->base->log(host->base->self, level, where, text);
	service_end();
}

static enum ri_status
host_mem_attach(void *self, uint64_t owner, struct ri_mem *mem, uint32_t access)
{
	struct cert_host *host = self;
	enum ri_status status;

	if (is_due(&host->attach_refusal))
		return (enum ri_status)atomic_load(&host->attach_status);
	service_begin();
	status = host->base->mem_attach(host->base->self, owner, mem, access);
	service_end();
	if (status == RI_SUCCESS) {
		atomic_fetch_add(&host->attaches, 1);
		atomic_fetch_add(&host->attached, 1);
		if (atomic_load(&host->copy_only))
			mem->base = NULL;
	}
	return status;
}

static void
host_mem_detach(void *self, struct ri_mem *mem)
{
	struct cert_host *host = self;

	service_begin();
	host->base->mem_detach(host->base->self, mem);
	service_end();
	atomic_fetch_sub(&host->attached, 1);
}

static enum ri_status
host_mem_copy(void *self, struct ri_mem *mem, uint64_t offset, void *buf, size_t len, bool write)
{
	struct cert_host *host = self;

	return host->base->mem_copy(host->base->self, mem, offset, buf, len, write);
}

static void
host_relax(void *self, uint32_t round)
{
	struct cert_host *host = self;

	atomic_fetch_add(&host->relaxes, 1);
	host->base->relax(host->base->self, round);
}

static const struct ri_host front = {
	.size = sizeof(struct ri_host),
	.now = host_now,
	.random = host_random,
	.timer_start = host_timer_start,
	.timer_stop = host_timer_stop,
	.task_run = host_task_run,
	.task_stop = host_task_stop,
	.watch_start = host_watch_start,
	.watch_change = host_watch_change,
	.watch_stop = host_watch_stop,
	.park = host_park,
	.wake = host_wake,
	.parker_close = host_parker_close,
	.log = host_log,
	.mem_attach = host_mem_attach,
	.mem_detach = host_mem_detach,
	.mem_copy = host_mem_copy,
	.relax = host_relax,
};

struct cert_host *
cert_host_new(void)
{
	struct cert_host *host = g_new0(struct cert_host, 1);

	host->own = kal_host_create();
	if (host->own == NULL) {
		g_free(host);
		return NULL;
	}
	host->base = &host->own->table;
	host->table = front;
	host->table.log_level = host->base->log_level;
	host->table.self = host;
	host->watched = g_hash_table_new(NULL, NULL);
	pthread_mutex_init(&host->lock, NULL);
	return host;
}

char *
cert_host_left(struct cert_host *host)
{
	GString *left = g_string_new(NULL);
	unsigned tasks;
	bool timers;

	pthread_mutex_lock(&host->own->lock);
	tasks = host->own->tasks;
	timers = kal_timers_next(&host->own->timers) != RI_NEVER;
	pthread_mutex_unlock(&host->own->lock);
	if (cert_host_attached(host) > 0)
		g_string_append_printf(left, "%u ranges of attached memory, ",
				       cert_host_attached(host));
	if (cert_host_watched(host) > 0)
		g_string_append_printf(left, "%u watches, ", cert_host_watched(host));
	if (tasks > 0)
		g_string_append_printf(left, "%u queued tasks, ", tasks);
	if (timers)
		g_string_append(left, "a started timer, ");
	if (left->len == 0) {
		g_string_free(left, TRUE);
		return NULL;
	}
	g_string_truncate(left, left->len - 2);
	return g_string_free(left, FALSE);
}

void
cert_host_free(struct cert_host *host)
{
	kal_host_destroy(host->own);
	g_hash_table_unref(host->watched);
	pthread_mutex_destroy(&host->lock);
	g_free(host);
}

const struct ri_host *
cert_host_table(const struct cert_host *host)
{
	return &host->table;
}

struct cert_host_counts
cert_host_counts(const struct cert_host *host)
{
	return (struct cert_host_counts){
		.now = atomic_load(&host->now),
		.random = atomic_load(&host->random),
		.timers = atomic_load(&host->timers),
		.tasks = atomic_load(&host->tasks),
		.watches = atomic_load(&host->watches),
		.parks = atomic_load(&host->parks),
		.attaches = atomic_load(&host->attaches),
		.logs = atomic_load(&host->logs),
		.relaxes = atomic_load(&host->relaxes),
	};
}

void
cert_host_repeat(struct cert_host *host, uint64_t seed)
{
	pthread_mutex_lock(&host->lock);
	host->repeat = seed != 0;
	host->state = seed;
	pthread_mutex_unlock(&host->lock);
}

void
cert_host_refuse_attach(struct cert_host *host, unsigned n, enum ri_status status)
{
	atomic_store(&host->attach_status, (unsigned)status);
	atomic_store(&host->attach_refusal, n);
}

void
cert_host_refuse_watch(struct cert_host *host, unsigned n)
{
	atomic_store(&host->watch_refusal, n);
}

void
cert_host_copy_only(struct cert_host *host, bool on)
{
	atomic_store(&host->copy_only, on);
}

unsigned
cert_host_attached(const struct cert_host *host)
{
	return atomic_load(&host->attached);
}

unsigned
cert_host_watched(struct cert_host *host)
{
	unsigned count;

	pthread_mutex_lock(&host->lock);
	count = g_hash_table_size(host->watched);
	pthread_mutex_unlock(&host->lock);
	return count;
}

struct settling {
	struct ri_task task;
	pthread_mutex_t lock;
	pthread_cond_t turned;
	bool done; /* with the lock */
};

static void
settled(void *arg)
{
	struct settling *settling = arg;

	pthread_mutex_lock(&settling->lock);
	settling->done = true;
	pthread_cond_signal(&settling->turned);
	pthread_mutex_unlock(&settling->lock);
}

/* Tasks run in the order in which they were asked for. */
void
cert_host_settle(struct cert_host *host)
{
	struct settling settling = {.task = {.fire = settled, .arg = &settling},
				    .lock = PTHREAD_MUTEX_INITIALIZER,
				    .turned = PTHREAD_COND_INITIALIZER};
	struct timespec until;
	int late = 0;

	if (cert_host_on_service_thread(host))
		return;
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec++;
	host->base->task_run(host->base->self, &settling.task);
	pthread_mutex_lock(&settling.lock);
	while (!settling.done && late == 0)
		late = pthread_cond_timedwait(&settling.turned, &settling.lock, &until);
	pthread_mutex_unlock(&settling.lock);
	host->base->task_stop(host->base->self, &settling.task);
	pthread_cond_destroy(&settling.turned);
	pthread_mutex_destroy(&settling.lock);
}

bool
cert_host_on_service_thread(const struct cert_host *host)
{
	return kal_host_on_service_thread(host->own);
}

unsigned
cert_entries_of(const char *folder)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(GDir) dir = g_dir_open(folder, 0, &error);
	unsigned count = 0;

	if (dir == NULL)
		return g_error_matches(error, G_FILE_ERROR, G_FILE_ERROR_MFILE) ||
				       g_error_matches(error, G_FILE_ERROR, G_FILE_ERROR_NFILE)
			       ? UINT_MAX
			       : 0;
	while (g_dir_read_name(dir) != NULL)
		count++;
	return count;
}

uint64_t
cert_host_owner(void)
{
	return KAL_MEM_OWNER_SELF;
}
