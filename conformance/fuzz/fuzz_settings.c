/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Settings in the environment. The input is texts that end with a zero. The first octet of each text picks a
 * variable that has a row, of the library or of a provider, and the others are its value; if the octet is above
 * the last row, the text is a whole variable, with its name. Then all settings are checked, read and listed.
 */
#include "fuzz_list.h"

#include <unistd.h>

#include "kal_settings.h"
#include "vem_setting.h"
#include "viw_setting.h"
#include "vsw_setting.h"

#define VARIABLES_MAX 8 /* each costs a comparison with every name that is known */
#define ROWS          (KAL_SETTING_COUNT + VEM_SETTING_COUNT + VIW_SETTING_COUNT)

static const struct ri_setting *
row_of(unsigned index)
{
	if (index < KAL_SETTING_COUNT)
		return kal_setting((enum kal_setting_id)index);
	index -= KAL_SETTING_COUNT;
	return index < VEM_SETTING_COUNT ? &vem_settings[index]
					 : &viw_settings[index - VEM_SETTING_COUNT];
}

/*
 * A variable that the input describes. NULL if it is not to be set: its row names a file or a
 * folder, which the harness must not read; or the name is empty, which no real environment contains
 * (getenv() of glibc reads two bytes of each name).
 */
static char *
variable_take(const uint8_t *text, size_t len)
{
	const struct ri_setting *row = text[0] < ROWS ? row_of(text[0]) : NULL;
	size_t name = row != NULL ? strlen(row->name) : 0;
	char *variable;

	if (row == NULL && len == 1)
		return NULL;
	if (row == NULL)
		variable = fuzz_text(text + 1, len - 1);
	else if ((variable = malloc(name + len + 1)) != NULL)
		snprintf(variable, name + len + 1, "%s=%.*s", row->name, (int)len - 1,
			 (const char *)text + 1);
	if (variable != NULL && (strncmp(variable, "ITAPI_CONFIG=", 13) == 0 ||
				 strncmp(variable, "ITAPI_PROVIDER_PATH=", 20) == 0)) {
		free(variable);
		return NULL;
	}
	return variable;
}

static void
log_nothing(void *self, enum ri_log_level level, const char *where, const char *text)
{
	(void)self;
	(void)level;
	FUZZ_REQUIRE(where != NULL && text != NULL && text[0] != '\0');
}

/* Read each setting. What holds must be something that the row allows. */
static void
settings_read(void)
{
	const struct ri_host host = {
		.size = sizeof(host), .log_level = RI_LOG_DEBUG, .log = log_nothing};

	for (unsigned i = 0; i < ROWS; i++) {
		const struct ri_setting *row = row_of(i);
		const char *text = i < KAL_SETTING_COUNT ? kal_setting_text((enum kal_setting_id)i)
							 : vsw_setting_text(row);
		uint64_t number = i < KAL_SETTING_COUNT ? kal_setting_number((enum kal_setting_id)i)
							: vsw_setting_time(row, 1);

		if (text != NULL && row->kind == RI_SETTING_NUMBER)
			FUZZ_REQUIRE(number >= row->min && number <= row->max);
		if (text != NULL && row->kind == RI_SETTING_WORD)
			FUZZ_REQUIRE(strstr(row->form, text) != NULL && strchr(text, '|') == NULL);
	}
	kal_settings_check(&host);
	kal_settings_check_all(&host);
}

int
LLVMFuzzerTestOneInput(const uint8_t *octets, size_t len)
{
	char **before = environ;
	char *variables[VARIABLES_MAX + 1];
	unsigned count = 0;

	static bool loaded;

	if (!loaded)
		fuzz_settings_list(); /* loads the providers, as the real environment says */
	loaded = true;
	while (len > 0 && count < VARIABLES_MAX) {
		size_t text = strnlen((const char *)octets, len);

		if (text > 0) {
			variables[count] = variable_take(octets, text);
			count += variables[count] != NULL;
		}
		octets += text < len ? text + 1 : text;
		len -= text < len ? text + 1 : text;
	}
	variables[count] = NULL;
	environ = variables;
	settings_read();
	fuzz_settings_list();
	environ = before;
	while (count-- > 0)
		free(variables[count]);
	return 0;
}
