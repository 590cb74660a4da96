/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#ifndef CHILD_OF_FORK_H
#define CHILD_OF_FORK_H

#include <stddef.h>
#include <unistd.h>

/*
 * A child works on only without a sanitizer. ThreadSanitizer reports threads that a child makes after its parent had several. In
 * AddressSanitizer of gcc 12 a lock of the allocator that another thread owned at the fork stays owned in the child.
 */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define CHILD_WORKS_ON 0
#else
#define CHILD_WORKS_ON 1
#endif

/* The end of a child that is content: by another program, since valgrind would count what only the parent's threads know as lost. */
static inline void
child_end(void)
{
	(void)execl("/bin/true", "/bin/true", (char *)NULL);
	_exit(127);
}

#endif /* CHILD_OF_FORK_H */
