/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* The profile of a device whose driver reports what cannot be: each number is within what the interface has. */
#include <errno.h>
#include <glib.h>
#include <limits.h>
#include <string.h>

#include "vib_dmabuf.h"
#include "vib_mw.h"
#include "vib_profile.h"
#include "vsw_test_host.h"

static struct ibv_device_attr device;
static struct ibv_port_attr port;
static struct ibv_cq queue;
static struct ibv_pd domain;
static struct ibv_qp qp;
static bool qp_lives;
static uint32_t inline_most, inline_least; /* bytes of each queue pair */
static bool iwarp;
static int qp_error; /* there are no queue pairs */
static unsigned tries;

/* --- libibverbs, and the rest of the provider ------------------------------------------------------- */

int
ibv_query_device(struct ibv_context *context, struct ibv_device_attr *attr)
{
	(void)context;
	*attr = device;
	return 0;
}

#undef ibv_query_port
int
ibv_query_port(struct ibv_context *context, uint8_t number, struct _compat_ibv_port_attr *attr)
{
	(void)context;
	g_assert_cmpint(number, ==, 1);
	memcpy(attr, &port, offsetof(struct ibv_port_attr, port_cap_flags2));
	return 0;
}

struct ibv_cq *
ibv_create_cq(struct ibv_context *context, int cqe, void *ctx, struct ibv_comp_channel *channel,
	      int vector)
{
	(void)context;
	(void)cqe;
	(void)ctx;
	(void)channel;
	(void)vector;
	return &queue;
}

int
ibv_resize_cq(struct ibv_cq *cq, int cqe)
{
	g_assert_true(cq == &queue);
	g_assert_cmpint(cqe, >, 0);
	return 0;
}

int
ibv_destroy_cq(struct ibv_cq *cq)
{
	g_assert_true(cq == &queue);
	return 0;
}

struct ibv_pd *
ibv_alloc_pd(struct ibv_context *context)
{
	(void)context;
	return &domain;
}

int
ibv_dealloc_pd(struct ibv_pd *pd)
{
	g_assert_true(pd == &domain);
	return 0;
}

/* As drivers have it: too much is refused, and a queue pair has what was asked for, or more. */
struct ibv_qp *
ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *init)
{
	g_assert_true(pd == &domain);
	g_assert_cmpuint(++tries, <, 16);
	if (init->cap.max_inline_data > inline_most || qp_error != 0) {
		errno = qp_error != 0 ? qp_error : EINVAL;
		return NULL;
	}
	if (init->cap.max_inline_data < inline_least)
		init->cap.max_inline_data = inline_least;
	g_assert_false(qp_lives);
	qp_lives = true;
	return &qp;
}

int
ibv_destroy_qp(struct ibv_qp *gone)
{
	g_assert_true(gone == &qp && qp_lives);
	qp_lives = false;
	return 0;
}

bool
vib_dmabuf_works(struct ibv_context *verbs)
{
	(void)verbs;
	return false;
}

bool
vib_mw_wide_works(struct ibv_context *verbs)
{
	(void)verbs;
	return true;
}

/* --- cases -------------------------------------------------------------------------------------------- */

/* The profile of the device as it is above; false: nothing odd was logged. */
static bool
profile_make(struct ri_rnic *rnic, int vectors)
{
	struct vth *vth = vth_new(false);
	static struct ibv_context verbs;
	bool logged;

	verbs = (struct ibv_context){.num_comp_vectors = vectors};
	memset(rnic, 0, sizeof(*rnic));
	tries = 0;
	g_strlcpy(rnic->name, "ib:fake0", sizeof(rnic->name));
	rnic->host = vth_host(vth);
	rnic->verbs = &verbs;
	rnic->iwarp = iwarp;
	g_assert_cmpint(vib_profile_make(rnic), ==, RI_SUCCESS);
	logged = vth_logged(vth, "as the MTU of its port");
	vth_free(&vth);
	return logged;
}

/* A port has one of five sizes of packets; with another number it has the least, and that is said. */
static void
test_mtu(void)
{
	static const struct {
		int mtu;
		uint32_t octets;
		bool odd;
	} rows[] = {{IBV_MTU_256, 256, false},
		    {IBV_MTU_1024, 1024, false},
		    {IBV_MTU_4096, 4096, false},
		    {0, 256, true},
		    {6, 256, true},
		    {32, 256, true},
		    {-1, 256, true},
		    {INT_MAX, 256, true}};

	memset(&device, 0, sizeof(device));
	memset(&port, 0, sizeof(port));
	device.max_ah = 1;
	for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
		struct ri_rnic rnic;

		port.active_mtu = (enum ibv_mtu)rows[i].mtu;
		g_assert_cmpint(profile_make(&rnic, 1), ==, rows[i].odd);
		g_assert_cmpuint(rnic.attr.max_ud_message, ==, rows[i].octets);
	}
}

/* All bits set, as of a driver that has filled nothing in; and a CQ that is as large as can be. */
static void
test_extremes(void)
{
	struct ri_rnic rnic;

	memset(&device, 0xff, sizeof(device));
	memset(&port, 0xff, sizeof(port));
	queue.cqe = INT_MAX;
	(void)profile_make(&rnic, -1);
	g_assert_false(rnic.attr.cq_resizable);
	g_assert_cmpuint(rnic.attr.num_completion_handlers, ==, 1);
	g_assert_cmpuint(rnic.attr.num_ports, ==, UINT8_MAX);
	g_assert_cmpuint(rnic.attr.max_send_sge, ==, VIB_SGES_MOST);
	g_assert_cmpuint(rnic.attr.max_sq_wr, <=, 1u << 20);
	g_assert_cmpuint(rnic.attr.max_cqe, <=, 1u << 22);
	g_assert_cmpuint(rnic.attr.max_ird, <=, UINT8_MAX);
	g_assert_cmpuint(rnic.attr.max_ord, <=, UINT8_MAX);
	g_assert_nonnull(memchr(rnic.attr.vendor, 0, sizeof(rnic.attr.vendor)));
	queue.cqe = 1;
	(void)profile_make(&rnic, 0);
	g_assert_true(rnic.attr.cq_resizable);
	g_assert_cmpuint(rnic.attr.num_completion_handlers, ==, 1);
}

/* The claim is what a queue pair got: at most eight bytes below what the device has. */
static void
test_inline(void)
{
	static const struct {
		uint32_t most, least, claim;
	} rows[] = {{0, 0, 0},       {7, 0, 0},           {80, 0, 80},           {512, 512, 512},
		    {400, 400, 400}, {1024, 0, 1024},     {UINT32_MAX, 0, 1024}, {100, 64, 100},
		    {16, 16, 16},    {64, UINT32_MAX, 64}};

	for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
		struct ri_rnic rnic;

		inline_most = rows[i].most;
		inline_least = rows[i].least;
		(void)profile_make(&rnic, 1);
		g_assert_cmpuint(rnic.attr.max_inline, <=, rows[i].claim);
		g_assert_cmpuint(rnic.attr.max_inline + 8, >, rows[i].claim);
		g_assert_cmpint(rnic.attr.inline_data, ==, rnic.attr.max_inline != 0);
		g_assert_false(qp_lives);
	}
	qp_error = ENOMEM;
	for (int i = 0; i < 2; i++) {
		struct ri_rnic rnic;

		(void)profile_make(&rnic, 1);
		g_assert_false(rnic.attr.inline_data);
		g_assert_cmpuint(rnic.attr.max_inline, ==, 0);
	}
	qp_error = 0;
}

/* Immediate data is of InfiniBand; of datagrams where there are some. */
static void
test_immediate(void)
{
	struct ri_rnic rnic;

	memset(&device, 0, sizeof(device));
	(void)profile_make(&rnic, 1);
	g_assert_cmpuint(rnic.attr.immediate_size, ==, 4);
	g_assert_cmpuint(rnic.attr.immediate_with, ==, RI_IMMEDIATE_SEND | RI_IMMEDIATE_WRITE);
	device.max_ah = 1;
	(void)profile_make(&rnic, 1);
	g_assert_cmpuint(rnic.attr.immediate_with, ==,
			 RI_IMMEDIATE_SEND | RI_IMMEDIATE_WRITE | RI_IMMEDIATE_UD);
	iwarp = true;
	(void)profile_make(&rnic, 1);
	g_assert_cmpuint(rnic.attr.immediate_size, ==, 0);
	g_assert_cmpuint(rnic.attr.immediate_with, ==, 0);
	iwarp = false;
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/ib/profile/mtu", test_mtu);
	g_test_add_func("/ib/profile/extremes", test_extremes);
	g_test_add_func("/ib/profile/inline", test_inline);
	g_test_add_func("/ib/profile/immediate", test_immediate);
	return g_test_run();
}
