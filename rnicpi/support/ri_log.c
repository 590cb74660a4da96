/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* The form of the log's lines. Any thread, also without memory: nothing here allocates. */

#include "ri_log.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Append to a text that ends at *at; what has no room is cut. */
__attribute__((format(printf, 4, 5))) static void
append(char *text, size_t room, size_t *at, const char *format, ...)
{
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(text + *at, room - *at, format, args);
	va_end(args);
	if (n > 0)
		*at += (size_t)n;
	if (*at >= room)
		*at = room - 1;
}

void
ri_log_subject(const struct ri_log_about *about, char *text, size_t room)
{
	size_t at = 0;

	append(text, room, &at, "%s", about->layer);
	if (about->adapter != NULL && about->adapter[0] != '\0')
		append(text, room, &at, " %s", about->adapter);
	if (about->ep != NULL)
		append(text, room, &at, " EP %p", about->ep);
	if (about->qpn != 0)
		append(text, room, &at, " QP %u", (unsigned)about->qpn);
	if (about->peer != NULL && about->peer[0] != '\0')
		append(text, room, &at, " peer %s", about->peer);
}

void
ri_log_sockaddr(const struct sockaddr *sa, char *text, size_t room)
{
	union {
		struct sockaddr_in in;
		struct sockaddr_in6 in6;
	} address;
	char name[INET6_ADDRSTRLEN] = "";
	char zone[16] = "";
	char port[8] = "";

	if (sa->sa_family == AF_INET) {
		memcpy(&address.in, sa, sizeof(address.in));
		(void)inet_ntop(AF_INET, &address.in.sin_addr, name, sizeof(name));
		if (address.in.sin_port != 0)
			(void)snprintf(port, sizeof(port), ":%u", ntohs(address.in.sin_port));
		(void)snprintf(text, room, "%s%s", name, port);
	} else if (sa->sa_family == AF_INET6) {
		memcpy(&address.in6, sa, sizeof(address.in6));
		(void)inet_ntop(AF_INET6, &address.in6.sin6_addr, name, sizeof(name));
		if (address.in6.sin6_scope_id != 0)
			(void)snprintf(zone, sizeof(zone), "%%%u",
				       (unsigned)address.in6.sin6_scope_id);
		if (address.in6.sin6_port != 0)
			(void)snprintf(port, sizeof(port), ":%u", ntohs(address.in6.sin6_port));
		(void)snprintf(text, room, "[%s%s]%s", name, zone, port);
	} else {
		(void)snprintf(text, room, "an unknown address");
	}
}

void
ri_log_addr(const struct ri_addr *addr, uint16_t port, char *text, size_t room)
{
	union {
		struct sockaddr sa;
		struct sockaddr_in in;
		struct sockaddr_in6 in6;
	} address = {.sa.sa_family = AF_UNSPEC};

	if (addr->family == RI_ADDR_IPV4) {
		address.in.sin_family = AF_INET;
		address.in.sin_port = port;
		memcpy(&address.in.sin_addr, addr->octets, sizeof(address.in.sin_addr));
	} else if (addr->family == RI_ADDR_IPV6) {
		address.in6.sin6_family = AF_INET6;
		address.in6.sin6_port = port;
		memcpy(&address.in6.sin6_addr, addr->octets, sizeof(address.in6.sin6_addr));
	}
	ri_log_sockaddr(&address.sa, text, room);
}

void
ri_log_list(const struct ri_host *host, enum ri_log_level level, const struct ri_log_about *about,
	    const char *format, va_list args)
{
	char subject[RI_LOG_SUBJECT];
	char sentence[RI_LOG_SENTENCE];
	int error = errno;

	if (!ri_log_wanted(host, level))
		return;
	ri_log_subject(about, subject, sizeof(subject));
	(void)vsnprintf(sentence, sizeof(sentence), format, args);
	host->log(host->self, level, subject, sentence);
	errno = error;
}

void
ri_log(const struct ri_host *host, enum ri_log_level level, const struct ri_log_about *about,
       const char *format, ...)
{
	va_list args;

	va_start(args, format);
	ri_log_list(host, level, about, format, args);
	va_end(args);
}

/* Text from peers and providers must not control a terminal: neither C0 nor C1 in UTF-8. */
static void
make_harmless(char *line)
{
	for (; *line != '\0'; line++) {
		unsigned char c = (unsigned char)line[0];
		unsigned char next = (unsigned char)line[1];

		if (c < 0x20 || c == 0x7f || (c == 0xc2 && next >= 0x80 && next < 0xa0))
			*line = '?';
		/* Alone, the second byte of C1 is C1 in an 8-bit character set. */
		if (c == 0xc2 && *line == '?')
			*++line = '?';
	}
}

size_t
ri_log_line(char *line, const char *program, enum ri_log_level level, const char *subject,
	    const char *sentence)
{
	static const char *const levels[] = {
		[RI_LOG_ERROR] = "error",
		[RI_LOG_WARNING] = "warning",
		[RI_LOG_INFO] = "info",
		[RI_LOG_DEBUG] = "debug",
	};
	const size_t room = RI_LOG_LINE - 1; /* the newline follows */
	struct timespec now = {0};
	struct tm utc = {0};
	size_t at = 0;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	(void)gmtime_r(&now.tv_sec, &utc);
	append(line, room, &at, "%04d-%02d-%02dT%02d:%02d:%02d.%06ldZ %s[%d]: %s: %s: %s",
	       utc.tm_year + 1900, utc.tm_mon + 1, utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec,
	       now.tv_nsec / 1000, program, (int)getpid(), levels[level], subject, sentence);
	make_harmless(line);
	line[at++] = '\n';
	line[at] = '\0';
	return at;
}
