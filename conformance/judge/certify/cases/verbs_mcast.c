/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Datagrams to groups: which queue pairs get a copy, which do not, and the verbs that attach and detach them. */

#include "verbs_ud.h"

#define GROUP_QPN 0xffffffu

/* A group of the kind of address that the adapter has; @p number makes different ones. */
static struct ri_addr
group_of(const struct ri_addr *address, uint8_t number)
{
	if (address->family == RI_ADDR_IPV4)
		return (struct ri_addr){.family = RI_ADDR_IPV4, .octets = {239, 77, 1, number}};
	return (struct ri_addr){.family = address->family,
				.octets = {0xff, 0x12, [13] = 0x77, [14] = 1, [15] = number}};
}

/* A sender and a way from it to a group. */
static struct ri_addr
group_open(struct mail *mail, struct cert *cert, uint8_t number)
{
	struct ri_ah_init way = {0};
	struct ri_addr address, group;

	mail_open(mail, cert);
	address = cert_address(mail->near);
	way.dest = group = group_of(&address, number);
	CERT_VERB(cert, RI_SUCCESS,
		  mail->near->p->ah->create(mail->near->pd, &way, &mail->ah, &mail->to.ah));
	mail->to.qpn = GROUP_QPN;
	return group;
}

static void
attach(struct cert_end *end, const struct ri_addr *group)
{
	CERT_VERB(end->node->cert, RI_SUCCESS, end->node->p->qp->mcast_attach(end->qp, group));
}

static void
detach(struct cert_end *end, const struct ri_addr *group)
{
	CERT_VERB(end->node->cert, RI_SUCCESS, end->node->p->qp->mcast_detach(end->qp, group));
}

static void
offer(struct cert_end *end, struct cert_region *region, uint64_t id)
{
	struct ri_sge sge = cert_sge(region, id * 128, UD_GRH + 64);

	cert_post_recv(end, id, &sge, 1);
}

/* The datagram with that content has come to that receive. */
static void
arrived(struct mail *mail, struct cert_end *end, struct cert_region *region, uint64_t id,
	uint32_t seed)
{
	struct ri_wc wc = cert_wc_is(end, true, id, RI_WC_SUCCESS);

	CERT_UINT(mail->cert, wc.opcode, ==, RI_OP_RECV_UD);
	CERT_UINT(mail->cert, wc.byte_len, ==, UD_GRH + 16);
	CERT_UINT(mail->cert, wc.src_qpn, ==, cert_end_attr(mail->a).qpn);
	cert_expect_fill(mail->cert, "what arrived", region->at + id * 128 + UD_GRH, 16, seed);
}

static void
say(struct mail *mail, uint32_t seed)
{
	cert_fill(mail->from->at, 16, seed);
	mail_send(mail, seed, 16);
}

/* A datagram to a group reaches each member once: members on two adapters, and the sender itself. */
static void
copies(struct cert *cert)
{
	struct cert_end *ends[4];
	struct cert_region *memory[4];
	struct ri_qp_init init;
	struct ri_addr group;
	struct mail mail;

	group = group_open(&mail, cert, 1);
	init = ud_init(mail.near);
	ends[0] = mail.a;
	ends[1] = mail.b;
	ends[2] = cert_end_new(mail.near, &init);
	ends[3] = cert_end_new(mail.far, &init);
	for (unsigned i = 0; i < 4; i++) {
		memory[i] = cert_region_new(ends[i]->node, 1024, CERT_ALL);
		attach(ends[i], &group);
		offer(ends[i], memory[i], 1);
		offer(ends[i], memory[i], 2);
	}
	for (uint32_t round = 1; round <= 2; round++) {
		say(&mail, 70 + round);
		for (unsigned i = 0; i < 4; i++)
			arrived(&mail, ends[i], memory[i], round, 70 + round);
	}
	for (unsigned i = 0; i < 4; i++) {
		cert_wc_none(ends[i], true);
		CERT_UINT(cert, cert_end_attr(ends[i]).state, ==, RI_QPS_RTS);
	}
}

/* Another key, another group, no group, and no receive: none of them gets a copy, the others do. */
static void
not_meant(struct cert *cert)
{
	struct cert_end *key, *other, *none, *empty;
	struct cert_region *memory;
	struct ri_qp_init init;
	struct ri_addr group, second;
	struct mail mail;

	group = group_open(&mail, cert, 2);
	second = group_of(&group, 3);
	init = ud_init(mail.far);
	other = cert_end_new(mail.far, &init);
	none = cert_end_new(mail.far, &init);
	empty = cert_end_new(mail.far, &init);
	init.qkey = UD_KEY + 1;
	key = cert_end_new(mail.far, &init);
	memory = cert_region_new(mail.far, 1024, CERT_ALL);
	attach(mail.b, &group);
	attach(key, &group);
	attach(empty, &group);
	attach(other, &second);
	offer(mail.b, mail.into, 1);
	offer(key, memory, 1);
	offer(other, memory, 2);
	offer(none, memory, 3);
	say(&mail, 5);
	arrived(&mail, mail.b, mail.into, 1, 5);
	cert_wc_none(key, true);
	cert_wc_none(other, true);
	cert_wc_none(none, true);
	cert_wc_none(empty, true);
	cert_note(cert, "the one without a receive gets the next");
	offer(empty, memory, 4);
	say(&mail, 6);
	arrived(&mail, empty, memory, 4, 6);
	mail_undisturbed(&mail);
}

/* Until it is detached or destroyed; twice is once. */
static void
detached(struct cert *cert)
{
	struct cert_end *gone;
	struct ri_qp_init init;
	struct ri_addr group;
	struct mail mail;

	group = group_open(&mail, cert, 4);
	init = ud_init(mail.far);
	gone = cert_end_new(mail.far, &init);
	attach(mail.b, &group);
	attach(mail.b, &group);
	attach(gone, &group);
	cert_end_free(gone);
	offer(mail.b, mail.into, 1);
	offer(mail.b, mail.into, 2);
	say(&mail, 1);
	arrived(&mail, mail.b, mail.into, 1, 1);
	cert_wc_none(mail.b, true);
	detach(mail.b, &group);
	say(&mail, 2);
	cert_wc_none(mail.b, true);
	CERT_VERB(cert, RI_ERR_INVALID_ARG, mail.far->p->qp->mcast_detach(mail.b->qp, &group));
	attach(mail.b, &group);
	say(&mail, 3);
	arrived(&mail, mail.b, mail.into, 2, 3);
	mail_undisturbed(&mail);
}

static void
statuses(struct cert *cert)
{
	const struct ri_qp_ops *qp = cert_provider(cert)->qp;
	struct ri_addr group, address;
	struct cert_end *rc;
	struct mail mail;

	group = group_open(&mail, cert, 5);
	address = cert_address(mail.near);
	rc = cert_end_new(mail.far, NULL);
	CERT_VERB(cert, RI_ERR_INVALID_ARG, qp->mcast_attach(mail.b->qp, &address));
	CERT_VERB(cert, RI_ERR_INVALID_ARG, qp->mcast_attach(mail.b->qp, &(struct ri_addr){0}));
	CERT_VERB(cert, RI_ERR_INVALID_ARG, qp->mcast_detach(mail.b->qp, &group));
	CERT_VERB(cert, RI_ERR_UNSUPPORTED, qp->mcast_attach(rc->qp, &group));
	attach(mail.b, &group);
	address = group_of(&group, 6);
	CERT_VERB(cert, RI_ERR_INVALID_ARG, qp->mcast_detach(mail.b->qp, &address));
	detach(mail.b, &group);
	mail_undisturbed(&mail);
}

static void
not_claimed(struct cert *cert)
{
	struct cert_node *node = cert_node_open(cert);
	struct ri_addr address = cert_address(node), group = group_of(&address, 7);
	struct cert_end *end;
	struct ri_qp_init init;

	if (node->attr.ud) {
		init = ud_init(node);
		end = cert_end_new(node, &init);
	} else {
		end = cert_end_new(node, NULL);
	}
	CERT_VERB(cert, RI_ERR_UNSUPPORTED, node->p->qp->mcast_attach(end->qp, &group));
	CERT_VERB(cert, RI_ERR_UNSUPPORTED, node->p->qp->mcast_detach(end->qp, &group));
}

static const struct cert_case cases[] = {
	{.id = "verbs.mcast.data.0001",
	 .title = "Each queue pair that is attached to a group gets one copy, also the sender",
	 .rule = "[RI 10.52]",
	 .needs = "multicast",
	 .settles = "multicast",
	 .run = copies},
	{.id = "verbs.mcast.data.0002",
	 .title = "Without the key, the group or a receive a queue pair gets no copy, and neither "
		  "end fails",
	 .rule = "[RI 10.52]",
	 .needs = "multicast",
	 .settles = "multicast",
	 .run = not_meant},
	{.id = "verbs.mcast.data.0003",
	 .title = "Copies come until the queue pair is detached or destroyed; attached twice is "
		  "attached once",
	 .rule = "[RI 10.52]",
	 .needs = "multicast",
	 .run = detached},
	{.id = "verbs.mcast.status.0001",
	 .title = "Addresses that are no groups, groups without the queue pair, and connected "
		  "queue pairs are refused",
	 .rule = "[RI 10.52]",
	 .needs = "multicast",
	 .run = statuses},
	{.id = "verbs.mcast.absent.0001",
	 .title = "Without the claim nothing is attached to a group",
	 .rule = "[RI 10.52] [RI 11.1.3]",
	 .needs = "!multicast",
	 .settles = "multicast",
	 .run = not_claimed},
};

CERT_SET(verbs_mcast, cases);
