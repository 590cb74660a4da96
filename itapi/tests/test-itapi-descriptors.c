/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * it_ia_create with too few descriptors returns IT_ERR_RESOURCES, whichever descriptor is missing, and the log says
 * why. It succeeds as soon as there are enough, and a failed call leaves none open. The first attempts are the first
 * use of the library.
 */
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "it_ext.h"
#include "it_pair.h"

#define ENOUGH 64 /* descriptors that one IA needs */

/* The limit that leaves exactly that many descriptors; numbers below others may be free. */
static rlim_t
limit_of(unsigned room)
{
	int fd = 0;

	for (;; fd++) {
		if (fcntl(fd, F_GETFD) < 0 && room-- == 0)
			return (rlim_t)fd;
	}
}

static unsigned lines;

static void
count_line(void *arg, int level, const char *subject, const char *text)
{
	(void)arg;
	(void)level;
	(void)subject;
	(void)text;
	lines++;
}

/* A list that is empty for want of descriptors looks like one of a machine without adapters: the log says which it is. */
static void
list_with_few(void)
{
	size_t room = 0, total = 0;

	lines = 0;
	it_interface_list(NULL, &room, &total);
	if (total == 0)
		g_assert_cmpuint(lines, >, 0);
}

static void
test_few(void)
{
	struct rlimit limit, few;
	unsigned short_of = 0;
	it_status_t status;
	it_ia_handle_t ia;

	g_assert_cmpint(getrlimit(RLIMIT_NOFILE, &limit), ==, 0);
	for (unsigned room = 0; room <= ENOUGH; room++) {
		few = limit;
		few.rlim_cur = limit_of(room);
		g_assert_cmpint(setrlimit(RLIMIT_NOFILE, &few), ==, 0);
		list_with_few();
		lines = 0;
		status = it_ia_create(pair_adapter(), 2, 0, &ia);
		if (status == IT_SUCCESS)
			pair_ok(it_ia_free(ia));
		g_assert_cmpint(setrlimit(RLIMIT_NOFILE, &limit), ==, 0);
		if (status != IT_SUCCESS) {
			g_assert_cmpint(status, ==, IT_ERR_RESOURCES);
			g_assert_cmpuint(lines, >, 0);
		}
		short_of += status != IT_SUCCESS;
		if (status == IT_SUCCESS && short_of > 0)
			break;
	}
	g_assert_cmpuint(short_of, >, 0);
	g_assert_cmpint(status, ==, IT_SUCCESS);
}

int
main(int argc, char **argv)
{
	/* No pair_main: it would use the library before the first attempt. */
	g_test_init(&argc, &argv, NULL);
	g_assert_true(g_setenv("ITAPI_LOG", "warning",
			       TRUE)); /* each line, also one that was said before */
	itx_log_set_writer(count_line, NULL);
	g_assert_cmpint(argc, ==, 2);
	pair_use(argv[1]);
	g_autofree char *path = g_strdup_printf("/itapi/%s/descriptors/few", argv[1]);
	g_test_add_func(path, test_few);
	return g_test_run();
}
