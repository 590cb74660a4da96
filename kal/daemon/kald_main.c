/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * kald: the program. It serves a socket that systemd has made, or makes one itself. It stays in the foreground and never forks.
 */
#include <errno.h>
#include <glib-unix.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "kald_server.h"
#include "ri_fd.h"
#include "ri_setting.h"

#define LISTEN_FD 3 /* the first that systemd passes */

/* Variables of systemd's protocols, and where a user's sockets are. */
static const struct ri_setting listen_fds = {.name = "LISTEN_FDS", .set_uid = 1};
static const struct ri_setting listen_pid = {.name = "LISTEN_PID", .set_uid = 1};
static const struct ri_setting notify_socket = {.name = "NOTIFY_SOCKET", .set_uid = 1};
static const struct ri_setting runtime_dir = {.name = "XDG_RUNTIME_DIR"};

struct daemon {
	GMainLoop *loop;
	struct kald_server *server;
};

static bool fail(GError **error, const char *format, ...) G_GNUC_PRINTF(2, 3);

static bool
fail(GError **error, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	g_propagate_error(error,
			  g_error_new_valist(g_quark_from_static_string("kald"), 0, format, args));
	va_end(args);
	return false;
}

/* The socket of systemd's socket unit, or -1. */
static int
activated_socket(void)
{
	const char *count = ri_setting_text(&listen_fds), *pid = ri_setting_text(&listen_pid);
	uint64_t number = 0;

	if (count == NULL || pid == NULL || !ri_setting_digits(pid, 1, UINT32_MAX, &number) ||
	    number != (uint64_t)getpid() || !ri_setting_digits(count, 1, 1, &number))
		return -1;
	(void)fcntl(LISTEN_FD, F_SETFD, FD_CLOEXEC);
	(void)fcntl(LISTEN_FD, F_SETFL, O_NONBLOCK);
	return LISTEN_FD;
}

static bool
addr_of(const char *path, struct sockaddr_un *addr, socklen_t *len, GError **error)
{
	bool abstract = path[0] == '@';

	memset(addr, 0, sizeof(*addr));
	addr->sun_family = AF_UNIX;
	if (strlen(path) >= sizeof(addr->sun_path))
		return fail(error, "%s: the path is too long for a socket", path);
	memcpy(addr->sun_path, path, strlen(path) + 1);
	if (abstract)
		addr->sun_path[0] = '\0';
	*len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path) + !abstract);
	return true;
}

/* Nobody serves a socket that refuses: it is of a kald that has ended, and is removed. */
static bool
remove_abandoned(const char *path, const struct sockaddr_un *addr, socklen_t len, GError **error)
{
	struct stat status;
	int fd, result;

	if (path[0] == '@' || lstat(path, &status) != 0)
		return true;
	if (!S_ISSOCK(status.st_mode))
		return fail(error, "%s: it is there and no socket", path);
	fd = ri_fd_socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0);
	result = connect(fd, (const struct sockaddr *)addr, len) == 0 ? 0 : errno;
	if (fd >= 0)
		close(fd);
	if (result != ECONNREFUSED)
		return fail(error, "%s: another kald serves it", path);
	return unlink(path) == 0 || fail(error, "%s: %s", path, g_strerror(errno));
}

/* Two that start at once decide by the lock who removes and binds. */
static int
bind_socket(const char *path, GError **error)
{
	g_autofree char *folder = g_path_get_dirname(path);
	g_autofree char *lock_path = g_strdup_printf("%s.lock", path);
	struct sockaddr_un addr;
	socklen_t len = 0;
	int lock = -1, fd;
	bool good = addr_of(path, &addr, &len, error);

	if (!good)
		return -1;
	if (path[0] != '@') {
		(void)g_mkdir_with_parents(folder, 0755);
		lock = ri_fd_open(lock_path, O_CREAT | O_RDWR | O_NOFOLLOW, 0600);
		if (lock < 0 || flock(lock, LOCK_EX) != 0)
			good = fail(error, "%s: %s", lock_path, g_strerror(errno));
	}
	good = good && remove_abandoned(path, &addr, len, error);
	fd = good ? ri_fd_socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0) : -1;
	if (good && (fd < 0 || bind(fd, (struct sockaddr *)&addr, len) != 0 ||
		     (path[0] != '@' && chmod(path, 0666) != 0) || listen(fd, SOMAXCONN) != 0))
		good = fail(error, "%s: %s", path, g_strerror(errno));
	if (lock >= 0)
		close(lock);
	if (!good && fd >= 0)
		close(fd);
	return good ? fd : -1;
}

/* Where a kald of this user serves, if nothing else is said: root's is that of the system. */
static char *
default_path(void)
{
	const char *folder = ri_setting_text(&runtime_dir);

	if (geteuid() == 0)
		return g_strdup(KALD_SYSTEM_SOCKET);
	if (folder != NULL)
		return g_build_filename(folder, KALD_USER_SOCKET, NULL);
	return g_strdup_printf("@itapi/kald/%u", geteuid());
}

/* Tell systemd; nothing happens without it. */
static void
notify(const char *state)
{
	const char *path = ri_setting_text(&notify_socket);
	struct sockaddr_un addr;
	socklen_t len = 0;
	int fd;

	if (path == NULL || !addr_of(path, &addr, &len, NULL))
		return;
	fd = ri_fd_socket(AF_UNIX, SOCK_DGRAM, 0);
	if (fd < 0)
		return;
	(void)!sendto(fd, state, strlen(state), MSG_NOSIGNAL, (struct sockaddr *)&addr, len);
	close(fd);
}

static gboolean
stop_now(gpointer arg)
{
	struct daemon *daemon = arg;

	g_main_loop_quit(daemon->loop);
	return G_SOURCE_CONTINUE;
}

static gboolean
reload_now(gpointer arg)
{
	struct daemon *daemon = arg;
	struct kal_why why = {""};

	if (kald_server_reload(daemon->server, &why))
		kald_log("the policy was read again");
	else
		kald_log("the policy stays as it was: %s", why.text);
	return G_SOURCE_CONTINUE;
}

/* As many descriptors as the system allows: each client needs two. */
static void
raise_limits(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
		return;
	limit.rlim_cur = limit.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &limit);
}

static int
serve(int listener, const char *path, const char *policy_path)
{
	struct kal_why why = {""};
	struct daemon daemon = {.server = kald_server_new(listener, policy_path, &why)};

	if (daemon.server == NULL) {
		kald_log("%s", why.text);
		return 1;
	}
	daemon.loop = g_main_loop_new(NULL, FALSE);
	g_unix_signal_add(SIGTERM, stop_now, &daemon);
	g_unix_signal_add(SIGINT, stop_now, &daemon);
	g_unix_signal_add(SIGHUP, reload_now, &daemon);
	kald_log("serves %s, %s%s", path != NULL ? path : "the socket of systemd",
		 policy_path != NULL ? "rules of " : "without rules",
		 policy_path != NULL ? policy_path : "");
	notify("READY=1");
	g_main_loop_run(daemon.loop);
	notify("STOPPING=1");
	kald_server_free(daemon.server);
	g_main_loop_unref(daemon.loop);
	return 0;
}

int
main(int argc, char **argv)
{
	g_autofree char *path = NULL;
	g_autofree char *policy = NULL;
	gboolean check = FALSE;
	gboolean version = FALSE;
	GOptionEntry entries[] = {
		{"socket", 's', 0, G_OPTION_ARG_FILENAME, &path,
		 "Serve this socket; @NAME is one without a file", "PATH"},
		{"policy", 'p', 0, G_OPTION_ARG_FILENAME, &policy,
		 "The file with the rules, instead of " KALD_POLICY_FILE, "FILE"},
		{"check", 0, 0, G_OPTION_ARG_NONE, &check, "Only check the rules", NULL},
		{"version", 'V', 0, G_OPTION_ARG_NONE, &version, "Print the version", NULL},
		{NULL, 0, 0, G_OPTION_ARG_NONE, NULL, NULL, NULL},
	};
	g_autoptr(GOptionContext) context =
		g_option_context_new("- counts, limits and shows the RDMA resources of a host");
	g_autoptr(GError) error = NULL;
	struct kal_why why = {""};
	struct kald_policy *checked;
	int listener, result;

	ri_fd_standard_open();
	g_option_context_add_main_entries(context, entries, NULL);
	if (!g_option_context_parse(context, &argc, &argv, &error) || argc > 1) {
		kald_log("%s", error != NULL ? error->message : "an argument is too much");
		return 2;
	}
	if (version) {
		g_print("kald (itapi) %s\n", KALD_PROJECT_VERSION);
		return 0;
	}
	/* A file that is there and cannot be read is an error for the kald of the system; one of a user has rules of its own. */
	if (policy == NULL && access(KALD_POLICY_FILE, geteuid() == 0 ? F_OK : R_OK) == 0)
		policy = g_strdup(KALD_POLICY_FILE);
	if (check) {
		checked = kald_policy_load(policy, &why);
		if (checked == NULL)
			kald_log("%s", why.text);
		kald_policy_free(checked);
		return checked != NULL ? 0 : 1;
	}
	if (path == NULL)
		path = default_path();
	raise_limits();
	(void)signal(SIGPIPE, SIG_IGN);
	listener = activated_socket();
	if (listener < 0)
		listener = bind_socket(path, &error);
	else
		g_clear_pointer(&path, g_free);
	if (listener < 0) {
		kald_log("%s", error->message);
		return 1;
	}
	result = serve(listener, path, policy);
	if (path != NULL && path[0] != '@')
		(void)unlink(path);
	close(listener);
	return result;
}
