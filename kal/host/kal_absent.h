/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Says why no provider has an adapter of some name. */
#ifndef KAL_ABSENT_H
#define KAL_ABSENT_H

#include <stddef.h>

#include "kal_near.h"
#include "rnicpi_host.h"

#define KAL_ABSENT_ROOM 1024 /* for any of the texts; longer ones are cut */

/*
 * Write a sentence about the adapter near->word, which no provider has, into `text`: "there is no adapter named 'NAME'", and
 * behind a semicolon the cause, if it is known. Its provider may be missing, refused or not loaded, it may lack that adapter, or the
 * name may be misspelt. `near` may have looked at further names before.
 *
 * Providers must have been loaded. Any thread; asks each of them for its adapters, and allocates for no longer than it runs.
 * Without memory the cause is missing.
 */
void kal_absent_explain(const struct ri_host *host, struct kal_near *near, char *text, size_t room);

#endif /* KAL_ABSENT_H */
