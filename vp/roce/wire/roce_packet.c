/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include "roce_packet.h"

#include <string.h>

#include "ri_wire.h"

#define BTH_SOLICITED 0x80u
#define BTH_MIGRATED  0x40u
#define BTH_VERSION   0x0fu
#define BTH_FECN      0x80u
#define BTH_BECN      0x40u
#define BTH_ACK       0x80u

#define SEND  (ROCE_IS_SEND | ROCE_IS_REQUEST)
#define WRITE (ROCE_IS_WRITE | ROCE_IS_REQUEST)
#define READ  (ROCE_IS_READ | ROCE_IS_ANSWER)
#define ONLY  (ROCE_IS_FIRST | ROCE_IS_LAST)

static const uint32_t parts_of_rc[ROCE_OP_COUNT] = {
	[ROCE_SEND_FIRST] = SEND | ROCE_IS_FIRST,
	[ROCE_SEND_MIDDLE] = SEND,
	[ROCE_SEND_LAST] = SEND | ROCE_IS_LAST,
	[ROCE_SEND_LAST_IMM] = SEND | ROCE_IS_LAST | ROCE_HAS_IMM,
	[ROCE_SEND_ONLY] = SEND | ONLY,
	[ROCE_SEND_ONLY_IMM] = SEND | ONLY | ROCE_HAS_IMM,
	[ROCE_WRITE_FIRST] = WRITE | ROCE_IS_FIRST | ROCE_HAS_RETH,
	[ROCE_WRITE_MIDDLE] = WRITE,
	[ROCE_WRITE_LAST] = WRITE | ROCE_IS_LAST,
	[ROCE_WRITE_LAST_IMM] = WRITE | ROCE_IS_LAST | ROCE_HAS_IMM,
	[ROCE_WRITE_ONLY] = WRITE | ONLY | ROCE_HAS_RETH,
	[ROCE_WRITE_ONLY_IMM] = WRITE | ONLY | ROCE_HAS_RETH | ROCE_HAS_IMM,
	[ROCE_READ_REQUEST] = ROCE_IS_REQUEST | ROCE_IS_BARE | ONLY | ROCE_HAS_RETH,
	[ROCE_READ_FIRST] = READ | ROCE_IS_FIRST | ROCE_HAS_AETH,
	[ROCE_READ_MIDDLE] = READ,
	[ROCE_READ_LAST] = READ | ROCE_IS_LAST | ROCE_HAS_AETH,
	[ROCE_READ_ONLY] = READ | ONLY | ROCE_HAS_AETH,
	[ROCE_ACK] = ROCE_IS_ANSWER | ROCE_IS_BARE | ROCE_HAS_AETH,
	[ROCE_ATOMIC_ACK] = ROCE_IS_ANSWER | ROCE_IS_BARE | ROCE_HAS_AETH | ROCE_HAS_ATOMIC_ACK,
	[ROCE_CMP_SWAP] = ROCE_IS_REQUEST | ROCE_IS_BARE | ONLY | ROCE_HAS_ATOMIC,
	[ROCE_FETCH_ADD] = ROCE_IS_REQUEST | ROCE_IS_BARE | ONLY | ROCE_HAS_ATOMIC,
	[ROCE_SEND_LAST_INV] = SEND | ROCE_IS_LAST | ROCE_HAS_IETH,
	[ROCE_SEND_ONLY_INV] = SEND | ONLY | ROCE_HAS_IETH,
};

uint32_t
roce_parts(uint8_t opcode)
{
	uint8_t op = opcode & 0x1f;

	if (opcode == ROCE_CNP_OPCODE)
		return ONLY;
	if (op >= ROCE_OP_COUNT)
		return 0;
	switch (opcode & 0xe0) {
	case ROCE_RC:
		return parts_of_rc[op];
	case ROCE_UC:
		return op <= ROCE_WRITE_ONLY_IMM ? parts_of_rc[op] : 0;
	case ROCE_UD:
		return op == ROCE_SEND_ONLY || op == ROCE_SEND_ONLY_IMM
			       ? parts_of_rc[op] | ROCE_HAS_DETH
			       : 0;
	default:
		return 0;
	}
}

uint32_t
roce_head_size(uint32_t parts)
{
	static const struct {
		uint32_t part;
		uint32_t octets;
	} sizes[] = {
		{ROCE_HAS_DETH, 8}, {ROCE_HAS_RETH, 16},      {ROCE_HAS_ATOMIC, 28},
		{ROCE_HAS_AETH, 4}, {ROCE_HAS_ATOMIC_ACK, 8}, {ROCE_HAS_IMM, 4},
		{ROCE_HAS_IETH, 4},
	};
	uint32_t size = ROCE_BTH;

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		if ((parts & sizes[i].part) != 0)
			size += sizes[i].octets;
	return size;
}

/* The extension headers, in the order of the wire; all of them are there. */
static void
extensions_read(struct wire_reader *r, uint32_t parts, struct roce_packet *p)
{
	if ((parts & ROCE_HAS_DETH) != 0) {
		p->qkey = wire_be32(r);
		p->source_qpn = wire_be32(r) & ROCE_24;
	}
	if ((parts & (ROCE_HAS_RETH | ROCE_HAS_ATOMIC)) != 0) {
		p->va = wire_be64(r);
		p->rkey = wire_be32(r);
	}
	if ((parts & ROCE_HAS_RETH) != 0)
		p->length = wire_be32(r);
	if ((parts & ROCE_HAS_ATOMIC) != 0) {
		p->swap_add = wire_be64(r);
		p->compare = wire_be64(r);
	}
	if ((parts & ROCE_HAS_AETH) != 0) {
		uint32_t aeth = wire_be32(r);

		p->syndrome = (uint8_t)(aeth >> 24);
		p->msn = aeth & ROCE_24;
	}
	if ((parts & ROCE_HAS_ATOMIC_ACK) != 0)
		p->original = wire_be64(r);
	if ((parts & ROCE_HAS_IMM) != 0)
		(void)wire_copy(r, &p->immediate, sizeof(p->immediate));
	if ((parts & ROCE_HAS_IETH) != 0)
		p->invalidate = wire_be32(r);
}

enum roce_fault
roce_packet_read(const void *octets, size_t len, struct roce_packet *p)
{
	struct wire_reader r = wire_reader_of(octets, len);

	if (len < ROCE_BTH + ROCE_ICRC || len % 4 != 0)
		return ROCE_SHORT;
	p->opcode = wire_u8(&r);

	uint8_t flags = wire_u8(&r);
	uint32_t parts = roce_parts(p->opcode);

	p->pkey = wire_be16(&r);

	uint32_t qpn = wire_be32(&r);
	uint32_t psn = wire_be32(&r);

	p->solicited = (flags & BTH_SOLICITED) != 0;
	p->migrated = (flags & BTH_MIGRATED) != 0;
	p->pad = flags >> 4 & 3;
	p->fecn = (qpn >> 24 & BTH_FECN) != 0;
	p->becn = (qpn >> 24 & BTH_BECN) != 0;
	p->qpn = qpn & ROCE_24;
	p->ack_request = (psn >> 24 & BTH_ACK) != 0;
	p->psn = psn & ROCE_24;
	if (parts == 0)
		return ROCE_OPCODE;
	if ((flags & BTH_VERSION) != 0)
		return ROCE_VERSION;

	uint32_t head = roce_head_size(parts);

	if (len < head + p->pad + ROCE_ICRC)
		return ROCE_SHORT;
	extensions_read(&r, parts, p);
	p->payload = r.at;
	p->payload_length = (uint32_t)(len - head - p->pad - ROCE_ICRC);
	if ((parts & ROCE_IS_BARE) != 0 && (p->payload_length != 0 || p->pad != 0))
		return ROCE_EXTRA;
	return ROCE_OK;
}

uint32_t
roce_packet_write(uint8_t *to, const struct roce_packet *p)
{
	struct wire_writer w = wire_writer_of(to, ROCE_HEAD_MAX);
	uint32_t parts = roce_parts(p->opcode);

	if (parts == 0)
		return 0;
	uint32_t flags = (p->solicited ? BTH_SOLICITED : 0u) | (p->migrated ? BTH_MIGRATED : 0u) |
			 roce_pad(p->payload_length) << 4;

	/* In words, as the CRC is about to read them. */
	wire_put_be32(&w, (uint32_t)p->opcode << 24 | flags << 16 | p->pkey);
	wire_put_be32(&w, ((p->fecn ? BTH_FECN : 0) | (p->becn ? BTH_BECN : 0)) << 24 |
				  (p->qpn & ROCE_24));
	wire_put_be32(&w, (p->ack_request ? BTH_ACK : 0) << 24 | (p->psn & ROCE_24));
	if ((parts & ROCE_HAS_DETH) != 0) {
		wire_put_be32(&w, p->qkey);
		wire_put_be32(&w, p->source_qpn & ROCE_24);
	}
	if ((parts & (ROCE_HAS_RETH | ROCE_HAS_ATOMIC)) != 0) {
		wire_put_be64(&w, p->va);
		wire_put_be32(&w, p->rkey);
	}
	if ((parts & ROCE_HAS_RETH) != 0)
		wire_put_be32(&w, p->length);
	if ((parts & ROCE_HAS_ATOMIC) != 0) {
		wire_put_be64(&w, p->swap_add);
		wire_put_be64(&w, p->compare);
	}
	if ((parts & ROCE_HAS_AETH) != 0)
		wire_put_be32(&w, (uint32_t)p->syndrome << 24 | (p->msn & ROCE_24));
	if ((parts & ROCE_HAS_ATOMIC_ACK) != 0)
		wire_put_be64(&w, p->original);
	if ((parts & ROCE_HAS_IMM) != 0)
		wire_put(&w, &p->immediate, sizeof(p->immediate));
	if ((parts & ROCE_HAS_IETH) != 0)
		wire_put_be32(&w, p->invalidate);
	return (uint32_t)wire_written(&w);
}

/* Units of 10 us [IB 9.7.5.2.8]. */
uint64_t
roce_rnr_time(uint32_t code)
{
	static const uint16_t times[32] = {
		0,    1,    2,    3,    4,    6,     8,     12,    16,    24,    32,
		48,   64,   96,   128,  192,  256,   384,   512,   768,   1024,  1536,
		2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152,
	};
	uint64_t units = (code & 31) == 0 ? 65536 : times[code & 31];

	return units * 10000;
}
