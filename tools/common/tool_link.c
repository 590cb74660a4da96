/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Connections of the tools.
 *
 * Every link has three simple EVDs: completions of requests, completions of receives, connection
 * events. Their threshold is 1, so every completion ends a wait. A connection that ends flushes
 * what is posted, and a flushed completion ends a wait too; so waiting for data is enough to notice
 * the death of the peer, and the connection EVD is only asked then, for the reason.
 */

#include <string.h>

#include "tool_error.h"
#include "tool_link.h"
#include "tool_log.h"
#include "tool_signal.h"

#define CONN_ROOM     8
#define CLOSE_WAIT_US (2 * 1000 * 1000)
#define GIVEN_UP_US   (50 * 1000)
#define REASON_WAIT_US \
	UINT64_C(60000000) /* the event of the end comes soon after the last completion */
#define ANSWER_WAIT_US (2 * 1000 * 1000)
#define POLLS_PER_LOOK 1024
#define READS_AT_ONCE  16
#define SLICE_US       UINT64_C(200000)

static bool
make_evds(struct tool_link *link, GError **error)
{
	it_ia_handle_t ia = link->adapter->ia;
	size_t requests = link->spec.requests + 1;
	size_t receives = link->spec.receives + 1;

	return tool_check(it_evd_create(ia, IT_DTO_EVENT_STREAM, 0, requests, 1, NULL,
					&link->request_evd, NULL),
			  "it_evd_create for requests", error) &&
	       tool_check(it_evd_create(ia, IT_DTO_EVENT_STREAM, 0, receives, 1, NULL,
					&link->recv_evd, NULL),
			  "it_evd_create for receives", error) &&
	       tool_check(it_evd_create(ia, IT_CM_MSG_EVENT_STREAM, 0, CONN_ROOM, 1, NULL,
					&link->conn_evd, NULL),
			  "it_evd_create for connection events", error);
}

static bool
make_ep(struct tool_link *link, GError **error)
{
	const struct tool_link_spec *spec = &link->spec;
	it_ep_attributes_t attr = {
		.max_request_dtos = spec->requests,
		.max_recv_dtos = spec->receives,
		.max_send_segments = spec->segments,
		.max_recv_segments = spec->segments,
		.srv.rc = {.rdma_read_enable = IT_TRUE,
			   .rdma_write_enable = IT_TRUE,
			   .max_rdma_read_segments = spec->reads ? spec->segments : 1,
			   .max_rdma_write_segments = spec->segments,
			   .rdma_read_ird = READS_AT_ONCE,
			   .rdma_read_ord = READS_AT_ONCE,
			   .hard_hi_watermark = IT_HARD_HI_WATERMARK_DISABLE},
	};
	it_status_t status = it_ep_rc_create(link->adapter->pz, link->request_evd, link->recv_evd,
					     link->conn_evd, IT_EP_NO_FLAG, &attr, &link->ep);

	if (status == IT_ERR_RESOURCE_RRSEG)
		return tool_fail(error, TOOL_ERROR_FAILED,
				 "this adapter cannot read into %zu segments at once",
				 spec->segments);
	return tool_check(status, "it_ep_rc_create", error);
}

bool
tool_link_make(struct tool_link *link, struct tool_adapter *adapter,
	       const struct tool_link_spec *spec, GError **error)
{
	memset(link, 0, sizeof(*link));
	link->adapter = adapter;
	link->spec = *spec;
	if (make_evds(link, error) && make_ep(link, error))
		return true;
	tool_link_close(link);
	return false;
}

static bool
given_up(const struct tool_link *link)
{
	return link->spec.watch != NULL && atomic_load(&link->spec.watch->give_up);
}

static uint64_t
link_timeout(const struct tool_link *link)
{
	return link->spec.seconds == 0 ? IT_TIMEOUT_INFINITE
				       : link->spec.seconds * UINT64_C(1000000);
}

/* How long a wait for a completion that begins now may take. */
static uint64_t
completion_timeout(const struct tool_link *link)
{
	uint64_t patience = link_timeout(link);

	if (link->until == 0)
		return patience;
	return MIN(patience, (uint64_t)MAX(link->until - g_get_monotonic_time(), 0));
}

/* The reason of a rejected request, from the server's private data. `ours` is our greeting, or NULL. */
static bool
explain_refusal(const it_connection_event_t *event, const struct tool_hello *ours, GError **error)
{
	struct tool_hello theirs;

	if (!tool_hello_read(&theirs, event->private_data, sizeof(event->private_data)))
		return tool_fail(error, TOOL_ERROR_PEER, "the peer refused");
	if (theirs.refusal == TOOL_OTHER_VERSION && ours != NULL)
		return tool_fail(error, TOOL_ERROR_PEER,
				 "the peer is version %u of this tool, this is %u", theirs.version,
				 ours->version);
	if (theirs.refusal == TOOL_BUSY)
		return tool_fail(error, TOOL_ERROR_PEER, "the server is busy with somebody else");
	return tool_fail(error, TOOL_ERROR_PEER, "another tool serves that port");
}

/* The connection ended, or was never established. */
static bool
explain_end(struct tool_link *link, it_event_type_t end, GError **error)
{
	link->connected = false;
	link->end = end;
	if (end == IT_CM_MSG_CONN_DISCONNECT_EVENT)
		return tool_fail(error, TOOL_ERROR_PEER, "the peer disconnected");
	if (end == IT_CM_MSG_CONN_BROKEN_EVENT)
		return tool_fail(error, TOOL_ERROR_PEER, "the connection broke");
	return tool_fail(error, TOOL_ERROR_PEER, "the connection ended with %s",
			 it_event_name(end));
}

/*
 * Wait for an event in slices, so that requests of other threads are noticed; patience_us may be IT_TIMEOUT_INFINITE.
 * IT_ERR_INTERRUPT: the user wants to stop. IT_ERR_ABORT: another thread has ended the waits.
 */
static it_status_t
wait_event(const struct tool_link *link, it_evd_handle_t evd, uint64_t patience_us,
	   it_event_t *event)
{
	gint64 begin = g_get_monotonic_time();

	for (;;) {
		uint64_t past = (uint64_t)(g_get_monotonic_time() - begin);
		uint64_t left = patience_us - MIN(past, patience_us);
		it_status_t status;

		if (tool_stopped())
			return IT_ERR_INTERRUPT;
		if (given_up(link))
			return IT_ERR_ABORT;
		if (patience_us == IT_TIMEOUT_INFINITE)
			left = SLICE_US;
		status = it_evd_wait(evd, MIN(left, SLICE_US), event, NULL);
		if (status == IT_ERR_TIMEOUT_EXPIRED && left > SLICE_US)
			continue;
		if (status == IT_ERR_TIMEOUT_EXPIRED && patience_us == IT_TIMEOUT_INFINITE)
			continue;
		if (status != IT_ERR_INTERRUPT)
			return status;
	}
}

/* Why there is no connection, if it was not the other program that refused it. */
static const char *
reason_of(const struct tool_link *link, it_conn_reject_code_t code)
{
	static const char *const reasons[] = {
		[IT_CN_REJ_OTHER] = "nobody listens there, or the connection was broken off",
		[IT_CN_REJ_TIMEOUT] = "no answer in time",
		[IT_CN_REJ_BAD_PATH] = "there is no way to that host",
		[IT_CN_REJ_STALE_CONN] = "an older connection is in the way",
		[IT_CN_REJ_BAD_ORD] = "the adapters do not agree on RDMA Reads",
		[IT_CN_REJ_RESOURCES] = "one side has no memory, descriptor, port or place left",
		[IT_CN_REJ_BAD_CONN_PARMS] = "what listens there speaks another protocol",
	};

	/* The name may stand behind a wrapper, as in faulty:emul:ib. */
	if (code == IT_CN_REJ_OTHER && strstr(link->adapter->name, "emul:") != NULL)
		return "nobody listens there: emul: is a network inside one process, so take "
		       "--self, or shm: between processes";
	return (size_t)code < G_N_ELEMENTS(reasons) && reasons[code] != NULL ? reasons[code]
									     : "refused";
}

/*
 * Wait until the connection is established; *event is the event that says so. The attempt itself ends after the same
 * time and gives the reason, so its event is awaited a little longer.
 */
static bool
wait_established(struct tool_link *link, const struct tool_hello *hello,
		 it_connection_event_t *event, GError **error)
{
	uint64_t wait = link_timeout(link);
	it_event_t any;
	it_status_t status;

	if (wait != IT_TIMEOUT_INFINITE)
		wait += ANSWER_WAIT_US;
	status = wait_event(link, link->conn_evd, wait, &any);
	if (status == IT_ERR_TIMEOUT_EXPIRED)
		return tool_fail(error, TOOL_ERROR_TIMEOUT, "no connection within %u seconds",
				 link->spec.seconds);
	if (status == IT_ERR_INTERRUPT)
		return tool_fail(error, TOOL_ERROR_INTERRUPTED, "interrupted");
	if (!tool_check(status, "waiting for the connection", error))
		return false;
	*event = any.conn;
	if (event->event_number == IT_CM_MSG_CONN_PEER_REJECT_EVENT)
		return explain_refusal(event, hello, error);
	if (event->event_number == IT_CM_MSG_CONN_NONPEER_REJECT_EVENT)
		return tool_fail(error, TOOL_ERROR_PEER, "%s (%s)",
				 reason_of(link, event->reject_reason_code),
				 it_reject_name(event->reject_reason_code));
	if (event->event_number != IT_CM_MSG_CONN_ESTABLISHED_EVENT)
		return explain_end(link, event->event_number, error);
	link->connected = true;
	return true;
}

static bool
same_language(struct tool_link *link, const it_connection_event_t *event,
	      const struct tool_hello *ours, GError **error)
{
	struct tool_hello theirs;

	if (!tool_hello_read(&theirs, event->private_data, sizeof(event->private_data)) ||
	    theirs.tool != ours->tool)
		return tool_fail(error, TOOL_ERROR_PEER, "another program serves that port");
	if (theirs.version != ours->version)
		return tool_fail(error, TOOL_ERROR_PEER,
				 "the peer is version %u of this tool, this is %u", theirs.version,
				 ours->version);
	link->abilities = theirs.abilities;
	return true;
}

/* Prefix an error with the address of the attempt. */
static void
say_where(const struct tool_link *link, const struct tool_way *way, GError **error)
{
	bool v6 = way->host != NULL && strchr(way->host, ':') != NULL;
	bool several = way->address != NULL;

	if (error == NULL || g_error_matches(*error, TOOL_ERROR, TOOL_ERROR_INTERRUPTED))
		return;
	if (way->host == NULL)
		g_prefix_error(error, "cannot connect %s with itself: ", link->adapter->name);
	else
		g_prefix_error(error, "cannot connect to %s%s%s:%u%s%s%s over %s: ", v6 ? "[" : "",
			       way->host, v6 ? "]" : "", way->port, several ? " at " : "",
			       several ? way->address : "", several ? "," : "",
			       link->adapter->name);
}

/* If this side lacked something, the library has logged what. */
static void
explain_shortage(unsigned first, GError **error)
{
	g_autofree char *reasons = tool_log_reasons(first);

	if (reasons == NULL || error == NULL)
		return;
	g_clear_error(error);
	tool_fail(error, TOOL_ERROR_FAILED, "%s", reasons);
}

/* Connects with that private data; hello is the greeting in it, or NULL. */
static bool
connect_with(struct tool_link *link, struct tool_way *way, const struct tool_words *words,
	     const struct tool_hello *hello, it_connection_event_t *event, GError **error)
{
	it_conn_qual_t qual = tool_port(way->port);
	it_path_t path = way->path;
	unsigned lines = tool_log_count();

	path.timeout = link->spec.seconds * UINT64_C(1000000);
	*event = (it_connection_event_t){.event_number = IT_CM_MSG_CONN_NONPEER_REJECT_EVENT};
	way->unreached = true;
	if (!tool_check(it_ep_connect(link->ep, &path, NULL, &qual, IT_CONNECT_FLAG_TWO_WAY,
				      words->octets, words->len),
			"it_ep_connect", error))
		return false;
	if (wait_established(link, hello, event, error))
		return true;
	way->unreached = event->event_number == IT_CM_MSG_CONN_NONPEER_REJECT_EVENT;
	if (way->unreached && event->reject_reason_code == IT_CN_REJ_RESOURCES)
		explain_shortage(lines, error);
	return false;
}

bool
tool_link_connect(struct tool_link *link, struct tool_way *way, const struct tool_hello *hello,
		  GError **error)
{
	uint8_t octets[TOOL_HELLO_SIZE];
	struct tool_words words = {.octets = octets, .len = sizeof(octets)};
	it_connection_event_t event;

	tool_hello_write(hello, octets);
	if (connect_with(link, way, &words, hello, &event, error) &&
	    same_language(link, &event, hello, error))
		return true;
	say_where(link, way, error);
	return false;
}

bool
tool_link_join(struct tool_link *link, struct tool_way *way, const struct tool_words *words,
	       it_connection_event_t *event, GError **error)
{
	if (connect_with(link, way, words, NULL, event, error))
		return true;
	say_where(link, way, error);
	return false;
}

bool
tool_link_accept(struct tool_link *link, const it_conn_request_event_t *request,
		 const struct tool_hello *hello, GError **error)
{
	uint8_t octets[TOOL_HELLO_SIZE];
	struct tool_words words = {.octets = octets, .len = sizeof(octets)};

	tool_hello_write(hello, octets);
	return tool_link_admit(link, request, &words, error);
}

bool
tool_link_admit(struct tool_link *link, const it_conn_request_event_t *request,
		const struct tool_words *words, GError **error)
{
	it_connection_event_t event;

	return tool_check(it_ep_accept(link->ep, request->cn_est_id, words->octets, words->len),
			  "it_ep_accept", error) &&
	       wait_established(link, NULL, &event, error);
}

void
tool_link_refuse(const it_conn_request_event_t *request, enum tool_id tool,
		 enum tool_refusal refusal)
{
	struct tool_hello hello = {.version = TOOL_VERSION, .tool = (uint8_t)tool};
	uint8_t octets[TOOL_HELLO_SIZE];

	hello.refusal = (uint8_t)refusal;
	tool_hello_write(&hello, octets);
	if (it_reject(request->cn_est_id, octets, sizeof(octets)) != IT_SUCCESS)
		g_debug("a request died before it could be refused");
}

bool
tool_link_greeting(const it_conn_request_event_t *request, enum tool_id tool,
		   struct tool_hello *hello, GError **error)
{
	if (!tool_hello_read(hello, request->private_data, sizeof(request->private_data)) ||
	    hello->tool != tool) {
		tool_link_refuse(request, tool, TOOL_OTHER_TOOL);
		return tool_fail(error, TOOL_ERROR_PEER,
				 "a program other than this tool connected");
	}
	if (hello->version != TOOL_VERSION) {
		tool_link_refuse(request, tool, TOOL_OTHER_VERSION);
		return tool_fail(error, TOOL_ERROR_PEER,
				 "version %u of this tool connected, this is %u", hello->version,
				 TOOL_VERSION);
	}
	return true;
}

/* Why a completion was flushed: the event of the connection's end says it. */
static bool
explain_flush(struct tool_link *link, GError **error)
{
	it_event_t event;

	if (link->end != 0)
		return explain_end(link, link->end, error);
	if (wait_event(link, link->conn_evd, REASON_WAIT_US, &event) != IT_SUCCESS)
		return tool_fail(error, TOOL_ERROR_PEER, "the connection ended");
	return explain_end(link, event.event_number, error);
}

bool
tool_link_stands(struct tool_link *link, GError **error)
{
	it_event_t event;

	if (link->end != 0)
		return explain_end(link, link->end, error);
	if (it_evd_dequeue(link->conn_evd, &event) != IT_SUCCESS)
		return true;
	return explain_end(link, event.event_number, error);
}

static bool
judge_event(struct tool_link *link, it_evd_handle_t evd, const it_event_t *any,
	    it_dto_cmpl_event_t *event, GError **error)
{
	*event = any->dto_cmpl;
	if (event->dto_status == IT_DTO_SUCCESS) {
		if (evd == link->recv_evd && link->spec.watch != NULL)
			atomic_fetch_add(&link->spec.watch->heard, 1);
		return true;
	}
	if (event->dto_status == IT_DTO_ERR_FLUSHED)
		return explain_flush(link, error);
	return tool_fail(error, TOOL_ERROR_FAILED, "a transfer failed: %s",
			 it_dto_status_name(event->dto_status));
}

static bool
try_take(struct tool_link *link, it_evd_handle_t evd, it_dto_cmpl_event_t *event, GError **error)
{
	it_event_t any;
	it_status_t status = it_evd_dequeue(evd, &any);

	if (status == IT_ERR_QUEUE_EMPTY)
		return false;
	return tool_check(status, "it_evd_dequeue", error) &&
	       judge_event(link, evd, &any, event, error);
}

static bool
too_late(const struct tool_link *link, GError **error)
{
	return tool_fail(error, TOOL_ERROR_TIMEOUT, "the peer said nothing for %u seconds",
			 link->spec.seconds);
}

static bool
gave_up(GError **error)
{
	return tool_fail(error, TOOL_ERROR_PEER, TOOL_GIVEN_UP);
}

/* Must a thread that has polled since then continue? */
static bool
may_go_on(const struct tool_link *link, gint64 begin, GError **error)
{
	gint64 limit = (gint64)link->spec.seconds * G_USEC_PER_SEC;
	gint64 now = g_get_monotonic_time();

	if (tool_stopped())
		return tool_fail(error, TOOL_ERROR_INTERRUPTED, "interrupted");
	if (given_up(link))
		return gave_up(error);
	return ((limit == 0 || now - begin <= limit) && (link->until == 0 || now <= link->until)) ||
	       too_late(link, error);
}

static bool
poll_for(struct tool_link *link, it_evd_handle_t evd, it_dto_cmpl_event_t *event, GError **error)
{
	gint64 begin = g_get_monotonic_time();

	for (unsigned looks = 1;; looks++) {
		GError *trouble = NULL;

		if (try_take(link, evd, event, &trouble))
			return true;
		if (trouble != NULL) {
			g_propagate_error(error, trouble);
			return false;
		}
		if (looks % POLLS_PER_LOOK == 0 && !may_go_on(link, begin, error))
			return false;
	}
}

static bool
wait_for(struct tool_link *link, it_evd_handle_t evd, it_dto_cmpl_event_t *event, GError **error)
{
	it_event_t any;
	it_status_t status = wait_event(link, evd, completion_timeout(link), &any);

	if (status == IT_ERR_TIMEOUT_EXPIRED)
		return too_late(link, error);
	if (status == IT_ERR_INTERRUPT)
		return tool_fail(error, TOOL_ERROR_INTERRUPTED, "interrupted");
	if (status == IT_ERR_ABORT && given_up(link))
		return gave_up(error);
	return tool_check(status, "it_evd_wait", error) &&
	       judge_event(link, evd, &any, event, error);
}

bool
tool_link_done(struct tool_link *link, it_dto_cmpl_event_t *event, GError **error)
{
	return link->spec.poll ? poll_for(link, link->request_evd, event, error)
			       : wait_for(link, link->request_evd, event, error);
}

bool
tool_link_received(struct tool_link *link, it_dto_cmpl_event_t *event, GError **error)
{
	return link->spec.poll ? poll_for(link, link->recv_evd, event, error)
			       : wait_for(link, link->recv_evd, event, error);
}

/* Look at both dispatchers without waiting: false without an error means that there is no event. */
static bool
try_either(struct tool_link *link, it_dto_cmpl_event_t *event, bool *is_receive, GError **error)
{
	GError *trouble = NULL;

	*is_receive = true;
	if (try_take(link, link->recv_evd, event, &trouble))
		return true;
	*is_receive = false;
	if (trouble == NULL && try_take(link, link->request_evd, event, &trouble))
		return true;
	if (trouble != NULL)
		g_propagate_error(error, trouble);
	return false;
}

bool
tool_link_either(struct tool_link *link, bool request, it_dto_cmpl_event_t *event, bool *is_receive,
		 GError **error)
{
	gint64 begin = link->spec.poll ? g_get_monotonic_time() : 0;
	GError *trouble = NULL;

	for (unsigned looks = 1;; looks++) {
		if (try_either(link, event, is_receive, &trouble))
			return true;
		if (trouble != NULL) {
			g_propagate_error(error, trouble);
			return false;
		}
		if (!link->spec.poll)
			break;
		if (looks % POLLS_PER_LOOK == 0 && !may_go_on(link, begin, error))
			return false;
	}
	*is_receive = !request;
	return wait_for(link, request ? link->request_evd : link->recv_evd, event, error);
}

static void
free_evd(it_evd_handle_t evd)
{
	if (evd != NULL)
		it_evd_free(evd);
}

/* How long the peer may take to end the connection, too. One that was given up keeps nobody waiting. */
static uint64_t
farewell_us(const struct tool_link *link)
{
	return given_up(link) ? GIVEN_UP_US : CLOSE_WAIT_US;
}

void
tool_link_linger(struct tool_link *link)
{
	it_event_t event;

	if (link->connected &&
	    it_evd_wait(link->conn_evd, farewell_us(link), &event, NULL) == IT_SUCCESS)
		link->connected = false;
}

void
tool_link_close(struct tool_link *link)
{
	it_event_t event;

	if (link->ep != NULL) {
		if (link->connected && it_ep_disconnect(link->ep, NULL, 0) == IT_SUCCESS)
			it_evd_wait(link->conn_evd, farewell_us(link), &event, NULL);
		it_ep_free(link->ep);
	}
	free_evd(link->request_evd);
	free_evd(link->recv_evd);
	free_evd(link->conn_evd);
	memset(link, 0, sizeof(*link));
}
