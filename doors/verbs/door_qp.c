/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include "door_qp.h"

struct door_qp *
door_qp_numbered(struct door_adapter *adapter, uint32_t qpn)
{
	(void)adapter;
	(void)qpn;
	return NULL;
}

void
door_qp_connected(struct door_qp *qp)
{
	(void)qp;
}

void
door_qp_ended(struct door_qp *qp)
{
	(void)qp;
}
