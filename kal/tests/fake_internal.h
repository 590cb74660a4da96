/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* What the files of the fake provider share. */
#ifndef FAKE_INTERNAL_H
#define FAKE_INTERNAL_H

#include "fake_provider.h"

struct ri_rnic {
	const struct ri_host *host;
	const struct ri_upcalls *up;
};

struct ri_context {
	struct ri_rnic *rnic;
};

struct ri_pd {
	struct ri_rnic *rnic;
	int users;
};

struct ri_cq {
	struct ri_rnic *rnic;
	uint64_t ctx;
};

struct ri_srq {
	struct ri_pd *pd;
	struct ri_srq_attr attr;
};

struct ri_qp {
	struct ri_pd *pd;
	struct ri_rnic *rnic;
	struct ri_qp_init init;
	enum ri_qp_state state;
	uint32_t qpn;
	int fd; /* -1 without a stream */
	bool watching, expecting, shut;
	struct ri_watch watch;
	struct ri_task task;
	enum ri_event say[4];
	unsigned to_say;
};

struct ri_mr {
	struct ri_pd *pd;
	struct ri_mr_init init;
};

/* An object without content; the provider counts them. */
void *fake_make(size_t size);
void fake_free(void *object);
/* While fake_clinging is set: returns true and keeps the object until its context is closed (fake_late.c). */
bool fake_clings(void *object, enum ri_object type, uint64_t ctx);
/* The context is closed: its kept objects raise one more event, then they are freed. */
void fake_let_go(struct ri_rnic *rnic);
/* Called by close: continues for a moment what fake_talk began, then ends it. */
void fake_talk_end(void);
/* The queue pair that was created last, for fake_raise. */
extern struct ri_qp *fake_last_qp;

/* The upcalls of the device that was opened last. */
const struct ri_upcalls *fake_last_upcalls(void);

extern const struct ri_provider fake_provider;
extern const struct ri_qp_ops fake_qp_ops;
extern const struct ri_llp_ops fake_llp_ops;
extern const struct ri_cm_ops fake_cm_ops;
extern const struct ri_ah_ops fake_ah_ops;
extern const struct ri_peer_ops fake_peer_ops;
enum ri_status fake_mcast_attach(struct ri_qp *qp, const struct ri_addr *group);
enum ri_status fake_mcast_detach(struct ri_qp *qp, const struct ri_addr *group);
enum ri_status fake_resolve(struct ri_context *context, uint64_t ctx,
			    const struct ri_cm_params *params);
void fake_resolve_cancel(struct ri_context *context, uint64_t ctx);
enum ri_status fake_resolve_answer(struct ri_request *request,
				   const struct ri_service_answer *answer);

#endif /* FAKE_INTERNAL_H */
