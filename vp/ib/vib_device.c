/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Adapters: the devices that libibverbs finds, opening and closing one, and its contexts. Control path.
 *
 * Listing devices needs no right; opening one needs the right to open its file in /dev/infiniband.
 */
#include <dirent.h>
#include <errno.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "ri_fd.h"
#include "vib_ah.h"
#include "vib_events.h"
#include "vib_list.h"
#include "vib_objects.h"
#include "vib_profile.h"

#define PREFIX        "ib:"
#define MEMLOCK_LEAST (1u << 20) /* bytes; with a lower limit an adapter is of little use */
#ifndef VIB_FILES                /* a test has its own */
#define VIB_FILES "/dev/infiniband/"
#endif

/* --- the list ------------------------------------------------------------------------------ */

static uint32_t
transport_of(const struct ibv_device *device)
{
	return device->transport_type == IBV_TRANSPORT_IWARP ? RI_TRANSPORT_IWARP : RI_TRANSPORT_IB;
}

/* Can it do what an adapter must? Other kinds (usNIC, EFA) have no reliable connections. */
static bool
is_usable(const struct ibv_device *device)
{
	return device->transport_type == IBV_TRANSPORT_IB ||
	       device->transport_type == IBV_TRANSPORT_IWARP;
}

/* Its ports, as the kernel shows them; 1 if that cannot be read. */
static uint32_t
ports_count(const struct ibv_device *device)
{
	char path[sizeof(device->ibdev_path) + sizeof("/ports")];
	uint32_t count = 0;
	DIR *folder;

	snprintf(path, sizeof(path), "%s/ports", device->ibdev_path);
	folder = ri_fd_open_folder(path);
	if (folder == NULL)
		return 1;
	/* cppcheck-suppress readdirCalled; no other thread reads this stream */
	for (const struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder))
		count += entry->d_name[0] != '.';
	closedir(folder);
	return count > 0 ? count : 1;
}

static enum ri_status
device_probe(const struct ri_host *host, struct ri_device_desc *descs, uint32_t *count)
{
	uint32_t room = *count, found = 0;
	struct ibv_device **list;
	int number;
	enum ri_status status = vib_devices_list(host, &list, &number);

	*count = 0;
	if (status != RI_SUCCESS)
		return status;
	for (int i = 0; i < number; i++) {
		if (!is_usable(list[i]))
			continue;
		if (found < room) {
			struct ibv_device *device = list[i];
			struct ri_device_desc *desc = &descs[found];
			memset(desc, 0, sizeof(*desc));
			snprintf(desc->name, sizeof(desc->name), PREFIX "%s",
				 ibv_get_device_name(device));
			snprintf(desc->description, sizeof(desc->description),
				 "%s device of the kernel, %.20s",
				 transport_of(device) == RI_TRANSPORT_IWARP ? "iWARP"
									    : "InfiniBand or RoCE",
				 device->dev_name);
			desc->transport = transport_of(device);
			desc->num_ports = ports_count(device);
		}
		found++;
	}
	if (list != NULL)
		ibv_free_device_list(list);
	*count = found;
	return RI_SUCCESS;
}

/* --- open and close ------------------------------------------------------------------------ */

/*
 * A driver that sends over a socket of the kernel may raise SIGPIPE in the thread that posts. This
 * ignores the signal, unless the program has installed a disposition, because the default action
 * would kill the program [RI 12.3.17].
 */
static void
ignore_sigpipe(void)
{
	struct sigaction action;

	if (sigaction(SIGPIPE, NULL, &action) != 0 || (action.sa_flags & SA_SIGINFO) != 0 ||
	    action.sa_handler != SIG_DFL)
		return;
	action.sa_handler = SIG_IGN;
	(void)sigaction(SIGPIPE, &action, NULL);
}

/* Registrations will fail, and each says so. But the user of an adapter wants to know before. */
static void
warn_of_limit(const struct ri_rnic *rnic)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {{0}};
	struct rlimit limit;

	if (getrlimit(RLIMIT_MEMLOCK, &limit) != 0 || limit.rlim_cur >= MEMLOCK_LEAST)
		return;
	/* May this thread pin memory beyond the limit? */
	if (syscall(SYS_capget, &head, data) == 0 &&
	    (data[CAP_TO_INDEX(CAP_IPC_LOCK)].effective & CAP_TO_MASK(CAP_IPC_LOCK)) != 0)
		return;
	vib_log(rnic, RI_LOG_WARNING,
		"only %llu bytes can be registered: the limit of locked memory is too small "
		"(RLIMIT_MEMLOCK, \"ulimit -l\")",
		(unsigned long long)limit.rlim_cur);
}

/* Why its file cannot be opened; libibverbs looks elsewhere, too, and may report what it met there. */
static int
open_error(const struct ibv_device *device, int error)
{
	char path[sizeof(VIB_FILES) + sizeof(device->dev_name)];

	snprintf(path, sizeof(path), VIB_FILES "%s", device->dev_name);
	if (access(path, R_OK | W_OK) != 0 && (errno == EACCES || errno == ENOENT))
		return errno;
	return error != 0 ? error : ENOMEM;
}

/* What a user can do about that; NULL: nothing that we know. */
static const char *
open_advice(const struct ibv_device *device, int error)
{
	if (error == EACCES || error == EPERM)
		return "the rights of that file decide";
	if (error == ENOENT && access(device->dev_path, F_OK) == 0)
		return "the kernel has the device: this container or udev lacks its file";
	if (vib_status_of_open(error) == RI_ERR_NO_DEVICE)
		return "the device was removed";
	return NULL;
}

/* Open it by name. The log says why it cannot be opened. */
static enum ri_status
verbs_open(struct ri_rnic *rnic, const char *name)
{
	struct ibv_device **list;
	struct ri_fd_filler filler;
	int number;
	enum ri_status status = vib_devices_list(rnic->host, &list, &number);

	if (status != RI_SUCCESS)
		return status;
	status = RI_ERR_NO_DEVICE;
	for (struct ibv_device **at = list; at != NULL && *at != NULL; at++) {
		if (strcmp(ibv_get_device_name(*at), name) != 0 || !is_usable(*at))
			continue;
		ri_fd_fill(&filler);
		errno = 0;
		rnic->verbs = ibv_open_device(*at);
		ri_fd_free(&filler);
		if (rnic->verbs != NULL) {
			rnic->iwarp = transport_of(*at) == RI_TRANSPORT_IWARP;
			status = RI_SUCCESS;
			break;
		}
		const struct ibv_device *device = *at;
		int error = open_error(*at, errno);
		const char *advice = open_advice(device, error);

		vib_log(rnic, RI_LOG_WARNING, VIB_FILES "%s cannot be opened: %s%s%s%s",
			device->dev_name, ri_errno_text(error), advice != NULL ? " (" : "",
			advice != NULL ? advice : "", advice != NULL ? ")" : "");
		status = vib_status_of_open(error);
	}
	if (list != NULL)
		ibv_free_device_list(list);
	return status;
}

static void
rnic_free(struct ri_rnic *rnic)
{
	if (rnic->verbs != NULL && ibv_close_device(rnic->verbs) != 0)
		vib_log(rnic, RI_LOG_WARNING, "the device cannot be closed: %s",
			ri_errno_text(errno));
	vib_keys_destroy(&rnic->keys);
	pthread_cond_destroy(&rnic->ah_idle);
	pthread_mutex_destroy(&rnic->ah_lock);
	pthread_mutex_destroy(&rnic->lock);
	free(rnic);
}

static enum ri_status
device_open(const struct ri_open *open, struct ri_rnic **out)
{
	struct ri_rnic *rnic;
	enum ri_status status;

	if (strncmp(open->name, PREFIX, strlen(PREFIX)) != 0)
		return RI_ERR_NO_DEVICE;
	rnic = (struct ri_rnic *)calloc(1, sizeof(*rnic));
	if (rnic == NULL)
		return RI_ERR_RESOURCES;
	rnic->host = open->host;
	rnic->upcalls = open->upcalls;
	memcpy(rnic->name, open->name, sizeof(rnic->name));
	pthread_mutex_init(&rnic->lock, NULL);
	pthread_mutex_init(&rnic->ah_lock, NULL);
	pthread_cond_init(&rnic->ah_idle, NULL);
	vib_list_init(&rnic->contexts);
	vib_keys_init(&rnic->keys);
	/*
	 * Memory that a device has pinned must stay with this process when it forks. On older kernels
	 * libibverbs must be prepared for that before the first registration; newer kernels do it
	 * themselves.
	 */
	if (ibv_is_fork_initialized() == IBV_FORK_DISABLED)
		(void)ibv_fork_init();
	status = verbs_open(rnic, open->name + strlen(PREFIX));
	if (status == RI_SUCCESS)
		status = vib_profile_make(rnic);
	if (status == RI_SUCCESS)
		status = vib_cm_open(rnic);
	if (status != RI_SUCCESS) {
		rnic_free(rnic);
		return status;
	}
	vib_cm_profile(rnic, &rnic->attr);
	warn_of_limit(rnic);
	if (rnic->quirk->raises_sigpipe)
		ignore_sigpipe();
	status = vib_events_start(rnic);
	if (status != RI_SUCCESS) {
		vib_cm_close(rnic);
		rnic_free(rnic);
		return status;
	}
	*out = rnic;
	return RI_SUCCESS;
}

static void
device_close(struct ri_rnic *rnic)
{
	bool gone = vib_removal_done(rnic);

	vib_ah_calls_end(rnic);
	vib_cm_stop(rnic); /* its events may end the adapter, so they end first */
	vib_events_stop(rnic);
	vib_cm_close(rnic);
	rnic_free(rnic);
	if (gone) {
		/*
		 * When a device is removed, the kernel waits until this process has closed it. librdmacm has it
		 * open, too, and closes it only when it next looks for devices and finds it gone. This call makes
		 * it look; as a side effect it opens all other devices.
		 */
		struct ibv_context **list = rdma_get_devices(NULL);

		if (list != NULL)
			rdma_free_devices(list);
	}
}

static enum ri_status
device_query(struct ri_rnic *rnic, struct ri_rnic_attr *attr)
{
	uint32_t size = attr->size < sizeof(*attr) ? attr->size : (uint32_t)sizeof(*attr);

	if (atomic_load(&rnic->failed))
		return RI_ERR_FATAL;
	memcpy(attr, &rnic->attr, size);
	attr->size = size;
	return RI_SUCCESS;
}

/* --- processes ----------------------------------------------------------------------------- */

static enum ri_status
context_create(struct ri_rnic *rnic, const struct ri_owner *owner, struct ri_context **out,
	       struct ri_map *map)
{
	struct ri_context *context;

	if (owner->shared)
		return RI_ERR_UNSUPPORTED; /* libibverbs maps the queues into this process */
	if (atomic_load(&rnic->failed))
		return RI_ERR_FATAL;
	context = (struct ri_context *)calloc(1, sizeof(*context));
	if (context == NULL)
		return RI_ERR_RESOURCES;
	context->rnic = rnic;
	context->owner = *owner;
	pthread_mutex_init(&context->lock, NULL);
	vib_list_init(&context->pds);
	vib_list_init(&context->cqs);
	vib_list_init(&context->srqs);
	vib_list_init(&context->qps);
	vib_list_init(&context->mrs);
	vib_list_init(&context->mws);
	vib_list_init(&context->ahs);
	vib_list_init(&context->ahs_gone);
	vib_list_init(&context->listens);
	pthread_mutex_lock(&rnic->lock);
	vib_list_add(&rnic->contexts, &context->item);
	pthread_mutex_unlock(&rnic->lock);
	memset(map, 0, sizeof(*map));
	map->fd = -1;
	map->addr = (uintptr_t)context;
	*out = context;
	return RI_SUCCESS;
}

/* Objects are destroyed before those that they depend on, so none can be busy. */
static void
context_destroy(struct ri_context *context)
{
	struct ri_rnic *rnic = context->rnic;

	while (!vib_list_empty(&context->mws))
		(void)!vib_mem_ops.mw_free(vib_of(context->mws.next, struct ri_mw, item));
	while (!vib_list_empty(&context->qps))
		vib_qp_destroy(vib_of(context->qps.next, struct vib_qp, item));
	vib_cm_context_end(context);
	while (!vib_list_empty(&context->ahs))
		(void)!vib_ah_ops.destroy(vib_of(context->ahs.next, struct ri_ah, item));
	while (!vib_list_empty(&context->srqs))
		(void)!vib_srq_ops.destroy(vib_of(context->srqs.next, struct ri_srq, item));
	while (!vib_list_empty(&context->mrs))
		(void)!vib_mem_ops.mr_dereg(vib_of(context->mrs.next, struct ri_mr, item));
	while (!vib_list_empty(&context->cqs))
		(void)!vib_cq_ops.destroy(vib_of(context->cqs.next, struct ri_cq, item));
	while (!vib_list_empty(&context->pds))
		(void)!vib_pd_ops.destroy(vib_of(context->pds.next, struct ri_pd, item));
	pthread_mutex_lock(&rnic->lock);
	vib_list_remove(&context->item);
	pthread_mutex_unlock(&rnic->lock);
	pthread_mutex_destroy(&context->lock);
	free(context);
}

const struct ri_device_ops vib_device_ops = {
	.size = sizeof(struct ri_device_ops),
	.probe = device_probe,
	.open = device_open,
	.close = device_close,
	.query = device_query,
	.query_port = vib_query_port,
	.context_create = context_create,
	.context_destroy = context_destroy,
};
