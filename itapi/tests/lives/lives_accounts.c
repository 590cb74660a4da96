/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Measures the accounts of an adapter. A configuration file limits each resource of a client to a
 * small number. The number of further objects that can be created until the limit is reached, and
 * the amount of memory that can be registered, show exactly what is counted as in use.
 */
#include <string.h>

#include <glib/gstdio.h>

#include "again.h"
#include "lives.h"

#define MORE 32 /* than any limit */

static const char limits[] = "[limits.client]\n"
			     "pd = 7\n"
			     "cq = 20\n"
			     "srq = 5\n"
			     "qp = 12\n"
			     "mr = 14\n"
			     "mw = 7\n"
			     "ah = 6\n"
			     "listen = 8\n"
			     "memory = 1048576\n";

void
accounts_limit(void)
{
	g_autofree char *path = NULL;
	int fd = g_file_open_tmp("itapi-lives-XXXXXX", &path, NULL);

	g_assert_cmpint(fd, >=, 0);
	(void)g_close(fd, NULL);
	g_assert_true(g_file_set_contents(path, limits, -1, NULL));
	g_setenv("ITAPI_CONFIG", path, TRUE);
}

void
accounts_forget(void)
{
	(void)g_unlink(g_getenv("ITAPI_CONFIG"));
}

/* Objects of a kind: made until one is refused, then freed. */
struct probe {
	const char *name;
	it_status_t (*make)(const struct side *side, void **handle);
	it_status_t (*free)(void *handle);
};

static it_status_t
pd_make(const struct side *side, void **handle)
{
	return it_pz_create(side->end.ia, (it_pz_handle_t *)handle);
}

static it_status_t
pd_free(void *handle)
{
	return it_pz_free(handle);
}

static it_status_t
cq_make(const struct side *side, void **handle)
{
	return it_evd_create(side->end.ia, IT_DTO_EVENT_STREAM, 0, 1, 1, NULL,
			     (it_evd_handle_t *)handle, NULL);
}

static it_status_t
cq_free(void *handle)
{
	return it_evd_free(handle);
}

static it_status_t
srq_make(const struct side *side, void **handle)
{
	return it_srq_create(side->end.pz, 1, 1, (it_srq_handle_t *)handle);
}

static it_status_t
srq_free(void *handle)
{
	return it_srq_free(handle);
}

static it_status_t
qp_make(const struct side *side, void **handle)
{
	return it_ep_rc_create(side->end.pz, side->end.request, side->end.recv, side->end.cm_msg,
			       IT_EP_NO_FLAG, &side->end.attr, (it_ep_handle_t *)handle);
}

static it_status_t
qp_free(void *handle)
{
	return it_ep_free(handle);
}

static it_status_t
mr_of(const struct side *side, size_t length, void **handle)
{
	static unsigned char memory[2 << 20];

	return it_lmr_create21(side->end.pz, memory, NULL, length, IT_ADDR_MODE_ABSOLUTE,
			       IT_PRIV_LOCAL, IT_LMR_FLAG_NONE, 0, (it_lmr_handle_t *)handle, NULL);
}

static it_status_t
mr_make(const struct side *side, void **handle)
{
	return mr_of(side, 1, handle);
}

static it_status_t
mr_free(void *handle)
{
	return it_lmr_free(handle);
}

static it_status_t
mw_make(const struct side *side, void **handle)
{
	return it_rmr_create20(side->end.pz, IT_RMR_TYPE_DEFAULT, (it_rmr_handle_t *)handle);
}

static it_status_t
mw_free(void *handle)
{
	return it_rmr_free(handle);
}

static it_status_t
ah_make(const struct side *side, void **handle)
{
	return it_address_handle_create(side->end.pz, &side->dial.path, (it_ah_flags_t)0,
					(it_addr_handle_t *)handle);
}

static it_status_t
ah_free(void *handle)
{
	return it_address_handle_free(handle);
}

static it_status_t
listen_make(const struct side *side, void **handle)
{
	it_conn_qual_t qual = {.type = side->dial.qual.type};

	return it_listen_create(side->end.ia, side->dial.spigot, side->end.cm_req,
				IT_LISTEN_NO_FLAG, &qual, (it_listen_handle_t *)handle);
}

static it_status_t
listen_free(void *handle)
{
	return it_listen_free(handle);
}

static const struct probe probes[] = {
	{"pd", pd_make, pd_free},    {"cq", cq_make, cq_free},
	{"srq", srq_make, srq_free}, {"qp", qp_make, qp_free},
	{"mr", mr_make, mr_free},    {"mw", mw_make, mw_free},
	{"ah", ah_make, ah_free},    {"listen", listen_make, listen_free},
};

static unsigned
count(const struct side *side, const struct probe *probe)
{
	void *handles[MORE] = {NULL};
	unsigned made = 0;

	while (made < MORE && probe->make(side, &handles[made]) == IT_SUCCESS)
		made++;
	for (unsigned i = 0; i < made; i++)
		pair_ok(probe->free(handles[i]));
	return made;
}

/* The most octets that can be registered. */
static size_t
memory_left(const struct side *side)
{
	size_t fits = 0, not = 2 << 20;

	while (not -fits > 1) {
		size_t length = fits + (not -fits) / 2;
		void *handle = NULL;

		if (mr_of(side, length, &handle) == IT_SUCCESS) {
			pair_ok(mr_free(handle));
			fits = length;
		} else {
			not = length;
		}
	}
	return fits;
}

static void
side_accounts(const struct side *side, GString *text)
{
	for (size_t i = 0; i < G_N_ELEMENTS(probes); i++)
		g_string_append_printf(text, "left %s: %u\n", probes[i].name,
				       count(side, &probes[i]));
	g_string_append_printf(text, "left memory: %zu\n", memory_left(side));
}

char *
accounts(const struct world *world)
{
	GString *text = g_string_new(NULL);

	if (again_rest != NULL)
		again_rest(true);
	side_accounts(&world->near, text);
	side_accounts(&world->far, text);
	if (again_rest != NULL)
		again_rest(false);
	return g_string_free(text, FALSE);
}
