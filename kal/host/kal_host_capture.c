/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The capture that ITAPI_PCAP asks for (kal_capture.h). It begins when the host table is created,
 * and ends with the process, which waits up to a few seconds for the last frames to be written. A
 * forked child that uses the library again has a file of its own.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "kal_host.h"
#include "kal_settings.h"
#include "ri_errno.h"
#include "ri_file.h"

#define PATIENCE 5000 /* ms at the end of the process */
#define WHERE    "capture"

static _Atomic(struct kal_capture *) at_exit; /* of the host of this process */

static void
host_capture(void *self, const struct ri_captured *what)
{
	struct kal_host *host = self;

	if (!atomic_load(&host->dead))
		kal_capture_put(host->capture, what);
}

static void
host_say(void *self, const char *text)
{
	kal_host_log(self, RI_LOG_WARNING, WHERE, text);
}

/* ns between 1970 and the begin of the clock of the host. */
static uint64_t
epoch_of(const struct kal_host *host)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec -
	       host->table.now(host->table.self);
}

void
kal_host_capture_begin(struct kal_host *host)
{
	const char *name = kal_setting_text(KAL_SETTING_PCAP);
	const struct kal_capture_params params = {
		.now = host->table.now, .epoch = epoch_of(host), .say = host_say, .self = host};
	char path[4096], text[512];
	int fd;

	if (name == NULL || *name == '\0')
		return;
	fd = ri_file_new(name, path, sizeof(path));
	if (fd >= 0)
		host->capture = kal_capture_begin(fd, &params);
	else
		(void)snprintf(text, sizeof(text), "nothing is captured: %.256s: %s", path,
			       ri_errno_text(errno));
	if (fd >= 0 && host->capture == NULL)
		(void)snprintf(text, sizeof(text), "nothing is captured: no memory or no thread");
	if (host->capture == NULL) {
		host_say(host, text);
		return;
	}
	(void)snprintf(text, sizeof(text), "frames go to %.256s, payload included", path);
	if (host->table.log_level >= RI_LOG_INFO)
		kal_host_log(host, RI_LOG_INFO, WHERE, text);
	atomic_store(&at_exit, host->capture);
	host->table.capture = host_capture;
}

void
kal_host_capture_end(struct kal_host *host)
{
	struct kal_capture *mine = host->capture;

	if (mine == NULL)
		return;
	(void)atomic_compare_exchange_strong(&at_exit, &mine, NULL);
	kal_capture_end(host->capture);
	host->capture = NULL;
}

void
kal_host_capture_forked(struct kal_host *host)
{
	if (host->capture != NULL)
		kal_capture_forked(host->capture);
	atomic_store(&at_exit, NULL);
}

/* Other threads may still capture: the host and its capture stay. */
__attribute__((destructor)) static void
finish_capture(void)
{
	struct kal_capture *capture = atomic_exchange(&at_exit, NULL);

	if (capture != NULL)
		kal_capture_flush(capture, PATIENCE);
}
