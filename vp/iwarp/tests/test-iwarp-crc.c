/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * CRC32C: every kernel that this processor can run, compared with check values and with a
 * bit-by-bit reference; the copy combined with it; and a source that changes during the copy, which
 * must not make the CRC wrong.
 */

#include "mpa_crc_kernels.h"
#include "ri_at_end.h"
#include "vectors.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#define BIG (300u * 1024u)

/* The definition: one bit at a time. */
static uint32_t
reference(const uint8_t *at, size_t len, uint32_t crc)
{
	crc = ~crc;
	for (size_t i = 0; i < len; i++) {
		crc ^= at[i];
		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0x82F63B78u : 0);
	}
	return ~crc;
}

/* Run @check on each kernel. */
static void
for_each_kernel(void (*check)(const struct mpa_crc_kernel *))
{
	const struct mpa_crc_kernel *kernel;
	unsigned count = 0;

	while ((kernel = mpa_crc_kernel_at(count)) != NULL) {
		g_test_message("kernel %s", kernel->name);
		check(kernel);
		count++;
	}
	g_assert_cmpuint(count, >, 0);
}

/* The first of those that the processor can run; the order is that of their widths. */
static void
test_choice(void)
{
	static const char *const order[] = {"avx512", "avx2", "sse4.2", "isal"};
	size_t at = 0;

	g_assert_true(mpa_crc_kernel == mpa_crc_kernel_at(0));
	for (unsigned i = 0; mpa_crc_kernel_at(i) != NULL; i++, at++) {
		while (at < G_N_ELEMENTS(order) &&
		       strcmp(order[at], mpa_crc_kernel_at(i)->name) != 0)
			at++;
		g_assert_cmpuint(at, <, G_N_ELEMENTS(order));
	}
	g_assert_cmpuint(at, ==, G_N_ELEMENTS(order)); /* the last one is ISA-L */
	g_test_message("in use: %s", mpa_crc_kernel->name);
}

static void
fill(GRand *rand, uint8_t *at, size_t len)
{
	for (size_t i = 0; i < len; i++)
		at[i] = (uint8_t)g_rand_int(rand);
}

static void
check_values(const struct mpa_crc_kernel *kernel)
{
	struct vectors *values RI_AT_END(vectors_free) = vectors_load("crc32c.json");

	for (guint i = 0; i < vectors_count(values); i++) {
		const struct vector *v = vectors_at(values, i);
		struct guarded src RI_AT_END(guarded_free) = guarded_copy(v->octets, v->len);
		const char *crc = json_object_get_string_member(v->object, "crc32c");
		const char *wire = json_object_get_string_member(v->object, "wire");
		guint32 want = (guint32)g_ascii_strtoull(crc, NULL, 16);
		uint8_t field[4];

		g_assert_cmphex(kernel->crc(src.at, src.len, 0), ==, want);
		g_assert_cmphex(reference(src.at, src.len, 0), ==, want);
		mpa_crc_store(field, want);
		g_assert_cmphex(wire_load_be32(field), ==, g_ascii_strtoull(wire, NULL, 16));
		g_assert_cmphex(mpa_crc_load(field), ==, want);
	}
}

static void
test_values(void)
{
	for_each_kernel(check_values);
}

/* All lengths up to 1100 at the end of a page, and all offsets within 16 octets: no access outside. */
static void
check_lengths(const struct mpa_crc_kernel *kernel)
{
	g_autoptr(GRand) rand = g_rand_new_with_seed(0x1a7a1);
	struct guarded src RI_AT_END(guarded_free) = guarded_copy(NULL, 1200);
	struct guarded dst RI_AT_END(guarded_free) = guarded_copy(NULL, 1200);

	fill(rand, src.at, src.len);
	for (size_t len = 0; len <= 1100; len++) {
		size_t slack = len % 17;
		const uint8_t *from = src.at + src.len - len - slack;
		uint8_t *to = dst.at + dst.len - len;
		uint32_t seed = g_rand_int(rand);
		uint32_t want = reference(from, len, seed);

		g_assert_cmphex(kernel->crc(from, len, seed), ==, want);
		to[-1] = 0x5c;
		g_assert_cmphex(kernel->copy(to, from, len, seed), ==, want);
		g_assert_cmphex(to[-1], ==, 0x5c);
		g_assert_cmpint(memcmp(to, from, len), ==, 0);
		from = src.at + src.len - len; /* source next to the guard page */
		g_assert_cmphex(kernel->crc(from, len, seed), ==, reference(from, len, seed));
		g_assert_cmphex(kernel->copy(to, from, len, seed), ==, reference(from, len, seed));
	}
}

static void
test_lengths(void)
{
	for_each_kernel(check_lengths);
}

/* Random lengths up to 64 KiB and more, at random alignments. */
static void
check_random(const struct mpa_crc_kernel *kernel)
{
	g_autoptr(GRand) rand = g_rand_new_with_seed(0xc4c32);
	g_autofree uint8_t *src = g_malloc(BIG);
	g_autofree uint8_t *dst = g_malloc(BIG + 2);

	fill(rand, src, BIG);
	for (int round = 0; round < 60; round++) {
		size_t most = round < 40 ? 9000 : 200 * 1024;
		size_t at = (size_t)g_rand_int_range(rand, 0, 100);
		size_t to = (size_t)g_rand_int_range(rand, 1, 100);
		size_t len = (size_t)g_rand_int_range(rand, 0, (gint32)most);
		uint32_t seed = g_rand_int(rand);
		uint32_t want = reference(src + at, len, seed);

		memset(dst, 0xd7, BIG + 2);
		g_assert_cmphex(kernel->crc(src + at, len, seed), ==, want);
		g_assert_cmphex(kernel->copy(dst + to, src + at, len, seed), ==, want);
		g_assert_cmpint(memcmp(dst + to, src + at, len), ==, 0);
		g_assert_cmphex(dst[to - 1], ==, 0xd7);
		g_assert_cmphex(dst[to + len], ==, 0xd7);
	}
}

static void
test_random(void)
{
	for_each_kernel(check_random);
}

/* A CRC that is computed in pieces is the CRC of the whole. */
static void
check_splits(const struct mpa_crc_kernel *kernel)
{
	g_autoptr(GRand) rand = g_rand_new_with_seed(0x59117);
	g_autofree uint8_t *src = g_malloc(BIG);
	g_autofree uint8_t *dst = g_malloc(BIG);

	fill(rand, src, BIG);
	for (int round = 0; round < 40; round++) {
		size_t whole = (size_t)g_rand_int_range(rand, 1, 20000);
		uint32_t crc = 0;

		for (size_t at = 0; at < whole;) {
			size_t wanted = (size_t)g_rand_int_range(rand, 0, 3000);
			size_t part = MIN(whole - at, wanted);

			if (g_rand_boolean(rand))
				crc = kernel->crc(src + at, part, crc);
			else
				crc = kernel->copy(dst + at, src + at, part, crc);
			at += part;
		}
		g_assert_cmphex(crc, ==, reference(src, whole, 0));
	}
}

static void
test_splits(void)
{
	for_each_kernel(check_splits);
}

struct changing {
	_Atomic bool stop;
	uint8_t *octets;
	size_t len;
};

/* An application that writes to its region all the time. Relaxed atomics, so that TSan reports no race. */
static void *
change(void *arg)
{
	struct changing *c = arg;
	uint8_t value = 0;

	while (!atomic_load(&c->stop)) {
		value++;
		for (size_t i = 0; i < c->len; i += 3)
			__atomic_store_n(&c->octets[i], value, __ATOMIC_RELAXED);
	}
	return NULL;
}

#if defined(__SANITIZE_THREAD__)
#define RACES_ARE_REPORTED true
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define RACES_ARE_REPORTED true
#endif
#endif
#ifndef RACES_ARE_REPORTED
#define RACES_ARE_REPORTED false
#endif

static void
check_changing(const struct mpa_crc_kernel *kernel)
{
	struct changing c = {.octets = g_malloc(BIG), .len = BIG};
	g_autofree uint8_t *dst = g_malloc(BIG);
	pthread_t thread;

	memset(c.octets, 0, BIG);
	g_assert_cmpint(pthread_create(&thread, NULL, change, &c), ==, 0);
	for (int round = 0; round < 300; round++) {
		size_t len = round % 3 == 0 ? BIG - 77 : (size_t)(1 + round * 13);
		uint32_t crc = kernel->copy(dst, c.octets + round % 64, MIN(len, BIG - 64), 0);

		g_assert_cmphex(crc, ==, kernel->crc(dst, MIN(len, BIG - 64), 0));
	}
	atomic_store(&c.stop, true);
	pthread_join(thread, NULL);
	g_free(c.octets);
}

static void
test_changing(void)
{
	if (RACES_ARE_REPORTED) {
		g_test_skip("the race is the subject of the test");
		return;
	}
	for_each_kernel(check_changing);
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/iwarp/crc/choice", test_choice);
	g_test_add_func("/iwarp/crc/values", test_values);
	g_test_add_func("/iwarp/crc/lengths", test_lengths);
	g_test_add_func("/iwarp/crc/random", test_random);
	g_test_add_func("/iwarp/crc/splits", test_splits);
	g_test_add_func("/iwarp/crc/source-changes", test_changing);
	return g_test_run();
}
