/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * A stream's begin (viw_stream.c), wake-up of the peer (viw_wake.c) and end (viw_end.c, viw_end_log.c), and the
 * part of a queue pair that belongs to it.
 */
#ifndef VIW_STREAM_H
#define VIW_STREAM_H

#include <netinet/in.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "rnicpi_host.h"

struct viw_end;
struct viw_qp;

/* Address of a TCP peer. */
union viw_peer {
	struct sockaddr sa; /* its family says which of the others is valid */
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
};

/* Whether the end of a stream waits until the peer has had time to read what came before it. */
enum viw_end_wait {
	VIW_END_FREE,
	VIW_END_HELD, /* until wake_timer fires */
	VIW_END_DUE   /* it has fired */
};

struct viw_stream {
	atomic_bool up;       /* the upcall of STREAM_UP has returned */
	atomic_bool attached; /* there is a socket */
	atomic_bool starting; /* the service thread has not started it yet */
	atomic_bool expired;  /* the end took too long */
	int fd;
	bool crc;
	bool peer_local;
	bool markers; /* in what arrives */
	bool apart;   /* that, or it is captured: input_apart() receives */
	bool initiator;
	bool peer_to_peer; /* a ready-to-receive message was agreed on */
	uint8_t rtr_send;
	uint8_t rtr_expect;
	_Atomic(uint64_t) deadline; /* of the end */
	uint16_t wake_ms;           /* ri_stream::wake_ms; 0: the peer is not woken */
	uint8_t wakes;              /* times that wake_timer has fired */
	enum viw_end_wait end;      /* tx.role */
	struct ri_timer wake_timer;
	union viw_peer peer;
};

/* Start, end and flush of a queue pair; on the service thread: its task, and its timer. */
void viw_serve(void *qp);
void viw_timer(void *qp);
/* Have viw_serve run soon. */
void viw_serve_soon(struct viw_qp *qp);
/* Take both roles and begin a round of each, or take none. If one is taken, its retry flag is set. */
bool viw_roles_take(struct viw_qp *qp);
void viw_roles_leave(struct viw_qp *qp);
/* Raise an event of a queue pair. */
void viw_event_raise(struct viw_qp *qp, uint32_t event, uint32_t detail);
/* Raise STREAM_UP, once. Owner of rx.role, or of both. */
void viw_stream_up(struct viw_qp *qp);

/* viw_wake.c: owner of both roles */
/* Send a Write of no octets, if a message may begin now. */
void viw_wake_write(struct viw_qp *qp);
/* The stream is up: look after ri_stream::wake_ms whether the peer must be woken. */
void viw_wake_start(struct viw_qp *qp);
void viw_wake_fire(void *qp); /* of wake_timer */
/* Owner of tx.role, before a Terminate or a FIN: must it wait? If so, wake_timer has the sending role run again. */
bool viw_wake_holds_end(struct viw_qp *qp);

/* viw_end.c: owner of both roles */
/* May the stream be closed now? */
bool viw_stream_end_is_due(struct viw_qp *qp);
/* Close the stream, flush the queues, raise the end event. */
void viw_stream_conclude(struct viw_qp *qp);
/* End the stream at once, if there is one, and forget it: no completion, no event. */
void viw_stream_drop(struct viw_qp *qp);

/* viw_end_log.c: say in the log that a sandbox has refused a system call of this queue pair, if it did. */
void viw_log_refused(const struct viw_qp *qp, const char *call, int error);
/* Say in the capture why the stream ends. Owner of both roles. */
void viw_end_tap(struct viw_qp *qp, const struct viw_end *end);
/* Say in the log why the stream has ended. `late`: the peer did not end it in time. */
void viw_end_log(const struct viw_qp *qp, const struct viw_end *end, bool late);

#endif /* VIW_STREAM_H */
