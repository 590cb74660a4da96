/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Where software providers have a frequent and a rare side (ri_order.h): one flag for all of them, since it is the process's. */
#ifndef VSW_ORDER_H
#define VSW_ORDER_H

#include "ri_order.h"

/* membarrier(2) orders for us. Changes to false at most once. */
extern atomic_bool vsw_order_light;

/* Before the first mark of any kind; any thread, any number of times. */
void vsw_order_setup(void);

#endif /* VSW_ORDER_H */
