/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */
#ifndef CERT_CASE_H
#define CERT_CASE_H

/**
 * @file cert_case.h
 * @brief How a case of the certification suite is written.
 *
 * A case is a function with a row in a constant table. A file cases/NAME.c has one table, CERT_SET(NAME, rows), and its
 * NAME is listed in cases/meson.build; nothing else registers it.
 *
 * Cases run in a child process, in the order of the table. The first expectation that does not hold ends the case and
 * its process: the runner starts another one for the cases behind it. So a case needs no way out of a failure, and a
 * crash, a hang or a damaged heap costs one case. Each case has a certifying host of its own (cert_host.h) and opens
 * adapters with cert_node_open(). When the case returns, the adapters that it left open are closed; then the frame
 * expects that the provider has given back all timers, tasks, watches and memory of the host, and that no upcall broke
 * the rules.
 */

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "rnicpi.h"

struct cert;

/** Properties of a case; bits. */
enum cert_flag {
	CERT_SLOW = 1u << 0,  /**< Takes longer than a second: `--quick` leaves it out. */
	CERT_FIGURE = 1u << 1 /**< It measures: cert_figure(). Its values are no reason to fail. */
};

/** One case. Texts are plain ASCII. */
struct cert_case {
	/** Level, topic and number, such as "verbs.mr.access.0012". It never changes, and no id is used twice. */
	const char *id;
	const char *title; /**< What must hold: one sentence without a full stop. */
	const char *rule;  /**< Paragraphs that it judges, such as "[RI 5.3.1] [RI 10.1]". */
	/**
	 * Attributes of the profile, by their names in ri_rnic_attr, separated by spaces: the case applies if each of
	 * them is true or not 0. "!srq": it must not be claimed; "cm_forms:RI_CM_STREAM": it must have that bit or
	 * value. NULL: it applies to every adapter.
	 */
	const char *needs;
	/**
	 * Attributes whose claim the case settles: if it passes they are proven, if it fails they are refuted. NULL: none.
	 * A case for a claim that is not made ("the verb is refused without srq") settles it, too.
	 */
	const char *settles;
	void (*run)(struct cert *cert); /**< The case. */
	unsigned flags;                 /**< CERT_* bits. */
	unsigned seconds;               /**< Time limit; 0: that of the run. */
};

/** The cases of a file. */
struct cert_set {
	const struct cert_case *cases;
	size_t count;
};

/** Defines the set of cases/NAME.c. */
#define CERT_SET(name, rows)                          \
	extern const struct cert_set cert_set_##name; \
	const struct cert_set cert_set_##name = {rows, sizeof(rows) / sizeof((rows)[0])}

/** All sets, in the order of cases/meson.build; ends with NULL. */
extern const struct cert_set *const cert_sets[];

/** @name Arguments of a case
 * @{ */
/** The provider, as the registry took it over: tables complete, a stub in the place of each absent entry. */
const struct ri_provider *cert_provider(const struct cert *cert);
/** The provider as its shared object or its entry function returned it, with its own sizes. */
const struct ri_provider *cert_provider_raw(const struct cert *cert);
/** The adapter that is certified. */
const char *cert_adapter(const struct cert *cert);
/** Its profile. */
const struct ri_rnic_attr *cert_attr(const struct cert *cert);
/** Why the library would refuse the profile, in words that the caller frees; NULL: it would not. */
char *cert_claims_refusal(const struct cert *cert);
/** A random number that only depends on the seed, the case and the calls before. */
uint64_t cert_random(struct cert *cert);
/** The same, below @p bound, which is not 0. */
uint32_t cert_random_below(struct cert *cert, uint32_t bound);
/** How long a case of the endurance level goes on, in microseconds. */
gint64 cert_duration_us(const struct cert *cert);
/** @} */

/** @name Output of a case
 * @{ */
/** A line for the report; the last ones are kept with a failure. */
void cert_note(struct cert *cert, const char *format, ...) G_GNUC_PRINTF(2, 3);
/** The case cannot be run here, for a reason that is no fault of the provider. Return then. */
void cert_skip(struct cert *cert, const char *format, ...) G_GNUC_PRINTF(2, 3);
/** The case judges nothing here, since the profile does not claim what it is about. cert_case::needs says most of it. Return then. */
void cert_not_claimed(struct cert *cert, const char *format, ...) G_GNUC_PRINTF(2, 3);
/** One point of a curve. */
void cert_figure(struct cert *cert, const char *curve, const char *unit, double x, double y);
/** @} */

/**
 * @name Expectations
 * An expectation that does not hold is recorded with the expected and the observed value, and ends the case.
 * @{
 */
/** The failure itself: @p what was expected to be @p expected, and was @p seen. */
G_NORETURN void cert_failed(struct cert *cert, const char *where, const char *what,
			    const char *expected, const char *seen);
/** For the macros below. */
void cert_verb_begin(struct cert *cert);
void cert_verb_end(struct cert *cert, const char *where, const char *what);
void cert_expect_status(struct cert *cert, const char *where, const char *what, enum ri_status seen,
			enum ri_status expected);
void cert_expect_true(struct cert *cert, const char *where, const char *what, bool seen);
void cert_expect_uint(struct cert *cert, const char *where, const char *what, uint64_t seen,
		      const char *relation, uint64_t expected);
void cert_expect_bytes(struct cert *cert, const char *where, const char *what, const void *seen,
		       const void *expected, size_t length);

#define CERT_WHERE G_STRLOC

/** Calls a control verb and expects this status. An upcall on this thread during the call is a fault. */
#define CERT_VERB(cert, expected, call)                                         \
	do {                                                                    \
		enum ri_status status_;                                         \
		cert_verb_begin(cert);                                          \
		status_ = (call);                                               \
		cert_verb_end(cert, CERT_WHERE, #call);                         \
		cert_expect_status(cert, CERT_WHERE, #call, status_, expected); \
	} while (0)
/** Calls a control verb that returns nothing; as CERT_VERB. */
#define CERT_VERB_VOID(cert, call)                      \
	do {                                            \
		cert_verb_begin(cert);                  \
		(call);                                 \
		cert_verb_end(cert, CERT_WHERE, #call); \
	} while (0)
/** Calls an entry of the fast path, in which upcalls may come, and expects this status. */
#define CERT_FAST(cert, expected, call) \
	cert_expect_status(cert, CERT_WHERE, #call, (call), expected)
/** Expects that a condition holds. */
#define CERT_TRUE(cert, condition) cert_expect_true(cert, CERT_WHERE, #condition, (condition))
/** Expects a relation (==, !=, <, <=, >, >=) between two unsigned numbers. */
#define CERT_UINT(cert, seen, relation, expected) \
	cert_expect_uint(cert, CERT_WHERE, #seen, (uint64_t)(seen), #relation, (uint64_t)(expected))
/** Expects equal memory; the report names the first byte that differs. */
#define CERT_BYTES(cert, seen, expected, length) \
	cert_expect_bytes(cert, CERT_WHERE, #seen, seen, expected, length)
/** @} */

#endif /* CERT_CASE_H */
