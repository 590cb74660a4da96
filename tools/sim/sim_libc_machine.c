/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Names of hosts and devices of random numbers, as programs see them. No query leaves the run. */
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include "sim/sim.h"
#include "sim/sim_libc.h"
#include "sim/sim_real.h"

/* --- names ---------------------------------------------------------------------------------------- */

/* The address of a node by its name, or of loopback; NULL: another name. */
static char *
address_of(const char *host)
{
	if (strcmp(host, "localhost") == 0)
		return g_strdup("127.0.0.1");
	for (unsigned i = 0; i < sim_node_count(); i++)
		if (strcmp(sim_node_of(i)->plan->name, host) == 0)
			return sim_node_address(i);
	return NULL;
}

/* Addresses in digits and names of nodes; no other name has an address, since a resolver would ask the network. */
int
getaddrinfo(const char *restrict host, const char *restrict service,
	    const struct addrinfo *restrict hints, struct addrinfo **restrict found)
{
	g_autofree char *address = NULL;
	struct addrinfo wanted = {.ai_family = AF_UNSPEC};

	if (!sim_applies())
		return SIM_REAL(getaddrinfo)(host, service, hints, found);
	sim_chance("getaddrinfo");
	if (hints != NULL)
		wanted = *hints;
	address = host != NULL ? address_of(host) : NULL;
	if (host != NULL) {
		wanted.ai_flags |= AI_NUMERICHOST;
		wanted.ai_flags &=
			~AI_ADDRCONFIG; /* which addresses the machine has is not asked */
	}
	return SIM_REAL(getaddrinfo)(address != NULL ? address : host, service, &wanted, found);
}

struct hostent *
gethostbyname(const char *host)
{
	g_autofree char *address = NULL;

	if (!sim_applies())
		return SIM_REAL(gethostbyname)(host);
	address = address_of(host);
	if (address == NULL && !g_hostname_is_ip_address(host)) {
		h_errno = HOST_NOT_FOUND;
		return NULL;
	}
	return SIM_REAL(gethostbyname)(address != NULL ? address : host);
}

int
gethostname(char *name, size_t room)
{
	const char *own;

	if (!sim_applies())
		return SIM_REAL(gethostname)(name, room);
	own = sim_me->node->plan->name;
	if (g_strlcpy(name, own, room) < room)
		return 0;
	errno = ENAMETOOLONG;
	return -1;
}

/* --- devices of random numbers ------------------------------------------------------------------------ */

#define RANDOM_OCTETS 65536 /* more than any seed of a generator */

static bool
is_random(const char *path)
{
	return path != NULL && sim_applies() &&
	       (strcmp(path, "/dev/urandom") == 0 || strcmp(path, "/dev/random") == 0);
}

/* A file with what the seed draws. */
static int
random_open(int flags)
{
	g_autofree unsigned char *octets = g_malloc(RANDOM_OCTETS);
	int fd = memfd_create("random", (flags & O_CLOEXEC) != 0 ? MFD_CLOEXEC : 0);

	if (fd < 0)
		return -1;
	(void)getrandom(octets, RANDOM_OCTETS, 0);
	if (SIM_REAL(write)(fd, octets, RANDOM_OCTETS) != RANDOM_OCTETS ||
	    lseek(fd, 0, SEEK_SET) != 0) {
		(void)SIM_REAL(close)(fd);
		errno = ENOMEM;
		return -1;
	}
	return fd;
}

/* The rights of a new file, which are the last argument if one may be made. */
static mode_t
mode_of(int flags, va_list list)
{
	return (flags & (O_CREAT | O_TMPFILE)) != 0 ? (mode_t)va_arg(list, unsigned) : 0;
}

static int
file_open(const char *path, int flags, mode_t mode)
{
	return is_random(path) ? random_open(flags) : SIM_REAL(open)(path, flags, mode);
}

int
open(const char *path, int flags, ...)
{
	va_list list;
	mode_t mode;

	va_start(list, flags);
	mode = mode_of(flags, list);
	va_end(list);
	return file_open(path, flags, mode);
}

SIM_ALSO_SHORT(open);

FILE *
fopen(const char *restrict path, const char *restrict mode)
{
	int fd;

	if (!is_random(path))
		return sim_stream_opened(SIM_REAL(fopen)(path, mode));
	fd = random_open(O_CLOEXEC);
	return fd >= 0 ? fdopen(fd, "r") : NULL;
}

SIM_ALSO_SHORT(fopen);

/* The C library cannot reopen the streams of a node. */
FILE *
freopen(const char *restrict path, const char *restrict mode, FILE *restrict stream)
{
	if (sim_applies() && (stream == stdout || stream == stderr))
		sim_refuse("freopen");
	return SIM_REAL(freopen)(path, mode, stream);
}

SIM_ALSO_SHORT(freopen);
