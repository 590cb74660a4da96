/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * FPDUs that the judge sends. A step names the message, and the fields that are not as they should be.
 */

#include <string.h>

#include <json-glib/json-glib.h>

#include "wire_run.h"

#define VECTORS "negative.json"

/* Put a number of the step into a place of any size; what is not named stays. */
static gboolean
put8(struct wire_run *run, char *const *words, const char *key, guint8 *at, GError **error)
{
	guint64 value;

	if (!wire_run_number(run, words, key, *at, &value, error))
		return FALSE;
	*at = (guint8)value;
	return TRUE;
}

static gboolean
put32(struct wire_run *run, char *const *words, const char *key, guint32 *at, GError **error)
{
	guint64 value;

	if (!wire_run_number(run, words, key, *at, &value, error))
		return FALSE;
	*at = (guint32)value;
	return TRUE;
}

static gboolean
put64(struct wire_run *run, char *const *words, const char *key, gint64 *at, GError **error)
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
	if (!put8(run, words, "ddp", &fpdu->ddp_version, error) ||
	    !put8(run, words, "ddp-reserved", &fpdu->ddp_reserved, error) ||
	    !put8(run, words, "rdmap", &fpdu->rdmap_version, error) ||
	    !put8(run, words, "rdmap-reserved", &fpdu->rdmap_reserved, error) ||
	    !put8(run, words, "opcode", &fpdu->opcode, error) ||
	    !put8(run, words, "pad", &fpdu->pad, error) ||
	    !put32(run, words, "stag", &fpdu->stag, error) ||
	    !put32(run, words, "qn", &fpdu->qn, error) ||
	    !put32(run, words, "msn", &fpdu->msn, error) ||
	    !put32(run, words, "mo", &fpdu->mo, error) || !put64(run, words, "to", &to, error) ||
	    !put64(run, words, "length", &fpdu->length, error) ||
	    !put64(run, words, "chop", &fpdu->size, error))
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
	else
		return wire_fail(error, WIRE_ERROR_SCRIPT, "'%s' is no kind of CRC", crc);
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

static gboolean
fpdu_send(struct wire_run *run, char *const *words, guint opcode, GError **error)
{
	struct wire_conn *conn = run->conn;
	struct wire_fpdu fpdu = wire_fpdu_of((enum wire_opcode)opcode);
	g_autoptr(GByteArray) payload = g_byte_array_new();
	g_autoptr(GByteArray) out = g_byte_array_new();
	guint qn = fpdu.qn;
	gboolean counts;

	fpdu.msn = fpdu.tagged ? 0 : conn->tx_msn[qn];
	counts = !fpdu.tagged && wire_word_value(words, "msn") == NULL;
	if (!header_set(run, words, &fpdu, error) || !crc_set(words, &fpdu, error) ||
	    !payload_make(run, words, opcode, payload, error))
		return FALSE;
	fpdu.payload = payload->data;
	fpdu.payload_len = payload->len;
	if (payload->len + WIRE_UNTAGGED_SIZE > WIRE_ULPDU_MAX)
		return wire_fail(error, WIRE_ERROR_SCRIPT, "the payload is too long");
	wire_fpdu_put(out, &fpdu, conn->crc);
	if (counts && fpdu.last)
		conn->tx_msn[qn]++;
	if (!wire_word_is_there(words, "innocent"))
		guilty_set(conn, out->data + 2, MIN(out->len - 2, wire_get16(out->data)));
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
		wire_fail(error, WIRE_ERROR_SCRIPT, "'%s' is no message", words[1]);
	if (octets == NULL)
		return FALSE;
	if (octets->len > 2)
		guilty_set(run->conn, octets->data + 2,
			   MIN(octets->len - 2, wire_get16(octets->data)));
	return octets_send(run, words, octets, error);
}
