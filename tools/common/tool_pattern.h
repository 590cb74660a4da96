/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Patterns that show where octets came from. */
#ifndef TOOL_PATTERN_H
#define TOOL_PATTERN_H

#include <stddef.h>
#include <stdint.h>

/* Octets that follow from a seed and their place; no two seeds look alike. */
void tool_pattern_fill(uint8_t *octets, size_t len, uint64_t seed, size_t place);

/* The first place that is not as tool_pattern_fill() would have made it; len if none. */
size_t tool_pattern_check(const uint8_t *octets, size_t len, uint64_t seed, size_t place);

#endif /* TOOL_PATTERN_H */
