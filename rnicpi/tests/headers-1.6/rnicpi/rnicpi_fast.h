/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* RNIC-PI 1.6. The user half of a provider: posts, polls, arming. */
#ifndef RNICPI_FAST_H
#define RNICPI_FAST_H

#include "rnicpi_host.h"

#ifdef __cplusplus
extern "C" {
#endif

struct ri_urnic;
struct ri_ucq;
struct ri_uqp;
struct ri_usrq;

struct ri_map {
	uint64_t addr;
	uint64_t length;
	uint64_t offset;
	int32_t fd;
	uint32_t shared;
	uint64_t words[6];
};

enum ri_arm {
	RI_ARM_NONE = 0,
	RI_ARM_NEXT,
	RI_ARM_SOLICITED,
	RI_ARM_COUNT
};

struct ri_user_ops {
	uint32_t size;

	enum ri_status (*rnic_open)(const struct ri_host *host, const struct ri_map *map,
				    struct ri_urnic **out);
	void (*rnic_close)(struct ri_urnic *rnic);
	enum ri_status (*cq_open)(struct ri_urnic *rnic, const struct ri_map *map,
				  struct ri_ucq **out);
	enum ri_status (*cq_remap)(struct ri_ucq *cq, const struct ri_map *map);
	void (*cq_close)(struct ri_ucq *cq);
	enum ri_status (*qp_open)(struct ri_urnic *rnic, const struct ri_map *map,
				  struct ri_ucq *send_cq, struct ri_ucq *recv_cq,
				  struct ri_usrq *srq, struct ri_uqp **out);
	void (*qp_close)(struct ri_uqp *qp);
	enum ri_status (*srq_open)(struct ri_urnic *rnic, const struct ri_map *map,
				   struct ri_usrq **out);
	void (*srq_close)(struct ri_usrq *srq);
	enum ri_status (*srq_remap)(struct ri_usrq *srq, const struct ri_map *map);
	enum ri_status (*qp_remap)(struct ri_uqp *qp, const struct ri_qp_attr *real,
				   const struct ri_map *map);
};

struct ri_fast_ops {
	uint32_t size;

	enum ri_status (*post_sq)(struct ri_uqp *qp, const struct ri_wr *wr);
	enum ri_status (*post_rq)(struct ri_uqp *qp, const struct ri_recv_wr *wr);
	enum ri_status (*post_srq)(struct ri_usrq *srq, const struct ri_recv_wr *wr);
	void (*flush_sq)(struct ri_uqp *qp);
	uint32_t (*poll_cq)(struct ri_ucq *cq, struct ri_wc *wc, uint32_t n);
	uint32_t (*cq_depth)(struct ri_ucq *cq);
	enum ri_status (*arm_cq)(struct ri_ucq *cq, enum ri_arm how, uint32_t count);
	uint32_t (*progress)(struct ri_urnic *rnic, uint32_t budget);
	bool (*leader_enter)(struct ri_urnic *rnic, int *fd);
	void (*leader_leave)(struct ri_urnic *rnic);
	bool (*spin_futile)(struct ri_urnic *rnic);
};

#ifdef __cplusplus
}
#endif

#endif
