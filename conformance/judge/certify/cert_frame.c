/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The frame around one case: its host, its random numbers, its output, and the checks that follow
 * every case. A failure ends the process at once, without atexit functions, since the provider may
 * be in any state.
 */
#include "cert_frame.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cert_profile.h"

#define EXIT_FAILED 3 /* of the process; the runner goes by the records */

static _Thread_local unsigned in_verb;

/* --- records --------------------------------------------------------------------------------- */

void
cert_record(const struct cert_setup *setup, const char *kind, const char *const *words)
{
	g_autoptr(GString) line = g_string_new(kind);
	int fd = setup->fd >= 0 ? setup->fd : STDOUT_FILENO;

	for (; *words != NULL; words++) {
		g_autofree char *safe = g_strescape(*words, NULL);

		g_string_append_printf(line, "\t%s", safe);
	}
	g_string_append_c(line, '\n');
	if (write(fd, line->str, line->len) != (ssize_t)line->len)
		_exit(EXIT_FAILED); /* the runner is gone */
}

G_GNUC_PRINTF(3, 0)
static void
record_text(struct cert *cert, const char *kind, const char *format, va_list args)
{
	g_autofree char *text = g_strdup_vprintf(format, args);

	cert_record(cert->setup, kind, (const char *[]){text, NULL});
}

void
cert_note(struct cert *cert, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	record_text(cert, CERT_RECORD_NOTE, format, args);
	va_end(args);
}

void
cert_skip(struct cert *cert, const char *format, ...)
{
	va_list args;

	cert->skipped = true;
	va_start(args, format);
	record_text(cert, CERT_RECORD_SKIP, format, args);
	va_end(args);
}

void
cert_not_claimed(struct cert *cert, const char *format, ...)
{
	va_list args;

	cert->skipped = true;
	va_start(args, format);
	record_text(cert, CERT_RECORD_NONE, format, args);
	va_end(args);
}

void
cert_figure(struct cert *cert, const char *curve, const char *unit, double x, double y)
{
	char words[2][G_ASCII_DTOSTR_BUF_SIZE];

	g_ascii_dtostr(words[0], sizeof(words[0]), x);
	g_ascii_dtostr(words[1], sizeof(words[1]), y);
	cert_record(cert->setup, CERT_RECORD_FIGURE,
		    (const char *[]){curve, unit, words[0], words[1], NULL});
}

/* --- expectations ---------------------------------------------------------------------------- */

void
cert_failed(struct cert *cert, const char *where, const char *what, const char *expected,
	    const char *seen)
{
	const char *name = strrchr(where, '/');

	cert_record(cert->setup, CERT_RECORD_FAIL,
		    (const char *[]){name != NULL ? name + 1 : where, what, expected, seen, NULL});
	fflush(NULL);
	_exit(EXIT_FAILED);
}

void
cert_verb_begin(struct cert *cert)
{
	cert_violation_check(cert);
	in_verb++;
}

void
cert_verb_end(struct cert *cert, const char *where, const char *what)
{
	(void)where;
	(void)what;
	in_verb--;
	cert_violation_check(cert);
}

bool
cert_in_verb(void)
{
	return in_verb > 0;
}

void
cert_expect_status(struct cert *cert, const char *where, const char *what, enum ri_status seen,
		   enum ri_status expected)
{
	g_autofree char *odd = NULL;

	if (seen == expected)
		return;
	if ((unsigned)seen >= RI_STATUS_COUNT)
		odd = g_strdup_printf("%d, which is no status [RI 11.5.2]", (int)seen);
	cert_failed(cert, where, what, ri_status_name(expected),
		    odd != NULL ? odd : ri_status_name(seen));
}

void
cert_expect_true(struct cert *cert, const char *where, const char *what, bool seen)
{
	if (!seen)
		cert_failed(cert, where, what, "true", "false");
}

static bool
relation_holds(uint64_t seen, const char *relation, uint64_t expected)
{
	bool equal = relation[1] == '=';

	switch (relation[0]) {
	case '=':
		return seen == expected;
	case '!':
		return seen != expected;
	case '<':
		return seen < expected || (equal && seen == expected);
	case '>':
		return seen > expected || (equal && seen == expected);
	default:
		return false;
	}
}

typedef const char *(*value_name)(uint64_t value);

static const char *
name_of_opcode(uint64_t value)
{
	return ri_opcode_name((enum ri_opcode)value);
}

static const char *
name_of_state(uint64_t value)
{
	return ri_qp_state_name((enum ri_qp_state)value);
}

static const char *
name_of_completion(uint64_t value)
{
	return ri_wc_status_name((enum ri_wc_status)value);
}

static const char *
name_of_status(uint64_t value)
{
	return ri_status_name((enum ri_status)value);
}

static const char *
name_of_event(uint64_t value)
{
	return ri_event_name((enum ri_event)value);
}

/* What names values of this kind, by what was looked at; NULL: they are numbers. */
static value_name
names_of(const char *what)
{
	static const struct {
		const char *end;
		value_name of;
	} members[] = {{".opcode", name_of_opcode},
		       {".state", name_of_state},
		       {".status", name_of_completion},
		       {".event", name_of_event}};

	for (size_t i = 0; i < G_N_ELEMENTS(members); i++) {
		if (g_str_has_suffix(what, members[i].end))
			return members[i].of;
	}
	return strcmp(what, "status") == 0 || g_str_has_prefix(what, "cert_end_move(")
		       ? name_of_status
		       : NULL;
}

void
cert_expect_uint(struct cert *cert, const char *where, const char *what, uint64_t seen,
		 const char *relation, uint64_t expected)
{
	g_autofree char *wanted = NULL, *got = NULL;
	value_name of;

	if (relation_holds(seen, relation, expected))
		return;
	of = names_of(what);
	if (of != NULL) {
		wanted = g_strdup_printf("%s %s (%" PRIu64 ")", relation, of(expected), expected);
		got = g_strdup_printf("%s (%" PRIu64 ")", of(seen), seen);
	} else {
		wanted = g_strdup_printf("%s %" PRIu64, relation, expected);
		got = g_strdup_printf("%" PRIu64, seen);
	}
	cert_failed(cert, where, what, wanted, got);
}

void
cert_expect_bytes(struct cert *cert, const char *where, const char *what, const void *seen,
		  const void *expected, size_t length)
{
	const uint8_t *a = seen, *b = expected;

	if (length == 0 || memcmp(a, b, length) == 0)
		return;
	for (size_t i = 0; i < length; i++) {
		g_autofree char *wanted = NULL, *got = NULL;

		if (a[i] == b[i])
			continue;
		wanted = g_strdup_printf("byte %zu of %zu is 0x%02x", i, length, b[i]);
		got = g_strdup_printf("0x%02x", a[i]);
		cert_failed(cert, where, what, wanted, got);
	}
}

void
cert_violation(struct cert *cert, const char *what, const char *expected, const char *seen)
{
	pthread_mutex_lock(&cert->lock);
	if (cert->violation[0] == NULL) {
		cert->violation[0] = g_strdup(what);
		cert->violation[1] = g_strdup(expected);
		cert->violation[2] = g_strdup(seen);
	}
	pthread_mutex_unlock(&cert->lock);
}

void
cert_violation_check(struct cert *cert)
{
	char *const *told = cert->violation;
	bool some;

	pthread_mutex_lock(&cert->lock);
	some = told[0] != NULL;
	pthread_mutex_unlock(&cert->lock);
	if (some)
		cert_failed(cert, "upcall", told[0], told[1], told[2]);
}

/* --- what a case is given -------------------------------------------------------------------- */

const struct ri_provider *
cert_provider(const struct cert *cert)
{
	return cert->setup->provider;
}

const struct ri_provider *
cert_provider_raw(const struct cert *cert)
{
	return cert->setup->raw;
}

const char *
cert_adapter(const struct cert *cert)
{
	return cert->setup->adapter;
}

const struct ri_rnic_attr *
cert_attr(const struct cert *cert)
{
	return &cert->setup->attr;
}

char *
cert_claims_refusal(const struct cert *cert)
{
	return cert_claims_fault(cert->setup);
}

struct cert_host *
cert_host(const struct cert *cert)
{
	return cert->host;
}

gint64
cert_duration_us(const struct cert *cert)
{
	return cert->setup->duration_us;
}

uint64_t
cert_random(struct cert *cert)
{
	uint64_t value;

	pthread_mutex_lock(&cert->lock);
	value = cert_sequence_next(&cert->random);
	pthread_mutex_unlock(&cert->lock);
	return value;
}

uint32_t
cert_random_below(struct cert *cert, uint32_t bound)
{
	return (uint32_t)(cert_random(cert) % bound);
}

/* --- one case -------------------------------------------------------------------------------- */

/* The random numbers of a case do not depend on the cases that run before it. */
static uint64_t
seed_of(const struct cert_setup *setup, const struct cert_case *one)
{
	uint64_t seed = setup->seed;

	for (const char *at = one->id; *at != '\0'; at++)
		seed = (seed ^ (uint8_t)*at) * UINT64_C(0x100000001b3);
	return seed;
}

static void
clean_up(struct cert *cert)
{
	g_autofree char *left = NULL;

	while (cert->nodes->len > 0)
		cert_node_close(g_ptr_array_index(cert->nodes, cert->nodes->len - 1));
	cert_violation_check(cert);
	left = cert_host_left(cert->host);
	if (left != NULL)
		cert_failed(cert, "after the case",
			    "what of the host is in use when all adapters are closed", "nothing",
			    left);
}

void
cert_run(const struct cert_setup *setup, const struct cert_case *one)
{
	struct cert cert = {.setup = setup, .one = one, .random = seed_of(setup, one)};
	g_autofree char *lack = cert_profile_lack(&setup->attr, one->needs);

	cert_record(setup, CERT_RECORD_BEGIN, (const char *[]){one->id, NULL});
	if (lack == NULL) {
		pthread_mutex_init(&cert.lock, NULL);
		cert.nodes = g_ptr_array_new();
		cert.host = cert_host_new();
		if (cert.host == NULL)
			cert_skip(&cert, "there are no resources for a host");
		else
			one->run(&cert);
		if (cert.host != NULL) {
			clean_up(&cert);
			cert_host_free(cert.host);
		}
		g_ptr_array_unref(cert.nodes);
		pthread_mutex_destroy(&cert.lock);
	} else {
		cert_record(setup, CERT_RECORD_NONE, (const char *[]){lack, NULL});
	}
	cert_record(setup, CERT_RECORD_END, (const char *[]){one->id, NULL});
}
