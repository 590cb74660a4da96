/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#ifndef DF_COMPARE_H
#define DF_COMPARE_H

#include "df_expect.h"

/* The first disagreement between a record and the expectation, in words; NULL: there is none. */
char *df_compare(const struct df_expected *expected, const struct df_record *record);

/* --- between the files of the comparison ----------------------------------------------------- */

/* The watermarks and affiliated events of a settlement. */
char *df_compare_limits(const struct df_settle *expect, const struct df_seen_settle *seen,
			int settle);
/* The unaffiliated events of a settlement, and which adapters have failed. */
char *df_compare_faults(const struct df_settle *expect, const struct df_seen_settle *seen,
			int settle);
/* Add the unaffiliated events of a settlement, one a line. */
void df_faults_text(const struct df_seen_settle *seen, unsigned settle, GString *text);
/* Add the affiliated events of a settlement, one a line. */
void df_limits_text(const struct df_seen_settle *seen, unsigned settle, GString *text);

/* --------------------------------------------------------------------------------------------- */

/* The contents of a record, one item a line. */
char *df_record_text(const struct df_record *record);

#endif /* DF_COMPARE_H */
