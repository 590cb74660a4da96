/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* The device and the interface of it_plug.h. */
#include "it_plug.h"

#include <string.h>
#include <sys/wait.h>

#include "it_net.h"

struct plug_link plug_link;

/* --- the device and its interface ------------------------------------------------------------- */

void
plug_interface_make(void)
{
	g_autofree char *make = g_strdup_printf("link add %s type dummy", plug_link.interface);
	g_autofree char *up = g_strdup_printf("link set %s up", plug_link.interface);
	g_autofree char *give =
		g_strdup_printf("addr add %s/24 dev %s", plug_link.address, plug_link.interface);

	net_ip(make);
	net_ip(up);
	net_ip(give);
}

void
plug_interface_do(const char *format)
{
	g_autofree char *words = g_strdup_printf("%s dev %s", format, plug_link.interface);

	net_ip(words);
}

void
plug_device_make(void)
{
	g_autofree char *line =
		g_strdup_printf("rdma link add %s type %s netdev %s", plug_link.name,
				plug_link.type, plug_link.interface);
	int status = -1;

	g_assert_true(g_spawn_command_line_sync(line, NULL, NULL, &status, NULL));
	g_assert_cmpint(status, ==, 0);
}

/* Begin to take the device away: the kernel may need this program for that. */
GPid
plug_begin(const char *first, const char *second, const char *third, const char *fourth)
{
	char *argv[] = {(char *)first, (char *)second, (char *)third, (char *)fourth, NULL};
	GPid pid = 0;

	g_assert_true(g_spawn_async(NULL, argv, NULL,
				    G_SPAWN_SEARCH_PATH | G_SPAWN_DO_NOT_REAP_CHILD, NULL, NULL,
				    &pid, NULL));
	return pid;
}

GPid
plug_device_remove(void)
{
	return plug_begin("rdma", "link", "delete", plug_link.name);
}

/* Has it gone before the program has closed it? */
bool
plug_is_over(GPid *pid)
{
	int status = 0;

	if (*pid != 0 && waitpid(*pid, &status, WNOHANG) == *pid) {
		g_assert_cmpint(status, ==, 0);
		*pid = 0;
	}
	return *pid == 0;
}

/* The removal ends, and the same device is made anew. */
void
plug_device_again(GPid pid)
{
	g_test_message("the kernel has %s", plug_is_over(&pid) ? "removed the device already"
							       : "waited for this program");
	PAIR_UNTIL(plug_is_over(&pid));
	plug_device_make();
}

/* --- what a program sees ------------------------------------------------------------------------- */

/* Queued events come first, then the one that the adapter has failed. Returns how many events came. */
unsigned
plug_await_catastrophe(it_evd_handle_t evd)
{
	it_status_t status;
	it_event_t event;
	unsigned count = 0;

	while ((status = it_evd_wait(evd, WAIT_US, &event, NULL)) == IT_SUCCESS)
		count++;
	g_assert_cmpint(status, ==, IT_ERR_IA_CATASTROPHE);
	return count;
}

/*
 * Takes the event of an end whose connection has ended. It may look like an orderly end if this end
 * learns first that the other end has ended, or if siw's interface went down [RI 12.1.5], [RI 12.3.11].
 */
void
plug_expect_ended(const struct end *end)
{
	it_event_t event = end_next(end->cm_msg);

	if (event.event_number != IT_CM_MSG_CONN_DISCONNECT_EVENT)
		g_assert_cmphex(event.event_number, ==, IT_CM_MSG_CONN_BROKEN_EVENT);
}

void
plug_exchange(struct pair *pair, uint64_t value)
{
	memcpy(pair->active.buffer, &value, sizeof(value));
	pair_ok(end_recv(&pair->passive, sizeof(value), value));
	pair_ok(end_send(&pair->active, sizeof(value), value, IT_COMPLETION_FLAG));
	end_done(pair->passive.recv, IT_DTO_RC_RECV_CMPL_EVENT, value, IT_DTO_SUCCESS);
	end_done(pair->active.request, IT_DTO_SEND_CMPL_EVENT, value, IT_DTO_SUCCESS);
	g_assert_cmpmem(pair->passive.buffer + END_BUFFER / 2, sizeof(value), &value,
			sizeof(value));
}

/* A device that was made anew works, in this process. */
void
plug_expect_works(void)
{
	struct pair pair;

	g_assert_true(pair_open(&pair));
	pair_establish(&pair);
	plug_exchange(&pair, 77);
	pair_disconnect(&pair);
	pair_close(&pair);
}

/* --- each with an open pair, which it closes ----------------------------------------------------- */

struct job {
	void (*test)(struct pair *pair);
};

static void
run(const void *data)
{
	const struct job *job = data;
	struct pair pair;

	if (plug_link.name == NULL) {
		g_test_skip("there is no device that may be removed (ITAPI_TEST_LINK)");
		return;
	}
	if (!pair_open(&pair)) {
		g_test_skip("no such adapter");
		return;
	}
	job->test(&pair);
}

void
plug_add(const char *path, void (*test)(struct pair *pair))
{
	g_autofree char *name = g_strdup_printf("/itapi/%s/unplug/%s", pair_adapter(), path);
	struct job *job = g_new(struct job, 1);

	job->test = test;
	g_test_add_data_func_full(name, job, (GTestDataFunc)(void (*)(void))run, g_free);
}

int
plug_main(int argc, char **argv, void (*add)(void))
{
	const char *text = g_getenv("ITAPI_TEST_LINK");
	g_auto(GStrv) words = g_strsplit(text != NULL ? text : "", ":", 4);

	if (g_strv_length(words) == 4) {
		plug_link.name = words[0];
		plug_link.type = words[1];
		plug_link.interface = words[2];
		plug_link.address = words[3];
	}
	return pair_main(argc, argv, add);
}
