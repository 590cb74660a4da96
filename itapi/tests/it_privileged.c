/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include "it_privileged.h"

#include <errno.h>
#include <linux/capability.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A mount of this thread alone, over the deepest folder of the file's path that exists. */
static void
place_make(void)
{
	g_autofree char *folder = g_path_get_dirname(POLICY_FILE);
	char *base = g_strdup(folder);

	while (!g_file_test(base, G_FILE_TEST_IS_DIR)) {
		char *above = g_path_get_dirname(base);

		g_free(base);
		base = above;
	}
	if ((unshare(CLONE_NEWNS) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) ||
	    mount("none", "/", "", MS_REC | MS_PRIVATE, NULL) != 0 ||
	    mount("policy", base, "tmpfs", 0, "mode=755") != 0) {
		printf("1..0 # SKIP no mount over %s: %s\n", base, g_strerror(errno));
		exit(77);
	}
	g_assert_cmpint(g_mkdir_with_parents(folder, 0755), ==, 0);
	g_free(base);
}

void
policy_set(const char *text)
{
	static bool made;

	if (!made)
		place_make();
	made = true;
	(void)unlink(POLICY_FILE);
	if (text != NULL)
		g_assert_true(g_file_set_contents(POLICY_FILE, text, -1, NULL));
}

void
policy_for_all(void)
{
	g_autofree char *text =
		g_strdup_printf("[policy]\nprivileged-uids = %u\n", (unsigned)getuid());

	policy_set(text);
}

bool
capability_set(bool on)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2] = {{0}, {0}};
	const uint32_t bit = 1u << CAP_NET_ADMIN;

	g_assert_cmpint(syscall(SYS_capget, &head, data), ==, 0);
	if (on && (data[0].permitted & bit) == 0)
		return false;
	data[0].effective = on ? data[0].effective | bit : data[0].effective & ~bit;
	g_assert_cmpint(syscall(SYS_capset, &head, data), ==, 0);
	return true;
}

/* The claim of the first part that is not claimed; NULL: all are. */
static const char *
part_lacking(unsigned parts)
{
	static const char *const claims[] = {"privileged_ops", "fast_register",  "direct_stag",
					     "reg_page_list",  "reg_block_list", "reg_ve_list"};

	for (size_t i = 0; i < G_N_ELEMENTS(claims); i++) {
		if ((parts & (1u << i)) != 0 && pair_claim(claims[i]) == 0)
			return claims[i];
	}
	return NULL;
}

bool
privileged_has(unsigned parts)
{
	return part_lacking(parts) == NULL;
}

bool
privileged_needs(unsigned parts)
{
	const char *claim = part_lacking(parts);

	if (claim != NULL)
		pair_inapplicable("%s is not claimed", claim);
	return claim == NULL;
}

void
privileged_establish(struct pair *pair)
{
	pair->active.attr.priv_ops_enable = IT_TRUE;
	pair->passive.attr.priv_ops_enable = IT_TRUE;
	end_new_ep(&pair->active);
	end_new_ep(&pair->passive);
	pair_establish(pair);
}

/* --- memory ------------------------------------------------------------------------------ */

void
pieces_make(struct pieces *pieces)
{
	memset(pieces, 0, sizeof(*pieces));
	pieces->size = (size_t)sysconf(_SC_PAGESIZE);
	pieces->range = aligned_alloc(pieces->size, 2 * PIECES * pieces->size);
	g_assert_nonnull(pieces->range);
	memset(pieces->range, 0xee, 2 * PIECES * pieces->size);
	for (size_t i = 0; i < PIECES; i++) {
		/* Pages in descending order, so that no code can take them for one range. */
		size_t page = 2 * ((i * 3) % PIECES);

		pieces->start[i] = (it_io_addr_t)(void *)(pieces->range + page * pieces->size);
		pieces->each[i].io_addr = pieces->start[i];
		pieces->each[i].elt_len = pieces->size;
	}
	pieces->iobl.iobl_type = IT_IOBL_PAGE_LIST;
	pieces->iobl.list.ce_list.list_elt = pieces->start;
	pieces->iobl.list.ce_list.elt_len = pieces->size;
	pieces->iobl.num_elts = PIECES;
}

void
pieces_free(struct pieces *pieces)
{
	free(pieces->range);
}

unsigned char *
pieces_at(const struct pieces *pieces, size_t at)
{
	bool one_size = pieces->iobl.iobl_type != IT_IOBL_VE_PAGE_LIST;
	size_t offset = at + pieces->iobl.fbo;

	for (size_t i = 0; i < pieces->iobl.num_elts; i++) {
		size_t size =
			one_size ? pieces->iobl.list.ce_list.elt_len : pieces->each[i].elt_len;

		if (offset < size)
			return (unsigned char *)pieces->start[i] + offset;
		offset -= size;
	}
	g_assert_not_reached();
}

static unsigned char
pattern(size_t at, unsigned seed)
{
	return (unsigned char)(at * 31 + (at >> 8) * 7 + seed);
}

void
pieces_fill(struct pieces *pieces, size_t at, size_t length, unsigned seed)
{
	for (size_t i = 0; i < length; i++)
		*pieces_at(pieces, at + i) = pattern(i, seed);
}

void
pieces_check(const struct pieces *pieces, size_t at, size_t length, unsigned seed)
{
	for (size_t i = 0; i < length; i++)
		g_assert_cmphex(*pieces_at(pieces, at + i), ==, pattern(i, seed));
}

void
pattern_fill(unsigned char *to, size_t length, unsigned seed)
{
	for (size_t i = 0; i < length; i++)
		to[i] = pattern(i, seed);
}

void
pattern_check(const unsigned char *from, size_t length, unsigned seed)
{
	for (size_t i = 0; i < length; i++)
		g_assert_cmphex(from[i], ==, pattern(i, seed));
}
