/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* MPA markers. Standard: RFC 5044 sections 4.3 and 4.4. */

#include "wire_marker.h"

static void
marker_put(GByteArray *out, gsize distance, const struct wire_mark_fault *fault)
{
	wire_put16(out, fault != NULL ? fault->reserved : 0);
	wire_put16(out, (guint16)(distance + (fault != NULL ? fault->more : 0)));
}

guint
wire_markers_put(GByteArray *out, const guint8 *body, gsize len, guint64 position,
		 const struct wire_mark_fault *fault)
{
	guint late = fault != NULL && fault->is_there ? fault->late : 0;
	gsize at = 0;       /* octets of `body` that are written */
	gsize distance = 0; /* octets since the begin of the length field */
	guint count = 0;
	guint64 place = position;

	/* A marker may be due behind the last octet, too: the CRC field follows, and is not in `body`. */
	for (;;) {
		guint into = (guint)((place + WIRE_MARKER_INTERVAL - late) % WIRE_MARKER_INTERVAL);
		gsize n = WIRE_MARKER_INTERVAL - into;

		if (into == 0) {
			gboolean wrong = fault != NULL && fault->is_there && fault->which == count;

			marker_put(out, distance, wrong ? fault : NULL);
			distance += at > 0 ? WIRE_MARKER_SIZE : 0;
			place += WIRE_MARKER_SIZE;
			n -= WIRE_MARKER_SIZE;
			count++;
		}
		if (at == len)
			return count;
		n = MIN(n, len - at);
		g_byte_array_append(out, body + at, (guint)n);
		at += n;
		distance += n;
		place += n;
	}
}

gsize
wire_marked_size(guint64 position, gsize plain)
{
	guint64 end = position;

	for (gsize left = plain; left > 0;) {
		guint into = (guint)(end % WIRE_MARKER_INTERVAL);
		gsize n;

		end += into == 0 ? WIRE_MARKER_SIZE : 0;
		n = MIN(left, WIRE_MARKER_INTERVAL - end % WIRE_MARKER_INTERVAL);
		end += n;
		left -= n;
	}
	return (gsize)(end - position);
}

/* The place in the stream where an FPDU is read. */
struct cursor {
	const struct wire_marked *in;
	gsize at;    /* octets taken */
	gsize first; /* where the length field is; counts when `begun` */
	gboolean begun;
};

/* Take the marker that is due here, if one is. */
static enum wire_taken
marker_take(struct cursor *c, char **why)
{
	gsize distance = c->begun ? c->at - c->first : 0;
	const guint8 *at;

	if ((c->in->position + c->at) % WIRE_MARKER_INTERVAL != 0)
		return WIRE_TAKEN_WHOLE;
	if (c->in->len - c->at < WIRE_MARKER_SIZE)
		return WIRE_TAKEN_MORE;
	at = c->in->octets + c->at;
	if (wire_get16(at) != 0)
		*why = g_strdup("a marker whose reserved octets are not 0 (RFC 5044 section 4.3)");
	else if (wire_get16(at + 2) != distance)
		*why = g_strdup_printf("FPDUPTR %u in a marker %" G_GSIZE_FORMAT
				       " octets behind the length field (RFC 5044 section 4.3)",
				       wire_get16(at + 2), distance);
	c->at += WIRE_MARKER_SIZE;
	return *why == NULL ? WIRE_TAKEN_WHOLE : WIRE_TAKEN_BAD;
}

/* Copy octets until there are `wanted` without markers; then take the marker behind them, if one is due. */
static enum wire_taken
plain_take(struct cursor *c, gsize wanted, char **why)
{
	GByteArray *plain = c->in->plain;
	enum wire_taken taken = marker_take(c, why);

	while (taken == WIRE_TAKEN_WHOLE && plain->len < wanted) {
		gsize n = WIRE_MARKER_INTERVAL - (c->in->position + c->at) % WIRE_MARKER_INTERVAL;

		n = MIN(n, wanted - plain->len);
		n = MIN(n, c->in->len - c->at);
		if (n == 0)
			return WIRE_TAKEN_MORE;
		if (!c->begun)
			c->first = c->at;
		c->begun = TRUE;
		g_byte_array_append(plain, c->in->octets + c->at, (guint)n);
		c->at += n;
		taken = marker_take(c, why);
	}
	return taken;
}

enum wire_taken
wire_marked_take(const struct wire_marked *in, struct wire_fpdu *fpdu, gsize *size, char **why)
{
	struct cursor c = {.in = in};
	enum wire_taken taken;

	*why = NULL;
	g_byte_array_set_size(in->plain, 0);
	taken = plain_take(&c, 2, why);
	if (taken == WIRE_TAKEN_WHOLE)
		taken = plain_take(&c, wire_fpdu_covered(wire_get16(in->plain->data)), why);
	if (taken != WIRE_TAKEN_WHOLE)
		return taken;
	*size = c.at + WIRE_CRC_SIZE;
	if (in->len < *size)
		return WIRE_TAKEN_MORE;
	if (!wire_fpdu_crc_fits(in->octets, c.at, in->crc, why))
		return WIRE_TAKEN_BAD;
	return wire_ulpdu_take(in->plain->data + 2, wire_get16(in->plain->data), fpdu, why);
}
