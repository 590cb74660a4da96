/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Terminate: from a fault to octets, and from octets to text.
 *
 *     octet 0  layer (high nibble), error type (low nibble)
 *     octet 1  error code
 *     octet 2  M 0x80, D 0x40, R 0x20; the other 13 bits are reserved
 *     then     DDP segment length (2) if M or D; DDP header if D; Read Request header if R
 *
 * One table has for each fault its code, its text, and the headers that RFC 5040 4.8 requires with it. A second
 * table has a text for every code that a peer may send, including those of the RDMA Consortium and of siw.
 *
 * Reading is lenient on purpose. A Terminate ends the stream whatever it says, and its content is only logged.
 * The most common sender, siw on a little-endian host, has the bits in another order [WIRE 11.27] and sends the
 * payload length in place of the segment length [WIRE 11.28].
 *
 * Standards: RFC 5040 sections 4.8 and 7, RFC 5041 section 7, RFC 5044 section 8, RFC 6581;
 * [WIRE 5.5] and [WIRE 5.9].
 */

#include "rdmap_terminate.h"

#define FLAG_LENGTH 0x80u /* M */
#define FLAG_DDP    0x40u /* D */
#define FLAG_RDMAP  0x20u /* R */

enum headers {
	BARE,    /* none */
	DDP,     /* the DDP header */
	DDP_READ /* the DDP header, and the Read Request header if it is one */
};

struct fault_rule {
	uint16_t code;
	enum headers headers;
	const char *text;
};

/* clang-format off */
static const struct fault_rule fault_rules[RDMAP_FAULT_COUNT] = {
	[RDMAP_FAULT_NONE]                 = {0x0000, BARE,     "no fault"},
	[RDMAP_FAULT_LOCAL]                = {0x0000, BARE,     "this end has failed, or the application terminates"},
	[RDMAP_FAULT_READ_STAG]            = {0x0100, DDP_READ, "Read Request names an invalid source STag"},
	[RDMAP_FAULT_READ_BOUNDS]          = {0x0101, DDP_READ, "Read Request reaches outside the source region"},
	[RDMAP_FAULT_READ_ACCESS]          = {0x0102, DDP_READ, "Read Request without the right of region or endpoint"},
	[RDMAP_FAULT_READ_STREAM]          = {0x0100, DDP_READ, "Read Request to a region of another stream"},
	[RDMAP_FAULT_READ_CLOSED]          = {0x0100, DDP_READ, "Read Request to a region that is open to no peer"},
	[RDMAP_FAULT_READ_WRAP]            = {0x0104, DDP_READ, "Read Request passes the end of the address space"},
	[RDMAP_FAULT_INVALIDATE]           = {0x0109, DDP,      "Send with Invalidate names an STag that cannot be invalidated"},
	[RDMAP_FAULT_RDMAP_VERSION]        = {0x0205, DDP,      "RDMAP version is not supported"},
	[RDMAP_FAULT_OPCODE]               = {0x0206, DDP,      "opcode is unknown or does not fit"},
	[RDMAP_FAULT_INTERLEAVED]          = {0x0206, DDP,      "message begins before the one before it has ended"},
	[RDMAP_FAULT_RESPONSE_UNEXPECTED]  = {0x0206, DDP,      "response that nobody waits for"},
	[RDMAP_FAULT_NOT_LAST]             = {0x0207, DDP,      "message of one segment without the last flag"},
	[RDMAP_FAULT_MESSAGE_SIZE]         = {0x0207, DDP,      "message passes 2^32 - 1 octets"},
	[RDMAP_FAULT_ATOMIC]               = {0x0207, DDP,      "atomic operation is unknown or its target not aligned"},
	[RDMAP_FAULT_PEER_CLOSED]          = {0x0207, BARE,     "peer closed in the middle of a message"},
	[RDMAP_FAULT_STREAM_CATASTROPHIC]  = {0x0207, BARE,     "queue pair failed"},
	[RDMAP_FAULT_MEMORY]               = {0x0207, DDP,      "page of a region was unmapped, protected or cut off its file"},
	[RDMAP_FAULT_GLOBAL_CATASTROPHIC]  = {0x0208, BARE,     "adapter failed"},
	[RDMAP_FAULT_HEADER_SIZE]          = {0x1000, DDP,      "segment does not have the size of its header"},
	[RDMAP_FAULT_TAGGED_STAG]          = {0x1100, DDP,      "tagged segment names an invalid STag"},
	[RDMAP_FAULT_TAGGED_BOUNDS]        = {0x1101, DDP,      "tagged segment reaches outside its region"},
	[RDMAP_FAULT_TAGGED_ACCESS]        = {0x1102, DDP,      "tagged segment without the right of region or endpoint"},
	[RDMAP_FAULT_TAGGED_STREAM]        = {0x1100, DDP,      "tagged segment to a region of another stream"},
	[RDMAP_FAULT_TAGGED_CLOSED]        = {0x1100, DDP,      "tagged segment to a region that is open to no peer"},
	[RDMAP_FAULT_TAGGED_WRAP]          = {0x1103, DDP,      "tagged segment passes the end of the address space"},
	[RDMAP_FAULT_DDP_VERSION_TAGGED]   = {0x1104, DDP,      "DDP version of a tagged segment is not supported"},
	[RDMAP_FAULT_QN]                   = {0x1201, DDP,      "queue number is unknown or does not fit the opcode"},
	[RDMAP_FAULT_READS_DISABLED]       = {0x1201, DDP,      "Read or Atomic Request to a queue pair that takes none"},
	[RDMAP_FAULT_NO_BUFFER]            = {0x1202, DDP,      "no receive is posted"},
	[RDMAP_FAULT_MSN]                  = {0x1203, DDP,      "message number is not the next one"},
	[RDMAP_FAULT_IRD]                  = {0x1203, DDP,      "more Read or Atomic Requests than agreed"},
	[RDMAP_FAULT_MO]                   = {0x1204, DDP,      "message offset is not where the message went on"},
	[RDMAP_FAULT_TOO_LONG]             = {0x1205, DDP,      "message is longer than the receive"},
	[RDMAP_FAULT_DDP_VERSION_UNTAGGED] = {0x1206, DDP,      "DDP version of an untagged segment is not supported"},
	[RDMAP_FAULT_CRC]                  = {0x2002, BARE,     "CRC is wrong"},
	[RDMAP_FAULT_MARKER]               = {0x2003, BARE,     "marker and length disagree"},
	[RDMAP_FAULT_STARTUP_IRD]          = {0x2006, BARE,     "peer wants more inbound Reads than there are"},
	[RDMAP_FAULT_STARTUP_RTR]          = {0x2007, BARE,     "no RTR message that both ends know"},
};

static const struct {
	uint16_t code;
	const char *text;
} code_texts[] = {
	{0x0000, "local catastrophic error"},
	{0x0100, "invalid STag"},
	{0x0101, "base or bounds violation"},
	{0x0102, "access rights violation"},
	{0x0103, "STag not associated with the stream"},
	{0x0104, "TO wrap"},
	{0x0109, "STag cannot be invalidated (protection)"},
	{0x01ff, "unspecified protection error"},
	{0x0205, "invalid version"},
	{0x0206, "unexpected opcode"},
	{0x0207, "catastrophic error, this stream"},
	{0x0208, "catastrophic error, global"},
	{0x0209, "STag cannot be invalidated"},
	{0x02ff, "unspecified operation error"},
	{0x1000, "local catastrophic error"},
	{0x1100, "invalid STag"},
	{0x1101, "base or bounds violation"},
	{0x1102, "STag not associated with the stream"},
	{0x1103, "TO wrap"},
	{0x1104, "invalid version"},
	{0x1201, "invalid QN"},
	{0x1202, "no buffer available"},
	{0x1203, "MSN out of range"},
	{0x1204, "invalid MO"},
	{0x1205, "message too long for the buffer"},
	{0x1206, "invalid version"},
	{0x2001, "connection closed, reset or lost"},
	{0x2002, "CRC error"},
	{0x2003, "marker and length disagree"},
	{0x2004, "invalid startup frame"},
	{0x2005, "local catastrophic error"},
	{0x2006, "insufficient IRD resources"},
	{0x2007, "no matching RTR option"},
	{0x0202, "CRC error (RDMA Consortium code)"},
	{0x0203, "marker and length disagree (RDMA Consortium code)"},
};

static const char *const layers[] = {"RDMAP", "DDP", "MPA"};

/* Error types of each layer. */
static const char *const types[][3] = {
	{"local catastrophic error", "remote protection error", "remote operation error"},
	{"local catastrophic error", "tagged buffer error",     "untagged buffer error"},
	{"MPA error",                NULL,                      NULL},
};
/* clang-format on */

static const struct fault_rule *
rule_of(enum rdmap_fault fault)
{
	return &fault_rules[(unsigned)fault < RDMAP_FAULT_COUNT ? fault : RDMAP_FAULT_LOCAL];
}

uint16_t
rdmap_fault_code(enum rdmap_fault fault)
{
	return rule_of(fault)->code;
}

const char *
rdmap_fault_text(enum rdmap_fault fault)
{
	return rule_of(fault)->text;
}

const char *
rdmap_terminate_text(uint16_t code)
{
	if ((code & 0xff00u) == 0x0000) /* type 0 of layer 0: any code is allowed */
		return code_texts[0].text;
	for (size_t i = 0; i < sizeof(code_texts) / sizeof(code_texts[0]); i++) {
		if (code_texts[i].code == code)
			return code_texts[i].text;
	}
	return "unknown error";
}

const char *
rdmap_terminate_layer(uint16_t code)
{
	unsigned layer = code >> 12;

	return layer < sizeof(layers) / sizeof(layers[0]) ? layers[layer] : "unknown layer";
}

const char *
rdmap_terminate_type(uint16_t code)
{
	unsigned layer = code >> 12;
	unsigned type = code >> 8 & 0xfu;
	const char *text = NULL;

	if (layer < sizeof(types) / sizeof(types[0]) &&
	    type < sizeof(types[0]) / sizeof(types[0][0]))
		text = types[layer][type];
	return text != NULL ? text : "unknown type";
}

uint32_t
rdmap_terminate_write(uint8_t *at, enum rdmap_fault fault, const struct rdmap_offender *offender)
{
	const struct fault_rule *rule = rule_of(fault);
	struct wire_writer w = wire_writer_of(at, RDMAP_TERMINATE_MAX);
	uint32_t whole = DDP_UNTAGGED_SIZE + RDMAP_READ_REQUEST_SIZE;
	uint32_t ddp_len = 0; /* of the offender's header, if all of it is there */
	bool read = false;
	unsigned flags = 0;

	if (rule->headers != BARE && offender != NULL && offender->ulpdu != NULL) {
		uint32_t there =
			offender->have < offender->ulpdu_len ? offender->have : offender->ulpdu_len;
		uint32_t header = 0;

		if (there > 0)
			header = ddp_header_size((offender->ulpdu[0] & DDP_CONTROL_TAGGED) != 0);
		ddp_len = there >= header ? header : 0;
		read = rule->headers == DDP_READ && ddp_len == DDP_UNTAGGED_SIZE &&
		       offender->have >= whole && offender->ulpdu_len >= whole &&
		       rdmap_opcode_of(offender->ulpdu[1]) == RDMAP_READ_REQUEST;
		flags = ddp_len > 0 ? FLAG_LENGTH | FLAG_DDP : 0;
		flags |= read ? FLAG_RDMAP : 0;
	}
	wire_put_be32(&w, (uint32_t)rule->code << 16 | flags << 8);
	if (ddp_len > 0) {
		wire_put_be16(&w, (uint16_t)offender->ulpdu_len);
		wire_put(&w, offender->ulpdu, ddp_len);
	}
	if (read)
		wire_put(&w, offender->ulpdu + ddp_len, RDMAP_READ_REQUEST_SIZE);
	return (uint32_t)wire_written(&w);
}

/* Header of the Terminate frame; gives the offset of its payload. */
static uint32_t
terminate_begin(uint8_t *fpdu)
{
	struct ddp_segment seg = rdmap_untagged(RDMAP_TERMINATE, 1, 0, true);

	return rdmap_fpdu_begin(fpdu, &seg);
}

uint32_t
rdmap_terminate_fpdu(uint8_t *fpdu, enum rdmap_fault fault, const struct rdmap_offender *offender,
		     bool crc)
{
	uint32_t at = terminate_begin(fpdu);
	uint32_t len = rdmap_terminate_write(fpdu + at, fault, offender);

	return mpa_fpdu_seal(fpdu, DDP_UNTAGGED_SIZE + len, crc);
}

uint32_t
rdmap_terminate_code_fpdu(uint8_t *fpdu, uint16_t code, bool crc)
{
	uint32_t at = terminate_begin(fpdu);

	wire_store_be16(fpdu + at, code);
	wire_store_be16(fpdu + at + 2, 0);
	return mpa_fpdu_seal(fpdu, DDP_UNTAGGED_SIZE + RDMAP_TERMINATE_MIN, crc);
}

void
rdmap_read_request_advance(uint8_t *header, uint32_t done)
{
	struct rdmap_read_request m;

	if (!rdmap_read_request_read(header, RDMAP_READ_REQUEST_SIZE, &m))
		return;
	m.sink_to += done;
	m.source_to += done;
	m.size -= done;
	rdmap_read_request_write(header, &m);
}

bool
rdmap_terminate_read(const void *payload, size_t len, struct rdmap_terminate *t)
{
	struct wire_reader r = wire_reader_of(payload, len);
	uint8_t layer_type;
	uint8_t flags;

	memset(t, 0, sizeof(*t));
	if (!wire_copy(&r, t->raw, sizeof(t->raw)))
		return false;
	layer_type = t->raw[0];
	flags = t->raw[2];
	t->siw_order = (flags & 0xe0u) == 0 && (flags & 0x07u) != 0;
	if (t->siw_order) {
		/* What a little-endian siw sends: nibbles exchanged, M, D, R in bits 0, 1, 2. */
		unsigned siw = flags;

		layer_type = (uint8_t)(layer_type << 4 | layer_type >> 4);
		flags = (uint8_t)((siw & 1u ? FLAG_LENGTH : 0) | (siw & 2u ? FLAG_DDP : 0) |
				  (siw & 4u ? FLAG_RDMAP : 0));
	}
	t->code = (uint16_t)(layer_type << 8 | t->raw[1]);

	t->has_length = (flags & FLAG_LENGTH) != 0;
	t->has_ddp = (flags & FLAG_DDP) != 0;
	t->has_rdmap = (flags & FLAG_RDMAP) != 0;
	if (t->has_length || t->has_ddp)
		t->segment_len = wire_be16(&r);
	if (t->has_ddp && r.left > 0) {
		uint32_t header = ddp_header_size((*r.at & DDP_CONTROL_TAGGED) != 0);

		t->ddp = wire_take(&r, header);
		t->ddp_len = t->ddp != NULL ? header : 0;
	}
	if (t->has_rdmap && r.ok) {
		t->rdmap = wire_take(&r, RDMAP_READ_REQUEST_SIZE);
		t->rdmap_len = t->rdmap != NULL ? RDMAP_READ_REQUEST_SIZE : 0;
	}
	return true;
}
