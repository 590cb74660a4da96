/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Programs that look for libibverbs by themselves: with dlopen() and dlvsym(). A preloaded object
 * comes before libibverbs where symbols are looked up, but not for a handle of libibverbs. So for
 * that name they get a replacement library (libibverbs.so.1 in the folder "verbs" beside the
 * preloaded object). A look-up in it finds the functions of the preloaded object first, then those
 * of the real libibverbs. If it is not installed, programs get the preloaded object itself.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "door_export.h"

/* Clang makes the jump at -O1 and above. */
#ifdef __clang__
#define ENDS_IN_A_JUMP
#else
#define ENDS_IN_A_JUMP __attribute__((optimize("optimize-sibling-calls")))
#endif

#define REPLACEMENT "verbs/libibverbs.so.1"
#define PATH_ROOM   4096

static pthread_once_t found = PTHREAD_ONCE_INIT;
static void *(*real)(const char *file, int mode);
static char replacement[PATH_ROOM];

static void
find(void)
{
	const char *slash;
	Dl_info own;

	*(void **)&real = dlsym(RTLD_NEXT, "dlopen");
	if (dladdr(replacement, &own) == 0 || own.dli_fname == NULL)
		return;
	slash = strrchr(own.dli_fname, '/');
	if (slash == NULL ||
	    snprintf(replacement, sizeof(replacement), "%.*s%s", (int)(slash - own.dli_fname) + 1,
		     own.dli_fname, REPLACEMENT) >= (int)sizeof(replacement) ||
	    access(replacement, R_OK) != 0)
		(void)snprintf(replacement, sizeof(replacement), "%s", own.dli_fname);
}

/* What a program gets that asks for this file. */
__attribute__((noinline)) static const char *
file_for(const char *file)
{
	(void)pthread_once(&found, find);
	if (file == NULL || replacement[0] == '\0' ||
	    (strcmp(file, "libibverbs.so.1") != 0 && strcmp(file, "libibverbs.so") != 0))
		return file;
	return replacement;
}

/*
 * Ends in a jump to the real dlopen, not in a call. After a call, the dynamic linker would take
 * this object for the caller, and would not search the folders that the real caller names
 * (RUNPATH). So the compiler must not put code behind it.
 */
ENDS_IN_A_JUMP __attribute__((no_sanitize("address", "thread", "undefined"))) EXPORT void *
dlopen(const char *file, int mode)
{
	const char *other = file_for(file);

	return real(other, mode);
}
