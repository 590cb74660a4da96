/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include "vem_setting.h"

#include "vem.h"
#include "vsw_setting.h"

#define TEXT_OF_(number) #number
#define TEXT_OF(number)  TEXT_OF_(number)

const struct ri_setting vem_settings[VEM_SETTING_COUNT] = {
	[VEM_SETTING_RNR] = {.name = "ITAPI_EMUL_RNR_MS",
			     .meaning =
				     "How long a message waits for a receive of its target before "
				     "it fails, unless the target says how often it is tried; "
				     "0: not at all",
			     .kind = RI_SETTING_NUMBER,
			     .max = VSW_SETTING_HOUR_MS,
			     .unit = "ms",
			     .preset = TEXT_OF(VEM_RNR_HOLD_MS)},
	[VEM_SETTING_TIME_WAIT] = {.name = "ITAPI_EMUL_TIME_WAIT_US",
				   .meaning = "How long an endpoint of emul:ib stays in time-wait "
					      "after a connection",
				   .kind = RI_SETTING_NUMBER,
				   .max = UINT64_C(1000) * VSW_SETTING_HOUR_MS,
				   .unit = "us",
				   .preset = "0"},
	[VEM_SETTING_FAULTS] = {.name = "ITAPI_EMUL_FAULTS",
				.meaning = "Faults that each adapter commits when it is opened",
				.form = "call VERB N STATUS; fail ...; full cq N; port up or down; "
					"help lists all in the log"},
	[VEM_SETTING_CONTROL] = {.name = "ITAPI_EMUL_CONTROL",
				 .meaning = "Local socket at which a test program listens, which "
					    "then commands faults while the adapters run",
				 .form = "path of a socket"},
	[VEM_SETTING_FABRIC] = {.name = "ITAPI_FABRIC",
				.meaning =
					"Fabric that shm:ib and shm:iwarp join: processes of one "
					"user meet on fabrics of the same name",
				.form = "1 to 31 letters, digits, '-', '_' and '.'",
				.preset = "default"},
	[VEM_SETTING_WIRE] = {.name = "ITAPI_EMUL_WIRE_US",
			      .meaning =
				      "How long a message takes at most, by chance; 0: it arrives "
				      "before the call that posts it returns",
			      .kind = RI_SETTING_NUMBER,
			      .max = UINT64_C(1000) * VSW_SETTING_HOUR_MS,
			      .unit = "us",
			      .preset = "0"},
	[VEM_SETTING_FREEDOMS] = {.name = "ITAPI_EMUL_FREEDOMS",
				  .meaning =
					  "What an adapter whose messages take time does, because "
					  "the specification lets it",
				  .form = "all, or words of pieces, order, early, late, lost, "
					  "answer, torn, overtake, unready"},
};
