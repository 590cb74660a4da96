/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* May an endpoint be used again? itx_ia_query_support() tells it beforehand, and it_ep_reset() does what it says [IT 4.6.7]. */

#include <glib.h>
#include <string.h>

#include "it_ext.h"
#include "it_pair.h"

static void
note(void *context, int level, const char *where, const char *text)
{
	gint *lines = context;

	(void)level;
	if (strstr(where, " EP 0x") != NULL && strstr(text, "ITX_SUPPORT_EP_REUSE") != NULL)
		g_atomic_int_inc(lines);
}

/* An endpoint can be reset after a connection exactly if the adapter says so. */
static void
test_once(struct pair *pair)
{
	struct end *end = &pair->active;
	it_status_t status;
	uint64_t support;
	gint lines = 0;

	pair_ok(itx_ia_query_support(end->ia, &support));
	pair_establish(pair);
	pair_disconnect(pair);
	if ((support & ITX_SUPPORT_EP_REUSE) != 0) {
		end_reset(end);
		g_assert_cmpint(end_state(end), ==, IT_EP_STATE_UNCONNECTED);
		return;
	}
	itx_log_set_writer(note, &lines);
	for (int i = 0; i < 3; i++) {
		status = it_ep_reset(end->ep);
		g_assert_cmpint(status, ==, IT_ERR_CANNOT_RESET);
	}
	itx_log_set_writer(NULL, NULL);
	g_assert_cmpint(g_atomic_int_get(&lines), ==, 3);
	/* What the man page says to do. */
	end_new_ep(end);
	end_new_ep(&pair->passive);
	pair_establish(pair);
}

static void
add(void)
{
	pair_add("once", test_once);
}

int
main(int argc, char **argv)
{
	g_setenv("ITAPI_LOG", "info", TRUE);
	return pair_main(argc, argv, add);
}
