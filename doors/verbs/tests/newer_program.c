/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * A program that was compiled with a later libibverbs than the door: its struct verbs_context has
 * operations that the door's lacks, its structs are longer, and it sets bits that the door does not
 * know. A call that needs a new feature must be refused, or must ignore the new part; everything
 * else must work. The program prints each deviation, and then ends with status 1.
 */
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define UNKNOWN_BIT 0x40000000u

/* Operations of a later release stand before those of today. */
struct newer_context {
	int (*newest)(struct ibv_context *context);
	int (*newer)(struct ibv_context *context);
	struct verbs_context known;
};

struct newer_device_attr {
	struct ibv_device_attr_ex known;
	uint64_t added[8];
};

static int failures;

static void
check(int condition, const char *what)
{
	if (condition)
		return;
	printf("%s: %s\n", what, strerror(errno));
	failures++;
}

/* A request with a bit that the door does not know. */
static int
refused(const void *object)
{
	return object == NULL && (errno == EOPNOTSUPP || errno == EINVAL);
}

/* As verbs_get_ctx_op() looks for an operation. */
static void
check_operations(struct ibv_context *context)
{
	/* By its address as a number: the compiler would see that the object is smaller, which is the point. */
	uintptr_t known = (uintptr_t)verbs_get_ctx(context);
	struct newer_context *own =
		(struct newer_context *)(known - offsetof(struct newer_context, known));
	size_t size = own->known.sz;

	check(context->abi_compat == __VERBS_ABI_IS_EXTENDED, "no extended context");
	check(size < sizeof(*own) - offsetof(struct newer_context, newer),
	      "the context claims an operation that the door cannot know");
	check(size >= sizeof(own->known), "the context lacks operations of this release");
}

static void
check_device(struct ibv_context *context)
{
	const struct ibv_query_device_ex_input odd = {.comp_mask = UNKNOWN_BIT};
	struct verbs_context *verbs = verbs_get_ctx(context);
	struct newer_device_attr attr;
	struct ibv_device_attr plain;
	int status;

	memset(&attr, 0xa5, sizeof(attr));
	status = verbs->query_device_ex(context, NULL, &attr.known, sizeof(attr));
	check(status == 0, "query_device_ex with a longer struct");
	for (size_t i = 0; i < 8; i++)
		check(attr.added[i] == 0, "query_device_ex leaves octets of a longer struct unset");
	check(ibv_query_device(context, &plain) == 0 &&
		      /* NOLINTNEXTLINE(bugprone-suspicious-memory-comparison,cert-*): the padding is written, too */
		      memcmp(&plain, &attr.known.orig_attr, sizeof(plain)) == 0,
	      "ibv_query_device is not query_device_ex");
	status = verbs->query_device_ex(context, &odd, &attr.known, sizeof(attr.known));
	check(status == EINVAL || status == EOPNOTSUPP, "query_device_ex with an unknown bit");
}

static void
check_objects(struct ibv_context *context)
{
	struct ibv_cq_init_attr_ex cq_attr = {.cqe = 16, .comp_mask = UNKNOWN_BIT};
	struct ibv_pd *pd = ibv_alloc_pd(context);
	struct ibv_cq *cq = ibv_create_cq(context, 16, NULL, NULL, 0);
	struct ibv_qp_init_attr_ex qp_attr = {
		.qp_type = IBV_QPT_RC,
		.send_cq = cq,
		.recv_cq = cq,
		.pd = pd,
		.comp_mask = IBV_QP_INIT_ATTR_PD | UNKNOWN_BIT,
		.cap = {.max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1}};
	struct ibv_srq_init_attr_ex srq_attr = {.pd = pd,
						.attr = {.max_wr = 4, .max_sge = 1},
						.comp_mask = IBV_SRQ_INIT_ATTR_PD | UNKNOWN_BIT};
	struct ibv_parent_domain_init_attr parent = {.pd = pd, .comp_mask = UNKNOWN_BIT};
	struct ibv_td_init_attr td_attr = {.comp_mask = UNKNOWN_BIT};
	struct ibv_cq_ex *cq_ex;
	struct ibv_qp *qp;

	check(pd != NULL && cq != NULL, "the objects of a program");
	check(refused(ibv_create_cq_ex(context, &cq_attr)), "ibv_create_cq_ex with an unknown bit");
	cq_attr.comp_mask = 0;
	cq_attr.wc_flags = UINT64_C(1) << 40;
	check(refused(ibv_create_cq_ex(context, &cq_attr)),
	      "ibv_create_cq_ex with an unknown field");
	cq_attr.wc_flags = IBV_WC_STANDARD_FLAGS;
	cq_ex = ibv_create_cq_ex(context, &cq_attr);
	check(cq_ex != NULL, "ibv_create_cq_ex");
	check(refused(ibv_create_qp_ex(context, &qp_attr)), "ibv_create_qp_ex with an unknown bit");
	qp_attr.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
	qp_attr.send_ops_flags = UINT64_C(1) << 40;
	check(refused(ibv_create_qp_ex(context, &qp_attr)),
	      "ibv_create_qp_ex with an unknown operation");
	qp_attr.send_ops_flags = IBV_QP_EX_WITH_SEND;
	qp = ibv_create_qp_ex(context, &qp_attr);
	check(qp != NULL && ibv_qp_to_qp_ex(qp) != NULL, "ibv_create_qp_ex");
	check(refused(ibv_create_srq_ex(context, &srq_attr)),
	      "ibv_create_srq_ex with an unknown bit");
	check(refused(ibv_alloc_parent_domain(context, &parent)),
	      "ibv_alloc_parent_domain with an unknown bit");
	check(refused(ibv_alloc_td(context, &td_attr)), "ibv_alloc_td with an unknown bit");
	check(refused(ibv_reg_mr(pd, &parent, sizeof(parent), (int)UNKNOWN_BIT)),
	      "ibv_reg_mr with an unknown right");
	check((qp == NULL || ibv_destroy_qp(qp) == 0) &&
		      (cq_ex == NULL || ibv_destroy_cq(ibv_cq_ex_to_cq(cq_ex)) == 0) &&
		      ibv_destroy_cq(cq) == 0 && ibv_dealloc_pd(pd) == 0,
	      "the objects cannot be destroyed");
}

int
main(void)
{
	int count = 0;
	struct ibv_device **list = ibv_get_device_list(&count);

	check(count > 0, "no device");
	for (int i = 0; i < count; i++) {
		struct ibv_context *context = ibv_open_device(list[i]);

		check(context != NULL, "ibv_open_device");
		if (context == NULL)
			continue;
		check_operations(context);
		check_device(context);
		check_objects(context);
		check(ibv_close_device(context) == 0, "ibv_close_device");
	}
	ibv_free_device_list(list);
	return failures == 0 ? 0 : 1;
}
