/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * A copy of a provider whose tables can be changed before it is registered. Every provider of
 * conformance/ that wraps another one begins with it. The wrapped provider may be older (its tables
 * are shorter; the remaining entries are NULL) or newer (unknown entries are cut off).
 */
#ifndef WRAP_TABLES_H
#define WRAP_TABLES_H

#include "rnicpi.h"

/* A table that the provider does not have is all zero here, and NULL in `provider`. */
struct wrap_tables {
	struct ri_provider provider; /* points to what follows */
	struct ri_device_ops device;
	struct ri_pd_ops pd;
	struct ri_cq_ops cq;
	struct ri_srq_ops srq;
	struct ri_qp_ops qp;
	struct ri_mem_ops mem;
	struct ri_ah_ops ah;
	struct ri_cm_ops cm;
	struct ri_llp_ops llp;
	struct ri_peer_ops peer;
	struct ri_user_ops user;
	struct ri_fast_ops fast;
};

/*
 * Copy `of`, with its version if that is older than ours, so that its structs keep the sizes of that version. False:
 * `of` has another major version, and nothing was copied.
 */
bool wrap_tables_copy(struct wrap_tables *out, const struct ri_provider *of);
/* Make the provider's pointers to tables name those of `out`, all of them. */
void wrap_tables_join(struct wrap_tables *out);

#endif /* WRAP_TABLES_H */
