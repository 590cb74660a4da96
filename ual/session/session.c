/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Sessions: open, close, and calls of the kAL.
 *
 * Each session has its own client of the kAL, with one open RNIC and the user half of its provider.
 * So two sessions on one adapter share nothing here, and closing the client destroys what is left
 * in the kAL. Closing works after the adapter has failed, too.
 *
 * Threads: any. Open and close of one session are made by one thread each, and no call on it
 * overlaps them.
 */
#include "session.h"

#include <string.h>

#include "kal_settings.h"
#include "session_sleep.h"

enum ri_status
session_call(struct session *session, uint32_t call, const void *req, size_t req_len, void *rep,
	     size_t rep_len)
{
	struct kal_msg msg = {
		.call = call,
		.fd = -1,
		.req = req,
		.req_len = req_len,
		.rep = rep,
		.rep_len = rep_len,
	};
	enum ri_status status = kal_call(session->client, &msg);

	if (status == RI_SUCCESS && msg.rep_len != rep_len)
		return RI_ERR_FATAL;
	return status;
}

enum ri_status
session_call_id(struct session *session, uint32_t call, uint32_t id)
{
	struct kal_id_req req = {.id = id};

	return session_call(session, call, &req, sizeof(req), NULL, 0);
}

/* Open the RNIC and the user half of its provider. If that fails, closing the client undoes it. */
static enum ri_status
rnic_open(struct session *session, const char *name, struct kal_rnic_open_rep *rep)
{
	struct kal_rnic_open_req req = {.name = ""};
	size_t len = strnlen(name, sizeof(req.name));
	enum ri_status status;

	if (len == sizeof(req.name))
		return RI_ERR_NO_DEVICE;
	memcpy(req.name, name, len);
	status = session_call(session, KAL_RNIC_OPEN, &req, sizeof(req), rep, sizeof(*rep));
	if (status != RI_SUCCESS)
		return status;
	session->rnic = rep->id;
	session->attr = rep->attr;
	status = kal_user_half(session->client, session->rnic, &session->user, &session->fast);
	session->waits = kal_count_waits(session->client, session->rnic);
	if (status == RI_SUCCESS)
		status = session->user->rnic_open(session->host, &rep->map, &session->urnic);
	return status;
}

static enum ri_status
client_open(struct session *session, const char *name, struct kal_rnic_open_rep *rep)
{
	const struct kal_client_params params = {.kick = session_kick, .arg = session};
	enum ri_status status = kal_client_open(&params, &session->client);

	if (status != RI_SUCCESS)
		return status;
	session->host = kal_client_host(session->client);
	session->spin_ns = kal_setting_number(KAL_SETTING_SPIN) * 1000;
	status = rnic_open(session, name, rep);
	if (status != RI_SUCCESS)
		kal_client_close(session->client);
	return status;
}

void
session_count_qp(struct session *session, uint32_t id, struct ri_uqp *qp)
{
	struct ri_qp_counters *counters = kal_count_qp(session->client, id);

	if (counters != NULL)
		session->user->qp_count(qp, counters);
}

void
session_count_cq(struct session *session, uint32_t id, struct ri_ucq *cq)
{
	struct ri_cq_counters *counters = kal_count_cq(session->client, id);

	if (counters != NULL)
		session->user->cq_count(cq, counters);
}

void
session_count_srq(struct session *session, uint32_t id, struct ri_usrq *srq)
{
	struct ri_qp_counters *counters = kal_count_srq(session->client, id);

	if (counters != NULL)
		session->user->srq_count(srq, counters);
}

static void
session_release(struct session *session)
{
	session_waiters_fini(session);
	pthread_mutex_destroy(&session->drain);
}

enum ri_status
session_open(struct session *session, const char *name, const struct session_params *params,
	     struct kal_rnic_open_rep *rep)
{
	enum ri_status status;

	memset(session, 0, sizeof(*session));
	session->dispatch = params->dispatch;
	session->above = params->above;
	pthread_mutex_init(&session->drain, NULL);
	session_waiters_init(&session->waiters);
	status = client_open(session, name, rep);
	if (status != RI_SUCCESS)
		session_release(session);
	return status;
}

void
session_close(struct session *session)
{
	session_end_waits(session);
	session->user->rnic_close(session->urnic);
	(void)!session_call_id(session, KAL_RNIC_CLOSE, session->rnic);
	kal_client_close(session->client);
	session_release(session);
}
