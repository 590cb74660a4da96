/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The settings that a provider declares [RI 11.1.5]: checks whether they are valid, and how the
 * layers above read them. The rows belong to the provider and have the size with which it was
 * compiled; a shorter row is extended by zeros.
 */
#include "ri_setting.h"

#include <string.h>

#include "ri_registry.h"

#define SETTINGS_MAX 64   /* of one provider */
#define ROW_MAX      4096 /* octets of a row */
#define NAME_MAX_    63

static bool
is_variable(const char *name)
{
	static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
	size_t length = name != NULL ? strnlen(name, NAME_MAX_ + 1) : 0;

	return length > 0 && length <= NAME_MAX_ && strspn(name, letters) == length &&
	       strchr("0123456789", name[0]) == NULL;
}

void
ri_loaded_setting(const struct ri_loaded *loaded, uint32_t index, struct ri_setting *out)
{
	const struct ri_provider *provider = &loaded->provider;
	size_t size = provider->setting_size;

	memset(out, 0, sizeof(*out));
	memcpy(out, (const char *)provider->settings + index * size,
	       size < sizeof(*out) ? size : sizeof(*out));
}

bool
ri_settings_check(const struct ri_loaded *loaded, struct ri_error *error)
{
	const struct ri_provider *provider = &loaded->provider;
	uint32_t size = provider->setting_size;

	if (provider->num_settings == 0)
		return true;
	if (provider->settings == NULL || provider->num_settings > SETTINGS_MAX ||
	    size < sizeof(struct ri_setting) || size > ROW_MAX || size % sizeof(void *) != 0)
		return ri_error_set(error, RI_REGISTRY_ERROR_SHAPE,
				    "states %u settings of %u bytes, which cannot be",
				    provider->num_settings, size);
	for (uint32_t i = 0; i < provider->num_settings; i++) {
		struct ri_setting setting;

		ri_loaded_setting(loaded, i, &setting);
		if (!is_variable(setting.name))
			return ri_error_set(
				error, RI_REGISTRY_ERROR_SHAPE,
				"setting %u has no name of 1 to %d capitals, digits and '_'", i,
				NAME_MAX_);
		if (setting.meaning == NULL || setting.kind > RI_SETTING_WORD ||
		    (setting.kind == RI_SETTING_WORD && setting.form == NULL))
			return ri_error_set(error, RI_REGISTRY_ERROR_SHAPE,
					    "setting %s does not say what it means", setting.name);
		if (setting.kind == RI_SETTING_NUMBER && setting.min > setting.max)
			return ri_error_set(error, RI_REGISTRY_ERROR_SHAPE,
					    "setting %s has its greatest number below its least",
					    setting.name);
		if (setting.preset != NULL && !ri_setting_allows(&setting, setting.preset))
			return ri_error_set(
				error, RI_REGISTRY_ERROR_SHAPE,
				"setting %s has the default '%s', which is none of its values",
				setting.name, setting.preset);
	}
	return true;
}
