/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include "wire_frame.h"

#include <string.h>

#define POLYNOMIAL 0x82f63b78u /* CRC32C, reflected (RFC 5044 section 4.4) */

static const struct {
	const char *name;
	int qn; /* -1: tagged */
} opcodes[] = {
	[WIRE_WRITE] = {"write", -1},
	[WIRE_READ_REQUEST] = {"read", 1},
	[WIRE_READ_RESPONSE] = {"response", -1},
	[WIRE_SEND] = {"send", 0},
	[WIRE_SEND_INVALIDATE] = {"send-invalidate", 0},
	[WIRE_SEND_SOLICITED] = {"send-solicited", 0},
	[WIRE_SEND_SOLICITED_INVALIDATE] = {"send-solicited-invalidate", 0},
	[WIRE_TERMINATE] = {"terminate", 2},
	[WIRE_IMMEDIATE] = {"immediate", 0},
	[WIRE_IMMEDIATE_SOLICITED] = {"immediate-solicited", 0},
	[WIRE_ATOMIC_REQUEST] = {"atomic", 1},
	[WIRE_ATOMIC_RESPONSE] = {"atomic-response", 3},
};

const char *
wire_opcode_name(guint opcode)
{
	return opcode < G_N_ELEMENTS(opcodes) ? opcodes[opcode].name : NULL;
}

int
wire_opcode_qn(guint opcode)
{
	return opcode < G_N_ELEMENTS(opcodes) ? opcodes[opcode].qn : -1;
}

int
wire_opcode_find(const char *name)
{
	for (guint i = 0; i < G_N_ELEMENTS(opcodes); i++) {
		if (strcmp(opcodes[i].name, name) == 0)
			return (int)i;
	}
	return -1;
}

guint8
wire_pattern(guint seed, gsize i)
{
	return (guint8)(seed * 31 + i * 7 + (i >> 8) * 13 + 1);
}

guint32
wire_crc32c(const guint8 *octets, gsize len, guint32 crc)
{
	static guint32 table[256];
	static gsize made;

	if (g_once_init_enter(&made)) {
		for (guint i = 0; i < 256; i++) {
			guint32 value = i;

			for (guint bit = 0; bit < 8; bit++)
				value = value & 1 ? value >> 1 ^ POLYNOMIAL : value >> 1;
			table[i] = value;
		}
		g_once_init_leave(&made, 1);
	}
	crc = ~crc;
	for (gsize i = 0; i < len; i++)
		crc = crc >> 8 ^ table[(crc ^ octets[i]) & 0xff];
	return ~crc;
}

void
wire_put16(GByteArray *out, guint16 value)
{
	guint16 big = GUINT16_TO_BE(value);

	g_byte_array_append(out, (const guint8 *)&big, sizeof(big));
}

void
wire_put32(GByteArray *out, guint32 value)
{
	guint32 big = GUINT32_TO_BE(value);

	g_byte_array_append(out, (const guint8 *)&big, sizeof(big));
}

void
wire_put64(GByteArray *out, guint64 value)
{
	guint64 big = GUINT64_TO_BE(value);

	g_byte_array_append(out, (const guint8 *)&big, sizeof(big));
}

guint16
wire_get16(const guint8 *at)
{
	return (guint16)(at[0] << 8 | at[1]);
}

guint32
wire_get32(const guint8 *at)
{
	return (guint32)wire_get16(at) << 16 | wire_get16(at + 2);
}

guint64
wire_get64(const guint8 *at)
{
	return (guint64)wire_get32(at) << 32 | wire_get32(at + 4);
}

struct wire_fpdu
wire_fpdu_of(enum wire_opcode opcode)
{
	struct wire_fpdu fpdu = {.last = TRUE,
				 .ddp_version = 1,
				 .rdmap_version = 1,
				 .opcode = (guint8)opcode,
				 .length = -1,
				 .size = -1};
	int qn = wire_opcode_qn(opcode);

	fpdu.tagged = qn < 0;
	fpdu.qn = qn < 0 ? 0 : (guint32)qn;
	return fpdu;
}

static void
ulpdu_put(GByteArray *out, const struct wire_fpdu *fpdu)
{
	guint8 control[2];

	control[0] = (guint8)((fpdu->tagged ? 0x80 : 0) | (fpdu->last ? 0x40 : 0) |
			      (fpdu->ddp_reserved & 0x0f) << 2 | (fpdu->ddp_version & 3));
	control[1] = (guint8)((fpdu->rdmap_version & 3) << 6 | (fpdu->rdmap_reserved & 3) << 4 |
			      (fpdu->opcode & 0x0f));
	g_byte_array_append(out, control, sizeof(control));
	wire_put32(out, fpdu->stag);
	if (fpdu->tagged) {
		wire_put64(out, fpdu->to);
	} else {
		wire_put32(out, fpdu->qn);
		wire_put32(out, fpdu->msn);
		wire_put32(out, fpdu->mo);
	}
	if (fpdu->payload_len > 0)
		g_byte_array_append(out, fpdu->payload, (guint)fpdu->payload_len);
}

void
wire_crc_put(GByteArray *out, const guint8 *octets, gsize len, enum wire_crc kind, gboolean crc)
{
	guint32 sum = 0;
	guint8 field[WIRE_CRC_SIZE];

	if ((crc && kind != WIRE_CRC_ZERO) || kind == WIRE_CRC_BAD)
		sum = wire_crc32c(octets, len, 0);
	if (kind == WIRE_CRC_BAD)
		sum ^= 0x00010000u;
	for (guint i = 0; i < WIRE_CRC_SIZE; i++)
		field[i] = (guint8)(sum >> 8 * (kind == WIRE_CRC_SWAPPED ? 3 - i : i));
	g_byte_array_append(out, field, sizeof(field));
}

void
wire_fpdu_body(GByteArray *out, const struct wire_fpdu *fpdu)
{
	g_autoptr(GByteArray) ulpdu = g_byte_array_new();
	guint start = out->len;

	ulpdu_put(ulpdu, fpdu);
	if (fpdu->size >= 0 && (gsize)fpdu->size < ulpdu->len)
		g_byte_array_set_size(ulpdu, (guint)fpdu->size);
	wire_put16(out, (guint16)(fpdu->length >= 0 ? fpdu->length : ulpdu->len));
	g_byte_array_append(out, ulpdu->data, ulpdu->len);
	while ((out->len - start) % 4 != 0)
		g_byte_array_append(out, &fpdu->pad, 1);
}

/* The fields of a ULPDU; false if it is shorter than its header. */
static gboolean
ulpdu_take(const guint8 *at, gsize len, struct wire_fpdu *fpdu)
{
	gsize header;

	if (len < 2)
		return FALSE;
	memset(fpdu, 0, sizeof(*fpdu));
	fpdu->length = (gint64)len;
	fpdu->size = (gint64)len;
	fpdu->tagged = (at[0] & 0x80) != 0;
	fpdu->last = (at[0] & 0x40) != 0;
	fpdu->ddp_reserved = at[0] >> 2 & 0x0f;
	fpdu->ddp_version = at[0] & 3;
	fpdu->rdmap_version = at[1] >> 6;
	fpdu->rdmap_reserved = at[1] >> 4 & 3;
	fpdu->opcode = at[1] & 0x0f;
	header = fpdu->tagged ? WIRE_TAGGED_SIZE : WIRE_UNTAGGED_SIZE;
	if (len < header)
		return FALSE;
	fpdu->stag = wire_get32(at + 2);
	if (fpdu->tagged) {
		fpdu->to = wire_get64(at + 6);
	} else {
		fpdu->qn = wire_get32(at + 6);
		fpdu->msn = wire_get32(at + 10);
		fpdu->mo = wire_get32(at + 14);
	}
	fpdu->payload = at + header;
	fpdu->payload_len = len - header;
	return TRUE;
}

/* The rules that one header must keep by itself; NULL if it does. */
static char *
header_fault(const struct wire_fpdu *fpdu)
{
	int qn = wire_opcode_qn(fpdu->opcode);

	if (fpdu->ddp_version != 1)
		return g_strdup_printf("DDP version %u (RFC 5041 section 4.1)", fpdu->ddp_version);
	if (fpdu->rdmap_version != 1)
		return g_strdup_printf("RDMAP version %u (RFC 5040 section 4.1)",
				       fpdu->rdmap_version);
	if (fpdu->ddp_reserved != 0 || fpdu->rdmap_reserved != 0)
		return g_strdup("reserved bits are set (RFC 5041 section 4.1, RFC 5040 section "
				"4.1)");
	if (wire_opcode_name(fpdu->opcode) == NULL)
		return g_strdup_printf("opcode %u is reserved (RFC 5040 section 4.1)",
				       fpdu->opcode);
	if (fpdu->tagged != (qn < 0))
		return g_strdup_printf("T does not fit opcode %s (RFC 5040 section 4.1)",
				       wire_opcode_name(fpdu->opcode));
	if (!fpdu->tagged && fpdu->qn != (guint32)qn)
		return g_strdup_printf("QN %u with opcode %s (RFC 5040 section 4.1)", fpdu->qn,
				       wire_opcode_name(fpdu->opcode));
	return NULL;
}

gsize
wire_fpdu_covered(gsize ulpdu)
{
	return (2 + ulpdu + 3) / 4 * 4;
}

gboolean
wire_fpdu_crc_fits(const guint8 *octets, gsize covered, gboolean crc, char **why)
{
	if (crc &&
	    wire_crc32c(octets, covered, 0) != GUINT32_SWAP_LE_BE(wire_get32(octets + covered)))
		*why = g_strdup("wrong CRC (RFC 5044 section 4.4)");
	return *why == NULL;
}

enum wire_taken
wire_ulpdu_take(const guint8 *at, gsize len, struct wire_fpdu *fpdu, char **why)
{
	if (!ulpdu_take(at, len, fpdu))
		*why = g_strdup_printf("a ULPDU of %" G_GSIZE_FORMAT
				       " octets is shorter than its header (RFC 5041 section 4)",
				       len);
	else
		*why = header_fault(fpdu);
	return *why == NULL ? WIRE_TAKEN_WHOLE : WIRE_TAKEN_BAD;
}

enum wire_taken
wire_fpdu_take(const guint8 *octets, gsize len, gboolean crc, struct wire_fpdu *fpdu, gsize *size,
	       char **why)
{
	gsize ulpdu;
	gsize covered;

	*why = NULL;
	if (len < 2)
		return WIRE_TAKEN_MORE;
	ulpdu = wire_get16(octets);
	covered = wire_fpdu_covered(ulpdu);
	*size = covered + WIRE_CRC_SIZE;
	if (len < *size)
		return WIRE_TAKEN_MORE;
	if (!wire_fpdu_crc_fits(octets, covered, crc, why))
		return WIRE_TAKEN_BAD;
	return wire_ulpdu_take(octets + 2, ulpdu, fpdu, why);
}
