/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */
#ifndef VERBS_CM_H
#define VERBS_CM_H

/** @file verbs_cm.h @brief The fixture of cases that connect by address. */

#include "verbs_pair.h"

/* A listener of the far side, and two queue pairs that are not connected. */
struct scene {
	struct pair pair;
	struct cert *cert;
	const struct ri_cm_ops *cm;
	struct ri_service service;
	struct ri_listen *listen;
	uint64_t ctx; /* of the listener */
};

/* A listener at the service that the scene has already, or at any of its kind. */
static inline void
scene_listen_at(struct scene *scene, uint32_t backlog)
{
	scene->ctx = cert_ctx_new(scene->pair.far, RI_OBJECT_LISTEN);
	CERT_VERB(scene->cert, RI_SUCCESS,
		  scene->cm->listen(scene->pair.far->context, scene->ctx, 0, &scene->service,
				    backlog, &scene->listen));
}

static inline void
scene_listen(struct scene *scene, uint32_t backlog)
{
	scene->service = cert_service(scene->pair.far);
	scene_listen_at(scene, backlog);
}

static inline void
scene_open(struct scene *scene, struct cert *cert)
{
	pair_open(&scene->pair, cert, NULL);
	scene->cert = cert;
	scene->cm = cert_provider(cert)->cm;
	scene_listen(scene, 4);
}

static inline void
listen_end(struct scene *scene)
{
	CERT_VERB_VOID(scene->cert, scene->cm->listen_destroy(scene->listen));
	cert_ctx_gone(scene->pair.far, scene->ctx);
}

static inline struct ri_cm_params
connect_params(struct scene *scene)
{
	return cert_params(scene->pair.a, scene->pair.far, &scene->service);
}

static inline struct ri_cm_params
accept_params(struct scene *scene)
{
	return cert_params(scene->pair.b, scene->pair.near, &scene->service);
}

static inline void
begin(struct scene *scene, const struct ri_cm_params *params)
{
	CERT_VERB(scene->cert, RI_SUCCESS, scene->cm->connect(scene->pair.a->qp, params));
}

/* The request of an attempt, as the listener is told. */
static inline struct ri_cm_event
request_of(struct scene *scene)
{
	struct ri_cm_event event = cert_cm(scene->pair.far, RI_CM_REQUEST, scene->ctx);

	CERT_TRUE(scene->cert, event.request != NULL);
	return event;
}

static inline void
accept(struct scene *scene, struct ri_request *request, const struct ri_cm_params *params)
{
	CERT_VERB(scene->cert, RI_SUCCESS, scene->cm->accept(request, scene->pair.b->qp, params));
}

#endif /* VERBS_CM_H */
