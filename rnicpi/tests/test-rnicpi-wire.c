/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* The octet cursors: order, bounds at every truncation, and that a failure sticks. */

#include "ri_wire.h"

#include <glib.h>

static const uint8_t sample[] = {0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08,
				 0x09, 0x0a, 0x0b, 0x0c, 0x0d, 0x0e, 0x0f};

/* Memory of exactly that size, so that a sanitizer or valgrind sees the octet behind it. */
static uint8_t *
exact_copy(const void *from, size_t len)
{
	uint8_t *at = g_malloc(len > 0 ? len : 1);

	if (len > 0)
		memcpy(at, from, len);
	return at;
}

static void
test_order(void)
{
	struct wire_reader r = wire_reader_of(sample, sizeof(sample));

	g_assert_cmphex(wire_u8(&r), ==, 0x01);
	g_assert_cmphex(wire_be16(&r), ==, 0x0203);
	g_assert_cmphex(wire_be32(&r), ==, 0x04050607);
	g_assert_cmphex(wire_be64(&r), ==, G_GUINT64_CONSTANT(0x08090a0b0c0d0e0f));
	g_assert_true(r.ok);
	g_assert_cmpuint(r.left, ==, 0);
}

static void
test_every_truncation(void)
{
	for (size_t len = 0; len < sizeof(sample); len++) {
		g_autofree uint8_t *buf = exact_copy(sample, len);
		struct wire_reader r = wire_reader_of(buf, len);
		uint8_t a = wire_u8(&r);
		uint16_t b = wire_be16(&r);
		uint32_t c = wire_be32(&r);
		uint64_t d = wire_be64(&r);

		g_assert_false(r.ok);
		g_assert_cmpuint(r.left, ==, 0);
		g_assert_cmphex(a, ==, len >= 1 ? 0x01 : 0);
		g_assert_cmphex(b, ==, len >= 3 ? 0x0203 : 0);
		g_assert_cmphex(c, ==, len >= 7 ? 0x04050607 : 0);
		g_assert_cmphex(d, ==, 0);
	}
}

static void
test_failure_sticks(void)
{
	struct wire_reader r = wire_reader_of(sample, 3);

	g_assert_cmphex(wire_be32(&r), ==, 0);
	g_assert_cmphex(wire_u8(&r), ==, 0);
	g_assert_null(wire_take(&r, 1));
	g_assert_false(wire_skip(&r, 0));
	g_assert_false(r.ok);
}

static void
test_take_copy(void)
{
	struct wire_reader r = wire_reader_of(sample, 8);
	uint8_t two[2];
	uint8_t many[4] = {9, 9, 9, 9};

	g_assert_true(wire_take(&r, 2) == sample);
	g_assert_true(wire_copy(&r, two, 2));
	g_assert_cmphex(two[1], ==, 4);
	g_assert_cmpuint(r.left, ==, 4);
	r = wire_reader_of(sample, 3);
	g_assert_false(wire_copy(&r, many, 4));
	g_assert_cmphex(many[0] | many[1] | many[2] | many[3], ==, 0);
	r = wire_reader_of(NULL, 0);
	g_assert_true(wire_copy(&r, NULL, 0));
	g_assert_true(r.ok);
}

static void
test_huge_lengths(void)
{
	struct wire_reader r = wire_reader_of(sample, 8);
	struct wire_writer w;
	uint8_t out[8];

	g_assert_null(wire_take(&r, SIZE_MAX));
	w = wire_writer_of(out, sizeof(out));
	g_assert_null(wire_reserve(&w, SIZE_MAX));
	g_assert_cmpuint(wire_written(&w), ==, 0);
}

/* Write all kinds of fields into exactly @len octets. */
static bool
write_all(uint8_t *buf, size_t len, size_t *written)
{
	struct wire_writer w = wire_writer_of(buf, len);

	wire_put_u8(&w, 0x01);
	wire_put_be16(&w, 0x0203);
	wire_put_be32(&w, 0x04050607);
	wire_put_be64(&w, G_GUINT64_CONSTANT(0x08090a0b0c0d0e0f));
	wire_put(&w, sample, 3);
	wire_put_zero(&w, 2);
	*written = wire_written(&w);
	return w.ok;
}

static void
test_writer(void)
{
	const size_t whole = 20;
	size_t written;

	for (size_t len = 0; len < whole; len++) {
		g_autofree uint8_t *buf = g_malloc(len > 0 ? len : 1);

		g_assert_false(write_all(buf, len, &written));
		g_assert_cmpuint(written, ==, 0);
	}
	for (size_t len = whole; len < whole + 2; len++) {
		g_autofree uint8_t *buf = g_malloc(len);

		memset(buf, 0xee, len);
		g_assert_true(write_all(buf, len, &written));
		g_assert_cmpuint(written, ==, whole);
		g_assert_cmpmem(buf, 15, sample, 15);
		g_assert_cmpmem(buf + 15, 5, "\1\2\3\0\0", 5);
	}
}

static void
test_unaligned_stores(void)
{
	uint8_t buf[32];

	for (size_t at = 0; at < 8; at++) {
		wire_store_be64(buf + at, G_GUINT64_CONSTANT(0x1122334455667788));
		g_assert_cmphex(buf[at], ==, 0x11);
		g_assert_cmphex(wire_load_be64(buf + at), ==,
				G_GUINT64_CONSTANT(0x1122334455667788));
		g_assert_cmphex(wire_load_be32(buf + at + 1), ==, 0x22334455);
		g_assert_cmphex(wire_load_be16(buf + at + 6), ==, 0x7788);
		wire_store_be32(buf + at, 0xa1b2c3d4);
		wire_store_be16(buf + at + 4, 0xe5f6);
		g_assert_cmphex(wire_load_be64(buf + at) >> 16, ==,
				G_GUINT64_CONSTANT(0xa1b2c3d4e5f6));
	}
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/rnicpi/wire/order", test_order);
	g_test_add_func("/rnicpi/wire/every-truncation", test_every_truncation);
	g_test_add_func("/rnicpi/wire/failure-sticks", test_failure_sticks);
	g_test_add_func("/rnicpi/wire/take-copy", test_take_copy);
	g_test_add_func("/rnicpi/wire/huge-lengths", test_huge_lengths);
	g_test_add_func("/rnicpi/wire/writer", test_writer);
	g_test_add_func("/rnicpi/wire/unaligned", test_unaligned_stores);
	return g_test_run();
}
