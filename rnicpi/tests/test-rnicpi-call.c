/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* A provider that lies is caught at the border: unknown status, no object, less than asked for. */

#include <glib.h>
#include <string.h>

#include "ri_call.h"

/* What every verb of the liar does next. */
static enum ri_status answer;
static bool gives_object, shrinks;
static unsigned unmade, logged;
static char last_line[256];

static char thing[16];

static void
log_line(void *self, enum ri_log_level level, const char *where, const char *text)
{
	(void)self;
	g_assert_cmpint(level, ==, RI_LOG_ERROR);
	g_assert_cmpstr(where, ==, "kal liar0");
	g_strlcpy(last_line, text, sizeof(last_line));
	logged++;
}

#define GIVE(out) (*(out) = gives_object ? (void *)thing : NULL)

static enum ri_status
liar_probe(const struct ri_host *from, struct ri_device_desc *descs, uint32_t *count)
{
	(void)from;
	memset(descs, 'x', *count * sizeof(*descs));
	*count += shrinks;
	return answer;
}

static enum ri_status
liar_open(const struct ri_open *open, struct ri_rnic **out)
{
	(void)open;
	GIVE(out);
	return answer;
}

static enum ri_status
liar_query_port(struct ri_rnic *rnic, uint32_t port, struct ri_port_attr *attr)
{
	(void)rnic;
	(void)port;
	memset(attr, 0xff, sizeof(*attr));
	attr->num_addrs = shrinks ? RI_PORT_ADDR_MAX + 1 : 1;
	return answer;
}

static enum ri_status
liar_context(struct ri_rnic *rnic, const struct ri_owner *owner, struct ri_context **out,
	     struct ri_map *map)
{
	(void)rnic;
	(void)owner;
	(void)map;
	GIVE(out);
	return answer;
}

static enum ri_status
liar_route(struct ri_rnic *rnic, const struct ri_addr *peer, struct ri_addr *local, uint32_t *port)
{
	(void)rnic;
	(void)peer;
	*port = 0;
	local->family = gives_object ? RI_ADDR_IPV4 : RI_ADDR_NONE;
	return answer;
}

static const struct ri_device_ops device_ops = {.size = sizeof(device_ops),
						.probe = liar_probe,
						.open = liar_open,
						.query_port = liar_query_port,
						.context_create = liar_context,
						.route = liar_route};

static enum ri_status
liar_pd(struct ri_context *context, struct ri_pd **out)
{
	(void)context;
	GIVE(out);
	return answer;
}

static enum ri_status
liar_pd_destroy(struct ri_pd *pd)
{
	(void)pd;
	return answer;
}

static const struct ri_pd_ops pd_ops = {sizeof(pd_ops), liar_pd, liar_pd_destroy};

static enum ri_status
liar_cq(struct ri_context *context, uint64_t ctx, uint32_t *entries, struct ri_cq **out,
	struct ri_map *map)
{
	(void)context;
	(void)ctx;
	(void)map;
	*entries -= shrinks;
	GIVE(out);
	return answer;
}

static enum ri_status
liar_cq_resize(struct ri_cq *cq, uint32_t *entries, struct ri_map *map)
{
	(void)cq;
	(void)map;
	*entries -= shrinks;
	return answer;
}

static enum ri_status
liar_cq_destroy(struct ri_cq *cq)
{
	(void)cq;
	unmade++;
	return RI_SUCCESS;
}

static const struct ri_cq_ops cq_ops = {sizeof(cq_ops), liar_cq, liar_cq_resize, liar_cq_destroy};

static enum ri_status
liar_qp_create(struct ri_pd *pd, struct ri_qp_init *init, struct ri_cq *send_cq,
	       struct ri_cq *recv_cq, struct ri_srq *srq, struct ri_qp **out, struct ri_map *map)
{
	(void)pd;
	(void)send_cq;
	(void)recv_cq;
	(void)srq;
	(void)map;
	init->max_sq_wr -= shrinks;
	GIVE(out);
	return answer;
}

static enum ri_status
liar_qp_modify(struct ri_qp *qp, const struct ri_qp_attr *attr, uint32_t mask)
{
	(void)qp;
	(void)attr;
	(void)mask;
	return answer;
}

static enum ri_status
liar_qp_query(struct ri_qp *qp, struct ri_qp_attr *attr)
{
	(void)qp;
	attr->state = shrinks ? 99 : RI_QPS_IDLE;
	return answer;
}

static enum ri_status
liar_qp_destroy(struct ri_qp *qp)
{
	(void)qp;
	unmade++;
	return RI_SUCCESS;
}

static enum ri_status
liar_qp_resize(struct ri_qp *qp, struct ri_qp_attr *attr, struct ri_map *map)
{
	(void)qp;
	(void)map;
	attr->max_sq_wr -= shrinks;
	return answer;
}

static const struct ri_qp_ops qp_ops = {.size = sizeof(qp_ops),
					.create = liar_qp_create,
					.modify = liar_qp_modify,
					.query = liar_qp_query,
					.destroy = liar_qp_destroy,
					.resize = liar_qp_resize};

static enum ri_status
liar_mr(struct ri_pd *pd, const struct ri_mr_init *init, struct ri_mr **out, uint32_t *stag)
{
	(void)pd;
	(void)init;
	*stag = shrinks ? 0 : 0x100;
	GIVE(out);
	return answer;
}

static enum ri_status
liar_mr_dereg(struct ri_mr *mr)
{
	(void)mr;
	unmade++;
	return RI_SUCCESS;
}

static enum ri_status
liar_mr_dmabuf(struct ri_pd *pd, const struct ri_mr_init *init, const struct ri_dmabuf *from,
	       struct ri_mr **out, uint32_t *stag)
{
	g_assert_cmpint(from->fd, ==, 7);
	g_assert_cmpuint(from->offset, ==, 4096);
	return liar_mr(pd, init, out, stag);
}

static const struct ri_mem_ops mem_ops = {.size = sizeof(mem_ops),
					  .mr_reg = liar_mr,
					  .mr_dereg = liar_mr_dereg,
					  .mr_reg_dmabuf = liar_mr_dmabuf};

static enum ri_status
liar_listen(struct ri_context *context, uint64_t ctx, uint32_t port, struct ri_service *service,
	    uint32_t backlog, struct ri_listen **out)
{
	(void)context;
	(void)ctx;
	(void)port;
	(void)backlog;
	service->port = shrinks ? 0 : 7;
	GIVE(out);
	return answer;
}

static void
liar_listen_destroy(struct ri_listen *listen)
{
	(void)listen;
	unmade++;
}

static const struct ri_cm_ops cm_ops = {
	.size = sizeof(cm_ops), .listen = liar_listen, .listen_destroy = liar_listen_destroy};

static const struct ri_provider liar = {.name = "liar",
					.device = &device_ops,
					.pd = &pd_ops,
					.cq = &cq_ops,
					.qp = &qp_ops,
					.mem = &mem_ops,
					.cm = &cm_ops};
static const struct ri_host host = {.size = sizeof(host), .log = log_line};
static const struct ri_caller caller = {&liar, &host, "liar0"};

/* --- each verb that creates or returns something, as one step --------------------------------- */

static struct ri_map map;

static enum ri_status
step_probe(void)
{
	struct ri_device_desc descs[2];
	uint32_t count = G_N_ELEMENTS(descs);
	enum ri_status status = ri_call_probe(&caller, descs, &count);

	/* Text without an end gets one, also if there are more adapters than room. */
	for (size_t i = 0; i < G_N_ELEMENTS(descs); i++) {
		g_assert_cmpint(descs[i].name[sizeof(descs[i].name) - 1], ==, '\0');
		g_assert_cmpint(descs[i].description[sizeof(descs[i].description) - 1], ==, '\0');
	}
	g_assert_cmpuint(count, ==, G_N_ELEMENTS(descs) + shrinks);
	return status;
}

static enum ri_status
step_open(void)
{
	struct ri_open open = {0};
	struct ri_rnic *out;

	return ri_call_open(&caller, &open, &out);
}

static enum ri_status
step_query_port(void)
{
	struct ri_port_attr attr = {.size = sizeof(attr)};
	enum ri_status status = ri_call_query_port(&caller, NULL, 0, &attr);

	g_assert_cmpuint(attr.size, ==, sizeof(attr));
	g_assert_nonnull(memchr(attr.if_name, 0, sizeof(attr.if_name)));
	return status;
}

static enum ri_status
step_context(void)
{
	struct ri_context *out;

	return ri_call_context_create(&caller, NULL, NULL, &out, &map);
}

static enum ri_status
step_route(void)
{
	struct ri_addr local;
	uint32_t port;

	return ri_call_route(&caller, NULL, NULL, &local, &port);
}

static enum ri_status
step_pd(void)
{
	struct ri_pd *out;

	return ri_call_pd_create(&caller, NULL, &out);
}

static enum ri_status
step_pd_destroy(void)
{
	return ri_call_pd_destroy(&caller, NULL);
}

static enum ri_status
step_cq(void)
{
	uint32_t entries = 10;
	struct ri_cq *out;
	enum ri_status status = ri_call_cq_create(&caller, NULL, 1, &entries, &out, &map);

	g_assert_cmpuint(entries, ==, 10);
	return status;
}

static enum ri_status
step_cq_resize(void)
{
	uint32_t entries = 10;

	return ri_call_cq_resize(&caller, NULL, &entries, &map);
}

static enum ri_status
step_qp(void)
{
	struct ri_qp_parents parents = {(void *)thing, (void *)thing, (void *)thing, NULL};
	struct ri_qp_init init = {.max_sq_wr = 5};
	struct ri_qp *out;
	enum ri_status status = ri_call_qp_make(&caller, &parents, &init, &out, &map);

	g_assert_cmpuint(init.max_sq_wr, ==, 5);
	return status;
}

static enum ri_status
step_qp_modify(void)
{
	struct ri_qp_attr attr = {.state = RI_QPS_ERROR};

	return ri_call_qp_modify(&caller, NULL, &attr, RI_QP_ATTR_STATE);
}

static enum ri_status
step_qp_query(void)
{
	struct ri_qp_attr attr;

	return ri_call_qp_query(&caller, NULL, &attr);
}

static enum ri_status
step_mr(void)
{
	struct ri_mr *out;
	uint32_t stag;

	return ri_call_mr_reg(&caller, NULL, NULL, &out, &stag);
}

static enum ri_status
step_dmabuf(void)
{
	const struct ri_dmabuf from = {.fd = 7, .offset = 4096};
	struct ri_mr *out;
	uint32_t stag;

	return ri_call_mr_reg_dmabuf(&caller, NULL, NULL, &from, &out, &stag);
}

static enum ri_status
step_listen(void)
{
	struct ri_listen_params params = {0};
	struct ri_service service = {.kind = RI_SERVICE_PORT};
	struct ri_listen *out;

	return ri_call_listen(&caller, NULL, &params, &service, &out);
}

static const struct {
	enum ri_status (*run)(void);
	const char *verb;
	bool makes, grants, unmakes; /* an object; something that could be too little; is undone */
} steps[] = {
	{step_probe, "device.probe", false, false, false},
	{step_open, "device.open", true, false, false},
	{step_query_port, "device.query_port", false, true, false},
	{step_context, "device.context_create", true, false, false},
	{step_route, "device.route", true, false, false},
	{step_pd, "pd.create", true, false, false},
	{step_pd_destroy, "pd.destroy", false, false, false},
	{step_cq, "cq.create", true, true, true},
	{step_cq_resize, "cq.resize", false, true, false},
	{step_qp, "qp.create", true, true, true},
	{step_qp_modify, "qp.modify", false, false, false},
	{step_qp_query, "qp.query", false, true, false},
	{step_mr, "mem.mr_reg", true, true, true},
	{step_dmabuf, "mem.mr_reg_dmabuf", true, true, true},
	{step_listen, "cm.listen", true, true, true},
};

static void
expect(size_t i, enum ri_status status, bool fault)
{
	unsigned before = logged;

	g_assert_cmpint(steps[i].run(), ==, status);
	g_assert_cmpuint(logged, ==, before + fault);
	if (fault && strstr(last_line, steps[i].verb) == NULL)
		g_error("\"%s\" does not name %s", last_line, steps[i].verb);
}

static void
test_honest(void)
{
	for (size_t i = 0; i < G_N_ELEMENTS(steps); i++) {
		answer = RI_SUCCESS;
		gives_object = true;
		shrinks = false;
		expect(i, RI_SUCCESS, false);
		gives_object = false;
		answer = RI_ERR_RESOURCES;
		expect(i, RI_ERR_RESOURCES, false);
	}
}

static void
test_unknown_status(void)
{
	gives_object = false;
	shrinks = false;
	for (size_t i = 0; i < G_N_ELEMENTS(steps); i++) {
		answer = (enum ri_status)RI_STATUS_COUNT;
		expect(i, RI_ERR_PROVIDER, true);
		answer = (enum ri_status) - 1;
		expect(i, RI_ERR_PROVIDER, true);
	}
}

static void
test_no_object(void)
{
	answer = RI_SUCCESS;
	gives_object = false;
	shrinks = false;
	for (size_t i = 0; i < G_N_ELEMENTS(steps); i++) {
		if (steps[i].makes)
			expect(i, RI_ERR_PROVIDER, true);
	}
}

static void
test_too_little(void)
{
	answer = RI_SUCCESS;
	gives_object = true;
	shrinks = true;
	for (size_t i = 0; i < G_N_ELEMENTS(steps); i++) {
		unsigned before = unmade;

		if (!steps[i].grants)
			continue;
		expect(i, RI_ERR_PROVIDER, true);
		g_assert_cmpuint(unmade, ==, before + steps[i].unmakes);
	}
}

/* What the kAL itself must not do. */
static void
test_own_mistakes(void)
{
	struct ri_qp_parents parents = {0};
	struct ri_qp_init init = {0};
	struct ri_qp_attr attr = {.state = RI_QPS_COUNT};
	struct ri_stream stream = {.fd = -1};
	struct ri_qp *qp;

	g_assert_cmpint(ri_call_qp_make(&caller, &parents, &init, &qp, &map), ==,
			RI_ERR_INVALID_ARG);
	g_assert_cmpint(ri_call_qp_modify(&caller, NULL, &attr, RI_QP_ATTR_STATE), ==,
			RI_ERR_INVALID_ARG);
	g_assert_cmpint(ri_call_attach_stream(&caller, NULL, &stream), ==, RI_ERR_INVALID_ARG);
}

static enum ri_status
old_query(struct ri_rnic *rnic, struct ri_rnic_attr *attr)
{
	(void)rnic;
	memset(attr, 1, sizeof(*attr));
	return RI_SUCCESS;
}

/* The claims of version 1.7 lie in what was padding before: what an older provider leaves there claims nothing. */
static void
test_claims_of_old(void)
{
	static const struct ri_device_ops old_device = {.query = old_query};
	struct ri_provider old = {.abi_minor = 6, .name = "old", .device = &old_device};
	struct ri_caller of_old = {&old, &host, "old0"};
	struct ri_rnic_attr attr = {.size = sizeof(attr)};

	g_assert_cmpint(ri_call_query(&of_old, NULL, &attr), ==, RI_SUCCESS);
	g_assert_true(attr.mw_wide_stag_returned);
	g_assert_false(attr.inline_data || attr.uc || attr.multicast || attr.iova ||
		       attr.cm_number || attr.immediate_with != 0);
	old.abi_minor = 7;
	g_assert_cmpint(ri_call_query(&of_old, NULL, &attr), ==, RI_SUCCESS);
	g_assert_true(attr.inline_data && attr.cm_number);
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/rnicpi/call/honest", test_honest);
	g_test_add_func("/rnicpi/call/unknown-status", test_unknown_status);
	g_test_add_func("/rnicpi/call/no-object", test_no_object);
	g_test_add_func("/rnicpi/call/too-little", test_too_little);
	g_test_add_func("/rnicpi/call/own-mistakes", test_own_mistakes);
	g_test_add_func("/rnicpi/call/claims-of-old", test_claims_of_old);
	return g_test_run();
}
