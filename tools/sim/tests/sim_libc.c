/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * A node that uses the C library: sim-libc CASE. A case prints its result, fails an assertion, or
 * makes a call that a simulation does not have. test_libc.py has the result that is expected of
 * each case.
 */
#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#define PORT 5000
#define MUCH (4 << 20) /* octets, more than a socket holds */

static char much[MUCH];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_spinlock_t spin;

static struct sockaddr_in
address(void)
{
	struct sockaddr_in here = {.sin_family = AF_INET, .sin_port = htons(PORT)};

	here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	return here;
}

static int
tcp(int flags)
{
	int fd = socket(AF_INET, SOCK_STREAM | flags, 0);

	assert(fd >= 0);
	return fd;
}

static int
listener(int backlog)
{
	struct sockaddr_in here = address();
	int fd = tcp(0);

	assert(bind(fd, (const struct sockaddr *)&here, sizeof(here)) == 0);
	assert(listen(fd, backlog) == 0);
	return fd;
}

static int
call(int fd)
{
	struct sockaddr_in there = address();

	return connect(fd, (const struct sockaddr *)&there, sizeof(there));
}

/* Both ends of a connection. */
static void
pair(int ends[2])
{
	int fd = listener(4);

	ends[0] = tcp(0);
	assert(call(ends[0]) == 0);
	ends[1] = accept(fd, NULL, NULL);
	assert(ends[1] >= 0);
	close(fd);
}

static pthread_t
start(void *(*body)(void *), void *arg)
{
	pthread_t thread;

	assert(pthread_create(&thread, NULL, body, arg) == 0);
	return thread;
}

/* --- octets ----------------------------------------------------------------------------------- */

static void *
take_all(void *arg)
{
	static char part[65536];
	size_t total = 0;
	ssize_t got;

	while ((got = read(*(int *)arg, part, sizeof(part))) > 0)
		total += (size_t)got;
	printf("took %zu\n", total);
	return NULL;
}

static void
give_much(ssize_t (*give)(int fd))
{
	int ends[2];
	pthread_t thread;

	pair(ends);
	thread = start(take_all, &ends[1]);
	assert(give(ends[0]) == MUCH);
	close(ends[0]);
	pthread_join(thread, NULL);
}

static ssize_t
give_write(int fd)
{
	return write(fd, much, MUCH);
}

static ssize_t
give_writev(int fd)
{
	struct iovec pieces[] = {{much, 1}, {much + 1, MUCH - 1}};

	return writev(fd, pieces, 2);
}

static ssize_t
give_send(int fd)
{
	return send(fd, much, MUCH, 0);
}

static ssize_t
give_sendto(int fd)
{
	return sendto(fd, much, MUCH, 0, NULL, 0);
}

static ssize_t
give_sendmsg(int fd)
{
	struct iovec pieces[] = {{much, MUCH - 3}, {much + MUCH - 3, 3}};
	const struct msghdr message = {.msg_iov = pieces, .msg_iovlen = 2};

	return sendmsg(fd, &message, 0);
}

static void
much_of_each(void)
{
	give_much(give_write);
	give_much(give_writev);
	give_much(give_send);
	give_much(give_sendto);
	give_much(give_sendmsg);
}

static void
too_much(void)
{
	int ends[2];

	pair(ends);
	(void)!write(ends[0], much, MUCH);
}

static void *
say_later(void *arg)
{
	usleep(1000);
	assert(send(*(int *)arg, "defgh", 5, 0) == 5);
	return NULL;
}

static void
wait_for_all(void)
{
	pthread_t thread;
	char got[8];
	int ends[2];

	pair(ends);
	assert(send(ends[0], "abc", 3, 0) == 3);
	thread = start(say_later, &ends[0]);
	assert(recv(ends[1], got, sizeof(got), MSG_PEEK) == 3);
	assert(recvfrom(ends[1], got, sizeof(got), MSG_WAITALL, NULL, NULL) == 8);
	assert(memcmp(got, "abcdefgh", 8) == 0);
	pthread_join(thread, NULL);
	assert(recv(ends[1], got, 1, MSG_DONTWAIT) == -1 && errno == EAGAIN);
}

static void
wait_for_ever(void)
{
	char got[8];
	int ends[2];

	pair(ends);
	assert(send(ends[0], "abc", 3, 0) == 3);
	(void)recv(ends[1], got, sizeof(got), MSG_WAITALL);
}

/* Inside the C library nothing is seen of it. */
static void
wait_by_stdio(void)
{
	FILE *stream;
	char line[8];
	int ends[2];

	pair(ends);
	stream = fdopen(ends[1], "r");
	(void)!fgets(line, sizeof(line), stream);
	fclose(stream);
}

static void
past_streams(void)
{
	struct iovec pieces[] = {{(char[]){"pie"}, 3}, {(char[]){"ces\n"}, 4}};

	dprintf(STDOUT_FILENO, "printed %d\n", 7);
	assert(writev(STDOUT_FILENO, pieces, 2) == 7);
	close(STDOUT_FILENO);
	printf("still there\n");
}

/* --- sockets ------------------------------------------------------------------------------------ */

/* A socket that is in an epoll set before it listens, or is connected. */
static void
early_set(void)
{
	struct epoll_event event = {.events = EPOLLIN};
	struct sockaddr_in here = address();
	int set = epoll_create1(0), fd = tcp(0), out = tcp(0), in;

	assert(bind(fd, (const struct sockaddr *)&here, sizeof(here)) == 0);
	event.data.fd = fd;
	assert(epoll_ctl(set, EPOLL_CTL_ADD, fd, &event) == 0);
	event.data.fd = out;
	assert(epoll_ctl(set, EPOLL_CTL_ADD, out, &event) == 0);
	assert(listen(fd, 4) == 0);
	assert(call(out) == 0);
	assert(epoll_wait(set, &event, 1, 1000) == 1 && event.data.fd == fd);
	in = accept(fd, NULL, NULL);
	assert(epoll_wait(set, &event, 1, 0) == 0);
	assert(send(in, "x", 1, 0) == 1);
	assert(epoll_wait(set, &event, 1, 1000) == 1 && event.data.fd == out);
}

static void
copies(void)
{
	struct sockaddr_in there;
	socklen_t len = sizeof(there);
	int ends[2], fd = listener(4), other = tcp(0), copy;

	assert(dup2(fd, other) == other);
	close(fd);
	fd = tcp(0);
	assert(call(fd) == 0);
	assert(accept(other, NULL, NULL) >= 0);
	close(other);
	pair(ends); /* the port is free again */
	copy = dup(ends[0]);
	close(ends[0]);
	assert(getpeername(copy, (struct sockaddr *)&there, &len) == 0);
	assert(there.sin_family == AF_INET && there.sin_port == htons(PORT));
	assert(fcntl(copy, F_DUPFD, 0) >= 0);
}

/* Closed by the C library itself. */
static void
stale(void)
{
	struct sockaddr_in there;
	socklen_t len = sizeof(there);
	int fd = listener(4);

	fclose(fdopen(fd, "w"));
	assert(call(tcp(0)) == -1 && errno == ECONNREFUSED);
	close(listener(4));
	fd = tcp(0);
	assert(getpeername(fd, (struct sockaddr *)&there, &len) == -1 && errno == ENOTCONN);
	assert(send(fd, "x", 1, MSG_NOSIGNAL) == -1 && errno == ENOTCONN);
	assert(close(fd) == 0 && close(fd) == -1 && errno == EBADF);
}

static void
options(void)
{
	struct timeval span = {.tv_sec = 1};
	struct timespec before, after;
	socklen_t len = sizeof(int);
	int ends[2], values[2] = {0, 5};
	char octet;

	pair(ends);
	assert(getsockopt(ends[0], SOL_SOCKET, SO_TYPE, values, &len) == 0 &&
	       values[0] == SOCK_STREAM);
	len = sizeof(values);
	assert(getsockopt(ends[0], SOL_SOCKET, SO_ERROR, values, &len) == 0);
	assert(len == sizeof(int) && values[0] == 0 && values[1] == 5);
	assert(setsockopt(ends[0], 99, 1, values, sizeof(int)) == -1 && errno == ENOPROTOOPT);
	assert(setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &span, sizeof(span)) == 0);
	clock_gettime(CLOCK_MONOTONIC, &before);
	assert(recv(ends[0], &octet, 1, 0) == -1 && errno == EAGAIN);
	clock_gettime(CLOCK_MONOTONIC, &after);
	assert(after.tv_sec - before.tv_sec == 1);
}

static void *
accept_later(void *arg)
{
	usleep(5000);
	for (int i = 0; i < 4; i++)
		assert(accept(*(int *)arg, NULL, NULL) >= 0);
	return NULL;
}

/* More connections than may wait. */
static void
backlog(void)
{
	int fd = listener(1);
	pthread_t thread = start(accept_later, &fd);

	for (int i = 0; i < 4; i++)
		assert(call(tcp(0)) == 0);
	pthread_join(thread, NULL);
	assert(shutdown(fd, SHUT_RDWR) == 0);
	assert(accept(fd, NULL, NULL) == -1 && errno == EINVAL);
}

/* As a daemon does at its begin; the other node must not notice. */
static void
close_all(void)
{
	for (int fd = 3; fd < 256; fd++)
		close(fd);
}

static void
connected(void)
{
	int ends[2];
	char got;

	pair(ends);
	usleep(5000);
	assert(send(ends[0], "x", 1, 0) == 1 && recv(ends[1], &got, 1, 0) == 1);
}

static void
names(void)
{
	struct addrinfo *found;
	char own[32];

	assert(gethostname(own, sizeof(own)) == 0);
	assert(getaddrinfo(own, "5000", NULL, &found) == 0);
	freeaddrinfo(found);
	assert(getaddrinfo("www.example.com", "5000", NULL, &found) == EAI_NONAME);
	assert(gethostbyname("www.example.com") == NULL);
	printf("%s\n", own);
}

/* --- threads ---------------------------------------------------------------------------------------- */

static void *
try_mutex(void *unused)
{
	(void)unused;
	while (pthread_mutex_trylock(&mutex) != 0)
		continue;
	pthread_mutex_unlock(&mutex);
	return NULL;
}

static void *
spin_lock(void *unused)
{
	(void)unused;
	pthread_spin_lock(&spin);
	pthread_spin_unlock(&spin);
	return NULL;
}

static void
spins(void)
{
	pthread_t threads[2];
	sem_t sem;

	pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE);
	assert(sem_init(&sem, 0, 0) == 0 && sem_trywait(&sem) == -1 && errno == EAGAIN);
	pthread_mutex_lock(&mutex);
	pthread_spin_lock(&spin);
	threads[0] = start(try_mutex, NULL);
	threads[1] = start(spin_lock, NULL);
	usleep(1000);
	pthread_mutex_unlock(&mutex);
	pthread_spin_unlock(&spin);
	while (pthread_tryjoin_np(threads[0], NULL) == EBUSY)
		continue;
	assert(pthread_join(threads[1], NULL) == 0);
	assert(pthread_join(threads[1], NULL) == EINVAL);
}

static void *
rest(void *unused)
{
	(void)unused;
	usleep(100);
	printf("rested\n");
	return NULL;
}

static void
times_out(void)
{
	pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
	struct timespec when;
	sem_t sem;

	clock_gettime(CLOCK_REALTIME, &when);
	when.tv_sec++;
	assert(pthread_rwlock_rdlock(&lock) == 0);
	assert(pthread_rwlock_timedwrlock(&lock, &when) == ETIMEDOUT);
	clock_gettime(CLOCK_MONOTONIC, &when);
	when.tv_sec++;
	assert(sem_init(&sem, 0, 0) == 0);
	assert(sem_clockwait(&sem, CLOCK_MONOTONIC, &when) == -1 && errno == ETIMEDOUT);
}

/* The last thread of a program is not always that of main(). */
static void
main_leaves(void)
{
	(void)start(rest, NULL);
	pthread_exit(NULL);
}

static void *
deep(void *arg)
{
	volatile char room[32 << 20];

	room[0] = room[sizeof(room) / 2] = 1;
	return room[0] == 1 ? arg : NULL;
}

static void
large_stack(void)
{
	pthread_attr_t attr;
	pthread_t thread;
	void *value = NULL;

	assert(pthread_attr_init(&attr) == 0 && pthread_attr_setstacksize(&attr, 64 << 20) == 0);
	assert(pthread_create(&thread, &attr, deep, much) == 0);
	assert(pthread_join(thread, &value) == 0 && value == much);
}

/* --- clocks and chance -------------------------------------------------------------------------------- */

static void
clocks(void)
{
	struct timespec of_day, of_process, direct;
	struct rusage used;
	unsigned drawn[3] = {0};
	FILE *file = fopen("/dev/urandom", "r");
	int fd = open("/dev/urandom", O_RDONLY);

	assert(timespec_get(&of_day, TIME_UTC) == TIME_UTC);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &of_process);
	syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &direct);
	getrusage(RUSAGE_SELF, &used);
	assert(fread(&drawn[0], sizeof(drawn[0]), 1, file) == 1);
	assert(read(fd, &drawn[1], sizeof(drawn[1])) == sizeof(drawn[1]));
	syscall(SYS_getrandom, &drawn[2], sizeof(drawn[2]), 0);
	printf("%ld.%09ld %ld.%09ld %ld %ld.%06ld %x %x %x\n", (long)of_day.tv_sec, of_day.tv_nsec,
	       (long)direct.tv_sec, direct.tv_nsec, of_process.tv_nsec + (long)clock(),
	       (long)used.ru_utime.tv_sec, (long)used.ru_utime.tv_usec, drawn[0], drawn[1],
	       drawn[2]);
	fclose(file);
	close(fd);
}

static void
bad_spans(void)
{
	struct timeval before = {.tv_sec = -1};
	struct timespec long_one = {.tv_nsec = 1000000000};

	assert(select(0, NULL, NULL, NULL, &before) == -1 && errno == EINVAL);
	assert(ppoll(NULL, 0, &long_one, NULL) == -1 && errno == EINVAL);
}

/* --- ends, and what is not simulated ------------------------------------------------------------------- */

static void
bye(void)
{
	printf("bye\n");
}

static void
handlers(void)
{
	atexit(bye);
	atexit(bye);
}

static void
deaf(void)
{
	signal(SIGALRM, SIG_IGN);
	for (;;)
		continue;
}

/* A call of the kernel that it-sim does not see, and that ends. */
static void
dozes(void)
{
	const struct timespec span = {.tv_nsec = 20 * 1000 * 1000};

	for (;;)
		syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &span, NULL);
}

static void
spawn(void)
{
	char *arguments[] = {(char[]){"true"}, NULL};
	pid_t pid;

	posix_spawn(&pid, "/bin/true", NULL, NULL, arguments, NULL);
}

static void
exec(void)
{
	execl("/bin/true", "true", (char *)NULL);
}

static void
interval(void)
{
	const struct itimerval value = {.it_value.tv_usec = 1};

	setitimer(ITIMER_REAL, &value, NULL);
}

static int
other_body(void *unused)
{
	(void)unused;
	return 0;
}

static void
other_thread(void)
{
	thrd_t thread;

	thrd_create(&thread, other_body, NULL);
}

static void
reopen(void)
{
	(void)!freopen("/dev/null", "w", stdout);
}

static void
redirect(void)
{
	dup2(open("/dev/null", O_WRONLY), STDOUT_FILENO);
}

static void
file_lock(void)
{
	char path[] = "/tmp/itapi-sim-XXXXXX";
	int one = mkstemp(path), other = open(path, O_RDWR);

	unlink(path);
	assert(flock(one, LOCK_EX) == 0);
	flock(other, LOCK_EX);
	close(other);
	close(one);
}

static void
any_child(void)
{
	siginfo_t info;

	waitid(P_ALL, 0, &info, WEXITED);
}

static const struct {
	const char *name;
	void (*run)(void);
} cases[] = {{"much", much_of_each},
	     {"too-much", too_much},
	     {"all", wait_for_all},
	     {"for-ever", wait_for_ever},
	     {"stdio", wait_by_stdio},
	     {"streams", past_streams},
	     {"early-set", early_set},
	     {"copies", copies},
	     {"stale", stale},
	     {"options", options},
	     {"backlog", backlog},
	     {"close-all", close_all},
	     {"connected", connected},
	     {"names", names},
	     {"spins", spins},
	     {"times-out", times_out},
	     {"main-leaves", main_leaves},
	     {"large-stack", large_stack},
	     {"clocks", clocks},
	     {"bad-spans", bad_spans},
	     {"handlers", handlers},
	     {"deaf", deaf},
	     {"dozes", dozes},
	     {"posix_spawn", spawn},
	     {"execl", exec},
	     {"setitimer", interval},
	     {"thrd_create", other_thread},
	     {"freopen", reopen},
	     {"dup2", redirect},
	     {"flock", file_lock},
	     {"waitid", any_child}};

int
main(int argc, char **argv)
{
	for (size_t i = 0; argc == 2 && i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (strcmp(cases[i].name, argv[1]) != 0)
			continue;
		cases[i].run();
		return 0;
	}
	fprintf(stderr, "no such case\n");
	return 2;
}
