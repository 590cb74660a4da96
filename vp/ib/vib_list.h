/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* The devices that libibverbs lists, and why it lists none (vib_list.c). */
#ifndef VIB_LIST_H
#define VIB_LIST_H

#include "vib.h"

/*
 * List the devices; `list` is for ibv_free_device_list, or NULL. RI_SUCCESS with none: the kernel has none, or they cannot be used
 * and the log says why. RI_ERR_RESOURCES: memory or descriptors ran out.
 */
enum ri_status vib_devices_list(const struct ri_host *host, struct ibv_device ***list,
				int *count) RI_MUST_CHECK;

#endif /* VIB_LIST_H */
