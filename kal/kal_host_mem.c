/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Memory of this process, for engines in this process: an engine uses the addresses of the application, and nothing
 * is pinned. What remains is to check that a range is mapped with the requested rights. /proc/self/maps shows that
 * without touching the memory; it is read through a buffer on the stack, up to the end of the range. Where /proc is
 * missing, msync shows at least whether the range is mapped.
 */

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kal_host.h"
#include "ri_fd.h"

/* Progress of one check: everything below `need` is mapped with the rights. */
struct range_check {
	uint64_t need;
	uint64_t end;
	bool read, write;
	enum ri_status result; /* RI_ERR_ADDRESS until decided */
	bool done;
};

/* Check the next mapping; mappings come in ascending order and do not overlap. */
static void
check_mapping(struct range_check *check, uint64_t first, uint64_t end, const char *rights)
{
	if (end <= check->need)
		return;
	if (first > check->need) {
		check->done = true;
		return;
	}
	if ((check->read && rights[0] != 'r') || (check->write && rights[1] != 'w')) {
		check->result = RI_ERR_ACCESS;
		check->done = true;
		return;
	}
	check->need = end;
	if (end >= check->end) {
		check->result = RI_SUCCESS;
		check->done = true;
	}
}

static const char *
take_hex(const char *at, const char *end, uint64_t *value)
{
	*value = 0;
	for (; at < end; at++) {
		unsigned digit;

		if (*at >= '0' && *at <= '9')
			digit = (unsigned)(*at - '0');
		else if (*at >= 'a' && *at <= 'f')
			digit = (unsigned)(*at - 'a') + 10;
		else
			break;
		*value = *value << 4 | digit;
	}
	return at;
}

/* "first-end rwxp ..." */
static void
check_line(struct range_check *check, const char *line, const char *end)
{
	uint64_t first, last;
	const char *at = take_hex(line, end, &first);

	if (at == end || *at != '-')
		return;
	at = take_hex(at + 1, end, &last);
	if (end - at >= 3 && *at == ' ')
		check_mapping(check, first, last, at + 1);
}

static void
check_lines(struct range_check *check, int maps)
{
	char text[8192];
	size_t have = 0;

	while (!check->done) {
		ssize_t got = read(maps, text + have, sizeof(text) - have);
		char *line = text, *newline;

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return;
		have += (size_t)got;
		while (!check->done &&
		       (newline = memchr(line, '\n', have - (size_t)(line - text))) != NULL) {
			check_line(check, line, newline);
			line = newline + 1;
		}
		have -= (size_t)(line - text);
		memmove(text, line, have);
		if (have == sizeof(text))
			have = 0; /* the numbers of such a long line were read before */
	}
}

static enum ri_status
check_mapped(uint64_t addr, uint64_t end)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t first = addr & ~(page - 1);

	if (msync((void *)(uintptr_t)first, (size_t)(end - first), MS_ASYNC) == 0)
		return RI_SUCCESS;
	return RI_ERR_ADDRESS;
}

enum ri_status
kal_host_mem_attach(void *self, uint64_t owner, struct ri_mem *mem, uint32_t access)
{
	struct kal_host *host = self;
	struct range_check check = {
		.need = mem->addr,
		.end = mem->addr + mem->length,
		.read = (access & (RI_ACCESS_LOCAL_READ | RI_ACCESS_REMOTE_READ)) != 0,
		.write = (access & (RI_ACCESS_LOCAL_WRITE | RI_ACCESS_REMOTE_WRITE |
				    RI_ACCESS_REMOTE_ATOMIC)) != 0,
		.result = RI_ERR_ADDRESS,
	};
	int maps;

	if (atomic_load(&host->dead))
		return RI_ERR_FATAL;
	if (owner != KAL_MEM_OWNER_SELF || check.end < mem->addr)
		return RI_ERR_ADDRESS;
	if (mem->length > 0) {
		maps = ri_fd_open("/proc/self/maps", O_RDONLY, 0);
		if (maps >= 0) {
			check_lines(&check, maps);
			close(maps);
		} else if (errno == EMFILE || errno == ENFILE || errno == ENOMEM) {
			check.result = RI_ERR_RESOURCES;
		} else {
			check.result = check_mapped(mem->addr, check.end);
		}
		if (check.result != RI_SUCCESS)
			return check.result;
	}
	mem->base = (uint8_t *)(uintptr_t)mem->addr;
	return RI_SUCCESS;
}

void
kal_host_mem_detach(void *self, struct ri_mem *mem)
{
	(void)self;
	mem->base = NULL;
}

enum ri_status
kal_host_mem_copy(void *self, struct ri_mem *mem, uint64_t offset, void *buf, size_t len,
		  bool write)
{
	(void)self;
	if (mem->base == NULL || offset > mem->length || len > mem->length - offset)
		return RI_ERR_ADDRESS;
	if (write)
		memcpy(mem->base + offset, buf, len);
	else
		memcpy(buf, mem->base + offset, len);
	return RI_SUCCESS;
}
