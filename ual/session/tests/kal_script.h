/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * A kAL and a provider that a test plays: their answers, their events, and which completions arrive
 * when. It replaces the functions of kal_call.h when an access layer is tested alone; the host
 * table is the real one.
 */
#ifndef KAL_SCRIPT_H
#define KAL_SCRIPT_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "kal_call.h"

#define SCRIPT_ENTRIES 256

/* A completion queue. */
struct ri_ucq {
	pthread_mutex_t lock;
	struct ri_wc wc[SCRIPT_ENTRIES];
	uint32_t head;
	uint32_t count;
	enum ri_arm how;
	uint32_t arm_count;
	uint64_t ctx;
	bool open;
};

/* What the script answers and records. The test writes it while no call runs. */
struct kal_script {
	enum ri_status fail[KAL_CALL_COUNT]; /* the status of each call; 0 = success */
	enum ri_status fail_client;
	enum ri_status fail_user; /* kal_user_half, rnic_open, cq_open: fail the n-th of them */
	int fail_user_at;
	struct ri_rnic_attr attr;
	int clients, rnics, pds, cqs; /* existing objects; all 0 at the end */
	int user_rnics, user_cqs;
	int engine_fd;    /* the eventfd on which a leader sleeps */
	atomic_int leads; /* how often a thread became leader */
	atomic_bool leading;
	atomic_int progresses;
	bool spin_pays; /* what spin_futile denies */
	/* Called inside progress, where an engine would find a message. */
	void (*on_progress)(void);
	/* Called when an event was taken and is about to be dispatched. */
	void (*on_event)(void);
	/*
	 * Called when a dispatching thread has found no more events, before it records that it has
	 * stopped.
	 */
	void (*on_empty)(void);
	/* Called inside KAL_LISTEN, which then fails, unless `listens` is true. */
	void (*on_listen)(uint64_t ctx);
	bool listens;
	/* Called inside KAL_REJECT, on any thread, which then succeeds. */
	void (*on_reject)(uint32_t request);
};

extern struct kal_script script;

/* Begin a test: every call succeeds, nothing is recorded. */
void script_reset(void);
/* Assert that everything was freed. */
void script_check_empty(void);
/* The completion queue that was created last. */
struct ri_ucq *script_cq(void);
/* A completion arrives; if an upcall is armed and due, it is made on this thread. */
void script_complete(struct ri_ucq *cq, uint64_t wr_id, uint8_t flags);
/* Events for the client that was opened last; the first does not tell it. */
void script_queue(const struct kal_event *event);
void script_event(const struct kal_event *event);
void script_async(enum ri_event event, enum ri_object object, uint64_t ctx);

#endif /* KAL_SCRIPT_H */
