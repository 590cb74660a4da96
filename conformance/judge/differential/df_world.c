/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Two adapters of one kind, each with its zones, dispatchers, a listener and an arena. Dispatchers have threshold 1,
 * so any event wakes a waiter, until a step of the program changes that.
 */
#include "df_world.h"

#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "it_claims.h"
#include "it_door.h"
#include "it_ext.h"

/* Thousands of connections a minute use up the host's ports; this bounds the wait for free ones. */
#define LISTEN_ATTEMPTS 600
#define LISTEN_PAUSE_US 100000

static void
must(it_status_t status, const char *what)
{
	if (status != IT_SUCCESS)
		g_error("%s: %s", what, it_status_name(status));
}

static void
node_listen(struct world_node *node)
{
	it_conn_qual_t qual = {.type = IT_IANA_PORT};
	it_status_t status = IT_ERR_CONN_QUAL_BUSY;
	size_t spigot, paths = 1, total;

	for (spigot = 0; spigot < node->info->num_spigots; spigot++) {
		if (node->info->spigot_info[spigot].num_net_addr > 0)
			break;
	}
	if (spigot == node->info->num_spigots)
		g_error("the adapter has no address");
	if ((node->info->spigot_info[spigot].passive_side_conn_qual & IT_IANA_PORT) == 0)
		qual.type = IT_IB_SERVICEID;
	for (int i = 0; i < LISTEN_ATTEMPTS && status == IT_ERR_CONN_QUAL_BUSY; i++) {
		if (i > 0)
			g_usleep(LISTEN_PAUSE_US);
		status = it_listen_create(node->ia, spigot, node->evd[WORLD_CM_REQUEST],
					  IT_LISTEN_NO_FLAG, &qual, &node->listen);
	}
	must(status, "it_listen_create");
	node->qual = qual;
	node->spigot = spigot;
	must(it_get_pathinfo(node->ia, spigot, node->info->spigot_info[spigot].net_addr, &paths,
			     &total, &node->path),
	     "it_get_pathinfo");
}

static bool with_door;

void
world_faults(void)
{
	door_begin();
	with_door = true;
}

struct world_ias *
world_ias_open(const char *adapter, bool several)
{
	struct world_ias *ias = g_new0(struct world_ias, 1);

	for (int i = 0; i < DF_NODES; i++) {
		it_status_t status = it_ia_create(adapter, 2, 0, &ias->ia[i]);

		if (status == IT_ERR_INVALID_NAME) {
			g_free(ias);
			return NULL;
		}
		must(status, "it_ia_create");
		ias->hub[i] = df_hub_new(ias->ia[i], several);
		ias->door[i] = with_door ? door_accept((char[DOOR_NAME]){0}) : -1;
	}
	return ias;
}

char *
world_ias_close(struct world_ias *ias)
{
	char *strange = NULL;

	for (int i = 0; i < DF_NODES; i++) {
		char *left = df_hub_free(ias->hub[i]);

		if (strange == NULL)
			strange = left;
		else
			g_free(left);
		must(it_ia_free(ias->ia[i]), "it_ia_free");
		if (ias->door[i] >= 0)
			close(ias->door[i]);
	}
	g_free(ias);
	return strange;
}

/* The memory of the node for the adapter, of which a privileged process may know the addresses [IT 8.9.4]. */
static void
node_map(struct world_node *node)
{
	size_t mapped = 0;
	it_status_t status;

	status = it_mem_map(node->ia, node->arena, 0, DF_MEMORY, &node->io, &mapped);
	if (status == IT_ERR_NO_PERMISSION || status == IT_ERR_OP_NOT_SUPPORTED)
		return;
	must(status, "it_mem_map");
	if (mapped != DF_MEMORY)
		g_error("memory of the process is no piece for the adapter");
}

static void
node_open(struct world_node *node, it_ia_handle_t ia)
{
	static const it_event_type_t streams[WORLD_EVDS] = {
		IT_DTO_EVENT_STREAM, IT_DTO_EVENT_STREAM, IT_CM_MSG_EVENT_STREAM,
		IT_CM_REQ_EVENT_STREAM};

	node->ia = ia;
	must(it_ia_query(node->ia, &node->info), "it_ia_query");
	for (int i = 0; i < WORLD_EVDS; i++)
		must(it_evd_create(node->ia, streams[i], 0, WORLD_QUEUE, 1, NULL, &node->evd[i],
				   NULL),
		     "it_evd_create");
	ways_begin(&node->ways, node->ia, node->evd);
	node->threshold[0] = node->threshold[1] = 1;
	node_listen(node);
	node->arena = g_aligned_alloc0(1, DF_MEMORY, 4096);
	node_map(node);
}

struct world *
world_open(const struct world_ias *ias)
{
	static atomic_uint worlds;
	struct world *world = g_new0(struct world, 1);

	world->number = atomic_fetch_add(&worlds, 1);
	for (int i = 0; i < DF_NODES; i++) {
		world->node[i].hub = ias->hub[i];
		world->node[i].door = ias->door[i];
		node_open(&world->node[i], ias->ia[i]);
	}
	for (int i = DF_LMRS; i < DF_REGIONS; i++) {
		const struct world_node *node = &world->node[df_node(i)];

		if (node->info->direct_lmr_handle_support == IT_TRUE)
			world->lmr[i].handle = (it_handle_t)node->info->direct_lmr_handle;
		world->lmr[i].base[0] = (uint64_t)(uintptr_t)node->io;
	}
	for (int i = 0; i < DF_PZS; i++)
		must(it_pz_create(world->node[df_node(i)].ia, &world->pz[i]), "it_pz_create");
	return world;
}

/* A mapping of an adapter that has failed ends with the IA [IT 1.6]. */
static it_status_t
node_unmap(const struct world_node *node)
{
	it_status_t status = it_mem_unmap(node->ia, node->io, DF_MEMORY);

	return node->failed && status == IT_ERR_IA_CATASTROPHE ? IT_SUCCESS : status;
}

/* The first object that cannot be freed is named. */
static void
tear(char **refused, const char *what, int place, it_status_t status)
{
	if (status != IT_SUCCESS && *refused == NULL)
		*refused = g_strdup_printf("%s %d cannot be freed: %s", what, place,
					   it_status_name(status));
}

static void
tear_objects(struct world *world, char **refused)
{
	for (int i = 0; i < DF_RMRS; i++) {
		if (world->rmr[i].handle != NULL)
			tear(refused, "rmr", i, it_rmr_free((it_rmr_handle_t)world->rmr[i].handle));
	}
	for (int i = 0; i < DF_EPS; i++) {
		if (world->ep[i].handle != NULL)
			tear(refused, "ep", i, it_ep_free(world->ep[i].handle));
	}
	for (int i = 0; i < DF_UDS; i++) {
		if (world->ud[i].handle != NULL)
			tear(refused, "datagram ep", i, it_ep_free(world->ud[i].handle));
	}
	for (int i = 0; i < DF_AHS; i++) {
		if (world->ah[i] != NULL)
			tear(refused, "ah", i, it_address_handle_free(world->ah[i]));
	}
	for (int i = 0; i < DF_SRQS; i++) {
		if (world->srq[i] != NULL)
			tear(refused, "srq", i, it_srq_free(world->srq[i]));
	}
	for (int i = 0; i < DF_LMRS; i++) {
		if (world->lmr[i].handle != NULL)
			tear(refused, "lmr", i, it_lmr_free((it_lmr_handle_t)world->lmr[i].handle));
	}
	for (int i = 0; i < DF_PZS; i++) {
		if (world->probe[i].lmr != NULL)
			tear(refused, "lmr of probes", i, it_lmr_free(world->probe[i].lmr));
		tear(refused, "pz", i, it_pz_free(world->pz[i]));
	}
	for (int i = 0; i < DF_NODES; i++) {
		if (world->node[i].listen != NULL)
			tear(refused, "listen", i, it_listen_free(world->node[i].listen));
	}
	for (int i = 0; i < DF_NODES; i++)
		ways_leave(&world->node[i].ways);
	for (int i = 0; i < DF_NODES * WORLD_EVDS; i++) {
		it_evd_handle_t evd = world->node[i / WORLD_EVDS].evd[i % WORLD_EVDS];

		if (evd != NULL)
			tear(refused, "evd", i, it_evd_free(evd));
	}
	for (int i = 0; i < DF_NODES; i++) {
		const struct world_node *node = &world->node[i];

		tear(refused, "aggregate of node", i, ways_end(&world->node[i].ways));
		if (node->unaff != NULL)
			tear(refused, "unaffiliated evd", i, it_evd_free(node->unaff));
		if (node->io != NULL)
			tear(refused, "mapping", i, node_unmap(node));
	}
}

char *
world_close(struct world *world, bool by_force)
{
	char *refused = NULL;

	tear_objects(world, &refused);
	for (int i = 0; i < DF_NODES; i++) {
		it_ia_info_free(world->node[i].info);
		if (!by_force)
			g_aligned_free(world->node[i].arena);
	}
	for (int i = 0; i < DF_PZS && !by_force; i++)
		g_free(world->probe[i].octets);
	g_free(world);
	return refused;
}

const struct world_probe *
world_probe_of(struct world *world, int ep)
{
	it_ep_param_t params;
	struct world_probe *probe;
	int pz = 0;

	must(it_ep_query(world->ep[ep].handle, IT_EP_PARAM_PZ, &params), "it_ep_query");
	while (pz < DF_PZS && world->pz[pz] != params.pz)
		pz++;
	if (pz == DF_PZS)
		g_error("an endpoint has a zone that is not of its world");
	probe = &world->probe[pz];
	if (probe->lmr == NULL) {
		probe->octets = g_malloc0(2);
		must(it_lmr_create21(params.pz, probe->octets, NULL, 2, IT_ADDR_MODE_ABSOLUTE,
				     IT_PRIV_LOCAL | IT_PRIV_REMOTE, IT_LMR_FLAG_NONE, 0,
				     &probe->lmr, &probe->context),
		     "it_lmr_create21");
	}
	return probe;
}

it_status_t
world_unaff(struct world_node *node, int room)
{
	it_evd_param_t params;
	it_evd_handle_t evd = NULL;
	it_status_t status = it_evd_create(node->ia, IT_ASYNC_UNAFF_EVENT_STREAM, 0, (size_t)room,
					   1, NULL, &evd, NULL);

	if (status != IT_SUCCESS)
		return status;
	node->unaff = evd;
	/* A new one has more room than was asked for. */
	memset(&params, 0, sizeof(params));
	params.sevd_queue_size = (size_t)room;
	return it_evd_modify(evd, IT_EVD_PARAM_QUEUE_SIZE, &params);
}

/* No more than the adapter claims to take, if it-certify has passed its claims. */
static int
at_most(const char *attribute, int wanted)
{
	return claims_given() ? (int)MIN(claim_value("", attribute), (uint64_t)wanted) : wanted;
}

/*
 * If the set-up exchanges no depths, an endpoint must serve as many Reads as its peer can have
 * outstanding; the application then has to know how many it may post.
 */
static void
depths_set(const struct world_node *node, const struct df_step *step, it_rc_only_attributes_t *rc)
{
	int ird = at_most("max_ird", WORLD_READS), ord = at_most("max_ord", WORLD_READS);

	if (node->info->ird_ord_ia_support != IT_TRUE) {
		rc->rdma_read_ird = (uint32_t)ird;
		rc->rdma_read_ord = (uint32_t)MIN(step->ord, MIN(ird, ord));
	} else {
		rc->rdma_read_ird = (uint32_t)MIN(step->ird, ird);
		rc->rdma_read_ord = (uint32_t)MIN(step->ord, ord);
	}
}

size_t
world_segs(const char *attribute)
{
	return (size_t)at_most(attribute, WORLD_SEGS);
}

it_ep_attributes_t
world_attributes(const struct world_node *node, const struct df_step *step)
{
	bool all = step->enable == DF_ENABLE_ALL;
	it_ep_attributes_t attr;
	it_rc_only_attributes_t *rc = &attr.srv.rc;

	memset(&attr, 0, sizeof(attr));
	attr.max_dto_payload_size = (size_t)step->payload;
	attr.max_request_dtos = (size_t)step->sq;
	attr.max_recv_dtos = (size_t)step->rq;
	attr.max_send_segments = world_segs("max_send_sge");
	attr.max_recv_segments = world_segs("max_recv_sge");
	rc->max_rdma_read_segments = 1;
	rc->max_rdma_write_segments = world_segs("max_write_sge");
	rc->rdma_read_enable = all || (step->enable & DF_ENABLE_READ) != 0 ? IT_TRUE : IT_FALSE;
	rc->rdma_write_enable = all || (step->enable & DF_ENABLE_WRITE) != 0 ? IT_TRUE : IT_FALSE;
	rc->atomics_enable = (step->enable & DF_ENABLE_ATOMIC) != 0 ? IT_TRUE : IT_FALSE;
	if (all)
		rc->atomics_enable = node->info->atomic_support;
	depths_set(node, step, rc);
	rc->hard_hi_watermark = IT_HARD_HI_WATERMARK_DISABLE;
	attr.priv_ops_enable = step->priv != 0 ? IT_TRUE : IT_FALSE;
	return attr;
}

it_status_t
world_datagram(const struct world_node *node, it_pz_handle_t pz, const struct df_step *step,
	       it_ud_ep_key_t key, it_ep_handle_t *ep, it_remote_ep_info_t *info)
{
	it_ep_attributes_t attr;
	it_ep_param_t params;
	it_status_t status;

	memset(&attr, 0, sizeof(attr));
	memset(&params, 0, sizeof(params));
	attr.max_request_dtos = (size_t)step->sq;
	attr.max_recv_dtos = (size_t)step->rq;
	attr.max_send_segments = world_segs("max_send_sge");
	attr.max_recv_segments = world_segs("max_recv_sge");
	attr.srv.ud.ep_info.ud_ep_key = key;
	status = it_ep_ud_create(pz, node->evd[WORLD_REQUEST], node->evd[WORLD_RECV], &attr,
				 node->spigot, ep);
	if (status != IT_SUCCESS)
		return status;
	status = it_ep_query(*ep, IT_EP_PARAM_EP_ID | IT_EP_PARAM_EP_KEY, &params);
	*info = params.attr.srv.ud.ep_info;
	return status;
}

/* The same for a datagram endpoint. */
static void
ask_datagram(const struct world *world, int depth, struct df_profile *profile)
{
	const struct df_step step = {.sq = depth, .rq = depth};
	it_remote_ep_info_t info;
	it_ep_param_t granted;
	it_ep_handle_t ep;

	memset(&granted, 0, sizeof(granted));
	must(world_datagram(&world->node[0], world->pz[0], &step, 1, &ep, &info),
	     "it_ep_ud_create");
	must(it_ep_query(ep, IT_EP_PARAM_ALL, &granted), "it_ep_query");
	must(it_ep_free(ep), "it_ep_free");
	profile->ud_sq[depth] = (int)granted.attr.max_request_dtos;
	profile->ud_rq[depth] = (int)granted.attr.max_recv_dtos;
	profile->ud_send_segs = (int)granted.attr.max_send_segments;
	profile->ud_recv_segs = (int)granted.attr.max_recv_segments;
	profile->ud_payload = (int)granted.attr.max_dto_payload_size;
}

/* The attributes granted to an endpoint that requests that many slots. */
static void
ask_depth(const struct world *world, int depth, struct df_profile *profile)
{
	const struct world_node *node = &world->node[0];
	const struct df_step step = {.sq = depth, .rq = depth};
	it_ep_attributes_t attr = world_attributes(node, &step);
	it_ep_param_t granted;
	it_ep_handle_t ep;

	memset(&granted, 0, sizeof(granted));
	must(it_ep_rc_create(world->pz[0], node->evd[WORLD_REQUEST], node->evd[WORLD_RECV],
			     node->evd[WORLD_CM], IT_EP_REUSEADDR, &attr, &ep),
	     "it_ep_rc_create");
	must(it_ep_query(ep, IT_EP_PARAM_ALL, &granted), "it_ep_query");
	must(it_ep_free(ep), "it_ep_free");
	profile->sq[depth] = (int)granted.attr.max_request_dtos;
	profile->rq[depth] = (int)granted.attr.max_recv_dtos;
	profile->send_segs = (int)granted.attr.max_send_segments;
	profile->recv_segs = (int)granted.attr.max_recv_segments;
	profile->write_segs = (int)granted.attr.srv.rc.max_rdma_write_segments;
	profile->most_ird = at_most("max_ird", WORLD_READS);
	profile->most_ord = at_most("max_ord", WORLD_READS);
	profile->read_segs = (int)granted.attr.srv.rc.max_rdma_read_segments;
}

/* The size granted to an S-RQ of that many receives. */
static void
ask_srq(const struct world *world, int depth, struct df_profile *profile)
{
	it_srq_handle_t srq;
	it_srq_param_t granted;

	memset(&granted, 0, sizeof(granted));
	must(it_srq_create(world->pz[0], world_segs("max_recv_sge"), (size_t)depth, &srq),
	     "it_srq_create");
	must(it_srq_query(srq, IT_SRQ_PARAM_ALL, &granted), "it_srq_query");
	must(it_srq_free(srq), "it_srq_free");
	profile->srq[depth] = (int)granted.max_recv_dtos;
	profile->srq_segs = (int)granted.max_recv_segs;
}

/* The room of a dispatcher for so many unaffiliated events. */
static void
ask_unaff(struct world *world, int room, struct df_profile *profile)
{
	struct world_node *node = &world->node[0];
	it_evd_param_t granted;

	memset(&granted, 0, sizeof(granted));
	must(world_unaff(node, room), "it_evd_create");
	must(it_evd_query(node->unaff, IT_EVD_PARAM_QUEUE_SIZE, &granted), "it_evd_query");
	must(it_evd_free(node->unaff), "it_evd_free");
	node->unaff = NULL;
	profile->unaff[room] = (int)granted.sevd_queue_size;
}

bool
df_profile_ask(const char *adapter, struct df_profile *profile)
{
	struct world_ias *ias = world_ias_open(adapter, false);
	const it_ia_info_t *info;
	struct world *world;
	uint64_t support;

	if (ias == NULL)
		return false;
	world = world_open(ias);
	info = world->node[0].info;
	must(itx_ia_query_support(world->node[0].ia, &support), "itx_ia_query_support");
	*profile = (struct df_profile){
		.ib = info->transport_type == IT_IB_TRANSPORT,
		.atomics = info->atomic_support == IT_TRUE,
		.relative = info->addr_mode_relative_support == IT_TRUE,
		.sink_remote_write = info->rdma_read_requires_remote_write == IT_TRUE,
		.local_extensions = info->rdma_read_local_extensions == IT_TRUE,
		.send_unlink = info->post_send_unlink_remote_support == IT_TRUE,
		.narrow = (info->rmr_types_supported & IT_RMR_TYPE_NARROW) != 0,
		.wide = (info->rmr_types_supported & IT_RMR_TYPE_WIDE) != 0,
		.narrow_unlink = info->narrow_rmr_unlink_support == IT_TRUE,
		.wide_unlink = info->wide_rmr_unlink_support == IT_TRUE,
		.unlink_fence = info->unlink_fence_support == IT_TRUE,
		.ird_ord = info->ird_ord_ia_support == IT_TRUE,
		.once = (support & ITX_SUPPORT_EP_REUSE) == 0,
		.three_way = info->three_way_handshake_support == IT_TRUE,
		.datagrams = (info->supported_service_types & IT_UD_SERVICE) != 0,
		.has_srq = info->srq_support == IT_TRUE,
		.privileged = world->node[0].io != NULL,
		.lmr_link = info->lmr_link_support == IT_TRUE,
		.direct = info->direct_lmr_handle_support == IT_TRUE,
		.wq_resizable = info->ep_work_queues_resizable == IT_TRUE,
		.srq_resizable = info->srq_resizable == IT_TRUE,
		.enables_modifiable = info->ep_rdma_enables_modifiable == IT_TRUE,
		.ird_modifiable = info->rdma_read_ird_modifiable == IT_TRUE,
		.ord_increasable = info->rdma_read_ord_increasable == IT_TRUE,
		.faults = world->node[0].door >= 0,
		.lists = (unsigned)info->iobl_types_supported,
		.low_watermark = (support & ITX_SUPPORT_SRQ_LOW_WATERMARK) != 0,
		.soft_watermark = info->soft_hi_watermark_support == IT_TRUE,
		.hard_watermark = info->hard_hi_watermark_support == IT_TRUE,
		.local_read = (support & ITX_SUPPORT_LOCAL_READ_CHECK) != 0,
		.lmr_modify = (support & ITX_SUPPORT_LMR_MODIFY) != 0,
		.remote_status = (support & ITX_SUPPORT_REMOTE_STATUS) != 0,
	};
	for (int i = 1; i <= DF_DEPTH; i++)
		ask_depth(world, i, profile);
	for (int i = 1; i <= DF_DEPTH && profile->faults; i++)
		ask_unaff(world, i, profile);
	for (int i = 1; i <= DF_DEPTH && profile->datagrams; i++)
		ask_datagram(world, i, profile);
	for (int i = 1; i <= DF_DEPTH && profile->has_srq; i++)
		ask_srq(world, i, profile);
	g_free(world_close(world, false));
	g_free(world_ias_close(ias));
	return true;
}
