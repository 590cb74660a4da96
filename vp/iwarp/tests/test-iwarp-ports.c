/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The order of spigots: how the interface of the default route is found in routing tables as the kernel prints them, and how a
 * list of spigots is sorted. The spigots of the adapter are tested in itapi/tests/test-itapi-spigot.c.
 */

#include <glib.h>
#include <string.h>

#include "viw_rnic.h"

#define HEAD4 \
	"Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n"
#define ZERO "00000000000000000000000000000000"

/* The name found in a table, or "" */
static const char *
route_in(const char *text, bool ipv6)
{
	static char name[32];
	FILE *table = fmemopen((void *)(uintptr_t)text, strlen(text), "r");

	g_assert_nonnull(table);
	memset(name, 0, sizeof(name));
	if (!viw_default_route(table, ipv6, name))
		name[0] = '\0';
	fclose(table);
	return name;
}

static void
test_ipv4(void)
{
	const char *lan = "eth1\t0000A8C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n";
	const char *far = "eth0\t00000000\t0100A8C0\t0003\t0\t0\t200\t00000000\t0\t0\t0\n";
	const char *near = "wlan0\t00000000\t0100A8C0\t0003\t0\t0\t100\t00000000\t0\t0\t0\n";
	const char *down = "eth2\t00000000\t0100A8C0\t0002\t0\t0\t1\t00000000\t0\t0\t0\n";
	const char *refuses = "lo\t00000000\t00000000\t0201\t0\t0\t1\t00000000\t0\t0\t0\n";
	const char *half = "tun0\t00000000\t0100A8C0\t0003\t0\t0\t0\t00000080\t0\t0\t0\n";

	g_assert_cmpstr(route_in(HEAD4, false), ==, "");
	g_autofree char *one = g_strconcat(HEAD4, lan, far, NULL);
	g_assert_cmpstr(route_in(one, false), ==, "eth0");
	g_autofree char *two = g_strconcat(HEAD4, far, lan, near, NULL);
	g_assert_cmpstr(route_in(two, false), ==, "wlan0");
	g_autofree char *equal = g_strconcat(HEAD4, far, far, NULL);
	g_assert_cmpstr(route_in(equal, false), ==, "eth0");
	g_autofree char *none = g_strconcat(HEAD4, lan, down, refuses, half, NULL);
	g_assert_cmpstr(route_in(none, false), ==, "");
	g_assert_cmpstr(route_in("eth0\t00000000\t0100A8C0\n", false), ==, "");
	g_assert_cmpstr(route_in("\n\n \n", false), ==, "");
}

static void
test_ipv6(void)
{
	const char *lan = "fe800000000000000000000000000000 40 " ZERO " 00 " ZERO
			  " 00000100 00000001 00000000 00000001     eth1\n";
	const char *far = ZERO " 00 " ZERO " 00 fe800000000000000000000000000001"
			       " 00000400 00000001 00000000 00000003     eth0\n";
	const char *near = ZERO " 00 " ZERO " 00 fe800000000000000000000000000001"
				" 00000064 00000001 00000000 00000003    wlan0\n";
	const char *refuses =
		ZERO " 00 " ZERO " 00 " ZERO " ffffffff 00000001 00000000 00200200       lo\n";
	const char *narrow =
		ZERO " 60 " ZERO " 00 " ZERO " 00000001 00000001 00000000 00000003     tun0\n";

	g_autofree char *one = g_strconcat(lan, far, refuses, NULL);
	g_assert_cmpstr(route_in(one, true), ==, "eth0");
	g_autofree char *two = g_strconcat(far, near, NULL);
	g_assert_cmpstr(route_in(two, true), ==, "wlan0");
	g_autofree char *none = g_strconcat(lan, refuses, narrow, NULL);
	g_assert_cmpstr(route_in(none, true), ==, "");
	g_assert_cmpstr(route_in("00\n", true), ==, "");
}

/* Sort interfaces whose names are one letter; capital letters are loopback interfaces. */
static void
expect_order(const char *before, const char *first, const char *after)
{
	struct viw_interface list[8];
	uint32_t count = (uint32_t)strlen(before);

	memset(list, 0, sizeof(list));
	for (uint32_t i = 0; i < count; i++) {
		list[i].name[0] = before[i];
		list[i].loopback = g_ascii_isupper(before[i]);
	}
	viw_interfaces_sort(list, count, first);
	for (uint32_t i = 0; i < count; i++)
		g_assert_cmpint(list[i].name[0], ==, after[i]);
}

static void
test_sort(void)
{
	expect_order("", "", "");
	expect_order("L", "L", "L");
	expect_order("La", "", "aL");
	expect_order("Labc", "", "abcL");
	expect_order("Labc", "b", "bacL");
	expect_order("cLbaM", "a", "acbLM");
	expect_order("abc", "x", "abc");
	expect_order("Lab", "L",
		     "abL"); /* a default route through a loopback interface does not count */
}

/*
 * The order of this machine's interfaces: none may come before that of the default route, and no
 * loopback interface before others.
 */
static void
test_here(void)
{
	struct viw_interfaces up;

	g_assert_cmpint(viw_interfaces_up(&up), ==, RI_SUCCESS);
	for (uint32_t i = 1; i < up.count; i++)
		g_assert_true(up.list[i].loopback || !up.list[i - 1].loopback);
	viw_interfaces_free(&up);
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/iwarp/ports/ipv4", test_ipv4);
	g_test_add_func("/iwarp/ports/ipv6", test_ipv6);
	g_test_add_func("/iwarp/ports/sort", test_sort);
	g_test_add_func("/iwarp/ports/here", test_here);
	return g_test_run();
}
