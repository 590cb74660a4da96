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
	int srqs[REPLAY_OBJECTS + 1];         /* the same; 0: none, or none any more */
	bool handles[REPLAY_OBJECTS + 1];     /* the address handle exists */
	uint64_t memory;
};

/* A number that datagrams go to, and the first of them. */
struct unsure {
	uint32_t qpn;
	unsigned file;
	uint64_t line;
};

#define REPLAY_RECEIVES 65536 /* of a shared receive queue */

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
srq_line(struct state *state, GError **error)
{
	struct replay_srq srq = {.file = state->file};
	uint32_t domain;

	if (!replay_succeeded(&state->line))
		return true;
	if (!replay_object(&state->reader, &state->line, 1, 's', &srq.number, error) ||
	    !replay_object(&state->reader, &state->line, 2, 'p', &domain, error) ||
	    !replay_number(&state->reader, &state->line, "wr", REPLAY_RECEIVES, &srq.most, error))
		return false;
	if (srq.number == 0 || state->srqs[srq.number] != 0)
		return BAD("s%u exists already", srq.number);
	if (state->domains[domain] == 0)
		return BAD("there is no domain p%u", domain);
	if (state->set->srqs->len == REPLAY_QPS)
		return BAD("there are more than %d shared receive queues", REPLAY_QPS);
	srq.adapter = state->domains[domain] - 1;
	g_array_append_val(state->set->srqs, srq);
	state->srqs[srq.number] = (int)state->set->srqs->len;
	return true;
}

/* NULL: no shared receive queue has that number, or has it any more. */
static struct replay_srq *
srq_of(struct state *state, uint32_t number)
{
	int place = state->srqs[number];

	return place > 0 ? &g_array_index(state->set->srqs, struct replay_srq, place - 1) : NULL;
}

/* "modify s1 wr=64"; what changes of a queue pair is not read before the replay. */
static bool
modify_line(struct state *state, GError **error)
{
	struct replay_srq *srq;
	uint64_t most;
	uint32_t number;

	if (state->line.count < 2 || state->line.words[1][0] != 's')
		return true;
	if (!replay_object(&state->reader, &state->line, 1, 's', &number, error))
		return false;
	srq = srq_of(state, number);
	if (srq == NULL)
		return BAD("there is no shared receive queue s%u", number);
	if (replay_field(&state->line, "wr") == NULL)
		return true;
	if (!replay_number(&state->reader, &state->line, "wr", REPLAY_RECEIVES, &most, error))
		return false;
	srq->most = MAX(srq->most, most);
	return true;
}

static bool
handle_line(struct state *state, GError **error)
{
	uint32_t number, domain;

	if (!replay_succeeded(&state->line))
		return true;
	if (!replay_object(&state->reader, &state->line, 1, 'h', &number, error) ||
	    !replay_object(&state->reader, &state->line, 2, 'p', &domain, error))
		return false;
	if (number == 0 || state->handles[number] || state->domains[domain] == 0)
		return BAD("h%u exists, or there is no domain p%u", number, domain);
	state->handles[number] = true;
	return true;
}

/* What only datagram endpoints, and those with a shared receive queue, have. */
static bool
qp_kind(struct state *state, struct replay_qp *qp, GError **error)
{
	uint64_t qpn, qkey;

	qp->datagram = g_strcmp0(replay_field(&state->line, "type"), "ud") == 0;
	if (!replay_object(&state->reader, &state->line, 5, 's', &qp->srq, error))
		return false;
	if (qp->srq != 0 && (srq_of(state, qp->srq) == NULL || qp->datagram))
		return BAD("q%u has a shared receive queue s%u, which does not exist, or which "
			   "datagrams do not have",
			   qp->number, qp->srq);
	if (!qp->datagram)
		return true;
	if (!replay_number(&state->reader, &state->line, "qpn", REPLAY_GROUP - 1, &qpn, error) ||
	    !replay_number(&state->reader, &state->line, "qkey", UINT32_MAX, &qkey, error))
		return false;
	qp->qpn = (uint32_t)qpn;
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
	if (!qp_kind(state, &qp, error))
		return false;
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
		return BAD("m%u has no octets, or exists already, or is registered anew and does "
			   "not exist",
			   number);
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
	if (qp->datagram)
		return BAD("q%u is of datagrams, and has no connection", number);
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
			return BAD("'%.40s' is not a segment", text);
		if (*text == 'm' &&
		    (number > REPLAY_OBJECTS || state->regions[number] == 0 ||
		     offset > state->regions[number] || length > state->regions[number] - offset))
			return BAD("the segment '%.40s' is in no region", text);
		text = *end == ',' ? end + 1 : end;
	}
	return *text == '\0' || strcmp(text, "-") == 0 || BAD("'%.40s' is not a segment", text);
}

/* "ah=h1 qpn=17 qkey=0x1": the handle exists, and some recording should have that number. */
static bool
datagram_check(struct state *state, const struct replay_qp *qp, GError **error)
{
	const char *handle = replay_field(&state->line, "ah");
	uint64_t number = 0, qpn, qkey;

	if (!qp->datagram)
		return BAD("a datagram leaves q%u, which has a connection", qp->number);
	if (handle != NULL && handle[0] == 'h')
		number = g_ascii_strtoull(handle + 1, NULL, 10);
	if (number == 0 || number > REPLAY_OBJECTS || !state->handles[number])
		return BAD("ah=%s is not an address handle", handle != NULL ? handle : "");
	if (!replay_number(&state->reader, &state->line, "qpn", REPLAY_GROUP, &qpn, error) ||
	    !replay_number(&state->reader, &state->line, "qkey", UINT32_MAX, &qkey, error))
		return false;
	for (guint i = 0; i < state->set->unsure->len; i++)
		if (g_array_index(state->set->unsure, struct unsure, i).qpn == qpn)
			return true;
	if (state->set->unsure->len == REPLAY_OBJECTS)
		return BAD("datagrams go to more than %d queue pairs", REPLAY_OBJECTS);
	g_array_append_val(state->set->unsure, ((struct unsure){.qpn = (uint32_t)qpn,
								.file = state->file,
								.line = state->line.number}));
	return true;
}

static bool
post_line(struct state *state, GError **error)
{
	struct replay_operation operation;
	uint64_t length, *posted;
	struct replay_qp *qp;
	struct replay_srq *srq;

	if (!replay_operation(&state->reader, &state->line, &operation, error) ||
	    !replay_number(&state->reader, &state->line, "len", REPLAY_MEMORY, &length, error) ||
	    !segments_check(state, error))
		return false;
	qp = operation.letter == 'q' ? qp_of(state, operation.object) : NULL;
	srq = operation.letter == 's' ? srq_of(state, operation.object) : NULL;
	if (qp == NULL && srq == NULL)
		return BAD("there is no %s %c%u",
			   operation.letter == 'q' ? "queue pair" : "shared receive queue",
			   operation.letter, operation.object);
	if (qp != NULL && qp->srq != 0 && operation.queue == 'r')
		return BAD("q%u takes its receives from s%u", qp->number, qp->srq);
	if (qp != NULL && operation.queue == 's' && state->line.count > 2 &&
	    strcmp(state->line.words[2], "send_ud") == 0 && !datagram_check(state, qp, error))
		return false;
	posted = srq != NULL ? &srq->posted : &qp->posted[operation.queue == 'r'];
	if (operation.number != ++*posted)
		return BAD("operation %c%" G_GUINT64_FORMAT " comes where %c%" G_GUINT64_FORMAT
			   " is due",
			   operation.queue, operation.number, operation.queue, *posted);
	state->set->operations++;
	return true;
}

/* "from=s1.r4": one of the receives of the shared queue of this queue pair. */
static bool
from_check(struct state *state, const struct replay_qp *qp, GError **error)
{
	const char *text = replay_field(&state->line, "from");
	struct replay_operation from = {0};
	struct replay_srq *srq = srq_of(state, qp->srq);

	if (text == NULL)
		return true; /* the recorder did not know which one */
	if (!replay_operation_read(text, &from) || from.letter != 's' || from.object != qp->srq ||
	    srq == NULL)
		return BAD("from=%.40s is not a receive of s%u", text, qp->srq);
	if (from.number == 0 || from.number > srq->posted || srq->done == srq->posted)
		return BAD("%.40s completes, and was not posted, or completes twice", text);
	srq->done++;
	return true;
}

static bool
done_line(struct state *state, GError **error)
{
	struct replay_operation operation;
	struct replay_qp *qp;
	uint64_t length;
	bool receive;

	if (!replay_operation(&state->reader, &state->line, &operation, error) ||
	    !replay_number(&state->reader, &state->line, "len", REPLAY_MEMORY, &length, error))
		return false;
	qp = operation.letter == 'q' ? qp_of(state, operation.object) : NULL;
	receive = operation.queue == 'r';
	if (state->line.count < 5)
		return BAD("the completion has no status");
	if (qp == NULL)
		return (operation.letter == 'q' && operation.object == 0) ||
		       BAD("there is no queue pair q%u", operation.object);
	if (receive && qp->srq != 0 && !from_check(state, qp, error))
		return false;
	if (operation.number > qp->posted[receive] && (!receive || qp->srq == 0))
		return BAD("%s completes, and was not posted", state->line.words[1]);
	if (operation.number != 0 && operation.number <= qp->done[receive])
		return BAD("%s completes after a later one, or twice", state->line.words[1]);
	qp->done[receive] = operation.number;
	return true;
}

static bool
gone_line(struct state *state, char letter, GError **error)
{
	uint32_t number;

	if (!replay_object(&state->reader, &state->line, 1, letter, &number, error))
		return false;
	if (letter == 'h' ? !state->handles[number] : state->srqs[number] == 0)
		return BAD("there is no %c%u", letter, number);
	if (letter == 'h')
		state->handles[number] = false;
	else
		state->srqs[number] = 0;
	return true;
}

static bool
destroy_line(struct state *state, GError **error)
{
	uint32_t number;

	if (!replay_succeeded(&state->line) || state->line.count < 2)
		return true;
	if (state->line.words[1][0] == 'h' || state->line.words[1][0] == 's')
		return gone_line(state, state->line.words[1][0], error);
	if (state->line.words[1][0] != 'm')
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
	{"srq", srq_line},         {"qp", qp_line},          {"mr", region_line},
	{"rereg", region_line},    {"mw", ignored_line},     {"link", link_line},
	{"post", post_line},       {"done", done_line},      {"failed", ignored_line},
	{"bound", ignored_line},   {"end", end_line},        {"event", ignored_line},
	{"refused", ignored_line}, {"modify", modify_line},  {"disconnect", ignored_line},
	{"abort", ignored_line},   {"reset", ignored_line},  {"destroy", destroy_line},
	{"close", ignored_line},   {"resize", ignored_line}, {"connect", ignored_line},
	{"accept", ignored_line},  {"attach", ignored_line}, {"ah", handle_line},
	{"join", ignored_line},
};

static bool
line_check(struct state *state, GError **error)
{
	for (size_t i = 0; i < G_N_ELEMENTS(verbs); i++)
		if (strcmp(state->line.words[0], verbs[i].verb) == 0)
			return verbs[i].check(state, error);
	return BAD("'%.40s' is not a verb of a recording", state->line.words[0]);
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

/* Each datagram goes to a queue pair of these recordings, or to a group. */
static bool
datagrams_know(const struct replay_set *set, GError **error)
{
	for (guint i = 0; i < set->unsure->len; i++) {
		const struct unsure *to = &g_array_index(set->unsure, struct unsure, i);
		bool known = to->qpn == REPLAY_GROUP;

		for (guint j = 0; j < set->qps->len && !known; j++) {
			const struct replay_qp *qp = &g_array_index(set->qps, struct replay_qp, j);

			known = qp->datagram && qp->qpn == to->qpn;
		}
		if (!known)
			return tool_fail(error, TOOL_ERROR_USAGE,
					 "%s:%" G_GUINT64_FORMAT
					 ": datagrams go to the queue pair of number %u, which no "
					 "recording has",
					 set->paths[to->file], to->line + 1, to->qpn);
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
	*set = (struct replay_set){
		.qps = g_array_new(FALSE, TRUE, sizeof(struct replay_qp)),
		.srqs = g_array_new(FALSE, TRUE, sizeof(struct replay_srq)),
		.unsure = g_array_new(FALSE, TRUE, sizeof(struct unsure)),
	};
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
	return set_pair(set, error) && datagrams_know(set, error);
}

void
replay_set_free(struct replay_set *set)
{
	for (unsigned i = 0; i < set->num_adapters; i++) {
		g_free(set->claims[i]);
		g_free(set->names[i]);
	}
	if (set->qps != NULL) {
		g_array_free(set->qps, TRUE);
		g_array_free(set->srqs, TRUE);
		g_array_free(set->unsure, TRUE);
	}
	*set = (struct replay_set){0};
}
