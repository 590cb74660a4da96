/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* MPA start-up of connections on TCP: dialled, accepted, or on a converted socket; kal_cm_dial.c, kal_cm_stream.c, kal_convert.c. */
#ifndef KAL_SETUP_H
#define KAL_SETUP_H

#include "kal_cm_internal.h"
#include "kal_fds.h"

/* What a conversion still has to do before the start-up goes on as any other. */
enum kal_convert_step {
	KAL_CONVERT_NONE = 0, /* nothing, or this is none */
	KAL_CONVERT_MESSAGE,  /* send the message, then wait for the MPA Request */
	KAL_CONVERT_REQUEST,  /* wait for it */
	KAL_CONVERT_LEAVE /* no MPA frames: send the message, then the provider has the stream */
};

/* MPA start-up under way; exists from connect or accept until the connection is established or has failed. */
struct kal_setup {
	struct kal_conn *conn; /* may be freed once the setup was taken out of it */
	struct kal_cm *cm;
	const struct ri_host *host; /* outlives everything */
	struct kal_fd fd;           /* empty once the provider has it */
	struct ri_watch watch;
	struct ri_timer timer;
	int error; /* errno of a connect that failed at once */
	bool initiator;
	bool tcp_up;
	struct kal_cm_req req;  /* initiator: what was asked for */
	uint64_t deadline;      /* of the attempt; ns of ri_host::now, or RI_NEVER */
	uint64_t insists_until; /* how long a refusal is not final; the same */
	bool paused;            /* refused: the timer begins again */
	struct kal_fd
		held; /* between two tries: has the local port that the consumer chose; or empty */
	int refused;  /* errno of the last try that was refused; 0: none was */
	struct kal_mpa_offered offered;
	struct kal_mpa_frame request;
	struct kal_mpa_negotiated negotiated;
	uint8_t out[KAL_MPA_FRAME_MAX];
	size_t out_len;
	size_t out_at;
	uint8_t in[KAL_MPA_FRAME_MAX];
	size_t in_len;
	/* Conversion of a socket (kal_convert.c). */
	bool converted;
	enum kal_convert_step step;
	uint8_t *message; /* last of streaming mode, from the heap; NULL: none */
	size_t message_len;
	size_t message_at;
};

/* kal_cm_dial.c */
enum ri_status kal_stream_connect(struct kal_conn *conn,
				  const struct kal_cm_req *req) RI_MUST_CHECK;
/* On the service thread, under verbs: the initiator's socket is ready; true: verbs was released. */
bool kal_dial_advance(struct kal_conn *conn, struct kal_setup *setup, uint32_t events);
/*
 * A try of an attempt failed with errno `error`, or its stream ended (0), before a Reply came.
 * True: that failure is not final, and kal_setup::timer starts the next try. On the service thread;
 * the caller owns kal_conn::verbs.
 */
bool kal_dial_later(struct kal_conn *conn, struct kal_setup *setup, int error);
/* On the service thread, under verbs: make it again; false: it has failed, and verbs was released. */
bool kal_dial_resume(struct kal_conn *conn, struct kal_setup *setup);

/* kal_cm_stream.c */
enum ri_status kal_stream_accept(struct kal_conn *conn, const struct kal_cm_req *req,
				 struct kal_request *request,
				 struct kal_accept_rep *rep) RI_MUST_CHECK;
/* Under verbs: take the setup out of the connection; the caller owns it. NULL: the connection has no setup. */
struct kal_setup *kal_setup_steal(struct kal_conn *conn);
/* Stop and free a setup, or NULL. Not under verbs. */
void kal_setup_free(struct kal_setup *setup);
/* A setup whose watch and timer can be started. NULL: no memory. */
struct kal_setup *kal_setup_new(struct kal_conn *conn, bool initiator);
void kal_setup_offer(struct kal_setup *setup, const struct kal_cm_req *req, bool suppress);
/* Send what is left from *at on. 1: all is sent, 0: the socket's buffer is full, or -errno. */
int kal_setup_send(struct kal_setup *setup, const uint8_t *octets, size_t len, size_t *at);
/* Under verbs: hand the stream to the provider. The caller reports a failure as one of the socket. */
enum ri_status kal_stream_hand_over(struct kal_conn *conn, struct kal_setup *setup, size_t early_at,
				    uint16_t abort_code) RI_MUST_CHECK;
/* kal_stream_hand_over on the service thread. True: it failed, the failure is reported, and verbs is released. */
bool kal_stream_attach(struct kal_conn *conn, struct kal_setup *setup, size_t early_at,
		       uint16_t abort_code);
/* On the service thread, under verbs: the attempt failed. Reports the failure, logs why, and releases verbs. */
void kal_stream_give_up(struct kal_conn *conn, enum kal_conn_event conn_event,
			enum kal_cm_reason reason, const char *why);
/* kal_setup_steal and kal_setup_free. Not under verbs. */
void kal_stream_drop(struct kal_conn *conn);

/* kal_convert.c */
/* Under verbs: take over a connected socket; its descriptor stays the caller's. */
enum ri_status kal_stream_convert(struct kal_conn *conn, const struct kal_convert_req *req,
				  const void *message, int fd,
				  struct kal_convert_rep *rep) RI_MUST_CHECK;
/* On the service thread, under verbs: the socket is ready; true: it failed, verbs is released. */
bool kal_convert_advance(struct kal_conn *conn, struct kal_setup *setup, uint32_t events);

#endif /* KAL_SETUP_H */
