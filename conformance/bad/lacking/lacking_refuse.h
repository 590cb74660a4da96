/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Checks that refuse what the adapter does not claim. The wrapped provider has the ability, so its
 * verbs and posts are called only after these checks.
 */
#ifndef LACKING_REFUSE_H
#define LACKING_REFUSE_H

#include "wrap_tables.h"

/* Put the checks in front of the entries of `tables`. Tables that are stripped stay so. */
void lacking_refuse_install(struct wrap_tables *tables);
/* The profile that is left, as soon as an adapter is opened: each adapter of the process has it. */
void lacking_refuse_profile(const struct ri_rnic_attr *left);

#endif /* LACKING_REFUSE_H */
