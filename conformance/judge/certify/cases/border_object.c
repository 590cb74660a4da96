/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* The shared object: versions, sizes on either side, claims against entries, and opening again and again. */

#include <string.h>
#include <unistd.h>

#include "cert_extent.h"
#include "cert_host.h"
#include "cert_node.h"

#define GUARD      0x5c
#define GUARD_SIZE 64
#define ROOM       64
#define THREADS    "/proc/self/task"

/* How often it is looked whether a thread has ended, and the time between (us). */
#define ENDING_LOOKS    100
#define ENDING_PAUSE_US 10000

/* Hosts of the process, each with a service thread: the one that loads providers, and that of the case. */
#define HOSTS 2

/* Openings of an adapter: so many times so many, and no further step after so many microseconds. */
#define OPENS_STEPS 20
#define OPENS_STEP  100
#define OPENS_US    (10 * G_USEC_PER_SEC)

/* Expects that nothing was written from an offset on. */
static void
guard_expect(struct cert *cert, const char *what, const uint8_t *at, size_t from, size_t to)
{
	uint8_t guard[sizeof(struct ri_rnic_attr) + GUARD_SIZE];

	memset(guard, GUARD, sizeof(guard));
	cert_expect_bytes(cert, CERT_WHERE, what, at + from, guard, to - from);
}

static void
load(struct cert *cert)
{
	g_autofree char *fault = cert_claims_refusal(cert);

	if (fault != NULL)
		cert_failed(cert, CERT_WHERE,
			    "the claims of the profile, compared with the entries",
			    "each claim has its entries", fault);
}

/* The registry has refused another major version already; tables hold whole entries. */
static void
version(struct cert *cert)
{
	const struct ri_provider *raw = cert_provider_raw(cert);
	const uint32_t sizes[] = {raw->device->size, raw->pd->size,   raw->cq->size,  raw->qp->size,
				  raw->mem->size,    raw->user->size, raw->fast->size};

	CERT_UINT(cert, raw->abi_major, ==, RI_ABI_MAJOR);
	CERT_UINT(cert, raw->size, >=, offsetof(struct ri_provider, settings));
	for (size_t i = 0; i < G_N_ELEMENTS(sizes); i++)
		CERT_UINT(cert, sizes[i] % sizeof(void *), ==, 0);
}

/* An older access layer knows fewer members of the profile. */
static void
profile_older(struct cert *cert)
{
	struct cert_node *node = cert_node_open(cert);
	const size_t size = offsetof(struct ri_rnic_attr, max_pd);
	union {
		struct ri_rnic_attr attr;
		uint8_t bytes[sizeof(struct ri_rnic_attr)];
	} old;

	memset(&old, GUARD, sizeof(old));
	old.attr.size = (uint32_t)size;
	CERT_VERB(cert, RI_SUCCESS, node->p->device->query(node->rnic, &old.attr));
	guard_expect(cert, "what is behind the size that the caller told", old.bytes, size,
		     sizeof(old));
	CERT_UINT(cert, old.attr.transport, ==, node->attr.transport);
	CERT_UINT(cert, old.attr.num_ports, ==, node->attr.num_ports);
}

/* A newer one knows more. */
static void
profile_newer(struct cert *cert)
{
	struct cert_node *node = cert_node_open(cert);
	struct {
		struct ri_rnic_attr attr;
		uint8_t more[GUARD_SIZE], guard[GUARD_SIZE];
	} new;

	memset(&new, GUARD, sizeof(new));
	new.attr.size = sizeof(new.attr) + sizeof(new.more);
	CERT_VERB(cert, RI_SUCCESS, node->p->device->query(node->rnic, &new.attr));
	guard_expect(cert, "what is behind the size that the caller told", new.guard, 0,
		     sizeof(new.guard));
	new.attr.size = node->attr.size;
	CERT_UINT(cert, new.attr.max_qp, ==, node->attr.max_qp);
	CERT_UINT(cert, new.attr.ud_reply_pdata, ==, node->attr.ud_reply_pdata);
}

static void
ports(struct cert *cert)
{
	struct cert_node *node = cert_node_open(cert);
	struct {
		struct ri_port_attr attr;
		uint8_t guard[GUARD_SIZE];
	} told;

	CERT_UINT(cert, node->attr.num_ports, >=, 1);
	for (uint32_t port = 0; port < node->attr.num_ports; port++) {
		memset(&told, GUARD, sizeof(told));
		told.attr.size = sizeof(told.attr);
		CERT_VERB(cert, RI_SUCCESS,
			  node->p->device->query_port(node->rnic, port, &told.attr));
		guard_expect(cert, "what is behind the attributes", told.guard, 0,
			     sizeof(told.guard));
		CERT_UINT(cert, told.attr.num_addrs, <=, RI_PORT_ADDR_MAX);
		CERT_TRUE(cert, memchr(told.attr.if_name, 0, sizeof(told.attr.if_name)) != NULL);
	}
	told.attr.size = sizeof(told.attr);
	CERT_VERB(cert, RI_ERR_INVALID_ARG,
		  node->p->device->query_port(node->rnic, node->attr.num_ports, &told.attr));
}

/* All adapters, and the first alone: the counts agree, and no more is written than fits. */
static void
probe(struct cert *cert)
{
	const struct ri_provider *p = cert_provider(cert);
	const struct ri_host *host = cert_host_table(cert_host(cert));
	g_autofree struct ri_device_desc *all = g_new0(struct ri_device_desc, ROOM);
	struct {
		struct ri_device_desc desc;
		uint8_t guard[GUARD_SIZE];
	} one;
	uint32_t count = ROOM, again = 1;
	bool listed = false;

	CERT_VERB(cert, RI_SUCCESS, p->device->probe(host, all, &count));
	memset(&one, GUARD, sizeof(one));
	CERT_VERB(cert, RI_SUCCESS, p->device->probe(host, &one.desc, &again));
	CERT_UINT(cert, again, ==, count);
	guard_expect(cert, "what is behind the room for one adapter", one.guard, 0,
		     sizeof(one.guard));
	for (uint32_t i = 0; i < MIN(count, ROOM); i++) {
		CERT_TRUE(cert, memchr(all[i].name, 0, sizeof(all[i].name)) != NULL);
		CERT_TRUE(cert, all[i].name[0] != '\0');
		CERT_TRUE(cert, memchr(all[i].description, 0, sizeof(all[i].description)) != NULL);
		for (uint32_t k = 0; k < i; k++)
			CERT_TRUE(cert, strcmp(all[i].name, all[k].name) != 0);
		if (strcmp(all[i].name, cert_adapter(cert)) != 0)
			continue;
		listed = true;
		CERT_UINT(cert, all[i].transport, ==, cert_attr(cert)->transport);
		CERT_UINT(cert, all[i].num_ports, ==, cert_attr(cert)->num_ports);
	}
	if (!listed)
		cert_note(cert, "the adapter is not listed; it is opened by its name alone");
}

static void
open_step(struct cert *cert)
{
	for (unsigned i = 0; i < OPENS_STEP; i++)
		cert_node_close(cert_node_open(cert));
}

/*
 * If an adapter is not closed completely, its provider may leave nothing but memory behind, which
 * shows only after many openings. An adapter with a slow driver is opened less often.
 */
static void
open_often(struct cert *cert)
{
	gint64 until = g_get_monotonic_time() + OPENS_US;
	struct cert_extent before;
	unsigned steps = 0;

	open_step(cert); /* what a provider sets up once */
	before = cert_extent_now(cert);
	do {
		open_step(cert);
		steps++;
	} while (steps < OPENS_STEPS && cert_extent_fits(cert, &before) &&
		 g_get_monotonic_time() < until);
	cert_extent_expect(cert, &before);
}

static void
open_unknown(struct cert *cert)
{
	struct ri_upcalls upcalls = {.size = sizeof(upcalls)};
	struct ri_open open = {.host = cert_host_table(cert_host(cert)), .upcalls = &upcalls};
	struct ri_rnic *rnic = NULL;

	g_strlcpy(open.name, "no:such:adapter", sizeof(open.name));
	CERT_VERB(cert, RI_ERR_NO_DEVICE, cert_provider(cert)->device->open(&open, &rnic));
	open.name[0] = '\0';
	CERT_VERB(cert, RI_ERR_NO_DEVICE, cert_provider(cert)->device->open(&open, &rnic));
}

/* One of several openings is closed; the others work on. */
static void
open_several(struct cert *cert)
{
	struct cert_node *first = cert_node_open(cert), *second = cert_node_open(cert);
	struct cert_node *third = cert_node_open(cert);
	struct cert_end *a, *b;

	cert_node_close(first);
	a = cert_end_new(second, NULL);
	b = cert_end_new(third, NULL);
	cert_connect(a, b);
	cert_disconnect(a, b);
}

/* The profile of an adapter does not change while it is in use, and closing a context raises no event. */
static void
context_silent(struct cert *cert)
{
	struct cert_node *near = cert_node_open(cert), *far = cert_node_open(cert);
	struct cert_end *a = cert_end_new(near, NULL), *b = cert_end_new(far, NULL);
	struct cert_region *region = cert_region_new(far, 64, CERT_ALL);
	struct ri_sge sink = cert_sge(region, 0, 64);
	struct ri_rnic_attr attr = {.size = sizeof(attr)};

	cert_connect(a, b);
	cert_post_recv(b, 1, &sink, 1);
	CERT_VERB(cert, RI_SUCCESS, far->p->device->query(far->rnic, &attr));
	CERT_UINT(cert, attr.transport, ==, far->attr.transport);
	CERT_UINT(cert, attr.max_qp, ==, far->attr.max_qp);
	CERT_UINT(cert, attr.max_message_size, ==, far->attr.max_message_size);
	CERT_UINT(cert, attr.cm_forms, ==, far->attr.cm_forms);
	cert_node_close(far);
	cert_wait_end(a);
}

/* Text about the inner state: cut where there is no room, and the length of the whole is told. */
static void
dump(struct cert *cert)
{
	struct cert_node *node = cert_node_open(cert);
	char text[16];
	size_t whole;

	memset(text, GUARD, sizeof(text));
	whole = node->p->device->dump(node->rnic, text, 8);
	if (whole == 0 && text[0] == '\0') {
		cert_skip(cert, "the provider has no dump, which is optional");
		return;
	}
	guard_expect(cert, "what is behind the room", (const uint8_t *)text, 8, sizeof(text));
	CERT_TRUE(cert, memchr(text, 0, 8) != NULL);
	CERT_UINT(cert, strlen(text), ==, MIN(whole, 7));
}

/* The path to the adapter itself, and none from an address that no host has (203.0.113.0/24, RFC 5737). */
static void
route(struct cert *cert)
{
	struct cert_node *node = cert_node_open(cert);
	const struct ri_addr self = cert_address(node);
	struct ri_addr local = {.family = RI_ADDR_NONE};
	uint32_t port = UINT32_MAX;
	enum ri_status status;

	cert_verb_begin(cert);
	status = node->p->device->route(node->rnic, &self, &local, &port);
	cert_verb_end(cert, CERT_WHERE, "route");
	if (status == RI_ERR_UNSUPPORTED) { /* so answers an entry that another adapter has */
		cert_skip(cert, "the adapter leaves the routing to the host, as it may");
		return;
	}
	cert_expect_status(cert, CERT_WHERE, "the way to its own address", status, RI_SUCCESS);
	CERT_UINT(cert, port, <, node->attr.num_ports);
	CERT_UINT(cert, local.family, !=, RI_ADDR_NONE);
	cert_note(cert, "from that source");
	CERT_VERB(cert, RI_SUCCESS, node->p->device->route(node->rnic, &self, &local, &port));
	local = (struct ri_addr){.family = RI_ADDR_IPV4, .octets = {203, 0, 113, 7}};
	CERT_VERB(cert, RI_ERR_NO_ROUTE, node->p->device->route(node->rnic, &self, &local, &port));
}

/* Each refusal of the host is handed on, nothing stays attached, and the next attempt succeeds. */
static void
attach_refused(struct cert *cert)
{
	static const enum ri_status refusals[] = {RI_ERR_RESOURCES, RI_ERR_ADDRESS, RI_ERR_ACCESS};
	struct cert_node *node = cert_node_open(cert);
	struct cert_host *host = cert_host(cert);
	uint8_t memory[256];
	struct ri_mr_init init = {
		.addr = (uintptr_t)memory, .length = sizeof(memory), .access = CERT_LOCAL};
	unsigned attached = cert_host_attached(host);
	struct ri_mr *mr = NULL;
	uint32_t stag = 0;

	for (size_t i = 0; i < G_N_ELEMENTS(refusals); i++) {
		cert_host_refuse_attach(host, 1, refusals[i]);
		CERT_VERB(cert, refusals[i], node->p->mem->mr_reg(node->pd, &init, &mr, &stag));
		CERT_UINT(cert, cert_host_attached(host), ==, attached);
		CERT_VERB(cert, RI_SUCCESS, node->p->mem->mr_reg(node->pd, &init, &mr, &stag));
		CERT_VERB(cert, RI_SUCCESS, node->p->mem->mr_dereg(mr));
		CERT_UINT(cert, cert_host_attached(host), ==, attached);
	}
}

/* The ids of the threads; those of an earlier case that are still ending are among them. */
static GHashTable *
threads_now(struct cert *cert)
{
	GHashTable *threads = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	g_autoptr(GDir) dir = g_dir_open(THREADS, 0, NULL);
	const char *name;

	CERT_TRUE(cert, dir != NULL);
	while ((name = g_dir_read_name(dir)) != NULL)
		g_hash_table_add(threads, g_strdup(name));
	return threads;
}

#ifdef __SANITIZE_THREAD__
#define SANITIZER 1 /* it has a thread of its own */
#else
#define SANITIZER 0
#endif

/* The main thread and those of the host, which have names; a thread that one of these starts inherits its name. */
static unsigned
threads_of_nobody(struct cert *cert)
{
	g_autoptr(GHashTable) threads = threads_now(cert);
	g_autofree char *main_thread = g_strdup_printf("%d", (int)getpid());
	unsigned services = 0, others = 0;
	GHashTableIter each;
	gpointer id;

	g_hash_table_iter_init(&each, threads);
	while (g_hash_table_iter_next(&each, &id, NULL)) {
		g_autofree char *path = g_strdup_printf(THREADS "/%s/comm", (const char *)id);
		g_autofree char *name = NULL;

		if (strcmp(id, main_thread) == 0 || !g_file_get_contents(path, &name, NULL, NULL))
			continue;
		if (g_str_has_prefix(name, "itapi-service"))
			services++;
		else if (!g_str_has_prefix(name, "itapi-output"))
			others++;
	}
	if (SANITIZER && others > 0)
		others--;
	return others + (services > HOSTS ? services - HOSTS : 0);
}

/*
 * All threads belong to the host: opening, connecting and sending must start none, and none may run
 * that was started earlier, for instance when the provider was loaded.
 */
static void
own_threads(struct cert *cert)
{
	g_autoptr(GHashTable) before = threads_now(cert);
	g_autoptr(GHashTable) after = NULL;
	struct cert_node *near = cert_node_open(cert), *far = cert_node_open(cert);
	struct cert_end *a = cert_end_new(near, NULL), *b = cert_end_new(far, NULL);
	struct cert_region *region = cert_region_new(far, 64, CERT_ALL);
	struct ri_sge sink = cert_sge(region, 0, 64);
	unsigned started = 0;
	GHashTableIter each;
	gpointer id;

	cert_connect(a, b);
	cert_post_recv(b, 1, &sink, 1);
	cert_post_send(a, 2, NULL, 0, 0);
	cert_wc_is(b, true, 1, RI_WC_SUCCESS);
	after = threads_now(cert);
	g_hash_table_iter_init(&each, after);
	while (g_hash_table_iter_next(&each, &id, NULL))
		started += !g_hash_table_contains(before, id);
	CERT_UINT(cert, started, ==, 0);
	/* A thread of an earlier case may still be ending. */
	for (unsigned i = 0; i < ENDING_LOOKS && threads_of_nobody(cert) != 0; i++)
		g_usleep(ENDING_PAUSE_US);
	CERT_UINT(cert, threads_of_nobody(cert), ==, 0);
}

static const struct cert_case cases[] = {
	{.id = "border.load.0001",
	 .title = "The library takes the provider over, and each claim has its entries",
	 .rule = "[RI 11.1.1] [RI 11.1.3]",
	 .settles = "transport num_ports cm_forms",
	 .run = load},
	{.id = "border.version.0001",
	 .title = "The version and the sizes of the tables are those of the interface",
	 .rule = "[RI 11.1.2]",
	 .run = version},
	{.id = "border.size.0001",
	 .title = "An older access layer gets as much of the profile as it knows",
	 .rule = "[RI 11.1.2]",
	 .run = profile_older},
	{.id = "border.size.0002",
	 .title = "A newer access layer gets the profile that the provider knows",
	 .rule = "[RI 11.1.2]",
	 .run = profile_newer},
	{.id = "border.port.0001",
	 .title = "Each spigot is described, and no other",
	 .rule = "[RI 2.2.1]",
	 .settles = "num_ports",
	 .run = ports},
	{.id = "border.probe.0001",
	 .title = "Adapters are listed alike each time, in the room that there is",
	 .rule = "[RI 2.2.1]",
	 .settles = "transport num_ports",
	 .run = probe},
	{.id = "border.open.0001",
	 .title = "An adapter is opened and closed again and again, and nothing grows",
	 .rule = "[RI 2.2.1]",
	 .run = open_often},
	{.id = "border.open.0002",
	 .title = "An adapter that there is not is not opened",
	 .rule = "[RI 2.2.1]",
	 .run = open_unknown},
	{.id = "border.open.0003",
	 .title = "One of several openings of an adapter ends without the others",
	 .rule = "[RI 2.2.1]",
	 .run = open_several},
	{.id = "border.context.0001",
	 .title = "A context is destroyed with everything in it, and its peer is told",
	 .rule = "[RI 2.2.4]",
	 .run = context_silent},
	{.id = "border.dump.0001",
	 .title = "A dump is cut to its room",
	 .rule = "[RI 2.2.1]",
	 .run = dump},
	{.id = "border.route.0001",
	 .title = "There is a way to the adapter's own address, and none from a foreign one",
	 .rule = "[RI 2.2.1]",
	 .needs = "addr_ip",
	 .settles = "addr_ip",
	 .run = route},
	{.id = "border.attach.0001",
	 .title = "A registration that the host refuses leaves nothing behind",
	 .rule = "[RI 2.1.1] [RI 11.3.1]",
	 .run = attach_refused},
	{.id = "border.threads.0001",
	 .title = "The provider starts no thread of its own",
	 .rule = "[RI 11.3.1]",
	 .needs = "!kvp_in_process",
	 .run = own_threads},
};

CERT_SET(border_object, cases);
