/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * What the C library does at the end of a thread and of a process: it runs destructors of
 * thread-specific data and handlers of atexit(), and writes out buffered files. The threads of a
 * run do not end, and its process leaves by _exit(); so this file keeps these lists itself, for
 * each life of a node. When a node is killed, none of it is done.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "sim/sim.h"
#include "sim/sim_libc.h"
#include "sim/sim_real.h"

#define ROUNDS 4 /* of destructors that make new values, PTHREAD_DESTRUCTOR_ITERATIONS */

/* Whose something is. */
struct owner {
	const struct sim_node *node;
	unsigned life;
};

static struct owner
owner_me(void)
{
	return (struct owner){sim_me->node, sim_me->node->lives};
}

static bool
is_mine(const struct owner *owner)
{
	return owner->node == sim_me->node && owner->life == sim_me->node->lives;
}

/* --- handlers of a process ---------------------------------------------------------------------- */

struct handler {
	struct owner owner;
	void (*call)(void *arg);
	void *arg, *object;
};

static GSList *handlers; /* the last first */

/* atexit() of a program and destructors of its static objects come here. */
int __cxa_atexit(void (*call)(void *), void *arg, void *object);
void __cxa_finalize(void *object);

int
__cxa_atexit(void (*call)(void *), void *arg, void *object)
{
	struct handler *own;

	if (!sim_applies())
		return SIM_REAL(__cxa_atexit)(call, arg, object);
	own = g_new0(struct handler, 1);
	*own = (struct handler){owner_me(), call, arg, object};
	handlers = g_slist_prepend(handlers, own);
	return 0;
}

/* Of an object that is unloaded, or of the node that runs if it is NULL. */
static void
handlers_run(const void *object)
{
	for (GSList *one = handlers; one != NULL;) {
		struct handler own = *(struct handler *)one->data;

		if (object != NULL ? own.object != object : !is_mine(&own.owner)) {
			one = one->next;
			continue;
		}
		g_free(one->data);
		handlers = g_slist_delete_link(handlers, one);
		own.call(own.arg);
		one = handlers; /* it may have added others, and others may have run */
	}
}

/* A shared object is unloaded, or its destructors run. */
void
__cxa_finalize(void *object)
{
	if (sim_me != NULL && object != NULL)
		handlers_run(object);
	SIM_REAL(__cxa_finalize)(object);
}

/* --- files -------------------------------------------------------------------------------------- */

struct stream {
	struct owner owner;
	FILE *file;
};

static GSList *streams;

FILE *
sim_stream_opened(FILE *file)
{
	struct stream *own;

	if (file == NULL || !sim_applies())
		return file;
	own = g_new0(struct stream, 1);
	*own = (struct stream){owner_me(), file};
	streams = g_slist_prepend(streams, own);
	return file;
}

FILE *
fdopen(int fd, const char *mode)
{
	return sim_stream_opened(SIM_REAL(fdopen)(fd, mode));
}

int
fclose(FILE *file)
{
	if (sim_me == NULL)
		return SIM_REAL(fclose)(file);
	/* The streams of a node are there until the end of the run. */
	if (sim_me->node != NULL && (file == sim_me->node->output || file == sim_me->node->errors))
		return fflush(file);
	for (GSList *one = streams; one != NULL; one = one->next) {
		if (((struct stream *)one->data)->file != file)
			continue;
		g_free(one->data);
		streams = g_slist_delete_link(streams, one);
		break;
	}
	return SIM_REAL(fclose)(file);
}

static void
streams_flush(void)
{
	for (GSList *one = streams; one != NULL; one = one->next) {
		const struct stream *own = one->data;

		if (is_mine(&own->owner))
			(void)fflush(own->file);
	}
}

/* --- what is a thread's own --------------------------------------------------------------------- */

struct sim_local {
	struct sim_local *next;
	void (*call)(void *object);
	void *object;
};

/* thread_local objects with a destructor come here. */
int __cxa_thread_atexit_impl(void (*call)(void *), void *object, void *library);

int
__cxa_thread_atexit_impl(void (*call)(void *), void *object, void *library)
{
	struct sim_local *own;

	if (!sim_applies())
		return SIM_REAL(__cxa_thread_atexit_impl)(call, object, library);
	own = g_new0(struct sim_local, 1);
	*own = (struct sim_local){sim_me->locals, call, object};
	sim_me->locals = own;
	return 0;
}

static void
locals_run(void)
{
	while (sim_me->locals != NULL) {
		struct sim_local own = *sim_me->locals;

		g_free(sim_me->locals);
		sim_me->locals = own.next;
		own.call(own.object);
	}
}

struct key {
	struct owner owner;
	pthread_key_t key;
	void (*call)(void *value); /* NULL: the key is gone */
};

static GPtrArray *keys; /* of struct key; none is removed */

int
pthread_key_create(pthread_key_t *key, void (*call)(void *))
{
	const int error = SIM_REAL(pthread_key_create)(key, call);
	struct key *own;

	if (error != 0 || call == NULL || !sim_applies())
		return error;
	if (keys == NULL)
		keys = g_ptr_array_new();
	own = g_new0(struct key, 1);
	*own = (struct key){owner_me(), *key, call};
	g_ptr_array_add(keys, own);
	return 0;
}

int
pthread_key_delete(pthread_key_t key)
{
	for (guint i = 0; sim_applies() && keys != NULL && i < keys->len; i++) {
		struct key *own = g_ptr_array_index(keys, i);

		if (own->key == key && is_mine(&own->owner))
			own->call = NULL;
	}
	return SIM_REAL(pthread_key_delete)(key);
}

/* True: a value was there. */
static bool
values_run(void)
{
	bool any = false;

	for (guint i = 0; keys != NULL && i < keys->len; i++) {
		const struct key *own = g_ptr_array_index(keys, i);
		void *value = own->call != NULL && is_mine(&own->owner)
				      ? pthread_getspecific(own->key)
				      : NULL;

		if (value == NULL)
			continue;
		any = true;
		(void)pthread_setspecific(own->key, NULL);
		own->call(value);
	}
	return any;
}

/* --- ends --------------------------------------------------------------------------------------- */

void
sim_locals_over(void)
{
	locals_run();
	for (unsigned round = 0; round < ROUNDS && values_run(); round++)
		continue;
}

void
sim_process_over(void)
{
	locals_run();
	handlers_run(NULL);
	sim_program_end(&sim_me->node->program);
	streams_flush();
}
