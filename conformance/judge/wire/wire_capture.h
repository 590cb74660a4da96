/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */
#ifndef WIRE_CAPTURE_H
#define WIRE_CAPTURE_H

/**
 * @file wire_capture.h
 * @brief Writes the octets of a case's connections to a pcapng file.
 *
 * The judge sees octets, not packets. So the headers of Ethernet, IP and TCP are invented, so that other programs
 * can read the file: a packet for each send and receive, with its time, and a handshake before the first.
 */

#include <glib.h>

/**
 * @brief Write a capture.
 * @param[in] path     the file
 * @param[in] conns    struct wire_conn
 * @param[in] comment  a text for the head of the file
 */
gboolean wire_capture_write(const char *path, const GPtrArray *conns, const char *comment,
			    GError **error);

#endif
