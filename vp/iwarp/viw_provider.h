/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The entry of the iWARP provider when it is built in.
 */
#ifndef VIW_PROVIDER_H
#define VIW_PROVIDER_H

#include "rnicpi.h"

/* The provider; never NULL. */
const struct ri_provider *viw_provider_entry(void);

#endif /* VIW_PROVIDER_H */
