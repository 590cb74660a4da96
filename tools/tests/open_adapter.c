/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Opens the adapter of its argument twice, and prints the name of each status. */
#include <it_api.h>
#include <it_ext.h>
#include <stdio.h>

int
main(int argc, char **argv)
{
	for (int i = 0; argc == 2 && i < 2; i++) {
		it_ia_handle_t ia = NULL;
		it_status_t status = it_ia_create(argv[1], 2, 1, &ia);

		printf("%s\n", it_status_name(status));
		if (status == IT_SUCCESS)
			it_ia_free(ia);
	}
	return argc == 2 ? 0 : 2;
}
