/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Looks at the file of a shared object before the dynamic linker maps it. */
#ifndef RI_OBJECT_H
#define RI_OBJECT_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Is this a shared object for another machine, or is it truncated? Then `text` says so, and the
 * result is false. True: it is neither; or it cannot be read, or is not an ELF file, which the
 * dynamic linker reports itself. Any thread. Needs one descriptor, and no memory.
 */
bool ri_object_check(const char *path, char *text, size_t room);

#endif /* RI_OBJECT_H */
