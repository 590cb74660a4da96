/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#ifndef DF_COMPARE_H
#define DF_COMPARE_H

#include "df_expect.h"

/* The first disagreement between a record and the expectation, in words; NULL: there is none. */
char *df_compare(const struct df_expected *expected, const struct df_record *record);

/* The contents of a record, one item a line. */
char *df_record_text(const struct df_record *record);

#endif /* DF_COMPARE_H */
