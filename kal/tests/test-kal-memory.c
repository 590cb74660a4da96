/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Memory that is registered: what the host refuses, with and without /proc and MADV_POPULATE_*, and what other calls of the
 * client may do while a registration takes its time.
 *
 * The mappings are judged in child processes, since some children change their root, mount a file system or get a filter of
 * system calls; and a child that touches a page that does not exist would die.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kal_fixture.h"
#include "kal_host.h"

#define RD (RI_ACCESS_LOCAL_READ | RI_ACCESS_REMOTE_READ)
#define WR (RI_ACCESS_LOCAL_WRITE | RI_ACCESS_REMOTE_WRITE)

/* Newer than the headers of Debian 12: pages without memory, Linux 6.13. */
#define GUARD_INSTALL 102

#define SKIPPED 77
#define MANY    60000 /* mappings; the kernel's usual limit is 65530 */

static size_t page;
static bool
	touched; /* the kernel has no MADV_POPULATE_*: PROT_NONE looks like memory without pages */

static enum ri_status
attach(const uint8_t *at, size_t len, uint32_t access)
{
	const struct ri_host *host = kal_host_default();
	struct ri_mem mem = {.addr = (uint64_t)(uintptr_t)at, .length = len};
	enum ri_status status = host->mem_attach(host->self, KAL_MEM_OWNER_SELF, &mem, access);

	if (status == RI_SUCCESS)
		host->mem_detach(host->self, &mem);
	return status;
}

static uint8_t *
map(size_t len, int prot, int flags, int fd)
{
	void *at = mmap(NULL, len, prot, flags, fd, 0);

	g_assert_true(at != MAP_FAILED);
	return at;
}

/* A file of that length, as `prot` and `flags` map it, over two pages. */
static uint8_t *
map_file(size_t len, int prot, int flags, int *fd)
{
	*fd = memfd_create("memory", MFD_CLOEXEC);
	g_assert_cmpint(*fd, >=, 0);
	g_assert_cmpint(ftruncate(*fd, (off_t)len), ==, 0);
	return map(2 * page, prot, flags, *fd);
}

static bool
is_resident(uint8_t *at)
{
	unsigned char in = 0;

	g_assert_cmpint(mincore(at, page, &in), ==, 0);
	return (in & 1) != 0;
}

static void
judge_files(void)
{
	int fd, ro;
	uint8_t *shared = map_file(page, PROT_READ | PROT_WRITE, MAP_SHARED, &fd);
	uint8_t *private = map(2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd);
	char path[64];

	/* One page exists; the second lies behind the end of the file. */
	shared[page - 1] = 0x42;
	g_assert_cmpint(attach(shared, page, RD | WR), ==, RI_SUCCESS);
	g_assert_cmpint(attach(shared + page - 1, 2, RD), ==, RI_ERR_ADDRESS);
	g_assert_cmpint(attach(shared + page - 1, 2, WR), ==, RI_ERR_ADDRESS);
	g_assert_cmpint(attach(private + page, 1, RD | WR), ==, RI_ERR_ADDRESS);
	g_assert_cmpuint(shared[page - 1], ==, 0x42);

	/* A private mapping may be written, which changes no file. */
	g_assert_cmpint(attach(private, page, RD | WR), ==, RI_SUCCESS);
	private[0] = 0x43;
	g_assert_cmpuint(shared[0], ==, 0);
	/* The file grows: now the page exists. */
	g_assert_cmpint(ftruncate(fd, (off_t)(2 * page)), ==, 0);
	g_assert_cmpint(attach(shared, 2 * page, RD | WR), ==, RI_SUCCESS);

	/* A descriptor without the right to write, and a seal that takes it away. */
	g_snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	ro = open(path, O_RDONLY | O_CLOEXEC);
	if (ro >= 0) {
		uint8_t *read_only = map(page, PROT_READ, MAP_SHARED, ro);
		uint8_t *copy = map(page, PROT_READ | PROT_WRITE, MAP_PRIVATE, ro);

		g_assert_cmpint(attach(read_only, page, RD), ==, RI_SUCCESS);
		g_assert_cmpint(attach(read_only, page, RD | WR), ==, RI_ERR_ACCESS);
		g_assert_cmpint(attach(copy, page, RD | WR), ==, RI_SUCCESS);
	}
}

static void
judge_rights(void)
{
	/* The hole is larger than what another mapping, which the kernel would put at its end, could fill. */
	const size_t hole = 64 * page;
	uint8_t *at = map(7 * page + hole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	uint8_t *lazy = map(2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	static const uint8_t constant[64] = {1};

	at[0] = 0x5a;
	g_assert_cmpint(mprotect(at + 2 * page, page, PROT_READ), ==, 0);
	g_assert_cmpint(mprotect(at + 4 * page, page, PROT_NONE), ==, 0);
	g_assert_cmpint(munmap(at + 6 * page, hole), ==, 0);
	g_assert_cmpint(attach(at + 7, 2 * page - 7, RD | WR), ==, RI_SUCCESS);
	g_assert_cmpuint(at[0], ==, 0x5a);
	g_assert_cmpint(attach(at, 3 * page, RD), ==, RI_SUCCESS);
	g_assert_cmpint(attach(at, 2 * page + 1, WR), ==, RI_ERR_ACCESS);
	g_assert_cmpint(attach(at + 3 * page, page + 1, RD), ==,
			touched ? RI_ERR_ADDRESS : RI_ERR_ACCESS);
	g_assert_cmpint(attach(at + 5 * page, page + 1, RD | WR), ==, RI_ERR_ADDRESS);
	g_assert_cmpint(attach(at + 6 * page, 1, RD), ==, RI_ERR_ADDRESS);
	g_assert_cmpint(attach(NULL, 1, RD), ==, RI_ERR_ADDRESS);
	g_assert_cmpint(attach((uint8_t *)(UINTPTR_MAX - 4), 16, RD), ==, RI_ERR_ADDRESS);
	g_assert_cmpint(attach((uint8_t *)(UINTPTR_MAX - 4), 4, RD), ==, RI_ERR_ADDRESS);
	g_assert_cmpint(attach(constant, sizeof(constant), RD), ==, RI_SUCCESS);
	g_assert_cmpint(attach(constant, sizeof(constant), WR), ==, RI_ERR_ACCESS);

	/* What is registered has its pages from then on. */
	g_assert_false(is_resident(lazy));
	g_assert_cmpint(attach(lazy, page, WR), ==, RI_SUCCESS);
	g_assert_true(is_resident(lazy));
	g_assert_false(is_resident(lazy + page));
	if (madvise(lazy + page, page, GUARD_INSTALL) == 0)
		g_assert_cmpint(attach(lazy, 2 * page, RD | WR), ==, RI_ERR_ADDRESS);
}

/* Huge pages that the kernel does not have: the mapping succeeds, and an access would raise SIGBUS. */
static void
judge_huge(void)
{
	const size_t len = (size_t)64 << 30;
	void *at = mmap(NULL, len, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | MAP_NORESERVE, -1, 0);

	if (at != MAP_FAILED)
		g_assert_cmpint(attach(at, 1, RD | WR), ==, RI_ERR_ADDRESS);
}

static int
judge_all(void)
{
	judge_rights();
	judge_files();
	judge_huge();
	return 0;
}

/* Run it in a child that `change` has changed; a child that cannot be changed so is skipped. */
static void
in_child(bool (*change)(void), int (*judge)(void))
{
	int status = 0;
	pid_t child = fork();

	g_assert_cmpint(child, >=, 0);
	if (child == 0)
		_exit(change != NULL && !change() ? SKIPPED : judge());
	g_assert_cmpint(waitpid(child, &status, 0), ==, child);
	if (WIFEXITED(status) && WEXITSTATUS(status) == SKIPPED) {
		g_test_skip("this process may not change its surroundings so");
		return;
	}
	g_assert_true(WIFEXITED(status));
	g_assert_cmpint(WEXITSTATUS(status), ==, 0);
}

static void
test_plain(void)
{
	in_child(NULL, judge_all);
}

/* The shortest of many, in ns: what a busy machine adds is not in it. */
static gint64
shortest(const uint8_t *at, enum ri_status *status)
{
	const struct ri_host *host = kal_host_default();
	gint64 least = G_MAXINT64;

	for (unsigned i = 0; i < 200; i++) {
		uint64_t begin = host->now(host->self);

		*status = attach(at, page, RD | WR);
		least = MIN(least, (gint64)(host->now(host->self) - begin));
		if (*status != RI_SUCCESS)
			break;
	}
	return least;
}

/* Mappings of one page each, until there are `pages` of them, or the kernel gives no more. Returns how many. */
static size_t
split(uint8_t *at, size_t pages)
{
	for (size_t i = 0; i < pages; i += 2)
		if (mprotect(at + i * page, page, PROT_READ) != 0)
			return errno == ENOMEM ? i : 0;
	return pages;
}

/* A registration depends on its pages, and needs no mapping more [IT 8.4.8]. */
static int
judge_many_mappings(void)
{
	size_t pages = MANY;
	uint8_t *at = map(pages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	enum ri_status status;
	gint64 few = shortest(at + page, &status), many;

	g_assert_cmpint(status, ==, RI_SUCCESS);
	pages = split(at, pages);
	if (pages < MANY / 2)
		return SKIPPED;
	many = shortest(at + page, &status);
	g_test_message("4 KiB: %" G_GINT64_FORMAT " ns with few mappings, %" G_GINT64_FORMAT
		       " ns with %zu",
		       few, many, pages);
	g_assert_cmpint(status, ==, RI_SUCCESS);
	/* To look at each of them takes thousands of times as long. */
	g_assert_cmpint(many, <, 50 * few + 100000);
	/* All of them in one region. */
	g_assert_cmpint(attach(at, pages * page, RD), ==, RI_SUCCESS);
	g_assert_cmpint(attach(at, pages * page, RD | WR), ==, RI_ERR_ACCESS);

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
	/* At the limit of the kernel (vm.max_map_count), if it is not far away. The runtime of a sanitizer needs mappings itself. */
	uint8_t *more =
		mmap(NULL, MANY * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (more == MAP_FAILED || split(more, MANY) < MANY) {
		g_assert_cmpint(shortest(at + page, &status), <, 50 * few + 100000);
		g_assert_cmpint(status, ==, RI_SUCCESS);
	}
#endif
	return 0;
}

static void
test_many_mappings(void)
{
	if (g_getenv("ITAPI_TEST_NO_SCARCE") != NULL) {
		g_test_skip("valgrind has no room for so many mappings");
		return;
	}
	in_child(NULL, judge_many_mappings);
}

/* A root directory without /proc. */
static bool
without_proc(void)
{
	char empty[] = "/tmp/test-kal-memory-XXXXXX";

	return (geteuid() == 0 || unshare(CLONE_NEWUSER) == 0) && mkdtemp(empty) != NULL &&
	       chroot(empty) == 0 && chdir("/") == 0 && access("/proc/self/maps", F_OK) != 0;
}

static void
test_without_proc(void)
{
	in_child(without_proc, judge_all);
}

/* From here on MADV_POPULATE_* fails with this error, as if the kernel were older, or a sandbox. */
static bool
populate_fails(int error)
{
	const struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_madvise, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 22, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 23, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)error),
	};
	const struct sock_fprog program = {.len = G_N_ELEMENTS(filter),
					   .filter = (struct sock_filter *)filter};

	touched = true;
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

static bool
populate_is_unknown(void)
{
	return populate_fails(EINVAL);
}

static bool
populate_is_forbidden(void)
{
	return populate_fails(EPERM);
}

static bool
populate_is_missing(void)
{
	return populate_fails(ENOSYS);
}

static void
test_old_kernel(void)
{
	in_child(populate_is_unknown, judge_all);
}

static void
test_sandbox(void)
{
	in_child(populate_is_forbidden, judge_all);
	in_child(populate_is_missing, judge_all);
}

/* A tmpfs of one page that is full, and a file on it that has a hole. */
static bool
full_tmpfs(void)
{
	char options[32];

	g_snprintf(options, sizeof(options), "size=%zu", page);
	return (geteuid() == 0 ? unshare(CLONE_NEWNS) : unshare(CLONE_NEWUSER | CLONE_NEWNS)) ==
		       0 &&
	       mount("", "/", "", MS_REC | MS_PRIVATE, NULL) == 0 &&
	       mount("none", "/tmp", "tmpfs", 0, options) == 0;
}

static int
judge_hole(void)
{
	int fd = open("/tmp/sparse", O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	g_assert_cmpint(fd, >=, 0);
	g_assert_cmpint(ftruncate(fd, (off_t)(2 * page)), ==, 0);
	g_assert_cmpint(pwrite(fd, "x", 1, 0), ==, 1);
	uint8_t *at = map(2 * page, PROT_READ | PROT_WRITE, MAP_SHARED, fd);
	g_assert_cmpint(attach(at, page, RD | WR), ==, RI_SUCCESS);
	g_assert_cmpint(attach(at, 2 * page, RD | WR), ==, RI_ERR_ADDRESS);
	g_assert_cmpint(attach(at, 2 * page, RD), ==, RI_ERR_ADDRESS);
	return 0;
}

static void
test_full_tmpfs(void)
{
	in_child(full_tmpfs, judge_hole);
}

/* --- a registration that takes its time ------------------------------------------------------ */

struct slow {
	struct fixture f;
	sem_t begun, go;
	enum kal_call_number call;
	struct kal_mr_req req;
	struct kal_mr_rep rep;
	enum ri_status status;
	pthread_t thread;
};

static void *
slow_call(void *arg)
{
	struct slow *s = arg;

	s->status = fixture_call(&s->f, s->call, &s->req, sizeof(s->req), &s->rep, sizeof(s->rep));
	return NULL;
}

static void
slow_open(struct slow *s)
{
	memset(s, 0, sizeof(*s));
	fake_reset();
	fake_attr.reregister = true;
	s->f = fixture_open();
	sem_init(&s->begun, 0, 0);
	sem_init(&s->go, 0, 0);
	s->req = (struct kal_mr_req){.id = s->f.pd, .addr = page, .length = 64, .access = 3};
}

static void
slow_begin(struct slow *s, enum kal_call_number call)
{
	s->call = call;
	fake_reg_begun = &s->begun;
	fake_reg_go = &s->go;
	g_assert_cmpint(pthread_create(&s->thread, NULL, slow_call, s), ==, 0);
	sem_wait(&s->begun);
}

static void
slow_end(struct slow *s)
{
	sem_post(&s->go);
	pthread_join(s->thread, NULL);
	fake_reg_begun = NULL;
}

/* Other calls of the client go on; the zone cannot be destroyed meanwhile. */
static void
test_others_go_on(void)
{
	struct slow s;
	uint32_t qp;

	slow_open(&s);
	slow_begin(&s, KAL_MR_REG);
	qp = fixture_qp(&s.f, 5, 1, 1);
	g_assert_cmpint(fixture_id(&s.f, KAL_QP_DESTROY, qp), ==, RI_SUCCESS);
	g_assert_cmpint(fixture_id(&s.f, KAL_PD_DESTROY, s.f.pd), ==, RI_ERR_BUSY);
	slow_end(&s);
	g_assert_cmpint(s.status, ==, RI_SUCCESS);
	g_assert_cmpint(fixture_id(&s.f, KAL_MR_DEREG, s.rep.id), ==, RI_SUCCESS);
	g_assert_cmpint(fixture_id(&s.f, KAL_PD_DESTROY, s.f.pd), ==, RI_SUCCESS);
	fixture_close(&s.f);
}

/* A region that is registered anew cannot be destroyed, and a second change of it comes after the first. */
static void
test_change(void)
{
	struct slow s;
	struct kal_mr_rep rep;

	slow_open(&s);
	g_assert_cmpint(fixture_call(&s.f, KAL_MR_REG, &s.req, sizeof(s.req), &rep, sizeof(rep)),
			==, RI_SUCCESS);
	s.req.id = rep.id;
	slow_begin(&s, KAL_MR_REREG);
	g_assert_cmpint(fixture_id(&s.f, KAL_MR_DEREG, rep.id), ==, RI_ERR_BUSY);
	g_assert_cmpint(fixture_id(&s.f, KAL_PD_DESTROY, s.f.pd), ==, RI_ERR_BUSY);
	slow_end(&s);
	g_assert_cmpint(s.status, ==, RI_SUCCESS);
	g_assert_cmpint(fixture_id(&s.f, KAL_MR_DEREG, rep.id), ==, RI_SUCCESS);
	g_assert_cmpint(fixture_id(&s.f, KAL_PD_DESTROY, s.f.pd), ==, RI_SUCCESS);
	fixture_close(&s.f);
}

static void *
closer(void *arg)
{
	struct slow *s = arg;

	g_assert_cmpint(fixture_id(&s->f, KAL_RNIC_CLOSE, s->f.rnic), ==, RI_SUCCESS);
	return NULL;
}

/* An adapter is closed after the registration, which it then destroys. */
static void
test_close_waits(void)
{
	struct slow s;
	pthread_t thread;

	slow_open(&s);
	slow_begin(&s, KAL_MR_REG);
	g_assert_cmpint(pthread_create(&thread, NULL, closer, &s), ==, 0);
	for (unsigned i = 0; i < 100; i++)
		sched_yield();
	slow_end(&s);
	pthread_join(thread, NULL);
	g_assert_cmpint(s.status, ==, RI_SUCCESS);
	fixture_close(&s.f);
}

/* A registration that fails leaves nothing in the accounts: as many regions as the adapter has can be made. */
static void
test_counts(void)
{
	struct kal_mr_req req = {.addr = page, .length = 64, .access = 3};
	struct kal_mr_rep rep;

	fake_reset();
	fixture_config("[limits.client]\nmr=2\nmemory=1000\n");
	struct fixture f RI_AT_END(fixture_close) = fixture_open();
	fixture_config(NULL);
	req.id = f.pd;
	for (unsigned i = 0; i < 3; i++) {
		enum ri_status status =
			fixture_call(&f, KAL_MR_REG, &req, sizeof(req), &rep, sizeof(rep));

		g_assert_cmpint(status, ==, i < 2 ? RI_SUCCESS : RI_ERR_RESOURCES);
	}
	g_assert_cmpint(fixture_id(&f, KAL_MR_DEREG, rep.id), ==, RI_ERR_INVALID_HANDLE);
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	page = (size_t)sysconf(_SC_PAGESIZE);
	fake_register();
	g_test_add_func("/kal/memory/plain", test_plain);
	g_test_add_func("/kal/memory/many-mappings", test_many_mappings);
	g_test_add_func("/kal/memory/without-proc", test_without_proc);
	g_test_add_func("/kal/memory/old-kernel", test_old_kernel);
	g_test_add_func("/kal/memory/sandbox", test_sandbox);
	g_test_add_func("/kal/memory/full-tmpfs", test_full_tmpfs);
	g_test_add_func("/kal/memory/others-go-on", test_others_go_on);
	g_test_add_func("/kal/memory/change", test_change);
	g_test_add_func("/kal/memory/close-waits", test_close_waits);
	g_test_add_func("/kal/memory/counts", test_counts);
	return g_test_run();
}
