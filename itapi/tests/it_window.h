/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Memory windows of an end of a pair. Every failure fails the test. */
#ifndef IT_WINDOW_H
#define IT_WINDOW_H

#include "it_pair.h"

#define SIGNALED IT_COMPLETION_FLAG
#define WINDOW   4096 /* offset of the window in the buffer, and its length */

/* Does the adapter have windows of that type? */
bool window_has(const struct pair *pair, it_rmr_type_t type);
it_rmr_handle_t window_make(const struct end *end, it_rmr_type_t type);
/* Link the window through the end's endpoint and wait for the completion; returns its context. */
it_rmr_context_t window_link(const struct end *end, it_rmr_handle_t rmr, it_mem_priv_t privs,
			     it_addr_mode_t mode);
void window_unlink(const struct end *end, it_rmr_handle_t rmr, it_dto_flags_t flags);
bool window_is_linked(it_rmr_handle_t rmr);

#endif /* IT_WINDOW_H */
