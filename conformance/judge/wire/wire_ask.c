/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Steps that begin with `peer`: the helper does something, and what it reports of its stack is
 * compared.
 */

#include <string.h>

#include "wire_run.h"

/* Ask "VERB WORDS": numbers in which names may stand become what the helper wants. */
static char **
words_ask(struct wire_run *run, const char *verb, char *const *words, GError **error)
{
	g_autoptr(GString) out = g_string_new(verb);

	for (; *words != NULL; words++) {
		const char *equals = strchr(*words, '=');
		guint64 value;

		if (equals == NULL || g_str_has_prefix(*words, "private=")) {
			g_string_append_printf(out, " %s", *words);
			continue;
		}
		if (!wire_number(equals + 1, run->names, &value, error))
			return NULL;
		g_string_append_printf(out, " %.*s=%" G_GUINT64_FORMAT, (int)(equals - *words),
				       *words, value);
	}
	return wire_peer_ask(run->session->peer, error, "%s", out->str);
}

/* Compare a word of the answer with what the step wants, which may be several between bars. */
static gboolean
answer_fits(char *const *answer, const char *key, const char *wanted, GError **error)
{
	const char *value = wire_word_value(answer, key);
	g_auto(GStrv) choices = g_strsplit(wanted != NULL ? wanted : "", "|", -1);
	const char *why = wire_word_value(answer, "why");

	if (wanted == NULL ||
	    (value != NULL && g_strv_contains((const char *const *)choices, value)))
		return TRUE;
	return wire_fail(error, WIRE_ERROR_VERDICT, "the peer says %s=%s (%s), expected %s", key,
			 value, why != NULL ? why : "", wanted);
}

static guint
patience_ms(const struct wire_run *run)
{
	return (guint)(run->session->patience_us / 1000);
}

/* Whether a completion is of the queue that a step means: that of receives, or the other. */
static gboolean
queue_fits(char *const *answer, const char *wanted)
{
	const char *op = wire_word_value(answer, "op");

	if (wanted == NULL || strchr(wanted, '|') != NULL)
		return TRUE;
	return (g_strcmp0(op, "receive") == 0) == (strcmp(wanted, "receive") == 0);
}

/*
 * The next completion of the queue of operation `wanted`. The two queues of an endpoint have no order between them, so
 * completions of the other queue that come first are kept for later steps.
 */
static char **
next_completion(struct wire_run *run, const char *wanted, GError **error)
{
	char **answer;

	for (GList *early = run->early.head; early != NULL; early = early->next) {
		answer = early->data;
		if (queue_fits(answer, wanted)) {
			g_queue_delete_link(&run->early, early);
			return answer;
		}
	}
	for (;;) {
		answer = wire_peer_ask(run->session->peer, error, "done e within=%u",
				       patience_ms(run));
		if (answer == NULL || queue_fits(answer, wanted))
			return answer;
		g_queue_push_tail(&run->early, answer);
	}
}

gboolean
wire_run_none_early(struct wire_run *run, GError **error)
{
	char *const *answer = g_queue_peek_head(&run->early);

	return answer == NULL ||
	       wire_fail(error, WIRE_ERROR_VERDICT,
			 "the peer says op=%s (%s), which no step expects",
			 wire_word_value(answer, "op"), wire_word_value(answer, "status"));
}

/* peer done OP STATUS [LEN] */
static gboolean
done_step(struct wire_run *run, char *const *words, GError **error)
{
	g_auto(GStrv) answer = next_completion(run, words[2], error);
	const char *status = words[2] != NULL ? words[3] : NULL;

	return answer != NULL && answer_fits(answer, "op", words[2], error) &&
	       answer_fits(answer, "status", status, error) &&
	       answer_fits(answer, "len", status != NULL ? words[4] : NULL, error);
}

/* peer event KIND [private=N] */
static gboolean
event_step(struct wire_run *run, char *const *words, GError **error)
{
	g_auto(GStrv) answer =
		wire_peer_ask(run->session->peer, error, "event e within=%u", patience_ms(run));
	const char *wanted = wire_word_value(words, "private");
	const char *data = answer != NULL ? wire_word_value(answer, "private") : NULL;
	guint64 len = 0;
	gboolean ended;

	/* "ended" is what a stack says that does not tell its user how a connection ended. */
	ended = answer != NULL && g_strcmp0(wire_word_value(answer, "event"), "ended") == 0 &&
		g_regex_match_simple("broken|disconnected", words[2] != NULL ? words[2] : "", 0, 0);
	if (answer == NULL || (!ended && !answer_fits(answer, "event", words[2], error)) ||
	    (wanted != NULL && !wire_number(wanted, NULL, &len, error)))
		return FALSE;
	if (wanted == NULL || (data != NULL && strlen(data) == len * 2))
		return TRUE;
	return wire_fail(error, WIRE_ERROR_VERDICT,
			 "the peer got %" G_GSIZE_FORMAT " octets of private data, expected %s",
			 data != NULL ? strlen(data) / 2 : 0, wanted);
}

/* The answer to `accept` or `reject`: the peer's user got `request` octets of private data. */
static gboolean
accepted_step(struct wire_run *run, char *const *words, GError **error)
{
	g_auto(GStrv) answer = wire_peer_answer(run->session->peer, error);
	const char *data = answer != NULL ? wire_word_value(answer, "private") : NULL;
	guint64 got;

	if (answer == NULL || !wire_run_number(run, words, "request",
					       data != NULL ? strlen(data) / 2 : 0, &got, error))
		return FALSE;
	if (data != NULL && strlen(data) == got * 2)
		return TRUE;
	return wire_fail(error, WIRE_ERROR_VERDICT,
			 "the peer got %" G_GSIZE_FORMAT " octets of private data, expected "
			 "%" G_GUINT64_FORMAT,
			 data != NULL ? strlen(data) / 2 : 0, got);
}

/* peer accept|reject [private=N]: N octets of the pattern; with `later` the answer is that of `accepted` */
static gboolean
answer_step(struct wire_run *run, char *const *words, GError **error)
{
	gboolean accept = strcmp(words[1], "accept") == 0;
	g_autofree char *hex = NULL;
	guint64 len;

	if (!wire_run_number(run, words, "private", 0, &len, error))
		return FALSE;
	hex = wire_private_hex(len);
	wire_peer_tell(run->session->peer, "%s within=%u private=%s",
		       accept ? "accept e" : "reject", patience_ms(run), hex);
	return wire_word_is_there(words, "later") || accepted_step(run, words, error);
}

/* peer word REGION at=N VALUE: a word of 8 octets; peer poke REGION at=N value=N */
static gboolean
word_step(struct wire_run *run, char *const *words, GError **error)
{
	const char *verb = strcmp(words[1], "poke") == 0 ? "poke" : "peek";
	g_auto(GStrv) answer = words_ask(run, verb, words + 2, error);
	const char *wanted = wire_word_value(words, "is");
	guint64 value;

	if (answer == NULL)
		return FALSE;
	if (wanted == NULL)
		return TRUE;
	if (!wire_number(wanted, run->names, &value, error))
		return FALSE;
	if (g_ascii_strtoull(wire_word_value(answer, "value"), NULL, 10) == value)
		return TRUE;
	return wire_fail(error, WIRE_ERROR_VERDICT, "the word of the peer is %s, expected %s",
			 wire_word_value(answer, "value"), wanted);
}

gboolean
wire_peer_step(struct wire_run *run, char *const *words, GError **error)
{
	const char *verb = words[1] != NULL ? words[1] : "";
	g_auto(GStrv) answer = NULL;

	if (strcmp(verb, "done") == 0)
		return done_step(run, words, error);
	if (strcmp(verb, "event") == 0)
		return event_step(run, words, error);
	if (strcmp(verb, "accept") == 0 || strcmp(verb, "reject") == 0)
		return answer_step(run, words, error);
	if (strcmp(verb, "accepted") == 0)
		return accepted_step(run, words, error);
	if (strcmp(verb, "word") == 0 || strcmp(verb, "poke") == 0)
		return word_step(run, words, error);
	if (strcmp(verb, "load") == 0)
		return wire_load_step(run, words, error);
	if (strcmp(verb, "idle") == 0)
		return wire_idle_step(run, error);
	if (strcmp(verb, "kill") == 0)
		return wire_own_kill(run->session, error);
	if (strcmp(verb, "disconnect") == 0)
		answer = wire_peer_ask(run->session->peer, error, "disconnect e");
	else if (strcmp(verb, "post") == 0)
		answer = words_ask(run, "post e", words + 2, error);
	else if (strcmp(verb, "holds") ==
		 0) /* REGION ...: its memory has the pattern, or one value */
		answer = words_ask(run, "compare", words + 2, error);
	else if (strcmp(verb, "drop") == 0 && words[2] != NULL)
		answer = wire_peer_ask(run->session->peer, error, "drop %s", words[2]);
	else
		return wire_fail(error, WIRE_ERROR_SCRIPT, "'%s' is nothing that a peer does",
				 verb);
	return answer != NULL;
}
