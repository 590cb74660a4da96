/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Memory of other devices [RI 5.8]; vib_dmabuf.c. */
#ifndef VIB_DMABUF_H
#define VIB_DMABUF_H

#include "vib.h"

/* Can the device register a dmabuf? It is asked, which takes a protection domain for a moment. */
bool vib_dmabuf_works(struct ibv_context *verbs);
/* Register a range under a new STag. Other values of `init` than those of a dmabuf are checked already. */
enum ri_status vib_dmabuf_reg(struct ri_pd *pd, const struct ri_mr_init *init,
			      const struct ri_dmabuf *from, struct ibv_mr **out) RI_MUST_CHECK;

#endif /* VIB_DMABUF_H */
