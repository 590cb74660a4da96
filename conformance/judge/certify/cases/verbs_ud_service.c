/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Queries of datagram services: the query, its answers, and how it ends without one. */

#include "cert_host.h"
#include "verbs_ud.h"

#define MS UINT64_C(1000000)

/* A listener of the far side, and a query of the near one. */
struct scene {
	struct mail mail;
	struct cert *cert;
	const struct ri_cm_ops *cm;
	struct ri_service service;
	struct ri_listen *listen;
	uint64_t listener; /* its context */
	uint64_t query;    /* the context of the query */
	struct ri_cm_params params;
};

static void
scene_open(struct scene *scene, struct cert *cert)
{
	mail_open(&scene->mail, cert);
	scene->cert = cert;
	scene->cm = cert_provider(cert)->cm;
	scene->service = cert_service(scene->mail.far);
	scene->listener = cert_ctx_new(scene->mail.far, RI_OBJECT_LISTEN);
	scene->query = cert_ctx_new(scene->mail.near, RI_OBJECT_REQUEST);
	CERT_VERB(cert, RI_SUCCESS,
		  scene->cm->listen(scene->mail.far->context, scene->listener, 0, &scene->service,
				    4, &scene->listen));
	scene->params = (struct ri_cm_params){.peer = cert_address(scene->mail.far),
					      .service = scene->service,
					      .deadline = RI_NEVER};
}

static void
ask(struct scene *scene)
{
	CERT_VERB(scene->cert, RI_SUCCESS,
		  scene->cm->resolve(scene->mail.near->context, scene->query, &scene->params));
}

static struct ri_cm_event
asked(struct scene *scene)
{
	struct ri_cm_event event = cert_cm(scene->mail.far, RI_CM_SERVICE_REQUEST, scene->listener);

	CERT_TRUE(scene->cert, event.request != NULL);
	return event;
}

static struct ri_cm_event
answered(struct scene *scene)
{
	return cert_cm(scene->mail.near, RI_CM_SERVICE_REPLY, scene->query);
}

static void
answer(struct scene *scene, struct ri_request *request, const struct ri_service_answer *what)
{
	CERT_VERB(scene->cert, RI_SUCCESS, scene->cm->resolve_answer(request, what));
}

/* No answer comes any more. */
static void
no_answer(struct scene *scene)
{
	for (unsigned i = 0; i < 200; i++)
		cert_progress(scene->cert);
	CERT_UINT(scene->cert, cert_cm_count(scene->mail.near, RI_CM_SERVICE_REPLY, scene->query),
		  ==, 0);
}

static void
scene_close(struct scene *scene)
{
	CERT_VERB_VOID(scene->cert, scene->cm->listen_destroy(scene->listen));
	cert_ctx_gone(scene->mail.far, scene->listener);
}

/* The query with the longest private data, the answer with the longest; then a datagram goes there. */
static void
found(struct cert *cert)
{
	uint8_t query[RI_PDATA_MAX], reply[RI_PDATA_MAX];
	struct scene scene RI_AT_END(scene_close);
	struct ri_service_answer what = {.status = RI_SERVICE_FOUND, .qkey = UD_KEY};
	struct ri_cm_event event;

	scene_open(&scene, cert);
	cert_fill(query, sizeof(query), 1);
	cert_fill(reply, sizeof(reply), 2);
	scene.params.pdata = query;
	scene.params.pdata_len = scene.mail.near->attr.ud_request_pdata;
	ask(&scene);
	event = asked(&scene);
	CERT_UINT(cert, event.pdata_len, ==, scene.params.pdata_len);
	CERT_BYTES(cert, event.pdata, query, event.pdata_len);
	what.qpn = scene.mail.to.qpn;
	what.pdata = reply;
	what.pdata_len = scene.mail.far->attr.ud_reply_pdata;
	answer(&scene, event.request, &what);
	event = answered(&scene);
	CERT_UINT(cert, event.service_status, ==, RI_SERVICE_FOUND);
	CERT_UINT(cert, event.pdata_len, ==, what.pdata_len);
	CERT_BYTES(cert, event.pdata, reply, event.pdata_len);
	scene.mail.to.qpn = event.qpn;
	scene.mail.to.qkey = event.qkey;
	mail_offer(&scene.mail, 1, 64);
	mail_send(&scene.mail, 2, 8);
	mail_arrives(&scene.mail, 1, 8);
	no_answer(&scene);
}

static void
other_answers(struct cert *cert)
{
	struct scene scene RI_AT_END(scene_close);

	scene_open(&scene, cert);
	for (uint32_t status = RI_SERVICE_UNKNOWN; status < RI_SERVICE_STATUS_COUNT; status++) {
		const struct ri_service_answer what = {.status = status};

		cert_note(cert, "answer %u", status);
		ask(&scene);
		answer(&scene, asked(&scene).request, &what);
		CERT_UINT(cert, answered(&scene).service_status, ==, status);
	}
}

static void
no_listener(struct cert *cert)
{
	struct scene scene;

	scene_open(&scene, cert);
	scene_close(&scene);
	ask(&scene);
	CERT_UINT(cert, answered(&scene).service_status, ==, RI_SERVICE_UNKNOWN);
	no_answer(&scene);
}

/* What the service is told of a query with a deadline; false: the answer came first. */
static bool
asked_in_time(struct scene *scene, struct ri_cm_event *request)
{
	gint64 until = 0;

	while (cert_cm_count(scene->mail.far, RI_CM_SERVICE_REQUEST, scene->listener) == 0) {
		if (cert_cm_count(scene->mail.near, RI_CM_SERVICE_REPLY, scene->query) > 0)
			return false;
		CERT_TRUE(scene->cert, cert_patience(scene->cert, &until));
	}
	*request = asked(scene);
	return true;
}

/*
 * A query stays open until its time-out. Its service must then be notified that no answer is wanted
 * any more, if it was notified of the query at all: on a busy machine the time may have ended
 * before.
 */
static void
deadline(struct cert *cert)
{
	const struct ri_host *host = cert_host_table(cert_host(cert));
	struct ri_service_answer late = {.status = RI_SERVICE_FOUND};
	struct scene scene RI_AT_END(scene_close);
	struct ri_cm_event request;
	bool told;

	scene_open(&scene, cert);
	late.qpn = scene.mail.to.qpn;
	scene.params.deadline = host->now(host->self) + 50 * MS;
	ask(&scene);
	told = asked_in_time(&scene, &request);
	CERT_UINT(cert, answered(&scene).service_status, ==, RI_SERVICE_REJECTED);
	CERT_UINT(cert, host->now(host->self), >=, scene.params.deadline);
	if (told) {
		CERT_TRUE(cert,
			  cert_cm(scene.mail.far, RI_CM_REQUEST_GONE, scene.listener).request ==
				  request.request);
		CERT_VERB(cert, RI_ERR_INVALID_HANDLE,
			  scene.cm->resolve_answer(request.request, &late));
	}
	no_answer(&scene);
}

static void
cancelled(struct cert *cert)
{
	struct ri_service_answer late = {.status = RI_SERVICE_FOUND};
	struct scene scene RI_AT_END(scene_close);
	struct ri_cm_event request;

	scene_open(&scene, cert);
	late.qpn = scene.mail.to.qpn;
	ask(&scene);
	request = asked(&scene);
	CERT_VERB_VOID(cert, scene.cm->resolve_cancel(scene.mail.near->context, scene.query));
	no_answer(&scene);
	CERT_TRUE(cert, cert_cm(scene.mail.far, RI_CM_REQUEST_GONE, scene.listener).request ==
				request.request);
	CERT_VERB(cert, RI_ERR_INVALID_HANDLE, scene.cm->resolve_answer(request.request, &late));
	cert_note(cert, "one that is not outstanding, and the number again");
	CERT_VERB_VOID(cert, scene.cm->resolve_cancel(scene.mail.near->context, scene.query));
	ask(&scene);
	answer(&scene, asked(&scene).request, &late);
	CERT_UINT(cert, answered(&scene).service_status, ==, RI_SERVICE_FOUND);
}

static void
asked_twice(struct cert *cert)
{
	const struct ri_service_answer what = {.status = RI_SERVICE_NO_QP};
	struct scene scene RI_AT_END(scene_close);
	struct ri_cm_event request;

	scene_open(&scene, cert);
	ask(&scene);
	request = asked(&scene);
	CERT_VERB(cert, RI_ERR_BUSY,
		  scene.cm->resolve(scene.mail.near->context, scene.query, &scene.params));
	answer(&scene, request.request, &what);
	CERT_UINT(cert, answered(&scene).service_status, ==, RI_SERVICE_NO_QP);
	CERT_UINT(cert, cert_cm_count(scene.mail.far, RI_CM_SERVICE_REQUEST, scene.listener), ==,
		  0);
	no_answer(&scene);
}

/* What is refused is not asked, and a request whose answer is refused stays. */
static void
arguments(struct cert *cert)
{
	static const uint8_t much[RI_PDATA_MAX + 1];
	struct ri_service_answer what = {.status = RI_SERVICE_STATUS_COUNT};
	struct scene scene RI_AT_END(scene_close);
	struct ri_cm_params params;
	struct ri_context *context;
	struct ri_request *request;

	scene_open(&scene, cert);
	context = scene.mail.near->context;
	params = scene.params;
	params.port = scene.mail.near->attr.num_ports;
	CERT_VERB(cert, RI_ERR_INVALID_ARG, scene.cm->resolve(context, scene.query, &params));
	params = scene.params;
	params.pdata = much;
	params.pdata_len = (uint16_t)(scene.mail.near->attr.ud_request_pdata + 1);
	CERT_VERB(cert, RI_ERR_INVALID_ARG, scene.cm->resolve(context, scene.query, &params));
	params = scene.params;
	params.service.kind = RI_SERVICE_NONE;
	CERT_VERB(cert, RI_ERR_INVALID_ARG, scene.cm->resolve(context, scene.query, &params));
	ask(&scene);
	request = asked(&scene).request;
	CERT_VERB(cert, RI_ERR_INVALID_ARG, scene.cm->resolve_answer(request, &what));
	what.status = RI_SERVICE_FOUND;
	what.pdata = much;
	what.pdata_len = (uint16_t)(scene.mail.far->attr.ud_reply_pdata + 1);
	CERT_VERB(cert, RI_ERR_INVALID_ARG, scene.cm->resolve_answer(request, &what));
	what.pdata_len = 0;
	what.qpn = scene.mail.to.qpn;
	answer(&scene, request, &what);
	CERT_UINT(cert, answered(&scene).service_status, ==, RI_SERVICE_FOUND);
	CERT_UINT(cert, cert_cm_count(scene.mail.far, RI_CM_SERVICE_REQUEST, scene.listener), ==,
		  0);
}

/* A provider may have the entry for another adapter of its own. */
static void
not_claimed(struct cert *cert)
{
	struct cert_node *node = cert_node_open(cert);
	struct ri_service service = cert_service(node);
	uint64_t query = cert_ctx_new(node, RI_OBJECT_REQUEST);
	struct ri_cm_params params = {
		.peer = cert_address(node), .service = service, .deadline = RI_NEVER};

	params.service.port = GUINT16_TO_BE(1000);
	params.service.id = 1000;
	CERT_VERB(cert, RI_ERR_UNSUPPORTED, node->p->cm->resolve(node->context, query, &params));
	for (unsigned i = 0; i < 50; i++)
		cert_progress(cert);
	CERT_UINT(cert, cert_cm_count(node, RI_CM_SERVICE_REPLY, query), ==, 0);
}

static const struct cert_case cases[] = {
	{.id = "verbs.ud.service.0001",
	 .title = "A service is found, with all private data of the query and the answer",
	 .rule = "[RI 11.6.1] [RI 10.34]",
	 .needs = "ud cm_forms:RI_CM_ADDRESS",
	 .settles = "ud_request_pdata ud_reply_pdata",
	 .run = found},
	{.id = "verbs.ud.service.0002",
	 .title = "Each other answer reaches the side that asked",
	 .rule = "[RI 11.6.1]",
	 .needs = "ud cm_forms:RI_CM_ADDRESS",
	 .run = other_answers},
	{.id = "verbs.ud.service.0003",
	 .title = "A service without a listener is unknown",
	 .rule = "[RI 11.6.1]",
	 .needs = "ud cm_forms:RI_CM_ADDRESS",
	 .run = no_listener},
	{.id = "verbs.ud.service.0004",
	 .title = "A query without an answer ends at its deadline, on both sides",
	 .rule = "[RI 11.6.1] [RI 11.6.2]",
	 .needs = "ud cm_forms:RI_CM_ADDRESS",
	 .run = deadline},
	{.id = "verbs.ud.service.0005",
	 .title = "A query that is withdrawn gets no answer",
	 .rule = "[RI 11.6.1] [RI 2.1.4]",
	 .needs = "ud cm_forms:RI_CM_ADDRESS",
	 .run = cancelled},
	{.id = "verbs.ud.service.0006",
	 .title = "A query whose number is outstanding is refused",
	 .rule = "[RI 11.6.1] [RI 2.1.1]",
	 .needs = "ud cm_forms:RI_CM_ADDRESS",
	 .run = asked_twice},
	{.id = "verbs.ud.service.0007",
	 .title = "Queries and answers with wrong arguments are refused and change nothing",
	 .rule = "[RI 11.6.1] [RI 2.1.1]",
	 .needs = "ud cm_forms:RI_CM_ADDRESS",
	 .run = arguments},
	{.id = "verbs.ud.service.0008",
	 .title = "A query for a service is refused where no datagrams are claimed",
	 .rule = "[RI 10.34] [RI 2.1.1]",
	 .needs = "!ud cm_forms:RI_CM_ADDRESS",
	 .settles = "ud ud_request_pdata ud_reply_pdata",
	 .run = not_claimed},
};

CERT_SET(verbs_ud_service, cases);
