/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The sockets of listeners (decision 0015). All listeners of this process at one TCP port, of any adapter, share the sockets of
 * that port; a connection goes to the listener whose spigot has the address at which it arrived (kal_listen_choose).
 *
 * A port has a socket for each address that a spigot of its listeners lists. So the port stays free at other addresses
 * for other programs, and two spigots may have one address. The kernel may give an interface more than it lists: the
 * loopback interface has all of 127/8, and routes of the type "local" give whole networks to any interface. If a spigot
 * has such a network, or more addresses than a spigot lists, the port has one socket for any address of the family
 * instead. That fails if another program has the port at some address; then the port has sockets for the listed
 * addresses only. A port that has a socket for any address keeps it until its last listener is gone.
 *
 * Sockets are bound with IP_FREEBIND: an address that the kernel lists but is still checking for duplicates is served
 * as soon as it is good. When the spigot gets or loses an address, the port opens or closes a socket. A listener whose
 * spigot has neither an interface nor an address accepts connections to any address, and its sockets never change.
 *
 * One lock guards all ports, members and sockets. It is taken on the service thread, too, where connections are accepted, so
 * nothing that waits for that thread is called under it: a socket is taken out of its port under the lock, and then
 * stopped and closed without it.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "kal_route.h"
#include "kal_sock.h"
#include "kal_sock_source.h"
#include "kal_tcp_port.h"
#include "ri_errno.h"
#include "ri_log.h"
#include "ri_owned.h"
#include "ri_refused.h"

#define PORT_ATTEMPTS 16

static pthread_mutex_t ports_lock = PTHREAD_MUTEX_INITIALIZER;
static struct kal_tcp_port *ports; /* all of this process */

/* --- the lock, and a fork ------------------------------------------------------------------------ */

static void
before_fork(void)
{
	pthread_mutex_lock(&ports_lock);
}

static void
after_fork_parent(void)
{
	pthread_mutex_unlock(&ports_lock);
}

/* The child's copies of the descriptors are closed by kal_fds.c; it has no listeners. */
static void
after_fork_child(void)
{
	ports = NULL;
	pthread_mutex_unlock(&ports_lock);
}

static void
register_fork(void)
{
	kal_fds_watch_forks();
	(void)pthread_atfork(before_fork, after_fork_parent, after_fork_child);
}

void
kal_listen_lock(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, register_fork);
	pthread_mutex_lock(&ports_lock);
}

void
kal_listen_unlock(void)
{
	pthread_mutex_unlock(&ports_lock);
}

void
kal_listen_say(const struct ri_host *host, const struct kal_listen_saying *saying)
{
	if (saying->text[0] != '\0')
		ri_log(host, saying->level, &(struct ri_log_about){.layer = "kal"}, "%s",
		       saying->text);
}

/* --- the owner of an address --------------------------------------------------------------------------- */

static bool
same_addr(const struct ri_addr *a, const struct ri_addr *b)
{
	return a->family == b->family && a->scope_id == b->scope_id &&
	       memcmp(a->octets, b->octets, sizeof(a->octets)) == 0;
}

static bool
is_listed(const struct kal_listener *listener, const struct ri_addr *addr)
{
	for (uint32_t i = 0; i < listener->num_addrs; i++)
		if (same_addr(&listener->addrs[i], addr))
			return true;
	return false;
}

static bool
is_wanted(const struct kal_tcp_port *port, const struct ri_addr *addr)
{
	for (const struct kal_listener *one = port->members; one != NULL; one = one->next_member)
		if (is_listed(one, addr))
			return true;
	return false;
}

/* Does the route to that peer lead through the listener's interface? */
static bool
leads_to(const struct kal_listener *listener, const struct ri_addr *peer)
{
	const struct kal_route_query query = {.peer = *peer};
	struct kal_route route;
	int fd = kal_route_open();
	bool leads;

	if (fd < 0)
		return false;
	leads = kal_route_ask(fd, &query, &route) == 0 &&
		kal_route_has(&route, if_nametoindex(listener->if_name));
	close(fd);
	return leads;
}

struct kal_listener *
kal_listen_choose(const struct kal_tcp_port *port, int fd)
{
	char owner[KAL_ROUTE_NAME_MAX];
	struct kal_listener *found = NULL;
	struct ri_addr local, peer;
	struct sockaddr_storage sa;
	socklen_t len = sizeof(sa);
	uint16_t ignored;

	RI_ASSERT_OWNED(&ports_lock);
	if (getsockname(fd, (struct sockaddr *)&sa, &len) != 0) {
		ri_log_refused(port->host, &(struct ri_log_about){.layer = "kal"}, "getsockname",
			       errno);
		return NULL;
	}
	kal_sock_addr_back(&sa, &local, &ignored);
	len = sizeof(sa);
	if (getpeername(fd, (struct sockaddr *)&sa, &len) != 0) {
		ri_log_refused(port->host, &(struct ri_log_about){.layer = "kal"}, "getpeername",
			       errno);
		return NULL; /* it is over */
	}
	kal_sock_addr_back(&sa, &peer, &ignored);
	/* An address that no spigot lists is asked for once. */
	if (is_wanted(port, &local) || !kal_route_owner(&local, owner))
		owner[0] = '\0';
	for (struct kal_listener *one = port->members; one != NULL; one = one->next_member) {
		bool has = one->anywhere || is_listed(one, &local) ||
			   (owner[0] != '\0' && strcmp(one->if_name, owner) == 0);

		/* Several interfaces may have the address. Then the spigot through which the peer is reached is the better one. */
		if (one->ready && has && (found == NULL || leads_to(one, &peer)))
			found = one;
	}
	return found;
}

/* --- sockets ---------------------------------------------------------------------------------------- */

/* Listen at one address, or at any of its family. Returns 0 or an errno. *number: 0 lets the kernel choose, and is filled in. */
static int
sock_open(struct kal_tcp_port *port, const struct ri_addr *addr, bool any)
{
	struct kal_listen_sock *sock = calloc(1, sizeof(*sock));
	struct sockaddr_storage sa;
	socklen_t len = kal_sock_addr(&sa, addr, port->port);
	struct ri_addr ignored;
	int error = 0;

	if (sock == NULL || len == 0) {
		free(sock);
		return len == 0 ? EADDRNOTAVAIL : ENOMEM;
	}
	error = kal_sock_source()->listen(&sock->fd, &sa, len);
	len = sizeof(sa);
	if (error == 0 && port->port == 0) {
		if (getsockname(kal_fd_get(&sock->fd), (struct sockaddr *)&sa, &len) == 0)
			kal_sock_addr_back(&sa, &ignored, &port->port);
		else
			error = errno;
	}
	if (error != 0) {
		kal_sock_source()->listen_over(&sock->fd);
		kal_fd_close(&sock->fd);
		free(sock);
		return error;
	}
	sock->addr = *addr;
	sock->any = any;
	sock->owner = port;
	sock->next = port->socks;
	port->socks = sock;
	return 0;
}

/* The address may just come or go, or its family may be switched off: that is no failure of the listener. */
static bool
address_may_lack(int error)
{
	return error == EADDRNOTAVAIL || error == EAFNOSUPPORT;
}

static bool
serves(const struct kal_tcp_port *port, const struct ri_addr *addr)
{
	for (const struct kal_listen_sock *sock = port->socks; sock != NULL; sock = sock->next)
		if (sock->any ? sock->addr.family == addr->family : same_addr(&sock->addr, addr))
			return true;
	return false;
}

static bool
serves_any(const struct kal_tcp_port *port, uint8_t family)
{
	for (const struct kal_listen_sock *sock = port->socks; sock != NULL; sock = sock->next)
		if (sock->any && sock->addr.family == family)
			return true;
	return false;
}

/* Move all sockets, or those that no listener needs, from the port to a list for socks_close. */
static struct kal_listen_sock *
socks_take(struct kal_tcp_port *port, bool all)
{
	struct kal_listen_sock **at = &port->socks, *taken = NULL;

	while (*at != NULL) {
		struct kal_listen_sock *sock = *at;

		if (!all && !sock->deaf &&
		    (sock->any ||
		     (is_wanted(port, &sock->addr) && !serves_any(port, sock->addr.family)))) {
			at = &sock->next;
			continue;
		}
		*at = sock->next;
		sock->owner = NULL;
		sock->next = taken;
		taken = sock;
	}
	return taken;
}

/* Not under the lock: the service thread may be inside of their function. */
static void
socks_close(const struct ri_host *host, struct kal_listen_sock *taken)
{
	while (taken != NULL) {
		struct kal_listen_sock *next = taken->next;

		if (taken->watched)
			host->watch_stop(host->self, &taken->watch);
		kal_sock_source()->listen_over(&taken->fd);
		kal_fd_close(&taken->fd);
		free(taken);
		taken = next;
	}
}

/*
 * Replace the sockets of one family by one for any address. The old ones stop listening first, because the kernel refuses
 * a socket for any address beside one that listens. They stay bound until they are taken.
 */
static int
any_open(struct kal_tcp_port *port, uint8_t family)
{
	const struct ri_addr any = {.family = family};
	int error;

	if (serves_any(port, family))
		return 0;
	for (struct kal_listen_sock *sock = port->socks; sock != NULL; sock = sock->next)
		if (sock->addr.family == family)
			(void)shutdown(kal_fd_get(&sock->fd), SHUT_RD);
	error = sock_open(port, &any, true);
	if (error == 0)
		return 0;
	/*
	 * Listen again at the addresses whose sockets stopped listening. Linux 6.18 refuses connections to a socket that
	 * listens after a shutdown, so each has a new socket in its place; the old one is taken by socks_take. New sockets
	 * come before these in the list.
	 */
	for (struct kal_listen_sock *sock = port->socks; sock != NULL; sock = sock->next) {
		if (sock->addr.family != family || sock->deaf)
			continue;
		if (sock_open(port, &sock->addr, false) == 0)
			sock->deaf = true;
		else
			(void)listen(kal_fd_get(&sock->fd), SOMAXCONN);
	}
	return error;
}

/* Open what a listener needs beyond what the port has. Returns 0 or an errno. *lacks: networks of its spigot are not served. */
static int
socks_open_for(struct kal_tcp_port *port, const struct kal_listener *listener, bool *lacks)
{
	static const uint8_t families[] = {RI_ADDR_IPV4, RI_ADDR_IPV6};
	unsigned good = 0;

	for (unsigned i = 0; i < G_N_ELEMENTS(families); i++) {
		bool wants =
			listener->anywhere || (i == 0 ? listener->networks4 : listener->networks6);
		int error = wants ? any_open(port, families[i]) : 0;

		good += wants && error == 0;
		if (error == 0 || address_may_lack(error))
			continue;
		if (error != EADDRINUSE || listener->anywhere)
			return error;
		*lacks = true; /* the listed addresses may be free */
	}
	for (uint32_t i = 0; i < listener->num_addrs; i++) {
		int error = serves(port, &listener->addrs[i])
				    ? 0
				    : sock_open(port, &listener->addrs[i], false);

		good += error == 0;
		if (error != 0 && !address_may_lack(error))
			return error;
	}
	return good > 0 ? 0 : EADDRNOTAVAIL;
}

/* --- opening ------------------------------------------------------------------------------------- */

/* Remember what the spigot has now. */
static void
spigot_note(struct kal_listener *listener, const struct ri_port_attr *attr)
{
	memcpy(listener->if_name, attr->if_name, sizeof(listener->if_name));
	listener->num_addrs = MIN(attr->num_addrs, RI_PORT_ADDR_MAX);
	memcpy(listener->addrs, attr->addrs, sizeof(listener->addrs));
}

/* Does the spigot have more than the addresses that it lists? 0, or errno: memory or descriptors ran out. */
static int
networks_note(struct kal_listener *listener)
{
	uint32_t interface = if_nametoindex(listener->if_name);
	int fd = interface != 0 ? kal_route_open() : -1;
	int error = fd < 0 ? errno : 0; /* of either */
	bool many = listener->num_addrs == RI_PORT_ADDR_MAX;

	if (fd >= 0) {
		error = kal_route_networks(fd, RI_ADDR_IPV4, interface, &listener->networks4);
		if (!ri_errno_is_short(error))
			error = kal_route_networks(fd, RI_ADDR_IPV6, interface,
						   &listener->networks6);
		close(fd);
	}
	listener->networks4 |= many;
	listener->networks6 |= many;
	return ri_errno_is_short(error) ? error : 0;
}

static void
port_free(struct kal_tcp_port *port)
{
	port->host->timer_stop(port->host->self, &port->pause_timer);
	kal_fd_close(&port->spare);
	free(port);
}

/* Under the lock: join the port, with all sockets that the listener needs. Returns 0 or an errno; *taken: to be closed. */
static int
port_join(struct kal_tcp_port *port, struct kal_listener *listener, bool *lacks,
	  struct kal_listen_sock **taken)
{
	bool fresh = port->members == NULL;
	int error = 0;

	/* A spigot can have one listener at a port. */
	for (const struct kal_listener *one = port->members; one != NULL; one = one->next_member)
		if (strcmp(one->if_name, listener->if_name) == 0)
			error = EADDRINUSE;
	if (error == 0)
		error = socks_open_for(port, listener, lacks);
	if (error == 0) {
		listener->next_member = port->members;
		port->members = listener;
		listener->tcp_port = port;
	}
	if (error == 0 && fresh) {
		port->next = ports;
		ports = port;
	}
	*taken = socks_take(port, error != 0 && fresh);
	return error;
}

/* Under the lock: have the service thread accept at all sockets of the port. */
static enum ri_status
socks_watch(struct kal_tcp_port *port)
{
	const struct ri_host *host = port->host;
	enum ri_status status = RI_SUCCESS;

	for (struct kal_listen_sock *sock = port->socks; sock != NULL && status == RI_SUCCESS;
	     sock = sock->next) {
		if (sock->watched)
			continue;
		sock->watch = (struct ri_watch){.fire = kal_listen_sock_ready,
						.arg = sock,
						.fd = kal_fd_get(&sock->fd),
						.events = RI_WATCH_IN};
		status = host->watch_start(host->self, &sock->watch);
		sock->watched = status == RI_SUCCESS;
	}
	return status;
}

/* One attempt. Returns 0 or an errno. */
static int
listener_try(struct kal_listener *listener, uint16_t *number, bool *lacks)
{
	const struct ri_host *host = listener->cm->host;
	struct kal_listen_sock *taken = NULL;
	struct kal_tcp_port *port = NULL;
	bool fresh;
	int error = ENOMEM;

	*lacks = false;
	kal_listen_lock();
	if (*number != 0)
		for (port = ports; port != NULL; port = port->next)
			if (port->host == host && port->port == *number)
				break;
	fresh = port == NULL;
	if (fresh)
		port = calloc(1, sizeof(*port));
	if (fresh && port != NULL) {
		port->host = host;
		port->port = *number;
		port->pause_timer.fire = kal_listen_pause_ends;
		port->pause_timer.arg = port;
		(void)kal_fd_eventfd(&port->spare);
	}
	if (port != NULL)
		error = port_join(port, listener, lacks, &taken);
	if (error == 0)
		*number = port->port;
	else if (!fresh)
		/* Those that the attempt has replaced. What fails is tried again at the next change. */
		(void)!socks_watch(port);
	kal_listen_unlock();
	socks_close(host, taken);
	if (error != 0 && fresh && port != NULL)
		port_free(port);
	return error;
}

enum ri_status
kal_listener_open(struct kal_listener *listener, struct ri_service *service)
{
	const struct kal_cm *cm = listener->cm;
	struct kal_listen_saying saying = {.level = RI_LOG_INFO};
	struct ri_port_attr attr = {.size = sizeof(attr)};
	enum ri_status status = ri_call_query_port(cm->caller, cm->rnic, listener->port, &attr);
	uint16_t number = service->port;
	bool lacks = false;
	int error = EADDRINUSE;

	if (status != RI_SUCCESS)
		return status;
	if (service->kind != RI_SERVICE_PORT)
		return RI_ERR_INVALID_ARG;
	spigot_note(listener, &attr);
	listener->anywhere = attr.num_addrs == 0;
	if (networks_note(listener) != 0)
		return RI_ERR_RESOURCES;
	for (int i = 0; i < (service->port == 0 ? PORT_ATTEMPTS : 1) && error == EADDRINUSE; i++) {
		number = service->port;
		error = listener_try(listener, &number, &lacks);
	}
	if (error == 0 && lacks) {
		(void)snprintf(saying.text, sizeof(saying.text),
			       "port %u of %s: another program has the port at some address, so "
			       "only the listed addresses are served",
			       (unsigned)ntohs(number), listener->if_name);
		kal_listen_say(cm->host, &saying);
	}
	if (error == 0)
		service->port = number;
	switch (error) {
	case 0:
		return RI_SUCCESS;
	case EADDRINUSE:
		return RI_ERR_IN_USE;
	case EACCES:
		return RI_ERR_PERMISSION;
	case EADDRNOTAVAIL:
	case EAFNOSUPPORT:
		return RI_ERR_NO_ROUTE;
	default:
		return RI_ERR_RESOURCES;
	}
}

/* --- following the spigot ----------------------------------------------------------------- */

/* On the service thread: the addresses of the spigot may have changed. What fails here is tried again at the next change. */
static void
listener_follow(void *arg)
{
	struct kal_listener *listener = arg;
	const struct kal_cm *cm = listener->cm;
	struct kal_listen_saying saying = {.text = "", .level = RI_LOG_WARNING};
	struct ri_port_attr attr = {.size = sizeof(attr)};
	struct kal_listen_sock *taken;
	struct kal_tcp_port *port;

	if (listener->anywhere ||
	    ri_call_query_port(cm->caller, cm->rnic, listener->port, &attr) != RI_SUCCESS)
		return;
	kal_listen_lock();
	port = listener->tcp_port;
	if (port == NULL) {
		kal_listen_unlock();
		return;
	}
	spigot_note(listener, &attr);
	/* First those that are lost: another program may wait for the port at such an address. */
	taken = socks_take(port, false);
	for (uint32_t i = 0; i < listener->num_addrs; i++) {
		const struct ri_addr *addr = &listener->addrs[i];
		char text[INET6_ADDRSTRLEN];
		int error = serves(port, addr) ? 0 : sock_open(port, addr, false);

		if (error == 0 || address_may_lack(error))
			continue;
		kal_sock_addr_text(addr, text, sizeof(text));
		(void)snprintf(saying.text, sizeof(saying.text),
			       "cannot listen on port %u at %s, a new address of %s: %s",
			       (unsigned)ntohs(port->port), text, listener->if_name,
			       ri_errno_text(error));
	}
	if (socks_watch(port) != RI_SUCCESS)
		(void)snprintf(saying.text, sizeof(saying.text),
			       "cannot listen on port %u at a new address of %s: %s",
			       (unsigned)ntohs(port->port), listener->if_name,
			       ri_errno_text(ENOMEM));
	kal_listen_unlock();
	socks_close(cm->host, taken);
	kal_listen_say(cm->host, &saying);
}

void
kal_listener_init(struct kal_listener *listener)
{
	listener->follow.fire = listener_follow;
	listener->follow.arg = listener;
}

enum ri_status
kal_listener_watch(struct kal_listener *listener)
{
	const struct ri_host *host = listener->cm->host;
	enum ri_status status;

	kal_listen_lock();
	listener->ready = true;
	status = socks_watch(listener->tcp_port);
	kal_listen_unlock();
	/* An address may have changed while the sockets were opened. */
	if (status == RI_SUCCESS)
		host->task_run(host->self, &listener->follow);
	return status;
}

void
kal_listener_close(struct kal_listener *listener)
{
	const struct ri_host *host = listener->cm->host;
	struct kal_tcp_port *port;
	struct kal_listen_sock *taken = NULL;
	bool last = false;

	host->task_stop(host->self, &listener->follow);
	kal_listen_lock();
	port = listener->tcp_port;
	listener->tcp_port = NULL;
	if (port != NULL) {
		struct kal_listener **member = &port->members;

		while (*member != listener)
			member = &(*member)->next_member;
		*member = listener->next_member;
		last = port->members == NULL;
		taken = socks_take(port, last);
	}
	if (last) {
		struct kal_tcp_port **at = &ports;

		while (*at != port)
			at = &(*at)->next;
		*at = port->next;
		port->gone = true;
	}
	kal_listen_unlock();
	socks_close(host, taken);
	if (last)
		port_free(port);
}

void
kal_listeners_follow(struct kal_cm *cm, uint32_t port)
{
	const struct ri_host *host = cm->host;
	const struct kal_link *link = NULL;

	if (!cm->stream)
		return;
	kal_cm_lock(cm);
	while ((link = kal_table_next(&cm->listeners, link)) != NULL) {
		struct kal_listener *listener = kal_entry(link, struct kal_listener, link);

		if (listener->port == port)
			host->task_run(host->self, &listener->follow);
	}
	kal_cm_unlock(cm);
}
