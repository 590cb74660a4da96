/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Second lives of listeners on an adapter with two spigots, in a network of the test's own: there no other program takes a port. The second
 * spigot has the loopback interface.
 */
#include "it_net.h"
#include "lives.h"

static void
add(void)
{
	lives_add(&kind_listen);
}

int
main(int argc, char **argv)
{
	int status;

	if (!net_enter()) {
		g_print("1..0 # SKIP no network of its own\n");
		return 0;
	}
	net_ip("link set lo up");
	net_ip("link add it0 type veth peer name it1");
	net_ip("addr add 10.99.0.1/24 dev it0");
	net_ip("link set it1 addrgenmode none");
	net_ip("link set it1 up");
	net_ip("link set it0 up");
	net_await("it0");
	accounts_limit();
	status = pair_main(argc, argv, add);
	accounts_forget();
	return status;
}
