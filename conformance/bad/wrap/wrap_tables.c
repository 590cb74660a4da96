/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include "wrap_tables.h"

#include <string.h>

/* One table of entries: the offsets of the pointer to it and of its copy, and its size. */
struct table {
	size_t pointer; /* in ri_provider */
	size_t copy;    /* in wrap_tables */
	size_t size;
};

#define TABLE(member, type)                                                                 \
	{                                                                                   \
		offsetof(struct ri_provider, member), offsetof(struct wrap_tables, member), \
			sizeof(type)                                                        \
	}

static const struct table tables[] = {
	TABLE(device, struct ri_device_ops), TABLE(pd, struct ri_pd_ops),
	TABLE(cq, struct ri_cq_ops),         TABLE(srq, struct ri_srq_ops),
	TABLE(qp, struct ri_qp_ops),         TABLE(mem, struct ri_mem_ops),
	TABLE(ah, struct ri_ah_ops),         TABLE(cm, struct ri_cm_ops),
	TABLE(llp, struct ri_llp_ops),       TABLE(peer, struct ri_peer_ops),
	TABLE(user, struct ri_user_ops),     TABLE(fast, struct ri_fast_ops),
};

#define TABLES (sizeof(tables) / sizeof(tables[0]))

/* Copy a struct that begins with its size, which may be larger or smaller than ours, and set the size to ours. */
static void
copy_sized(void *out, const void *from, size_t known)
{
	uint32_t size;
	uint32_t own = (uint32_t)known;

	memcpy(&size, from, sizeof(size));
	memset(out, 0, known);
	memcpy(out, from, size < own ? size : own);
	memcpy(out, &own, sizeof(own));
}

static void
point(struct wrap_tables *out, const struct table *table)
{
	const void *copy = (const char *)out + table->copy;

	memcpy((char *)&out->provider + table->pointer, &copy, sizeof(copy));
}

bool
wrap_tables_copy(struct wrap_tables *out, const struct ri_provider *of)
{
	uint32_t size = of->size < sizeof(out->provider) ? of->size : sizeof(out->provider);

	if (of->abi_major != RI_ABI_MAJOR)
		return false;
	memset(out, 0, sizeof(*out));
	memcpy(&out->provider, of, size);
	if (out->provider.abi_minor > RI_ABI_MINOR)
		out->provider.abi_minor = RI_ABI_MINOR;
	out->provider.size = sizeof(out->provider);
	for (size_t i = 0; i < TABLES; i++) {
		const void *theirs;

		memcpy(&theirs, (const char *)&out->provider + tables[i].pointer, sizeof(theirs));
		if (theirs == NULL)
			continue;
		copy_sized((char *)out + tables[i].copy, theirs, tables[i].size);
		point(out, &tables[i]);
	}
	return true;
}

void
wrap_tables_join(struct wrap_tables *out)
{
	for (size_t i = 0; i < TABLES; i++) {
		uint32_t size = (uint32_t)tables[i].size;

		memcpy((char *)out + tables[i].copy, &size, sizeof(size));
		point(out, &tables[i]);
	}
}
