/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Faults on demand, by direct calls of the provider in virtual time, so that each run is the same. Verbs must fail
 * when and as a command says; an adapter that fails raises the end events of its connections before its own.
 */
#include <string.h>

#include "vem_fault.h"
#include "vem_node.h"

static void
set_up(struct ends *s, const char *adapter)
{
	ends_open(s, adapter);
	ends_fill(s, NULL, NULL, 4096, ALL_RW);
}

static void
tear_down(struct ends *s)
{
	vth_run(s->vth);
	node_forget(s->na);
	ends_close(s);
}

/* --- verbs -------------------------------------------------------------------------------- */

static enum ri_status
call_memory(struct ends *s, enum vem_call call)
{
	const struct ri_provider *p = s->nb->p;
	struct ri_mr_init init = {.addr = (uintptr_t)s->mb.at, .length = 64, .access = ALL_RW};
	struct ri_mr_attr attr;
	struct ri_mr *mr = NULL;
	struct ri_mw *mw = NULL;
	enum ri_status status;
	uint32_t stag = 0;

	if (call == VEM_CALL_MR_REG || call == VEM_CALL_MR_REREG) {
		if (call == VEM_CALL_MR_REREG)
			return p->mem->mr_rereg(s->mb.mr, s->nb->pd, &init, &stag);
		status = p->mem->mr_reg(s->nb->pd, &init, &mr, &stag);
		if (status == RI_SUCCESS)
			g_assert_cmpint(p->mem->mr_dereg(mr), ==, RI_SUCCESS);
		return status;
	}
	if (call == VEM_CALL_MR_QUERY)
		return p->mem->mr_query(s->mb.mr, &attr);
	status = p->mem->mw_alloc(s->nb->pd, RI_MW_NARROW, &mw, &stag);
	if (status == RI_SUCCESS)
		g_assert_cmpint(p->mem->mw_free(mw), ==, RI_SUCCESS);
	return status;
}

static enum ri_status
call_queues(struct ends *s, enum vem_call call)
{
	const struct ri_provider *p = s->nb->p;
	struct ri_qp_attr attr = {.state = RI_QPS_IDLE, .max_sq_wr = 16, .max_rq_wr = 16};
	struct ri_srq_attr srq_attr = {.max_wr = 4, .max_sge = 1};
	struct ri_cq *cq = NULL;
	struct ri_srq *srq = NULL;
	struct ri_map map;
	uint32_t entries = 8;
	enum ri_status status;

	if (call == VEM_CALL_QP_MODIFY)
		return p->qp->modify(s->b->qp, &attr, RI_QP_ATTR_STATE);
	if (call == VEM_CALL_QP_QUERY)
		return p->qp->query(s->b->qp, &attr);
	if (call == VEM_CALL_CQ_CREATE) {
		status = p->cq->create(s->nb->context, 1, &entries, &cq, &map);
		if (status == RI_SUCCESS)
			g_assert_cmpint(p->cq->destroy(cq), ==, RI_SUCCESS);
		return status;
	}
	status = p->srq->create(s->nb->pd, &srq_attr, &srq, &map);
	if (status == RI_SUCCESS)
		g_assert_cmpint(p->srq->destroy(srq), ==, RI_SUCCESS);
	return status;
}

static enum ri_status
call_others(struct ends *s, enum vem_call call)
{
	const struct ri_provider *p = s->nb->p;
	const struct ri_addr peer = {.family = RI_ADDR_IPV4, .octets = {127, 0, 0, 1}};
	struct ri_service service = {.kind = RI_SERVICE_PORT};
	struct ri_port_attr attr = {.size = sizeof(attr)};
	struct ri_addr local = {.family = RI_ADDR_NONE};
	struct ri_listen *listen = NULL;
	struct ri_pd *pd = NULL;
	enum ri_status status;
	uint32_t port = 0;

	if (call == VEM_CALL_QUERY_PORT)
		return p->device->query_port(s->nb->rnic, 0, &attr);
	if (call == VEM_CALL_ROUTE)
		return p->device->route(s->nb->rnic, &peer, &local, &port);
	if (call == VEM_CALL_PD_CREATE) {
		status = p->pd->create(s->nb->context, &pd);
		if (status == RI_SUCCESS)
			g_assert_cmpint(p->pd->destroy(pd), ==, RI_SUCCESS);
		return status;
	}
	status = p->cm->listen(s->nb->context, 7, 0, &service, 1, &listen);
	if (status == RI_SUCCESS)
		p->cm->listen_destroy(listen);
	return status;
}

static const struct {
	enum vem_call call;
	enum ri_status (*make)(struct ends *s, enum vem_call call);
} verbs[] = {
	{VEM_CALL_QUERY_PORT, call_others}, {VEM_CALL_ROUTE, call_others},
	{VEM_CALL_PD_CREATE, call_others},  {VEM_CALL_LISTEN, call_others},
	{VEM_CALL_CQ_CREATE, call_queues},  {VEM_CALL_SRQ_CREATE, call_queues},
	{VEM_CALL_QP_MODIFY, call_queues},  {VEM_CALL_QP_QUERY, call_queues},
	{VEM_CALL_MR_REG, call_memory},     {VEM_CALL_MR_REREG, call_memory},
	{VEM_CALL_MR_QUERY, call_memory},   {VEM_CALL_MW_ALLOC, call_memory},
};

/*
 * For each verb: a fault makes exactly the intended call fail, once, on that adapter only. After
 * the adapter has failed, each call fails.
 */
static void
test_verbs(gconstpointer adapter)
{
	struct ends s RI_AT_END(tear_down);

	set_up(&s, adapter);
	for (size_t i = 0; i < G_N_ELEMENTS(verbs); i++) {
		enum vem_call call = verbs[i].call;

		vem_fault_call(s.nb->rnic, call, 3, RI_ERR_LIMIT);
		vem_fault_call(s.na->rnic, call, 1, RI_ERR_PERMISSION);
		for (unsigned n = 1; n <= 5; n++)
			g_assert_cmpint(verbs[i].make(&s, call), ==,
					n == 3 ? RI_ERR_LIMIT : RI_SUCCESS);
	}
	vem_fault_adapter(s.nb->rnic);
	for (size_t i = 0; i < G_N_ELEMENTS(verbs); i++)
		g_assert_cmpint(verbs[i].make(&s, verbs[i].call), ==, RI_ERR_FATAL);
}

/* --- the adapter -------------------------------------------------------------------------- */

/* Posted requests are completed, then the ends are raised, then the catastrophe, once. */
static void
test_order(gconstpointer adapter)
{
	struct ends s RI_AT_END(tear_down);

	set_up(&s, adapter);
	ends_connect(s.a, s.b);
	post_recv(s.b, 1, NULL);
	post_recv(s.b, 2, NULL);
	vem_fault_adapter(s.nb->rnic);
	vem_fault_adapter(s.nb->rnic);
	vth_run(s.vth);
	poll_one(s.b->urcq, 1, RI_WC_FLUSHED);
	poll_one(s.b->urcq, 2, RI_WC_FLUSHED);
	node_cm(s.nb, RI_CM_BROKEN, s.b);
	node_async(s.nb, RI_EVENT_DEVICE_CATASTROPHIC, NULL);
	node_lost(s.na, s.a);
	node_silent(s.na);
	node_silent(s.nb);
}

/* Down and up, with one event each; what was posted in between moves afterwards. */
static void
test_port(gconstpointer adapter)
{
	struct ri_port_attr attr = {.size = sizeof(attr)};
	struct ends s RI_AT_END(tear_down);

	set_up(&s, adapter);
	ends_connect(s.a, s.b);
	vem_fault_port(s.nb->rnic, true); /* the state agrees */
	node_silent(s.nb);
	vem_fault_port(s.nb->rnic, false);
	vem_fault_port(s.nb->rnic, false);
	node_async(s.nb, RI_EVENT_PORT_ERROR, NULL);
	g_assert_cmpint(s.nb->p->device->query_port(s.nb->rnic, 0, &attr), ==, RI_SUCCESS);
	g_assert_false(attr.online);
	post_recv(s.b, 1, NULL);
	post_send(s.a, 2, NULL, 0);
	vth_run(s.vth);
	poll_none(s.a->uscq);
	poll_none(s.b->urcq);
	vem_fault_port(s.nb->rnic, true);
	vth_run(s.vth);
	node_async(s.nb, RI_EVENT_PORT_ACTIVE, NULL);
	poll_one(s.a->uscq, 2, RI_WC_SUCCESS);
	poll_one(s.b->urcq, 1, RI_WC_SUCCESS);
	node_silent(s.na);
	node_silent(s.nb);
}

/* --- scripts ------------------------------------------------------------------------------ */

static GString *said;

static void
note(void *self, enum ri_log_level level, const char *where, const char *text)
{
	(void)self;
	(void)where;
	g_assert_cmpint(level, ==, RI_LOG_WARNING);
	g_string_append_printf(said, "%s\n", text);
}

static void
no_upcall(void *self, const struct ri_async_event *event)
{
	(void)self;
	(void)event;
}

static void
no_cm_upcall(void *self, const struct ri_cm_event *event)
{
	(void)self;
	(void)event;
}

static void
no_cq_upcall(void *self, uint64_t ctx)
{
	(void)self;
	(void)ctx;
}

/* Open an adapter with that script; what it logs is in `said`. */
static struct ri_rnic *
open_under(const char *script, struct ri_host *host, const char *adapter)
{
	static const struct ri_upcalls upcalls = {.size = sizeof(upcalls),
						  .cq_event = no_cq_upcall,
						  .async_event = no_upcall,
						  .cm_event = no_cm_upcall};
	struct ri_open open = {.host = host, .upcalls = &upcalls};
	struct ri_rnic *rnic = NULL;

	g_string_truncate(said, 0);
	g_strlcpy(open.name, adapter, sizeof(open.name));
	g_assert_true(g_setenv("ITAPI_EMUL_FAULTS", script, TRUE));
	g_assert_cmpint(vem_plain_provider.device->open(&open, &rnic), ==, RI_SUCCESS);
	g_unsetenv("ITAPI_EMUL_FAULTS");
	return rnic;
}

/* Each invalid command is refused by name and with the reason, and has no effect; its neighbours are carried out. */
static void
test_script_lies(gconstpointer adapter)
{
	static const struct {
		const char *command;
		const char *answer;
	} lies[] = {
		{"call", "wanted: call VERB N STATUS"},
		{"call pd_create 1 resources now", "wanted: call VERB N STATUS"},
		{"call pd_creat 1 resources",
		 "there is no verb 'pd_creat'; did you mean 'pd_create'?"},
		{"call pd_create 0 resources", "which call? N is a number from 1 on"},
		{"call pd_create last resources", "which call? N is a number from 1 on"},
		{"call pd_create -1 resources", "which call? N is a number from 1 on"},
		{"call pd_create 1x resources", "which call? N is a number from 1 on"},
		{"call pd_create 4294967296 resources", "which call? N is a number from 1 on"},
		{"call pd_create 99999999999999999999 resources",
		 "which call? N is a number from 1 on"},
		{"call pd_create 1 success",
		 "there is no status 'success', but: resources, limit, busy, fatal, permission, "
		 "full, none"},
		{"port", "wanted: port up, or port down"},
		{"port sideways", "wanted: port up, or port down"},
		{"port down now", "wanted: port up, or port down"},
		{"fail", "wanted: fail adapter, or fail qp, cq or srq N"},
		{"fail pd 1", "wanted: fail adapter, or fail qp, cq or srq N"},
		{"fail adapter now", "wanted: fail adapter, or fail qp, cq or srq N"},
		{"full srq 1", "wanted: full cq N"},
		{"fail cq", "which one? N is a number from 1 on, or last"},
		{"fail cq first", "which one? N is a number from 1 on, or last"},
		{"fail cq 1 now", "too many words"},
		{"fail qp 1 inside now", "too many words"},
		{"fail qp 1 acess", "there is no fault 'acess'; did you mean 'access'?"},
		{"fail cq 1", "there is no such object now"},
		{"fail srq last", "there is no such object now"},
		{"be good", "there is no command 'be', but: call, fail, full, port, name, path, "
			    "tell, check, help"},
		{"fail qp 1 inside now or later", "too long"},
	};
	struct vth *vth RI_AT_END(vth_free) = vth_new(false);
	struct ri_host host = *vth_host(vth);

	said = g_string_new(NULL);
	host.log = note;
	host.log_level = RI_LOG_WARNING;
	for (guint i = 0; i < G_N_ELEMENTS(lies); i++) {
		g_autofree char *script = g_strdup_printf(
			"call route 1 busy;%s; call query_port 1 limit", lies[i].command);
		g_autofree char *wanted =
			g_strdup_printf("refused: '%s': %s\n", lies[i].command, lies[i].answer);
		struct ri_port_attr attr = {.size = sizeof(attr)};
		struct ri_rnic *rnic = open_under(script, &host, adapter);

		g_assert_cmpstr(said->str, ==, wanted);
		for (uint32_t call = 0; call < VEM_CALL_COUNT; call++)
			g_assert_cmpint(vem_fault_due(rnic, call), ==,
					call == VEM_CALL_ROUTE        ? RI_ERR_BUSY
					: call == VEM_CALL_QUERY_PORT ? RI_ERR_LIMIT
								      : RI_SUCCESS);
		g_assert_cmpint(vem_plain_provider.device->query_port(rnic, 0, &attr), ==,
				RI_SUCCESS);
		g_assert_true(attr.online);
		vem_plain_provider.device->close(rnic);
	}
	/* "help" is no refusal: it lists the words. */
	struct ri_rnic *helped = open_under("help", &host, adapter);
	g_assert_nonnull(strstr(said->str, "call VERB N STATUS: "));
	g_assert_nonnull(strstr(said->str, "VERB: query_port, route, pd_create"));
	g_assert_nonnull(strstr(said->str, "HOW: inside, opcode"));
	g_assert_nonnull(strstr(said->str, "port down, port up"));
	g_assert_null(strstr(said->str, "refused"));
	vem_plain_provider.device->close(helped);
	/* Characters that would control a terminal do not reach the log. */
	struct ri_rnic *rnic = open_under("be\033[31m red", &host, adapter);
	g_assert_cmpstr(said->str, ==,
			"refused: 'be?[31m red': there is no command 'be?[31m', but: call, fail, "
			"full, port, name, path, tell, check, help\n");
	vem_plain_provider.device->close(rnic);
	g_string_free(said, TRUE);
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_data_func("/emul/ib/faults/verbs", "emul:ib", test_verbs);
	g_test_add_data_func("/emul/ib/faults/order", "emul:ib", test_order);
	g_test_add_data_func("/emul/ib/faults/port", "emul:ib", test_port);
	g_test_add_data_func("/emul/iwarp/faults/verbs", "emul:iwarp", test_verbs);
	g_test_add_data_func("/emul/iwarp/faults/order", "emul:iwarp", test_order);
	g_test_add_data_func("/emul/iwarp/faults/port", "emul:iwarp", test_port);
	g_test_add_data_func("/emul/ib/faults/script-lies", "emul:ib", test_script_lies);
	g_test_add_data_func("/emul/iwarp/faults/script-lies", "emul:iwarp", test_script_lies);
	return g_test_run();
}
