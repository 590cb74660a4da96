/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* A file in memory whose contents are an input, with a path to open it by. */
#ifndef FUZZ_MEMORY_FILE_H
#define FUZZ_MEMORY_FILE_H

#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"

struct fuzz_memory_file {
	int fd;
	char path[32];
};

static inline struct fuzz_memory_file
fuzz_memory_file_make(void)
{
	struct fuzz_memory_file file = {.fd = memfd_create("input", MFD_CLOEXEC)};

	FUZZ_REQUIRE(file.fd >= 0);
	snprintf(file.path, sizeof(file.path), "/proc/self/fd/%d", file.fd);
	return file;
}

static inline void
fuzz_memory_file_fill(const struct fuzz_memory_file *file, const uint8_t *octets, size_t len)
{
	FUZZ_REQUIRE(ftruncate(file->fd, 0) == 0);
	FUZZ_REQUIRE(pwrite(file->fd, octets, len, 0) == (ssize_t)len);
}

#endif /* FUZZ_MEMORY_FILE_H */
