/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Registrations of a dmabuf: what reaches the provider, what is refused before, and what is counted. */

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "kal_fixture.h"

static const struct kal_dmabuf_req good = {.access = 63,
					   .addr = UINT64_C(0x123456789000),
					   .length = 600,
					   .offset = UINT64_C(0x5000000000),
					   .key = 0x77,
					   .shareable = 1};

static enum ri_status
reg(struct fixture *f, const struct kal_dmabuf_req *req, int fd, struct kal_mr_rep *rep)
{
	struct kal_msg msg = {.call = KAL_MR_REG_DMABUF,
			      .fd = fd,
			      .req = req,
			      .req_len = sizeof(*req),
			      .rep = rep,
			      .rep_len = sizeof(*rep)};

	return kal_call(f->client, &msg);
}

/* The provider gets the descriptor of the call and all values; the descriptor stays the caller's. */
static void
test_passed_on(void)
{
	struct kal_dmabuf_req req = good;
	struct kal_mr_rep rep;
	int fd RI_AT_END(ri_at_end_close) = open("/dev/null", O_RDONLY | O_CLOEXEC);

	fake_reset();
	fake_attr.dmabuf = true;
	struct fixture f RI_AT_END(fixture_close) = fixture_open();
	req.pd = f.pd;
	g_assert_cmpint(reg(&f, &req, fd, &rep), ==, RI_SUCCESS);
	g_assert_cmpuint(rep.stag & 0xff, ==, 0x77);
	g_assert_cmpint(fake_dmabuf.fd, ==, fd);
	g_assert_cmpuint(fake_dmabuf.offset, ==, good.offset);
	g_assert_cmpuint(fake_dmabuf_init.addr, ==, good.addr);
	g_assert_cmpuint(fake_dmabuf_init.length, ==, good.length);
	g_assert_cmpuint(fake_dmabuf_init.access, ==, 63);
	g_assert_true(fake_dmabuf_init.shareable);
	g_assert_null(fake_dmabuf_init.pages);
	g_assert_cmpint(fixture_id(&f, KAL_PD_DESTROY, f.pd), ==, RI_ERR_BUSY);
	g_assert_cmpint(fixture_id(&f, KAL_MR_DEREG, rep.id), ==, RI_SUCCESS);
	g_assert_cmpint(fcntl(fd, F_GETFD), ==, FD_CLOEXEC);
	/* One that is left ends with the client. */
	g_assert_cmpint(reg(&f, &req, fd, &rep), ==, RI_SUCCESS);
}

static void
test_refused(void)
{
	struct fixture f;
	struct kal_dmabuf_req req = good;
	struct kal_mr_rep rep;

	fake_reset();
	f = fixture_open();
	req.pd = f.pd;
	g_assert_cmpint(reg(&f, &req, 0, &rep), ==, RI_ERR_UNSUPPORTED);
	fixture_close(&f);
	fake_attr.dmabuf = true;
	fake_attr.max_mr_length = 1000;
	f = fixture_open();
	req.pd = 0;
	g_assert_cmpint(reg(&f, &req, 0, &rep), ==, RI_ERR_INVALID_HANDLE);
	req.pd = f.cq;
	g_assert_cmpint(reg(&f, &req, 0, &rep), ==, RI_ERR_INVALID_HANDLE);
	req.pd = f.pd;
	g_assert_cmpint(reg(&f, &req, -1, &rep), ==, RI_ERR_INVALID_ARG);
	req.length = 1001;
	g_assert_cmpint(reg(&f, &req, 0, &rep), ==, RI_ERR_LIMIT);
	req.length = 1000;
	g_assert_cmpint(reg(&f, &req, 0, &rep), ==, RI_SUCCESS);
	fake_fail_create = RI_ERR_ADDRESS;
	g_assert_cmpint(reg(&f, &req, 0, &rep), ==, RI_ERR_ADDRESS);
	fixture_close(&f);
	fake_reset();
}

/* Values that a member cannot have; each alone. */
static void
test_odd(void)
{
	struct fixture f;
	struct kal_dmabuf_req req = good;
	struct kal_mr_rep rep;

	fake_reset();
	fake_attr.dmabuf = true;
	f = fixture_open();
	req.pd = f.pd;
	req.shareable = 2;
	g_assert_cmpint(reg(&f, &req, 0, &rep), ==, RI_ERR_INVALID_ARG);
	req.shareable = 0;
	g_assert_cmpint(reg(&f, &req, 0, &rep), ==, RI_SUCCESS);
	g_assert_false(fake_dmabuf_init.shareable);
	req.access = 64;
	g_assert_cmpint(reg(&f, &req, 0, &rep), ==, RI_ERR_INVALID_ARG);
	req.access = 3;
	req.reserved = 1;
	g_assert_cmpint(reg(&f, &req, 0, &rep), ==, RI_ERR_INVALID_ARG);
	req.reserved = 0;
	req.reserved2 = 1;
	g_assert_cmpint(reg(&f, &req, 0, &rep), ==, RI_ERR_INVALID_ARG);
	req.reserved2 = 0;
	g_assert_cmpint(reg(&f, &req, 0, &rep), ==, RI_SUCCESS);
	fixture_close(&f);
	fake_reset();
}

/* Its bytes count against the limit of registered memory; a refusal counts nothing. */
static void
test_counted(void)
{
	struct fixture f;
	struct kal_dmabuf_req req = good;
	struct kal_mr_rep rep, second;

	fake_reset();
	fake_attr.dmabuf = true;
	fixture_config("[limits.client]\nmemory=1000\n");
	f = fixture_open();
	req.pd = f.pd;
	fake_fail_create = RI_ERR_RESOURCES;
	g_assert_cmpint(reg(&f, &req, 0, &rep), ==, RI_ERR_RESOURCES);
	fake_fail_create = RI_SUCCESS;
	g_assert_cmpint(reg(&f, &req, 0, &rep), ==, RI_SUCCESS);
	g_assert_cmpint(reg(&f, &req, 0, &second), ==, RI_ERR_RESOURCES);
	g_assert_cmpint(fixture_id(&f, KAL_MR_DEREG, rep.id), ==, RI_SUCCESS);
	req.length = 1000;
	g_assert_cmpint(reg(&f, &req, 0, &rep), ==, RI_SUCCESS);
	fixture_close(&f);
	fixture_config(NULL);
	fake_reset();
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	fake_register();
	g_test_add_func("/kal/dmabuf/passed-on", test_passed_on);
	g_test_add_func("/kal/dmabuf/refused", test_refused);
	g_test_add_func("/kal/dmabuf/odd", test_odd);
	g_test_add_func("/kal/dmabuf/counted", test_counted);
	return g_test_run();
}
