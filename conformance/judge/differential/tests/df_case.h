/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* A program of a few lines, performed on every adapter that is built, and what tests do with its record. */
#ifndef DF_CASE_H
#define DF_CASE_H

#include "df_compare.h"
#include "df_model.h"
#include "df_run.h"

struct df_case {
	const char *adapter;
	struct df_profile profile;
	struct df_expected *expected;
	struct df_record *record;
};

/*
 * Perform the program on each adapter that has the ability at `offset` of its profile (DF_ANY: on all of them). The
 * model must agree; then `look` may examine the case, or falsify its record. NULL: nothing more.
 */
void df_case_agree(const char *text, size_t offset, void (*look)(struct df_case *));
/* The comparison must object to the falsified record, in words that contain these. */
void df_case_object(const struct df_case *one, const char *complaint);
/* The n-th completion of the record that is a receive, or not. */
struct df_seen_wr *df_case_seen(const struct df_case *one, bool request, unsigned nth);

#define DF_ANY          ((size_t)-1)
#define DF_HAS(ability) offsetof(struct df_profile, ability)

#endif /* DF_CASE_H */
