/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Two managers, their users and a hostile network, all controlled by the octets of an input. Any
 * input is valid; the process ends if an invariant does not hold. For a test with random inputs and
 * for a fuzzer.
 */
#ifndef CM_HOSTILE_H
#define CM_HOSTILE_H

#include <stddef.h>
#include <stdint.h>

struct cm_hostile_sums {
	unsigned established; /* connections */
	unsigned datagrams;   /* that a manager was given */
};

struct cm_hostile_sums cm_hostile_run(const uint8_t *octets, size_t len);

#endif /* CM_HOSTILE_H */
