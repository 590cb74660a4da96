/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* What tests of the data path have in common: a region, Writes from it, and completions, over vib_device.h. */
#ifndef VIB_DATA_H
#define VIB_DATA_H

#include "vib_device.h"

extern uint8_t data_memory[4096];

/* A region over all of data_memory, and a segment at its beginning. */
struct data_region {
	struct ri_mr *mr;
	uint32_t stag;
	struct ri_sge sge;
};

void data_region_new(struct device *d, struct data_region *region, uint32_t length);
void data_region_free(struct data_region *region);
/* Post a Write of the segment. */
enum ri_status data_post(struct vib_qp *qp, const struct data_region *region, uint64_t id,
			 uint32_t flags);
/* The next completion must be this one. */
void data_poll(struct device *d, uint64_t id, enum ri_wc_status status);
void data_poll_none(struct device *d);
/* Destroy a queue pair. */
void data_qp_end(struct vib_qp **qp);

#endif /* VIB_DATA_H */
