/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* The administrator's file (kal_config.h): the input is the file. It is loaded, and all settings are listed. */
#include "fuzz_list.h"

#include <unistd.h>

#include "fuzz_memory_file.h"
#include "kal_config.h"

static void
config_check(const struct kal_config *config)
{
	FUZZ_REQUIRE(strcmp(kal_config_adapter(config, "no alias has this name, it is "
						       "far too long for one to have, longer than "
						       "64 octets"),
			    "iwarp") != 0);
	for (const struct kal_alias *a = config->aliases; a != NULL; a = a->next) {
		FUZZ_REQUIRE(strnlen(a->alias, sizeof(a->alias)) < sizeof(a->alias));
		FUZZ_REQUIRE(strnlen(a->adapter, sizeof(a->adapter)) < sizeof(a->adapter));
		FUZZ_REQUIRE(strcmp(kal_config_adapter(config, a->alias), a->adapter) == 0);
	}
	FUZZ_REQUIRE(config->convert_s >= 1);
}

int
LLVMFuzzerTestOneInput(const uint8_t *octets, size_t len)
{
	static struct fuzz_memory_file file = {.fd = -1};
	static char variable[64];
	static char *variables[] = {variable, NULL};
	char **before = environ;
	struct kal_why why = {""};
	struct kal_config *config = NULL;
	enum ri_status status;

	if (file.fd < 0) {
		fuzz_settings_list(); /* loads the providers, as the real environment says */
		file = fuzz_memory_file_make();
		snprintf(variable, sizeof(variable), "ITAPI_CONFIG=%s", file.path);
	}
	fuzz_memory_file_fill(&file, octets, len);
	environ = variables;
	status = kal_config_load(file.path, NULL, &config, &why);
	FUZZ_REQUIRE(status == RI_SUCCESS || status == RI_ERR_INVALID_ARG);
	FUZZ_REQUIRE(strnlen(why.text, sizeof(why.text)) < sizeof(why.text));
	if (status == RI_SUCCESS) {
		config_check(config);
		kal_config_free(config);
	} else {
		FUZZ_REQUIRE(strncmp(why.text, file.path, strlen(file.path)) == 0);
	}
	if (status == RI_SUCCESS || len % 8 == 0) /* takes far longer than the rest */
		fuzz_settings_list();
	environ = before;
	return 0;
}
