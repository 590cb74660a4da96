/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* What calibrators over TCP share: bench_raw.c, bench_frames.c, bench_fpdu.c. Each failure ends the program. */
#ifndef BENCH_RAW_H
#define BENCH_RAW_H

#include "bench.h"

#define BENCH_READ_SIZE (256 * 1024) /* of a receiver that takes what is there */

/* A connected pair of sockets, one in each process; without `block` they are non-blocking. */
int bench_raw_pair(int ctl, bool active, bool block);
void bench_raw_send(int fd, const char *buf, size_t len);
/* Receives `total` octets, at most `room` of them in a call, each time to the begin of `buf`. */
void bench_raw_receive(int fd, char *buf, size_t room, uint64_t total);

/* Start a thread that sleeps as long as the process lives: the kernel then counts references to descriptors. */
void bench_raw_second_thread(void);

#endif /* BENCH_RAW_H */
