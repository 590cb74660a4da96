/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Invalid values in flat requests: each boolean, enumeration, set of bits and reserved member with a value that it
 * cannot have is refused with RI_ERR_INVALID_ARG, while the same request with the highest valid value is not.
 */

#include <string.h>

#include "kal_fixture.h"

#define CTX 3

/* A member of a request: its highest valid value, and an invalid one. */
struct member {
	const char *name;
	size_t offset, size;
	uint64_t good, odd;
};

#define MEMBER(type, member, good, odd)                               \
	{                                                             \
#type "." #member, offsetof(struct type, member),     \
			sizeof(((struct type *)0)->member), good, odd \
	}
#define END                      \
	{                        \
		NULL, 0, 0, 0, 0 \
	}

struct request {
	enum kal_call_number call;
	size_t size, reply;
	const struct member *members;
};

static const struct member mr_members[] = {
	MEMBER(kal_mr_req, zero_based, 1, 2),  MEMBER(kal_mr_req, shareable, 1, 2),
	MEMBER(kal_mr_req, unlinked, 1, 2),    MEMBER(kal_mr_req, unlinked, 0, 255),
	MEMBER(kal_mr_req, has_lengths, 1, 2), MEMBER(kal_mr_req, iova_given, 0, 2),
	MEMBER(kal_mr_req, access, 63, 64),    MEMBER(kal_mr_req, keep_stag, 0, 1),
	MEMBER(kal_mr_req, reserved, 0, 1),    END};
static const struct member qp_members[] = {
	MEMBER(kal_qp_create_req, init.privileged, 1, 2),
	MEMBER(kal_qp_create_req, init.type, RI_QP_UD, RI_QP_NUMBER + 1),
	MEMBER(kal_qp_create_req, init.access, 63, 64), END};
static const struct member modify_members[] = {MEMBER(kal_qp_modify_req, mask, 0, 1u << 4),
					       MEMBER(kal_qp_modify_req, mask, 1u << 7, 1u << 8),
					       MEMBER(kal_qp_modify_req, attr.quiescent, 1, 2),
					       MEMBER(kal_qp_modify_req, attr.terminate_sent, 1, 2),
					       MEMBER(kal_qp_modify_req, attr.skip_time_wait, 1, 2),
					       MEMBER(kal_qp_modify_req, attr.access, 63, 64),
					       END};
static const struct member srq_members[] = {MEMBER(kal_srq_req, resize, 1, 2), END};
static const struct member path_members[] = {
	MEMBER(kal_path_query_req, peer.family, RI_ADDR_GID, RI_ADDR_GID + 1),
	MEMBER(kal_path_query_req, local.family, RI_ADDR_GID, RI_ADDR_GID + 1), END};
static const struct member listen_members[] = {
	MEMBER(kal_listen_req, suppress_ird_ord, 1, 2),
	MEMBER(kal_listen_req, service.kind, RI_SERVICE_PORT, RI_SERVICE_IB + 1), END};
/* A request that is refused for another reason, or answered, passes. */
static const struct member cm_members[] = {
	MEMBER(kal_cm_req, suppress_ird_ord, 1, 2),
	MEMBER(kal_cm_req, three_way, 1, 2),
	MEMBER(kal_cm_req, refuse, 1, 2),
	MEMBER(kal_cm_req, reuse_addr, 1, 2),
	MEMBER(kal_cm_req, reason, KAL_REASON_REFUSED, KAL_REASON_REFUSED + 1),
	MEMBER(kal_cm_req, refused_ms, KAL_REFUSED_MS_MAX, KAL_REFUSED_MS_MAX + 1),
	MEMBER(kal_cm_req, ack_timeout, KAL_ACK_TIMEOUT_MAX, KAL_ACK_TIMEOUT_MAX + 1),
	MEMBER(kal_cm_req, retries, 1, 2),
	MEMBER(kal_cm_req, retry_count, KAL_RETRIES_MAX, KAL_RETRIES_MAX + 1),
	MEMBER(kal_cm_req, rnr_retry, KAL_RETRIES_MAX, KAL_RETRIES_MAX + 1),
	MEMBER(kal_cm_req, local.family, RI_ADDR_GID, RI_ADDR_GID + 1),
	MEMBER(kal_cm_req, peer.family, RI_ADDR_GID, RI_ADDR_GID + 1),
	MEMBER(kal_cm_req, service.kind, RI_SERVICE_IB, RI_SERVICE_IB + 1),
	END};
static const struct member handoff_members[] = {
	MEMBER(kal_handoff_req, service.kind, RI_SERVICE_IB, RI_SERVICE_IB + 1), END};
static const struct member ah_members[] = {
	MEMBER(kal_ah_req, reserved, 0, 1),
	MEMBER(kal_ah_req, init.dest.family, RI_ADDR_GID, RI_ADDR_GID + 1),
	MEMBER(kal_ah_req, init.source.family, RI_ADDR_GID, RI_ADDR_GID + 1), END};
static const struct member map_members[] = {MEMBER(kal_mem_map_req, reserved, 0, 1), END};
static const struct member resolve_members[] = {
	MEMBER(kal_resolve_req, reserved, 0, 1),
	MEMBER(kal_resolve_req, local.family, RI_ADDR_GID, RI_ADDR_GID + 1),
	MEMBER(kal_resolve_req, peer.family, RI_ADDR_GID, RI_ADDR_GID + 1),
	MEMBER(kal_resolve_req, service.kind, RI_SERVICE_IB, RI_SERVICE_IB + 1), END};
static const struct member end_members[] = {MEMBER(kal_resolve_end_req, reserved, 0, 1), END};
static const struct member answer_members[] = {MEMBER(kal_resolve_answer_req, reserved, 0, 1), END};

/* Set the member of `req` to that value. */
static void
set(void *req, const struct member *member, uint64_t value)
{
	memcpy((char *)req + member->offset, &value,
	       member->size); /* little-endian, as all supported machines */
}

static void
try_members(struct fixture *f, const struct request *request, const void *base)
{
	union {
		char octets[4096];
		max_align_t align;
	} req, rep;

	for (const struct member *m = request->members; m->size != 0; m++) {
		g_test_message("%s", m->name);
		memcpy(req.octets, base, request->size);
		set(req.octets, m, m->odd);
		g_assert_cmpint(
			fixture_call(f, request->call, &req, request->size, &rep, request->reply),
			==, RI_ERR_INVALID_ARG);
	}
}

/* The same request with the highest valid values: it may be refused, but not for this reason. */
static void
try_good(struct fixture *f, const struct request *request, const void *base)
{
	for (const struct member *m = request->members; m->size != 0; m++) {
		union {
			char octets[4096];
			max_align_t align;
		} req, rep;

		g_test_message("%s, good", m->name);
		memcpy(req.octets, base, request->size);
		set(req.octets, m, m->good);
		g_assert_cmpint(
			fixture_call(f, request->call, &req, request->size, &rep, request->reply),
			!=, RI_ERR_INVALID_ARG);
	}
}

static void
test_memory(void)
{
	static uint8_t memory[4096];
	struct kal_mr_req mr = {.addr = (uintptr_t)memory, .length = sizeof(memory)};
	struct kal_mr_rep rep;
	struct kal_mem_map_req map = {.addr = 1, .length = 1};
	const struct request reg = {KAL_MR_REG, sizeof(mr), sizeof(rep), mr_members};
	const struct request mapping = {KAL_MEM_MAP, sizeof(map), sizeof(struct kal_mem_map_rep),
					map_members};
	const struct request unmapping = {KAL_MEM_UNMAP, sizeof(map), 0, map_members};
	struct fixture f = fixture_open();

	mr.id = f.pd;
	map.rnic = f.rnic;
	try_members(&f, &reg, &mr);
	try_good(&f, &reg, &mr);
	try_members(&f, &mapping, &map);
	try_good(&f, &mapping, &map);
	try_members(&f, &unmapping, &map);
	fixture_close(&f);
	/* The room for a list is checked against the adapter's limit before it is allocated. */
	fake_attr.max_pbl = 8;
	f = fixture_open();
	mr.id = f.pd;
	mr.max_pages = 8;
	g_assert_cmpint(fixture_call(&f, KAL_MR_REG, &mr, sizeof(mr), &rep, sizeof(rep)), ==,
			RI_SUCCESS);
	mr.max_pages = 9;
	g_assert_cmpint(fixture_call(&f, KAL_MR_REG, &mr, sizeof(mr), &rep, sizeof(rep)), ==,
			RI_ERR_LIMIT);
	mr.max_pages = UINT32_MAX;
	g_assert_cmpint(fixture_call(&f, KAL_MR_REG, &mr, sizeof(mr), &rep, sizeof(rep)), ==,
			RI_ERR_LIMIT);
	fixture_close(&f);
}

static void
test_queues(void)
{
	struct kal_qp_create_req qp = {0};
	struct kal_qp_modify_req modify = {0};
	struct kal_srq_req srq = {.attr = {.max_wr = 5}};
	struct kal_srq_rep srq_rep;
	struct kal_path_query_req path = {0};
	const struct request create = {KAL_QP_CREATE, sizeof(qp), sizeof(struct kal_qp_create_rep),
				       qp_members};
	const struct request change = {KAL_QP_MODIFY, sizeof(modify), 0, modify_members};
	const struct request low = {KAL_SRQ_MODIFY, sizeof(srq), sizeof(srq_rep), srq_members};
	const struct request way = {KAL_PATH_QUERY, sizeof(path), sizeof(struct kal_path_query_rep),
				    path_members};
	struct fixture f RI_AT_END(fixture_close) = fixture_open();

	qp.pd = f.pd;
	qp.send_cq = qp.recv_cq = f.cq;
	qp.init.ctx = CTX;
	try_members(&f, &create, &qp);
	modify.id = fixture_qp(&f, CTX + 1, 1, 1);
	try_members(&f, &change, &modify);
	try_good(&f, &change, &modify);
	srq.id = f.pd;
	g_assert_cmpint(
		fixture_call(&f, KAL_SRQ_CREATE, &srq, sizeof(srq), &srq_rep, sizeof(srq_rep)), ==,
		RI_SUCCESS);
	srq.id = srq_rep.id;
	try_members(&f, &low, &srq);
	try_good(&f, &low, &srq);
	path.rnic = f.rnic;
	try_members(&f, &way, &path);
	try_good(&f, &way, &path);
}

static void
test_connections(void)
{
	struct kal_listen_req listen = {.backlog = 1, .service = {.kind = RI_SERVICE_PORT}};
	struct kal_cm_req cm = {.request = 99};
	struct kal_handoff_req handoff = {.request = 99};
	const struct request requests[] = {
		{KAL_CONNECT, sizeof(cm), 0, cm_members},
		{KAL_ACCEPT, sizeof(cm), sizeof(struct kal_accept_rep), cm_members},
		{KAL_REJECT, sizeof(cm), 0, cm_members},
		{KAL_CONFIRM, sizeof(cm), 0, cm_members},
		{KAL_DISCONNECT, sizeof(cm), 0, cm_members},
	};
	const struct request hand = {KAL_HANDOFF, sizeof(handoff), 0, handoff_members};
	const struct request service = {KAL_LISTEN, sizeof(listen), sizeof(struct kal_listen_rep),
					listen_members};
	struct fixture f RI_AT_END(fixture_close) = fixture_open();

	cm.qp = fixture_qp(&f, CTX, 1, 1);
	for (size_t i = 0; i < G_N_ELEMENTS(requests); i++)
		try_members(&f, &requests[i], &cm);
	/* They fail because there is no such request or connection. */
	for (size_t i = 1; i < G_N_ELEMENTS(requests); i++)
		try_good(&f, &requests[i], &cm);
	try_members(&f, &hand, &handoff);
	try_good(&f, &hand, &handoff);
	listen.rnic = f.rnic;
	try_members(&f, &service, &listen);
	try_good(&f, &service, &listen);
}

static void
test_datagrams(void)
{
	struct kal_ah_req ah = {.init = {.dest = {.family = RI_ADDR_IPV4}}};
	struct kal_resolve_req query = {.ctx = CTX};
	struct kal_resolve_end_req end = {.ctx = CTX};
	struct kal_resolve_answer_req answer = {.request = 99};
	const struct request create = {KAL_AH_CREATE, sizeof(ah), sizeof(struct kal_ah_rep),
				       ah_members};
	const struct request resolve = {KAL_RESOLVE, sizeof(query), 0, resolve_members};
	const struct request ending = {KAL_RESOLVE_END, sizeof(end), 0, end_members};
	const struct request answering = {KAL_RESOLVE_ANSWER, sizeof(answer), 0, answer_members};

	fake_attr.cm_forms = RI_CM_ADDRESS;
	fake_attr.transport = RI_TRANSPORT_IB;
	fake_attr.ud = true;
	fake_attr.max_ah = 10;
	fake_attr.max_ud_message = 100;
	struct fixture f RI_AT_END(fixture_close) = fixture_open();
	ah.id = f.pd;
	query.rnic = end.rnic = f.rnic;
	try_members(&f, &create, &ah);
	try_good(&f, &create, &ah);
	try_members(&f, &resolve, &query);
	try_good(&f, &resolve, &query);
	try_members(&f, &ending, &end);
	try_good(&f, &ending, &end);
	try_members(&f, &answering, &answer);
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	fake_register();
	g_test_add_func("/kal/odd/memory", test_memory);
	g_test_add_func("/kal/odd/queues", test_queues);
	g_test_add_func("/kal/odd/connections", test_connections);
	g_test_add_func("/kal/odd/datagrams", test_datagrams);
	return g_test_run();
}
