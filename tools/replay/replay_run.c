/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * An actor replays one recording, line by line. At the line of a completion or of the end of a
 * connection, the actor waits until the same has happened in the replay; meanwhile the other actors
 * go on.
 */
#include <stdarg.h>
#include <string.h>

#include "replay_run.h"
#include "tool_error.h"
#include "tool_way.h"

#define IDLE_ROUNDS 64 /* before the thread sleeps */
#define IDLE_US     50
/* Behind them: what a process sent before it was killed has come. */
#define KILLED_ROUNDS 200

enum replay_step
replay_failed(struct replay_actor *actor, GError **error, const char *format, ...)
{
	g_autofree char *text = NULL;
	va_list args;

	va_start(args, format);
	text = g_strdup_vprintf(format, args);
	va_end(args);
	tool_fail(error, TOOL_ERROR_FAILED, "%s:%" G_GUINT64_FORMAT ": %s", actor->reader.path,
		  actor->line.number + 1, text);
	return REPLAY_FAILED;
}

struct replay_end *
replay_end_of(struct replay_actor *actor, uint32_t number)
{
	const struct replay_set *set = actor->run->set;

	for (guint i = 0; i < set->qps->len; i++) {
		const struct replay_qp *qp = &g_array_index(set->qps, struct replay_qp, i);

		if (qp->file == actor->file && qp->number == number)
			return actor->run->ends[i].qp != NULL ? &actor->run->ends[i] : NULL;
	}
	return NULL;
}

/* --- objects --------------------------------------------------------------------------------------------- */

static enum replay_step
domain_make(struct replay_actor *actor, GError **error)
{
	struct replay_run *run = actor->run;
	uint32_t number, of;
	it_status_t status;

	if (!replay_succeeded(&actor->line))
		return REPLAY_DONE;
	if (!replay_object(&actor->reader, &actor->line, 1, 'p', &number, error) ||
	    !replay_object(&actor->reader, &actor->line, 2, 'a', &of, error))
		return REPLAY_FAILED;
	/* The set was checked: adapters have numbers from 1 in each recording, in the order of their lines. */
	if (of == 0 || run->set->first_adapter[actor->file] + of > run->opened)
		return replay_failed(actor, error, "there is no adapter a%u", of);
	actor->of_domain[number] = &run->adapters[run->set->first_adapter[actor->file] + of - 1];
	status = it_pz_create(actor->of_domain[number]->ia, &actor->domains[number]);
	return status == IT_SUCCESS ? REPLAY_DONE
				    : replay_failed(actor, error, "%s", it_status_name(status));
}

bool
replay_domain(struct replay_actor *actor, uint32_t *domain, GError **error)
{
	if (!replay_object(&actor->reader, &actor->line, 2, 'p', domain, error))
		return false;
	if (actor->domains[*domain] != NULL)
		return true;
	(void)replay_failed(actor, error, "there is no domain p%u", *domain);
	return false;
}

/* What a line says of a region, but for its memory; and its domain and privileges. */
static bool
region_read(struct replay_actor *actor, struct replay_object *region, uint32_t *domain,
	    it_mem_priv_t *privs, GError **error)
{
	uint64_t key, access;

	if (!replay_object(&actor->reader, &actor->line, 1, 'm', &region->number, error) ||
	    !replay_number(&actor->reader, &actor->line, "len", REPLAY_REGION, &region->length,
			   error) ||
	    !replay_number(&actor->reader, &actor->line, "at", UINT64_MAX, &region->at, error) ||
	    !replay_number(&actor->reader, &actor->line, "key", UINT32_MAX, &key, error) ||
	    !replay_number(&actor->reader, &actor->line, "access", 0x3f, &access, error) ||
	    !replay_domain(actor, domain, error))
		return false;
	if (!actor->run->atomics)
		access &= ~UINT64_C(0x10);
	region->key = (uint32_t)key;
	*privs = (it_mem_priv_t)(access & 0x1f);
	return true;
}

static enum replay_step
region_make(struct replay_actor *actor, GError **error)
{
	struct replay_object said = {0}, *region;
	it_mem_priv_t privs;
	uint32_t domain;
	it_status_t status;

	if (!replay_succeeded(&actor->line))
		return REPLAY_DONE;
	if (!region_read(actor, &said, &domain, &privs, error))
		return REPLAY_FAILED;
	region = g_new0(struct replay_object, 1);
	*region = said;
	region->memory = g_malloc0(region->length);
	actor->regions[region->number] = region;
	status = it_lmr_create21(actor->domains[domain], region->memory, NULL, region->length,
				 IT_ADDR_MODE_ABSOLUTE, privs, IT_LMR_FLAG_NONE, 0, &region->lmr,
				 &region->context);
	return status == IT_SUCCESS ? REPLAY_DONE
				    : replay_failed(actor, error, "%s", it_status_name(status));
}

/* A region that changes gets other memory, of the size that it has then, with what was in the old one. */
static enum replay_step
region_change(struct replay_actor *actor, GError **error)
{
	it_lmr_param_mask_t mask =
		IT_LMR_PARAM_PZ | IT_LMR_PARAM_ADDR | IT_LMR_PARAM_LENGTH | IT_LMR_PARAM_MEM_PRIV;
	struct replay_object said = {0}, *region;
	it_lmr_param_t param = {0};
	uint8_t *old;
	uint32_t domain;
	it_status_t status;

	if (!replay_succeeded(&actor->line))
		return REPLAY_DONE;
	if (!region_read(actor, &said, &domain, &param.privs, error))
		return REPLAY_FAILED;
	region = actor->regions[said.number];
	if (region == NULL)
		return replay_failed(actor, error, "there is no region m%u", said.number);
	said.memory = g_malloc0(said.length);
	memcpy(said.memory, region->memory, MIN(said.length, region->length));
	param.pz = actor->domains[domain];
	param.addr = said.memory;
	param.length = said.length;
	status = it_lmr_modify(region->lmr, mask, &param);
	if (status != IT_SUCCESS) {
		g_free(said.memory);
		return replay_failed(actor, error, "%s", it_status_name(status));
	}
	old = region->memory;
	said.lmr = region->lmr;
	status = it_lmr_query(said.lmr, IT_LMR_PARAM_RMR_CONTEXT, &param);
	said.context = param.rmr_context;
	*region = said;
	g_free(old);
	return status == IT_SUCCESS ? REPLAY_DONE
				    : replay_failed(actor, error, "%s", it_status_name(status));
}

static enum replay_step
window_make(struct replay_actor *actor, GError **error)
{
	const char *type = replay_field(&actor->line, "type");
	struct replay_object *window;
	uint32_t number, domain;
	it_status_t status;

	if (!replay_succeeded(&actor->line))
		return REPLAY_DONE;
	if (!replay_object(&actor->reader, &actor->line, 1, 'w', &number, error) ||
	    !replay_domain(actor, &domain, error))
		return REPLAY_FAILED;
	if (actor->windows[number] != NULL)
		return replay_failed(actor, error, "w%u exists already", number);
	window = g_new0(struct replay_object, 1);
	window->number = number;
	actor->windows[number] = window;
	status = it_rmr_create20(
		actor->domains[domain],
		g_strcmp0(type, "wide") == 0 ? IT_RMR_TYPE_WIDE : IT_RMR_TYPE_NARROW, &window->rmr);
	return status == IT_SUCCESS ? REPLAY_DONE
				    : replay_failed(actor, error, "%s", it_status_name(status));
}

/* Of an endpoint of datagrams. */
static bool
key_read(struct replay_actor *actor, it_ep_attributes_t *attr, GError **error)
{
	uint64_t qkey;

	if (!replay_number(&actor->reader, &actor->line, "qkey", UINT32_MAX, &qkey, error))
		return false;
	attr->srv.ud.ep_info.ud_ep_key = (it_ud_ep_key_t)qkey;
	return true;
}

/* Of an endpoint with a shared receive queue: the queue, and its own limits. */
static bool
shared_read(struct replay_actor *actor, it_ep_attributes_t *attr, GError **error)
{
	uint64_t soft, hard;
	uint32_t number;

	if (!replay_object(&actor->reader, &actor->line, 5, 's', &number, error))
		return false;
	if (number == 0)
		return true;
	if (actor->shared[number] == NULL) {
		(void)replay_failed(actor, error, "there is no s%u", number);
		return false;
	}
	if (!replay_number(&actor->reader, &actor->line, "soft", UINT32_MAX, &soft, error) ||
	    !replay_number(&actor->reader, &actor->line, "hard", UINT32_MAX, &hard, error))
		return false;
	attr->srv.rc.srq = actor->shared[number]->srq;
	attr->srv.rc.soft_hi_watermark = soft;
	if (hard != UINT32_MAX)
		attr->srv.rc.hard_hi_watermark = hard;
	return true;
}

static bool
numbers_read(struct replay_actor *actor, it_ep_attributes_t *attr, GError **error)
{
	uint64_t sq, rq, ird, ord, access, unlimited = 1u << 16;
	const char *segments = replay_field(&actor->line, "sge");
	uint64_t sge[4] = {1, 1, 1, 1};

	if (!replay_number(&actor->reader, &actor->line, "sq", unlimited, &sq, error) ||
	    !replay_number(&actor->reader, &actor->line, "rq", unlimited, &rq, error) ||
	    !replay_number(&actor->reader, &actor->line, "ird", unlimited, &ird, error) ||
	    !replay_number(&actor->reader, &actor->line, "ord", unlimited, &ord, error) ||
	    !replay_number(&actor->reader, &actor->line, "access", 0x3f, &access, error))
		return false;
	for (int i = 0; i < 4 && segments != NULL && *segments != '\0'; i++) {
		char *end;

		sge[i] = MIN(g_ascii_strtoull(segments, &end, 10), REPLAY_SEGMENTS);
		segments = *end == ',' ? end + 1 : "";
	}
	attr->max_request_dtos = sq;
	attr->max_recv_dtos = rq;
	attr->max_send_segments = sge[0];
	attr->max_recv_segments = sge[1];
	if (g_strcmp0(replay_field(&actor->line, "type"), "ud") == 0)
		return key_read(actor, attr, error);
	attr->srv.rc.max_rdma_write_segments = sge[2];
	attr->srv.rc.max_rdma_read_segments = sge[3];
	attr->srv.rc.rdma_read_enable = (access & 4) != 0 ? IT_TRUE : IT_FALSE;
	attr->srv.rc.rdma_write_enable = (access & 8) != 0 ? IT_TRUE : IT_FALSE;
	attr->srv.rc.atomics_enable =
		(access & 16) != 0 && actor->run->atomics ? IT_TRUE : IT_FALSE;
	attr->srv.rc.rdma_read_ird = (uint32_t)ird;
	attr->srv.rc.rdma_read_ord = (uint32_t)ord;
	attr->srv.rc.hard_hi_watermark = IT_HARD_HI_WATERMARK_DISABLE;
	return shared_read(actor, attr, error);
}

static it_status_t
end_make(struct replay_end *end, it_pz_handle_t pz, const it_ep_attributes_t *attr, size_t receives)
{
	it_ia_handle_t ia = end->adapter->ia;
	it_status_t status;

	status = it_evd_create(ia, IT_DTO_EVENT_STREAM, IT_EVD_OVERFLOW_DEFAULT,
			       attr->max_request_dtos + 1, 1, IT_NULL_HANDLE, &end->request, NULL);
	if (status == IT_SUCCESS)
		status = it_evd_create(ia, IT_DTO_EVENT_STREAM, IT_EVD_OVERFLOW_DEFAULT,
				       receives + 1, 1, IT_NULL_HANDLE, &end->recv, NULL);
	if (status == IT_SUCCESS && end->qp->datagram)
		return replay_datagram_end(end, pz, attr);
	if (status == IT_SUCCESS)
		status = it_evd_create(ia, IT_CM_MSG_EVENT_STREAM, IT_EVD_OVERFLOW_DEFAULT, 8, 1,
				       IT_NULL_HANDLE, &end->conn, NULL);
	if (status == IT_SUCCESS)
		status = it_ep_rc_create(pz, end->request, end->recv, end->conn,
					 end->qp->srq != 0 ? IT_EP_SRQ : IT_EP_NO_FLAG, attr,
					 &end->ep);
	return status;
}

static enum replay_step
qp_make(struct replay_actor *actor, GError **error)
{
	struct replay_run *run = actor->run;
	it_ep_attributes_t attr = {0};
	struct replay_end *end = NULL;
	uint32_t number, domain;
	it_status_t status;
	size_t receives;

	if (!replay_succeeded(&actor->line))
		return REPLAY_DONE;
	if (!replay_object(&actor->reader, &actor->line, 1, 'q', &number, error) ||
	    !replay_domain(actor, &domain, error) || !numbers_read(actor, &attr, error))
		return REPLAY_FAILED;
	if (g_strcmp0(replay_field(&actor->line, "type"), "rc") != 0 &&
	    g_strcmp0(replay_field(&actor->line, "type"), "ud") != 0)
		return replay_failed(
			actor, error,
			"queue pairs that are neither of type rc nor ud are not replayed");
	for (guint i = 0; i < run->set->qps->len; i++) {
		struct replay_qp *qp = &g_array_index(run->set->qps, struct replay_qp, i);

		if (qp->file != actor->file || qp->number != number)
			continue;
		end = &run->ends[i];
		end->qp = qp;
		end->partner = qp->partner >= 0 ? &run->ends[qp->partner] : NULL;
	}
	/* What was checked before has it, unless the file has changed since. */
	if (end == NULL)
		return replay_failed(actor, error, "queue pair q%u was not there before", number);
	end->actor = actor;
	end->adapter = actor->of_domain[domain];
	end->listener = &run->listeners[end->adapter - run->adapters];
	if (end->qp->datagram && (end->adapter->info->supported_service_types & IT_UD_SERVICE) == 0)
		return replay_failed(actor, error, "%s has no datagrams",
				     end->adapter->name + strlen("record:"));
	receives = end->qp->srq != 0 ? actor->shared[end->qp->srq]->most : attr.max_recv_dtos;
	status = end_make(end, actor->domains[domain], &attr, receives);
	return status == IT_SUCCESS ? REPLAY_DONE
				    : replay_failed(actor, error, "%s", it_status_name(status));
}

/* --- connections ----------------------------------------------------------------------------------------- */

static bool
event_await(struct replay_run *run, it_evd_handle_t evd, it_event_type_t number, GError **error)
{
	it_event_t event;
	it_status_t status =
		it_evd_wait(evd, (uint64_t)run->seconds * G_USEC_PER_SEC, &event, NULL);

	if (status == IT_SUCCESS && event.event_number == number)
		return true;
	tool_fail(error, TOOL_ERROR_FAILED, "a connection was not made: %s, event %#x",
		  it_status_name(status), status == IT_SUCCESS ? (unsigned)event.event_number : 0u);
	return false;
}

static bool
ends_connect(struct replay_run *run, struct replay_end *active, struct replay_end *passive,
	     GError **error)
{
	it_conn_qual_t service = tool_port(passive->listener->port);
	it_conn_request_event_t request;
	gint64 until = g_get_monotonic_time() + (gint64)run->seconds * G_USEC_PER_SEC;
	struct tool_way way;
	it_status_t status;
	bool good = tool_way_find(&way, active->adapter, NULL, passive->listener->port, error);

	if (!good) {
		tool_way_clear(&way);
		return false;
	}
	status = it_ep_connect(active->ep, &way.path, NULL, &service, IT_CONNECT_FLAG_TWO_WAY, NULL,
			       0);
	tool_way_clear(&way);
	while (status == IT_SUCCESS && !tool_listener_take(passive->listener, &request, error)) {
		if (*error != NULL)
			return false;
		if (g_get_monotonic_time() > until)
			status = IT_ERR_TIMEOUT_EXPIRED;
		g_usleep(IDLE_US);
	}
	if (status == IT_SUCCESS)
		status = it_ep_accept(passive->ep, request.cn_est_id, NULL, 0);
	if (status != IT_SUCCESS) {
		tool_fail(error, TOOL_ERROR_FAILED, "a connection was not made: %s",
			  it_status_name(status));
		return false;
	}
	if (!event_await(run, active->conn, IT_CM_MSG_CONN_ESTABLISHED_EVENT, error) ||
	    !event_await(run, passive->conn, IT_CM_MSG_CONN_ESTABLISHED_EVENT, error))
		return false;
	active->connected = passive->connected = true;
	return true;
}

/*
 * The connection is made as soon as the recordings of both ends say that it is established. If both
 * ends are in one recording, it says so of one end after the other, and requests of the first end
 * may be between these lines.
 */
static enum replay_step
link_up(struct replay_actor *actor, GError **error)
{
	struct replay_end *end, *peer;
	uint32_t number;

	if (!replay_object(&actor->reader, &actor->line, 1, 'q', &number, error))
		return REPLAY_FAILED;
	end = replay_end_of(actor, number);
	if (end == NULL)
		return replay_failed(actor, error, "q%u does not exist", number);
	end->ready = true;
	peer = end->partner;
	if (end->connected || peer == NULL || (!peer->ready && peer->actor != actor))
		return REPLAY_DONE;
	return ends_connect(actor->run, end->qp->active ? end : peer, end->qp->active ? peer : end,
			    error)
		       ? REPLAY_DONE
		       : REPLAY_FAILED;
}

static struct replay_end *
end_named(struct replay_actor *actor, GError **error)
{
	uint32_t number;

	if (actor->line.count < 2 || actor->line.words[1][0] != 'q' ||
	    !replay_object(&actor->reader, &actor->line, 1, 'q', &number, error))
		return NULL;
	return replay_end_of(actor, number);
}

static enum replay_step
link_down(struct replay_actor *actor, GError **error)
{
	struct replay_end *end = end_named(actor, error);

	if (end == NULL || !end->ready)
		return *error == NULL ? REPLAY_DONE : REPLAY_FAILED;
	if (!end->connected)
		return REPLAY_WAITS;
	if (!end->ended)
		(void)!it_ep_disconnect(end->ep, NULL, 0); /* the peer may have ended it */
	return REPLAY_DONE;
}

static enum replay_step
link_ended(struct replay_actor *actor, GError **error)
{
	struct replay_end *end = end_named(actor, error);
	it_event_t event;

	if (end == NULL || !end->connected || end->ended)
		return *error == NULL ? REPLAY_DONE : REPLAY_FAILED;
	if (it_evd_dequeue(end->conn, &event) != IT_SUCCESS)
		return REPLAY_WAITS;
	end->ended = event.event_number == IT_CM_MSG_CONN_DISCONNECT_EVENT ||
		     event.event_number == IT_CM_MSG_CONN_BROKEN_EVENT;
	return end->ended ? REPLAY_DONE : REPLAY_WAITS;
}

/* --- the end of objects ---------------------------------------------------------------------------------- */

static void
end_free(struct replay_end *end)
{
	if (end->ep != NULL)
		(void)!it_ep_free(end->ep);
	end->ep = NULL;
	g_queue_clear(&end->skipped);
	end->qp = NULL;
}

static void
object_free(struct replay_object **place)
{
	struct replay_object *object = *place;

	if (object == NULL)
		return;
	*place = NULL;
	if (object->rmr != NULL)
		(void)!it_rmr_free(object->rmr);
	if (object->lmr == NULL || it_lmr_free(object->lmr) == IT_SUCCESS)
		g_free(object->memory); /* otherwise it is in use until the adapter is closed */
	g_free(object);
}

static enum replay_step
destroy(struct replay_actor *actor, GError **error)
{
	const char *name = actor->line.count > 1 ? actor->line.words[1] : "";
	struct replay_end *end;
	uint32_t number;

	if (!replay_succeeded(&actor->line) || *name == '\0')
		return REPLAY_DONE;
	if (!replay_object(&actor->reader, &actor->line, 1, *name, &number, error))
		return REPLAY_FAILED;
	if (*name == 'm') {
		for (uint32_t i = 1; i <= REPLAY_OBJECTS; i++)
			if (actor->windows[i] != NULL &&
			    actor->windows[i]->region == actor->regions[number])
				actor->windows[i]->region = NULL;
		object_free(&actor->regions[number]);
	} else if (*name == 'w') {
		object_free(&actor->windows[number]);
	} else if (*name == 's') {
		replay_shared_free(&actor->shared[number]);
	} else if (*name == 'h' && actor->handles[number] != NULL) {
		(void)!it_address_handle_free(actor->handles[number]);
		actor->handles[number] = NULL;
	} else if (*name == 'q' && (end = replay_end_of(actor, number)) != NULL) {
		/* Both ends of a connection that the other recording has, too, must have been connected before. */
		if (end->ready && !end->connected && end->partner != NULL)
			return REPLAY_WAITS;
		end_free(end);
	}
	return REPLAY_DONE;
}

/* --- lines ----------------------------------------------------------------------------------------------- */

static enum replay_step
line_carry_out(struct replay_actor *actor, GError **error)
{
	static const struct {
		const char *verb;
		enum replay_step (*carry_out)(struct replay_actor *actor, GError **error);
	} verbs[] = {
		{"pd", domain_make},      {"mr", region_make},         {"mw", window_make},
		{"qp", qp_make},          {"link", link_up},           {"disconnect", link_down},
		{"abort", link_down},     {"end", link_ended},         {"destroy", destroy},
		{"post", replay_post},    {"done", replay_done},       {"bound", replay_bound},
		{"rereg", region_change}, {"srq", replay_shared_make}, {"modify", replay_modify},
		{"event", replay_event},  {"ah", replay_handle_make},  {"join", replay_join},
	};

	for (size_t i = 0; i < G_N_ELEMENTS(verbs); i++)
		if (strcmp(actor->line.words[0], verbs[i].verb) == 0)
			return verbs[i].carry_out(actor, error);
	return REPLAY_DONE;
}

/* Lines until one waits. *moved: something has happened. */
static bool
actor_run(struct replay_actor *actor, bool *moved, GError **error)
{
	GError *failure = NULL;

	while (!actor->finished) {
		enum replay_step step;

		if (!actor->pending && !replay_next(&actor->reader, &actor->line, &failure)) {
			actor->finished = true;
			*moved = true;
			break;
		}
		step = line_carry_out(actor, &failure);
		actor->pending = step == REPLAY_WAITS;
		if (step != REPLAY_DONE)
			break;
		*moved = true;
	}
	if (failure != NULL)
		g_propagate_error(error, failure);
	return failure == NULL;
}

/* All others wait: processes that were killed here end now, and their connections with them. */
static void
killed_end(struct replay_run *run)
{
	for (guint i = 0; i < run->set->qps->len; i++) {
		struct replay_end *end = &run->ends[i];

		if (end->qp != NULL && end->actor->finished && end->actor->reader.cut)
			end_free(end);
	}
}

static bool
actors_run(struct replay_run *run, GError **error)
{
	gint64 since = g_get_monotonic_time();
	unsigned idle = 0;

	for (;;) {
		const struct replay_actor *waiting = NULL;
		bool moved = false;

		for (unsigned i = 0; i < run->set->num_files; i++) {
			if (!actor_run(&run->actors[i], &moved, error))
				return false;
			if (!run->actors[i].finished && waiting == NULL)
				waiting = &run->actors[i];
		}
		if (waiting == NULL)
			return true;
		if (moved) {
			since = g_get_monotonic_time();
			idle = 0;
			run->insists = false;
			continue;
		}
		if (g_get_monotonic_time() - since > (gint64)run->seconds * G_USEC_PER_SEC) {
			tool_fail(error, TOOL_ERROR_FAILED,
				  "%s:%" G_GUINT64_FORMAT ": this did not happen within %u s: %s",
				  waiting->reader.path, waiting->line.number + 1, run->seconds,
				  waiting->line.whole);
			return false;
		}
		if (++idle > IDLE_ROUNDS)
			g_usleep(IDLE_US);
		run->insists = idle > IDLE_ROUNDS + KILLED_ROUNDS;
		if (idle == IDLE_ROUNDS + KILLED_ROUNDS)
			killed_end(run);
	}
}

/* --- begin and end --------------------------------------------------------------------------------------- */

static bool
run_open(struct replay_run *run, const char *adapter, GError **error)
{
	struct replay_set *set = run->set;

	for (unsigned i = 0; i < set->num_adapters; i++) {
		if (!tool_adapter_open(&run->adapters[i], adapter, error))
			return false;
		run->opened++;
		if (!tool_listener_open(&run->listeners[i], &run->adapters[i], 0, error))
			return false;
		run->listens[i] = true;
	}
	run->atomics = set->num_adapters > 0 && run->adapters[0].info->atomic_support == IT_TRUE;
	for (unsigned i = 0; i < set->num_files; i++) {
		run->actors[i].run = run;
		run->actors[i].file = i;
		if (!replay_open(&run->actors[i].reader, set->paths[i], error))
			return false;
	}
	return true;
}

static void
run_close(struct replay_run *run)
{
	for (unsigned i = 0; i < REPLAY_QPS; i++)
		end_free(&run->ends[i]);
	for (unsigned i = 0; i < run->set->num_files; i++) {
		for (uint32_t j = 0; j <= REPLAY_OBJECTS; j++) {
			replay_shared_free(&run->actors[i].shared[j]);
			object_free(&run->actors[i].windows[j]);
		}
		for (uint32_t j = 0; j <= REPLAY_OBJECTS; j++)
			object_free(&run->actors[i].regions[j]);
		replay_close(&run->actors[i].reader);
	}
	for (unsigned i = 0; i < run->opened; i++) {
		if (run->listens[i])
			tool_listener_close(&run->listeners[i]);
		tool_adapter_close(&run->adapters[i]);
	}
}

bool
replay_run(struct replay_set *set, const char *adapter, unsigned seconds, GError **error)
{
	g_autofree struct replay_run *run = g_new0(struct replay_run, 1);
	bool good;

	run->set = set;
	run->seconds = seconds;
	run->actors = g_new0(struct replay_actor, set->num_files);
	good = run_open(run, adapter, error) && actors_run(run, error);
	run_close(run);
	g_free(run->actors);
	return good;
}
