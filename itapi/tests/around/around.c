/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include "around.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void (*around_find(const char *name))(void)
{
	void (*found)(void) = NULL;
	void *symbol = dlsym(RTLD_NEXT, name);

	memcpy(&found, &symbol, sizeof(found));
	if (found == NULL) {
		fprintf(stderr, "around: %s is not in the library\n", name);
		abort();
	}
	return found;
}
