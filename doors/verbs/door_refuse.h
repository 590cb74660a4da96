/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* What verbs has and no adapter of ours can do. */
#ifndef DOOR_REFUSE_H
#define DOOR_REFUSE_H

#include <infiniband/verbs.h>

/* Operations that verbs.h calls without asking whether they are there. */
void door_refuse_ops(struct verbs_context *verbs);

#endif /* DOOR_REFUSE_H */
