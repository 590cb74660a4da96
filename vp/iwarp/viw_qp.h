/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The queue pair and what its files share.
 *
 * Two roles, each taken by trying (vsw_role): the holder of tx.role owns the send queue, everything
 * that leaves, and the completions of the send queue; the holder of rx.role owns the receive queue,
 * everything that arrives, and the completions of receives. Between the two stand two rings with one
 * writer and one reader: inbound reads (rx writes, tx answers) and outbound reads (tx writes, rx
 * matches). The socket is closed, and the queues are flushed, only by who holds both.
 *
 * Memory of a queue pair is never freed while the adapter is open, only used again, so an engine that
 * still has an old address finds a role that is taken, or a queue pair that needs nothing.
 */
#ifndef VIW_QP_H
#define VIW_QP_H

#include <sys/uio.h>

#include "rdmap_check.h"
#include "viw_qp_states.h"
#include "viw_rnic.h"

/*
 * Octets of a frame that are looked at before anything is placed: length, DDP header, and the longest
 * control message. Control messages are read from here and nowhere else; rdmap_check_header() refuses
 * longer ones.
 */
#define VIW_HEAD_ROOM (MPA_LENGTH_SIZE + DDP_UNTAGGED_SIZE + RDMAP_TERMINATE_MAX)

/* A request that was started and is not completed. */
struct viw_sent {
	uint64_t wr_id;
	uint64_t end;      /* octet of the stream behind it */
	uint32_t index;    /* for vsw_cqe::wq_index */
	uint32_t length;   /* posted total */
	uint32_t read_seq; /* a Read: its number */
	uint32_t sink;     /* a Read: STag of its sink, for RI_WR_INVALIDATE */
	uint8_t opcode;
	uint8_t flags;  /* RI_WR_SIGNALED, RI_WR_NOTIFY; a Read: RI_WR_INVALIDATE */
	uint8_t status; /* enum ri_wc_status; SUCCESS: not failed */
};

/* An inbound Read or atomic: as decoded, and as it came, for a Terminate. */
struct viw_inbound_read {
	bool atomic;
	struct rdmap_read_request m;
	struct rdmap_atomic_request a;
	uint8_t ulpdu[DDP_UNTAGGED_SIZE + RDMAP_ATOMIC_REQUEST_SIZE];
};

/* An outbound Read or atomic: where the answer goes. */
struct viw_outbound_read {
	bool atomic; /* its request id is its number */
	uint32_t stag;
	uint32_t length;
	uint64_t to;
};

/* What tx works on. */
enum viw_tx_job {
	VIW_JOB_NONE = 0,
	VIW_JOB_REQUEST,
	VIW_JOB_RESPONSE
};

struct viw_tx {
	struct vsw_role role;
	atomic_bool send_at_once; /* a poll found nothing since the last request left */
	atomic_bool held_back;    /* in the engine's list of held-back queue pairs */
	atomic_bool blocked;      /* the socket takes no more */
	atomic_bool starved;      /* the pool was empty */
	atomic_bool await_frame;  /* ri_stream::hold_sq, until the first frame has come */
	atomic_bool broken;       /* the socket refused octets for good */
	atomic_int error;         /* why */
	atomic_bool shut;         /* FIN sent */
	atomic_uint unattended;   /* requests that found nobody to wait with */
	struct vsw_wq sq;
	uint8_t *buf;    /* borrowed, or set aside, while there is something in it */
	uint32_t at;     /* first octet of buf that the socket did not take */
	uint32_t len;    /* octets in buf */
	uint64_t queued; /* octets of the stream built so far */
	uint64_t given;  /* octets the socket took */
	uint32_t ulpdu;  /* longest ULPDU we send */
	uint32_t send_msn;
	uint32_t read_msn;
	uint32_t atomic_msn; /* of our answers */
	uint8_t job;         /* enum viw_tx_job: whose message is under way */
	bool response_last;  /* who went last; the other goes first */
	bool have_request;   /* wqe holds a request that was taken */
	bool checked;        /* and it was found well-formed */
	bool failed;         /* a request did; none that follows may start */
	bool behind;         /* its completion is pushed; those behind it are flushed */
	bool drained;        /* CLOSING: what had been posted has been tried */
	bool terminate_queued;
	bool direct;            /* this fill has gone past the buffer */
	uint32_t index;         /* of the request */
	uint32_t total;         /* its length */
	uint32_t done;          /* octets of its message built */
	uint32_t sge;           /* segment where it goes on */
	uint32_t sge_done;      /* octets of that segment built */
	uint32_t response_done; /* octets of the oldest inbound read answered */
	struct viw_sent *sent;
	uint32_t sent_mask;
	uint32_t sent_head;
	uint32_t sent_tail;
	struct vsw_wqe *wqe; /* copy of the request; room for as many segments as the queue has */
};

/* How far a frame has been read. */
enum viw_rx_phase {
	VIW_RX_HEAD = 0, /* collecting its header */
	VIW_RX_BEGIN,    /* header complete; a Send waits for a receive */
	VIW_RX_BODY,     /* placing payload */
	VIW_RX_TAIL      /* collecting PAD and CRC */
};

/* Where payload of the frame under way may go. */
enum viw_rx_target_kind {
	VIW_RX_NOWHERE = 0, /* it is covered by the CRC and thrown away */
	VIW_RX_RECEIVE,     /* to the receive in rx.wqe */
	VIW_RX_TAGGED       /* to the region that the header names */
};

/*
 * The only way from payload to memory. The check of a header opens it for that frame, and it is closed
 * before each header, behind each frame and with the stream. So a frame whose check opened nothing writes
 * nothing, whatever an earlier one has left in rx.wqe and rx.seg.
 */
struct viw_rx_target {
	enum viw_rx_target_kind kind;
	uint32_t stag; /* TAGGED: the region */
	uint64_t at;  /* of the first octet of payload: its address, or its offset in the receive */
	uint32_t len; /* octets that were found right */
};

struct viw_rx {
	struct vsw_role role;
	atomic_bool waiting;          /* a Send waits for a receive */
	atomic_bool expired;          /* and has waited too long */
	atomic_bool eof;              /* nothing more will come */
	atomic_bool hung_up;          /* the kernel reported an error or both FINs */
	struct vsw_wq rq;             /* without slots if there is an SRQ */
	struct vsw_srq_member member; /* of the SRQ */
	uint8_t *spare;               /* kept from round to round while streams are few */
	uint8_t *keep;                /* borrowed, or set aside: octets behind a Send that waits */
	uint32_t keep_at;
	uint32_t keep_len;
	uint8_t phase;        /* enum viw_rx_phase */
	bool want_tx;         /* this round made work for tx */
	bool have_receive;    /* wqe holds a receive that was taken */
	bool large;           /* the last frame was large: more of them are likely */
	uint8_t head_len;     /* octets in head */
	uint8_t tail_len;     /* octets in tail */
	uint32_t frame_ulpdu; /* ULPDU length of the frame under way */
	uint32_t placed;      /* octets of its payload done */
	uint32_t crc;         /* of the frame so far */
	uint32_t wq;          /* of the receive: for vsw_cqe::wq and wq_index */
	uint32_t index;
	uint32_t inv_stag; /* of the message that it takes: what its first segment says */
	uint32_t refused;  /* enum ri_event: why there is no receive, 0: none of these reasons */
	uint64_t capacity; /* octets it takes */
	enum rdmap_fault fault;           /* of the frame under way */
	enum ri_wc_status receive_status; /* of a receive that failed */
	struct ddp_segment seg;
	uint32_t control_len; /* octets of the payload that lie at seg.payload */
	struct viw_rx_target target;
	struct rdmap_inbound in;
	uint8_t head[VIW_HEAD_ROOM];
	uint8_t tail[8];
	unsigned samples;
	struct vsw_wqe *wqe; /* copy of the receive; room for as many segments as the queue has */
};

/* How the stream ends; written once, under viw_qp::lock. */
struct viw_end {
	uint32_t event; /* enum ri_event; 0: not yet */
	uint32_t detail;
	uint32_t last;         /* request that was posted last before it */
	bool orderly;          /* FINs are exchanged, no Terminate of ours */
	bool terminate_sent;   /* the copy is ours */
	uint8_t terminate_len; /* octets of the copy */
	uint8_t terminate[RI_TERMINATE_MAX];
	uint8_t fpdu_len; /* octets of the Terminate to send; 0: none */
	uint8_t fpdu[RDMAP_TERMINATE_FPDU_MAX];
};

struct viw_qp {
	struct viw_list_node node; /* first; of the context */
	struct viw_rnic *rnic;
	struct viw_context *context;
	struct viw_pd *pd;
	struct viw_cq *send_cq;
	struct viw_cq *recv_cq;
	struct viw_srq *srq; /* or NULL */
	struct vsw_mem_who who;
	struct vsw_mem_who receiver; /* who its receives are of: an SRQ has a domain of its own */
	struct ri_qp_init init;
	atomic_uint state;    /* enum ri_qp_state */
	struct vsw_lock lock; /* moves of state and `end` */
	struct viw_end end;
	atomic_bool up;             /* STREAM_UP was raised and has returned */
	atomic_bool attached;       /* there is a socket */
	atomic_bool starting;       /* the service thread has not seen it yet */
	atomic_bool expired;        /* the end took too long */
	atomic_bool limits_new;     /* the watermarks were set: look at once */
	_Atomic(uint64_t) deadline; /* of the end */
	atomic_uint watch;          /* EPOLLIN, EPOLLOUT as wanted */
	atomic_uint polled;         /* messages that polls found, in a row */
	bool unwatched;             /* the socket is not in the set just now; engine's lock */
	int fd;
	bool crc;
	bool peer_local;
	bool initiator;
	uint8_t rtr_send;
	uint8_t rtr_expect;
	struct viw_tx tx;
	struct viw_rx rx;
	/* Reads. `*_put` is written by who adds, `*_got` by who removes. */
	struct viw_inbound_read *irrq;
	uint32_t irrq_room; /* entries of the ring, a power of two */
	uint32_t ird;
	atomic_uint irrq_put; /* rx */
	atomic_uint irrq_got; /* tx */
	struct viw_outbound_read *orrq;
	uint32_t orrq_room;
	uint32_t ord;
	atomic_uint orrq_put;  /* tx */
	atomic_uint orrq_got;  /* rx */
	struct ri_task task;   /* start, end, flush: on the service thread */
	struct ri_timer timer; /* of a Send that waits, or of the end */
	_Atomic(struct viw_qp *) next_held_back;
	struct viw_qp *next; /* in the engine's list, or among the free */
};

static inline struct vsw_wqe *
viw_tx_wqe(struct viw_qp *qp)
{
	return qp->tx.wqe;
}

static inline struct vsw_wqe *
viw_rx_wqe(struct viw_qp *qp)
{
	return qp->rx.wqe;
}

static inline enum ri_qp_state
viw_qp_state(struct viw_qp *qp)
{
	return (enum ri_qp_state)atomic_load_explicit(&qp->state, memory_order_acquire);
}

/* --- viw_tx.c: the sending role ----------------------------------------------------------- */

/* Doorbells of the user half. */
void viw_doorbell_sq(void *qp);
void viw_doorbell_flush(void *qp);
/* Run the sending role until nothing is left that can be done now; or leave a kick to its holder. */
void viw_tx_run(struct viw_qp *qp);
/* The same without a kick, for who comes again anyway. */
void viw_tx_try(struct viw_qp *qp);
/* Give the role back; serves kicks first. */
void viw_tx_leave(struct viw_qp *qp);
/* The socket refused octets with this errno. Holder of tx.role. */
void viw_tx_push_failed(struct viw_qp *qp, int error);
/* Hand the buffer to the socket. False: it takes no more now. Holder of tx.role. */
bool viw_tx_push(struct viw_qp *qp);
/* An empty buffer of VIW_BUF_SIZE in tx.buf. All octets were taken. False: there is none. Holder of tx.role. */
bool viw_tx_buffer(struct viw_qp *qp);

/* --- viw_tx_build.c: frames of requests and responses ------------------------------------- */

/* Build what may be sent now into the buffer. False: there is nothing. Holder of tx.role. */
bool viw_tx_fill(struct viw_qp *qp);
/* Octets of a frame that carries `payload` octets. */
uint32_t viw_frame_size(bool tagged, uint32_t payload);

/* --- viw_tx_direct.c: large payload without a copy ----------------------------------------- */

#define VIW_DIRECT_MIN    16384u /* octets of payload in one piece that are worth it */
#define VIW_DIRECT_FRAMES 18u    /* frames of one system call: a message of 1 MiB */

/* The next octets of a message. */
struct viw_direct {
	struct ddp_segment
		seg; /* header of the first frame; L, lengths and offsets of each are computed */
	struct vsw_mem_access wanted; /* where they are, and how many of them are in one piece */
	uint32_t left;                /* octets to the end of the message */
};

/* Can they go without a copy? */
bool viw_tx_is_direct(const struct viw_qp *qp, const struct viw_direct *d);
/* Send what the socket takes now. *begun: octets of payload done with. */
enum vsw_mem_result viw_tx_direct(struct viw_qp *qp, const struct viw_direct *d, uint32_t *begun);

/* --- viw_read.c: both directions of RDMA Read --------------------------------------------- */

/* Make the rings; contents are lost. */
enum ri_status viw_reads_alloc(struct viw_qp *qp, uint32_t ird, uint32_t ord) RI_MUST_CHECK;
/* Room for so many at least, and nothing that is under way is lost. Both roles are held. */
enum ri_status viw_reads_grow(struct viw_qp *qp, uint32_t ird, uint32_t ord) RI_MUST_CHECK;
/* How many more Reads the peer may ask for; none if the application has lowered IRD below what runs. */
uint32_t viw_read_places(struct viw_qp *qp);
void viw_reads_reset(struct viw_qp *qp);
void viw_reads_free(struct viw_qp *qp);
/* tx: is there an inbound Read to answer? */
bool viw_response_pending(struct viw_qp *qp);
/* tx: build or send what comes next of the answer; false: no room, or the source failed. */
bool viw_response_build(struct viw_qp *qp);
/* tx: may another Read leave? */
bool viw_read_room(struct viw_qp *qp);
/* tx: note a Read or atomic that leaves; returns its number. */
uint32_t viw_read_note(struct viw_qp *qp, const struct viw_outbound_read *read);
/* tx: the number of the next one. */
uint32_t viw_read_next(struct viw_qp *qp);
/* tx: is the Read of this number answered? */
bool viw_read_done(struct viw_qp *qp, uint32_t number);
/* tx: are all of them? */
bool viw_reads_done(struct viw_qp *qp);
/* rx: tell rx.in which answer comes next. */
void viw_read_await(struct viw_qp *qp);
/* rx: the answer is complete. */
void viw_read_finish(struct viw_qp *qp);
/* rx: queue a Read Request, or an Atomic Request, whose header was found right. */
void viw_read_queue(struct viw_qp *qp, const uint8_t *ulpdu, bool atomic);
/* rx: the Read or atomic whose answer is next; NULL: none. */
const struct viw_outbound_read *viw_read_oldest(struct viw_qp *qp, uint32_t *number);

/* viw_atomic.c */

/* tx: may this request run? Its result must be writable. */
enum ri_wc_status viw_atomic_check(struct viw_qp *qp, const struct vsw_wqe *wqe);
/* tx: build the request in tx.wqe; false: no room. */
bool viw_atomic_build(struct viw_qp *qp, uint32_t *number);
/* tx: do what the peer asked for and build the answer; false: no room, or it cannot be done. */
bool viw_atomic_respond(struct viw_qp *qp, const struct viw_inbound_read *r,
			enum rdmap_fault *fault);
/* rx: judge an Atomic Request, or an answer, in rx.seg. */
enum rdmap_fault viw_atomic_request_check(struct viw_qp *qp);
enum rdmap_fault viw_atomic_response_check(struct viw_qp *qp);
/* rx: an answer is here: put the old value where it was wanted. */
void viw_atomic_finish(struct viw_qp *qp);

/* --- viw_complete.c: completions ----------------------------------------------------------- */

/* Note that the request in tx.wqe was started in full, or failed with `status`. */
void viw_sq_started(struct viw_qp *qp, uint32_t read_seq, enum ri_wc_status status);
/* Complete what is done, in order. Holder of tx.role. */
void viw_sq_complete(struct viw_qp *qp);
/* Complete everything else as flushed. Holder of tx.role. */
void viw_sq_flush(struct viw_qp *qp);
/* Holder of rx.role. */
void viw_rq_flush(struct viw_qp *qp);
/* Complete the receive in rx.wqe. Holder of rx.role. */
void viw_rq_complete(struct viw_qp *qp, enum ri_wc_status status, uint32_t length);

/* --- viw_rx.c: the receiving role ---------------------------------------------------------- */

void viw_doorbell_rq(void *qp);
uint32_t viw_rx_run(struct viw_qp *qp);
uint32_t viw_rx_try(struct viw_qp *qp);
void viw_rx_leave(struct viw_qp *qp);

/* Least rest of a payload that is received in place. */
#define VIW_RX_DIRECT 8192u

/* --- viw_srq.c: receives, own and shared ---------------------------------------------------- */

/* Take a receive into rx.wqe; *wait: there is none, for now. False: none; rx.refused may say why. */
bool viw_receive_take(struct viw_qp *qp, bool *wait);
/* A Send waits: is it worth while to look again? */
bool viw_receive_ready(struct viw_qp *qp);
void viw_doorbell_srq(void *srq);
/* The stream ends: it waits no more. */
void viw_receive_leave(struct viw_qp *qp);
/* Are more receives in progress than the watermarks say? Tells, or ends the stream. */
void viw_receive_limits(struct viw_qp *qp);

/* --- viw_rx_frame.c: from octets to frames ------------------------------------------------- */

/* Walk over octets that have come; returns how many are done with. */
uint32_t viw_rx_feed(struct viw_qp *qp, const uint8_t *from, uint32_t len);
/* Octets of the frame under way to collect before its payload is looked at; 2 are there. */
uint32_t viw_rx_head_wanted(const struct viw_rx *rx);
/* The header in rx.head is complete: judge it. False: a Send waits for its receive. */
bool viw_rx_head_done(struct viw_qp *qp);
/* A Send waited, and goes on. */
void viw_rx_stop_waiting(struct viw_qp *qp);
/* A Send waited in vain. */
void viw_rx_give_up(struct viw_qp *qp);

/* --- viw_rx_place.c: what a segment does --------------------------------------------------- */

enum viw_rx_verdict {
	VIW_RX_OK = 0,
	VIW_RX_FAULT, /* rx.fault tells */
	VIW_RX_WAIT   /* a Send without a receive */
};

/* A header is complete in rx.seg; may its payload be placed? `here`: all of it has come already. */
enum viw_rx_verdict viw_rx_begin(struct viw_qp *qp, bool here);
/* Copy `len` octets to where octet rx.placed of the payload belongs; covers them with rx.crc. */
void viw_rx_place(struct viw_qp *qp, const uint8_t *from, uint32_t len);
/*
 * Where can at most `len` octets, from octet rx.placed of the payload on, be received directly? NULL:
 * nowhere; rx.fault says why, if the target was open. Ends with vsw_mem_end.
 */
uint8_t *viw_rx_target(struct viw_qp *qp, uint32_t *len, struct vsw_mem_use *use);
/* No payload goes anywhere from now on. */
static inline void
viw_rx_target_close(struct viw_rx *rx)
{
	rx->target.kind = VIW_RX_NOWHERE;
}
/* The frame is whole and good: deliver. */
void viw_rx_finish(struct viw_qp *qp);

/* --- viw_error.c: causes of an end --------------------------------------------------------- */

/* An error found here. First wins. `event` 0: the one that belongs to the fault. */
void viw_fault(struct viw_qp *qp, enum rdmap_fault fault, const struct rdmap_offender *offender,
	       uint32_t event);
/* A Terminate arrived: the octets behind its DDP header. */
void viw_terminate_in(struct viw_qp *qp, const uint8_t *payload, uint32_t len);
/* FIN between two frames. */
void viw_peer_fin(struct viw_qp *qp);
/* TCP failed with this errno. */
void viw_stream_lost(struct viw_qp *qp, int error);
/* Moves of modify. Codes go out as Terminate. */
enum ri_status viw_end_by_caller(struct viw_qp *qp, enum viw_qp_move move, uint32_t event,
				 uint16_t code) RI_MUST_CHECK;
/* enum rdmap_fault for a refused access of the peer. */
enum rdmap_fault viw_fault_tagged(enum vsw_mem_result result);
enum rdmap_fault viw_fault_read(enum vsw_mem_result result);
/* Event that goes with a fault. */
uint32_t viw_fault_event(enum rdmap_fault fault);

/* --- viw_stream.c: start and end of the stream --------------------------------------------- */

void viw_serve(void *qp);
/* Tell of something that happened to a queue pair. */
void viw_event_raise(struct viw_qp *qp, uint32_t event, uint32_t detail);
void viw_timer(void *qp);
/* Let the service thread look at this queue pair. */
void viw_serve_soon(struct viw_qp *qp);
/* STREAM_UP, once. Holder of rx.role or both. */
void viw_stream_up(struct viw_qp *qp);
/* Reset the stream, if there is one, and forget it. Both roles are held; no completion, no event. */
void viw_stream_drop(struct viw_qp *qp);

#endif /* VIW_QP_H */
