/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * A connection: an endpoint with event dispatchers of its own, the greeting that both sides exchange when they
 * connect, and the waits on it. One thread uses a link at a time. Every wait also ends, within a moment, when the
 * user stops the program.
 */
#ifndef TOOL_LINK_H
#define TOOL_LINK_H

#include <stdatomic.h>

#include "tool_adapter.h"
#include "tool_way.h"
#include "tool_wire.h"

/* Signals between a link and another thread. The thread that uses the link has its own waits. */
#define TOOL_GIVEN_UP "nothing came for too long, and others wait for the place"
struct tool_watch {
	atomic_bool
		give_up; /* set by the other thread, to end the waits and to close without patience */
	atomic_ullong
		heard; /* messages that came from the peer, and what else shows that it goes on */
};

struct tool_link_spec {
	size_t requests;          /* most requests outstanding */
	size_t receives;          /* most receives outstanding */
	size_t segments;          /* most segments of a request or receive */
	bool reads;               /* RDMA Reads may have as many segments; else one */
	bool poll;                /* poll for completions instead of waiting for them */
	unsigned seconds;         /* s, of each wait; 0: infinite */
	struct tool_watch *watch; /* may be NULL */
};

struct tool_link {
	struct tool_adapter *adapter;
	it_evd_handle_t request_evd;
	it_evd_handle_t recv_evd;
	it_evd_handle_t conn_evd;
	it_ep_handle_t ep;
	struct tool_link_spec spec;
	bool connected;
	uint32_t abilities;  /* client: tool_hello::abilities of the server's answer */
	it_event_type_t end; /* the event that ended it; 0 before */
	gint64 until; /* when waits for completions end at the latest, by the monotonic clock; 0: no such time */
};

bool tool_link_make(struct tool_link *link, struct tool_adapter *adapter,
		    const struct tool_link_spec *spec, GError **error);

/*
 * Both return when the connection is established. Receives may be posted before.
 * tool_link_connect() tries the current path of `way`, and notes there if it reached no program;
 * see tool_way_next().
 */
bool tool_link_connect(struct tool_link *link, struct tool_way *way, const struct tool_hello *hello,
		       GError **error);
bool tool_link_accept(struct tool_link *link, const it_conn_request_event_t *request,
		      const struct tool_hello *hello, GError **error);

/* Private data for foreign programs, which know no greeting; all zero means none. */
struct tool_words {
	const void *octets;
	size_t len;
};

/* As the two above, but with other private data than a greeting; *event is the peer's answer. */
bool tool_link_join(struct tool_link *link, struct tool_way *way, const struct tool_words *words,
		    it_connection_event_t *event, GError **error);
bool tool_link_admit(struct tool_link *link, const it_conn_request_event_t *request,
		     const struct tool_words *words, GError **error);

/* The greeting of a request, if it is one for this tool; otherwise the request is rejected with the reason. */
bool tool_link_greeting(const it_conn_request_event_t *request, enum tool_id tool,
			struct tool_hello *hello, GError **error);
void tool_link_refuse(const it_conn_request_event_t *request, enum tool_id tool,
		      enum tool_refusal refusal);

/* The next completion of a request or receive; an error if it failed, or if none came in time. */
bool tool_link_done(struct tool_link *link, it_dto_cmpl_event_t *event, GError **error);
bool tool_link_received(struct tool_link *link, it_dto_cmpl_event_t *event, GError **error);

/*
 * The next completion of either kind. If none is queued, a link that does not poll sleeps for one kind only: for that
 * of a request if `request` is set, which must be outstanding then.
 */
bool tool_link_either(struct tool_link *link, bool request, it_dto_cmpl_event_t *event,
		      bool *is_receive, GError **error);

/* Is the connection still established? Does not wait; if not, the error says how it ended. */
bool tool_link_stands(struct tool_link *link, GError **error);

/* Let the peer, which sends last, end the connection; waits a bounded time. */
void tool_link_linger(struct tool_link *link);

/* Disconnect, wait a moment for the end, free. Memory of the link may be freed afterwards. */
void tool_link_close(struct tool_link *link);

#endif /* TOOL_LINK_H */
