/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* The administrator's configuration file: limits, aliases, and messages about mistakes. */

#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kal_config.h"
#include "kal_fixture.h"
#include "kal_resources.h"

static char *path;

static struct kal_config *
load(const char *from)
{
	struct kal_config *config = NULL;

	g_assert_cmpint(kal_config_load(from, NULL, &config, NULL), ==, RI_SUCCESS);
	return config;
}

static struct kal_config *
config_of(const char *text)
{
	g_assert_true(g_file_set_contents(path, text, -1, NULL));
	return load(path);
}

static void
refuse(const char *text, const char *word)
{
	struct kal_config *config = NULL;
	struct kal_why why = {""};

	g_assert_true(g_file_set_contents(path, text, -1, NULL));
	g_assert_cmpint(kal_config_load(path, NULL, &config, &why), ==, RI_ERR_INVALID_ARG);
	g_assert_null(config);
	if (strstr(why.text, word) == NULL)
		g_error("\"%s\" does not say \"%s\"", why.text, word);
	g_assert_true(g_str_has_prefix(why.text, path));
}

static void
expect_keep_alive(const struct kal_config *config, uint64_t idle, uint64_t interval, uint64_t count,
		  uint64_t user)
{
	g_assert_cmpuint(config->keep_alive.idle_s, ==, idle);
	g_assert_cmpuint(config->keep_alive.interval_s, ==, interval);
	g_assert_cmpuint(config->keep_alive.count, ==, count);
	g_assert_cmpuint(config->keep_alive.user_s, ==, user);
}

static void
test_file(void)
{
	g_autofree char *text =
		g_strdup_printf("[aliases]\nOpenIB-cma=iwarp\n"
				"[mpa]\ncrc=false\nfall-back=false\nconvert-timeout=7\n"
				"[tcp]\nkeep-alive-idle=1\nkeep-alive-interval=2\n"
				"keep-alive-count=3\nuser-timeout=4\n"
				"[compat]\ndisconnect-data=drop\nbroken-connection-events=drop\n"
				"[policy]\nprivileged-uids=%u;77777\n"
				"[limits.client]\nqp=5\nmemory=unlimited\n"
				"[limits.user]\nmemory=4096\n",
				getuid());
	struct kal_config *config = config_of(text);

	g_assert_cmpstr(kal_config_adapter(config, "OpenIB-cma"), ==, "iwarp");
	g_assert_cmpstr(kal_config_adapter(config, "emul:ib"), ==, "emul:ib");
	g_assert_false(config->crc || config->fall_back);
	g_assert_cmpuint(config->convert_s, ==, 7);
	expect_keep_alive(config, 1, 2, 3, 4);
	g_assert_true(config->drop_disconnect_data && config->drop_broken_events);
	g_assert_true(config->privileged);
	g_assert_cmpuint(config->limits[KAL_LEVEL_CLIENT][KAL_RESOURCE_QP], ==, 5);
	g_assert_cmpuint(config->limits[KAL_LEVEL_USER][KAL_RESOURCE_MEMORY], ==, 4096);
	g_assert_cmpuint(config->limits[KAL_LEVEL_PROCESS][KAL_RESOURCE_MEMORY], ==, KAL_UNLIMITED);
	g_assert_cmpuint(config->limits[KAL_LEVEL_CLIENT][KAL_RESOURCE_CQ], >, 1000);
	kal_config_free(config);

	config = load(NULL);
	g_assert_true(config->crc && config->fall_back && !config->privileged &&
		      !config->drop_disconnect_data && !config->drop_broken_events);
	g_assert_cmpuint(config->convert_s, ==, 120);
	expect_keep_alive(config, 30, 10, 3, 60);
	/* Without a file the objects of a client have a limit, and its memory has none. */
	for (int i = 0; i < KAL_RESOURCE_COUNT; i++) {
		if (i != KAL_RESOURCE_MEMORY)
			g_assert_cmpuint(config->limits[KAL_LEVEL_CLIENT][i], <, KAL_UNLIMITED);
		g_assert_cmpuint(config->limits[KAL_LEVEL_PROCESS][i], ==, KAL_UNLIMITED);
	}
	g_assert_cmpuint(config->limits[KAL_LEVEL_CLIENT][KAL_RESOURCE_QP], ==, 65536);
	g_assert_cmpuint(config->limits[KAL_LEVEL_CLIENT][KAL_RESOURCE_MEMORY], ==, KAL_UNLIMITED);
	kal_config_free(config);
}

/* Three environment variables replace one key each of the user's file; invalid values change nothing. */
static void
test_environment(void)
{
	static const struct {
		const char *variable, *value;
		bool drop, crc, fall_back;
	} cases[] = {
		{"ITAPI_DISCONNECT_DATA", "drop", true, true, true},
		{"ITAPI_DISCONNECT_DATA", "refuse", false, true, true},
		{"ITAPI_DISCONNECT_DATA", "dropped", false, true, true},
		{"ITAPI_MPA_CRC", "off", false, false, true},
		{"ITAPI_MPA_CRC", "on", false, true, true},
		{"ITAPI_MPA_CRC", "no", false, true, true},
		{"ITAPI_MPA_FALLBACK", "off", false, true, false},
		{"ITAPI_MPA_FALLBACK", "", false, true, true},
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct kal_config *config;

		g_test_message("%s=%s", cases[i].variable, cases[i].value);
		g_setenv(cases[i].variable, cases[i].value, TRUE);
		g_assert_true(g_file_set_contents(path,
						  "[mpa]\ncrc = true\nfall-back = 1\n"
						  "[compat]\ndisconnect-data = refuse\n",
						  -1, NULL));
		g_assert_cmpint(kal_config_load(NULL, path, &config, NULL), ==, RI_SUCCESS);
		g_assert_cmpint(config->drop_disconnect_data, ==, cases[i].drop);
		g_assert_cmpint(config->crc, ==, cases[i].crc);
		g_assert_cmpint(config->fall_back, ==, cases[i].fall_back);
		kal_config_free(config);
		g_unsetenv(cases[i].variable);
	}
}

static void
test_mistakes(void)
{
	struct kal_config *config = NULL;
	struct kal_why why = {""};

	refuse("[limits.client]\nqps=5\n", "qps: there is no such key; did you mean 'qp'?");
	refuse("[limits.client]\nqp=many\n",
	       "'many' is not allowed; allowed is a number, or unlimited");
	refuse("[limits.client]\nqp=-1\n", "qp");
	refuse("[limits.client]\nqp=99999999999999999999999\n", "qp");
	refuse("[limit.client]\nqp=5\n",
	       ":1: [limit.client] there is no such group; did you mean 'limits.client'?");
	refuse("[mpa]\ncrc=perhaps\n",
	       "'perhaps' is not allowed; allowed is one of true, false, 1, 0");
	refuse("[mpa]\nfall-back=2\n", "fall-back");
	refuse("[mpa]\nmarkers=true\n", "markers");
	refuse("[mpa]\nconvert-timeout=0\n",
	       "'0' is not allowed; allowed is a number from 1 to 86400 (s)");
	refuse("[compat]\nbroken-connection-events=refuse\n", "broken-connection-events");
	refuse("[mpa]\nconvert-timeout=86401\n", "convert-timeout");
	refuse("[mpa]\nconvert-timeout=2m\n", "convert-timeout");
	refuse("[tcp]\nkeep-alive-idle=32768\n",
	       "keep-alive-idle: '32768' is not allowed; allowed is a number from 0 to 32767 (s)");
	refuse("[tcp]\nkeep-alive-interval=0\n", "keep-alive-interval");
	refuse("[tcp]\nkeep-alive-interval=32768\n", "keep-alive-interval");
	refuse("[tcp]\nkeep-alive-count=0\n", "keep-alive-count");
	refuse("[tcp]\nkeep-alive-count=128\n", "keep-alive-count");
	refuse("[tcp]\nuser-timeout=86401\n", "user-timeout");
	refuse("[tcp]\nuser-timeout=off\n", "user-timeout");
	refuse("[compat]\ndisconnect-data=keep\n", "disconnect-data");
	refuse("[compat]\npdata=drop\n", "pdata");
	refuse("[policy]\nprivileged-uids=root\n", "user numbers");
	refuse("[policy]\nprivileged-uids=1;;2\n", "user numbers");
	refuse("[policy]\nprivileged-uids=-1\n", "user numbers");
	refuse("[policy]\nprivileged-uids=4294967295\n", "user numbers");
	refuse("[policy]\nfriends=1\n", "friends");
	refuse("no file of this kind", ":1: ");
	g_assert_cmpint(kal_config_load("/nonexistent/itapi.conf", NULL, &config, &why), ==,
			RI_ERR_INVALID_ARG);
	g_assert_nonnull(strstr(why.text, "/nonexistent/itapi.conf"));
	g_assert_cmpint(kal_config_load("/tmp", NULL, &config, NULL), ==, RI_ERR_INVALID_ARG);
}

/* The grammar: each mistake is reported with its line. */
static void
test_lines(void)
{
	static const char long_name[] = "[aliases]\n"
					"a=0123456789012345678901234567890123456789"
					"012345678901234567890123\n";
	g_autofree char *large = g_strnfill(65536, '\n');
	struct kal_config *config;

	refuse("\n\n[mpa]\ncrc=maybe\n", ":4: [mpa] crc: ");
	refuse("[mpa]\n\n[nothing]\n", ":3: [nothing] there is no such group");
	refuse("qp=5\n", ":1: a key is before");
	refuse("[mpa\ncrc=true\n", ":1: this is no [group]");
	refuse("[]\n", ":1: this is no [group]");
	refuse("[mpa]]\n", ":1: this is no [group]");
	refuse("[mpa] x\n", ":1: this is no [group]");
	refuse("[mpa]\ncrc\n", ":2: [mpa] this is neither");
	refuse("[mpa]\n=true\n", ":2: [mpa] this is neither");
	refuse("[aliases]\na=b\\q\n", ":2: [aliases] a: a backslash");
	refuse("[aliases]\na=b\\\n", ":2: [aliases] a: a backslash");
	refuse("[aliases]\na=b\\\\\\x\n", "a backslash");
	refuse("[aliases]\na=\n",
	       ":2: [aliases] a: '' is not allowed; allowed is the name of an adapter");
	refuse(long_name, "both names have 1 to 63 characters");
	config = config_of("# comment\r\n [aliases] \r\n\t a b \t=\t x\\sy\\t\\\\z \r\n"
			   "a b = first\na b=\\sx\\s\n[mpa]\n#crc=perhaps\n[mpa]\ncrc = 0");
	g_assert_cmpstr(kal_config_adapter(config, "a b"), ==, " x ");
	g_assert_null(config->aliases->next);
	g_assert_false(config->crc);
	kal_config_free(config);
	config = config_of("[aliases]\nq=x\\sy\\t\\\\z\\n\\r\n");
	g_assert_cmpstr(kal_config_adapter(config, "q"), ==, "x y\t\\z\n\r");
	kal_config_free(config);
	kal_config_free(config_of(""));
	kal_config_free(config_of(large)); /* the largest file that is read */
	g_assert_true(g_file_set_contents(path, "[mpa]\ncrc=\0true\n", 16, NULL));
	g_assert_cmpint(kal_config_load(path, NULL, &config, NULL), ==, RI_ERR_INVALID_ARG);
	large = g_realloc(large, 65538);
	large[65536] = '#';
	large[65537] = '\0';
	refuse(large, "File too large");
}

/* A FIFO that no process writes is an empty file; it does not stop the process. */
static void
test_fifo(void)
{
	g_autofree char *fifo = g_strconcat(path, ".fifo", NULL);

	g_assert_cmpint(mkfifo(fifo, 0600), ==, 0);
	(void)alarm(60);
	struct kal_config *config = load(fifo);
	(void)alarm(0);
	g_assert_true(config->crc);
	kal_config_free(config);
	g_assert_cmpint(g_unlink(fifo), ==, 0);
}

/* A request above a limit takes nothing, on no level. */
static void
test_accounts(void)
{
	struct kal_config *config = load(NULL);
	struct kal_account a, b;

	config->limits[KAL_LEVEL_CLIENT][KAL_RESOURCE_QP] = 3;
	config->limits[KAL_LEVEL_PROCESS][KAL_RESOURCE_QP] = 5;
	config->limits[KAL_LEVEL_USER][KAL_RESOURCE_MEMORY] = 100;
	kal_account_open(&a, config);
	kal_account_open(&b, config);
	g_assert_cmpint(kal_account_take(&a, KAL_RESOURCE_QP, 4), ==, RI_ERR_RESOURCES);
	g_assert_cmpint(kal_account_take(&a, KAL_RESOURCE_QP, 3), ==, RI_SUCCESS);
	g_assert_cmpint(kal_account_take(&a, KAL_RESOURCE_QP, 1), ==, RI_ERR_RESOURCES);
	g_assert_cmpint(kal_account_take(&b, KAL_RESOURCE_QP, 3), ==, RI_ERR_RESOURCES);
	g_assert_cmpint(kal_account_take(&b, KAL_RESOURCE_QP, 2), ==, RI_SUCCESS);
	kal_account_give(&a, KAL_RESOURCE_QP, 1);
	g_assert_cmpint(kal_account_take(&b, KAL_RESOURCE_QP, 1), ==, RI_SUCCESS);
	g_assert_cmpint(kal_account_take(&b, KAL_RESOURCE_MEMORY, 100), ==, RI_SUCCESS);
	g_assert_cmpint(kal_account_take(&a, KAL_RESOURCE_MEMORY, 1), ==, RI_ERR_RESOURCES);
	g_assert_cmpint(kal_account_take(&a, KAL_RESOURCE_MEMORY, UINT64_MAX), ==,
			RI_ERR_RESOURCES);
	kal_account_close(&b);
	g_assert_cmpint(kal_account_take(&a, KAL_RESOURCE_MEMORY, 100), ==, RI_SUCCESS);
	kal_account_close(&a);
	kal_config_free(config);
}

/* A lender that has a store, and lends what is asked for, and two more if it can. */
static struct {
	uint64_t store;
	unsigned calls;
	uint64_t asked; /* last */
} lending;

static enum ri_status
borrow(enum kal_resource resource, uint64_t amount)
{
	uint64_t more = MIN(lending.store, amount + 2);

	lending.calls++;
	lending.asked = amount;
	if (amount > lending.store)
		return RI_ERR_RESOURCES;
	lending.store -= more;
	kal_lease_add(resource, more);
	return RI_SUCCESS;
}

/* What is lent is taken without a call; limits of the own files hold all the same; what is in use stays when it is called back. */
static void
test_leases(void)
{
	static const struct kal_lender lender = {.borrow = borrow};
	struct kal_config *config = load(NULL);
	uint64_t lent[KAL_RESOURCE_COUNT], used[KAL_RESOURCE_COUNT];
	struct kal_account a;

	config->limits[KAL_LEVEL_CLIENT][KAL_RESOURCE_QP] = 9;
	kal_account_open(&a, config);
	g_assert_cmpint(kal_account_take(&a, KAL_RESOURCE_QP, 1), ==, RI_SUCCESS);
	memset(&lending, 0, sizeof(lending));
	lending.store = 7;
	kal_lease_begin(&lender, lent);
	g_assert_cmpuint(lent[KAL_RESOURCE_QP], ==, 1);
	for (int i = 0; i < 3; i++)
		g_assert_cmpint(kal_account_take(&a, KAL_RESOURCE_QP, 1), ==, RI_SUCCESS);
	g_assert_cmpuint(lending.calls, ==, 1);
	/* Above the limit of the own file nothing is asked for. */
	g_assert_cmpint(kal_account_take(&a, KAL_RESOURCE_QP, 6), ==, RI_ERR_RESOURCES);
	g_assert_cmpuint(lending.calls, ==, 1);
	g_assert_cmpint(kal_account_take(&a, KAL_RESOURCE_QP, 5), ==, RI_ERR_RESOURCES);
	g_assert_cmpuint(lending.calls, ==, 2);
	g_assert_cmpint(kal_account_take(&a, KAL_RESOURCE_QP, 4), ==, RI_SUCCESS);
	g_assert_cmpuint(lending.store, ==, 0);
	kal_account_give(&a, KAL_RESOURCE_QP, 3);
	kal_lease_amounts(lent, used);
	g_assert_cmpuint(lent[KAL_RESOURCE_QP], ==, 8);
	g_assert_cmpuint(used[KAL_RESOURCE_QP], ==, 5);
	g_assert_cmpuint(kal_lease_spare(KAL_RESOURCE_QP), ==, 3);
	g_assert_cmpuint(kal_lease_spare(KAL_RESOURCE_QP), ==, 0);
	/* A lender that was started anew lends less than is in use: what is missing comes first. */
	lent[KAL_RESOURCE_QP] = 2;
	kal_lease_set(lent);
	g_assert_cmpuint(kal_lease_spare(KAL_RESOURCE_QP), ==, 0);
	g_assert_cmpint(kal_account_take(&a, KAL_RESOURCE_QP, 1), ==, RI_ERR_RESOURCES);
	g_assert_cmpuint(lending.asked, ==, 4);
	kal_lease_add(KAL_RESOURCE_QP, UINT64_MAX);
	g_assert_cmpint(kal_account_take(&a, KAL_RESOURCE_QP, 1), ==, RI_SUCCESS);
	kal_account_close(&a);
	kal_lease_begin(NULL, NULL);
	g_assert_cmpint(kal_account_take(&a, KAL_RESOURCE_QP, 9), ==, RI_SUCCESS);
	kal_account_close(&a);
	kal_config_free(config);
}

/* Limits and aliases through the calls; afterwards nothing is counted. */
static void
test_client(void)
{
	struct fixture f;
	struct kal_rnic_open_req open = {.name = "known-name"};
	struct kal_rnic_open_rep opened;
	struct kal_qp_create_req qp = {0};
	struct kal_qp_create_rep qp_rep;
	struct {
		struct kal_adapter_list_rep rep;
		struct kal_adapter list[4];
	} list = {0};
	struct kal_msg msg = {.call = KAL_ADAPTER_LIST,
			      .fd = -1,
			      .req = &(struct kal_adapter_list_req){.max = 4},
			      .req_len = sizeof(struct kal_adapter_list_req),
			      .rep = &list,
			      .rep_len = sizeof(list)};
	uint32_t id, second;

	g_assert_true(g_file_set_contents(path,
					  "[aliases]\nknown-name=fake\nelsewhere=nobody\n"
					  "[limits.client]\nqp=2\nmemory=1000\n",
					  -1, NULL));
	g_setenv("ITAPI_CONFIG", path, TRUE);
	for (int round = 0; round < 3; round++) {
		f = fixture_open();
		g_assert_cmpint(fixture_call(&f, KAL_RNIC_OPEN, &open, sizeof(open), &opened,
					     sizeof(opened)),
				==, RI_SUCCESS);
		g_assert_cmpstr(opened.attr.name, ==, "fake");
		msg.rep_len = sizeof(list);
		g_assert_cmpint(kal_call(f.client, &msg), ==, RI_SUCCESS);
		g_assert_cmpuint(list.rep.total, ==, 2);
		g_assert_cmpstr(list.list[0].name, ==, "fake");
		g_assert_cmpstr(list.list[1].name, ==, "known-name");

		qp.pd = f.pd;
		qp.send_cq = qp.recv_cq = f.cq;
		qp.init.ctx = 3;
		fixture_qp(&f, 1, 1, 1);
		id = fixture_qp(&f, 2, 1, 1);
		g_assert_cmpint(
			fixture_call(&f, KAL_QP_CREATE, &qp, sizeof(qp), &qp_rep, sizeof(qp_rep)),
			==, RI_ERR_RESOURCES);
		g_assert_cmpint(fixture_id(&f, KAL_QP_DESTROY, id), ==, RI_SUCCESS);
		fixture_qp(&f, 3, 1, 1);
		g_assert_cmpint(fixture_register(&f, 1001, &id), ==, RI_ERR_RESOURCES);
		g_assert_cmpint(fixture_register(&f, 600, &id), ==, RI_SUCCESS);
		g_assert_cmpint(fixture_register(&f, 600, &second), ==, RI_ERR_RESOURCES);
		g_assert_cmpint(fixture_id(&f, KAL_MR_DEREG, id), ==, RI_SUCCESS);
		g_assert_cmpint(fixture_register(&f, 1000, &id), ==, RI_SUCCESS);
		fixture_close(&f);
	}
	g_unsetenv("ITAPI_CONFIG");
}

static void
test_client_refused(void)
{
	struct kal_client_params params = {0};
	struct kal_client *client;

	g_assert_true(g_file_set_contents(path, "[limits.clint]\nqp=2\n", -1, NULL));
	g_setenv("ITAPI_CONFIG", path, TRUE);
	g_assert_cmpint(kal_client_open(&params, &client), ==, RI_ERR_INVALID_ARG);
	g_unsetenv("ITAPI_CONFIG");
	g_assert_cmpint(kal_client_open(&params, &client), ==, RI_SUCCESS);
	kal_client_close(client);
}

/* Both files, and the reason if the user's one is refused. */
static struct kal_config *
both(const char *decided, const char *wanted, struct kal_why *why)
{
	g_autofree char *user = g_strconcat(path, ".user", NULL);
	struct kal_config *config = NULL;

	g_assert_true(g_file_set_contents(path, decided, -1, NULL));
	g_assert_true(g_file_set_contents(user, wanted, -1, NULL));
	(void)!kal_config_load(path, user, &config, why);
	g_assert_cmpint(g_unlink(user), ==, 0);
	return config;
}

/* What the administrator's file says is decided; the user's file and the environment change the rest. */
static void
test_decided(void)
{
	struct kal_why why = {""};
	struct kal_config *config;

	g_setenv("ITAPI_MPA_CRC", "off", TRUE);
	g_setenv("ITAPI_MPA_PEER_TO_PEER", "on", TRUE);
	config = both("[mpa]\ncrc = true\nwake-up = 7\n[limits.client]\nqp = 5\nmr = 5\n"
		      "[aliases]\none = iwarp\n",
		      "[mpa]\nwake-up = 9\nconvert-timeout = 3\n[limits.client]\nqp = 6\nmr = 4\n"
		      "cq = 70000\n[aliases]\none = emul\ntwo = emul\n",
		      NULL);
	g_assert_true(config->crc && config->peer_to_peer);
	g_assert_cmpuint(config->wake_ms, ==, 7);
	g_assert_cmpuint(config->convert_s, ==, 3);
	g_assert_cmpuint(config->limits[KAL_LEVEL_CLIENT][KAL_RESOURCE_QP], ==, 5);
	g_assert_cmpuint(config->limits[KAL_LEVEL_CLIENT][KAL_RESOURCE_MR], ==, 4);
	g_assert_cmpuint(config->limits[KAL_LEVEL_CLIENT][KAL_RESOURCE_CQ], ==, 70000);
	g_assert_cmpstr(kal_config_adapter(config, "one"), ==, "iwarp");
	g_assert_cmpstr(kal_config_adapter(config, "two"), ==, "emul");
	kal_config_free(config);
	config = both("", "[mpa]\ncrc = true\n", NULL);
	g_assert_false(config->crc);
	kal_config_free(config);
	g_unsetenv("ITAPI_MPA_CRC");
	g_unsetenv("ITAPI_MPA_PEER_TO_PEER");
	g_assert_null(both("", "[policy]\nprivileged-uids = 0\n", &why));
	g_assert_nonnull(strstr(why.text, "only the administrator's file, /"));
	g_assert_null(both("[mpa]\ncrc = true\n", "[mpa]\ncrc = perhaps\n", &why));
}

int
main(int argc, char **argv)
{
	int result;

	g_test_init(&argc, &argv, NULL);
	fake_register();
	path = g_strdup("/tmp/itapi-config-XXXXXX");
	close(g_mkstemp(path));
	g_test_add_func("/kal/config/file", test_file);
	g_test_add_func("/kal/config/environment", test_environment);
	g_test_add_func("/kal/config/mistakes", test_mistakes);
	g_test_add_func("/kal/config/lines", test_lines);
	g_test_add_func("/kal/config/fifo", test_fifo);
	g_test_add_func("/kal/config/accounts", test_accounts);
	g_test_add_func("/kal/config/leases", test_leases);
	g_test_add_func("/kal/config/client", test_client);
	g_test_add_func("/kal/config/decided", test_decided);
	g_test_add_func("/kal/config/client-refused", test_client_refused);
	result = g_test_run();
	g_unlink(path);
	g_free(path);
	return result;
}
