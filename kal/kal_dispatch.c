/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The entry of all calls. It checks the number of the call and the sizes; handlers check ids and values. A request or
 * reply that is one byte too short or too long is refused.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "kal_objects.h"
#include "ri_errno.h"
#include "ri_log.h"
#include "ri_owned.h"

void
kal_apart_begin(struct kal_client *client)
{
	RI_ASSERT_OWNED(&client->calls);
	client->apart++;
	pthread_mutex_unlock(&client->calls);
}

void
kal_apart_end(struct kal_client *client)
{
	pthread_mutex_lock(&client->calls);
	client->apart--;
	pthread_cond_broadcast(&client->apart_over);
}

void
kal_apart_wait(struct kal_client *client)
{
	RI_ASSERT_OWNED(&client->calls);
	pthread_cond_wait(&client->apart_over, &client->calls);
}

static const struct kal_handler *
handler_find(uint32_t call)
{
	const struct kal_handler *tables[] = {kal_verbs_handlers, kal_qp_handlers, kal_mem_handlers,
					      kal_cm_handlers, kal_destroy_handlers};

	if (call >= KAL_CALL_COUNT)
		return NULL;
	for (size_t i = 0; i < G_N_ELEMENTS(tables); i++) {
		if (tables[i][call].run != NULL)
			return &tables[i][call];
	}
	return NULL;
}

/* A system call may have been refused, by a sandbox for example, which no status of the call expresses. */
static void
log_refusal(const struct kal_client *client, enum ri_status status, int error)
{
	if (status != RI_SUCCESS && (error == EPERM || error == EACCES || error == ENOSYS))
		ri_log(client->host, RI_LOG_WARNING, &(struct ri_log_about){.layer = "kal"},
		       "%s: the system refused a call: %s", ri_status_name(status),
		       ri_errno_text(error));
}

enum ri_status
kal_call(struct kal_client *client, struct kal_msg *msg)
{
	const struct kal_handler *handler = handler_find(msg->call);
	const int before = errno; /* the caller's: a call reports its outcome by the status alone */
	enum ri_status status;

	if (handler == NULL)
		return RI_ERR_INVALID_ARG;
	if (msg->req_len < handler->req_size || msg->req_len > KAL_MESSAGE_MAX ||
	    (!handler->more && msg->req_len != handler->req_size) || msg->req == NULL)
		return RI_ERR_INVALID_ARG;
	if (msg->rep_len < handler->rep_size || (handler->rep_size > 0 && msg->rep == NULL))
		return RI_ERR_INVALID_ARG;
	if (handler->rep_size > 0)
		memset(msg->rep, 0, handler->rep_size);
	pthread_mutex_lock(&client->calls);
	errno = 0;
	status = handler->run(client, msg->req, msg->rep, msg);
	log_refusal(client, status, errno);
	errno = before;
	pthread_mutex_unlock(&client->calls);
	if (status == RI_SUCCESS && msg->call != KAL_ADAPTER_LIST)
		msg->rep_len = handler->rep_size;
	return status;
}
