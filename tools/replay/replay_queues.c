/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Shared receive queues and datagrams.
 *
 * A datagram that finds no receive is lost, and no recording says when its sender learned that
 * there was one. So a datagram waits until its receiver has posted a receive for it; if all other
 * actors (replay_run.c) wait, too, it is sent without one, since a datagram was lost in the
 * recorded run as well.
 */
#include <string.h>

#include "replay_run.h"
#include "tool_way.h"

/* --- shared receive queues --------------------------------------------------------------------------------- */

/* Where the recording has it in the set, which knows its largest size. */
static const struct replay_srq *
shared_in_set(const struct replay_actor *actor, uint32_t number)
{
	const GArray *srqs = actor->run->set->srqs;

	for (guint i = 0; i < srqs->len; i++) {
		const struct replay_srq *srq = &g_array_index(srqs, struct replay_srq, i);

		if (srq->file == actor->file && srq->number == number)
			return srq;
	}
	return NULL;
}

/* The events of the adapter's shared receive queues. */
static it_status_t
events_open(struct replay_run *run, const struct tool_adapter *adapter)
{
	it_evd_handle_t *events = &run->affiliated[adapter - run->adapters];

	if (*events != NULL)
		return IT_SUCCESS;
	return it_evd_create(adapter->ia, IT_ASYNC_AFF_EVENT_STREAM, IT_EVD_OVERFLOW_DEFAULT, 64, 1,
			     IT_NULL_HANDLE, events, NULL);
}

enum replay_step
replay_shared_make(struct replay_actor *actor, GError **error)
{
	const struct replay_srq *in_set;
	struct replay_shared *shared;
	uint32_t number, domain;
	uint64_t room, segments;
	it_status_t status;

	if (!replay_succeeded(&actor->line))
		return REPLAY_DONE;
	if (!replay_object(&actor->reader, &actor->line, 1, 's', &number, error) ||
	    !replay_number(&actor->reader, &actor->line, "wr", UINT16_MAX + 1, &room, error) ||
	    !replay_number(&actor->reader, &actor->line, "sge", UINT32_MAX, &segments, error) ||
	    !replay_domain(actor, &domain, error))
		return REPLAY_FAILED;
	in_set = shared_in_set(actor, number);
	if (in_set == NULL || actor->shared[number] != NULL)
		return replay_failed(actor, error, "s%u was not there before, or exists", number);
	shared = g_new0(struct replay_shared, 1);
	shared->adapter = actor->of_domain[domain];
	shared->most = in_set->most;
	actor->shared[number] = shared;
	/* Where it cannot change later it has its last size from the beginning. */
	if (shared->adapter->info->srq_resizable != IT_TRUE)
		room = shared->most;
	if (shared->adapter->info->srq_support != IT_TRUE)
		return replay_failed(actor, error, "%s has no shared receive queues",
				     shared->adapter->name + strlen("record:"));
	status = events_open(actor->run, shared->adapter);
	if (status == IT_SUCCESS)
		status = it_srq_create(actor->domains[domain],
				       MIN(MAX(segments, 1), REPLAY_SEGMENTS), room, &shared->srq);
	return status == IT_SUCCESS ? REPLAY_DONE
				    : replay_failed(actor, error, "%s", it_status_name(status));
}

/* "modify s1 wr=64 limit=4" */
static enum replay_step
shared_modify(struct replay_actor *actor, GError **error)
{
	it_srq_param_t param = {0};
	struct replay_shared *shared;
	it_status_t status = IT_SUCCESS;
	uint64_t room = 0, limit = 0;
	uint32_t number;
	int mask = 0;

	if (!replay_object(&actor->reader, &actor->line, 1, 's', &number, error))
		return REPLAY_FAILED;
	shared = actor->shared[number];
	if (shared == NULL)
		return replay_failed(actor, error, "there is no s%u", number);
	if (replay_field(&actor->line, "wr") != NULL &&
	    shared->adapter->info->srq_resizable == IT_TRUE)
		mask |= IT_SRQ_PARAM_MAX_RECV_DTO;
	if (replay_field(&actor->line, "limit") != NULL)
		mask |= IT_SRQ_PARAM_LOW_WATERMARK;
	if (((mask & IT_SRQ_PARAM_MAX_RECV_DTO) != 0 &&
	     !replay_number(&actor->reader, &actor->line, "wr", UINT32_MAX, &room, error)) ||
	    ((mask & IT_SRQ_PARAM_LOW_WATERMARK) != 0 &&
	     !replay_number(&actor->reader, &actor->line, "limit", UINT32_MAX, &limit, error)))
		return REPLAY_FAILED;
	param.max_recv_dtos = room;
	param.low_watermark = limit;
	if (mask != 0)
		status = it_srq_modify(shared->srq, (it_srq_param_mask_t)mask, &param);
	/* An adapter without limits refuses each one but 0; the events are excused then. */
	if (limit != 0)
		shared->unlimited = status == IT_ERR_SRQ_LOW_WATERMARK;
	return REPLAY_DONE;
}

/* An endpoint of datagrams gets another key. */
static enum replay_step
key_modify(struct replay_actor *actor, GError **error)
{
	it_ep_attributes_t attr = {0};
	struct replay_end *end;
	it_status_t status;
	uint32_t number;
	uint64_t qkey;

	if (replay_field(&actor->line, "qkey") == NULL)
		return REPLAY_DONE;
	if (!replay_object(&actor->reader, &actor->line, 1, 'q', &number, error) ||
	    !replay_number(&actor->reader, &actor->line, "qkey", UINT32_MAX, &qkey, error))
		return REPLAY_FAILED;
	end = replay_end_of(actor, number);
	if (end == NULL || !end->qp->datagram)
		return REPLAY_DONE;
	attr.srv.ud.ep_info.ud_ep_key = (it_ud_ep_key_t)qkey;
	status = it_ep_modify(end->ep, IT_EP_PARAM_EP_KEY, &attr);
	return status == IT_SUCCESS ? REPLAY_DONE
				    : replay_failed(actor, error, "%s", it_status_name(status));
}

enum replay_step
replay_modify(struct replay_actor *actor, GError **error)
{
	bool shared = actor->line.count > 1 && actor->line.words[1][0] == 's';

	return shared ? shared_modify(actor, error) : key_modify(actor, error);
}

/* Count the events that have come, at the queues that they are of. */
static void
events_take(struct replay_run *run, it_evd_handle_t events)
{
	it_event_t event;

	while (it_evd_dequeue(events, &event) == IT_SUCCESS)
		for (unsigned i = 0; i < run->set->num_files; i++)
			for (uint32_t j = 1; j <= REPLAY_OBJECTS; j++) {
				struct replay_shared *shared = run->actors[i].shared[j];

				if (event.event_number == IT_ASYNC_AFF_SRQ_LOW_WATERMARK &&
				    shared != NULL && shared->srq == event.aff_async.cause.srq)
					shared->limits++;
			}
}

/* "event s1 RI_EVENT_SRQ_LIMIT" */
enum replay_step
replay_event(struct replay_actor *actor, GError **error)
{
	struct replay_shared *shared;
	uint32_t number;

	if (actor->line.count < 3 || actor->line.words[1][0] != 's' ||
	    strcmp(actor->line.words[2], "RI_EVENT_SRQ_LIMIT") != 0)
		return REPLAY_DONE;
	if (!replay_object(&actor->reader, &actor->line, 1, 's', &number, error))
		return REPLAY_FAILED;
	shared = actor->shared[number];
	if (shared == NULL || shared->unlimited)
		return REPLAY_DONE; /* it is gone, or has none here */
	events_take(actor->run, actor->run->affiliated[shared->adapter - actor->run->adapters]);
	if (shared->limits == 0)
		return REPLAY_WAITS;
	shared->limits--;
	return REPLAY_DONE;
}

/* A receive of a shared queue. */
enum replay_step
replay_shared_post(struct replay_actor *actor, uint32_t number,
		   const struct replay_request *request, GError **error)
{
	struct replay_shared *shared = actor->shared[number];

	if (shared == NULL)
		return replay_failed(actor, error, "there is no s%u", number);
	if (it_post_recv((it_handle_t)shared->srq, request->segments, request->count,
			 request->cookie, request->flags) != IT_SUCCESS)
		shared->refused = request->number;
	return REPLAY_DONE;
}

bool
replay_shared_refused(const struct replay_actor *actor)
{
	const char *text = replay_field(&actor->line, "from");
	struct replay_operation from = {0};
	const struct replay_shared *shared;

	if (text == NULL || !replay_operation_read(text, &from))
		return false;
	shared = actor->shared[from.object];
	return shared != NULL && shared->refused != 0 && shared->refused == from.number;
}

void
replay_shared_free(struct replay_shared **place)
{
	struct replay_shared *shared = *place;

	*place = NULL;
	if (shared != NULL && shared->srq != NULL)
		(void)!it_srq_free(shared->srq);
	g_free(shared);
}

/* --- datagrams ------------------------------------------------------------------------------------------------ */

/* All adapters of a replay are one, so each handle names its only host; which queue pair is meant, the number says. */
enum replay_step
replay_handle_make(struct replay_actor *actor, GError **error)
{
	uint32_t number, domain;
	struct tool_way way;
	it_status_t status;
	bool good;

	if (!replay_succeeded(&actor->line))
		return REPLAY_DONE;
	if (!replay_object(&actor->reader, &actor->line, 1, 'h', &number, error) ||
	    !replay_domain(actor, &domain, error))
		return REPLAY_FAILED;
	if (actor->handles[number] != NULL)
		return replay_failed(actor, error, "h%u exists already", number);
	good = tool_way_find(&way, actor->of_domain[domain], NULL, 0, error);
	status = good ? it_address_handle_create(actor->domains[domain], &way.path, 0,
						 &actor->handles[number])
		      : IT_SUCCESS;
	tool_way_clear(&way);
	if (!good)
		return REPLAY_FAILED;
	return status == IT_SUCCESS ? REPLAY_DONE
				    : replay_failed(actor, error, "%s", it_status_name(status));
}

it_status_t
replay_datagram_end(struct replay_end *end, it_pz_handle_t pz, const it_ep_attributes_t *attr)
{
	it_ep_param_t param;
	it_status_t status = it_ep_ud_create(pz, end->request, end->recv, attr, 0, &end->ep);

	if (status == IT_SUCCESS)
		status = it_ep_query(end->ep, IT_EP_PARAM_EP_ID, &param);
	if (status == IT_SUCCESS)
		end->id = param.attr.srv.ud.ep_info.ud_ep_id;
	return status;
}

/* The receiver of that number, or one that had it. *several: more than one has had that number. */
static struct replay_end *
receiver_find(struct replay_run *run, uint32_t qpn, bool *several)
{
	struct replay_end *found = NULL;

	*several = false;
	for (guint i = 0; i < run->set->qps->len; i++) {
		const struct replay_qp *qp = &g_array_index(run->set->qps, struct replay_qp, i);
		struct replay_end *end = &run->ends[i];

		if (!qp->datagram || qp->qpn != qpn || end->id == 0)
			continue;
		*several = found != NULL && found->qp != NULL && end->qp != NULL;
		if (*several)
			return NULL;
		if (found == NULL || end->qp != NULL)
			found = end;
	}
	return found;
}

enum replay_step
replay_datagram_post(struct replay_actor *actor, struct replay_end *end,
		     const struct replay_request *request, GError **error)
{
	it_dg_remote_ep_addr_t to = {.type = IT_DG_TYPE_IB_UD};
	const char *handle = replay_field(&actor->line, "ah");
	struct replay_run *run = actor->run;
	struct replay_end *receiver;
	uint64_t number, qpn, qkey;
	bool several;

	number = handle != NULL && handle[0] == 'h' ? g_ascii_strtoull(handle + 1, NULL, 10) : 0;
	if (number == 0 || number > REPLAY_OBJECTS || actor->handles[number] == NULL)
		return replay_failed(actor, error, "the address handle does not exist");
	if (!replay_number(&actor->reader, &actor->line, "qpn", REPLAY_GROUP, &qpn, error) ||
	    !replay_number(&actor->reader, &actor->line, "qkey", UINT32_MAX, &qkey, error))
		return REPLAY_FAILED;
	if (qpn == REPLAY_GROUP)
		return replay_failed(actor, error, "datagrams to groups are not replayed");
	receiver = receiver_find(run, (uint32_t)qpn, &several);
	if (several)
		return replay_failed(
			actor, error,
			"several queue pairs have the number %u: datagrams between hosts "
			"whose numbers are the same are not replayed",
			(unsigned)qpn);
	if (!run->insists && (receiver == NULL ||
			      (receiver->qp != NULL && receiver->under_way >= receiver->receives)))
		return REPLAY_WAITS;
	/* Nothing happens any more: what was sent and has not come is lost. */
	if (run->insists && receiver != NULL)
		receiver->under_way = 0;
	run->insists = false;
	if (receiver != NULL)
		receiver->under_way++;
	to.addr.ud.addr = actor->handles[number];
	to.addr.ud.ep_info.ud_ep_id = receiver != NULL ? receiver->id : 0;
	to.addr.ud.ep_info.ud_ep_key = (it_ud_ep_key_t)qkey;
	if (it_post_sendto(end->ep, request->segments, request->count, request->cookie,
			   request->flags, &to) != IT_SUCCESS)
		end->refused = request->number;
	return REPLAY_DONE;
}

/* "join q1" */
enum replay_step
replay_join(struct replay_actor *actor, GError **error)
{
	if (!replay_succeeded(&actor->line))
		return REPLAY_DONE;
	return replay_failed(actor, error, "groups of datagrams are not replayed");
}
