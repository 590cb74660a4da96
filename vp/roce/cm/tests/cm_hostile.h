/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Two managers, their owners and a hostile network, all led by the octets of an input: any input is valid, and ends the process if
 * something does not hold. For a test with drawn inputs and for a fuzzer.
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
