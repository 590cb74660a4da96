/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Prints how long each CRC32C kernel takes, alone and with the copy, for sizes from 8 octets to 64 KiB, beside a
 * plain memcpy and beside the building of a whole frame. Medians; data hot in the cache. Not a test: figures of one
 * machine say nothing about another.
 */

#include "rdmap_message.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ROUNDS 31

static uint8_t source[65536 + 64];
static uint8_t target[65536 + 128];
static volatile uint32_t sink;

enum what {
	CRC,
	COPY,
	MEMCPY,
	WRITE,
	SEND
};

static double
now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int
compare(const void *a, const void *b)
{
	double x = *(const double *)a;
	double y = *(const double *)b;

	return (x > y) - (x < y);
}

static void
once(enum what what, const struct mpa_crc_kernel *kernel, size_t len)
{
	struct ddp_segment seg;

	switch (what) {
	case CRC:
		sink = kernel->crc(source, len, sink);
		break;
	case COPY:
		sink = kernel->copy(target, source, len, sink);
		break;
	case MEMCPY:
		memcpy(target, source, len);
		__asm__ volatile("" : : : "memory");
		break;
	case WRITE:
	case SEND:
		seg = what == WRITE ? rdmap_tagged(RDMAP_WRITE, 7, sink, true)
				    : rdmap_untagged(RDMAP_SEND, sink, 0, true);
		seg.payload = source;
		seg.payload_len = (uint32_t)len;
		sink = rdmap_fpdu_put(target, &seg, true);
		break;
	}
}

/* Nanoseconds of one call: the median of rounds of many calls. */
static double
measure(enum what what, const struct mpa_crc_kernel *kernel, size_t len)
{
	size_t calls = len < 2048 ? 4000 : 8000000 / len;
	double rounds[ROUNDS];

	for (int round = 0; round < ROUNDS; round++) {
		double start = now_ns();

		for (size_t i = 0; i < calls; i++)
			once(what, kernel, len);
		rounds[round] = (now_ns() - start) / (double)calls;
	}
	qsort(rounds, ROUNDS, sizeof(rounds[0]), compare);
	return rounds[ROUNDS / 2];
}

int
main(void)
{
	static const size_t sizes[] = {8,    16,   31,   36,   64,    80,    100,
				       128,  150,  192,  256,  384,   512,   1024,
				       1440, 2048, 4096, 8922, 16384, 32768, 65516};
	const struct mpa_crc_kernel *kernel;

	for (size_t i = 0; i < sizeof(source); i++)
		source[i] = (uint8_t)(i * 131);
	printf("ns per call; crc alone / with copy\n%8s", "octets");
	for (unsigned k = 0; (kernel = mpa_crc_kernel_at(k)) != NULL; k++)
		printf("%18s", kernel->name);
	printf("%10s%16s%14s\n", "memcpy", "Write frame", "Send frame");
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		printf("%8zu", sizes[i]);
		for (unsigned k = 0; (kernel = mpa_crc_kernel_at(k)) != NULL; k++)
			printf("%9.1f/%8.1f", measure(CRC, kernel, sizes[i]),
			       measure(COPY, kernel, sizes[i]));
		printf("%10.1f", measure(MEMCPY, NULL, sizes[i]));
		printf("%16.1f", measure(WRITE, NULL, sizes[i]));
		printf("%14.1f\n", measure(SEND, NULL, sizes[i]));
	}
	return EXIT_SUCCESS;
}
