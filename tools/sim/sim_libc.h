/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Shared by the files whose functions replace those of the C library. */
#ifndef SIM_LIBC_H
#define SIM_LIBC_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

/* A time of a clock as virtual time, and the virtual time after a span; NULL: never. */
uint64_t sim_clock_base(clockid_t clock);
uint64_t sim_deadline_of(clockid_t clock, const struct timespec *when);
uint64_t sim_deadline_after(const struct timespec *span);
bool sim_span_is_good(const struct timespec *span);
/* Wait in the scheduler until a descriptor can be read, unless it does not block. False: `patience` ns, if not 0, were too short. */
bool sim_fd_wait(const char *call, int fd, uint64_t patience);
/* How long a call for this socket waits, in ns; 0: without a limit. */
uint64_t sim_socket_patience(int fd, bool sends);
/* A file that a program has opened: it is written out when the program ends. Returns it. */
FILE *sim_stream_opened(FILE *file);
/* A descriptor is closed, which may be a timerfd. */
void sim_clock_closed(int fd);
/* False: it is a socket without a connection. */
bool sim_socket_is_open(int fd);

#endif /* SIM_LIBC_H */
