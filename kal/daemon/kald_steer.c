/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include "kald_steer.h"

#include <errno.h>
#include <linux/filter.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ri_fd.h"

#ifndef SO_ATTACH_REUSEPORT_CBPF
#define SO_ATTACH_REUSEPORT_CBPF 51
#endif
#ifndef F_ADD_SEALS
#define F_ADD_SEALS   1033
#define F_GET_SEALS   1034
#define F_SEAL_SEAL   1
#define F_SEAL_SHRINK 2
#define F_SEAL_GROW   4
#endif
#ifndef MFD_ALLOW_SEALING
#define MFD_ALLOW_SEALING 2u
#endif

#define MAGIC   0x726f6365u
#define VERSION 2u
#define SEALS   (F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW)

/* Offsets in a packet, behind the UDP header: BTH, then of a datagram DETH and the MAD. */
#define AT_QPN       4
#define AT_ATTRIBUTE 36
#define AT_OWN_ID    44 /* of the sender; of SIDR_REP the request's */
#define AT_PEER_ID   48
#define AT_SERVICE   56 /* the lower half */
#define AT_REJECTED \
	68 /* likewise, of a request that its sender withdraws: in octets of a REJ that mean nothing to others */

#define ATTRIBUTE_REQ      0x10
#define ATTRIBUTE_SIDR_REQ 0x17
#define ATTRIBUTE_SIDR_REP 0x18

#define QPN_GSI    1
#define QPN_MASK   0xffffffu
#define QPN_SHIFT  18
#define ID_SHIFT   26
#define HEAD_STEPS 19

#define LOAD(size, at)            BPF_STMT(BPF_LD | (size) | BPF_ABS, at)
#define IF_EQUAL(value, yes, no)  BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, yes, no)
#define COMPUTE(operation, value) BPF_STMT(BPF_ALU | (operation) | BPF_K, value)
#define RETURN_SLOT               BPF_STMT(BPF_RET | BPF_A, 0)
#define SKIP(count)               BPF_STMT(BPF_JMP | BPF_JA, count)

struct kald_memory {
	uint32_t magic;
	uint32_t version;
	_Atomic uint32_t now; /* which of the tables counts */
	uint32_t reserved;
	struct kald_steer tables[2];
};

void
kald_steer_begin(struct kald_steer *steer)
{
	memset(steer, 0, sizeof(*steer));
}

static uint32_t
first_slot(const struct kald_steer *steer)
{
	return steer->used != 0 ? (uint32_t)__builtin_ctzll(steer->used) : 0;
}

int
kald_steer_attach(const struct kald_steer *steer, int fd)
{
	static const struct sock_filter head[HEAD_STEPS] = {
		LOAD(BPF_W, AT_QPN),
		COMPUTE(BPF_AND, QPN_MASK),
		IF_EQUAL(QPN_GSI, 2, 0),
		COMPUTE(BPF_RSH, QPN_SHIFT),
		RETURN_SLOT,
		LOAD(BPF_H, AT_ATTRIBUTE),
		IF_EQUAL(ATTRIBUTE_REQ, 11, 0),
		IF_EQUAL(ATTRIBUTE_SIDR_REQ, 10, 0),
		IF_EQUAL(ATTRIBUTE_SIDR_REP, 4, 0),
		LOAD(BPF_W, AT_PEER_ID),
		IF_EQUAL(0, 5, 0),
		COMPUTE(BPF_RSH, ID_SHIFT),
		RETURN_SLOT,
		LOAD(BPF_W, AT_OWN_ID),
		COMPUTE(BPF_RSH, ID_SHIFT),
		RETURN_SLOT,
		LOAD(BPF_W, AT_REJECTED),
		SKIP(1),
		LOAD(BPF_W, AT_SERVICE),
	};
	struct sock_filter steps[HEAD_STEPS + 2 * KALD_SERVICES_MAX + 1];
	struct sock_fprog program = {.filter = steps};
	unsigned at = HEAD_STEPS;

	memcpy(steps, head, sizeof(head));
	for (uint32_t i = 0; i < steer->count; i++) {
		steps[at++] = (struct sock_filter)IF_EQUAL(steer->services[i].service, 0, 1);
		steps[at++] =
			(struct sock_filter)BPF_STMT(BPF_RET | BPF_K, steer->services[i].slot);
	}
	steps[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, first_slot(steer));
	program.len = (unsigned short)at;
	return setsockopt(fd, SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF, &program, sizeof(program)) == 0
		       ? 0
		       : errno;
}

int
kald_steer_find(const struct kald_steer *steer, uint32_t service)
{
	for (uint32_t i = 0; i < steer->count; i++)
		if (steer->services[i].service == service)
			return (int)i;
	return -1;
}

void
kald_steer_free(struct kald_steer *steer, uint32_t slot)
{
	uint32_t left = 0;

	steer->used &= ~(UINT64_C(1) << slot);
	for (uint32_t i = 0; i < steer->count; i++)
		if (steer->services[i].slot != slot)
			steer->services[left++] = steer->services[i];
	steer->count = left;
}

int
kald_steer_memory(void)
{
	int fd = ri_fd_memory("kald-steer", MFD_ALLOW_SEALING);
	const uint32_t head[2] = {MAGIC, VERSION};
	int error;

	if (fd < 0 || (ftruncate(fd, sizeof(struct kald_memory)) == 0 &&
		       pwrite(fd, head, sizeof(head), 0) == (ssize_t)sizeof(head) &&
		       fcntl(fd, F_ADD_SEALS, SEALS) == 0))
		return fd;
	error = errno;
	close(fd);
	errno = error;
	return -1;
}

struct kald_memory *
kald_steer_map(int memory)
{
	struct stat about;
	void *map;

	/* Only memory has seals. */
	if (fcntl(memory, F_GET_SEALS) != SEALS || fstat(memory, &about) != 0 ||
	    about.st_size != (off_t)sizeof(struct kald_memory))
		return NULL;
	map = mmap(NULL, sizeof(struct kald_memory), PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
	if (map == MAP_FAILED)
		return NULL;
	return map;
}

void
kald_steer_unmap(struct kald_memory *map)
{
	(void)munmap(map, sizeof(*map));
}

void
kald_steer_write(const struct kald_steer *steer, struct kald_memory *map)
{
	uint32_t next = (atomic_load(&map->now) & 1) ^ 1;

	map->tables[next] = *steer;
	atomic_store(&map->now, next);
}

bool
kald_steer_read(struct kald_steer *steer, struct kald_memory *map)
{
	static const uint32_t right[2] = {MAGIC, VERSION};
	uint32_t head[2] = {map->magic, map->version}, count;

	*steer = map->tables[atomic_load(&map->now) & 1];
	count = steer->count;
	if (memcmp(head, right, sizeof(head)) != 0 || count > KALD_SERVICES_MAX)
		return false;
	steer->count = 0;
	for (uint32_t i = 0; i < count; i++) {
		struct kald_steered one = steer->services[i];

		if (one.slot < KALD_SLOTS && (steer->used >> one.slot & 1) != 0 &&
		    kald_steer_find(steer, one.service) < 0)
			steer->services[steer->count++] = one;
	}
	return true;
}
