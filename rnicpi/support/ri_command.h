/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Commands that request faults: text in words. vp/emul runs them (vem_script.c), and so does the wrapper of
 * conformance/bad/defects (faulty_script.c). This file reads what both have: a list of commands with semicolons between,
 * the words of one, numbers, and the command that lets a call fail:
 *
 *     call VERB N STATUS    the Nth call of that verb from now on returns STATUS, once
 *
 * Each user has its own list of verbs. STATUS is one of resources, limit, busy, fatal, permission, full (of a post), none.
 * A word that is not in its list is refused with a near one, or with the whole list; the command "help" makes each user
 * tell its commands and lists.
 */
#ifndef RI_COMMAND_H
#define RI_COMMAND_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ri_near.h"
#include "rnicpi_types.h"

#define RI_COMMAND_WORDS 6
#define RI_COMMAND_LINE  128
#define RI_COMMAND_WHY   512 /* of a reason, with the longest list */

/* A command, split in words; words that are missing are empty. */
struct ri_command {
	char line[RI_COMMAND_LINE];
	const char *word[RI_COMMAND_WORDS];
	unsigned count;
	char why[RI_COMMAND_WHY]; /* room for a reason why it is refused */
};

/* What "call VERB N STATUS" says. */
struct ri_command_call {
	uint32_t verb;   /* index in the list of verbs */
	uint32_t number; /* at least 1 */
	enum ri_status status;
};

static inline bool
ri_command_is(const struct ri_command *command, unsigned at, const char *word)
{
	return strcmp(command->word[at], word) == 0;
}

/* False: it is too long. */
static inline bool
ri_command_split(struct ri_command *command, const char *text, size_t len)
{
	char *rest = NULL;

	memset(command, 0, sizeof(*command));
	if (len >= sizeof(command->line))
		return false;
	memcpy(command->line, text, len);
	for (unsigned i = 0; i < RI_COMMAND_WORDS; i++)
		command->word[i] = "";
	for (char *w = strtok_r(command->line, " \t\n", &rest); w != NULL;
	     w = strtok_r(NULL, " \t\n", &rest)) {
		if (command->count == RI_COMMAND_WORDS)
			return false;
		command->word[command->count++] = w;
	}
	return true;
}

/* *out: a number from 1 on, or 0 for "last". False: the word is neither. */
static inline bool
ri_command_number(const char *word, uint32_t *out)
{
	char *end = NULL;

	*out = 0;
	if (strcmp(word, "last") == 0)
		return true;
	if (*word < '1' || *word > '9')
		return false;
	unsigned long value = strtoul(word, &end, 10);
	*out = (uint32_t)value;
	return *end == '\0' && value <= UINT32_MAX;
}

/* The index of a word in a list; `count` if it is not there. */
static inline uint32_t
ri_command_find(const char *const *words, uint32_t count, const char *word)
{
	uint32_t i = 0;

	while (i < count && strcmp(words[i], word) != 0)
		i++;
	return i;
}

/* Writes "head: a, b, c" into `out`, cut at its end. */
static inline void
ri_command_list(char *out, size_t room, const char *head, const char *const *words, uint32_t count)
{
	int at = snprintf(out, room, "%s:", head);

	for (uint32_t i = 0; at > 0 && (size_t)at < room && i < count; i++) {
		int more =
			snprintf(out + at, room - (size_t)at, "%s %s", i > 0 ? "," : "", words[i]);

		at = more < 0 ? more : at + more;
	}
}

/* The reason to refuse a word that is not in a list, which the command keeps: a near word, or all. */
static inline const char *
ri_command_unknown(struct ri_command *command, unsigned at, const char *what,
		   const char *const *words, uint32_t count)
{
	char head[RI_COMMAND_LINE + 40];
	const char *best = NULL;
	unsigned least = 0;

	for (uint32_t i = 0; i < count; i++) {
		unsigned found;

		if (!ri_near(command->word[at], words[i], &found) ||
		    (best != NULL && found >= least))
			continue;
		best = words[i];
		least = found;
	}
	if (best != NULL) {
		(void)snprintf(command->why, sizeof(command->why),
			       "there is no %s '%s'; did you mean '%s'?", what, command->word[at],
			       best);
		return command->why;
	}
	(void)snprintf(head, sizeof(head), "there is no %s '%s', but", what, command->word[at]);
	ri_command_list(command->why, sizeof(command->why), head, words, count);
	return command->why;
}

static const char *const ri_command_statuses[] = {
	"resources", "limit", "busy", "fatal", "permission", "full", "none",
};
static const enum ri_status ri_command_status_values[] = {
	RI_ERR_RESOURCES,  RI_ERR_LIMIT,      RI_ERR_BUSY, RI_ERR_FATAL,
	RI_ERR_PERMISSION, RI_ERR_QUEUE_FULL, RI_SUCCESS,
};
#define RI_COMMAND_STATUSES (sizeof(ri_command_statuses) / sizeof(ri_command_statuses[0]))

/* The first four words of "call VERB N STATUS"; there may be more. Returns NULL, or what is wrong. */
static inline const char *
ri_command_read_call(struct ri_command *command, const char *const *verbs, uint32_t count,
		     struct ri_command_call *out)
{
	uint32_t status;

	if (command->count < 4)
		return "wanted: call VERB N STATUS";
	out->verb = ri_command_find(verbs, count, command->word[1]);
	if (out->verb == count)
		return ri_command_unknown(command, 1, "verb", verbs, count);
	if (!ri_command_number(command->word[2], &out->number) || out->number == 0)
		return "which call? N is a number from 1 on";
	status = ri_command_find(ri_command_statuses, RI_COMMAND_STATUSES, command->word[3]);
	if (status == RI_COMMAND_STATUSES)
		return ri_command_unknown(command, 3, "status", ri_command_statuses,
					  RI_COMMAND_STATUSES);
	out->status = ri_command_status_values[status];
	return NULL;
}

/* The next command that is not blank, as *len bytes; NULL: none is left. */
static inline const char *
ri_command_next(const char **rest, size_t *len)
{
	while (**rest != '\0') {
		const char *text = *rest;

		*len = strcspn(text, ";");
		*rest = text + *len + (text[*len] == ';');
		if (strspn(text, " \t\n") < *len)
			return text;
	}
	return NULL;
}

#endif /* RI_COMMAND_H */
