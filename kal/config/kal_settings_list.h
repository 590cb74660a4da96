/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * All settings at once: the library's variables, the keys of the administrator's file, the
 * variables that providers declare, and variables whose names look like one of these. For tools
 * that show them to people; the library itself reads no setting through it.
 */
#ifndef KAL_SETTINGS_LIST_H
#define KAL_SETTINGS_LIST_H

#include <stdbool.h>

#include "rnicpi_host.h"

/* One setting as it is now. Texts are valid for the call; values may be cut. */
struct kal_setting_now {
	const char *owner;   /* "itapi", a provider, or "": unknown */
	const char *meaning; /* "" if it is unknown */
	const char *preset;  /* the default; NULL: none */
	bool set_uid;        /* programs with more rights than their caller read it too */
	char name[136];      /* ITAPI_LOG, or "[mpa] crc" */
	char range[128];     /* what it may be */
	char value[256];     /* what holds; "" is nothing */
	char origin[512];    /* "default", "environment", a variable, or FILE:LINE */
	char trouble[512];   /* what is wrong with it, or "" */
};

/*
 * Loads the providers, reads the file, and calls `each` for every setting. RI_ERR_RESOURCES: memory or
 * descriptors ran out, and nothing was listed.
 */
enum ri_status kal_settings_list(void (*each)(void *arg, const struct kal_setting_now *now),
				 void *arg) RI_MUST_CHECK;
/* Warn of variables of the library that have a value which cannot be. */
void kal_settings_check(const struct ri_host *host);
/* Warn of values of the providers' variables, and of variables with a name near to a known one. */
void kal_settings_check_all(const struct ri_host *host);

#endif /* KAL_SETTINGS_LIST_H */
