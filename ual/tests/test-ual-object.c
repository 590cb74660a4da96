/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Misuse of handles: every value that is no handle of the type is refused, and none is dereferenced. */

#include <glib.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "session_section.h"
#include "ual_ia.h"

#define GENERATIONS 1023u

static void
host_relax(void *self, uint32_t round)
{
	(void)self;
	(void)round;
	sched_yield();
}

static const struct ri_host host = {.size = sizeof(host), .relax = host_relax};

static struct ual_ia *
ia_new(void)
{
	struct ual_ia *ia = (struct ual_ia *)ual_object_new(UAL_IA, NULL, NULL);

	g_assert_nonnull(ia);
	ia->session.host = &host;
	pthread_mutex_init(&ia->objects.lock, NULL);
	return ia;
}

static void
ia_delete(struct ual_ia *ia)
{
	g_assert_null(ia->objects.first);
	pthread_mutex_destroy(&ia->objects.lock);
	ual_object_delete(&ia->object);
}

static struct ual_object *
pz_new(struct ual_ia *ia)
{
	struct ual_object *pz = (struct ual_object *)ual_object_new(UAL_PZ, ia, &ia->objects);

	g_assert_nonnull(pz);
	return pz;
}

/* A fork whose child ends after a minute, or the seconds in ITAPI_TEST_PATIENCE, if it hangs. */
static pid_t
child_start(void)
{
	const char *text = g_getenv("ITAPI_TEST_PATIENCE");
	unsigned seconds = text != NULL ? (unsigned)g_ascii_strtoull(text, NULL, 10) : 60;
	pid_t pid = fork();

	g_assert_cmpint(pid, >=, 0);
	if (pid == 0)
		(void)alarm(seconds);
	return pid;
}

static void
refuse(const void *handle)
{
	enum ual_type type = UAL_FREE;

	for (unsigned t = 0; t < UAL_TYPE_COUNT; t++) {
		g_assert_null(ual_object_get(handle, (enum ual_type)t));
		g_assert_null(ual_object_use(handle, (enum ual_type)t, NULL));
	}
	g_assert_null(ual_object_any(handle, &type));
	g_assert_cmpint(type, ==, UAL_FREE);
}

static void
test_life(void)
{
	struct ual_ia *ia = ia_new();
	struct ual_object *pz = pz_new(ia);
	void *handle = ual_object_handle(pz);
	enum ual_type type = UAL_FREE;

	g_assert_true(pz->ia == ia && ia->objects.first == pz);
	refuse(handle); /* not published */
	g_assert_true(ual_object_publish(pz) == handle);
	g_assert_true(ual_object_get(handle, UAL_PZ) == pz);
	g_assert_true(ual_object_any(handle, &type) == pz && type == UAL_PZ);
	g_assert_true(ual_object_from_ctx(ual_object_ctx(pz), UAL_PZ) == pz);
	for (unsigned t = 0; t < UAL_TYPE_COUNT; t++)
		g_assert_true((ual_object_get(handle, (enum ual_type)t) != NULL) == (t == UAL_PZ));
	g_assert_true(ual_object_retract(pz));
	g_assert_false(ual_object_retract(pz));
	refuse(handle);
	g_assert_true(ual_object_handle(pz) == handle); /* still readable in events */
	ual_object_delete(pz);
	refuse(handle);
	ia_delete(ia);
}

static void
test_garbage(void)
{
	struct ual_ia *ia = ia_new();
	struct ual_object *pz = pz_new(ia);
	uintptr_t handle = (uintptr_t)ual_object_publish(pz);
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	unsigned char *gone = (unsigned char *)mmap(NULL, 4 * page, PROT_READ,
						    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int local = 0;

	munmap(gone, 4 * page);
	refuse(NULL);
	refuse((void *)1);
	refuse((void *)UINTPTR_MAX);
	refuse(gone);
	refuse(gone + page + 1);
	refuse(&local);
	refuse("text");
	refuse((void *)(handle &
			~(uintptr_t)(UAL_SLOT_SIZE - 1))); /* the address without its generation */
	for (uintptr_t bits = 0; bits < UAL_SLOT_SIZE; bits++) {
		uintptr_t other = (handle & ~(uintptr_t)(UAL_SLOT_SIZE - 1)) | bits;

		if (other != handle)
			refuse((void *)other);
	}
	for (unsigned bit = 10; bit < 64; bit++)
		if (ual_object_get((void *)(handle ^ (uintptr_t)1 << bit), UAL_PZ) != NULL)
			g_error("bit %u of a handle does not matter", bit);
	for (unsigned i = 0; i < 100000; i++)
		refuse((void *)((uintptr_t)g_random_int() << 32 | g_random_int() | 1));
	g_assert_true(ual_object_get((void *)handle, UAL_PZ) == pz);
	ual_object_retract(pz);
	ual_object_delete(pz);
	ia_delete(ia);
}

/* More objects than one chunk holds; every handle names its own object, and none beyond the last is valid. */
static void
test_many(void)
{
	enum {
		COUNT = 3000
	};
	struct ual_ia *ia = ia_new();
	void **handles = g_new0(void *, COUNT);

	for (unsigned i = 0; i < COUNT; i++)
		handles[i] = ual_object_publish(pz_new(ia));
	for (unsigned i = 0; i < COUNT; i++) {
		struct ual_object *pz = (struct ual_object *)ual_object_get(handles[i], UAL_PZ);

		g_assert_nonnull(pz);
		g_assert_true(ual_object_handle(pz) == handles[i]);
	}
	for (unsigned i = 0; i < COUNT; i++) {
		struct ual_object *pz =
			(struct ual_object *)ual_object_get(handles[(i * 7) % COUNT], UAL_PZ);

		ual_object_retract(pz);
		ual_object_delete(pz);
	}
	for (unsigned i = 0; i < COUNT; i++)
		refuse(handles[i]);
	g_free(handles);
	ia_delete(ia);
}

/* A slot is used again only after many others, and its generation repeats after 1023 uses. */
static void
test_reuse(void)
{
	struct ual_ia *ia = ia_new();
	struct ual_object *pz = pz_new(ia);
	struct ual_object *first = pz;
	void *stale = ual_object_publish(pz);
	unsigned uses = 0, between = 0, shortest = UINT32_MAX;

	for (;;) {
		ual_object_retract(pz);
		ual_object_delete(pz);
		pz = pz_new(ia);
		ual_object_publish(pz);
		between++;
		if (pz != first)
			continue;
		shortest = MIN(shortest, between);
		between = 0;
		if (++uses == GENERATIONS)
			break;
		g_assert_true(ual_object_handle(pz) != stale);
		g_assert_null(ual_object_get(stale, UAL_PZ));
	}
	g_assert_cmpuint(shortest, >, 500);
	g_assert_true(ual_object_handle(pz) == stale);
	ual_object_retract(pz);
	ual_object_delete(pz);
	ia_delete(ia);
}

static void
test_refs(void)
{
	struct ual_ia *ia = ia_new(), *other = ia_new();
	struct ual_object *pz = pz_new(ia);
	void *handle = ual_object_publish(pz);

	g_assert_null(ual_object_use(handle, UAL_PZ, other));
	g_assert_null(ual_object_use(handle, UAL_EVD, ia));
	g_assert_cmpuint(atomic_load(&pz->refs), ==, 0);
	g_assert_true(ual_object_use(handle, UAL_PZ, ia) == pz);
	g_assert_true(ual_object_ref(pz));
	g_assert_false(ual_object_freeze(pz));
	ual_object_unref(pz);
	g_assert_false(ual_object_freeze(pz));
	ual_object_unref(pz);
	g_assert_true(ual_object_freeze(pz));
	g_assert_false(ual_object_freeze(pz));
	g_assert_false(ual_object_ref(pz));
	g_assert_null(ual_object_use(handle, UAL_PZ, ia));
	ual_object_thaw(pz);
	g_assert_true(ual_object_ref(pz));
	ual_object_unref(pz);
	g_assert_true(ual_object_freeze(pz));
	ual_object_retract(pz);
	ual_object_delete(pz);
	ia_delete(ia);
	ia_delete(other);
}

/*
 * A freed slot is not used again while others are freed. A child process begins with an arena of its own, without
 * freed slots.
 */
static void
test_rest(void)
{
	int status = 0;
	pid_t pid = child_start();

	if (pid == 0) {
		struct ual_object *first = (struct ual_object *)ual_object_new(UAL_IA, NULL, NULL);
		struct ual_object *next = first;
		unsigned uses = 0;

		do {
			ual_object_delete(next);
			next = (struct ual_object *)ual_object_new(UAL_IA, NULL, NULL);
			uses++;
		} while (next != first);
		_exit(uses > 500 ? 0 : 1);
	}
	g_assert_cmpint(waitpid(pid, &status, 0), ==, pid);
	g_assert_cmpint(status, ==, 0);
}

static bool mmap_fails;

void *__wrap_mmap(void *addr, size_t length, int prot, int flags, int fd, off_t offset);
void *__real_mmap(void *addr, size_t length, int prot, int flags, int fd, off_t offset);

void *
__wrap_mmap(void *addr, size_t length, int prot, int flags, int fd, off_t offset)
{
	return mmap_fails ? MAP_FAILED : __real_mmap(addr, length, prot, flags, fd, offset);
}

static bool
create_delete(void)
{
	struct ual_object *object = (struct ual_object *)ual_object_new(UAL_IA, NULL, NULL);

	if (object != NULL)
		ual_object_delete(object);
	return object != NULL;
}

/* Without memory for more, freed slots are used at once, down to the last one, and again after they were freed. */
static bool
reuses_when_short(void)
{
	struct ual_object *first = (struct ual_object *)ual_object_new(UAL_IA, NULL, NULL);
	struct ual_object *second;

	mmap_fails = true;
	while (ual_object_new(UAL_IA, NULL, NULL) != NULL)
		continue;
	ual_object_delete(first);
	second = (struct ual_object *)ual_object_new(UAL_IA, NULL, NULL);
	if (second != first || ual_object_new(UAL_IA, NULL, NULL) != NULL)
		return false;
	ual_object_delete(second);
	return create_delete() && create_delete();
}

static void
test_short(void)
{
	int status = 0;
	pid_t pid = child_start();

	if (pid == 0)
		_exit(reuses_when_short() ? 0 : 1);
	g_assert_cmpint(waitpid(pid, &status, 0), ==, pid);
	g_assert_cmpint(status, ==, 0);
}

struct retreat {
	struct ual_object *object;
	atomic_bool done;
};

static void *
retreat_run(void *arg)
{
	struct retreat *retreat = (struct retreat *)arg;

	ual_object_retract(retreat->object);
	atomic_store(&retreat->done, true);
	return NULL;
}

/* A retract waits for visitors, and for fast calls that are under way. */
static void
test_retract_waits(void)
{
	struct ual_ia *ia = ia_new();

	for (unsigned fast = 0; fast < 2; fast++) {
		struct retreat retreat = {.object = pz_new(ia)};
		void *handle = ual_object_publish(retreat.object);
		struct session_section_guard outer = {NULL, 0};
		pthread_t thread;

		if (fast) {
			outer = session_section_begin();
			/* A call that a signal handler makes inside a call does not end the outer one. */
			const struct session_section_guard inner = session_section_begin();
			session_section_end(&inner);
		}
		/* The thread that retracts, and another. */
		for (unsigned i = fast; i < 2; i++)
			ual_object_visit(retreat.object);
		g_assert_cmpint(pthread_create(&thread, NULL, retreat_run, &retreat), ==, 0);
		while (ual_object_get(handle, UAL_PZ) != NULL)
			g_usleep(100);
		g_usleep(50000); /* long enough for a thread that does not wait */
		g_assert_false(atomic_load(&retreat.done));
		ual_object_leave(retreat.object);
		if (fast)
			session_section_end(&outer);
		pthread_join(thread, NULL);
		g_assert_true(atomic_load(&retreat.done));
		ual_object_delete(retreat.object);
	}
	ia_delete(ia);
}

/* The list of the IA stays correct when objects at its ends and in its middle are removed. */
static void
test_list(void)
{
	struct ual_ia *ia = ia_new();
	struct ual_object *a = pz_new(ia), *b = pz_new(ia), *c = pz_new(ia), *d = pz_new(ia);

	g_assert_true(ia->objects.first == d && d->next == c && c->next == b && b->next == a);
	ual_object_delete(c);
	g_assert_true(d->next == b && b->prev == d);
	ual_object_delete(d);
	g_assert_true(ia->objects.first == b && b->prev == NULL);
	ual_object_delete(a);
	g_assert_true(b->next == NULL);
	ual_object_delete(b);
	ia_delete(ia);
}

struct churn {
	struct ual_ia *ia;
	_Atomic uintptr_t *shared; /* handles that other threads use meanwhile */
	unsigned slot;
};

static void *
churn_run(void *arg)
{
	struct churn *churn = (struct churn *)arg;

	for (unsigned i = 0; i < 4000; i++) {
		struct ual_object *pz = pz_new(churn->ia), *seen;
		void *handle = ual_object_publish(pz);

		atomic_store(&churn->shared[churn->slot], (uintptr_t)handle);
		for (unsigned k = 0; k < 4; k++) {
			void *foreign = (void *)atomic_load(&churn->shared[k]);

			seen = (struct ual_object *)ual_object_use(foreign, UAL_PZ, churn->ia);
			if (seen != NULL)
				ual_object_unref(seen);
		}
		while (!ual_object_freeze(pz))
			;
		g_assert_true(ual_object_retract(pz));
		ual_object_delete(pz);
	}
	return NULL;
}

static void
test_threads(void)
{
	struct ual_ia *ia = ia_new();
	_Atomic uintptr_t shared[4] = {0};
	struct churn churn[4];
	pthread_t thread[4];

	for (unsigned i = 0; i < 4; i++) {
		churn[i] = (struct churn){ia, shared, i};
		g_assert_cmpint(pthread_create(&thread[i], NULL, churn_run, &churn[i]), ==, 0);
	}
	for (unsigned i = 0; i < 4; i++)
		pthread_join(thread[i], NULL);
	ia_delete(ia);
}

/* Inherited handles are invalid in a child, and new objects of its own work. */
static void
test_fork(void)
{
	struct ual_ia *ia = ia_new();
	struct ual_object *pz = pz_new(ia);
	void *handle = ual_object_publish(pz);
	int status = 0;
	pid_t pid = child_start();

	if (pid == 0) {
		bool dead = ual_object_get(handle, UAL_PZ) == NULL;
		struct ual_object *own = (struct ual_object *)ual_object_new(UAL_IA, NULL, NULL);
		bool works = own != NULL && own != pz &&
			     ual_object_get(ual_object_publish(own), UAL_IA) == own;

		_exit(dead && works ? 0 : 1);
	}
	g_assert_cmpint(waitpid(pid, &status, 0), ==, pid);
	g_assert_cmpint(status, ==, 0);
	g_assert_true(ual_object_get(handle, UAL_PZ) == pz);
	ual_object_delete(pz);
	ia_delete(ia);
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/ual/object/life", test_life);
	g_test_add_func("/ual/object/garbage", test_garbage);
	/* Before there are many slots: it uses each of them 1023 times. */
	g_test_add_func("/ual/object/reuse", test_reuse);
	g_test_add_func("/ual/object/many", test_many);
	g_test_add_func("/ual/object/refs", test_refs);
	g_test_add_func("/ual/object/rest", test_rest);
	g_test_add_func("/ual/object/short", test_short);
	g_test_add_func("/ual/object/retract-waits", test_retract_waits);
	g_test_add_func("/ual/object/list", test_list);
	g_test_add_func("/ual/object/threads", test_threads);
	g_test_add_func("/ual/object/fork", test_fork);
	return g_test_run();
}
