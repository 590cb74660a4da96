/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Regions of a dmabuf [RI 5.8]: refusals and ends, and that no mapping is left. A memfd that is
 * sealed against shrinking replaces a dmabuf. it-certify and test-itapi-dmabuf test the transfers,
 * and windows over such regions.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "vem.h"
#include "vem_node.h"

#define NAME  UINT64_C(0x7fff00000000) /* the address that names the first byte */
#define PAGES 3u
#define LABEL "test-emul-dmabuf"

struct scene {
	struct vth *vth;
	struct node *node;
	size_t page, size;
	int fd;
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
	s->vth = vth_new(false);
	s->node = node_new(s->vth, false, adapter);
	s->page = (size_t)sysconf(_SC_PAGESIZE);
	s->size = PAGES * s->page;
	s->fd = memfd_of(s->size, F_SEAL_SHRINK);
}

static void
tear_down(struct scene *s)
{
	node_free(&s->node);
	vth_free(&s->vth);
	close(s->fd);
}

static enum ri_status
reg(struct scene *s, const struct ri_mr_init *init, int fd, uint64_t offset, struct chunk *out)
{
	const struct ri_dmabuf from = {.fd = fd, .offset = offset};

	out->mr = NULL;
	out->stag = 0;
	return s->node->p->mem->mr_reg_dmabuf(s->node->pd, init, &from, &out->mr, &out->stag);
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
	init.length = s.node->attr.max_mr_length + 1;
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
	g_assert_cmpint(s.node->p->mem->mr_dereg(region.mr), ==, RI_SUCCESS);
	close(other);
	g_assert_cmpuint(mappings(), ==, 0);
}

/* It cannot be registered anew; the adapter ends it with its process, its mapping included. */
static void
test_ends(gconstpointer adapter)
{
	const struct ri_mr_init init = {
		.addr = NAME, .length = 4096, .access = ALL_RW, .shareable = true};
	struct ri_mr_init other = init;
	static uint8_t octets[4096];
	struct scene s RI_AT_END(tear_down);
	struct node *node;
	struct chunk region;
	struct ri_mr_attr attr;
	const struct ri_dmabuf *from;
	uint32_t stag = 0;

	set_up(&s, adapter);
	other.addr = (uintptr_t)octets;
	g_assert_cmpint(reg(&s, &init, s.fd, 0, &region), ==, RI_SUCCESS);
	g_assert_cmpint(s.node->p->mem->mr_rereg(region.mr, s.node->pd, &other, &stag), ==,
			RI_ERR_UNSUPPORTED);
	g_assert_cmpint(s.node->p->mem->mr_query(region.mr, &attr), ==, RI_SUCCESS);
	g_assert_true(attr.valid);
	g_assert_cmpuint(attr.addr, ==, NAME);
	g_assert_cmpint(s.node->p->mem->mr_dereg(region.mr), ==, RI_SUCCESS);
	node = node_new(s.vth, false, adapter);
	from = &(struct ri_dmabuf){.fd = s.fd};
	g_assert_cmpint(
		node->p->mem->mr_reg_dmabuf(node->pd, &init, from, &region.mr, &region.stag), ==,
		RI_SUCCESS);
	g_assert_cmpuint(mappings(), ==, 1);
	node_free(&node);
	g_assert_cmpuint(mappings(), ==, 0);
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	for (unsigned i = 0; i < 2; i++) {
		const char *adapter = i == 0 ? "emul:ib" : "emul:iwarp";
		g_autofree char *refused = g_strdup_printf("/%s/dmabuf/refused", adapter);
		g_autofree char *ends = g_strdup_printf("/%s/dmabuf/ends", adapter);

		g_test_add_data_func(refused, adapter, test_refused);
		g_test_add_data_func(ends, adapter, test_ends);
	}
	return g_test_run();
}
