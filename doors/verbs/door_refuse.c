/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Functions that no adapter here can support; each fails with EOPNOTSUPP. They are defined because
 * otherwise a program would call those of the real libibverbs, which would take our objects for its
 * own.
 */
#include "door_refuse.h"

#include <errno.h>
#include <string.h>

#include "door_export.h"

static void *
refuse_object(void)
{
	errno = EOPNOTSUPP;
	return NULL;
}

/* --- objects of other processes -------------------------------------------------------------------------- */

EXPORT struct ibv_context *
ibv_import_device(int cmd_fd)
{
	(void)cmd_fd;
	return (struct ibv_context *)refuse_object();
}

EXPORT struct ibv_pd *
ibv_import_pd(struct ibv_context *context, uint32_t handle)
{
	(void)context;
	(void)handle;
	return (struct ibv_pd *)refuse_object();
}

/* There are no imported objects. */
EXPORT void
ibv_unimport_pd(struct ibv_pd *pd)
{
	(void)pd;
}

EXPORT struct ibv_mr *
ibv_import_mr(struct ibv_pd *pd, uint32_t handle)
{
	(void)pd;
	(void)handle;
	return (struct ibv_mr *)refuse_object();
}

EXPORT void
ibv_unimport_mr(struct ibv_mr *mr)
{
	(void)mr;
}

EXPORT struct ibv_dm *
ibv_import_dm(struct ibv_context *context, uint32_t handle)
{
	(void)context;
	(void)handle;
	return (struct ibv_dm *)refuse_object();
}

EXPORT void
ibv_unimport_dm(struct ibv_dm *dm)
{
	(void)dm;
}

/* --- attributes ------------------------------------------------------------------------------------------- */

/* librdmacm takes EOPNOTSUPP for "has none". */
EXPORT int
ibv_query_ece(struct ibv_qp *qp, struct ibv_ece *ece)
{
	(void)qp;
	memset(ece, 0, sizeof(*ece));
	return EOPNOTSUPP;
}

EXPORT int
ibv_set_ece(struct ibv_qp *qp, struct ibv_ece *ece)
{
	(void)qp;
	(void)ece;
	return EOPNOTSUPP;
}

/* Nothing is promised about the order in which octets are written. */
EXPORT int
ibv_query_qp_data_in_order(struct ibv_qp *qp, enum ibv_wr_opcode opcode, uint32_t flags)
{
	(void)qp;
	(void)opcode;
	(void)flags;
	return 0;
}

EXPORT int
ibv_resolve_eth_l2_from_gid(struct ibv_context *context, struct ibv_ah_attr *attr,
			    uint8_t mac[ETHERNET_LL_SIZE], uint16_t *vlan)
{
	(void)context;
	(void)attr;
	(void)mac;
	(void)vlan;
	return EOPNOTSUPP;
}

/* --- functions of later releases ---------------------------------------------------------------------------- */

EXPORT struct ibv_dmah *
ibv_alloc_dmah(struct ibv_context *context, struct ibv_dmah_init_attr *attr)
{
	(void)context;
	(void)attr;
	return (struct ibv_dmah *)refuse_object();
}

EXPORT int
ibv_dealloc_dmah(struct ibv_dmah *dmah)
{
	(void)dmah;
	return EOPNOTSUPP;
}

EXPORT struct ibv_mr *
ibv_reg_mr_ex(struct ibv_pd *pd, struct ibv_mr_init_attr *attr)
{
	(void)pd;
	(void)attr;
	return (struct ibv_mr *)refuse_object();
}

EXPORT int
ibv_dm_export_dmabuf_fd(struct ibv_dm *dm)
{
	(void)dm;
	errno = EOPNOTSUPP;
	return -1;
}

EXPORT void *
ibv_alloc_buf(struct ibv_pd *pd, size_t size, struct ibv_buf **buf)
{
	(void)pd;
	(void)size;
	(void)buf;
	return refuse_object();
}

EXPORT void
ibv_free_buf(struct ibv_buf *buf)
{
	(void)buf;
}

EXPORT struct ibv_mr *
ibv_reg_buf_mr(struct ibv_pd *pd, struct ibv_buf *buf, void *addr, size_t length, int access)
{
	(void)pd;
	(void)buf;
	(void)addr;
	(void)length;
	(void)access;
	return (struct ibv_mr *)refuse_object();
}

EXPORT int
ibv_export_buf_dmabuf_fd(struct ibv_buf *buf)
{
	(void)buf;
	errno = EOPNOTSUPP;
	return -1;
}

EXPORT int
_ibv_query_comp_cntr_caps(struct ibv_context *context, struct ibv_comp_cntr_caps *caps, size_t size)
{
	(void)context;
	(void)caps;
	(void)size;
	return EOPNOTSUPP;
}

EXPORT struct ibv_comp_cntr *
ibv_create_comp_cntr(struct ibv_context *context, struct ibv_comp_cntr_init_attr *attr)
{
	(void)context;
	(void)attr;
	return (struct ibv_comp_cntr *)refuse_object();
}

EXPORT int
ibv_destroy_comp_cntr(struct ibv_comp_cntr *counter)
{
	(void)counter;
	return EOPNOTSUPP;
}

EXPORT int
ibv_set_comp_cntr(struct ibv_comp_cntr *counter, uint64_t value)
{
	(void)counter;
	(void)value;
	return EOPNOTSUPP;
}

EXPORT int
ibv_set_err_comp_cntr(struct ibv_comp_cntr *counter, uint64_t value)
{
	return ibv_set_comp_cntr(counter, value);
}

EXPORT int
ibv_inc_comp_cntr(struct ibv_comp_cntr *counter, uint64_t amount)
{
	return ibv_set_comp_cntr(counter, amount);
}

EXPORT int
ibv_inc_err_comp_cntr(struct ibv_comp_cntr *counter, uint64_t amount)
{
	return ibv_set_comp_cntr(counter, amount);
}

EXPORT int
ibv_read_comp_cntr(struct ibv_comp_cntr *counter, uint64_t *value)
{
	(void)counter;
	(void)value;
	return EOPNOTSUPP;
}

EXPORT int
ibv_read_err_comp_cntr(struct ibv_comp_cntr *counter, uint64_t *value)
{
	return ibv_read_comp_cntr(counter, value);
}

EXPORT int
ibv_qp_attach_comp_cntr(struct ibv_qp *qp, struct ibv_comp_cntr *counter,
			struct ibv_qp_attach_comp_cntr_attr *attr)
{
	(void)qp;
	(void)counter;
	(void)attr;
	return EOPNOTSUPP;
}

/* --- forks ------------------------------------------------------------------------------------------------- */

/* No memory is pinned, so a fork needs no preparation. */
EXPORT int
ibv_fork_init(void)
{
	return 0;
}

EXPORT enum ibv_fork_status
ibv_is_fork_initialized(void)
{
	return IBV_FORK_UNNEEDED;
}

/* --- operations that verbs.h calls unasked ---------------------------------------------------------------------- */

static int
close_xrcd(struct ibv_xrcd *xrcd)
{
	(void)xrcd;
	return EOPNOTSUPP;
}

void
door_refuse_ops(struct verbs_context *verbs)
{
	verbs->close_xrcd = close_xrcd;
}
