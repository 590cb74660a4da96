/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#ifndef RI_LOG_H
#define RI_LOG_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "rnicpi_host.h"

/**
 * @file
 * The form of the log's lines, for all layers and for the tools:
 *
 *     TIME PROGRAM[PID]: LEVEL: SUBJECT: SENTENCE
 *
 * The time is UTC with microseconds. The subject is what ri_host::log gets as `where`: the layer, then what is known of
 * adapter, endpoint, queue pair and peer, in this order, each but the first two behind its word:
 *
 *     iwarp iwarp:lo QP 17 peer 127.0.0.1:7471
 *
 * The uAL knows the handle of an endpoint and the number of its queue pair, the layers below only the number; so lines
 * of several layers about one connection have the number in common.
 */

/** Octets of an address with a zone and a port: "[ADDRESS%ZONE]:PORT". */
#define RI_LOG_ADDRESS 72
/** Octets of a subject. */
#define RI_LOG_SUBJECT 256
/** Octets of a sentence; the rest is cut. */
#define RI_LOG_SENTENCE 640
/** Octets of a line with its end; the rest is cut. At most PIPE_BUF, so that a pipe takes a line whole or not. */
#define RI_LOG_LINE 1024

/** What a line is about. */
struct ri_log_about {
	/**
	 * "ual", "kal", or the name of a provider; or, of lines that the tools handle in their own way, "registry" (a provider was refused),
	 * "adapters" (nobody has that name) or "settings" (a value cannot be).
	 */
	const char *layer;
	const char *adapter; /**< Its name, or NULL. */
	const void *ep;      /**< The handle of an endpoint, or NULL. */
	uint32_t qpn;        /**< ri_qp_attr::qpn, or 0. */
	const char *peer;    /**< Address and port of the peer, or NULL. */
};

/** The subject in words. */
void ri_log_subject(const struct ri_log_about *about, char *text, size_t room);
/** An address as people write it, with its port if it is not 0; "an unknown address" if its family is another. */
void ri_log_sockaddr(const struct sockaddr *sa, char *text, size_t room);
/** An address of RNIC-PI as people write it, with its port, in network order, if that is not 0. */
void ri_log_addr(const struct ri_addr *addr, uint16_t port, char *text, size_t room);

/** Does the host want lines of this level? */
static inline bool
ri_log_wanted(const struct ri_host *host, enum ri_log_level level)
{
	return host != NULL && host->log_level >= (uint32_t)level;
}

/** Write a line, if the host wants its level. Neither allocates nor blocks; errno is kept. */
__attribute__((format(printf, 4, 5))) void ri_log(const struct ri_host *host,
						  enum ri_log_level level,
						  const struct ri_log_about *about,
						  const char *format, ...);
/** The same with a list of arguments. */
__attribute__((format(printf, 4, 0))) void ri_log_list(const struct ri_host *host,
						       enum ri_log_level level,
						       const struct ri_log_about *about,
						       const char *format, va_list args);

/**
 * A whole line with its newline, for a terminal or a file: characters that control a terminal become '?'.
 * @param line room for RI_LOG_LINE octets
 * @return the octets of the line; a zero octet follows
 */
size_t ri_log_line(char *line, const char *program, enum ri_log_level level, const char *subject,
		   const char *sentence);

#endif /* RI_LOG_H */
