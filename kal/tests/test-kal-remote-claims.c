/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * What a process claims from a daemon that was started anew, beside a model: adapters are opened and closed and sockets listen, in any
 * order; daemons end, and all claims are forgotten with the last client. Each daemon is told of each thing once.
 */
#include <glib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "kal_remote_claims.h"

#define THINGS 5
#define STEPS  4000

static struct {
	struct kal_claims claims;
	struct kal_fd fd;
	int daemon;
	uint32_t last_id;
	unsigned names[THINGS], ports[THINGS];         /* that are open */
	unsigned new_names[THINGS], new_ports[THINGS]; /* of them, not known to this daemon */
} w;

static const char *const adapters[THINGS] = {"roce:lo", "emul:ib", "iwarp:lo", "emul:iwarp",
					     "ib:1"};

static struct kald_addr
address(unsigned which)
{
	return (struct kald_addr){.family = AF_INET, .port = (uint16_t)(4000 + which)};
}

/* What the daemon was told since the last look is what it did not know. */
static void
expect_posts(void)
{
	unsigned names[THINGS] = {0}, ports[THINGS] = {0};
	struct kald_message message;

	g_assert_true(kal_claims_post(&w.claims, &w.fd, &message, &w.last_id));
	while (recv(w.daemon, &message, sizeof(message), MSG_DONTWAIT) > 0)
		for (unsigned i = 0; i < THINGS; i++)
			if (message.head.number == KALD_OPEN)
				names[i] += strcmp(message.body.name.name, adapters[i]) == 0;
			else
				ports[i] += message.body.listen.at.port == 4000 + i;
	g_assert_cmpmem(names, sizeof(names), w.new_names, sizeof(names));
	g_assert_cmpmem(ports, sizeof(ports), w.new_ports, sizeof(ports));
	memset(w.new_names, 0, sizeof(w.new_names));
	memset(w.new_ports, 0, sizeof(w.new_ports));
}

static void
daemon_anew(void)
{
	kal_claims_again(&w.claims);
	memcpy(w.new_names, w.names, sizeof(w.names));
	memcpy(w.new_ports, w.ports, sizeof(w.ports));
}

static void
step(GRand *chance)
{
	unsigned which = (unsigned)g_rand_int_range(chance, 0, THINGS);
	struct kald_addr at = address(which);

	switch (g_rand_int_range(chance, 0, 40)) {
	case 0:
		daemon_anew();
		break;
	case 1:
		kal_claims_free(&w.claims);
		memset(w.names, 0, sizeof(w.names));
		memset(w.ports, 0, sizeof(w.ports));
		break;
	case 2: /* both, before the next client */
		kal_claims_free(&w.claims);
		memset(w.names, 0, sizeof(w.names));
		memset(w.ports, 0, sizeof(w.ports));
		daemon_anew();
		break;
	default:
		if (g_rand_boolean(chance) && w.names[which] < 8) {
			kal_claims_name(&w.claims, adapters[which], true);
			w.names[which]++;
		} else if (w.names[which] > 0) {
			kal_claims_name(&w.claims, adapters[which], false);
			w.names[which]--;
		}
		if (g_rand_boolean(chance) && w.ports[which] < 8) {
			kal_claims_listen(&w.claims, &at);
			w.ports[which]++;
		} else if (w.ports[which] > 0) {
			kal_claims_listen_over(&w.claims, &at);
			w.ports[which]--;
		}
		break;
	}
	expect_posts();
}

static void
test_walk(void)
{
	g_autoptr(GRand) chance = g_rand_new_with_seed(5);
	int ends[2];

	g_assert_cmpint(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), ==, 0);
	g_assert_true(kal_fd_duplicate(&w.fd, ends[0]));
	w.daemon = ends[1];
	for (unsigned i = 0; i < STEPS; i++)
		step(chance);
	kal_claims_free(&w.claims);
	kal_fd_close(&w.fd);
	close(ends[0]);
	close(ends[1]);
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/kal/remote/claims/walk", test_walk);
	return g_test_run();
}
