/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include "vem_tap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shm/vem_remote.h"
#include "vem_path.h"
#include "vem_peer.h"
#include "vem_ud.h"

/* --- begin and end -------------------------------------------------------------------------- */

/* It ends without a frame that says so. */
static const struct vem_cause gone = {.kind = RI_CM_BROKEN};

static const char established[] = "the connection is established";

void
vem_tap_open(struct ri_rnic *rnic)
{
	if (!ri_capture_wanted(rnic->host))
		return;
	rnic->captured = true;
	ri_capture(rnic->host, &(struct ri_captured){.kind = RI_CAPTURED_ADAPTER,
						     .adapter = vem_adapter_name(rnic->fabric),
						     .which = rnic});
	atomic_store(&rnic->faults.apart, true);
	vem_path_prepare(rnic); /* datagrams look there, too */
}

static struct vem_tap *
tap_new(const struct vem_qp *qp)
{
	struct vem_tap *tap = calloc(1, sizeof(*tap));

	if (tap == NULL)
		return NULL;
	tap->host = qp->rnic->host;
	tap->iwarp = qp->rnic->fabric->personality == VEM_IWARP;
	return tap;
}

bool
vem_tap_create(struct vem_qp *qp)
{
	bool between = qp->rnic->fabric->between;

	if (!qp->rnic->captured)
		return true;
	qp->tap = tap_new(qp);
	if (qp->tap != NULL && between)
		qp->tap->mirror = tap_new(qp);
	if (qp->tap != NULL && (!between || qp->tap->mirror != NULL))
		return true;
	free(qp->tap);
	qp->tap = NULL;
	return false;
}

/* An address of a route header. */
static struct ri_addr
grh_addr(const uint8_t *gid)
{
	struct ri_addr addr = {.family = RI_ADDR_GID};

	memcpy(addr.octets, gid, sizeof(addr.octets));
	return addr;
}

/* A connection of these ends, whose requester has that number, begins. */
static void
tap_begin(struct vem_tap *tap, const struct vem_qp *qp, const struct ri_captured *ends,
	  uint32_t psn)
{
	tap->ends = *ends;
	tap->ends.adapter = vem_adapter_name(qp->rnic->fabric);
	tap->ends.which = qp->rnic;
	tap->psn = psn;
	tap->msn = tap->send_msn = tap->read_msn = tap->atomic_msn = 0;
	tap->unreliable = qp->init.type == RI_QP_UC;
	tap->why[0] = '\0';
	tap->text = tap->iwarp ? NULL : established;
	atomic_store(&tap->over, false);
	atomic_store(&tap->open, true);
}

/* The code of the wait for a receive of that end, which is connected by attributes, or not. */
static uint8_t
rnr_code_of(const struct vem_qp *qp, uint8_t by_peer)
{
	if (atomic_load(&qp->by_peer))
		return by_peer;
	return qp->said.retries ? VEM_CM_RNR_CODE : vem_peer_rnr_code(qp->rnic->rnr_wait);
}

static void
tap_join(struct vem_qp *qp, struct vem_qp *peer, const struct ri_captured *ends, uint32_t psn)
{
	struct vem_tap *tap = qp->tap;

	if (tap == NULL)
		return;
	vem_tap_end(qp, &gone);
	tap->far = peer->rnic;
	tap->qpn = vem_qp_number(qp);
	tap->far_qpn = vem_qp_number(peer);
	tap->rnr = rnr_code_of(peer, peer->far.min_rnr_timer);
	tap_begin(tap, qp, ends, psn);
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

/* Between processes a Terminate is no answer of a message: it was sent, or has come, at the end. */
static void
terminate_give(struct vem_qp *qp, const struct vem_cause *cause)
{
	struct vem_tap *tap = qp->tap;
	uint32_t code = atomic_load(&tap->terminate);

	if (tap->mirror != NULL && (cause->message & VEM_MSG_TERMINATE) != 0)
		vem_tap_iwarp_terminate(tap, false, cause->code);
	else if (tap->single && code != 0)
		vem_tap_iwarp_terminate(tap, true, code & 0xffff);
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
	if (tap->iwarp)
		terminate_give(qp, cause);
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
	if (qp->tap->mirror != NULL)
		free(qp->tap->mirror->now.octets);
	free(qp->tap->mirror);
	free(qp->tap->now.octets);
	free(qp->tap);
	qp->tap = NULL;
}

void
vem_tap_give(struct vem_tap *tap, bool back, enum ri_captured_kind kind, const void *octets,
	     size_t len)
{
	bool far = back != tap->far_side; /* the other end has sent it */
	struct ri_captured what = back ? turned(&tap->ends) : tap->ends;

	what.kind = kind;
	what.octets = octets;
	what.length = len;
	what.text = tap->text;
	what.which = back ? tap->far : tap->ends.which;
	if (tap->single) {
		what = far ? turned(&what) : what;
		what.which = tap->ends.which;
		what.received = far;
		ri_capture(tap->host, &what);
		tap->text = NULL;
		return;
	}
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
	struct vsw_spans copy;

	m->octets = malloc(m->length > 0 ? m->length : 1);
	if (m->octets == NULL)
		return false;
	vsw_spans_of(&copy, m->octets, m->length);
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

/* The request that is taken is described; what it moves is not there yet. False: nothing is captured. */
static bool
message_begin(struct vem_qp *qp)
{
	const struct vsw_wqe *wqe = qp->tx_wqe;
	struct vem_tap *tap = qp->tap;

	if (tap == NULL || !tap->open)
		return false;
	message_drop(tap);
	tap->failed = false;
	if (tap->msn == 0 && tap->psn == 0 && !atomic_load(&qp->by_peer))
		tap->psn = qp->reach.sq_psn; /* agreed on after they became a pair */
	tap->now = (struct vem_tapped){.opcode = wqe->opcode,
				       .flags = wqe->flags,
				       .length = wqe->length,
				       .extra = wqe->inv_stag,
				       .remote = wqe->u.remote};
	if (wqe->opcode == RI_OP_SEND)
		tap->now.remote = (struct ri_wr_remote){0};
	return true;
}

void
vem_tap_begin(struct vem_qp *qp, struct vem_qp *peer)
{
	const struct vsw_wqe *wqe = qp->tx_wqe;
	struct vem_tap *tap = qp->tap;
	bool good = true;

	if (!message_begin(qp))
		return;
	if (wqe->opcode == RI_OP_SEND || wqe->opcode == RI_OP_RDMA_WRITE) {
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
	if (message_begin(qp))
		tap->held = sent_take(qp, &tap->now);
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
		       (unsigned long long)qp->tx_wqe->wr_id, (unsigned)refusal->status);
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
		       (unsigned long long)qp->tx_wqe->wr_id, (unsigned)status);
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
	tap->far = to != NULL ? to->rnic : qp->rnic;
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

/* --- between processes -------------------------------------------------------------------------- */

void
vem_tap_accept(struct vem_qp *qp, const struct ri_cm_event *request)
{
	struct vem_tap *tap = qp->tap;

	if (tap == NULL)
		return;
	vem_tap_end(qp, &gone);
	tap->ends = (struct ri_captured){.local = request->local,
					 .remote = request->peer,
					 .local_port = request->service.port,
					 .remote_port = request->service.local_port};
	tap->asked.pdata_len = request->pdata_len;
	memcpy(tap->asked.pdata, request->pdata, request->pdata_len);
}

/* The ends as this side sees them. */
static struct ri_captured
ends_of(const struct vem_qp *qp)
{
	if (atomic_load(&qp->by_peer))
		return (struct ri_captured){.local = grh_addr(qp->far.target.grh + 8),
					    .remote = grh_addr(qp->far.target.grh + 24)};
	if (qp->passive)
		return qp->tap->ends;
	return (struct ri_captured){.local = qp->to.local,
				    .remote = qp->to.peer,
				    .local_port = qp->to.service.local_port,
				    .remote_port = qp->to.service.port};
}

/* The MPA start-up: of two ends in one process the passive one gives it. */
static void
start_give(struct vem_qp *qp)
{
	struct vem_tap *tap = qp->tap;

	if (qp->passive)
		vem_tap_iwarp_start(tap, &tap->asked, &qp->said);
	else if (tap->single)
		vem_tap_iwarp_start(tap->mirror, &qp->said, &qp->heard);
}

void
vem_tap_join(struct vem_qp *qp, const struct vem_remote *remote)
{
	bool by_peer = atomic_load(&qp->by_peer);
	struct vem_tap *tap = qp->tap;
	struct ri_captured ends, back;

	if (tap == NULL || tap->mirror == NULL)
		return;
	vem_tap_end(qp, &gone);
	ends = ends_of(qp);
	back = turned(&ends);
	tap->single = remote->link->block != qp->rnic->fabric->shm->block;
	tap->far = qp->rnic;
	tap->qpn = vem_qp_number(qp);
	tap->far_qpn = by_peer ? qp->far.qpn : qp->reach.qpn;
	tap->rnr = rnr_code_of(qp, remote->far_rnr);
	atomic_store(&tap->terminate, 0);
	*tap->mirror = (struct vem_tap){.host = tap->host,
					.iwarp = tap->iwarp,
					.single = true,
					.far_side = true,
					.far = qp->rnic,
					.qpn = tap->far_qpn,
					.far_qpn = tap->qpn,
					.rnr = rnr_code_of(qp, qp->far.min_rnr_timer)};
	if (tap->single) {
		tap_begin(tap->mirror, qp, &back, by_peer ? qp->far.rq_psn : qp->reach.rq_psn);
		tap->mirror->text = NULL;
	}
	tap_begin(tap, qp, &ends, by_peer ? qp->far.sq_psn : qp->reach.sq_psn);
	if (tap->iwarp)
		start_give(qp);
}

/* What has come for a Read or atomic, where it was placed. */
static bool
sink_take(struct vem_qp *qp, struct vem_tapped *m)
{
	bool read = m->opcode == RI_OP_RDMA_READ;
	uint32_t access = qp->tap->iwarp && read ? RI_ACCESS_REMOTE_WRITE : RI_ACCESS_LOCAL_WRITE;
	struct vsw_spans sink;

	if (vsw_spans_begin(qp->rnic->mem, &qp->in.who, qp->tx_wqe, m->length, access, &sink) !=
	    VSW_MEM_OK)
		return false;
	bool good = octets_take(m, &sink);

	vsw_spans_end(&sink);
	if (good && !read)
		memcpy(&m->original, m->octets, sizeof(m->original));
	return good;
}

static bool
is_bare(const struct vem_tapped *m)
{
	return m->opcode != RI_OP_SEND && m->opcode != RI_OP_RDMA_WRITE;
}

/* The request that is taken, as a message. False: nothing is given of it. */
static bool
taken_begin(struct vem_qp *qp)
{
	const struct vsw_wqe *wqe = qp->tx_wqe;
	struct vem_tap *tap = qp->tap;

	if (tap == NULL || !tap->open || tap->over)
		return false;
	message_drop(tap);
	tap->now = (struct vem_tapped){.opcode = wqe->opcode,
				       .flags = wqe->flags,
				       .length = wqe->length,
				       .extra = wqe->inv_stag,
				       .remote = wqe->u.remote,
				       .sink = wqe->num_sge > 0 ? wqe->sge[0] : (struct ri_sge){0}};
	if (wqe->opcode == RI_OP_SEND)
		tap->now.remote = (struct ri_wr_remote){0};
	return true;
}

void
vem_tap_answered(struct vem_qp *qp)
{
	struct vem_tap *tap = qp->tap;

	if (!taken_begin(qp))
		return;
	if (is_bare(&tap->now) ? sink_take(qp, &tap->now) : sent_take(qp, &tap->now)) {
		request_give(tap);
		answer_give(tap);
	}
	message_drop(tap);
}

void
vem_tap_turned_down(struct vem_qp *qp, enum ri_wc_status status)
{
	const struct vsw_refusal refusal = {.status = status, .why = NULL};

	if (!taken_begin(qp))
		return;
	qp->tap->now.refusal = &refusal;
	(void)snprintf(qp->tap->why, sizeof(qp->tap->why), "request %llu is refused, status %u",
		       (unsigned long long)qp->tx_wqe->wr_id, (unsigned)status);
	if (is_bare(&qp->tap->now) || sent_take(qp, &qp->tap->now)) {
		request_give(qp->tap);
		answer_give(qp->tap);
	}
	message_drop(qp->tap);
}

/* Where the messages of the peer are given. NULL: nowhere. */
static struct vem_tap *
mirror_of(const struct vem_qp *qp)
{
	struct vem_tap *mirror = qp->tap != NULL ? qp->tap->mirror : NULL;

	return mirror != NULL && mirror->open && !qp->tap->over ? mirror : NULL;
}

static uint8_t
opcode_of(const struct vem_wire *wire)
{
	switch (wire->kind) {
	case VEM_WIRE_SEND:
		return RI_OP_SEND;
	case VEM_WIRE_WRITE:
		return RI_OP_RDMA_WRITE;
	case VEM_WIRE_READ:
		return RI_OP_RDMA_READ;
	default:
		return wire->swap != 0 ? RI_OP_CMP_SWAP : RI_OP_FETCH_ADD;
	}
}

/* Its numbers may be lies: what does not fit is no message. */
void
vem_tap_piece(struct vem_qp *qp, const struct vem_wire *wire, const uint8_t *octets,
	      uint32_t length)
{
	struct vem_tap *tap = mirror_of(qp);
	struct vem_tapped *m;

	if (tap == NULL)
		return;
	m = &tap->now;
	if (wire->at == 0) {
		message_drop(tap);
		*m = (struct vem_tapped){.opcode = opcode_of(wire),
					 .flags = wire->flags,
					 .length = wire->length,
					 .extra = wire->extra,
					 .remote = {.addr = wire->addr,
						    .stag = wire->stag,
						    .operand = wire->operand}};
		tap->got = 0;
		tap->held = true;
		if (is_bare(m) && length == sizeof(m->remote.swap))
			memcpy(&m->remote.swap, octets, length);
		else if (!is_bare(m) && m->length <= VEM_MAX_MESSAGE)
			m->octets = malloc(m->length > 0 ? m->length : 1);
	}
	if (is_bare(m) || m->octets == NULL || wire->at != tap->got ||
	    length > m->length - tap->got)
		return;
	memcpy(m->octets + tap->got, octets, length);
	tap->got += length;
}

void
vem_tap_executed(struct vem_qp *qp, const struct vsw_refusal *refusal, uint64_t original)
{
	struct vem_tap *tap = mirror_of(qp);
	bool answers;

	if (tap == NULL || !tap->held)
		return;
	tap->now.refusal = refusal;
	tap->now.original = original;
	answers = !tap->iwarp || refusal == NULL; /* else the Terminate comes at the end */
	if (is_bare(&tap->now) || (tap->now.octets != NULL && tap->got == tap->now.length)) {
		request_give(tap);
		if (answers && refusal == NULL && tap->now.opcode == RI_OP_RDMA_READ)
			answers = read_take(qp, &tap->now);
		if (answers)
			answer_give(tap);
	}
	message_drop(tap);
}

void
vem_tap_arrived(struct vem_qp *qp, const struct vem_datagram *datagram)
{
	struct vem_tap *tap = qp->tap != NULL ? qp->tap->mirror : NULL;

	if (tap == NULL)
		return;
	tap->single = tap->far_side = true;
	tap->ends.adapter = vem_adapter_name(qp->rnic->fabric);
	tap->ends.which = tap->far = qp->rnic;
	tap->qpn = datagram->from;
	tap->far_qpn = vem_gid_is_group(datagram->grh + 24) ? VEM_QPN_GROUP : vem_qp_number(qp);
	tap->now = (struct vem_tapped){.opcode = RI_OP_SEND,
				       .flags = datagram->flags,
				       .length = datagram->length,
				       .extra = datagram->extra};
	if (octets_take(&tap->now, datagram->octets))
		vem_tap_ib_datagram(tap, &tap->now, datagram->grh, datagram->key);
	message_drop(tap);
}

void
vem_tap_terminated(struct vem_qp *qp, uint32_t code)
{
	if (qp->tap != NULL)
		atomic_store(&qp->tap->terminate, 1u << 16 | (code & 0xffff));
}
