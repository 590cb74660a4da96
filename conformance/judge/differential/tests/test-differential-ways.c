/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Programs that hear of events in each way [IT 6.3], and change it while events are queued or under way. */
#include "df_case.h"

#define WORLD                                                  \
	"lmr-create obj=0 pz=0 len=1024 privs=15\n"            \
	"lmr-create obj=1 pz=1 len=1024 privs=15\n"            \
	"ep-create ep=0 pz=0 sq=8 rq=8 ird=4 ord=4 enable=8\n" \
	"ep-create ep=1 pz=1 sq=8 rq=8 ird=4 ord=4 enable=8\n"

#define SEND                            \
	"recv ep=1 flags=1 seg=1+0:8\n" \
	"send ep=0 flags=1 seg=0+0:8\n"

/* All dispatchers of both nodes go one way. */
static char *
all_go(enum df_way way)
{
	GString *text = g_string_new(NULL);

	for (int node = 0; node < DF_NODES; node++) {
		for (int evd = 0; evd < 4; evd++)
			g_string_append_printf(text, "evd-way obj=%d how=%d a=%d\n", node, evd,
					       (int)way);
	}
	return g_string_free(text, FALSE);
}

static void
test_each(void)
{
	for (int way = DF_WAY_WAIT; way < DF_WAYS; way++) {
		g_autofree char *go = all_go((enum df_way)way);
		g_autofree char *text = g_strconcat(WORLD, go, "connect ep=0 peer=1\n", SEND,
						    "settle\n", SEND, "disconnect ep=0\n", NULL);

		df_case_agree(text, DF_ANY, NULL);
	}
}

/* From each to each while completions are queued: at once, which some ways exclude, and by way of waiting. */
static void
test_moves(void)
{
	for (int from = DF_WAY_WAIT; from < DF_WAYS; from++) {
		for (int to = DF_WAY_WAIT; to < DF_WAYS; to++) {
			g_autofree char *first = all_go((enum df_way)from),
					*then = all_go((enum df_way)to);
			g_autofree char *wait = all_go(DF_WAY_WAIT);
			g_autofree char *text =
				g_strconcat(WORLD, first, "connect ep=0 peer=1\nsettle\n", SEND,
					    then, "settle\n", wait, first, SEND, wait, then,
					    "settle\n", SEND, then, wait, NULL);

			df_case_agree(text, DF_ANY, NULL);
		}
	}
}

/* A dispatcher without a threshold reports notification events only; another size changes nothing. */
static void
test_beside_others(void)
{
	for (int way = DF_WAY_WAIT; way < DF_WAYS; way++) {
		g_autofree char *go = all_go((enum df_way)way);
		g_autofree char *text =
			g_strconcat(WORLD, go, "threshold obj=1 how=1 a=0\nconnect ep=0 peer=1\n",
				    SEND, "evd-size obj=1 how=1 a=700\n", SEND,
				    "threshold obj=1 how=1 a=1\n", SEND, NULL);

		df_case_agree(text, DF_ANY, NULL);
	}
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/differential/ways/each", test_each);
	g_test_add_func("/differential/ways/moves", test_moves);
	g_test_add_func("/differential/ways/beside-others", test_beside_others);
	return g_test_run();
}
