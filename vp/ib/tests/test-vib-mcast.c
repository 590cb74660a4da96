/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Multicast groups (vib_mcast.c) over a device that the test plays, and an interface that is real: the loopback device. */
#include <errno.h>
#include <string.h>

#include "vib_data.h"

static const struct ri_addr four = {.family = RI_ADDR_IPV4, .octets = {239, 77, 66, 55}};
static const struct ri_addr six = {.family = RI_ADDR_IPV6,
				   .octets = {0xff, 0x0e, [12] = 0x77, 0x66, 0x55, 0x44}};

/* How often the kernel's list of groups names this one: its address as that file has it. */
static unsigned
listed(const char *file, const char *group)
{
	g_autofree char *text = NULL;
	unsigned found = 0;

	if (!g_file_get_contents(file, &text, NULL, NULL))
		return 0;
	for (const char *at = text; (at = strstr(at, group)) != NULL; at++)
		found++;
	return found;
}

#define FOUR() listed("/proc/self/net/igmp", "37424DEF")
#define SIX()  listed("/proc/self/net/igmp6", "ff0e0000000000000000000077665544")

/* The device is attached and the interface is a member, once, until the queue pair is detached. */
static void
test_attach(void)
{
	static const uint8_t mapped[16] = {[10] = 0xff, 0xff, 239, 77, 66, 55};
	struct device *d RI_AT_END(device_free) = device_new();
	struct vib_qp *qp = device_qp(d, true);

	g_assert_cmpint(vib_qp_ops.mcast_detach((struct ri_qp *)qp, &four), ==, RI_ERR_INVALID_ARG);
	g_assert_cmpint(vib_qp_ops.mcast_attach((struct ri_qp *)qp, &four), ==, RI_SUCCESS);
	g_assert_cmpint(vib_qp_ops.mcast_attach((struct ri_qp *)qp, &four), ==, RI_SUCCESS);
	g_assert_cmpint(d->groups, ==, 1);
	g_assert_cmpmem(d->group.raw, 16, mapped, 16);
	g_assert_cmpuint(FOUR(), ==, 1);
	g_assert_cmpint(vib_qp_ops.mcast_attach((struct ri_qp *)qp, &six), ==, RI_SUCCESS);
	g_assert_cmpint(d->groups, ==, 2);
	g_assert_cmpmem(d->group.raw, 16, six.octets, 16);
	g_assert_cmpuint(SIX(), ==, 1);
	g_assert_cmpint(vib_qp_ops.mcast_detach((struct ri_qp *)qp, &four), ==, RI_SUCCESS);
	g_assert_cmpint(vib_qp_ops.mcast_detach((struct ri_qp *)qp, &four), ==, RI_ERR_INVALID_ARG);
	g_assert_cmpint(d->groups, ==, 1);
	g_assert_cmpuint(FOUR(), ==, 0);
	g_assert_cmpuint(SIX(), ==, 1);
	data_qp_end(&qp); /* leaves the rest */
	g_assert_cmpint(d->groups, ==, 0);
	g_assert_cmpuint(SIX(), ==, 0);
}

/* A GID names a group as well; other addresses are refused. */
static void
test_addresses(void)
{
	static const struct ri_addr none[] = {
		{.family = RI_ADDR_NONE},
		{.family = RI_ADDR_IPV4, .octets = {223, 255, 255, 255}},
		{.family = RI_ADDR_IPV4, .octets = {240, 0, 0, 1}},
		{.family = RI_ADDR_IPV6, .octets = {0xfe, 0x80, [15] = 1}},
		{.family = RI_ADDR_GID, .octets = {[10] = 0xff, 0xff, 192, 0, 2, 1}},
	};
	struct device *d RI_AT_END(device_free) = device_new();
	struct vib_qp *qp = device_qp(d, true), *rc = device_qp(d, false);
	struct ri_addr gid = six;

	gid.family = RI_ADDR_GID;
	g_assert_cmpint(vib_qp_ops.mcast_attach((struct ri_qp *)qp, &gid), ==, RI_SUCCESS);
	g_assert_cmpint(vib_qp_ops.mcast_attach((struct ri_qp *)qp, &six), ==, RI_SUCCESS);
	g_assert_cmpint(d->groups, ==, 1);
	for (unsigned i = 0; i < G_N_ELEMENTS(none); i++) {
		g_assert_cmpint(vib_qp_ops.mcast_attach((struct ri_qp *)qp, &none[i]), ==,
				RI_ERR_INVALID_ARG);
		g_assert_cmpint(vib_qp_ops.mcast_detach((struct ri_qp *)qp, &none[i]), ==,
				RI_ERR_INVALID_ARG);
	}
	g_assert_cmpint(vib_qp_ops.mcast_attach((struct ri_qp *)rc, &six), ==, RI_ERR_UNSUPPORTED);
	g_assert_cmpint(vib_qp_ops.mcast_detach((struct ri_qp *)rc, &six), ==, RI_ERR_UNSUPPORTED);
	data_qp_end(&rc);
	data_qp_end(&qp);
	d->rnic.attr.multicast = false;
	qp = device_qp(d, true);
	g_assert_cmpint(vib_qp_ops.mcast_attach((struct ri_qp *)qp, &six), ==, RI_ERR_UNSUPPORTED);
	data_qp_end(&qp);
}

/* Whatever fails leaves nothing behind, and is said with the queue pair's number. */
static void
test_fails(void)
{
	struct device *d RI_AT_END(device_free) = device_new();
	struct vib_qp *qp RI_AT_END(data_qp_end) = device_qp(d, true);

	d->mcast_error = ENOMEM;
	g_assert_cmpint(vib_qp_ops.mcast_attach((struct ri_qp *)qp, &four), ==, RI_ERR_RESOURCES);
	g_assert_true(vth_logged(d->vth, "cannot join a multicast group: the device refuses: "
					 "Cannot allocate memory"));
	d->mcast_error = 0;
	d->no_interface = true;
	g_assert_cmpint(vib_qp_ops.mcast_attach((struct ri_qp *)qp, &four), ==, RI_ERR_RESOURCES);
	g_assert_true(vth_logged(d->vth, "the interface refuses: No such device"));
	g_assert_cmpint(d->groups, ==, 0);
	g_assert_cmpuint(FOUR(), ==, 0);
	g_assert_cmpint(vib_qp_ops.mcast_detach((struct ri_qp *)qp, &four), ==, RI_ERR_INVALID_ARG);
	atomic_store(&d->rnic.failed, true);
	g_assert_cmpint(vib_qp_ops.mcast_attach((struct ri_qp *)qp, &four), ==, RI_ERR_FATAL);
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/ib/mcast/attach", test_attach);
	g_test_add_func("/ib/mcast/addresses", test_addresses);
	g_test_add_func("/ib/mcast/fails", test_fails);
	return g_test_run();
}
