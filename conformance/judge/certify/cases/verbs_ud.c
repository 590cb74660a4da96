/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Datagrams: what arrives and what is told of it, the routing header, keys, what is dropped, what fails. */

#include "verbs_ud.h"

/* --- data ---------------------------------------------------------------------------------- */

/* One datagram of that length, read and placed at that offset; the byte behind it is left alone. */
static void
one_of(struct mail *mail, uint64_t id, uint32_t length, uint32_t offset)
{
	struct ri_sge source = cert_sge(mail->from, offset, length);
	struct ri_sge sink = cert_sge(mail->into, offset, UD_GRH + length + 1);
	struct ri_wr wr = mail_wr(id, &source, &mail->to);
	uint8_t *at = mail->into->at + offset;

	cert_note(mail->cert, "%u octets at offset %u", length, offset);
	cert_fill(mail->from->at + offset, length, (uint32_t)id);
	memset(at, 0x5a, UD_GRH + length + 1);
	cert_post_recv(mail->b, id, &sink, 1);
	cert_post(mail->a, &wr);
	cert_wc_is(mail->a, false, id, RI_WC_SUCCESS);
	mail_arrives(mail, id, length);
	cert_expect_fill(mail->cert, "what arrived", at + UD_GRH, length, (uint32_t)id);
	CERT_UINT(mail->cert, at[UD_GRH + length], ==, 0x5a);
}

static void
lengths(struct cert *cert)
{
	static const uint32_t small[] = {0,  1,  2,  3,  4,   5,   7,   8,    9,    15,   16,
					 17, 63, 64, 65, 255, 256, 257, 1023, 1024, 1025, 2048};
	struct mail mail;
	uint64_t id = 1;

	mail_open(&mail, cert);
	for (size_t i = 0; i < G_N_ELEMENTS(small) && small[i] < mail.limit - 1; i++) {
		for (uint32_t offset = 0; offset < 8; offset += 1 + small[i] % 3)
			one_of(&mail, id++, small[i], offset);
	}
	one_of(&mail, id++, mail.limit - 1, 3);
	one_of(&mail, id++, mail.limit, 0);
	one_of(&mail, id, mail.limit, 1);
	cert_wc_none(mail.b, true);
	mail_undisturbed(&mail);
}

/* The boundaries of the segments lie inside the header and inside the data. */
static void
segments(struct cert *cert)
{
	struct mail mail;
	struct ri_sge source[3], sink[3];
	struct ri_wr wr;
	uint32_t out, in;

	mail_open(&mail, cert);
	out = MIN(3, mail.a->init.max_send_sge);
	in = MIN(3, mail.b->init.max_recv_sge);
	for (uint32_t i = 0; i < out; i++)
		source[i] = cert_sge(mail.from, i * 100, 7 + i * 6);
	for (uint32_t i = 0; i < in; i++)
		sink[i] = cert_sge(mail.into, i * 100, 23 + i * 19);
	uint32_t length = out * 7 + out * (out - 1) * 3;
	wr = mail_wr(1, source, &mail.to);
	wr.num_sge = (uint16_t)out;
	if (in < 3)
		sink[0].length = UD_GRH + length;
	cert_fill(mail.from->at, UD_ROOM, 5);
	cert_post_recv(mail.b, 1, sink, in);
	cert_post(mail.a, &wr);
	cert_wc_is(mail.a, false, 1, RI_WC_SUCCESS);
	mail_arrives(&mail, 1, length);

	uint8_t sent[64], got[UD_GRH + 64];
	uint32_t end = 0;

	for (uint32_t i = 0; i < out; i++) {
		memcpy(sent + end, mail.from->at + i * 100, source[i].length);
		end += source[i].length;
	}
	CERT_UINT(cert, end, ==, length);
	end = 0;
	for (uint32_t i = 0; i < in && end < UD_GRH + length; i++) {
		uint32_t part = MIN(sink[i].length, UD_GRH + length - end);

		memcpy(got + end, mail.into->at + i * 100, part);
		end += part;
	}
	CERT_UINT(cert, end, ==, UD_GRH + length);
	CERT_BYTES(cert, got + UD_GRH, sent, length);
}

/* An address as a GID: an IPv4 address is mapped. */
static void
gid_of(const struct ri_addr *addr, uint8_t gid[16])
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

	if (addr->family == RI_ADDR_IPV4) {
		memcpy(gid, mapped, sizeof(mapped));
		memcpy(gid + 12, addr->octets, 4);
	} else {
		memcpy(gid, addr->octets, 16);
	}
}

/* What the receiver is told is enough for an answer. */
static void
sender_is_told(struct cert *cert)
{
	struct ri_ah_init way = {0};
	struct ri_ah *back = NULL;
	struct ri_wr_ud to = {.qkey = UD_KEY};
	struct mail mail;
	struct ri_sge sge;
	struct ri_wr wr;
	struct ri_wc wc;
	uint8_t gid[16];

	mail_open(&mail, cert);
	mail_offer(&mail, 1, 64);
	mail_send(&mail, 2, 10);
	wc = mail_arrives(&mail, 1, 10);
	way.dest = cert_address(mail.near);
	gid_of(&way.dest, gid);
	CERT_BYTES(cert, wc.src_addr, gid, sizeof(gid));
	CERT_UINT(cert, wc.reserved, ==, 0);
	to.qpn = wc.src_qpn;
	CERT_VERB(cert, RI_SUCCESS, mail.far->p->ah->create(mail.far->pd, &way, &back, &to.ah));
	sge = cert_sge(mail.from, 0, UD_GRH + 32);
	cert_post_recv(mail.a, 3, &sge, 1);
	sge = cert_sge(mail.into, 0, 32);
	wr = mail_wr(4, &sge, &to);
	cert_post(mail.b, &wr);
	cert_wc_is(mail.b, false, 4, RI_WC_SUCCESS);
	wc = cert_wc_is(mail.a, true, 3, RI_WC_SUCCESS);
	CERT_UINT(cert, wc.src_qpn, ==, mail.to.qpn);
}

static void
routing_header(struct cert *cert)
{
	struct mail mail;
	struct ri_addr address;
	struct ri_wc wc;
	uint8_t gid[16];
	const uint8_t *grh;

	mail_open(&mail, cert);
	memset(mail.into->at, 0x5a, UD_GRH);
	mail_offer(&mail, 1, 64);
	mail_send(&mail, 2, 10);
	wc = mail_arrives(&mail, 1, 10);
	if ((wc.flags & RI_WC_GRH) == 0) {
		cert_note(cert, "no header is told, so there is none");
		CERT_TRUE(cert, memcmp(mail.into->at + 8, wc.src_addr, 16) != 0);
		cert_skip(cert, "datagrams between ends of this adapter have no routing header");
		return;
	}
	grh = mail.into->at;
	cert_note(cert, "version, next header, both addresses");
	address = cert_address(mail.far);
	gid_of(&address, gid);
	if (grh[UD_GRH - 20] >> 4 == 4 && wc.src_addr[10] == 0xff) {
		cert_note(cert, "the header is one of IPv4, behind 20 octets that are not used");
		CERT_UINT(cert, grh[UD_GRH - 20 + 9], ==, 17);
		CERT_BYTES(cert, grh + UD_GRH - 8, wc.src_addr + 12, 4);
		CERT_BYTES(cert, grh + UD_GRH - 4, gid + 12, 4);
		return;
	}
	CERT_UINT(cert, grh[0] >> 4, ==, 6);
	CERT_UINT(cert, grh[6], ==, 0x1b);
	CERT_BYTES(cert, grh + 8, wc.src_addr, 16);
	CERT_BYTES(cert, grh + 24, gid, 16);
}

static void
solicited(struct cert *cert)
{
	struct mail mail;
	struct ri_sge sge;
	struct ri_wr wr;
	struct ri_wc wc;

	mail_open(&mail, cert);
	sge = cert_sge(mail.from, 0, 8);
	for (uint64_t id = 1; id <= 4; id++) {
		bool asked = id % 2 == 0;

		mail_offer(&mail, id, 64);
		wr = mail_wr(id, &sge, &mail.to);
		wr.flags |= asked ? RI_WR_SOLICITED : 0u;
		cert_post(mail.a, &wr);
		cert_wc_is(mail.a, false, id, RI_WC_SUCCESS);
		wc = mail_arrives(&mail, id, 8);
		CERT_UINT(cert, (wc.flags & RI_WC_SOLICITED) != 0, ==, asked);
	}
}

/* --- what is dropped ----------------------------------------------------------------------- */

/* The datagrams that were sent before did not arrive: the first receive that is posted takes this one. */
static void
next_takes(struct mail *mail, uint64_t id)
{
	cert_wc_none(mail->b, true);
	cert_fill(mail->from->at, 16, (uint32_t)id);
	mail_send(mail, 1000 + id, 16);
	mail_arrives(mail, id, 16);
	cert_expect_fill(mail->cert, "what arrived", mail->into->at + UD_GRH, 16, (uint32_t)id);
	mail_undisturbed(mail);
}

static void
wrong_key(struct cert *cert)
{
	struct mail mail;
	struct ri_wr_ud to;

	mail_open(&mail, cert);
	to = mail.to;
	mail_offer(&mail, 1, 64);
	for (unsigned bit = 0; bit < 31; bit += 5) {
		to.qkey = UD_KEY ^ 1u << bit;
		mail_send_to(&mail, bit, 8, &to);
	}
	to.qkey = 0;
	mail_send_to(&mail, 40, 8, &to);
	next_takes(&mail, 1);
}

/* Several times: each key of before is of no use, whether or not it was used. */
static void
key_changes(struct mail *mail)
{
	struct cert *cert = mail->cert;

	CERT_UINT(cert, cert_end_attr(mail->b).qkey, ==, UD_KEY);
	for (uint32_t i = 1; i <= 3; i++) {
		const struct ri_qp_attr fresh = {.qkey = UD_KEY + i};
		struct ri_wr_ud old = mail->to;

		if (i != 2) {
			mail_offer(mail, i, 64);
			next_takes(mail, i);
		}
		CERT_VERB(cert, RI_SUCCESS,
			  mail->far->p->qp->modify(mail->b->qp, &fresh, RI_QP_ATTR_QKEY));
		CERT_UINT(cert, cert_end_attr(mail->b).qkey, ==, fresh.qkey);
		mail_offer(mail, 10 + i, 64);
		for (uint32_t before = 0; before < i; before++) {
			old.qkey = UD_KEY + before;
			mail_send_to(mail, 20 + before, 8, &old);
		}
		mail->to.qkey = fresh.qkey;
		next_takes(mail, 10 + i);
	}
}

static void
changed_key(struct cert *cert)
{
	struct cert_node *node = cert_node_open(cert);
	struct mail mail;

	mail_open(&mail, cert);
	key_changes(&mail);
	cert_note(cert, "two queue pairs of one adapter");
	mail_open_on(&mail, cert, node, node);
	key_changes(&mail);
}

static void
key_of_connected(struct cert *cert)
{
	const struct ri_qp_attr fresh = {.qkey = UD_KEY};
	struct cert_node *node = cert_node_open(cert);
	struct cert_end *end = cert_end_new(node, NULL);

	CERT_VERB(cert, RI_ERR_UNSUPPORTED, node->p->qp->modify(end->qp, &fresh, RI_QP_ATTR_QKEY));
	CERT_UINT(cert, cert_end_attr(end).state, ==, RI_QPS_IDLE);
}

/* Another number, that of a connected queue pair, and that of one that is destroyed. */
static void
no_such_pair(struct cert *cert)
{
	struct mail mail;
	struct ri_qp_init init;
	struct cert_end *gone, *connected;
	struct ri_wr_ud to;

	mail_open(&mail, cert);
	init = ud_init(mail.far);
	gone = cert_end_new(mail.far, &init);
	connected = cert_end_new(mail.far, NULL);
	to = mail.to;
	to.qpn = cert_end_attr(gone).qpn;
	cert_end_free(gone);
	mail_offer(&mail, 1, 64);
	mail_send_to(&mail, 2, 8, &to);
	to.qpn = cert_end_attr(connected).qpn;
	mail_send_to(&mail, 3, 8, &to);
	to.qpn = 0xfffffe;
	if (to.qpn != mail.to.qpn)
		mail_send_to(&mail, 4, 8, &to);
	next_takes(&mail, 1);
	CERT_UINT(cert, cert_end_attr(connected).state, ==, RI_QPS_IDLE);
}

/* A datagram to another end of the far side shows that those before it are no longer under way. */
static void
no_receive(struct cert *cert)
{
	struct mail mail;
	struct ri_qp_init init;
	struct cert_end *other;
	struct ri_wr_ud to;
	struct ri_sge sge;

	mail_open(&mail, cert);
	init = ud_init(mail.far);
	other = cert_end_new(mail.far, &init);
	to = mail.to;
	to.qpn = cert_end_attr(other).qpn;
	sge = cert_sge(mail.into, UD_ROOM / 2, UD_GRH + 64);
	cert_post_recv(other, 7, &sge, 1);
	for (uint64_t id = 2; id < 6; id++)
		mail_send(&mail, id, 8);
	mail_send_to(&mail, 6, 8, &to);
	cert_wc_is(other, true, 7, RI_WC_SUCCESS);
	mail_offer(&mail, 1, 64);
	next_takes(&mail, 1);
}

/* Datagrams that are too long for their receive: by one octet, by the route header before the data, and for an empty receive. */
static void
too_long_for_the_receive(struct cert *cert)
{
	struct mail mail;

	mail_open(&mail, cert);
	mail_offer(&mail, 1, 16);
	mail_send(&mail, 2, 17);
	mail_send(&mail, 3, 16 + UD_GRH);
	mail_send(&mail, 4, mail.limit);
	next_takes(&mail, 1);
}

/* --- what fails ---------------------------------------------------------------------------- */

/* The request of a fails with that status; what stands behind it is flushed, and the end is told once. */
static void
request_fails(struct mail *mail, const struct ri_wr *wr, enum ri_wc_status status)
{
	struct ri_sge sge = cert_sge(mail->from, 0, 64);
	struct ri_wr behind = mail_wr(77, &sge, &mail->to);

	cert_post_recv(mail->a, 5, &sge, 1);
	cert_post(mail->a, wr);
	cert_wc_is(mail->a, false, wr->wr_id, status);
	mail_ended(mail->a);
	cert_wc_is(mail->a, true, 5, RI_WC_FLUSHED);
	cert_post(mail->a, &behind);
	cert_wc_is(mail->a, false, 77, RI_WC_FLUSHED);
	CERT_UINT(mail->cert, cert_async_ends(mail->near, mail->a->ctx), ==, 1);
	cert_note(mail->cert, "the receiver hears of nothing");
	cert_wc_none(mail->b, true);
	CERT_UINT(mail->cert, cert_end_attr(mail->b).state, ==, RI_QPS_RTS);
	CERT_UINT(mail->cert, cert_async_count(mail->far, RI_EVENT_NONE, mail->b->ctx), ==, 0);
}

static void
too_long(struct cert *cert)
{
	struct mail mail;
	struct ri_sge sge;
	struct ri_wr wr;

	mail_open(&mail, cert);
	mail_offer(&mail, 1, mail.limit + 1);
	sge = cert_sge(mail.from, 0, mail.limit + 1);
	wr = mail_wr(2, &sge, &mail.to);
	request_fails(&mail, &wr, RI_WC_LOCAL_LENGTH);
}

static void
wrong_source(struct cert *cert)
{
	struct mail mail;
	struct ri_sge sge;
	struct ri_wr wr;

	mail_open(&mail, cert);
	mail_offer(&mail, 1, 64);
	sge = cert_sge(mail.from, 0, 8);
	sge.stag = mail.into->stag ^ 0xff;
	wr = mail_wr(2, &sge, &mail.to);
	request_fails(&mail, &wr, RI_WC_LOCAL_PROTECTION);
}

/* The sender is not disturbed. */
static void
wrong_sink(struct cert *cert)
{
	struct mail mail;
	struct cert_region *closed;
	struct ri_sge sge;

	mail_open(&mail, cert);
	closed = cert_region_new(mail.far, 256, RI_ACCESS_LOCAL_READ);
	sge = cert_sge(closed, 0, 256);
	cert_post_recv(mail.b, 1, &sge, 1);
	mail_offer(&mail, 2, 64);
	mail_send(&mail, 3, 8);
	cert_wc_is(mail.b, true, 1, RI_WC_LOCAL_PROTECTION);
	mail_ended(mail.b);
	cert_wc_is(mail.b, true, 2, RI_WC_FLUSHED);
	for (size_t i = 0; i < closed->length; i++)
		CERT_UINT(cert, closed->at[i], ==, 0);
	CERT_UINT(cert, cert_async_ends(mail.far, mail.b->ctx), ==, 1);
	mail_send(&mail, 4, 8);
	CERT_UINT(cert, cert_end_attr(mail.a).state, ==, RI_QPS_RTS);
}

static const struct cert_case cases[] = {
	{.id = "verbs.ud.data.0001",
	 .title = "A datagram of each length up to the limit arrives whole, at each alignment",
	 .rule = "[RI 10.34] [RI 3.1]",
	 .needs = "ud",
	 .settles = "ud max_ud_message",
	 .run = lengths},
	{.id = "verbs.ud.data.0002",
	 .title = "A datagram is gathered from segments and scattered to others",
	 .rule = "[RI 10.34] [RI 3.1]",
	 .needs = "ud",
	 .run = segments},
	{.id = "verbs.ud.data.0003",
	 .title = "The receiver is told who sent a datagram, and can answer",
	 .rule = "[RI 10.34]",
	 .needs = "ud",
	 .run = sender_is_told},
	{.id = "verbs.ud.data.0004",
	 .title = "The 40 bytes in front of the data hold the routing header, where one is told",
	 .rule = "[RI 10.34] [IT 5.4]",
	 .needs = "ud",
	 .run = routing_header},
	{.id = "verbs.ud.data.0005",
	 .title = "A datagram is solicited if its sender said so",
	 .rule = "[RI 7.3]",
	 .needs = "ud solicited_works",
	 .run = solicited},
	{.id = "verbs.ud.key.0001",
	 .title = "A datagram with another key is dropped without an event or completion",
	 .rule = "[IT 5.4]",
	 .needs = "ud",
	 .run = wrong_key},
	{.id = "verbs.ud.key.0002",
	 .title = "The key of a queue pair can be changed, and the old one is of no use then",
	 .rule = "[IT 5.4] [RI 2.2.1]",
	 .needs = "ud",
	 .run = changed_key},
	{.id = "verbs.ud.key.0003",
	 .title = "A connected queue pair has no key that could be changed",
	 .rule = "[RI 2.1.1] [RI 4.3.2]",
	 .run = key_of_connected},
	{.id = "verbs.ud.drop.0001",
	 .title = "A datagram to a number that no such queue pair has is dropped",
	 .rule = "[IT 5.4]",
	 .needs = "ud",
	 .run = no_such_pair},
	{.id = "verbs.ud.drop.0002",
	 .title = "A datagram that finds no receive is dropped",
	 .rule = "[IT 5.4]",
	 .needs = "ud",
	 .run = no_receive},
	{.id = "verbs.ud.drop.0003",
	 .title = "A datagram that is too long for the receive is dropped, and leaves the receive",
	 .rule = "[IT 5.4]",
	 .needs = "ud",
	 .run = too_long_for_the_receive},
	{.id = "verbs.ud.fail.0001",
	 .title = "A datagram above the limit fails, and ends its queue pair alone",
	 .rule = "[RI 10.34] [RI 4.3.3] [RI 8.2]",
	 .needs = "ud",
	 .settles = "max_ud_message",
	 .run = too_long},
	{.id = "verbs.ud.fail.0002",
	 .title = "A datagram from memory with another key fails, and ends its queue pair alone",
	 .rule = "[RI 4.3.3] [RI 8.2]",
	 .needs = "ud",
	 .run = wrong_source},
	{.id = "verbs.ud.fail.0003",
	 .title = "A receive into memory that is closed fails, and ends its queue pair alone",
	 .rule = "[RI 4.3.3] [RI 8.2]",
	 .needs = "ud",
	 .run = wrong_sink},
};

CERT_SET(verbs_ud, cases);
