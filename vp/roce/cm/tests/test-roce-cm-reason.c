/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Every reason of a REJ and every status of a SIDR_REP, and the way back. The list is the test's own. */
#include <glib.h>

#include "vrc_reason.h"

static const struct {
	guint rej;
	enum ri_cm_reason reason;
} meanings[] = {
	{1, RI_CM_REASON_RESOURCES},   {2, RI_CM_REASON_RESOURCES},  {3, RI_CM_REASON_RESOURCES},
	{4, RI_CM_REASON_TIMEOUT},     {5, RI_CM_REASON_BAD_PARAMS}, {8, RI_CM_REASON_REFUSED},
	{9, RI_CM_REASON_BAD_PARAMS},  {10, RI_CM_REASON_STALE},     {12, RI_CM_REASON_BAD_PATH},
	{13, RI_CM_REASON_BAD_PATH},   {14, RI_CM_REASON_BAD_PATH},  {15, RI_CM_REASON_BAD_PATH},
	{16, RI_CM_REASON_BAD_PATH},   {17, RI_CM_REASON_BAD_PATH},  {26, RI_CM_REASON_BAD_PATH},
	{27, RI_CM_REASON_BAD_ORD},    {28, RI_CM_REASON_CONSUMER},  {29, RI_CM_REASON_BAD_PARAMS},
	{31, RI_CM_REASON_BAD_PARAMS}, {32, RI_CM_REASON_BAD_PATH},
};

static void
test_rej(void)
{
	for (guint rej = 0; rej <= G_MAXUINT16; rej++) {
		enum ri_cm_reason want = RI_CM_REASON_OTHER;
		for (gsize i = 0; i < G_N_ELEMENTS(meanings); i++)
			want = meanings[i].rej == rej ? meanings[i].reason : want;
		g_assert_cmpint(vrc_reason_of_rej((uint16_t)rej), ==, want);
	}
}

/* What a peer of the same code hears is what was said; only OTHER has no number of its own. */
static void
test_back(void)
{
	for (guint reason = RI_CM_REASON_TIMEOUT; reason <= RI_CM_REASON_REFUSED; reason++)
		g_assert_cmpint(vrc_reason_of_rej(vrc_rej_of_reason((enum ri_cm_reason)reason)), ==,
				reason);
	g_assert_cmpuint(vrc_rej_of_reason(RI_CM_REASON_OTHER), ==, 5);
	g_assert_cmpuint(vrc_rej_of_reason(RI_CM_REASON_CONSUMER), ==, 28);
	g_assert_cmpuint(vrc_rej_of_reason(RI_CM_REASON_REFUSED), ==, 8);
}

static void
test_sidr(void)
{
	static const enum ri_service_status want[] = {RI_SERVICE_FOUND, RI_SERVICE_UNKNOWN,
						      RI_SERVICE_REJECTED, RI_SERVICE_NO_QP,
						      RI_SERVICE_REDIRECTED};

	for (guint status = 0; status < 256; status++)
		g_assert_cmpint(vrc_service_status_of_sidr((uint8_t)status), ==,
				status < G_N_ELEMENTS(want) ? want[status] : RI_SERVICE_REJECTED);
	for (guint status = 0; status < RI_SERVICE_STATUS_COUNT; status++)
		g_assert_cmpuint(vrc_service_status_of_sidr(vrc_sidr_of_service_status(status)), ==,
				 status);
	g_assert_cmpuint(vrc_sidr_of_service_status(RI_SERVICE_STATUS_COUNT), ==, 2);
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/roce/cm/reason/rej", test_rej);
	g_test_add_func("/roce/cm/reason/back", test_back);
	g_test_add_func("/roce/cm/reason/sidr", test_sidr);
	return g_test_run();
}
