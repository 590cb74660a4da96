/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * A random sequence of datagrams, compared with a model: two senders and two receivers, lists of
 * any segments at both sides, keys that are changed and keys that are wrong, and address handles
 * for the same destination and a group, which are created, changed and destroyed, while the
 * receivers join and leave the group, in any order. A receive is always posted, so a datagram that
 * should not arrive would consume it. All octets of the receivers' memory are compared.
 */

#include "verbs_ud.h"

#define STEPS     500u
#define HANDLES   4u
#define ROOM      190u /* octets of a datagram, at most */
#define SEGMENTS  4u
#define GROUP_QPN 0xffffffu
#define SPREAD    (UD_GRH + ROOM + 8u * SEGMENTS) /* octets that a receive lies in */

struct handle {
	struct ri_ah *ah; /* NULL: none */
	uint32_t id;
	bool group; /* it leads to the group */
};

struct receiver {
	struct cert_end *end;
	uint32_t qpn, key;
	uint64_t id; /* of the receive that is there */
	struct ri_sge sgl[SEGMENTS];
	unsigned count;
	size_t at;   /* where that receive lies */
	bool member; /* of the group */
};

struct walk {
	struct cert *cert;
	struct cert_node *near, *far;
	struct cert_end *senders[2];
	struct receiver receivers[2];
	struct cert_region *from, *into;
	uint8_t is[2 * SPREAD]; /* what the memory of the receivers must be */
	struct handle handles[HANDLES];
	uint64_t next;
};

static bool
chance(struct walk *walk, uint32_t one_in)
{
	return cert_random_below(walk->cert, one_in) == 0;
}

/* --- handles ------------------------------------------------------------------------------------- */

static struct ri_addr
group_of(struct walk *walk)
{
	if (cert_address(walk->far).family == RI_ADDR_IPV4)
		return (struct ri_addr){.family = RI_ADDR_IPV4, .octets = {239, 27, 27, 27}};
	return (struct ri_addr){.family = cert_address(walk->far).family,
				.octets = {0xff, 0x12, [13] = 27, [14] = 27, [15] = 27}};
}

/* To the receivers, or to the group, if there are groups. */
static struct ri_ah_init
way_of(struct walk *walk, bool *group)
{
	*group = cert_attr(walk->cert)->multicast && chance(walk, 2);
	return (struct ri_ah_init){.dest = *group ? group_of(walk) : cert_address(walk->far)};
}

static void
step_handle(struct walk *walk)
{
	struct handle *handle = &walk->handles[cert_random_below(walk->cert, HANDLES)];
	const struct ri_ah_ops *ah = walk->near->p->ah;
	struct ri_ah_init way;

	if (handle->ah == NULL) {
		way = way_of(walk, &handle->group);
		CERT_VERB(walk->cert, RI_SUCCESS,
			  ah->create(walk->near->pd, &way, &handle->ah, &handle->id));
		for (unsigned i = 0; i < HANDLES; i++)
			CERT_TRUE(walk->cert, &walk->handles[i] == handle ||
						      walk->handles[i].ah == NULL ||
						      walk->handles[i].id != handle->id);
	} else if (chance(walk, 3)) {
		CERT_VERB(walk->cert, RI_SUCCESS, ah->destroy(handle->ah));
		handle->ah = NULL;
	} else {
		way = way_of(walk, &handle->group);
		CERT_VERB(walk->cert, RI_SUCCESS, ah->modify(handle->ah, &way));
	}
}

/* --- datagrams -------------------------------------------------------------------------------------- */

/* A receive that takes the longest datagram: segments of any lengths, the last of which has the rest. */
static void
offer(struct walk *walk, struct receiver *receiver)
{
	uint32_t most = MIN(SEGMENTS, receiver->end->init.max_recv_sge);
	uint32_t left = UD_GRH + ROOM;
	size_t at = receiver->at;

	receiver->count = 1 + cert_random_below(walk->cert, most);
	for (unsigned i = 0; i < receiver->count; i++) {
		uint32_t length =
			cert_random_below(walk->cert, chance(walk, 2) ? UD_GRH + 2 : left + 1);

		length = i == receiver->count - 1 ? left : MIN(length, left);
		at += cert_random_below(walk->cert, 8);
		receiver->sgl[i] = cert_sge(walk->into, at, length);
		at += length;
		left -= length;
	}
	receiver->id = walk->next++;
	cert_post_recv(receiver->end, receiver->id, receiver->sgl, receiver->count);
}

/* Copy a message into the segments of a receive, in the model; the header is as it came. */
static void
placed(struct walk *walk, const struct receiver *receiver, const uint8_t *message, uint32_t length)
{
	uint32_t done = 0;

	for (unsigned i = 0; i < receiver->count; i++) {
		for (uint32_t k = 0; k < receiver->sgl[i].length && done < UD_GRH + length;
		     k++, done++) {
			size_t at = receiver->sgl[i].addr - (uintptr_t)walk->into->at + k;

			walk->is[at] = done < UD_GRH ? walk->into->at[at] : message[done - UD_GRH];
		}
	}
}

/* What a sender posts. */
struct letter {
	struct ri_wr wr;
	struct ri_sge sgl[SEGMENTS];
	uint8_t octets[ROOM];
	uint32_t length;
};

static void
letter_make(struct walk *walk, struct letter *letter, const struct cert_end *sender)
{
	const struct ri_rnic_attr *attr = cert_attr(walk->cert);
	uint32_t most = MIN(SEGMENTS, sender->init.max_send_sge);
	uint32_t count = cert_random_below(walk->cert, most + 1);
	uint32_t limit = MIN(ROOM, walk->near->attr.max_ud_message);
	size_t at = 0;

	memset(letter, 0, sizeof(*letter));
	letter->wr = (struct ri_wr){.wr_id = walk->next++,
				    .opcode = RI_OP_SEND_UD,
				    .sgl = letter->sgl,
				    .num_sge = (uint16_t)count,
				    .flags = RI_WR_SIGNALED};
	for (uint32_t i = 0; i < count; i++) {
		uint32_t length = MIN(limit - letter->length,
				      cert_random_below(walk->cert, limit / count + 1));

		at += cert_random_below(walk->cert, 8);
		letter->sgl[i] = cert_sge(walk->from, at, length);
		for (uint32_t k = 0; k < length; k++)
			letter->octets[letter->length++] = walk->from->at[at + k] =
				(uint8_t)cert_random(walk->cert);
		at += length;
	}
	if ((attr->immediate_with & RI_IMMEDIATE_UD) != 0 && chance(walk, 2)) {
		letter->wr.flags |= RI_WR_IMMEDIATE;
		letter->wr.imm = chance(walk, 4) ? 0 : (uint32_t)cert_random(walk->cert);
	}
	letter->wr.flags |= chance(walk, 2) ? RI_WR_SOLICITED : 0u;
	if (attr->inline_data && letter->length <= sender->init.max_inline && chance(walk, 2))
		letter->wr.flags |= RI_WR_INLINE;
}

static void
arrived(struct walk *walk, struct receiver *receiver, const struct letter *letter, uint32_t source)
{
	struct cert *cert = walk->cert;
	uint32_t flags = letter->wr.flags;
	struct ri_wc wc = cert_wc_is(receiver->end, true, receiver->id, RI_WC_SUCCESS);

	CERT_UINT(cert, wc.opcode, ==, RI_OP_RECV_UD);
	CERT_UINT(cert, wc.byte_len, ==, UD_GRH + letter->length);
	CERT_UINT(cert, wc.src_qpn, ==, source);
	CERT_UINT(cert, (wc.flags & RI_WC_IMMEDIATE) != 0, ==, (flags & RI_WR_IMMEDIATE) != 0);
	if ((flags & RI_WR_IMMEDIATE) != 0)
		CERT_UINT(cert, wc.imm, ==, letter->wr.imm);
	if (cert_attr(cert)->solicited_works)
		CERT_UINT(cert, (wc.flags & RI_WC_SOLICITED) != 0, ==,
			  (flags & RI_WR_SOLICITED) != 0);
	placed(walk, receiver, letter->octets, letter->length);
	offer(walk, receiver);
}

/* What leads to a receiver or a group that it is in, with the key that it has now, arrives; nothing else does. */
static void
step_send(struct walk *walk)
{
	struct cert_end *sender = walk->senders[cert_random_below(walk->cert, 2)];
	struct receiver *receiver = &walk->receivers[cert_random_below(walk->cert, 2)];
	const struct handle *handle = &walk->handles[cert_random_below(walk->cert, HANDLES)];
	bool wrong = chance(walk, 8);
	struct letter letter;

	if (handle->ah == NULL)
		return;
	letter_make(walk, &letter, sender);
	letter.wr.u.ud = (struct ri_wr_ud){
		.ah = handle->id,
		.qpn = handle->group ? GROUP_QPN : receiver->qpn,
		.qkey = wrong ? receiver->key ^ 1u << cert_random_below(walk->cert, 31)
			      : receiver->key};
	cert_note(walk->cert, "%u octets of %u segments to %s%u with %s key, flags 0x%x",
		  letter.length, letter.wr.num_sge, handle->group ? "the group, not to " : "",
		  receiver == &walk->receivers[1], wrong ? "a wrong" : "its", letter.wr.flags);
	cert_post(sender, &letter.wr);
	memset(&letter.sgl, 0xee, sizeof(letter.sgl));
	CERT_UINT(walk->cert, cert_wc_is(sender, false, letter.wr.wr_id, RI_WC_SUCCESS).byte_len,
		  ==, letter.length);
	for (unsigned i = 0; i < 2; i++) {
		struct receiver *to = &walk->receivers[i];

		if ((handle->group ? to->member : to == receiver) && to->key == letter.wr.u.ud.qkey)
			arrived(walk, to, &letter, cert_end_attr(sender).qpn);
	}
	CERT_BYTES(walk->cert, walk->into->at, walk->is, sizeof(walk->is));
	cert_region_guards(walk->into);
}

/* Another key of a receiver; the ones before it are of no use then. */
static void
change_key(struct walk *walk, struct receiver *receiver)
{
	struct ri_qp_attr attr = {.qkey = (uint32_t)cert_random(walk->cert) & 0x7fffffff};

	CERT_VERB(walk->cert, RI_SUCCESS,
		  walk->far->p->qp->modify(receiver->end->qp, &attr, RI_QP_ATTR_QKEY));
	receiver->key = attr.qkey;
	CERT_UINT(walk->cert, cert_end_attr(receiver->end).qkey, ==, attr.qkey);
}

/* A datagram to the group that is still on its way has another key than a new member. */
static void
step_member(struct walk *walk)
{
	struct receiver *receiver = &walk->receivers[cert_random_below(walk->cert, 2)];
	const struct ri_qp_ops *qp = walk->far->p->qp;
	struct ri_addr group = group_of(walk);

	if (!cert_attr(walk->cert)->multicast)
		return;
	change_key(walk, receiver);
	if (receiver->member)
		CERT_VERB(walk->cert, RI_SUCCESS, qp->mcast_detach(receiver->end->qp, &group));
	else
		CERT_VERB(walk->cert, RI_SUCCESS, qp->mcast_attach(receiver->end->qp, &group));
	receiver->member = !receiver->member;
}

/* --- the walk ---------------------------------------------------------------------------------------- */

static void
walk_open(struct walk *walk, struct cert *cert)
{
	struct ri_qp_init init;

	walk->cert = cert;
	walk->near = cert_node_open(cert);
	walk->far = cert_node_open(cert);
	walk->from = cert_region_new(walk->near, SPREAD, CERT_ALL);
	walk->into = cert_region_new(walk->far, sizeof(walk->is), CERT_ALL);
	cert_fill(walk->is, sizeof(walk->is), 27);
	memcpy(walk->into->at, walk->is, sizeof(walk->is));
	init = ud_init(walk->near);
	init.max_inline = cert_attr(cert)->inline_data ? MIN(ROOM, cert_attr(cert)->max_inline) : 0;
	for (unsigned i = 0; i < 2; i++) {
		struct receiver *receiver = &walk->receivers[i];

		walk->senders[i] = cert_end_new(walk->near, &init);
		receiver->end = cert_end_new(walk->far, &init);
		receiver->qpn = cert_end_attr(receiver->end).qpn;
		receiver->key = UD_KEY;
		receiver->at = i * (size_t)SPREAD;
		offer(walk, receiver);
	}
}

static void
mail_walk(struct cert *cert)
{
	g_autofree struct walk *walk = g_new0(struct walk, 1);

	walk_open(walk, cert);
	for (unsigned step = 0; step < STEPS; step++) {
		switch (cert_random_below(cert, 10)) {
		case 0:
		case 1:
			step_handle(walk);
			break;
		case 2:
			change_key(walk, &walk->receivers[cert_random_below(cert, 2)]);
			break;
		case 3:
			step_member(walk);
			break;
		default:
			step_send(walk);
			break;
		}
	}
	for (unsigned i = 0; i < 2; i++) {
		cert_wc_none(walk->receivers[i].end, true);
		CERT_UINT(cert, cert_end_attr(walk->receivers[i].end).state, ==, RI_QPS_RTS);
		CERT_UINT(cert, cert_end_attr(walk->senders[i]).state, ==, RI_QPS_RTS);
	}
}

static const struct cert_case cases[] = {
	{.id = "verbs.walk.datagram.0001",
	 .title = "Datagrams arrive where they must and nowhere else, however handles and keys "
		  "change",
	 .rule = "[RI 10.34] [RI 3.1] [IT 5.4]",
	 .needs = "ud",
	 .settles = "ud",
	 .run = mail_walk},
};

CERT_SET(verbs_walks_mail, cases);
