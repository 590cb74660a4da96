/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The template as a binary of version 1.6: it is built against the headers of that version, and
 * fills memory that these do not define with the worst values. The padding at the end of its
 * profile is all ones, and each connection event ends where a page ends, with an inaccessible page
 * behind it. A library that reads members of later versions there sees false claims, or crashes.
 */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "mc.h"

_Static_assert(RI_ABI_MAJOR == 1 && RI_ABI_MINOR == 6, "the headers are those of 1.6");

/* The entry of the template has another name here. */
#undef ri_provider_entry
const struct ri_provider *mc_provider_entry(void);
__attribute__((visibility("default"))) const struct ri_provider *ri_provider_entry(void);

static const struct ri_provider *template;

/* The upcalls of an adapter: these, in front of those of the access layer. */
struct old_upcalls {
	struct ri_upcalls table;
	const struct ri_upcalls *real;
};

static void
old_cq_event(void *self, uint64_t ctx)
{
	const struct old_upcalls *up = self;

	up->real->cq_event(up->real->self, ctx);
}

static void
old_async_event(void *self, const struct ri_async_event *event)
{
	const struct old_upcalls *up = self;

	up->real->async_event(up->real->self, event);
}

static void
old_cm_event(void *self, const struct ri_cm_event *event)
{
	const struct old_upcalls *up = self;
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *at = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void *last = at + page - sizeof(*event);

	if (at == MAP_FAILED || mprotect(at + page, page, PROT_NONE) != 0)
		abort();
	memcpy(last, event, sizeof(*event));
	up->real->cm_event(up->real->self, last);
	munmap(at, 2 * page);
}

static enum ri_status
old_open(const struct ri_open *open, struct ri_rnic **out)
{
	struct old_upcalls *up = calloc(1, sizeof(*up));
	struct ri_open mine = *open;
	enum ri_status status;

	if (up == NULL)
		return RI_ERR_RESOURCES;
	up->real = open->upcalls;
	up->table = (struct ri_upcalls){.size = sizeof(up->table),
					.self = up,
					.cq_event = old_cq_event,
					.async_event = old_async_event,
					.cm_event = old_cm_event};
	mine.upcalls = &up->table;
	status = template->device->open(&mine, out);
	if (status != RI_SUCCESS)
		free(up);
	return status;
}

static void
old_close(struct ri_rnic *rnic)
{
	void *up = rnic->upcalls->self;

	template->device->close(rnic);
	free(up);
}

static enum ri_status
old_query(struct ri_rnic *rnic, struct ri_rnic_attr *attr)
{
	const size_t last = offsetof(struct ri_rnic_attr, mw_wide_stag_returned) + sizeof(bool);
	uint32_t room = attr->size;
	enum ri_status status = template->device->query(rnic, attr);

	if (room >= sizeof(*attr))
		memset((char *)attr + last, 0x01, sizeof(*attr) - last);
	return status;
}

const struct ri_provider *
ri_provider_entry(void)
{
	static struct ri_provider old;
	static struct ri_device_ops device;

	template = mc_provider_entry();
	device = *template->device;
	device.open = old_open;
	device.close = old_close;
	device.query = old_query;
	old = *template;
	old.device = &device;
	return &old;
}
