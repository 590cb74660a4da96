/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The helper beside a stack that it-wire judges. It makes the stack do what a case needs: expose memory, post
 * requests, accept, connect, and report what happened.
 *
 * A judge connects to its control port and asks, one line per question. The helper answers each, in order,
 * and does nothing on its own. One judge is served at a time.
 */

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "peer_child.h"
#include "peer_load.h"
#include "peer_octets.h"
#include "peer_stack.h"
#include "tool_output.h"

#define WORK_SIZE   (1u << 18) /* of an endpoint's memory for requests */
#define WITHIN_MS   "20000"
#define QUESTION    (1u << 16)
#define KEPT_PREFIX "keep"

/* An endpoint and its memory. */
struct end {
	struct peer_ep *ep;
	struct peer_region in;   /* receives */
	struct peer_region work; /* sources and sinks of requests */
	gsize in_used;           /* octets of `in` that receives have */
};

static GHashTable *ends;    /* by name: struct end */
static GHashTable *regions; /* by name: struct peer_region */

gboolean
peer_fail(GError **error, const char *format, ...)
{
	va_list args;
	g_autofree char *text = NULL;

	va_start(args, format);
	text = g_strdup_vprintf(format, args);
	va_end(args);
	g_set_error_literal(error, g_quark_from_static_string("it-wire-peer"), 0, text);
	return FALSE;
}

static const char *
word_of(char *const *words, const char *key, const char *otherwise)
{
	gsize len = strlen(key);

	for (; *words != NULL; words++) {
		if (strncmp(*words, key, len) == 0 && (*words)[len] == '=')
			return *words + len + 1;
	}
	return otherwise;
}

static guint64
number_of(char *const *words, const char *key, const char *otherwise)
{
	return g_ascii_strtoull(word_of(words, key, otherwise), NULL, 0);
}

static GByteArray *
private_of(char *const *words)
{
	GByteArray *out = g_byte_array_new();

	for (const char *at = word_of(words, "private", ""); at[0] != '\0' && at[1] != '\0';
	     at += 2) {
		guint8 octet =
			(guint8)(g_ascii_xdigit_value(at[0]) << 4 | g_ascii_xdigit_value(at[1]));

		g_byte_array_append(out, &octet, 1);
	}
	return out;
}

static gboolean
region_fill(struct peer_region *region, gsize size, gsize offset, const char *rights,
	    GError **error)
{
	void *octets = NULL;

	if (posix_memalign(&octets, 64, size + offset + 64) != 0)
		return peer_fail(error, "no memory");
	memset(octets, 0, size + offset + 64);
	region->octets = (guint8 *)octets + offset;
	region->size = size;
	if (peer_region_make(region, rights, error))
		return TRUE;
	free(octets);
	memset(region, 0, sizeof(*region));
	return FALSE;
}

static void
region_empty(struct peer_region *region)
{
	peer_region_unmake(region);
	if (region->octets != NULL)
		free((void *)((guintptr)region->octets & ~(guintptr)63));
	memset(region, 0, sizeof(*region));
}

static void
region_free(gpointer data)
{
	region_empty(data);
	g_free(data);
}

static void
end_free(gpointer data)
{
	struct end *end = data;

	if (end->ep != NULL)
		peer_ep_free(end->ep);
	region_empty(&end->in);
	region_empty(&end->work);
	g_free(end);
}

static struct end *
end_of(char *const *words, GError **error)
{
	struct end *end = words[1] != NULL ? g_hash_table_lookup(ends, words[1]) : NULL;

	if (end == NULL)
		peer_fail(error, "there is no such endpoint");
	return end;
}

/* The region NAME, or NAME.in or NAME.work of an endpoint. */
static struct peer_region *
region_of(const char *name, GError **error)
{
	const char *dot = name != NULL ? strchr(name, '.') : NULL;
	g_autofree char *first = dot != NULL ? g_strndup(name, (gsize)(dot - name)) : NULL;
	struct end *end = first != NULL ? g_hash_table_lookup(ends, first) : NULL;
	struct peer_region *region = NULL;

	if (end != NULL)
		region = strcmp(dot, ".in") == 0 ? &end->in : &end->work;
	else if (name != NULL)
		region = g_hash_table_lookup(regions, name);
	if (region == NULL)
		peer_fail(error, "there is no such region");
	return region;
}

/* --- the questions: each appends to its answer, or gives FALSE --------------------------------- */

static gboolean
ask_hello(char *const *words, GString *answer, GError **error)
{
	g_autofree char *about = peer_about();

	(void)words;
	(void)error;
	g_string_append_printf(answer, " version=1 %s", about);
	return TRUE;
}

/* ep NAME ird= ord= receives= size= off= */
static gboolean
ask_ep(char *const *words, GString *answer, GError **error)
{
	struct end *end = g_new0(struct end, 1);
	const char *off = word_of(words, "off", "");
	struct peer_ep_spec spec = {.ird = (guint)number_of(words, "ird", "16"),
				    .ord = (guint)number_of(words, "ord", "16"),
				    .receives = (guint)number_of(words, "receives", "4"),
				    .size = (guint)number_of(words, "size", "64"),
				    .reads_off = strchr(off, 'r') != NULL,
				    .writes_off = strchr(off, 'w') != NULL,
				    .in = &end->in};

	(void)answer;
	end->in_used = (gsize)spec.receives * spec.size;
	if (words[1] != NULL && region_fill(&end->in, end->in_used + 65536, 0, "", error) &&
	    region_fill(&end->work, WORK_SIZE, 0, "w", error))
		end->ep = peer_ep_new(&spec, error);
	if (end->ep != NULL) {
		g_hash_table_replace(ends, g_strdup(words[1]), end);
		return TRUE;
	}
	end_free(end);
	return FALSE;
}

/* region NAME size= rights= offset= seed= */
static gboolean
ask_region(char *const *words, GString *answer, GError **error)
{
	struct peer_region *region = g_new0(struct peer_region, 1);

	if (words[1] == NULL || !region_fill(region, number_of(words, "size", "4096"),
					     number_of(words, "offset", "0") % 64,
					     word_of(words, "rights", "rw"), error)) {
		g_free(region);
		return FALSE;
	}
	if (word_of(words, "seed", NULL) != NULL) {
		const guint64 seed = number_of(words, "seed", "0");

		for (gsize i = 0; i < region->size; i++)
			region->octets[i] = peer_pattern(seed, i);
	}
	g_hash_table_replace(regions, g_strdup(words[1]), region);
	g_string_append_printf(answer, " stag=%u to=%" G_GUINT64_FORMAT " len=%" G_GSIZE_FORMAT,
			       region->stag, region->to, region->size);
	return TRUE;
}

static void
private_tell(GString *answer, const struct peer_event *event)
{
	g_string_append(answer, " private=");
	for (gsize i = 0; i < event->len; i++)
		g_string_append_printf(answer, "%02x", event->data[i]);
}

/* accept NAME within= private= */
static gboolean
ask_accept(char *const *words, GString *answer, GError **error)
{
	g_autoptr(GByteArray) data = private_of(words);
	struct end *end = end_of(words, error);
	struct peer_event request;

	if (end == NULL || !peer_ep_accept(end->ep, (guint)number_of(words, "within", WITHIN_MS),
					   data, &request, error))
		return FALSE;
	private_tell(answer, &request);
	return TRUE;
}

/* reject within= private= */
static gboolean
ask_reject(char *const *words, GString *answer, GError **error)
{
	g_autoptr(GByteArray) data = private_of(words);
	struct peer_event request;

	if (!peer_reject((guint)number_of(words, "within", WITHIN_MS), data, &request, error))
		return FALSE;
	private_tell(answer, &request);
	return TRUE;
}

/* connect NAME host= port= timeout= private= */
static gboolean
ask_connect(char *const *words, GString *answer, GError **error)
{
	g_autoptr(GByteArray) data = private_of(words);
	struct end *end = end_of(words, error);
	const struct peer_target target = {.host = word_of(words, "host", ""),
					   .port = (guint16)number_of(words, "port", "0"),
					   .within_ms = (guint)number_of(words, "timeout", "0")};

	(void)answer;
	return end != NULL && peer_ep_connect(end->ep, &target, data, error);
}

static gboolean
ask_disconnect(char *const *words, GString *answer, GError **error)
{
	struct end *end = end_of(words, error);

	(void)answer;
	return end != NULL && peer_ep_disconnect(end->ep, error);
}

/* event NAME within= */
static gboolean
ask_event(char *const *words, GString *answer, GError **error)
{
	struct end *end = end_of(words, error);
	struct peer_event event;

	if (end == NULL ||
	    !peer_ep_event(end->ep, (guint)number_of(words, "within", WITHIN_MS), &event, error))
		return FALSE;
	g_string_append_printf(answer, " event=%s why=%s", event.kind, event.why);
	private_tell(answer, &event);
	return TRUE;
}

/* done NAME within= */
static gboolean
ask_done(char *const *words, GString *answer, GError **error)
{
	struct end *end = end_of(words, error);
	struct peer_done done;

	if (end == NULL ||
	    !peer_ep_done(end->ep, (guint)number_of(words, "within", WITHIN_MS), &done, error))
		return FALSE;
	g_string_append_printf(answer, " op=%s status=%s why=%s len=%" G_GUINT64_FORMAT, done.op,
			       done.status, done.why, done.len);
	return TRUE;
}

/* post NAME OP len= stag= to= value= compare= seed= */
static gboolean
ask_post(char *const *words, GString *answer, GError **error)
{
	struct end *end = end_of(words, error);
	struct peer_work work;

	(void)answer;
	if (end == NULL || words[2] == NULL)
		return FALSE;
	work = (struct peer_work){.op = words[2],
				  .at = &end->work,
				  .len = number_of(words, "len", "0"),
				  .stag = (guint32)number_of(words, "stag", "0"),
				  .to = number_of(words, "to", "0"),
				  .value = number_of(words, "value", "0"),
				  .compare = number_of(words, "compare", "0")};
	if (strcmp(work.op, "receive") == 0) {
		work.at = &end->in;
		/* Cases that post so many wait for the earlier ones. */
		if (work.len > work.at->size - end->in_used)
			end->in_used = 0;
		work.offset = end->in_used;
		end->in_used += work.len;
	}
	if (work.len > work.at->size - work.offset)
		return peer_fail(error, "the memory of the endpoint is too small");
	if (word_of(words, "seed", NULL) != NULL)
		peer_octets_fill(work.at->octets, work.len, number_of(words, "seed", "0"));
	return peer_ep_post(end->ep, &work, error);
}

/* compare REGION at= len= seed= from=, or value= for octets that are all the same */
static gboolean
ask_compare(char *const *words, GString *answer, GError **error)
{
	struct peer_region *region = region_of(words[1], error);
	guint64 at = number_of(words, "at", "0");
	guint64 len = number_of(words, "len", "0");
	const guint64 value = number_of(words, "value", "0");
	const guint64 seed = number_of(words, "seed", "0");
	const guint64 from = number_of(words, "from", "0");
	const gboolean same = word_of(words, "value", NULL) != NULL;

	if (region == NULL)
		return FALSE;
	if (at > region->size || len > region->size - at)
		return peer_fail(error, "that is outside of the region");
	for (guint64 i = 0; i < len; i++) {
		guint8 want = same ? (guint8)value : peer_pattern(seed, from + i);
		guint8 octet = peer_octet_get(region->octets + at + i);

		if (octet != want)
			return peer_fail(error,
					 "octet %" G_GUINT64_FORMAT " of %s is %02x, not %02x",
					 at + i, words[1], octet, want);
	}
	(void)answer;
	return TRUE;
}

/* poke REGION at= value=: a word of 8 octets in native order; peek REGION at= */
static gboolean
ask_poke(char *const *words, GString *answer, GError **error)
{
	struct peer_region *region = region_of(words[1], error);
	guint64 at = number_of(words, "at", "0");
	guint64 value = number_of(words, "value", "0");

	if (region == NULL)
		return FALSE;
	if (region->size < 8 || at > region->size - 8)
		return peer_fail(error, "that is outside of the region");
	if (strcmp(words[0], "poke") == 0)
		peer_word_set(region->octets + at, value);
	g_string_append_printf(answer, " value=%" G_GUINT64_FORMAT,
			       peer_word_get(region->octets + at));
	return TRUE;
}

/* drop NAME: a region or an endpoint */
static gboolean
ask_drop(char *const *words, GString *answer, GError **error)
{
	(void)answer;
	if (words[1] != NULL &&
	    (g_hash_table_remove(ends, words[1]) || g_hash_table_remove(regions, words[1])))
		return TRUE;
	return peer_fail(error, "there is nothing of that name");
}

static gboolean
is_of_a_case(gpointer key, gpointer value, gpointer arg)
{
	(void)value;
	(void)arg;
	return !g_str_has_prefix(key, KEPT_PREFIX);
}

static gboolean
ask_reset(char *const *words, GString *answer, GError **error)
{
	(void)words;
	(void)answer;
	(void)error;
	g_hash_table_foreach_remove(ends, is_of_a_case, NULL);
	g_hash_table_foreach_remove(regions, is_of_a_case, NULL);
	peer_reject_all();
	return TRUE;
}

static gboolean
ask_listen(char *const *words, GString *answer, GError **error)
{
	return peer_listen_again(error) && ask_hello(words, answer, error);
}

static const struct {
	const char *verb;
	gboolean (*ask)(char *const *words, GString *answer, GError **error);
} questions[] = {
	{"hello", ask_hello},      {"ep", ask_ep},
	{"region", ask_region},    {"accept", ask_accept},
	{"reject", ask_reject},    {"connect", ask_connect},
	{"event", ask_event},      {"done", ask_done},
	{"post", ask_post},        {"drop", ask_drop},
	{"compare", ask_compare},  {"disconnect", ask_disconnect},
	{"poke", ask_poke},        {"peek", ask_poke},
	{"reset", ask_reset},      {"listen", ask_listen},
	{"child", peer_ask_child}, {"kill", peer_ask_kill},
	{"load", peer_ask_load},
};

/* The answer to one line; free with g_string_free(). */
static GString *
answer_of(const char *line)
{
	g_auto(GStrv) words = g_strsplit(line, " ", -1);
	g_autoptr(GError) error = NULL;
	GString *answer = g_string_new("ok");

	for (gsize i = 0; i < G_N_ELEMENTS(questions); i++) {
		if (words[0] == NULL || strcmp(words[0], questions[i].verb) != 0)
			continue;
		if (!questions[i].ask(words, answer, &error))
			g_string_printf(answer, "no %s",
					error != NULL ? error->message : "wrong question");
		g_string_append_c(answer, '\n');
		return answer;
	}
	g_string_assign(answer, "no such question\n");
	return answer;
}

static void
serve_judge(FILE *in, int out)
{
	g_autofree char *line = g_malloc(QUESTION);

	while (fgets(line, (int)QUESTION, in) != NULL) {
		GString *answer = answer_of(g_strchomp(line));
		gboolean sent =
			send(out, answer->str, answer->len, MSG_NOSIGNAL) == (ssize_t)answer->len;

		g_string_free(answer, TRUE);
		if (!sent)
			break;
	}
	g_hash_table_remove_all(ends);
	g_hash_table_remove_all(regions);
	peer_child_kill();
}

/* A listening socket on a port of all addresses of IPv4 and IPv6, or of this host only. */
static int
listener_open(guint16 port, gboolean anywhere)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
	socklen_t len = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int one = 1;

	address.sin_addr.s_addr = htonl(anywhere ? INADDR_ANY : INADDR_LOOPBACK);
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (fd < 0 || bind(fd, (struct sockaddr *)&address, len) != 0 || listen(fd, 1) != 0 ||
	    getsockname(fd, (struct sockaddr *)&address, &len) != 0)
		return -1;
	printf("control %u\n", ntohs(address.sin_port));
	fflush(stdout);
	return fd;
}

static void
serve_judges(int listener, gboolean forever)
{
	for (gboolean again = TRUE; again; again = forever) {
		int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
		FILE *in = fd >= 0 ? fdopen(fd, "r") : NULL;

		if (in == NULL)
			continue;
		serve_judge(in, fd);
		fclose(in);
	}
}

int
main(int argc, char **argv)
{
	g_autofree char *adapter = NULL;
	gboolean forever = FALSE;
	gboolean anywhere = FALSE;
	int port = 0;
	GOptionEntry entries[] = {
		{"adapter", 'a', 0, G_OPTION_ARG_STRING, &adapter,
		 "The adapter (default: iwarp, or the first device)", "NAME"},
		{"port", 'p', 0, G_OPTION_ARG_INT, &port,
		 "TCP port of the control connection (default: any)", "PORT"},
		{"anywhere", 0, 0, G_OPTION_ARG_NONE, &anywhere,
		 "Let judges of other hosts control this host's stack", NULL},
		{"persistent", 'P', 0, G_OPTION_ARG_NONE, &forever, "Serve judges until stopped",
		 NULL},
		{NULL, 0, 0, G_OPTION_ARG_NONE, NULL, NULL, NULL},
	};
	g_autoptr(GOptionContext) context =
		g_option_context_new("- makes a stack do what it-wire needs");
	g_autoptr(GError) error = NULL;
	int listener;

	tool_output_watch();
	g_option_context_add_main_entries(context, entries, NULL);
	if (!g_option_context_parse(context, &argc, &argv, &error) || argc > 1 || port < 0 ||
	    port > 65535) {
		fprintf(stderr, "it-wire-peer: %s\n",
			error != NULL ? error->message : "wrong command line; see --help");
		return 2;
	}
	ends = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, end_free);
	regions = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, region_free);
	peer_child_like(adapter, anywhere);
	if (!peer_open(adapter, &error)) {
		fprintf(stderr, "it-wire-peer: %s\n", error->message);
		return 1;
	}
	listener = listener_open((guint16)port, anywhere);
	if (listener < 0) {
		fprintf(stderr, "it-wire-peer: cannot listen: %s\n", g_strerror(errno));
		return 1;
	}
	serve_judges(listener, forever);
	close(listener);
	g_hash_table_unref(ends);
	g_hash_table_unref(regions);
	peer_close();
	return 0;
}
