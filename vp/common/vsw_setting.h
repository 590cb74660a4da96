/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Reads the settings of a software provider by the rows of the provider's own table, which
 * ri_provider::settings publishes, too. The administrator sees these rows (it-info --env), so a
 * provider reads no variable without a row. A value that the row does not allow counts as not set;
 * the layers above warn about it. A program that runs with more rights than its caller reads no
 * variable.
 */
#ifndef VSW_SETTING_H
#define VSW_SETTING_H

#include <stdint.h>

#include "rnicpi.h"

/* Longest time that a setting may give: an hour, in milliseconds. */
#define VSW_SETTING_HOUR_MS 3600000u

/* Nanoseconds: the number that holds, the row's unit being `unit` ns. */
uint64_t vsw_setting_time(const struct ri_setting *setting, uint64_t unit);
/* The text that holds; NULL: none. */
const char *vsw_setting_text(const struct ri_setting *setting);

#endif /* VSW_SETTING_H */
