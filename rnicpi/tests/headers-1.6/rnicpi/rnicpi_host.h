/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* RNIC-PI 1.6. What a provider gets from its host. */
#ifndef RNICPI_HOST_H
#define RNICPI_HOST_H

#include "rnicpi_types.h"

#ifdef __cplusplus
extern "C" {
#endif

#define RI_NEVER UINT64_MAX

struct ri_host_link {
	void *p[4];
	uint64_t n[2];
};

struct ri_timer {
	void (*fire)(void *arg);
	void *arg;
	struct ri_host_link link;
};

struct ri_task {
	void (*fire)(void *arg);
	void *arg;
	struct ri_host_link link;
};

enum ri_watch_events {
	RI_WATCH_IN = 1u << 0,
	RI_WATCH_OUT = 1u << 1,
	RI_WATCH_ERR = 1u << 2
};

struct ri_watch {
	void (*fire)(void *arg, uint32_t events);
	void *arg;
	int fd;
	uint32_t events;
	struct ri_host_link link;
};

struct ri_parker {
	uint32_t word;
	int fd;
	struct ri_host_link link;
};

enum ri_log_level {
	RI_LOG_ERROR = 0,
	RI_LOG_WARNING,
	RI_LOG_INFO,
	RI_LOG_DEBUG
};

struct ri_mem {
	uint8_t *base;
	uint64_t addr;
	uint64_t length;
	struct ri_host_link link;
};

struct ri_host {
	uint32_t size;
	uint32_t log_level;
	void *self;

	uint64_t (*now)(void *self);
	void (*random)(void *self, void *buf, size_t len);

	void (*timer_start)(void *self, struct ri_timer *timer, uint64_t deadline);
	void (*timer_stop)(void *self, struct ri_timer *timer);
	void (*task_run)(void *self, struct ri_task *task);
	void (*task_stop)(void *self, struct ri_task *task);
	enum ri_status (*watch_start)(void *self, struct ri_watch *watch);
	void (*watch_change)(void *self, struct ri_watch *watch, uint32_t events);
	void (*watch_stop)(void *self, struct ri_watch *watch);

	enum ri_status (*park)(void *self, struct ri_parker *parker, const int *fds, uint32_t nfds,
			       uint64_t deadline);
	void (*wake)(void *self, struct ri_parker *parker);
	void (*parker_close)(void *self, struct ri_parker *parker);

	void (*log)(void *self, enum ri_log_level level, const char *where, const char *text);

	enum ri_status (*mem_attach)(void *self, uint64_t owner, struct ri_mem *mem,
				     uint32_t access);
	void (*mem_detach)(void *self, struct ri_mem *mem);
	enum ri_status (*mem_copy)(void *self, struct ri_mem *mem, uint64_t offset, void *buf,
				   size_t len, bool write);
};

#ifdef __cplusplus
}
#endif

#endif
