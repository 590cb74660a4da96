/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* The recordings of one run: what is in them, whether their lines can be true, and which queue pairs are ends of one connection. */
#include <string.h>

#include "replay_file.h"
#include "tool_error.h"

/* What one recording has so far. */
struct state {
	struct replay_set *set;
	unsigned file;
	struct replay_reader reader;
	struct replay_line line;
	uint32_t adapters[REPLAY_OBJECTS +
			  1]; /* of an adapter's number: 1 + its place in the set; 0: none */
	uint32_t domains[REPLAY_OBJECTS + 1]; /* of a domain: the same */
	uint64_t regions[REPLAY_OBJECTS + 1]; /* octets of a region that exists; 0: none */
	int qps[REPLAY_OBJECTS + 1];          /* 1 + place in the set */
	uint64_t memory;
};

#define BAD(...) replay_bad(&state->reader, &state->line, error, __VA_ARGS__)

static bool
adapter_line(struct state *state, GError **error)
{
	struct replay_set *set = state->set;
	const char *claims = replay_field(&state->line, "claims");
	uint32_t number;

	if (!replay_object(&state->reader, &state->line, 1, 'a', &number, error))
		return false;
	if (claims == NULL || state->line.count < 5)
		return BAD("the adapter has no name or no claims");
	if (state->adapters[number] != 0 || set->num_adapters == REPLAY_ADAPTERS)
		return BAD("a%u exists, or there are too many adapters", number);
	set->claims[set->num_adapters] = g_strdup(claims);
	set->names[set->num_adapters] = g_strdup(state->line.words[2]);
	state->adapters[number] = ++set->num_adapters;
	return true;
}

static bool
domain_line(struct state *state, GError **error)
{
	uint32_t number, adapter;

	if (!replay_succeeded(&state->line))
		return true;
	if (!replay_object(&state->reader, &state->line, 1, 'p', &number, error) ||
	    !replay_object(&state->reader, &state->line, 2, 'a', &adapter, error))
		return false;
	if (state->adapters[adapter] == 0)
		return BAD("there is no adapter a%u", adapter);
	state->domains[number] = state->adapters[adapter];
	return true;
}

static bool
qp_line(struct state *state, GError **error)
{
	struct replay_qp qp = {.file = state->file, .partner = -1};
	uint32_t domain;

	if (!replay_succeeded(&state->line))
		return true;
	if (!replay_object(&state->reader, &state->line, 1, 'q', &qp.number, error) ||
	    !replay_object(&state->reader, &state->line, 2, 'p', &domain, error))
		return false;
	if (qp.number == 0 || state->qps[qp.number] != 0)
		return BAD("q%u exists already", qp.number);
	if (state->domains[domain] == 0)
		return BAD("there is no domain p%u", domain);
	if (state->set->qps->len == REPLAY_QPS)
		return BAD("there are more than %d queue pairs", REPLAY_QPS);
	qp.adapter = state->domains[domain] - 1;
	g_array_append_val(state->set->qps, qp);
	state->qps[qp.number] = (int)state->set->qps->len;
	return true;
}

static bool
region_line(struct state *state, GError **error)
{
	uint64_t length, ignored;
	uint32_t number;

	if (!replay_succeeded(&state->line))
		return true;
	if (!replay_object(&state->reader, &state->line, 1, 'm', &number, error) ||
	    !replay_number(&state->reader, &state->line, "len", REPLAY_REGION, &length, error) ||
	    !replay_number(&state->reader, &state->line, "at", UINT64_MAX, &ignored, error) ||
	    !replay_number(&state->reader, &state->line, "key", UINT32_MAX, &ignored, error))
		return false;
	/* A region that changes is there already. */
	if (number == 0 || length == 0 ||
	    (state->regions[number] != 0) != (strcmp(state->line.words[0], "rereg") == 0))
		return BAD("m%u is empty, or a region that exists, or one that does not", number);
	state->memory += length - state->regions[number];
	if (state->memory > REPLAY_MEMORY)
		return BAD("the regions are larger than 1 GiB");
	state->regions[number] = length;
	return true;
}

/* NULL: no queue pair has that number. No queue pair has the number 0. */
static struct replay_qp *
qp_of(struct state *state, uint32_t number)
{
	int place = state->qps[number];

	return place > 0 ? &g_array_index(state->set->qps, struct replay_qp, place - 1) : NULL;
}

static bool
link_line(struct state *state, GError **error)
{
	const char *local = replay_field(&state->line, "local");
	const char *peer = replay_field(&state->line, "peer");
	struct replay_qp *qp;
	uint32_t number;

	if (!replay_object(&state->reader, &state->line, 1, 'q', &number, error))
		return false;
	qp = qp_of(state, number);
	if (qp == NULL || local == NULL || peer == NULL || state->line.count < 5 ||
	    strchr(local, ':') == NULL || strchr(peer, ':') == NULL)
		return BAD("the connection has no queue pair or no addresses");
	if (qp->linked)
		return BAD("q%u is connected a second time, which is not replayed", number);
	qp->linked = true;
	qp->active = strcmp(state->line.words[2], "active") == 0;
	g_strlcpy(qp->local, local, sizeof(qp->local));
	g_strlcpy(qp->peer, peer, sizeof(qp->peer));
	return true;
}

/* "m1+64:512,m2+0:8" must be in regions that exist. */
static bool
segments_check(struct state *state, GError **error)
{
	const char *text = replay_field(&state->line, "local");

	if (text == NULL)
		return BAD("there are no segments");
	while (*text == 'm' || *text == 'x') {
		char *end;
		uint64_t number = g_ascii_strtoull(text + 1, &end, 10);
		uint64_t offset = *end == '+' ? g_ascii_strtoull(end + 1, &end, 10) : UINT64_MAX;
		uint64_t length = *end == ':' ? g_ascii_strtoull(end + 1, &end, 10) : UINT64_MAX;

		if (*end != ',' && *end != '\0')
			return BAD("'%.40s' is no segment", text);
		if (*text == 'm' &&
		    (number > REPLAY_OBJECTS || state->regions[number] == 0 ||
		     offset > state->regions[number] || length > state->regions[number] - offset))
			return BAD("the segment '%.40s' is in no region", text);
		text = *end == ',' ? end + 1 : end;
	}
	return *text == '\0' || strcmp(text, "-") == 0 || BAD("'%.40s' is no segment", text);
}

static bool
post_line(struct state *state, GError **error)
{
	uint64_t number, length;
	struct replay_qp *qp;
	uint32_t of;
	char queue;

	if (!replay_operation(&state->reader, &state->line, &of, &queue, &number, error) ||
	    !replay_number(&state->reader, &state->line, "len", REPLAY_MEMORY, &length, error) ||
	    !segments_check(state, error))
		return false;
	qp = qp_of(state, of);
	if (qp == NULL)
		return BAD("there is no queue pair q%u", of);
	if (number != ++qp->posted[queue == 'r'])
		return BAD("operation %c%" G_GUINT64_FORMAT " comes where %c%" G_GUINT64_FORMAT
			   " is due",
			   queue, number, queue, qp->posted[queue == 'r']);
	state->set->operations++;
	return true;
}

static bool
done_line(struct state *state, GError **error)
{
	struct replay_qp *qp;
	uint64_t number, length;
	uint32_t of;
	char queue;

	if (!replay_operation(&state->reader, &state->line, &of, &queue, &number, error) ||
	    !replay_number(&state->reader, &state->line, "len", REPLAY_MEMORY, &length, error))
		return false;
	qp = qp_of(state, of);
	if (state->line.count < 5)
		return BAD("the completion has no status");
	if (qp == NULL)
		return of == 0 || BAD("there is no queue pair q%u", of);
	if (number > qp->posted[queue == 'r'])
		return BAD("%s completes, and was not posted", state->line.words[1]);
	if (number != 0 && number <= qp->done[queue == 'r'])
		return BAD("%s completes after a later one, or twice", state->line.words[1]);
	qp->done[queue == 'r'] = number;
	return true;
}

static bool
destroy_line(struct state *state, GError **error)
{
	uint32_t number;

	if (!replay_succeeded(&state->line) || state->line.count < 2 ||
	    state->line.words[1][0] != 'm')
		return true;
	if (!replay_object(&state->reader, &state->line, 1, 'm', &number, error))
		return false;
	if (state->regions[number] == 0)
		return BAD("there is no region m%u", number);
	state->memory -= state->regions[number];
	state->regions[number] = 0;
	return true;
}

static bool
end_line(struct state *state, GError **error)
{
	struct replay_qp *qp;
	uint32_t number;

	if (state->line.count == 1)
		return true; /* of the recording */
	if (!replay_object(&state->reader, &state->line, 1, 'q', &number, error))
		return false;
	qp = qp_of(state, number);
	if (qp == NULL || state->line.count < 3)
		return BAD("the end is of no queue pair");
	qp->broken = strcmp(state->line.words[2], "broken") == 0;
	return true;
}

static bool
ignored_line(struct state *state, GError **error)
{
	(void)state;
	(void)error;
	return true;
}

static const struct {
	const char *verb;
	bool (*check)(struct state *state, GError **error);
} verbs[] = {
	{"adapter", adapter_line}, {"pd", domain_line},      {"cq", ignored_line},
	{"srq", ignored_line},     {"qp", qp_line},          {"mr", region_line},
	{"rereg", region_line},    {"mw", ignored_line},     {"link", link_line},
	{"post", post_line},       {"done", done_line},      {"failed", ignored_line},
	{"bound", ignored_line},   {"end", end_line},        {"event", ignored_line},
	{"refused", ignored_line}, {"modify", ignored_line}, {"disconnect", ignored_line},
	{"abort", ignored_line},   {"reset", ignored_line},  {"destroy", destroy_line},
	{"close", ignored_line},   {"resize", ignored_line}, {"connect", ignored_line},
	{"accept", ignored_line},  {"attach", ignored_line},
};

static bool
line_check(struct state *state, GError **error)
{
	for (size_t i = 0; i < G_N_ELEMENTS(verbs); i++)
		if (strcmp(state->line.words[0], verbs[i].verb) == 0)
			return verbs[i].check(state, error);
	return BAD("'%.40s' is no verb of a recording", state->line.words[0]);
}

static bool
file_read(struct replay_set *set, unsigned file, GError **error)
{
	g_autofree struct state *state = g_new0(struct state, 1);
	GError *failure = NULL;

	state->set = set;
	state->file = file;
	set->first_adapter[file] = set->num_adapters;
	if (replay_open(&state->reader, set->paths[file], &failure))
		while (failure == NULL && replay_next(&state->reader, &state->line, &failure))
			if (!line_check(state, &failure))
				break;
	replay_close(&state->reader);
	set->cut[file] = state->reader.cut;
	if (set->cut[file])
		g_printerr("it-replay: warning: %s:%" G_GUINT64_FORMAT
			   ": the last line is not \"end\": the process was killed, or lines are "
			   "missing\n",
			   set->paths[file], state->reader.last + 1);
	if (failure != NULL)
		g_propagate_error(error, failure);
	return failure == NULL;
}

/* --- both ends --------------------------------------------------------------------------------------- */

/* "1:7f000001:7471": is the port known? */
static bool
port_known(const char *address)
{
	return strcmp(strrchr(address, ':'), ":0") != 0;
}

static bool
are_ends(const struct replay_qp *active, const struct replay_qp *passive)
{
	if (!passive->linked || passive->active || passive->partner >= 0 ||
	    strcmp(active->peer, passive->local) != 0)
		return false;
	return !port_known(active->local) || !port_known(passive->peer) ||
	       strcmp(active->local, passive->peer) == 0;
}

/* An active end and the first passive one that fits: where the port of the active end is not known, they are in order. */
static bool
set_pair(struct replay_set *set, GError **error)
{
	struct replay_qp *qps = (struct replay_qp *)(void *)set->qps->data;

	for (guint i = 0; i < set->qps->len; i++)
		for (guint j = 0; qps[i].linked && qps[i].active && j < set->qps->len; j++)
			if (qps[i].partner < 0 && are_ends(&qps[i], &qps[j])) {
				qps[i].partner = (int)j;
				qps[j].partner = (int)i;
			}
	for (guint i = 0; i < set->qps->len; i++)
		if (qps[i].linked && qps[i].partner < 0) {
			tool_fail(error, TOOL_ERROR_USAGE,
				  "%s: q%u is connected from %s to %s, and no recording has the "
				  "other "
				  "end",
				  set->paths[qps[i].file], qps[i].number, qps[i].local,
				  qps[i].peer);
			return false;
		}
	return true;
}

static gint
by_adapter(gconstpointer a, gconstpointer b)
{
	const struct replay_qp *one = a, *other = b;

	if (one->adapter != other->adapter)
		return one->adapter < other->adapter ? -1 : 1;
	return one->number < other->number ? -1 : one->number > other->number;
}

bool
replay_set_read(struct replay_set *set, char **paths, GError **error)
{
	*set = (struct replay_set){.qps = g_array_new(FALSE, TRUE, sizeof(struct replay_qp))};
	for (char **path = paths; *path != NULL; path++) {
		if (set->num_files == REPLAY_FILES) {
			tool_fail(error, TOOL_ERROR_USAGE, "there are more than %d recordings",
				  REPLAY_FILES);
			return false;
		}
		set->paths[set->num_files++] = *path;
		if (!file_read(set, set->num_files - 1, error))
			return false;
	}
	g_array_sort(set->qps, by_adapter);
	return set_pair(set, error);
}

void
replay_set_free(struct replay_set *set)
{
	for (unsigned i = 0; i < set->num_adapters; i++) {
		g_free(set->claims[i]);
		g_free(set->names[i]);
	}
	if (set->qps != NULL)
		g_array_free(set->qps, TRUE);
	*set = (struct replay_set){0};
}
