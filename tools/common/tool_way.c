/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <string.h>

#include "tool_error.h"
#include "tool_options.h"
#include "tool_way.h"

/* --- what a user types ----------------------------------------------------------------------- */

static bool
read_port(const char *text, uint16_t *port, GError **error)
{
	uint64_t number = 0;

	if (text[strspn(text, "0123456789")] != '\0' ||
	    !tool_number(text, 1, UINT16_MAX, &number, NULL))
		return tool_fail(error, TOOL_ERROR_USAGE, "'%s' is not a port, which is 1 to 65535",
				 text);
	*port = (uint16_t)number;
	return true;
}

bool
tool_way_split(const char *typed, char **host, uint16_t *port, GError **error)
{
	const char *end = *typed == '[' ? strchr(typed, ']') : NULL;
	const char *colon = strchr(typed, ':');
	const char *rest = NULL;

	*host = NULL;
	if (*typed == '[') {
		if (end == NULL || (end[1] != '\0' && end[1] != ':'))
			return tool_fail(error, TOOL_ERROR_USAGE,
					 "'%s' is not [ADDRESS] or [ADDRESS]:PORT", typed);
		rest = end[1] == ':' ? end + 2 : NULL;
		*host = g_strndup(typed + 1, (size_t)(end - typed) - 1);
	} else if (colon != NULL && strchr(colon + 1, ':') == NULL) {
		rest = colon + 1;
		*host = g_strndup(typed, (size_t)(colon - typed));
	} else {
		*host = g_strdup(typed); /* a name, or an IPv6 address without brackets */
	}
	if (**host == '\0')
		tool_fail(error, TOOL_ERROR_USAGE, "'%s' names no host", typed);
	else if (rest == NULL || read_port(rest, port, error))
		return true;
	g_clear_pointer(host, g_free);
	return false;
}

/* --- addresses and spigots --------------------------------------------------------------------- */

static bool
net_addr_of(const struct sockaddr *sa, it_net_addr_t *addr)
{
	memset(addr, 0, sizeof(*addr));
	if (sa->sa_family == AF_INET) {
		addr->addr_type = IT_IPV4;
		addr->addr.ipv4 = ((const struct sockaddr_in *)(const void *)sa)->sin_addr;
		return true;
	}
	if (sa->sa_family == AF_INET6) {
		addr->addr_type = IT_IPV6;
		addr->addr.ipv6 = ((const struct sockaddr_in6 *)(const void *)sa)->sin6_addr;
		return true;
	}
	return false;
}

static bool
same_address(const it_net_addr_t *a, const it_net_addr_t *b)
{
	if (a->addr_type != b->addr_type)
		return false;
	return a->addr_type == IT_IPV4 ? a->addr.ipv4.s_addr == b->addr.ipv4.s_addr
				       : memcmp(&a->addr.ipv6, &b->addr.ipv6, 16) == 0;
}

/* Is the spigot that network interface? A spigot has no name, so its addresses are compared. */
static bool
is_interface(const it_spigot_info_t *spigot, const char *name)
{
	struct ifaddrs *all = NULL;
	size_t found = 0;

	if (getifaddrs(&all) != 0)
		return false;
	for (size_t i = 0; i < spigot->num_net_addr; i++) {
		bool has = false;

		for (const struct ifaddrs *one = all; one != NULL && !has; one = one->ifa_next) {
			it_net_addr_t addr;

			has = one->ifa_addr != NULL && strcmp(one->ifa_name, name) == 0 &&
			      net_addr_of(one->ifa_addr, &addr) &&
			      same_address(&addr, &spigot->net_addr[i]);
		}
		found += has;
	}
	freeifaddrs(all);
	return spigot->num_net_addr > 0 && found == spigot->num_net_addr;
}

/* What is looked for: an address, and for one of a link the interface of the link. */
struct target {
	it_net_addr_t addr;
	char zone[IF_NAMESIZE]; /* "": none was named */
	bool of_link;
};

/* Append the paths of all spigots to that address: how many there are. */
static unsigned
paths_add(const struct tool_adapter *adapter, const struct target *target, GArray *paths)
{
	unsigned found = 0;

	for (size_t i = 0; i < adapter->info->num_spigots; i++) {
		const it_spigot_info_t *spigot = &adapter->info->spigot_info[i];
		size_t count = 1, total = 0;
		it_path_t path;

		if (target->zone[0] != '\0' && !is_interface(spigot, target->zone))
			continue;
		if (it_get_pathinfo(adapter->ia, spigot->spigot_id, &target->addr, &count, &total,
				    &path) != IT_SUCCESS ||
		    count != 1)
			continue;
		if (found++ == 0 || target->of_link)
			g_array_append_val(paths, path);
	}
	return found;
}

/* The adapter itself: its first spigot that is online, and has a path to itself. */
static bool
paths_to_self(const struct tool_adapter *adapter, GArray *paths, GError **error)
{
	for (size_t i = 0; i < adapter->info->num_spigots; i++) {
		const it_spigot_info_t *spigot = &adapter->info->spigot_info[i];

		for (size_t j = 0; spigot->spigot_online && j < spigot->num_net_addr; j++) {
			const struct target target = {.addr = spigot->net_addr[j]};

			if (paths_add(adapter, &target, paths) > 0)
				return true;
		}
	}
	return tool_fail(error, TOOL_ERROR_FAILED, "the adapter has no path to itself");
}

static struct target
target_of(const struct sockaddr *sa)
{
	const struct sockaddr_in6 *six = (const void *)sa;
	struct target target = {.zone = ""};

	(void)net_addr_of(sa, &target.addr);
	target.of_link = sa->sa_family == AF_INET6 && IN6_IS_ADDR_LINKLOCAL(&six->sin6_addr);
	if (target.of_link && six->sin6_scope_id != 0)
		(void)!if_indextoname(six->sin6_scope_id, target.zone);
	return target;
}

static bool
paths_to_host(const struct tool_adapter *adapter, const char *host, GArray *paths, GError **error)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
	struct addrinfo *found = NULL;
	bool unclear = false;
	int rc = getaddrinfo(host, NULL, &hints, &found);

	if (rc != 0)
		return tool_fail(error, TOOL_ERROR_FAILED, "cannot find the host '%s': %s", host,
				 gai_strerror(rc));
	for (const struct addrinfo *one = found; one != NULL; one = one->ai_next) {
		struct target target = target_of(one->ai_addr);

		if (paths_add(adapter, &target, paths) > 1 && target.of_link)
			unclear = true;
	}
	freeaddrinfo(found);
	if (unclear)
		return tool_fail(error, TOOL_ERROR_USAGE,
				 "'%s' is an address of a link; add the interface, as in %s%%eth0",
				 host, host);
	if (paths->len == 0)
		return tool_fail(error, TOOL_ERROR_FAILED,
				 "the adapter %s has no path to '%s': no route leads through %s",
				 adapter->name, host,
				 adapter->info->num_spigots == 1 ? "its interface"
								 : "its interfaces");
	return true;
}

/* --- one path after the other ------------------------------------------------------------------ */

static char *
peer_text(const it_path_t *path)
{
	const it_iwarp_net_endpoint_t *ip = &path->u.iwarp;
	char text[INET6_ADDRSTRLEN] = "";

	if (ip->ip_vers != IT_IP_VERS_IPV4 && ip->ip_vers != IT_IP_VERS_IPV6)
		return NULL; /* of another transport */
	(void)!inet_ntop(ip->ip_vers == IT_IP_VERS_IPV4 ? AF_INET : AF_INET6, &ip->raddr, text,
			 sizeof(text));
	return g_strdup(text);
}

static void
take_path(struct tool_way *way)
{
	way->path = g_array_index(way->others, it_path_t, 0);
	g_array_remove_index(way->others, 0);
	way->unreached = false;
}

bool
tool_way_find(struct tool_way *way, const struct tool_adapter *adapter, const char *typed,
	      uint16_t port, GError **error)
{
	memset(way, 0, sizeof(*way));
	way->port = port;
	way->others = g_array_new(FALSE, FALSE, sizeof(it_path_t));
	way->reasons = g_string_new(NULL);
	if (typed != NULL && !tool_way_split(typed, &way->host, &way->port, error))
		return false;
	if (!(typed == NULL ? paths_to_self(adapter, way->others, error)
			    : paths_to_host(adapter, way->host, way->others, error)))
		return false;
	if (way->others->len > 1 && adapter->info->transport_type == IT_IWARP_TCP_TRANSPORT)
		way->address = peer_text(&g_array_index(way->others, it_path_t, 0));
	take_path(way);
	return true;
}

bool
tool_way_next(struct tool_way *way, GError **error)
{
	bool again = way->others != NULL && way->others->len > 0 && way->unreached;

	if (again) {
		if (error != NULL && *error != NULL)
			g_string_append_printf(way->reasons, "%s; ", (*error)->message);
		g_clear_error(error);
		take_path(way);
		if (way->address != NULL) {
			g_free(way->address);
			way->address = peer_text(&way->path);
		}
		return true;
	}
	if (way->reasons != NULL && way->reasons->len > 0 && error != NULL && *error != NULL)
		g_prefix_error(error, "%s", way->reasons->str);
	return false;
}

void
tool_way_clear(struct tool_way *way)
{
	g_clear_pointer(&way->host, g_free);
	g_clear_pointer(&way->address, g_free);
	if (way->others != NULL)
		g_array_free(way->others, TRUE);
	if (way->reasons != NULL)
		g_string_free(way->reasons, TRUE);
	way->others = NULL;
	way->reasons = NULL;
}
