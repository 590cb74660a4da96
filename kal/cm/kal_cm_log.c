/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Lines of the log about connections that failed or were refused: the connection, its peer, and the reason. They have the
 * level info, because any peer can cause any number of them.
 */
#include <stdio.h>

#include "kal_cm_internal.h"
#include "kal_cm_log.h"
#include "kal_request.h"
#include "kal_setup.h"

bool
kal_say_wanted(const struct kal_cm *cm)
{
	return ri_log_wanted(cm->host, RI_LOG_INFO);
}

void
kal_conn_name(struct kal_conn *conn, uint32_t qpn)
{
	conn->qpn = qpn;
}

void
kal_say(const struct ri_host *host, const struct kal_saying *saying)
{
	struct ri_log_about about = saying->about;

	about.peer = saying->peer;
	ri_log(host, RI_LOG_INFO, &about, "%s", saying->text);
}

void
kal_say_failure(const struct kal_setup *setup, const char *why, struct kal_saying *saying)
{
	const struct kal_conn *conn = setup->conn;
	const struct kal_pending *pending = &conn->pending;
	bool dialled = setup->initiator || setup->converted;

	saying->about = (struct ri_log_about){
		.layer = "kal", .adapter = setup->cm->attr->name, .qpn = conn->qpn};
	kal_cm_lock(setup->cm);
	ri_log_addr(&pending->peer, dialled ? pending->service.port : pending->service.local_port,
		    saying->peer, sizeof(saying->peer));
	kal_cm_unlock(setup->cm);
	(void)snprintf(saying->text, sizeof(saying->text), "the start-up failed: %s", why);
}

void
kal_say_refused(struct kal_request *request, const char *why)
{
	const struct kal_cm *cm = request->cm;
	struct sockaddr_storage sa = {.ss_family = AF_UNSPEC};
	socklen_t len = sizeof(sa);
	char peer[RI_LOG_ADDRESS];
	struct ri_log_about about = {.layer = "kal", .adapter = cm->attr->name, .peer = peer};

	if (!kal_say_wanted(cm))
		return;
	if (getpeername(kal_fd_get(&request->fd), (struct sockaddr *)&sa, &len) != 0)
		sa.ss_family = AF_UNSPEC;
	ri_log_sockaddr((const struct sockaddr *)&sa, peer, sizeof(peer));
	ri_log(cm->host, RI_LOG_INFO, &about, "a connection request was refused: %s", why);
}
