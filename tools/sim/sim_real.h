/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* The C library's own function, where this program exports one with the same name. */
#ifndef SIM_REAL_H
#define SIM_REAL_H

#include <dlfcn.h>

/* NOLINTBEGIN(bugprone-macro-parentheses): `name` is the name of a function */
#define SIM_REAL(name)                                                         \
	__extension__({                                                        \
		static __typeof__(&name) sim_real;                             \
		if (sim_real == NULL)                                          \
			*(void **)(void *)&sim_real = dlsym(RTLD_NEXT, #name); \
		sim_real;                                                      \
	})
/* NOLINTEND(bugprone-macro-parentheses) */

/*
 * This program is compiled with 64-bit file offsets, so its functions have "64" in their names.
 * Programs that are compiled without call the same functions by their short names.
 */
#define SIM_ALSO_SHORT(name) __asm__(".globl " #name "\n.set " #name ", " #name "64\n")

#endif /* SIM_REAL_H */
