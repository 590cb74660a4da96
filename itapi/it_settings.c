/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Entry point: settings of the library and of providers [IT 15.11.10]. */

#include <string.h>

#include "it_answer.h"
#include "it_ext.h"
#include "it_text.h"
#include "ual.h"

/* Where the settings go that are listed. */
struct settings {
	itx_setting_t *list;
	size_t room, filled, total;
};

static void
add_setting(void *arg, const struct ual_setting *setting)
{
	struct settings *settings = (struct settings *)arg;
	itx_setting_t *out;

	settings->total++;
	if (settings->filled == settings->room)
		return;
	out = &settings->list[settings->filled++];
	it_text_copy(out->name, sizeof(out->name), setting->name);
	it_text_copy(out->owner, sizeof(out->owner), setting->owner);
	it_text_copy(out->meaning, sizeof(out->meaning), setting->meaning);
	it_text_copy(out->range, sizeof(out->range), setting->range);
	it_text_copy(out->preset, sizeof(out->preset), setting->preset);
	it_text_copy(out->value, sizeof(out->value), setting->value);
	it_text_copy(out->origin, sizeof(out->origin), setting->origin);
	it_text_copy(out->trouble, sizeof(out->trouble), setting->trouble);
	out->set_uid = setting->set_uid ? IT_TRUE : IT_FALSE;
}

it_status_t
itx_settings_list(OUT itx_setting_t *settings, IN OUT size_t *num_settings,
		  OUT size_t *total_settings)
{
	SESSION_DEFER;
	struct settings found = {.list = settings};
	it_status_t status;

	if (num_settings == NULL || total_settings == NULL ||
	    (settings == NULL && *num_settings > 0))
		return IT_ANSWER(NULL, IT_ERR_FAULT);
	found.room = *num_settings;
	status = ual_settings_list(add_setting, &found);
	*num_settings = found.filled;
	*total_settings = found.total;
	return IT_ANSWER(NULL, status);
}
