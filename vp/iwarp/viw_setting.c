/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include "viw_setting.h"

#include "vsw_setting.h"

const struct ri_setting viw_settings[VIW_SETTING_COUNT] = {
	[VIW_SETTING_RNR] = {.name = "ITAPI_IWARP_RNR_MS",
			     .meaning = "How long a Send waits for a receive of its target before "
					"the connection breaks; 0: not at all",
			     .kind = RI_SETTING_NUMBER,
			     .max = VSW_SETTING_HOUR_MS,
			     .unit = "ms",
			     .preset = "1000"},
	[VIW_SETTING_ALIGN] = {.name = "ITAPI_IWARP_ALIGN",
			       .meaning = "Whether FPDUs begin and end with TCP segments; auto: "
					  "unless the peer is on this machine",
			       .kind = RI_SETTING_WORD,
			       .form = "auto|on|off",
			       .preset = "auto"},
};
