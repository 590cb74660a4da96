/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include <string.h>

#include "vem_node.h"
#include "vem_path.h"

#include <string.h>

struct node *
node_new(struct vth *vth, bool threaded, const char *adapter)
{
	struct node *node = node_open(vem_provider_entry(), vth, threaded, adapter);

	node->requests = 16;
	node->entries = 64;
	return node;
}

struct node *
node_new_patient(struct vth *vth, const char *adapter, const char *patience)
{
	struct node *node;

	g_setenv("ITAPI_EMUL_RNR_MS", patience, TRUE);
	node = node_new(vth, true, adapter);
	g_unsetenv("ITAPI_EMUL_RNR_MS");
	return node;
}

void
node_free(struct node **node)
{
	node_silent(*node);
	node_close(node);
}

void
ends_open(struct ends *ends, const char *adapter)
{
	memset(ends, 0, sizeof(*ends));
	ends->vth = vth_new(false);
	ends->na = node_new(ends->vth, false, adapter);
	ends->nb = node_new(ends->vth, false, adapter);
}

void
ends_close(struct ends *ends)
{
	if (ends->mw != NULL)
		g_assert_cmpint(ends->nb->p->mem->mw_free(ends->mw), ==, RI_SUCCESS);
	if (ends->a != NULL)
		end_free(&ends->a);
	vth_run(ends->vth);
	node_forget(ends->nb);
	if (ends->b != NULL)
		end_free(&ends->b);
	chunk_free(&ends->ma);
	chunk_free(&ends->mb);
	if (ends->nb->srq != NULL)
		node_unshare(ends->nb);
	node_free(&ends->na);
	node_free(&ends->nb);
	g_assert_cmpuint(vth_attached(ends->vth), ==, 0);
	vth_free(&ends->vth);
}

void
ends_drop(struct ends *ends)
{
	vth_run(ends->vth);
	node_forget(ends->na);
	ends_close(ends);
}

struct ri_cm_params
node_params(const struct ri_service *service)
{
	return (struct ri_cm_params){
		.peer = {.family = RI_ADDR_IPV4, .octets = {127, 0, 0, 1}},
		.service = service != NULL ? *service : (struct ri_service){0},
		.ird = 4,
		.ord = 4,
		.ird_ord = true,
		.deadline = RI_NEVER,
	};
}

static void
connect_with(struct end *a, struct end *b, bool retries, const uint8_t told[2])
{
	const struct ri_cm_ops *cm = a->node->p->cm;
	struct ri_service service = {.kind = RI_SERVICE_PORT};
	struct ri_listen *listen = NULL;

	g_assert_cmpint(cm->listen(b->node->context, 42, 0, &service, 4, &listen), ==, RI_SUCCESS);
	struct ri_cm_params params = node_params(&service);
	params.retries = retries;
	params.retry_count = told[0];
	params.rnr_retry = told[0];
	g_assert_cmpint(cm->connect(a->qp, &params), ==, RI_SUCCESS);
	struct ri_cm_event request = node_cm(b->node, RI_CM_REQUEST, (const void *)(uintptr_t)42);
	params.rnr_retry = told[1];
	g_assert_cmpint(cm->accept(request.request, b->qp, &params), ==, RI_SUCCESS);
	if (a->node != b->node) {
		node_cm(a->node, RI_CM_ESTABLISHED, a);
		node_cm(b->node, RI_CM_ESTABLISHED, b);
	} else {
		bool ib = a->node->attr.transport == RI_TRANSPORT_IB;
		node_cm(a->node, RI_CM_ESTABLISHED, ib ? a : b);
		node_cm(a->node, RI_CM_ESTABLISHED, ib ? b : a);
	}
	cm->listen_destroy(listen);
	node_run(a->node);
	g_assert_cmpint(end_state(a), ==, RI_QPS_RTS);
	g_assert_cmpint(end_state(b), ==, RI_QPS_RTS);
}

void
ends_connect(struct end *a, struct end *b)
{
	connect_with(a, b, false, (const uint8_t[2]){0});
}

void
ends_connect_tries(struct end *a, struct end *b, uint8_t told_by_a, uint8_t told_by_b)
{
	connect_with(a, b, true, (const uint8_t[2]){told_by_a, told_by_b});
}

static struct ri_wc
poll_till(struct ri_ucq *cq, uint64_t id, enum ri_wc_status status, gint64 deadline)
{
	struct ri_wc wc = {0};

	while (vem_provider_entry()->fast->poll_cq(cq, &wc, 1) == 0)
		g_assert_cmpint(g_get_monotonic_time(), <, deadline);
	g_assert_cmpuint(wc.wr_id, ==, id);
	g_assert_cmpuint(wc.status, ==, status);
	return wc;
}

struct ri_wc
poll_one(struct ri_ucq *cq, uint64_t id, enum ri_wc_status status)
{
	return poll_till(cq, id, status, 0);
}

struct ri_wc
poll_wait(struct ri_ucq *cq, uint64_t id, enum ri_wc_status status)
{
	return poll_till(cq, id, status, node_deadline());
}

void
poll_none(struct ri_ucq *cq)
{
	struct ri_wc wc;

	g_assert_cmpuint(vem_provider_entry()->fast->poll_cq(cq, &wc, 1), ==, 0);
}

const char *
node_path(struct node *node, const char *text)
{
	static struct ri_command command;
	struct vem_path_order order;
	const char *why;

	g_assert_true(ri_command_split(&command, text, strlen(text)));
	why = vem_path_read(&command, &order);
	return why != NULL ? why : vem_path_do(node->rnic, &order);
}
