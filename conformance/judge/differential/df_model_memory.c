/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Octets of the model. Requests take effect in the order of the program, which is right where the
 * specification orders them [IT 7.5] and where they do not overlap. Where two requests of one group
 * overlap without an order, all octets that the group wrote become undefined: any value is right
 * until a defined value is written. Copies of undefined octets are undefined. Memory is not read
 * between two settlements. Freedoms: pieces, order, late, torn, overtake
 * (conformance/judge/freedoms.toml).
 */
#include <string.h>

#include "df_model.h"

uint8_t
df_pattern(int seed, int i)
{
	uint32_t x = (uint32_t)seed * 2654435761u + (uint32_t)i * 40503u;

	x ^= x >> 15;
	x *= 2246822519u;
	return (uint8_t)(x >> 24);
}

void
model_fill(struct df_model *model, int node, int off, int len, int seed)
{
	for (int i = 0; i < len; i++)
		model->memory[node][off + i] = df_pattern(seed, i);
	memset(model->vague[node] + off, 0, (size_t)len);
}

static bool
reads_peer(enum df_kind kind)
{
	return model_reads(kind) || kind == DF_ATOMIC;
}

/* Does the specification order the first request's access before the second's? */
static bool
ordered(const struct model_touch *first, const struct model_touch *second)
{
	if (first->ep != second->ep || !first->remote || !second->remote)
		return false;
	if (reads_peer(second->kind))
		return true; /* a Read sees what was sent and written before it; Reads run in order */
	return reads_peer(first->kind) && second->fenced;
}

void
model_touch(struct df_model *model, const struct model_touch *touch)
{
	if (touch->len <= 0)
		return;
	for (unsigned i = 0; i < model->touches->len; i++) {
		const struct model_touch *old =
			&g_array_index(model->touches, struct model_touch, i);

		if (old->node != touch->node || old->off >= touch->off + touch->len ||
		    touch->off >= old->off + old->len || !(old->write || touch->write))
			continue;
		/* The same for one request whose parts overlap; the two halves of an atomic do not count. */
		if (!ordered(old, touch))
			model->poisoned = true;
	}
	g_array_append_val(model->touches, *touch);
}

void
model_read(struct df_model *model, const struct model_touch *touch, uint8_t *octets, uint8_t *vague)
{
	model_touch(model, touch);
	if (touch->len <= 0)
		return;
	memcpy(octets, model->memory[touch->node] + touch->off, (size_t)touch->len);
	memcpy(vague, model->vague[touch->node] + touch->off, (size_t)touch->len);
}

void
model_write(struct df_model *model, const struct model_touch *touch, const uint8_t *octets,
	    const uint8_t *vague)
{
	model_touch(model, touch);
	if (touch->len <= 0)
		return;
	memcpy(model->memory[touch->node] + touch->off, octets, (size_t)touch->len);
	memcpy(model->vague[touch->node] + touch->off, vague, (size_t)touch->len);
}

void
model_blur(struct df_model *model, int node, int off, int len)
{
	int from = CLAMP(off, 0, DF_MEMORY), to = CLAMP(off + len, 0, DF_MEMORY);

	if (to > from)
		memset(model->vague[node] + from, 1, (size_t)(to - from));
}

void
model_blur_at(struct df_model *model, struct model_touch touch, const struct df_range *range)
{
	touch.node = range->node;
	touch.off = range->off;
	touch.len = range->len;
	model_touch(model, &touch);
	model_blur(model, range->node, range->off, range->len);
}

void
model_blur_ep(struct df_model *model, int ep)
{
	for (unsigned i = 0; i < model->touches->len; i++) {
		const struct model_touch *touch =
			&g_array_index(model->touches, struct model_touch, i);

		if (touch->write && (ep < 0 || touch->ep == ep))
			model_blur(model, touch->node, touch->off, touch->len);
	}
}

void
model_through_segments(struct df_model *model, const struct df_step *where,
		       struct model_touch touch, struct model_octets *octets, int len)
{
	int at = 0;

	for (int i = 0; i < where->segs && at < len; i++) {
		touch.node = df_node(where->seg[i].lmr);
		touch.off = model_seg_off(model, &where->seg[i]);
		touch.len = MIN(where->seg[i].len, len - at);
		if (touch.write)
			model_write(model, &touch, octets->value + at, octets->vague + at);
		else
			model_read(model, &touch, octets->value + at, octets->vague + at);
		at += touch.len;
	}
}
