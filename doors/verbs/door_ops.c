/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include "door_context.h"

void
door_context_ops(struct verbs_context *verbs)
{
	verbs->query_port = door_query_port;
	verbs->query_device_ex = door_query_device_ex;
}
