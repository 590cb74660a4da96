/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * A flood of one kind of packet during a connection that transfers data in both directions. The
 * transfers must complete as without the flood, the connection must stay, and the flood may be
 * answered only as often as its row of the table allows. Each packet of it has a valid CRC.
 */
#include <string.h>

#include "vro_sim.h"

#define SECOND UINT64_C(1000000000)
#define MTU    256
#define OCTETS (16 * MTU)
#define ROUNDS 60
#define PER \
	200 /* packets of the flood in a round; the answers of a round are those of its own transfers */
#define PSN0             0xfffff0u
#define PSN1             0x500u
#define ECN_CE           3  /* both bits: a router on the way was congested */
#define TRANSFER_PACKETS 40 /* of a round without a flood, at most */

struct forged {
	struct roce_flow flow;
	struct roce_packet p;
	bool late; /* an octet of the payload changes after the CRC was made */
};

struct flood {
	const char *name;
	/* Change the packet, which is a good Send of side 0 to side 1 but for its number. */
	void (*make)(struct sim_qp *target, struct forged *f);
	/* Each is dropped with this fault; ROCE_OK: it gets as far as the queue pair. */
	enum roce_fault fault;
	guint answers; /* in a round, at most */
};

static uint32_t
number(void)
{
	return (uint32_t)g_test_rand_int() & ROCE_24;
}

static void
from_stranger(struct sim_qp *target, struct forged *f)
{
	f->flow.source[15] ^= 0x40;
	f->p.psn = target->qp.rx.psn;
}

static void
queue_pair_guessed(struct sim_qp *target, struct forged *f)
{
	do
		f->p.qpn = number();
	while (f->p.qpn == target->qp.qpn);
	f->p.psn = target->qp.rx.psn;
}

static void
other_transport(struct sim_qp *target, struct forged *f)
{
	f->p.opcode |= g_test_rand_bit() ? ROCE_UC : ROCE_UD;
	f->p.psn = target->qp.rx.psn;
}

static void
other_partition(struct sim_qp *target, struct forged *f)
{
	f->p.pkey = 0x8001;
	f->p.psn = target->qp.rx.psn;
}

static void
number_ahead(struct sim_qp *target, struct forged *f)
{
	f->p.psn = roce_add(target->qp.rx.psn, 1000 + number() % 0x700000);
}

static void
number_old(struct sim_qp *target, struct forged *f)
{
	f->p.psn = roce_add(target->qp.rx.psn,
			    ROCE_24 + 1 - (target->qp.rx.executed + 2 + number() % 0x10000));
}

/* What was never sent is acknowledged. */
static void
acknowledgement(struct sim_qp *target, struct forged *f)
{
	f->p.opcode = ROCE_ACK;
	f->p.payload_length = 0;
	f->p.syndrome = ROCE_SYN_UNLIMITED;
	f->p.psn = roce_add(target->qp.tx.end, 1000 + number() % 0x700000);
}

/* A blind reset: one of the NAKs that end a connection, about a number that is not under way. */
static void
reset(struct sim_qp *target, struct forged *f)
{
	static const uint8_t naks[] = {ROCE_NAK_INVALID, ROCE_NAK_ACCESS, ROCE_NAK_OPERATION};

	f->p.opcode = ROCE_ACK;
	f->p.payload_length = 0;
	f->p.syndrome = naks[g_test_rand_int_range(0, G_N_ELEMENTS(naks))];
	f->p.psn = g_test_rand_bit() ? roce_add(target->qp.tx.end, number() % 0x700000)
				     : roce_add(target->qp.tx.una, ROCE_24 - number() % 0x700000);
}

/* The answer to a Read that this side has not sent. */
static void
answer(struct sim_qp *target, struct forged *f)
{
	f->p.opcode = ROCE_READ_ONLY;
	f->p.syndrome = ROCE_SYN_UNLIMITED;
	f->p.psn = roce_add(target->qp.tx.end, number() % 0x700000);
}

static void
congestion(struct sim_qp *target, struct forged *f)
{
	(void)target;
	f->p.opcode = ROCE_CNP_OPCODE;
	f->p.becn = true;
	f->p.payload_length = 16;
}

static void
marked(struct sim_qp *target, struct forged *f)
{
	number_old(target, f);
	f->flow.traffic_class = ECN_CE;
}

static const struct flood floods[] = {
	{"from a stranger", from_stranger, ROCE_PEER_FAULT, 0},
	{"queue pairs guessed", queue_pair_guessed, ROCE_QPN_FAULT, 0},
	{"another transport", other_transport, ROCE_QPN_FAULT, 0},
	{"another partition", other_partition, ROCE_PKEY_FAULT, 0},
	/* One NAK, until the number comes that is expected; and the transfers are not disturbed by it. */
	{"numbers ahead", number_ahead, ROCE_OK, TRANSFER_PACKETS},
	{"old numbers", number_old, ROCE_OK, 0},
	{"acknowledgements", acknowledgement, ROCE_OK, 0},
	{"blind resets", reset, ROCE_OK, 0},
	{"answers to no Read", answer, ROCE_OK, 0},
	{"congestion", congestion, ROCE_OK, 0},
	{"marks of congestion", marked, ROCE_OK, 0},
};

static void
flood_packet(struct sim *sim, struct sim_qp *target, const struct flood *flood)
{
	struct forged f = {
		.flow = {.source_port = 1000, .destination_port = ROCE_UDP_PORT},
		.p = {.opcode = ROCE_SEND_ONLY,
		      .qpn = target->qp.qpn,
		      .pkey = ROCE_PKEY,
		      .ack_request = true,
		      .payload_length = 8},
	};
	uint8_t octets[256] = {0};
	size_t len;

	memcpy(f.flow.source, sim->sides[0].gid, 16);
	memcpy(f.flow.destination, sim->sides[1].gid, 16);
	flood->make(target, &f);
	len = roce_packet_write(octets, &f.p) + f.p.payload_length + roce_pad(f.p.payload_length);
	len = roce_icrc_seal(&f.flow, octets, len);
	octets[len - ROCE_ICRC - 1] ^= f.late;
	vro_engine_packet(&sim->sides[1].engine, &f.flow, false, octets, len);
	vro_engine_flush(&sim->sides[1].engine);
}

/* A Send one way, and a Write the other, are under way while PER packets come between them. */
static void
round_run(struct sim *sim, struct sim_qp *pair[2], const struct flood *flood)
{
	struct ri_sge here = sim_sge(pair[0], 0, OCTETS), there = sim_sge(pair[1], 0, OCTETS);
	struct ri_wr send = sim_request(pair[0], 1, RI_OP_SEND, &here, 0);
	struct ri_wr write = sim_request(pair[1], 2, RI_OP_RDMA_WRITE, &there, 2 * OCTETS);

	sim_receive(pair[1], 3, 4 * OCTETS, OCTETS);
	sim_post(pair[0], &send);
	sim_post(pair[1], &write);
	for (int i = 0; i < PER && flood != NULL; i++) {
		if (i % 20 == 0)
			sim_run(sim, 2000);
		flood_packet(sim, pair[1], flood);
		g_assert_cmpuint(pair[1]->qp.tx.window, >=, VRO_WINDOW_MIN);
	}
	sim_run(sim, SECOND);
	for (int side = 0; side < 2; side++)
		sim_poll(pair[side]);
	g_assert_cmpstr(pair[0]->sent->str, ==, "1 RI_OP_SEND RI_WC_SUCCESS\n");
	g_assert_cmpstr(pair[1]->sent->str, ==, "2 RI_OP_RDMA_WRITE RI_WC_SUCCESS\n");
	g_assert_cmpstr(pair[1]->received->str, ==, "3 RI_OP_RECV RI_WC_SUCCESS 4096 4\n");
	g_string_truncate(pair[0]->sent, 0);
	g_string_truncate(pair[1]->sent, 0);
	g_string_truncate(pair[1]->received, 0);
	for (int side = 0; side < 2; side++)
		g_assert_cmpint(pair[side]->qp.state, ==, VRO_RTS);
}

static void
test_floods(void)
{
	for (size_t i = 0; i < G_N_ELEMENTS(floods); i++) {
		const struct flood *flood = &floods[i];
		struct sim *sim RI_AT_END(sim_free) = sim_new(3, false);
		const uint64_t *faults = sim->sides[1].engine.faults;
		struct sim_qp *pair[2];
		guint quiet;

		g_test_message("%s", flood->name);
		sim_pair(sim, ROCE_RC, MTU, PSN0, PSN1, pair);
		round_run(sim, pair, NULL);
		quiet = sim->sent;
		g_assert_cmpuint(quiet, <=, TRANSFER_PACKETS);
		for (int round = 0; round < ROUNDS; round++) {
			guint before = sim->sent;

			round_run(sim, pair, flood);
			/* What congestion narrows is acknowledged more often. */
			g_assert_cmpuint(sim->sent - before, <=,
					 (flood->make == congestion ? 2 : 1) * TRANSFER_PACKETS +
						 flood->answers);
		}
		for (int fault = 1; fault < ROCE_FAULT_COUNT; fault++)
			g_assert_cmpuint(faults[fault], ==,
					 fault == (int)flood->fault ? ROUNDS * PER : 0);
		g_assert_cmpuint(pair[0]->failures + pair[1]->failures, ==, 0);
	}
}

/* The peer itself guesses keys: each guess costs it the connection, writes nothing, and all that comes behind it is dropped. */
static void
test_keys(void)
{
	for (int i = 0; i < 64; i++) {
		struct sim *sim RI_AT_END(sim_free) = sim_new(3, false);
		struct sim_qp *pair[2];
		g_autofree guint8 *before = NULL;
		struct ri_sge sge;
		guint sent;

		sim_pair(sim, ROCE_RC, MTU, PSN0, PSN1, pair);
		sge = sim_sge(pair[0], 0, 8);
		before = g_memdup2(pair[1]->side->memory, SIM_ROOM);

		struct ri_wr wr = sim_request(
			pair[0], 1, i % 2 != 0 ? RI_OP_RDMA_WRITE : RI_OP_RDMA_READ, &sge, 0);

		do
			wr.u.remote.stag = g_test_rand_int();
		while (wr.u.remote.stag == pair[1]->side->stag);
		sim_post(pair[0], &wr);
		sim_run(sim, SECOND);
		sim_poll(pair[0]);
		g_assert_true(g_str_has_suffix(pair[0]->sent->str, "RI_WC_REMOTE_ACCESS\n"));
		g_assert_cmpmem(before, SIM_ROOM, pair[1]->side->memory, SIM_ROOM);
		g_assert_cmpint(pair[1]->qp.state, ==, VRO_ERROR);
		sent = sim->sent;
		for (int k = 0; k < PER; k++)
			flood_packet(sim, pair[1], &(struct flood){.make = number_ahead});
		g_assert_cmpuint(sim->sent, ==, sent);
		g_assert_cmpuint(sim->sides[1].engine.faults[ROCE_STATE_FAULT], ==, PER);
	}
}

/* Each packet of both sides is marked by a router: they are executed as others, no congestion is notified, and nothing is sent more. */
static void
test_marks(void)
{
	guint sent[2];

	for (int mark = 0; mark < 2; mark++) {
		struct sim *sim RI_AT_END(sim_free) = sim_new(3, false);
		struct sim_qp *pair[2];

		sim_pair(sim, ROCE_RC, MTU, PSN0, PSN1, pair);
		for (int side = 0; side < 2; side++)
			pair[side]->qp.path.flow.traffic_class = mark != 0 ? ECN_CE : 0;
		for (int round = 0; round < ROUNDS; round++)
			round_run(sim, pair, NULL);
		for (int side = 0; side < 2; side++)
			g_assert_cmpuint(sim->sides[side].engine.counts[VRO_CONGESTED], ==, 0);
		sent[mark] = sim->sent;
	}
	g_assert_cmpuint(sent[0], ==, sent[1]);
}

static guint managed_count;

static void
managed(struct vro_engine *engine, const struct roce_flow *flow, const struct roce_packet *p)
{
	(void)engine;
	(void)flow;
	(void)p;
	managed_count++;
}

static void
manager_good(struct sim_qp *target, struct forged *f)
{
	(void)target;
	f->p.opcode = ROCE_UD | ROCE_SEND_ONLY;
	f->p.qpn = f->p.source_qpn = ROCE_QPN_GSI;
	f->p.qkey = ROCE_QKEY_GSI;
}

static void
manager_key(struct sim_qp *target, struct forged *f)
{
	manager_good(target, f);
	f->p.qkey++;
}

static void
manager_source(struct sim_qp *target, struct forged *f)
{
	manager_good(target, f);
	f->p.source_qpn = 0x1234;
}

static void
manager_partition(struct sim_qp *target, struct forged *f)
{
	manager_good(target, f);
	f->p.pkey = 0x8001;
}

/* As many processes as have joined would get it, and none could answer. */
static void
manager_group(struct sim_qp *target, struct forged *f)
{
	const uint8_t group[4] = {239, 1, 2, 3};

	manager_good(target, f);
	roce_gid_of_v4(f->flow.destination, group);
}

/* Only datagrams of a manager reach the manager. */
static void
test_manager(void)
{
	static const struct flood rows[] = {
		{"good", manager_good, ROCE_OK, 0},
		{"another key", manager_key, ROCE_QKEY_FAULT, 0},
		{"from a queue pair", manager_source, ROCE_QPN_FAULT, 0},
		{"another partition", manager_partition, ROCE_PKEY_FAULT, 0},
		{"to a group", manager_group, ROCE_PEER_FAULT, 0},
	};

	for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
		struct sim *sim RI_AT_END(sim_free) = sim_new(3, false);
		struct sim_qp *pair[2];

		g_test_message("%s", rows[i].name);
		sim_pair(sim, ROCE_RC, MTU, PSN0, PSN1, pair);
		sim->sides[1].engine.managed = managed;
		managed_count = 0;
		flood_packet(sim, pair[1], &rows[i]);
		g_assert_cmpuint(managed_count, ==, rows[i].fault == ROCE_OK ? 1 : 0);
		if (rows[i].fault != ROCE_OK)
			g_assert_cmpuint(sim->sides[1].engine.faults[rows[i].fault], ==, 1);
	}
}

static struct roce_packet read_seen;

static bool
read_note(struct sim *sim, int from, const struct roce_packet *p)
{
	(void)sim;
	if (from == 0 && p->opcode == ROCE_READ_REQUEST)
		read_seen = *p;
	return true;
}

static void
read_same(struct sim_qp *target, struct forged *f)
{
	(void)target;
	f->p = read_seen;
}

static void
read_longer(struct sim_qp *target, struct forged *f)
{
	(void)target;
	f->p = read_seen;
	f->p.length++;
}

static void
read_other_key(struct sim_qp *target, struct forged *f)
{
	(void)target;
	f->p = read_seen;
	f->p.rkey ^= 0x100;
}

static void
read_elsewhere(struct sim_qp *target, struct forged *f)
{
	(void)target;
	f->p = read_seen;
	f->p.va += 8;
}

/* A Read that was answered is answered again only as it was asked for. */
static void
test_reads_again(void)
{
	static const struct flood rows[] = {
		{"the same", read_same, ROCE_OK, 3},
		{"longer", read_longer, ROCE_OK, 0},
		{"another key", read_other_key, ROCE_OK, 0},
		{"elsewhere", read_elsewhere, ROCE_OK, 0},
	};

	for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
		struct sim *sim RI_AT_END(sim_free) = sim_new(3, false);
		struct sim_qp *pair[2];
		struct ri_sge sge;
		guint sent;

		g_test_message("%s", rows[i].name);
		sim_pair(sim, ROCE_RC, MTU, PSN0, PSN1, pair);
		sge = sim_sge(pair[0], 0, 2 * MTU + 8);

		const struct ri_wr wr = sim_request(pair[0], 1, RI_OP_RDMA_READ, &sge, 4096);

		sim->filter = read_note;
		sim_post(pair[0], &wr);
		sim_run(sim, SECOND);
		sent = sim->sent;
		flood_packet(sim, pair[1], &rows[i]);
		g_assert_cmpuint(sim->sent - sent, ==, rows[i].answers);
	}
}

static struct vro_qp *
only_member(struct vro_engine *engine, const uint8_t gid[16], uint32_t i)
{
	(void)gid;
	return i == 0 ? &((struct sim_side *)(void *)engine)->qps[0]->qp : NULL;
}

static void
to_group(struct sim_qp *target, struct forged *f)
{
	f->p.opcode = ROCE_UD | ROCE_SEND_ONLY;
	f->p.qpn = ROCE_QPN_GROUP;
	f->p.qkey = target->qp.qkey;
}

static void
to_group_key(struct sim_qp *target, struct forged *f)
{
	to_group(target, f);
	f->p.qkey++;
}

static void
to_group_damaged(struct sim_qp *target, struct forged *f)
{
	to_group(target, f);
	f->late = true;
}

/* A datagram to a group is checked as every other. */
static void
test_group(void)
{
	static const struct flood rows[] = {
		{"good", to_group, ROCE_OK, 0},
		{"another key", to_group_key, ROCE_QKEY_FAULT, 0},
		{"damaged", to_group_damaged, ROCE_CRC, 0},
	};

	for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
		struct sim *sim RI_AT_END(sim_free) = sim_new(3, false);
		struct sim_qp *pair[2];

		g_test_message("%s", rows[i].name);
		sim_pair(sim, ROCE_UD, MTU, PSN0, PSN1, pair);
		sim->sides[1].engine.member = only_member;
		sim_receive(pair[1], 1, 0, 104);
		flood_packet(sim, pair[1], &rows[i]);
		sim_poll(pair[1]);
		g_assert_true((pair[1]->received->len != 0) == (rows[i].fault == ROCE_OK));
		if (rows[i].fault != ROCE_OK)
			g_assert_cmpuint(sim->sides[1].engine.faults[rows[i].fault], ==, 1);
	}
}

static bool
lose_all(struct sim *sim, int from, const struct roce_packet *p)
{
	(void)sim;
	(void)from;
	(void)p;
	return false;
}

/*
 * An ICMP report that no process listens at the peer's port can be forged by anybody. It counts
 * only if it contains numbers of a packet in transit, which an attacker cannot know without having
 * seen that packet. Otherwise three datagrams would end a connection.
 */
static void
test_reports(void)
{
	struct sim *sim RI_AT_END(sim_free) = sim_new(1, false);
	struct sim_qp *pair[2];
	struct roce_packet p = {.opcode = ROCE_SEND_ONLY, .pkey = ROCE_PKEY};
	uint8_t head[ROCE_PACKET_MAX];

	sim_pair(sim, ROCE_RC, 256, 0xfffffe, 3, pair);
	sim->filter = lose_all;
	for (unsigned i = 0; i < 4; i++) {
		struct ri_sge sge = sim_sge(pair[0], 0, 8);
		struct ri_wr wr = sim_request(pair[0], i, RI_OP_SEND, &sge, 0);

		sim_post(pair[0], &wr);
	}
	p.qpn = pair[1]->qp.qpn;
	for (uint32_t i = 0; i < 4; i++) {
		p.psn = roce_add(0xfffffe, i);
		(void)roce_packet_write(head, &p);
		g_assert_true(vro_requester_quoted(&pair[0]->qp, head, ROCE_BTH));
		g_assert_false(vro_requester_quoted(&pair[0]->qp, head, ROCE_BTH - 1));
		g_assert_false(vro_requester_quoted(&pair[1]->qp, head, ROCE_BTH));
	}
	p.psn = 2; /* not sent yet */
	(void)roce_packet_write(head, &p);
	g_assert_false(vro_requester_quoted(&pair[0]->qp, head, ROCE_BTH));
	p.psn = 0xfffffd; /* acknowledged */
	(void)roce_packet_write(head, &p);
	g_assert_false(vro_requester_quoted(&pair[0]->qp, head, ROCE_BTH));
	p.psn = 0xffffff;
	p.qpn ^= 1;
	(void)roce_packet_write(head, &p);
	g_assert_false(vro_requester_quoted(&pair[0]->qp, head, ROCE_BTH));
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/roce/attack/floods", test_floods);
	g_test_add_func("/roce/attack/keys", test_keys);
	g_test_add_func("/roce/attack/marks", test_marks);
	g_test_add_func("/roce/attack/manager", test_manager);
	g_test_add_func("/roce/attack/reads-again", test_reads_again);
	g_test_add_func("/roce/attack/group", test_group);
	g_test_add_func("/roce/attack/reports", test_reports);
	return g_test_run();
}
