/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * What RNIC-PI 1.7 adds: each claim of the profile alone lets its calls through, and no other; a call whose claim is
 * missing returns RI_ERR_UNSUPPORTED and never reaches the provider. And what comes back: queue pairs that the client
 * brings up itself, the end of time-wait, refused connections, what ri_cm_event::reach carries.
 */
#include <string.h>

#include "kal_fixture.h"
#ifdef WITH_SCARCE
#include "scarce.h"
#endif

#define CTX        0x41
#define LISTEN_CTX 0x51

/* --- claims ----------------------------------------------------------------------------------- */

enum claim {
	INLINE = 1u << 0,
	UC = 1u << 1,
	PEER = 1u << 2,
	MULTICAST = 1u << 3,
	IOVA = 1u << 4,
	NUMBER = 1u << 5,
	ALL = (1u << 6) - 1
};

/* The fake adapter with these claims and those that they need. */
static void
set_claims(unsigned claims)
{
	fake_reset();
	fake_attr.transport = RI_TRANSPORT_IB;
	fake_attr.cm_forms = RI_CM_ADDRESS;
	fake_attr.max_inline = 64;
	fake_attr.ud = true;
	fake_attr.max_ah = 10;
	fake_attr.max_ud_message = 100;
	fake_attr.inline_data = (claims & INLINE) != 0;
	fake_attr.uc = (claims & UC) != 0;
	fake_attr.multicast = (claims & MULTICAST) != 0;
	fake_attr.iova = (claims & IOVA) != 0;
	fake_attr.cm_number = (claims & NUMBER) != 0;
	if ((claims & (UC | PEER | NUMBER)) != 0)
		fake_attr.cm_forms |= RI_CM_PEER;
}

static enum ri_status
qp_new(struct fixture *f, struct ri_qp_init init, uint32_t *id)
{
	static uint64_t contexts = 1000;
	struct kal_qp_create_req req = {.pd = f->pd, .init = init};
	struct kal_qp_create_rep rep = {0};
	enum ri_status status;

	if (init.type != RI_QP_NUMBER)
		req.send_cq = req.recv_cq = f->cq;
	if (init.ctx == 0)
		req.init.ctx = contexts++;
	status = fixture_call(f, KAL_QP_CREATE, &req, sizeof(req), &rep, sizeof(rep));
	if (id != NULL)
		*id = rep.id;
	return status;
}

/* The way of queue pair @p qp to a peer; all of its values are valid. */
static struct kal_peer_req
peer_req(uint32_t qp, bool send)
{
	return (struct kal_peer_req){.qp = qp,
				     .send = send,
				     .peer = {.path = {.dest = {.family = RI_ADDR_GID}},
					      .qpn = 7,
					      .path_mtu = 1024,
					      .ird = 1,
					      .ord = 1,
					      .timeout = 14,
					      .retry_count = 7,
					      .rnr_retry = 7}};
}

static enum ri_status
peer(struct fixture *f, uint32_t qp, bool send)
{
	struct kal_peer_req req = peer_req(qp, send);

	return fixture_call(f, KAL_PEER, &req, sizeof(req), NULL, 0);
}

static enum ri_status
mcast(struct fixture *f, uint32_t qp, bool detach)
{
	struct kal_mcast_req req = {.qp = qp, .detach = detach, .group = {.family = RI_ADDR_GID}};

	return fixture_call(f, KAL_MCAST, &req, sizeof(req), NULL, 0);
}

static enum ri_status
try_inline(struct fixture *f)
{
	return qp_new(f, (struct ri_qp_init){.max_inline = 64}, NULL);
}

static enum ri_status
try_uc(struct fixture *f)
{
	return qp_new(f, (struct ri_qp_init){.type = RI_QP_UC}, NULL);
}

static enum ri_status
try_number(struct fixture *f)
{
	return qp_new(f, (struct ri_qp_init){.type = RI_QP_NUMBER, .qkey = 0xffffff}, NULL);
}

static enum ri_status
try_peer(struct fixture *f)
{
	uint32_t qp = fixture_qp(f, CTX, 1, 1);
	enum ri_status status = peer(f, qp, false);

	if (status == RI_SUCCESS)
		status = peer(f, qp, true);
	else
		g_assert_cmpint(peer(f, qp, true), ==, status);
	return status;
}

static enum ri_status
try_mcast(struct fixture *f)
{
	enum ri_status status;
	uint32_t qp;

	g_assert_cmpint(qp_new(f, (struct ri_qp_init){.type = RI_QP_UD}, &qp), ==, RI_SUCCESS);
	status = mcast(f, qp, false);
	g_assert_cmpint(mcast(f, qp, true), ==, status);
	return status;
}

static enum ri_status
try_iova(struct fixture *f)
{
	struct kal_mr_req req = {
		.id = f->pd, .addr = 0x1010, .length = 16, .iova_given = 1, .iova = 0x77010};
	struct kal_mr_rep rep;

	return fixture_call(f, KAL_MR_REG, &req, sizeof(req), &rep, sizeof(rep));
}

static void
test_claims(void)
{
	static const struct {
		const char *name;
		unsigned claims; /* any of them */
		enum ri_status (*run)(struct fixture *f);
		int objects; /* that are created if it is refused */
	} tries[] = {
		{"inline", INLINE, try_inline, 0},
		{"uc", UC, try_uc, 0},
		{"peer", PEER | UC | NUMBER, try_peer, 1},
		{"mcast", MULTICAST, try_mcast, 1},
		{"iova", IOVA, try_iova, 0},
		{"number", NUMBER, try_number, 0},
	};

	static const unsigned profiles[] = {0, INLINE, UC, PEER, MULTICAST, IOVA, NUMBER, ALL};

	for (size_t p = 0; p < G_N_ELEMENTS(profiles); p++) {
		for (size_t i = 0; i < G_N_ELEMENTS(tries); i++) {
			bool claimed = (profiles[p] & tries[i].claims) != 0;
			unsigned calls;
			int objects;

			g_test_message("claims %u, %s", profiles[p], tries[i].name);
			set_claims(profiles[p]);
			struct fixture f RI_AT_END(fixture_close) = fixture_open();
			calls = fake_peer_calls;
			objects = fake_objects();
			g_assert_cmpint(tries[i].run(&f), ==,
					claimed ? RI_SUCCESS : RI_ERR_UNSUPPORTED);
			if (!claimed) {
				g_assert_cmpuint(fake_peer_calls, ==, calls);
				g_assert_cmpint(fake_objects(), ==, objects + tries[i].objects);
			}
		}
	}
}

/* What reaches the provider, and the limits in front of it. */
static void
test_queue_pairs(void)
{
	struct kal_qp_create_req number = {.init = {.ctx = CTX, .type = RI_QP_NUMBER, .qkey = 5}};
	struct kal_qp_create_rep rep;

	set_claims(ALL);
	struct fixture f RI_AT_END(fixture_close) = fixture_open();
	g_assert_cmpint(qp_new(&f, (struct ri_qp_init){.max_inline = 65}, NULL), ==, RI_ERR_LIMIT);
	g_assert_cmpint(qp_new(&f, (struct ri_qp_init){.max_inline = 33}, NULL), ==, RI_SUCCESS);
	g_assert_cmpuint(fake_qp_init.max_inline, ==, 33);
	g_assert_cmpint(
		qp_new(&f, (struct ri_qp_init){.type = RI_QP_NUMBER, .qkey = 0x1000000}, NULL), ==,
		RI_ERR_INVALID_ARG);
	/* A number has no queues: those that are given are a mistake. */
	number.pd = f.pd;
	number.send_cq = f.cq;
	g_assert_cmpint(fixture_call(&f, KAL_QP_CREATE, &number, sizeof(number), &rep, sizeof(rep)),
			==, RI_ERR_INVALID_HANDLE);
	number.send_cq = 0;
	number.recv_cq = f.cq;
	g_assert_cmpint(fixture_call(&f, KAL_QP_CREATE, &number, sizeof(number), &rep, sizeof(rep)),
			==, RI_ERR_INVALID_HANDLE);
	number.recv_cq = 0;
	g_assert_cmpint(fixture_call(&f, KAL_QP_CREATE, &number, sizeof(number), &rep, sizeof(rep)),
			==, RI_SUCCESS);
	g_assert_cmpuint(fake_qp_init.qkey, ==, 5);
	g_assert_cmpint(fixture_id(&f, KAL_PD_DESTROY, f.pd), ==, RI_ERR_BUSY);
	g_assert_cmpint(fixture_id(&f, KAL_QP_DESTROY, rep.id), ==, RI_SUCCESS);
	/* Other types have queues. */
	number.init.type = RI_QP_UC;
	g_assert_cmpint(fixture_call(&f, KAL_QP_CREATE, &number, sizeof(number), &rep, sizeof(rep)),
			==, RI_ERR_INVALID_HANDLE);
}

static void
test_iova(void)
{
	struct kal_mr_req good = {.addr = 0x1010, .length = 16, .iova_given = 1, .iova = 0x77010},
			  req;
	struct kal_mr_rep rep;

	set_claims(IOVA);
	fake_attr.fast_register = fake_attr.privileged_ops = true;
	fake_attr.max_pbl = 4;
	struct fixture f RI_AT_END(fixture_close) = fixture_open();
	good.id = f.pd;
#define REG() fixture_call(&f, KAL_MR_REG, &req, sizeof(req), &rep, sizeof(rep))
	req = good;
	g_assert_cmpint(REG(), ==, RI_SUCCESS);
	g_assert_true(fake_mr_init.iova_given);
	g_assert_cmpuint(fake_mr_init.iova, ==, 0x77010);
	g_assert_cmpuint(fake_mr_init.addr, ==, 0x1010);
	req.iova = 0x77011; /* another place of the page */
	g_assert_cmpint(REG(), ==, RI_ERR_INVALID_ARG);
	req = good;
	req.iova_given = 0; /* it says nothing then */
	g_assert_cmpint(REG(), ==, RI_ERR_INVALID_ARG);
	req.iova = 0;
	g_assert_cmpint(REG(), ==, RI_SUCCESS);
	g_assert_false(fake_mr_init.iova_given);
	req = good;
	req.zero_based = 1;
	g_assert_cmpint(REG(), ==, RI_ERR_INVALID_ARG);
	req = good;
	req.iova = UINT64_MAX - 0xfff + 0x10; /* the last page */
	g_assert_cmpint(REG(), ==, RI_SUCCESS);
	req.length = 0xff0; /* its end is the end of all addresses */
	g_assert_cmpint(REG(), ==, RI_ERR_INVALID_ARG);
	req = good;
	req.unlinked = 1;
	g_assert_cmpint(REG(), ==, RI_ERR_UNSUPPORTED);
#undef REG
}

static void
test_multicast(void)
{
	struct kal_mcast_req req = {.group = {.family = RI_ADDR_GID, .octets = {0xff, 0x12}}};
	uint32_t rc;

	set_claims(MULTICAST);
	struct fixture f RI_AT_END(fixture_close) = fixture_open();
#define MCAST() fixture_call(&f, KAL_MCAST, &req, sizeof(req), NULL, 0)
	g_assert_cmpint(MCAST(), ==, RI_ERR_INVALID_HANDLE);
	g_assert_cmpint(qp_new(&f, (struct ri_qp_init){.type = RI_QP_UD}, &req.qp), ==, RI_SUCCESS);
	g_assert_cmpint(MCAST(), ==, RI_SUCCESS);
	g_assert_cmpint(fake_peer_last, ==, FAKE_MCAST_ATTACH);
	g_assert_cmpmem(&fake_group, sizeof(fake_group), &req.group, sizeof(req.group));
	fake_peer_status = RI_ERR_INVALID_ARG; /* the provider's answer is passed on */
	g_assert_cmpint(MCAST(), ==, RI_ERR_INVALID_ARG);
	fake_peer_status = RI_SUCCESS;
	req.detach = 1;
	g_assert_cmpint(MCAST(), ==, RI_SUCCESS);
	g_assert_cmpint(fake_peer_last, ==, FAKE_MCAST_DETACH);
	req.detach = 2;
	g_assert_cmpint(MCAST(), ==, RI_ERR_INVALID_ARG);
	req.detach = 0;
	req.group.family = RI_ADDR_GID + 1;
	g_assert_cmpint(MCAST(), ==, RI_ERR_INVALID_ARG);
	req.group.family = RI_ADDR_GID;
	rc = fixture_qp(&f, CTX, 1, 1);
	g_assert_cmpint(mcast(&f, rc, false), ==, RI_ERR_UNSUPPORTED);
#undef MCAST
}

/* --- queue pairs that the client brings up ------------------------------------------------------ */

/* Each member of the attributes that has a range: its last valid value and the first that is none. */
static void
test_peer_ranges(void)
{
	static const struct {
		size_t offset, size;
		uint32_t good, odd;
		bool send;
		enum ri_status status;
	} ranges[] = {
#define RANGE(member, good, odd, send, status)       \
	{offsetof(struct kal_peer_req, member),      \
	 sizeof(((struct kal_peer_req *)0)->member), \
	 good,                                       \
	 odd,                                        \
	 send,                                       \
	 status}
		RANGE(send, 1, 2, true, RI_ERR_INVALID_ARG),
		RANGE(peer.qpn, 0xffffff, 0x1000000, false, RI_ERR_INVALID_ARG),
		RANGE(peer.rq_psn, 0xffffff, 0x1000000, false, RI_ERR_INVALID_ARG),
		RANGE(peer.path_mtu, 256, 255, false, RI_ERR_INVALID_ARG),
		RANGE(peer.path_mtu, 256, 128, false, RI_ERR_INVALID_ARG),
		RANGE(peer.path_mtu, 4096, 4097, false, RI_ERR_INVALID_ARG),
		RANGE(peer.path_mtu, 4096, 8192, false, RI_ERR_INVALID_ARG),
		RANGE(peer.path_mtu, 2048, 1536, false, RI_ERR_INVALID_ARG),
		RANGE(peer.min_rnr_timer, 31, 32, false, RI_ERR_INVALID_ARG),
		RANGE(peer.reserved[0], 0, 1, false, RI_ERR_INVALID_ARG),
		RANGE(peer.reserved[1], 0, 1, false, RI_ERR_INVALID_ARG),
		RANGE(peer.reserved[2], 0, 1, false, RI_ERR_INVALID_ARG),
		RANGE(peer.path.port, 1, 2, false, RI_ERR_INVALID_ARG),
		RANGE(peer.path.dest.family, RI_ADDR_GID, RI_ADDR_GID + 1, false,
		      RI_ERR_INVALID_ARG),
		RANGE(peer.path.source.family, RI_ADDR_GID, RI_ADDR_GID + 1, false,
		      RI_ERR_INVALID_ARG),
		RANGE(peer.ird, 128, 129, false, RI_ERR_LIMIT),
		RANGE(peer.sq_psn, 0xffffff, 0x1000000, true, RI_ERR_INVALID_ARG),
		RANGE(peer.timeout, 31, 32, true, RI_ERR_INVALID_ARG),
		RANGE(peer.retry_count, 7, 8, true, RI_ERR_INVALID_ARG),
		RANGE(peer.rnr_retry, 7, 8, true, RI_ERR_INVALID_ARG),
		RANGE(peer.reserved2, 0, 1, true, RI_ERR_INVALID_ARG),
		RANGE(peer.ord, 128, 129, true, RI_ERR_LIMIT),
#undef RANGE
	};

	set_claims(PEER);
	struct fixture f RI_AT_END(fixture_close) = fixture_open();
	for (size_t i = 0; i < G_N_ELEMENTS(ranges); i++) {
		uint32_t qp = fixture_qp(&f, CTX + i, 1, 1);
		struct kal_peer_req req = peer_req(qp, ranges[i].send);
		unsigned calls;

		g_test_message("offset %zu", ranges[i].offset);
		if (ranges[i].send)
			g_assert_cmpint(peer(&f, qp, false), ==, RI_SUCCESS);
		calls = fake_peer_calls;
		memcpy((char *)&req + ranges[i].offset, &ranges[i].odd, ranges[i].size);
		g_assert_cmpint(fixture_call(&f, KAL_PEER, &req, sizeof(req), NULL, 0), ==,
				ranges[i].status);
		g_assert_cmpuint(fake_peer_calls, ==, calls);
		memcpy((char *)&req + ranges[i].offset, &ranges[i].good, ranges[i].size);
		g_assert_cmpint(fixture_call(&f, KAL_PEER, &req, sizeof(req), NULL, 0), ==,
				RI_SUCCESS);
		g_assert_cmpint(fake_peer_last, ==,
				ranges[i].send ? FAKE_PEER_SEND : FAKE_PEER_RECEIVE);
		g_assert_cmpmem(&fake_peer, sizeof(fake_peer), &req.peer, sizeof(req.peer));
	}
}

static enum ri_status
modify(struct fixture *f, uint32_t qp, enum ri_qp_state state)
{
	struct kal_qp_modify_req req = {
		.id = qp, .mask = RI_QP_ATTR_STATE, .attr = {.state = state}};

	return fixture_call(f, KAL_QP_MODIFY, &req, sizeof(req), NULL, 0);
}

/* One queue pair is connected in one way at a time. */
static void
test_peer_states(void)
{
	struct kal_cm_req req;
	uint32_t qp, ud;

	set_claims(PEER);
	struct fixture f RI_AT_END(fixture_close) = fixture_open();
	qp = fixture_qp(&f, CTX, 4, 3);
	g_assert_cmpint(peer(&f, 99, false), ==, RI_ERR_INVALID_HANDLE);
	g_assert_cmpint(peer(&f, qp, true), ==, RI_ERR_INVALID_STATE);
	fake_peer_status =
		RI_ERR_NO_ROUTE; /* the provider refuses: it may be connected otherwise */
	g_assert_cmpint(peer(&f, qp, false), ==, RI_ERR_NO_ROUTE);
	fake_peer_status = RI_SUCCESS;
	g_assert_cmpint(peer(&f, qp, true), ==, RI_ERR_INVALID_STATE);
	g_assert_cmpint(peer(&f, qp, false), ==, RI_SUCCESS);
	g_assert_cmpint(peer(&f, qp, false), ==, RI_ERR_INVALID_STATE);
	fixture_connect_req(&req, qp, false, 99);
	g_assert_cmpint(fixture_call(&f, KAL_CONNECT, &req, sizeof(req), NULL, 0), ==,
			RI_ERR_INVALID_STATE);
	g_assert_cmpint(fixture_call(&f, KAL_DISCONNECT, &req, sizeof(req), NULL, 0), ==,
			RI_ERR_INVALID_STATE);
	g_assert_cmpint(peer(&f, qp, true), ==, RI_SUCCESS);
	/* Used again, it is connected by address, and not by attributes meanwhile. */
	g_assert_cmpint(modify(&f, qp, RI_QPS_IDLE), ==, RI_SUCCESS);
	g_assert_cmpint(peer(&f, qp, true), ==, RI_ERR_INVALID_STATE);
	g_assert_cmpint(fixture_call(&f, KAL_CONNECT, &req, sizeof(req), NULL, 0), ==, RI_SUCCESS);
	g_assert_cmpint(peer(&f, qp, false), ==, RI_ERR_INVALID_STATE);
	g_assert_cmpint(peer(&f, qp, true), ==, RI_ERR_INVALID_STATE);
	/* Datagrams have no peer. */
	g_assert_cmpint(qp_new(&f, (struct ri_qp_init){.type = RI_QP_UD}, &ud), ==, RI_SUCCESS);
	g_assert_cmpint(peer(&f, ud, false), ==, RI_ERR_UNSUPPORTED);
}

/* The types that ri_cm_ops connects: a UC queue pair has no address to be connected to, a number has no attributes. */
static void
test_types(void)
{
	struct kal_cm_req req;
	uint32_t uc, number;

	set_claims(ALL);
	struct fixture f RI_AT_END(fixture_close) = fixture_open();
	g_assert_cmpint(qp_new(&f, (struct ri_qp_init){.type = RI_QP_UC}, &uc), ==, RI_SUCCESS);
	g_assert_cmpint(qp_new(&f, (struct ri_qp_init){.type = RI_QP_NUMBER, .ctx = CTX}, &number),
			==, RI_SUCCESS);
	fixture_connect_req(&req, uc, false, 99);
	g_assert_cmpint(fixture_call(&f, KAL_CONNECT, &req, sizeof(req), NULL, 0), ==,
			RI_ERR_INVALID_HANDLE);
	g_assert_cmpint(peer(&f, uc, false), ==, RI_SUCCESS);
	g_assert_cmpint(peer(&f, number, false), ==, RI_ERR_UNSUPPORTED);
	req.qp = number;
	g_assert_cmpint(fixture_call(&f, KAL_CONNECT, &req, sizeof(req), NULL, 0), ==, RI_SUCCESS);
	g_assert_cmpint(fake_cm_last, ==, FAKE_CM_CONNECT);
}

/* The end of such a queue pair is the client's event, also where the ends of streams become events of connections. */
static void
test_peer_end(void)
{
	static const enum ri_cm_form forms[] = {RI_CM_ADDRESS, RI_CM_STREAM};

	for (size_t i = 0; i < G_N_ELEMENTS(forms); i++) {
		struct kal_event event;
		uint32_t qp;

		fake_reset();
		fake_attr.cm_forms = (uint8_t)(forms[i] | RI_CM_PEER);
		struct fixture f RI_AT_END(fixture_close) = fixture_open();
		qp = fixture_qp(&f, CTX, 1, 1);
		g_assert_cmpint(peer(&f, qp, false), ==, RI_SUCCESS);
		fake_raise(RI_EVENT_QP_COMM_EST, RI_OBJECT_QP);
		event = fixture_event(&f);
		g_assert_cmpint(event.kind, ==, KAL_EVENT_ASYNC);
		g_assert_cmpint(event.u.async.event, ==, RI_EVENT_QP_COMM_EST);
		fake_raise(RI_EVENT_QP_LLP_RESET, RI_OBJECT_QP);
		event = fixture_event(&f);
		g_assert_cmpint(event.kind, ==, KAL_EVENT_ASYNC);
		g_assert_cmpint(event.u.async.event, ==, RI_EVENT_QP_LLP_RESET);
		g_assert_cmpuint(event.ctx, ==, CTX);
		g_assert_true(fixture_silent(&f));
	}
}

/* --- events of connections ---------------------------------------------------------------------- */

static struct ri_cm_event
cm_event(enum ri_cm_event_kind kind, uint64_t ctx)
{
	return (struct ri_cm_event){.kind = kind,
				    .ctx = ctx,
				    .request = (struct ri_request *)(void *)&fake_attr,
				    .peer = {.family = RI_ADDR_GID},
				    .reach = {.qpn = 0x123456, .rq_psn = kind, .rnr_retry = 3}};
}

static void
say(enum ri_cm_event_kind kind)
{
	struct ri_cm_event event = cm_event(kind, CTX);

	fake_raise_cm(&event);
}

static uint32_t
connecting(struct fixture *f, bool three_way)
{
	struct kal_cm_req req;
	uint32_t qp = fixture_qp(f, CTX, 4, 3);

	fixture_connect_req(&req, qp, false, 99);
	req.three_way = three_way;
	g_assert_cmpint(fixture_call(f, KAL_CONNECT, &req, sizeof(req), NULL, 0), ==, RI_SUCCESS);
	return qp;
}

static void
test_reach(void)
{
	static const struct {
		enum ri_cm_event_kind raised;
		enum kal_cm_kind told;
	} steps[] = {{RI_CM_REPLY, KAL_CM_REPLY}, {RI_CM_ESTABLISHED, KAL_CM_ESTABLISHED}};
	struct ri_cm_event request;
	struct kal_cm_event event;
	struct kal_cm_req confirm = {0};
	uint16_t port = 0;

	set_claims(ALL);
	fake_attr.three_way_handshake = true;
	struct fixture f RI_AT_END(fixture_close) = fixture_open();
	fixture_listen(&f, LISTEN_CTX, &port, 3);
	request = cm_event(RI_CM_REQUEST, fake_cm_listen_ctx);
	fake_raise_cm(&request);
	event = fixture_cm(&f, KAL_CM_REQUEST, LISTEN_CTX);
	g_assert_cmpmem(&event.reach, sizeof(event.reach), &request.reach, sizeof(request.reach));
	confirm.qp = connecting(&f, true);
	for (size_t i = 0; i < G_N_ELEMENTS(steps); i++) {
		request = cm_event(steps[i].raised, CTX);
		fake_raise_cm(&request);
		event = fixture_cm(&f, steps[i].told, CTX);
		g_assert_cmpmem(&event.reach, sizeof(event.reach), &request.reach,
				sizeof(request.reach));
		if (i == 0)
			g_assert_cmpint(
				fixture_call(&f, KAL_CONFIRM, &confirm, sizeof(confirm), NULL, 0),
				==, RI_SUCCESS);
	}
}

/* The reason of a failure has the number of the provider's; "refused" is one of its own. */
static void
test_refused(void)
{
	for (unsigned reason = RI_CM_REASON_OTHER; reason <= RI_CM_REASON_REFUSED; reason++) {
		struct ri_cm_event event = cm_event(RI_CM_FAILED, CTX);

		set_claims(0);
		struct fixture f RI_AT_END(fixture_close) = fixture_open();
		connecting(&f, false);
		event.reason = reason;
		fake_raise_cm(&event);
		g_assert_cmpuint(fixture_cm(&f, KAL_CM_FAILED, CTX).reason, ==, reason);
	}
	g_assert_cmpint((int)KAL_REASON_REFUSED, ==, (int)RI_CM_REASON_REFUSED);
}

/* Once, after the end and before the queue pair is used again; the room for it was reserved by the attempt. */
static void
test_time_wait(void)
{
	uint32_t qp;

	set_claims(0);
	fake_attr.has_time_wait = true;
	fake_attr.qp_reusable = true;
	struct fixture f RI_AT_END(fixture_close) = fixture_open();
	qp = connecting(&f, false);
	say(RI_CM_TIME_WAIT_OVER); /* nothing has ended */
	g_assert_true(fixture_silent(&f));
	say(RI_CM_ESTABLISHED);
	fixture_cm(&f, KAL_CM_ESTABLISHED, CTX);
	say(RI_CM_TIME_WAIT_OVER);
	g_assert_true(fixture_silent(&f));
	say(RI_CM_BROKEN);
	fixture_cm(&f, KAL_CM_BROKEN, CTX);
#ifdef WITH_SCARCE
	scarce_arm_here(1, true);
#endif
	say(RI_CM_TIME_WAIT_OVER);
#ifdef WITH_SCARCE
	(void)scarce_disarm();
#endif
	fixture_cm(&f, KAL_CM_TIME_WAIT_OVER, CTX);
	say(RI_CM_TIME_WAIT_OVER);
	g_assert_true(fixture_silent(&f));
	/* Used again before it was over: the late event is of no connection. */
	for (unsigned attempt = 0; attempt < 2; attempt++) {
		struct kal_cm_req req;

		g_assert_cmpint(modify(&f, qp, RI_QPS_ERROR), ==, RI_SUCCESS);
		g_assert_cmpint(modify(&f, qp, RI_QPS_IDLE), ==, RI_SUCCESS);
		say(RI_CM_TIME_WAIT_OVER);
		g_assert_true(fixture_silent(&f));
		fixture_connect_req(&req, qp, false, 99);
		g_assert_cmpint(fixture_call(&f, KAL_CONNECT, &req, sizeof(req), NULL, 0), ==,
				RI_SUCCESS);
		say(RI_CM_TIME_WAIT_OVER);
		g_assert_true(fixture_silent(&f));
		say(RI_CM_REJECTED);
		fixture_cm(&f, KAL_CM_REJECTED, CTX);
	}
	/* This attempt has reserved room for an event more than it has used, and still there is one end. */
	say(RI_CM_TIME_WAIT_OVER);
	fixture_cm(&f, KAL_CM_TIME_WAIT_OVER, CTX);
	say(RI_CM_TIME_WAIT_OVER);
	g_assert_true(fixture_silent(&f));
}

/* Without the claim it is not reported, though there is room. */
static void
test_no_time_wait(void)
{
	set_claims(0);
	struct fixture f RI_AT_END(fixture_close) = fixture_open();
	connecting(&f, false);
	say(RI_CM_FAILED);
	fixture_cm(&f, KAL_CM_FAILED, CTX);
	say(RI_CM_TIME_WAIT_OVER);
	g_assert_true(fixture_silent(&f));
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	fake_register();
	g_test_add_func("/kal/claims/each", test_claims);
	g_test_add_func("/kal/claims/queue-pairs", test_queue_pairs);
	g_test_add_func("/kal/claims/iova", test_iova);
	g_test_add_func("/kal/claims/multicast", test_multicast);
	g_test_add_func("/kal/claims/peer-ranges", test_peer_ranges);
	g_test_add_func("/kal/claims/peer-states", test_peer_states);
	g_test_add_func("/kal/claims/types", test_types);
	g_test_add_func("/kal/claims/peer-end", test_peer_end);
	g_test_add_func("/kal/claims/reach", test_reach);
	g_test_add_func("/kal/claims/refused", test_refused);
	g_test_add_func("/kal/claims/time-wait", test_time_wait);
	g_test_add_func("/kal/claims/no-time-wait", test_no_time_wait);
	return g_test_run();
}
