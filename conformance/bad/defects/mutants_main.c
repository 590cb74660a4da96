/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Prints the mutants, one a line: id, title, what it does, with tabs between. For `run`. */
#include <stdio.h>

#include "mutant.h"
#include "tool_output.h"

int
main(void)
{
	const struct mutant *mutant;

	tool_output_watch();
	for (size_t i = 0; (mutant = mutant_get(i)) != NULL; i++)
		printf("%s\t%s\t%s\n", mutant->id, mutant->title, mutant->does);
	return 0;
}
