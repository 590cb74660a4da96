/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Loads the providers: once for the process, and later again those that waited for their devices. A
 * forked child has the providers that its parent has loaded, so the fork waits until no other
 * thread is loading one.
 */
#include <limits.h>
#include <pthread.h>

#include "kal_host.h"
#include "kal_objects.h"
#include "kal_settings.h"
#include "kal_settings_list.h"
#include "ri_load.h"
#include "ri_registry.h"

/* Recursive: a function of the application that writes the log while providers are loaded may fork. */
static pthread_mutex_t load_lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

static void
providers_before_fork(void)
{
	pthread_mutex_lock(&load_lock);
	ri_registry_before_fork();
}

static void
providers_after_fork(void)
{
	ri_registry_after_fork();
	pthread_mutex_unlock(&load_lock);
}

/* A recursive lock records the number of its owner's thread, and the child's thread has another number. */
static void
providers_forked(void)
{
	const pthread_mutex_t fresh = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

	ri_registry_after_fork();
	load_lock = fresh;
}

static void
providers_watch_forks(void)
{
	(void)pthread_atfork(providers_before_fork, providers_after_fork, providers_forked);
}

enum ri_status
kal_providers_load(const struct ri_host *host)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	static char folder[PATH_MAX]; /* under load_lock */
	static bool loaded, unchecked;
	unsigned more = 0;
	bool complete;

	/*
	 * At a fork the handler that was registered last runs first, and locks are taken in the order of levels: so the
	 * handler of the host, whose lock is taken while providers are loaded, is registered first.
	 */
	kal_host_watch_forks();
	pthread_once(&once, providers_watch_forks);
	pthread_mutex_lock(&load_lock);
	/* Incomplete: memory or descriptors ran out. */
	if (loaded) {
		complete = ri_load_again(host, &more);
	} else {
		more = 1;
		complete = ri_load_all(host, ri_builtin_entries,
				       kal_setting_text(KAL_SETTING_PROVIDER_PATH),
				       ri_load_folder(folder, sizeof(folder)));
	}
	unchecked = unchecked || more != 0;
	if (complete && unchecked) {
		kal_settings_check_all(host);
		unchecked = false;
	}
	loaded = loaded || complete;
	pthread_mutex_unlock(&load_lock);
	return complete ? RI_SUCCESS : RI_ERR_RESOURCES;
}
