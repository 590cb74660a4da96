/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Messages at each length, older and newer ones, and values that cannot be; networks and their borders. */
#include <arpa/inet.h>
#include <glib.h>
#include <string.h>
#include <sys/socket.h>

#include "kal_config.h"
#include "kald_net.h"
#include "kald_wire.h"

/* A valid request of that number. */
static void
valid(struct kald_message *m, uint16_t number)
{
	kald_message_begin(m, number, 3, KALD_OK);
	switch (number) {
	case KALD_HELLO:
		m->body.hello.version_min = m->body.hello.version_max = 1;
		m->body.hello.kind = KALD_TOOL;
		break;
	case KALD_OPEN:
	case KALD_CLOSE:
		m->body.name.name[0] = 'x';
		break;
	case KALD_LISTEN:
	case KALD_LISTEN_OVER:
		m->body.listen.at.family = AF_INET;
		m->body.listen.at.port = 1;
		break;
	case KALD_DIAL:
		m->body.dial.peer.family = AF_INET6;
		m->body.dial.peer.port = 1;
		break;
	case KALD_SHARE:
	case KALD_SHARE_OVER:
		m->body.share.at.family = AF_INET6;
		m->body.share.at.port = 1;
		m->body.share.claim = KALD_SLOTS;
		break;
	case KALD_SERVICE:
	case KALD_SERVICE_OVER:
		m->body.service.at.family = AF_INET;
		m->body.service.at.port = 1;
		break;
	default:
		break;
	}
}

static enum kald_reading
read_of(const struct kald_message *m)
{
	struct kald_message out;

	return kald_message_read(m, m->head.length, &out);
}

/* Every number at every length: only from the size of version 1 on is it a message, and what is more is cut. */
static void
test_lengths(void)
{
	for (unsigned number = 1; number < KALD_EVENTS_END; number++) {
		struct kald_message m, out;
		uint8_t octets[KALD_MESSAGE_MAX + 8];
		size_t size;

		if (number == KALD_REQUESTS_END)
			number = KALD_EVENTS;
		size = kald_body_size((uint16_t)number, KALD_OK);
		g_assert_cmpuint(size, >=, sizeof(uint64_t));
		valid(&m, (uint16_t)number);
		g_assert_cmpint(read_of(&m), ==, KALD_READ);
		for (size_t len = 0; len <= KALD_MESSAGE_MAX + 1; len++) {
			bool whole = len >= sizeof(m.head) + size && len <= KALD_MESSAGE_MAX;

			memset(octets, 0xff, sizeof(octets));
			memcpy(octets, &m, sizeof(m.head) + size);
			((struct kald_head *)(void *)octets)->length = (uint32_t)len;
			g_assert_cmpint(kald_message_read(octets, len, &out), ==,
					whole ? KALD_READ : KALD_WRONG);
			if (!whole)
				continue;
			g_assert_cmpmem(&out.body, size, &m.body, size);
			g_assert_cmpuint(out.body.octets[sizeof(out.body.octets) - 1], ==,
					 size == sizeof(out.body.octets) ? 0xff : 0);
			/* A length that is not that of the packet. */
			((struct kald_head *)(void *)octets)->length = (uint32_t)len + 1;
			g_assert_cmpint(kald_message_read(octets, len, &out), ==, KALD_WRONG);
			((struct kald_head *)(void *)octets)->length = (uint32_t)len - 1;
			g_assert_cmpint(kald_message_read(octets, len, &out), ==, KALD_WRONG);
		}
	}
}

/* A head that nobody may write; a number of a later version is not wrong. */
static void
test_heads(void)
{
	struct kald_message m;

	valid(&m, KALD_WATCH);
	m.head.version = 0;
	g_assert_cmpint(read_of(&m), ==, KALD_WRONG);
	valid(&m, KALD_WATCH);
	m.head.version = 900;
	g_assert_cmpint(read_of(&m), ==, KALD_READ);
	m.head.number = 0;
	g_assert_cmpint(read_of(&m), ==, KALD_WRONG);
	m.head.number = KALD_REQUESTS_END;
	g_assert_cmpint(read_of(&m), ==, KALD_UNKNOWN);
	m.head.number = KALD_EVENTS_END;
	g_assert_cmpint(read_of(&m), ==, KALD_UNKNOWN);
	m.head.number = KALD_REPLY | KALD_RETURN; /* has no reply */
	g_assert_cmpint(read_of(&m), ==, KALD_UNKNOWN);
	valid(&m, KALD_WATCH);
	m.head.status = 1; /* only replies have one */
	g_assert_cmpint(read_of(&m), ==, KALD_WRONG);
}

static void
test_requests(void)
{
	struct kald_message m;

	valid(&m, KALD_HELLO);
	m.body.hello.version_min = 2;
	g_assert_cmpint(read_of(&m), ==, KALD_WRONG);
	valid(&m, KALD_HELLO);
	m.body.hello.kind = 3;
	g_assert_cmpint(read_of(&m), ==, KALD_WRONG);
	valid(&m, KALD_BORROW);
	m.body.amount.resource = KAL_RESOURCE_COUNT - 1;
	g_assert_cmpint(read_of(&m), ==, KALD_READ);
	m.body.amount.resource = KAL_RESOURCE_COUNT;
	g_assert_cmpint(read_of(&m), ==, KALD_WRONG);
	valid(&m, KALD_RETURN);
	m.body.amount.reserved = 1;
	g_assert_cmpint(read_of(&m), ==, KALD_WRONG);
	valid(&m, KALD_OPEN);
	memset(m.body.name.name, 'x', KALD_NAME);
	g_assert_cmpint(read_of(&m), ==, KALD_WRONG);
	m.body.name.name[KALD_NAME - 1] = '\0';
	g_assert_cmpint(read_of(&m), ==, KALD_READ);
	m.body.name.name[0] = '\0';
	g_assert_cmpint(read_of(&m), ==, KALD_WRONG);
	valid(&m, KALD_LISTEN);
	m.body.listen.have = 2;
	g_assert_cmpint(read_of(&m), ==, KALD_WRONG);
	valid(&m, KALD_LISTEN);
	m.body.listen.at.port = 0;
	g_assert_cmpint(read_of(&m), ==, KALD_WRONG);
	valid(&m, KALD_LISTEN);
	m.body.listen.at.family = AF_UNIX;
	g_assert_cmpint(read_of(&m), ==, KALD_WRONG);
	valid(&m, KALD_SHARE);
	m.body.share.claim = KALD_SLOTS + 1;
	g_assert_cmpint(read_of(&m), ==, KALD_WRONG);
	valid(&m, KALD_SHARE);
	m.body.share.reserved = 1;
	g_assert_cmpint(read_of(&m), ==, KALD_WRONG);
	valid(&m, KALD_SERVICE);
	m.body.service.at.family = 0;
	g_assert_cmpint(read_of(&m), ==, KALD_WRONG);
	valid(&m, KALD_SHARE | KALD_REPLY);
	m.body.shared.slot = KALD_SLOTS;
	g_assert_cmpint(read_of(&m), ==, KALD_WRONG);
	valid(&m, KALD_SHARES | KALD_REPLY);
	m.body.sharings.count = KALD_SHARES_SHOWN + 1;
	g_assert_cmpint(read_of(&m), ==, KALD_WRONG);
	valid(&m, KALD_DIAL);
	m.body.dial.local.family = AF_INET; /* the peer's is IPv6 */
	g_assert_cmpint(read_of(&m), ==, KALD_WRONG);
	valid(&m, KALD_LIMITS);
	m.body.limits.level = KALD_LEVEL_COUNT;
	g_assert_cmpint(read_of(&m), ==, KALD_WRONG);
}

/* What a daemon may not say either. */
static void
test_answers(void)
{
	struct kald_message m;

	valid(&m, KALD_REPLY | KALD_HELLO);
	m.body.welcome.num_nets = KALD_NETS_MAX + 1;
	g_assert_cmpint(read_of(&m), ==, KALD_WRONG);
	m.body.welcome.num_nets = 1;
	g_assert_cmpint(read_of(&m), ==, KALD_WRONG); /* of no family */
	m.body.welcome.nets[0] = (struct kald_net){.family = AF_INET, .prefix = 32};
	g_assert_cmpint(read_of(&m), ==, KALD_READ);
	m.body.welcome.nets[0].prefix = 33;
	g_assert_cmpint(read_of(&m), ==, KALD_WRONG);
	m.body.welcome.nets[0] = (struct kald_net){.family = AF_INET6, .prefix = 129};
	g_assert_cmpint(read_of(&m), ==, KALD_WRONG);
	valid(&m, KALD_REPLY | KALD_HELLO);
	memset(m.body.welcome.peers_rule, 'x', KALD_TEXT);
	g_assert_cmpint(read_of(&m), ==, KALD_WRONG);
	valid(&m, KALD_RECALL);
	m.body.amount.resource = KAL_RESOURCE_COUNT;
	g_assert_cmpint(read_of(&m), ==, KALD_WRONG);
	valid(&m, KALD_REPLY | KALD_LIST);
	m.body.listed.count = KALD_LIST_MAX + 1;
	g_assert_cmpint(read_of(&m), ==, KALD_WRONG);
	m.body.listed.count = 1;
	memset(m.body.listed.entries[0].adapters, 'x', sizeof(m.body.listed.entries[0].adapters));
	g_assert_cmpint(read_of(&m), ==, KALD_WRONG);
	kald_message_begin(&m, KALD_REPLY | KALD_OPEN, 1, KALD_FORBIDDEN);
	g_assert_cmpint(read_of(&m), ==, KALD_READ);
	memset(m.body.refusal.text, 'x', KALD_TEXT);
	g_assert_cmpint(read_of(&m), ==, KALD_WRONG);
}

static bool
has(const char *net, const char *addr)
{
	struct kald_net one;
	uint8_t octets[16] = {0};
	uint8_t family = strchr(addr, ':') != NULL ? AF_INET6 : AF_INET;

	g_assert_true(kald_net_read(net, &one));
	g_assert_cmpint(inet_pton(family, addr, octets), ==, 1);
	return kald_nets_have(&one, 1, family, octets);
}

static void
test_nets(void)
{
	static const char *const wrong[] = {
		"",        "10.0.0.1/8", "10.0.0.0/33", "10.0.0.0/",   "10.0.0.0/a",
		"::1/127", "::/129",     "x",           "10.0.0.0/8 ", "10.0.0.0/-1"};
	struct kald_net net;

	for (size_t i = 0; i < G_N_ELEMENTS(wrong); i++)
		g_assert_false(kald_net_read(wrong[i], &net));
	g_assert_true(has("10.0.0.0/8", "10.255.255.255"));
	g_assert_false(has("10.0.0.0/8", "11.0.0.0"));
	g_assert_true(has("10.128.0.0/9", "10.128.0.1"));
	g_assert_false(has("10.128.0.0/9", "10.127.255.255"));
	g_assert_true(has("0.0.0.0/0", "1.2.3.4"));
	g_assert_false(has("0.0.0.0/0", "::1"));
	g_assert_true(has("10.0.0.0/8", "::ffff:10.1.1.1"));
	g_assert_false(has("::/0", "::ffff:10.1.1.1"));
	g_assert_true(has("::1", "::1"));
	g_assert_false(has("::1", "::2"));
	g_assert_true(has("fe80::/10", "febf::1"));
	g_assert_false(has("fe80::/10", "fec0::1"));
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/kald/wire/lengths", test_lengths);
	g_test_add_func("/kald/wire/heads", test_heads);
	g_test_add_func("/kald/wire/requests", test_requests);
	g_test_add_func("/kald/wire/answers", test_answers);
	g_test_add_func("/kald/wire/nets", test_nets);
	return g_test_run();
}
