/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#ifndef DF_GENERATE_H
#define DF_GENERATE_H

#include <stdint.h>

#include "df_program.h"

/* The program of a seed: the same on every adapter and every machine. */
struct df_program *df_generate(uint32_t seed);

#endif /* DF_GENERATE_H */
