/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Patterns that show where octets came from. */
#ifndef TOOL_PATTERN_H
#define TOOL_PATTERN_H

#include <stddef.h>
#include <stdint.h>

/* Octets that follow from a seed and their position; different seeds give different octets everywhere. */
void tool_pattern_fill(uint8_t *octets, size_t len, uint64_t seed, size_t place);

/* The first position that differs from what tool_pattern_fill() would have written; len if none. */
size_t tool_pattern_check(const uint8_t *octets, size_t len, uint64_t seed, size_t place);

#endif /* TOOL_PATTERN_H */
