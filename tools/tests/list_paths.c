/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Prints a line for each path of an adapter to an address: the spigot's number among those that
 * have a path, and the source address. Called with ADAPTER ADDRESS.
 */
#include <arpa/inet.h>
#include <it_api.h>
#include <stdio.h>
#include <string.h>

static void
paths_print(it_ia_handle_t ia, size_t spigot, const it_net_addr_t *peer)
{
	it_path_t paths[16];
	size_t count = 16, total = 0;
	char text[INET6_ADDRSTRLEN];

	if (it_get_pathinfo(ia, spigot, peer, &count, &total, paths) != IT_SUCCESS)
		printf("%zu fails\n", spigot);
	for (size_t i = 0; i < count && i < total; i++) {
		const it_iwarp_net_endpoint_t *ip = &paths[i].u.iwarp;
		int family = ip->ip_vers == IT_IP_VERS_IPV4 ? AF_INET : AF_INET6;

		printf("%zu %s\n", spigot, inet_ntop(family, &ip->laddr, text, sizeof(text)));
	}
}

int
main(int argc, char **argv)
{
	it_net_addr_t peer = {.addr_type = IT_IPV4};
	it_ia_handle_t ia;
	it_ia_info_t *info;

	if (argc != 3)
		return 2;
	if (inet_pton(AF_INET, argv[2], &peer.addr.ipv4) != 1) {
		peer.addr_type = IT_IPV6;
		if (inet_pton(AF_INET6, argv[2], &peer.addr.ipv6) != 1)
			return 2;
	}
	if (it_ia_create(argv[1], 2, 1, &ia) != IT_SUCCESS || it_ia_query(ia, &info) != IT_SUCCESS)
		return 1;
	for (size_t i = 0; i < info->num_spigots; i++)
		paths_print(ia, info->spigot_info[i].spigot_id, &peer);
	it_ia_info_free(info);
	return it_ia_free(ia) == IT_SUCCESS ? 0 : 1;
}
