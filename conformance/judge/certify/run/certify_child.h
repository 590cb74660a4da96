/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */
#ifndef CERTIFY_CHILD_H
#define CERTIFY_CHILD_H

/**
 * @file certify_child.h
 * @brief A process under a time limit, which is read while it runs.
 */

#include <glib.h>
#include <stdbool.h>

/** Octets of what a process printed last that are kept. */
#define CERTIFY_OUTPUT 4096
/** How long a program may take to list what it has, in microseconds. */
#define CERTIFY_LIST_US (300 * G_USEC_PER_SEC)

/** A process. */
struct certify_child {
	/* Set by the caller. */
	char *const *argv;
	char **environment;
	/** A line, without its end. With @ref on_stdout those of stdout, otherwise those of descriptor 3. */
	void (*line)(struct certify_child *child, const char *line);
	void *self; /**< for @ref line */
	bool on_stdout;
	gint64 limit_us; /**< from the start and from each line on that sets @ref progress */
	/* In between and after. */
	bool progress;   /**< to be set by @ref line: the time limit begins again */
	GString *output; /**< the last octets of stdout and stderr */
	int status;      /**< of waitpid() */
	bool hung;       /**< it was ended at its limit */
};

/** Runs it to its end. False: it could not be started, or the user stops the run (tool_signal.h). Clear it in each case. */
bool certify_child_run(struct certify_child *child, GError **error);
/** What it printed last, as text that the caller frees. */
char *certify_child_output(const struct certify_child *child);
/** How it ended, in words that the caller frees; NULL: with status 0. */
char *certify_child_fault(const struct certify_child *child);
void certify_child_clear(struct certify_child *child);

#endif /* CERTIFY_CHILD_H */
