/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Fault scripts of vp/emul (vem_script.c). The first octet of the input has the options, the rest is text: the
 * commands that an adapter finds in its environment when it is opened; or lines, each a packet of a tester on the control
 * socket of an adapter that has objects, a connection and requests. Time is virtual.
 */
#include "fuzz.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "vem_node.h"
#include "vem_setting.h"

#define INFINIBAND  0x01u
#define ENVIRONMENT 0x02u /* the text is ITAPI_EMUL_FAULTS, else packets */
#define SHARED      0x04u /* the queue pairs share a receive queue */

#define PACKETS_MAX 32
#define SECOND      UINT64_C(1000000000)

/* --- the tester ----------------------------------------------------------------------------- */

static struct {
	int listener;
	char folder[64];
	char path[80];
} tester = {.listener = -1};

static void
tester_end(void)
{
	unlink(tester.path);
	rmdir(tester.folder);
}

static void
tester_begin(void)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};

	snprintf(tester.folder, sizeof(tester.folder), "/tmp/itapi-fuzz-XXXXXX");
	FUZZ_REQUIRE(mkdtemp(tester.folder) != NULL);
	snprintf(tester.path, sizeof(tester.path), "%s/control", tester.folder);
	atexit(tester_end);
	memcpy(at.sun_path, tester.path, sizeof(tester.path));
	tester.listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	FUZZ_REQUIRE(tester.listener >= 0);
	FUZZ_REQUIRE(bind(tester.listener, (struct sockaddr *)&at, sizeof(at)) == 0);
	FUZZ_REQUIRE(listen(tester.listener, 1) == 0);
}

/* --- the environment ------------------------------------------------------------------------ */

static void
async_drop(void *self, const struct ri_async_event *event)
{
	(void)self;
	FUZZ_REQUIRE(event->event != RI_EVENT_NONE);
}

static void
verbs_try(struct node *node, struct end *end)
{
	const struct ri_provider *p = node->p;
	struct ri_qp_attr attr = {.state = RI_QPS_ERROR};
	struct ri_port_attr port = {.size = sizeof(port)};
	struct ri_pd *pd = NULL;

	(void)!p->device->query_port(node->rnic, 0, &port);
	(void)!p->qp->query(end->qp, &attr);
	if (p->pd->create(node->context, &pd) == RI_SUCCESS)
		FUZZ_REQUIRE(p->pd->destroy(pd) == RI_SUCCESS);
}

/* An adapter that finds the text in its environment. Opening it succeeds whatever the text is. */
static void
environment_run(const char *adapter, const char *text)
{
	const struct ri_provider *p = vem_provider_entry();
	struct vth *vth = vth_new(false);
	struct ri_upcalls upcalls = {.size = sizeof(upcalls), .async_event = async_drop};
	struct ri_open open = {.host = vth_host(vth), .upcalls = &upcalls};
	struct ri_owner owner = {.pid = (uint32_t)getpid(), .mem_owner = 1};
	g_autofree char *variable =
		g_strdup_printf("%s=%s", vem_settings[VEM_SETTING_FAULTS].name, text);
	char *variables[] = {variable, NULL};
	char **before = environ;
	struct ri_context *context = NULL;
	struct ri_rnic *rnic = NULL;
	struct ri_pd *pd = NULL;
	struct ri_map map;

	g_strlcpy(open.name, adapter, sizeof(open.name));
	environ = variables;
	FUZZ_REQUIRE(p->device->open(&open, &rnic) == RI_SUCCESS);
	environ = before;
	if (p->device->context_create(rnic, &owner, &context, &map) == RI_SUCCESS) {
		for (unsigned i = 0; i < 4; i++) {
			if (p->pd->create(context, &pd) == RI_SUCCESS)
				FUZZ_REQUIRE(p->pd->destroy(pd) == RI_SUCCESS);
		}
		p->device->context_destroy(context);
	}
	p->device->close(rnic);
	vth_free(&vth);
}

/* --- packets -------------------------------------------------------------------------------- */

struct world {
	struct vth *vth;
	struct node *na, *nb;
	struct end *a, *b;
	struct chunk chunk;
	int control; /* socket to the adapter of `nb` */
};

static void
world_open(struct world *w, const char *adapter, bool shared)
{
	char *variable =
		g_strdup_printf("%s=%s", vem_settings[VEM_SETTING_CONTROL].name, tester.path);
	char *variables[] = {variable, NULL};
	char *none[] = {NULL};
	char **before = environ;
	char name[32] = "";

	w->vth = vth_new(false);
	environ = none;
	w->na = node_new(w->vth, false, adapter);
	environ = variables;
	w->nb = node_new(w->vth, false, adapter);
	environ = before;
	g_free(variable);
	w->control = accept4(tester.listener, NULL, NULL, SOCK_CLOEXEC);
	FUZZ_REQUIRE(w->control >= 0);
	FUZZ_REQUIRE(recv(w->control, name, sizeof(name) - 1, 0) == (ssize_t)strlen(adapter));
	FUZZ_REQUIRE(strcmp(name, adapter) == 0);
	if (shared)
		node_share(w->nb, 8);
	w->a = end_new(w->na, NULL);
	w->b = end_new(w->nb, NULL);
	w->chunk = chunk_new(w->nb, 4096, ALL_RW);
	ends_connect(w->a, w->b);
	if (shared)
		node_post(w->nb, 1, &w->chunk, 0, 64);
	else
		(void)end_recv(w->b, 1, &w->chunk, 0, 64);
	post_send(w->a, 2, NULL, 0);
}

static void
world_close(struct world *w)
{
	close(w->control);
	vth_advance(w->vth, SECOND);
	end_free(&w->a);
	end_free(&w->b);
	chunk_free(&w->chunk);
	if (w->nb->srq != NULL)
		node_unshare(w->nb);
	vth_run(w->vth);
	node_forget(w->na);
	node_forget(w->nb);
	FUZZ_REQUIRE(w->na->p->pd->destroy(w->na->pd) == RI_SUCCESS);
	FUZZ_REQUIRE(w->nb->p->pd->destroy(w->nb->pd) == RI_SUCCESS);
	node_close(&w->na);
	node_close(&w->nb);
	vth_free(&w->vth);
}

/* Send a packet; each one gets exactly one answer. */
static void
packet_run(struct world *w, const char *packet, size_t len)
{
	char answer[128];

	FUZZ_REQUIRE(send(w->control, packet, len, MSG_NOSIGNAL) == (ssize_t)len);
	vth_run(w->vth);
	FUZZ_REQUIRE(recv(w->control, answer, sizeof(answer), MSG_DONTWAIT) > 0);
	FUZZ_REQUIRE(recv(w->control, answer, sizeof(answer), MSG_DONTWAIT) < 0);
}

static void
packets_run(const char *adapter, bool shared, const char *text, size_t len)
{
	struct world w;

	world_open(&w, adapter, shared);
	for (unsigned i = 0; i < PACKETS_MAX && len > 0; i++) {
		const char *end = memchr(text, '\n', len);
		size_t packet = end != NULL ? (size_t)(end - text) : len;

		if (packet > 0)
			packet_run(&w, text, packet);
		packet += end != NULL;
		text += packet;
		len -= packet;
		verbs_try(w.nb, w.b);
		(void)end_write(w.b, i, &w.chunk, &w.chunk, 16);
	}
	world_close(&w);
}

int
LLVMFuzzerTestOneInput(const uint8_t *octets, size_t len)
{
	struct fuzz_input in = {.at = octets, .left = len};
	uint8_t options = fuzz_u8(&in);
	const char *adapter = options & INFINIBAND ? "emul:ib" : "emul:iwarp";
	char *text = fuzz_text(in.at, in.left);

	if (tester.listener < 0)
		tester_begin();
	if (options & ENVIRONMENT)
		environment_run(adapter, text);
	else
		packets_run(adapter, (options & SHARED) != 0, text, in.left);
	free(text);
	return 0;
}
