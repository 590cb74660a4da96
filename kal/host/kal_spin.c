/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include "kal_spin.h"

#include <sched.h>
#include <stdio.h>

#include "ri_fd.h"

bool
kal_spin_count(unsigned *running, unsigned *processors)
{
	cpu_set_t set;
	FILE *file;
	bool read;

	if (sched_getaffinity(0, sizeof(set), &set) != 0)
		return false;
	*processors = (unsigned)CPU_COUNT(&set);
	file = ri_fd_open_file("/proc/loadavg");
	if (file == NULL)
		return false;
	/* Three averages, then running/all: proc_loadavg(5). This thread is one of those that run. */
	read = fscanf(file, "%*s %*s %*s %u/", running) == 1;
	(void)fclose(file);
	return read && *running > 0;
}

static void
count(struct kal_spin *spin, uint64_t now)
{
	unsigned running, processors;

	spin->idle = kal_spin_count(&running, &processors) && running <= processors;
	spin->count_at = now + (spin->idle ? KAL_SPIN_LOOK : KAL_SPIN_LOOK_BUSY);
}

/* The processor was taken away. */
static void
back_off(struct kal_spin *spin, uint64_t now)
{
	spin->pause = spin->pause == 0 ? KAL_SPIN_PAUSE : spin->pause * 2;
	if (spin->pause > KAL_SPIN_PAUSE_MAX)
		spin->pause = KAL_SPIN_PAUSE_MAX;
	spin->idle = false;
	spin->count_at = now + spin->pause;
	spin->until = 0;
}

void
kal_spin_came(struct kal_spin *spin, uint64_t now)
{
	bool soon = spin->came != 0 && now - spin->came <= spin->length;

	spin->came = now;
	spin->looked = now;
	spin->until = 0;
	if (!soon)
		return;
	if (now >= spin->count_at)
		count(spin, now);
	if (spin->idle)
		spin->until = now + spin->length;
}

bool
kal_spin_goes_on(struct kal_spin *spin, uint64_t now)
{
	if (spin->until == 0)
		return false;
	if (now - spin->looked > KAL_SPIN_LATE) {
		back_off(spin, now);
		return false;
	}
	spin->looked = now;
	if (now >= spin->until)
		spin->until = 0;
	return spin->until != 0;
}
