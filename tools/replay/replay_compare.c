/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Compares two recordings. Each queue of each queue pair is a sequence of lines, and only the order
 * within a sequence is compared. The recordings are read once for each sequence, so nothing of them
 * is kept in memory.
 */
#include <string.h>

#include "replay_file.h"
#include "tool_error.h"

/* A sequence: which lines of a recording. */
struct sequence {
	const char *verb;
	char queue; /* 's' or 'r', 0: no operation */
	char of;    /* 'q': of a queue pair; 's': of a shared receive queue */
	const char *what;
};

/* Completions come first, since a program that has seen a wrong one posts other requests. */
static const struct sequence sequences[] = {
	{"done", 's', 'q', "completions of requests"},
	{"done", 'r', 'q', "completions of receives"},
	{"post", 's', 'q', "requests"},
	{"post", 'r', 'q', "receives"},
	{"failed", 's', 'q', "requests that were refused"},
	{"failed", 'r', 'q', "receives that were refused"},
	{"end", 0, 'q', "ends of connections"},
	{"post", 'r', 's', "receives"},
	{"failed", 'r', 's', "receives that were refused"},
	{"event", 0, 's', "limits"},
};

struct cursor {
	const struct replay_set *set;
	const struct replay_qp *qp; /* NULL: a shared receive queue */
	char object[16];            /* "q1" */
	unsigned file;
	uint32_t adapter;
	struct replay_reader reader;
	struct replay_line line;
	bool there; /* `line` is one of the sequence */
};

/* What excuses a difference, and how often it did. */
enum excuse {
	EXCUSE_ATOMICS,
	EXCUSE_STATUS,
	EXCUSE_FLUSHED,
	EXCUSE_CUT,
	EXCUSE_LIMITS,
	EXCUSE_LOST,
	EXCUSES
};
static const char *const excuses[EXCUSES] = {
	"atomics, which one of the adapters does not claim",
	"statuses on a broken connection, where one profile has remote_status or completion_acked",
	"receives that were flushed before the queue pair was destroyed, or were dropped with it",
	"lines behind the end of a recording that was cut, and what its peer learned of that",
	"limits of shared receive queues, which one of the adapters does not claim",
	"datagrams that arrived in one of the runs only",
};

struct comparison {
	uint64_t excused[EXCUSES];
	uint64_t arrived[2]; /* datagrams at the queue pair that is compared */
	bool causes; /* only a failure that is not the consequence of another one is a difference */
	bool lengths; /* a line that only one side has is a difference */
	bool same;
};

static bool
claims(const struct cursor *cursor, const char *claim)
{
	g_auto(GStrv) words = g_strsplit(cursor->set->claims[cursor->adapter], ",", 0);

	return g_strv_contains((const char *const *)words, claim);
}

static bool
is_of(const struct cursor *cursor, const struct sequence *sequence)
{
	const struct replay_line *line = &cursor->line;
	size_t length = strlen(cursor->object);
	const char *of = line->count > 1 ? line->words[1] : "";

	if (strcmp(line->words[0], sequence->verb) != 0 || strncmp(of, cursor->object, length) != 0)
		return false;
	return sequence->queue == 0 ? of[length] == '\0'
				    : of[length] == '.' && of[length + 1] == sequence->queue;
}

/* The next line of the sequence, if there is one. False: the recording is bad. */
static bool
cursor_next(struct cursor *cursor, const struct sequence *sequence, GError **error)
{
	GError *failure = NULL;

	cursor->there = false;
	while (!cursor->there && replay_next(&cursor->reader, &cursor->line, &failure))
		cursor->there = is_of(cursor, sequence);
	if (failure != NULL)
		g_propagate_error(error, failure);
	return failure == NULL;
}

static bool
cursor_open(struct cursor *cursor, const struct replay_set *set, const struct replay_qp *qp,
	    GError **error)
{
	cursor->set = set;
	cursor->qp = qp;
	cursor->file = qp->file;
	cursor->adapter = qp->adapter;
	cursor->there = false;
	(void)g_snprintf(cursor->object, sizeof(cursor->object), "q%u", qp->number);
	return replay_open(&cursor->reader, set->paths[qp->file], error);
}

static bool
cursor_open_shared(struct cursor *cursor, const struct replay_set *set, guint place, GError **error)
{
	const struct replay_srq *srq = &g_array_index(set->srqs, struct replay_srq, place);

	cursor->set = set;
	cursor->qp = NULL;
	cursor->file = srq->file;
	cursor->adapter = srq->adapter;
	cursor->there = false;
	(void)g_snprintf(cursor->object, sizeof(cursor->object), "s%u", srq->number);
	return replay_open(&cursor->reader, set->paths[srq->file], error);
}

/* --- one line and its counterpart ----------------------------------------------------------------------- */

static bool
same_word(const struct cursor *one, const struct cursor *other, unsigned word)
{
	return word < one->line.count && word < other->line.count &&
	       strcmp(one->line.words[word], other->line.words[word]) == 0;
}

static bool
same_field(const struct cursor *one, const struct cursor *other, const char *name)
{
	return g_strcmp0(replay_field(&one->line, name), replay_field(&other->line, name)) == 0;
}

/* Flags that decide what a request does; the others are hints for its own side. */
#define FLAGS_COMPARED 0x2du

static bool
same_flags(const struct cursor *one, const struct cursor *other)
{
	const char *a = replay_field(&one->line, "flags");
	const char *b = replay_field(&other->line, "flags");
	guint64 differ = g_ascii_strtoull(a != NULL ? a : "", NULL, 0) ^
			 g_ascii_strtoull(b != NULL ? b : "", NULL, 0);

	return (differ & FLAGS_COMPARED) == 0;
}

static bool
are_same(const struct cursor *one, const struct cursor *other, const struct sequence *sequence)
{
	if (sequence->queue == 0)
		return same_word(one, other, 2);
	if (strcmp(sequence->verb, "failed") == 0)
		return same_word(one, other, one->line.count - 1);
	if (strcmp(sequence->verb, "done") == 0)
		return same_word(one, other, 2) && same_word(one, other, 3) &&
		       same_field(one, other, "len");
	return same_word(one, other, 2) && same_field(one, other, "len") && same_flags(one, other);
}

static bool
is_atomic(const struct cursor *cursor)
{
	const char *name = cursor->there && cursor->line.count > 2 ? cursor->line.words[2] : "";

	return strcmp(name, "fetch_add") == 0 || strcmp(name, "cmp_swap") == 0;
}

/* A success has this status; any other one is of a connection that is over. */
static bool
is_failure(const struct cursor *cursor)
{
	return cursor->line.count > 3 && strcmp(cursor->line.words[3], "success") != 0;
}

static bool
is_flushed(const struct cursor *cursor)
{
	return is_failure(cursor) && strcmp(cursor->line.words[3], "flushed") == 0;
}

/* Requests are flushed because another one has failed, or because a connection has ended. */
static bool
is_cause(const struct cursor *cursor)
{
	return is_failure(cursor) && !is_flushed(cursor);
}

static bool
profiles_differ(const struct cursor *one, const struct cursor *other)
{
	return claims(one, "remote_status") != claims(other, "remote_status") ||
	       claims(one, "completion_acked") != claims(other, "completion_acked");
}

/* Has the recording ended before the process did? */
static bool
is_cut(const struct cursor *cursor)
{
	return !cursor->there && cursor->set->cut[cursor->file];
}

/* Was the process at the other end killed? Whether this end learns of that, and what still arrives here, is chance. */
static bool
peer_was_killed(const struct cursor *cursor)
{
	const struct replay_set *set = cursor->set;

	return cursor->qp != NULL && cursor->qp->partner >= 0 &&
	       set->cut[g_array_index(set->qps, struct replay_qp, cursor->qp->partner).file];
}

/* May the two lines differ? Of one side only: `other` is not there. */
static int
excuse_of(const struct cursor *one, const struct cursor *other, const struct sequence *sequence)
{
	if (is_cut(one) || is_cut(other) ||
	    (sequence->queue == 0 &&
	     ((!one->there && peer_was_killed(one)) || (!other->there && peer_was_killed(other)))))
		return EXCUSE_CUT;
	if (strcmp(sequence->verb, "event") == 0)
		return claims(one, "srq_limit") != claims(other, "srq_limit") ? EXCUSE_LIMITS : -1;
	if (strcmp(sequence->verb, "done") != 0)
		return -1;
	if (sequence->queue == 'r' && (!one->there || !other->there)) {
		const struct cursor *there = one->there ? one : other;

		return is_flushed(there) ? EXCUSE_FLUSHED : -1;
	}
	/* The last message of a process that was killed may have left it, or not; and it may have taken the last ones of its peer. */
	if (is_flushed(one) != is_flushed(other) &&
	    (peer_was_killed(one) || peer_was_killed(other)))
		return EXCUSE_CUT;
	if (one->there && other->there && same_word(one, other, 2) && one->qp->broken &&
	    other->qp->broken && (is_failure(one) || is_failure(other)) &&
	    profiles_differ(one, other))
		return EXCUSE_STATUS;
	return -1;
}

static void
difference_print(const struct cursor *one, const struct cursor *other,
		 const struct sequence *sequence)
{
	const struct cursor *sides[2] = {one, other};

	printf("%s of %s of %s differ:\n", sequence->what, one->object, one->set->paths[one->file]);
	for (int i = 0; i < 2; i++)
		if (sides[i]->there)
			printf("  %s:%" G_GUINT64_FORMAT ": %s\n", sides[i]->reader.path,
			       sides[i]->line.number + 1, sides[i]->line.whole);
		else
			printf("  %s: no more\n", sides[i]->reader.path);
}

/* --- a sequence ------------------------------------------------------------------------------------------ */

/* Datagrams may arrive in any order, or not at all: what they are is compared within each run (datagrams_compare). */
static bool
is_datagram(const struct cursor *cursor, const struct sequence *sequence)
{
	return cursor->there && cursor->qp != NULL && cursor->qp->datagram &&
	       sequence->queue == 'r' && strcmp(sequence->verb, "done") == 0 && !is_failure(cursor);
}

/* The next lines that are not excused as atomics of one side only, and that are no datagrams. */
static bool
both_next(struct cursor *one, struct cursor *other, const struct sequence *sequence,
	  struct comparison *comparison, GError **error)
{
	bool skip = claims(one, "atomics") != claims(other, "atomics");
	struct cursor *sides[2] = {one, other};

	for (int i = 0; i < 2; i++)
		do {
			if (!cursor_next(sides[i], sequence, error))
				return false;
			comparison->excused[EXCUSE_ATOMICS] += skip && is_atomic(sides[i]);
			comparison->arrived[i] += is_datagram(sides[i], sequence);
		} while ((skip && is_atomic(sides[i])) || is_datagram(sides[i], sequence));
	return true;
}

static bool
sequence_compare(struct cursor *one, struct cursor *other, const struct sequence *sequence,
		 struct comparison *comparison, GError **error)
{
	comparison->arrived[0] = comparison->arrived[1] = 0;
	for (;;) {
		int excuse;

		if (!both_next(one, other, sequence, comparison, error))
			return false;
		if (!one->there && !other->there) {
			comparison->excused[EXCUSE_LOST] +=
				MAX(comparison->arrived[0], comparison->arrived[1]) -
				MIN(comparison->arrived[0], comparison->arrived[1]);
			return true;
		}
		if (!comparison->lengths && (!one->there || !other->there))
			return true;
		if (one->there && other->there && are_same(one, other, sequence))
			continue;
		excuse = excuse_of(one, other, sequence);
		if (comparison->causes &&
		    (strcmp(sequence->verb, "done") != 0 || (!is_cause(one) && !is_cause(other))))
			continue;
		if (excuse < 0) {
			difference_print(one, other, sequence);
			comparison->same = false;
			return true;
		}
		comparison->excused[excuse]++;
	}
}

/* --- payload --------------------------------------------------------------------------------------------- */

/* The next Send, or receive that a Send has taken, however it ended. */
static bool
payload_next(struct cursor *cursor, const struct sequence *sequence, GError **error)
{
	const char *opcode = sequence->queue == 's' ? "send" : "recv";

	do {
		if (!cursor_next(cursor, sequence, error))
			return false;
	} while (cursor->there && strcmp(cursor->line.words[2], opcode) != 0);
	return true;
}

/* Within one run, the n-th receive has the payload of the n-th Send. */
static bool
payload_compare(struct cursor *from, struct cursor *to, const struct replay_set *set,
		const struct replay_qp *qp, struct comparison *comparison, GError **error)
{
	const struct replay_qp *peer = &g_array_index(set->qps, struct replay_qp, qp->partner);
	const struct sequence posts = {"post", 's', 'q', "payload of Sends"};
	const struct sequence receives = {"done", 'r', 'q', "payload of Sends"};
	bool good = cursor_open(from, set, qp, error) && cursor_open(to, set, peer, error);

	while (good && comparison->same) {
		good = payload_next(from, &posts, error) && payload_next(to, &receives, error);
		if (!good || !to->there || is_cut(from))
			break;
		if (replay_field(&to->line, "crc") == NULL ||
		    (from->there && replay_field(&from->line, "crc") == NULL))
			continue; /* it failed, or the recorder could not read the memory */
		if (from->there && same_field(from, to, "crc") && same_field(from, to, "len"))
			continue;
		difference_print(from, to, &posts);
		comparison->same = false;
	}
	replay_close(&from->reader);
	replay_close(&to->reader);
	return good;
}

/* --- datagrams -------------------------------------------------------------------------------------------- */

#define GRH       40u        /* octets that a receive has in front of a datagram */
#define DATAGRAMS (1u << 20) /* that are remembered */

/* "crc:length" of the datagrams to a queue pair: how many were sent, and not found at the receiver so far. */
static void
datagram_sent(GHashTable *sent, const struct replay_line *line)
{
	const char *sum = replay_field(line, "crc"), *length = replay_field(line, "len");
	g_autofree char *key =
		g_strdup_printf("%s:%s", sum != NULL ? sum : "-", length != NULL ? length : "-");
	guint before = GPOINTER_TO_UINT(g_hash_table_lookup(sent, key));

	if (before > 0 || g_hash_table_size(sent) < DATAGRAMS)
		g_hash_table_insert(sent, g_steal_pointer(&key), GUINT_TO_POINTER(before + 1));
}

static bool
datagrams_sent(struct cursor *cursor, const struct replay_set *set, const struct replay_qp *to,
	       GHashTable *sent, GError **error)
{
	const struct sequence posts = {"post", 's', 'q', ""};

	for (guint i = 0; i < set->qps->len; i++) {
		const struct replay_qp *qp = &g_array_index(set->qps, struct replay_qp, i);
		bool good = !qp->datagram || cursor_open(cursor, set, qp, error);

		while (qp->datagram && good && (good = cursor_next(cursor, &posts, error)) &&
		       cursor->there) {
			const char *qpn = replay_field(&cursor->line, "qpn");

			if (qpn != NULL && g_ascii_strtoull(qpn, NULL, 0) == to->qpn)
				datagram_sent(sent, &cursor->line);
		}
		if (qp->datagram)
			replay_close(&cursor->reader);
		if (!good)
			return false;
	}
	return true;
}

/* Was this datagram sent, and not received before? */
static bool
datagram_found(GHashTable *sent, const struct replay_line *line)
{
	const char *sum = replay_field(line, "crc"), *length = replay_field(line, "len");
	guint64 octets = g_ascii_strtoull(length != NULL ? length : "", NULL, 0);
	g_autofree char *key = g_strdup_printf("%s:%" G_GUINT64_FORMAT, sum != NULL ? sum : "-",
					       octets >= GRH ? octets - GRH : octets);
	guint before = GPOINTER_TO_UINT(g_hash_table_lookup(sent, key));

	if (before == 0)
		return false;
	g_hash_table_insert(sent, g_steal_pointer(&key), GUINT_TO_POINTER(before - 1));
	return true;
}

/* Within one run, each datagram that arrived was sent to that queue pair; any may be lost. */
static bool
datagrams_compare(struct cursor *cursor, const struct replay_set *set, const struct replay_qp *qp,
		  struct comparison *comparison, GError **error)
{
	const struct sequence receives = {"done", 'r', 'q', "datagrams"};
	g_autoptr(GHashTable) sent = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	bool good = datagrams_sent(cursor, set, qp, sent, error);

	if (!good || g_hash_table_size(sent) == DATAGRAMS)
		return good;
	good = cursor_open(cursor, set, qp, error);
	while (good && comparison->same && (good = cursor_next(cursor, &receives, error)) &&
	       cursor->there) {
		if (is_failure(cursor) || replay_field(&cursor->line, "crc") == NULL ||
		    datagram_found(sent, &cursor->line))
			continue;
		printf("nobody has sent this datagram:\n  %s:%" G_GUINT64_FORMAT ": %s\n",
		       cursor->reader.path, cursor->line.number + 1, cursor->line.whole);
		comparison->same = false;
	}
	replay_close(&cursor->reader);
	return good;
}

/* --- both runs -------------------------------------------------------------------------------------------- */

static bool
payloads_compare(struct replay_set *one, struct replay_set *other, struct cursor cursors[2],
		 struct comparison *comparison, GError **error)
{
	struct replay_set *sets[2] = {one, other};

	for (int s = 0; s < 2; s++)
		for (guint i = 0; i < sets[s]->qps->len && comparison->same; i++) {
			const struct replay_qp *qp =
				&g_array_index(sets[s]->qps, struct replay_qp, i);

			if (qp->datagram &&
			    !datagrams_compare(&cursors[0], sets[s], qp, comparison, error))
				return false;
			if (qp->partner >= 0 && !payload_compare(&cursors[0], &cursors[1], sets[s],
								 qp, comparison, error))
				return false;
		}
	return true;
}

static bool
both_open(struct replay_set *one, struct replay_set *other, struct cursor cursors[2],
	  const struct sequence *sequence, guint place, GError **error)
{
	if (sequence->of == 's')
		return cursor_open_shared(&cursors[0], one, place, error) &&
		       cursor_open_shared(&cursors[1], other, place, error);
	return cursor_open(&cursors[0], one, &g_array_index(one->qps, struct replay_qp, place),
			   error) &&
	       cursor_open(&cursors[1], other, &g_array_index(other->qps, struct replay_qp, place),
			   error);
}

/* One sequence of all queues after the other. */
static bool
queues_compare(struct replay_set *one, struct replay_set *other, struct cursor cursors[2],
	       struct comparison *comparison, GError **error)
{
	for (size_t i = 0; i < G_N_ELEMENTS(sequences); i++) {
		const struct sequence *sequence = &sequences[i];
		guint objects = sequence->of == 'q' ? one->qps->len : one->srqs->len;

		for (guint j = 0; j < objects && comparison->same; j++) {
			bool good = both_open(one, other, cursors, sequence, j, error) &&
				    sequence_compare(&cursors[0], &cursors[1], sequence, comparison,
						     error);

			replay_close(&cursors[0].reader);
			replay_close(&cursors[1].reader);
			if (!good)
				return false;
		}
	}
	return true;
}

/* Causes before consequences: failures, then other lines that differ, then lines that one side does not have. */
static bool
all_compare(struct replay_set *one, struct replay_set *other, struct cursor cursors[2],
	    struct comparison *comparison, GError **error)
{
	if (one->qps->len != other->qps->len) {
		printf("%u queue pairs, and %u\n", one->qps->len, other->qps->len);
		comparison->same = false;
		return true;
	}
	if (one->srqs->len != other->srqs->len) {
		printf("%u shared receive queues, and %u\n", one->srqs->len, other->srqs->len);
		comparison->same = false;
		return true;
	}
	if (!payloads_compare(one, other, cursors, comparison, error))
		return false;
	for (int pass = 0; pass < 3 && comparison->same; pass++) {
		*comparison = (struct comparison){
			.causes = pass == 0, .lengths = pass == 2, .same = true};
		if (!queues_compare(one, other, cursors, comparison, error))
			return false;
	}
	return true;
}

bool
replay_compare(struct replay_set *one, struct replay_set *other, bool *same, GError **error)
{
	struct comparison comparison = {.same = true};
	struct cursor *cursors = g_new0(struct cursor, 2);
	bool good = all_compare(one, other, cursors, &comparison, error);

	g_free(cursors);
	if (!good)
		return false;
	printf("excused: order of different queues, times, keys and payload across the runs\n");
	for (int i = 0; i < EXCUSES; i++)
		if (comparison.excused[i] > 0)
			printf("excused %" G_GUINT64_FORMAT " times: %s\n", comparison.excused[i],
			       excuses[i]);
	if (comparison.same)
		printf("no difference: %" G_GUINT64_FORMAT " and %" G_GUINT64_FORMAT
		       " operations of %u queue pairs\n",
		       one->operations, other->operations, one->qps->len);
	*same = comparison.same;
	return true;
}
