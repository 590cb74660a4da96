/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cp_progress.h"
#include "tool_print.h"

#define BAR_MIN          5
#define BAR_MAX          60
#define COLUMNS          80          /* where there is no terminal that has a width */
#define LINE_MAX_COLUMNS 500         /* of a terminal that is wider */
#define LEVELS           3           /* of text_for() */
#define PERIOD_US        100000      /* between two lines on a terminal */
#define FILE_PERIOD_US   1000000     /* between two lines elsewhere */
#define LEFT_MAX         (9999 * 60) /* s */

void
cp_progress_begin(struct cp_progress *progress, bool shown)
{
	progress->shown = shown;
	progress->begin = g_get_monotonic_time();
	progress->last = 0;
	progress->terminal = isatty(STDERR_FILENO) == 1;
	progress->period = progress->terminal ? PERIOD_US : FILE_PERIOD_US;
}

/* Columns that a line may have: one fewer than the terminal has, since some begin a new line behind the last one. */
static size_t
columns(const struct cp_progress *progress)
{
	struct winsize size;

	if (!progress->terminal || ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
		return COLUMNS - 1;
	return CLAMP((size_t)size.ws_col - 1, 1, LINE_MAX_COLUMNS);
}

/* What stands behind the bar, from the most that is worth telling to the least. */
static char *
text_for(const struct cp_copy *copy, double seconds, unsigned level)
{
	double part = copy->size > 0 ? (double)copy->done / (double)copy->size : 1;
	double rate = seconds > 0 ? (double)copy->done / seconds : 0;
	unsigned left =
		rate > 0 ? (unsigned)MIN((double)(copy->size - copy->done) / rate, LEFT_MAX) : 0;
	int percent = (int)(part * 100);
	char done[TOOL_SIZE_TEXT];
	char size[TOOL_SIZE_TEXT];

	tool_size(done, sizeof(done), copy->done);
	tool_size(size, sizeof(size), copy->size);
	switch (level) {
	case 0:
		return g_strdup_printf(" %3d%% %8s of %8s %8.1f MB/s %4u:%02u left", percent, done,
				       size, rate / 1e6, left / 60, left % 60);
	case 1:
		return g_strdup_printf(" %3d%% %8s %4u:%02u left", percent, done, left / 60,
				       left % 60);
	case 2:
		return g_strdup_printf(" %3d%% %4u:%02u left", percent, left / 60, left % 60);
	default:
		return g_strdup_printf(" %3d%%", percent);
	}
}

void
cp_progress_step(const struct cp_copy *copy, void *arg)
{
	struct cp_progress *progress = arg;
	gint64 now = g_get_monotonic_time();
	double part = copy->size > 0 ? (double)copy->done / (double)copy->size : 1;
	double seconds = (double)(now - progress->begin) / G_USEC_PER_SEC;
	size_t width = columns(progress);
	g_autofree char *text = NULL;
	g_autofree char *bar = NULL;
	g_autofree char *line = NULL;
	size_t room;

	if (!progress->shown ||
	    (now - progress->last < progress->period && copy->done < copy->size))
		return;
	progress->last = now;
	text = text_for(copy, seconds, 0);
	for (unsigned level = 1; level <= LEVELS && strlen(text) + BAR_MIN + 2 > width; level++) {
		g_free(text);
		text = text_for(copy, seconds, level);
	}
	if (strlen(text) + 3 > width) { /* no room for a bar */
		line = g_strdup_printf("%s%.*s%s", progress->terminal ? "\r" : "", (int)width,
				       text + 1, progress->terminal ? "" : "\n");
	} else {
		room = MIN(width - strlen(text) - 2, BAR_MAX);
		bar = g_strnfill(room, '.');
		memset(bar, '#', (size_t)(part * (double)room));
		/* On a terminal spaces cover the rest of the line before, which may be longer. */
		line = progress->terminal
			       ? g_strdup_printf("\r[%s]%-*s", bar, (int)(width - room - 2), text)
			       : g_strdup_printf("[%s]%s\n", bar, text);
	}
	/* A reader of stderr that has stopped reading does not slow the copy down. */
	tool_say(line);
}

void
cp_progress_end(struct cp_progress *progress)
{
	if (progress->shown && progress->terminal && progress->last != 0)
		tool_say("\n");
}
