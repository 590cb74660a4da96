/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */
#ifndef CERTIFY_PROGRAMS_H
#define CERTIFY_PROGRAMS_H

/**
 * @file certify_programs.h
 * @brief The test programs of IT-API: what each judges, and which claims of the profile it settles.
 */

#include <stdbool.h>

/** The program test-itapi-NAME. */
struct certify_program {
	const char *name;
	const char *title;   /**< of all its tests */
	const char *rule;    /**< paragraphs */
	const char *settles; /**< attributes, separated by spaces; "": none */
	bool slow;           /**< left out by --quick */
	unsigned seconds;    /**< time limit of a test; 0: that of the run */
};

/** In the order of the run; ends with a NULL name. The build installs those that stand here. */
extern const struct certify_program certify_programs[];

/** What the level model settles. */
extern const char certify_model_settles[];

#endif /* CERTIFY_PROGRAMS_H */
