/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Prints the defects, one a line: id, title, what it does, with tabs between. For `run`. */
#include <stdio.h>

#include "defect.h"
#include "tool_output.h"

int
main(void)
{
	const struct defect *defect;

	tool_output_watch();
	for (size_t i = 0; (defect = defect_get(i)) != NULL; i++)
		printf("%s\t%s\t%s\n", defect->id, defect->title, defect->does);
	return 0;
}
