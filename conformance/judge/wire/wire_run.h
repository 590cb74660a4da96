/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */
#ifndef WIRE_RUN_H
#define WIRE_RUN_H

/**
 * @file wire_run.h
 * @brief One case while it runs.
 */

#include <glib.h>

#include "wire_conn.h"
#include "wire_peer.h"
#include "wire_script.h"

/** @brief What all cases of a session share. */
struct wire_session {
	struct wire_peer *peer;   /**< the helper */
	struct wire_peer *parent; /**< the helper that started it for one case, or NULL */
	int listener;             /**< where the judge takes connections of the peer */
	guint16 port;             /**< of the listener */
	gint64 patience_us;       /**< for everything that must come */
	gint64 settle_us;         /**< between the start-up and the first FPDU of the judge */
	const char *vectors;      /**< the folder with negative.json */
	guint longer;             /**< how many times longer loops are that are `long` */
	gboolean markers;         /**< the judge wants markers, unless a case says otherwise */
	gboolean siw_terminate;   /**< a Terminate may have its control field in siw's bit order */
	struct wire_conn *neighbour; /**< a good connection that no case may disturb */
	GHashTable *names;           /**< of its region */
	GHashTable *able;            /**< words of wire_session_probe() */
};

/** @brief One case. */
struct wire_run {
	struct wire_session *session;
	const struct wire_case *one;
	struct wire_conn *conn; /**< the connection that steps mean; owned by `conns` */
	GPtrArray *conns;       /**< struct wire_conn, all of the case */
	GHashTable *names;      /**< numbers of regions and of what was received */
	guint read_tag;         /**< counts the reads of `alive` */
	gint64 within_us;       /**< patience of this step; 0: that of the session */
	GPtrArray *crowd; /**< connections of `crowd` that have stayed, without a Reply, or NULL */
	guint left;       /**< those that have left, and whose Request has no answer */
	GQueue early;     /**< char **: completions that came before those that a step waited for */
};

/** @brief Begin a session: the listener and the neighbour. */
gboolean wire_session_open(struct wire_session *session, GError **error);

/** @brief Find out what the stack is able to; @p one is an empty case. */
gboolean wire_session_probe(struct wire_session *session, const struct wire_case *one,
			    GError **error);

/** @brief End it. The helper stays with the caller. */
void wire_session_close(struct wire_session *session);

/** @brief Let the peer expose the region that `alive` reads, and remember where it is. */
gboolean wire_session_region(struct wire_session *session, GError **error);

/**
 * @brief Begin a session for one case whose helper is a process of its own, started by that of @p session.
 *
 * It borrows everything else of @p session.
 */
gboolean wire_own_open(const struct wire_session *session, struct wire_session *own,
		       GError **error);

/** @brief Kill the helper of wire_own_open(), as the death of its process. */
gboolean wire_own_kill(const struct wire_session *own, GError **error);

/** @brief End the session of wire_own_open(), also if that failed. */
void wire_own_close(struct wire_session *own);

/** @brief Show that the neighbour is undisturbed. */
gboolean wire_session_check(struct wire_session *session, GError **error);

/**
 * @brief Run a case.
 * @param[out] conns  its connections, for a capture
 * @return FALSE: the peer failed it, or it could not be run (the code of @p error says which)
 */
gboolean wire_case_run(struct wire_session *session, const struct wire_case *one, GPtrArray *conns,
		       GError **error);

/** @brief Remember a number under `PREFIX.FIELD`. */
void wire_run_name(struct wire_run *run, const char *prefix, const char *field, guint64 value);

/** @brief The number of word KEY=NUMBER, or @p otherwise. */
gboolean wire_run_number(struct wire_run *run, char *const *words, const char *key,
			 guint64 otherwise, guint64 *value, GError **error);

/** @brief Until when something must have come. */
gint64 wire_run_deadline(const struct wire_run *run);

/** @brief Make the step's connection one that the judge makes. */
gboolean wire_run_connect(struct wire_run *run, GError **error);

/** @brief Make the step's connection one that the peer makes. */
gboolean wire_run_listen(struct wire_run *run, GError **error);

/** @brief The start-up as a case sets it, with everything the peer needs for it. */
gboolean wire_start_run(struct wire_run *run, GError **error);

/** @brief Create the endpoint and the regions of the case at the peer. */
gboolean wire_start_prepare(struct wire_run *run, GError **error);

/** @brief Create the endpoint of the case; it takes the place of an earlier one. */
gboolean wire_start_endpoint(struct wire_run *run, GError **error);

/** @brief Send a start-up frame: `> mpa-request` or `> mpa-reply` and its fields. */
gboolean wire_start_send(struct wire_run *run, char *const *words, GError **error);

/** @brief So many octets of private data as start-up frames have them, in hexadecimal; free with g_free(). */
char *wire_private_hex(guint64 len);

/** @brief Expect one: `< mpa-request` or `< mpa-reply` and its fields. */
gboolean wire_start_expect(struct wire_run *run, char *const *words, GError **error);

/** @brief Send an FPDU: `> OPCODE` and its fields, or raw octets. */
gboolean wire_send_step(struct wire_run *run, char *const *words, GError **error);

/** @brief Expect a message, a Terminate or an end: `< WHAT` and its fields. */
gboolean wire_expect_step(struct wire_run *run, char *const *words, GError **error);

/** @brief Read by RDMA from a region that always exists: the stream is alive, and nothing else came. */
gboolean wire_expect_alive(struct wire_run *run, GError **error);

/** @brief Ask the helper: `peer QUESTION`. */
gboolean wire_peer_step(struct wire_run *run, char *const *words, GError **error);

/** @brief `crowd count= octets= private=`: many connections that say so much of a Request; `silent` forgets them. */
gboolean wire_crowd_make(struct wire_run *run, char *const *words, GError **error);

/** @brief `gone within=`: every connection of the case but the current one has ended or ends. */
gboolean wire_crowd_gone(struct wire_run *run, char *const *words, GError **error);

/** @brief `leave shutdown|reset every=`: connections of the crowd end. */
gboolean wire_crowd_leave(struct wire_run *run, char *const *words, GError **error);

/** @brief `serve count= refused=`: the peer's user accepts what waits; those that have stayed are served or refused. */
gboolean wire_crowd_serve(struct wire_run *run, char *const *words, GError **error);

/** @brief `peer load` and `peer idle`: what the helper's process uses. */
gboolean wire_load_step(struct wire_run *run, char *const *words, GError **error);
gboolean wire_idle_step(struct wire_run *run, GError **error); /**< @copydoc wire_load_step */

/** @brief Show that every completion that the peer has told of was expected by a step. */
gboolean wire_run_none_early(struct wire_run *run, GError **error);

/** @brief Whether @p value is one of `A|B|C..D`. */
gboolean wire_run_fits(struct wire_run *run, const char *wanted, guint64 value, gboolean *fits,
		       GError **error);

#endif
