/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */
#ifndef WIRE_CONN_H
#define WIRE_CONN_H

/**
 * @file wire_conn.h
 * @brief A TCP connection of the judge, with a record of everything that passed on it.
 */

#include <netinet/in.h>
#include <sys/socket.h>

#include <glib.h>

#include "wire_frame.h"

/** @brief Octets of one send or receive, or an end, as the capture shows it. */
struct wire_record {
	gint64 us;       /**< microseconds since 1970 */
	gboolean out;    /**< sent by the judge */
	GBytes *octets;  /**< NULL at an end */
	gboolean is_fin; /**< without octets: a FIN; otherwise a reset */
};

/** @brief How the input of a connection has ended. */
enum wire_end {
	WIRE_END_NONE,
	WIRE_END_FIN,
	WIRE_END_RESET
};

/** @brief One connection. */
struct wire_conn {
	int fd;                         /**< -1 when closed */
	gboolean initiator;             /**< the judge made the TCP connection */
	gboolean crc;                   /**< FPDUs carry a CRC */
	gboolean marks_out;             /**< the peer wants markers */
	gboolean marks_in;              /**< the judge wants markers */
	guint64 out_at;                 /**< octets sent since the start-up */
	guint64 in_at;                  /**< octets taken from `in` since the start-up */
	GByteArray *plain;              /**< the FPDU that was looked at last, without markers */
	GByteArray *in;                 /**< received, not taken yet */
	enum wire_end end;              /**< of the input */
	gboolean left;                  /**< by a FIN, with its Request unanswered */
	GPtrArray *records;             /**< struct wire_record */
	gsize recorded;                 /**< octets in them */
	struct sockaddr_storage local;  /**< for the capture */
	struct sockaddr_storage remote; /**< for the capture */
	guint32 tx_msn[4];              /**< the MSN of the next message to send, by QN */
	guint32 rx_msn[4];              /**< the MSN of the next message to come, by QN */
	GBytes *guilty;   /**< the ULPDU that was sent last: what a Terminate may repeat */
	GByteArray *held; /**< octets that wait for wire_conn_release(); NULL if none do */
};

/** @brief Let connections from this socket on have TCP segments of at most @p mss octets; 0: as usual. */
void wire_conn_segments(int fd, guint mss);

/** @brief Connect to @p address from a free port, with segments of @p mss octets or 0. NULL: @p error says why. */
struct wire_conn *wire_conn_connect(const struct sockaddr *address, socklen_t len, guint mss,
				    GError **error);

/** @brief Take a connection of the listening socket @p listener. NULL: none came, or an error. */
struct wire_conn *wire_conn_accept(int listener, gint64 patience_us, GError **error);

/** @brief Close the socket in an orderly way and free everything. NULL is allowed. */
void wire_conn_free(struct wire_conn *conn);

/** @brief Send octets now, or hold them after wire_conn_hold(). False: TCP has ended. */
gboolean wire_conn_send(struct wire_conn *conn, const guint8 *octets, gsize len);

/**
 * @brief Send octets as several TCP segments: one of @p first octets, then pieces of @p piece; 0 is no limit.
 *
 * There is a short pause between them.
 */
gboolean wire_conn_send_cut(struct wire_conn *conn, const guint8 *octets, gsize len, gsize first,
			    gsize piece);

/** @brief Keep what is sent from now on, until wire_conn_release(). */
void wire_conn_hold(struct wire_conn *conn);

/** @brief Send what was held, cut like wire_conn_send_cut(). */
gboolean wire_conn_release(struct wire_conn *conn, gsize first, gsize piece);

/** @brief Wait for octets or the end until @p deadline (monotonic, us). False: the time is over. */
gboolean wire_conn_wait(struct wire_conn *conn, gint64 deadline);

/** @brief Look at the FPDU at the front of the input, like wire_fpdu_take(), with markers or without. */
enum wire_taken wire_conn_look(struct wire_conn *conn, struct wire_fpdu *fpdu, gsize *size,
			       char **why);

/** @brief Take @p len octets from the front of the input. */
void wire_conn_taken(struct wire_conn *conn, gsize len);

/** @brief Send a FIN. */
void wire_conn_shutdown(struct wire_conn *conn);

/** @brief Send a reset. */
void wire_conn_reset(struct wire_conn *conn);

#endif
