/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Every cell of the table of phases, from the test's own list; and the meanings of statuses of librdmacm. */
#include <errno.h>
#include <glib.h>

#include "vib_cm.h"

struct cell {
	enum vib_phase from;
	enum vib_step step;
	enum vib_phase to;
	enum vib_action action;
};

#define OVER VIB_PHASE_OVER

static const struct cell single[] = {
	{VIB_PHASE_NEW, VIB_STEP_ASK, VIB_PHASE_ASKED, VIB_DO_NOTHING},
	{VIB_PHASE_NEW, VIB_STEP_CALL_CONNECT, VIB_PHASE_ADDRESS, VIB_DO_NOTHING},
	{VIB_PHASE_ADDRESS, VIB_STEP_ADDRESS, VIB_PHASE_ROUTE, VIB_DO_ROUTE},
	{VIB_PHASE_ROUTE, VIB_STEP_ROUTE, VIB_PHASE_CONNECT, VIB_DO_REQUEST},
	{VIB_PHASE_CONNECT, VIB_STEP_RESPONSE, VIB_PHASE_REPLIED, VIB_DO_REPLY},
	{VIB_PHASE_CONNECT, VIB_STEP_ESTABLISHED, VIB_PHASE_UP, VIB_DO_ESTABLISH},
	{VIB_PHASE_CONNECT, VIB_STEP_AGAIN, VIB_PHASE_ADDRESS, VIB_DO_NOTHING},
	{VIB_PHASE_REPLIED, VIB_STEP_CALL_CONFIRM, VIB_PHASE_CONFIRM, VIB_DO_NOTHING},
	{VIB_PHASE_REPLIED, VIB_STEP_CALL_REFUSE, OVER, VIB_DO_REFUSE},
	{VIB_PHASE_CONFIRM, VIB_STEP_TASK, VIB_PHASE_UP, VIB_DO_FINISH},
	{VIB_PHASE_ASKED, VIB_STEP_CALL_ACCEPT, VIB_PHASE_ACCEPT, VIB_DO_NOTHING},
	{VIB_PHASE_ACCEPT, VIB_STEP_ESTABLISHED, VIB_PHASE_UP, VIB_DO_ESTABLISH},
	{VIB_PHASE_UP, VIB_STEP_FAILED, OVER, VIB_DO_HANG_UP},
	{VIB_PHASE_UP, VIB_STEP_DISCONNECTED, OVER, VIB_DO_HANG_UP},
	{VIB_PHASE_UP, VIB_STEP_REMOVED, OVER, VIB_DO_LOSE},
	{VIB_PHASE_UP, VIB_STEP_CALL_DISCONNECT, VIB_PHASE_LEAVE, VIB_DO_LEAVE},
	{VIB_PHASE_UP, VIB_STEP_CALL_ABORT, OVER, VIB_DO_ABORT},
	{VIB_PHASE_LEAVE, VIB_STEP_FAILED, OVER, VIB_DO_LEFT},
	{VIB_PHASE_LEAVE, VIB_STEP_DISCONNECTED, OVER, VIB_DO_LEFT},
	{VIB_PHASE_LEAVE, VIB_STEP_REMOVED, OVER, VIB_DO_LOSE},
	{VIB_PHASE_LEAVE, VIB_STEP_DEADLINE, OVER, VIB_DO_LEFT},
	{VIB_PHASE_LEAVE, VIB_STEP_CALL_ABORT, OVER, VIB_DO_NOTHING},
};

/* What ends an attempt, in each phase that has one. */
static const struct cell ends[] = {
	{VIB_PHASE_NONE, VIB_STEP_FAILED, OVER, VIB_DO_FAIL},
	{VIB_PHASE_NONE, VIB_STEP_REMOVED, OVER, VIB_DO_LOSE},
	{VIB_PHASE_NONE, VIB_STEP_DEADLINE, OVER, VIB_DO_TIMEOUT},
	{VIB_PHASE_NONE, VIB_STEP_CALL_DISCONNECT, OVER, VIB_DO_DROP},
	{VIB_PHASE_NONE, VIB_STEP_CALL_ABORT, OVER, VIB_DO_ABORT},
};

static bool
is_attempt(unsigned phase)
{
	return phase == VIB_PHASE_ADDRESS || phase == VIB_PHASE_ROUTE ||
	       phase == VIB_PHASE_CONNECT || phase == VIB_PHASE_REPLIED ||
	       phase == VIB_PHASE_CONFIRM || phase == VIB_PHASE_ACCEPT;
}

static struct cell
wanted(unsigned from, unsigned step)
{
	const struct cell none = {0};
	const struct cell fails = {VIB_PHASE_NONE, VIB_STEP_DISCONNECTED, OVER, VIB_DO_FAIL};

	for (gsize i = 0; i < G_N_ELEMENTS(single); i++) {
		if (single[i].from == from && single[i].step == step)
			return single[i];
	}
	for (gsize i = 0; i < G_N_ELEMENTS(ends) && is_attempt(from); i++) {
		if (ends[i].step == step)
			return ends[i];
	}
	/* An end can come as soon as the peer has the request. */
	if (is_attempt(from) && step == VIB_STEP_DISCONNECTED && from != VIB_PHASE_ADDRESS &&
	    from != VIB_PHASE_ROUTE)
		return fails;
	return none;
}

static void
test_cells(void)
{
	for (unsigned from = 0; from < VIB_PHASE_COUNT; from++) {
		for (unsigned step = 0; step < VIB_STEP_COUNT; step++) {
			struct cell want = wanted(from, step);
			enum vib_action action;

			g_test_message("phase %u by %u", from, step);
			g_assert_cmpint(
				vib_phase_next((enum vib_phase)from, (enum vib_step)step, &action),
				==, want.to);
			g_assert_cmpint(action, ==, want.action);
		}
	}
}

static void
test_reasons(void)
{
	static const struct {
		enum rdma_cm_event_type type;
		int status;
		bool iwarp;
		enum ri_cm_reason reason;
	} rows[] = {
		{RDMA_CM_EVENT_ADDR_ERROR, -ETIMEDOUT, false, RI_CM_REASON_BAD_PATH},
		{RDMA_CM_EVENT_ROUTE_ERROR, -EINVAL, false, RI_CM_REASON_BAD_PATH},
		{RDMA_CM_EVENT_UNREACHABLE, -ETIMEDOUT, false, RI_CM_REASON_TIMEOUT},
		{RDMA_CM_EVENT_REJECTED, 28, false, RI_CM_REASON_CONSUMER},
		{RDMA_CM_EVENT_REJECTED, 8, false, RI_CM_REASON_REFUSED},
		{RDMA_CM_EVENT_REJECTED, 35, false, RI_CM_REASON_OTHER},
		{RDMA_CM_EVENT_REJECTED, 10, false, RI_CM_REASON_STALE},
		{RDMA_CM_EVENT_REJECTED, 3, false, RI_CM_REASON_RESOURCES},
		{RDMA_CM_EVENT_REJECTED, 4, false, RI_CM_REASON_TIMEOUT},
		{RDMA_CM_EVENT_REJECTED, 27, false, RI_CM_REASON_BAD_ORD},
		{RDMA_CM_EVENT_REJECTED, 12, false, RI_CM_REASON_BAD_PATH},
		{RDMA_CM_EVENT_REJECTED, 31, false, RI_CM_REASON_BAD_PARAMS},
		{RDMA_CM_EVENT_REJECTED, -ECONNRESET, true, RI_CM_REASON_CONSUMER},
		{RDMA_CM_EVENT_REJECTED, -ECONNREFUSED, true, RI_CM_REASON_REFUSED},
		{RDMA_CM_EVENT_CONNECT_ERROR, -ECONNREFUSED, true, RI_CM_REASON_REFUSED},
		{RDMA_CM_EVENT_CONNECT_ERROR, -EPROTO, true, RI_CM_REASON_BAD_PARAMS},
		{RDMA_CM_EVENT_CONNECT_ERROR, -ENOMEM, true, RI_CM_REASON_RESOURCES},
		{RDMA_CM_EVENT_CONNECT_ERROR, -EHOSTUNREACH, true, RI_CM_REASON_BAD_PATH},
	};

	for (gsize i = 0; i < G_N_ELEMENTS(rows); i++)
		g_assert_cmpint(vib_reason_of_event(rows[i].type, rows[i].status, rows[i].iwarp),
				==, rows[i].reason);
}

static void
test_service(void)
{
	static const struct {
		enum rdma_cm_event_type type;
		int status;
		enum ri_service_status meaning;
	} rows[] = {
		{RDMA_CM_EVENT_ESTABLISHED, 0, RI_SERVICE_FOUND},
		{RDMA_CM_EVENT_UNREACHABLE, 1, RI_SERVICE_UNKNOWN},
		{RDMA_CM_EVENT_UNREACHABLE, 2, RI_SERVICE_REJECTED},
		{RDMA_CM_EVENT_UNREACHABLE, 3, RI_SERVICE_NO_QP},
		{RDMA_CM_EVENT_UNREACHABLE, 4, RI_SERVICE_REDIRECTED},
		{RDMA_CM_EVENT_UNREACHABLE, -ETIMEDOUT, RI_SERVICE_REJECTED},
		{RDMA_CM_EVENT_ADDR_ERROR, 3, RI_SERVICE_REJECTED},
	};

	for (gsize i = 0; i < G_N_ELEMENTS(rows); i++)
		g_assert_cmpint(vib_service_status_of_event(rows[i].type, rows[i].status), ==,
				rows[i].meaning);
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/ib/cm-states/cells", test_cells);
	g_test_add_func("/ib/cm-states/reasons", test_reasons);
	g_test_add_func("/ib/cm-states/service", test_service);
	return g_test_run();
}
