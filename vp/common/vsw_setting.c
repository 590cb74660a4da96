/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include "vsw_setting.h"

#include <stdlib.h>

#define HOUR UINT64_C(3600000000000)

uint64_t
vsw_setting_time(const char *variable, uint64_t unit, uint64_t otherwise)
{
	const char *text = secure_getenv(variable);
	char *end = NULL;

	if (text == NULL || *text < '0' || *text > '9')
		return otherwise;
	unsigned long long number = strtoull(text, &end, 10);
	if (*end != '\0' || number > HOUR / unit)
		return otherwise;
	return number * unit;
}
