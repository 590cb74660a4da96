/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include "df_threads.h"

#include <pthread.h>

/* What a thread is told. */
struct runner {
	pthread_t id;
	pthread_barrier_t *start;
	const struct world_ias *ias;
	struct df_thread *thread;
	unsigned patience_s;
};

static void *
runner_main(void *arg)
{
	struct runner *runner = arg;
	struct df_thread *thread = runner->thread;

	(void)pthread_barrier_wait(runner->start);
	thread->record = df_run_program_on(runner->ias, thread->program, thread->expected,
					   runner->patience_s);
	return NULL;
}

bool
df_threads_run(const char *adapter, struct df_thread *threads, unsigned count, unsigned patience_s)
{
	struct world_ias *ias = world_ias_open(adapter, true);
	struct runner *runners;
	pthread_barrier_t start;

	if (ias == NULL)
		return false;
	runners = g_new0(struct runner, count);
	pthread_barrier_init(&start, NULL, count);
	for (unsigned i = 0; i < count; i++) {
		runners[i] = (struct runner){.start = &start,
					     .ias = ias,
					     .thread = &threads[i],
					     .patience_s = patience_s};
		if (pthread_create(&runners[i].id, NULL, runner_main, &runners[i]) != 0)
			g_error("no thread");
	}
	for (unsigned i = 0; i < count; i++)
		pthread_join(runners[i].id, NULL);
	pthread_barrier_destroy(&start);
	g_free(runners);
	threads[0].record->strange = world_ias_close(ias);
	return true;
}
