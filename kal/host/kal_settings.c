/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include "kal_settings.h"

#include <inttypes.h>
#include <stdio.h>

#include "ri_setting.h"

static const struct ri_setting settings[KAL_SETTING_COUNT] = {
	[KAL_SETTING_CONFIG] = {.name = "ITAPI_CONFIG",
				.meaning =
					"The user's file, read after the administrator's when an "
					"adapter is opened or adapters are listed",
				.form = "path of a file"},
	[KAL_SETTING_PROVIDER_PATH] = {.name = "ITAPI_PROVIDER_PATH",
				       .meaning = "Folders of providers (*.so) that come before "
						  "those built in and installed",
				       .form = "folders, separated by colons"},
	[KAL_SETTING_LOG] = {.name = "ITAPI_LOG",
			     .meaning = "What the log says, up to this level; without the variable "
					"each line is said once",
			     .kind = RI_SETTING_WORD,
			     .form = "none|error|warning|info|debug",
			     .preset = "warning"},
	[KAL_SETTING_TRACE] = {.name = "ITAPI_TRACE",
			       .meaning = "Folder for a trace of the process, which begins with "
					  "its first adapter",
			       .form = "path of a folder"},
	[KAL_SETTING_SPIN] = {.name = "ITAPI_SPIN_US",
			      .meaning =
				      "How long a wait for events polls before it sleeps, and the "
				      "service thread if a processor is idle",
			      .kind = RI_SETTING_NUMBER,
			      .max = 1000000,
			      .unit = "us",
			      .preset = "50"},
	[KAL_SETTING_MPA_CRC] = {.name = "ITAPI_MPA_CRC",
				 .meaning = "off: as crc = false in the group mpa",
				 .kind = RI_SETTING_WORD,
				 .form = "on|off",
				 .preset = "on"},
	[KAL_SETTING_MPA_FALLBACK] = {.name = "ITAPI_MPA_FALLBACK",
				      .meaning = "off: as fall-back = false in the group mpa",
				      .kind = RI_SETTING_WORD,
				      .form = "on|off",
				      .preset = "on"},
	[KAL_SETTING_MPA_PEER_TO_PEER] = {.name = "ITAPI_MPA_PEER_TO_PEER",
					  .meaning = "on: as peer-to-peer = true in the group mpa",
					  .kind = RI_SETTING_WORD,
					  .form = "on|off",
					  .preset = "off"},
	[KAL_SETTING_DISCONNECT_DATA] = {.name = "ITAPI_DISCONNECT_DATA",
					 .meaning = "drop: as disconnect-data = drop in the group "
						    "compat",
					 .kind = RI_SETTING_WORD,
					 .form = "refuse|drop",
					 .preset = "refuse"},
	[KAL_SETTING_VERBS_DEVICES] = {.name = "ITAPI_VERBS_DEVICES",
				       .meaning = "Adapters that programs of verbs see as devices, "
						  "in this order (it-run)",
				       .form = "names, separated by commas",
				       .preset = "iwarp"},
	[KAL_SETTING_KALD] = {.name = "ITAPI_KALD",
			      .meaning =
				      "Ask the daemon, which counts and limits for all processes: "
				      "if it is there (auto), or open no adapter without it "
				      "(require, or where it listens)",
			      .form = "off, auto, require, or the path of a socket",
			      .preset = "off"},
	[KAL_SETTING_LIVE] =
		{.name = "ITAPI_LIVE",
		 .meaning = "off: no other process can see connections and counters of this "
			    "one (it-info --live)",
		 .kind = RI_SETTING_WORD,
		 .form = "on|off",
		 .preset = "on"},
	[KAL_SETTING_PCAP] =
		{.name = "ITAPI_PCAP",
		 .meaning = "Capture the frames of this process, payload included, to this file "
			    "for Wireshark; %p is the process id",
		 .form = "path of a file"},
	[KAL_SETTING_STATS] =
		{.name = "ITAPI_STATS",
		 .meaning = "Append what the process has done to this file when it ends, a "
			    "line of JSON",
		 .form = "path of a file"},
};

const struct ri_setting *
kal_setting(enum kal_setting_id id)
{
	return &settings[id];
}

bool
kal_setting_is_set(enum kal_setting_id id)
{
	const char *text = ri_setting_text(&settings[id]);

	return text != NULL && ri_setting_allows(&settings[id], text);
}

const char *
kal_setting_text(enum kal_setting_id id)
{
	return ri_setting_value(&settings[id]);
}

uint64_t
kal_setting_number(enum kal_setting_id id)
{
	return ri_setting_number(&settings[id]);
}

/* "one of on, off": the words of the row, with what people put between words. */
static void
range_of_words(const char *words, char *text, size_t room)
{
	size_t at = (size_t)snprintf(text, room, "one of ");

	for (; *words != '\0' && at + 3 < room; words++) {
		text[at++] = *words == '|' ? ',' : *words;
		if (*words == '|')
			text[at++] = ' ';
	}
	text[at] = '\0';
}

void
kal_setting_range(const struct ri_setting *setting, char *text, size_t room)
{
	const char *unit = setting->unit;

	if (setting->kind == RI_SETTING_WORD)
		range_of_words(setting->form, text, room);
	else if (setting->kind == RI_SETTING_NUMBER)
		(void)snprintf(text, room, "a number from %" PRIu64 " to %" PRIu64 "%s%s%s",
			       setting->min, setting->max, unit != NULL ? " (" : "",
			       unit != NULL ? unit : "", unit != NULL ? ")" : "");
	else
		(void)snprintf(text, room, "%s",
			       setting->form != NULL ? setting->form : "any text");
}
