/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Functions that no adapter of ours can serve. They are defined all the same: the real library's would take our objects for its
 * own. Each says EOPNOTSUPP.
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
