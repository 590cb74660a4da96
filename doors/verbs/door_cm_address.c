/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Addresses of ids of rdma_cm: which device has a local address, which device reaches a remote one,
 * and ports.
 *
 * As in the kernel, a port belongs to an id from its bind on, for all devices. A socket of the host
 * reserves it; it is bound to the address, and neither listens nor connects. So processes behind
 * the door, and programs that use TCP, do not take each other's ports.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <glib.h>

#include "door_cm_internal.h"
#include "door_status.h"
#include "ri_fd.h"

#define KEPT_MAX 64

/* --- forms of an address ------------------------------------------------------------------------------ */

static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

size_t
door_cm_size(uint16_t family)
{
	switch (family) {
	case AF_INET:
		return sizeof(struct sockaddr_in);
	case AF_INET6:
		return sizeof(struct sockaddr_in6);
	default:
		return 0;
	}
}

struct ri_addr
door_cm_addr(const struct sockaddr_storage *from)
{
	struct ri_addr addr = {.family = RI_ADDR_NONE};

	if (from->ss_family == AF_INET) {
		const struct sockaddr_in *in = (const struct sockaddr_in *)from;

		addr.family = in->sin_addr.s_addr != 0 ? RI_ADDR_IPV4 : RI_ADDR_NONE;
		memcpy(addr.octets, &in->sin_addr, sizeof(in->sin_addr));
	} else if (from->ss_family == AF_INET6) {
		const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)from;

		if (IN6_IS_ADDR_UNSPECIFIED(&in6->sin6_addr))
			return addr;
		if (IN6_IS_ADDR_V4MAPPED(&in6->sin6_addr)) {
			addr.family = RI_ADDR_IPV4;
			memcpy(addr.octets, (const char *)&in6->sin6_addr + sizeof(mapped), 4);
			return addr;
		}
		addr.family = RI_ADDR_IPV6;
		memcpy(addr.octets, &in6->sin6_addr, sizeof(addr.octets));
		if (IN6_IS_ADDR_LINKLOCAL(&in6->sin6_addr))
			addr.scope_id = in6->sin6_scope_id;
	}
	return addr;
}

void
door_cm_sockaddr(struct sockaddr_storage *to, const struct ri_addr *addr, uint16_t port,
		 uint16_t family)
{
	memset(to, 0, sizeof(*to));
	if (addr->family == RI_ADDR_IPV4 && family != AF_INET6) {
		struct sockaddr_in *in = (struct sockaddr_in *)to;

		in->sin_family = AF_INET;
		in->sin_port = port;
		memcpy(&in->sin_addr, addr->octets, sizeof(in->sin_addr));
	} else {
		struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)to;

		in6->sin6_family = AF_INET6;
		in6->sin6_port = port;
		in6->sin6_scope_id = addr->scope_id;
		if (addr->family == RI_ADDR_IPV4) {
			memcpy(&in6->sin6_addr, mapped, sizeof(mapped));
			memcpy((char *)&in6->sin6_addr + sizeof(mapped), addr->octets, 4);
		} else {
			memcpy(&in6->sin6_addr, addr->octets, sizeof(in6->sin6_addr));
		}
	}
}

uint16_t *
door_cm_port(struct sockaddr_storage *addr)
{
	/* Both families have it at the same place. */
	return &((struct sockaddr_in *)addr)->sin_port;
}

union ibv_gid
door_cm_gid(struct door_adapter *adapter, uint32_t spigot, const struct ri_addr *addr)
{
	struct ri_port_attr port;

	if (!door_cm_has_lids(adapter) || addr->family == RI_ADDR_GID ||
	    addr->family == RI_ADDR_NONE)
		return door_gid(addr);
	/* The adapter that has GIDs has both ends in this process, so they are at the same port. */
	door_adapter_port(adapter, spigot, &port);
	for (uint32_t i = 0; i < port.num_addrs; i++)
		if (port.addrs[i].family == RI_ADDR_GID)
			return door_gid(&port.addrs[i]);
	return door_gid(addr);
}

struct ri_service
door_cm_service(const struct door_cm_id *id, uint16_t port)
{
	struct ri_service service = {.kind = RI_SERVICE_PORT, .port = port};

	/* Datagram services have their own numbers, so that both port spaces can have the same port. */
	if (door_cm_is_ud(id)) {
		service.kind = RI_SERVICE_IB;
		service.port = 0;
		service.id = GUINT64_TO_BE((uint64_t)id->port_space << 16 | ntohs(port));
	}
	return service;
}

bool
door_cm_same_addr(const struct ri_addr *a, const struct ri_addr *b)
{
	static const uint8_t kinds[] = {
		[RI_ADDR_NONE] = 0, [RI_ADDR_IPV4] = 4, [RI_ADDR_IPV6] = 6, [RI_ADDR_GID] = 6};

	return kinds[a->family] == kinds[b->family] && a->scope_id == b->scope_id &&
	       memcmp(a->octets, b->octets, sizeof(a->octets)) == 0;
}

/* --- ports ----------------------------------------------------------------------------------------------- */

static void
set_reuse(int fd, bool on)
{
	const int value = on;

	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &value, sizeof(value));
}

/*
 * Bind so that no later bind to the port succeeds, except by sockets that share it
 * (door_cm_port_share). If connections that have ended still occupy the port (TIME_WAIT), the port
 * is not refused: a second try binds with SO_REUSEADDR.
 */
static int
bind_alone(int fd, const struct sockaddr_storage *addr, bool reuse)
{
	const socklen_t len = (socklen_t)door_cm_size(addr->ss_family);
	int error = 0;

	set_reuse(fd, reuse);
	if (bind(fd, (const struct sockaddr *)addr, len) == 0)
		return 0;
	error = errno;
	if (error != EADDRINUSE || reuse)
		return error;
	set_reuse(fd, true);
	error = bind(fd, (const struct sockaddr *)addr, len) == 0 ? 0 : errno;
	set_reuse(fd, false);
	return error;
}

/* Under door_cm_lock(). May both ids have the port, which is the same? */
static bool
may_both(const struct door_cm_id *id, const struct sockaddr_storage *addr,
	 const struct door_cm_id *other, bool reuse)
{
	const struct ri_addr a = door_cm_addr(addr), b = door_cm_addr(&other->source);

	if (reuse && other->reuse && other->state != DOOR_CM_LISTENING)
		return true;
	if (id->family_only && other->family_only && addr->ss_family != other->source.ss_family)
		return true;
	return a.family != RI_ADDR_NONE && b.family != RI_ADDR_NONE && !door_cm_same_addr(&a, &b);
}

/* Does an id of this process have the port of that address? Those of adapters that do not use the host's ports have no other guard. */
static bool
is_taken_here(const struct door_cm_id *id, struct sockaddr_storage *addr, bool reuse)
{
	uint16_t port = *door_cm_port(addr);
	struct door_cm_id *other;

	door_cm_lock();
	for (other = door_cm_id_after(0); other != NULL; other = door_cm_id_after(other->number))
		if (other != id && other->has_port && other->port_space == id->port_space &&
		    *door_cm_port(&other->source) == port && !may_both(id, addr, other, reuse))
			break;
	door_cm_unlock();
	return other != NULL;
}

/*
 * Does an id of this process listen at that port, at another address? Then the kAL may listen there
 * at all addresses of the host, so no socket can reserve the port, and no other program can have
 * it.
 */
static bool
is_heard_here(const struct door_cm_id *id, uint16_t port)
{
	struct door_cm_id *other;

	door_cm_lock();
	for (other = door_cm_id_after(0); other != NULL; other = door_cm_id_after(other->number))
		if (other != id && other->state == DOOR_CM_LISTENING &&
		    other->port_space == id->port_space && *door_cm_port(&other->source) == port)
			break;
	door_cm_unlock();
	return other != NULL;
}

bool
door_cm_port_is_shared(struct door_cm_id *id)
{
	return id->reuse && is_taken_here(id, &id->source, false);
}

/*
 * Reserve the port of an address, or a free one, and write it to *addr. 0 or an errno. An address
 * that the host does not have, such as a GID of a device, is replaced by the wildcard address of
 * its family.
 */
static int
port_reserve(struct door_cm_id *id, struct sockaddr_storage *addr)
{
	const int only = id->family_only;
	struct sockaddr_storage own = *addr;
	socklen_t len = sizeof(own);
	int fd = ri_fd_socket(addr->ss_family, door_cm_is_ud(id) ? SOCK_DGRAM : SOCK_STREAM, 0);
	int error;

	if (fd < 0)
		return errno == EAFNOSUPPORT ? EADDRNOTAVAIL : errno;
	if (*door_cm_port(addr) != 0 && is_taken_here(id, addr, id->reuse)) {
		close(fd);
		return EADDRINUSE;
	}
	if (addr->ss_family == AF_INET6)
		(void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &only, sizeof(only));
	error = bind_alone(fd, &own, id->reuse);
	if ((error == EADDRNOTAVAIL || error == EINVAL) && id->adapter != NULL) {
		own = (struct sockaddr_storage){.ss_family = addr->ss_family};
		*door_cm_port(&own) = *door_cm_port(addr);
		error = bind_alone(fd, &own, id->reuse);
	}
	if (error == 0 && getsockname(fd, (struct sockaddr *)&own, &len) != 0)
		error = errno;
	if (error != 0) {
		close(fd);
		fd = -1;
	}
	/* Ports for datagrams are not those of the host's sockets: rsockets have a socket and an id at the same one. */
	if (error == EADDRINUSE && door_cm_is_ud(id))
		error = 0;
	if (error != 0 &&
	    (error != EADDRINUSE || id->reuse || !is_heard_here(id, *door_cm_port(addr))))
		return error;
	*door_cm_port(addr) = *door_cm_port(&own);
	door_cm_lock();
	id->reservation = fd;
	id->has_port = true;
	id->source = own; /* from now on other ids of the process see it */
	door_cm_unlock();
	return 0;
}

/*
 * Let other ids of the process share the port of this id. The kAL listens at all addresses of a
 * spigot, whatever address the id has; so ids that have the port at other addresses, or in the
 * other family, need it as well.
 */
void
door_cm_port_share(struct door_cm_id *id)
{
	uint16_t port = *door_cm_port(&id->source);
	struct door_cm_id *one;

	door_cm_lock();
	for (one = door_cm_id_after(0); one != NULL; one = door_cm_id_after(one->number))
		if (one->reservation >= 0 && one->port_space == id->port_space &&
		    *door_cm_port(&one->source) == port)
			set_reuse(one->reservation, true);
	door_cm_unlock();
}

void
door_cm_port_unshare(struct door_cm_id *id)
{
	if (id->reservation >= 0 && !id->reuse)
		set_reuse(id->reservation, false);
}

void
door_cm_port_reuse(struct door_cm_id *id, bool reuse)
{
	door_cm_lock();
	id->reuse = reuse;
	door_cm_unlock();
	if (id->reservation >= 0)
		set_reuse(id->reservation, reuse);
}

void
door_cm_port_release(struct door_cm_id *id)
{
	int fd;

	door_cm_lock();
	fd = id->reservation;
	id->reservation = -1;
	id->has_port = false;
	door_cm_unlock();
	if (fd >= 0)
		close(fd);
}

/* --- which device ------------------------------------------------------------------------------------------ */

/* A device for an id: the adapter, with a user, and what is at it. */
struct place {
	struct door_adapter *adapter;
	uint32_t spigot;
	struct ri_addr local;
	struct ri_addr peer;
};

/* Is it the device? Then *place has the rest. */
typedef bool fits(struct door_adapter *adapter, struct place *place);

/* Is it the address that a spigot lists? `near`: the loopback interface has more than it lists. */
static bool
is_listed_as(const struct ri_addr *listed, const struct ri_addr *addr, bool near)
{
	if (near && listed->family == RI_ADDR_IPV4 && addr->family == RI_ADDR_IPV4 &&
	    listed->octets[0] == IN_LOOPBACKNET)
		return addr->octets[0] == IN_LOOPBACKNET;
	return door_cm_same_addr(listed, addr);
}

/* Does a spigot have the address? An address that is a GID has the form of IPv6 in programs; then *addr says what it is. */
static bool
lists(struct door_adapter *adapter, struct ri_addr *addr, uint32_t *spigot, bool near)
{
	struct ri_port_attr port;

	for (*spigot = 0; *spigot < adapter->session.attr.num_ports; (*spigot)++) {
		door_adapter_port(adapter, *spigot, &port);
		for (uint32_t i = 0; i < port.num_addrs; i++) {
			if (!is_listed_as(&port.addrs[i], addr, near))
				continue;
			addr->family = port.addrs[i].family;
			return true;
		}
	}
	return false;
}

/* A spigot has the address place->local. */
static bool
has_local(struct door_adapter *adapter, struct place *place)
{
	return lists(adapter, &place->local, &place->spigot, true);
}

/* A spigot reaches place->peer, from place->local if that is set. */
static bool
reaches(struct door_adapter *adapter, struct place *place)
{
	struct kal_path_query_req req = {
		.rnic = adapter->session.rnic, .peer = place->peer, .local = place->local};
	struct kal_path_query_rep rep;

	for (; req.port < adapter->session.attr.num_ports; req.port++) {
		if (session_call(&adapter->session, KAL_PATH_QUERY, &req, sizeof(req), &rep,
				 sizeof(rep)) != RI_SUCCESS ||
		    rep.count == 0)
			continue;
		place->spigot = req.port;
		place->local = rep.local[0];
		return true;
	}
	return false;
}

/* A spigot has the address place->peer, and reaches it. */
static bool
has_peer(struct door_adapter *adapter, struct place *place)
{
	uint32_t spigot;

	return lists(adapter, &place->peer, &spigot, true) && reaches(adapter, place);
}

/* A spigot sends to multicast groups, from place->local if that is set. */
static bool
multicasts(struct door_adapter *adapter, struct place *place)
{
	struct ri_port_attr port;

	if (!adapter->session.attr.multicast)
		return false;
	if (place->local.family != RI_ADDR_NONE)
		return has_local(adapter, place);
	for (uint32_t spigot = 0; spigot < adapter->session.attr.num_ports; spigot++) {
		door_adapter_port(adapter, spigot, &port);
		for (uint32_t i = 0; i < port.num_addrs; i++) {
			if (port.addrs[i].family != place->peer.family)
				continue;
			place->spigot = spigot;
			place->local = port.addrs[i];
			return true;
		}
	}
	return false;
}

/*
 * Adapters that a search for an address opened and did not choose. The next search would open them
 * again, so they stay open as long as there are channels.
 */
static pthread_mutex_t kept_lock = PTHREAD_MUTEX_INITIALIZER;
static struct door_adapter *kept[KEPT_MAX];
static unsigned num_kept;

/* Takes the caller's user of the adapter over. */
static void
keep(struct door_adapter *adapter)
{
	unsigned i = 0;

	pthread_mutex_lock(&kept_lock);
	while (i < num_kept && kept[i] != adapter)
		i++;
	if (i == num_kept && num_kept < KEPT_MAX) {
		kept[num_kept++] = adapter;
		adapter = NULL;
	}
	pthread_mutex_unlock(&kept_lock);
	if (adapter != NULL)
		door_adapter_put(adapter);
}

void
door_cm_keep_none(void)
{
	struct door_adapter *adapter;

	do {
		pthread_mutex_lock(&kept_lock);
		adapter = num_kept > 0 ? kept[--num_kept] : NULL;
		pthread_mutex_unlock(&kept_lock);
		if (adapter != NULL)
			door_adapter_put(adapter);
	} while (adapter != NULL);
}

void
door_cm_address_forked(void)
{
	pthread_mutex_init(&kept_lock, NULL);
	num_kept = 0;
}

/* The first device that fits, in the order in which programs see them. 0, or an errno. */
static int
search(const struct door_cm_id *id, fits *fit, struct place *place)
{
	g_autofree struct door_device **offered = NULL;
	int num = door_devices_refresh(&offered);

	for (int i = 0; i < num; i++) {
		struct door_adapter *adapter = door_adapter_get(offered[i]);

		if (adapter == NULL)
			continue;
		if ((!door_cm_is_ud(id) || adapter->session.attr.ud) && fit(adapter, place)) {
			place->adapter = adapter;
			return 0;
		}
		keep(adapter);
	}
	return ENODEV;
}

/* The id belongs to that device, and takes its user over. */
static void
settle(struct door_cm_id *id, const struct place *place)
{
	union ibv_gid gid = door_cm_gid(place->adapter, place->spigot, &place->local);

	door_cm_lock();
	id->adapter = place->adapter;
	id->spigot = place->spigot;
	id->local = place->local;
	id->sgid = gid;
	door_cm_unlock();
}

static void
unsettle(struct door_cm_id *id)
{
	struct door_adapter *adapter = id->adapter;

	door_cm_lock();
	id->adapter = NULL;
	id->spigot = 0;
	id->local = (struct ri_addr){.family = RI_ADDR_NONE};
	memset(&id->source, 0, sizeof(id->source));
	door_cm_unlock();
	if (adapter != NULL)
		door_adapter_put(adapter);
}

void
door_cm_family_only(struct door_cm_id *id, bool only)
{
	door_cm_lock();
	id->family_only = only;
	door_cm_unlock();
}

/* --- BIND -------------------------------------------------------------------------------------------------- */

/* Is it of a link, but does not say of which? The GID of a device has that form. */
static bool
is_of_a_link(const struct sockaddr_storage *addr)
{
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)addr;

	return addr->ss_family == AF_INET6 && IN6_IS_ADDR_LINKLOCAL(&in6->sin6_addr) &&
	       in6->sin6_scope_id == 0;
}

/* Find the device of an address that is not "any". 0, ENODEV, EINVAL, or EADDRNOTAVAIL: this host does not have it either. */
static int
bind_device(struct door_cm_id *id, const struct ri_addr *addr, const struct sockaddr_storage *shown)
{
	struct place place = {.local = *addr, .peer = *addr};
	struct sockaddr_storage probe = *shown;
	int error = search(id, has_local, &place);

	if (error != 0 && is_of_a_link(shown))
		return EINVAL;
	/* An interface may have more addresses than it lists. */
	if (error != 0)
		error = search(id, reaches, &place);
	if (error == 0) {
		memcpy(place.local.octets, addr->octets, sizeof(addr->octets));
		settle(id, &place);
		return 0;
	}
	*door_cm_port(&probe) = 0;
	if (port_reserve(id, &probe) == EADDRNOTAVAIL)
		return EADDRNOTAVAIL;
	door_cm_port_release(id);
	return error;
}

/*
 * A loopback address that no device has leaves the id without a device. The kernel does so with
 * every loopback address, and libfabric uses it to ask which devices exist. An id for datagrams is
 * refused instead, because pyverbs would dereference the missing device.
 */
static bool
is_loopback(const struct ri_addr *addr)
{
	static const uint8_t loopback6[sizeof(addr->octets)] = {[15] = 1};

	return addr->family == RI_ADDR_IPV4
		       ? addr->octets[0] == IN_LOOPBACKNET
		       : memcmp(addr->octets, loopback6, sizeof(loopback6)) == 0;
}

int
door_cm_bind(struct door_cm_id *id, const struct sockaddr_storage *addr)
{
	const struct ri_addr plain = door_cm_addr(addr);
	struct sockaddr_storage own;
	int error = 0;

	if (door_cm_id_state(id) != DOOR_CM_IDLE)
		return EINVAL;
	memset(&own, 0, sizeof(own));
	memcpy(&own, addr, door_cm_size(addr->ss_family));
	id->port_given = *door_cm_port(&own) != 0;
	/* An IPv6 listener hears IPv4, too, unless the program forbids it. */
	if (!id->family_only_given)
		door_cm_family_only(id, own.ss_family == AF_INET);
	if (plain.family != RI_ADDR_NONE)
		error = bind_device(id, &plain, &own);
	if (error == ENODEV && !door_cm_is_ud(id) && is_loopback(&plain)) {
		door_cm_lock();
		id->local = plain; /* so it hears nothing that arrives at another address */
		door_cm_unlock();
		error = 0;
	}
	if (error == 0)
		error = port_reserve(id, &own);
	if (error != 0) {
		unsettle(id);
		return error;
	}
	door_cm_lock();
	id->source = own;
	id->dest.ss_family = own.ss_family;
	id->state = DOOR_CM_BOUND;
	door_cm_unlock();
	return 0;
}

/* Every process that uses RoCE on the loopback has an address of its own there, and hears nothing that arrives at another one. */
static bool
has_one_loopback(struct door_adapter *adapter)
{
	struct ri_addr any = {.family = RI_ADDR_IPV4, .octets = {IN_LOOPBACKNET, 0, 0, 1}};
	uint32_t spigot;

	return adapter->session.attr.transport == RI_TRANSPORT_IB && !adapter->lids &&
	       lists(adapter, &any, &spigot, true);
}

bool
door_cm_can_hear(const struct door_cm_id *id)
{
	struct ri_addr local = id->local;
	uint32_t spigot;

	if (local.family == RI_ADDR_NONE || id->adapter == NULL)
		return local.family == RI_ADDR_NONE;
	return !is_loopback(&local) || !has_one_loopback(id->adapter) ||
	       lists(id->adapter, &local, &spigot, false);
}

/* --- RESOLVE ------------------------------------------------------------------------------------------------ */

static bool
is_multicast(const struct ri_addr *addr)
{
	return addr->family == RI_ADDR_IPV4 ? addr->octets[0] >> 4 == 0xe : addr->octets[0] == 0xff;
}

/* "Any" as a destination is this host. */
static struct ri_addr
dest_of(const struct sockaddr_storage *dest)
{
	struct ri_addr addr = door_cm_addr(dest);

	if (addr.family != RI_ADDR_NONE)
		return addr;
	if (dest->ss_family == AF_INET)
		return (struct ri_addr){.family = RI_ADDR_IPV4, .octets = {127, 0, 0, 1}};
	return (struct ri_addr){.family = RI_ADDR_IPV6, .octets = {[15] = 1}};
}

/* Why no device reaches a destination: as the host's own routing says, or because the devices do not. */
static int
why_unreached(const struct sockaddr_storage *dest)
{
	int fd = ri_fd_socket(dest->ss_family, SOCK_DGRAM, 0);
	int error = ENODEV;

	if (fd < 0)
		return ENETUNREACH;
	/* A datagram socket sends nothing by that. */
	if (connect(fd, (const struct sockaddr *)dest, (socklen_t)door_cm_size(dest->ss_family)) !=
	    0)
		error = errno;
	close(fd);
	return error;
}

/* Find the device for a destination, or the way there on the id's device. 0 or an errno. */
static int
find_path(struct door_cm_id *id, const struct sockaddr_storage *dest, struct place *place)
{
	bool multicast;
	fits *fit;
	int error;

	place->peer = dest_of(dest);
	if (id->adapter != NULL)
		place->local = id->local;
	multicast = is_multicast(&place->peer);
	fit = multicast ? multicasts : reaches;
	if (id->adapter != NULL) {
		error = fit(id->adapter, place) ? 0 : ENODEV;
	} else {
		/* All devices of a host reach its own addresses. The one that has the address is meant. */
		error = multicast ? ENODEV : search(id, has_peer, place);
		if (error != 0)
			error = search(id, fit, place);
	}
	return error != 0 ? why_unreached(dest) : 0;
}

int
door_cm_resolve(struct door_cm_id *id, const struct sockaddr_storage *source,
		const struct sockaddr_storage *dest)
{
	struct sockaddr_storage any;
	struct place place = {.adapter = NULL};
	union ibv_gid dgid = {.raw = {0}};
	int error;

	memset(&any, 0, sizeof(any));
	any.ss_family = dest->ss_family;
	if (dest->ss_family == AF_INET6)
		((struct sockaddr_in6 *)&any)->sin6_scope_id =
			((const struct sockaddr_in6 *)dest)->sin6_scope_id;
	if (door_cm_id_state(id) == DOOR_CM_IDLE) {
		error = door_cm_bind(id, source->ss_family != 0 ? source : &any);
		if (error != 0)
			return error;
	}
	if (door_cm_id_state(id) != DOOR_CM_BOUND || id->source.ss_family != dest->ss_family)
		return EINVAL;
	error = find_path(id, dest, &place);
	if (error == 0) {
		if (place.adapter == NULL)
			place.adapter = id->adapter;
		settle(id, &place);
		dgid = door_cm_gid(id->adapter, id->spigot, &place.peer);
	}
	door_cm_lock();
	memcpy(&id->dest, dest, door_cm_size(dest->ss_family));
	if (error == 0) {
		uint16_t port = *door_cm_port(&id->source);

		id->peer = place.peer;
		id->dgid = dgid;
		door_cm_sockaddr(&id->source, &place.local, port, dest->ss_family);
		id->state = DOOR_CM_ADDR_RESOLVED;
		(void)door_cm_raise(id, RDMA_CM_EVENT_ADDR_RESOLVED, 0);
	} else {
		(void)door_cm_raise(id, RDMA_CM_EVENT_ADDR_ERROR, -error);
	}
	door_cm_unlock();
	return 0;
}

int
door_cm_resolve_route(struct door_cm_id *id)
{
	int error = 0;

	door_cm_lock();
	if (id->state == DOOR_CM_ADDR_RESOLVED) {
		id->state = DOOR_CM_ROUTE_RESOLVED;
		(void)door_cm_raise(id, RDMA_CM_EVENT_ROUTE_RESOLVED, 0);
	} else {
		error = EINVAL;
	}
	door_cm_unlock();
	return error;
}
