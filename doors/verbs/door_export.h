/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#ifndef DOOR_EXPORT_H
#define DOOR_EXPORT_H

#include <infiniband/verbs.h>

/* A function that programs call; libitapi-verbs.map has its version. */
#define EXPORT __attribute__((visibility("default")))

/* Functions of rdma-core's private nodes that its own tools and Python bindings call; no header has them. */
EXPORT int ibv_query_gid_type(struct ibv_context *context, uint8_t port, unsigned index,
			      unsigned *type);

/*
 * Functions of libibverbs that are newer than the headers used here (nodes 1.15 to 1.18, rdma-core
 * of August 2026). A program that was built with a newer release must find them here and not in the
 * real library.
 */
struct ibv_buf;
struct ibv_comp_cntr;
struct ibv_comp_cntr_caps;
struct ibv_comp_cntr_init_attr;
struct ibv_dmah;
struct ibv_dmah_init_attr;
struct ibv_mr_init_attr;
struct ibv_qp_attach_comp_cntr_attr;

EXPORT struct ibv_dmah *ibv_alloc_dmah(struct ibv_context *context,
				       struct ibv_dmah_init_attr *attr);
EXPORT int ibv_dealloc_dmah(struct ibv_dmah *dmah);
EXPORT struct ibv_mr *ibv_reg_mr_ex(struct ibv_pd *pd, struct ibv_mr_init_attr *attr);
EXPORT int ibv_dm_export_dmabuf_fd(struct ibv_dm *dm);
EXPORT int ibv_query_port_speed(struct ibv_context *context, uint32_t port, uint64_t *speed);
EXPORT void *ibv_alloc_buf(struct ibv_pd *pd, size_t size, struct ibv_buf **buf);
EXPORT void ibv_free_buf(struct ibv_buf *buf);
EXPORT struct ibv_mr *ibv_reg_buf_mr(struct ibv_pd *pd, struct ibv_buf *buf, void *addr,
				     size_t length, int access);
EXPORT int ibv_export_buf_dmabuf_fd(struct ibv_buf *buf);
EXPORT int _ibv_query_comp_cntr_caps(struct ibv_context *context, struct ibv_comp_cntr_caps *caps,
				     size_t size);
EXPORT struct ibv_comp_cntr *ibv_create_comp_cntr(struct ibv_context *context,
						  struct ibv_comp_cntr_init_attr *attr);
EXPORT int ibv_destroy_comp_cntr(struct ibv_comp_cntr *counter);
EXPORT int ibv_set_comp_cntr(struct ibv_comp_cntr *counter, uint64_t value);
EXPORT int ibv_set_err_comp_cntr(struct ibv_comp_cntr *counter, uint64_t value);
EXPORT int ibv_inc_comp_cntr(struct ibv_comp_cntr *counter, uint64_t amount);
EXPORT int ibv_inc_err_comp_cntr(struct ibv_comp_cntr *counter, uint64_t amount);
EXPORT int ibv_read_comp_cntr(struct ibv_comp_cntr *counter, uint64_t *value);
EXPORT int ibv_read_err_comp_cntr(struct ibv_comp_cntr *counter, uint64_t *value);
EXPORT int ibv_qp_attach_comp_cntr(struct ibv_qp *qp, struct ibv_comp_cntr *counter,
				   struct ibv_qp_attach_comp_cntr_attr *attr);

#endif /* DOOR_EXPORT_H */
