/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include "vem_tap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vem_path.h"

/* --- begin and end -------------------------------------------------------------------------- */

/* It ends without a frame that says so. */
static const struct vem_cause gone = {.kind = RI_CM_BROKEN};

static const char established[] = "the connection is established";

void
vem_tap_open(struct ri_rnic *rnic)
{
	if (!ri_capture_wanted(rnic->host) || rnic->fabric->between)
		return;
	rnic->captured = true;
	ri_capture(rnic->host, &(struct ri_captured){.kind = RI_CAPTURED_ADAPTER,
						     .adapter = vem_adapter_name(rnic->fabric),
						     .which = rnic});
	atomic_store(&rnic->faults.apart, true);
	vem_path_prepare(rnic); /* datagrams look there, too */
}

bool
vem_tap_create(struct vem_qp *qp)
{
	struct vem_tap *tap;

	if (!qp->rnic->captured)
		return true;
	tap = calloc(1, sizeof(*tap));
	if (tap == NULL)
		return false;
	tap->host = qp->rnic->host;
	tap->iwarp = qp->rnic->fabric->personality == VEM_IWARP;
	qp->tap = tap;
	return true;
}

/* An address of a route header. */
static struct ri_addr
grh_addr(const uint8_t *gid)
{
	struct ri_addr addr = {.family = RI_ADDR_GID};

	memcpy(addr.octets, gid, sizeof(addr.octets));
	return addr;
}

static void
tap_join(struct vem_qp *qp, struct vem_qp *peer, const struct ri_captured *ends, uint32_t psn)
{
	struct vem_tap *tap = qp->tap;

	if (tap == NULL)
		return;
	vem_tap_end(qp, &gone);
	tap->ends = *ends;
	tap->ends.adapter = vem_adapter_name(qp->rnic->fabric);
	tap->ends.which = qp->rnic;
	tap->far = peer->rnic;
	tap->qpn = vem_qp_number(qp);
	tap->far_qpn = vem_qp_number(peer);
	tap->psn = psn;
	tap->msn = tap->send_msn = tap->read_msn = tap->atomic_msn = 0;
	tap->unreliable = qp->init.type == RI_QP_UC;
	tap->open = true;
	tap->over = false;
	tap->text = tap->iwarp ? NULL : established;
	tap->why[0] = '\0';
}

static struct ri_captured
turned(const struct ri_captured *ends)
{
	struct ri_captured other = *ends;

	other.local = ends->remote;
	other.remote = ends->local;
	other.local_port = ends->remote_port;
	other.remote_port = ends->local_port;
	return other;
}

void
vem_tap_pair(struct vem_qp *active, struct vem_qp *passive)
{
	bool by_peer = atomic_load(&active->by_peer);
	struct ri_captured ends = {.local = active->to.local,
				   .remote = active->to.peer,
				   .local_port = active->to.service.local_port,
				   .remote_port = active->to.service.port};
	struct ri_captured back;

	if (active->tap == NULL && passive->tap == NULL)
		return;
	if (by_peer) {
		ends = (struct ri_captured){.local = grh_addr(active->far.target.grh + 8),
					    .remote = grh_addr(active->far.target.grh + 24)};
	}
	back = turned(&ends);
	/* The packet numbers are known when both are open, or those of the far end. */
	tap_join(active, passive, &ends, by_peer ? passive->far.rq_psn : 0);
	tap_join(passive, active, &back, by_peer ? active->far.rq_psn : 0);
}

void
vem_tap_start(struct vem_qp *passive, const struct vem_qp *active)
{
	if (passive->tap != NULL && passive->tap->iwarp && passive->tap->open && active != NULL)
		vem_tap_iwarp_start(passive->tap, &active->said, &passive->said);
}

static const char *
kind_text(uint32_t kind)
{
	switch (kind) {
	case RI_CM_DISCONNECTED:
		return "closed";
	case RI_CM_BROKEN:
		return "broken";
	case RI_CM_REJECTED:
		return "rejected";
	default:
		return "ended";
	}
}

void
vem_tap_end(struct vem_qp *qp, const struct vem_cause *cause)
{
	struct vem_tap *tap = qp->tap;
	char text[256];
	int n;

	if (tap == NULL || !tap->open || tap->over)
		return;
	tap->over = true;
	n = snprintf(text, sizeof(text), "queue pair %u: the connection is %s", tap->qpn,
		     kind_text(cause->kind));
	if (cause->async != RI_EVENT_NONE)
		n += snprintf(text + n, sizeof(text) - (size_t)n, ", event %u, detail %04x",
			      cause->async, cause->detail);
	if (tap->why[0] != '\0')
		(void)snprintf(text + n, sizeof(text) - (size_t)n, "; %s", tap->why);
	tap->text = text;
	if (tap->iwarp)
		vem_tap_give(tap, false,
			     cause->kind == RI_CM_DISCONNECTED ? RI_CAPTURED_FIN
							       : RI_CAPTURED_RESET,
			     NULL, 0);
	else
		vem_tap_ib_end(tap);
	tap->text = NULL;
}

void
vem_tap_free(struct vem_qp *qp)
{
	if (qp->tap == NULL)
		return;
	vem_tap_end(qp, &gone);
	free(qp->tap->now.octets);
	free(qp->tap);
	qp->tap = NULL;
}

void
vem_tap_give(struct vem_tap *tap, bool back, enum ri_captured_kind kind, const void *octets,
	     size_t len)
{
	struct ri_captured what = back ? turned(&tap->ends) : tap->ends;

	what.kind = kind;
	what.octets = octets;
	what.length = len;
	what.text = tap->text;
	what.which = back ? tap->far : tap->ends.which;
	ri_capture(tap->host, &what);
	what = turned(&what);
	what.received = what.twin = true;
	what.which = back ? tap->ends.which : tap->far;
	ri_capture(tap->host, &what);
	tap->text = NULL;
}

/* --- messages ------------------------------------------------------------------------------- */

/* Copy all octets of these into the message. False: no memory, or they are lost. */
static bool
octets_take(struct vem_tapped *m, const struct vsw_spans *from)
{
	struct vsw_spans copy = {.count = 1};

	m->octets = malloc(m->length > 0 ? m->length : 1);
	if (m->octets == NULL)
		return false;
	copy.use[0] = (struct vsw_mem_use){.ptr = m->octets};
	copy.len[0] = m->length;
	return m->length == 0 || vsw_spans_copy(&copy, 0, from);
}

/* What is sent. */
static bool
sent_take(struct vem_qp *qp, struct vem_tapped *m)
{
	struct vsw_spans local;

	if (vsw_spans_gather(qp->rnic->mem, &qp->in.who, qp->tx_wqe, &local) != VSW_MEM_OK)
		return false;
	bool good = octets_take(m, &local);

	vsw_spans_end(&local);
	return good;
}

/* What is read. If it is refused, there is no answer. */
static bool
read_take(const struct vem_qp *peer, struct vem_tapped *m)
{
	const struct vsw_message message = {.length = m->length, .remote = &m->remote};
	struct vsw_spans remote;

	if (vsw_respond_read(&peer->in, &message, 0, m->length, &remote) != NULL)
		return octets_take(m, &(struct vsw_spans){.count = 0}) || m->octets != NULL;
	bool good = octets_take(m, &remote);

	vsw_spans_end(&remote);
	return good;
}

/* The word that an atomic finds. */
static void
word_take(const struct vem_qp *peer, struct vem_tapped *m)
{
	const struct vsw_message message = {.length = m->length, .remote = &m->remote};
	struct vsw_mem_use word;

	if (vsw_respond_word(&peer->in, &message, &word) != NULL)
		return;
	if (word.ptr != NULL)
		m->original =
			__atomic_load_n((const uint64_t *)(const void *)word.ptr, __ATOMIC_SEQ_CST);
	vsw_mem_end(&word);
}

static void
message_drop(struct vem_tap *tap)
{
	free(tap->now.octets);
	tap->now.octets = NULL;
	tap->held = false;
}

void
vem_tap_begin(struct vem_qp *qp, struct vem_qp *peer)
{
	const struct vsw_wqe *wqe = qp->tx_wqe;
	struct vem_tap *tap = qp->tap;
	bool good = true;

	if (tap == NULL || !tap->open)
		return;
	message_drop(tap);
	tap->failed = false;
	if (tap->msn == 0 && tap->psn == 0 && !atomic_load(&qp->by_peer))
		tap->psn = qp->reach.sq_psn; /* agreed on after they became a pair */
	tap->now = (struct vem_tapped){.opcode = wqe->opcode,
				       .flags = wqe->flags,
				       .length = wqe->length,
				       .extra = wqe->inv_stag,
				       .remote = wqe->u.remote};
	if (wqe->opcode == RI_OP_SEND || wqe->opcode == RI_OP_RDMA_WRITE) {
		if (wqe->opcode == RI_OP_SEND)
			tap->now.remote = (struct ri_wr_remote){0};
		good = sent_take(qp, &tap->now);
	} else {
		tap->now.sink = wqe->num_sge > 0 ? wqe->sge[0] : (struct ri_sge){0};
		if (wqe->opcode == RI_OP_RDMA_READ)
			good = read_take(peer, &tap->now);
		else
			word_take(peer, &tap->now);
	}
	tap->held = good;
}

static void
request_give(struct vem_tap *tap)
{
	if (tap->iwarp)
		vem_tap_iwarp_request(tap, &tap->now);
	else
		vem_tap_ib_request(tap, &tap->now);
}

static void
answer_give(struct vem_tap *tap)
{
	tap->text = tap->now.refusal != NULL ? tap->now.refusal->why : tap->text;
	if (tap->iwarp)
		vem_tap_iwarp_answer(tap, &tap->now);
	else
		vem_tap_ib_answer(tap, &tap->now);
}

void
vem_tap_done(struct vem_qp *qp, bool done)
{
	struct vem_tap *tap = qp->tap;

	if (tap == NULL || !tap->held)
		return;
	if (!tap->failed && (done || tap->now.refusal != NULL)) {
		request_give(tap);
		answer_give(tap);
	}
	message_drop(tap);
}

void
vem_tap_depart(struct vem_qp *qp)
{
	struct vem_tap *tap = qp->tap;

	if (tap == NULL)
		return;
	vem_tap_begin(qp, NULL);
	if (tap->held)
		request_give(tap);
	free(tap->now.octets);
	tap->now.octets = NULL;
}

void
vem_tap_answer(struct vem_qp *qp)
{
	struct vem_tap *tap = qp->tap;

	if (tap == NULL || !tap->held)
		return;
	answer_give(tap);
	message_drop(tap);
}

void
vem_tap_refused(struct vem_qp *qp, const struct vsw_refusal *refusal)
{
	struct vem_tap *tap = qp->tap;

	if (tap == NULL)
		return;
	tap->now.refusal = refusal;
	(void)snprintf(tap->why, sizeof(tap->why), "request %llu is refused, status %u",
		       (unsigned long long)qp->tx_wqe->wr_id, refusal->status);
	if (!tap->held)
		return;
	/* Before the end of the connection, which another thread may be about to give. A Write may have departed already. */
	if (tap->now.octets != NULL || tap->now.opcode != RI_OP_RDMA_WRITE)
		request_give(tap);
	vem_tap_answer(qp);
}

void
vem_tap_failed(struct vem_qp *qp, enum ri_wc_status status)
{
	struct vem_tap *tap = qp->tap;

	if (tap == NULL)
		return;
	tap->failed = true;
	(void)snprintf(tap->why, sizeof(tap->why), "request %llu fails here, status %u",
		       (unsigned long long)qp->tx_wqe->wr_id, status);
}

void
vem_tap_datagram(struct vem_qp *qp, const struct vem_qp *to)
{
	const struct vsw_wqe *wqe = qp->tx_wqe;
	struct vem_tap *tap = qp->tap;

	if (tap == NULL || tap->datagram == qp->tx_index + 1)
		return; /* another member of the group has it */
	tap->datagram = qp->tx_index + 1;
	tap->ends.adapter = vem_adapter_name(qp->rnic->fabric);
	tap->ends.which = qp->rnic;
	tap->far = to->rnic;
	tap->qpn = vem_qp_number(qp);
	tap->far_qpn = wqe->u.ud.qpn;
	tap->now = (struct vem_tapped){.opcode = wqe->opcode,
				       .flags = wqe->flags,
				       .length = wqe->length,
				       .extra = wqe->inv_stag};
	if (sent_take(qp, &tap->now))
		vem_tap_ib_datagram(tap, &tap->now, qp->tx_target.grh, wqe->u.ud.qkey);
	message_drop(tap);
}
