/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Times that the environment may change. */
#ifndef VSW_SETTING_H
#define VSW_SETTING_H

#include <stdint.h>

/*
 * Nanoseconds: the number that the variable holds, in units of `unit` ns; what is no number or more than
 * an hour counts as not there. A program that runs with rights its caller has not (set-uid, capabilities of
 * its file) takes no variable from the caller.
 */
uint64_t vsw_setting_time(const char *variable, uint64_t unit, uint64_t otherwise);

#endif /* VSW_SETTING_H */
