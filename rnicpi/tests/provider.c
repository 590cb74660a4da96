/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * A provider as a shared object, for the tests of the loader. Compiled once for each KIND: a valid
 * one, one of an older version, one of a later version, and several with one fault each. Its
 * entries are only checked, never called.
 */

#include "rnicpi.h"

#define GOOD        0
#define OLD         1 /* as of version 1.1: shorter structs, and entries behind what it knew do not exist */
#define FUTURE      2 /* longer structs: entries that we do not know */
#define BAD_MAJOR   3
#define BAD_SIZE    4
#define NO_NAME     5
#define BAD_NAME    6
#define NO_TABLE    7
#define SMALL_TABLE 8
#define NO_MEMBER   9
#define NO_PROVIDER 10 /* cannot run here */
#define NO_ENTRY    11 /* exports something else */
#define SAME_NAME   12
#define BAD_SETTING 13 /* a default that is none of its values */

#ifndef KIND
#define KIND GOOD
#endif

static void
never(void)
{
}

#define ENTRY(type, member) .member = (__typeof__(((struct type *)0)->member))(void (*)(void))never

static const struct ri_device_ops device_ops = {
	.size = KIND == OLD ? offsetof(struct ri_device_ops, route) : sizeof(device_ops),
	ENTRY(ri_device_ops, probe),
	ENTRY(ri_device_ops, open),
	ENTRY(ri_device_ops, close),
	ENTRY(ri_device_ops, query),
	ENTRY(ri_device_ops, query_port),
	ENTRY(ri_device_ops, context_create),
	ENTRY(ri_device_ops, context_destroy),
	/* With OLD this is beyond the size, and must not be seen. */
	ENTRY(ri_device_ops, route),
};
static const struct ri_pd_ops pd_ops = {
	.size = sizeof(pd_ops), ENTRY(ri_pd_ops, create), ENTRY(ri_pd_ops, destroy)};
static const struct ri_cq_ops cq_ops = {.size = KIND == SMALL_TABLE ? 4 : sizeof(cq_ops),
					ENTRY(ri_cq_ops, create),
					ENTRY(ri_cq_ops, resize),
					ENTRY(ri_cq_ops, destroy)};
static const struct ri_qp_ops qp_ops = {
	.size = sizeof(qp_ops),
	ENTRY(ri_qp_ops, create),
#if KIND != NO_MEMBER
	ENTRY(ri_qp_ops, modify),
#endif
	ENTRY(ri_qp_ops, query),
	ENTRY(ri_qp_ops, destroy),
};
static const struct ri_mem_ops mem_ops = {
	.size = KIND == OLD ? offsetof(struct ri_mem_ops, mr_reg_dmabuf) : sizeof(mem_ops),
	ENTRY(ri_mem_ops, mr_reg),
	ENTRY(ri_mem_ops, mr_rereg),
	ENTRY(ri_mem_ops, mr_query),
	ENTRY(ri_mem_ops, mr_dereg),
#if KIND == OLD
	/* Beyond the size, too. */
	ENTRY(ri_mem_ops, mr_reg_dmabuf),
#endif
};
static const struct ri_llp_ops llp_ops = {
	.size = sizeof(llp_ops), ENTRY(ri_llp_ops, reserve), ENTRY(ri_llp_ops, attach_stream)};
static const struct ri_user_ops user_ops = {
	.size = KIND == OLD ? offsetof(struct ri_user_ops, srq_open) : sizeof(user_ops),
	ENTRY(ri_user_ops, rnic_open),
	ENTRY(ri_user_ops, rnic_close),
	ENTRY(ri_user_ops, cq_open),
	ENTRY(ri_user_ops, cq_remap),
	ENTRY(ri_user_ops, cq_close),
	ENTRY(ri_user_ops, qp_open),
	ENTRY(ri_user_ops, qp_close),
};

/* The fast table is the one that later versions grew. */
static const struct {
	struct ri_fast_ops known;
	void (*unknown[3])(void);
} fast_ops = {
	.known = {.size = KIND == FUTURE ? sizeof(fast_ops) : sizeof(struct ri_fast_ops),
		  ENTRY(ri_fast_ops, post_sq),
		  ENTRY(ri_fast_ops, post_rq),
		  ENTRY(ri_fast_ops, flush_sq),
		  ENTRY(ri_fast_ops, poll_cq),
		  ENTRY(ri_fast_ops, cq_depth),
		  ENTRY(ri_fast_ops, arm_cq)},
	.unknown = {never, never, never},
};

static const struct ri_setting settings[] = {
	{.name = "ITAPI_TEST_COLOUR",
	 .meaning = "for the tests of the loader",
	 .kind = RI_SETTING_WORD,
	 .form = "red|blue",
	 .preset = KIND == BAD_SETTING ? "green" : "blue"},
};

static const struct ri_provider provider = {
	.abi_major = KIND == BAD_MAJOR ? RI_ABI_MAJOR + 1 : RI_ABI_MAJOR,
	.abi_minor = KIND == FUTURE ? RI_ABI_MINOR + 7
		     : KIND == OLD  ? 1
				    : RI_ABI_MINOR,
	/* Version 1.1 ended before the settings. */
	.size = KIND == BAD_SIZE ? 8
		: KIND == OLD    ? offsetof(struct ri_provider, settings)
				 : sizeof(provider),
	.name = KIND == NO_NAME    ? NULL
		: KIND == BAD_NAME ? "two words"
		: KIND == OLD      ? "old"
		: KIND == FUTURE   ? "future"
				   : "good",
	.description = "for the tests of the loader",
	.device = &device_ops,
	.pd = KIND == NO_TABLE ? NULL : &pd_ops,
	.cq = &cq_ops,
	.qp = &qp_ops,
	.mem = &mem_ops,
	.llp = &llp_ops,
	.user = &user_ops,
	.fast = &fast_ops.known,
	.settings = settings,
	.num_settings = sizeof(settings) / sizeof(settings[0]),
	.setting_size = sizeof(settings[0]),
};

#if KIND == NO_ENTRY
#define ri_provider_entry something_else
#endif
const struct ri_provider *ri_provider_entry(void) __attribute__((visibility("default")));

const struct ri_provider *
ri_provider_entry(void)
{
	return KIND == NO_PROVIDER ? NULL : &provider;
}
