/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* The copies of viw_copy.h that meet a lost page, with each CRC kernel that this processor can run. */
#include <glib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "viw_copy.h"
#include "vsw_test_host.h"

#define LONGEST 1500u /* every part of each kernel */

static size_t page;

/* Values that the compiler keeps in registers over the copy must be those from before it. */
static void
lose(const struct mpa_crc_kernel *kernel, uint8_t *lost, uint8_t *own)
{
	unsigned failed = 0;

	mpa_crc_kernel = kernel;
	for (size_t len = 1; len <= LONGEST; len += len < 300 ? 7 : 97) {
		for (size_t there = 0; there < len; there += len < 70 ? 3 : 29) {
			uint32_t crc = (uint32_t)len;

			g_assert_false(viw_crc_copy(lost - there, own, len, &crc));
			g_assert_true(vsw_guard_is_in(vsw_guard_take(), lost - there, len));
			g_assert_cmpuint(crc, ==, len);
			g_assert_false(viw_crc_copy(own, lost - there, len, &crc));
			g_assert_true(vsw_guard_is_in(vsw_guard_take(), lost - there, len));
			failed += 2;
			if (there > 0) {
				g_assert_true(viw_crc_copy(own, lost - there, there, &crc));
				g_assert_cmpuint(crc, ==, mpa_crc(own, there, (uint32_t)len));
			}
		}
	}
	g_test_message("kernel %s: %u faults", kernel->name, failed);
}

static void
test_kernels(void)
{
	const struct mpa_crc_kernel *usual = mpa_crc_kernel, *kernel;
	static uint8_t own[LONGEST];

	if (vth_no_guards())
		return;
	uint8_t *at =
		mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	g_assert_true(at != MAP_FAILED);
	memset(at, 0x5c, page);
	g_assert_cmpint(mprotect(at + page, page, PROT_NONE), ==, 0);
	vsw_guard_open();
	for (unsigned i = 0; (kernel = mpa_crc_kernel_at(i)) != NULL; i++)
		lose(kernel, at + page, own);
	vsw_guard_close();
	mpa_crc_kernel = usual;
	munmap(at, 2 * page);
}

/* A frame is as that of rdmap_fpdu_put. */
static void
test_frame(void)
{
	uint8_t payload[200], frame[2][256];

	memset(payload, 0x3d, sizeof(payload));
	for (uint32_t len = 0; len <= sizeof(payload); len++) {
		struct ddp_segment seg = rdmap_tagged(RDMAP_WRITE, 0x1234, 99, true);
		uint32_t size = 0;

		seg.payload = payload;
		seg.payload_len = len;
		for (int crc = 0; crc <= 1; crc++) {
			g_assert_true(viw_fpdu_put(frame[0], &seg, crc == 1, &size));
			g_assert_cmpuint(rdmap_fpdu_put(frame[1], &seg, crc == 1), ==, size);
			g_assert_cmpmem(frame[0], size, frame[1], size);
		}
	}
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	page = (size_t)sysconf(_SC_PAGESIZE);
	g_test_add_func("/iwarp/lost/kernels", test_kernels);
	g_test_add_func("/iwarp/lost/frame", test_frame);
	return g_test_run();
}
