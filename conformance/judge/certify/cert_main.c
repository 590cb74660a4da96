/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * it-certify-cases: the program that contains the cases and loads the provider. it-certify starts
 * it as often as needed, and reads its records; developers start it under a debugger:
 *
 *     gdb --args it-certify-cases --adapter iwarp verbs.first.0001
 */

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>

#include "cert_frame.h"
#include "cert_profile.h"
#include "it_fabric.h"
#include "tool_output.h"

struct options {
	char *provider;
	char *installed;
	char *adapter;
	gint64 seed;
	double patience;
	double duration;
	int fd;
	gboolean list;
	gboolean check;
	gboolean profile;
	gboolean attributes;
	char **ids;
};

static const struct cert_case *
case_find(const char *id)
{
	for (const struct cert_set *const *set = cert_sets; *set != NULL; set++) {
		for (size_t i = 0; i < (*set)->count; i++) {
			if (strcmp((*set)->cases[i].id, id) == 0)
				return &(*set)->cases[i];
		}
	}
	return NULL;
}

static void
list_print(const struct cert_setup *setup)
{
	for (const struct cert_set *const *set = cert_sets; *set != NULL; set++) {
		for (size_t i = 0; i < (*set)->count; i++) {
			const struct cert_case *one = &(*set)->cases[i];
			g_autofree char *flags = g_strdup_printf("%u", one->flags);
			g_autofree char *seconds = g_strdup_printf("%u", one->seconds);

			cert_record(setup, one->id,
				    (const char *[]){one->title, one->rule,
						     one->needs != NULL ? one->needs : "",
						     one->settles != NULL ? one->settles : "",
						     flags, seconds, NULL});
		}
	}
}

/* --- the suite itself ------------------------------------------------------------------------ */

/* Level, topics, four digits: words of small letters and digits, separated by dots. */
static bool
is_id(const char *id)
{
	return g_regex_match_simple("^(border|verbs|endurance|figures)(\\.[a-z0-9-]+)+\\.[0-9]{4}$",
				    id, 0, 0);
}

static unsigned
print_complaint(const char *id, const char *text)
{
	printf("%s: %s\n", id, text);
	return 1;
}

static unsigned
case_check(const struct cert_case *one, GHashTable *ids, GHashTable *settled)
{
	g_autofree char *needs = cert_profile_check(one->needs);
	g_auto(GStrv) names = g_strsplit(one->settles != NULL ? one->settles : "", " ", -1);
	unsigned faults = 0;

	if (!is_id(one->id))
		faults += print_complaint(one->id, "is no id of a case");
	if (!g_hash_table_add(ids, (void *)one->id))
		faults += print_complaint(one->id, "is used twice");
	if (one->title == NULL || one->rule == NULL || one->run == NULL || one->rule[0] != '[')
		faults += print_complaint(one->id, "lacks a title, a rule or a function");
	if (needs != NULL)
		faults += print_complaint(one->id, needs);
	for (char **name = names; *name != NULL; name++) {
		const struct cert_attribute *at = cert_attribute_find(*name, strlen(*name));

		if (at == NULL || at->informs)
			faults +=
				print_complaint(one->id, "settles what is no claim of the profile");
		else
			g_hash_table_add(settled, (void *)at->name);
	}
	return faults;
}

/* Complains about the tables of cases. The attributes that no case of this program settles are listed apart. */
static int
suite_check(void)
{
	g_autoptr(GHashTable) ids = g_hash_table_new(g_str_hash, g_str_equal);
	g_autoptr(GHashTable) settled = g_hash_table_new(g_str_hash, g_str_equal);
	unsigned faults = 0;

	for (const struct cert_set *const *set = cert_sets; *set != NULL; set++) {
		for (size_t i = 0; i < (*set)->count; i++)
			faults += case_check(&(*set)->cases[i], ids, settled);
	}
	for (const struct cert_attribute *at = cert_attributes; at->name != NULL; at++) {
		if (!at->informs && !g_hash_table_contains(settled, at->name))
			printf("unsettled %s\n", at->name);
	}
	return faults > 0 ? 1 : 0;
}

static void
attributes_print(void)
{
	for (const struct cert_attribute *at = cert_attributes; at->name != NULL; at++)
		printf("%s\n", at->name);
}

/* --- the program ----------------------------------------------------------------------------- */

static int
run_case(const struct options *options)
{
	/* Static, so that what it owns is in use until the process ends. */
	static struct cert_setup setup;
	g_autoptr(GError) error = NULL;

	setup = (struct cert_setup){
		.seed = (uint64_t)options->seed,
		.patience_us = (gint64)(options->patience * G_USEC_PER_SEC),
		.duration_us = (gint64)(options->duration * G_USEC_PER_SEC),
		.fd = options->fd,
		.installed = options->installed,
	};

	if (options->list) {
		list_print(&setup);
		return 0;
	}
	if (!cert_setup_open(&setup, options->provider, options->adapter, &error)) {
		cert_record(&setup, CERT_RECORD_FAIL,
			    (const char *[]){"it-certify-cases", "loading the provider",
					     "it is taken over, and opens the adapter",
					     error->message, NULL});
		fprintf(stderr, "it-certify-cases: %s\n", error->message);
		return 1;
	}
	if (options->profile)
		cert_setup_tell(&setup);
	for (char **id = options->ids; id != NULL && *id != NULL; id++) {
		const struct cert_case *one = case_find(*id);

		if (one == NULL) {
			fprintf(stderr, "it-certify-cases: there is no case %s\n", *id);
			return 2;
		}
		cert_run(&setup, one);
	}
	return 0;
}

int
main(int argc, char **argv)
{
	static struct options options = {.seed = 1, .patience = 60, .duration = 1, .fd = -1};
	GOptionEntry entries[] = {
		{"provider", 0, 0, G_OPTION_ARG_FILENAME, &options.provider,
		 "The shared object of the provider", "FILE"},
		{"installed", 0, 0, G_OPTION_ARG_FILENAME, &options.installed,
		 "Without --provider: where installed providers are", "FOLDER"},
		{"adapter", 'a', 0, G_OPTION_ARG_STRING, &options.adapter, "The adapter", "NAME"},
		{"seed", 0, 0, G_OPTION_ARG_INT64, &options.seed, "Of random numbers", "N"},
		{"patience", 0, 0, G_OPTION_ARG_DOUBLE, &options.patience,
		 "How long a case waits for what must come", "SECONDS"},
		{"duration", 0, 0, G_OPTION_ARG_DOUBLE, &options.duration,
		 "How long a case of endurance goes on", "SECONDS"},
		{"fd", 0, 0, G_OPTION_ARG_INT, &options.fd, "Descriptor for records", "FD"},
		{"list", 'l', 0, G_OPTION_ARG_NONE, &options.list, "Print the cases", NULL},
		{"check", 0, 0, G_OPTION_ARG_NONE, &options.check, "Check the tables of cases",
		 NULL},
		{"profile", 0, 0, G_OPTION_ARG_NONE, &options.profile, "Print the profile", NULL},
		{"attributes", 0, 0, G_OPTION_ARG_NONE, &options.attributes,
		 "Print the attributes that are known", NULL},
		{G_OPTION_REMAINING, 0, 0, G_OPTION_ARG_STRING_ARRAY, &options.ids, NULL,
		 "CASE..."},
		{NULL, 0, 0, G_OPTION_ARG_NONE, NULL, NULL, NULL},
	};
	g_autoptr(GOptionContext) context = g_option_context_new("- runs cases of it-certify");
	g_autoptr(GError) error = NULL;

	/* A child that hangs does not outlive its runner. */
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	tool_output_watch();
	fabric_of_its_own();
	g_option_context_add_main_entries(context, entries, NULL);
	if (!g_option_context_parse(context, &argc, &argv, &error)) {
		fprintf(stderr, "it-certify-cases: %s\n", error->message);
		return 2;
	}
	if (options.check)
		return suite_check();
	if (options.attributes) {
		attributes_print();
		return 0;
	}
	return run_case(&options);
}
