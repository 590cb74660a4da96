/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * FPDUs that the judge sends. A step names the message, and the fields that deviate from a valid
 * one.
 */

#include <string.h>

#include <json-glib/json-glib.h>

#include "wire_marker.h"
#include "wire_run.h"

#define VECTORS "negative.json"

/* Put a number of the step into a place of any size; what is not named stays. */
static gboolean
put_u8(struct wire_run *run, char *const *words, const char *key, guint8 *at, GError **error)
{
	guint64 value;

	if (!wire_run_number(run, words, key, *at, &value, error))
		return FALSE;
	*at = (guint8)value;
	return TRUE;
}

static gboolean
put_u32(struct wire_run *run, char *const *words, const char *key, guint32 *at, GError **error)
{
	guint64 value;

	if (!wire_run_number(run, words, key, *at, &value, error))
		return FALSE;
	*at = (guint32)value;
	return TRUE;
}

static gboolean
put_u64(struct wire_run *run, char *const *words, const char *key, gint64 *at, GError **error)
{
	guint64 value;

	if (!wire_run_number(run, words, key, (guint64)*at, &value, error))
		return FALSE;
	*at = (gint64)value;
	return TRUE;
}

/* The header fields that a step may set. */
static gboolean
header_set(struct wire_run *run, char *const *words, struct wire_fpdu *fpdu, GError **error)
{
	gint64 to = (gint64)fpdu->to;

	if (wire_word_is_there(words, "tagged"))
		fpdu->tagged = TRUE;
	if (wire_word_is_there(words, "untagged"))
		fpdu->tagged = FALSE;
	if (wire_word_is_there(words, "more"))
		fpdu->last = FALSE;
	if (!put_u8(run, words, "ddp", &fpdu->ddp_version, error) ||
	    !put_u8(run, words, "ddp-reserved", &fpdu->ddp_reserved, error) ||
	    !put_u8(run, words, "rdmap", &fpdu->rdmap_version, error) ||
	    !put_u8(run, words, "rdmap-reserved", &fpdu->rdmap_reserved, error) ||
	    !put_u8(run, words, "opcode", &fpdu->opcode, error) ||
	    !put_u8(run, words, "pad", &fpdu->pad, error) ||
	    !put_u32(run, words, "stag", &fpdu->stag, error) ||
	    !put_u32(run, words, "qn", &fpdu->qn, error) ||
	    !put_u32(run, words, "msn", &fpdu->msn, error) ||
	    !put_u32(run, words, "mo", &fpdu->mo, error) ||
	    !put_u64(run, words, "to", &to, error) ||
	    !put_u64(run, words, "length", &fpdu->length, error) ||
	    !put_u64(run, words, "chop", &fpdu->size, error))
		return FALSE;
	fpdu->to = (guint64)to;
	return TRUE;
}

static gboolean
crc_set(char *const *words, struct wire_fpdu *fpdu, GError **error)
{
	const char *crc = wire_word_value(words, "crc");

	if (crc == NULL)
		return TRUE;
	if (strcmp(crc, "bad") == 0)
		fpdu->crc_kind = WIRE_CRC_BAD;
	else if (strcmp(crc, "zero") == 0)
		fpdu->crc_kind = WIRE_CRC_ZERO;
	else if (strcmp(crc, "swapped") == 0)
		fpdu->crc_kind = WIRE_CRC_SWAPPED;
	else if (strcmp(crc, "plain") == 0)
		fpdu->crc_kind = WIRE_CRC_PLAIN;
	else
		return wire_fail(error, WIRE_ERROR_SCRIPT, "'%s' is not a kind of CRC", crc);
	return TRUE;
}

/* A number of the payload. */
static gboolean
payload_number(struct wire_run *run, char *const *words, const char *key, guint size,
	       GByteArray *payload, GError **error)
{
	guint64 value;

	if (!wire_run_number(run, words, key, 0, &value, error))
		return FALSE;
	if (size == 4)
		wire_put32(payload, (guint32)value);
	else
		wire_put64(payload, value);
	return TRUE;
}

/* What stands behind the DDP header of a Read Request, of atomics, of a Terminate. */
static gboolean
control_put(struct wire_run *run, char *const *words, guint opcode, GByteArray *payload,
	    GError **error)
{
	static const struct {
		guint opcode;
		guint size;
		const char *key;
	} fields[] = {
		{WIRE_READ_REQUEST, 4, "sink"},           {WIRE_READ_REQUEST, 8, "sink-to"},
		{WIRE_READ_REQUEST, 4, "size"},           {WIRE_READ_REQUEST, 4, "source"},
		{WIRE_READ_REQUEST, 8, "source-to"},      {WIRE_ATOMIC_REQUEST, 4, "operation"},
		{WIRE_ATOMIC_REQUEST, 4, "id"},           {WIRE_ATOMIC_REQUEST, 4, "target"},
		{WIRE_ATOMIC_REQUEST, 8, "target-to"},    {WIRE_ATOMIC_REQUEST, 8, "value"},
		{WIRE_ATOMIC_REQUEST, 8, "mask"},         {WIRE_ATOMIC_REQUEST, 8, "compare"},
		{WIRE_ATOMIC_REQUEST, 8, "compare-mask"}, {WIRE_ATOMIC_RESPONSE, 4, "id"},
		{WIRE_ATOMIC_RESPONSE, 8, "value"},       {WIRE_TERMINATE, 4, "code"},
	};

	for (guint i = 0; i < G_N_ELEMENTS(fields); i++) {
		if (fields[i].opcode == opcode &&
		    !payload_number(run, words, fields[i].key, fields[i].size, payload, error))
			return FALSE;
	}
	return TRUE;
}

/* The payload: numbers, `hex=`, or `data=` octets of the pattern. */
static gboolean
payload_make(struct wire_run *run, char *const *words, guint opcode, GByteArray *payload,
	     GError **error)
{
	const char *hex = wire_word_value(words, "hex");
	g_autoptr(GByteArray) octets = NULL;
	guint64 len;
	guint64 seed;
	guint64 from;

	if (!control_put(run, words, opcode, payload, error) ||
	    !wire_run_number(run, words, "data", 0, &len, error) ||
	    !wire_run_number(run, words, "seed", 2, &seed, error) ||
	    !wire_run_number(run, words, "from", 0, &from, error))
		return FALSE;
	if (hex != NULL) {
		octets = wire_octets(hex, error);
		if (octets == NULL)
			return FALSE;
		g_byte_array_append(payload, octets->data, octets->len);
	}
	for (guint64 i = 0; i < len; i++) {
		guint8 octet = wire_pattern((guint)seed, from + i);

		g_byte_array_append(payload, &octet, 1);
	}
	return TRUE;
}

/* Send octets cut as the step says; TCP may have ended, which later steps judge. */
static gboolean
octets_send(struct wire_run *run, char *const *words, const GByteArray *octets, GError **error)
{
	guint64 cut;
	guint64 piece;
	guint64 only;

	if (!wire_run_number(run, words, "cut", 0, &cut, error) ||
	    !wire_run_number(run, words, "pieces", 0, &piece, error) ||
	    !wire_run_number(run, words, "only", octets->len, &only, error))
		return FALSE;
	(void)wire_conn_send_cut(run->conn, octets->data, MIN(only, octets->len), cut, piece);
	return TRUE;
}

static void
guilty_set(struct wire_conn *conn, const guint8 *ulpdu, gsize len)
{
	if (conn->guilty != NULL)
		g_bytes_unref(conn->guilty);
	conn->guilty = g_bytes_new(ulpdu, len);
}

/* What the step wants of the markers of its FPDU. */
static gboolean
mark_fault_set(struct wire_run *run, char *const *words, struct wire_mark_fault *fault,
	       GError **error)
{
	guint64 value[4];
	static const char *const keys[] = {"mark", "mark-pointer", "mark-reserved", "mark-late"};

	for (guint i = 0; i < G_N_ELEMENTS(keys); i++) {
		if (!wire_run_number(run, words, keys[i], 0, &value[i], error))
			return FALSE;
		fault->is_there = fault->is_there || wire_word_value(words, keys[i]) != NULL;
	}
	fault->which = (guint)value[0];
	fault->more = (guint16)value[1];
	fault->reserved = (guint16)value[2];
	fault->late = (guint)(value[3] % WIRE_MARKER_INTERVAL);
	return TRUE;
}

/* The octets of an FPDU as they go into the stream, with the markers that the connection or the step wants. */
static gboolean
fpdu_octets(struct wire_run *run, char *const *words, const GByteArray *body, enum wire_crc crc,
	    GByteArray *out, GError **error)
{
	struct wire_conn *conn = run->conn;
	struct wire_mark_fault fault = {0};
	gboolean marked = conn->marks_out;
	guint count = 0;

	if (!mark_fault_set(run, words, &fault, error))
		return FALSE;
	if (wire_word_is_there(words, "marked"))
		marked = TRUE;
	if (wire_word_is_there(words, "unmarked"))
		marked = FALSE;
	if (marked)
		count = wire_markers_put(out, body->data, body->len, conn->out_at, &fault);
	else
		g_byte_array_append(out, body->data, body->len);
	if (crc == WIRE_CRC_PLAIN)
		wire_crc_put(out, body->data, body->len, crc, conn->crc);
	else
		wire_crc_put(out, out->data, out->len, crc, conn->crc);
	conn->out_at += out->len;
	return !fault.is_there || fault.which < count ||
	       wire_fail(error, WIRE_ERROR_SCRIPT, "the FPDU has %u markers", count);
}

/*
 * `place=N`: let the next FPDU begin N octets before a marker. A Write fills the stream up to
 * there. It has no effect, since it contains the octets that are in the region `open` already.
 */
static gboolean
place_reach(struct wire_run *run, char *const *words, GError **error)
{
	struct wire_conn *conn = run->conn;
	guint64 from = conn->out_at;
	guint64 place;

	if (wire_word_value(words, "place") == NULL)
		return TRUE;
	if (!conn->marks_out)
		return wire_fail(error, WIRE_ERROR_SCRIPT, "there are no markers to be placed at");
	if (!wire_run_number(run, words, "place", 0, &place, error))
		return FALSE;
	for (guint data = 0; (from + place) % WIRE_MARKER_INTERVAL != 0; data += 4) {
		g_autofree char *text = g_strdup_printf(
			"> write innocent stag=open.stag to=open.to seed=1 data=%u", data);
		g_auto(GStrv) filler = g_strsplit(text, " ", -1);
		guint plain = 2 + WIRE_TAGGED_SIZE + data + WIRE_CRC_SIZE;
		guint64 end = from + wire_marked_size(from, plain);

		if (data > 2 * WIRE_MARKER_INTERVAL)
			return wire_fail(error, WIRE_ERROR_SCRIPT,
					 "no FPDU can begin %" G_GUINT64_FORMAT
					 " octets before a marker",
					 place);
		if ((end + place) % WIRE_MARKER_INTERVAL == 0)
			return wire_send_step(run, filler, error);
	}
	return TRUE;
}

/* `flip=N`: bit N of the octets, counted from the first octet's highest, is not as it was summed. */
static gboolean
bit_flip(struct wire_run *run, char *const *words, GByteArray *out, GError **error)
{
	guint64 bit;

	if (wire_word_value(words, "flip") == NULL)
		return TRUE;
	if (!wire_run_number(run, words, "flip", 0, &bit, error))
		return FALSE;
	if (bit / 8 >= out->len)
		return wire_fail(error, WIRE_ERROR_SCRIPT, "the FPDU has %u octets", out->len);
	out->data[bit / 8] ^= (guint8)(0x80 >> bit % 8);
	return TRUE;
}

static gboolean
fpdu_send(struct wire_run *run, char *const *words, guint opcode, GError **error)
{
	struct wire_conn *conn = run->conn;
	struct wire_fpdu fpdu = wire_fpdu_of((enum wire_opcode)opcode);
	g_autoptr(GByteArray) payload = g_byte_array_new();
	g_autoptr(GByteArray) body = g_byte_array_new();
	g_autoptr(GByteArray) out = g_byte_array_new();
	guint qn = fpdu.qn;
	gboolean counts;

	fpdu.msn = fpdu.tagged ? 0 : conn->tx_msn[qn];
	counts = !fpdu.tagged && wire_word_value(words, "msn") == NULL;
	if (!header_set(run, words, &fpdu, error) || !crc_set(words, &fpdu, error) ||
	    !payload_make(run, words, opcode, payload, error) || !place_reach(run, words, error))
		return FALSE;
	fpdu.payload = payload->data;
	fpdu.payload_len = payload->len;
	if (payload->len + WIRE_UNTAGGED_SIZE > WIRE_ULPDU_MAX)
		return wire_fail(error, WIRE_ERROR_SCRIPT, "the payload is too long");
	wire_fpdu_body(body, &fpdu);
	if (!fpdu_octets(run, words, body, fpdu.crc_kind, out, error) ||
	    !bit_flip(run, words, out, error))
		return FALSE;
	if (counts && fpdu.last)
		conn->tx_msn[qn]++;
	if (!wire_word_is_there(words, "innocent"))
		guilty_set(conn, body->data + 2, MIN(body->len - 2, wire_get16(body->data)));
	return octets_send(run, words, out, error);
}

/* An entry of negative.json by its name. */
static GByteArray *
vector_find(struct wire_run *run, const char *name, GError **error)
{
	g_autofree char *path = g_build_filename(run->session->vectors, VECTORS, NULL);
	g_autoptr(JsonParser) parser = json_parser_new();
	JsonArray *list;

	if (!json_parser_load_from_file(parser, path, error))
		return NULL;
	list = json_node_get_array(json_parser_get_root(parser));
	for (guint i = 0; i < json_array_get_length(list); i++) {
		JsonObject *one = json_array_get_object_element(list, i);

		if (strcmp(json_object_get_string_member(one, "name"), name) == 0)
			return wire_octets(json_object_get_string_member(one, "hex"), error);
	}
	wire_fail(error, WIRE_ERROR_SCRIPT, "there is no vector %s", name);
	return NULL;
}

gboolean
wire_send_step(struct wire_run *run, char *const *words, GError **error)
{
	int opcode = words[1] != NULL ? wire_opcode_find(words[1]) : -1;
	g_autoptr(GByteArray) octets = NULL;

	if (words[1] != NULL && g_str_has_prefix(words[1], "mpa-"))
		return wire_start_send(run, words, error);
	if (opcode >= 0)
		return fpdu_send(run, words, (guint)opcode, error);
	if (words[1] == NULL || words[2] == NULL)
		return wire_fail(error, WIRE_ERROR_SCRIPT, "send what?");
	if (strcmp(words[1], "vector") == 0)
		octets = vector_find(run, words[2], error);
	else if (strcmp(words[1], "octets") == 0)
		octets = wire_octets(words[2], error);
	else
		wire_fail(error, WIRE_ERROR_SCRIPT, "'%s' is not a message", words[1]);
	if (octets == NULL)
		return FALSE;
	if (octets->len > 2)
		guilty_set(run->conn, octets->data + 2,
			   MIN(octets->len - 2, wire_get16(octets->data)));
	run->conn->out_at += octets->len;
	return octets_send(run, words, octets, error);
}
