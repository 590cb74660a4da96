/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */
#ifndef WIRE_PEER_H
#define WIRE_PEER_H

/**
 * @file wire_peer.h
 * @brief Asks the helper beside the stack under test, over a TCP connection of its own.
 *
 * A question is a line of words, and so is its answer: "ok KEY=VALUE..." or "no REASON". The table `questions`
 * of peer/peer_main.c has the list.
 */

#include <netinet/in.h>
#include <sys/socket.h>

#include <glib.h>

/** @brief The connection to a helper. */
struct wire_peer;

/**
 * @brief Connect to a helper, or start one.
 * @param[in] where    HOST:PORT of a helper that runs; NULL if @p command is given
 * @param[in] command  a command that starts a helper, which prints "control PORT" first; or NULL
 */
struct wire_peer *wire_peer_open(const char *where, const char *command, GError **error);

/** @brief How long to wait for an answer. The helper may wait in a question, too. */
void wire_peer_patience(struct wire_peer *peer, int answer_ms);

/** @brief End the conversation; a helper that was started here ends, too. NULL is allowed. */
void wire_peer_close(struct wire_peer *peer);

/**
 * @brief Ask, and wait for the answer.
 * @return the words of the answer without "ok", or NULL: it was "no", or the helper is gone
 */
char **wire_peer_ask(struct wire_peer *peer, GError **error, const char *format, ...)
	G_GNUC_PRINTF(3, 4);

/** @brief Ask, and do not wait: the answer is that of wire_peer_answer(). */
void wire_peer_tell(struct wire_peer *peer, const char *format, ...) G_GNUC_PRINTF(2, 3);

/** @brief Wait for the answer to wire_peer_tell(). The next question drops an answer that was not waited for. */
char **wire_peer_answer(struct wire_peer *peer, GError **error);

/** @brief Did the helper end, or not answer? Then it is not asked again. */
gboolean wire_peer_is_lost(const struct wire_peer *peer);

/** @brief Let the stack under test listen again, if it has stopped to. */
gboolean wire_peer_listen(struct wire_peer *peer, GError **error);

/** @brief Where the stack under test listens for RDMA connections. */
const struct sockaddr_storage *wire_peer_address(const struct wire_peer *peer);

/** @brief The address of this host that the helper reaches. */
const struct sockaddr_storage *wire_peer_local(const struct wire_peer *peer);

/** @brief What the helper said of itself: kind, adapter, and what it is able to. */
char *const *wire_peer_hello(const struct wire_peer *peer);

#endif
