/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Providers with false values, one at a time and at the limit: sizes and names of their tables,
 * claims of their adapters, and results in which one value is too small or impossible.
 */

#include <glib.h>
#include <string.h>

#include "ri_call.h"
#include "ri_registry.h"

/* --- a complete provider, whose entries nobody calls ---------------------------------------- */

typedef void (*entry_fn)(void);

static struct whole {
	struct ri_provider provider;
	struct ri_device_ops device;
	struct ri_pd_ops pd;
	struct ri_cq_ops cq;
	struct ri_qp_ops qp;
	struct ri_mem_ops mem;
	struct ri_srq_ops srq;
	struct ri_ah_ops ah;
	struct ri_cm_ops cm;
	struct ri_llp_ops llp;
	struct ri_peer_ops peer;
	struct ri_user_ops user;
	struct ri_fast_ops fast;
} whole;

static void
never(void)
{
	g_assert_not_reached();
}

/* Entries begin where the first pointer fits behind the size. */
static void
table_fill(void *table, size_t bytes)
{
	uint32_t size = (uint32_t)bytes;
	entry_fn entry = never;

	for (size_t at = sizeof(entry); at + sizeof(entry) <= bytes; at += sizeof(entry))
		memcpy((char *)table + at, &entry, sizeof(entry));
	memcpy(table, &size, sizeof(size));
}

#define FILL(member) \
	(table_fill(&whole.member, sizeof(whole.member)), whole.provider.member = &whole.member)

static struct ri_provider *
whole_make(void)
{
	memset(&whole, 0, sizeof(whole));
	whole.provider.abi_major = RI_ABI_MAJOR;
	whole.provider.size = sizeof(whole.provider);
	whole.provider.name = "whole";
	FILL(device);
	FILL(pd);
	FILL(cq);
	FILL(qp);
	FILL(mem);
	FILL(srq);
	FILL(ah);
	FILL(cm);
	FILL(llp);
	FILL(peer);
	FILL(user);
	FILL(fast);
	return &whole.provider;
}

static struct ri_loaded *
taken(void)
{
	struct ri_error error = {0};
	struct ri_loaded *loaded = ri_loaded_new(&whole.provider, "test", &error);

	g_assert_cmpint(error.code, ==, RI_REGISTRY_ERROR_NONE);
	return loaded;
}

static void
accepted(void)
{
	ri_loaded_free(taken());
}

static void
refused(int code, const char *word)
{
	struct ri_error error = {0};

	g_assert_null(ri_loaded_new(&whole.provider, "test", &error));
	g_assert_cmpint((int)error.code, ==, (int)code);
	if (strstr(error.text, word) == NULL)
		g_error("\"%s\" does not say \"%s\"", error.text, word);
}

/* --- shapes ---------------------------------------------------------------------------------- */

static void
test_size_of_provider(void)
{
	struct ri_provider *p = whole_make();
	union {
		struct ri_provider provider;
		char room[65536 + 16];
	} *large = g_malloc0(sizeof(*large));
	struct ri_error error = {0};
	struct ri_loaded *loaded;

	accepted();
	p->size = offsetof(struct ri_provider, device) - 8;
	refused(RI_REGISTRY_ERROR_SHAPE, "struct ri_provider");
	/* Members beyond the size that the table states count as absent, whatever the memory holds. */
	p->size = offsetof(struct ri_provider, fast);
	refused(RI_REGISTRY_ERROR_MEMBER, "\"fast\"");
	large->provider = *whole_make();
	large->provider.size = 65536;
	loaded = ri_loaded_new(&large->provider, "test", &error);
	g_assert_cmpint(error.code, ==, RI_REGISTRY_ERROR_NONE);
	ri_loaded_free(loaded);
	large->provider.size = 65536 + 8;
	g_assert_null(ri_loaded_new(&large->provider, "test", &error));
	g_assert_cmpint((int)error.code, ==, (int)RI_REGISTRY_ERROR_SHAPE);
	g_free(large);
}

static void
test_size_of_table(void)
{
	(void)whole_make();
	whole.pd.size = 8;
	refused(RI_REGISTRY_ERROR_SHAPE, "\"pd\"");
	whole.pd.size = sizeof(whole.pd) - 1; /* cuts an entry in two */
	refused(RI_REGISTRY_ERROR_SHAPE, "\"pd\"");
	whole.pd.size = 65536 + 8;
	refused(RI_REGISTRY_ERROR_SHAPE, "\"pd\"");
	whole.pd.size = sizeof(whole.pd);
	accepted();
}

static void
test_name(void)
{
	struct ri_provider *p = whole_make();
	struct ri_loaded *loaded;

	p->name = "a123456789b123456789c123456789d"; /* 31 characters */
	accepted();
	p->name = "a123456789b123456789c123456789de";
	refused(RI_REGISTRY_ERROR_SHAPE, "ri_provider.name");
	for (const char *c = ":/ "; *c != '\0'; c++) {
		const char name[] = {'a', *c, 'b', '\0'};
		p->name = name;
		refused(RI_REGISTRY_ERROR_SHAPE, "ri_provider.name");
	}
	p->name = "whole";
	p->description = NULL;
	loaded = taken();
	g_assert_cmpstr(loaded->description, ==, "whole");
	ri_loaded_free(loaded);
}

/* Each required entry alone is missed, the last one too. */
static void
test_members(void)
{
	(void)whole_make();
	whole.device.probe = NULL;
	refused(RI_REGISTRY_ERROR_MEMBER, "\"device.probe\"");
	(void)whole_make();
	whole.fast.arm_cq = NULL;
	refused(RI_REGISTRY_ERROR_MEMBER, "\"fast.arm_cq\"");
	(void)whole_make();
	whole.provider.srq = NULL;
	accepted();
	g_assert_null(ri_registry_get(ri_registry_count()));
	g_assert_null(ri_registry_get(0));
	whole_make()->name = "listed";
	g_assert_true(ri_registry_add(&whole.provider, "test", NULL));
	g_assert_nonnull(ri_registry_get(0));
	g_assert_null(ri_registry_get(1));
}

/* --- claims ---------------------------------------------------------------------------------- */

static struct ri_rnic_attr
modest(void)
{
	return (struct ri_rnic_attr){.size = sizeof(struct ri_rnic_attr),
				     .transport = RI_TRANSPORT_IB,
				     .name = "modest",
				     .num_ports = 1,
				     .max_pd = 1,
				     .max_qp = 1,
				     .max_cq = 1,
				     .max_cqe = 1,
				     .max_mr = 1,
				     .max_mr_length = 1,
				     .max_sq_wr = 1,
				     .max_rq_wr = 1,
				     .max_send_sge = 1,
				     .max_recv_sge = 1,
				     .max_write_sge = 1,
				     .max_read_sge = 1,
				     .max_message_size = 1,
				     .cm_forms = RI_CM_ADDRESS,
				     .addr_ip = true};
}

static void
claims_refused(const struct ri_rnic_attr *attr, const char *word)
{
	struct ri_loaded *loaded = taken();
	struct ri_error error = {0};

	g_assert_false(ri_claims_check(loaded, attr, &error));
	g_assert_cmpint((int)error.code, ==, (int)RI_REGISTRY_ERROR_CLAIM);
	if (strstr(error.text, word) == NULL)
		g_error("\"%s\" does not say \"%s\"", error.text, word);
	ri_loaded_free(loaded);
}

static void
test_claims(void)
{
	struct ri_rnic_attr attr = modest();
	struct ri_loaded *loaded;

	(void)whole_make();
	loaded = taken();
	g_assert_true(ri_claims_check(loaded, &attr, NULL));
	/* A claim of another bit of the same octet needs nothing here. */
	whole.llp.reserve = NULL;
	ri_loaded_free(loaded);
	loaded = taken();
	g_assert_true(ri_claims_check(loaded, &attr, NULL));
	ri_loaded_free(loaded);
	attr.software = true;
	whole.fast.leader_leave = NULL;
	claims_refused(&attr, "\"fast.leader_leave\"");
	(void)whole_make();
	attr = modest();
	attr.max_read_sge = 0;
	claims_refused(&attr, "max_read_sge");
	attr = modest();
	attr.max_message_size = 0;
	claims_refused(&attr, "max_message_size");
	attr = modest();
	attr.llp_startup = RI_LLP_STARTUP_MPA + 1;
	claims_refused(&attr, "llp_startup");
	attr = modest();
	memset(attr.vendor, 'v', sizeof(attr.vendor));
	claims_refused(&attr, "vendor");
	attr = modest();
	attr.mw_wide = true;
	claims_refused(&attr, "max_mw");
	attr = modest();
	attr.mw_narrow = true;
	claims_refused(&attr, "max_mw");
	attr = modest();
	attr.mw_wide_stag_returned = true;
	claims_refused(&attr, "mw_wide_stag_returned");
}

static void
claims_accepted(const struct ri_rnic_attr *attr)
{
	struct ri_loaded *loaded = taken();
	struct ri_error error = {0};

	if (!ri_claims_check(loaded, attr, &error))
		g_error("%s", error.text);
	ri_loaded_free(loaded);
}

/* Each claim of version 1.7: with what it needs, without each part of it, and without its entries. */
static void
test_claims_1_7(void)
{
	struct ri_rnic_attr attr = modest();

	(void)whole_make();
	attr.inline_data = true;
	claims_refused(&attr, "inline_data with max_inline = 0");
	attr.max_inline = 1;
	claims_accepted(&attr);
	for (unsigned with = 1; with < 16; with *= 2) {
		attr = modest();
		attr.ud = true;
		attr.max_ud_message = attr.max_ah = 1;
		attr.immediate_with = (uint8_t)with;
		if (with == 8) {
			attr.immediate_size = 4;
			claims_refused(&attr, "immediate_with has an unknown bit");
			continue;
		}
		claims_refused(&attr, "immediate_with with immediate_size = 0");
		attr.immediate_size = 4;
		claims_accepted(&attr);
		attr.ud = false;
		if (with == RI_IMMEDIATE_UD)
			claims_refused(&attr, "RI_IMMEDIATE_UD without ud");
		else
			claims_accepted(&attr);
	}
	attr = modest();
	attr.uc = true;
	claims_refused(&attr, "uc without RI_CM_PEER");
	attr.cm_forms |= RI_CM_PEER;
	claims_accepted(&attr);
	attr = modest();
	attr.multicast = true;
	claims_refused(&attr, "multicast without ud");
	attr.ud = true;
	attr.max_ud_message = attr.max_ah = 1;
	claims_accepted(&attr);
	whole.qp.mcast_attach = NULL;
	claims_refused(&attr, "\"qp.mcast_attach\"");
	(void)whole_make();
	whole.qp.mcast_detach = NULL;
	claims_refused(&attr, "\"qp.mcast_detach\"");
	attr.multicast =
		false; /* an entry without a claim is no fault, and neither is the lack of it */
	claims_accepted(&attr);
	(void)whole_make();
	attr = modest();
	attr.iova = true;
	claims_accepted(&attr);
	attr = modest();
	attr.cm_number = true;
	claims_refused(&attr, "cm_number without RI_CM_ADDRESS and RI_CM_PEER");
	attr.cm_forms = RI_CM_PEER;
	claims_refused(&attr, "cm_number without RI_CM_ADDRESS and RI_CM_PEER");
	attr.cm_forms = RI_CM_PEER | RI_CM_ADDRESS;
	claims_accepted(&attr);
	attr.cm_number = false;
	whole.peer.receive = NULL;
	claims_refused(&attr, "\"peer.receive\"");
	(void)whole_make();
	whole.peer.send = NULL;
	claims_refused(&attr, "\"peer.send\"");
	whole.provider.peer = NULL;
	claims_refused(&attr, "\"peer.receive\"");
	attr.cm_forms = RI_CM_ADDRESS;
	claims_accepted(&attr);
	attr.cm_forms = 1u << 3;
	claims_refused(&attr, "cm_forms");
}

/* --- answers --------------------------------------------------------------------------------- */

static char thing[16];
static const char *logged; /* the verb that the log named */
static bool made_nothing;
static uint32_t stag_given = 0x100;
static unsigned unmade;
static struct ri_qp_init init_given;
static struct ri_qp_attr attr_given;
static struct ri_srq_attr srq_given;

static void
log_line(void *self, enum ri_log_level level, const char *where, const char *text)
{
	static char line[200];

	(void)self;
	(void)where;
	g_assert_cmpint(level, ==, RI_LOG_ERROR);
	g_strlcpy(line, text, sizeof(line));
	logged = line;
}

static enum ri_status
liar_query(struct ri_rnic *rnic, struct ri_rnic_attr *attr)
{
	(void)rnic;
	attr->size = 3;
	return RI_SUCCESS;
}

static enum ri_status
liar_qp_create(struct ri_pd *pd, struct ri_qp_init *init, struct ri_cq *send_cq,
	       struct ri_cq *recv_cq, struct ri_srq *srq, struct ri_qp **out, struct ri_map *map)
{
	(void)pd, (void)send_cq, (void)recv_cq, (void)srq, (void)map;
	*init = init_given;
	*out = (void *)thing;
	return RI_SUCCESS;
}

static enum ri_status
liar_qp_destroy(struct ri_qp *qp)
{
	(void)qp;
	unmade++;
	return RI_SUCCESS;
}

static enum ri_status
liar_qp_query(struct ri_qp *qp, struct ri_qp_attr *attr)
{
	(void)qp;
	*attr = attr_given;
	return RI_SUCCESS;
}

static enum ri_status
liar_qp_resize(struct ri_qp *qp, struct ri_qp_attr *attr, struct ri_map *map)
{
	(void)qp, (void)map;
	*attr = attr_given;
	return RI_SUCCESS;
}

static enum ri_status
liar_mr_rereg(struct ri_mr *mr, struct ri_pd *pd, const struct ri_mr_init *init, uint32_t *stag)
{
	(void)mr, (void)pd, (void)init;
	*stag = stag_given;
	return RI_SUCCESS;
}

static enum ri_status
liar_mw_alloc(struct ri_pd *pd, enum ri_mw_type type, struct ri_mw **out, uint32_t *stag)
{
	(void)pd, (void)type;
	*out = made_nothing ? NULL : (void *)thing;
	*stag = stag_given;
	return RI_SUCCESS;
}

static enum ri_status
liar_srq_create(struct ri_pd *pd, struct ri_srq_attr *attr, struct ri_srq **out, struct ri_map *map)
{
	(void)pd, (void)map;
	*attr = srq_given;
	*out = (void *)thing;
	return RI_SUCCESS;
}

static enum ri_status
liar_srq_modify(struct ri_srq *srq, struct ri_srq_attr *attr, bool resize, struct ri_map *map)
{
	(void)srq, (void)resize, (void)map;
	*attr = srq_given;
	return RI_SUCCESS;
}

static enum ri_status
liar_srq_destroy(struct ri_srq *srq)
{
	(void)srq;
	unmade++;
	return RI_SUCCESS;
}

static enum ri_status
liar_ah_create(struct ri_pd *pd, const struct ri_ah_init *init, struct ri_ah **out, uint32_t *id)
{
	(void)pd, (void)init;
	*out = made_nothing ? NULL : (void *)thing;
	*id = 1;
	return RI_SUCCESS;
}

static const struct ri_device_ops liar_device = {.size = sizeof(liar_device), .query = liar_query};
static const struct ri_qp_ops liar_qp = {.size = sizeof(liar_qp),
					 .create = liar_qp_create,
					 .query = liar_qp_query,
					 .destroy = liar_qp_destroy,
					 .resize = liar_qp_resize};
static const struct ri_mem_ops liar_mem = {
	.size = sizeof(liar_mem), .mr_rereg = liar_mr_rereg, .mw_alloc = liar_mw_alloc};
static const struct ri_srq_ops liar_srq = {.size = sizeof(liar_srq),
					   .create = liar_srq_create,
					   .modify = liar_srq_modify,
					   .destroy = liar_srq_destroy};
static const struct ri_ah_ops liar_ah = {.size = sizeof(liar_ah), .create = liar_ah_create};
static const struct ri_provider liar = {.name = "liar",
					.device = &liar_device,
					.qp = &liar_qp,
					.mem = &liar_mem,
					.srq = &liar_srq,
					.ah = &liar_ah};
static const struct ri_host host = {.size = sizeof(host), .log = log_line};
static const struct ri_caller caller = {&liar, &host, "liar0"};
static struct ri_map map;

/* The status is that of a broken promise, and the log names the verb; or both are fine. */
static void
judged(enum ri_status status, bool lie, const char *verb)
{
	g_assert_cmpint(status, ==, lie ? RI_ERR_PROVIDER : RI_SUCCESS);
	g_assert_true((logged != NULL) == lie);
	if (lie && strstr(logged, verb) == NULL)
		g_error("\"%s\" does not name %s", logged, verb);
	logged = NULL;
}

static void
test_own_size(void)
{
	struct ri_rnic_attr attr = {.size = sizeof(attr)};

	judged(ri_call_query(&caller, NULL, &attr), false, "device.query");
	g_assert_cmpuint(attr.size, ==, sizeof(attr)); /* ours, not the provider's */
}

/* A queue pair that lacks one of the things that were asked for is undone. */
static void
test_queue_pair(void)
{
	const struct ri_qp_init asked = {.ctx = 7,
					 .max_sq_wr = 2,
					 .max_rq_wr = 2,
					 .max_send_sge = 2,
					 .max_recv_sge = 2,
					 .max_write_sge = 2,
					 .max_read_sge = 2,
					 .max_inline = 2,
					 .ird = 2,
					 .ord = 2};
	const size_t counts[] = {
		offsetof(struct ri_qp_init, max_sq_wr),
		offsetof(struct ri_qp_init, max_rq_wr),
		offsetof(struct ri_qp_init, max_send_sge),
		offsetof(struct ri_qp_init, max_recv_sge),
		offsetof(struct ri_qp_init, max_write_sge),
		offsetof(struct ri_qp_init, max_read_sge),
		offsetof(struct ri_qp_init, max_inline),
	};
	struct ri_qp_parents parents = {(void *)thing, (void *)thing, (void *)thing, NULL};
	struct ri_qp_init init = asked;
	struct ri_qp *qp;
	uint32_t one = 1;

	init_given = asked;
	judged(ri_call_qp_make(&caller, &parents, &init, &qp, &map), false, "qp.create");
	for (size_t i = 0; i < G_N_ELEMENTS(counts); i++) {
		init_given = init = asked;
		memcpy((char *)&init_given + counts[i], &one, sizeof(one));
		judged(ri_call_qp_make(&caller, &parents, &init, &qp, &map), true, "qp.create");
		g_assert_cmpuint(unmade, ==, i + 1);
	}
	init_given = init = asked;
	init_given.ctx = 8;
	judged(ri_call_qp_make(&caller, &parents, &init, &qp, &map), true, "qp.create");
	init_given = init = asked;
	init_given.ird = 0;
	judged(ri_call_qp_make(&caller, &parents, &init, &qp, &map), true, "qp.create");
	init_given = init = asked;
	init_given.ord = 0;
	judged(ri_call_qp_make(&caller, &parents, &init, &qp, &map), true, "qp.create");
	/* A number has no queues. */
	init_given = init = asked;
	init_given.type = init.type = RI_QP_NUMBER;
	parents.send_cq = parents.recv_cq = NULL;
	judged(ri_call_qp_make(&caller, &parents, &init, &qp, &map), false, "qp.create");
	parents.send_cq = (void *)thing;
	init.type = RI_QP_UC;
	unmade = 0;
	parents.recv_cq = NULL; /* our own mistake: the provider is not even asked */
	g_assert_cmpint(ri_call_qp_make(&caller, &parents, &init, &qp, &map), ==,
			RI_ERR_INVALID_ARG);
	g_assert_null(logged);
}

static void
test_resize(void)
{
	const struct ri_qp_attr asked = {.max_sq_wr = 2,
					 .max_send_sge = 2,
					 .max_recv_sge = 2,
					 .max_write_sge = 2,
					 .max_read_sge = 2};
	const size_t counts[] = {
		offsetof(struct ri_qp_attr, max_sq_wr),
		offsetof(struct ri_qp_attr, max_send_sge),
		offsetof(struct ri_qp_attr, max_recv_sge),
		offsetof(struct ri_qp_attr, max_write_sge),
		offsetof(struct ri_qp_attr, max_read_sge),
	};
	struct ri_qp_attr attr = attr_given = asked;
	uint32_t one = 1;

	judged(ri_call_qp_resize(&caller, NULL, &attr, &map), false, "qp.resize");
	for (size_t i = 0; i < G_N_ELEMENTS(counts); i++) {
		attr = attr_given = asked;
		memcpy((char *)&attr_given + counts[i], &one, sizeof(one));
		judged(ri_call_qp_resize(&caller, NULL, &attr, &map), true, "qp.resize");
	}
}

static void
test_state(void)
{
	struct ri_qp_attr attr;

	attr_given = (struct ri_qp_attr){.state = RI_QPS_NONE};
	judged(ri_call_qp_query(&caller, NULL, &attr), true, "qp.query");
	attr_given.state = RI_QPS_COUNT;
	judged(ri_call_qp_query(&caller, NULL, &attr), true, "qp.query");
	attr_given.state = (enum ri_qp_state)(RI_QPS_COUNT - 1);
	attr_given.terminate_len = RI_TERMINATE_MAX;
	judged(ri_call_qp_query(&caller, NULL, &attr), false, "qp.query");
	attr_given.terminate_len = RI_TERMINATE_MAX + 1;
	judged(ri_call_qp_query(&caller, NULL, &attr), true, "qp.query");
}

static void
test_shared_queue(void)
{
	const struct ri_srq_attr asked = {.max_wr = 2, .max_sge = 2};
	struct ri_srq_attr attr = srq_given = asked;
	struct ri_srq *srq;

	unmade = 0;
	judged(ri_call_srq_create(&caller, NULL, &attr, &srq, &map), false, "srq.create");
	srq_given.max_sge = 1;
	attr = asked;
	judged(ri_call_srq_create(&caller, NULL, &attr, &srq, &map), true, "srq.create");
	g_assert_cmpuint(unmade, ==, 1);
	srq_given = (struct ri_srq_attr){.max_wr = 1, .max_sge = 2};
	attr = asked;
	judged(ri_call_srq_create(&caller, NULL, &attr, &srq, &map), true, "srq.create");
	g_assert_cmpuint(unmade, ==, 2);
	attr = asked;
	judged(ri_call_srq_modify(&caller, NULL, &attr, false, &map), false, "srq.modify");
	attr = asked;
	judged(ri_call_srq_modify(&caller, NULL, &attr, true, &map), true, "srq.modify");
}

static void
test_memory(void)
{
	struct ri_mw *mw;
	struct ri_ah *ah;
	uint32_t number;

	judged(ri_call_mr_rereg(&caller, NULL, NULL, NULL, &number), false, "mem.mr_rereg");
	judged(ri_call_mw_alloc(&caller, NULL, RI_MW_WIDE, &mw, &number), false, "mem.mw_alloc");
	judged(ri_call_ah_create(&caller, NULL, NULL, &ah, &number), false, "ah.create");
	made_nothing = true;
	judged(ri_call_mw_alloc(&caller, NULL, RI_MW_WIDE, &mw, &number), true, "mem.mw_alloc");
	judged(ri_call_ah_create(&caller, NULL, NULL, &ah, &number), true, "ah.create");
	stag_given = 0;
	judged(ri_call_mr_rereg(&caller, NULL, NULL, NULL, &number), true, "mem.mr_rereg");
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/rnicpi/lies/size-of-provider", test_size_of_provider);
	g_test_add_func("/rnicpi/lies/size-of-table", test_size_of_table);
	g_test_add_func("/rnicpi/lies/name", test_name);
	g_test_add_func("/rnicpi/lies/members", test_members);
	g_test_add_func("/rnicpi/lies/claims", test_claims);
	g_test_add_func("/rnicpi/lies/claims-1.7", test_claims_1_7);
	g_test_add_func("/rnicpi/lies/own-size", test_own_size);
	g_test_add_func("/rnicpi/lies/queue-pair", test_queue_pair);
	g_test_add_func("/rnicpi/lies/resize", test_resize);
	g_test_add_func("/rnicpi/lies/state", test_state);
	g_test_add_func("/rnicpi/lies/shared-queue", test_shared_queue);
	g_test_add_func("/rnicpi/lies/memory", test_memory);
	return g_test_run();
}
