/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Programs of libibverbs. The door is loaded once, before the first process of a seed, and serves all nodes. Each thread has the
 * number of its node, so that the door gives each node its own devices and adapters. Calls that go through pointers of the door
 * which the scheduler cannot replace are absent or refused.
 */
#include "sim/sim_verbs.h"

#include <errno.h>
#include <string.h>

#include "door_list.h"
#include "tool_error.h"

void *sim_verbs_door;

static itapi_verbs_simulate_fn *simulate;
static struct ibv_context_ops door_ops; /* one for all contexts */

bool
sim_verbs_here(void)
{
	if (sim_verbs_door != NULL && sim_applies())
		return true;
	errno = ENOSYS;
	return false;
}

/* --- which programs ----------------------------------------------------------------------------- */

/* The name of a library that a program needs is in its file, whether the linker or the program itself has put it there. */
static bool
file_names(const char *octets, size_t len, const char *library)
{
	return memmem(octets, len, library, strlen(library)) != NULL;
}

enum access {
	OTHER = 0, /* neither library's */
	ITAPI = 1,
	VERBS = 2
};

static bool
program_check(const struct sim_node_plan *plan, enum access *access, GError **error)
{
	g_autofree char *octets = NULL;
	gsize len = 0;

	if (!g_file_get_contents(plan->program, &octets, &len, error))
		return false;
	if (file_names(octets, len, "librdmacm.so"))
		return tool_fail(
			error, TOOL_ERROR_USAGE,
			"%s needs librdmacm, which keeps its devices for the whole process, while "
			"a simulation has all nodes in one; connect queue pairs over a TCP socket",
			plan->program);
	if (file_names(octets, len, "libibverbs.so"))
		*access = VERBS;
	else if (file_names(octets, len, "libitapi.so"))
		*access = ITAPI;
	return true;
}

static bool
door_open(GError **error)
{
	g_autofree char *self = g_file_read_link("/proc/self/exe", NULL);
	g_autofree char *folder = g_path_get_dirname(self != NULL ? self : "");
	const char *const ways[] = {SIM_DOOR_IN_BUILD, SIM_DOOR_FROM_BIN};

	for (size_t i = 0; i < G_N_ELEMENTS(ways) && sim_verbs_door == NULL; i++) {
		g_autofree char *path = g_build_filename(folder, ways[i], NULL);

		if (g_file_test(path, G_FILE_TEST_EXISTS))
			sim_verbs_door = dlopen(path, RTLD_NOW | RTLD_LOCAL);
		if (sim_verbs_door == NULL && g_file_test(path, G_FILE_TEST_EXISTS))
			return tool_fail(error, TOOL_ERROR_FAILED, "%s", dlerror());
	}
	if (sim_verbs_door == NULL)
		return tool_fail(
			error, TOOL_ERROR_FAILED,
			"a program needs libibverbs, and the door for such programs is not "
			"installed at %s/" SIM_DOOR_FROM_BIN,
			folder);
	*(void **)(void *)&simulate = dlsym(sim_verbs_door, ITAPI_VERBS_SIMULATE);
	if (simulate == NULL)
		return tool_fail(error, TOOL_ERROR_FAILED,
				 "the door for programs of libibverbs is one of another release");
	return true;
}

bool
sim_verbs_prepare(const struct sim_scenario *scenario, GError **error)
{
	struct ibv_device **devices;
	const struct sim_node_plan *seen[VERBS + 1] = {NULL};

	for (guint i = 0; i < scenario->nodes->len; i++) {
		const struct sim_node_plan *plan = g_ptr_array_index(scenario->nodes, i);
		enum access access = OTHER;

		if (!program_check(plan, &access, error))
			return false;
		seen[access] = plan;
	}
	if (seen[VERBS] == NULL)
		return true;
	if (seen[ITAPI] != NULL)
		return tool_fail(
			error, TOOL_ERROR_USAGE,
			"node %s is a program of IT-API and node %s one of libibverbs: in a "
			"simulation they do not reach each other, so a scenario has one kind",
			seen[ITAPI]->name, seen[VERBS]->name);
	if (!g_setenv("ITAPI_VERBS_DEVICES", "emul:ib,emul:iwarp", TRUE) || !door_open(error))
		return false;
	/* Its providers, too, are loaded before the first process is made. */
	simulate(&sim_host, 0);
	devices = SIM_VERBS(ibv_get_device_list)(NULL);
	if (devices != NULL)
		SIM_VERBS(ibv_free_device_list)(devices);
	simulate(NULL, 0);
	return true;
}

void
sim_verbs_thread(const struct sim_node *node, bool begins)
{
	if (simulate != NULL)
		simulate(begins ? &sim_host : NULL, node != NULL ? node->index + 1 : 0);
}

/* --- calls by a pointer ---------------------------------------------------------------------------- */

/* A poll that finds nothing gives the baton away. */
static int
poll_cq(struct ibv_cq *cq, int room, struct ibv_wc *completions)
{
	int found;

	sim_enter("ibv_poll_cq");
	found = door_ops.poll_cq(cq, room, completions);
	if (found > 0)
		sim_progress();
	else if (found == 0 && sim_me != NULL && sim_me->node != NULL && sim_me->depth == 1)
		sim_idle(sim_me->call);
	sim_leave();
	return found;
}

/* NOLINTBEGIN(bugprone-macro-parentheses): a name, and lists in parentheses */
#define STEP(name, parameters, arguments)         \
	static int name parameters                \
	{                                         \
		int answer;                       \
                                                  \
		sim_enter("ibv_" #name);          \
		answer = door_ops.name arguments; \
		sim_leave();                      \
		return answer;                    \
	}
/* NOLINTEND(bugprone-macro-parentheses) */

/* What comes before it does not count, so this is where programs lose an event. */
static int
req_notify_cq(struct ibv_cq *cq, int solicited)
{
	int answer;

	sim_hesitate("ibv_req_notify_cq");
	sim_enter("ibv_req_notify_cq");
	answer = door_ops.req_notify_cq(cq, solicited);
	sim_leave();
	return answer;
}

STEP(post_send, (struct ibv_qp * qp, struct ibv_send_wr *first, struct ibv_send_wr **bad),
     (qp, first, bad))
STEP(post_recv, (struct ibv_qp * qp, struct ibv_recv_wr *first, struct ibv_recv_wr **bad),
     (qp, first, bad))
STEP(post_srq_recv, (struct ibv_srq * srq, struct ibv_recv_wr *first, struct ibv_recv_wr **bad),
     (srq, first, bad))
STEP(bind_mw, (struct ibv_qp * qp, struct ibv_mw *window, struct ibv_mw_bind *bind),
     (qp, window, bind))
STEP(dealloc_mw, (struct ibv_mw * window), (window))

static struct ibv_mw *
alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type)
{
	struct ibv_mw *window;

	sim_enter("ibv_alloc_mw");
	window = door_ops.alloc_mw(pd, type);
	sim_leave();
	return window;
}

static struct ibv_cq_ex *
create_cq_ex(struct ibv_context *context, struct ibv_cq_init_attr_ex *attr)
{
	(void)context;
	(void)attr;
	sim_refuse("ibv_create_cq_ex");
}

static struct ibv_qp *
create_qp_ex(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr)
{
	(void)context;
	(void)attr;
	sim_refuse("ibv_create_qp_ex");
}

static struct ibv_srq *
create_srq_ex(struct ibv_context *context, struct ibv_srq_init_attr_ex *attr)
{
	(void)context;
	(void)attr;
	sim_refuse("ibv_create_srq_ex");
}

void
sim_verbs_opened(struct ibv_context *context)
{
	struct verbs_context *extended;

	if (context == NULL)
		return;
	door_ops = context->ops;
	context->ops.poll_cq = poll_cq;
	context->ops.req_notify_cq = req_notify_cq;
	context->ops.post_send = post_send;
	context->ops.post_recv = post_recv;
	context->ops.post_srq_recv = post_srq_recv;
	context->ops.alloc_mw = alloc_mw;
	context->ops.bind_mw = bind_mw;
	context->ops.dealloc_mw = dealloc_mw;
	/* Other extended calls are optional: without them verbs.h takes the plain ones, or says EOPNOTSUPP. */
	extended = verbs_get_ctx(context);
	memset(extended, 0, offsetof(struct verbs_context, sz));
	extended->create_cq_ex = create_cq_ex;
	extended->create_qp_ex = create_qp_ex;
	extended->create_srq_ex = create_srq_ex;
	sim_doors_opened(sim_me->node);
}

void
sim_verbs_waited(int answer)
{
	if (answer == 0)
		sim_progress();
	else if (errno == EAGAIN && sim_me->depth == 1)
		sim_idle(sim_me->call);
}

/* --- the end of a node --------------------------------------------------------------------------------- */

void
sim_verbs_queue_pair_made(struct ibv_qp *qp)
{
	if (qp != NULL)
		g_ptr_array_add(sim_me->node->queue_pairs, qp);
}

void
sim_verbs_queue_pair_gone(int answer, struct ibv_qp *qp)
{
	if (answer == 0)
		g_ptr_array_remove(sim_me->node->queue_pairs, qp);
}

void
sim_verbs_end(struct sim_node *node)
{
	sim_verbs_thread(node, true);
	while (node->queue_pairs->len > 0) {
		struct ibv_qp *qp = g_ptr_array_index(node->queue_pairs, 0);

		g_ptr_array_remove_index(node->queue_pairs, 0);
		(void)SIM_VERBS(ibv_destroy_qp)(qp);
	}
}
