/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include "vsw_order.h"

#include <pthread.h>

atomic_bool vsw_order_light;

/* Also in a forked child. */
static void
make_light(void)
{
	ri_order_setup(&vsw_order_light);
}

static void
setup(void)
{
	make_light();
	(void)pthread_atfork(NULL, NULL, make_light);
}

void
vsw_order_setup(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	(void)pthread_once(&once, setup);
}
