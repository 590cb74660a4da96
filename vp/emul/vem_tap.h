/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Frames for a capture [RI 11.3.7]: the codecs of vp/roce and vp/iwarp make the frames that the
 * fabric's messages would be on a wire. For InfiniBand these are RoCEv2 packets, for iWARP a TCP
 * connection with the MPA start-up. Both ends are in this process, so the sender reports the frames
 * that it sends and, for its peer, the frames that the peer receives.
 *
 * An adapter that is captured does not use the direct path, as an adapter whose messages take time
 * does not (vem_fault_apart). So the fast path has no instruction for captures. Each queue pair of a
 * captured adapter has a tap, which only the thread with the role tx uses. The two ends of the tap
 * are known before `open` is set.
 *
 * Between processes (shm/) each end reports what it sends and what it receives. The requester
 * reports a request together with its response, when that has arrived; it reads the payload from
 * the application's memory, which the application must not change until then. The responder reports
 * a request when it has executed it. If both ends are in one process, the requesters report for
 * both, as above.
 *
 * A message that is executed at once is captured when its response is known, followed by the
 * response. A Write on a wire (vem_wire.h) is captured when it departs, with the octets of its
 * memory at that time.
 */
#ifndef VEM_TAP_H
#define VEM_TAP_H

#include "ri_capture.h"
#include "vem.h"

/* A message. */
struct vem_tapped {
	uint8_t opcode;
	uint32_t flags;
	uint32_t length;
	uint32_t extra; /* key to invalidate, or immediate data */
	struct ri_wr_remote remote;
	struct ri_sge sink;                /* of a Read or atomic */
	uint8_t *octets;                   /* that are sent or read */
	uint64_t original;                 /* of an atomic */
	const struct vsw_refusal *refusal; /* by the peer, or NULL */
};

struct vem_tap {
	const struct ri_host *host;
	bool iwarp, unreliable;
	atomic_bool open;        /* the ends are known */
	atomic_bool over;        /* its end is in the capture */
	bool single;             /* only one end is in this process */
	bool far_side;           /* and it is not the requester */
	uint8_t rnr;             /* code of the time for which a requester waits for a receive */
	struct ri_captured ends; /* and this adapter */
	const void *far;         /* the adapter of the peer; it may be closed */
	uint32_t qpn, far_qpn;
	uint32_t psn;                            /* InfiniBand: the next packet */
	uint32_t msn;                            /* messages that the peer has executed */
	uint32_t send_msn, read_msn, atomic_msn; /* iWARP: the last ones */
	uint32_t datagram; /* the request whose datagram is there already, and 1 */
	bool failed;       /* the request that is executed fails at this side */
	bool held;         /* `now` is a message */
	struct vem_tapped now;
	const char *text; /* for the next frame */
	char why[160];    /* why a request has failed */

	/* Between processes. */
	struct vem_tap
		*mirror; /* what the peer asks for; owner of vem_shm::rx. NULL: one process */
	uint32_t got;    /* octets of `now` that have come */
	struct vem_hello asked; /* the passive side: the request that it accepts */
	atomic_uint terminate;  /* the code of a Terminate that has come, and 1 << 16; 0: none */
};

/* An adapter is opened. */
void vem_tap_open(struct ri_rnic *rnic);
/* A queue pair is created or destroyed. False: no memory. */
bool vem_tap_create(struct vem_qp *qp);
void vem_tap_free(struct vem_qp *qp);
/* Two queue pairs become a pair; with the fabric's lock. */
void vem_tap_pair(struct vem_qp *active, struct vem_qp *passive);
/* The passive one is established: the start-up. On the service thread. */
void vem_tap_start(struct vem_qp *passive, const struct vem_qp *active);
/* The connection ends; on the service thread, when all is flushed. */
void vem_tap_end(struct vem_qp *qp, const struct vem_cause *cause);

/* The request that is taken begins; owner of the role tx, as all below. */
void vem_tap_begin(struct vem_qp *qp, struct vem_qp *peer);
/* It was executed. `done`: it is completed; else it waits, and is no message yet unless it was refused. */
void vem_tap_done(struct vem_qp *qp, bool done);
/* A Write departs; and its answer comes. */
void vem_tap_depart(struct vem_qp *qp);
void vem_tap_answer(struct vem_qp *qp);
/* It is refused by the peer, or fails here. */
void vem_tap_refused(struct vem_qp *qp, const struct vsw_refusal *refusal);
void vem_tap_failed(struct vem_qp *qp, enum ri_wc_status status);
/* A datagram is delivered, or leaves for another process: NULL. */
void vem_tap_datagram(struct vem_qp *qp, const struct vem_qp *to);

/* --- between processes ---------------------------------------------------------------------- */

struct vem_remote;
struct vem_wire;
struct vem_datagram;

/* The passive side accepts that request. With the fabric's lock. */
void vem_tap_accept(struct vem_qp *qp, const struct ri_cm_event *request);
/* The connection begins at this end; on the service thread, before its messages. */
void vem_tap_join(struct vem_qp *qp, const struct vem_remote *remote);
/* The request that is taken is answered. Owner of the role tx. */
void vem_tap_answered(struct vem_qp *qp);
/* It is refused with that status, on InfiniBand. */
void vem_tap_turned_down(struct vem_qp *qp, enum ri_wc_status status);
/* A piece of a request comes. Owner of vem_shm::rx, as below. */
void vem_tap_piece(struct vem_qp *qp, const struct vem_wire *wire, const uint8_t *octets,
		   uint32_t length);
/* The request is executed, or refused. `original`: of an atomic. */
void vem_tap_executed(struct vem_qp *qp, const struct vsw_refusal *refusal, uint64_t original);
/* A datagram comes for the queue pair. */
void vem_tap_arrived(struct vem_qp *qp, const struct vem_datagram *datagram);
/* A Terminate comes. Any thread. */
void vem_tap_terminated(struct vem_qp *qp, uint32_t code);

/* Give it to the capture, of both ends. `back`: what the peer sends. */
void vem_tap_give(struct vem_tap *tap, bool back, enum ri_captured_kind kind, const void *octets,
		  size_t len);

/* vem_tap_ib.c and vem_tap_iwarp.c: frames of a message, and of its answer. */
void vem_tap_ib_request(struct vem_tap *tap, const struct vem_tapped *m);
void vem_tap_ib_answer(struct vem_tap *tap, const struct vem_tapped *m);
void vem_tap_ib_end(struct vem_tap *tap);
void vem_tap_ib_datagram(struct vem_tap *tap, const struct vem_tapped *m, const uint8_t *grh,
			 uint32_t qkey);
void vem_tap_iwarp_start(struct vem_tap *tap, const struct vem_hello *request,
			 const struct vem_hello *reply);
void vem_tap_iwarp_request(struct vem_tap *tap, const struct vem_tapped *m);
void vem_tap_iwarp_answer(struct vem_tap *tap, const struct vem_tapped *m);
void vem_tap_iwarp_terminate(struct vem_tap *tap, bool back, uint32_t code);

#endif /* VEM_TAP_H */
