/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Dispatchers of software events, which a test posts itself. Every failure fails the test. */
#ifndef IT_SOFT_H
#define IT_SOFT_H

#include "it_ext.h"
#include "it_pair.h"

it_evd_handle_t soft_aggregate(const struct end *end, it_evd_flags_t flags);
/* An EVD with room for 16 events; aevd may be NULL. */
it_evd_handle_t soft_member(const struct end *end, it_evd_handle_t aevd, size_t threshold);
void soft_post(it_evd_handle_t evd, uintptr_t value);
/* The next event of `from` must be this one, posted to `evd`. */
void soft_expect(it_evd_handle_t from, it_evd_handle_t evd, uintptr_t value);
void soft_free(it_evd_handle_t evd);
it_status_t soft_modify(it_evd_handle_t evd, it_evd_param_mask_t mask, it_evd_param_t params);

#endif /* IT_SOFT_H */
