/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Programs as text. A line is the kind of a step and its fields: in "send ep=0 flags=1 seg=2+16:64" the segment has
 * 64 octets of LMR 2, from its octet 16 on. Each kind writes the fields of its row, and reads any field; an absent
 * field is 0. The values read are checked against the size of the world, so the users of a program need not check
 * them.
 */
#include "df_program.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "df_list.h"

#define FIELD(name, most)                                          \
	{                                                          \
#name, offsetof(struct df_step, name), most, false \
	}
/* Not written if it is 0. */
#define OPTION(name, most)                                        \
	{                                                         \
#name, offsetof(struct df_step, name), most, true \
	}

static const struct field {
	const char *name;
	size_t offset;
	int most; /* 0 is the least; -1: any number */
	bool option;
} fields[] = {
	FIELD(ep, DF_EPS - 1),
	FIELD(peer, DF_EPS - 1),
	FIELD(obj, DF_LMRS - 1),
	FIELD(lmr, DF_LMRS - 1),
	FIELD(pz, DF_PZS - 1),
	FIELD(srq, DF_SRQS),
	FIELD(sq, DF_DEPTH),
	FIELD(rq, DF_DEPTH),
	FIELD(ird, DF_DEPTH),
	FIELD(ord, DF_DEPTH),
	FIELD(enable, DF_ENABLE_ALL),
	FIELD(payload, DF_ARENA),
	FIELD(how, 4),
	FIELD(mode, 1),
	FIELD(privs, 0x1f),
	FIELD(flags, 0xff),
	FIELD(off, -1),
	FIELD(len, DF_ARENA),
	FIELD(a, -1),
	FIELD(b, -1),
	OPTION(priv, 1),
	OPTION(soft, DF_DEPTH + 1),
	OPTION(hard, DF_DEPTH + 1),
	OPTION(list, DF_LISTS - 1),
};

/* Fields of a kind, then whether it has segments and a key. */
static const struct {
	const char *name;
	const char *fields;
	bool segs;
	bool key;
} kinds[DF_KIND_COUNT] = {
	[DF_SETTLE] = {"settle", "", false, false},
	[DF_FILL] = {"fill", "obj off len a", false, false},
	[DF_THRESHOLD] = {"threshold", "obj how a", false, false},
	[DF_SPIGOT] = {"spigot", "obj how", false, false},
	[DF_FAIL] = {"fail", "obj", false, false},
	[DF_UNAFF_CREATE] = {"unaff-create", "obj rq", false, false},
	[DF_UNAFF_FREE] = {"unaff-free", "obj", false, false},
	[DF_EP_CREATE] = {"ep-create", "ep pz srq sq rq ird ord enable payload priv soft hard",
			  false, false},
	[DF_EP_FREE] = {"ep-free", "ep", false, false},
	[DF_CONNECT] = {"connect", "ep peer how", false, false},
	[DF_DISCONNECT] = {"disconnect", "ep", false, false},
	[DF_RESET] = {"reset", "ep", false, false},
	[DF_EP_MODIFY] = {"ep-modify", "ep flags sq rq enable ird ord payload", false, false},
	[DF_LISTEN] = {"listen", "obj how", false, false},
	[DF_EVD_SIZE] = {"evd-size", "obj how a", false, false},
	[DF_EVD_WAY] = {"evd-way", "obj how a", false, false},
	[DF_RECV] = {"recv", "ep flags", true, false},
	[DF_SRQ_RECV] = {"srq-recv", "obj flags", true, false},
	[DF_SEND] = {"send", "ep flags", true, false},
	[DF_WRITE] = {"write", "ep flags off", true, true},
	[DF_READ] = {"read", "ep flags off", true, true},
	[DF_READ_RMR] = {"read-to-rmr", "ep obj a len flags off", false, true},
	[DF_ATOMIC] = {"atomic", "ep how a b flags off", true, true},
	[DF_SEND_UNLINK] = {"send-unlink", "ep flags", true, true},
	[DF_AH_CREATE] = {"ah-create", "obj pz peer", false, false},
	[DF_AH_FREE] = {"ah-free", "obj", false, false},
	[DF_UD_CREATE] = {"ud-create", "obj pz sq rq", false, false},
	[DF_UD_FREE] = {"ud-free", "obj", false, false},
	[DF_UD_RESET] = {"ud-reset", "obj", false, false},
	[DF_UD_RECV] = {"ud-recv", "obj flags", true, false},
	[DF_UD_SEND] = {"ud-send", "obj peer lmr how flags", true, false},
	[DF_LMR_CREATE] = {"lmr-create", "obj pz off len privs mode how list", false, false},
	[DF_LMR_FREE] = {"lmr-free", "obj", false, false},
	[DF_LMR_MODIFY] = {"lmr-modify", "obj privs", false, false},
	[DF_SRQ_CREATE] = {"srq-create", "obj pz rq", false, false},
	[DF_SRQ_FREE] = {"srq-free", "obj", false, false},
	[DF_SRQ_LIMIT] = {"srq-limit", "obj a", false, false},
	[DF_SRQ_SIZE] = {"srq-size", "obj rq", false, false},
	[DF_EP_LIMIT] = {"ep-limit", "ep how soft hard", false, false},
	[DF_LMR_RESERVE] = {"lmr-reserve", "obj pz a", false, false},
	[DF_RMR_CREATE] = {"rmr-create", "obj pz how", false, false},
	[DF_RMR_FREE] = {"rmr-free", "obj", false, false},
	[DF_RMR_LINK] = {"rmr-link", "obj lmr off len privs mode ep flags", false, false},
	[DF_RMR_UNLINK] = {"rmr-unlink", "obj ep flags", false, false},
	[DF_LMR_LINK] = {"lmr-link", "obj off len privs mode list ep flags", false, false},
	[DF_LMR_UNLINK] = {"lmr-unlink", "obj ep flags", false, false},
};

struct df_program *
df_program_new(void)
{
	struct df_program *program = g_new(struct df_program, 1);

	program->steps = g_array_new(FALSE, TRUE, sizeof(struct df_step));
	return program;
}

struct df_program *
df_program_copy(const struct df_program *program)
{
	struct df_program *copy = df_program_new();

	g_array_append_vals(copy->steps, program->steps->data, program->steps->len);
	return copy;
}

void
df_program_free(struct df_program *program)
{
	if (program == NULL)
		return;
	g_array_unref(program->steps);
	g_free(program);
}

const char *
df_kind_name(enum df_kind kind)
{
	return kinds[kind].name;
}

static int *
field_of(struct df_step *step, const struct field *field)
{
	return (int *)(void *)((char *)step + field->offset);
}

static const struct field *
field_named(const char *name)
{
	for (size_t i = 0; i < G_N_ELEMENTS(fields); i++) {
		if (strcmp(fields[i].name, name) == 0)
			return &fields[i];
	}
	return NULL;
}

char *
df_step_text(const struct df_step *step)
{
	GString *text = g_string_new(kinds[step->kind].name);
	char **names = g_strsplit(kinds[step->kind].fields, " ", 0);
	struct df_step copy = *step;

	for (char **name = names; *name != NULL && **name != '\0'; name++) {
		const struct field *field = field_named(*name);
		int value = *field_of(&copy, field);

		if (!field->option || value != 0)
			g_string_append_printf(text, " %s=%d", *name, value);
	}
	g_strfreev(names);
	for (int i = 0; kinds[step->kind].segs && i < step->segs; i++)
		g_string_append_printf(text, " seg=%d%+d:%d", step->seg[i].lmr, step->seg[i].off,
				       step->seg[i].len);
	if (kinds[step->kind].key)
		g_string_append_printf(text, " key=%c%d", step->key.kind, step->key.slot);
	return g_string_free(text, FALSE);
}

char *
df_program_text(const struct df_program *program)
{
	GString *text = g_string_new(NULL);

	for (unsigned i = 0; i < program->steps->len; i++) {
		g_autofree char *line = df_step_text(df_program_step(program, i));

		g_string_append_printf(text, "%s\n", line);
	}
	return g_string_free(text, FALSE);
}

/* "2+16:64" */
static bool
read_seg(struct df_step *step, const char *value)
{
	struct df_seg seg;
	char end;

	if (step->segs == DF_SEGS ||
	    sscanf(value, "%d%d:%d%c", &seg.lmr, &seg.off, &seg.len, &end) != 3)
		return false;
	if (seg.lmr < 0 || seg.lmr >= DF_REGIONS || seg.len < 0 || seg.len > DF_ARENA ||
	    ABS((long)seg.off) > 2 * DF_ARENA)
		return false;
	if (seg.lmr >= DF_LMRS && (seg.off < 0 || seg.off + seg.len > DF_ARENA))
		return false; /* it would be any memory of the process */
	step->seg[step->segs++] = seg;
	return true;
}

/* "l3" */
static bool
read_key(struct df_step *step, const char *value)
{
	struct df_key key;
	char end;

	if (sscanf(value, "%c%d%c", &key.kind, &key.slot, &end) != 2 ||
	    strchr("lLrRx", key.kind) == NULL || key.slot < 0)
		return false;
	if (key.slot >= (strchr("rR", key.kind) != NULL ? DF_RMRS : DF_LMRS))
		return false;
	step->key = key;
	return true;
}

static bool
read_field(struct df_step *step, const char *name, const char *value)
{
	const struct field *field = field_named(name);
	char *end;
	long number;

	if (strcmp(name, "seg") == 0)
		return read_seg(step, value);
	if (strcmp(name, "key") == 0)
		return read_key(step, value);
	number = strtol(value, &end, 0);
	if (field == NULL || *value == '\0' || *end != '\0')
		return false;
	if (ABS(number) > 2 * DF_ARENA ||
	    (field->most >= 0 && (number < 0 || number > field->most)))
		return false;
	*field_of(step, field) = (int)number;
	return true;
}

/* A step of datagrams has one number for its address handle and its endpoint. */
_Static_assert(DF_AHS == DF_UDS, "there are as many address handles as datagram endpoints");

/* The number of places for the object of a step. */
static int
places_of(enum df_kind kind)
{
	if (kind == DF_FILL || kind == DF_THRESHOLD || df_is_fault(kind))
		return DF_NODES;
	if ((kind >= DF_SRQ_CREATE && kind <= DF_SRQ_LIMIT) || kind == DF_SRQ_RECV)
		return DF_SRQS;
	if (df_is_datagram(kind))
		return DF_UDS;
	if (kind == DF_RMR_CREATE || kind == DF_RMR_FREE || df_links_rmr(kind))
		return DF_RMRS;
	return kind == DF_READ_RMR ? DF_RMRS : DF_LMRS;
}

/* Limits that depend on the kind. */
static bool
step_fits(const struct df_step *step)
{
	int most = step->list != 0 ? DF_SCATTER : DF_ARENA;

	if ((step->kind == DF_FILL || step->kind == DF_LMR_CREATE || step->kind == DF_LMR_LINK) &&
	    (step->off < 0 || step->off + step->len > most))
		return false;
	if (step->kind == DF_LMR_LINK && step->list == 0)
		return false;
	if (step->kind == DF_LMR_RESERVE && (step->a < 0 || step->a > DF_PIECES))
		return false;
	if (step->kind == DF_SRQ_LIMIT && step->a < 0)
		return false;
	if (step->kind == DF_UD_SEND && (step->peer >= DF_UDS || step->lmr >= DF_AHS))
		return false;
	if ((step->kind == DF_EP_CREATE || step->kind == DF_UD_CREATE) &&
	    (step->sq < 1 || step->rq < 1))
		return false;
	if (step->kind == DF_THRESHOLD && (step->how > 1 || step->a < 0 || step->a > 1))
		return false;
	if ((step->kind == DF_SRQ_CREATE || step->kind == DF_UNAFF_CREATE) && step->rq < 1)
		return false;
	if (step->kind == DF_SPIGOT && step->how > 1)
		return false;
	return step->obj < places_of(step->kind) &&
	       (!kinds[step->kind].key || step->key.kind != '\0');
}

static bool
read_step(struct df_step *step, const char *line)
{
	char **words = g_strsplit(line, " ", 0);
	bool good = false;

	memset(step, 0, sizeof(*step));
	for (int i = 0; i < DF_KIND_COUNT && !good; i++) {
		step->kind = (enum df_kind)i;
		good = strcmp(words[0], kinds[i].name) == 0;
	}
	for (char **word = words + 1; good && *word != NULL; word++) {
		char *equals = strchr(*word, '=');

		if (equals != NULL)
			*equals = '\0';
		good = equals != NULL && read_field(step, *word, equals + 1);
	}
	g_strfreev(words);
	return good && step_fits(step);
}

struct df_program *
df_program_read(const char *text, char **error)
{
	struct df_program *program = df_program_new();
	char **lines = g_strsplit(text, "\n", 0);
	bool good = true;

	*error = NULL;
	for (unsigned i = 0; good && lines[i] != NULL; i++) {
		struct df_step step;

		g_strstrip(lines[i]);
		if (lines[i][0] == '\0' || lines[i][0] == '#')
			continue;
		good = read_step(&step, lines[i]);
		if (good)
			g_array_append_val(program->steps, step);
		else
			*error = g_strdup_printf("line %u is no step: %s", i + 1, lines[i]);
	}
	g_strfreev(lines);
	if (good)
		return program;
	df_program_free(program);
	return NULL;
}
