/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The table of the administrator's file: each key with its group, its values, its default and what it sets.
 * A key that has no row is refused when the file is read.
 */
#ifndef KAL_CONFIG_KEYS_H
#define KAL_CONFIG_KEYS_H

#include "kal_config_file.h"
#include "kal_settings.h"
#include "rnicpi.h"

enum kal_key_result {
	KAL_KEY_SET = 0,
	KAL_KEY_BAD, /* the value is none that the key may have */
	KAL_KEY_NO_MEMORY
};

struct kal_config_key {
	const char *group;
	struct ri_setting row; /* its name is the key; NULL: any key */
	enum kal_key_result (*set)(struct kal_config *config, const struct kal_config_key *key,
				   const struct kal_config_line *line);
	enum kal_level level;         /* of a limit */
	enum kal_resource resource;   /* of a limit */
	bool administrator;           /* only the administrator's file may have it */
	size_t number;                /* of a number: where its uint64_t is in struct kal_config */
	size_t flag;                  /* of true or false: where its bool is in struct kal_config */
	enum kal_setting_id variable; /* with the text `when` the key's value is `then`, */
	const char *when;             /* whatever the file says; NULL: no variable changes it */
	const char *then;
};

#define KAL_CONFIG_KEYS_MAX 64
/* The number of a row. */
unsigned kal_config_key_index(const struct kal_config_key *key);
/* The rows; NULL behind the last. */
const struct kal_config_key *kal_config_key(unsigned index);
/* The row of a line with a key; NULL: there is none, and what is wrong is written to `text`. */
const struct kal_config_key *kal_config_key_of(const struct kal_config_line *line, char *text,
					       size_t room);
/* Is there such a group? If not, what is wrong is written to `text`. */
bool kal_config_group_exists(const char *group, char *text, size_t room);
/* Set a value if the row allows it. */
enum kal_key_result kal_config_key_set(struct kal_config *config, const struct kal_config_key *key,
				       const struct kal_config_line *line) RI_MUST_CHECK;
/* The variable that decides instead of the file has the text that does so. */
bool kal_config_key_overridden(const struct kal_config_key *key);

#endif /* KAL_CONFIG_KEYS_H */
