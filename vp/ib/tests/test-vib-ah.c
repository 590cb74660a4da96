/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Address handles over Ethernet, on a device that the test plays (vib_device.h): the device's call
 * waits for a neighbour until the test says that the neighbour was found, or was not. No verb of
 * the provider may wait that long.
 */
#include <errno.h>
#include <string.h>

#include "vib_cq.h"
#include "vib_device.h"
#include "vib_post.h"

#define QPN 0x66

/* A queue pair for datagrams on a device whose port is Ethernet. */
struct setting {
	struct device *d;
	struct vib_qp *qp;
	uint64_t posted; /* datagrams */
};

static struct ri_ah_init
towards(uint8_t last)
{
	return (struct ri_ah_init){.dest = {.family = RI_ADDR_IPV4, .octets = {192, 0, 2, last}}};
}

static void
setting_new(struct setting *s)
{
	memset(s, 0, sizeof(*s));
	s->d = device_new();
	s->d->ethernet = true;
	s->qp = device_qp(s->d, true);
}

static void
setting_free(struct setting *s)
{
	g_assert_cmpint(vib_qp_ops.destroy((struct ri_qp *)s->qp), ==, RI_SUCCESS);
	device_free(&s->d);
}

/* A handle whose neighbour is not found before device_neighbour. */
static struct ri_ah *
waiting_new(struct setting *s, struct ri_pd *pd, uint8_t last, uint32_t *id)
{
	const struct ri_ah_init init = towards(last);
	struct ri_ah *ah;

	s->d->threads = true;
	s->d->ah_held = last;
	g_assert_cmpint(vib_ah_ops.create(pd, &init, &ah, id), ==, RI_SUCCESS);
	return ah;
}

/* Post a datagram with this handle and complete it. Does it go to that address, or, with 0, nowhere? */
static void
datagram(struct setting *s, uint32_t id, uint8_t last)
{
	const struct ri_wr send = {.wr_id = ++s->posted,
				   .opcode = RI_OP_SEND_UD,
				   .flags = RI_WR_SIGNALED,
				   .u.ud = {.ah = id, .qpn = QPN, .qkey = 0x77}};
	const struct device_wr *sent = &s->d->sent[s->d->sends % DEVICE_ROOM];
	struct ri_wc wc;

	g_assert_cmpint(vib_post_sq(&s->qp->user, &send), ==, RI_SUCCESS);
	g_assert_cmpuint(sent->wr.wr.ud.remote_qpn, ==, last != 0 ? QPN : VIB_QPN_NOWHERE);
	g_assert_cmpuint(((const struct device_ah *)sent->wr.wr.ud.ah)->dest.raw[15], ==,
			 last != 0 ? last : 1); /* its own address ends so */
	device_complete(s->d, IBV_WC_SUCCESS);
	g_assert_cmpuint(vib_poll_cq(&s->d->cq->user, &wc, 1), ==, 1);
	g_assert_cmpuint(wc.wr_id, ==, s->posted);
	g_assert_cmpint(wc.status, ==, RI_WC_SUCCESS);
}

static void
ah_free(struct ri_ah *ah)
{
	g_assert_cmpint(vib_ah_ops.destroy(ah), ==, RI_SUCCESS);
}

/* A neighbour that is known: the handle is complete when it is there. */
static void
test_known(void)
{
	const struct ri_ah_init init = towards(2);
	struct setting s RI_AT_END(setting_free);
	struct ri_ah *ah;
	uint32_t id;

	setting_new(&s);
	g_assert_cmpint(vib_ah_ops.create(s.d->pd, &init, &ah, &id), ==, RI_SUCCESS);
	g_assert_cmpint(s.d->ahs, ==, 1);
	datagram(&s, id, 2);
	ah_free(ah);
}

/* The way to itself needs no neighbour and so no thread, whose machine may be too busy to run it soon. */
static void
test_own(void)
{
	const struct ri_ah_init init = towards(1);
	struct setting s RI_AT_END(setting_free);
	struct ri_ah *ah;
	uint32_t id;

	setting_new(&s);
	s.d->thread_error = EAGAIN;
	g_assert_cmpint(vib_ah_ops.create(s.d->pd, &init, &ah, &id), ==, RI_SUCCESS);
	datagram(&s, id, 1);
	ah_free(ah);
}

/* A failure that is known at once is the status of the verb. */
static void
test_refused(void)
{
	static const struct {
		int error;
		enum ri_status status;
	} rows[] = {{EHOSTUNREACH, RI_ERR_NO_ROUTE},
		    {ENETUNREACH, RI_ERR_NO_ROUTE},
		    {EINVAL, RI_ERR_NO_ROUTE},
		    {ENOMEM, RI_ERR_RESOURCES}};
	const struct ri_ah_init init = towards(2);
	struct setting s RI_AT_END(setting_free);
	struct ri_ah *ah;
	uint32_t id;

	setting_new(&s);
	for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
		s.d->ah_error = rows[i].error;
		g_assert_cmpint(vib_ah_ops.create(s.d->pd, &init, &ah, &id), ==, rows[i].status);
	}
	s.d->ah_error = 0;
	s.d->thread_error = EAGAIN;
	g_assert_cmpint(vib_ah_ops.create(s.d->pd, &init, &ah, &id), ==, RI_ERR_RESOURCES);
}

/* The verb returns before the neighbour is found. Until then datagrams are lost, and succeed; then they go there. */
static void
test_late(void)
{
	struct setting s RI_AT_END(setting_free);
	struct ri_ah *ah;
	uint32_t id;

	setting_new(&s);
	ah = waiting_new(&s, s.d->pd, 2, &id);
	datagram(&s, id, 0);
	datagram(&s, id, 0);
	device_neighbour(s.d, 0);
	vib_ah_calls_end(&s.d->rnic);
	datagram(&s, id, 2);
	g_assert_cmpint(s.d->ahs, ==, 1); /* the place holder is gone */
	ah_free(ah);
}

/* There is no such neighbour: the log says so, and nothing else happens. */
static void
test_never(void)
{
	struct setting s RI_AT_END(setting_free);
	struct ri_ah *ah;
	uint32_t id;

	setting_new(&s);
	ah = waiting_new(&s, s.d->pd, 2, &id);
	device_neighbour(s.d, EHOSTUNREACH);
	vib_ah_calls_end(&s.d->rnic);
	g_assert_true(
		vth_logged(s.d->vth, "a neighbour is not found, so datagrams to it are lost"));
	datagram(&s, id, 0);
	g_assert_cmpuint(s.d->async_events->len, ==, 0);
	ah_free(ah);
}

/* The handle and its protection domain go meanwhile; what is made is destroyed, and then the domain. */
static void
test_destroyed(void)
{
	struct setting s RI_AT_END(setting_free);
	struct ri_pd *pd;
	uint32_t id;

	setting_new(&s);
	for (int error = 0; error <= EHOSTUNREACH; error += EHOSTUNREACH) {
		g_assert_cmpint(vib_pd_ops.create(s.d->context, &pd), ==, RI_SUCCESS);
		ah_free(waiting_new(&s, pd, 2, &id));
		g_assert_cmpint(vib_pd_ops.destroy(pd), ==, RI_SUCCESS);
		g_assert_cmpint(s.d->pds, ==, 2); /* the call uses it */
		device_neighbour(s.d, error);
		vib_ah_calls_end(&s.d->rnic);
		g_assert_cmpint(s.d->pds, ==, 1);
		g_assert_cmpint(s.d->ahs, ==, 0);
		g_assert_false(vth_logged(s.d->vth, "a neighbour is not found"));
	}
}

/* It gets another destination meanwhile, one whose neighbour is known, or not: the first one does not count any more. */
static void
test_modified(gconstpointer data)
{
	bool known = GPOINTER_TO_INT(data) != 0;
	const struct ri_ah_init init = towards(known ? 3 : 2);
	struct setting s RI_AT_END(setting_free);
	struct ri_ah *ah;
	uint32_t id;

	setting_new(&s);
	ah = waiting_new(&s, s.d->pd, 2, &id);
	s.d->threads = !known;
	g_assert_cmpint(vib_ah_ops.modify(ah, &init), ==, RI_SUCCESS);
	datagram(&s, id, known ? 3 : 0);
	device_neighbour(s.d, 0);
	vib_ah_calls_end(&s.d->rnic);
	datagram(&s, id, known ? 3 : 2);
	g_assert_cmpint(s.d->ahs, ==, 1);
	ah_free(ah);
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/ib/ah/known", test_known);
	g_test_add_func("/ib/ah/own", test_own);
	g_test_add_func("/ib/ah/refused", test_refused);
	g_test_add_func("/ib/ah/late", test_late);
	g_test_add_func("/ib/ah/never", test_never);
	g_test_add_func("/ib/ah/destroyed", test_destroyed);
	g_test_add_data_func("/ib/ah/modified-known", GINT_TO_POINTER(1), test_modified);
	g_test_add_data_func("/ib/ah/modified-unknown", GINT_TO_POINTER(0), test_modified);
	return g_test_run();
}
