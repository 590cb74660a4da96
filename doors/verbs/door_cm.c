/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include "door_cm.h"

#include <errno.h>

void
door_cm_raised(struct door_adapter *adapter, uint64_t ctx, const struct kal_cm_event *event)
{
	(void)adapter;
	(void)ctx;
	(void)event;
}

void
door_cm_device_lost(struct door_adapter *adapter)
{
	(void)adapter;
}

void
door_cm_qp_leaves(struct door_qp *qp)
{
	(void)qp;
}

int
door_cm_open(void)
{
	errno = ENOENT;
	return -1;
}

bool
door_cm_is(int fd)
{
	(void)fd;
	return false;
}

ssize_t
door_cm_write(int fd, const void *buffer, size_t length)
{
	(void)fd;
	(void)buffer;
	(void)length;
	errno = EBADF;
	return -1;
}

void
door_cm_closed(int fd)
{
	(void)fd;
}
