/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * What the log says of connections that did not come about: which, with whom, and why. The lines are of the level
 * info, because each peer can cause as many as it likes.
 */
#include <arpa/inet.h>
#include <stdio.h>

#include "kal_cm_internal.h"

#define ADDRESS_ROOM (INET6_ADDRSTRLEN + 16)

/* An address as people write it, with its port; the port is in network order, 0: none. */
static void
address_text(const struct ri_addr *addr, uint16_t port, char *text, size_t room)
{
	char name[INET6_ADDRSTRLEN] = "an unknown address";
	bool six = addr->family == RI_ADDR_IPV6;

	if (six || addr->family == RI_ADDR_IPV4)
		(void)inet_ntop(six ? AF_INET6 : AF_INET, addr->octets, name, sizeof(name));
	(void)snprintf(text, room, six ? "[%s]:%u" : "%s:%u", name, (unsigned)ntohs(port));
}

bool
kal_say_wanted(const struct kal_cm *cm)
{
	return cm->p.host->log_level >= RI_LOG_INFO;
}

void
kal_say(const struct ri_host *host, const struct kal_saying *saying)
{
	if (host->log_level >= RI_LOG_INFO)
		host->log(host->self, RI_LOG_INFO, "connection", saying->text);
}

void
kal_say_failure(const struct kal_setup *setup, const char *why, struct kal_saying *saying)
{
	const struct kal_pending *pending = &setup->conn->pending;
	bool dialled = setup->initiator || setup->converted;
	char peer[ADDRESS_ROOM];

	kal_cm_lock(setup->cm);
	address_text(&pending->peer, dialled ? pending->service.port : pending->service.local_port,
		     peer, sizeof(peer));
	kal_cm_unlock(setup->cm);
	(void)snprintf(saying->text, sizeof(saying->text), "the start-up with %s failed: %s", peer,
		       why);
}

void
kal_say_refused(struct kal_request *request, const char *why)
{
	struct kal_saying saying;
	struct sockaddr_storage sa;
	socklen_t len = sizeof(sa);
	struct ri_addr from = {0};
	char peer[ADDRESS_ROOM];
	uint16_t port = 0;

	if (!kal_say_wanted(request->cm))
		return;
	if (getpeername(kal_fd_get(&request->fd), (struct sockaddr *)&sa, &len) == 0)
		kal_sock_addr_back(&sa, &from, &port);
	address_text(&from, port, peer, sizeof(peer));
	(void)snprintf(saying.text, sizeof(saying.text), "a request from %s was refused: %s", peer,
		       why);
	kal_say(request->cm->p.host, &saying);
}
