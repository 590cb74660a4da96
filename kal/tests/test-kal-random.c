/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Random numbers where the kernel's are refused: by a real filter, in a process of its own. */
#include <errno.h>
#include <glib.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kal_random.h"

/* RFC 8439 section 2.3.2. */
static void
test_vector(void)
{
	static const uint32_t input[16] = {0x61707865, 0x3320646e, 0x79622d32, 0x6b206574,
					   0x03020100, 0x07060504, 0x0b0a0908, 0x0f0e0d0c,
					   0x13121110, 0x17161514, 0x1b1a1918, 0x1f1e1d1c,
					   0x00000001, 0x09000000, 0x4a000000, 0x00000000};
	static const uint32_t expected[16] = {0xe4e7f110, 0x15593bd1, 0x1fdd0f50, 0xc47120a3,
					      0xc7f4d1c7, 0x0368c033, 0x9aaa2204, 0x4e6cd4c3,
					      0x466482d2, 0x09aa9f07, 0x05d7c214, 0xa2028bd9,
					      0xd19c12b5, 0xb94e16de, 0xe883d0cb, 0x4e3c50a2};
	uint32_t output[16];

	kal_random_block(input, output);
	g_assert_cmpmem(output, sizeof(output), expected, sizeof(expected));
}

/* From now on the system call fails in this process. */
static void
refuse(int number)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)number, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {G_N_ELEMENTS(filter), filter};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
		_exit(77);
}

/* Run it in a child. False: the test is skipped, since the kernel has no filters. */
static bool
in_child(bool (*run)(void))
{
	int status = 0;
	pid_t child = fork();

	if (child == 0)
		_exit(run() ? 0 : 1);
	g_assert_cmpint(waitpid(child, &status, 0), ==, child);
	g_assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 77) {
		g_test_skip("the kernel has no seccomp filters");
		return false;
	}
	g_assert_cmpint(WEXITSTATUS(status), ==, 0);
	return true;
}

/* No 32 bytes of two draws of 4096 are equal, and the bits are ones and zeros in equal parts. */
static bool
looks_random(struct kal_random *random, struct kal_random *other)
{
	static unsigned char drawn[2][4096];
	unsigned ones = 0;

	kal_random_draw(random, false, drawn[0], sizeof(drawn[0]));
	kal_random_draw(other, false, drawn[1], sizeof(drawn[1]));
	for (unsigned i = 0; i < 2 * sizeof(drawn[0]); i++)
		ones += (unsigned)__builtin_popcount(drawn[i / 4096][i % 4096]);
	for (unsigned i = 0; i + 32 <= 4096; i += 32) {
		for (unsigned j = i + 32; j + 32 <= 4096; j += 32)
			if (memcmp(drawn[0] + i, drawn[0] + j, 32) == 0)
				return false;
		if (memcmp(drawn[0] + i, drawn[1] + i, 32) == 0)
			return false;
	}
	return ones > 32000 && ones < 33600;
}

static bool
without_getrandom(void)
{
	struct kal_random random, other;

	refuse(SYS_getrandom);
	return kal_random_init(&random) && kal_random_init(&other) &&
	       looks_random(&random, &other) && looks_random(&random, &random);
}

static bool
refused_later(void)
{
	struct kal_random random, other;

	if (!kal_random_init(&random) || !kal_random_init(&other))
		return false;
	refuse(SYS_getrandom);
	refuse(SYS_openat);
	return looks_random(&random, &other);
}

static bool
without_seed(void)
{
	struct kal_random random;

	refuse(SYS_getrandom);
	refuse(SYS_openat);
	return !kal_random_init(&random) && errno == EPERM;
}

/* A child draws other numbers than its parent, though both have the same key. */
static bool
after_fork(void)
{
	struct kal_random random;
	unsigned char mine[32], theirs[32];
	int ends[2];

	if (!kal_random_init(&random) || pipe(ends) != 0)
		return false;
	refuse(SYS_getrandom);
	if (fork() == 0) {
		kal_random_draw(&random, true, theirs, sizeof(theirs));
		_exit(write(ends[1], theirs, sizeof(theirs)) == sizeof(theirs) ? 0 : 1);
	}
	kal_random_draw(&random, false, mine, sizeof(mine));
	return read(ends[0], theirs, sizeof(theirs)) == sizeof(theirs) &&
	       memcmp(mine, theirs, sizeof(mine)) != 0;
}

static void
test_refused(gconstpointer run)
{
	(void)in_child(*(bool (*const *)(void))run);
}

int
main(int argc, char **argv)
{
	static bool (*const runs[])(void) = {without_getrandom, refused_later, without_seed,
					     after_fork};

	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/kal/random/vector", test_vector);
	g_test_add_data_func("/kal/random/without-getrandom", &runs[0], test_refused);
	g_test_add_data_func("/kal/random/refused-later", &runs[1], test_refused);
	g_test_add_data_func("/kal/random/without-seed", &runs[2], test_refused);
	g_test_add_data_func("/kal/random/fork", &runs[3], test_refused);
	return g_test_run();
}
