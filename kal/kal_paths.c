/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Paths from a spigot to a peer [IT 10.2]. The kernel's routing decides, as it does for any TCP connection: a spigot offers
 * a path if the route to the peer leads through its interface, and the first source is the one that the kernel would take.
 *
 * A further address of the spigot is a source, too, if the kernel would send what comes from it through the same
 * interface, by a route as specific as that to the peer. So with policy routing several spigots may offer paths to one
 * peer; a default route of one spigot does not compete with a more specific route of another.
 *
 * By opening an adapter that has one interface, the user chooses that interface. The adapter offers a path through it
 * although the kernel prefers another interface, if the route through its own is as specific; kal_path_is_forced
 * reports that to the call that connects, which binds the socket to the interface.
 */
#include <errno.h>
#include <net/if.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "kal_cm_internal.h"
#include "kal_objects.h"
#include "kal_route.h"
#include "kal_sock.h"
#include "ri_errno.h"
#include "ri_fd.h"
#include "ri_refused.h"

/* A spigot, as a query is about it. */
struct spigot {
	struct ri_port_attr attr;
	uint32_t interface; /* index; 0: the spigot is bound to no interface of this host */
	bool alone;         /* the adapter has no other one */
};

static bool
same_address(const struct ri_addr *a, const struct ri_addr *b)
{
	return a->family == b->family && memcmp(a->octets, b->octets, sizeof(a->octets)) == 0;
}

static bool
is_listed(const struct spigot *spigot, const struct ri_addr *addr)
{
	for (uint32_t i = 0; i < spigot->attr.num_addrs; i++)
		if (same_address(&spigot->attr.addrs[i], addr))
			return true;
	return false;
}

static void
offer(struct kal_path_query_rep *rep, const struct ri_addr *wanted, const struct ri_addr *source)
{
	if (source->family == RI_ADDR_NONE || rep->count == RI_PORT_ADDR_MAX ||
	    (wanted->family != RI_ADDR_NONE && !same_address(wanted, source)))
		return;
	for (uint32_t i = 0; i < rep->count; i++)
		if (same_address(&rep->local[i], source))
			return;
	rep->local[rep->count++] = *source;
}

/* IPv6's loopback address reaches this machine only, although the kernel accepts it as a source elsewhere. */
static bool
stays_here(const struct ri_addr *addr)
{
	static const uint8_t loopback[16] = {[15] = 1};

	return addr->family == RI_ADDR_IPV6 && memcmp(addr->octets, loopback, 16) == 0;
}

/*
 * Would the kernel send packets from address `source` of the spigot through the spigot's interface,
 * by a route that is as specific as `best`? *error: memory ran out.
 */
static bool
source_reaches(int fd, const struct spigot *spigot, const struct ri_addr *source,
	       const struct ri_addr *peer, const struct kal_route *best, int *error)
{
	const struct kal_route_query query = {.peer = *peer, .from = *source};
	struct kal_route route;
	int found;

	/* From an address of the link no router comes back. */
	if (source->family != peer->family || (source->scope_id != 0) != (peer->scope_id != 0))
		return false;
	if (!kal_sock_is_local(source)) {
		if (ri_errno_is_short(errno))
			*error = errno;
		return false;
	}
	found = kal_route_ask(fd, &query, &route);
	if (ri_errno_is_short(found))
		*error = found;
	if (found != 0)
		return false;
	if (route.local)
		return true; /* of this host, every address reaches every other one */
	if (spigot->interface == 0)
		return !stays_here(source);
	return kal_route_has(&route, spigot->interface) && route.prefix >= best->prefix;
}

/* Is the kernel's choice for the peer one of this spigot? */
static bool
is_chosen(const struct spigot *spigot, const struct ri_addr *peer, const struct kal_route *best)
{
	if (spigot->interface == 0)
		return is_listed(spigot, &best->source);
	if (best->local && is_listed(spigot, peer))
		return true; /* several interfaces may have the address, and the route names one */
	/* With several next hops the source is that of one of them. Else it may be any address of this host. */
	return kal_route_has(best, spigot->interface) &&
	       (best->count == 1 || is_listed(spigot, &best->source));
}

/* The paths, best first, by the kernel's routing. Returns 0 or an errno: memory ran out. */
static int
offer_routed(int fd, const struct spigot *spigot, const struct kal_path_query_req *req,
	     struct kal_path_query_rep *rep)
{
	struct kal_route_query query = {.peer = req->peer};
	struct kal_route best, own;
	int error = kal_route_ask(fd, &query, &best), shortage = 0;

	if (ri_errno_is_short(error))
		return error;
	if (error == 0 && is_chosen(spigot, &req->peer, &best))
		offer(rep, &req->local, &best.source);
	for (uint32_t i = 0; error == 0 && i < spigot->attr.num_addrs; i++)
		if (source_reaches(fd, spigot, &spigot->attr.addrs[i], &req->peer, &best,
				   &shortage))
			offer(rep, &req->local, &spigot->attr.addrs[i]);
	query.interface = spigot->interface;
	if (rep->count > 0 || shortage != 0 || !spigot->alone || spigot->interface == 0)
		return shortage;
	shortage = kal_route_ask(fd, &query, &own);
	if (shortage == 0 && !own.local && (error != 0 || own.prefix >= best.prefix))
		offer(rep, &req->local, &own.source);
	return ri_errno_is_short(shortage) ? shortage : 0;
}

/* The kernel answers no queries about routes: the source that it gives a datagram socket, which sends nothing. */
static void
offer_connected(const struct spigot *spigot, const struct kal_path_query_req *req,
		struct kal_path_query_rep *rep)
{
	struct sockaddr_storage sa;
	socklen_t len = kal_sock_addr(&sa, &req->peer, GUINT16_TO_BE(9));
	struct ri_addr source;
	uint16_t port;
	int fd = len > 0 ? ri_fd_socket(sa.ss_family, SOCK_DGRAM, 0) : -1;

	if (fd < 0)
		return;
	if (connect(fd, (struct sockaddr *)&sa, len) == 0) {
		len = sizeof(sa);
		if (getsockname(fd, (struct sockaddr *)&sa, &len) == 0) {
			kal_sock_addr_back(&sa, &source, &port);
			if (is_listed(spigot, &source))
				offer(rep, &req->local, &source);
		}
	}
	close(fd);
}

/* The IPv4 address in an IPv4-mapped one, as kal_sock_addr takes it; every other address unchanged. */
static struct ri_addr
unmapped(const struct ri_addr *addr)
{
	struct sockaddr_storage sa;
	struct ri_addr plain;
	uint16_t port;

	if (kal_sock_addr(&sa, addr, 0) == 0)
		return *addr;
	kal_sock_addr_back(&sa, &plain, &port);
	return plain;
}

enum ri_status
kal_path_query(struct kal_rnic *rnic, const struct kal_path_query_req *wanted,
	       struct kal_path_query_rep *rep)
{
	const struct kal_path_query_req plain = {
		.port = wanted->port, .peer = unmapped(&wanted->peer), .local = wanted->local};
	const struct kal_path_query_req *req = &plain;
	struct spigot spigot = {.attr = {.size = sizeof(spigot.attr)},
				.alone = rnic->attr.num_ports == 1};
	enum ri_status status =
		ri_call_query_port(&rnic->caller, rnic->rnic, req->port, &spigot.attr);
	struct ri_addr local = req->local;
	uint32_t port = req->port;
	int fd, error;

	if (status != RI_SUCCESS)
		return status;
	status = ri_call_route(&rnic->caller, rnic->rnic, &wanted->peer, &local, &port);
	if (status != RI_ERR_UNSUPPORTED) {
		if (status == RI_SUCCESS && port == req->port)
			rep->local[rep->count++] = local;
		return status == RI_ERR_NO_ROUTE ? RI_SUCCESS : status;
	}
	if (spigot.attr.if_name[0] != '\0') {
		spigot.interface = if_nametoindex(spigot.attr.if_name);
		if (spigot.interface == 0) {
			if (ri_errno_is_short(errno))
				return RI_ERR_RESOURCES;
			ri_log_refused(rnic->client->host, &(struct ri_log_about){.layer = "kal"},
				       "ioctl", errno);
			return RI_SUCCESS; /* it was deleted, and nothing leads through it */
		}
	}
	fd = kal_route_open();
	if (fd < 0 && ri_errno_is_short(errno))
		return RI_ERR_RESOURCES;
	if (fd < 0) {
		offer_connected(&spigot, req, rep);
		return RI_SUCCESS;
	}
	error = offer_routed(fd, &spigot, req, rep);
	close(fd);
	return error == 0 ? RI_SUCCESS : RI_ERR_RESOURCES;
}

enum ri_status
kal_path_is_forced(const struct kal_cm *cm, const struct kal_cm_req *req, bool *forced,
		   char name[KAL_INTERFACE_NAME_MAX])
{
	struct kal_route_query query = {.peer = req->peer, .from = req->local};
	struct ri_port_attr attr = {.size = sizeof(attr)};
	enum ri_status status = RI_SUCCESS;
	struct kal_route route;
	int fd, error;

	*forced = false;
	if (cm->attr->num_ports != 1 || req->local.family == RI_ADDR_NONE)
		return RI_SUCCESS;
	fd = kal_route_open();
	if (fd < 0)
		return ri_errno_is_short(errno) ? RI_ERR_RESOURCES : RI_SUCCESS;
	error = kal_route_ask(fd, &query, &route);
	if (error != 0 || !route.local)
		status = ri_call_query_port(cm->caller, cm->rnic, 0, &attr);
	if (status == RI_SUCCESS && attr.if_name[0] != '\0') {
		query.interface = if_nametoindex(attr.if_name);
		if (query.interface == 0 && ri_errno_is_short(errno))
			status = RI_ERR_RESOURCES;
	}
	if (query.interface != 0 && (error != 0 || !kal_route_has(&route, query.interface))) {
		error = kal_route_ask(fd, &query, &route);
		*forced = error == 0 && !route.local;
	}
	close(fd);
	memcpy(name, attr.if_name, sizeof(attr.if_name));
	return ri_errno_is_short(error) ? RI_ERR_RESOURCES : status;
}
