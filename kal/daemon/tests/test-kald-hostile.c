/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Descriptors that block a process that uses them: sockets whose close waits for a peer, and
 * sockets and memory files whose lock is owned by a system call of the client, which never returns
 * since its data come from memory that never answers. Such descriptors come with each kind of
 * packet; other clients must be served meanwhile.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "kald_play.h"
#include "kald_steer.h"

#define LINGER_S 60
#define SOON_US  2000000 /* an answer to others; far less than LINGER_S */

/* Another client has its answer soon. */
static void
check_served(const struct play *play)
{
	gint64 begin = g_get_monotonic_time();
	int fd RI_AT_END(ri_at_end_close) = play_join(play, KALD_CLIENT, NULL);

	g_assert_cmpuint(play_borrow(fd, KAL_RESOURCE_QP, 1, NULL), >, 0);
	g_assert_cmpint(g_get_monotonic_time() - begin, <, SOON_US);
}

/* --- sockets whose close waits -------------------------------------------------------------------------- */

/* A connected TCP socket that is full and lingers, so that its close waits for `peer`, which does not read. */
static int
lingering(int *peer)
{
	struct linger on = {.l_onoff = 1, .l_linger = LINGER_S};
	struct sockaddr_in sa = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	socklen_t len = sizeof(sa);
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	static const uint8_t octets[65536];

	g_assert_cmpint(bind(listener, (struct sockaddr *)&sa, sizeof(sa)), ==, 0);
	g_assert_cmpint(listen(listener, 1), ==, 0);
	g_assert_cmpint(getsockname(listener, (struct sockaddr *)&sa, &len), ==, 0);
	g_assert_cmpint(connect(fd, (struct sockaddr *)&sa, sizeof(sa)), ==, 0);
	*peer = accept(listener, NULL, NULL);
	g_assert_cmpint(*peer, >=, 0);
	close(listener);
	while (send(fd, octets, sizeof(octets), MSG_DONTWAIT | MSG_NOSIGNAL) > 0)
		;
	g_assert_cmpint(setsockopt(fd, SOL_SOCKET, SO_LINGER, &on, sizeof(on)), ==, 0);
	return fd;
}

enum how {
	HOW_EARLY,    /* before KALD_HELLO */
	HOW_TOOL,     /* of a tool */
	HOW_BORROW,   /* with a request that has no descriptor */
	HOW_SHARE,    /* as the proof of a request to share */
	HOW_TOO_MANY, /* behind as many as a request may have */
	HOW_UNREAD,   /* behind a packet that ends the session */
	HOW_EMPTY,    /* behind an empty one, which ends it, too */
	HOW_COUNT
};

/* Send it in that way; the process keeps no copy of it. */
static int
send_in_way(const struct play *play, enum how how, int fd)
{
	struct kald_message m;
	int fds[KALD_SHARE_FDS + 1],
		proof RI_AT_END(ri_at_end_close) = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int to = how == HOW_EARLY  ? play_connect(play)
		 : how == HOW_TOOL ? play_join(play, KALD_TOOL, NULL)
				   : play_sharer(play);
	bool share = how == HOW_SHARE || how == HOW_TOO_MANY;

	for (unsigned i = 0; i < KALD_SHARE_FDS; i++)
		fds[i] = proof;
	kald_message_begin(&m, share ? KALD_SHARE : KALD_BORROW, 9, KALD_OK);
	if (share) {
		m.body.share.at = play_address(1);
	} else {
		m.body.amount.resource = KAL_RESOURCE_QP;
		m.body.amount.amount = 1;
	}
	fds[how == HOW_TOO_MANY ? KALD_SHARE_FDS : 0] = fd;
	/* Until the packets are there, and the process has no copy of the socket. */
	kill(play->pid, SIGSTOP);
	if (how == HOW_UNREAD)
		g_assert_cmpint(send(to, "wrong", 5, MSG_NOSIGNAL), ==, 5);
	if (how == HOW_EMPTY)
		g_assert_cmpint(send(to, "", 0, MSG_NOSIGNAL), ==, 0);
	play_send_with(to, &m, fds, how == HOW_TOO_MANY ? KALD_SHARE_FDS + 1 : 1);
	close(fd);
	kill(play->pid, SIGCONT);
	return to;
}

static void
test_lingering(void)
{
	struct play play RI_AT_END(play_free) = play_begin(NULL);

	for (enum how how = 0; how < HOW_COUNT; how++) {
		int peer, to = send_in_way(&play, how, lingering(&peer));

		check_served(&play);
		close(to);
		check_served(&play);
		close(peer);
	}
}

/* --- a crowd behind them --------------------------------------------------------------------------------- */

#define CROWD       1000 /* connections */
#define WAITING     6    /* sockets whose close waits, some of them not for long */
#define AT_ONCE     50   /* that wait to be accepted */
#define CLOSING_MAX 256  /* of kald: connections of a user that have ended */

static unsigned
descriptors_of(const struct play *play)
{
	g_autofree char *path = g_strdup_printf("/proc/%d/fd", (int)play->pid);
	g_autoptr(GDir) folder = g_dir_open(path, 0, NULL);
	unsigned count = 0;

	g_assert_nonnull(folder);
	while (g_dir_read_name(folder) != NULL)
		count++;
	return count;
}

/* Connections that have ended, and hold a descriptor each when kald accepts them. */
static void
crowd_come(const struct play *play, int with)
{
	struct kald_message m;

	kald_message_begin(&m, KALD_BORROW, 9, KALD_OK);
	kill(play->pid, SIGSTOP);
	for (unsigned i = 0; i < AT_ONCE; i++) {
		int to RI_AT_END(ri_at_end_close) = play_connect(play);

		play_send_with(to, &m, &with, 1);
	}
	/* Behind all of these. */
	int last RI_AT_END(ri_at_end_close) = play_connect(play);

	g_assert_cmpint(send(last, "wrong", 5, MSG_NOSIGNAL), ==, 5);
	kill(play->pid, SIGCONT);
	g_assert_true(play_is_ended(last));
}

/*
 * Both threads of a user wait for it, and then it connects again and again, with descriptors: kald has room for others. The
 * last descriptor would make kald wait, too.
 */
static void
test_crowd(void)
{
	struct play play RI_AT_END(play_free) = play_begin(NULL);
	int peers[WAITING + 1], ends[WAITING], last;
	int with RI_AT_END(ri_at_end_close) = open("/dev/null", O_RDONLY | O_CLOEXEC);
	unsigned before, most = 0;
	gint64 limit;

	check_served(&play); /* it has begun; it may still hold the descriptor of this session */
	before = descriptors_of(&play);
	for (unsigned i = 0; i < WAITING; i++)
		ends[i] = send_in_way(&play, HOW_EARLY, lingering(&peers[i]));
	for (unsigned i = 0; i < CROWD / AT_ONCE; i++) {
		crowd_come(&play, with);
		most = MAX(most, descriptors_of(&play));
	}
	last = lingering(&peers[WAITING]);
	crowd_come(&play, last);
	close(last);
	crowd_come(&play, with);
	g_assert_cmpuint(most, <, before + CLOSING_MAX + 2 * AT_ONCE);
	for (unsigned i = 0; i < WAITING; i++)
		close(ends[i]);
	for (unsigned i = 0; i <= WAITING; i++)
		close(peers[i]);
	limit = g_get_monotonic_time() + 60 * G_USEC_PER_SEC;
	while (descriptors_of(&play) > before && g_get_monotonic_time() < limit)
		g_usleep(10000);
	g_assert_cmpuint(descriptors_of(&play), <=, before);
	check_served(&play);
}

/* --- sockets and memory that are locked ------------------------------------------------------------------ */

/* A system call that does not come back: it reads a page that nobody fills, and holds a lock of `fd`. */
struct stuck {
	int uffd, fd;
	bool socket;
	void *page;
	struct sockaddr_in to;
	pthread_t thread;
};

static void *
stuck_run(void *arg)
{
	struct stuck *stuck = arg;

	if (stuck->socket)
		(void)sendto(stuck->fd, stuck->page, 64, MSG_MORE, (struct sockaddr *)&stuck->to,
			     sizeof(stuck->to));
	else
		(void)!pwrite(stuck->fd, stuck->page, 64, 0);
	return NULL;
}

/* False: this kernel, or this user, has no such memory. */
static bool
stuck_begin(struct stuck *stuck, int fd, bool is_socket)
{
	struct uffdio_api api = {.api = UFFD_API};
	struct uffdio_register range = {.mode = UFFDIO_REGISTER_MODE_MISSING};
	size_t size = (size_t)sysconf(_SC_PAGESIZE);
	struct pollfd fault;

	*stuck = (struct stuck){.fd = fd,
				.socket = is_socket,
				.to = {.sin_family = AF_INET,
				       .sin_port = htons(9),
				       .sin_addr = {htonl(INADDR_LOOPBACK)}}};
	stuck->uffd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
	if (stuck->uffd < 0)
		return false;
	g_assert_cmpint(ioctl(stuck->uffd, UFFDIO_API, &api), ==, 0);
	stuck->page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	range.range.start = (uintptr_t)stuck->page;
	range.range.len = size;
	g_assert_cmpint(ioctl(stuck->uffd, UFFDIO_REGISTER, &range), ==, 0);
	g_assert_cmpint(pthread_create(&stuck->thread, NULL, stuck_run, stuck), ==, 0);
	fault = (struct pollfd){.fd = stuck->uffd, .events = POLLIN};
	g_assert_cmpint(poll(&fault, 1, 10000), ==, 1);
	return true;
}

static void
stuck_end(struct stuck *stuck)
{
	/* The call finds zeros. */
	close(stuck->uffd);
	g_assert_cmpint(pthread_join(stuck->thread, NULL), ==, 0);
	munmap(stuck->page, (size_t)sysconf(_SC_PAGESIZE));
}

static bool
can_be_stuck(void)
{
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);

	if (fd < 0)
		g_test_skip("needs userfaultfd");
	else
		close(fd);
	return fd >= 0;
}

/* As the proof of a request to share. */
static void
test_locked_proof(void)
{
	int proof, to;
	struct kald_message m;
	struct stuck stuck;

	if (!can_be_stuck())
		return;
	proof = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct play play RI_AT_END(play_free) = play_begin(NULL);
	to = play_sharer(&play);
	g_assert_true(stuck_begin(&stuck, proof, true));
	kald_message_begin(&m, KALD_SHARE, 9, KALD_OK);
	m.body.share.at = play_address(1);
	play_send_with(to, &m, &proof, 1);
	check_served(&play);
	stuck_end(&stuck);
	close(proof);
	close(to);
}

static void
group_take(int kald, const struct kald_addr *at, uint32_t *slot, int fds[KALD_SHARE_FDS])
{
	int proof RI_AT_END(ri_at_end_close) = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct kald_message m;

	kald_message_begin(&m, KALD_SHARE, 9, KALD_OK);
	m.body.share.at = *at;
	play_send_with(kald, &m, &proof, 1);
	g_assert_cmpuint(play_receive_with(kald, &m, fds), ==, KALD_SHARE_FDS);
	g_assert_cmpint(m.head.status, ==, KALD_OK);
	*slot = m.body.shared.slot;
}

static void
group_close(const int fds[KALD_SHARE_FDS])
{
	for (unsigned i = 0; i < KALD_SHARE_FDS; i++)
		close(fds[i]);
}

static void
claim_send(int kald, const struct kald_addr *at, uint32_t slot, const int fds[KALD_SHARE_FDS])
{
	struct kald_message m;

	kald_message_begin(&m, KALD_SHARE, 9, KALD_OK);
	m.body.share.at = *at;
	m.body.share.claim = slot + 1;
	play_send_with(kald, &m, fds, KALD_SHARE_FDS);
}

/* A claim with one such socket, or such memory. The claim waits, other clients do not, and it is good when the lock is free. */
static void
check_locked_claim(unsigned place)
{
	struct kald_addr at = play_address(1);
	int fds[KALD_SHARE_FDS], to;
	struct kald_message m;
	struct stuck stuck;
	uint32_t slot;
	struct play play RI_AT_END(play_free) = play_begin(NULL);

	to = play_sharer(&play);
	group_take(to, &at, &slot, fds);
	play_end(&play, true);
	close(to);
	play_again(&play);
	to = play_sharer(&play);
	g_assert_true(stuck_begin(&stuck, fds[place], place < KALD_SLOTS));
	claim_send(to, &at, slot, fds);
	check_served(&play);
	stuck_end(&stuck);
	g_assert_true(play_receive(to, &m));
	g_assert_cmpint(m.head.number, ==, KALD_SHARE | KALD_REPLY);
	close(to);
	group_close(fds);
}

static void
test_locked_claim(void)
{
	if (!can_be_stuck())
		return;
	check_locked_claim(0);
	check_locked_claim(KALD_SLOTS - 1);
	check_locked_claim(KALD_SLOTS);
}

/* A member locks what all of the group have; others of the group, and other clients, go on. */
static void
check_locked_member(unsigned place, bool own)
{
	struct kald_addr at = play_address(1);
	int fds[KALD_SHARE_FDS], others[KALD_SHARE_FDS], hostile, good;
	struct kald_message m, reply;
	uint32_t slot, other;
	struct stuck stuck;
	struct play play RI_AT_END(play_free) = play_begin(NULL);

	hostile = play_sharer(&play);
	good = play_sharer(&play);
	group_take(hostile, &at, &slot, fds);
	group_take(good, &at, &other, others);
	place = own ? slot : place;
	g_assert_true(stuck_begin(&stuck, fds[place], place < KALD_SLOTS));
	kald_message_begin(&m, KALD_SERVICE, 10, KALD_OK);
	m.body.service.at = at;
	m.body.service.service = 77;
	play_ask(good, &m, &reply);
	g_assert_cmpint(reply.head.status, ==, KALD_OK);
	close(hostile);
	check_served(&play);
	m.body.service.service = 78;
	play_ask(good, &m, &reply);
	g_assert_cmpint(reply.head.status, ==, KALD_OK);
	close(good);
	check_served(&play);
	stuck_end(&stuck);
	group_close(fds);
	group_close(others);
}

static void
test_locked_member(void)
{
	if (!can_be_stuck())
		return;
	check_locked_member(0, false);
	check_locked_member(0, true);
	check_locked_member(KALD_SLOTS, false);
}

/* --- what costs the daemon much ---------------------------------------------------------------------------- */

#define COSTLY 6u

/* Have a group made and dropped, as often as the daemon does it. It is killed. */
static void
flood_groups(const struct play *play, uint8_t last)
{
	struct kald_addr at = play_address(last);
	int fds[KALD_SHARE_FDS], kald = play_sharer(play);
	struct kald_message over;
	uint32_t slot;

	kald_message_begin(&over, KALD_SHARE_OVER, 0, KALD_OK);
	over.body.share.at = at;
	for (;;) {
		group_take(kald, &at, &slot, fds);
		group_close(fds);
		play_send(kald, &over);
	}
}

/* CPU time of the daemon, in microseconds. */
static gint64
cpu_of(const struct play *play)
{
	struct timespec used;
	clockid_t clock;

	g_assert_cmpint(clock_getcpuclockid(play->pid, &clock), ==, 0);
	g_assert_cmpint(clock_gettime(clock, &used), ==, 0);
	return used.tv_sec * G_USEC_PER_SEC + used.tv_nsec / 1000;
}

/* A client is charged the time that its requests take, so slow requests of one client leave the others their share. */
static void
test_costly(void)
{
	pid_t pids[COSTLY];
	gint64 begin, cpu;
	struct play play RI_AT_END(play_free) = play_begin(NULL);

	for (unsigned i = 0; i < COSTLY; i++) {
		pids[i] = fork();
		g_assert_cmpint(pids[i], >=, 0);
		if (pids[i] == 0)
			flood_groups(&play, (uint8_t)(i + 1));
	}
	g_usleep(300000); /* what a new client has in advance is used up then */
	begin = g_get_monotonic_time();
	cpu = cpu_of(&play);
	g_usleep(500000);
	cpu = cpu_of(&play) - cpu;
	begin = g_get_monotonic_time() - begin;
	g_test_message("%u clients take %.1f %% of a processor", COSTLY,
		       100.0 * (double)cpu / (double)begin);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
	g_assert_cmpint(cpu, <, begin * 2 / 3);
#endif
	check_served(&play);
	for (unsigned i = 0; i < COSTLY; i++) {
		int status = 0;

		/* Until now it was served. */
		kill(pids[i], SIGKILL);
		g_assert_cmpint(waitpid(pids[i], &status, 0), ==, pids[i]);
		g_assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	}
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/kald/hostile/lingering", test_lingering);
	g_test_add_func("/kald/hostile/crowd", test_crowd);
	g_test_add_func("/kald/hostile/locked-proof", test_locked_proof);
	g_test_add_func("/kald/hostile/locked-claim", test_locked_claim);
	g_test_add_func("/kald/hostile/locked-member", test_locked_member);
	g_test_add_func("/kald/hostile/costly", test_costly);
	return g_test_run();
}
