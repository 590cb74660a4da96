/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#ifndef DF_GENERATE_H
#define DF_GENERATE_H

#include <stdbool.h>
#include <stdint.h>

#include "df_program.h"

/* What a program has beside steps of connections and memory; bits. */
enum df_draw {
	DF_DRAW_WIDE = 1, /* S-RQs, Reads into windows, notification, three ways, datagrams */
	DF_DRAW_PRIVILEGED = 2,
	DF_DRAW_WATERMARKS = 4, /* useful with DF_DRAW_WIDE */
	DF_DRAW_FAULTS = 8,     /* spigots that go down, adapters that fail */
	DF_DRAW_CHANGES = 16,   /* other attributes, other sizes, listeners that go and come back */
	DF_DRAW_WAYS = 32,      /* aggregates and callbacks */
};

/*
 * The program of a seed: the same on every adapter and every machine. Documents refer to programs
 * without option bits by their seeds, so these must not change.
 */
struct df_program *df_generate(uint32_t seed, unsigned draw);

#endif /* DF_GENERATE_H */
