/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The profile of the adapter under test, as its provider claims it (struct ri_rnic_attr). it_ia_query() has no member for
 * many claims, and a test must not infer them from the transport or from the name of the adapter.
 *
 * it-certify has read the profile and passes it in ITAPI_TEST_CLAIMS, "name=value" with spaces between. If that
 * variable is not set, the claims come from it-certify-cases, which lies beside the test program or in the folder of
 * the build.
 */
#ifndef IT_CLAIMS_H
#define IT_CLAIMS_H

#include <stdbool.h>
#include <stdint.h>

/* The value of an attribute of the profile; 0 and 1 of a yes or no. The test fails if there is no such attribute. */
uint64_t claim_value(const char *adapter, const char *attribute);
/* Has it-certify passed the claims? */
bool claims_given(void);

#endif /* IT_CLAIMS_H */
