/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* RDMA Reads into windows: border cases that model and adapters must agree on. */
#include <string.h>

#include "df_case.h"

/* Endpoint 0 has window 0 onto octets 1000 to 1999 of its arena. */
#define WINDOW(privs)                                          \
	"lmr-create obj=0 pz=0 off=0 len=8192 privs=31\n"      \
	"lmr-create obj=1 pz=1 off=0 len=8192 privs=31\n"      \
	"ep-create ep=0 pz=0 sq=4 rq=4 ird=4 ord=4 enable=8\n" \
	"ep-create ep=1 pz=1 sq=4 rq=4 ird=4 ord=4 enable=8\n" \
	"connect ep=0 peer=1\n"                                \
	"rmr-create obj=0 pz=0 how=1\n"                        \
	"rmr-link obj=0 lmr=0 off=1000 len=1000 privs=" privs " ep=0 flags=1\n"

static void
expect_octets(struct df_case *one)
{
	const struct df_seen_settle *last = DF_SEEN(one->record, one->record->settles->len - 1);

	g_assert_cmpint(df_case_seen(one, true, 1)->status, ==, IT_DTO_SUCCESS);
	g_assert_cmpmem(last->memory[0] + 1400, 600, last->memory[1] + 50, 600);
	last->memory[0][1400] ^= 1;
	df_case_object(one, "octet 1400 of node 0");
}

/* The window's last octet is the Read's last one. */
static void
test_inside(void)
{
	df_case_agree(WINDOW("12") "read-to-rmr ep=0 obj=0 a=400 len=600 flags=1 off=50 key=l1\n",
		      DF_HAS(local_extensions), expect_octets);
}

static void
expect_protection(struct df_case *one)
{
	struct df_seen_wr *seen;
	unsigned last = 0;

	g_assert_cmpuint(one->record->wrs->len, >, 0);
	for (unsigned i = 0; i < one->record->wrs->len; i++) {
		if (DF_SEEN_WR(one->record, i)->event == IT_DTO_RDMA_READ_CMPL_EVENT)
			last = i;
	}
	seen = DF_SEEN_WR(one->record, last);
	g_assert_cmpint(seen->event, ==, IT_DTO_RDMA_READ_CMPL_EVENT);
	g_assert_cmpint(seen->status, !=, IT_DTO_SUCCESS);
	seen->status = IT_DTO_SUCCESS;
	df_case_object(one, "wrong status");
}

static void
test_faults(void)
{
	/* One octet too long; one too early; a window that permits reading only; one that is not linked. */
	df_case_agree(WINDOW("12") "read-to-rmr ep=0 obj=0 a=401 len=600 flags=1 key=l1\n",
		      DF_HAS(local_extensions), expect_protection);
	df_case_agree(WINDOW("12") "read-to-rmr ep=0 obj=0 a=-1 len=600 flags=1 key=l1\n",
		      DF_HAS(local_extensions), expect_protection);
	df_case_agree(WINDOW("4") "read-to-rmr ep=0 obj=0 a=0 len=600 flags=1 key=l1\n",
		      DF_HAS(local_extensions), expect_protection);
	df_case_agree(WINDOW("12") "rmr-unlink obj=0 ep=0 flags=1\n"
				   "read-to-rmr ep=0 obj=0 a=0 len=600 flags=1 key=l1\n",
		      DF_HAS(narrow_unlink), NULL);
}

/* A window is of the endpoint through which it was linked. */
static void
test_other_endpoint(void)
{
	df_case_agree(WINDOW("12") "ep-create ep=2 pz=0 sq=4 rq=4 ird=4 ord=4 enable=8\n"
				   "ep-create ep=3 pz=1 sq=4 rq=4 ird=4 ord=4 enable=8\n"
				   "connect ep=2 peer=3\n"
				   "read-to-rmr ep=2 obj=0 a=0 len=600 flags=1 key=l1\n",
		      DF_HAS(local_extensions), expect_protection);
}

static void
expect_unlinked(struct df_case *one)
{
	struct df_seen_wr *seen = df_case_seen(one, true, 1);

	g_assert_cmpint(seen->unlinked, ==, -1);
	seen->unlinked = 0;
	df_case_object(one, "wrong handle unlinked");
}

static void
test_unlinked(void)
{
	df_case_agree(WINDOW("12") "read-to-rmr ep=0 obj=0 a=0 len=600 flags=33 key=l1\n"
				   "ep-free ep=0\n",
		      DF_HAS(local_extensions), expect_unlinked);
}

static void
expect_refusals(struct df_case *one)
{
	unsigned last = one->record->steps->len - 1;

	for (unsigned i = last - 1; i <= last; i++)
		g_assert_cmpint(DF_SEEN_STEP(one->record, i)->answer, ==, IT_ERR_INVALID_RMR);
}

/* No window, and one of another adapter. */
static void
test_handles(void)
{
	df_case_agree(WINDOW("12") "rmr-create obj=1 pz=1 how=1\n"
				   "read-to-rmr ep=0 obj=2 a=0 len=600 flags=1 key=l1\n"
				   "read-to-rmr ep=0 obj=1 a=0 len=600 flags=1 key=l1\n",
		      DF_HAS(local_extensions), expect_refusals);
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/differential/windows/inside", test_inside);
	g_test_add_func("/differential/windows/faults", test_faults);
	g_test_add_func("/differential/windows/other-endpoint", test_other_endpoint);
	g_test_add_func("/differential/windows/unlinked", test_unlinked);
	g_test_add_func("/differential/windows/handles", test_handles);
	return g_test_run();
}
