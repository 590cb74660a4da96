/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */
#ifndef CERTIFY_RUN_H
#define CERTIFY_RUN_H

/**
 * @file certify_run.h
 * @brief Runs cases: those of it-certify-cases, and those of the test programs of IT-API and of the model.
 */

#include "certify_report.h"

/** What is certified, and how. */
struct certify_run {
	struct certify_report *report;
	const char *provider;  /**< shared object, or NULL */
	char *adapter;         /**< NULL until the profile was read: the first one */
	const char *cases;     /**< the program it-certify-cases */
	const char *installed; /**< folder of installed providers, or NULL */
	const char *programs;  /**< folder of the test programs */
	char **levels;         /**< names, or NULL: all */
	char **globs;          /**< of ids, or NULL: all */
	bool quick;
	uint64_t seed;
	double patience; /**< seconds */
	double duration; /**< of a case of endurance, seconds */
	unsigned limit;  /**< seconds, of a case without a limit of its own */
	int count;       /**< programs of the model */
	char *folder;    /**< of our own: its only file is the provider; or NULL */
	char **environment;
	unsigned done;  /**< cases that have run, for the progress */
	gint64 told_us; /**< when a line of progress is due */
};

/** A case of this id and level is wanted. */
bool certify_wanted(const struct certify_run *run, const char *id, enum certify_level level,
		    unsigned flags);
/** Tells a person at a terminal which case runs; NULL: none any more. */
void certify_progress(struct certify_run *run, const struct certify_case *one);
/** The end of a run of a case that is good. A failure of an earlier run stays. */
void certify_case_end(struct certify_run *run, struct certify_case *one,
		      enum certify_outcome outcome, const char *reason);
/** The end of a run of a case by a failure. */
void certify_case_end_failed(struct certify_run *run, struct certify_case *one,
			     const char *const told[4], const char *output);

/** Adds the cases of it-certify-cases that are wanted. */
bool certify_cases_list(struct certify_run *run, GError **error);
/** Reads what is certified. If the provider cannot be loaded, that becomes a failed case, and the result is false. */
bool certify_cases_profile(struct certify_run *run, GError **error);
/** Runs those of one level. False: the run is over (a signal, or the program cannot be started). */
bool certify_cases_run(struct certify_run *run, enum certify_level level, GError **error);

/** Adds the cases of the test programs that are wanted. */
bool certify_programs_list(struct certify_run *run, GError **error);
/** Runs those of one level. */
bool certify_programs_run(struct certify_run *run, enum certify_level level, GError **error);

/** Facts about the machine, and the digest of the object. */
void certify_machine_tell(const struct certify_run *run);

#endif /* CERTIFY_RUN_H */
