/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The daemon's client (kal/remote) against a real daemon: leases that cost no call, recalls, rules
 * for adapters, ports and peers, a daemon that ends and comes back, a daemon that is absent, and a
 * forked child.
 */
#include <errno.h>
#include <glib/gstdio.h>
#include <netinet/in.h>
#include <signal.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kal_fixture.h"
#include "kal_remote.h"
#include "kal_remote_wire.h"
#include "kal_resources.h"
#include "kald_play.h"

#define ME     ((uint32_t)getuid())
#define CLAIMS 500u

static struct play play;

/* A daemon with these rules, which the clients opened from now on have to ask. */
static int
begin(const char *policy)
{
	play = play_begin(policy);
	g_setenv("ITAPI_KALD", play.socket, TRUE);
	return play_join(&play, KALD_TOOL, NULL);
}

static void
end(const int *tool)
{
	close(*tool);
	play_free(&play);
	g_unsetenv("ITAPI_KALD");
}

/* The daemon counts no process of this user any more. */
static void
await_nobody(int tool)
{
	uint32_t processes = 1;

	for (unsigned i = 0; processes != 0 && i < 5000; i++) {
		(void)play_lent(tool, KALD_LEVEL_USER, ME, KAL_RESOURCE_MR, &processes);
		if (processes != 0)
			g_usleep(1000);
	}
	g_assert_cmpuint(processes, ==, 0);
}

static uint64_t
lent(int tool, enum kal_resource resource)
{
	return play_lent(tool, KALD_LEVEL_USER, ME, resource, NULL);
}

/* What clients take is lent, once for many; the list has what they use; afterwards nothing is lent. */
static void
test_lease(void)
{
	int tool RI_AT_END(end) = begin(NULL);
	GArray *entries;
	uint32_t id;
	uint64_t first;
	struct fixture f = fixture_open();

	g_assert_cmpuint(lent(tool, KAL_RESOURCE_MR), ==, 0);
	g_assert_cmpint(fixture_register(&f, 100, &id), ==, RI_SUCCESS);
	first = lent(tool, KAL_RESOURCE_MR);
	g_assert_cmpuint(first, ==, 65);
	/* The daemon stands still: what was lent costs no call. */
	g_assert_cmpint(kill(play.pid, SIGSTOP), ==, 0);
	for (unsigned i = 1; i < first; i++)
		g_assert_cmpint(fixture_register(&f, 100, &id), ==, RI_SUCCESS);
	g_assert_cmpint(kill(play.pid, SIGCONT), ==, 0);
	g_assert_cmpuint(lent(tool, KAL_RESOURCE_MR), ==, first);
	g_assert_cmpint(fixture_register(&f, 100, &id), ==, RI_SUCCESS);
	g_assert_cmpuint(lent(tool, KAL_RESOURCE_MR), >, first);
	entries = play_list(tool);
	g_assert_cmpuint(entries->len, ==, 1);
	const struct kald_entry *entry = &g_array_index(entries, struct kald_entry, 0);

	g_assert_cmpuint(entry->described, ==, 1);
	g_assert_cmpuint(entry->used[KAL_RESOURCE_MR], ==, first + 1);
	g_assert_cmpuint(entry->used[KAL_RESOURCE_MEMORY], ==, 100 * (first + 1));
	g_assert_cmpstr(entry->adapters, ==, "fake");
	g_array_free(entries, TRUE);
	fixture_close(&f);
	await_nobody(tool);
}

/* A client that finds too few descriptors, at whatever step, is none, and the daemon counts nobody. */
static void
test_scarce(void)
{
	const struct kal_client_params params = {.host = NULL};
	int tool = begin(NULL), lowest = dup(tool);
	enum ri_status status = RI_ERR_RESOURCES;
	struct kal_client *client = NULL;
	unsigned failed = 0;
	struct rlimit all;

	g_assert_cmpint(lowest, >=, 0);
	close(lowest);
	g_assert_cmpint(getrlimit(RLIMIT_NOFILE, &all), ==, 0);
	while (status != RI_SUCCESS) {
		const struct rlimit few = {(rlim_t)lowest + failed, all.rlim_max};

		g_assert_cmpint(setrlimit(RLIMIT_NOFILE, &few), ==, 0);
		status = kal_client_open(&params, &client);
		g_assert_cmpint(setrlimit(RLIMIT_NOFILE, &all), ==, 0);
		if (status == RI_SUCCESS)
			break;
		g_test_message("%u descriptors: status %d", failed, (int)status);
		g_assert_cmpuint(++failed, <, 100);
		await_nobody(tool);
	}
	g_assert_cmpuint(failed, >, 1);
	kal_client_close(client);
	await_nobody(tool);
	end(&tool);
}

/* The service thread returns what is idle to one that needs it; what is in use stays, and the limit holds. */
static void
test_recall(void)
{
	int tool RI_AT_END(end) = begin("[limits.user]\nmr = 40\n");
	int other;
	struct kald_message reply;
	uint32_t ids[41];
	struct fixture f RI_AT_END(fixture_close) = fixture_open();

	for (unsigned i = 0; i < 10; i++)
		g_assert_cmpint(fixture_register(&f, 1, &ids[i]), ==, RI_SUCCESS);
	g_assert_cmpuint(lent(tool, KAL_RESOURCE_MR), ==, 40);
	other = play_join(&play, KALD_CLIENT, NULL);
	g_assert_cmpuint(play_borrow(other, KAL_RESOURCE_MR, 30, NULL), ==, 30);
	g_assert_cmpuint(play_borrow(other, KAL_RESOURCE_MR, 1, &reply), ==, 0);
	g_assert_nonnull(strstr(reply.body.refusal.text, "[limits.user] mr = 40"));
	g_assert_cmpint(fixture_register(&f, 1, &ids[10]), ==, RI_ERR_RESOURCES);
	g_assert_cmpint(fixture_id(&f, KAL_MR_DEREG, ids[9]), ==, RI_SUCCESS);
	g_assert_cmpint(fixture_register(&f, 1, &ids[9]), ==, RI_SUCCESS);
	close(other);
	for (unsigned i = 0; i < 5000 && fixture_register(&f, 1, &ids[10]) != RI_SUCCESS; i++)
		g_usleep(1000);
}

/* The daemon is killed, and comes back: clients go on with what they have, and claim it; nothing is counted twice. */
static void
test_restart(void)
{
	int tool RI_AT_END(end) = begin("[limits.user]\nmr = 300\n");
	GArray *entries;
	uint16_t port = 0;
	uint32_t id;
	struct fixture f RI_AT_END(fixture_close) = fixture_open();

	(void)fixture_listen(&f, 1, &port, 1);
	for (unsigned i = 0; i < 20; i++)
		g_assert_cmpint(fixture_register(&f, 1, &id), ==, RI_SUCCESS);
	close(tool);
	play_end(&play, true);
	/* Without it: within the lease. */
	for (unsigned i = 0; i < 20; i++)
		g_assert_cmpint(fixture_register(&f, 1, &id), ==, RI_SUCCESS);
	play_again(&play);
	tool = play_join(&play, KALD_TOOL, NULL);
	/* Beyond the lease: the call connects again, if the service thread has not done so. */
	for (unsigned i = 0; i < 60; i++)
		g_assert_cmpint(fixture_register(&f, 1, &id), ==, RI_SUCCESS);
	entries = play_list(tool);
	g_assert_cmpuint(entries->len, ==, 1);
	g_assert_cmpuint(g_array_index(entries, struct kald_entry, 0).used[KAL_RESOURCE_MR], ==,
			 100);
	g_assert_cmpuint(g_array_index(entries, struct kald_entry, 0).lent[KAL_RESOURCE_MR], ==,
			 lent(tool, KAL_RESOURCE_MR));
	g_assert_cmpuint(g_array_index(entries, struct kald_entry, 0).lent[KAL_RESOURCE_MR], >=,
			 100);
	g_assert_cmpstr(g_array_index(entries, struct kald_entry, 0).adapters, ==, "fake");
	g_assert_cmpuint(g_array_index(entries, struct kald_entry, 0).num_ports, >=, 1);
	g_assert_cmpuint(g_array_index(entries, struct kald_entry, 0).ports[0], ==, ntohs(port));
	g_array_free(entries, TRUE);
	/* The service thread alone connects again, too. */
	close(tool);
	play_end(&play, true);
	play_again(&play);
	tool = play_join(&play, KALD_TOOL, NULL);
	for (unsigned i = 0; i < 10000 && lent(tool, KAL_RESOURCE_MR) == 0; i++)
		g_usleep(1000);
	g_assert_cmpuint(lent(tool, KAL_RESOURCE_MR), >=, 100);
}

/* Sockets of the process that listen, as the daemon counts. */
static uint32_t
ports_of(int tool)
{
	g_autoptr(GArray) entries = play_list(tool);
	uint32_t ports =
		entries->len == 1 ? g_array_index(entries, struct kald_entry, 0).num_ports : 0;

	return ports;
}

/* More to be claimed than a socket takes at once: the daemon hears of all. */
static void
test_many_claims(void)
{
	int tool RI_AT_END(end) = begin(NULL);
	struct rlimit limit;
	uint32_t ports;

	g_assert_cmpint(getrlimit(RLIMIT_NOFILE, &limit), ==, 0);
	limit.rlim_cur = limit.rlim_max;
	g_assert_cmpint(setrlimit(RLIMIT_NOFILE, &limit), ==, 0);
	struct fixture f RI_AT_END(fixture_close) = fixture_open();
	for (unsigned i = 0; i < CLAIMS; i++) {
		uint16_t port = 0;

		(void)fixture_listen(&f, 1, &port, 1);
	}
	ports = ports_of(tool);
	g_assert_cmpuint(ports, >=, CLAIMS);
	close(tool);
	play_end(&play, true);
	play_again(&play);
	tool = play_join(&play, KALD_TOOL, NULL);
	for (unsigned i = 0; i < 10000 && ports_of(tool) < ports; i++)
		g_usleep(1000);
	g_assert_cmpuint(ports_of(tool), ==, ports);
}

/* Refusals of adapters, ports and peers are statuses of the calls, and the log names daemon and rule. */
static void
test_rules(void)
{
	int tool = begin("[policy]\nadapters = other\n");
	struct kal_client_params params = {0};
	struct kal_rnic_open_req open = {.name = "fake"};
	struct kal_rnic_open_rep opened;
	struct kal_cm_req connect;
	struct kal_client *client;
	struct fixture f = {0};
	uint32_t qp;

	g_assert_cmpint(kal_client_open(&params, &client), ==, RI_SUCCESS);
	f.client = client;
	g_assert_cmpint(
		fixture_call(&f, KAL_RNIC_OPEN, &open, sizeof(open), &opened, sizeof(opened)), ==,
		RI_ERR_PERMISSION);
	kal_client_close(client);
	end(&tool);
	tool = begin("[policy]\nports = 1\npeers = 10.0.0.0/8\n");
	f = fixture_open();
	struct kal_listen_req listen = {
		.rnic = f.rnic, .backlog = 1, .service = {.kind = RI_SERVICE_PORT}};
	struct kal_listen_rep listening;

	g_assert_cmpint(fixture_call(&f, KAL_LISTEN, &listen, sizeof(listen), &listening,
				     sizeof(listening)),
			==, RI_ERR_PERMISSION);
	listen.service.port = htons(40000);
	g_assert_cmpint(fixture_call(&f, KAL_LISTEN, &listen, sizeof(listen), &listening,
				     sizeof(listening)),
			==, RI_ERR_PERMISSION);
	qp = fixture_qp(&f, 5, 1, 1);
	fixture_connect_req(&connect, qp, false, htons(40000));
	g_assert_cmpint(fixture_call(&f, KAL_CONNECT, &connect, sizeof(connect), NULL, 0), ==,
			RI_ERR_PERMISSION);
	/* Other rules hold at once. */
	play_policy(&play, "[policy]\nprivileged = true\ncrc = true\n");
	for (unsigned i = 0; i < 5000 && fixture_call(&f, KAL_CONNECT, &connect, sizeof(connect),
						      NULL, 0) == RI_ERR_PERMISSION;
	     i++)
		g_usleep(1000);
	g_assert_cmpint(fixture_cm(&f, KAL_CM_FAILED, 5).reason, ==, KAL_REASON_REFUSED);
	fixture_close(&f);
	end(&tool);
}

/* A connection whose listener and initiator have their sockets from the daemon. */
static void
test_sockets(void)
{
	int tool RI_AT_END(end) = begin("[policy]\ngrant-ports = 1-65535\ndial = true\n");
	struct kal_listen_rep listening;
	struct kal_cm_req connect;
	struct kal_cm_event event;
	uint16_t port;
	uint32_t qp;
	int kept RI_AT_END(ri_at_end_close) = raw_keep(&port);
	struct fixture f RI_AT_END(fixture_close) = fixture_open();
	struct kal_listen_req listen = {.rnic = f.rnic,
					.ctx = 77,
					.backlog = 4,
					.service = {.kind = RI_SERVICE_PORT, .port = port}};

	g_assert_cmpint(fixture_call(&f, KAL_LISTEN, &listen, sizeof(listen), &listening,
				     sizeof(listening)),
			==, RI_SUCCESS);
	qp = fixture_qp(&f, 5, 1, 1);
	fixture_connect_req(&connect, qp, false, port);
	g_assert_cmpint(fixture_call(&f, KAL_CONNECT, &connect, sizeof(connect), NULL, 0), ==,
			RI_SUCCESS);
	event = fixture_cm(&f, KAL_CM_REQUEST, 77);
	g_assert_cmpint(event.reason, ==, 0);
}

/* Where the daemon is required nothing opens without it; where it is welcome, everything does. */
/* What is logged names each place that was tried. Another test of this machine may serve one of them. */
static void
places_named(void)
{
	const struct kal_remote_place place = {.path = NULL};
	char found[KAL_REMOTE_PATH];
	struct kal_fd fd = {0};

	if (kal_remote_connect(&place, &fd, found) == 0) {
		kal_fd_close(&fd);
		return;
	}
	g_assert_nonnull(strstr(found, KALD_SYSTEM_SOCKET ", /nonexistent/" KALD_USER_SOCKET));
	g_assert_nonnull(strstr(found, " or @itapi/kald/"));
}

static void
test_absent(void)
{
	struct kal_config *config = NULL;
	struct fixture f;

	g_setenv("ITAPI_KALD", "auto", TRUE);
	g_setenv("XDG_RUNTIME_DIR", "/nonexistent", TRUE);
	places_named();
	f = fixture_open();
	fixture_close(&f);
	g_setenv("ITAPI_KALD", "off", TRUE);
	f = fixture_open();
	fixture_close(&f);
	g_unsetenv("ITAPI_KALD");
	/* What the administrator requires, no variable undoes. */
	g_assert_cmpint(kal_config_load(NULL, NULL, &config, NULL), ==, RI_SUCCESS);
	config->kald = KAL_KALD_REQUIRE;
	g_setenv("ITAPI_KALD", "off", TRUE);
	if (access(KALD_SYSTEM_SOCKET, F_OK) != 0)
		g_assert_cmpint(kal_remote_join(config), ==, RI_ERR_RESOURCES);
	/* And what the administrator has switched off stays off. */
	config->kald = KAL_KALD_OFF;
	g_setenv("ITAPI_KALD", "/nonexistent/socket", TRUE);
	g_assert_cmpint(kal_remote_join(config), ==, RI_SUCCESS);
	kal_remote_leave();
	g_unsetenv("ITAPI_KALD");
	kal_config_free(config);
}

/* A daemon that accepts connections and never says a word: a client that does not need it goes on without it. */
static void
test_mute(void)
{
	int tool RI_AT_END(end) = begin(NULL);
	struct kal_config *config = NULL;

	g_assert_cmpint(kill(play.pid, SIGSTOP), ==, 0);
	g_assert_cmpint(kal_config_load(NULL, NULL, &config, NULL), ==, RI_SUCCESS);
	g_assert_cmpint(kal_remote_join(config), ==, RI_ERR_RESOURCES);
	g_assert_cmpint(kill(play.pid, SIGCONT), ==, 0);
	g_assert_cmpint(kal_remote_join(config), ==, RI_SUCCESS);
	kal_remote_leave();
	kal_config_free(config);
}

static void *
ask_it(void *arg)
{
	(void)arg;
	return GINT_TO_POINTER(kal_remote_open("fake") == RI_SUCCESS);
}

/* A daemon that hangs delays the thread that asks it, and none that needs no answer. */
static void
test_hang(void)
{
	int tool RI_AT_END(end) = begin(NULL);
	struct kal_config *config = NULL;
	gint64 since;
	GThread *thread;

	g_assert_cmpint(kal_config_load(NULL, NULL, &config, NULL), ==, RI_SUCCESS);
	g_assert_cmpint(kal_remote_join(config), ==, RI_SUCCESS);
	g_assert_cmpint(kal_remote_join(config), ==, RI_SUCCESS);
	g_assert_cmpint(kal_remote_open("fake"), ==, RI_SUCCESS);
	g_assert_cmpint(kill(play.pid, SIGSTOP), ==, 0);
	thread = g_thread_new("asks", ask_it, NULL);
	g_usleep(200000);
	since = g_get_monotonic_time();
	kal_remote_close("fake");
	kal_remote_leave();
	g_assert_cmpint(g_get_monotonic_time() - since, <, 2 * G_USEC_PER_SEC);
	g_assert_cmpint(kill(play.pid, SIGCONT), ==, 0);
	g_assert_cmpint(GPOINTER_TO_INT(g_thread_join(thread)), ==, 1);
	kal_remote_close("fake");
	kal_remote_leave();
	kal_config_free(config);
}

/* A child has no part of its parent's connection, and makes one of its own. */
static void
test_fork(void)
{
#if defined(__SANITIZE_THREAD__)
	g_test_skip("ThreadSanitizer ends a child of a process with threads that starts threads");
	return;
#endif
	int tool RI_AT_END(end) = begin(NULL);
	int report[2], status;
	uint32_t id;
	pid_t child;
	char octet;
	struct fixture f = fixture_open();

	g_assert_cmpint(fixture_register(&f, 1, &id), ==, RI_SUCCESS);
	g_assert_cmpint(pipe(report), ==, 0);
	child = fork();
	if (child == 0) {
		uint64_t now[KAL_RESOURCE_COUNT];
		struct kal_config *config = NULL;

		kal_lease_amounts(now, NULL);
		(void)!read(report[0], &octet, 1);
		kal_remote_leave(); /* of the parent's client: nothing */
		if (now[KAL_RESOURCE_MR] != 0 ||
		    kal_config_load(NULL, NULL, &config, NULL) != RI_SUCCESS ||
		    kal_remote_join(config) != RI_SUCCESS)
			_exit(1);
		_exit(kal_remote_open("of the child") == RI_SUCCESS ? 0 : 2);
	}
	/* The parent's end is seen though the child lives. */
	kal_client_close(f.client);
	await_nobody(tool);
	g_assert_cmpint(write(report[1], "x", 1), ==, 1);
	g_assert_cmpint(waitpid(child, &status, 0), ==, child);
	g_assert_cmpint(status, ==, 0);
	close(report[0]);
	close(report[1]);
}

/* A process of another user that serves there, and is ready. */
static pid_t
squat(const struct sockaddr_un *addr, socklen_t len)
{
	pid_t squatter;
	int report[2];
	char octet;

	g_assert_cmpint(pipe(report), ==, 0);
	squatter = fork();
	if (squatter == 0) {
		int listener = socket(AF_UNIX, SOCK_SEQPACKET, 0);

		if (setuid(65534) != 0 || bind(listener, (const struct sockaddr *)addr, len) != 0 ||
		    listen(listener, 4) != 0)
			_exit(1);
		(void)!write(report[1], "x", 1);
		for (;;)
			pause();
	}
	close(report[1]);
	g_assert_cmpint(read(report[0], &octet, 1), ==, 1);
	close(report[0]);
	return squatter;
}

static void
squat_end(pid_t squatter)
{
	kill(squatter, SIGKILL);
	g_assert_cmpint(waitpid(squatter, NULL, 0), ==, squatter);
}

/* Another user has taken the name of this user's daemon, or has a runtime folder that is not ours: what answers there is not believed. */
static void
test_squatter(void)
{
	g_autofree char *folder = g_dir_make_tmp("kal-XXXXXX", NULL);
	g_autofree char *below = g_build_filename(folder, "itapi", NULL);
	struct kal_remote_place place = {0};
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	char found[KAL_REMOTE_PATH];
	struct kal_fd fd = {0};
	pid_t squatter;
	int length;

	if (getuid() != 0 || access(KALD_SYSTEM_SOCKET, F_OK) == 0) {
		g_test_skip("only root can be another user, and no kald of the system may run");
		return;
	}
	g_unsetenv("XDG_RUNTIME_DIR");
	length = snprintf(addr.sun_path + 1, sizeof(addr.sun_path) - 1, "itapi/kald/%u", ME);
	squatter = squat(&addr,
			 (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length));
	g_assert_cmpint(kal_remote_connect(&place, &fd, found), ==, EPERM);
	g_assert_cmpint(kal_fd_get(&fd), ==, -1);
	squat_end(squatter);
	(void)snprintf(addr.sun_path, sizeof(addr.sun_path), "%s/" KALD_USER_SOCKET, folder);
	g_assert_cmpint(g_mkdir(below, 0777), ==, 0);
	g_assert_cmpint(chmod(folder, 0755), ==, 0);
	g_assert_cmpint(chmod(below, 0777), ==, 0);
	squatter = squat(&addr, sizeof(addr));
	g_setenv("XDG_RUNTIME_DIR", folder, TRUE);
	g_assert_cmpint(kal_remote_connect(&place, &fd, found), !=, 0);
	/* Who names it wants it. */
	place.path = addr.sun_path;
	g_assert_cmpint(kal_remote_connect(&place, &fd, found), ==, 0);
	kal_fd_close(&fd);
	squat_end(squatter);
	g_unsetenv("XDG_RUNTIME_DIR");
	g_unlink(addr.sun_path);
	g_rmdir(below);
	g_rmdir(folder);
}

/* A path that is too long for a socket is refused, though one with the beginning of that name is served. */
static void
test_long_path(void)
{
	g_autofree char *folder = g_dir_make_tmp("kal-XXXXXX", NULL);
	g_autofree char *path = NULL;
	struct kal_remote_place place = {0};
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int listener = socket(AF_UNIX, SOCK_SEQPACKET, 0);
	char found[KAL_REMOTE_PATH], name[sizeof(addr.sun_path)];
	struct kal_fd fd = {0};

	memset(name, 'x', sizeof(name));
	name[sizeof(name) - 1 - strlen(folder) - 1] = '\0';
	path = g_strdup_printf("%s/%s", folder, name);
	g_assert_cmpuint(strlen(path), ==, sizeof(addr.sun_path) - 1);
	memcpy(addr.sun_path, path, sizeof(addr.sun_path));
	g_assert_cmpint(bind(listener, (struct sockaddr *)&addr, sizeof(addr)), ==, 0);
	g_assert_cmpint(listen(listener, 4), ==, 0);
	place.path = path;
	g_assert_cmpint(kal_remote_connect(&place, &fd, found), ==, 0);
	kal_fd_close(&fd);
	place.path = g_strdup_printf("%sy", path);
	g_assert_cmpint(kal_remote_connect(&place, &fd, found), ==, ENAMETOOLONG);
	g_free((char *)(uintptr_t)place.path);
	close(listener);
	g_unlink(path);
	g_rmdir(folder);
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	fake_register();
	g_test_add_func("/kal/remote/lease", test_lease);
	g_test_add_func("/kal/remote/scarce", test_scarce);
	g_test_add_func("/kal/remote/recall", test_recall);
	g_test_add_func("/kal/remote/restart", test_restart);
	g_test_add_func("/kal/remote/many-claims", test_many_claims);
	g_test_add_func("/kal/remote/rules", test_rules);
	g_test_add_func("/kal/remote/sockets", test_sockets);
	g_test_add_func("/kal/remote/absent", test_absent);
	g_test_add_func("/kal/remote/mute", test_mute);
	g_test_add_func("/kal/remote/hang", test_hang);
	g_test_add_func("/kal/remote/fork", test_fork);
	g_test_add_func("/kal/remote/squatter", test_squatter);
	g_test_add_func("/kal/remote/long-path", test_long_path);
	return g_test_run();
}
