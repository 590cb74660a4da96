/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/**
 * @file it_sim.h
 * @brief Calls for test programs that run as a node of it-sim.
 *
 * A program that it-sim runs needs none of them. A tester can use them in a node of its own: that
 * node does to other nodes what statements of a scenario do, at moments that it chooses. Or the
 * program under test uses them, to name places and properties. There is no library to link: it-sim
 * has the functions, and elsewhere they are absent (weak symbols that are NULL), so the same
 * program runs on real adapters, too. Call them only where it_sim_here() is not 0; IT_SIM_REACHED()
 * checks that itself.
 *
 * All of them may be called by any thread of a node, outside of callbacks of the library. None blocks.
 */
#ifndef IT_SIM_H
#define IT_SIM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define IT_SIM_WEAK __attribute__((weak))

/**
 * @brief Do what a statement of a scenario says.
 *
 * The words are those of man it-sim for what happens in a run: kill, restart, pause, slow, cut, hold, delay, drop, heal, and
 * NODE: COMMAND. Without "at", "after", or "message" it happens at the next step of the run. A time after "at" counts from
 * the begin of the run. Statements about paths need one in the scenario, such as "heal", and statements about messages one
 * with "message", since adapters are prepared for both when they are opened.
 *
 * @param[in] statement  one statement, borrowed for the call
 * @retval 0   it will be done
 * @retval -1  it is wrong; the reason is written to stderr
 */
IT_SIM_WEAK int it_sim_do(const char *statement);

/**
 * @brief The program has come to a place that some run should come to.
 *
 * "expect reached NAME" in the scenario fails if none of several seeds comes there.
 *
 * @param[in] name  of the place, borrowed for the call
 */
IT_SIM_WEAK void it_sim_reached(const char *name);

/**
 * @brief State a property that holds at every step from now on.
 *
 * It is checked whenever another thread begins to run, until the node ends. The run fails when it
 * does not hold.
 *
 * @param[in] name   of the property, for the report; it stays valid
 * @param[in] holds  returns 0 if it does not hold; makes no call of IT-API, and none that waits
 * @param[in] arg    for @p holds
 * @retval 0   it is checked
 * @retval -1  there are 64 already
 */
IT_SIM_WEAK int it_sim_always(const char *name, int (*holds)(void *arg), void *arg);

/**
 * @brief End the run as a failure.
 *
 * Failures with the same text are counted as one kind.
 *
 * @param[in] text  what is wrong, borrowed for the call
 */
IT_SIM_WEAK void it_sim_fail(const char *text) __attribute__((noreturn));

/**
 * @brief Virtual time since the begin of the run.
 * @return nanoseconds
 */
IT_SIM_WEAK uint64_t it_sim_now(void);

/**
 * @brief A random number of this seed and node.
 * @param[in] bound  1 or more
 * @return from 0 to @p bound - 1
 */
IT_SIM_WEAK uint64_t it_sim_random(uint64_t bound);

/** @brief Is this program a node of it-sim? Not 0: it is. */
static inline int
it_sim_here(void)
{
	return it_sim_now != NULL;
}

/** @brief it_sim_reached(), or nothing where there is no simulation. */
#define IT_SIM_REACHED(name)                  \
	do {                                  \
		if (it_sim_here())            \
			it_sim_reached(name); \
	} while (0)

#ifdef __cplusplus
}
#endif

#endif /* IT_SIM_H */
