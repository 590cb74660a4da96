/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Does a program answer the messages that it gets? Then an acknowledgement may wait for the answer and travel with it. A queue pair
 * counts up for each message that was answered soon and down for each one that was not, between 0 and 2 * VSW_ANSWERING. From
 * VSW_ANSWERING on an answer is expected.
 */
#ifndef VSW_ANSWERS_H
#define VSW_ANSWERS_H

#include <stdbool.h>
#include <stdint.h>

#define VSW_ANSWERING 4u

/* The count after a message that was answered soon, or was not. */
static inline uint8_t
vsw_answers_count(uint8_t count, bool answered)
{
	if (answered)
		return count < 2 * VSW_ANSWERING ? (uint8_t)(count + 1) : count;
	return count > 0 ? (uint8_t)(count - 1) : 0;
}

#endif /* VSW_ANSWERS_H */
