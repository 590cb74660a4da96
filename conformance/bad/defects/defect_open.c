/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Opens and closes an adapter. Exit status 0: it can be opened; 2: no adapter has that name; 1: anything else. */
#include <stdio.h>

#include "it_api.h"

int
main(int argc, char **argv)
{
	it_ia_handle_t ia;
	it_status_t status;

	if (argc != 2) {
		fprintf(stderr, "usage: defect-open ADAPTER\n");
		return 1;
	}
	status = it_ia_create(argv[1], 2, 0, &ia);
	if (status == IT_ERR_INVALID_NAME)
		return 2;
	return status == IT_SUCCESS && it_ia_free(ia) == IT_SUCCESS ? 0 : 1;
}
