/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* The list of adapters, spigots, queries for services, and control verbs of connections, of both forms, when memory runs out. */

#include <unistd.h>

#include "verbs_scarce.h"

/* Two adapters; the far one listens. */
struct scene {
	struct cert *cert;
	struct cert_node *node, *far;
	const struct ri_provider *p;
	const struct ri_host *host;
	struct ri_device_desc desc;
	uint64_t ctx;   /* of the listener */
	uint64_t query; /* of the query */
	struct cert_end *a, *b;
	struct ri_service service;
	struct ri_listen *listen;
	struct ri_cm_params params;
	struct ri_request *request;
	int fds[2];
	struct ri_stream stream;
};

static void
scene_open(struct scene *scene, struct cert *cert)
{
	*scene = (struct scene){
		.cert = cert, .p = cert_provider(cert), .host = cert_host_table(cert_host(cert))};
	scene->node = cert_node_open(cert);
	scene->far = cert_node_open(cert);
	scene->ctx = cert_ctx_new(scene->far, RI_OBJECT_LISTEN);
}

#define VERB(scene, call) CERT_VERB((scene)->cert, RI_SUCCESS, call)
#define GONE(scene, call) CERT_VERB_VOID((scene)->cert, call)

/* --- adapters and spigots ------------------------------------------------------------------ */

static enum ri_status
probe_try(struct scene *scene)
{
	uint32_t count = 1;

	return scene->p->device->probe(scene->host, &scene->desc, &count);
}

/* What is listed has no object. */
static void
probe_undo(struct scene *scene)
{
	CERT_TRUE(scene->cert, scene->desc.name[0] != '\0');
	scene->desc = (struct ri_device_desc){0};
}

static void
list_of_adapters(struct cert *cert)
{
	static const struct scarce probe = {"ri_device_ops::probe", NULL, probe_try, probe_undo,
					    NULL};
	struct scene scene;

	if (!scarce_can(cert))
		return;
	scene_open(&scene, cert);
	scarce_sweep(cert, &probe, &scene);
}

static enum ri_status
port_try(struct scene *scene)
{
	struct ri_port_attr attr = {.size = sizeof(attr)};

	return scene->p->device->query_port(scene->node->rnic, 0, &attr);
}

static void
port_undo(struct scene *scene)
{
	(void)cert_address(scene->node);
}

static void
spigots(struct cert *cert)
{
	static const struct scarce port = {"ri_device_ops::query_port", NULL, port_try, port_undo,
					   NULL};
	struct scene scene;

	if (!scarce_can(cert))
		return;
	scene_open(&scene, cert);
	scarce_sweep(cert, &port, &scene);
}

/* --- by address ---------------------------------------------------------------------------- */

static enum ri_status
listen_try(struct scene *scene)
{
	scene->service = cert_service(scene->far);
	return scene->p->cm->listen(scene->far->context, scene->ctx, 0, &scene->service, 4,
				    &scene->listen);
}

static void
listen_undo(struct scene *scene)
{
	GONE(scene, scene->p->cm->listen_destroy(scene->listen));
}

static void
ends_prepare(struct scene *scene)
{
	scene->a = cert_end_new(scene->node, NULL);
	scene->b = cert_end_new(scene->far, NULL);
	scene->params = cert_params(scene->a, scene->far, &scene->service);
}

static void
ends_undo(struct scene *scene)
{
	cert_end_free(scene->a);
	cert_end_free(scene->b);
	cert_events_forget(scene->node);
	cert_events_forget(scene->far);
}

static enum ri_status
connect_try(struct scene *scene)
{
	return scene->p->cm->connect(scene->a->qp, &scene->params);
}

/*
 * Withdraws the attempt after it has reached the listener. If the listener's side had no memory for
 * it, the attempt must have failed for that reason.
 */
static void
connect_undo(struct scene *scene)
{
	gint64 until = 0;

	while (cert_cm_count(scene->far, RI_CM_REQUEST, scene->ctx) == 0 &&
	       cert_cm_count(scene->node, RI_CM_FAILED, scene->a->ctx) == 0)
		CERT_TRUE(scene->cert, cert_patience(scene->cert, &until));
	if (cert_cm_count(scene->node, RI_CM_FAILED, scene->a->ctx) > 0) {
		CERT_UINT(scene->cert, cert_cm(scene->node, RI_CM_FAILED, scene->a->ctx).reason, ==,
			  RI_CM_REASON_RESOURCES);
		cert_end_free(scene->a);
	} else {
		(void)cert_cm(scene->far, RI_CM_REQUEST, scene->ctx);
		cert_end_free(scene->a);
		(void)cert_cm(scene->far, RI_CM_REQUEST_GONE, scene->ctx);
	}
	cert_end_free(scene->b);
	cert_events_forget(scene->node);
}

static void
connect_check(struct scene *scene)
{
	CERT_UINT(scene->cert, cert_end_attr(scene->a).state, ==, RI_QPS_IDLE);
	CERT_UINT(scene->cert, cert_cm_count(scene->far, RI_CM_REQUEST, scene->ctx), ==, 0);
}

static void
accept_prepare(struct scene *scene)
{
	ends_prepare(scene);
	VERB(scene, connect_try(scene));
	scene->request = cert_cm(scene->far, RI_CM_REQUEST, scene->ctx).request;
	scene->params = cert_params(scene->b, scene->node, &scene->service);
}

static enum ri_status
accept_try(struct scene *scene)
{
	return scene->p->cm->accept(scene->request, scene->b->qp, &scene->params);
}

static void
accept_undo(struct scene *scene)
{
	(void)cert_cm(scene->node, RI_CM_ESTABLISHED, scene->a->ctx);
	(void)cert_cm(scene->far, RI_CM_ESTABLISHED, scene->b->ctx);
	ends_undo(scene);
}

static void
accept_check(struct scene *scene)
{
	CERT_UINT(scene->cert, cert_end_attr(scene->b).state, ==, RI_QPS_IDLE);
	CERT_UINT(scene->cert, cert_end_attr(scene->a).state, ==, RI_QPS_CONNECTING);
}

static void
by_address(struct cert *cert)
{
	static const struct scarce listen = {"ri_cm_ops::listen", NULL, listen_try, listen_undo,
					     NULL};
	static const struct scarce connect = {"ri_cm_ops::connect", ends_prepare, connect_try,
					      connect_undo, connect_check};
	static const struct scarce accept = {"ri_cm_ops::accept", accept_prepare, accept_try,
					     accept_undo, accept_check};
	struct scene scene_, *scene = &scene_;

	if (!scarce_can(cert))
		return;
	scene_open(scene, cert);
	scarce_sweep(cert, &listen, scene);
	VERB(scene, listen_try(scene));
	scarce_sweep(cert, &connect, scene);
	ends_undo(scene);
	scarce_sweep(cert, &accept, scene);
	cert_end_free(scene->a);
	cert_end_free(scene->b);
	listen_undo(scene);
}

/* --- queries ----------------------------------------------------------------------------- */

static enum ri_status
resolve_try(struct scene *scene)
{
	return scene->p->cm->resolve(scene->node->context, scene->query, &scene->params);
}

/*
 * Withdraws the query on both sides after it has reached the listener. If the listener's side had
 * no memory for it, the answer must say so.
 */
static void
resolve_undo(struct scene *scene)
{
	gint64 until = 0;

	while (cert_cm_count(scene->far, RI_CM_SERVICE_REQUEST, scene->ctx) == 0 &&
	       cert_cm_count(scene->node, RI_CM_SERVICE_REPLY, scene->query) == 0)
		CERT_TRUE(scene->cert, cert_patience(scene->cert, &until));
	if (cert_cm_count(scene->node, RI_CM_SERVICE_REPLY, scene->query) > 0) {
		CERT_UINT(scene->cert,
			  cert_cm(scene->node, RI_CM_SERVICE_REPLY, scene->query).service_status,
			  !=, RI_SERVICE_FOUND);
		return;
	}
	(void)cert_cm(scene->far, RI_CM_SERVICE_REQUEST, scene->ctx);
	GONE(scene, scene->p->cm->resolve_cancel(scene->node->context, scene->query));
	(void)cert_cm(scene->far, RI_CM_REQUEST_GONE, scene->ctx);
}

static void
resolve_check(struct scene *scene)
{
	CERT_UINT(scene->cert, cert_cm_count(scene->far, RI_CM_SERVICE_REQUEST, scene->ctx), ==, 0);
}

static void
queries(struct cert *cert)
{
	static const struct scarce resolve = {"ri_cm_ops::resolve", NULL, resolve_try, resolve_undo,
					      resolve_check};
	struct scene scene_, *scene = &scene_;

	if (!scarce_can(cert))
		return;
	scene_open(scene, cert);
	scene->query = cert_ctx_new(scene->node, RI_OBJECT_REQUEST);
	VERB(scene, listen_try(scene));
	scene->params = (struct ri_cm_params){
		.peer = cert_address(scene->far), .service = scene->service, .deadline = RI_NEVER};
	scarce_sweep(cert, &resolve, scene);
	listen_undo(scene);
}

/* --- over streams -------------------------------------------------------------------------- */

static void
attach_prepare(struct scene *scene)
{
	ends_prepare(scene);
	cert_tcp_pair(scene->cert, scene->fds);
	VERB(scene, scene->p->llp->reserve(scene->a->qp));
	/* The beginning of a frame, which waits for the rest. */
	static const uint8_t early[2] = {0, 40};

	scene->stream = (struct ri_stream){.fd = scene->fds[0],
					   .initiator = true,
					   .crc = true,
					   .peer_local = true,
					   .ird = scene->a->init.ird,
					   .ord = scene->a->init.ord,
					   .early = early,
					   .early_len = sizeof(early)};
}

static enum ri_status
attach_try(struct scene *scene)
{
	return scene->p->llp->attach_stream(scene->a->qp, &scene->stream);
}

static void
attach_undo(struct scene *scene)
{
	CERT_UINT(scene->cert, cert_end_attr(scene->a).state, ==, RI_QPS_RTS);
	close(scene->fds[1]);
	ends_undo(scene);
}

/* The socket is still the case's, and still connected. */
static void
attach_check(struct scene *scene)
{
	char octet = 'x';
	gint64 until = 0;

	CERT_UINT(scene->cert, cert_end_attr(scene->a).state, ==, RI_QPS_CONNECTING);
	CERT_TRUE(scene->cert, write(scene->fds[1], &octet, 1) == 1);
	while (read(scene->fds[0], &octet, 1) != 1)
		CERT_TRUE(scene->cert, cert_patience(scene->cert, &until));
	CERT_UINT(scene->cert, octet, ==, 'x');
}

static void
over_streams(struct cert *cert)
{
	static const struct scarce attach = {"ri_llp_ops::attach_stream", attach_prepare,
					     attach_try, attach_undo, attach_check};
	struct scene scene_, *scene = &scene_;

	if (!scarce_can(cert))
		return;
	scene_open(scene, cert);
	scarce_sweep(cert, &attach, scene);
	close(scene->fds[0]);
	close(scene->fds[1]);
	ends_undo(scene);
}

static const struct cert_case cases[] = {
	{.id = "verbs.scarce.cm.0001",
	 .title = "Listening, connecting and accepting without memory fails whole",
	 .rule = "[RI 2.1.1] [RI 11.6.1]",
	 .needs = "cm_forms:RI_CM_ADDRESS",
	 .run = by_address},
	{.id = "verbs.scarce.probe.0001",
	 .title = "Listing the adapters without memory fails whole",
	 .rule = "[RI 2.1.1] [RI 2.2.1]",
	 .run = list_of_adapters},
	{.id = "verbs.scarce.port.0001",
	 .title = "Describing a spigot without memory fails whole",
	 .rule = "[RI 2.1.1] [RI 2.2.1]",
	 .run = spigots},
	{.id = "verbs.scarce.service.0001",
	 .title = "Asking for a service without memory fails whole",
	 .rule = "[RI 2.1.1] [RI 10.34]",
	 .needs = "ud cm_forms:RI_CM_ADDRESS",
	 .run = queries},
	{.id = "verbs.scarce.llp.0001",
	 .title = "Taking over a stream without memory fails whole, and leaves the stream",
	 .rule = "[RI 2.1.1] [RI 11.6.3]",
	 .needs = "cm_forms:RI_CM_STREAM",
	 .run = over_streams},
};

CERT_SET(verbs_scarce_cm, cases);
