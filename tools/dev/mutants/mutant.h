/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */
/*
 * Selects a mutant at run time. tools/mutate includes this file at the top of each copy of a source
 * that has mutants, before every other header; the product never includes it.
 *
 * MUTANT_NUMBER is the number of the selected mutant. Each object file reads it once, before main()
 * and when a plugin is loaded; child processes inherit it. MUTANT_REACHED names a file that is
 * created, as a dangling symbolic link, when the code of the selected mutant is executed. So a
 * surviving mutant that no test executes is distinguished from one that a test executes without
 * noticing it. Thread-safe; never blocks.
 */
#ifndef ITAPI_MUTANT_H
#define ITAPI_MUTANT_H

/* Declared here, since the first header of the C library decides about things that a source may want to decide. */
extern char *getenv(const char *name);
extern long atol(const char *text);
extern int symlink(const char *target, const char *path);
extern int *__errno_location(void);

static long itapi_mutant_selected;

__attribute__((constructor(101), unused)) static void
itapi_mutant_select(void)
{
	const char *number = getenv("MUTANT_NUMBER");

	itapi_mutant_selected = number != (void *)0 ? atol(number) : 0;
}

/* Leaves the mark that the place was executed; errno survives. */
__attribute__((noinline, unused)) static void
itapi_mutant_reached(void)
{
	static int marked;
	const char *path = getenv("MUTANT_REACHED");
	int *error = __errno_location(), before = *error;

	if (path != (void *)0 && __atomic_exchange_n(&marked, 1, __ATOMIC_SEQ_CST) == 0)
		(void)!symlink("reached", path);
	*error = before;
}

__attribute__((unused)) static inline int
itapi_mutant(long number)
{
	if (__builtin_expect(itapi_mutant_selected != number, 1))
		return 0;
	itapi_mutant_reached();
	return 1;
}

#endif
