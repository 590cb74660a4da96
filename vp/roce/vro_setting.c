/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include "vro_setting.h"

const struct ri_setting vro_settings[VRO_SETTING_COUNT] = {
	[VRO_SETTING_ADDRESS] =
		{.name = "ITAPI_ROCE_ADDRESS",
		 .meaning = "Address that roce adapters have in place of those of their "
			    "interface, such as 127.0.0.2 or ::1",
		 .kind = RI_SETTING_TEXT},
	[VRO_SETTING_PROBE] =
		{.name = "ITAPI_ROCE_PROBE_MS",
		 .meaning =
			 "How soon a last packet that is not acknowledged is repeated, unless its "
			 "peer is further away, before the timeout of its queue pair; 0: not",
		 .kind = RI_SETTING_NUMBER,
		 .max = 1000,
		 .unit = "ms",
		 .preset = "2"},
	[VRO_SETTING_KEEP_ALIVE] =
		{.name = "ITAPI_ROCE_KEEP_ALIVE",
		 .meaning = "After how long a silence a peer is asked whether it lives, though "
			    "nothing is under way; 0: not",
		 .kind = RI_SETTING_NUMBER,
		 .max = 86400,
		 .unit = "s",
		 .preset = "10"},
	[VRO_SETTING_SHARE] =
		{.name = "ITAPI_ROCE_SHARE",
		 .meaning = "on: share the addresses of roce adapters with other processes of the "
			    "user, through kald",
		 .kind = RI_SETTING_WORD,
		 .form = "on|off",
		 .preset = "off"},
};
