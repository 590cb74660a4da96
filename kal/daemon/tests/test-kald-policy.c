/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* The rules: which of several holds, what a refused file says, and how a rule is named. */
#include <arpa/inet.h>
#include <glib/gstdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "kald_policy.h"

static char *path;

static struct kald_policy *
load(const char *text)
{
	struct kal_why why = {""};
	struct kald_policy *policy;

	g_assert_true(g_file_set_contents(path, text, -1, NULL));
	policy = kald_policy_load(path, &why);
	g_assert_cmpstr(why.text, ==, "");
	g_assert_nonnull(policy);
	return policy;
}

static void
refused(const char *text, const char *with)
{
	struct kal_why why = {""};

	g_assert_true(g_file_set_contents(path, text, -1, NULL));
	g_assert_null(kald_policy_load(path, &why));
	g_assert_nonnull(g_strstr_len(why.text, -1, with));
}

static uint64_t
limit(const struct kald_policy *policy, enum kald_level level, uint32_t id)
{
	struct kald_account account = {.level = level, .id = id};

	kald_policy_limits(policy, &account);
	return account.limits[KAL_RESOURCE_QP];
}

/* The rule of the user comes before that of its group, and that before the one for all; of two the last. */
static void
test_which(void)
{
	struct kald_policy *policy =
		load("[limits.user]\nqp = 9\nqp = 10\n[limits.user 5]\nqp = unlimited\n"
		     "[limits.group 5]\nqp = 4\n[limits.process]\nqp = 3\n"
		     "[policy group 7]\nports = 20-22\nprivileged = true\n"
		     "[policy]\nports = 10;12\n[policy user 5]\nports = 30\n");
	struct kald_who own = {5, 7}, group = {6, 7}, other = {6, 6};
	struct kald_account account = {.level = KALD_LEVEL_USER, .id = 6};
	char text[KALD_TEXT];

	g_assert_cmpuint(limit(policy, KALD_LEVEL_USER, 6), ==, 10);
	g_assert_cmpuint(limit(policy, KALD_LEVEL_USER, 5), ==, KAL_UNLIMITED);
	g_assert_cmpuint(limit(policy, KALD_LEVEL_GROUP, 5), ==, 4);
	g_assert_cmpuint(limit(policy, KALD_LEVEL_GROUP, 6), ==, KAL_UNLIMITED);
	g_assert_cmpuint(limit(policy, KALD_LEVEL_PROCESS, 5), ==, 3);
	g_assert_true(kald_policy_port(policy, KALD_KEY_PORTS, own, 30));
	g_assert_false(kald_policy_port(policy, KALD_KEY_PORTS, own, 20));
	g_assert_true(kald_policy_port(policy, KALD_KEY_PORTS, group, 22));
	g_assert_false(kald_policy_port(policy, KALD_KEY_PORTS, group, 23));
	g_assert_true(kald_policy_port(policy, KALD_KEY_PORTS, other, 12));
	g_assert_false(kald_policy_port(policy, KALD_KEY_PORTS, other, 11));
	g_assert_false(kald_policy_port(policy, KALD_KEY_GRANT_PORTS, own, 30));
	g_assert_true(kald_policy_flag(policy, KALD_KEY_PRIVILEGED, own));
	g_assert_false(kald_policy_flag(policy, KALD_KEY_PRIVILEGED, other));
	kald_policy_rule(policy, KALD_KEY_PORTS, group, text, sizeof(text));
	g_assert_true(g_str_has_prefix(text, "[policy group 7] ports = 20-22 ("));
	g_assert_true(g_str_has_suffix(text, ":11)"));
	kald_policy_rule(policy, KALD_KEY_CRC, group, text, sizeof(text));
	g_assert_cmpstr(text, ==, "crc = false, the default");
	kald_policy_limit_rule(policy, &account, KAL_RESOURCE_QP, text, sizeof(text));
	g_assert_true(g_str_has_prefix(text, "[limits.user] qp = 10 ("));
	kald_policy_free(policy);
}

static void
test_values(void)
{
	struct kald_policy *policy =
		load("[policy]\nadapters = emul:*;iwarp\npeers = 10.0.0.0/8;::1/128\n"
		     "processes = 0\n[policy user root]\npeers =\n");
	struct kald_who all = {5, 5}, root = {0, 0};
	struct kald_addr peer = {.family = AF_INET, .octets = {10, 1}};
	struct kald_net nets[KALD_NETS_MAX];
	uint32_t count;

	g_assert_true(kald_policy_adapter(policy, all, "emul:ib"));
	g_assert_true(kald_policy_adapter(policy, all, "iwarp"));
	g_assert_false(kald_policy_adapter(policy, all, "iwarp:lo"));
	g_assert_true(kald_policy_peer(policy, all, &peer));
	g_assert_false(kald_policy_peer(policy, root, &peer));
	peer.octets[0] = 11;
	g_assert_false(kald_policy_peer(policy, all, &peer));
	g_assert_true(kald_policy_nets(policy, all, nets, &count));
	g_assert_cmpuint(count, ==, 2);
	g_assert_cmpuint(kald_policy_processes(policy, all), ==, 0);
	kald_policy_free(policy);
	policy = kald_policy_load(NULL, NULL);
	g_assert_false(kald_policy_nets(policy, all, nets, &count));
	g_assert_true(kald_policy_peer(policy, all, &peer));
	g_assert_true(kald_policy_adapter(policy, all, "anything"));
	g_assert_true(kald_policy_port(policy, KALD_KEY_PORTS, all, 65535));
	g_assert_cmpuint(kald_policy_processes(policy, all), ==, 1024);
	kald_policy_free(policy);
}

/* A file with a mistake is refused as a whole: without the rule in question it would permit what that rule forbids. */
static void
test_refused(void)
{
	refused("[policy]\nport = 5\n", ":2: [policy] port: there is no such key");
	refused("[polic]\n", "there is no such group");
	refused("[policy user]\n", "there is no such group");
	refused("[policy users 5]\nports = 1\n", "there is no such group");
	refused("[policy user nobody-has-this-name]\n", "this host has no user of that name");
	refused("[limits.group nobody-has-this-name]\nqp = 1\n",
		"this host has no group of users of that name");
	refused("[limits.process 5]\nqp = 1\n", "there is no such group");
	refused("[limits.user]\nqps = 1\n", "there is no such key");
	refused("[limits.user]\nqp = many\n", "'many' is not allowed; allowed is a number");
	refused("[policy]\nports = 0\n", "ports and ranges");
	refused("[policy]\nports = 5-4\n", "ports and ranges");
	refused("[policy]\nports = 65536\n", "ports and ranges");
	refused("[policy]\ngrant-ports = 1-\n", "ports and ranges");
	refused("[policy]\npeers = 10.0.0.1/8\n", "networks such as");
	refused("[policy]\ncrc = yes\n", "true or false");
	refused("[policy]\nprocesses = -1\n", "a number");
	refused("ports = 5\n", "before the first [group]");
	g_assert_cmpint(g_unlink(path), ==, 0);
	struct kal_why why = {""};

	g_assert_null(kald_policy_load(path, &why));
	g_assert_cmpstr(why.text, !=, "");
}

int
main(int argc, char **argv)
{
	int fd, result;

	g_test_init(&argc, &argv, NULL);
	fd = g_file_open_tmp("kald-policy-XXXXXX", &path, NULL);
	g_assert_cmpint(fd, >=, 0);
	close(fd);
	g_test_add_func("/kald/policy/which", test_which);
	g_test_add_func("/kald/policy/values", test_values);
	g_test_add_func("/kald/policy/refused", test_refused);
	result = g_test_run();
	(void)g_unlink(path);
	g_free(path);
	return result;
}
