/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The provider as a shared object over devices that this file plays, so that programs can be run
 * over them: each device has a different fault when it is opened, and "good" and "rich" have none.
 * All other functions are those of the real libibverbs and librdmacm; no test program reaches them.
 * Compiled with LIST_ERROR, no device can be listed, for that reason.
 */
#include <errno.h>
#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* A device. What is 0 works. */
struct trouble {
	const char *name;
	const char *file; /* in VIB_FILES */
	int open;         /* errno of each step */
	int query;
	int manager;
	int channel;
	int failed; /* of its asynchronous events, from the beginning on */
	bool rich;  /* it claims whatever an attribute can say */
};

static const struct trouble troubles[] = {
	{.name = "good", .file = "null"},
	{.name = "rich", .file = "null", .rich = true},
	{.name = "denied", .file = "null", .open = EACCES},
	{.name = "removed", .file = "null", .open = ENODEV},
	{.name = "unlisted", .file = "there-is-no-such-file", .open = ENOENT},
	{.name = "mute", .file = "null", .query = EIO},
	{.name = "unmanaged", .file = "null", .manager = ENODEV},
	{.name = "scarce", .file = "null", .channel = ENOMEM},
	{.name = "going", .file = "null", .failed = EIO},
};

static struct ibv_device devices[COUNT(troubles)];
static struct ibv_device *list[COUNT(troubles) + 1];
static const struct trouble *opened; /* the last one */

/* An open device. */
struct open_device {
	struct ibv_context verbs;
	const struct trouble *trouble;
};

static int
ready_or_not(int ready)
{
	return eventfd(ready != 0, EFD_CLOEXEC | EFD_NONBLOCK);
}

#undef ibv_get_device_list
struct ibv_device **
ibv_get_device_list(int *count)
{
#ifdef LIST_ERROR
	*count = 0;
	errno = LIST_ERROR;
	return LIST_ERROR != 0 ? NULL : list;
#else
	for (size_t i = 0; i < COUNT(troubles); i++) {
		devices[i].transport_type = IBV_TRANSPORT_IB;
		snprintf(devices[i].name, sizeof(devices[i].name), "%s", troubles[i].name);
		snprintf(devices[i].dev_name, sizeof(devices[i].dev_name), "%s", troubles[i].file);
		snprintf(devices[i].dev_path, sizeof(devices[i].dev_path), "/");
		snprintf(devices[i].ibdev_path, sizeof(devices[i].ibdev_path), "/nowhere");
		list[i] = &devices[i];
	}
	*count = COUNT(troubles);
	return list;
#endif
}

void
ibv_free_device_list(struct ibv_device **given)
{
	(void)given;
}

/* The devices have no network interface. */
int
ibv_get_device_index(struct ibv_device *device)
{
	(void)device;
	return -1;
}

struct ibv_context *
ibv_open_device(struct ibv_device *device)
{
	const struct trouble *trouble = &troubles[device - devices];
	struct open_device *open = NULL;

	errno = trouble->open;
	if (errno == 0)
		open = (struct open_device *)calloc(1, sizeof(*open));
	if (open == NULL)
		return NULL;
	open->trouble = trouble;
	open->verbs.device = device;
	open->verbs.num_comp_vectors = 1;
	open->verbs.async_fd = ready_or_not(trouble->failed);
	opened = trouble;
	return &open->verbs;
}

int
ibv_close_device(struct ibv_context *context)
{
	close(context->async_fd);
	free(context);
	return 0;
}

static const struct trouble *
trouble_of(const struct ibv_context *context)
{
	return ((const struct open_device *)(const void *)context)->trouble;
}

int
ibv_query_device(struct ibv_context *context, struct ibv_device_attr *attr)
{
	const struct trouble *trouble = trouble_of(context);

	*attr = (struct ibv_device_attr){.max_mr_size = UINT64_MAX,
					 .vendor_id = 1,
					 .max_qp = 16,
					 .max_qp_wr = 64,
					 .max_sge = 4,
					 .max_sge_rd = 4,
					 .max_cq = 16,
					 .max_cqe = 256,
					 .max_mr = 16,
					 .max_pd = 16,
					 .max_qp_rd_atom = 4,
					 .max_qp_init_rd_atom = 4,
					 .max_res_rd_atom = 64,
					 .max_ah = 16,
					 .phys_port_cnt = 1};
	if (trouble->rich) {
		attr->max_mr_size = 0; /* of a driver that does not fill it in */
		attr->device_cap_flags = UINT32_MAX;
		attr->max_mw = 16;
		attr->max_srq = 16;
		attr->max_srq_wr = 64;
		attr->atomic_cap = IBV_ATOMIC_HCA;
	}
	return trouble->query;
}

#undef ibv_query_port
int
ibv_query_port(struct ibv_context *context, uint8_t port, struct _compat_ibv_port_attr *attr)
{
	const struct ibv_port_attr own = {.state = IBV_PORT_ACTIVE,
					  .max_msg_sz = 1u << 30,
					  .active_mtu = IBV_MTU_1024,
					  .active_width = 2,
					  .active_speed = 4};

	(void)context;
	(void)port;
	memcpy(attr, &own, offsetof(struct ibv_port_attr, port_cap_flags2));
	return 0;
}

int
ibv_get_async_event(struct ibv_context *context, struct ibv_async_event *event)
{
	(void)event;
	errno = trouble_of(context)->failed != 0 ? trouble_of(context)->failed : EAGAIN;
	return -1;
}

struct ibv_comp_channel *
ibv_create_comp_channel(struct ibv_context *context)
{
	struct ibv_comp_channel *channel = NULL;

	errno = trouble_of(context)->channel;
	if (errno == 0)
		channel = (struct ibv_comp_channel *)calloc(1, sizeof(*channel));
	if (channel == NULL)
		return NULL;
	channel->context = context;
	channel->fd = ready_or_not(0);
	return channel;
}

int
ibv_destroy_comp_channel(struct ibv_comp_channel *channel)
{
	close(channel->fd);
	free(channel);
	return 0;
}

struct rdma_event_channel *
rdma_create_event_channel(void)
{
	struct rdma_event_channel *channel = NULL;

	errno = opened->manager;
	if (errno == 0)
		channel = (struct rdma_event_channel *)calloc(1, sizeof(*channel));
	if (channel != NULL)
		channel->fd = ready_or_not(0);
	return channel;
}

void
rdma_destroy_event_channel(struct rdma_event_channel *channel)
{
	close(channel->fd);
	free(channel);
}

struct ibv_cq *
ibv_create_cq(struct ibv_context *context, int cqe, void *ctx, struct ibv_comp_channel *channel,
	      int vector)
{
	struct ibv_cq *cq = (struct ibv_cq *)calloc(1, sizeof(*cq));

	(void)vector;
	if (cq == NULL)
		return NULL;
	cq->context = context;
	cq->cq_context = ctx;
	cq->channel = channel;
	cq->cqe = cqe;
	return cq;
}

int
ibv_resize_cq(struct ibv_cq *cq, int cqe)
{
	(void)cq;
	(void)cqe;
	return EOPNOTSUPP;
}

int
ibv_destroy_cq(struct ibv_cq *cq)
{
	free(cq);
	return 0;
}

struct ibv_pd *
ibv_alloc_pd(struct ibv_context *context)
{
	struct ibv_pd *pd = (struct ibv_pd *)calloc(1, sizeof(*pd));

	if (pd != NULL)
		pd->context = context;
	return pd;
}

int
ibv_dealloc_pd(struct ibv_pd *pd)
{
	free(pd);
	return 0;
}

/* The rich device copies 96 bytes while a request is posted. */
struct ibv_qp *
ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *init)
{
	uint32_t most = trouble_of(pd->context)->rich ? 96 : 0;

	errno = init->cap.max_inline_data > most ? EINVAL : 0;
	return errno == 0 ? (struct ibv_qp *)calloc(1, sizeof(struct ibv_qp)) : NULL;
}

int
ibv_destroy_qp(struct ibv_qp *qp)
{
	free(qp);
	return 0;
}

int
ibv_dereg_mr(struct ibv_mr *mr)
{
	(void)mr;
	return EINVAL; /* nothing is registered here */
}

#ifdef VIB_HAVE_DMABUF
/* The rich device looks at the descriptor, which the provider never has here. */
struct ibv_mr *
ibv_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, size_t length, uint64_t iova, int fd,
		  int access)
{
	(void)offset;
	(void)length;
	(void)iova;
	(void)access;
	errno = trouble_of(pd->context)->rich && fd < 0 ? EBADF : EOPNOTSUPP;
	return NULL;
}
#endif
