/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* The kAL's list of settings in the words of this layer. */

#include "kal_settings_list.h"
#include "ual.h"
#include "ual_status.h"

struct taker {
	void (*each)(void *arg, const struct ual_setting *setting);
	void *arg;
};

static void
pass_setting(void *arg, const struct kal_setting_now *now)
{
	const struct taker *taker = (const struct taker *)arg;
	const struct ual_setting setting = {
		.name = now->name,
		.owner = now->owner,
		.meaning = now->meaning,
		.range = now->range,
		.preset = now->preset != NULL ? now->preset : "",
		.value = now->value,
		.origin = now->origin,
		.trouble = now->trouble,
		.set_uid = now->set_uid,
	};

	taker->each(taker->arg, &setting);
}

it_status_t
ual_settings_list(void (*each)(void *arg, const struct ual_setting *setting), void *arg)
{
	struct taker taker = {.each = each, .arg = arg};

	return ual_status(UAL_CALL_OTHER, kal_settings_list(pass_setting, &taker));
}
