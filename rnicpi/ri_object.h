/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Looks at the file of a shared object before the dynamic linker maps it. */
#ifndef RI_OBJECT_H
#define RI_OBJECT_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Is this a shared object for another machine, or the beginning of one? Then `text` says so. True: it is neither, or cannot be
 * read, or is no ELF file at all, which the dynamic linker reports by itself. Any thread. Needs one descriptor, and no memory.
 */
bool ri_object_check(const char *path, char *text, size_t room);

#endif /* RI_OBJECT_H */
