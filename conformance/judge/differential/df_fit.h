/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */
#ifndef DF_FIT_H
#define DF_FIT_H

#include "df_expect.h"
#include "df_program.h"

/*
 * Changes a program so that it tests as much as possible on an adapter of that profile. Programs
 * are generated for an adapter that can do everything: on one with fewer segments nearly every
 * request would only be refused, and on one whose endpoints cannot be reset nearly every connect.
 * So most requests get no more segments than the adapter has, and a reset is replaced by a new
 * endpoint. The caller owns the result.
 */
struct df_program *df_fit(const struct df_program *program, const struct df_profile *profile);

#endif /* DF_FIT_H */
