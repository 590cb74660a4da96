/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include "df_quirks.h"

#include <stddef.h>

static const struct {
	const char *word;
	size_t member; /* of struct df_profile, a bool */
} quirks[] = {
	{"no-errors", offsetof(struct df_profile, no_errors)},
	{"no-region-unlink", offsetof(struct df_profile, no_lmr_unlink)},
	{"raises-ird", offsetof(struct df_profile, raises_ird)},
	{"all-solicited", offsetof(struct df_profile, all_solicited)},
	{"srq-of-zone", offsetof(struct df_profile, srq_of_zone)},
	{"late-flush", offsetof(struct df_profile, late_flush)},
	{"no-empty-read", offsetof(struct df_profile, no_empty_read)},
	{"early-slots", offsetof(struct df_profile, early_slots)},
	{"orderly-end", offsetof(struct df_profile, orderly_end)},
};

/* The member of that word, or NULL. */
static bool *
member_of(struct df_profile *profile, const char *word)
{
	for (size_t i = 0; i < G_N_ELEMENTS(quirks); i++) {
		if (g_str_equal(quirks[i].word, word))
			return (bool *)((char *)profile + quirks[i].member);
	}
	return NULL;
}

/* Set the member of each word; false: one is not known. */
static bool
set_all(struct df_profile *profile, const char *words)
{
	char **each = g_strsplit(words != NULL ? words : "", ",", 0);
	bool good = true;

	for (char **word = each; *word != NULL; word++) {
		bool *member = member_of(profile, *word);

		if (member != NULL)
			*member = true;
		good &= member != NULL;
	}
	g_strfreev(each);
	return good;
}

bool
df_quirks_known(const char *words)
{
	struct df_profile unused = {0};

	return set_all(&unused, words);
}

void
df_quirks_add(struct df_profile *profile, const char *words)
{
	g_assert_true(set_all(profile, words));
}
