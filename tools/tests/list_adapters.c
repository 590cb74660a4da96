/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Prints the names of all adapters, one a line: which providers did the library find? */
#include <it_api.h>
#include <stdio.h>
#include <stdlib.h>

int
main(void)
{
	size_t room = 64, total = 0;
	it_interface_t *list = calloc(room, sizeof(*list));

	if (list == NULL)
		return 1;
	it_interface_list(list, &room, &total);
	for (size_t i = 0; i < room; i++)
		printf("%s\n", list[i].name);
	free(list);
	return room == total ? 0 : 1;
}
