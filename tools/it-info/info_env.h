/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* it-info --env: every variable and every configuration key, its value and where the value comes from. */
#ifndef INFO_ENV_H
#define INFO_ENV_H

#include <glib.h>
#include <stdbool.h>

/* Print all settings. False: a setting has an invalid value, or `error` is set and nothing was printed. */
bool info_env(const char *program, bool as_json, GError **error);

#endif /* INFO_ENV_H */
