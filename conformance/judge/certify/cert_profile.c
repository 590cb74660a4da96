/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include "cert_profile.h"

#include <inttypes.h>
#include <string.h>

#define CLAIMS(member, type)                                                            \
	{                                                                               \
#member, offsetof(struct ri_rnic_attr, member), CERT_ATTR_##type, false \
	}
#define INFORMS(member, type)                                                          \
	{                                                                              \
#member, offsetof(struct ri_rnic_attr, member), CERT_ATTR_##type, true \
	}

/* The test of this folder compares the names with the header. */
const struct cert_attribute cert_attributes[] = {
	CLAIMS(transport, U32),
	INFORMS(name, TEXT),
	INFORMS(vendor, TEXT),
	INFORMS(vendor_id, U32),
	INFORMS(vendor_part, U32),
	INFORMS(hw_version, U32),
	INFORMS(fw_version, U32),
	CLAIMS(num_ports, U32),
	CLAIMS(max_pd, U32),
	CLAIMS(max_qp, U32),
	CLAIMS(max_cq, U32),
	CLAIMS(max_cqe, U32),
	CLAIMS(max_srq, U32),
	CLAIMS(max_srq_wr, U32),
	CLAIMS(max_mr, U32),
	CLAIMS(max_mw, U32),
	CLAIMS(max_ah, U32),
	CLAIMS(max_mr_length, U64),
	CLAIMS(max_sq_wr, U32),
	CLAIMS(max_rq_wr, U32),
	CLAIMS(max_send_sge, U32),
	CLAIMS(max_recv_sge, U32),
	CLAIMS(max_write_sge, U32),
	CLAIMS(max_read_sge, U32),
	CLAIMS(max_ird, U32),
	CLAIMS(max_ord, U32),
	CLAIMS(max_rnic_ird, U32),
	CLAIMS(max_rnic_ord, U32),
	CLAIMS(max_message_size, U64),
	CLAIMS(max_ud_message, U32),
	CLAIMS(max_inline, U32),
	CLAIMS(max_pbl, U32),
	INFORMS(num_completion_handlers, U32),
	CLAIMS(read_sink_needs_remote_write, BOOL),
	CLAIMS(read_local_extensions, BOOL),
	CLAIMS(immediate_size, U8),
	CLAIMS(immediate_separate, BOOL),
	CLAIMS(atomics, BOOL),
	CLAIMS(masked_atomics, BOOL),
	CLAIMS(send_invalidate, BOOL),
	CLAIMS(mw_narrow, BOOL),
	CLAIMS(mw_wide, BOOL),
	CLAIMS(mw_narrow_unbind, BOOL),
	CLAIMS(mw_wide_unbind, BOOL),
	CLAIMS(mw_on_zero_based, BOOL),
	CLAIMS(mr_key_owner, U8),
	CLAIMS(mw_key_owner, U8),
	CLAIMS(zero_based, BOOL),
	CLAIMS(local_read_revocable, BOOL),
	CLAIMS(privileged_ops, BOOL),
	CLAIMS(fast_register, BOOL),
	CLAIMS(direct_stag, BOOL),
	CLAIMS(local_fence, BOOL),
	CLAIMS(reregister, BOOL),
	CLAIMS(shared_mr, BOOL),
	CLAIMS(reg_page_list, BOOL),
	CLAIMS(reg_block_list, BOOL),
	CLAIMS(reg_ve_list, BOOL),
	CLAIMS(enables_modifiable, BOOL),
	CLAIMS(ord_increasable, BOOL),
	CLAIMS(ird_modifiable, BOOL),
	CLAIMS(wq_resizable, BOOL),
	CLAIMS(srq_resizable, BOOL),
	CLAIMS(cq_resizable, BOOL),
	CLAIMS(srq, BOOL),
	CLAIMS(srq_limit, BOOL),
	CLAIMS(rq_soft_limit, BOOL),
	CLAIMS(rq_hard_limit, BOOL),
	CLAIMS(rnr_mode, U8),
	CLAIMS(completion_acked, BOOL),
	CLAIMS(in_order_completion, BOOL),
	CLAIMS(in_order_placement, BOOL),
	CLAIMS(remote_status, BOOL),
	CLAIMS(terminate_info, BOOL),
	CLAIMS(cq_overflow_detect, BOOL),
	CLAIMS(cq_notify_flag, BOOL),
	CLAIMS(cq_arm_count, BOOL),
	CLAIMS(thread_safe_queues, BOOL),
	CLAIMS(solicited_works, BOOL),
	INFORMS(extended_qp_states, BOOL),
	CLAIMS(qp_reusable, BOOL),
	CLAIMS(last_wqe_event, BOOL),
	CLAIMS(has_time_wait, BOOL),
	CLAIMS(cm_forms, U8),
	INFORMS(llp_startup, U8),
	CLAIMS(three_way_handshake, BOOL),
	INFORMS(initiator_first, BOOL),
	INFORMS(rtr_types, U8),
	CLAIMS(ird_ord_exchange, BOOL),
	CLAIMS(ird_ord_suppressible, BOOL),
	CLAIMS(connect_pdata, U16),
	CLAIMS(accept_pdata, U16),
	CLAIMS(reject_pdata, U16),
	CLAIMS(confirm_pdata, U16),
	CLAIMS(disconnect_pdata, U16),
	CLAIMS(socket_conversion, BOOL),
	CLAIMS(addr_ip, BOOL),
	CLAIMS(addr_gid, BOOL),
	CLAIMS(ud, BOOL),
	INFORMS(ib_path, BOOL),
	CLAIMS(port_events, BOOL),
	CLAIMS(one_address_space, BOOL),
	CLAIMS(software, BOOL),
	CLAIMS(kvp_in_process, BOOL),
	CLAIMS(ud_request_pdata, U16),
	CLAIMS(ud_reply_pdata, U16),
	CLAIMS(refuses, U64),
	CLAIMS(dmabuf, BOOL),
	CLAIMS(mw_wide_stag_returned, BOOL),
	CLAIMS(inline_data, BOOL),
	CLAIMS(immediate_with, U8),
	CLAIMS(uc, BOOL),
	CLAIMS(multicast, BOOL),
	CLAIMS(iova, BOOL),
	CLAIMS(cm_number, BOOL),
	{NULL, 0, CERT_ATTR_BOOL, false},
};

/* Values and bits that conditions may name. */
static const struct {
	const char *name;
	unsigned value;
	bool bit;
} words[] = {
	{"RI_TRANSPORT_IB", RI_TRANSPORT_IB, false},
	{"RI_TRANSPORT_IWARP", RI_TRANSPORT_IWARP, false},
	{"RI_KEY_PROVIDER", RI_KEY_PROVIDER, false},
	{"RI_KEY_CONSUMER", RI_KEY_CONSUMER, false},
	{"RI_RNR_TERMINATE", RI_RNR_TERMINATE, false},
	{"RI_RNR_RETRY", RI_RNR_RETRY, false},
	{"RI_RNR_HOLD", RI_RNR_HOLD, false},
	{"RI_LLP_STARTUP_MPA", RI_LLP_STARTUP_MPA, false},
	{"RI_CM_ADDRESS", RI_CM_ADDRESS, true},
	{"RI_CM_STREAM", RI_CM_STREAM, true},
	{"RI_CM_PEER", RI_CM_PEER, true},
	{"RI_IMMEDIATE_SEND", RI_IMMEDIATE_SEND, true},
	{"RI_IMMEDIATE_WRITE", RI_IMMEDIATE_WRITE, true},
	{"RI_IMMEDIATE_UD", RI_IMMEDIATE_UD, true},
	{"RI_RTR_WRITE", RI_RTR_WRITE, true},
	{"RI_RTR_READ", RI_RTR_READ, true},
	{"RI_REFUSES_UNCONNECTED_REQUESTS", RI_REFUSES_UNCONNECTED_REQUESTS, true},
};

const struct cert_attribute *
cert_attribute_find(const char *name, size_t length)
{
	for (const struct cert_attribute *at = cert_attributes; at->name != NULL; at++) {
		if (strlen(at->name) == length && strncmp(at->name, name, length) == 0)
			return at;
	}
	return NULL;
}

void
cert_profile_cut(struct ri_rnic_attr *attr, uint32_t minor)
{
	const size_t first = offsetof(struct ri_rnic_attr, inline_data);

	if (minor < 7)
		memset((char *)attr + first, 0, sizeof(*attr) - first);
}

static uint64_t
value_of(const struct cert_attribute *attribute, const struct ri_rnic_attr *attr)
{
	const char *at = (const char *)attr + attribute->offset;
	uint8_t u8;
	uint16_t u16;
	uint32_t u32;
	uint64_t u64;

	switch (attribute->type) {
	case CERT_ATTR_BOOL:
	case CERT_ATTR_U8:
		memcpy(&u8, at, sizeof(u8));
		return u8;
	case CERT_ATTR_U16:
		memcpy(&u16, at, sizeof(u16));
		return u16;
	case CERT_ATTR_U32:
		memcpy(&u32, at, sizeof(u32));
		return u32;
	case CERT_ATTR_U64:
		memcpy(&u64, at, sizeof(u64));
		return u64;
	case CERT_ATTR_TEXT:
	default:
		return *at != '\0';
	}
}

char *
cert_attribute_text(const struct cert_attribute *attribute, const struct ri_rnic_attr *attr)
{
	uint64_t value = value_of(attribute, attr);

	if (attribute->type == CERT_ATTR_TEXT)
		return g_strndup((const char *)attr + attribute->offset, 64);
	if (attribute->type == CERT_ATTR_BOOL)
		return g_strdup(value != 0 ? "yes" : "no");
	return g_strdup_printf("%" PRIu64, value);
}

/* One condition. */
struct condition {
	const struct cert_attribute *attribute;
	bool negated;
	int word; /* in words; -1: none */
};

/* False: it is none. */
static bool
condition_read(const char *text, struct condition *condition)
{
	const char *colon = strchr(text, ':');
	const char *name = text + (text[0] == '!');
	size_t length = colon != NULL ? (size_t)(colon - name) : strlen(name);

	*condition = (struct condition){.negated = text[0] == '!', .word = -1};
	condition->attribute = cert_attribute_find(name, length);
	for (size_t i = 0; colon != NULL && i < G_N_ELEMENTS(words); i++) {
		if (strcmp(words[i].name, colon + 1) == 0)
			condition->word = (int)i;
	}
	return condition->attribute != NULL && (colon == NULL || condition->word >= 0);
}

static bool
is_met(const struct condition *condition, const struct ri_rnic_attr *attr)
{
	uint64_t value = value_of(condition->attribute, attr);
	bool met = value != 0;

	if (condition->word >= 0 && words[condition->word].bit)
		met = (value & words[condition->word].value) != 0;
	else if (condition->word >= 0)
		met = value == words[condition->word].value;
	return met != condition->negated;
}

char *
cert_profile_lack(const struct ri_rnic_attr *attr, const char *needs)
{
	g_auto(GStrv) all = g_strsplit(needs != NULL ? needs : "", " ", -1);

	for (char **one = all; *one != NULL; one++) {
		struct condition condition;

		if (**one == '\0')
			continue;
		if (!condition_read(*one, &condition))
			return g_strdup_printf("\"%s\" is not a condition", *one);
		if (is_met(&condition, attr))
			continue;
		if (condition.negated)
			return g_strdup_printf("the profile claims %s", *one + 1);
		return g_strdup_printf("the profile does not claim %s", *one);
	}
	return NULL;
}

char *
cert_profile_check(const char *needs)
{
	g_auto(GStrv) all = g_strsplit(needs != NULL ? needs : "", " ", -1);

	for (char **one = all; *one != NULL; one++) {
		struct condition condition;

		if (!condition_read(*one, &condition))
			return g_strdup_printf("\"%s\" is not a condition", *one);
	}
	return NULL;
}

/* Any seed gives a sequence without visible order. */
uint64_t
cert_sequence_next(uint64_t *state)
{
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}
