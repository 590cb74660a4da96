/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The generator is the block function of ChaCha20 (RFC 8439 section 2.3). The first half of each block becomes the next key, the
 * second half is drawn. The counter is zero, and the nonce is the number of the process: so the child of a fork, which has the
 * key of its parent, draws other numbers.
 */
#include "kal_random.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "ri_calls.h"
#include "ri_fd.h"

#define KEY_BYTES 32u

static uint32_t
rotate(uint32_t value, unsigned by)
{
	return value << by | value >> (32 - by);
}

static void
quarter_round(uint32_t *x, unsigned a, unsigned b, unsigned c, unsigned d)
{
	x[a] += x[b];
	x[d] = rotate(x[d] ^ x[a], 16);
	x[c] += x[d];
	x[b] = rotate(x[b] ^ x[c], 12);
	x[a] += x[b];
	x[d] = rotate(x[d] ^ x[a], 8);
	x[c] += x[d];
	x[b] = rotate(x[b] ^ x[c], 7);
}

void
kal_random_block(const uint32_t input[16], uint32_t output[16])
{
	memcpy(output, input, 16 * sizeof(output[0]));
	for (unsigned round = 0; round < 10; round++) {
		for (unsigned i = 0; i < 4; i++)
			quarter_round(output, i, i + 4, i + 8, i + 12);
		for (unsigned i = 0; i < 4; i++)
			quarter_round(output, i, 4 + (i + 1) % 4, 8 + (i + 2) % 4,
				      12 + (i + 3) % 4);
	}
	for (unsigned i = 0; i < 16; i++)
		output[i] += input[i];
}

/* Up to 256 bytes come at once; a signal can interrupt the call before the kernel's pool is ready. False: it is refused. */
static bool
ask_kernel(void *buf, size_t len)
{
	uint8_t *at = buf;

	while (len > 0) {
		long got = syscall(SYS_getrandom, at, len < 256 ? len : 256, 0);

		if (got < 0 && errno != EINTR)
			return false;
		at += got > 0 ? got : 0;
		len -= got > 0 ? (size_t)got : 0;
	}
	return true;
}

static bool
ask_device(void *buf, size_t len)
{
	int fd = ri_fd_open("/dev/urandom", O_RDONLY | O_NOCTTY, 0);
	uint8_t *at = buf;
	ssize_t got = 1;
	int error;

	while (fd >= 0 && len > 0 && got > 0) {
		do
			got = ri_read(fd, at, len);
		while (got < 0 && errno == EINTR);
		at += got > 0 ? got : 0;
		len -= got > 0 ? (size_t)got : 0;
	}
	error = got == 0 ? EIO : errno;
	if (fd >= 0)
		ri_close(fd);
	errno = error;
	return len == 0;
}

bool
kal_random_init(struct kal_random *random)
{
	pthread_mutex_init(&random->lock, NULL);
	return ask_kernel(random->key, sizeof(random->key)) ||
	       ask_device(random->key, sizeof(random->key));
}

void
kal_random_fini(struct kal_random *random)
{
	pthread_mutex_destroy(&random->lock);
	explicit_bzero(random->key, sizeof(random->key));
}

void
kal_random_draw(struct kal_random *random, bool alone, void *buf, size_t len)
{
	static const uint32_t words[4] = {0x61707865, 0x3320646e, 0x79622d32, 0x6b206574};
	uint32_t input[16] = {words[0], words[1], words[2], words[3]};
	uint32_t output[16];
	uint8_t *at = buf;

	if (ask_kernel(buf, len))
		return;
	input[13] = (uint32_t)getpid();
	if (!alone)
		pthread_mutex_lock(&random->lock);
	while (len > 0) {
		size_t part = len < KEY_BYTES ? len : KEY_BYTES;

		memcpy(&input[4], random->key, KEY_BYTES);
		kal_random_block(input, output);
		memcpy(random->key, output, KEY_BYTES);
		memcpy(at, output + KEY_BYTES / sizeof(output[0]), part);
		at += part;
		len -= part;
	}
	if (!alone)
		pthread_mutex_unlock(&random->lock);
	explicit_bzero(input, sizeof(input));
	explicit_bzero(output, sizeof(output));
}
