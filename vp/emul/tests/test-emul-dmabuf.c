/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Regions of a dmabuf [RI 5.8]. A memfd that is sealed against shrinking stands for one; what /dev/udmabuf makes of it is
 * tried where that device is there.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/udmabuf.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "vem.h"
#include "vem_node.h"

#define NAME  UINT64_C(0x7fff00000000) /* the address that names the first byte */
#define PAGES 3u
#define LABEL "test-emul-dmabuf"

struct scene {
	struct ends p;
	size_t page, size;
	int fd;
	uint8_t *at; /* the bytes of fd */
};

static int
memfd_of(size_t size, unsigned int seals)
{
	int fd = memfd_create(LABEL, MFD_CLOEXEC | MFD_ALLOW_SEALING);

	g_assert_cmpint(fd, >=, 0);
	g_assert_cmpint(ftruncate(fd, (off_t)size), ==, 0);
	g_assert_cmpint(fcntl(fd, F_ADD_SEALS, seals), ==, 0);
	return fd;
}

static void
set_up(struct scene *s, const char *adapter)
{
	ends_open(&s->p, adapter);
	ends_fill(&s->p, NULL, NULL, 4096, ALL_RW);
	s->page = (size_t)sysconf(_SC_PAGESIZE);
	s->size = PAGES * s->page;
	s->fd = memfd_of(s->size, F_SEAL_SHRINK);
	s->at = mmap(NULL, s->size, PROT_READ | PROT_WRITE, MAP_SHARED, s->fd, 0);
	g_assert_true(s->at != MAP_FAILED);
	memset(s->at, 0x5a, s->size);
	ends_connect(s->p.a, s->p.b);
}

static void
tear_down(struct scene *s)
{
	vth_run(s->p.vth);
	node_forget(s->p.na);
	ends_close(&s->p);
	munmap(s->at, s->size);
	if (s->fd >= 0)
		close(s->fd);
}

static enum ri_status
reg(struct scene *s, const struct ri_mr_init *init, int fd, uint64_t offset, struct chunk *out)
{
	const struct ri_dmabuf from = {.fd = fd, .offset = offset};

	out->mr = NULL;
	out->stag = 0;
	return s->p.nb->p->mem->mr_reg_dmabuf(s->p.nb->pd, init, &from, &out->mr, &out->stag);
}

/* How many mappings of the process are of the memfd. */
static unsigned
mappings(void)
{
	g_autofree char *maps = NULL;
	unsigned count = 0;

	g_assert_true(g_file_get_contents("/proc/self/maps", &maps, NULL, NULL));
	for (const char *at = maps; (at = strstr(at, LABEL)) != NULL; at++)
		count += g_str_has_prefix(at - strlen("/memfd:"), "/memfd:");
	return count;
}

static void
data_moves(struct scene *s, int fd)
{
	const struct ri_mr_init init = {
		.addr = NAME + 24, .length = 2 * s->page, .access = ALL_RW, .shareable = true};
	struct ri_sge local = chunk_sge(&s->p.ma, 0, 100), there = {.addr = NAME + 24};
	struct ri_mr_attr attr;
	struct chunk region;

	g_assert_cmpint(reg(s, &init, fd, s->page / 2 + 24, &region), ==, RI_ERR_INVALID_ARG);
	g_assert_cmpint(reg(s, &init, fd, 24, &region), ==, RI_SUCCESS);
	there.stag = region.stag;
	g_assert_cmpint(s->p.nb->p->mem->mr_query(region.mr, &attr), ==, RI_SUCCESS);
	g_assert_cmpuint(attr.addr, ==, NAME + 24);
	g_assert_cmpuint(attr.length, ==, 2 * s->page);
	/* The first 100 bytes, and the last ones. */
	chunk_fill(&s->p.ma, 1);
	post_rdma(s->p.a, RI_OP_RDMA_WRITE, 1, &local, &there);
	poll_one(s->p.a->uscq, 1, RI_WC_SUCCESS);
	g_assert_cmpmem(s->at + 24, 100, s->p.ma.at, 100);
	g_assert_cmpuint(s->at[23], ==, 0x5a);
	g_assert_cmpuint(s->at[124], ==, 0x5a);
	there.addr = init.addr + init.length - 100;
	post_rdma(s->p.a, RI_OP_RDMA_WRITE, 2, &local, &there);
	poll_one(s->p.a->uscq, 2, RI_WC_SUCCESS);
	g_assert_cmpmem(s->at + 24 + init.length - 100, 100, s->p.ma.at, 100);
	g_assert_cmpuint(s->at[24 + init.length], ==, 0x5a);
	/* A Read, and a Send of the region's side. */
	memset(s->at + 24, 7, 100);
	there.addr = NAME + 24;
	post_rdma(s->p.a, RI_OP_RDMA_READ, 3, &local, &there);
	poll_one(s->p.a->uscq, 3, RI_WC_SUCCESS);
	g_assert_cmpuint(s->p.ma.at[99], ==, 7);
	memset(s->at + 24, 9, 100);
	there.length = 100;
	post_recv(s->p.a, 4, &local);
	post_send(s->p.b, 5, &there, 0);
	poll_one(s->p.b->uscq, 5, RI_WC_SUCCESS);
	poll_one(s->p.a->urcq, 4, RI_WC_SUCCESS);
	g_assert_cmpuint(s->p.ma.at[99], ==, 9);
	g_assert_cmpint(s->p.nb->p->mem->mr_dereg(region.mr), ==, RI_SUCCESS);
	g_assert_cmpint(fcntl(fd, F_GETFD), ==, FD_CLOEXEC);
	memset(s->at, 0x5a, s->size);
}

/* All operations, over the memfd and over a dmabuf; the mapping lives as long as the region. */
static void
test_data(gconstpointer adapter)
{
	struct udmabuf_create create = {.flags = UDMABUF_FLAGS_CLOEXEC};
	struct scene s RI_AT_END(tear_down);
	int device, dmabuf;

	set_up(&s, adapter);
	g_assert_true(s.p.na->attr.dmabuf);
	g_assert_cmpuint(mappings(), ==, 1);
	data_moves(&s, s.fd);
	g_assert_cmpuint(mappings(), ==, 1);
	device = open("/dev/udmabuf", O_RDWR | O_CLOEXEC);
	if (device < 0) {
		g_test_message("no dmabuf can be made: /dev/udmabuf: %s", g_strerror(errno));
	} else {
		create.memfd = (uint32_t)s.fd;
		create.size = s.size;
		dmabuf = ioctl(device, UDMABUF_CREATE, &create);
		g_assert_cmpint(dmabuf, >=, 0);
		data_moves(&s, dmabuf);
		close(dmabuf);
		close(device);
	}
}

/* The region keeps the memory when its descriptor is closed, and a window can be bound over it. */
static void
test_window(gconstpointer adapter)
{
	const struct ri_mr_init init = {.addr = NAME,
					.length = 4096,
					.access = LOCAL_RW | RI_ACCESS_BIND,
					.shareable = true};
	struct ri_wr bind = {
		.wr_id = 1,
		.opcode = RI_OP_BIND_MW,
		.flags = RI_WR_SIGNALED,
		.u.bind = {.addr = NAME + 1000, .length = 50, .access = RI_ACCESS_REMOTE_WRITE}};
	struct ri_sge there = {.addr = NAME + 1000};
	struct scene s RI_AT_END(tear_down);
	struct ri_sge local;
	struct chunk region;
	struct ri_mw *mw;

	set_up(&s, adapter);
	local = chunk_sge(&s.p.ma, 0, 50);
	g_assert_cmpint(reg(&s, &init, s.fd, 0, &region), ==, RI_SUCCESS);
	close(s.fd);
	s.fd = -1;
	g_assert_cmpuint(mappings(), ==, 2);
	g_assert_cmpint(
		s.p.nb->p->mem->mw_alloc(s.p.nb->pd, RI_MW_NARROW, &mw, &bind.u.bind.mw_stag), ==,
		RI_SUCCESS);
	bind.u.bind.mr_stag = region.stag;
	g_assert_cmpint(s.p.nb->p->fast->post_sq(s.p.b->uqp, &bind), ==, RI_SUCCESS);
	poll_one(s.p.b->uscq, 1, RI_WC_SUCCESS);
	g_assert_cmpint(s.p.nb->p->mem->mr_dereg(region.mr), ==, RI_ERR_BUSY);
	chunk_fill(&s.p.ma, 3);
	there.stag = bind.u.bind.mw_stag;
	post_rdma(s.p.a, RI_OP_RDMA_WRITE, 2, &local, &there);
	poll_one(s.p.a->uscq, 2, RI_WC_SUCCESS);
	g_assert_cmpmem(s.at + 1000, 50, s.p.ma.at, 50);
	g_assert_cmpuint(s.at[1050], ==, 0x5a);
	g_assert_cmpint(s.p.nb->p->mem->mw_free(mw), ==, RI_SUCCESS);
	g_assert_cmpint(s.p.nb->p->mem->mr_dereg(region.mr), ==, RI_SUCCESS);
	g_assert_cmpuint(mappings(), ==, 1);
}

/* Each refusal leaves no mapping. */
static void
test_refused(gconstpointer adapter)
{
	struct ri_mr_init init = {.addr = NAME, .access = ALL_RW, .shareable = true};
	char path[64];
	struct scene s RI_AT_END(tear_down);
	struct chunk region;
	int other;

	set_up(&s, adapter);
	init.length = s.page;
	g_assert_cmpint(reg(&s, &init, -1, 0, &region), ==, RI_ERR_INVALID_ARG);
	other = open("/dev/zero", O_RDWR | O_CLOEXEC);
	g_assert_cmpint(reg(&s, &init, other, 0, &region), ==, RI_ERR_INVALID_ARG);
	close(other);
	other = memfd_of(s.size, F_SEAL_GROW); /* it can shrink */
	g_assert_cmpint(reg(&s, &init, other, 0, &region), ==, RI_ERR_INVALID_ARG);
	close(other);
	g_assert_cmpint(reg(&s, &init, s.fd, 1, &region), ==, RI_ERR_INVALID_ARG);
	g_assert_cmpint(reg(&s, &init, s.fd, s.size, &region), ==, RI_ERR_ADDRESS);
	g_assert_cmpint(reg(&s, &init, s.fd, UINT64_MAX - s.page + 1, &region), ==, RI_ERR_ADDRESS);
	init.length = s.size + 1;
	g_assert_cmpint(reg(&s, &init, s.fd, 0, &region), ==, RI_ERR_ADDRESS);
	init.length = 0;
	g_assert_cmpint(reg(&s, &init, s.fd, 0, &region), ==, RI_ERR_INVALID_ARG);
	init.length = s.p.nb->attr.max_mr_length + 1;
	g_assert_cmpint(reg(&s, &init, s.fd, 0, &region), ==, RI_ERR_LIMIT);
	init.length = 2 * s.page;
	init.addr = UINT64_MAX - s.page + 1;
	g_assert_cmpint(reg(&s, &init, s.fd, 0, &region), ==, RI_ERR_ADDRESS);
	init.addr = NAME;
	init.access = RI_ACCESS_REMOTE_WRITE | RI_ACCESS_LOCAL_READ;
	g_assert_cmpint(reg(&s, &init, s.fd, 0, &region), ==, RI_ERR_INVALID_ARG);
	/* A descriptor that may only read. */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", s.fd);
	other = open(path, O_RDONLY | O_CLOEXEC);
	init.access = ALL_RW;
	g_assert_cmpint(reg(&s, &init, other, 0, &region), ==, RI_ERR_ACCESS);
	init.access = RI_ACCESS_LOCAL_READ | RI_ACCESS_REMOTE_READ;
	g_assert_cmpint(reg(&s, &init, other, 0, &region), ==, RI_SUCCESS);
	g_assert_cmpint(s.p.nb->p->mem->mr_dereg(region.mr), ==, RI_SUCCESS);
	close(other);
	g_assert_cmpuint(mappings(), ==, 1);
}

/* It cannot be registered anew; the adapter ends it with its process, its mapping included. */
static void
test_ends(gconstpointer adapter)
{
	const struct ri_mr_init init = {
		.addr = NAME, .length = 4096, .access = ALL_RW, .shareable = true};
	struct ri_mr_init other = init;
	struct scene s RI_AT_END(tear_down);
	struct node *node;
	struct chunk region;
	struct ri_mr_attr attr;
	const struct ri_dmabuf *from;
	uint32_t stag = 0;

	set_up(&s, adapter);
	other.addr = (uintptr_t)s.p.ma.at;
	g_assert_cmpint(reg(&s, &init, s.fd, 0, &region), ==, RI_SUCCESS);
	g_assert_cmpint(s.p.nb->p->mem->mr_rereg(region.mr, s.p.nb->pd, &other, &stag), ==,
			RI_ERR_UNSUPPORTED);
	g_assert_cmpint(s.p.nb->p->mem->mr_query(region.mr, &attr), ==, RI_SUCCESS);
	g_assert_true(attr.valid);
	g_assert_cmpuint(attr.addr, ==, NAME);
	g_assert_cmpint(s.p.nb->p->mem->mr_dereg(region.mr), ==, RI_SUCCESS);
	node = node_new(s.p.vth, false, adapter);
	from = &(struct ri_dmabuf){.fd = s.fd};
	g_assert_cmpint(
		node->p->mem->mr_reg_dmabuf(node->pd, &init, from, &region.mr, &region.stag), ==,
		RI_SUCCESS);
	g_assert_cmpuint(mappings(), ==, 2);
	node_free(&node);
	g_assert_cmpuint(mappings(), ==, 1);
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	for (unsigned i = 0; i < 2; i++) {
		const char *adapter = i == 0 ? "emul:ib" : "emul:iwarp";
		static const struct {
			const char *name;
			GTestDataFunc run;
		} tests[] = {{"data", test_data},
			     {"window", test_window},
			     {"refused", test_refused},
			     {"ends", test_ends}};

		for (size_t j = 0; j < G_N_ELEMENTS(tests); j++) {
			g_autofree char *path =
				g_strdup_printf("/%s/dmabuf/%s", adapter, tests[j].name);

			g_test_add_data_func(path, adapter, tests[j].run);
		}
	}
	return g_test_run();
}
