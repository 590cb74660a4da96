/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include "cert_extent.h"

#include <stdio.h>
#include <unistd.h>

#include "cert_host.h"
#include "cert_node.h"

#define MEMORY_MAX (4 * 1024 * 1024) /* bytes of growth that the allocator may show */
#define PAUSE_US   10000             /* between two looks at what is still there */

static uint64_t
resident(void)
{
	FILE *file = fopen("/proc/self/statm", "re");
	unsigned long all = 0, pages = 0;

	if (file == NULL)
		return 0;
	if (fscanf(file, "%lu %lu", &all, &pages) != 2)
		pages = 0;
	fclose(file);
	return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

struct cert_extent
cert_extent_now(struct cert *cert)
{
	return (struct cert_extent){
		.memory = cert_host_can_starve() ? resident() : 0,
		.files = cert_entries_of("/proc/self/fd"),
		.threads = cert_entries_of("/proc/self/task"),
		.attached = cert_host_attached(cert_host(cert)),
		.watched = cert_host_watched(cert_host(cert)),
	};
}

static bool
fits(const struct cert_extent *after, const struct cert_extent *before)
{
	return after->files <= before->files && after->threads <= before->threads &&
	       after->attached <= before->attached && after->watched <= before->watched &&
	       after->memory <= before->memory + MEMORY_MAX;
}

bool
cert_extent_fits(struct cert *cert, const struct cert_extent *before)
{
	struct cert_extent now = cert_extent_now(cert);

	return fits(&now, before);
}

void
cert_extent_expect(struct cert *cert, const struct cert_extent *before)
{
	struct cert_extent after = cert_extent_now(cert);
	gint64 until = 0;

	while (!fits(&after, before) && cert_patience(cert, &until)) {
		g_usleep(PAUSE_US);
		after = cert_extent_now(cert);
	}
	CERT_UINT(cert, after.files, <=, before->files);
	CERT_UINT(cert, after.threads, <=, before->threads);
	CERT_UINT(cert, after.attached, <=, before->attached);
	CERT_UINT(cert, after.watched, <=, before->watched);
	CERT_UINT(cert, after.memory, <=, before->memory + MEMORY_MAX);
}
