/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#ifndef DF_SHRINK_H
#define DF_SHRINK_H

#include "df_program.h"

/* Does the program still show the failure? */
typedef bool (*df_shrink_test)(const struct df_program *program, void *arg);

/*
 * A program that still fails the test and from which no step, no segment and no flag can be left out. The same
 * program and a test with the same answers give the same result.
 */
struct df_program *df_shrink(const struct df_program *program, df_shrink_test test, void *arg);

#endif /* DF_SHRINK_H */
