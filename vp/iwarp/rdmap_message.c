/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * RDMAP messages: the table of opcodes, and the headers that lie behind the DDP header.
 *
 * Each header has its reader and its writer side by side, field by field in the order of the wire, so that
 * the layout can be reviewed in one place. A reader that gets too few octets returns false, with all members
 * 0. rdmap_check_header() refuses too many octets, by the sizes in the table.
 *
 * Standards: RFC 5040 section 4, RFC 7306 sections 4 to 6; [WIRE 5.1] to [WIRE 5.6].
 */

#include "rdmap_message.h"

/* clang-format off */
const struct rdmap_rule rdmap_rules[RDMAP_OPCODE_COUNT] = {
	/*                           name                           known  7306   tagged queue                   single min max */
	[RDMAP_WRITE]              = {"RDMA Write",                  true,  false, true,  0,                      false, 0,  0},
	[RDMAP_READ_REQUEST]       = {"RDMA Read Request",           true,  false, false, DDP_QN_READ_REQUEST,    true,  28, 28},
	[RDMAP_READ_RESPONSE]      = {"RDMA Read Response",          true,  false, true,  0,                      false, 0,  0},
	[RDMAP_SEND]               = {"Send",                        true,  false, false, DDP_QN_SEND,            false, 0,  0},
	[RDMAP_SEND_INVALIDATE]    = {"Send with Invalidate",        true,  false, false, DDP_QN_SEND,            false, 0,  0},
	[RDMAP_SEND_SE]            = {"Send with SE",                true,  false, false, DDP_QN_SEND,            false, 0,  0},
	[RDMAP_SEND_SE_INVALIDATE] = {"Send with SE and Invalidate", true,  false, false, DDP_QN_SEND,            false, 0,  0},
	[RDMAP_TERMINATE]          = {"Terminate",                   true,  false, false, DDP_QN_TERMINATE,       true,  4,  RDMAP_TERMINATE_MAX},
	[RDMAP_IMMEDIATE]          = {"Immediate Data",              true,  true,  false, DDP_QN_SEND,            true,  8,  8},
	[RDMAP_IMMEDIATE_SE]       = {"Immediate Data with SE",      true,  true,  false, DDP_QN_SEND,            true,  8,  8},
	[RDMAP_ATOMIC_REQUEST]     = {"Atomic Request",              true,  true,  false, DDP_QN_READ_REQUEST,    true,  52, 52},
	[RDMAP_ATOMIC_RESPONSE]    = {"Atomic Response",             true,  true,  false, DDP_QN_ATOMIC_RESPONSE, true,  12, 12},
};
/* clang-format on */

const char *
rdmap_opcode_name(enum rdmap_opcode opcode)
{
	const char *name = rdmap_rules[(unsigned)opcode & RDMAP_CONTROL_OPCODE].name;

	return name != NULL ? name : "reserved";
}

bool
rdmap_read_request_read(const void *payload, size_t len, struct rdmap_read_request *m)
{
	struct wire_reader r = wire_reader_of(payload, len);

	memset(m, 0, sizeof(*m));
	if (len < RDMAP_READ_REQUEST_SIZE)
		return false;
	m->sink_stag = wire_be32(&r);
	m->sink_to = wire_be64(&r);
	m->size = wire_be32(&r);
	m->source_stag = wire_be32(&r);
	m->source_to = wire_be64(&r);
	return r.ok;
}

void
rdmap_read_request_write(uint8_t *at, const struct rdmap_read_request *m)
{
	struct wire_writer w = wire_writer_of(at, RDMAP_READ_REQUEST_SIZE);

	wire_put_be32(&w, m->sink_stag);
	wire_put_be64(&w, m->sink_to);
	wire_put_be32(&w, m->size);
	wire_put_be32(&w, m->source_stag);
	wire_put_be64(&w, m->source_to);
}

bool
rdmap_atomic_request_read(const void *payload, size_t len, struct rdmap_atomic_request *m)
{
	struct wire_reader r = wire_reader_of(payload, len);

	memset(m, 0, sizeof(*m));
	if (len < RDMAP_ATOMIC_REQUEST_SIZE)
		return false;
	m->operation = wire_be32(&r) & 0xfu; /* the 28 bits above are reserved: ignore */
	m->request_id = wire_be32(&r);
	m->stag = wire_be32(&r);
	m->to = wire_be64(&r);
	m->data = wire_be64(&r);
	m->mask = wire_be64(&r);
	m->compare = wire_be64(&r);
	m->compare_mask = wire_be64(&r);
	return r.ok;
}

void
rdmap_atomic_request_write(uint8_t *at, const struct rdmap_atomic_request *m)
{
	struct wire_writer w = wire_writer_of(at, RDMAP_ATOMIC_REQUEST_SIZE);

	wire_put_be32(&w, m->operation & 0xfu);
	wire_put_be32(&w, m->request_id);
	wire_put_be32(&w, m->stag);
	wire_put_be64(&w, m->to);
	wire_put_be64(&w, m->data);
	wire_put_be64(&w, m->mask);
	wire_put_be64(&w, m->compare);
	wire_put_be64(&w, m->compare_mask);
}

bool
rdmap_atomic_response_read(const void *payload, size_t len, struct rdmap_atomic_response *m)
{
	struct wire_reader r = wire_reader_of(payload, len);

	memset(m, 0, sizeof(*m));
	if (len < RDMAP_ATOMIC_RESPONSE_SIZE)
		return false;
	m->request_id = wire_be32(&r);
	m->original = wire_be64(&r);
	return r.ok;
}

void
rdmap_atomic_response_write(uint8_t *at, const struct rdmap_atomic_response *m)
{
	struct wire_writer w = wire_writer_of(at, RDMAP_ATOMIC_RESPONSE_SIZE);

	wire_put_be32(&w, m->request_id);
	wire_put_be64(&w, m->original);
}
