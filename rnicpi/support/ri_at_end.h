/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */
#ifndef RI_AT_END_H
#define RI_AT_END_H

#include <unistd.h>

/**
 * @file ri_at_end.h
 * @brief Name beside a variable the function that ends it, as in `struct bench bench RI_AT_END(bench_close);`.
 *
 * The compiler calls the function with the variable's address wherever its block is left, by `return` too, and ends several
 * variables in the reverse order of their declarations. So nothing may leave the block before the variable is set up.
 */
/* `unused`: to be ended may be all that a variable is for, and clang 14 warns of that. */
#define RI_AT_END(function) __attribute__((cleanup(function), unused))

/** @brief Close a descriptor: what a variable with one names by RI_AT_END. */
static inline void
ri_at_end_close(const int *fd)
{
	close(*fd);
}

#endif
