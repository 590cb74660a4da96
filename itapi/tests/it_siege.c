/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include "it_siege.h"

#include <errno.h>
#include <glib.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define PEERS_MOST 500u /* of a process; the limit of descriptors may be 1024 */
#define TALKERS    24u  /* one peer in so many asks for a connection and gets it */
#define HEADER     20u  /* octets of a Request without private data */
#define FPDU_MOST  64u

enum conduct {
	/* before a whole Request */
	SILENT = 0, /* not one octet */
	PARTIAL,    /* a part of the key */
	DRIPPING,   /* private data, octet by octet, without end */
	NONSENSE,   /* some octets at random */
	FLIPPED,    /* a Request with a wrong bit */
	RESETTING,  /* connect and reset */
	GONE,       /* a Request and reset */
	CONDUCTS_BEFORE,
	/* behind it */
	GUESSING = CONDUCTS_BEFORE, /* a Read with a guessed STag */
	STOPPING,                   /* half of an FPDU */
	DEAF,                       /* Sends, and takes no answer */
	CONDUCTS
};

struct peer {
	int fd; /* -1: none */
	enum conduct conduct;
	bool connected; /* the Reply came */
};

struct order {
	uint16_t port; /* 0: stop */
};

static struct {
	pid_t pid;
	int link;
} processes[SIEGE_PROCESSES];

/* --- octets ---------------------------------------------------------------------------------- */

static uint32_t random_state;

static uint32_t
draw(void)
{
	random_state = random_state * 1664525 + 1013904223;
	return random_state >> 8;
}

/* A Request of revision 1 with CRC (RFC 5044 section 7.1). */
static void
request_put(uint8_t *out, unsigned private_len)
{
	memcpy(out, "MPA ID Req Frame\x40\x01", 18);
	out[18] = (uint8_t)(private_len >> 8);
	out[19] = (uint8_t)private_len;
}

static uint32_t
crc32c(const uint8_t *from, size_t len)
{
	uint32_t crc = ~0u;

	for (size_t i = 0; i < len; i++) {
		crc ^= from[i];
		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78u : 0);
	}
	return ~crc;
}

static void
put32(uint8_t *at, uint32_t value)
{
	for (int i = 0; i < 4; i++)
		at[i] = (uint8_t)(value >> (24 - 8 * i));
}

/*
 * An untagged FPDU of one segment. RFC 5041 section 4.2: control, RDMAP's octet, four reserved for it, QN, MSN, MO.
 * The length of the payload is a multiple of 4, so there is a PAD of 0 octets for 18 + 2 + payload.
 */
static unsigned
fpdu_put(uint8_t *out, unsigned opcode, uint32_t qn, uint32_t msn, unsigned payload)
{
	unsigned len = 2 + 18 + payload;
	uint32_t crc;

	memset(out, 0, len);
	out[1] = (uint8_t)(18 + payload);
	out[2] = 0x41; /* last; version 1 */
	out[3] = (uint8_t)(0x40 | opcode);
	put32(out + 8, qn);
	put32(out + 12, msn);
	if (opcode == 1) { /* a Read Request: sink STag and TO, size, source STag and TO */
		put32(out + 20, draw());
		put32(out + 32, 4096);
		put32(out + 36, draw() << 8 ^ draw());
	}
	crc = GUINT32_SWAP_LE_BE(crc32c(out, len));
	put32(out + len, crc);
	return len + 4;
}

/* --- one peer --------------------------------------------------------------------------------- */

static struct siege_count count;

static void
say(int fd, const void *octets, size_t len)
{
	(void)!send(fd, octets, len, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void
leave(struct peer *peer, bool reset)
{
	struct linger at_once = {.l_onoff = 1, .l_linger = 0};

	if (reset)
		(void)setsockopt(peer->fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
	close(peer->fd);
	peer->fd = -1;
}

static void
speak_first(struct peer *peer)
{
	uint8_t octets[HEADER + 44];

	request_put(octets, 0);
	switch (peer->conduct) {
	case SILENT:
	case RESETTING:
	case CONDUCTS:
		break;
	case PARTIAL:
		say(peer->fd, octets, 1 + draw() % (HEADER - 2));
		break;
	case DRIPPING:
		request_put(octets, 512);
		say(peer->fd, octets, HEADER);
		break;
	case NONSENSE:
		for (size_t i = 0; i < sizeof(octets); i++)
			octets[i] = (uint8_t)draw();
		say(peer->fd, octets, sizeof(octets));
		break;
	case FLIPPED:
		octets[draw() % HEADER] ^= (uint8_t)(1u << draw() % 8);
		say(peer->fd, octets, HEADER);
		break;
	case GONE:
	case GUESSING:
	case STOPPING:
	case DEAF:
		say(peer->fd, octets, HEADER);
		break;
	}
	if (peer->conduct == RESETTING || peer->conduct == GONE)
		leave(peer, true);
}

/* The connection is there. */
static void
speak_second(struct peer *peer)
{
	uint8_t octets[16 * FPDU_MOST];
	unsigned len = 0;

	if (peer->conduct == GUESSING)
		len = fpdu_put(octets, 1, 1, 1, 28);
	else if (peer->conduct == STOPPING)
		len = fpdu_put(octets, 3, 0, 1, 8) / 2;
	for (uint32_t msn = 1; peer->conduct == DEAF && msn <= 16; msn++)
		len += fpdu_put(octets + len, 3, 0, msn, 8);
	say(peer->fd, octets, len);
}

static int
dial(uint16_t port, bool narrow)
{
	struct sockaddr_in sin = {
		.sin_family = AF_INET, .sin_port = port, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct timeval minute = {.tv_sec = 60};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), little = 1;

	if (fd < 0)
		return -1;
	if (narrow)
		(void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &little, sizeof(little));
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &minute, sizeof(minute));
	if (connect(fd, (struct sockaddr *)&sin, sizeof(sin)) == 0)
		return fd;
	close(fd);
	return -1;
}

static void
peer_open(struct peer *peer, unsigned index, uint16_t port)
{
	peer->conduct =
		index % TALKERS == 0
			? (enum conduct)(CONDUCTS_BEFORE + draw() % (CONDUCTS - CONDUCTS_BEFORE))
			: (enum conduct)(draw() % CONDUCTS_BEFORE);
	peer->connected = false;
	peer->fd = dial(port, peer->conduct == DEAF);
	if (peer->fd < 0)
		return;
	count.connects++;
	speak_first(peer);
}

static void
peer_go_on(struct peer *peer)
{
	uint8_t octets[256];
	ssize_t n = -1;

	errno = EAGAIN;
	if (!peer->connected || peer->conduct != DEAF)
		n = recv(peer->fd, octets, peer->connected ? sizeof(octets) : HEADER, MSG_DONTWAIT);
	if (n == 0 || (n < 0 && errno != EAGAIN)) {
		count.ended++;
		leave(peer, false);
		return;
	}
	if (n > 0 && !peer->connected) {
		count.replies++;
		peer->connected = true;
		speak_second(peer);
	}
	if (peer->conduct == DRIPPING)
		say(peer->fd, "x", 1);
	if (draw() % 256 == 0)
		leave(peer, draw() % 2 == 0);
}

/* --- a process -------------------------------------------------------------------------------- */

static unsigned
peers_of_process(void)
{
	unsigned queue = 128;
	FILE *file = fopen("/proc/sys/net/core/somaxconn", "r");

	if (file != NULL && fscanf(file, "%u", &queue) != 1)
		queue = 128;
	if (file != NULL)
		(void)fclose(file);
	/* In a turn each peer connects once at most, and the fence at its end waits for all of them. */
	return MIN(PEERS_MOST, queue / (2 * SIEGE_PROCESSES));
}

/* Who connects last is accepted last: wait until all that came before is accepted. */
static void
fence(uint16_t port)
{
	char octet;
	int fd = dial(port, false);

	if (fd < 0)
		return;
	count.connects++;
	say(fd, "nonsense", 8);
	count.ended += recv(fd, &octet, 1, 0) == 0 || errno == ECONNRESET;
	close(fd);
}

static void
attack(int link, uint16_t port)
{
	static struct peer peers[PEERS_MOST];
	struct order stop;

	count = (struct siege_count){.peers = peers_of_process()};
	for (unsigned i = 0; i < count.peers; i++)
		peers[i].fd = -1;
	/* Until an order to stop comes, or the link has ended. */
	while (recv(link, &stop, sizeof(stop), MSG_DONTWAIT) < 0) {
		for (unsigned i = 0; i < count.peers; i++) {
			if (peers[i].fd < 0)
				peer_open(&peers[i], i, port);
			else
				peer_go_on(&peers[i]);
		}
		fence(port);
	}
	for (unsigned i = 0; i < count.peers; i++)
		if (peers[i].fd >= 0)
			leave(&peers[i], false);
	(void)!send(link, &count, sizeof(count), MSG_NOSIGNAL);
}

static void
live(int link, unsigned index)
{
	struct order order;

	random_state = index * 7919 + 1;
	/* Other machines would not take the processor from the service. */
	(void)!nice(10);
	while (recv(link, &order, sizeof(order), 0) == sizeof(order))
		attack(link, order.port);
	_exit(0);
}

void
siege_recruit(void)
{
	for (unsigned i = 0; i < SIEGE_PROCESSES; i++) {
		int ends[2];

		g_assert_cmpint(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), ==, 0);
		processes[i].pid = fork();
		g_assert_cmpint(processes[i].pid, >=, 0);
		if (processes[i].pid == 0) {
			for (unsigned j = 0; j < i; j++)
				close(processes[j].link);
			close(ends[0]);
			live(ends[1], i);
		}
		close(ends[1]);
		processes[i].link = ends[0];
	}
}

static void
command(uint16_t port)
{
	struct order order = {port};

	for (unsigned i = 0; i < SIEGE_PROCESSES; i++)
		g_assert_cmpint(send(processes[i].link, &order, sizeof(order), MSG_NOSIGNAL), ==,
				sizeof(order));
}

void
siege_begin(uint16_t port)
{
	command(port);
}

void
siege_stop(void)
{
	command(0);
}

bool
siege_is_over(struct siege_count *sum)
{
	static struct siege_count so_far;
	static unsigned stopped;

	while (stopped < SIEGE_PROCESSES) {
		struct siege_count one;
		ssize_t n = recv(processes[stopped].link, &one, sizeof(one), MSG_DONTWAIT);

		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return false;
		g_assert_cmpint(n, ==, sizeof(one));
		so_far.peers += one.peers;
		so_far.connects += one.connects;
		so_far.replies += one.replies;
		so_far.ended += one.ended;
		stopped++;
	}
	*sum = so_far;
	so_far = (struct siege_count){0};
	stopped = 0;
	return true;
}

void
siege_dismiss(void)
{
	for (unsigned i = 0; i < SIEGE_PROCESSES; i++) {
		close(processes[i].link);
		g_assert_cmpint(waitpid(processes[i].pid, NULL, 0), ==, processes[i].pid);
	}
}
