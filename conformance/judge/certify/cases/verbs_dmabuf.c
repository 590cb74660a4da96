/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Regions of a dmabuf [RI 5.8]. The dmabuf is made by /dev/udmabuf from pages of a memfd, through which the case sees the same
 * bytes. Where that device is missing, an adapter of software gets the memfd itself.
 */

#include <errno.h>
#include <fcntl.h>
#include <linux/udmabuf.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cert_host.h"
#include "cert_node.h"
#include "verbs_scarce.h"

#define PAGES 4u
#define NAME  UINT64_C(0x7000000000) /* the address that names the first byte of a dmabuf */

/* A dmabuf, and its bytes. */
struct buffer {
	struct cert *cert;
	int fd;
	size_t page, size;
	uint8_t *at;
};

/* The dmabuf over the whole memfd, or -1 and errno. */
static int
udmabuf_of(int memfd, size_t size)
{
	struct udmabuf_create create = {
		.memfd = (uint32_t)memfd, .flags = UDMABUF_FLAGS_CLOEXEC, .size = size};
	int device = open("/dev/udmabuf", O_RDWR | O_CLOEXEC), fd, error;

	if (device < 0)
		return -1;
	fd = ioctl(device, UDMABUF_CREATE, &create);
	error = errno;
	close(device);
	errno = error;
	return fd;
}

/* False: none can be made here, and the case is skipped. */
static bool
buffer_open(struct buffer *buffer, struct cert *cert)
{
	int memfd = memfd_create("it-certify", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	*buffer = (struct buffer){.cert = cert, .page = (size_t)sysconf(_SC_PAGESIZE)};
	buffer->size = PAGES * buffer->page;
	CERT_TRUE(cert, memfd >= 0);
	CERT_TRUE(cert, ftruncate(memfd, (off_t)buffer->size) == 0);
	CERT_TRUE(cert, fcntl(memfd, F_ADD_SEALS, F_SEAL_SHRINK) == 0);
	buffer->at = mmap(NULL, buffer->size, PROT_READ | PROT_WRITE, MAP_SHARED, memfd, 0);
	CERT_TRUE(cert, buffer->at != MAP_FAILED);
	buffer->fd = udmabuf_of(memfd, buffer->size);
	if (buffer->fd >= 0) {
		close(memfd);
		return true;
	}
	buffer->fd = memfd;
	if (cert_attr(cert)->software)
		return true;
	cert_skip(cert, "no dmabuf can be made: /dev/udmabuf: %s", g_strerror(errno));
	munmap(buffer->at, buffer->size);
	close(memfd);
	return false;
}

static void
buffer_close(struct buffer *buffer)
{
	munmap(buffer->at, buffer->size);
	if (buffer->fd >= 0)
		close(buffer->fd);
}

/* Registers; what a wrong success left is taken back with the node. */
static enum ri_status
reg(struct cert_node *node, const struct ri_mr_init *init, const struct ri_dmabuf *from,
    struct cert_region *out)
{
	*out = (struct cert_region){.node = node, .length = init->length};
	return node->p->mem->mr_reg_dmabuf(node->pd, init, from, &out->mr, &out->stag);
}

/* A segment of a region whose first byte has that name. */
static struct ri_sge
named(const struct cert_region *region, uint64_t addr, size_t length)
{
	return (struct ri_sge){.addr = addr, .length = (uint32_t)length, .stag = region->stag};
}

/* Any part of any length, from any offset; the descriptor is closed before the memory is used. */
static void
moves_data(struct cert *cert)
{
	struct cert_node *near = cert_node_open(cert), *far = cert_node_open(cert);
	struct cert_end *a = cert_end_new(near, NULL), *b = cert_end_new(far, NULL);
	struct cert_region *plain = cert_region_new(near, 4096, CERT_ALL), region;
	struct buffer buffer;
	struct ri_sge local = cert_sge(plain, 0, 4096), remote;
	struct ri_mr_init init;
	struct ri_dmabuf from;

	if (!buffer_open(&buffer, cert))
		return;
	from = (struct ri_dmabuf){.fd = buffer.fd, .offset = buffer.page + 40};
	init = (struct ri_mr_init){.addr = NAME + 40,
				   .length = 2 * buffer.page - 60,
				   .access = CERT_ALL,
				   .shareable = true};
	CERT_VERB(cert, RI_SUCCESS, reg(far, &init, &from, &region));
	close(buffer.fd);
	buffer.fd = -1;
	cert_connect(a, b);
	/* A Write to its end, a Read of the same bytes, a Send from it: no other byte changes. */
	memset(buffer.at, 0x5a, buffer.size);
	local.length = 1000;
	cert_fill(plain->at, 1000, 1);
	remote = named(&region, init.addr + init.length - 1000, 1000);
	cert_post_rdma(a, RI_OP_RDMA_WRITE, 1, &local, &remote);
	cert_wc_is(a, false, 1, RI_WC_SUCCESS);
	memset(plain->at, 0, 1000);
	cert_post_rdma(a, RI_OP_RDMA_READ, 2, &local, &remote);
	cert_wc_is(a, false, 2, RI_WC_SUCCESS);
	cert_expect_fill(cert, "a Read of a dmabuf", plain->at, 1000, 1);
	cert_expect_fill(cert, "a dmabuf that was written",
			 buffer.at + from.offset + init.length - 1000, 1000, 1);
	CERT_UINT(cert, buffer.at[from.offset + init.length], ==, 0x5a);
	CERT_UINT(cert, buffer.at[from.offset + init.length - 1001], ==, 0x5a);
	/* A short Send, which a provider may copy while it is posted. */
	cert_fill(buffer.at + from.offset, 24, 3);
	local.length = 24;
	cert_post_recv(a, 3, &local, 1);
	remote = named(&region, init.addr, 24);
	cert_post_send(b, 4, &remote, 1, 0);
	cert_wc_is(a, true, 3, RI_WC_SUCCESS);
	cert_wc_is(b, false, 4, RI_WC_SUCCESS);
	cert_expect_fill(cert, "a Send from a dmabuf", plain->at, 24, 3);
	cert_disconnect(a, b);
	CERT_VERB(cert, RI_SUCCESS, far->p->mem->mr_dereg(region.mr));
	buffer_close(&buffer);
}

/* One byte beyond the region is not reached, and a key that is revoked reaches nothing. */
static void
bounds(struct cert *cert)
{
	struct cert_node *near = cert_node_open(cert), *far = cert_node_open(cert);
	struct cert_region *plain = cert_region_new(near, 64, CERT_ALL), region;
	struct buffer buffer;
	struct ri_sge local = cert_sge(plain, 0, 64), remote;
	struct ri_mr_init init = {.addr = NAME, .access = CERT_ALL, .shareable = true};
	struct ri_dmabuf from = {0};

	if (!buffer_open(&buffer, cert))
		return;
	from.fd = buffer.fd;
	init.length = buffer.page - 100; /* its page has more bytes, which belong to others */
	memset(buffer.at, 0x5a, buffer.size);
	for (unsigned i = 0; i < 3; i++) {
		struct cert_end *a = cert_end_new(near, NULL), *b = cert_end_new(far, NULL);

		cert_note(cert, "step %u", i);
		CERT_VERB(cert, RI_SUCCESS, reg(far, &init, &from, &region));
		cert_connect(a, b);
		remote = named(&region, i == 0 ? NAME - 1 : NAME + init.length - 63, 64);
		if (i == 2) {
			remote.addr = NAME;
			CERT_VERB(cert, RI_SUCCESS, far->p->mem->mr_dereg(region.mr));
		}
		cert_post_rdma(a, RI_OP_RDMA_WRITE, 1, &local, &remote);
		cert_wait_end(a);
		cert_wait_end(b);
		if (i != 2)
			CERT_VERB(cert, RI_SUCCESS, far->p->mem->mr_dereg(region.mr));
		for (size_t at = 0; at < buffer.size; at++)
			CERT_UINT(cert, buffer.at[at], ==, 0x5a);
		cert_end_free(a);
		cert_end_free(b);
	}
	buffer_close(&buffer);
}

/* What the region is is told by a query; the descriptor stays open and the caller's. */
static void
query(struct cert *cert)
{
	struct cert_node *node = cert_node_open(cert);
	struct cert_region region;
	struct buffer buffer;
	struct ri_mr_init init = {.addr = NAME, .access = CERT_LOCAL, .shareable = true};
	struct ri_mr_attr attr;
	struct ri_dmabuf from = {0};

	if (!buffer_open(&buffer, cert))
		return;
	from.fd = buffer.fd;
	init.length = buffer.size;
	CERT_VERB(cert, RI_SUCCESS, reg(node, &init, &from, &region));
	CERT_UINT(cert, region.stag, !=, 0);
	CERT_VERB(cert, RI_SUCCESS, node->p->mem->mr_query(region.mr, &attr));
	CERT_UINT(cert, attr.stag, ==, region.stag);
	CERT_UINT(cert, attr.addr, ==, NAME);
	CERT_UINT(cert, attr.length, ==, init.length);
	CERT_UINT(cert, attr.access & CERT_LOCAL, ==, CERT_LOCAL);
	CERT_TRUE(cert, attr.valid);
	CERT_VERB(cert, RI_SUCCESS, node->p->mem->mr_dereg(region.mr));
	CERT_TRUE(cert, fcntl(buffer.fd, F_GETFD) >= 0);
	/* The region kept nothing of it: all of it can be registered again. */
	CERT_VERB(cert, RI_SUCCESS, reg(node, &init, &from, &region));
	CERT_VERB(cert, RI_SUCCESS, node->p->mem->mr_dereg(region.mr));
	buffer_close(&buffer);
}

static void
refusals(struct cert *cert)
{
	struct cert_node *node = cert_node_open(cert);
	struct cert_region region;
	struct buffer buffer;
	struct ri_mr_init good = {.addr = NAME, .access = CERT_ALL, .shareable = true}, init;
	struct ri_dmabuf from = {.fd = -1};
	int pipes[2];

	if (!buffer_open(&buffer, cert))
		return;
	CERT_TRUE(cert, pipe2(pipes, O_CLOEXEC) == 0);
	init = good;
	init.length = good.length = buffer.page;
	CERT_VERB(cert, RI_ERR_INVALID_ARG, reg(node, &init, &from, &region));
	from.fd = pipes[0];
	CERT_VERB(cert, RI_ERR_INVALID_ARG, reg(node, &init, &from, &region));
	from.fd = buffer.fd;
	init.length = 0;
	CERT_VERB(cert, RI_ERR_INVALID_ARG, reg(node, &init, &from, &region));
	init = good;
	init.access = RI_ACCESS_REMOTE_WRITE | RI_ACCESS_LOCAL_READ;
	CERT_VERB(cert, RI_ERR_INVALID_ARG, reg(node, &init, &from, &region));
	init = good;
	from.offset = 8;
	CERT_VERB(cert, RI_ERR_INVALID_ARG, reg(node, &init, &from, &region));
	from.offset = buffer.size;
	CERT_VERB(cert, RI_ERR_ADDRESS, reg(node, &init, &from, &region));
	from.offset = buffer.page;
	init.length = buffer.size - buffer.page + 1;
	CERT_VERB(cert, RI_ERR_ADDRESS, reg(node, &init, &from, &region));
	from.offset = -(uint64_t)buffer.page;
	init.length = 2 * buffer.page;
	CERT_VERB(cert, RI_ERR_ADDRESS, reg(node, &init, &from, &region));
	init.addr = from.offset;
	from.offset = 0;
	CERT_VERB(cert, RI_ERR_ADDRESS, reg(node, &init, &from, &region));
	init = good;
	init.length = node->attr.max_mr_length;
	if (init.length < UINT64_MAX - NAME) {
		init.length++;
		CERT_VERB(cert, RI_ERR_LIMIT, reg(node, &init, &from, &region));
	}
	close(pipes[0]);
	close(pipes[1]);
	buffer_close(&buffer);
}

/* The region stays as it is. */
static void
not_anew(struct cert *cert)
{
	struct cert_node *node = cert_node_open(cert);
	static uint8_t memory[64];
	struct cert_region region;
	struct buffer buffer;
	struct ri_mr_init init = {.addr = NAME, .access = CERT_LOCAL, .shareable = true};
	struct ri_mr_init other = {
		.addr = (uintptr_t)memory, .length = sizeof(memory), .access = CERT_LOCAL};
	struct ri_dmabuf from = {0};
	struct ri_mr_attr attr;
	uint32_t stag = 0;

	if (!buffer_open(&buffer, cert))
		return;
	from.fd = buffer.fd;
	init.length = buffer.page;
	CERT_VERB(cert, RI_SUCCESS, reg(node, &init, &from, &region));
	CERT_VERB(cert, RI_ERR_UNSUPPORTED,
		  node->p->mem->mr_rereg(region.mr, node->pd, &other, &stag));
	CERT_VERB(cert, RI_SUCCESS, node->p->mem->mr_query(region.mr, &attr));
	CERT_TRUE(cert, attr.valid);
	CERT_UINT(cert, attr.stag, ==, region.stag);
	CERT_UINT(cert, attr.addr, ==, NAME);
	CERT_VERB(cert, RI_SUCCESS, node->p->mem->mr_dereg(region.mr));
	buffer_close(&buffer);
}

/* --- want of memory ---------------------------------------------------------------------- */

struct scene {
	struct cert_node *node;
	struct ri_mr_init init;
	struct ri_dmabuf from;
	struct cert_region region;
};

static enum ri_status
reg_try(struct scene *scene)
{
	return reg(scene->node, &scene->init, &scene->from, &scene->region);
}

static void
reg_undo(struct scene *scene)
{
	CERT_VERB(scene->node->cert, RI_SUCCESS, scene->node->p->mem->mr_dereg(scene->region.mr));
}

static void
starved(struct cert *cert)
{
	static const struct scarce what = {"ri_mem_ops::mr_reg_dmabuf", NULL, reg_try, reg_undo,
					   NULL};
	struct scene scene = {.init = {.addr = NAME, .access = CERT_LOCAL, .shareable = true}};
	struct buffer buffer;

	if (!scarce_can(cert) || !buffer_open(&buffer, cert))
		return;
	scene.node = cert_node_open(cert);
	scene.from.fd = buffer.fd;
	scene.init.length = buffer.size;
	scarce_sweep(cert, &what, &scene);
	cert_node_close(scene.node);
	buffer_close(&buffer);
}

static const struct cert_case cases[] = {
	{.id = "verbs.dmabuf.data.0001",
	 .title = "Writes, Reads and Sends move the bytes of a dmabuf by the addresses that were "
		  "chosen",
	 .rule = "[RI 5.8.1] [RI 5.8.2]",
	 .needs = "dmabuf",
	 .settles = "dmabuf",
	 .run = moves_data},
	{.id = "verbs.dmabuf.data.0002",
	 .title = "No byte beyond a region of a dmabuf is reached, and none through a revoked key",
	 .rule = "[RI 5.8.2] [RI 5.7.1]",
	 .needs = "dmabuf",
	 .run = bounds},
	{.id = "verbs.dmabuf.register.0001",
	 .title = "A region of a dmabuf is told by a query, and the descriptor stays the caller's",
	 .rule = "[RI 5.8.1] [RI 2.2.1]",
	 .needs = "dmabuf",
	 .run = query},
	{.id = "verbs.dmabuf.register.0002",
	 .title = "What is no dmabuf, not in it, or not at its place of a page is refused",
	 .rule = "[RI 5.8.1] [RI 5.8.2] [RI 5.3.1]",
	 .needs = "dmabuf",
	 .settles = "max_mr_length",
	 .run = refusals},
	{.id = "verbs.dmabuf.again.0001",
	 .title = "A region of a dmabuf cannot be registered anew",
	 .rule = "[RI 5.8.3]",
	 .needs = "dmabuf reregister",
	 .run = not_anew},
	{.id = "verbs.scarce.mr.0003",
	 .title = "Registering a dmabuf while memory for it runs out fails whole",
	 .rule = "[RI 2.1.1] [RI 5.8.1]",
	 .needs = "dmabuf",
	 .run = starved},
};

CERT_SET(verbs_dmabuf, cases);
