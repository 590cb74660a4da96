/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* The variables of the environment that this provider reads; the same table is stated to the registry. */
#ifndef VEM_SETTING_H
#define VEM_SETTING_H

#include "rnicpi.h"

enum vem_setting_id {
	VEM_SETTING_RNR = 0,
	VEM_SETTING_TIME_WAIT,
	VEM_SETTING_FAULTS,
	VEM_SETTING_CONTROL,
	VEM_SETTING_FABRIC,
	VEM_SETTING_WIRE,
	VEM_SETTING_FREEDOMS,
	VEM_SETTING_COUNT
};

extern const struct ri_setting vem_settings[VEM_SETTING_COUNT];

#endif /* VEM_SETTING_H */
