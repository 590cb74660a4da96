/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Regions of a dmabuf [IT 8.10]. The dmabuf is what /dev/udmabuf makes of a memfd; without that device the test
 * registers the memfd itself, which the software adapters accept.
 */

#include <fcntl.h>
#include <linux/udmabuf.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "it_ext.h"
#include "it_pair.h"

#define SIGNALED IT_COMPLETION_FLAG
#define PAGES    4u
#define NAME     ((unsigned char *)(uintptr_t)0x70000000) /* the address that names the first byte */

/* A dmabuf, and its bytes. */
struct buffer {
	int fd;
	bool real; /* it is not a memfd */
	size_t page, size;
	unsigned char *at;
};

static int
udmabuf_of(int memfd, size_t size)
{
	struct udmabuf_create create = {
		.memfd = (uint32_t)memfd, .flags = UDMABUF_FLAGS_CLOEXEC, .size = size};
	int device = open("/dev/udmabuf", O_RDWR | O_CLOEXEC), fd;

	if (device < 0)
		return -1;
	fd = ioctl(device, UDMABUF_CREATE, &create);
	close(device);
	return fd;
}

static int
memfd_of(size_t size)
{
	int fd = memfd_create("test-itapi-dmabuf", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	g_assert_cmpint(fd, >=, 0);
	g_assert_cmpint(ftruncate(fd, (off_t)size), ==, 0);
	g_assert_cmpint(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK), ==, 0);
	return fd;
}

static it_status_t
create(const struct end *end, const struct buffer *buffer, uint64_t offset, it_length_t length,
       it_lmr_handle_t *lmr)
{
	return itx_lmr_create_dmabuf(end->pz, buffer->fd, offset, length, NAME, IT_PRIV_ALL,
				     IT_LMR_FLAG_NONE, lmr, NULL);
}

static void
buffer_close(struct buffer *buffer)
{
	munmap(buffer->at, buffer->size);
	if (buffer->fd >= 0)
		close(buffer->fd);
}

/* False: none can be made that the adapter takes, and the test is skipped. */
static bool
buffer_open(struct buffer *buffer, const struct end *end)
{
	it_lmr_handle_t lmr = NULL;
	int memfd, dmabuf;

	buffer->page = (size_t)sysconf(_SC_PAGESIZE);
	buffer->size = PAGES * buffer->page;
	memfd = memfd_of(buffer->size);
	dmabuf = udmabuf_of(memfd, buffer->size);
	buffer->at = mmap(NULL, buffer->size, PROT_READ | PROT_WRITE, MAP_SHARED, memfd, 0);
	g_assert_true(buffer->at != MAP_FAILED);
	buffer->real = dmabuf >= 0;
	buffer->fd = buffer->real ? dmabuf : memfd;
	if (buffer->real)
		close(memfd);
	if (!buffer->real && create(end, buffer, 0, 1, &lmr) == IT_ERR_INVALID_HANDLE) {
		g_test_skip("the adapter takes no memfd, and there is no /dev/udmabuf");
		buffer_close(buffer);
		return false;
	}
	if (lmr != NULL)
		pair_ok(it_lmr_free(lmr));
	return true;
}

/* An adapter that lacks the ability refuses the call, whatever it is given. */
static void
test_support(struct pair *pair)
{
	struct end *a = &pair->active;
	struct buffer buffer = {.fd = memfd_of(4096)};
	it_lmr_handle_t lmr = (it_lmr_handle_t)a->ep; /* a refusal writes NULL */
	uint64_t support = 0;

	pair_ok(itx_ia_query_support(a->ia, &support));
	g_assert_cmpint(end_has(a, NEEDS_DMABUF), ==, (support & ITX_SUPPORT_DMABUF) != 0);
	if ((support & ITX_SUPPORT_DMABUF) == 0)
		g_assert_cmpint(create(a, &buffer, 0, 4096, &lmr), ==, IT_ERR_OP_NOT_SUPPORTED);
	close(buffer.fd);
	buffer.fd = -1;
	g_assert_cmpint(create(a, &buffer, 0, 4096, &lmr), ==,
			(support & ITX_SUPPORT_DMABUF) == 0 ? IT_ERR_OP_NOT_SUPPORTED
							    : IT_ERR_INVALID_HANDLE);
	g_assert_null(lmr);
}

static it_lmr_triplet_t
segment(it_lmr_handle_t lmr, size_t at, it_length_t length)
{
	return (it_lmr_triplet_t){.lmr = lmr, .addr.abs = NAME + at, .length = length};
}

/* Writes, Reads and Sends of both sides; the descriptor is closed before the memory is used. */
static void
test_data(struct pair *pair)
{
	struct end *a = &pair->active, *b = &pair->passive;
	it_lmr_triplet_t out = end_segment(a, 0, 1000), in = end_segment(a, 4096, 1000), part;
	struct buffer buffer;
	it_lmr_handle_t lmr = NULL;
	it_rmr_context_t context = 0;
	it_rdma_addr_t addr;
	it_length_t length;

	if (!buffer_open(&buffer, b))
		return;
	length = 2 * buffer.page + 100;
	pair_ok(itx_lmr_create_dmabuf(b->pz, buffer.fd, buffer.page, length, NAME, IT_PRIV_ALL,
				      IT_LMR_FLAG_NONE, &lmr, &context));
	g_assert_cmpuint(context, !=, 0);
	close(buffer.fd);
	buffer.fd = -1;
	memset(buffer.at, 0x5a, buffer.size);
	pair_establish(pair);
	/* To the end of the region, which is not that of a page. */
	memset(a->buffer, 0x11, 1000);
	addr = it_make_rdma_addr_absolute(NAME + length - 1000);
	pair_ok(it_post_rdma_write(a->ep, &out, 1, 1, SIGNALED, addr, context));
	end_done(a->request, IT_DTO_RDMA_WRITE_CMPL_EVENT, 1, IT_DTO_SUCCESS);
	pair_ok(it_post_rdma_read(a->ep, &in, 1, 2, SIGNALED, addr, context));
	end_done(a->request, IT_DTO_RDMA_READ_CMPL_EVENT, 2, IT_DTO_SUCCESS);
	g_assert_cmpmem(a->buffer, 1000, a->buffer + 4096, 1000);
	g_assert_cmpmem(a->buffer, 1000, buffer.at + buffer.page + length - 1000, 1000);
	g_assert_cmpuint(buffer.at[buffer.page + length], ==, 0x5a);
	g_assert_cmpuint(buffer.at[buffer.page + length - 1001], ==, 0x5a);
	/* A short Send from it, and a receive into it. */
	memset(buffer.at + buffer.page, 0x22, 24);
	in.length = 24;
	part = segment(lmr, 0, 24);
	pair_ok(it_post_recv((it_handle_t)a->ep, &in, 1, 3, SIGNALED));
	pair_ok(it_post_send(b->ep, &part, 1, 4, SIGNALED));
	end_done(b->request, IT_DTO_SEND_CMPL_EVENT, 4, IT_DTO_SUCCESS);
	end_done(a->recv, IT_DTO_RC_RECV_CMPL_EVENT, 3, IT_DTO_SUCCESS);
	g_assert_cmpmem(a->buffer + 4096, 24, buffer.at + buffer.page, 24);
	part = segment(lmr, 4, 1000);
	pair_ok(it_post_recv((it_handle_t)b->ep, &part, 1, 5, SIGNALED));
	pair_ok(it_post_send(a->ep, &out, 1, 6, SIGNALED));
	end_done(b->recv, IT_DTO_RC_RECV_CMPL_EVENT, 5, IT_DTO_SUCCESS);
	end_done(a->request, IT_DTO_SEND_CMPL_EVENT, 6, IT_DTO_SUCCESS);
	g_assert_cmpmem(a->buffer, 1000, buffer.at + buffer.page + 4, 1000);
	g_assert_cmpuint(buffer.at[buffer.page + 3], ==, 0x22);
	/* The key that was freed opens nothing. */
	pair_ok(it_lmr_free(lmr));
	pair_ok(it_post_rdma_write(a->ep, &out, 1, 7, SIGNALED, addr, context));
	end_expect(b->cm_msg, IT_CM_MSG_CONN_BROKEN_EVENT);
	end_expect(a->cm_msg, IT_CM_MSG_CONN_BROKEN_EVENT);
	buffer_close(&buffer);
}

/* What a query reports of the region, and which calls refuse it. */
static void
test_region(struct pair *pair)
{
	struct end *a = &pair->active;
	struct buffer buffer;
	it_lmr_handle_t lmr = NULL;
	it_lmr_param_t params;
	it_lmr_triplet_t part;

	if (!buffer_open(&buffer, a))
		return;
	pair_ok(itx_lmr_create_dmabuf(a->pz, buffer.fd, 40, 1000, NAME + 40, IT_PRIV_LOCAL,
				      IT_LMR_FLAG_NON_SHAREABLE, &lmr, NULL));
	pair_ok(it_lmr_query(lmr, IT_LMR_PARAM_ALL, &params));
	g_assert_true(params.addr == NAME + 40 && params.pz == a->pz);
	g_assert_cmpuint(params.length, ==, 1000);
	g_assert_cmpint(params.privs, ==, IT_PRIV_LOCAL);
	g_assert_cmpint(params.flags, ==, IT_LMR_FLAG_NON_SHAREABLE);
	g_assert_cmpint(params.addr_mode, ==, IT_ADDR_MODE_ABSOLUTE);
	g_assert_true(params.linked);
	params.privs = IT_PRIV_ALL;
	g_assert_cmpint(it_lmr_modify(lmr, IT_LMR_PARAM_MEM_PRIV, &params), ==,
			IT_ERR_OP_NOT_SUPPORTED);
	params.addr = a->buffer;
	g_assert_cmpint(it_lmr_modify(lmr, IT_LMR_PARAM_ADDR | IT_LMR_PARAM_LENGTH, &params), ==,
			IT_ERR_OP_NOT_SUPPORTED);
	part = segment(lmr, 40, 1000);
	pair_ok(it_lmr_flush_to_mem(&part, 1));
	part = segment(lmr, 40, 1001);
	g_assert_cmpint(it_lmr_refresh_from_mem(&part, 1), ==, IT_ERR_RANGE);
	g_assert_cmpint(it_pz_free(a->pz), ==, IT_ERR_PZ_BUSY);
	pair_ok(it_lmr_free(lmr));
	g_assert_cmpint(fcntl(buffer.fd, F_GETFD), ==, FD_CLOEXEC);
	/* NULL is a name, too: addresses count from 0. */
	pair_ok(itx_lmr_create_dmabuf(a->pz, buffer.fd, 0, buffer.size, NULL, IT_PRIV_LOCAL,
				      IT_LMR_FLAG_NONCOHERENT, &lmr, NULL));
	pair_ok(it_lmr_query(lmr, IT_LMR_PARAM_ADDR, &params));
	g_assert_null(params.addr);
	pair_ok(it_lmr_free(lmr));
	buffer_close(&buffer);
}

/* A descriptor that may only read, of a memfd: not every adapter takes one where there is a better thing. */
static void
refuse_writes(const struct end *end, const struct buffer *buffer)
{
	int memfd = memfd_of(buffer->page);
	g_autofree char *path = g_strdup_printf("/proc/self/fd/%d", memfd);
	struct buffer other = {.fd = open(path, O_RDONLY | O_CLOEXEC)};
	it_lmr_handle_t lmr = NULL;
	it_status_t status;

	g_assert_cmpint(other.fd, >=, 0);
	status = create(end, &other, 0, 1, &lmr);
	g_assert_true(status == IT_ERR_ACCESS || (buffer->real && status == IT_ERR_INVALID_HANDLE));
	close(other.fd);
	close(memfd);
}

/* Calls for regions of a dmabuf return the statuses of their arguments. */
static void
test_statuses(struct pair *pair)
{
	struct end *a = &pair->active;
	struct buffer buffer, other;
	it_lmr_handle_t lmr = NULL;
	int fd, pipes[2];

	if (!buffer_open(&buffer, a))
		return;
	other = buffer;
	fd = buffer.fd;
#define CREATE(pz, offset, length, addr, privs, flags) \
	itx_lmr_create_dmabuf(pz, fd, offset, length, addr, privs, flags, &lmr, NULL)
	g_assert_cmpint(CREATE(NULL, 0, 1, NULL, IT_PRIV_LOCAL, 0), ==, IT_ERR_INVALID_PZ);
	g_assert_cmpint(CREATE((it_pz_handle_t)a->ep, 0, 1, NULL, IT_PRIV_LOCAL, 0), ==,
			IT_ERR_INVALID_PZ);
	g_assert_cmpint(itx_lmr_create_dmabuf(a->pz, fd, 0, 1, NULL, IT_PRIV_LOCAL,
					      IT_LMR_FLAG_NONE, NULL, NULL),
			==, IT_ERR_FAULT);
	g_assert_cmpint(CREATE(a->pz, 0, 0, NULL, IT_PRIV_LOCAL, 0), ==, IT_ERR_INVALID_LENGTH);
	g_assert_cmpint(CREATE(a->pz, 0, 16, (void *)(UINTPTR_MAX - 7), IT_PRIV_LOCAL, 0), ==,
			IT_ERR_ADDRESS);
	g_assert_cmpint(CREATE(a->pz, 8, 16, NULL, IT_PRIV_LOCAL, 0), ==, IT_ERR_INVALID_ADDRESS);
	g_assert_cmpint(CREATE(a->pz, 0, 16, NAME + 1, IT_PRIV_LOCAL, 0), ==,
			IT_ERR_INVALID_ADDRESS);
	g_assert_cmpint(CREATE(a->pz, 0, 16, NULL, IT_PRIV_REMOTE, 0), ==, IT_ERR_INVALID_PRIVS);
	g_assert_cmpint(CREATE(a->pz, 0, 16, NULL, IT_PRIV_LOCAL, IT_LMR_FLAG_SHARED), ==,
			IT_ERR_INVALID_FLAGS);
	g_assert_cmpint(CREATE(a->pz, 0, 16, NULL, IT_PRIV_LOCAL, (it_lmr_flag_t)0x100), ==,
			IT_ERR_INVALID_FLAGS);
	g_assert_cmpint(create(a, &buffer, 0, buffer.size + 1, &lmr), ==, IT_ERR_RANGE);
	g_assert_cmpint(create(a, &buffer, buffer.size, 1, &lmr), ==, IT_ERR_RANGE);
	g_assert_cmpint(create(a, &buffer, UINT64_MAX - buffer.page + 1, 1, &lmr), ==,
			IT_ERR_RANGE);
#undef CREATE
	other.fd = -1;
	g_assert_cmpint(create(a, &other, 0, 1, &lmr), ==, IT_ERR_INVALID_HANDLE);
	g_assert_cmpint(pipe2(pipes, O_CLOEXEC), ==, 0);
	other.fd = pipes[0];
	g_assert_cmpint(create(a, &other, 0, 1, &lmr), ==, IT_ERR_INVALID_HANDLE);
	close(pipes[0]);
	close(pipes[1]);
	g_assert_null(lmr);
	refuse_writes(a, &buffer);
	/* After all refusals the memory can be registered. */
	pair_ok(create(a, &buffer, 0, buffer.size, &lmr));
	pair_ok(it_lmr_free(lmr));
	buffer_close(&buffer);
}

/* The greatest region of an adapter is not always less than what an address can name. */
static void
test_too_long(struct pair *pair)
{
	struct end *a = &pair->active;
	it_length_t most = UINTPTR_MAX - (uintptr_t)NAME;
	struct buffer buffer;
	it_lmr_handle_t lmr = NULL;
	it_status_t status;

	if (!buffer_open(&buffer, a))
		return;
	status = create(a, &buffer, 0, most, &lmr);
	g_assert_true(status == IT_ERR_RESOURCE_LMR_LENGTH || status == IT_ERR_RANGE);
	buffer_close(&buffer);
}

/* Peers use it through a window, which keeps it [IT 8.5]. */
static void
test_window(struct pair *pair)
{
	struct end *a = &pair->active, *b = &pair->passive;
	it_lmr_triplet_t out = end_segment(a, 0, 64);
	struct buffer buffer;
	it_lmr_handle_t lmr = NULL;
	it_rmr_handle_t rmr = NULL;
	it_rmr_context_t context = 0;

	if (!buffer_open(&buffer, b))
		return;
	memset(buffer.at, 0x5a, buffer.size);
	pair_ok(itx_lmr_create_dmabuf(b->pz, buffer.fd, 0, buffer.size, NAME, IT_PRIV_LOCAL,
				      IT_LMR_FLAG_NONE, &lmr, NULL));
	pair_ok(it_rmr_create20(b->pz, IT_RMR_TYPE_DEFAULT, &rmr));
	pair_establish(pair);
	pair_ok(it_rmr_link(rmr, lmr, NAME + 100, 64, IT_ADDR_MODE_ABSOLUTE, IT_PRIV_REMOTE_WRITE,
			    b->ep, 1, SIGNALED, &context));
	end_expect(b->request, IT_RMR_LINK_CMPL_EVENT);
	g_assert_cmpint(it_lmr_free(lmr), ==, IT_ERR_LMR_BUSY);
	memset(a->buffer, 0x33, 64);
	pair_ok(it_post_rdma_write(a->ep, &out, 1, 2, SIGNALED,
				   it_make_rdma_addr_absolute(NAME + 100), context));
	end_done(a->request, IT_DTO_RDMA_WRITE_CMPL_EVENT, 2, IT_DTO_SUCCESS);
	pair_disconnect(pair);
	g_assert_cmpuint(buffer.at[99], ==, 0x5a);
	g_assert_cmpmem(a->buffer, 64, buffer.at + 100, 64);
	g_assert_cmpuint(buffer.at[164], ==, 0x5a);
	pair_ok(it_rmr_free(rmr));
	pair_ok(it_lmr_free(lmr));
	buffer_close(&buffer);
}

static void
add(void)
{
	pair_add("dmabuf/support", test_support);
	pair_add_for(NEEDS_DMABUF, "dmabuf/data", test_data);
	pair_add_for(NEEDS_DMABUF, "dmabuf/region", test_region);
	pair_add_for(NEEDS_DMABUF, "dmabuf/statuses", test_statuses);
	pair_add_for(NEEDS_DMABUF, "dmabuf/too-long", test_too_long);
	pair_add_for(NEEDS_DMABUF | NEEDS_WINDOWS, "dmabuf/window", test_window);
}

int
main(int argc, char **argv)
{
	return pair_main(argc, argv, add);
}
