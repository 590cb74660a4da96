/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Captures without privilege: a pcapng file of what the adapters of this process send and receive [RI 11.3.7]. Wireshark and
 * tshark read it. kal_capture.c has the file, kal_capture_frame.c makes frames of what providers say.
 *
 * A thread that moves data copies a frame into memory; a thread of the capture writes it to the file. If the file does not take
 * frames in time, later ones are dropped, counted, and named in a comment of the next frame. A file that cannot be written any
 * more is named once, and the program goes on.
 *
 * The simulator compiles these files, too: it has no thread for the file, and time is its own.
 */
#ifndef KAL_CAPTURE_H
#define KAL_CAPTURE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#include "rnicpi_host.h"

#define KAL_CAPTURE_ROOM  (8u * 1024 * 1024) /* octets that wait for the file */
#define KAL_CAPTURE_ROWS  256u
#define KAL_CAPTURE_FLOWS 65536u /* TCP connections at once */
#define KAL_CAPTURE_NAMES 32u    /* adapters with a name of their own */

struct kal_capture_params {
	uint64_t (*now)(void *self); /* ns, as ri_host::now */
	uint64_t epoch;              /* ns between 1970 and its 0 */
	/* A sentence for the log: the file is not written any more. On any thread that captures, or that of the file. */
	void (*say)(void *self, const char *text);
	void *self;
	bool direct; /* write at once, without a thread */
};

struct kal_flow;

struct kal_capture {
	struct kal_capture_params params;
	int fd;
	pthread_t thread;
	pthread_mutex_t lock; /* of all below; not owned while the file is written */
	pthread_cond_t changed;
	uint8_t *fill; /* where frames go */
	uint8_t *out;  /* what the thread writes */
	size_t len;    /* octets in fill */
	bool writing, quit;
	atomic_bool broken; /* also written by the thread, which does not own the lock then */
	uint64_t frames, dropped;
	uint64_t untold; /* of those dropped, not named in a comment yet */
	unsigned names;
	char name[KAL_CAPTURE_NAMES]
		 [32]; /* of adapters; the place is the number of the interface */
	unsigned flows;
	uint32_t connections; /* ever */
	struct kal_flow *row[KAL_CAPTURE_ROWS];
};

/* One frame: the payload of an Ethernet frame behind its header, in two pieces. */
struct kal_frame {
	uint32_t interface;
	bool received;
	const uint8_t *head;
	size_t head_len;
	const uint8_t *octets;
	size_t len;
	const char *text; /* or NULL */
};

/* Begin to write to the descriptor, which becomes the capture's. NULL: no memory or no thread; it is closed. */
struct kal_capture *kal_capture_begin(int fd, const struct kal_capture_params *params);
/* Any thread; blocks for a copy, and with `direct` for a write. */
void kal_capture_put(struct kal_capture *capture, const struct ri_captured *what);
/* Write what waits, for at most that number of milliseconds, and how many frames were dropped. Frames may follow. */
void kal_capture_flush(struct kal_capture *capture, unsigned patience);
/* Flush, and free it. Nothing is put any more. */
void kal_capture_end(struct kal_capture *capture);
/* In the child of a fork: close the file of the parent; the rest is lost, since a thread may have owned it. */
void kal_capture_forked(struct kal_capture *capture);

/* For kal_capture_frame.c; with the lock. */
void kal_capture_frame(struct kal_capture *capture, const struct kal_frame *frame);
uint32_t kal_capture_interface(struct kal_capture *capture, const char *name);
/* Make frames of it. */
void kal_capture_make(struct kal_capture *capture, const struct ri_captured *what);
void kal_capture_flows_free(struct kal_capture *capture);

#endif /* KAL_CAPTURE_H */
