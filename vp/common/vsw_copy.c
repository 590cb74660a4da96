/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* The copy of vsw_copy.h for processors without guards, where a lost page ends the process. */
#include "vsw_copy.h"

#ifndef VSW_GUARDS

#include <string.h>

#if defined(__SANITIZE_THREAD__)
#define RACES_WITH_APPLICATION __attribute__((no_sanitize("thread"), noinline))
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define RACES_WITH_APPLICATION __attribute__((no_sanitize("thread"), noinline))
#endif
#endif
#ifndef RACES_WITH_APPLICATION
#define RACES_WITH_APPLICATION
#endif

RACES_WITH_APPLICATION bool
vsw_copy(uint8_t *to, const uint8_t *from, size_t len)
{
	size_t tail = len < 8 ? len : 8;

	memcpy(to, from, len - tail);
	for (size_t i = len - tail; i < len; i++)
		__atomic_store_n(to + i, from[i], __ATOMIC_RELEASE);
	return true;
}

#else

/* A file needs a declaration in ISO C. */
extern int vsw_copy_is_inline;

#endif
