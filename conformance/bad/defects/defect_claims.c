/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Claims that are too big, too small or not kept, and sizes that are reported and not there. */
#include <stddef.h>
#include <string.h>

#include "defect.h"

/* --- claims too big --------------------------------------------------------------------------- */

static void
big_segments(struct ri_rnic_attr *attr)
{
	attr->max_send_sge += 4;
	attr->max_recv_sge += 4;
	attr->max_write_sge += 4;
}

static void
big_queues(struct ri_rnic_attr *attr)
{
	attr->max_sq_wr *= 2;
	attr->max_rq_wr *= 2;
}

static void
big_cq(struct ri_rnic_attr *attr)
{
	attr->max_cqe *= 2;
}

static void
big_message(struct ri_rnic_attr *attr)
{
	attr->max_message_size *= 2;
}

static void
big_depths(struct ri_rnic_attr *attr)
{
	attr->max_ird *= 2;
	attr->max_ord *= 2;
}

static void
big_pdata(struct ri_rnic_attr *attr)
{
	attr->connect_pdata = attr->accept_pdata = attr->reject_pdata = RI_PDATA_MAX;
}

static void
big_srq(struct ri_rnic_attr *attr)
{
	attr->max_srq_wr *= 2;
}

static void
more_ports(struct ri_rnic_attr *attr)
{
	attr->num_ports++;
}

static void
claim_wide(struct ri_rnic_attr *attr)
{
	attr->mw_wide = !attr->mw_wide;
	attr->mw_wide_unbind = attr->mw_wide;
	attr->mw_wide_stag_returned = attr->mw_wide_stag_returned && attr->mw_wide;
}

static void
claim_datagrams(struct ri_rnic_attr *attr)
{
	attr->ud = !attr->ud;
	attr->max_ah = attr->max_ah != 0 ? attr->max_ah : 16;
	attr->max_ud_message = attr->max_ud_message != 0 ? attr->max_ud_message : 2048;
	/* The registry would refuse these without datagrams. */
	attr->multicast = attr->multicast && attr->ud;
	if (!attr->ud)
		attr->immediate_with &= (uint8_t)~RI_IMMEDIATE_UD;
}

static void
claim_keys(struct ri_rnic_attr *attr)
{
	attr->mw_key_owner =
		attr->mw_key_owner == RI_KEY_CONSUMER ? RI_KEY_PROVIDER : RI_KEY_CONSUMER;
}

/* --- claims too small ------------------------------------------------------------------------- */

static void
small_segments(struct ri_rnic_attr *attr)
{
	attr->max_send_sge = attr->max_recv_sge = attr->max_write_sge = 2;
}

static void
small_queues(struct ri_rnic_attr *attr)
{
	attr->max_sq_wr = attr->max_rq_wr = 2;
}

static void
small_cq(struct ri_rnic_attr *attr)
{
	attr->max_cqe = 2;
}

static void
small_region(struct ri_rnic_attr *attr)
{
	attr->max_mr_length = 4096;
}

static void
small_message(struct ri_rnic_attr *attr)
{
	attr->max_message_size = 1024;
}

static void
small_depths(struct ri_rnic_attr *attr)
{
	attr->max_ird = attr->max_ord = 1;
}

/* --- profiles that cannot be ---------------------------------------------------------------------- */

static void
no_name(struct ri_rnic_attr *attr)
{
	memset(attr->name, 0, sizeof(attr->name));
}

static void
no_domains(struct ri_rnic_attr *attr)
{
	attr->max_pd = 0;
}

static void
no_forms(struct ri_rnic_attr *attr)
{
	attr->cm_forms = 0;
}

static enum ri_status
moody_query(struct ri_rnic *rnic, struct ri_rnic_attr *attr)
{
	enum ri_status status = wrap_plain_device_ops.query(rnic, attr);

	if (defect_later(&wrap_rnic_of(rnic)->count[0]))
		attr->max_qp /= 2;
	return status;
}

/* A struct of an older caller is shorter. */
static enum ri_status
overrun_query(struct ri_rnic *rnic, struct ri_rnic_attr *attr)
{
	struct ri_rnic_attr own = {.size = sizeof(own)};
	enum ri_status status = wrap_plain_device_ops.query(rnic, &own);

	memcpy(attr, &own, sizeof(own));
	return status;
}

/* --- spigots ---------------------------------------------------------------------------------- */

static enum ri_status
offline_port(struct ri_rnic *rnic, uint32_t port, struct ri_port_attr *attr)
{
	enum ri_status status = wrap_plain_device_ops.query_port(rnic, port, attr);

	attr->online = false;
	return status;
}

static enum ri_status
homeless_port(struct ri_rnic *rnic, uint32_t port, struct ri_port_attr *attr)
{
	enum ri_status status = wrap_plain_device_ops.query_port(rnic, port, attr);

	attr->num_addrs = 0;
	return status;
}

static enum ri_status
any_port(struct ri_rnic *rnic, uint32_t port, struct ri_port_attr *attr)
{
	(void)port;
	return wrap_plain_device_ops.query_port(rnic, 0, attr);
}

/* --- sizes that are reported ---------------------------------------------------------------------- */

static enum ri_status
half_cq(struct ri_context *context, uint64_t ctx, uint32_t *entries, struct ri_cq **out,
	struct ri_map *map)
{
	uint32_t asked = *entries;
	uint32_t half = (asked + 1) / 2;
	enum ri_status status = wrap_plain_cq_ops.create(context, ctx, &half, out, map);

	*entries = asked > half ? asked : half;
	return status;
}

static enum ri_status
less_cq(struct ri_context *context, uint64_t ctx, uint32_t *entries, struct ri_cq **out,
	struct ri_map *map)
{
	uint32_t asked = *entries;
	enum ri_status status = wrap_plain_cq_ops.create(context, ctx, entries, out, map);

	*entries = asked - 1;
	return status;
}

static enum ri_status
half_size_qp_create(struct ri_pd *pd, struct ri_qp_init *init, struct ri_cq *send_cq,
		    struct ri_cq *recv_cq, struct ri_srq *srq, struct ri_qp **out,
		    struct ri_map *map)
{
	struct ri_qp_init asked = *init;
	enum ri_status status;

	init->max_sq_wr = (asked.max_sq_wr + 1) / 2;
	init->max_rq_wr = (asked.max_rq_wr + 1) / 2;
	status = wrap_plain_qp_ops.create(pd, init, send_cq, recv_cq, srq, out, map);
	*init = asked;
	return status;
}

static enum ri_status
one_segment_qp_create(struct ri_pd *pd, struct ri_qp_init *init, struct ri_cq *send_cq,
		      struct ri_cq *recv_cq, struct ri_srq *srq, struct ri_qp **out,
		      struct ri_map *map)
{
	struct ri_qp_init asked = *init;
	enum ri_status status;

	init->max_send_sge = init->max_recv_sge = init->max_write_sge = 1;
	status = wrap_plain_qp_ops.create(pd, init, send_cq, recv_cq, srq, out, map);
	*init = asked;
	return status;
}

static enum ri_status
shallow_qp_create(struct ri_pd *pd, struct ri_qp_init *init, struct ri_cq *send_cq,
		  struct ri_cq *recv_cq, struct ri_srq *srq, struct ri_qp **out, struct ri_map *map)
{
	init->ird = init->ird > 1 ? 1 : init->ird;
	init->ord = init->ord > 1 ? 1 : init->ord;
	return wrap_plain_qp_ops.create(pd, init, send_cq, recv_cq, srq, out, map);
}

static enum ri_status
clamped_cq(struct ri_context *context, uint64_t ctx, uint32_t *entries, struct ri_cq **out,
	   struct ri_map *map)
{
	uint32_t most = wrap_rnic_of(context)->attr.max_cqe;

	*entries = *entries > most ? most : *entries;
	return wrap_plain_cq_ops.create(context, ctx, entries, out, map);
}

#define CLAIM(id, title, does, needs, hook) DEFECT(id, title, does, needs, .attr = (hook))
/* A claim (a bool) is reported as its opposite: it is false, or an ability that the defect needs is not claimed. */
#define FLIP(id, title, does, needs, claim) \
	DEFECT(id, title, does, needs, .flips = offsetof(struct ri_rnic_attr, claim))

const struct defect defects_claims[] = {
	CLAIM("claim-segments", "more segments are claimed than work",
	      "The limits of segments are reported four too large.", 0, big_segments),
	CLAIM("claim-queues", "larger work queues are claimed than can be made",
	      "The limits of slots of work queues are reported twice as large.", 0, big_queues),
	CLAIM("claim-cq", "larger completion queues are claimed than can be made",
	      "The limit of completions is reported twice as large.", 0, big_cq),
	CLAIM("claim-message", "longer messages are claimed than can be sent",
	      "The limit of a message is reported twice as large.", 0, big_message),
	CLAIM("claim-depths", "more IRD and ORD are claimed than work",
	      "The limits of IRD and ORD are reported twice as large.", 0, big_depths),
	CLAIM("claim-pdata", "more private data are claimed than fit",
	      "The limits of private data are reported as 256 octets.", NEED_ADDRESS, big_pdata),
	CLAIM("claim-srq", "larger shared receive queues are claimed than can be made",
	      "The limit of receives of a shared queue is reported twice as large.", NEED_SRQ,
	      big_srq),
	CLAIM("claim-ports", "a spigot that does not exist", "One spigot too many is claimed.", 0,
	      more_ports),
	CLAIM("claim-wide", "wide windows are claimed wrongly",
	      "Wide windows are claimed if there are none, and not if there are.", 0, claim_wide),
	CLAIM("claim-datagrams", "datagrams are claimed wrongly",
	      "Datagrams are claimed if there are none, and not if there are.", 0, claim_datagrams),
	FLIP("claim-three-way", "the three-way set-up is claimed wrongly",
	     "The three-way set-up is claimed exactly if it is missing.", NEED_ADDRESS,
	     three_way_handshake),
	FLIP("claim-soft-limit", "the soft watermark is claimed wrongly",
	     "The soft watermark is claimed exactly if it is missing.", NEED_SRQ, rq_soft_limit),
	FLIP("claim-acked", "the meaning of a completion is claimed wrongly",
	     "completion_acked is the opposite of what holds.", 0, completion_acked),
	FLIP("claim-remote-status", "the status of remote errors is claimed wrongly",
	     "remote_status is the opposite of what holds.", 0, remote_status),
	FLIP("claim-sink", "the rights of a Read's sink are claimed wrongly",
	     "read_sink_needs_remote_write is the opposite of what holds.", 0,
	     read_sink_needs_remote_write),
	FLIP("claim-extensions", "the extensions of Reads are claimed wrongly",
	     "read_local_extensions is the opposite of what holds.", 0, read_local_extensions),
	FLIP("claim-revocable", "local reads are claimed wrongly",
	     "local_read_revocable is the opposite of what holds.", 0, local_read_revocable),
	FLIP("claim-dmabuf", "regions of a dmabuf are claimed wrongly",
	     "dmabuf is the opposite of what holds.", 0, dmabuf),
	CLAIM("claim-keys", "the owner of the keys of windows is claimed wrongly",
	      "mw_key_owner is the opposite of what holds.", NEED_NARROW, claim_keys),
	CLAIM("small-segments", "fewer segments are claimed than work",
	      "Two segments are claimed for each request.", 0, small_segments),
	CLAIM("small-queues", "smaller work queues are claimed than can be made",
	      "Two slots are claimed for each work queue.", 0, small_queues),
	CLAIM("small-cq", "smaller completion queues are claimed than can be made",
	      "Two completions are claimed for each queue.", 0, small_cq),
	CLAIM("small-region", "smaller regions are claimed than can be registered",
	      "One page is claimed for each region.", 0, small_region),
	CLAIM("small-message", "shorter messages are claimed than can be sent",
	      "1024 octets are claimed for each message.", 0, small_message),
	CLAIM("small-depths", "less IRD and ORD are claimed than work",
	      "An IRD and an ORD of 1 are claimed.", 0, small_depths),
	FLIP("hide-atomics", "atomics are not claimed", "Atomics work and are not claimed.",
	     NEED_ATOMICS, atomics),
	FLIP("hide-srq", "shared receive queues are not claimed",
	     "Shared receive queues work and are not claimed.", NEED_SRQ, srq),
	FLIP("hide-invalidate", "remote invalidation is not claimed",
	     "A Send with invalidation works and is not claimed.", NEED_INVALIDATE,
	     send_invalidate),
	FLIP("hide-reregister", "reregistration is not claimed",
	     "Reregistration works and is not claimed.", NEED_REREGISTER, reregister),
	FLIP("hide-relative", "zero-based regions are not claimed",
	     "Zero-based regions work and are not claimed.", NEED_RELATIVE, zero_based),
	FLIP("hide-reuse", "the reuse of queue pairs is not claimed",
	     "Queue pairs go back to IDLE, which is not claimed.", NEED_REUSE, qp_reusable),
	CLAIM("profile-nameless", "a profile without a name", "The name in the profile is empty.",
	      0, no_name),
	CLAIM("profile-no-domains", "a profile without domains",
	      "The limit of protection domains is 0.", 0, no_domains),
	CLAIM("profile-no-forms", "a profile without connections",
	      "The profile has no form of connections.", 0, no_forms),
	DEFECT("profile-moody", "a profile that changes",
	       "From the second query on the limit of queue pairs is half as large.", 0,
	       ENTRIES(.device.query = moody_query)),
	DEFECT("profile-overrun", "a profile longer than its room",
	       "A query writes the whole profile whatever size the caller gives.", 0,
	       ENTRIES(.device.query = overrun_query)),
	DEFECT("port-offline", "a spigot that seems down", "The spigot says that it is offline.", 0,
	       ENTRIES(.device.query_port = offline_port)),
	DEFECT("port-homeless", "a spigot without addresses",
	       "The spigot says that it has no address.", 0,
	       ENTRIES(.device.query_port = homeless_port)),
	DEFECT("port-unchecked", "any spigot exists",
	       "A query for a spigot that does not exist succeeds.", 0,
	       ENTRIES(.device.query_port = any_port)),
	DEFECT("cq-half-size", "a completion queue is smaller than granted",
	       "A completion queue has half of the size that is reported.", 0,
	       ENTRIES(.cq.create = half_cq)),
	DEFECT("cq-granted-less", "a completion queue is smaller than asked for",
	       "The creation reports one completion less than it was asked for.", 0,
	       ENTRIES(.cq.create = less_cq)),
	DEFECT("qp-half-size", "work queues are smaller than granted",
	       "Work queues have half of the slots that are reported.", 0,
	       ENTRIES(.qp.create = half_size_qp_create)),
	DEFECT("qp-one-segment", "requests have fewer segments than granted",
	       "Requests may have one segment, whatever is reported.", 0,
	       ENTRIES(.qp.create = one_segment_qp_create)),
	DEFECT("qp-shallow", "IRD and ORD are smaller than asked for",
	       "A queue pair has an IRD and an ORD of at most 1.", 0,
	       ENTRIES(.qp.create = shallow_qp_create)),
	DEFECT("cq-limit-unchecked", "a size above the limit is accepted",
	       "A completion queue above the limit is made as large as the limit.", 0,
	       ENTRIES(.cq.create = clamped_cq)),
};

const size_t defects_claims_count = sizeof(defects_claims) / sizeof(defects_claims[0]);
