/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The variables of the environment that the library reads, those of the uAL and of the doors included. Keys of the
 * administrator's file are in kal_config_keys.h, a provider's variables in ri_provider::settings;
 * kal_settings_list() shows all of them.
 */
#ifndef KAL_SETTINGS_H
#define KAL_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ri_setting;

enum kal_setting_id {
	KAL_SETTING_CONFIG = 0,
	KAL_SETTING_PROVIDER_PATH,
	KAL_SETTING_LOG,
	KAL_SETTING_TRACE,
	KAL_SETTING_SPIN,
	KAL_SETTING_MPA_CRC,
	KAL_SETTING_MPA_FALLBACK,
	KAL_SETTING_MPA_PEER_TO_PEER,
	KAL_SETTING_DISCONNECT_DATA,
	KAL_SETTING_VERBS_DEVICES,
	KAL_SETTING_KALD,
	KAL_SETTING_LIVE,
	KAL_SETTING_PCAP,
	KAL_SETTING_STATS,
	KAL_SETTING_COUNT
};

/* Its row in the table. */
const struct ri_setting *kal_setting(enum kal_setting_id id);
/* Is the variable set to something that it may be? */
bool kal_setting_is_set(enum kal_setting_id id);
/* The text that holds: the variable's, or the default, which may be NULL. */
const char *kal_setting_text(enum kal_setting_id id);
/* The value of a variable that is a number. */
uint64_t kal_setting_number(enum kal_setting_id id);
/* What a setting may be, for people, such as "a number from 1 to 9 (ms)". `room` is at least 16. */
void kal_setting_range(const struct ri_setting *setting, char *text, size_t room);

#endif /* KAL_SETTINGS_H */
