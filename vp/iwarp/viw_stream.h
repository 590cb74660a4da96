/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Begin and end of a stream (viw_stream.c), and the part of a queue pair that belongs to it. */
#ifndef VIW_STREAM_H
#define VIW_STREAM_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct viw_qp;

struct viw_stream {
	atomic_bool up;       /* the upcall of STREAM_UP has returned */
	atomic_bool attached; /* there is a socket */
	atomic_bool starting; /* the service thread has not started it yet */
	atomic_bool expired;  /* the end took too long */
	int fd;
	bool crc;
	bool peer_local;
	bool markers; /* in what arrives */
	uint8_t rtr_send;
	uint8_t rtr_expect;
	_Atomic(uint64_t) deadline; /* of the end */
};

/* Start, end and flush of a queue pair; on the service thread: its task, and its timer. */
void viw_serve(void *qp);
void viw_timer(void *qp);
/* Have viw_serve run soon. */
void viw_serve_soon(struct viw_qp *qp);
/* Raise an event of a queue pair. */
void viw_event_raise(struct viw_qp *qp, uint32_t event, uint32_t detail);
/* Raise STREAM_UP, once. Owner of rx.role, or of both. */
void viw_stream_up(struct viw_qp *qp);
/* Reset the stream, if there is one, and forget it: no completion, no event. Owner of both roles. */
void viw_stream_drop(struct viw_qp *qp);

#endif /* VIW_STREAM_H */
