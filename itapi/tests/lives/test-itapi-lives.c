/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* The second life of each kind of object is that of a new one (lives.h). */
#include "lives.h"

static void
add(void)
{
	lives_add(&kind_ep);
	lives_add(&kind_evd_soft);
	lives_add(&kind_evd_dto);
	lives_add(&kind_listen);
	lives_add(&kind_srq);
	lives_add(&kind_ud);
	lives_add(&kind_lmr);
	lives_add(&kind_narrow);
	lives_add(&kind_wide);
}

int
main(int argc, char **argv)
{
	int status;

	accounts_limit();
	status = pair_main(argc, argv, add);
	accounts_forget();
	return status;
}
