/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * A second access layer, in small: it shows what a session must offer to a layer other than the
 * uAL. It is similar to verbs: objects have numbers, events lie in channels, and a thread that
 * wants an event blocks in small_get. The test program owns the structs. Each function asserts that
 * the kAL executes its call.
 */
#ifndef SMALL_LAYER_H
#define SMALL_LAYER_H

#include "session.h"
#include "session_sleep.h"
#include "session_spin.h"

#define SMALL_OBJECTS 16
#define SMALL_EVENTS  64
#define SMALL_MEMORY  256
#define SMALL_MESSAGE 32

struct small;

/* Events that wait to be taken, and threads that wait for them. */
struct small_channel {
	struct small *small;
	bool driven;          /* its events may come out of the engine */
	pthread_mutex_t lock; /* an event lock of what follows */
	struct kal_event events[SMALL_EVENTS];
	unsigned first, count;
	struct session_line line;
	struct session_spin spin;
};

/*
 * An open adapter with one protection domain, one region and two channels: of completion queues,
 * and of all else.
 */
struct small {
	struct session session;
	pthread_mutex_t lock; /* an event lock of the table */
	/* Where the events of object i go; object 0 is the adapter itself. */
	struct small_channel *objects[SMALL_OBJECTS];
	atomic_uint dispatched;
	atomic_uint dispatching; /* threads in dispatch: 0 or 1 */
	struct small_channel completions;
	struct small_channel others;
	uint32_t pd, mr, stag;
	uint8_t memory[SMALL_MEMORY];
};

struct small_cq {
	struct small *small;
	struct ri_ucq *queue;
	uint32_t id;
	uint64_t ctx;
};

struct small_qp {
	struct small *small;
	struct ri_uqp *queue;
	uint32_t id;
	uint64_t ctx;
};

/* Where to connect to. */
struct small_place {
	struct ri_addr addr;
	struct ri_service service;
	uint32_t listener;
	uint64_t ctx;
};

/* False: there is no such adapter. */
bool small_open(struct small *small, const char *name);
void small_close(struct small *small);

/*
 * Take the oldest event of the channel, after timeout_us microseconds at most. RI_ERR_TIMEOUT,
 * RI_ERR_RESOURCES; RI_ERR_FATAL: the adapter failed or is being closed.
 */
enum ri_status small_get(struct small_channel *channel, uint64_t timeout_us,
			 struct kal_event *event);

void small_cq_open(struct small *small, struct small_cq *cq);
/* The next completion makes an event in `completions`. False: there is a completion already. */
bool small_cq_arm(struct small_cq *cq);
void small_cq_close(struct small_cq *cq);

void small_qp_open(struct small_cq *cq, struct small_qp *qp);
void small_qp_close(struct small_qp *qp);
void small_recv(struct small_qp *qp, uint64_t wr_id);
void small_send(struct small_qp *qp, uint64_t wr_id);

void small_listen(struct small *small, struct small_place *place);
void small_listen_end(struct small *small, struct small_place *place);
/* `active` and `passive`, of two adapters of one fabric, are connected when this returns. */
void small_connect(struct small_qp *active, struct small_qp *passive);

#endif /* SMALL_LAYER_H */
