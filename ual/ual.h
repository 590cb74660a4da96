/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * What the entry points in itapi/ call, control path. The fast path is ual_dto.h.
 *
 * An entry point turns handles into objects with the functions of the first section, checks its
 * pointers and flags, and calls one function here, which answers the status of IT-API. Handles are
 * checked first, then whether the adapter still lives (ual_dead), then everything else from left to
 * right (itapi-semantics G2, G6). OUT handles are written by the entry point.
 */
#ifndef UAL_H
#define UAL_H

#include "ual_object.h"

struct ual_pz;
struct ual_evd;

/*
 * Handles to objects: NULL if the handle is none of that type.
 */

static inline struct ual_ia *
ual_ia_of(it_ia_handle_t handle)
{
	return (struct ual_ia *)ual_object_get(handle, UAL_IA);
}

static inline struct ual_pz *
ual_pz_of(it_pz_handle_t handle)
{
	return (struct ual_pz *)ual_object_get(handle, UAL_PZ);
}

static inline struct ual_evd *
ual_evd_of(it_evd_handle_t handle)
{
	return (struct ual_evd *)ual_object_get(handle, UAL_EVD);
}

/* True after the adapter failed beyond repair: the call answers IT_ERR_IA_CATASTROPHE. */
bool ual_dead(const struct ual_ia *ia);

/*
 * Adapters.
 */

/* it_interface_list. */
void ual_ia_list(it_interface_t *list, size_t room, size_t *filled, size_t *total);
/* it_ia_create: name and version are checked here. */
it_status_t ual_ia_create(const char *name, uint32_t major, uint32_t minor, it_ia_handle_t *out);
/* it_ia_free: cascade (itapi-semantics 2.4). IT_ERR_INVALID_IA if another thread was faster. */
it_status_t ual_ia_free(struct ual_ia *ia);
/* it_ia_query and it_ia_info_free. */
it_status_t ual_ia_query(struct ual_ia *ia, it_ia_info_t **out);
void ual_ia_info_free(it_ia_info_t *info);
/* it_get_pathinfo; peer is not NULL. */
it_status_t ual_ia_paths(struct ual_ia *ia, size_t spigot, const it_net_addr_t *peer, size_t room,
			 size_t *total, it_path_t *paths);

/*
 * Protection zones.
 */

it_status_t ual_pz_create(struct ual_ia *ia, it_pz_handle_t *out);
it_status_t ual_pz_free(struct ual_pz *pz);

/*
 * Event dispatchers.
 */

/* What it_evd_create is given. */
struct ual_evd_wanted {
	it_event_type_t stream;
	it_evd_flags_t flags;
	size_t queue_size;
	size_t threshold;
	it_evd_handle_t aevd;
	bool has_fd; /* the caller gave a place for the descriptor */
};

it_status_t ual_evd_create(struct ual_ia *ia, const struct ual_evd_wanted *wanted,
			   it_evd_handle_t *out, int *fd);
it_status_t ual_evd_free(struct ual_evd *evd);
/* mask is checked; only what it names is written. */
void ual_evd_query(struct ual_evd *evd, it_evd_param_mask_t mask, it_evd_param_t *params);
it_status_t ual_evd_modify(struct ual_evd *evd, it_evd_param_mask_t mask,
			   const it_evd_param_t *params);
/* Fast path. IT_ERR_IA_CATASTROPHE, once it is empty, if the adapter failed. */
it_status_t ual_evd_dequeue(struct ual_evd *evd, it_event_t *event);
/* Fast path: up to count events; answers how many. */
unsigned ual_evd_dequeue_n(struct ual_evd *evd, it_event_t *events, unsigned count);
/* timeout in microseconds; nmore may be NULL. */
it_status_t ual_evd_wait(struct ual_evd *evd, uint64_t timeout, it_event_t *event, size_t *nmore);
it_status_t ual_evd_post_se(struct ual_evd *evd, const void *data);

#endif /* UAL_H */
