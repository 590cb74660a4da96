/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* The entry of the provider when it is built in. */
#ifndef VEM_PROVIDER_H
#define VEM_PROVIDER_H

#include "rnicpi.h"

const struct ri_provider *vem_provider_entry(void);

#endif /* VEM_PROVIDER_H */
