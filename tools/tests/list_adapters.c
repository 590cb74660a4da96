/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Prints the names of all adapters, one a line, to show which providers the library found. With an
 * argument it creates that file, which makes the test provider's device appear, and prints the
 * names again behind an empty line.
 */
#include <it_api.h>
#include <stdio.h>
#include <stdlib.h>

static int
list_print(void)
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

int
main(int argc, char **argv)
{
	FILE *device;

	if (list_print() != 0)
		return 1;
	if (argc < 2)
		return 0;
	device = fopen(argv[1], "w");
	if (device == NULL || fclose(device) != 0)
		return 1;
	printf("\n");
	return list_print();
}
