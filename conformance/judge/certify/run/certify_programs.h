/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */
#ifndef CERTIFY_PROGRAMS_H
#define CERTIFY_PROGRAMS_H

/**
 * @file certify_programs.h
 * @brief The test programs of IT-API: the subject of each, and which of their tests settle claims of the
 * profile.
 */

#include <glib.h>
#include <stdbool.h>

/** The program test-itapi-NAME. */
struct certify_program {
	const char *name;
	const char *title; /**< of all its tests */
	const char *rule;  /**< paragraphs */
	bool slow;         /**< left out by --quick */
	unsigned seconds;  /**< time limit of a test; 0: that of the run */
};

/** A name, and what is said of it. */
struct certify_text {
	const char *name;
	const char *text;
};

/** Titles of the tests, by their paths without the adapter; made from the comments of the tests. Ends with a NULL name. */
extern const struct certify_text certify_titles[];
/** Meanings of the attributes of the profile; made from the comments of struct ri_rnic_attr. Ends with a NULL name. */
extern const struct certify_text certify_meanings[];
/** The text of that name; NULL: no text has the name. */
const char *certify_text_of(const struct certify_text *all, const char *name);

/** An assertion that did not hold. All texts are owned. */
struct certify_assertion {
	char *where; /**< file, line and function */
	char *what;  /**< the expression */
	char *seen;  /**< its values; NULL: it has none */
};

/** The last assertion in the output of a program; false: the output has no assertion. */
bool certify_assertion_read(const char *output, struct certify_assertion *found);
void certify_assertion_clear(struct certify_assertion *found);

/** In the order of the run; ends with a NULL name. The build installs those that stand here. */
extern const struct certify_program certify_programs[];

/**
 * The tests that settle claims of the profile: their paths without the adapter, and the attributes that each settles,
 * separated by spaces. Ends with a NULL name.
 */
extern const struct certify_text certify_settling[];

/** What the level model settles. */
extern const char certify_model_settles[];

#endif /* CERTIFY_PROGRAMS_H */
