/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Settings: variables of the environment, read by the row of a table that describes them.
 *
 * This is the only place that reads a variable (tools/dev/check-source.py), so a variable that has no row
 * cannot be read. A program that runs with more rights than its caller (set-uid, capabilities of its file)
 * reads only those whose row says so. An empty variable counts as not set.
 */
#ifndef RI_SETTING_H
#define RI_SETTING_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "rnicpi.h"

/* The present text of the variable; NULL: it is not set. Not checked. */
static inline const char *
ri_setting_text(const struct ri_setting *setting)
{
	const char *text =
		setting->set_uid != 0 ? getenv(setting->name) : secure_getenv(setting->name);

	return text != NULL && text[0] != '\0' ? text : NULL;
}

/* Decimal digits and nothing else, from `min` to `max`. */
static inline bool
ri_setting_digits(const char *text, uint64_t min, uint64_t max, uint64_t *out)
{
	uint64_t value = 0;

	if (*text == '\0')
		return false;
	for (; *text != '\0'; text++) {
		uint64_t digit = (uint64_t)(unsigned char)*text - '0';

		if (digit > 9 || digit > max || value > (max - digit) / 10)
			return false;
		value = value * 10 + digit;
	}
	*out = value;
	return value >= min;
}

/* Is it one of the words, which '|' separates? */
static inline bool
ri_setting_is_word(const char *words, const char *text)
{
	size_t length = strlen(text);

	while (words != NULL && length > 0) {
		if (strcspn(words, "|") == length && strncmp(words, text, length) == 0)
			return true;
		words = strchr(words, '|');
		words = words != NULL ? words + 1 : NULL;
	}
	return false;
}

/* Can the setting have that text? */
static inline bool
ri_setting_allows(const struct ri_setting *setting, const char *text)
{
	uint64_t number;

	if (setting->kind == RI_SETTING_NUMBER)
		return ri_setting_digits(text, setting->min, setting->max, &number);
	return setting->kind != RI_SETTING_WORD || ri_setting_is_word(setting->form, text);
}

/* The text that holds: of the variable if it may be that, else the default, which may be NULL. */
static inline const char *
ri_setting_value(const struct ri_setting *setting)
{
	const char *text = ri_setting_text(setting);

	return text != NULL && ri_setting_allows(setting, text) ? text : setting->preset;
}

/* The same as a number; 0 if the setting is of another kind. */
static inline uint64_t
ri_setting_number(const struct ri_setting *setting)
{
	const char *text = ri_setting_value(setting);
	uint64_t number = 0;

	if (text == NULL || setting->kind != RI_SETTING_NUMBER ||
	    !ri_setting_digits(text, setting->min, setting->max, &number))
		return 0;
	return number;
}

#endif /* RI_SETTING_H */
