/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#ifndef DF_GENERATE_H
#define DF_GENERATE_H

#include <stdbool.h>
#include <stdint.h>

#include "df_program.h"

/*
 * The program of a seed: the same on every adapter and every machine. A wide one has steps of every kind, the other those
 * of connections and memory only; documents name such programs by their seeds, so they do not change.
 */
struct df_program *df_generate(uint32_t seed, bool wide);

#endif /* DF_GENERATE_H */
