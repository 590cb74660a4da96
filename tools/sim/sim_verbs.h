/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Programs written to libibverbs as nodes. sim_verbs_calls.c, which is made from verbs.h, has a function for each call that the
 * door (doors/verbs) answers; calls by a pointer in a context are replaced when the context is opened.
 */
#ifndef SIM_VERBS_H
#define SIM_VERBS_H

#include <infiniband/verbs.h>

#include <dlfcn.h>

#include "sim/sim.h"

extern void *sim_verbs_door; /* NULL: no program of the scenario needs it */

/* NOLINTBEGIN(bugprone-macro-parentheses): `name` is the name of a function */
/* The door's function of that name. */
#define SIM_VERBS(name)                                                              \
	__extension__({                                                              \
		static __typeof__(&name) sim_verbs;                                  \
		if (sim_verbs == NULL)                                               \
			*(void **)(void *)&sim_verbs = dlsym(sim_verbs_door, #name); \
		sim_verbs;                                                           \
	})
/* NOLINTEND(bugprone-macro-parentheses) */

/* Is the caller a program? Else it is a provider that looks for devices of the machine; it gets an error, in errno, as on a machine without devices. */
bool sim_verbs_here(void);
/* Behind calls of these names. */
void sim_verbs_opened(struct ibv_context *context);
void sim_verbs_queue_pair_made(struct ibv_qp *qp);
void sim_verbs_queue_pair_gone(int answer, struct ibv_qp *qp);
void sim_verbs_waited(int answer);

#endif /* SIM_VERBS_H */
