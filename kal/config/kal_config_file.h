/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Reads a file of groups, keys and values line by line (the grammar is in kal_config.h), strictly. */
#ifndef KAL_CONFIG_FILE_H
#define KAL_CONFIG_FILE_H

#include "kal_config.h"

/* One line; the texts are valid for the call. */
struct kal_config_line {
	const char *group;
	const char *key;   /* NULL: the group begins */
	const char *value; /* without escapes */
	unsigned number;   /* of the line, from 1 */
};

/* What the function of kal_config_read answers if there is no memory. */
extern const char kal_config_no_memory[];

/*
 * Call `set` for each group and each key. It returns NULL, or a text that says what is wrong with
 * the line. Results as of kal_config_load; `why` begins with "FILE:LINE: [group] key: ", or with as
 * much of that as is known.
 */
enum ri_status kal_config_read(const char *path,
			       const char *(*set)(void *arg, const struct kal_config_line *line),
			       void *arg, struct kal_why *why) RI_MUST_CHECK;

#endif /* KAL_CONFIG_FILE_H */
