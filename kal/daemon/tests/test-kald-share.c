/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Addresses that processes share: which socket the kernel gives a packet to, who becomes a member, and what a restart, a death or a
 * hostile member changes. Each connection to the daemon counts as a process.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kald_play.h"
#include "kald_steer.h"

#define NOBODY 65534

#ifndef SO_DETACH_REUSEPORT_BPF
#define SO_DETACH_REUSEPORT_BPF 68
#endif

/* A process that shares an address. */
struct member {
	int kald; /* its connection */
	uint32_t slot;
	int fds[KALD_SHARE_FDS];
};

static struct sockaddr_in
sockaddr_of(const struct kald_addr *at)
{
	struct sockaddr_in sa = {.sin_family = AF_INET, .sin_port = htons(at->port)};

	memcpy(&sa.sin_addr, at->octets, 4);
	return sa;
}

/* --- messages ------------------------------------------------------------------------------------------- */

static int
udp_socket(void)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	g_assert_cmpint(fd, >=, 0);
	return fd;
}

/* Ask for a slot with these descriptors; false: refused, and `text` is why. */
static bool
share(struct member *member, const struct kald_addr *at, uint32_t claim, const int *fds,
      size_t count, char text[KALD_TEXT])
{
	struct kald_message m;
	size_t got;

	kald_message_begin(&m, KALD_SHARE, 9, KALD_OK);
	m.body.share.at = *at;
	m.body.share.claim = claim;
	play_send_with(member->kald, &m, fds, count);
	got = play_receive_with(member->kald, &m, member->fds);
	g_assert_cmpint(m.head.number, ==, KALD_SHARE | KALD_REPLY);
	if (m.head.status != KALD_OK) {
		g_assert_cmpuint(got, ==, 0);
		g_strlcpy(text, m.body.refusal.text, KALD_TEXT);
		return false;
	}
	g_assert_cmpuint(got, ==, claim == 0 ? KALD_SHARE_FDS : 0);
	member->slot = m.body.shared.slot;
	return true;
}

static bool
take(struct member *member, const struct kald_addr *at, char text[KALD_TEXT])
{
	int proof RI_AT_END(ri_at_end_close) = udp_socket();
	bool taken = share(member, at, 0, &proof, 1, text);

	return taken;
}

static bool
claim(struct member *member, const struct kald_addr *at, char text[KALD_TEXT])
{
	int fds[KALD_SHARE_FDS];

	memcpy(fds, member->fds, sizeof(fds));
	return share(member, at, member->slot + 1, fds, KALD_SHARE_FDS, text);
}

static void
member_new(struct member *member, const struct play *play, const struct kald_addr *at)
{
	char text[KALD_TEXT] = "";

	member->kald = play_sharer(play);
	if (!take(member, at, text))
		g_error("%s", text);
}

/* The process has ended. */
static void
member_end(struct member *member)
{
	for (unsigned i = 0; i < KALD_SHARE_FDS; i++)
		close(member->fds[i]);
	close(member->kald);
}

static enum kald_status
service(const struct member *member, const struct kald_addr *at, uint32_t number)
{
	struct kald_message m, reply;

	kald_message_begin(&m, KALD_SERVICE, 10, KALD_OK);
	m.body.service.at = *at;
	m.body.service.service = number;
	play_ask(member->kald, &m, &reply);
	return reply.head.status;
}

static void
over(const struct member *member, enum kald_number number, const struct kald_addr *at,
     uint32_t which)
{
	struct kald_message m;

	kald_message_begin(&m, (uint16_t)number, 0, KALD_OK);
	m.body.service.at = *at;
	m.body.service.service = number == KALD_SERVICE_OVER ? which : 0;
	play_send(member->kald, &m);
	/* It is handled when a later request has its answer. */
	kald_message_begin(&m, KALD_BORROW, 3, KALD_OK);
	m.body.amount.resource = KAL_RESOURCE_QP;
	m.body.amount.amount = 1;
	play_ask(member->kald, &m, &m);
}

static unsigned
sharing(const struct play *play, struct kald_sharing first[KALD_SHARES_SHOWN])
{
	int tool RI_AT_END(ri_at_end_close) = play_join(play, KALD_TOOL, NULL);
	struct kald_message m;
	unsigned count = 0;

	kald_message_begin(&m, KALD_SHARES, 8, KALD_OK);
	do {
		struct kald_message reply;

		play_ask(tool, &m, &reply);
		g_assert_cmpint(reply.head.status, ==, KALD_OK);
		if (first != NULL && count == 0)
			memcpy(first, reply.body.sharings.entries,
			       sizeof(reply.body.sharings.entries));
		count += reply.body.sharings.count;
		m.body.list.after = reply.body.sharings.next;
	} while (m.body.list.after != 0);
	return count;
}

static void
await_members(const struct play *play, unsigned count)
{
	for (unsigned i = 0; i < 30000 && sharing(play, NULL) != count; i++)
		g_usleep(1000);
	g_assert_cmpuint(sharing(play, NULL), ==, count);
}

/* --- packets -------------------------------------------------------------------------------------------- */

/* The slot that a packet comes to; of the loopback, which delivers before the call returns. -1: none. */
static int
where(const struct member *member, const struct kald_addr *at, const uint8_t *packet, size_t len)
{
	struct sockaddr_in to = sockaddr_of(at);
	int fd = udp_socket(), slot = -1;
	uint8_t octets[512];

	g_assert_cmpint(sendto(fd, packet, len, 0, (struct sockaddr *)&to, sizeof(to)), ==, len);
	close(fd);
	for (int i = 0; i < KALD_SLOTS; i++) {
		while (recv(member->fds[i], octets, sizeof(octets), MSG_DONTWAIT) >= 0) {
			g_assert_cmpint(slot, ==, -1);
			slot = i;
		}
	}
	return slot;
}

static int
where_qpn(const struct member *member, const struct kald_addr *at, uint32_t qpn)
{
	uint8_t packet[28] = {0x04, 0x40, 0xff, 0xff, 0xa5};

	for (unsigned i = 0; i < 3; i++)
		packet[5 + i] = (uint8_t)(qpn >> (16 - 8 * i));
	return where(member, at, packet, sizeof(packet));
}

static void
put32(uint8_t *at, uint32_t value)
{
	value = htonl(value);
	memcpy(at, &value, sizeof(value));
}

#define REQ      0x10
#define REJ      0x12
#define REP      0x13
#define DREQ     0x15
#define SIDR_REQ 0x17
#define SIDR_REP 0x18

static int
where_mad(const struct member *member, const struct kald_addr *at, uint16_t attribute, uint32_t own,
	  uint32_t peer, uint32_t number)
{
	uint8_t packet[276] = {0x64, 0x40, 0xff, 0xff, 0, 0, 0, 1};

	packet[36] = (uint8_t)(attribute >> 8);
	packet[37] = (uint8_t)attribute;
	put32(packet + 44, own);
	put32(packet + 48, peer);
	put32(packet + 52, 0x00000001); /* the upper half of a service */
	put32(packet + (attribute == REJ ? 68 : 56), number);
	return where(member, at, packet, sizeof(packet));
}

static void
test_steering(void)
{
	struct kald_addr at = play_address(1);
	struct member members[3];
	struct play play RI_AT_END(play_free) = play_begin(NULL);

	for (unsigned i = 0; i < 3; i++)
		member_new(&members[i], &play, &at);
	g_assert_cmpuint(members[0].slot, !=, members[1].slot);
	g_assert_cmpuint(members[1].slot, !=, members[2].slot);
	for (uint32_t slot = 0; slot < KALD_SLOTS; slot++)
		g_assert_cmpint(where_qpn(&members[0], &at, slot << 18 | 77), ==, slot);
	g_assert_cmpint(where_qpn(&members[0], &at, 0x3ffff), ==, 0);
	g_assert_cmpint(service(&members[1], &at, 0x01061234), ==, KALD_OK);
	g_assert_cmpint(service(&members[2], &at, 0xfffffff0), ==, KALD_OK);
	/* Once more does nothing; what another one has is refused. */
	g_assert_cmpint(service(&members[2], &at, 0xfffffff0), ==, KALD_OK);
	g_assert_cmpint(service(&members[0], &at, 0xfffffff0), ==, KALD_SYSTEM);
	for (unsigned i = 0; i < 2; i++) {
		uint16_t request = i == 0 ? REQ : SIDR_REQ;

		g_assert_cmpint(where_mad(&members[0], &at, request, 0, 0, 0x01061234), ==,
				members[1].slot);
		g_assert_cmpint(where_mad(&members[0], &at, request, 0, 0, 0xfffffff0), ==,
				members[2].slot);
		g_assert_cmpint(where_mad(&members[0], &at, request, ~0u, ~0u, 1), ==,
				members[0].slot);
	}
	/* Who withdraws a request that was not answered knows no id of the other side. */
	g_assert_cmpint(where_mad(&members[0], &at, REJ, 9u << 26, 0, 0x01061234), ==,
			members[1].slot);
	g_assert_cmpint(where_mad(&members[0], &at, REJ, 9u << 26, 0, 0xfffffff0), ==,
			members[2].slot);
	g_assert_cmpint(where_mad(&members[0], &at, REJ, 9u << 26, 0, 0), ==, members[0].slot);
	g_assert_cmpint(where_mad(&members[0], &at, REJ, 0, 5, 0x01061234), ==, 0);
	g_assert_cmpint(where_mad(&members[0], &at, REJ, 0, 33u << 26 | 4, 0x01061234), ==, 33);
	g_assert_cmpint(where_mad(&members[0], &at, REP, 0, 33u << 26 | 4, 0), ==, 33);
	g_assert_cmpint(where_mad(&members[0], &at, DREQ, 0, 63u << 26 | 4, 0), ==, 63);
	g_assert_cmpint(where_mad(&members[0], &at, SIDR_REP, 17u << 26, 3u << 26, 0), ==, 17);
	/* A listener that has ended; what is too short. */
	over(&members[1], KALD_SERVICE_OVER, &at, 0x01061234);
	over(&members[1], KALD_SERVICE_OVER, &at, 0xfffffff0);
	g_assert_cmpint(where_mad(&members[0], &at, REQ, 0, 0, 0x01061234), ==, members[0].slot);
	g_assert_cmpint(where_mad(&members[0], &at, REQ, 0, 0, 0xfffffff0), ==, members[2].slot);
	g_assert_cmpint(where(&members[0], &at, (const uint8_t *)"", 1), ==, 0);
	g_assert_cmpint(where(&members[0], &at, (const uint8_t *)"", 0), ==, 0);
	for (unsigned i = 0; i < 3; i++)
		member_end(&members[i]);
}

/* All slots are taken: a further process gets a sentence, and then the slot of a process that leaves. */
static void
test_full(void)
{
	struct kald_addr at = play_address(1), second = play_address(2);
	struct member members[KALD_SLOTS + 1];
	char text[KALD_TEXT] = "";
	uint64_t seen = 0;
	struct play play RI_AT_END(play_free) = play_begin(NULL);

	for (unsigned i = 0; i < KALD_SLOTS; i++) {
		member_new(&members[i], &play, &at);
		seen |= UINT64_C(1) << members[i].slot;
		/* One copy of the descriptors is enough for a test. */
		for (unsigned j = 0; i > 0 && j < KALD_SHARE_FDS; j++)
			close(members[i].fds[j]);
	}
	g_assert_cmphex(seen, ==, UINT64_MAX);
	g_assert_cmpuint(sharing(&play, NULL), ==, KALD_SLOTS);
	members[KALD_SLOTS].kald = play_sharer(&play);
	g_assert_false(take(&members[KALD_SLOTS], &at, text));
	g_assert_nonnull(strstr(text, "64 processes of user"));
	g_assert_false(take(&members[KALD_SLOTS], &second, text));
	/* A member has the same slot at all of its addresses. */
	seen = members[9].slot;
	g_assert_true(take(&members[9], &second, text));
	g_assert_cmpuint(members[9].slot, ==, seen);
	g_assert_cmpuint(sharing(&play, NULL), ==, KALD_SLOTS + 1);
	g_assert_false(take(&members[9], &second, text));
	g_assert_nonnull(strstr(text, "already"));
	member_end(&members[9]);
	await_members(&play, KALD_SLOTS - 1);
	g_assert_true(take(&members[KALD_SLOTS], &at, text));
	g_assert_cmpuint(members[KALD_SLOTS].slot, ==, seen);
	for (unsigned i = 1; i < KALD_SLOTS; i++)
		if (i != 9)
			close(members[i].kald);
	member_end(&members[0]);
	member_end(&members[KALD_SLOTS]);
}

/* --- lives ---------------------------------------------------------------------------------------------- */

static bool
is_free(const struct kald_addr *at)
{
	struct sockaddr_in sa = sockaddr_of(at);
	int fd RI_AT_END(ri_at_end_close) = udp_socket();
	bool bound = bind(fd, (struct sockaddr *)&sa, sizeof(sa)) == 0;

	return bound;
}

/* A member dies: its services are nobody's, others go on. With the last one the address is free, unless it keeps a socket. */
static void
test_death(void)
{
	struct kald_addr at = play_address(1);
	struct kald_sharing seen[KALD_SHARES_SHOWN];
	struct member a, b, c;
	char text[KALD_TEXT] = "";
	int kept;
	struct play play RI_AT_END(play_free) = play_begin(NULL);

	member_new(&a, &play, &at);
	member_new(&b, &play, &at);
	g_assert_cmpint(service(&a, &at, 7), ==, KALD_OK);
	g_assert_cmpint(service(&b, &at, 8), ==, KALD_OK);
	g_assert_cmpuint(sharing(&play, seen), ==, 2);
	g_assert_cmpuint(seen[0].pid, ==, getpid());
	g_assert_cmpuint(seen[0].services, ==, 1);
	g_assert_cmpint(memcmp(&seen[0].at, &at, sizeof(at)), ==, 0);
	member_end(&a);
	await_members(&play, 1);
	g_assert_cmpint(where_mad(&b, &at, REQ, 0, 0, 7), ==, b.slot);
	g_assert_cmpint(where_qpn(&b, &at, b.slot << 18 | 2), ==, b.slot);
	g_assert_cmpint(service(&b, &at, 7), ==, KALD_OK);
	/* A slot is not given again at once, so that packets for its last owner find no queue pair. */
	member_new(&c, &play, &at);
	g_assert_cmpuint(c.slot, !=, a.slot);
	over(&c, KALD_SHARE_OVER, &at, 0);
	g_assert_cmpint(service(&c, &at, 9), ==, KALD_FORBIDDEN);
	member_end(&c);
	kept = dup(b.fds[40]);
	member_end(&b);
	await_members(&play, 0);
	g_assert_false(is_free(&at));
	c.kald = play_sharer(&play);
	g_assert_false(take(&c, &at, text));
	g_assert_nonnull(strstr(text, g_strerror(EADDRINUSE)));
	close(kept);
	g_assert_true(is_free(&at));
	g_assert_true(take(&c, &at, text));
	member_end(&c);
}

/* A slot that was given back rests while others are free: peers may still send to the numbers of its last process. */
/* What came to a slot and was not read is gone when the slot is given up, so that its next owner does not read it. */
static void
test_left_unread(void)
{
	struct kald_addr at = play_address(1);
	struct play play RI_AT_END(play_free) = play_begin(NULL);
	struct member first RI_AT_END(member_end), second RI_AT_END(member_end);
	uint8_t packet[28] = {0x04, 0x40, 0xff, 0xff, 0xa5}, octets[64];
	struct sockaddr_in to = sockaddr_of(&at);
	int fd RI_AT_END(ri_at_end_close) = udp_socket();

	member_new(&first, &play, &at);
	member_new(&second, &play, &at);
	packet[5] = (uint8_t)(second.slot << 2); /* the upper bits of the queue pair's number */
	for (unsigned i = 0; i < 3; i++)
		g_assert_cmpint(
			sendto(fd, packet, sizeof(packet), 0, (struct sockaddr *)&to, sizeof(to)),
			==, sizeof(packet));
	g_assert_cmpint(recv(second.fds[second.slot], octets, sizeof(octets), MSG_DONTWAIT), ==,
			sizeof(packet));
	over(&second, KALD_SHARE_OVER, &at, 0);
	g_assert_cmpint(recv(second.fds[second.slot], octets, sizeof(octets), MSG_DONTWAIT), <, 0);
	g_assert_cmpint(errno, ==, EAGAIN);
}

static void
test_turns(void)
{
	struct kald_addr at = play_address(1);
	struct play play RI_AT_END(play_free) = play_begin(NULL);
	struct member first;
	struct member second RI_AT_END(member_end);

	member_new(&first, &play, &at);
	member_end(&first);
	await_members(&play, 0);
	member_new(&second, &play, &at);
	g_assert_cmpuint(second.slot, !=, first.slot);
}

/* The daemon is killed: packets and requests for known services go on; the next one goes on with what the members have. */
static void
test_restart(void)
{
	struct kald_addr at = play_address(1), second = play_address(2);
	struct member a, b, b2, c, d;
	char text[KALD_TEXT] = "";
	uint32_t own;
	struct play play RI_AT_END(play_free) = play_begin(NULL);

	member_new(&a, &play, &at);
	member_new(&b, &play, &at);
	member_new(&c, &play, &at);
	b2 = b;
	g_assert_true(take(&b2, &second, text));
	g_assert_cmpint(service(&a, &at, 1), ==, KALD_OK);
	g_assert_cmpint(service(&b, &at, 2), ==, KALD_OK);
	g_assert_cmpint(service(&c, &at, 3), ==, KALD_OK);
	play_end(&play, true);
	g_assert_cmpint(where_qpn(&a, &at, c.slot << 18 | 5), ==, c.slot);
	g_assert_cmpint(where_mad(&a, &at, REQ, 0, 0, 2), ==, b.slot);
	play_again(&play);
	/* Another process comes before the members: there is a group that this kald does not know. */
	d.kald = play_sharer(&play);
	g_assert_false(take(&d, &at, text));
	b.kald = b2.kald = play_sharer(&play);
	g_assert_true(claim(&b, &at, text));
	g_assert_true(claim(&b2, &second, text));
	/* The services of those that are not back yet stay, even as new ones come. */
	g_assert_cmpint(service(&b, &at, 4), ==, KALD_OK);
	for (uint32_t i = 1; i <= 4; i++)
		g_assert_cmpint(where_mad(&b, &at, REQ, 0, 0, i), ==,
				i == 1   ? a.slot
				: i == 3 ? c.slot
					 : b.slot);
	/* A newcomer gets no slot that is kept. */
	g_assert_true(take(&d, &at, text));
	g_assert_cmpuint(d.slot, !=, a.slot);
	g_assert_cmpuint(d.slot, !=, b.slot);
	g_assert_cmpuint(d.slot, !=, c.slot);
	/* What it lies about: a slot in use. */
	a.kald = play_sharer(&play);
	a.slot ^= b.slot;
	b.slot ^= a.slot;
	a.slot ^= b.slot;
	g_assert_false(claim(&a, &at, text));
	g_assert_nonnull(strstr(text, "another's"));
	b.slot ^= a.slot;
	a.slot ^= b.slot;
	b.slot ^= a.slot;
	/* A slot that no process had. */
	own = a.slot;
	while (a.slot == own || a.slot == b.slot || a.slot == c.slot || a.slot == d.slot)
		a.slot = (a.slot + 1) % KALD_SLOTS;
	g_assert_false(claim(&a, &at, text));
	g_assert_nonnull(strstr(text, "another's"));
	a.slot = own;
	g_assert_true(claim(&a, &at, text));
	g_assert_cmpuint(sharing(&play, NULL), ==, 4);
	member_end(&a);
	for (unsigned i = 0; i < KALD_SHARE_FDS; i++)
		close(b2.fds[i]);
	member_end(&b);
	member_end(&c);
	member_end(&d);
}

/* --- who may not ---------------------------------------------------------------------------------------- */

static unsigned
fds_of(const struct play *play)
{
	g_autofree char *path = g_strdup_printf("/proc/%d/fd", (int)play->pid);
	g_autoptr(GDir) folder = g_dir_open(path, 0, NULL);
	unsigned count = 0;

	while (g_dir_read_name(folder) != NULL)
		count++;
	return count;
}

/* A group that somebody has made by himself, for the wrong claims. */
static void
group_make(const struct kald_addr *at, int fds[KALD_SHARE_FDS])
{
	struct sockaddr_in sa = sockaddr_of(at);
	int one = 1;

	for (unsigned i = 0; i < KALD_SLOTS; i++) {
		fds[i] = udp_socket();
		setsockopt(fds[i], SOL_SOCKET, SO_REUSEPORT, &one, sizeof(one));
		g_assert_cmpint(bind(fds[i], (struct sockaddr *)&sa, sizeof(sa)), ==, 0);
	}
	fds[KALD_SLOTS] = kald_steer_memory();
}

static void
group_close(int fds[KALD_SHARE_FDS])
{
	for (unsigned i = 0; i < KALD_SHARE_FDS; i++)
		close(fds[i]);
}

/* Claim with one descriptor in another's place; it is refused with these words. */
static void
claim_wrong(struct member *member, const struct kald_addr *at, const int good[KALD_SHARE_FDS],
	    unsigned place, int wrong, const char *words)
{
	char text[KALD_TEXT] = "";
	int fds[KALD_SHARE_FDS];

	memcpy(fds, good, sizeof(fds));
	fds[place] = wrong;
	g_assert_cmpint(wrong, >=, 0);
	g_assert_false(share(member, at, 4, fds, KALD_SHARE_FDS, text));
	if (strstr(text, words) == NULL)
		g_error("%s", text);
	if (wrong != good[0])
		close(wrong);
}

static int
socket_with(const struct kald_addr *at, bool reuse, bool connected)
{
	struct sockaddr_in sa = sockaddr_of(at), peer = sa;
	int fd = udp_socket(), one = 1;

	if (reuse)
		setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &one, sizeof(one));
	g_assert_cmpint(bind(fd, (struct sockaddr *)&sa, sizeof(sa)), ==, 0);
	peer.sin_port = htons(9);
	if (connected)
		g_assert_cmpint(connect(fd, (struct sockaddr *)&peer, sizeof(peer)), ==, 0);
	return fd;
}

/* Memory as a member would write it: of another version, or with a number of services that cannot be. */
static int
memory_with(uint32_t count, uint32_t version)
{
	struct kald_steer steer = {.count = count};
	int fd = kald_steer_memory();
	struct kald_memory *map = kald_steer_map(fd);

	g_assert_nonnull(map);
	kald_steer_write(&steer, map);
	kald_steer_unmap(map);
	g_assert_cmpint(pwrite(fd, &version, sizeof(version), sizeof(uint32_t)), ==,
			sizeof(version));
	return fd;
}

static void
test_wrong_claims(void)
{
	struct kald_addr at = play_address(1), other = play_address(2);
	struct member member;
	char text[KALD_TEXT] = "";
	int good[KALD_SHARE_FDS], pipes[2], off = 0;
	unsigned before;
	struct play play RI_AT_END(play_free) = play_begin(NULL);

	member.kald = play_sharer(&play);
	group_make(&at, good);
	before = fds_of(&play);
	claim_wrong(&member, &at, good, 0, open("/dev/null", O_RDWR | O_CLOEXEC), "no UDP socket");
	claim_wrong(&member, &at, good, 63, socket(AF_INET, SOCK_STREAM, 0), "no UDP socket");
	claim_wrong(&member, &at, good, 63, socket(AF_INET6, SOCK_DGRAM, 0), "no UDP socket");
	claim_wrong(&member, &at, good, 5, socket(AF_UNIX, SOCK_DGRAM, 0), "no UDP socket");
	g_assert_cmpint(pipe(pipes), ==, 0);
	claim_wrong(&member, &at, good, 5, pipes[1], "no UDP socket");
	close(pipes[0]);
	claim_wrong(&member, &at, good, 5, udp_socket(), "another address");
	claim_wrong(&member, &at, good, 5, socket_with(&other, true, false), "another address");
	claim_wrong(&member, &at, good, 63, socket_with(&at, true, true), "is connected");
	claim_wrong(&member, &at, good, 63, good[0], "twice");
	claim_wrong(&member, &at, good, KALD_SLOTS, udp_socket(), "memory of the table");
	claim_wrong(&member, &at, good, KALD_SLOTS, open("/dev/zero", O_RDWR), "memory of");
	claim_wrong(&member, &at, good, KALD_SLOTS, memfd_create("x", MFD_ALLOW_SEALING),
		    "memory of");
	claim_wrong(&member, &at, good, KALD_SLOTS, memory_with(KALD_SERVICES_MAX + 1, 2),
		    "memory of");
	claim_wrong(&member, &at, good, KALD_SLOTS, memory_with(0, 1), "memory of");
	setsockopt(good[7], SOL_SOCKET, SO_REUSEPORT, &off, sizeof(off));
	claim_wrong(&member, &at, good, KALD_SLOTS, kald_steer_memory(), "in no group");
	off = 1;
	setsockopt(good[7], SOL_SOCKET, SO_REUSEPORT, &off, sizeof(off));
	g_assert_false(share(&member, &at, 4, good, KALD_SHARE_FDS - 1, text));
	g_assert_nonnull(strstr(text, "not all"));
	g_assert_false(share(&member, &at, 4, good, 0, text));
	/* The same member, with the right ones, is welcome; a second claim must be of the same group. */
	for (unsigned i = 0; i < 5000 && fds_of(&play) > before; i++)
		g_usleep(1000);
	g_assert_cmpuint(fds_of(&play), <=,
			 before); /* the first connection may have been there then */
	g_assert_true(share(&member, &at, 4, good, KALD_SHARE_FDS, text));
	close(member.kald);
	group_close(good);
}

/* What no member asks: too many descriptors, some where none belong, addresses of several hosts, no adapter. */
static void
test_wrong_requests(void)
{
	struct kald_addr at = play_address(1);
	struct member member = {.kald = -1};
	char text[KALD_TEXT] = "";
	struct kald_message m;
	int fds[200];
	struct play play RI_AT_END(play_free) = play_begin("[policy]\nadapters = *\n");
	int proof RI_AT_END(ri_at_end_close) = udp_socket();

	member.kald = play_join(&play, KALD_CLIENT, NULL);
	g_assert_false(take(&member, &at, text));
	g_assert_nonnull(strstr(text, "adapter of roce"));
	close(member.kald);
	member.kald = play_sharer(&play);
	at.port = 4792;
	g_assert_false(take(&member, &at, text));
	g_assert_nonnull(strstr(text, "port 4791"));
	at = play_address(1);
	at.octets[0] = 224;
	g_assert_false(take(&member, &at, text));
	memset(at.octets, 0, sizeof(at.octets));
	g_assert_false(take(&member, &at, text));
	g_assert_nonnull(strstr(text, "an address of a single host"));
	at = play_address(1);
	at.octets[0] = 192;
	g_assert_false(take(&member, &at, text));
	g_assert_nonnull(strstr(text, g_strerror(EADDRNOTAVAIL)));
	g_assert_false(share(&member, &at, 0, NULL, 0, text));
	g_assert_nonnull(strstr(text, "network namespace"));
	at = play_address(1);
	g_assert_cmpint(service(&member, &at, 1), ==, KALD_FORBIDDEN);
	for (unsigned i = 0; i < G_N_ELEMENTS(fds); i++)
		fds[i] = proof;
	kald_message_begin(&m, KALD_SHARE, 9, KALD_OK);
	m.body.share.at = at;
	play_send_with(member.kald, &m, fds, G_N_ELEMENTS(fds));
	g_assert_true(play_is_ended(member.kald));
	close(member.kald);
	/* One too many: a buffer that is padded has room for it. */
	member.kald = play_sharer(&play);
	play_send_with(member.kald, &m, fds, KALD_SHARE_FDS + 1);
	g_assert_true(play_is_ended(member.kald));
	close(member.kald);
	/* Of a tool, and with another request. */
	member.kald = play_join(&play, KALD_TOOL, NULL);
	play_send_with(member.kald, &m, fds, 1);
	g_assert_true(play_is_ended(member.kald));
	close(member.kald);
	member.kald = play_sharer(&play);
	kald_message_begin(&m, KALD_SERVICE, 9, KALD_OK);
	m.body.service.at = at;
	play_send_with(member.kald, &m, fds, 1);
	g_assert_true(play_is_ended(member.kald));
	close(member.kald);
}

/* In a process of its own, as another user; the result is its exit status. */
static int
as_nobody(int (*run)(void *arg), void *arg)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		if (setgid(NOBODY) != 0 || setuid(NOBODY) != 0)
			_exit(99);
		_exit(run(arg));
	}
	g_assert_cmpint(waitpid(pid, &status, 0), ==, pid);
	g_assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

struct stranger {
	const struct play *play;
	struct kald_addr at, own;
	struct member other;
};

/* It gets no slot of another user's address, not even with its descriptors; and has its own. */
static int
stranger_runs(void *arg)
{
	struct stranger *stranger = arg;
	struct member member;
	char text[KALD_TEXT] = "";

	member.kald = play_sharer(stranger->play);
	if (take(&member, &stranger->at, text) || strstr(text, "another user") == NULL)
		return 1;
	member.slot = 5;
	memcpy(member.fds, stranger->other.fds, sizeof(member.fds));
	if (claim(&member, &stranger->at, text))
		return 2;
	if (!take(&member, &stranger->own, text))
		return 3;
	/* With all that can be done to descriptors, its own group is broken, and no other one. */
	if (setsockopt(member.fds[1], SOL_SOCKET, SO_DETACH_REUSEPORT_BPF, text, sizeof(int)) != 0)
		return 4;
	for (unsigned i = 0; i < KALD_SLOTS; i++)
		(void)shutdown(member.fds[i], SHUT_RDWR);
	if (service(&member, &stranger->own, 6) == KALD_FORBIDDEN)
		return 5;
	return 0;
}

static void
test_strangers(void)
{
	struct stranger stranger = {.at = play_address(1), .own = play_address(2)};
	struct member a, b;

	if (getuid() != 0) {
		g_test_skip("needs another user");
		return;
	}
	struct play play RI_AT_END(play_free) = play_begin(NULL);
	g_assert_cmpint(chmod(play.folder, 0755), ==, 0);
	g_assert_cmpint(chmod(play.socket, 0666), ==, 0);
	member_new(&a, &play, &stranger.at);
	member_new(&b, &play, &stranger.at);
	stranger.play = &play;
	stranger.other = a;
	g_assert_cmpint(as_nobody(stranger_runs, &stranger), ==, 0);
	for (uint32_t slot = 0; slot < KALD_SLOTS; slot++)
		g_assert_cmpint(where_qpn(&a, &stranger.at, slot << 18 | 3), ==, slot);
	g_assert_cmpint(service(&b, &stranger.at, 6), ==, KALD_OK);
	g_assert_cmpint(where_mad(&a, &stranger.at, REQ, 0, 0, 6), ==, b.slot);
	member_end(&a);
	member_end(&b);
}

/* Sockets of another network namespace: as a proof, and as a claim. */
static void
test_namespaces(void)
{
	struct kald_addr at = play_address(1);
	struct member member;
	char text[KALD_TEXT] = "";
	int own, fds[KALD_SHARE_FDS];
	bool left;
	struct play play = play_begin(NULL);

	member.kald = play_sharer(&play);
	own = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	left = own >= 0 && unshare(CLONE_NEWNET) == 0;
	if (left) {
		/* The loopback is down, but has its addresses. */
		g_assert_false(take(&member, &at, text));
		g_assert_nonnull(strstr(text, "network namespace"));
		at.octets[1] = 0;
		at.octets[2] = 0;
		group_make(&at, fds);
		g_assert_false(share(&member, &at, 1, fds, KALD_SHARE_FDS, text));
		g_assert_nonnull(strstr(text, "network namespace"));
		group_close(fds);
		g_assert_cmpint(setns(own, CLONE_NEWNET), ==, 0);
		at = play_address(1);
		g_assert_true(take(&member, &at, text));
		group_close(member.fds);
	}
	close(own);
	close(member.kald);
	play_free(&play);
	if (!left)
		g_test_skip("needs a network namespace");
}

/* Services without an end, and answers with descriptors that nobody reads: there is an end, and others are served. */
static void
test_floods(void)
{
	struct kald_addr at = play_address(1);
	struct kald_message m;
	unsigned count = 0;
	struct play play RI_AT_END(play_free) = play_begin(NULL);
	struct member flooder RI_AT_END(member_end);
	struct member mute[4];
	struct member good RI_AT_END(member_end);
	int proof RI_AT_END(ri_at_end_close) = udp_socket();

	member_new(&flooder, &play, &at);
	member_new(&good, &play, &at);
	while (count <= KALD_SERVICES_MAX && service(&flooder, &at, count + 1) == KALD_OK)
		count++;
	g_assert_cmpuint(count, >=, 64);
	g_assert_cmpuint(count, <=, KALD_SERVICES_MAX);
	g_assert_cmpint(where_mad(&good, &at, REQ, 0, 0, count), ==, flooder.slot);
	for (unsigned i = 0; i < 4; i++) {
		mute[i].kald = play_sharer(&play);
		kald_message_begin(&m, KALD_SHARE, 9, KALD_OK);
		for (uint8_t j = 0; j < 12; j++) {
			m.body.share.at = play_address((uint8_t)(2 + j));
			play_send_with(mute[i].kald, &m, &proof, 1);
		}
	}
	over(&flooder, KALD_SERVICE_OVER, &at, 1);
	g_assert_cmpint(service(&good, &at, 0x77777777), ==, KALD_OK);
	g_assert_cmpint(where_mad(&good, &at, REQ, 0, 0, 0x77777777), ==, good.slot);
	for (unsigned i = 0; i < 4; i++)
		close(mute[i].kald);
	await_members(&play, 2);
}

/* Who shares nothing any more gets another slot than before: packets for what it was find no queue pair. */
static void
test_slot_of_before(void)
{
	const struct kald_addr at = play_address(1), other = play_address(2);
	char text[KALD_TEXT] = "";
	struct play play RI_AT_END(play_free) = play_begin(NULL);
	struct member member RI_AT_END(member_end);

	member_new(&member, &play, &at);
	for (unsigned life = 0; life < 3; life++) {
		uint32_t before = member.slot;

		for (unsigned i = 0; i < KALD_SHARE_FDS; i++)
			close(member.fds[i]);
		over(&member, KALD_SHARE_OVER, &at, 0);
		g_assert_true(take(&member, &at, text));
		g_assert_cmpuint(member.slot, ==, (before + 1) % KALD_SLOTS);
		/* At all addresses that it shares, it has one. */
		before = member.slot;
		for (unsigned i = 0; i < KALD_SHARE_FDS; i++)
			close(member.fds[i]);
		g_assert_true(take(&member, &other, text));
		g_assert_cmpuint(member.slot, ==, before);
		over(&member, KALD_SHARE_OVER, &other, 0);
	}
}

/* What a member had that does not come back after a restart is free for the others, after a while. Sleeps 16 s. */
static void
test_not_back(void)
{
	struct kald_addr at = play_address(1);
	char text[KALD_TEXT] = "";
	struct play play RI_AT_END(play_free) = play_begin(NULL);
	struct member a;
	struct member b RI_AT_END(member_end);

	member_new(&a, &play, &at);
	member_new(&b, &play, &at);
	g_assert_cmpint(service(&a, &at, 1), ==, KALD_OK);
	play_end(&play, true);
	play_again(&play);
	b.kald = play_sharer(&play);
	g_assert_true(claim(&b, &at, text));
	g_assert_cmpint(service(&b, &at, 1), ==, KALD_SYSTEM);
	g_usleep(16 * G_USEC_PER_SEC);
	g_assert_cmpint(service(&b, &at, 1), ==, KALD_OK);
	g_assert_cmpint(where_mad(&b, &at, REQ, 0, 0, 1), ==, b.slot);
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/kald/share/steering", test_steering);
	g_test_add_func("/kald/share/full", test_full);
	g_test_add_func("/kald/share/death", test_death);
	g_test_add_func("/kald/share/left-unread", test_left_unread);
	g_test_add_func("/kald/share/turns", test_turns);
	g_test_add_func("/kald/share/restart", test_restart);
	g_test_add_func("/kald/share/wrong-claims", test_wrong_claims);
	g_test_add_func("/kald/share/wrong-requests", test_wrong_requests);
	g_test_add_func("/kald/share/strangers", test_strangers);
	g_test_add_func("/kald/share/namespaces", test_namespaces);
	g_test_add_func("/kald/share/floods", test_floods);
	g_test_add_func("/kald/share/slot-of-before", test_slot_of_before);
	if (g_test_slow())
		g_test_add_func("/kald/share/not-back", test_not_back);
	return g_test_run();
}
