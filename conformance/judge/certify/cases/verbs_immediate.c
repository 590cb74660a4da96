/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Immediate data: with Sends, Writes and datagrams, each if it is claimed, and refused if it is not. */

#include <string.h>

#include "verbs_pair.h"
#include "verbs_ud.h"

static const uint32_t values[] = {0, 1, 0x01020304, 0x04030201, 0x80000000, 0x00ff00ff, 0xffffffff};

static struct ri_wr
immediate_wr(enum ri_opcode opcode, uint64_t id, const struct ri_sge *sge, uint32_t imm)
{
	return (struct ri_wr){.wr_id = id,
			      .opcode = (uint8_t)opcode,
			      .sgl = sge,
			      .num_sge = sge != NULL,
			      .flags = RI_WR_SIGNALED | RI_WR_IMMEDIATE,
			      .imm = imm};
}

/* A Write into the memory of the far side. */
static struct ri_wr
write_wr(struct pair *pair, uint64_t id, const struct ri_sge *sge, uint32_t imm)
{
	struct ri_wr wr = immediate_wr(RI_OP_RDMA_WRITE, id, sge, imm);

	wr.u.remote =
		(struct ri_wr_remote){.addr = (uintptr_t)pair->into->at, .stag = pair->into->stag};
	return wr;
}

/* The completion of a receive with that immediate data; all flags but those two are looked at elsewhere. */
static struct ri_wc
brought(struct cert_end *end, uint64_t id, enum ri_opcode opcode, uint32_t length, uint32_t imm)
{
	struct cert *cert = end->node->cert;
	struct ri_wc wc = cert_wc_is(end, true, id, RI_WC_SUCCESS);

	CERT_UINT(cert, wc.opcode, ==, opcode);
	CERT_UINT(cert, wc.flags & (RI_WC_RECEIVE | RI_WC_IMMEDIATE), ==,
		  RI_WC_RECEIVE | RI_WC_IMMEDIATE);
	CERT_UINT(cert, wc.byte_len, ==, length);
	CERT_BYTES(cert, &wc.imm, &imm, sizeof(imm));
	return wc;
}

/* With data and without. A Send without immediate data never has the flag. */
static void
sends(struct cert *cert)
{
	struct pair pair;
	struct ri_wc wc;
	uint64_t id = 0;

	pair_connected(&pair, cert);
	for (size_t i = 0; i < G_N_ELEMENTS(values); i++) {
		for (uint32_t length = 0; length <= 64; length += 32) {
			struct ri_sge sge = cert_sge(pair.from, 0, length);
			struct ri_wr wr = immediate_wr(RI_OP_SEND, id, &sge, values[i]);

			cert_fill(pair.from->at, length, (uint32_t)id);
			cert_post_recv(pair.b, id, &pair.sink, 1);
			cert_post(pair.a, &wr);
			brought(pair.b, id, RI_OP_RECV, length, values[i]);
			cert_expect_fill(cert, "what arrived", pair.into->at, length, (uint32_t)id);
			wc = cert_wc_is(pair.a, false, id++, RI_WC_SUCCESS);
			CERT_UINT(cert, wc.opcode, ==, RI_OP_SEND);
			CERT_UINT(cert, wc.flags & RI_WC_IMMEDIATE, ==, 0);
		}
		cert_post_recv(pair.b, id, &pair.sink, 1);
		cert_post_send(pair.a, id, &pair.source, 1, 0);
		wc = cert_wc_is(pair.b, true, id, RI_WC_SUCCESS);
		CERT_UINT(cert, wc.flags & RI_WC_IMMEDIATE, ==, 0);
		cert_wc_is(pair.a, false, id++, RI_WC_SUCCESS);
	}
}

/* The data is in the memory that the Write names, and the segments of the receive are left alone. */
static void
writes(struct cert *cert)
{
	static const uint32_t lengths[] = {0, 1, 64, 1023, 2048};
	struct pair pair;
	uint64_t id = 0;

	pair_connected(&pair, cert);
	for (size_t i = 0; i < G_N_ELEMENTS(values); i++) {
		for (size_t j = 0; j < G_N_ELEMENTS(lengths); j++) {
			struct ri_sge sge = cert_sge(pair.from, 0, lengths[j]);
			struct ri_sge unused = cert_sge(pair.into, 3000, 64);
			struct ri_wr wr = write_wr(&pair, id, &sge, values[i]);
			bool bare = j % 2 == 1;
			struct ri_wc wc;

			cert_note(cert, "%u octets, receive %s segments", lengths[j],
				  bare ? "without" : "with");
			cert_fill(pair.from->at, lengths[j], (uint32_t)id);
			memset(pair.into->at, 0x5a, VERBS_MEMORY);
			cert_post_recv(pair.b, id, bare ? NULL : &unused, bare ? 0 : 1);
			cert_post(pair.a, &wr);
			brought(pair.b, id, RI_OP_RECV_WRITE, lengths[j], values[i]);
			cert_expect_fill(cert, "what was written", pair.into->at, lengths[j],
					 (uint32_t)id);
			for (unsigned at = 3000; at < 3064; at++)
				CERT_UINT(cert, pair.into->at[at], ==, 0x5a);
			wc = cert_wc_is(pair.a, false, id++, RI_WC_SUCCESS);
			CERT_UINT(cert, wc.opcode, ==, RI_OP_RDMA_WRITE);
		}
	}
}

/* Sends and Writes with immediate data take the receives in the order in which they were posted. */
static void
order(struct cert *cert)
{
	struct pair pair;
	struct ri_wr wr;

	pair_connected(&pair, cert);
	for (uint64_t id = 0; id < 8; id++)
		cert_post_recv(pair.b, id, &pair.sink, 1);
	for (uint32_t id = 0; id < 8; id++) {
		if (id % 2 == 0)
			cert_post_send(pair.a, id, &pair.source, 1, 0);
		else
			wr = write_wr(&pair, id, &pair.source, 0x1000 + id), cert_post(pair.a, &wr);
	}
	for (uint32_t id = 0; id < 8; id++) {
		if (id % 2 == 0)
			CERT_UINT(cert, cert_wc_is(pair.b, true, id, RI_WC_SUCCESS).opcode, ==,
				  RI_OP_RECV);
		else
			brought(pair.b, id, RI_OP_RECV_WRITE, 64, 0x1000 + id);
		cert_wc_is(pair.a, false, id, RI_WC_SUCCESS);
	}
}

/* A Write whose immediate data finds no receive is like a Send that finds none. */
static void
write_without_receive(struct cert *cert)
{
	struct pair pair;
	struct ri_wr wr;

	pair_connected(&pair, cert);
	wr = write_wr(&pair, 1, &pair.source, 77);
	cert_post(pair.a, &wr);
	if (cert_attr(cert)->rnr_mode == RI_RNR_TERMINATE) {
		cert_wait_end(pair.a);
		cert_wait_end(pair.b);
		return;
	}
	for (unsigned i = 0; i < 5; i++)
		cert_progress(cert);
	cert_post_recv(pair.b, 2, NULL, 0);
	brought(pair.b, 2, RI_OP_RECV_WRITE, 64, 77);
	cert_wc_is(pair.a, false, 1, RI_WC_SUCCESS);
}

static void
write_inline(struct cert *cert)
{
	struct cert_node *node = cert_node_open(cert);
	struct ri_qp_init init = cert_end_defaults(node);
	uint8_t octets[8] = "inlined";
	struct ri_sge sge = {.addr = (uintptr_t)octets,
			     .length = MIN(sizeof(octets), cert_attr(cert)->max_inline)};
	struct pair pair;
	struct ri_wr wr;

	cert_node_close(node);
	init.max_inline = sge.length;
	pair_open(&pair, cert, &init);
	cert_connect(pair.a, pair.b);
	wr = write_wr(&pair, 1, &sge, 0xa1b2c3d4);
	wr.flags |= RI_WR_INLINE;
	cert_post_recv(pair.b, 2, NULL, 0);
	cert_post(pair.a, &wr);
	memset(octets, 0, sizeof(octets));
	brought(pair.b, 2, RI_OP_RECV_WRITE, sge.length, 0xa1b2c3d4);
	CERT_BYTES(cert, pair.into->at, "inlined", MIN(7, sge.length));
	cert_wc_is(pair.a, false, 1, RI_WC_SUCCESS);
}

static void
datagrams(struct cert *cert)
{
	struct mail mail;

	mail_open(&mail, cert);
	for (uint32_t i = 0; i < G_N_ELEMENTS(values); i++) {
		struct ri_sge sge = cert_sge(mail.from, 0, i * 5);
		struct ri_wr wr = mail_wr(i, &sge, &mail.to);

		wr.flags |= RI_WR_IMMEDIATE;
		wr.imm = values[i];
		mail_offer(&mail, i, 64);
		mail_offer(&mail, 100 + i, 64);
		cert_post(mail.a, &wr);
		brought(mail.b, i, RI_OP_RECV_UD, UD_GRH + i * 5, values[i]);
		cert_wc_is(mail.a, false, i, RI_WC_SUCCESS);
		mail_send(&mail, 200 + i, 7);
		CERT_UINT(cert, mail_arrives(&mail, 100 + i, 7).flags & RI_WC_IMMEDIATE, ==, 0);
	}
}

/* Not with an invalidation, and not with a request that sends no message of that kind. */
static void
nonsense(struct cert *cert)
{
	static const enum ri_opcode opcodes[] = {RI_OP_RDMA_READ, RI_OP_FETCH_ADD, RI_OP_CMP_SWAP,
						 RI_OP_BIND_MW, RI_OP_LOCAL_INV};
	struct pair pair;
	struct ri_wr wr;

	pair_connected(&pair, cert);
	wr = immediate_wr(RI_OP_SEND, 1, &pair.source, 1);
	wr.flags |= RI_WR_INVALIDATE;
	wr.inv_stag = pair.into->stag;
	CERT_FAST(cert, RI_ERR_UNSUPPORTED, pair.near->p->fast->post_sq(pair.a->uqp, &wr));
	for (size_t i = 0; i < G_N_ELEMENTS(opcodes); i++) {
		struct ri_sge sge = cert_sge(pair.from, 0, 8);

		wr = write_wr(&pair, 2, &sge, 1);
		wr.opcode = (uint8_t)opcodes[i];
		if (opcodes[i] == RI_OP_BIND_MW || opcodes[i] == RI_OP_LOCAL_INV)
			wr.num_sge = 0;
		cert_note(cert, "%s", ri_opcode_name(opcodes[i]));
		CERT_FAST(cert, RI_ERR_UNSUPPORTED, pair.near->p->fast->post_sq(pair.a->uqp, &wr));
	}
	CERT_UINT(cert, cert_end_attr(pair.a).state, ==, RI_QPS_RTS);
}

/* An adapter of an older version does not know the flag, and nobody passes it. */
static bool
too_old(struct cert *cert)
{
	if (cert_provider_raw(cert)->abi_minor < 7)
		cert_skip(cert, "the provider is of a version without immediate data");
	return cert_provider_raw(cert)->abi_minor < 7;
}

static void
refused(struct cert *cert, enum ri_opcode opcode)
{
	struct pair pair;
	struct ri_wr wr;

	if (too_old(cert))
		return;
	pair_connected(&pair, cert);
	cert_post_recv(pair.b, 1, &pair.sink, 1);
	wr = write_wr(&pair, 2, &pair.source, 1);
	wr.opcode = (uint8_t)opcode;
	CERT_FAST(cert, RI_ERR_UNSUPPORTED, pair.near->p->fast->post_sq(pair.a->uqp, &wr));
	cert_note(cert, "nothing was posted");
	cert_post_send(pair.a, 3, &pair.source, 1, 0);
	CERT_UINT(cert, cert_wc_is(pair.b, true, 1, RI_WC_SUCCESS).flags & RI_WC_IMMEDIATE, ==, 0);
	cert_wc_is(pair.a, false, 3, RI_WC_SUCCESS);
}

static void
send_refused(struct cert *cert)
{
	refused(cert, RI_OP_SEND);
}

static void
write_refused(struct cert *cert)
{
	refused(cert, RI_OP_RDMA_WRITE);
}

static void
datagram_refused(struct cert *cert)
{
	struct mail mail;
	struct ri_sge sge;
	struct ri_wr wr;

	if (too_old(cert))
		return;
	mail_open(&mail, cert);
	sge = cert_sge(mail.from, 0, 8);
	wr = mail_wr(1, &sge, &mail.to);
	wr.flags |= RI_WR_IMMEDIATE;
	mail_offer(&mail, 2, 64);
	CERT_FAST(cert, RI_ERR_UNSUPPORTED, mail.near->p->fast->post_sq(mail.a->uqp, &wr));
	mail_send(&mail, 3, 8);
	CERT_UINT(cert, mail_arrives(&mail, 2, 8).flags & RI_WC_IMMEDIATE, ==, 0);
}

static const struct cert_case cases[] = {
	{.id = "verbs.immediate.send.0001",
	 .title = "Immediate data of a Send comes with the completion of its receive, octet for "
		  "octet",
	 .rule = "[RI 3.1.3] [RI 10.50] [RI 10.4]",
	 .needs = "immediate_with:RI_IMMEDIATE_SEND",
	 .settles = "immediate_with immediate_size immediate_separate",
	 .run = sends},
	{.id = "verbs.immediate.write.0001",
	 .title = "A Write with immediate data takes a receive whose segments are not used, after "
		  "its data was placed",
	 .rule = "[RI 3.1.3] [RI 10.50] [RI 10.4]",
	 .needs = "immediate_with:RI_IMMEDIATE_WRITE",
	 .settles = "immediate_with immediate_size immediate_separate",
	 .run = writes},
	{.id = "verbs.immediate.write.0002",
	 .title = "Sends and Writes with immediate data take receives in their order",
	 .rule = "[RI 10.50]",
	 .needs = "immediate_with:RI_IMMEDIATE_WRITE",
	 .run = order},
	{.id = "verbs.immediate.write.0003",
	 .title = "A Write whose immediate data finds no receive is like such a Send",
	 .rule = "[RI 10.50] [RI 10.19]",
	 .needs = "immediate_with:RI_IMMEDIATE_WRITE",
	 .run = write_without_receive},
	{.id = "verbs.immediate.write.0004",
	 .title = "A Write can be inline and have immediate data",
	 .rule = "[RI 10.50] [RI 10.49]",
	 .needs = "immediate_with:RI_IMMEDIATE_WRITE inline_data",
	 .run = write_inline},
	{.id = "verbs.immediate.ud.0001",
	 .title = "Immediate data of a datagram comes with the completion of its receive, octet "
		  "for octet",
	 .rule = "[RI 10.50]",
	 .needs = "immediate_with:RI_IMMEDIATE_UD ud",
	 .settles = "immediate_with",
	 .run = datagrams},
	{.id = "verbs.immediate.opcode.0001",
	 .title = "Immediate data is refused with an invalidation, and with every other kind of "
		  "request",
	 .rule = "[RI 10.50]",
	 .needs = "immediate_with",
	 .run = nonsense},
	{.id = "verbs.immediate.absent.0001",
	 .title = "Without the claim a Send with immediate data is refused",
	 .rule = "[RI 10.50]",
	 .needs = "!immediate_with:RI_IMMEDIATE_SEND",
	 .settles = "immediate_with immediate_size immediate_separate",
	 .run = send_refused},
	{.id = "verbs.immediate.absent.0002",
	 .title = "Without the claim a Write with immediate data is refused",
	 .rule = "[RI 10.50]",
	 .needs = "!immediate_with:RI_IMMEDIATE_WRITE",
	 .settles = "immediate_with",
	 .run = write_refused},
	{.id = "verbs.immediate.absent.0003",
	 .title = "Without the claim a datagram with immediate data is refused",
	 .rule = "[RI 10.50]",
	 .needs = "!immediate_with:RI_IMMEDIATE_UD ud",
	 .settles = "immediate_with",
	 .run = datagram_refused},
};

CERT_SET(verbs_immediate, cases);
