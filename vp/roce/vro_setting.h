/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* The variables of the environment that the provider reads. */
#ifndef VRO_SETTING_H
#define VRO_SETTING_H

#include "rnicpi.h"

enum vro_setting {
	VRO_SETTING_ADDRESS,
	VRO_SETTING_PROBE,
	VRO_SETTING_KEEP_ALIVE,
	VRO_SETTING_SHARE,
	VRO_SETTING_COUNT
};

extern const struct ri_setting vro_settings[VRO_SETTING_COUNT];

#endif /* VRO_SETTING_H */
