/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Memory without pages cannot be registered [IT 8.4.7]. */

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "it_pair.h"

static size_t page;

/* A shared mapping of two pages of a file that has only the first one. */
static uint8_t *
map_short(int *fd)
{
	void *at;

	*fd = memfd_create("memory", MFD_CLOEXEC);
	g_assert_cmpint(*fd, >=, 0);
	g_assert_cmpint(ftruncate(*fd, (off_t)page), ==, 0);
	at = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_SHARED, *fd, 0);
	g_assert_true(at != MAP_FAILED);
	return at;
}

static it_status_t
create(const struct end *end, uint8_t *at, size_t length, it_mem_priv_t privs, it_lmr_flag_t flags,
       it_lmr_handle_t *lmr)
{
	return it_lmr_create21(end->pz, at, NULL, length, IT_ADDR_MODE_ABSOLUTE, privs, flags, 9,
			       lmr, NULL);
}

static void
test_refused(struct pair *pair)
{
	struct end *end = &pair->active;
	it_lmr_handle_t lmr = NULL;
	int fd;
	uint8_t *at = map_short(&fd);
	it_lmr_param_t params = {.length = 2 * page};

	g_assert_cmpint(create(end, at, 2 * page, IT_PRIV_ALL, IT_LMR_FLAG_NONE, &lmr), ==,
			IT_ERR_ADDRESS);
	g_assert_cmpint(create(end, at + page - 1, 2, IT_PRIV_LOCAL_READ, IT_LMR_FLAG_NONE, &lmr),
			==, IT_ERR_ADDRESS);
	g_assert_cmpint(create(end, at, 2 * page, IT_PRIV_ALL, IT_LMR_FLAG_SHARED, &lmr), ==,
			IT_ERR_ADDRESS);
	g_assert_null(lmr);
	pair_ok(create(end, at, page, IT_PRIV_ALL, IT_LMR_FLAG_NONE, &lmr));
	if (end_has(end, NEEDS_LMR_MODIFY)) {
		g_assert_cmpint(it_lmr_modify(lmr, IT_LMR_PARAM_LENGTH, &params), ==,
				IT_ERR_ADDRESS);
		pair_ok(it_lmr_query(lmr, IT_LMR_PARAM_LENGTH, &params));
		g_assert_cmpuint(params.length, ==, page);
		params.length = 2 * page;
		g_assert_cmpint(ftruncate(fd, (off_t)(2 * page)), ==, 0);
		pair_ok(it_lmr_modify(lmr, IT_LMR_PARAM_LENGTH, &params));
	}
	pair_ok(it_lmr_free(lmr));
	g_assert_cmpint(munmap(at, 2 * page), ==, 0);
	g_assert_cmpint(close(fd), ==, 0);
}

/* Rights that change need rights of the pages. */
static void
test_rights(struct pair *pair)
{
	struct end *end = &pair->active;
	it_lmr_handle_t lmr = NULL;
	it_lmr_param_t params = {.privs = IT_PRIV_ALL};
	uint8_t *at = mmap(NULL, page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	g_assert_true(at != MAP_FAILED);
	pair_ok(create(end, at, page, IT_PRIV_LOCAL_READ, IT_LMR_FLAG_NONE, &lmr));
	g_assert_cmpint(it_lmr_modify(lmr, IT_LMR_PARAM_MEM_PRIV, &params), ==, IT_ERR_ACCESS);
	g_assert_cmpint(mprotect(at, page, PROT_READ | PROT_WRITE), ==, 0);
	pair_ok(it_lmr_modify(lmr, IT_LMR_PARAM_MEM_PRIV, &params));
	pair_ok(it_lmr_free(lmr));
	g_assert_cmpint(munmap(at, page), ==, 0);
}

/* What the administrator's limit refuses has not been touched. */
static void
test_limit(void)
{
	char *path = NULL;
	const char *text = "[limits.client]\nmemory=1000000\n";
	const size_t length = 16 * page;
	struct end end;
	it_lmr_handle_t lmr = NULL;
	unsigned char in[16] = {0};
	uint8_t *at =
		mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	g_assert_true(at != MAP_FAILED);
	g_assert_cmpint(close(g_file_open_tmp("test-itapi-memory-XXXXXX", &path, NULL)), ==, 0);
	g_assert_true(g_file_set_contents(path, text, -1, NULL));
	g_setenv("ITAPI_CONFIG", path, TRUE);
	bool have = end_open(&end);
	g_unsetenv("ITAPI_CONFIG");
	g_assert_cmpint(unlink(path), ==, 0);
	g_free(path);
	if (!have) {
		g_test_skip("no such adapter");
		return;
	}
	for (size_t room = END_BUFFER; room + length <= 1000000; room += length)
		pair_ok(create(&end, at, length, IT_PRIV_LOCAL_READ, IT_LMR_FLAG_NONE, &lmr));
	g_assert_cmpint(munmap(at, length), ==, 0);
	at = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	g_assert_true(at != MAP_FAILED);
	g_assert_cmpint(create(&end, at, length, IT_PRIV_ALL, IT_LMR_FLAG_NONE, &lmr), ==,
			IT_ERR_RESOURCES);
	g_assert_cmpint(mincore(at, length, in), ==, 0);
	for (size_t i = 0; i < G_N_ELEMENTS(in); i++)
		g_assert_cmpint(in[i] & 1, ==, 0);
	pair_ok(it_ia_free(end.ia));
	g_free(end.buffer);
	g_assert_cmpint(munmap(at, length), ==, 0);
}

static void
add_tests(void)
{
	page = (size_t)sysconf(_SC_PAGESIZE);
	pair_add("memory/refused", test_refused);
	pair_add_for(NEEDS_LMR_MODIFY, "memory/rights", test_rights);
	pair_add_bare("memory/limit", test_limit);
}

int
main(int argc, char **argv)
{
	return pair_main(argc, argv, add_tests);
}
