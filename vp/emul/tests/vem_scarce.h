/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* A host that has always memory, even if the adapter has none (scarce.h), for the file that includes it. */
#ifndef VEM_SCARCE_H
#define VEM_SCARCE_H

#include "rnicpi_host.h"
#ifdef WITH_SCARCE
#include "scarce.h"
#else
static inline void
scarce_pause(void)
{
}

static inline void
scarce_resume(void)
{
}
#endif

static struct ri_host host_real;

static inline void
host_timer_start(void *self, struct ri_timer *timer, uint64_t when)
{
	scarce_pause();
	host_real.timer_start(self, timer, when);
	scarce_resume();
}

static inline void
host_timer_stop(void *self, struct ri_timer *timer)
{
	scarce_pause();
	host_real.timer_stop(self, timer);
	scarce_resume();
}

static inline void
host_task_run(void *self, struct ri_task *task)
{
	scarce_pause();
	host_real.task_run(self, task);
	scarce_resume();
}

/* Before anything of the host is used. */
static inline void
host_spare(struct ri_host *host)
{
	if (host_real.now == NULL)
		host_real = *host;
	host->timer_start = host_timer_start;
	host->timer_stop = host_timer_stop;
	host->task_run = host_task_run;
}

#endif /* VEM_SCARCE_H */
