/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include <stdio.h>
#include <string.h>

#include "cp_progress.h"
#include "tool_print.h"

#define WIDTH     20
#define PERIOD_US 100000
#define LEFT_MAX  (9999 * 60) /* s */

void
cp_progress_begin(struct cp_progress *progress, bool shown)
{
	progress->shown = shown;
	progress->begin = g_get_monotonic_time();
	progress->last = 0;
}

void
cp_progress_step(const struct cp_copy *copy, void *arg)
{
	struct cp_progress *progress = arg;
	gint64 now = g_get_monotonic_time();
	double part = copy->size > 0 ? (double)copy->done / (double)copy->size : 1;
	double seconds = (double)(now - progress->begin) / G_USEC_PER_SEC;
	int full = (int)(part * WIDTH);
	char bar[WIDTH + 1];
	char done[TOOL_SIZE_TEXT];
	char size[TOOL_SIZE_TEXT];
	double rate;
	unsigned left; /* s */

	if (!progress->shown || (now - progress->last < PERIOD_US && copy->done < copy->size))
		return;
	progress->last = now;
	memset(bar, '.', WIDTH);
	memset(bar, '#', (size_t)full);
	bar[WIDTH] = '\0';
	rate = seconds > 0 ? (double)copy->done / seconds : 0;
	left = rate > 0 ? (unsigned)MIN((double)(copy->size - copy->done) / rate, LEFT_MAX) : 0;
	tool_size(done, sizeof(done), copy->done);
	tool_size(size, sizeof(size), copy->size);
	/* Not a reader of stderr that has stopped reading decides how fast files are copied. */
	g_autofree char *line =
		g_strdup_printf("\r[%s] %3d%% %8s of %8s %8.1f MB/s %4u:%02u left", bar,
				(int)(part * 100), done, size, rate / 1e6, left / 60, left % 60);
	tool_say(line);
}

void
cp_progress_end(struct cp_progress *progress)
{
	if (progress->shown && progress->last != 0)
		tool_say("\n");
}
