/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Packets of RoCE: the input is one packet for the codec, or a hostile peer of a queue pair of vp/roce in one of its states, over a network in
 * virtual time (vp/roce/tests/vro_sim.c). The peer makes packets whose numbers, keys and addresses are near what the queue pair expects,
 * with the right invariant CRC; meanwhile the queue pair has requests and receives of its own.
 */
#include "fuzz.h"
#include "vro_sim.h"

#define MTU   256u
#define NEAR  4u      /* of the addresses that are asked for: at the ends of the region, too */
#define A_LOT 200u    /* commands */
#define LATER 3000000 /* ns */

struct world {
	struct sim *sim;
	struct sim_qp *pair[2]; /* the second one is judged */
	struct fuzz_input in;
	guint requests, receives;
};

/* What is read is written to a packet that reads the same, and that is then written to the same octets. */
static void
packet_run(const uint8_t *octets, size_t len)
{
	uint8_t *exact = fuzz_copy(octets, len);
	uint8_t once[ROCE_PACKET_MAX], twice[ROCE_PACKET_MAX];
	struct roce_packet p = {0},
			   again = {0}; /* a part that the packet has not got is not written */

	if (roce_packet_read(exact, len, &p) == ROCE_OK) {
		uint32_t head = roce_packet_write(once, &p);
		size_t whole = head + p.payload_length + roce_pad(p.payload_length) + ROCE_ICRC;

		FUZZ_REQUIRE(whole <= sizeof(once));
		memset(once + head, 0, whole - head);
		FUZZ_REQUIRE(roce_packet_read(once, whole, &again) == ROCE_OK);
		FUZZ_REQUIRE(again.psn == p.psn && again.qpn == p.qpn && again.va == p.va);
		FUZZ_REQUIRE(again.payload_length == p.payload_length);
		FUZZ_REQUIRE(roce_packet_write(twice, &again) == head);
		FUZZ_REQUIRE(memcmp(once, twice, head) == 0);
	}
	fuzz_messages(1);
	free(exact);
}

/* --- what the peer sends ----------------------------------------------------------------------- */

static uint32_t
psn_near(struct world *w, uint32_t expected)
{
	uint8_t how = fuzz_u8(&w->in);

	if (how == 255)
		return (uint32_t)fuzz_number(&w->in, 3);
	return roce_add(expected, (uint32_t)(how < 200 ? how % 3 : how) - (how >= 128 ? 64 : 0));
}

static void
octets_come(struct world *w, uint8_t *octets, size_t len, bool sealed, bool stranger)
{
	struct sim *sim = w->sim;
	struct vro_engine *engine = &sim->sides[1].engine;
	struct roce_flow flow = {.source_port = 1000, .destination_port = ROCE_UDP_PORT};
	struct roce_flow own;
	uint8_t *exact;

	memcpy(flow.source, sim->sides[0].gid, sizeof(flow.source));
	memcpy(flow.destination, sim->sides[1].gid, sizeof(flow.destination));
	flow.source[15] ^= stranger;
	if (sealed)
		len = roce_icrc_seal(&flow, octets, len < ROCE_BTH ? ROCE_BTH : len);
	exact = fuzz_copy(octets, len);
	own = flow;
	vro_engine_packet(engine, &own, true, exact, len);
	sim->received++;
	vro_engine_flush(engine);
	free(exact);
}

static void
packet_comes(struct world *w)
{
	const struct sim_side *side = &w->sim->sides[1];
	const struct vro_qp *qp = &w->pair[1]->qp;
	uint8_t octets[ROCE_PACKET_MAX + ROCE_ICRC] = {0};
	uint8_t bits = fuzz_u8(&w->in), keys = fuzz_u8(&w->in), where;
	struct roce_packet p = {.opcode = (uint8_t)((bits & 1) != 0 ? qp->transport : 0),
				.pkey = ROCE_PKEY,
				.solicited = (bits & 2) != 0,
				.ack_request = (bits & 4) != 0,
				.becn = (bits & 8) != 0};
	bool answers;
	size_t len;

	p.opcode |= fuzz_u8(&w->in) & ((bits & 1) != 0 ? 0x1f : 0xff);
	answers = (p.opcode & 0x1f) >= ROCE_READ_FIRST && (p.opcode & 0x1f) <= ROCE_ATOMIC_ACK;
	p.psn = psn_near(w, answers ? qp->tx.una : qp->rx.psn);
	p.qpn = (keys & 1) != 0 ? (uint32_t)fuzz_number(&w->in, 3) : qp->qpn;
	p.pkey ^= (uint16_t)((keys & 2) != 0 ? 5 : 0);
	p.qkey = (keys & 4) != 0 ? 0x22222222 : qp->qkey;
	p.source_qpn = w->pair[0]->qp.qpn;
	p.rkey = (keys & 8) != 0 ? side->stag ^ fuzz_u8(&w->in) : side->stag;
	p.invalidate = (keys & 16) != 0 ? p.rkey : p.rkey ^ 0x100;
	where = fuzz_u8(&w->in);
	p.va = (uint64_t)(uintptr_t)side->memory +
	       (where < 128 ? 8u * where : SIM_ROOM - NEAR * (where - 128u));
	p.length = (keys & 32) != 0 ? (uint32_t)fuzz_number(&w->in, 4) : 64u * fuzz_u8(&w->in);
	p.swap_add = fuzz_u8(&w->in);
	p.compare = fuzz_u8(&w->in);
	p.syndrome = fuzz_u8(&w->in);
	p.msn = fuzz_u8(&w->in);
	p.immediate = p.psn;
	p.payload_length = (bits & 16) != 0 ? MTU : (bits & 32) != 0 ? fuzz_u8(&w->in) : 0;
	len = roce_packet_write(octets, &p) + p.payload_length + roce_pad(p.payload_length);
	octets_come(w, octets, len, true, (bits & 64) != 0 && (keys & 64) != 0);
}

static void
raw_comes(struct world *w, bool sealed)
{
	uint8_t octets[256 + ROCE_ICRC] = {0};
	size_t len;
	const uint8_t *at = fuzz_take(&w->in, fuzz_u8(&w->in), &len);

	memcpy(octets, at, len);
	octets_come(w, octets, sealed ? len & ~(size_t)3 : len, sealed, false);
}

/* --- what the queue pair does ------------------------------------------------------------------- */

static void
request_post(struct world *w)
{
	static const uint8_t opcodes[] = {RI_OP_SEND, RI_OP_RDMA_WRITE, RI_OP_RDMA_READ,
					  RI_OP_FETCH_ADD, RI_OP_CMP_SWAP};
	struct sim_qp *q = w->pair[1];
	uint8_t which = fuzz_u8(&w->in);
	uint8_t opcode = opcodes[which % G_N_ELEMENTS(opcodes)];
	struct ri_sge sge = sim_sge(q, 32768, opcode >= RI_OP_FETCH_ADD ? 8 : 7u * fuzz_u8(&w->in));
	struct ri_wr wr;

	if (q->qp.state != VRO_RTS || w->requests == SIM_DEPTH || q->qp.transport == ROCE_UD)
		return;
	if (opcode == RI_OP_FETCH_ADD || opcode == RI_OP_CMP_SWAP)
		sge.length = 8;
	wr = sim_request(q, ++w->requests, opcode, &sge, 16384);
	if ((which & 128) != 0)
		wr.flags |= RI_WR_READ_FENCE;
	sim_post(q, &wr);
}

static void
receive_post(struct world *w)
{
	struct sim_qp *q = w->pair[1];
	uint32_t length = 8u * fuzz_u8(&w->in);

	if (q->qp.state == VRO_RESET || q->qp.state == VRO_ERROR || w->receives == SIM_DEPTH)
		return;
	sim_receive(q, ++w->receives, 4096, length);
}

static void
command(struct world *w)
{
	switch (fuzz_u8(&w->in) % 16) {
	case 0:
		raw_comes(w, true);
		break;
	case 1:
		raw_comes(w, false);
		break;
	case 2:
	case 3:
		request_post(w);
		break;
	case 4:
	case 5:
		receive_post(w);
		break;
	case 6:
		sim_run(w->sim, (uint64_t)LATER * (1u + fuzz_u8(&w->in)));
		break;
	case 7:
		vro_qp_to_error(&w->pair[1]->qp);
		vro_qp_mark(&w->pair[1]->qp);
		vro_engine_flush(&w->sim->sides[1].engine);
		break;
	default:
		packet_comes(w);
		break;
	}
}

static guint
lines_of(const char *text)
{
	guint count = 0;

	for (; *text != '\0'; text++)
		count += *text == '\n';
	return count;
}

/* Everything is complete once, whatever came. */
static void
end(struct world *w)
{
	struct sim_qp *q = w->pair[1];

	if (q->qp.state == VRO_RTR || q->qp.state == VRO_RTS || q->qp.state == VRO_INIT)
		vro_qp_to_error(&q->qp);
	vro_qp_mark(&q->qp);
	vro_engine_flush(&w->sim->sides[1].engine);
	sim_run(w->sim, LATER);
	sim_poll(q);
	FUZZ_REQUIRE(lines_of(q->sent->str) == w->requests);
	FUZZ_REQUIRE(lines_of(q->received->str) == w->receives);
	FUZZ_REQUIRE(q->failures <= 1);
}

static void
peer_run(const uint8_t *octets, size_t len)
{
	struct world w = {.in = {octets, len}};
	uint8_t kind = fuzz_u8(&w.in), state;
	static const enum roce_transport transports[] = {ROCE_RC, ROCE_RC, ROCE_UC, ROCE_UD};
	enum roce_transport transport = transports[kind % 4];

	w.sim = sim_new(1, (kind & 4) != 0);
	state = kind >> 3 & 3;
	for (int i = 0; i < 2; i++) {
		w.pair[i] = sim_qp_new(w.sim, i, transport);
		w.pair[i]->qp.qpn = 0x11 + 0x20000 * (uint32_t)i;
	}
	for (int i = 0; i < 2; i++)
		sim_path(w.pair[i], w.pair[!i], MTU);
	vro_qp_to_rtr(&w.pair[0]->qp, 9);
	vro_qp_to_rts(&w.pair[0]->qp, 0xfffffe);
	if (state != 0)
		vro_qp_to_rtr(&w.pair[1]->qp, 0xfffffe);
	if (state > 1)
		vro_qp_to_rts(&w.pair[1]->qp, 9);
	w.pair[1]->qp.untold = (kind & 128) != 0;
	for (unsigned i = 0; i < A_LOT && w.in.left > 0; i++)
		command(&w);
	end(&w);
	fuzz_messages(w.sim->received);
	sim_free(&w.sim);
}

int
LLVMFuzzerTestOneInput(const uint8_t *octets, size_t len)
{
	if (len > 0 && octets[0] % 8 == 0)
		packet_run(octets + 1, len - 1);
	else if (len > 0)
		peer_run(octets + 1, len - 1);
	return 0;
}
