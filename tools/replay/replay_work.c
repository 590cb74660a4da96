/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Requests, receives and completions. The octets that are sent follow from the recorded CRC. */
#include <string.h>

#include "replay_run.h"

/* Flags have the values of it_dto_flags_t, but for those of the last bits. */
#define FLAGS_REQUEST 0x5fu
#define FLAGS_RECEIVE 0x02u
#define RELATIVE      0x80u
#define INVALIDATE    0x20u
#define UNSUPPORTED   0x300u /* inline, immediate */
#define PRIVS         0x1fu
#define NO_CONTEXT    0xffffff00u

/* --- memory ---------------------------------------------------------------------------------------------- */

static enum replay_step
segments_read(struct replay_actor *actor, struct replay_request *request, GError **error)
{
	const char *text = replay_field(&actor->line, "local");

	request->count = 0;
	while (text != NULL && (*text == 'm' || *text == 'x')) {
		char *end;
		uint64_t number = g_ascii_strtoull(text + 1, &end, 10);
		uint64_t offset = g_ascii_strtoull(end + 1, &end, 10);
		uint64_t length = g_ascii_strtoull(end + 1, &end, 10);
		/* A segment without octets names no memory. */
		bool nothing = *text == 'x' && length == 0;
		const struct replay_object *region = *text == 'm' ? actor->regions[number] : NULL;

		text = *end == ',' ? end + 1 : end;
		if (nothing)
			continue;
		if (region == NULL || request->count == REPLAY_SEGMENTS)
			return replay_failed(
				actor, error,
				"memory that the recording does not know, and more than %d "
				"segments, are not replayed",
				REPLAY_SEGMENTS);
		request->segments[request->count].lmr = region->lmr;
		request->segments[request->count].addr.abs = region->memory + offset;
		request->segments[request->count++].length = length;
	}
	return REPLAY_DONE;
}

/* Content that depends on the recorded payload, so different payloads stay different. */
static void
payload_fill(const struct replay_actor *actor, const struct replay_request *request)
{
	const char *crc = replay_field(&actor->line, "crc");
	uint32_t word = crc != NULL ? (uint32_t)g_ascii_strtoull(crc, NULL, 16) | 1u : 1u;

	for (size_t i = 0; i < request->count; i++) {
		uint8_t *octets = request->segments[i].addr.abs;

		for (size_t j = 0; j < request->segments[i].length; j++) {
			word ^= word << 13;
			word ^= word >> 17;
			word ^= word << 5;
			octets[j] = (uint8_t)word;
		}
	}
}

/* An address of the recording, in a window of the replay. */
static it_rdma_addr_t
window_address(const struct replay_object *window, uint64_t at)
{
	uint64_t offset = window->relative ? at : at - window->region->at - window->offset;

	if (window->from_zero)
		return it_make_rdma_addr_relative(offset);
	return it_make_rdma_addr_absolute(window->region->memory + window->offset + offset);
}

/* What a key of the peer's recording names: "0xKEY+0xADDRESS". A key that nobody has is one here, too. */
static void
remote_find(const struct replay_end *end, const char *text, it_rdma_addr_t *addr,
	    it_rmr_context_t *context)
{
	const struct replay_actor *peer = end->partner != NULL ? end->partner->actor : NULL;
	char *rest = NULL;
	uint32_t key = (uint32_t)g_ascii_strtoull(text, &rest, 16);
	uint64_t at = *rest == '+' ? g_ascii_strtoull(rest + 1, NULL, 16) : 0;

	*addr = at;
	*context = NO_CONTEXT;
	for (uint32_t i = 1; peer != NULL && i <= REPLAY_OBJECTS; i++) {
		const struct replay_object *o = peer->regions[i];
		const struct replay_object *w = peer->windows[i];

		if (o != NULL && o->key == key) {
			*addr = it_make_rdma_addr_absolute(o->memory + (at - o->at));
			*context = o->context;
			return;
		}
		if (w != NULL && w->key == key && w->region != NULL) {
			*addr = window_address(w, at);
			*context = w->context;
			return;
		}
	}
}

/* --- requests -------------------------------------------------------------------------------------------- */

/* "window=w1 region=m1+0:64 access=0x8" */
static it_status_t
window_bind(struct replay_actor *actor, const struct replay_end *end,
	    const struct replay_request *request)
{
	const char *window = replay_field(&actor->line, "window");
	const char *region = replay_field(&actor->line, "region");
	const char *access = replay_field(&actor->line, "access");
	uint64_t number, offset, length;
	it_addr_mode_t mode = IT_ADDR_MODE_ABSOLUTE;
	struct replay_object *w, *o;
	void *first;
	char *rest;

	if (window == NULL || region == NULL || access == NULL || *window != 'w' || *region != 'm')
		return IT_ERR_INVALID_RMR;
	number = g_ascii_strtoull(window + 1, NULL, 10);
	w = number <= REPLAY_OBJECTS ? actor->windows[number] : NULL;
	number = g_ascii_strtoull(region + 1, &rest, 10);
	offset = *rest == '+' ? g_ascii_strtoull(rest + 1, &rest, 10) : 0;
	length = *rest == ':' ? g_ascii_strtoull(rest + 1, NULL, 10) : 0;
	if (w == NULL)
		return IT_ERR_INVALID_RMR;
	if (length == 0)
		return it_rmr_unlink(w->rmr, end->ep, request->cookie, request->flags);
	o = number <= REPLAY_OBJECTS ? actor->regions[number] : NULL;
	if (o == NULL || offset > o->length || length > o->length - offset)
		return IT_ERR_INVALID_LMR;
	w->region = o;
	w->offset = offset;
	w->relative = request->relative;
	w->from_zero = w->relative && end->adapter->info->addr_mode_relative_support == IT_TRUE;
	if (w->from_zero)
		mode = IT_ADDR_MODE_RELATIVE;
	first = o->memory + offset;
	return it_rmr_link(w->rmr, o->lmr, first, length, mode,
			   (it_mem_priv_t)(g_ascii_strtoull(access, NULL, 16) & PRIVS), end->ep,
			   request->cookie, request->flags, &w->context);
}

static it_status_t
window_unlink(struct replay_actor *actor, const struct replay_end *end,
	      const struct replay_request *request)
{
	const char *object = replay_field(&actor->line, "object");
	uint64_t number =
		object != NULL && *object == 'w' ? g_ascii_strtoull(object + 1, NULL, 10) : 0;

	if (number == 0 || number > REPLAY_OBJECTS || actor->windows[number] == NULL)
		return IT_ERR_INVALID_RMR;
	return it_rmr_unlink(actor->windows[number]->rmr, end->ep, request->cookie, request->flags);
}

static it_status_t
send_post(const struct replay_actor *actor, const struct replay_end *end,
	  const struct replay_request *request)
{
	const char *invalidate = replay_field(&actor->line, "invalidate");
	it_rmr_context_t context;
	it_rdma_addr_t addr;

	payload_fill(actor, request);
	if (invalidate == NULL)
		return it_post_send(end->ep, request->segments, request->count, request->cookie,
				    request->flags);
	remote_find(end, invalidate, &addr, &context);
	return it_post_send_and_unlink(end->ep, request->segments, request->count, request->cookie,
				       request->flags, context);
}

static it_status_t
remote_post(const struct replay_actor *actor, const struct replay_end *end,
	    const struct replay_request *request)
{
	const char *operand = replay_field(&actor->line, "operand");
	const char *swap = replay_field(&actor->line, "swap");
	it_rmr_context_t context;
	it_rdma_addr_t addr;

	remote_find(end, replay_field(&actor->line, "remote"), &addr, &context);
	if (strcmp(request->name, "rdma_write") == 0) {
		payload_fill(actor, request);
		return it_post_rdma_write(end->ep, request->segments, request->count,
					  request->cookie, request->flags, addr, context);
	}
	if (strcmp(request->name, "rdma_read") == 0)
		return it_post_rdma_read(end->ep, request->segments, request->count,
					 request->cookie, request->flags, addr, context);
	if (strcmp(request->name, "fetch_add") == 0)
		return it_post_atomic(end->ep, IT_FETCH_AND_ADD,
				      g_ascii_strtoull(operand, NULL, 16), 0, request->segments,
				      request->cookie, request->flags, addr, context);
	return it_post_atomic(end->ep, IT_COMPARE_AND_SWAP, g_ascii_strtoull(swap, NULL, 16),
			      g_ascii_strtoull(operand, NULL, 16), request->segments,
			      request->cookie, request->flags, addr, context);
}

static bool
is_remote(const char *name)
{
	return strcmp(name, "rdma_write") == 0 || strcmp(name, "rdma_read") == 0;
}

static bool
is_atomic(const char *name)
{
	return strcmp(name, "fetch_add") == 0 || strcmp(name, "cmp_swap") == 0;
}

static enum replay_step
request_post(struct replay_actor *actor, struct replay_end *end,
	     const struct replay_request *request, GError **error)
{
	it_status_t status;

	if (is_atomic(request->name) && !actor->run->atomics) {
		g_queue_push_tail(&end->skipped, GSIZE_TO_POINTER(request->number));
		return REPLAY_DONE;
	}
	if (strcmp(request->name, "send_ud") == 0) {
		payload_fill(actor, request);
		return replay_datagram_post(actor, end, request, error);
	}
	if (strcmp(request->name, "send") == 0)
		status = send_post(actor, end, request);
	else if (strcmp(request->name, "bind_mw") == 0)
		status = window_bind(actor, end, request);
	else if (strcmp(request->name, "local_inv") == 0)
		status = window_unlink(actor, end, request);
	else if (replay_field(&actor->line, "remote") != NULL &&
		 (is_remote(request->name) ||
		  (is_atomic(request->name) && replay_field(&actor->line, "operand") != NULL &&
		   replay_field(&actor->line, "swap") != NULL)))
		status = remote_post(actor, end, request);
	else
		return replay_failed(actor, error, "'%s' is not replayed", request->name);
	if (status != IT_SUCCESS)
		end->refused = request->number;
	return REPLAY_DONE;
}

static enum replay_step
receive_post(struct replay_end *end, const struct replay_request *request)
{
	it_status_t status;

	if (end->qp->datagram)
		status = it_post_recvfrom(end->ep, request->segments, request->count,
					  request->cookie, request->flags);
	else
		status = it_post_recv((it_handle_t)end->ep, request->segments, request->count,
				      request->cookie, request->flags);
	if (status != IT_SUCCESS)
		end->refused = request->number;
	else
		end->receives++;
	return REPLAY_DONE;
}

/* A request waits until its connection is established here, too; a receive does not. */
enum replay_step
replay_post(struct replay_actor *actor, GError **error)
{
	struct replay_request request = {.name = actor->line.words[2]};
	struct replay_operation operation;
	enum replay_step step;
	struct replay_end *end;
	uint64_t flags;

	if (!replay_operation(&actor->reader, &actor->line, &operation, error) ||
	    !replay_number(&actor->reader, &actor->line, "flags", UINT32_MAX, &flags, error) ||
	    !replay_number(&actor->reader, &actor->line, "len", UINT32_MAX, &request.length, error))
		return REPLAY_FAILED;
	end = operation.letter == 'q' ? replay_end_of(actor, operation.object) : NULL;
	if (end == NULL && (operation.letter == 'q' || operation.queue == 's'))
		return replay_failed(actor, error, "there is no such queue pair");
	if (end != NULL && operation.queue == 's' && end->ready && !end->connected)
		return REPLAY_WAITS;
	if ((flags & UNSUPPORTED) != 0)
		return replay_failed(actor, error, "inline and immediate data are not replayed");
	step = segments_read(actor, &request, error);
	if (step != REPLAY_DONE)
		return step;
	request.cookie = request.number = operation.number;
	if (operation.queue == 's') {
		request.flags = (it_dto_flags_t)(flags & FLAGS_REQUEST & ~INVALIDATE);
		request.relative = (flags & RELATIVE) != 0;
		return request_post(actor, end, &request, error);
	}
	request.flags = (it_dto_flags_t)(flags & FLAGS_RECEIVE);
	return end != NULL ? receive_post(end, &request)
			   : replay_shared_post(actor, operation.object, &request, error);
}

enum replay_step
replay_done(struct replay_actor *actor, GError **error)
{
	struct replay_operation operation;
	struct replay_end *end;
	it_status_t status;
	it_event_t event;
	uint64_t number;
	bool request;

	if (!replay_operation(&actor->reader, &actor->line, &operation, error))
		return REPLAY_FAILED;
	end = operation.letter == 'q' ? replay_end_of(actor, operation.object) : NULL;
	number = operation.number;
	request = operation.queue == 's';
	if (end == NULL || number == 0)
		return REPLAY_DONE; /* of a queue pair that is gone */
	if (request && g_queue_peek_head(&end->skipped) == GSIZE_TO_POINTER(number)) {
		(void)g_queue_pop_head(&end->skipped);
		return REPLAY_DONE;
	}
	if ((end->refused == number && (request || end->qp->srq == 0)) ||
	    replay_shared_refused(actor))
		return replay_failed(actor, error, "the adapter refused to post %s",
				     actor->line.words[1]);
	status = it_evd_dequeue(request ? end->request : end->recv, &event);
	if (status == IT_ERR_QUEUE_EMPTY)
		return REPLAY_WAITS;
	if (status != IT_SUCCESS)
		return replay_failed(actor, error, "%s", it_status_name(status));
	if (!request) {
		end->receives -= end->receives > 0;
		end->under_way -= end->under_way > 0;
	}
	return REPLAY_DONE;
}

/* The window has this key in the recording from now on. */
enum replay_step
replay_bound(struct replay_actor *actor, GError **error)
{
	uint32_t number;
	uint64_t key;

	if (!replay_object(&actor->reader, &actor->line, 2, 'w', &number, error) ||
	    !replay_number(&actor->reader, &actor->line, "key", UINT32_MAX, &key, error))
		return REPLAY_FAILED;
	if (actor->windows[number] != NULL)
		actor->windows[number]->key = (uint32_t)key;
	return REPLAY_DONE;
}
