/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include <inttypes.h>

#include "fuzz.h"

static uint64_t messages;

/* In the form in which libFuzzer prints its own figures. */
static void
messages_print(void)
{
	fprintf(stderr, "stat::messages: %" PRIu64 "\n", messages);
}

void
fuzz_messages(unsigned count)
{
	if (messages == 0 && count > 0 && atexit(messages_print) != 0)
		abort();
	messages += count;
}
