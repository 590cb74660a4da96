/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The file of a capture: blocks of pcapng (draft-ietf-opsawg-pcapng), in this machine's byte order, and the thread that writes
 * them.
 */
#include "kal_capture.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "ri_errno.h"

#define COMMENT 400

/* Types of blocks and options. */
#define BLOCK_SECTION    0x0a0d0d0au
#define BLOCK_INTERFACE  1u
#define BLOCK_STATISTICS 5u
#define BLOCK_PACKET     6u
#define BYTE_ORDER_MAGIC 0x1a2b3c4du
#define OPTION_COMMENT   1u
#define IF_NAME          2u
#define IF_TSRESOL       9u
#define EPB_FLAGS        2u
#define ISB_IFRECV       4u
#define ISB_IFDROP       5u
#define SHB_USERAPPL     4u
#define INBOUND          1u
#define OUTBOUND         2u
#define NANOSECONDS      9
#define ETHERNET         1u

/* --- blocks -------------------------------------------------------------------------------- */

static void
put32(uint8_t **at, uint32_t value)
{
	memcpy(*at, &value, sizeof(value));
	*at += sizeof(value);
}

/* An option, with its padding. */
static void
put_option(uint8_t **at, unsigned code, const void *value, size_t len)
{
	const uint16_t head[2] = {(uint16_t)code, (uint16_t)len};

	memcpy(*at, head, sizeof(head));
	memset(*at + sizeof(head) + (len & ~(size_t)3), 0, 4);
	memcpy(*at + sizeof(head), value, len);
	*at += sizeof(head) + ((len + 3) & ~(size_t)3);
}

/* Write what `fill` has, on this thread. With the lock. */
static void
write_direct(struct kal_capture *capture, const uint8_t *octets, size_t len)
{
	while (len > 0 && !atomic_load(&capture->broken)) {
		ssize_t n = write(capture->fd, octets, len);
		char text[160];

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			atomic_store(&capture->broken, true);
			(void)snprintf(text, sizeof(text),
				       "the capture ends here, since its file takes no more: %s",
				       n < 0 ? ri_errno_text(errno) : "nothing was written");
			capture->params.say(capture->params.self, text);
			return;
		}
		octets += n;
		len -= (size_t)n;
	}
}

/* Room for a block; NULL: it is dropped. */
static uint8_t *
block_begin(struct kal_capture *capture, size_t size)
{
	return !atomic_load(&capture->broken) && KAL_CAPTURE_ROOM - capture->len >= size
		       ? capture->fill + capture->len
		       : NULL;
}

/* All of it but its length is there, from `from` to `at`. */
static void
block_end(struct kal_capture *capture, uint8_t *from, uint8_t *at)
{
	uint32_t size = (uint32_t)(at - from) + 4;

	memcpy(from + 4, &size, sizeof(size));
	memcpy(at, &size, sizeof(size));
	capture->len += size;
	if (capture->params.direct) {
		write_direct(capture, capture->fill, capture->len);
		capture->len = 0;
	} else {
		(void)pthread_cond_broadcast(&capture->changed);
	}
}

static void
section_add(struct kal_capture *capture)
{
	static const char program[] = "itapi";
	uint8_t *from = block_begin(capture, 64), *at = from;
	const uint16_t version[2] = {1, 0};

	put32(&at, BLOCK_SECTION);
	put32(&at, 0);
	put32(&at, BYTE_ORDER_MAGIC);
	memcpy(at, version, sizeof(version));
	at += sizeof(version);
	memset(at, 0xff, 8); /* the length of the section is not known */
	at += 8;
	put_option(&at, SHB_USERAPPL, program, sizeof(program) - 1);
	put32(&at, 0);
	block_end(capture, from, at);
}

static void
interface_add(struct kal_capture *capture, const char *name)
{
	const uint8_t resolution = NANOSECONDS;
	uint8_t *from = block_begin(capture, 128), *at = from;

	if (from == NULL)
		return;
	put32(&at, BLOCK_INTERFACE);
	put32(&at, 0);
	put32(&at, ETHERNET);
	put32(&at, 0); /* no limit of a frame's length */
	put_option(&at, IF_NAME, name, strlen(name));
	put_option(&at, IF_TSRESOL, &resolution, sizeof(resolution));
	put32(&at, 0);
	block_end(capture, from, at);
}

uint32_t
kal_capture_interface(struct kal_capture *capture, const char *name)
{
	unsigned i;

	for (i = 0; i < capture->names; i++)
		if (strncmp(capture->name[i], name, sizeof(capture->name[i]) - 1) == 0)
			return i;
	if (i == KAL_CAPTURE_NAMES || block_begin(capture, 128) == NULL)
		return 0;
	(void)snprintf(capture->name[i], sizeof(capture->name[i]), "%s", name);
	capture->names++;
	interface_add(capture, capture->name[i]);
	return i;
}

/* Both halves of a time. */
static void
put_time(struct kal_capture *capture, uint8_t **at)
{
	uint64_t time = capture->params.epoch + capture->params.now(capture->params.self);

	put32(at, (uint32_t)(time >> 32));
	put32(at, (uint32_t)time);
}

/* The comment of a frame, and before it how many were dropped; "": none. */
static void
comment_of(const struct kal_capture *capture, const struct kal_frame *frame, char *text,
	   size_t room)
{
	text[0] = '\0';
	if (capture->untold > 0)
		(void)snprintf(text, room,
			       "%llu frames were dropped before this one, since the file did not "
			       "take them in time%s",
			       (unsigned long long)capture->untold,
			       frame->text != NULL ? "; " : "");
	if (frame->text != NULL)
		(void)snprintf(text + strlen(text), room - strlen(text), "%s", frame->text);
}

void
kal_capture_frame(struct kal_capture *capture, const struct kal_frame *frame)
{
	uint32_t len = (uint32_t)(frame->head_len + frame->len);
	uint32_t way = frame->received ? INBOUND : OUTBOUND;
	uint8_t *from = block_begin(capture, len + COMMENT + 96), *at = from;
	char text[COMMENT];

	if (from == NULL || capture->names == 0) {
		capture->dropped++;
		capture->untold++;
		return;
	}
	comment_of(capture, frame, text, sizeof(text));
	capture->untold = 0;
	put32(&at, BLOCK_PACKET);
	put32(&at, 0);
	put32(&at, frame->interface);
	put_time(capture, &at);
	put32(&at, len);
	put32(&at, len);
	memcpy(at, frame->head, frame->head_len);
	at += frame->head_len;
	if (frame->len > 0)
		memcpy(at, frame->octets, frame->len);
	at += frame->len;
	memset(at, 0, 3);
	at += -len & 3u;
	if (text[0] != '\0')
		put_option(&at, OPTION_COMMENT, text, strlen(text));
	put_option(&at, EPB_FLAGS, &way, sizeof(way));
	put32(&at, 0);
	capture->frames++;
	block_end(capture, from, at);
}

/* How many frames there are, and were dropped. */
static void
statistics_add(struct kal_capture *capture)
{
	uint8_t *from = block_begin(capture, 96), *at = from;
	uint64_t all = capture->frames + capture->dropped;

	if (from == NULL || capture->names == 0)
		return;
	put32(&at, BLOCK_STATISTICS);
	put32(&at, 0);
	put32(&at, 0);
	put_time(capture, &at);
	put_option(&at, ISB_IFRECV, &all, sizeof(all));
	put_option(&at, ISB_IFDROP, &capture->dropped, sizeof(capture->dropped));
	put32(&at, 0);
	block_end(capture, from, at);
}

/* --- the thread of the file ----------------------------------------------------------------- */

static void *
file_main(void *arg)
{
	struct kal_capture *capture = arg;

	pthread_mutex_lock(&capture->lock);
	for (;;) {
		uint8_t *octets = capture->fill;
		size_t len = capture->len;

		if (len == 0 && capture->quit)
			break;
		if (len == 0) {
			(void)pthread_cond_wait(&capture->changed, &capture->lock);
			continue;
		}
		capture->fill = capture->out;
		capture->out = octets;
		capture->len = 0;
		capture->writing = true;
		pthread_mutex_unlock(&capture->lock);
		write_direct(capture, octets, len);
		pthread_mutex_lock(&capture->lock);
		capture->writing = false;
		(void)pthread_cond_broadcast(&capture->changed);
	}
	pthread_mutex_unlock(&capture->lock);
	return NULL;
}

static void
capture_free(struct kal_capture *capture)
{
	kal_capture_flows_free(capture);
	free(capture->fill);
	free(capture->out);
	(void)close(capture->fd);
	pthread_cond_destroy(&capture->changed);
	pthread_mutex_destroy(&capture->lock);
	free(capture);
}

/* A thread that no signal of the application reaches. */
static bool
thread_begin(struct kal_capture *capture)
{
	sigset_t all, before;
	bool good;

	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	good = pthread_create(&capture->thread, NULL, file_main, capture) == 0;
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	return good;
}

struct kal_capture *
kal_capture_begin(int fd, const struct kal_capture_params *params)
{
	struct kal_capture *capture = calloc(1, sizeof(*capture));
	pthread_condattr_t attr;

	if (capture == NULL) {
		(void)close(fd);
		return NULL;
	}
	capture->params = *params;
	capture->fd = fd;
	(void)pthread_condattr_init(&attr);
	(void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_mutex_init(&capture->lock, NULL);
	pthread_cond_init(&capture->changed, &attr);
	(void)pthread_condattr_destroy(&attr);
	capture->fill = malloc(KAL_CAPTURE_ROOM);
	capture->out = params->direct ? NULL : malloc(KAL_CAPTURE_ROOM);
	if (capture->fill == NULL || (!params->direct && capture->out == NULL) ||
	    (!params->direct && !thread_begin(capture))) {
		capture_free(capture);
		return NULL;
	}
	pthread_mutex_lock(&capture->lock);
	section_add(capture);
	pthread_mutex_unlock(&capture->lock);
	return capture;
}

void
kal_capture_put(struct kal_capture *capture, const struct ri_captured *what)
{
	pthread_mutex_lock(&capture->lock);
	kal_capture_make(capture, what);
	pthread_mutex_unlock(&capture->lock);
}

void
kal_capture_flush(struct kal_capture *capture, unsigned patience)
{
	struct timespec until;

	(void)clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += patience / 1000;
	until.tv_nsec += (long)(patience % 1000) * 1000000;
	if (until.tv_nsec >= 1000000000) {
		until.tv_nsec -= 1000000000;
		until.tv_sec++;
	}
	pthread_mutex_lock(&capture->lock);
	statistics_add(capture);
	while ((capture->len > 0 || capture->writing) && !capture->params.direct)
		if (pthread_cond_timedwait(&capture->changed, &capture->lock, &until) != 0)
			break;
	pthread_mutex_unlock(&capture->lock);
}

void
kal_capture_end(struct kal_capture *capture)
{
	kal_capture_flush(capture, 5000);
	if (!capture->params.direct) {
		pthread_mutex_lock(&capture->lock);
		capture->quit = true;
		(void)pthread_cond_broadcast(&capture->changed);
		pthread_mutex_unlock(&capture->lock);
		(void)pthread_join(capture->thread, NULL);
	}
	capture_free(capture);
}

void
kal_capture_forked(struct kal_capture *capture)
{
	(void)close(capture->fd);
}
