/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Inline and immediate data over a device that the test plays (vib_device.h), alone and in chains, and how many calls of the
 * device a list of requests costs.
 */
#include <string.h>

#include "vib_cq.h"
#include "vib_data.h"
#include "vib_post.h"

#define LIST 16 /* requests of one list */

static uint8_t text[128]; /* in no region */

/* A queue pair with so much room for inline data. */
static struct vib_qp *
qp_new(struct device *d, bool ud, uint32_t room)
{
	struct ri_qp_init init = device_qp_init(ud, 32);
	struct vib_qp *qp;

	init.max_inline = room;
	d->copies = true;
	qp = device_qp_made(d, &init);
	g_assert_cmpuint(init.max_inline, ==, room);
	return qp;
}

static struct ri_wr
request(const struct ri_sge *sges, uint16_t count, uint8_t opcode, uint32_t flags)
{
	return (struct ri_wr){.wr_id = 9,
			      .sgl = sges,
			      .num_sge = count,
			      .opcode = opcode,
			      .flags = flags,
			      .imm = 0x44332211};
}

static enum ri_status
post(struct vib_qp *qp, struct ri_wr wr)
{
	return vib_post_sq(&qp->user, &wr);
}

/* The post reads the segments itself, by address: their STags name nothing. */
static void
test_inline(void)
{
	static const uint8_t opcodes[] = {RI_OP_SEND, RI_OP_RDMA_WRITE};
	const struct ri_sge two[] = {{(uintptr_t)text, 20, 0xdead}, {(uintptr_t)text + 40, 28, 0}};
	struct device *d RI_AT_END(device_free) = device_new();
	struct vib_qp *qp RI_AT_END(data_qp_end) = qp_new(d, false, 48);

	for (unsigned i = 0; i < sizeof(text); i++)
		text[i] = (uint8_t)i;
	for (unsigned i = 0; i < G_N_ELEMENTS(opcodes); i++) {
		const struct device_wr *last = &d->sent[d->sends];

		g_assert_cmpint(
			post(qp, request(two, 2, opcodes[i], RI_WR_INLINE | RI_WR_SIGNALED)), ==,
			RI_SUCCESS);
		g_assert_cmpuint(last->inlined_length, ==, 48);
		g_assert_cmpmem(last->inlined, 20, text, 20);
		g_assert_cmpmem(last->inlined + 20, 28, text + 40, 28);
		device_complete(d, IBV_WC_SUCCESS);
		data_poll(d, 9, RI_WC_SUCCESS);
	}
	/* None, and one of no octets. */
	g_assert_cmpint(post(qp, request(NULL, 0, RI_OP_SEND, RI_WR_INLINE)), ==, RI_SUCCESS);
	g_assert_cmpuint(d->sent[2].inlined_length, ==, 0);
}

/* The room is that of the queue pair, not that of the device; and some opcodes have none. */
static void
test_inline_refused(void)
{
	const struct ri_sge most[] = {{(uintptr_t)text, 20, 0}, {(uintptr_t)text, 28, 0}};
	const struct ri_sge more[] = {{(uintptr_t)text, 20, 0}, {(uintptr_t)text, 29, 0}};
	const struct ri_sge wraps[] = {{(uintptr_t)text, UINT32_MAX, 0}, {(uintptr_t)text, 2, 0}};
	static const uint8_t others[] = {RI_OP_RDMA_READ, RI_OP_FETCH_ADD, RI_OP_CMP_SWAP,
					 RI_OP_BIND_MW, RI_OP_LOCAL_INV};
	struct device *d RI_AT_END(device_free) = device_new();
	struct vib_qp *qp = qp_new(d, false, 48);

	g_assert_cmpint(post(qp, request(most, 2, RI_OP_SEND, RI_WR_INLINE)), ==, RI_SUCCESS);
	g_assert_cmpint(post(qp, request(more, 2, RI_OP_SEND, RI_WR_INLINE)), ==, RI_ERR_LIMIT);
	g_assert_cmpint(post(qp, request(more, 2, RI_OP_RDMA_WRITE, RI_WR_INLINE)), ==,
			RI_ERR_LIMIT);
	g_assert_cmpint(post(qp, request(wraps, 2, RI_OP_SEND, RI_WR_INLINE)), ==, RI_ERR_LIMIT);
	for (unsigned i = 0; i < G_N_ELEMENTS(others); i++) {
		g_assert_cmpint(post(qp, request(most, 1, others[i], RI_WR_INLINE)), ==,
				RI_ERR_UNSUPPORTED);
		g_assert_cmpint(post(qp, request(most, 1, others[i], RI_WR_IMMEDIATE)), ==,
				RI_ERR_UNSUPPORTED);
	}
	g_assert_cmpuint(d->sends, ==, 1);
	data_qp_end(&qp);
	/* Without room only nothing can be inline; the device may copy of its own. */
	qp = qp_new(d, false, 0);
	g_assert_cmpint(post(qp, request(most, 1, RI_OP_SEND, RI_WR_INLINE)), ==, RI_ERR_LIMIT);
	g_assert_cmpint(post(qp, request(NULL, 0, RI_OP_SEND, RI_WR_INLINE)), ==, RI_SUCCESS);
	data_qp_end(&qp);
}

/* A queue pair with less inline room than was asked for is not created: the device copies 64 bytes, or reports less than that. */
static void
test_inline_room(void)
{
	struct device *d RI_AT_END(device_free) = device_new();
	struct ri_qp_init init = device_qp_init(false, 4);
	struct vib_qp *qp = qp_new(d, false, 64);

	data_qp_end(&qp);
	init.max_inline = 65;
	g_assert_cmpint(
		vib_qp_ops.create(d->pd, &init, d->cq, d->cq, NULL, (struct ri_qp **)&qp, &d->map),
		==, RI_ERR_LIMIT);
	d->rnic.attr.max_inline = 200; /* of another kind of queue pair */
	init.max_inline = 200;
	g_assert_cmpint(
		vib_qp_ops.create(d->pd, &init, d->cq, d->cq, NULL, (struct ri_qp **)&qp, &d->map),
		==, RI_ERR_LIMIT);
	d->inline_most = 256;
	qp = qp_new(d, false, 200);
	g_assert_cmpuint(qp->user.max_inline, ==, 128); /* longer ones are not copied unasked */
	data_qp_end(&qp);
	d->inline_short = true;
	g_assert_cmpint(
		vib_qp_ops.create(d->pd, &init, d->cq, d->cq, NULL, (struct ri_qp **)&qp, &d->map),
		==, RI_ERR_LIMIT);
	d->inline_short = false;
	d->rnic.attr.inline_data = false;
	init.max_inline = 1;
	g_assert_cmpint(
		vib_qp_ops.create(d->pd, &init, d->cq, d->cq, NULL, (struct ri_qp **)&qp, &d->map),
		==, RI_ERR_LIMIT);
}

/* What is kept back has its payload already: the memory is free after the post. */
static void
test_inline_kept(void)
{
	struct device *d RI_AT_END(device_free) = device_new();
	struct vib_qp *qp RI_AT_END(data_qp_end) = qp_new(d, false, 48);
	struct ri_sge sges[2];

	for (unsigned round = 0; round < 3; round++) {
		for (uint8_t i = 0; i < LIST; i++) {
			sges[0] = (struct ri_sge){(uintptr_t)text, 20, 0};
			sges[1] = (struct ri_sge){(uintptr_t)text + 64, i, 0};
			memset(text, i + 1, 64);
			memset(text + 64, i + 101, 64);
			g_assert_cmpint(
				post(qp, request(sges, 2, RI_OP_SEND,
						 i < LIST - 1 ? RI_WR_INLINE | RI_WR_COALESCE
							      : RI_WR_INLINE | RI_WR_SIGNALED)),
				==, RI_SUCCESS);
			memset(text, 0xee, sizeof(text));
			memset(sges, 0xee, sizeof(sges));
		}
		g_assert_cmpuint(d->calls, ==, round + 1);
		g_assert_cmpuint(d->sends, ==, (round + 1) * LIST);
		for (unsigned i = 0; i < LIST; i++) {
			const struct device_wr *sent = &d->sent[round * LIST + i];

			g_assert_cmpuint(sent->inlined_length, ==, 20 + i);
			for (unsigned j = 0; j < sent->inlined_length; j++)
				g_assert_cmpuint(sent->inlined[j], ==, i + (j < 20 ? 1 : 101));
			device_complete(d, IBV_WC_SUCCESS);
		}
		data_poll(d, 9, RI_WC_SUCCESS);
	}
}

/* Immediate data reaches the device in the byte order of memory, and selects the device's opcode WITH_IMM. */
static void
test_immediate(void)
{
	static const struct {
		uint8_t opcode;
		enum ibv_wr_opcode device;
		uint32_t flags;
	} rows[] = {{RI_OP_SEND, IBV_WR_SEND_WITH_IMM, 0},
		    {RI_OP_SEND, IBV_WR_SEND_WITH_IMM, RI_WR_INLINE | RI_WR_COALESCE},
		    {RI_OP_RDMA_WRITE, IBV_WR_RDMA_WRITE_WITH_IMM, RI_WR_SOLICITED},
		    {RI_OP_RDMA_WRITE, IBV_WR_RDMA_WRITE_WITH_IMM, RI_WR_INLINE}};
	struct device *d RI_AT_END(device_free) = device_new();
	struct vib_qp *qp = qp_new(d, false, 48);
	const struct ri_sge one = {(uintptr_t)text, 8, 0};

	for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
		const struct device_wr *sent = &d->sent[i];
		struct ri_wr wr = request(&one, 1, rows[i].opcode, RI_WR_IMMEDIATE | rows[i].flags);

		wr.u.remote = (struct ri_wr_remote){.addr = 0x5000, .stag = 0x77};
		g_assert_cmpint(post(qp, wr), ==, RI_SUCCESS);
		vib_flush_sq(&qp->user);
		g_assert_cmpuint(d->sends, ==, i + 1);
		g_assert_cmpint(sent->wr.opcode, ==, rows[i].device);
		g_assert_cmpmem(&sent->wr.imm_data, 4, &wr.imm, 4);
		g_assert_cmpuint(sent->inlined_length, ==,
				 (rows[i].flags & RI_WR_INLINE) != 0 ? 8 : 0);
		g_assert_cmpint((sent->wr.send_flags & IBV_SEND_SOLICITED) != 0, ==,
				(rows[i].flags & RI_WR_SOLICITED) != 0);
		if (rows[i].opcode == RI_OP_RDMA_WRITE)
			g_assert_cmpuint(sent->wr.wr.rdma.remote_addr, ==, 0x5000);
	}
	/* Not with an invalidation, and only what the device claims. */
	g_assert_cmpint(post(qp, request(&one, 1, RI_OP_SEND, RI_WR_IMMEDIATE | RI_WR_INVALIDATE)),
			==, RI_ERR_UNSUPPORTED);
	data_qp_end(&qp);
	d->rnic.attr.immediate_with = RI_IMMEDIATE_WRITE;
	qp = qp_new(d, false, 48);
	g_assert_cmpint(post(qp, request(&one, 1, RI_OP_SEND, RI_WR_IMMEDIATE)), ==,
			RI_ERR_UNSUPPORTED);
	g_assert_cmpint(post(qp, request(&one, 1, RI_OP_RDMA_WRITE, RI_WR_IMMEDIATE)), ==,
			RI_SUCCESS);
	data_qp_end(&qp);
}

static void
recv_post(struct vib_qp *qp, uint64_t id)
{
	const struct ri_recv_wr wr = {.wr_id = id};

	g_assert_cmpint(vib_post_rq(&qp->user, &wr), ==, RI_SUCCESS);
}

/* A receive reports them; one that a Write has taken has an opcode of its own, and the length of the Write. */
static void
test_received(void)
{
	struct device *d RI_AT_END(device_free) = device_new();
	struct vib_qp *qp RI_AT_END(data_qp_end) = qp_new(d, false, 0);
	struct ibv_wc send = {.opcode = IBV_WC_RECV,
			      .byte_len = 11,
			      .wc_flags = IBV_WC_WITH_IMM,
			      .imm_data = 0x01020304};
	struct ibv_wc write = {.opcode = IBV_WC_RECV_RDMA_WITH_IMM,
			       .byte_len = 4000,
			       .wc_flags = IBV_WC_WITH_IMM,
			       .imm_data = 0x05060708};
	struct ibv_wc plain = {.opcode = IBV_WC_RECV, .byte_len = 5, .imm_data = 0xbad};
	struct ri_wc wc[3];

	for (uint64_t i = 0; i < 4; i++)
		recv_post(qp, i);
	device_receive(d, 0, &send);
	device_receive(d, 1, &write);
	device_receive(d, 2, &plain);
	g_assert_cmpuint(vib_poll_cq(&d->cq->user, wc, 3), ==, 3);
	g_assert_cmpint(wc[0].opcode, ==, RI_OP_RECV);
	g_assert_cmpint(wc[0].flags & RI_WC_IMMEDIATE, !=, 0);
	g_assert_cmpmem(&wc[0].imm, 4, &send.imm_data, 4);
	g_assert_cmpuint(wc[0].byte_len, ==, 11);
	g_assert_cmpint(wc[1].opcode, ==, RI_OP_RECV_WRITE);
	g_assert_cmpint(wc[1].flags, ==, RI_WC_RECEIVE | RI_WC_SOLICITED | RI_WC_IMMEDIATE);
	g_assert_cmpmem(&wc[1].imm, 4, &write.imm_data, 4);
	g_assert_cmpuint(wc[1].byte_len, ==, 4000);
	g_assert_cmpuint(wc[1].wr_id, ==, 1);
	g_assert_cmpint(wc[2].opcode, ==, RI_OP_RECV);
	g_assert_cmpint(wc[2].flags & RI_WC_IMMEDIATE, ==, 0);
	g_assert_cmpuint(wc[2].imm, ==, 0);
	/* The next use of the slot is a usual receive, and a failed one has no immediate data. */
	write.status = IBV_WC_LOC_PROT_ERR;
	device_receive(d, 3, &write);
	g_assert_cmpuint(vib_poll_cq(&d->cq->user, wc, 1), ==, 1);
	g_assert_cmpint(wc[0].opcode, ==, RI_OP_RECV);
	g_assert_cmpint(wc[0].flags & RI_WC_IMMEDIATE, ==, 0);
}

/* Datagrams have both, too. */
static void
test_datagram(void)
{
	const struct ri_ah_init way = {.dest = {.family = RI_ADDR_IPV4, .octets = {192, 0, 2, 9}}};
	const struct ri_sge one = {(uintptr_t)text, 8, 0};
	struct device *d RI_AT_END(device_free) = device_new();
	struct vib_qp *qp = qp_new(d, true, 48);
	struct ri_wr wr = request(&one, 1, RI_OP_SEND_UD, RI_WR_IMMEDIATE | RI_WR_INLINE);
	struct ri_ah *ah;

	g_assert_cmpint(vib_ah_ops.create(d->pd, &way, &ah, &wr.u.ud.ah), ==, RI_SUCCESS);
	wr.u.ud.qpn = 5;
	wr.u.ud.qkey = 6;
	g_assert_cmpint(post(qp, wr), ==, RI_SUCCESS);
	g_assert_cmpint(d->sent[0].wr.opcode, ==, IBV_WR_SEND_WITH_IMM);
	g_assert_cmpmem(&d->sent[0].wr.imm_data, 4, &wr.imm, 4);
	g_assert_cmpuint(d->sent[0].wr.wr.ud.remote_qpn, ==, 5);
	g_assert_cmpuint(d->sent[0].inlined_length, ==, 8);
	device_complete(d, IBV_WC_SUCCESS);
	data_qp_end(&qp);
	g_assert_cmpint(vib_ah_ops.destroy(ah), ==, RI_SUCCESS);
}

/* A list costs one call of the device, whatever is in it. */
static void
test_list(void)
{
	struct device *d RI_AT_END(device_free) = device_new();
	struct data_region region RI_AT_END(data_region_free);
	struct vib_qp *qp RI_AT_END(data_qp_end) = qp_new(d, false, 48);
	struct ri_sge one;

	data_region_new(d, &region, 1000);
	one = region.sge;
	one.length = 16;
	for (unsigned i = 0; i < LIST; i++) {
		static const uint32_t kinds[] = {0, RI_WR_INLINE, RI_WR_IMMEDIATE,
						 RI_WR_IMMEDIATE | RI_WR_INLINE};
		uint32_t flags = kinds[i % 4] | (i < LIST - 1 ? RI_WR_COALESCE : 0);

		g_assert_cmpuint(d->calls, ==, 0);
		g_assert_cmpint(
			post(qp,
			     request(&one, 1, i % 3 == 0 ? RI_OP_SEND : RI_OP_RDMA_WRITE, flags)),
			==, RI_SUCCESS);
	}
	g_assert_cmpuint(d->calls, ==, 1);
	g_assert_cmpuint(d->sends, ==, LIST);
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/ib/inline/data", test_inline);
	g_test_add_func("/ib/inline/refused", test_inline_refused);
	g_test_add_func("/ib/inline/room", test_inline_room);
	g_test_add_func("/ib/inline/kept", test_inline_kept);
	g_test_add_func("/ib/inline/immediate", test_immediate);
	g_test_add_func("/ib/inline/received", test_received);
	g_test_add_func("/ib/inline/datagram", test_datagram);
	g_test_add_func("/ib/inline/list", test_list);
	return g_test_run();
}
