/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Checks a profile: for each ability that an adapter's profile claims, its provider must have an
 * entry. Also values must be in their range, limits must not be zero, and attributes must not
 * contradict each other.
 *
 * One provider may drive adapters of several kinds, so an entry that this adapter does not claim is
 * no fault. The layers above read the profile and will not call it.
 */

#include <string.h>

#include "ri_registry.h"

/* An attribute that is true (or has a bit) needs an entry. */
struct claim {
	const char *attribute;
	size_t attr; /* offset in ri_rnic_attr of a bool, or of a uint8_t if there is a mask */
	uint8_t mask;
	const char *entry;
	size_t offset; /* in ri_loaded */
};

#define CLAIM(attribute, entry)                                                  \
	{                                                                        \
#attribute, offsetof(struct ri_rnic_attr, attribute), 0, #entry, \
			offsetof(struct ri_loaded, entry)                        \
	}
#define CLAIM_BIT(attribute, bit, entry)                                                    \
	{                                                                                   \
#attribute " " #bit, offsetof(struct ri_rnic_attr, attribute), bit, #entry, \
			offsetof(struct ri_loaded, entry)                                   \
	}

static const struct claim claims[] = {
	CLAIM(wq_resizable, qp.resize),
	CLAIM(wq_resizable, user.qp_remap),
	CLAIM(cq_resizable, cq.resize),
	CLAIM(cq_resizable, user.cq_remap),
	CLAIM(srq, srq.create),
	CLAIM(srq, srq.modify),
	CLAIM(srq, srq.query),
	CLAIM(srq, srq.destroy),
	CLAIM(srq, user.srq_open),
	CLAIM(srq, user.srq_close),
	CLAIM(srq, fast.post_srq),
	CLAIM(srq_resizable, user.srq_remap),
	CLAIM(ud, ah.create),
	CLAIM(ud, ah.modify),
	CLAIM(ud, ah.destroy),
	CLAIM(ud, cm.resolve),
	CLAIM(ud, cm.resolve_cancel),
	CLAIM(ud, cm.resolve_answer),
	CLAIM(reregister, mem.mr_rereg),
	CLAIM(dmabuf, mem.mr_reg_dmabuf),
	CLAIM(mw_narrow, mem.mw_alloc),
	CLAIM(mw_narrow, mem.mw_query),
	CLAIM(mw_narrow, mem.mw_free),
	CLAIM(mw_wide, mem.mw_alloc),
	CLAIM(mw_wide, mem.mw_query),
	CLAIM(mw_wide, mem.mw_free),
	CLAIM_BIT(cm_forms, RI_CM_ADDRESS, cm.listen),
	CLAIM_BIT(cm_forms, RI_CM_ADDRESS, cm.listen_destroy),
	CLAIM_BIT(cm_forms, RI_CM_ADDRESS, cm.connect),
	CLAIM_BIT(cm_forms, RI_CM_ADDRESS, cm.accept),
	CLAIM_BIT(cm_forms, RI_CM_ADDRESS, cm.reject),
	CLAIM_BIT(cm_forms, RI_CM_ADDRESS, cm.disconnect),
	CLAIM_BIT(cm_forms, RI_CM_STREAM, llp.reserve),
	CLAIM_BIT(cm_forms, RI_CM_STREAM, llp.attach_stream),
	CLAIM_BIT(cm_forms, RI_CM_PEER, peer.receive),
	CLAIM_BIT(cm_forms, RI_CM_PEER, peer.send),
	CLAIM(multicast, qp.mcast_attach),
	CLAIM(multicast, qp.mcast_detach),
	CLAIM(socket_conversion, llp.attach_stream),
	CLAIM(three_way_handshake, cm.confirm),
	CLAIM(software, fast.progress),
	CLAIM(software, fast.leader_enter),
	CLAIM(software, fast.leader_leave),
};

/* A count or size that cannot be zero. */
struct limit {
	const char *attribute;
	size_t attr; /* offset of a uint32_t */
};

#define LIMIT(attribute)                                             \
	{                                                            \
#attribute, offsetof(struct ri_rnic_attr, attribute) \
	}

static const struct limit limits[] = {
	LIMIT(num_ports),    LIMIT(max_pd),       LIMIT(max_qp),        LIMIT(max_cq),
	LIMIT(max_cqe),      LIMIT(max_mr),       LIMIT(max_sq_wr),     LIMIT(max_rq_wr),
	LIMIT(max_send_sge), LIMIT(max_recv_sge), LIMIT(max_write_sge), LIMIT(max_read_sge),
};

static bool
claim_refuse(struct ri_error *error, const struct ri_loaded *loaded, const char *text)
{
	return ri_error_set(error, RI_REGISTRY_ERROR_CLAIM, "%s: %s", loaded->name, text);
}

static bool
is_claimed(const struct claim *claim, const struct ri_rnic_attr *attr)
{
	uint8_t value;

	memcpy(&value, (const char *)attr + claim->attr, sizeof(value));
	return claim->mask != 0 ? (value & claim->mask) != 0 : value != 0;
}

static bool
entries_check(const struct ri_loaded *loaded, const struct ri_rnic_attr *attr,
	      struct ri_error *error)
{
	for (size_t i = 0; i < sizeof(claims) / sizeof(claims[0]); i++) {
		const struct claim *claim = &claims[i];
		const void *entry, *stub;

		memcpy(&entry, (const char *)loaded + claim->offset, sizeof(entry));
		memcpy(&stub, (const char *)&ri_stubs + claim->offset, sizeof(stub));
		if (entry != stub || !is_claimed(claim, attr))
			continue;
		return ri_error_set(error, RI_REGISTRY_ERROR_CLAIM,
				    "%s: adapter %s claims %s, but there is no entry \"%s\"",
				    loaded->name, attr->name, claim->attribute, claim->entry);
	}
	return true;
}

static bool
limits_check(const struct ri_loaded *loaded, const struct ri_rnic_attr *attr,
	     struct ri_error *error)
{
	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		uint32_t value;

		memcpy(&value, (const char *)attr + limits[i].attr, sizeof(value));
		if (value != 0)
			continue;
		return ri_error_set(error, RI_REGISTRY_ERROR_CLAIM, "%s: adapter %s has %s = 0",
				    loaded->name, attr->name, limits[i].attribute);
	}
	return true;
}

static bool
ranges_check(const struct ri_loaded *loaded, const struct ri_rnic_attr *attr,
	     struct ri_error *error)
{
	if (attr->transport != RI_TRANSPORT_IB && attr->transport != RI_TRANSPORT_IWARP)
		return claim_refuse(error, loaded, "transport is neither InfiniBand nor iWARP");
	if (attr->cm_forms == 0 ||
	    (attr->cm_forms & ~(RI_CM_ADDRESS | RI_CM_STREAM | RI_CM_PEER)) != 0)
		return claim_refuse(error, loaded, "cm_forms names no form, or an unknown one");
	if (attr->llp_startup > RI_LLP_STARTUP_MPA)
		return claim_refuse(error, loaded, "llp_startup is unknown");
	if (attr->rnr_mode > RI_RNR_HOLD)
		return claim_refuse(error, loaded, "rnr_mode is unknown");
	if (attr->mr_key_owner > RI_KEY_CONSUMER || attr->mw_key_owner > RI_KEY_CONSUMER)
		return claim_refuse(error, loaded, "mr_key_owner or mw_key_owner is unknown");
	if (attr->immediate_size != 0 && attr->immediate_size != 4 && attr->immediate_size != 8)
		return claim_refuse(error, loaded, "immediate_size is none of 0, 4, 8");
	if ((attr->immediate_with & ~(RI_IMMEDIATE_SEND | RI_IMMEDIATE_WRITE | RI_IMMEDIATE_UD)) !=
	    0)
		return claim_refuse(error, loaded, "immediate_with has an unknown bit");
	if (attr->connect_pdata > RI_PDATA_MAX || attr->accept_pdata > RI_PDATA_MAX ||
	    attr->reject_pdata > RI_PDATA_MAX || attr->confirm_pdata > RI_PDATA_MAX ||
	    attr->disconnect_pdata > RI_PDATA_MAX || attr->ud_request_pdata > RI_PDATA_MAX ||
	    attr->ud_reply_pdata > RI_PDATA_MAX)
		return claim_refuse(error, loaded, "private data is longer than RI_PDATA_MAX");
	if ((attr->rtr_types & ~(RI_RTR_WRITE | RI_RTR_READ | RI_RTR_SEND)) != 0)
		return claim_refuse(error, loaded, "rtr_types has an unknown type");
	return true;
}

static bool
contradictions_check(const struct ri_loaded *loaded, const struct ri_rnic_attr *attr,
		     struct ri_error *error)
{
	if (!attr->addr_ip && !attr->addr_gid)
		return claim_refuse(error, loaded,
				    "neither addr_ip nor addr_gid: no peer has an address");
	if ((attr->cm_forms & RI_CM_STREAM) != 0 && !attr->addr_ip)
		return claim_refuse(error, loaded, "RI_CM_STREAM without addr_ip");
	if (attr->srq && (attr->max_srq == 0 || attr->max_srq_wr == 0))
		return claim_refuse(error, loaded, "srq with max_srq or max_srq_wr = 0");
	if (attr->ud && (attr->max_ah == 0 || attr->max_ud_message == 0))
		return claim_refuse(error, loaded, "ud with max_ah or max_ud_message = 0");
	if ((attr->mw_narrow || attr->mw_wide) && attr->max_mw == 0)
		return claim_refuse(error, loaded, "windows with max_mw = 0");
	if (attr->mw_wide_stag_returned && !attr->mw_wide)
		return claim_refuse(error, loaded, "mw_wide_stag_returned without mw_wide");
	if (attr->max_mr_length == 0 || attr->max_message_size == 0)
		return claim_refuse(error, loaded, "max_mr_length or max_message_size = 0");
	if (attr->fast_register && !attr->privileged_ops)
		return claim_refuse(error, loaded, "fast_register without privileged_ops");
	if (attr->inline_data && attr->max_inline == 0)
		return claim_refuse(error, loaded, "inline_data with max_inline = 0");
	if (attr->immediate_with != 0 && attr->immediate_size == 0)
		return claim_refuse(error, loaded, "immediate_with with immediate_size = 0");
	if ((attr->immediate_with & RI_IMMEDIATE_UD) != 0 && !attr->ud)
		return claim_refuse(error, loaded, "immediate_with RI_IMMEDIATE_UD without ud");
	if (attr->uc && (attr->cm_forms & RI_CM_PEER) == 0)
		return claim_refuse(error, loaded, "uc without RI_CM_PEER");
	if (attr->multicast && !attr->ud)
		return claim_refuse(error, loaded, "multicast without ud");
	if (attr->cm_number &&
	    (attr->cm_forms & (RI_CM_ADDRESS | RI_CM_PEER)) != (RI_CM_ADDRESS | RI_CM_PEER))
		return claim_refuse(error, loaded,
				    "cm_number without RI_CM_ADDRESS and RI_CM_PEER");
	if (attr->direct_stag && !attr->privileged_ops)
		return claim_refuse(error, loaded, "direct_stag without privileged_ops");
	return true;
}

bool
ri_claims_check(const struct ri_loaded *loaded, const struct ri_rnic_attr *attr,
		struct ri_error *error)
{
	if (memchr(attr->name, 0, sizeof(attr->name)) == NULL || attr->name[0] == '\0' ||
	    memchr(attr->vendor, 0, sizeof(attr->vendor)) == NULL)
		return claim_refuse(error, loaded, "the profile's name or vendor is not text");
	return entries_check(loaded, attr, error) && limits_check(loaded, attr, error) &&
	       ranges_check(loaded, attr, error) && contradictions_check(loaded, attr, error);
}
