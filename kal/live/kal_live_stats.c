/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * A function of atexit() writes the line, so it is written when the process calls exit() or returns from main(), and not when a
 * signal, _exit() or exec ends the program. Each process appends its line by one write, so the lines of a parent and its children
 * do not mix.
 */
#include "kal_live_stats.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kal_call.h"
#include "kal_settings.h"
#include "ri_calls.h"
#include "ri_errno.h"
#include "ri_fd.h"
#include "ri_log.h"
#include "rnicpi_types.h"

/* --- the text -------------------------------------------------------------------------------------------------- */

/* Text that grows; without memory it stays as it was, and `lost` is set. */
struct text {
	char *at;
	size_t len, room;
	bool lost;
};

static __attribute__((format(printf, 2, 3))) void
put(struct text *text, const char *format, ...)
{
	char piece[512];
	va_list args;
	size_t n;

	va_start(args, format);
	(void)vsnprintf(piece, sizeof(piece), format, args);
	va_end(args);
	n = strlen(piece);
	if (text->len + n + 1 > text->room) {
		size_t room = text->room * 2 + sizeof(piece);
		char *more = realloc(text->at, room);

		if (more == NULL) {
			text->lost = true;
			return;
		}
		text->at = more;
		text->room = room;
	}
	memcpy(text->at + text->len, piece, n + 1);
	text->len += n;
}

/* A text within quotes; what JSON does not allow there, and all that is not ASCII, becomes a question mark. */
static void
put_quoted(struct text *text, const char *value)
{
	char safe[80];
	size_t n = 0;

	for (; *value != '\0' && n < sizeof(safe) - 1; value++)
		safe[n++] = *value >= ' ' && *value <= '~' && *value != '"' && *value != '\\'
				    ? *value
				    : '?';
	safe[n] = '\0';
	put(text, "\"%s\"", safe);
}

/* "rdma_write" of "RI_OP_RDMA_WRITE". */
static void
put_name(struct text *text, const char *name)
{
	const char *at = strlen(name) > 6 ? name + 6 : name;
	char lower[40];
	size_t n = 0;

	for (; *at != '\0' && n < sizeof(lower) - 1; at++)
		lower[n++] = *at >= 'A' && *at <= 'Z' ? (char)(*at - 'A' + 'a') : *at;
	lower[n] = '\0';
	put_quoted(text, lower);
}

/* The counters that are not 0, by the names of their values. */
static void
put_named(struct text *text, const char *key, const uint64_t *values, unsigned count,
	  const char *(*name)(unsigned value))
{
	const char *comma = "";

	put(text, ",\"%s\":{", key);
	for (unsigned i = 0; i < count; i++) {
		if (values[i] == 0)
			continue;
		put(text, "%s", comma);
		put_name(text, name(i));
		put(text, ":%" PRIu64, values[i]);
		comma = ",";
	}
	put(text, "}");
}

static const char *
opcode_name(unsigned value)
{
	return ri_opcode_name((enum ri_opcode)value);
}

static const char *
status_name(unsigned value)
{
	return ri_wc_status_name((enum ri_wc_status)value);
}

static void
put_if(struct text *text, bool known, const char *key, uint64_t value)
{
	if (known)
		put(text, ",\"%s\":%" PRIu64, key, value);
}

static void
put_sum(struct text *text, const struct kal_live_sum *sum)
{
	uint32_t qp = sum->qp.known, cq = sum->cq.known;

	put(text, "{\"adapter\":");
	put_quoted(text, sum->name);
	put(text,
	    ",\"opened\":%" PRIu64 ",\"queue_pairs\":%" PRIu64 ",\"completion_queues\":%" PRIu64,
	    sum->adapters, sum->qps, sum->cqs);
	put_if(text, sum->srqs != 0, "shared_receive_queues", sum->srqs);
	put_named(text, "posts", sum->qp.posts, RI_OP_COUNT, opcode_name);
	put_if(text, (qp & RI_COUNTED_OCTETS) != 0, "octets_posted", sum->qp.octets);
	put_if(text, (qp & RI_COUNTED_FRAMES) != 0, "frames_sent", sum->qp.frames_sent);
	put_if(text, (qp & RI_COUNTED_FRAMES) != 0, "frames_received", sum->qp.frames_received);
	put_if(text, (qp & RI_COUNTED_RETRIES) != 0, "retries", sum->qp.retries);
	put_if(text, (qp & RI_COUNTED_CRC) != 0, "crc_errors", sum->qp.crc_errors);
	put_named(text, "completions", sum->cq.done, RI_WC_STATUS_COUNT, status_name);
	put_if(text, (cq & RI_COUNTED_OCTETS) != 0, "octets_completed", sum->cq.octets);
	put_if(text, (cq & RI_COUNTED_ARMINGS) != 0, "armings", sum->cq.armings);
	put(text, ",\"events\":%" PRIu64 ",\"waits\":%" PRIu64 ",\"wake_ups\":%" PRIu64 "}",
	    sum->events, sum->waits.waits, sum->waits.wake_ups);
}

char *
kal_live_stats_text(const struct kal_live_sum *sums)
{
	struct text text = {.at = NULL};

	put(&text, "{\"pid\":%d,\"command\":", (int)getpid());
	put_quoted(&text, program_invocation_short_name);
	put(&text, ",\"adapters\":[");
	for (const struct kal_live_sum *sum = sums; sum != NULL; sum = sum->next) {
		put_sum(&text, sum);
		if (sum->next != NULL)
			put(&text, ",");
	}
	put(&text, "]}\n");
	if (text.lost) {
		free(text.at);
		return NULL;
	}
	return text.at;
}

/* --- the file -------------------------------------------------------------------------------------------------- */

/* Why the file is not to be written; NULL: it is. */
static const char *
file_refusal(int fd)
{
	struct stat st;

	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
		return "it is not a regular file";
	if (st.st_uid != geteuid())
		return "it belongs to another user";
	if (st.st_nlink != 1)
		return "it has several names";
	if ((st.st_mode & (S_IWGRP | S_IWOTH)) != 0)
		return "other users may write it";
	return NULL;
}

int
kal_live_stats_append(const char *path, const char *text, const char **why)
{
	/* Not blocking: a pipe without a reader is refused, too. */
	int fd = ri_fd_open(
		path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0600);
	size_t len = strlen(text);
	int error = 0;

	*why = NULL;
	if (fd < 0) {
		error = errno;
		*why = error == ELOOP ? "it is a symbolic link" : ri_errno_text(error);
		return error;
	}
	*why = file_refusal(fd);
	if (*why != NULL)
		error = EPERM;
	errno = 0;
	if (*why == NULL && ri_write(fd, text, len) != (ssize_t)len) {
		error = errno != 0 ? errno : EIO;
		*why = ri_errno_text(error);
	}
	ri_close(fd);
	return error;
}

/* --- the end of the process ---------------------------------------------------------------------------------------- */

static void
stats_write(void)
{
	const char *path = kal_setting_text(KAL_SETTING_STATS);
	struct kal_live_sum *sums;
	const char *why;
	char *text;

	if (path == NULL || *path == '\0')
		return;
	sums = kal_live_sums();
	/* The child of a fork without adapters of its own has nothing to say. */
	text = sums != NULL ? kal_live_stats_text(sums) : NULL;
	if (text != NULL && kal_live_stats_append(path, text, &why) != 0) {
		const struct ri_host *host = kal_host_here();

		if (host != NULL)
			ri_log(host, RI_LOG_WARNING, &(struct ri_log_about){.layer = "kal"},
			       "ITAPI_STATS: nothing is written to %s: %s", path, why);
	}
	free(text);
	kal_live_sums_free(sums);
}

void
kal_live_stats_begin(void)
{
	(void)atexit(stats_write);
}
