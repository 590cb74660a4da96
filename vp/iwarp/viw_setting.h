/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* The variables of the environment that this provider reads; the same table is stated to the registry. */
#ifndef VIW_SETTING_H
#define VIW_SETTING_H

#include "rnicpi.h"

enum viw_setting_id {
	VIW_SETTING_RNR = 0,
	VIW_SETTING_ALIGN,
	VIW_SETTING_COUNT
};

extern const struct ri_setting viw_settings[VIW_SETTING_COUNT];

#endif /* VIW_SETTING_H */
