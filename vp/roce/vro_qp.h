/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The engine: packets in, packets out, and timers of the host table. It knows no sockets: a link (struct vro_link) carries its
 * packets, and the provider, or a test, gives it queue pairs, addresses and time.
 *
 * A queue pair has a requester (vro_requester.c), which sends the requests of its send queue and repeats them until they are
 * acknowledged, and a responder (vro_responder.c), which executes those of the peer with the functions of vsw_respond.h.
 * Datagrams are in vro_ud.c.
 *
 * Threads: one at a time calls the engine, the functions of timers included. Nothing here blocks or allocates after creation.
 *
 * Source: InfiniBand Architecture, volume 1, chapter 9 (transport) and 11.6 (completions).
 */
#ifndef VRO_QP_H
#define VRO_QP_H

#include "ri_count.h"
#include "ri_share.h"
#include "roce_icrc.h"
#include "vro_trip.h"
#include "vsw_answers.h"
#include "vsw_respond.h"

#define VRO_MAX_MESSAGE (1u << 31)
#define VRO_WINDOW_MAX  128u /* packets that are not acknowledged */
#define VRO_WINDOW_MIN  2u
/*
 * The limit of unacknowledged octets in transit to one address, for all queue pairs together; each
 * packet counts as a full one. A socket's receive buffer with the kernel's usual limit (twice
 * 212,992 octets) can take them if a packet of 4,096 octets costs 8,960. A queue pair without
 * packets in transit may always send one, so it never depends on others to go on.
 */
#define VRO_BUDGET 184320u
#define VRO_PEERS  64u /* places of addresses; two that share one share the budget */

/* Which process of an address has that queue pair, if they share it. */
static inline uint8_t
vro_slot(uint32_t qpn)
{
	return (uint8_t)(qpn >> RI_SHARE_QPN_SHIFT);
}

#define VRO_ABSENT      50000000u
#define VRO_ABSENCES    3u   /* in a row end the connection */
#define VRO_ALIVE_ASKS  40u  /* questions to a silent peer, at most ... */
#define VRO_ALIVE_PARTS 8u   /* ... with this many in the time that it was silent before */
#define VRO_ANSWERS     128u /* Reads and atomics that a responder remembers at most */
#define VRO_TURN \
	256u /* packets that a queue pair sends at most before others, and what has come, have their turn */
#define VRO_KEY_CONTROLLED 0x80000000u
#define VRO_RNR_FOR_EVER   7u /* of rnr_retry */

/* What carries packets. */
struct vro_link {
	/*
	 * Where the next packet is to be written: ROCE_PACKET_MAX octets, valid until `send`. NULL: the
	 * link is full. The thread that drains the link calls vro_engine_ready.
	 */
	uint8_t *(*room)(struct vro_link *link);
	/* Send the `len` octets that are there, without ICRC; the link appends it. They may wait for `flush`. */
	void (*send)(struct vro_link *link, const struct roce_flow *flow, size_t len);
	/* No packet follows for now; may be NULL. */
	void (*flush)(struct vro_link *link);
};

enum vro_count {
	VRO_PACKETS_IN, /* with the right CRC, for a queue pair of ours */
	VRO_PACKETS_OUT,
	VRO_REPEATED, /* sent again */
	VRO_TIMEOUTS,
	VRO_PROBES,     /* of the last packet, before the time of a timeout */
	VRO_ALIVE,      /* questions to a silent peer, with nothing under way */
	VRO_GAPS,       /* sequence NAKs sent */
	VRO_DUPLICATES, /* requests that had been executed */
	VRO_RNRS,       /* RNR NAKs sent */
	VRO_CONGESTED,  /* notifications of congestion */
	VRO_DROPPED,    /* datagrams without receive */
	VRO_MANAGED,    /* datagrams of connection management */
	VRO_COUNTS
};

struct vro_qp;

/* One adapter's engine. The owner sets the members above `dirty`. */
struct vro_engine {
	const struct ri_host *host;
	const char *name; /* of the adapter, for the log */
	struct vro_link *link;
	/* A datagram of connection management for queue pair 1; may be NULL. */
	void (*managed)(struct vro_engine *engine, const struct roce_flow *flow,
			const struct roce_packet *p);
	/* The queue pair of that number, or NULL. */
	struct vro_qp *(*find)(struct vro_engine *engine, uint32_t qpn);
	/* Member `i` of a group of multicast, or NULL; may be NULL. */
	struct vro_qp *(*member)(struct vro_engine *engine, const uint8_t gid[16], uint32_t i);
	uint64_t
		probe; /* ns: no last packet that is not acknowledged is repeated earlier; 0: none is repeated before its timeout */
	uint64_t
		keep_alive; /* ns: a peer that was silent so long is asked whether it lives; 0: it is not */

	struct vro_qp *dirty;   /* to be run by vro_engine_flush */
	struct vro_qp *blocked; /* found the link full */
	struct vro_qp *held; /* owe an acknowledgement, which waits for a message that may follow */
	struct vro_qp *
		later; /* have had their turn, and more to send: the owner calls vro_engine_flush again soon */
	/*
	 * Whether vro_engine_flush may delay acknowledgements of queue pairs whose programs usually
	 * answer: those with at least VSW_ANSWERING more messages answered at once than not. The owner
	 * soon calls it again without this flag.
	 */
	bool hold;
	uint32_t round; /* of receiving; the owner counts */
	bool flushing;
	uint32_t sent[VRO_PEERS]; /* octets of the budget in use */
	uint64_t counts[VRO_COUNTS];
	uint64_t faults[ROCE_FAULT_COUNT]; /* packets dropped, by reason */
};

enum vro_state {
	VRO_RESET = 0,
	VRO_INIT, /* receives are posted */
	VRO_RTR,  /* answers requests */
	VRO_RTS,  /* sends requests */
	VRO_ERROR /* all requests and receives are flushed */
};

/* What a queue pair asks of its owner. */
struct vro_qp_ops {
	/* It has failed, is in VRO_ERROR, and is flushed. `event`: enum ri_event. */
	void (*failed)(struct vro_qp *qp, uint32_t event);
	/* It was ended by its owner, and is flushed now. */
	void (*flushed)(struct vro_qp *qp);
	/* The destination of a datagram. False: there is no such address handle for this queue pair. */
	bool (*address)(struct vro_qp *qp, uint32_t ah, struct roce_flow *flow);
	/* A packet came, and vro_qp::awaited was set; may be NULL. */
	void (*arrived)(struct vro_qp *qp);
	/* A receive of an SRQ was completed. */
	void (*limits)(struct vro_qp *qp);
};

/* A request that was taken from the send queue and is not completed. */
struct vro_request {
	uint32_t first;      /* number of its first packet */
	uint32_t packets;    /* numbers that it has; 0: nothing is sent */
	uint32_t got;        /* Read, atomic: packets of the answer that have come */
	uint32_t index;      /* vsw_cqe::wq_index */
	uint8_t status;      /* RI_WC_SUCCESS, or why it cannot be sent */
	bool done;           /* of a request without packets: executed */
	struct vsw_wqe *wqe; /* behind it, in the ring */
};

struct vro_requester {
	struct vsw_wq sq;
	struct vsw_cq *cq;
	char *requests; /* ring of struct vro_request */
	uint32_t stride;
	uint32_t mask;
	uint32_t oldest;   /* first one not completed ... */
	uint32_t current;  /* ... the one that is being sent ... */
	uint32_t taken;    /* ... and the next to take; indices run freely */
	uint32_t at;       /* packets of `current` that are sent */
	uint32_t psn;      /* of the next request */
	uint32_t una;      /* first number not acknowledged */
	uint32_t end;      /* behind the last number ever sent */
	uint32_t unasked;  /* packets ... */
	uint32_t untold;   /* ... and ends of requests since the last one with AckReq ... */
	uint32_t asked;    /* ... which has the number before this */
	uint32_t long_end; /* behind the last request under way that has more than a few octets */
	uint32_t window;
	uint32_t counted; /* octets of this queue pair in vro_engine::sent ... */
	uint32_t peer;    /* ... there */
	uint32_t grown;   /* numbers acknowledged since the window changed */
	uint32_t
		threshold; /* a window below it grows by what is acknowledged, above it by a packet for each window */
	uint32_t window_end; /* the window is not halved again before this number is acknowledged */
	uint8_t retries;     /* left */
	uint8_t rnr_retries;
	bool halted;    /* waits for rnr_until */
	bool went_back; /* to `una`, and nothing was acknowledged since */
	bool wanted;    /* the peer has said that `una` has not come */
	bool spent; /* it may have come, and cannot be read again: its acknowledgement is waited for */
	uint64_t rnr_until;
	uint32_t absent; /* times in a row that nobody listened at the peer's address */
	uint64_t absent_at;
	struct vro_trip trip;
	uint64_t since; /* time of the last progress */
	uint64_t probe; /* ns until the last packet is repeated */
	uint64_t armed; /* time of the timer; RI_NEVER: it is not started */
};

/* What is known of a peer's life when nothing is under way (vro_alive.c). */
struct vro_alive {
	uint64_t at;    /* time of the next look; RI_NEVER: the peer is not asked */
	uint64_t heard; /* packets that had come at the last look */
	uint32_t asked; /* times since the last packet */
};

/* A Read or atomic of the peer: to be answered, or answered and remembered. */
struct vro_answer {
	uint32_t first;
	uint32_t packets;
	uint32_t msn;
	uint32_t length;
	struct ri_wr_remote remote;
	bool atomic;
	uint64_t original;
	/* A Read came again: packets [from, end) of its answer are due once more, the next one being `again`; `end`: none. */
	uint32_t from;
	uint32_t again;
	uint32_t end;
};

enum vro_message_kind {
	VRO_NO_MESSAGE = 0,
	VRO_SEND,
	VRO_WRITE
};

struct vro_responding {
	uint32_t psn;      /* expected */
	uint32_t executed; /* packets, at most 2^23: what is further behind never came */
	uint32_t msn;
	enum vro_message_kind kind; /* a message is in progress */
	uint32_t length;            /* of a Write: as its first packet said */
	uint32_t got;               /* octets so far */
	struct ri_wr_remote remote;
	uint32_t
		early; /* times that the expected packet came before the program had heard of the connection */
	bool waited;    /* a Send found no receive, and the log says so */
	bool silent;    /* a NAK was sent; until the expected packet comes there is no other */
	bool unsaid;    /* something was executed since the last acknowledgement */
	bool due;       /* an acknowledgement, or: */
	uint8_t nak;    /* syndrome of a NAK or RNR NAK that is due; 0: none */
	bool fatal;     /* the NAK ends the queue pair */
	uint32_t event; /* that it raises then */
	const char *why;
	struct vro_answer answers[VRO_ANSWERS];
	uint32_t asked; /* indices run freely */
	uint32_t answered;
	uint32_t at;    /* packets of answers[answered] that are sent */
	uint32_t again; /* of `answers`, those with packets that are due again */
};

/* What the path and the peer are; set before VRO_RTR, timers and retries before VRO_RTS. */
struct vro_path {
	struct roce_flow flow; /* from here to the peer */
	uint32_t qpn;          /* of the peer */
	uint16_t pkey;
	uint32_t mtu;        /* octets: 256 to 4096 */
	uint8_t timeout;     /* code: 4.096 us * 2^timeout; 0: never */
	uint8_t retries;     /* 0 to 7 */
	uint8_t rnr_retries; /* 0 to 7, VRO_RNR_FOR_EVER */
	uint8_t rnr_timer;   /* code that our RNR NAKs carry */
	uint32_t ord;        /* Reads and atomics in flight */
};

struct vro_qp {
	struct vsw_responder in; /* first: vsw_responder_ops get its address */
	struct vro_engine *engine;
	const struct vro_qp_ops *ops;
	uint8_t transport;  /* enum roce_transport */
	atomic_uchar state; /* enum vro_state; a thread that posts a receive reads it, too */
	bool privileged;
	bool awaited; /* the first packet that comes is reported */
	bool untold; /* its program has not heard of the connection: no receive completes yet [RI 8.3] */
	uint32_t qpn;
	uint32_t qkey;
	struct vro_path path;
	struct vro_requester tx;
	struct vro_alive alive;
	struct vro_responding rx;
	struct ri_timer timer;
	struct vro_qp *next; /* in `dirty`, `blocked`, `held` or `later` */
	bool listed;
	bool stuck; /* found the link full */
	bool more;  /* has had its turn, and more to send */
	bool held;  /* its acknowledgement has waited, and goes behind what was posted meanwhile */
	bool acked; /* an acknowledgement left alone ... */
	uint32_t acked_round; /* ... in this round */
	uint32_t
		answering; /* messages that were answered in their round, less those that were not; vsw_answers.h */
	struct ri_qp_counters *count; /* packets; never NULL once it is created */
	struct ri_qp_counters unread; /* `count` of one that nobody asked to count */
};

/* --- control ------------------------------------------------------------------------------ */

/*
 * The owner has zeroed *qp, created its queues (tx.sq, in.rq, in.wqe) and set in.mem, in.who, in.cq, tx.cq, engine, ops,
 * transport and qpn. RI_ERR_RESOURCES.
 */
enum ri_status vro_qp_create(struct vro_qp *qp) RI_MUST_CHECK;
/* The engine does not run it any more, and no request or receive of it is completed. */
void vro_qp_leave(struct vro_qp *qp);
/* After that, and without a lock that the timer takes: waits for the timer. The queues stay the owner's. */
void vro_qp_destroy(struct vro_qp *qp);
/* The path is set. `psn`: the first one that the peer sends. */
void vro_qp_to_rtr(struct vro_qp *qp, uint32_t psn);
/* `psn`: the first one to send. vro_qp_kick follows. */
void vro_qp_to_rts(struct vro_qp *qp, uint32_t psn);
/* End it; the engine flushes it when it is marked or kicked. */
void vro_qp_to_error(struct vro_qp *qp);
/* All is flushed: forget the connection. */
void vro_qp_to_reset(struct vro_qp *qp);

/* --- running ------------------------------------------------------------------------------ */

/* Something was posted to a send queue, or to a receive queue in VRO_ERROR. */
void vro_qp_kick(struct vro_qp *qp);
/*
 * Handle a datagram that has arrived: check everything except the sender's address, and deliver it.
 * `find_ident`: the IPv4 identification in *flow is not known. The caller calls vro_engine_flush
 * after one or several datagrams.
 */
void vro_engine_packet(struct vro_engine *engine, struct roce_flow *flow, bool find_ident,
		       const uint8_t *octets, size_t len);
/* Send what the packets that came, and the requests that were posted, ask for; of each queue pair at most VRO_TURN packets. */
void vro_engine_flush(struct vro_engine *engine);
/*
 * The kernel reports that no socket listens at the destination of a reliable queue pair. At the
 * third report in a row, at least VRO_ABSENT ns apart, the peer counts as dead, and the timer of
 * the queue pair ends it. The link may call this while it accepts a packet.
 */
void vro_requester_absent(struct vro_qp *qp);
/*
 * Is this the beginning of a packet that a reliable queue pair has in transit? It has two numbers
 * that an attacker who was not on the path of the packet cannot know. So a forged error report is
 * recognised.
 */
bool vro_requester_quoted(const struct vro_qp *qp, const uint8_t *head, size_t len);
/* Send the acknowledgements that wait, and nothing else: no completion and no upcall comes of it. */
void vro_engine_acks(struct vro_engine *engine);
/* The link has room again. */
void vro_engine_ready(struct vro_engine *engine);
/* The timer of the queue pair has fired; vro_qp_create lets it do this by itself if timer.fire is NULL. */
void vro_qp_expired(struct vro_qp *qp);

/* --- between the files of the engine ------------------------------------------------------ */

/* Put it into the list that vro_engine_flush runs. */
void vro_qp_mark(struct vro_qp *qp);
/* Room for a packet, or NULL; then the queue pair is run when there is. */
uint8_t *vro_room(struct vro_qp *qp);
/* Send a packet whose head is `p`; the payload, p->payload_length octets, is already behind the head. */
void vro_send(struct vro_qp *qp, uint8_t *at, const struct roce_flow *flow, struct roce_packet *p);
/*
 * Copy `len` octets between `octets` and the memory of a request's segments, from offset `at` on:
 * into that memory (`into`) or out of it.
 */
enum vsw_mem_result vro_segments_copy(struct vro_qp *qp, struct vsw_wqe *wqe, uint32_t at,
				      uint8_t *octets, uint32_t len, bool into);
/* Do the keys of all segments of a request allow this? */
bool vro_segments_allow(struct vro_qp *qp, struct vsw_wqe *wqe, uint32_t access);
/* `why`: for the log, or NULL: it is said already. */
void vro_qp_fail(struct vro_qp *qp, uint32_t event, const char *why);

void vro_requester_run(struct vro_qp *qp);
void vro_requester_answer(struct vro_qp *qp, const struct roce_packet *p);
void vro_requester_congested(struct vro_qp *qp);
void vro_requester_flush(struct vro_qp *qp);
/* Ready to send: the peer lives. */
void vro_alive_begin(struct vro_qp *qp);
/* Ask the peer for an acknowledgement of what it has. */
void vro_alive_ask(struct vro_qp *qp);
/* Nothing is under way: if it is time, ask the peer whether it lives, or end the queue pair. */
void vro_alive_look(struct vro_qp *qp, uint64_t now);
/* Its packets that are on their way count in vro_engine::sent, or with `none` no longer. */
void vro_requester_count(struct vro_qp *qp, bool none);
/* Complete the oldest request. */
void vro_request_complete(struct vro_qp *qp, enum ri_wc_status status);
/* A request that sends nothing: binds and invalidations. *result: of its key, where it has one. */
enum ri_wc_status vro_request_local(struct vro_qp *qp, const struct vsw_wqe *wqe,
				    enum vsw_mem_result *result);

void vro_responder_packet(struct vro_qp *qp, const struct roce_packet *p);
void vro_responder_run(struct vro_qp *qp);
/* All that it owes is an acknowledgement. */
bool vro_responder_can_wait(const struct vro_qp *qp);
/* The program has heard of the connection. vro_qp_kick follows. */
void vro_responder_told(struct vro_qp *qp);
void vro_responder_flush(struct vro_qp *qp);

/* Send one datagram. False: the link is full. */
bool vro_ud_send(struct vro_qp *qp, struct vro_request *request);
void vro_ud_packet(struct vro_qp *qp, const struct roce_flow *flow, const struct roce_packet *p,
		   size_t len);

#endif /* VRO_QP_H */
