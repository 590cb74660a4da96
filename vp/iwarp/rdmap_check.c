/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The tests of an incoming segment that need no memory table.
 *
 * One direction of a stream carries messages one after the other, never interleaved, so the state is one current
 * message and a counter for each queue. rdmap_check_header checks, in the order of [WIRE 5.8], the header alone, the
 * message that the segment belongs to, the counters of untagged messages, and the response that is awaited.
 *
 * A Terminate may cut a message short, since its sender stops at a segment boundary. It is the only message
 * that may begin before the current one has ended.
 *
 * Standards: RFC 5040 section 7, RFC 5041 sections 5, 6 and 7, RFC 7306.
 */

#include "rdmap_check.h"

void
rdmap_inbound_init(struct rdmap_inbound *in)
{
	memset(in, 0, sizeof(*in));
	in->reads_enabled = true;
	for (unsigned qn = 0; qn < DDP_QN_COUNT; qn++)
		in->next_msn[qn] = 1;
}

enum rdmap_fault
rdmap_check_header(const struct rdmap_inbound *in, const struct ddp_segment *seg)
{
	enum rdmap_opcode opcode = rdmap_opcode_of(seg->rdmap_control);
	const struct rdmap_rule *rule = &rdmap_rules[opcode];

	/* Versions, opcode, T, QN, size and L: what the header alone shows. */
	if (seg->version != DDP_VERSION)
		return seg->tagged ? RDMAP_FAULT_DDP_VERSION_TAGGED
				   : RDMAP_FAULT_DDP_VERSION_UNTAGGED;
	if (rdmap_version_of(seg->rdmap_control) != RDMAP_VERSION)
		return RDMAP_FAULT_RDMAP_VERSION;
	if (!rule->known || (rule->rfc7306 && !in->rfc7306) || rule->tagged != seg->tagged)
		return RDMAP_FAULT_OPCODE;
	if (!seg->tagged && seg->qn != rule->qn)
		return RDMAP_FAULT_QN;
	if (seg->payload_len < rule->header_min ||
	    (rule->single && seg->payload_len > rule->header_max))
		return RDMAP_FAULT_HEADER_SIZE;
	if (rule->single && !seg->last)
		return RDMAP_FAULT_NOT_LAST;

	/* The current message, if there is one, must continue. */
	if (in->in_message && opcode != RDMAP_TERMINATE) {
		if (opcode != in->opcode)
			return RDMAP_FAULT_INTERLEAVED;
		if (seg->payload_len > UINT32_MAX - in->received)
			return RDMAP_FAULT_MESSAGE_SIZE;
		if (seg->tagged && seg->payload_len > 0) {
			if (in->received > 0 && seg->stag != in->stag)
				return RDMAP_FAULT_TAGGED_STAG;
			if (in->received > 0 && seg->to != in->next_to)
				return RDMAP_FAULT_TAGGED_BOUNDS;
		}
	}

	/* MSN and MO, and room for a request. */
	if (!seg->tagged) {
		bool request = seg->qn == DDP_QN_READ_REQUEST;
		bool under_way = in->in_message && seg->qn == DDP_QN_SEND;

		if (request && !in->reads_enabled)
			return RDMAP_FAULT_READS_DISABLED;
		if (seg->msn != in->next_msn[seg->qn])
			return RDMAP_FAULT_MSN;
		if (seg->mo != (under_way ? in->received : 0))
			return RDMAP_FAULT_MO;
		if (request && in->read_room == 0)
			return RDMAP_FAULT_IRD;
	}

	if (opcode == RDMAP_READ_RESPONSE) {
		/* A Read Response must be the next part of the Read that has waited longest, and L must come with its end. */
		if (in->awaited != RDMAP_AWAITS_READ)
			return RDMAP_FAULT_RESPONSE_UNEXPECTED;
		if (seg->payload_len > 0 && seg->stag != in->read_stag)
			return RDMAP_FAULT_TAGGED_STAG;
		if (seg->payload_len > 0 && seg->to != in->read_to)
			return RDMAP_FAULT_TAGGED_BOUNDS;
		if (seg->payload_len > in->read_left ||
		    (seg->last && seg->payload_len != in->read_left))
			return RDMAP_FAULT_TAGGED_BOUNDS;
		return RDMAP_FAULT_NONE;
	}
	if (opcode == RDMAP_ATOMIC_RESPONSE && in->awaited != RDMAP_AWAITS_ATOMIC)
		return RDMAP_FAULT_RESPONSE_UNEXPECTED;
	return RDMAP_FAULT_NONE;
}

bool
rdmap_inbound_advance(struct rdmap_inbound *in, const struct ddp_segment *seg)
{
	enum rdmap_opcode opcode = rdmap_opcode_of(seg->rdmap_control);

	if (opcode == RDMAP_READ_RESPONSE) {
		in->read_to += seg->payload_len;
		in->read_left -= seg->payload_len;
	}
	if (seg->last) {
		in->ended = opcode;
		in->ended_len = in->received + seg->payload_len;
		in->in_message = false;
		in->received = 0;
		if (!seg->tagged)
			in->next_msn[seg->qn]++;
		return true;
	}
	in->in_message = true;
	in->opcode = opcode;
	if (seg->tagged && seg->payload_len > 0) {
		in->stag = seg->stag;
		in->next_to = seg->to + seg->payload_len;
	}
	in->received += seg->payload_len;
	return false;
}

enum rdmap_fault
rdmap_check_receive(const struct ddp_segment *seg, bool have_buffer, uint64_t buffer_len)
{
	if (!have_buffer)
		return RDMAP_FAULT_NO_BUFFER;
	if ((uint64_t)seg->mo + seg->payload_len > buffer_len)
		return RDMAP_FAULT_TOO_LONG;
	return RDMAP_FAULT_NONE;
}
