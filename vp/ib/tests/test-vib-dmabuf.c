/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Regions of a dmabuf over a device that the test plays (vib_device.h). The address of their first byte in the process
 * belongs to pages without access rights, so an access there ends the test.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "vib_cq.h"
#include "vib_data.h"
#include "vib_dmabuf.h"
#include "vib_post.h"

#define ALL                                                                     \
	(RI_ACCESS_LOCAL_READ | RI_ACCESS_LOCAL_WRITE | RI_ACCESS_REMOTE_READ | \
	 RI_ACCESS_REMOTE_WRITE | RI_ACCESS_BIND)
#define PAGES 4u

struct setting {
	struct device *d;
	size_t page;
	int fd;          /* as large as the dmabuf */
	void *forbidden; /* where nothing may be touched */
	struct ri_mr_init init;
};

static void
setting_new(struct setting *s)
{
	s->d = device_new();
	s->page = (size_t)sysconf(_SC_PAGESIZE);
	s->fd = memfd_create("test-vib-dmabuf", MFD_CLOEXEC);
	g_assert_cmpint(s->fd, >=, 0);
	g_assert_cmpint(ftruncate(s->fd, (off_t)(PAGES * s->page)), ==, 0);
	s->forbidden = mmap(NULL, PAGES * s->page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	g_assert_true(s->forbidden != MAP_FAILED);
	s->init = (struct ri_mr_init){
		.addr = (uintptr_t)s->forbidden, .length = 2 * s->page, .access = ALL};
}

static void
setting_free(struct setting *s)
{
	munmap(s->forbidden, PAGES * s->page);
	/* The provider has closed no descriptor of the caller. */
	g_assert_cmpint(fcntl(s->fd, F_GETFD), ==, FD_CLOEXEC);
	close(s->fd);
	device_free(&s->d);
}

static enum ri_status
reg(const struct setting *s, uint64_t offset, struct data_region *region)
{
	const struct ri_dmabuf from = {.fd = s->fd, .offset = offset};

	return vib_mem_ops.mr_reg_dmabuf(s->d->pd, &s->init, &from, &region->mr, &region->stag);
}

/* A region, and a segment at its beginning. */
static void
reg_good(const struct setting *s, struct data_region *region, uint32_t length)
{
	g_assert_cmpint(reg(s, s->page, region), ==, RI_SUCCESS);
	region->sge = (struct ri_sge){.addr = s->init.addr, .length = length, .stag = region->stag};
}

/* Only one answer shows that the device looks at the descriptor. */
static void
test_claim(void)
{
	static const struct {
		int answer;
		bool works;
	} rows[] = {{EBADF, true},   {EOPNOTSUPP, false}, {EPROTONOSUPPORT, false},
		    {EINVAL, false}, {EIO, false},        {ENOMEM, false},
		    {0, false}};
	struct device *d RI_AT_END(device_free) = device_new();

	for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
		g_test_message("errno %d", rows[i].answer);
		d->dmabuf_probe = rows[i].answer;
		g_assert_cmpint(vib_dmabuf_works(&d->verbs), ==, rows[i].works);
	}
	d->dmabuf_probe = EBADF;
	d->create_error = ENOMEM; /* no domain for the question */
	g_assert_false(vib_dmabuf_works(&d->verbs));
	d->create_error = 0;
}

static void
test_register(void)
{
	struct setting s RI_AT_END(setting_free);
	struct data_region region RI_AT_END(data_region_free);
	struct ri_mr_attr attr;

	setting_new(&s);
	s.init.addr += 24;
	s.init.length -= 100;
	g_assert_cmpint(reg(&s, s.page + 24, &region), ==, RI_SUCCESS);
	g_assert_cmpint(s.d->dmabuf.fd, ==, s.fd);
	g_assert_cmpuint(s.d->dmabuf.offset, ==, s.page + 24);
	g_assert_cmpuint(s.d->dmabuf_addr, ==, s.init.addr);
	g_assert_cmpuint(s.d->dmabuf_access, ==,
			 IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE |
				 IBV_ACCESS_MW_BIND);
	g_assert_cmpuint(region.stag, !=, 0);
	g_assert_cmpint(vib_mem_ops.mr_query(region.mr, &attr), ==, RI_SUCCESS);
	g_assert_cmpuint(attr.stag, ==, region.stag);
	g_assert_cmpuint(attr.addr, ==,
			 s.init.addr); /* not that of libibverbs, which is the offset */
	g_assert_cmpuint(attr.length, ==, s.init.length);
	g_assert_cmpuint(attr.access, ==, ALL);
	g_assert_true(attr.valid);
	g_assert_cmpint(vib_pd_ops.destroy(s.d->pd), ==, RI_ERR_BUSY);
}

/* What is refused before the device is asked. */
static void
test_refused(void)
{
	const struct ri_dmabuf none = {.fd = -1};
	struct setting s RI_AT_END(setting_free);
	struct data_region region;

	setting_new(&s);
	s.d->dmabuf_error = ENOTRECOVERABLE; /* it must not come so far */
	g_assert_cmpint(
		vib_mem_ops.mr_reg_dmabuf(s.d->pd, &s.init, &none, &region.mr, &region.stag), ==,
		RI_ERR_INVALID_ARG);
	g_assert_cmpint(reg(&s, 8, &region), ==, RI_ERR_INVALID_ARG);
	g_assert_cmpint(reg(&s, PAGES * s.page, &region), ==, RI_ERR_ADDRESS);
	g_assert_cmpint(reg(&s, (PAGES - 1) * s.page, &region), ==, RI_ERR_ADDRESS);
	g_assert_cmpint(reg(&s, UINT64_MAX - s.page + 1, &region), ==, RI_ERR_ADDRESS);
	s.init.addr = UINT64_MAX - s.page + 1;
	g_assert_cmpint(reg(&s, 0, &region), ==, RI_ERR_ADDRESS);
	s.init.addr = 0;
	s.init.length = 0;
	g_assert_cmpint(reg(&s, 0, &region), ==, RI_ERR_INVALID_ARG);
	s.init.length = s.d->rnic.attr.max_mr_length + 1;
	g_assert_cmpint(reg(&s, 0, &region), ==, RI_ERR_LIMIT);
	s.init.length = s.page;
	s.init.access = RI_ACCESS_REMOTE_WRITE | RI_ACCESS_LOCAL_READ;
	g_assert_cmpint(reg(&s, 0, &region), ==, RI_ERR_INVALID_ARG);
	s.init.access = ALL;
	s.d->rnic.attr.dmabuf = false;
	g_assert_cmpint(reg(&s, 0, &region), ==, RI_ERR_UNSUPPORTED);
	s.d->rnic.attr.dmabuf = true;
	atomic_store(&s.d->rnic.failed, true);
	g_assert_cmpint(reg(&s, 0, &region), ==, RI_ERR_FATAL);
	atomic_store(&s.d->rnic.failed, false);
}

/* What the device answers. */
static void
test_errors(void)
{
	static const struct {
		int error;
		enum ri_status status;
	} rows[] = {{EBADF, RI_ERR_INVALID_ARG},
		    {EINVAL, RI_ERR_INVALID_ARG}, /* a descriptor of something else */
		    {EACCES, RI_ERR_ACCESS},
		    {EPERM, RI_ERR_ACCESS},
		    {EOPNOTSUPP, RI_ERR_UNSUPPORTED}, /* its driver and that of the buffer */
		    {EPROTONOSUPPORT, RI_ERR_UNSUPPORTED},
		    {ENOMEM, RI_ERR_RESOURCES},
		    {EAGAIN, RI_ERR_RESOURCES},
		    {EFAULT, RI_ERR_ADDRESS},
		    {EIO, RI_ERR_FATAL}};
	struct setting s RI_AT_END(setting_free);
	struct data_region region;

	setting_new(&s);
	for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
		g_test_message("errno %d", rows[i].error);
		s.d->dmabuf_error = rows[i].error;
		g_assert_cmpint(reg(&s, 0, &region), ==, rows[i].status);
	}
	s.d->dmabuf_error = 0;
	/* Two keys, of which this interface can say only one. */
	s.d->two_keys = true;
	g_assert_cmpint(reg(&s, 0, &region), ==, RI_ERR_UNSUPPORTED);
	g_assert_cmpint(s.d->regions, ==, 0);
	s.init.access = RI_ACCESS_LOCAL_READ;
	g_assert_cmpint(reg(&s, 0, &region), ==, RI_SUCCESS);
	data_region_free(&region);
}

static void
post(struct vib_qp *qp, const struct data_region *region, const struct ri_wr *form)
{
	struct ri_wr wr = *form;

	wr.sgl = &region->sge;
	wr.num_sge = 1;
	g_assert_cmpint(vib_post_sq(&qp->user, &wr), ==, RI_SUCCESS);
}

/* A payload so short that it is copied out of other regions while it is posted is never copied out of this one. */
static void
test_not_copied(void)
{
	static const struct ri_wr forms[] = {
		{.opcode = RI_OP_SEND, .flags = RI_WR_SIGNALED},
		{.opcode = RI_OP_SEND, .flags = RI_WR_SIGNALED | RI_WR_SOLICITED},
		{.opcode = RI_OP_SEND, .flags = RI_WR_SIGNALED | RI_WR_INVALIDATE, .inv_stag = 5},
		{.opcode = RI_OP_RDMA_WRITE, .flags = RI_WR_SIGNALED},
		{.opcode = RI_OP_RDMA_WRITE, .flags = 0},
		{.opcode = RI_OP_RDMA_WRITE, .flags = RI_WR_COALESCE},
		{.opcode = RI_OP_SEND, .flags = RI_WR_SIGNALED}, /* with the one before */
	};
	struct setting s RI_AT_END(setting_free);
	struct data_region dmabuf, plain;
	struct vib_qp *qp;
	unsigned copied = 0;

	setting_new(&s);
	reg_good(&s, &dmabuf, 16);
	data_region_new(s.d, &plain, 16);
	qp = device_qp(s.d, false);
	g_assert_cmpuint(qp->user.max_inline, >=, 16);
	for (unsigned i = 0; i < G_N_ELEMENTS(forms); i++)
		post(qp, &dmabuf, &forms[i]);
	g_assert_cmpuint(s.d->sends, ==, G_N_ELEMENTS(forms));
	for (unsigned i = 0; i < s.d->sends; i++) {
		g_test_message("request %u", i);
		g_assert_cmpuint(s.d->sent[i].wr.send_flags & IBV_SEND_INLINE, ==, 0);
		g_assert_cmpuint(s.d->sent[i].sge.addr, ==, s.init.addr);
		g_assert_cmpuint(s.d->sent[i].sge.lkey, ==, dmabuf.stag);
	}
	/* The same of a usual region is copied, so the forms are those that matter. */
	for (unsigned i = 0; i < G_N_ELEMENTS(forms); i++)
		post(qp, &plain, &forms[i]);
	for (unsigned i = G_N_ELEMENTS(forms); i < s.d->sends; i++)
		copied += (s.d->sent[i].wr.send_flags & IBV_SEND_INLINE) != 0;
	g_assert_cmpuint(copied, ==, G_N_ELEMENTS(forms));
	/* Nor after a region of another kind had the row of the table. */
	data_region_free(&plain);
	data_region_free(&dmabuf);
	reg_good(&s, &dmabuf, 16);
	post(qp, &dmabuf, &forms[0]);
	g_assert_cmpuint(s.d->sent[s.d->sends - 1].wr.send_flags & IBV_SEND_INLINE, ==, 0);
	data_qp_end(&qp);
	data_region_free(&dmabuf);
}

/* The sender of a datagram is in the header that the device has written: it is not read where the memory cannot be read. */
static void
test_datagram(void)
{
	const struct ibv_wc how = {.wc_flags = IBV_WC_GRH, .src_qp = 0x55, .byte_len = 50};
	struct ri_recv_wr receive = {.wr_id = 2, .num_sge = 1};
	struct setting s RI_AT_END(setting_free);
	struct data_region dmabuf RI_AT_END(data_region_free);
	struct ri_wc wc;

	setting_new(&s);
	reg_good(&s, &dmabuf, 100);
	receive.sgl = &dmabuf.sge;
	struct vib_qp *qp RI_AT_END(data_qp_end) = device_qp(s.d, true);
	g_assert_cmpint(vib_post_rq(&qp->user, &receive), ==, RI_SUCCESS);
	device_receive(s.d, 0, &how);
	g_assert_cmpuint(vib_poll_cq(&s.d->cq->user, &wc, 1), ==, 1);
	g_assert_cmpint(wc.opcode, ==, RI_OP_RECV_UD);
	g_assert_cmpint(wc.flags & RI_WC_GRH, !=, 0);
	g_assert_cmpuint(wc.src_qpn, ==, 0x55);
	for (unsigned i = 0; i < sizeof(wc.src_addr); i++)
		g_assert_cmpuint(wc.src_addr[i], ==, 0);
}

/* A window is bound by the addresses of the region, and keeps it. */
static void
test_window(void)
{
	struct ri_wr bind = {.wr_id = 1,
			     .opcode = RI_OP_BIND_MW,
			     .flags = RI_WR_SIGNALED,
			     .u.bind = {.length = 32, .access = RI_ACCESS_REMOTE_WRITE}};
	struct ri_wr invalidate = {.wr_id = 2, .opcode = RI_OP_LOCAL_INV, .flags = RI_WR_SIGNALED};
	struct setting s RI_AT_END(setting_free);
	struct data_region dmabuf RI_AT_END(data_region_free);
	struct ri_mw *mw;

	setting_new(&s);
	reg_good(&s, &dmabuf, 0);
	struct vib_qp *qp RI_AT_END(data_qp_end) = device_qp(s.d, false);
	g_assert_cmpint(vib_mem_ops.mw_alloc(s.d->pd, RI_MW_NARROW, &mw, &bind.u.bind.mw_stag), ==,
			RI_SUCCESS);
	bind.u.bind.mr_stag = dmabuf.stag;
	bind.u.bind.addr = s.init.addr + s.init.length - 32;
	g_assert_cmpint(vib_post_sq(&qp->user, &bind), ==, RI_SUCCESS);
	g_assert_cmpuint(s.d->sends, ==, 1);
	g_assert_true(s.d->sent[0].wr.bind_mw.bind_info.mr == dmabuf.mr->mr);
	g_assert_cmpuint(s.d->sent[0].wr.bind_mw.bind_info.addr, ==, bind.u.bind.addr);
	device_complete(s.d, IBV_WC_SUCCESS);
	data_poll(s.d, 1, RI_WC_SUCCESS);
	g_assert_cmpint(vib_mem_ops.mr_dereg(dmabuf.mr), ==, RI_ERR_BUSY);
	invalidate.inv_stag = bind.u.bind.mw_stag;
	g_assert_cmpint(vib_post_sq(&qp->user, &invalidate), ==, RI_SUCCESS);
	device_complete(s.d, IBV_WC_SUCCESS);
	data_poll(s.d, 2, RI_WC_SUCCESS);
	/* One byte further it never reaches the device [RI 5.6.2]. */
	bind.u.bind.addr++;
	g_assert_cmpint(vib_post_sq(&qp->user, &bind), ==, RI_SUCCESS);
	vth_run(s.d->vth);
	g_assert_cmpuint(s.d->sends, ==, 2);
	data_poll(s.d, 1, RI_WC_MW_BIND);
	g_assert_cmpint(vib_mem_ops.mw_free(mw), ==, RI_SUCCESS);
}

/* It cannot be registered anew [RI 5.8.3]; the region stays as it is. */
static void
test_not_anew(void)
{
	const struct ri_mr_init other = {.addr = (uintptr_t)data_memory,
					 .length = sizeof(data_memory),
					 .access = RI_ACCESS_LOCAL_READ};
	struct setting s RI_AT_END(setting_free);
	struct data_region dmabuf RI_AT_END(data_region_free);
	struct ri_mr_attr attr;
	uint32_t stag = 0;

	setting_new(&s);
	reg_good(&s, &dmabuf, 0);
	g_assert_cmpint(vib_mem_ops.mr_rereg(dmabuf.mr, s.d->pd, &other, &stag), ==,
			RI_ERR_UNSUPPORTED);
	g_assert_cmpint(vib_mem_ops.mr_query(dmabuf.mr, &attr), ==, RI_SUCCESS);
	g_assert_cmpuint(attr.stag, ==, dmabuf.stag);
	g_assert_cmpuint(attr.addr, ==, s.init.addr);
	g_assert_cmpint(s.d->regions, ==, 1);
}

int
main(int argc, char **argv)
{
#ifndef VIB_HAVE_DMABUF
	g_print("1..0 # SKIP this libibverbs has no ibv_reg_dmabuf_mr\n");
	return 0;
#endif
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/ib/dmabuf/claim", test_claim);
	g_test_add_func("/ib/dmabuf/register", test_register);
	g_test_add_func("/ib/dmabuf/refused", test_refused);
	g_test_add_func("/ib/dmabuf/errors", test_errors);
	g_test_add_func("/ib/dmabuf/not-copied", test_not_copied);
	g_test_add_func("/ib/dmabuf/datagram", test_datagram);
	g_test_add_func("/ib/dmabuf/window", test_window);
	g_test_add_func("/ib/dmabuf/not-anew", test_not_anew);
	return g_test_run();
}
