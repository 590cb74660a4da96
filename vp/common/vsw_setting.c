/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include "vsw_setting.h"

#include "ri_setting.h"

uint64_t
vsw_setting_time(const struct ri_setting *setting, uint64_t unit)
{
	return ri_setting_number(setting) * unit;
}

const char *
vsw_setting_text(const struct ri_setting *setting)
{
	return ri_setting_value(setting);
}
