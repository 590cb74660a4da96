/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */
#ifndef CERTIFY_REPORT_H
#define CERTIFY_REPORT_H

/**
 * @file certify_report.h
 * @brief What a run of it-certify has found.
 */

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/** Version of the JSON form: grows when a member changes its meaning or goes. */
#define CERTIFY_SCHEMA 1

/** Levels, in the order in which they run. */
enum certify_level {
	CERTIFY_BORDER,
	CERTIFY_VERBS,
	CERTIFY_API,
	CERTIFY_MODEL,
	CERTIFY_ENDURANCE,
	CERTIFY_FIGURES,
	CERTIFY_LEVELS
};

/** What became of a case. */
enum certify_outcome {
	CERTIFY_PENDING, /**< Not run (yet). */
	CERTIFY_PASSED,
	CERTIFY_FAILED,
	CERTIFY_SKIPPED, /**< It cannot be tested here. */
	CERTIFY_ABSENT,  /**< It does not apply to the profile. */
	CERTIFY_OUTCOMES
};

/** A case and its outcome. All texts are owned; NULL: there is none. */
struct certify_case {
	char *id;
	char *title;
	char *rule;
	char *settles;       /**< attributes, separated by spaces */
	const char *program; /**< of certify_programs, whose test it is */
	bool aborted; /**< a failure: its process ended, and no expectation of the case is the reason */
	enum certify_level level;
	unsigned flags;   /**< enum cert_flag */
	unsigned seconds; /**< time limit */
	enum certify_outcome outcome;
	char *reason; /**< why it was skipped or does not apply */
	char *where;  /**< of a failure */
	char *what;
	char *expected;
	char *seen;
	char *output;    /**< of a failure: what the process printed last */
	uint64_t seed;   /**< of the run that counts */
	double took;     /**< seconds */
	unsigned runs;   /**< with --repeat */
	unsigned failed; /**< of them */
};

/** A point of a curve. */
struct certify_point {
	char *curve;
	char *unit;
	double x;
	double y;
};

/** What the cases say about a claim of the profile. */
enum certify_truth {
	CERTIFY_UNTESTED,
	CERTIFY_PROVEN,
	CERTIFY_REFUTED,
	CERTIFY_TRUTHS
};

/** An attribute of the profile. */
struct certify_claim {
	char *name;
	char *value;
	const char *meaning; /**< NULL: not known */
	bool informs;        /**< text or a hint, which promises nothing */
	enum certify_truth truth;
	char *by; /**< the case that proves or refutes it */
};

/** A fact of the run: provider, adapter, object, digest, kernel, processor and so on. */
struct certify_fact {
	char *name;
	char *value;
};

/** Cases that a run leaves out. */
struct certify_left {
	enum certify_level level;
	unsigned cases; /**< 0: not counted */
	char *why;
};

/** A run. */
struct certify_report {
	GPtrArray *left;   /**< struct certify_left */
	GPtrArray *cases;  /**< struct certify_case, in the order of the run */
	GPtrArray *points; /**< struct certify_point */
	GPtrArray *claims; /**< struct certify_claim, in the order of the profile */
	GPtrArray *facts;  /**< struct certify_fact, in the order of the page */
	const char *scope; /**< "whole", "quick" or "part" */
	uint64_t seed;
	gint64 began_us; /**< since 1970 */
	double took;     /**< seconds */
	char *again; /**< the command up to the case and its seed, which repeats one; without paths of the machine */
	char *here; /**< likewise as it works here; NULL: as @ref again */
};

void certify_report_init(struct certify_report *report);
void certify_report_clear(struct certify_report *report);
/** A case that is pending. */
struct certify_case *certify_case_add(struct certify_report *report, const char *id,
				      enum certify_level level);
struct certify_case *certify_case_find(const struct certify_report *report, const char *id);
void certify_point_add(struct certify_report *report, const char *curve, const char *unit, double x,
		       double y);
void certify_claim_add(struct certify_report *report, const char *name, const char *value,
		       bool informs);
void certify_fact_add(struct certify_report *report, const char *name, const char *value);
/** A case is left out, or (with 0) a level whose cases are not listed. */
void certify_left_add(struct certify_report *report, enum certify_level level, const char *why,
		      unsigned cases);
/** A copy of a text in which no path of this machine leads further than to the name of a file. The caller frees it. */
char *certify_text_clean(const char *text);
/** Value of a fact; "" if there is none. */
const char *certify_fact(const struct certify_report *report, const char *name);
/** A failure, of which the texts are copied. Texts that are no UTF-8 are made so. */
void certify_case_fail(struct certify_case *one, const char *where, const char *what,
		       const char *expected, const char *seen);

/** Judges the claims by the cases; to be called when all have run. */
void certify_report_settle(struct certify_report *report);
unsigned certify_count(const struct certify_report *report, enum certify_level level,
		       enum certify_outcome outcome);
/** Of all levels. */
unsigned certify_count_all(const struct certify_report *report, enum certify_outcome outcome);
/** Certified: something passed, nothing failed, nothing is pending. */
bool certify_is_good(const struct certify_report *report);
/** "passed", "failed" or "not run"; a level of which nothing applies or can be tested is "not tested". */
const char *certify_level_verdict(const struct certify_report *report, enum certify_level level);
/** The command that repeats a case, without paths of this machine; the caller frees it. */
char *certify_again(const struct certify_report *report, const struct certify_case *one);

const char *certify_level_name(enum certify_level level);
/** CERTIFY_LEVELS: there is none of that name. */
enum certify_level certify_level_of(const char *name);
const char *certify_outcome_name(enum certify_outcome outcome);
const char *certify_truth_name(enum certify_truth truth);

#endif /* CERTIFY_REPORT_H */
