/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Writing a text to the outlet never blocks: full pipes, stopped terminals, pipes without a reader,
 * descriptor numbers that belong to another file meanwhile. A write that blocked would end the
 * program by SIGALRM.
 */

#include <fcntl.h>
#include <glib.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "ri_fd.h"
#include "ri_outlet.h"

#define PATIENCE 120   /* s */
#define FLUSH    60000 /* ms, for a reader that does read */
#define SOON     8000  /* ms, for what is written already */

static size_t
tell(uint64_t lost, char *text, size_t room)
{
	return (size_t)snprintf(text, room, "lost %" PRIu64 "\n", lost);
}

/* One for each case: a case that fails leaves its outlet as it is. */
static struct ri_outlet outlets[10] = {
	RI_OUTLET(tell), RI_OUTLET(tell), RI_OUTLET(tell), RI_OUTLET(tell), RI_OUTLET(tell),
	RI_OUTLET(tell), RI_OUTLET(tell), RI_OUTLET(tell), RI_OUTLET(tell), RI_OUTLET(tell),
};

static void
say_number(struct ri_outlet *outlet, unsigned number, bool spare)
{
	char line[64];
	int n = snprintf(line, sizeof(line), "%020u the quick brown fox and the lazy dog\n",
			 number);

	ri_outlet_write(outlet, line, (size_t)n, spare);
}

/* Reads numbered lines to the end of the stream: their order, and how many were lost in all. */
static void
judge(FILE *from, unsigned wrote)
{
	char line[128];
	unsigned next = 0;
	unsigned number, lost;
	unsigned lost_in_all = 0;

	while (fgets(line, sizeof(line), from) != NULL) {
		if (sscanf(line, "lost %u", &lost) == 1) {
			lost_in_all += lost;
			next += lost;
			continue;
		}
		g_assert_cmpint(sscanf(line, "%u", &number), ==, 1);
		g_assert_nonnull(strstr(line, " lazy dog\n"));
		g_assert_cmpuint(number, ==, next);
		next++;
	}
	g_assert_cmpuint(next, ==, wrote);
	g_assert_cmpuint(lost_in_all, >, 0);
}

/* A pipe that nobody reads: no write blocks; the reader that comes gets all in order, and how much was lost. */
static void
test_full_pipe(void)
{
	struct ri_outlet *outlet = &outlets[0];
	int ends[2];
	FILE *from;

	g_assert_cmpint(pipe2(ends, O_CLOEXEC), ==, 0);
	g_assert_true(ri_outlet_direct(outlet, ends[1]));
	for (unsigned i = 0; i < 5000; i++)
		say_number(outlet, i, false);
	g_assert_cmpint(fcntl(ends[1], F_GETFL) & O_NONBLOCK, ==, 0); /* it is shared with others */
	g_assert_false(ri_outlet_flush(outlet, 10));

	pid_t child = fork();
	if (child == 0) {
		close(ends[1]);
		judge(fdopen(ends[0], "r"), 5001);
		_exit(0);
	}
	int status = -1;
	g_assert_true(ri_outlet_flush(outlet, FLUSH));
	say_number(outlet, 5000, false);
	g_assert_true(ri_outlet_direct(outlet, -1) == false);
	close(ends[1]);
	g_assert_cmpint(waitpid(child, &status, 0), ==, child);
	g_assert_cmpint(status, ==, 0);
	from = fdopen(ends[0], "r");
	g_assert_cmpint(fclose(from), ==, 0);
}

/* Read what is there, without waiting, or at least as much as this. */
static void
read_some(int from, GString *all, size_t least)
{
	char text[4096];

	for (size_t got = 0;;) {
		struct pollfd ready = {.fd = from, .events = POLLIN};
		ssize_t n;

		if (poll(&ready, 1, got < least ? SOON : 0) != 1) {
			g_assert_cmpuint(got, >=, least);
			break;
		}
		n = read(from, text, sizeof(text));
		if (n <= 0)
			break;
		g_string_append_len(all, text, n);
		got += (size_t)n;
		if (got >= least && least != 0)
			break;
	}
}

/* A reader that is too slow, again and again: each text arrives, or is lost and counted once. */
static void
test_slow_reader(void)
{
	static struct ri_outlet slow = RI_OUTLET(tell);
	g_autoptr(GString) all = g_string_new(NULL);
	unsigned wrote = 0;
	bool lost;
	int ends[2];
	FILE *from;

	g_assert_cmpint(pipe2(ends, O_CLOEXEC), ==, 0);
	g_assert_true(ri_outlet_direct(&slow, ends[1]));
	for (unsigned round = 0; round < 12; round++) {
		do {
			say_number(&slow, wrote++, false);
			pthread_mutex_lock(&slow.lock);
			lost = slow.lost > round;
			pthread_mutex_unlock(&slow.lock);
		} while (!lost);
		/* There is room again, and the thread still writes: what was lost is told before the next text. */
		read_some(ends[0], all, RI_OUTLET_ROOM / 2);
		for (unsigned i = 0; i < 4; i++)
			say_number(&slow, wrote++, false);
	}
	for (unsigned i = 0; i < SOON && !ri_outlet_flush(&slow, 1); i++)
		read_some(ends[0], all, 0);
	g_assert_true(ri_outlet_flush(&slow, 0));
	read_some(ends[0], all, 0);
	from = fmemopen(all->str, all->len, "r");
	judge(from, wrote);
	fclose(from);
	close(ends[0]);
	close(ends[1]);
}

/* Texts that peers can cause leave a quarter of the ring to others. */
static void
test_spare(void)
{
	struct ri_outlet *outlet = &outlets[1];
	int ends[2];

	g_assert_cmpint(pipe2(ends, O_CLOEXEC), ==, 0);
	g_assert_true(ri_outlet_direct(outlet, ends[1]));
	for (unsigned i = 0; i < 5000; i++)
		say_number(outlet, i, true);
	pthread_mutex_lock(&outlet->lock);
	uint32_t used = outlet->used;
	uint64_t lost = outlet->lost;
	pthread_mutex_unlock(&outlet->lock);
	g_assert_cmpuint(used, <=, RI_OUTLET_ROOM / 4 * 3);
	g_assert_cmpuint(used, >, RI_OUTLET_ROOM / 2);
	g_assert_cmpuint(lost, >, 0);
	say_number(outlet, 5000, false);
	pthread_mutex_lock(&outlet->lock);
	g_assert_cmpuint(outlet->used, >, used);
	pthread_mutex_unlock(&outlet->lock);
	close(ends[0]); /* ends the thread's write */
	g_assert_true(ri_outlet_flush(outlet, FLUSH));
	close(ends[1]);
}

/* A reader that has gone does not end the process by SIGPIPE, and none is left pending. */
static void
test_no_reader(void)
{
	struct ri_outlet *outlet = &outlets[2];
	int ends[2], pair[2];
	sigset_t pending;

	signal(SIGPIPE, SIG_DFL);
	g_assert_cmpint(pipe2(ends, O_CLOEXEC), ==, 0);
	g_assert_true(ri_outlet_direct(outlet, ends[1]));
	close(ends[0]);
	say_number(outlet, 0, false);
	g_assert_cmpint(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), ==, 0);
	g_assert_true(ri_outlet_direct(outlet, pair[1]));
	close(pair[0]);
	say_number(outlet, 0, false);
	g_assert_cmpint(sigpending(&pending), ==, 0);
	g_assert_cmpint(sigismember(&pending, SIGPIPE), ==, 0);
	close(ends[1]);
	close(pair[1]);
}

/* The number is closed and given to a socket, a pipe, a file: nothing is written there. */
static void
test_replaced(void)
{
	struct ri_outlet *outlet = &outlets[3];
	char text[64];
	int ends[2], others[2], pair[2];
	FILE *file = tmpfile();

	g_assert_cmpint(pipe2(ends, O_CLOEXEC), ==, 0);
	g_assert_cmpint(pipe2(others, O_CLOEXEC | O_NONBLOCK), ==, 0);
	g_assert_cmpint(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair),
			==, 0);
	g_assert_true(ri_outlet_direct(outlet, ends[1]));
	g_assert_cmpint(dup3(pair[1], ends[1], O_CLOEXEC), ==, ends[1]);
	say_number(outlet, 0, false);
	g_assert_cmpint(read(pair[0], text, sizeof(text)), ==, -1);
	g_assert_cmpint(dup3(others[1], ends[1], O_CLOEXEC), ==, ends[1]);
	say_number(outlet, 0, false);
	g_assert_cmpint(read(others[0], text, sizeof(text)), ==, -1);
	g_assert_cmpint(dup3(fileno(file), ends[1], O_CLOEXEC), ==, ends[1]);
	say_number(outlet, 0, false);
	g_assert_cmpint(pread(fileno(file), text, sizeof(text), 0), ==, 0);
	close(ends[1]);
	say_number(outlet, 0, false);
	/* Given anew, it is written to. */
	g_assert_true(ri_outlet_direct(outlet, fileno(file)));
	say_number(outlet, 7, false);
	g_assert_cmpint(pread(fileno(file), text, sizeof(text), 0), >, 0);
	g_assert_cmpint(fclose(file), ==, 0);
	for (int i = 0; i < 2; i++) {
		close(others[i]);
		close(pair[i]);
	}
	close(ends[0]);
}

/* What is no place for text: a network connection, what is open for reading only, what is no stream. */
static void
test_refused(void)
{
	struct ri_outlet *outlet = &outlets[4];
	int tcp = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int event = eventfd(0, EFD_CLOEXEC);
	int folder = open("/", O_RDONLY | O_CLOEXEC);
	int reading = open("/dev/null", O_RDONLY | O_CLOEXEC);

	g_assert_false(ri_outlet_direct(outlet, tcp));
	g_assert_false(ri_outlet_direct(outlet, event));
	g_assert_false(ri_outlet_direct(outlet, folder));
	g_assert_false(ri_outlet_direct(outlet, reading));
	g_assert_false(ri_outlet_direct(outlet, -1));
	say_number(outlet, 0, false);
	close(tcp);
	close(event);
	close(folder);
	close(reading);
}

/* A terminal whose user has pressed ^S. */
static void
test_stopped_terminal(void)
{
	struct ri_outlet *outlet = &outlets[5];
	int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	struct termios raw;
	char text[256];
	ssize_t n = 0;
	int unlock = 0;
	int slave;

	if (master < 0 || ioctl(master, TIOCSPTLCK, &unlock) != 0) {
		g_test_skip("no pseudo-terminals here");
		return;
	}
	slave = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (slave < 0) {
		g_test_skip("no pseudo-terminals here");
		close(master);
		return;
	}
	g_assert_cmpint(tcgetattr(slave, &raw), ==, 0);
	cfmakeraw(&raw);
	g_assert_cmpint(tcsetattr(slave, TCSANOW, &raw), ==, 0);
	g_assert_true(ri_outlet_direct(outlet, slave));
	g_assert_cmpint(tcflow(slave, TCOOFF), ==, 0);
	for (unsigned i = 0; i < 20; i++)
		say_number(outlet, i, false);
	g_assert_false(ri_outlet_flush(outlet, 10));
	g_assert_cmpint(tcflow(slave, TCOON), ==, 0);
	for (unsigned lines = 0; lines < 20;) {
		n = read(master, text, sizeof(text));
		g_assert_cmpint(n, >, 0);
		for (ssize_t i = 0; i < n; i++)
			lines += text[i] == '\n';
	}
	g_assert_true(ri_outlet_flush(outlet, FLUSH));
	close(slave);
	close(master);
}

/* A forked child has its own, empty ring, and can write. */
static void
test_fork(void)
{
	struct ri_outlet *outlet = &outlets[6];
	char text[64] = "";
	int ends[2], own[2];
	int status = -1;

	g_assert_cmpint(pipe2(ends, O_CLOEXEC), ==, 0);
	g_assert_cmpint(pipe2(own, O_CLOEXEC), ==, 0);
	g_assert_true(ri_outlet_direct(outlet, ends[1]));
	for (unsigned i = 0; i < 2000; i++)
		say_number(outlet, i, false);
	pid_t child = fork();
	if (child == 0) {
		alarm(PATIENCE);
		if (!ri_outlet_flush(outlet, 0) || !ri_outlet_direct(outlet, own[1]))
			_exit(1);
		say_number(outlet, 4711, false);
		_exit(ri_outlet_flush(outlet, FLUSH) ? 0 : 2);
	}
	g_assert_cmpint(waitpid(child, &status, 0), ==, child);
	g_assert_cmpint(status, ==, 0);
	g_assert_cmpint(read(own[0], text, sizeof(text) - 1), >, 0);
	g_assert_cmpint(atoi(text), ==, 4711);
	close(ends[0]);
	g_assert_true(ri_outlet_flush(outlet, FLUSH));
	close(ends[1]);
	close(own[0]);
	close(own[1]);
}

/* Octets that a fork leaves as they are: where the outlet writes, and what is read only if texts wait. */
static bool
stays(size_t octet)
{
#define OF(member)                                      \
	(octet >= offsetof(struct ri_outlet, member) && \
	 octet < offsetof(struct ri_outlet, member) + sizeof(((struct ri_outlet *)0)->member))
	return OF(tell) || OF(target) || OF(head) || OF(ring) || OF(next) || OF(listed);
#undef OF
}

/* Octet by octet: a lock has no other comparison. */
static bool
are_same(const void *one, const void *other, size_t len)
{
	return memcmp(one, other, len) == 0;
}

/* In the child of a fork, whose parent had overwritten the rest of the outlet. */
static int
child_differs(const struct ri_outlet *outlet)
{
	static const struct ri_outlet fresh = RI_OUTLET(tell);
	struct ri_outlet used = *outlet;

	used.tell = fresh.tell;
	used.target = fresh.target;
	used.head = fresh.head;
	memcpy(used.ring, fresh.ring, sizeof(used.ring));
	atomic_store(&used.next, NULL);
	atomic_store(&used.listed, false);
	return !are_same(&used.lock, &fresh.lock, sizeof(used.lock))              ? 1
	       : !are_same(&used.more, &fresh.more, sizeof(used.more))            ? 2
	       : !are_same(&used.done, &fresh.done, sizeof(used.done))            ? 3
	       : used.thread || used.telling                                      ? 4
	       : used.lost != 0                                                   ? 5
	       : used.used != 0                                                   ? 6
	       : atomic_load(&used.own[0]) != 0 || atomic_load(&used.own[1]) != 0 ? 7
										  : 0;
}

/* Whatever a parent has in an outlet, but its target, its child has a new one. A process that has no thread of its own overwrites it. */
static void
test_fork_anew(void)
{
	struct ri_outlet *outlet = &outlets[9];
	int ends[2], status = -1;

	g_assert_cmpint(pipe2(ends, O_CLOEXEC), ==, 0);
	g_assert_true(ri_outlet_direct(outlet, ends[1]));
	pid_t child = fork();
	if (child == 0) {
		alarm(PATIENCE);
		for (size_t i = 0; i < sizeof(*outlet); i++)
			if (!stays(i))
				((uint8_t *)outlet)[i] = 1;
		child = fork();
		if (child == 0)
			_exit(child_differs(outlet));
		_exit(waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status)
									       : 99);
	}
	g_assert_cmpint(waitpid(child, &status, 0), ==, child);
	g_assert_cmpint(status, ==, 0);
	close(ends[0]);
	close(ends[1]);
}

/* Without free descriptors, and without /proc's way to a pipe of its own, the thread writes. */
static void
test_no_descriptor(void)
{
	struct ri_outlet *outlet = &outlets[7];
	struct rlimit before, none;
	char text[128] = "";
	int ends[2];

	g_assert_cmpint(pipe2(ends, O_CLOEXEC), ==, 0);
	g_assert_true(ri_outlet_direct(outlet, ends[1]));
	g_assert_cmpint(getrlimit(RLIMIT_NOFILE, &before), ==, 0);
	none = before;
	none.rlim_cur = 0;
	g_assert_cmpint(setrlimit(RLIMIT_NOFILE, &none), ==, 0);
	say_number(outlet, 12, false);
	g_assert_true(ri_outlet_flush(outlet, FLUSH));
	g_assert_cmpint(setrlimit(RLIMIT_NOFILE, &before), ==, 0);
	g_assert_cmpint(read(ends[0], text, sizeof(text) - 1), >, 0);
	g_assert_cmpint(atoi(text), ==, 12);
	close(ends[0]);
	close(ends[1]);
}

/* A file that may not grow: SIGXFSZ does not end the process. */
static void
test_file_limit(void)
{
	struct ri_outlet *outlet = &outlets[8];
	struct rlimit before, none;
	FILE *file = tmpfile();

	g_assert_nonnull(file);
	g_assert_true(ri_outlet_direct(outlet, fileno(file)));
	g_assert_cmpint(getrlimit(RLIMIT_FSIZE, &before), ==, 0);
	none = before;
	none.rlim_cur = 10;
	g_assert_cmpint(setrlimit(RLIMIT_FSIZE, &none), ==, 0);
	for (unsigned i = 0; i < 3; i++)
		say_number(outlet, i, false);
	g_assert_cmpint(setrlimit(RLIMIT_FSIZE, &before), ==, 0);
	/* No line fits whole: the outlet's thread has the rest, and writes to this file. */
	g_assert_true(ri_outlet_flush(outlet, FLUSH));
	g_assert_cmpint(fclose(file), ==, 0);
}

/* Every function of ri_fd.h gives a number from 3, also where lower ones are free. */
static void
test_numbers(void)
{
	struct sockaddr_storage sa;
	socklen_t len = sizeof(sa);
	struct ri_fd_filler filler;
	int kept[RI_FD_FIRST];
	int status = -1;

	pid_t child = fork();
	if (child != 0) {
		g_assert_cmpint(waitpid(child, &status, 0), ==, child);
		g_assert_cmpint(status, ==, 0);
		return;
	}
	for (int fd = 0; fd < RI_FD_FIRST; fd++) {
		kept[fd] = fcntl(fd, F_DUPFD_CLOEXEC, 20);
		close(fd);
	}
	int listener = ri_fd_socket(AF_INET, SOCK_STREAM, 0);
	int dial = ri_fd_socket(AF_INET, SOCK_STREAM, 0);
	bool good = listener >= RI_FD_FIRST && dial >= RI_FD_FIRST && listen(listener, 1) == 0 &&
		    getsockname(listener, (struct sockaddr *)&sa, &len) == 0 &&
		    connect(dial, (struct sockaddr *)&sa, len) == 0;
	good = good && ri_fd_accept(listener, NULL, NULL, SOCK_NONBLOCK) >= RI_FD_FIRST;
	good = good && ri_fd_eventfd() >= RI_FD_FIRST && ri_fd_timer() >= RI_FD_FIRST;
	good = good && ri_fd_epoll() >= RI_FD_FIRST && ri_fd_duplicate(dial) >= RI_FD_FIRST;
	good = good && ri_fd_open("/dev/null", O_RDONLY, 0) >= RI_FD_FIRST;
	FILE *file = ri_fd_open_file("/proc/self/maps");
	DIR *folder = ri_fd_open_folder("/");
	good = good && fileno(file) >= RI_FD_FIRST && dirfd(folder) >= RI_FD_FIRST;
	fclose(file);
	closedir(folder);
	/* For what another library creates. */
	ri_fd_fill(&filler);
	int theirs = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ri_fd_free(&filler);
	good = good && filler.count == RI_FD_FIRST && theirs >= RI_FD_FIRST;
	for (int fd = 0; fd < RI_FD_FIRST; fd++)
		good = good && fcntl(fd, F_GETFD) < 0; /* the process's own numbers are free */
	dup2(kept[2], 2);
	_exit(good ? 0 : 1);
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	alarm(PATIENCE);
	g_test_add_func("/rnicpi/outlet/full-pipe", test_full_pipe);
	g_test_add_func("/rnicpi/outlet/slow-reader", test_slow_reader);
	g_test_add_func("/rnicpi/outlet/spare", test_spare);
	g_test_add_func("/rnicpi/outlet/no-reader", test_no_reader);
	g_test_add_func("/rnicpi/outlet/replaced", test_replaced);
	g_test_add_func("/rnicpi/outlet/refused", test_refused);
	g_test_add_func("/rnicpi/outlet/stopped-terminal", test_stopped_terminal);
	g_test_add_func("/rnicpi/outlet/fork", test_fork);
	g_test_add_func("/rnicpi/outlet/fork-anew", test_fork_anew);
	g_test_add_func("/rnicpi/outlet/no-descriptor", test_no_descriptor);
	g_test_add_func("/rnicpi/outlet/file-limit", test_file_limit);
	g_test_add_func("/rnicpi/fd/numbers", test_numbers);
	return g_test_run();
}
