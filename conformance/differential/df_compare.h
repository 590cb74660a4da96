/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#ifndef DF_COMPARE_H
#define DF_COMPARE_H

#include "df_expect.h"

/* The first disagreement of a record with what was expected, in words; NULL: they agree. */
char *df_compare(const struct df_expected *expected, const struct df_record *record);

/* All that a record has, a line each. */
char *df_record_text(const struct df_record *record);

#endif /* DF_COMPARE_H */
