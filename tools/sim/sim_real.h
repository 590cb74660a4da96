/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* The C library's own function, behind one of the same name that this program exports. */
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

#endif /* SIM_REAL_H */
