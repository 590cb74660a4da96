/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* What the files of the carrier "wire" share (vem_wire.h): a message under way. All functions: owner of the role tx. */
#ifndef VEM_WIRE_STATE_H
#define VEM_WIRE_STATE_H

#include "vem_path.h"
#include "vem_wire.h"

#define PIECES_MAX 8
#define AHEAD_MAX  4

enum stage {
	STAGE_IDLE = 0, /* no message */
	STAGE_UNDER_WAY,
	STAGE_DUE,     /* its time has come */
	STAGE_ARRIVED, /* it was delivered once, and waits for a receive */
	STAGE_ANSWER   /* all is placed, or the Send is delivered; the answer is under way */
};

/* Part of the octets of a Write. */
struct part {
	uint32_t at, len;
};

struct vem_wire {
	struct vem_qp *qp;
	struct ri_timer timer;
	enum stage stage; /* role tx, as all below */
	bool answered;    /* the time of the answer has come */
	unsigned parts, next;
	struct part part[PIECES_MAX];
	/* Of a Write that is complete at this side and not placed yet. */
	uint8_t *octets; /* NULL: no such Write */
	uint32_t length;
	struct ri_wr_remote remote;
	/* Requests behind the Read that is taken. They were carried out before it, and complete behind it. */
	bool overtaken;
	unsigned ahead, ahead_next;
	const struct vsw_refusal *answers[AHEAD_MAX]; /* what the peer said */
	struct vsw_wqe *looked_at;                    /* room for one of them */
	/* The path to the other side; vem_path.h. */
	char far[VEM_NAME];
	atomic_bool blocked;   /* what is under way waits for it */
	uint64_t cut;          /* ns, since when it has waited because of a cut; 0: it has not */
	uint64_t number;       /* of the message, for a tester */
	struct ri_timer later; /* messages of the connection */
	uint32_t
		kept; /* VEM_MSG_* that have not arrived; under the queue pair's lock, as the two below */
	uint32_t kept_code;
	struct vem_hello kept_hello;
	enum {
		OFFER_NONE = 0,
		OFFER_WAITS,
		OFFER_ARRIVES
	} offer; /* of its request for a connection; under the fabric's lock, as the next */
	uint64_t
		offer_until; /* ns, the end of its tries over a path that is cut; 0: it has not begun */
};

static inline bool
vem_wire_is_write(const struct vsw_wqe *wqe)
{
	return wqe->opcode == RI_OP_RDMA_WRITE && (wqe->flags & RI_WR_IMMEDIATE) == 0;
}

/* A number below `bound`, by chance. */
uint64_t vem_wire_draw(const struct vem_qp *qp, uint64_t bound);
bool vem_wire_is_free(const struct vem_qp *qp, enum vem_freedom freedom);
/* Run the queue again after a while. */
void vem_wire_wait(struct vem_wire *wire, enum stage stage);
/* Narrow spans to a part of them. */
void vem_wire_narrow(struct vsw_spans *spans, const struct part *part, struct vsw_spans *out);

/* --- vem_wire_read.c -------------------------------------------------------------------------- */

/* Does the Read that is taken come in pieces? */
bool vem_wire_read_is_cut(const struct vem_wire *wire);
/* A part of the Read that is taken, or its end. False: it does not succeed; `deliver` finds out why, and reports it. */
bool vem_wire_read(struct vem_wire *wire, struct vem_qp *peer, bool *done);
/* Some of the requests behind the one that is taken are carried out, up to the first one that has to wait. */
void vem_wire_overtake(struct vem_wire *wire, struct vem_qp *peer);
/* The turn of a request that was carried out already. Returns whether it is done. */
bool vem_wire_ahead(struct vem_wire *wire, struct vem_qp *peer);

#endif /* VEM_WIRE_STATE_H */
