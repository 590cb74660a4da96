/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Attributes of endpoints, queried and modified in every state [IT 3]. */

#include <string.h>

#include "cm_scene.h"

#define BITS 28

/* The states in which an attribute may change. */
enum when {
	NEVER,
	UNCONNECTED,
	CALM, /* unconnected and connected */
	ALWAYS
};

/* The ability of the adapter that the attribute needs. */
enum needs {
	NOTHING = 0,
	ENABLES,
	QUEUES,
	IRD
};

/* One row for each bit of the mask, from IT_EP_PARAM_ALL on. */
static const struct {
	const char *name; /* its name without IT_EP_PARAM_ */
	enum when when;
	it_status_t never; /* the status of a refusal */
	enum needs needs;
} rules[BITS] = {
	{"ALL", NEVER, IT_ERR_INVALID_MASK, NOTHING},
	{"IA", NEVER, IT_ERR_INVALID_MASK, NOTHING},
	{"SPIGOT", NEVER, IT_ERR_INVALID_MASK, NOTHING},
	{"STATE", NEVER, IT_ERR_INVALID_MASK, NOTHING},
	{"SERV_TYPE", NEVER, IT_ERR_INVALID_MASK, NOTHING},
	{"PATH", NEVER, IT_ERR_INVALID_MASK, NOTHING},
	{"PZ", NEVER, IT_ERR_INVALID_MASK, NOTHING},
	{"REQ_SEVD", NEVER, IT_ERR_INVALID_MASK, NOTHING},
	{"RECV_SEVD", NEVER, IT_ERR_INVALID_MASK, NOTHING},
	{"CONN_SEVD", NEVER, IT_ERR_INVALID_MASK, NOTHING},
	{"RDMA_RD_ENABLE", CALM, IT_SUCCESS, ENABLES},
	{"RDMA_WR_ENABLE", CALM, IT_SUCCESS, ENABLES},
	{"MAX_RDMA_READ_SEG", UNCONNECTED, IT_SUCCESS, NOTHING},
	{"MAX_RDMA_WRITE_SEG", UNCONNECTED, IT_SUCCESS, NOTHING},
	{"MAX_IRD", CALM, IT_SUCCESS, IRD},
	{"MAX_ORD", CALM, IT_SUCCESS, NOTHING}, /* to the same value */
	{"EP_ID", NEVER, IT_ERR_INVALID_MASK, NOTHING},
	{"EP_KEY", NEVER, IT_ERR_INVALID_EP_TYPE, NOTHING},
	{"MAX_PAYLOAD", UNCONNECTED, IT_SUCCESS, NOTHING},
	{"MAX_REQ_DTO", CALM, IT_SUCCESS, QUEUES},
	{"MAX_RECV_DTO", CALM, IT_SUCCESS, QUEUES},
	{"MAX_SEND_SEG", UNCONNECTED, IT_SUCCESS, NOTHING},
	{"MAX_RECV_SEG", UNCONNECTED, IT_SUCCESS, NOTHING},
	{"SRQ", NEVER, IT_ERR_INVALID_MASK, NOTHING},
	{"SOFT_HI_WATERMARK", NEVER, IT_ERR_SOFT_HI_WATERMARK, NOTHING}, /* without an S-RQ */
	{"HARD_HI_WATERMARK", NEVER, IT_ERR_HARD_HI_WATERMARK, NOTHING}, /* without an S-RQ */
	{"ATOMICS_ENABLE", CALM, IT_SUCCESS, ENABLES},
	{"PRIV_OPS_ENABLE", NEVER, IT_ERR_INVALID_MASK, NOTHING},
};

static bool
able(const it_ia_info_t *info, enum needs needs)
{
	switch (needs) {
	case ENABLES:
		return info->ep_rdma_enables_modifiable;
	case QUEUES:
		return info->ep_work_queues_resizable;
	case IRD:
		return info->rdma_read_ird_modifiable;
	case NOTHING:
		break;
	}
	return true;
}

static it_status_t
wanted(const it_ia_info_t *info, enum cm_place place, int bit)
{
	bool calm = place == CM_UNCONNECTED || place == CM_CONNECTED;

	if (rules[bit].when == NEVER)
		return rules[bit].never;
	if (rules[bit].when == UNCONNECTED && place != CM_UNCONNECTED)
		return IT_ERR_INVALID_EP_STATE;
	if (rules[bit].when == CALM && !calm)
		return IT_ERR_INVALID_EP_STATE;
	return able(info, rules[bit].needs) ? IT_SUCCESS : IT_ERR_OP_NOT_SUPPORTED;
}

static it_ep_attributes_t
attributes(const struct end *end)
{
	it_ep_param_t params;

	memset(&params, 0, sizeof(params));
	g_assert_cmpint(it_ep_query(end->ep, IT_EP_PARAM_ALL, &params), ==, IT_SUCCESS);
	return params.attr;
}

/* Each attribute is set to its present value, so that only the rule of the state decides. */
static void
test_modify_everywhere(struct pair *pair)
{
	struct cm_scene scene;

	for (int place = 0; place < CM_PLACES; place++) {
		it_ep_attributes_t attr;

		if (!cm_scene_open(&scene, pair, place))
			continue;
		attr = attributes(scene.end);
		for (int bit = 0; bit < BITS; bit++) {
			g_test_message("%s, %s", cm_place_name(place), rules[bit].name);
			g_assert_cmpint(it_ep_modify(scene.end->ep, 1u << bit, &attr), ==,
					wanted(scene.end->info, place, bit));
		}
		g_assert_cmpint(it_ep_modify(scene.end->ep, 0, &attr), ==, IT_ERR_INVALID_MASK);
		g_assert_cmpint(it_ep_modify(scene.end->ep, 1u << BITS, &attr), ==,
				IT_ERR_INVALID_MASK);
		g_assert_cmpint(it_ep_modify(scene.end->ep, IT_EP_PARAM_MAX_ORD, NULL), ==,
				IT_ERR_FAULT);
		cm_scene_close(&scene);
	}
	end_new_ep(&pair->active);
	g_assert_cmpint(it_ep_modify(NULL, IT_EP_PARAM_MAX_ORD, &pair->active.attr), ==,
			IT_ERR_INVALID_EP);
}

/*
 * Returns which members a query of one bit has written, as a mask of the same bits. The state is always written, so
 * it is left out.
 */
static unsigned int
written(const it_ep_param_t *params, unsigned char pattern)
{
	const it_rc_only_attributes_t *rc = &params->attr.srv.rc;
	unsigned char same[sizeof(it_ep_param_t)];
	const void *path = &params->dst_path; /* octets of the member, with its padding */
	unsigned int mask = 0;

	memset(same, pattern, sizeof(same));
#define MEMBER(bit_, member_) \
	(memcmp(&(member_), same, sizeof(member_)) != 0 ? (unsigned int)(bit_) : 0)
	mask |= MEMBER(IT_EP_PARAM_IA, params->ia);
	mask |= MEMBER(IT_EP_PARAM_SPIGOT, params->spigot_id);
	mask |= MEMBER(IT_EP_PARAM_STATE, params->ep_state);
	mask |= MEMBER(IT_EP_PARAM_SERV_TYPE, params->service_type);
	if (memcmp(path, same, sizeof(params->dst_path)) != 0)
		mask |= IT_EP_PARAM_PATH;
	mask |= MEMBER(IT_EP_PARAM_PZ, params->pz);
	mask |= MEMBER(IT_EP_PARAM_REQ_SEVD, params->request_sevd);
	mask |= MEMBER(IT_EP_PARAM_RECV_SEVD, params->recv_sevd);
	mask |= MEMBER(IT_EP_PARAM_CONN_SEVD, params->connect_sevd);
	mask |= MEMBER(IT_EP_PARAM_RDMA_RD_ENABLE, rc->rdma_read_enable);
	mask |= MEMBER(IT_EP_PARAM_RDMA_WR_ENABLE, rc->rdma_write_enable);
	mask |= MEMBER(IT_EP_PARAM_MAX_RDMA_READ_SEG, rc->max_rdma_read_segments);
	mask |= MEMBER(IT_EP_PARAM_MAX_RDMA_WRITE_SEG, rc->max_rdma_write_segments);
	mask |= MEMBER(IT_EP_PARAM_MAX_IRD, rc->rdma_read_ird);
	mask |= MEMBER(IT_EP_PARAM_MAX_ORD, rc->rdma_read_ord);
	mask |= MEMBER(IT_EP_PARAM_MAX_PAYLOAD, params->attr.max_dto_payload_size);
	mask |= MEMBER(IT_EP_PARAM_MAX_REQ_DTO, params->attr.max_request_dtos);
	mask |= MEMBER(IT_EP_PARAM_MAX_RECV_DTO, params->attr.max_recv_dtos);
	mask |= MEMBER(IT_EP_PARAM_MAX_SEND_SEG, params->attr.max_send_segments);
	mask |= MEMBER(IT_EP_PARAM_MAX_RECV_SEG, params->attr.max_recv_segments);
	mask |= MEMBER(IT_EP_PARAM_SRQ, rc->srq);
	mask |= MEMBER(IT_EP_PARAM_SOFT_HI_WATERMARK, rc->soft_hi_watermark);
	mask |= MEMBER(IT_EP_PARAM_HARD_HI_WATERMARK, rc->hard_hi_watermark);
	mask |= MEMBER(IT_EP_PARAM_ATOMICS_ENABLE, rc->atomics_enable);
	mask |= MEMBER(IT_EP_PARAM_PRIV_OPS_ENABLE, params->attr.priv_ops_enable);
#undef MEMBER
	return mask;
}

/* Each bit writes its member and no other in every state. The path is written from ACTIVE1 and PASSIVE on. */
static void
test_query_everywhere(struct pair *pair)
{
	const unsigned int datagram = IT_EP_PARAM_EP_ID | IT_EP_PARAM_EP_KEY;
	struct cm_scene scene;
	it_ep_param_t params;

	for (int place = 0; place < CM_PLACES; place++) {
		static const it_path_t none;
		const void *ends = &params.dst_path.u, *no_ends = &none.u;
		bool has_path;

		if (!cm_scene_open(&scene, pair, place))
			continue;
		for (int bit = 1; bit < BITS; bit++) {
			g_test_message("%s, %s", cm_place_name(place), rules[bit].name);
			memset(&params, 0xa5, sizeof(params));
			g_assert_cmpint(it_ep_query(scene.end->ep, 1u << bit, &params), ==,
					IT_SUCCESS);
			g_assert_cmphex(written(&params, 0xa5), ==, (1u << bit) & ~datagram);
		}
		memset(&params, 0xa5, sizeof(params));
		g_assert_cmpint(it_ep_query(scene.end->ep, 0, &params), ==, IT_SUCCESS);
		g_assert_cmphex(written(&params, 0xa5), ==, 0);
		g_assert_cmpint(it_ep_query(scene.end->ep, IT_EP_PARAM_ALL, &params), ==,
				IT_SUCCESS);
		g_assert_cmphex(written(&params, 0xa5), ==, ((1u << BITS) - 2) & ~datagram);
		g_assert_true(params.request_sevd == scene.end->request);
		g_assert_true(params.recv_sevd == scene.end->recv);
		g_assert_true(params.connect_sevd == scene.end->cm_msg);
		g_assert_cmpint(params.ep_state.rc, ==, cm_place_state(place));
		has_path = memcmp(ends, no_ends, sizeof(none.u)) != 0;
		g_assert_true(has_path == (place != CM_UNCONNECTED));
		g_assert_cmpint(it_ep_query(scene.end->ep, 1u << BITS, &params), ==,
				IT_ERR_INVALID_MASK);
		g_assert_cmpint(it_ep_query(scene.end->ep, IT_EP_PARAM_ALL | 2, &params), ==,
				IT_ERR_INVALID_MASK);
		g_assert_cmpint(it_ep_query(scene.end->ep, 2, NULL), ==, IT_ERR_FAULT);
		cm_scene_close(&scene);
	}
	end_new_ep(&pair->active);
	g_assert_cmpint(it_ep_query(NULL, 2, &params), ==, IT_ERR_INVALID_EP);
}

/* A value beyond the adapter's limit: each attribute has a status of its own, and nothing changes. */
static void
test_limits(struct pair *pair)
{
	const it_ia_info_t *info = pair->active.info;
	it_ep_attributes_t before = attributes(&pair->active);
	it_ep_attributes_t huge = before;
	it_ep_attributes_t after;

	huge.max_dto_payload_size = (size_t)1 << 40;
	huge.max_request_dtos = huge.max_recv_dtos = (size_t)1 << 30;
	huge.max_send_segments = huge.max_recv_segments = (size_t)1 << 20;
	huge.srv.rc.max_rdma_read_segments = huge.srv.rc.max_rdma_write_segments = (size_t)1 << 20;
	huge.srv.rc.rdma_read_ird = huge.srv.rc.rdma_read_ord = UINT32_MAX;
	const struct {
		unsigned int bit;
		it_status_t status;
		bool able;
	} rows[] = {
		{IT_EP_PARAM_MAX_PAYLOAD, IT_ERR_PAYLOAD_SIZE, true},
		{IT_EP_PARAM_MAX_REQ_DTO, IT_ERR_RESOURCE_REQ_DTO, info->ep_work_queues_resizable},
		{IT_EP_PARAM_MAX_RECV_DTO, IT_ERR_RESOURCE_RECV_DTO,
		 info->ep_work_queues_resizable},
		{IT_EP_PARAM_MAX_SEND_SEG, IT_ERR_RESOURCE_SSEG, true},
		{IT_EP_PARAM_MAX_RECV_SEG, IT_ERR_RESOURCE_RSEG, true},
		{IT_EP_PARAM_MAX_RDMA_READ_SEG, IT_ERR_RESOURCE_RRSEG, true},
		{IT_EP_PARAM_MAX_RDMA_WRITE_SEG, IT_ERR_RESOURCE_RWSEG, true},
		{IT_EP_PARAM_MAX_IRD, IT_ERR_RESOURCE_IRD, info->rdma_read_ird_modifiable},
		{IT_EP_PARAM_MAX_ORD, IT_ERR_RESOURCE_ORD, info->rdma_read_ord_increasable},
	};
	for (gsize i = 0; i < G_N_ELEMENTS(rows); i++)
		g_assert_cmpint(it_ep_modify(pair->active.ep, rows[i].bit, &huge), ==,
				rows[i].able ? rows[i].status : IT_ERR_OP_NOT_SUPPORTED);
	/* All or nothing: a valid change beside an invalid one is not made. */
	huge.srv.rc.rdma_read_ord = 1;
	g_assert_cmpint(
		it_ep_modify(pair->active.ep, IT_EP_PARAM_MAX_ORD | IT_EP_PARAM_MAX_PAYLOAD, &huge),
		==, IT_ERR_PAYLOAD_SIZE);
	after = attributes(&pair->active);
	g_assert_cmpmem(&after, sizeof(after), &before, sizeof(before));
}

/* One RDMA Write to the passive end. True: it arrived; false: it broke the connection. */
static bool
write_arrives(struct pair *pair, unsigned char octet)
{
	it_lmr_triplet_t out = end_segment(&pair->active, 0, 1), none = out;
	it_event_t event;

	pair->active.buffer[0] = octet;
	g_assert_cmpint(it_post_rdma_write(pair->active.ep, &out, 1, 1, 0,
					   it_make_rdma_addr_absolute(pair->passive.buffer),
					   pair->passive.context),
			==, IT_SUCCESS);
	/* The Read after it completes when the Write is in place. */
	none.length = 0;
	g_assert_cmpint(it_post_rdma_read(pair->active.ep, &none, 1, 2, IT_COMPLETION_FLAG,
					  it_make_rdma_addr_absolute(pair->passive.buffer),
					  pair->passive.context),
			==, IT_SUCCESS);
	event = end_next(pair->active.request);
	if (event.dto_cmpl.dto_status != IT_DTO_SUCCESS)
		return false;
	g_assert_cmphex(((volatile unsigned char *)pair->passive.buffer)[0], ==, octet);
	return true;
}

/* The peer's rights are withdrawn and granted again, unconnected and connected. */
static void
test_enables(struct pair *pair)
{
	it_ep_attributes_t attr = pair->passive.attr;

	if (!pair->passive.info->ep_rdma_enables_modifiable) {
		g_test_skip("the adapter fixes them at creation");
		return;
	}
	attr.srv.rc.rdma_write_enable = IT_FALSE;
	g_assert_cmpint(it_ep_modify(pair->passive.ep, IT_EP_PARAM_RDMA_WR_ENABLE, &attr), ==,
			IT_SUCCESS);
	g_assert_cmpint(attributes(&pair->passive).srv.rc.rdma_write_enable, ==, IT_FALSE);
	pair_establish(pair);
	attr.srv.rc.rdma_write_enable = IT_TRUE;
	g_assert_cmpint(it_ep_modify(pair->passive.ep, IT_EP_PARAM_RDMA_WR_ENABLE, &attr), ==,
			IT_SUCCESS);
	g_assert_true(write_arrives(pair, 0x11));
	attr.srv.rc.rdma_write_enable = IT_FALSE;
	g_assert_cmpint(it_ep_modify(pair->passive.ep, IT_EP_PARAM_RDMA_WR_ENABLE, &attr), ==,
			IT_SUCCESS);
	g_assert_false(write_arrives(pair, 0x22));
	g_assert_cmphex(pair->passive.buffer[0], ==, 0x11);
	end_expect(pair->passive.cm_msg, IT_CM_MSG_CONN_BROKEN_EVENT);
}

/* That many Reads at once; all of them complete. */
static void
reads(struct pair *pair, unsigned int count)
{
	it_lmr_triplet_t in = end_segment(&pair->active, 1024, 64);
	it_event_t event;

	for (unsigned int i = 0; i < count; i++)
		g_assert_cmpint(it_post_rdma_read(pair->active.ep, &in, 1, i, IT_COMPLETION_FLAG,
						  it_make_rdma_addr_absolute(pair->passive.buffer),
						  pair->passive.context),
				==, IT_SUCCESS);
	for (unsigned int i = 0; i < count; i++) {
		event = end_expect(pair->active.request, IT_DTO_RDMA_READ_CMPL_EVENT);
		g_assert_cmpint(event.dto_cmpl.dto_status, ==, IT_DTO_SUCCESS);
		g_assert_cmpuint(event.dto_cmpl.cookie, ==, i);
	}
}

/* The most Reads that both sides can have outstanding. */
static uint32_t
deepest(void)
{
	return pair_certified() ? (uint32_t)MIN(pair_claim("max_ird"), pair_claim("max_ord"))
				: UINT32_MAX;
}

/* IRD and ORD are raised and lowered, before and on a connection; no negotiation runs for that. */
static void
test_depths(struct pair *pair)
{
	uint32_t depths[] = {1, 8, 2, 100, 5}; /* the last is not that of the creation */
	const it_ia_info_t *info = pair->active.info;
	it_ep_attributes_t attr = pair->active.attr;

	if (!info->rdma_read_ird_modifiable || !info->rdma_read_ord_increasable) {
		pair_inapplicable("%s is not claimed", info->rdma_read_ird_modifiable
							       ? "ord_increasable"
							       : "ird_modifiable");
		return;
	}
	for (gsize i = 0; i < G_N_ELEMENTS(depths); i++) {
		depths[i] = MIN(depths[i], deepest());
		attr.srv.rc.rdma_read_ird = attr.srv.rc.rdma_read_ord = depths[i];
		g_assert_cmpint(it_ep_modify(pair->passive.ep, IT_EP_PARAM_MAX_IRD, &attr), ==,
				IT_SUCCESS);
		g_assert_cmpint(it_ep_modify(pair->active.ep, IT_EP_PARAM_MAX_ORD, &attr), ==,
				IT_SUCCESS);
		if (i == 0)
			pair_establish(pair);
		g_assert_cmpuint(end_ord(&pair->active), ==, depths[i]);
		g_assert_cmpuint(attributes(&pair->passive).srv.rc.rdma_read_ird, ==, depths[i]);
		reads(pair, REQUEST_SLOTS);
	}
	pair_disconnect(pair);
	if (!end_has(&pair->active, NEEDS_REUSE))
		return; /* the next connection has another endpoint */
	end_reset(&pair->active);
	g_assert_cmpuint(end_ord(&pair->active), ==, depths[G_N_ELEMENTS(depths) - 1]);
}

static void
add(void)
{
	pair_add("attributes/modify-everywhere", test_modify_everywhere);
	pair_add("attributes/query-everywhere", test_query_everywhere);
	pair_add("attributes/limits", test_limits);
	pair_add_for(NEEDS_READS, "attributes/enables", test_enables);
	pair_add_for(NEEDS_READS, "attributes/depths", test_depths);
}

int
main(int argc, char **argv)
{
	return pair_main(argc, argv, add);
}
