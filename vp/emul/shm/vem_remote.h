/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * A connection between queue pairs of two processes. It has the requester, which writes requests to the ring of a link and reads
 * the answers, and the front of this end's responder (vsw_respond.h), which alone accesses the memory of this process.
 *
 * Requests are numbered from 0. The requester keeps unanswered requests in a window and repeats them from the one that a WAIT
 * names. The responder executes requests in order, and drops each one that is not the next. The answers:
 *
 *     ACK       all requests up to that number are executed. A Read or an atomic is answered by DATA. An ACK can also travel in a
 *               request of this end: if a poll finds one message that takes a receive, and the program has answered such messages
 *               before, the ACK waits for a few polls
 *     WAIT      that request cannot be executed now: go back to it and wait for READY. With `rnr` a receive is missing; then the
 *               wait is bounded, and the last try is refused
 *     READY     go on
 *     REFUSED   that request is refused, with this status (InfiniBand; on iWARP a Terminate comes as a packet)
 *     DATA      octets of a Read, or the result of an atomic
 *     PROBED    the process has read all entries in front of a PROBE, and owes no answer to them. A PROBE for a connection that owes
 *               one, or whose queue pair a thread works on, is not answered; it comes again. So a living process always answers
 *               eventually, however long it had no processor
 *
 * A DATAGRAM has no connection and no answer; vem_remote_ud.c.
 *
 * A thread that reads the ring does not wait for room to answer: if the ring of answers is full, the connection keeps the answer.
 * It has a place for one answer of each kind, and for as many Reads as its IRD allows.
 *
 * Threads: the requester's state belongs to the role vem_qp::tx, the responder's to vem_shm::rx. Data that both access is
 * atomic, or has a lock of its own.
 */
#ifndef VEM_REMOTE_H
#define VEM_REMOTE_H

#include "vem_link.h"
#include "vsw_answers.h"

#define VEM_WINDOW 64 /* requests that are not answered */

enum vem_wire_kind {
	VEM_WIRE_SEND = 1,
	VEM_WIRE_WRITE,
	VEM_WIRE_READ,
	VEM_WIRE_ATOMIC,
	VEM_WIRE_ACK,
	VEM_WIRE_WAIT,
	VEM_WIRE_READY,
	VEM_WIRE_REFUSED,
	VEM_WIRE_DATA,
	VEM_WIRE_DATAGRAM,
	VEM_WIRE_PROBE,
	VEM_WIRE_PROBED
};

/* The header of an entry. */
struct vem_wire {
	uint8_t kind;
	uint8_t last_try; /* of a request; WAIT: a receive is missing */
	uint8_t swap;     /* ATOMIC */
	uint8_t acks;     /* SEND, WRITE, READ: `acked` is there */
	uint32_t to; /* the connection, in the numbers of the reader; DATAGRAM: the queue pair */
	uint32_t to_life;
	uint32_t
		number; /* of the request; DATAGRAM: of the queue pair that sends; PROBE: of itself */
	uint32_t flags;  /* RI_WR_*; PROBE: the connection, in the numbers of the writer ... */
	uint32_t extra;  /* ... and its life */
	uint32_t length; /* of the message */
	uint32_t at;     /* where the octets of this entry are in it */
	uint64_t addr;
	uint32_t stag; /* DATAGRAM: Q_Key */
	uint32_t
		status; /* REFUSED: enum ri_wc_status; requests by attributes: the first packet number */
	union {
		uint64_t operand; /* ATOMIC */
		uint64_t acked;   /* as the number of an ACK */
	};
};

/* The octets of an entry. */
struct vem_octets {
	const uint8_t *front; /* what is in front of those of the spans, or NULL */
	uint32_t front_length;
	const struct vsw_spans *spans;
	uint32_t at; /* where in them, in octets */
	uint32_t length;
};

/* A request that is not answered. */
struct vem_sent {
	struct vsw_wqe *wqe;
	uint32_t index;
	uint32_t got;         /* octets of a Read that have come; with the lock `answer` */
	atomic_bool answered; /* a Read or atomic: all has come */
	uint32_t status;      /* RI_WC_SUCCESS, or why its answer could not be placed */
};

/* A Read or atomic that is not answered yet. */
struct vem_asked {
	uint32_t number;
	uint32_t length;
	uint32_t at;
	uint32_t stag;
	uint64_t addr;
	uint64_t result; /* of an atomic */
	bool atomic;
};

#define VEM_ACK_POLLS 4u /* for which the ACK of a message waits for its answer */

/* vem_remote::apart. */
#define VEM_REMOTE_MUTE   1u /* by attributes: the other end does not hear yet */
#define VEM_REMOTE_TAPPED 2u /* a capture gets what is answered (vem_tap.h) */

struct vem_remote {
	struct vem_link *link;
	_Atomic(struct vem_qp *) qp; /* NULL: a request that the application has not answered */
	struct vem_conn *conn;       /* that request */
	uint32_t slot, life;         /* its number at this side */
	_Atomic uint32_t far_slot,
		far_life; /* and at the other; a queue pair may be destroyed while they come */
	atomic_bool far_known;
	_Atomic uint8_t apart; /* VEM_REMOTE_*: its requests leave the direct path */
	atomic_bool gone;      /* by attributes: its process has ended */
	uint8_t tries;         /* by attributes: links that have ended before it was joined */
	uint32_t knock; /* by attributes: the life of the side that knocks; 0: it has not knocked */
	uint32_t ask;   /* by attributes, until it is joined: the number of the last ASK */
	uint8_t far_rnr; /* likewise: the code for how long it is waited for its receives */
	bool asked;      /* the active side: REQUEST was sent */
	bool withdrawn;  /* the active side has given up, before it was accepted */
	bool fresh;      /* the link was dialed for it */
	uint32_t type;   /* enum ri_qp_type of the other end */

	/* The requester; role vem_qp::tx. */
	struct vsw_wqe *own_wqe; /* of the queue pair, in whose place the window's are */
	uint32_t slots;          /* of the window, a power of 2 */
	struct vem_sent *sent;
	void *wqes;      /* memory of sent[].wqe, in one piece */
	size_t wqe_size; /* of one */
	uint32_t begun;  /* requests that were taken from the queue */
	uint32_t cursor; /* the next one to be sent */
	uint32_t at;     /* octets of it that were sent */
	uint32_t reads;  /* Reads and atomics that are sent and not answered */
	bool stalled;    /* until READY */
	bool in_turn;    /* it is run by the owner of vem_shm::rx */
	uint32_t
		watched; /* by attributes: requests that were completed when vem_qp::tries_until was set */
	bool probing;   /* the peer was asked about the oldest of them ... */
	uint32_t probe; /* ... by the PROBE of that number */
	bool ended;     /* a request has failed: those after it are flushed */
	uint32_t
		failed; /* enum ri_wc_status with which the request at the cursor fails here; 0: none */
	struct vsw_lock answer; /* of the placement of answers */
	bool closed;            /* nothing is placed any more; with that lock */
	atomic_uint done;       /* requests that are completed; written by tx */
	atomic_uint out;        /* requests that were sent; written by tx */
	/* From the other end. */
	atomic_uint acked;
	_Atomic uint64_t told; /* WAIT or REFUSED: kind, rnr or status, number; 0: none */
	atomic_bool ready;
	atomic_uint probed; /* the PROBE that was answered last */

	/* The responder; role vem_shm::rx. */
	uint32_t expected; /* the number of the next request */
	uint32_t got;      /* octets of it that were placed */
	bool early;        /* requests have come before the other end was known */
	bool refused;      /* for good */
	uint32_t refused_number;
	const struct vsw_refusal *refusal; /* that ends the queue pair, soon */
	struct vem_asked *asks;
	uint32_t ask_room, ask_first, ask_count;
	bool owing; /* it is in vem_link::owing */
	struct vem_remote *next_owing;
	atomic_uint executed;      /* requests that are executed; written by the responder */
	atomic_uint told_executed; /* as the last ACK said; written by any thread that sends one */
	atomic_bool told_alone; /* by an entry of its own, and no request was sent since then ... */
	atomic_uint told_poll;  /* ... in this poll (vem_shm_polls) */
	_Atomic uint8_t
		answering; /* messages that were answered soon, less those that were not; vsw_answers.h */
	_Atomic(pthread_t)
		executing; /* completes a receive, whose message is not in `executed` yet; 0: none */
	uint8_t owe_wait;  /* 1: WAIT, 2: with rnr */
	uint32_t owe_status; /* of REFUSED */
	atomic_uint readies; /* how often it became ready */
	atomic_bool owe_ready;
};

/* --- connections: vem_remote_cm.c; with the fabric's lock ---------------------------------- */

/* Connect to a listener of another process. RI_CM_REASON_OTHER with qp->remote set: it is under way. */
enum ri_cm_reason vem_remote_offer(struct vem_qp *qp);
/* Accept a request from another process; its messages follow. */
enum ri_status vem_remote_accept(struct vem_remote *remote, struct vem_qp *qp);
/* The attempt has failed, for that reason. */
void vem_remote_fail(struct vem_remote *remote, enum ri_cm_reason reason);
/* The active side gives up what is not accepted. */
void vem_remote_withdraw(struct vem_remote *remote);
/* A connection for a queue pair, without a link. NULL: no memory. */
struct vem_remote *vem_remote_prepare(const struct vem_qp *qp);
/* Give it a place at a link. False: all places are taken. */
bool vem_remote_attach(struct vem_remote *remote, struct vem_link *link);
/* A use of a link ends. With the fabric's lock. */
void vem_link_unuse(struct vem_link *link);
/* It leaves its link, if it has one; nobody reads for it any more on return. */
void vem_remote_detach(struct vem_remote *remote);
/* Free a connection; nobody reads for it any more on return. */
void vem_remote_free(struct vem_remote *remote);
/* A message for the other end. Any thread that has a use of the connection, without the lock, too. */
void vem_remote_message(struct vem_remote *remote, enum vem_msg message, uint32_t code,
			const struct vem_hello *hello);
/* The queue pair leaves its connection. The caller owns both roles and not the fabric's lock. */
void vem_remote_leave(struct vem_qp *qp);
/* A packet; returns why the link must end, or NULL. */
const char *vem_remote_packet(struct vem_link *link, const struct vem_packet *packet);
void vem_remote_link_up(struct vem_link *link);
void vem_remote_link_down(struct vem_link *link);

/* --- by attributes: vem_remote_peer.c; with the fabric's lock, on the service thread --------- */

/* A queue pair begins to receive: find its partner. */
void vem_remote_join(struct vem_qp *qp);
/* It has waited for its partner as long as it tries: ask that one's process. False: there is none. */
bool vem_remote_ask(struct vem_qp *qp);
/* A link is up: the same for all that wait for its process. */
void vem_remote_join_all(struct vem_link *link);
/* `remote`: the connection that the packet names, or NULL. */
void vem_remote_peer_packet(struct vem_link *link, const struct vem_packet *packet,
			    struct vem_remote *remote);
/* The link has ended. */
void vem_remote_peer_down(struct vem_qp *qp, struct vem_remote *remote);
/* Likewise, of all that are not joined, which have no place at a link. */
void vem_remote_wait_down(struct vem_link *link);

/* --- the requester: vem_remote_send.c; owner of vem_qp::tx ---------------------------------- */

/* Do one thing for the send queue. False: there is nothing to do now. */
bool vem_remote_step(struct vem_qp *qp, struct vem_remote *remote);
/* Complete as flushed what was sent. */
void vem_remote_flush(struct vem_qp *qp, struct vem_remote *remote);
/* Write an entry without octets, or with those of `use`. False: no room. Any thread. */
bool vem_remote_write(struct vem_remote *remote, const struct vem_wire *wire,
		      const struct vsw_spans *octets, uint32_t at, uint32_t length, bool *lost);

/* Write an entry. False: no room, or *lost: a page of the octets is. Any thread. */
bool vem_link_write(struct vem_link *link, const struct vem_wire *wire,
		    const struct vem_octets *octets, bool *lost);

/* --- datagrams: vem_remote_ud.c -------------------------------------------------------------- */

struct vem_datagram;

/* Send or drop the datagram of the request taken. False: it waits, with vem_qp::ud_waits. Owner of vem_qp::tx. */
bool vem_remote_ud_send(struct vem_qp *qp, const struct vem_datagram *datagram, bool *there);
/* The same to the members of its group in other processes. */
bool vem_remote_ud_around(struct vem_qp *qp, const struct vem_datagram *datagram, bool *there);
/* It is about to be destroyed: let what is posted leave, if links for it begin, for a moment. */
void vem_remote_ud_linger(struct vem_qp *qp);
/* One has come. Owner of vem_shm::rx. */
void vem_remote_ud_entry(struct vem_link *link, const struct vem_wire *wire,
			 const struct vem_ring_entry *entry);
/* A queue pair of this process joins a group, or leaves it: the first one and the last one matter. */
enum ri_status vem_remote_ud_join(struct vem_fabric *fabric, const uint8_t gid[16]);
void vem_remote_ud_part(struct vem_fabric *fabric, const uint8_t gid[16]);
/* vem_shm::dial. */
void vem_remote_ud_dial_all(void *arg);
/* Is this the block that was dialed? */
bool vem_remote_ud_block_is_good(const struct vem_link *link, uint32_t block);
/* A link has been removed; on return no sender uses it. */
void vem_remote_ud_unlink(struct vem_link *link);

/* --- queries for datagram services: vem_remote_query.c; with the fabric's lock ---------------- */

struct vem_query;
struct vem_conn;
struct ri_service_answer;

/* On the service thread: queries that have not left. */
void vem_remote_query_send_all(struct vem_fabric *fabric);
/* A query is answered or ended here: its service need not answer any more. */
void vem_remote_query_close(struct vem_query *query);
/* Answer a query that came from another process. */
void vem_remote_query_answer(struct vem_conn *conn, const struct ri_service_answer *answer);
/* A packet; returns why the link must end, or NULL. */
const char *vem_remote_query_packet(struct vem_link *link, const struct vem_packet *packet);
/* The link is up, or has ended. */
void vem_remote_query_up(struct vem_link *link);
void vem_remote_query_down(struct vem_link *link);

/* --- the responder and the answers: vem_remote_receive.c; owner of vem_shm::rx -------------- */

void vem_remote_entry(struct vem_link *link, const struct vem_ring_entry *entry);
/* Acknowledge to the other end what is executed, if that has not happened. False: there is no room. Any thread. */
bool vem_remote_acknowledge(struct vem_remote *remote);
/* The other end is known from now on. */
void vem_remote_known(struct vem_remote *remote);
/* A message was answered soon, or was not. */
static inline void
vem_remote_answered(struct vem_remote *remote, bool answered)
{
	uint8_t before = atomic_load_explicit(&remote->answering, memory_order_relaxed);
	uint8_t now = vsw_answers_count(before, answered);

	/* Of two threads at once one may count for nothing. */
	if (now != before)
		atomic_store_explicit(&remote->answering, now, memory_order_relaxed);
}

/* Is what is owed the ACK of one message, which the program is expected to answer, and nothing else? */
bool vem_remote_owes_one_ack(const struct vem_link *link);
/* Write the answers that are owed, as far as there is room. */
void vem_remote_answers(struct vem_link *link);
/* There is room again: run the queue pairs that wait for it. */
void vem_remote_room(struct vem_link *link);
/* Connections have become ready: tell the other ends. */
void vem_remote_readies(struct vem_link *link);
/* Take the queue pair's role for receiving, and try a few times if another thread has it; for messages that are not repeated. */
bool vem_remote_receives_take(struct vem_qp *qp);
/* The responder can go on, or will refuse: tell the other end. Any thread that is inside of the queue pair. */
void vem_remote_ready(struct vem_remote *remote);

#endif /* VEM_REMOTE_H */
