/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Regions over the kinds of memory that programs have: huge pages, files that are mapped, pages that a forked child
 * shares [RI 12.1.13], and more memory than may be locked. ITAPI_TEST_FOLDER says on which file system the files
 * are made.
 */

#include <fcntl.h>
#include <linux/capability.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "it_pair.h"

#define SIGNALED IT_COMPLETION_FLAG
#define HUGE     ((size_t)2 << 20) /* octets of a huge page */
#define PIECE    ((size_t)5000)

/* Memory of the passive end, which the active one may read and write. */
struct place {
	unsigned char *at;
	size_t size;
	it_lmr_handle_t lmr;
	it_rmr_context_t context;
};

static void
place_register(const struct end *end, struct place *place)
{
	pair_ok(it_lmr_create21(end->pz, place->at, NULL, place->size, IT_ADDR_MODE_ABSOLUTE,
				IT_PRIV_ALL, IT_LMR_FLAG_NONE, 0, &place->lmr, &place->context));
}

static struct place
place_new(const struct end *end, size_t size)
{
	struct place place = {.size = size};

	place.at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	g_assert_true(place.at != MAP_FAILED);
	place_register(end, &place);
	return place;
}

static void
place_free(struct place *place)
{
	pair_ok(it_lmr_free(place->lmr));
	munmap(place->at, place->size);
}

/* The peer writes `length` octets of that value to an offset. */
static void
peer_writes(struct pair *pair, const struct place *place, size_t offset, size_t length, int value)
{
	struct end *a = &pair->active;
	it_lmr_triplet_t out = end_segment(a, 0, length);

	memset(a->buffer, value, length);
	pair_ok(it_post_rdma_write(a->ep, &out, 1, 1, SIGNALED,
				   it_make_rdma_addr_absolute(place->at + offset), place->context));
	end_done(a->request, IT_DTO_RDMA_WRITE_CMPL_EVENT, 1, IT_DTO_SUCCESS);
}

/* The peer reads `length` octets from an offset; the answer lies in its buffer. Earlier Writes are placed then. */
static const unsigned char *
peer_reads(struct pair *pair, const struct place *place, size_t offset, size_t length)
{
	struct end *a = &pair->active;
	it_lmr_triplet_t in = end_segment(a, END_BUFFER / 2, length);

	memset(a->buffer + END_BUFFER / 2, 0, length);
	pair_ok(it_post_rdma_read(a->ep, &in, 1, 2, SIGNALED,
				  it_make_rdma_addr_absolute(place->at + offset), place->context));
	end_done(a->request, IT_DTO_RDMA_READ_CMPL_EVENT, 2, IT_DTO_SUCCESS);
	return a->buffer + END_BUFFER / 2;
}

static void
expect_octets(const unsigned char *at, size_t length, int value)
{
	for (size_t i = 0; i < length; i++)
		g_assert_cmpuint(at[i], ==, value);
}

/* --- huge pages -------------------------------------------------------------------------------- */

/* Two of them as one region, and then a part that begins and ends within one. */
static void
test_huge(struct pair *pair)
{
	struct place place = {.size = 2 * HUGE}, part;

	place.at = mmap(NULL, place.size, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);
	if (place.at == MAP_FAILED) {
		g_test_skip("no huge pages are reserved (vm.nr_hugepages)");
		return;
	}
	place_register(&pair->passive, &place);
	pair_establish(pair);
	peer_writes(pair, &place, HUGE - 1000, PIECE, 0x31); /* across both */
	peer_writes(pair, &place, 2 * HUGE - PIECE, PIECE, 0x32);
	expect_octets(peer_reads(pair, &place, HUGE - 1000, PIECE), PIECE, 0x31);
	expect_octets(peer_reads(pair, &place, 2 * HUGE - PIECE, PIECE), PIECE, 0x32);
	expect_octets(place.at + HUGE - 1000, PIECE, 0x31);
	g_assert_cmpuint(place.at[HUGE - 1001], ==, 0);
	g_assert_cmpuint(place.at[HUGE - 1000 + PIECE], ==, 0);
	pair_ok(it_lmr_free(place.lmr));
	part = (struct place){.at = place.at + 12345, .size = PIECE};
	place_register(&pair->passive, &part);
	peer_writes(pair, &part, 0, PIECE, 0x33);
	expect_octets(peer_reads(pair, &part, 0, PIECE), PIECE, 0x33);
	expect_octets(place.at + 12345, PIECE, 0x33);
	pair_ok(it_lmr_free(part.lmr));
	pair_disconnect(pair);
	munmap(place.at, place.size);
}

/* --- files --------------------------------------------------------------------------------------- */

static int
file_make(size_t size)
{
	const char *folder = g_getenv("ITAPI_TEST_FOLDER");
	g_autofree char *path = g_build_filename(folder != NULL ? folder : g_get_tmp_dir(),
						 "test-itapi-pages.XXXXXX", NULL);
	int fd = g_mkstemp_full(path, O_RDWR | O_CLOEXEC, 0600);

	g_assert_cmpint(fd, >=, 0);
	g_assert_cmpint(unlink(path), ==, 0);
	g_assert_cmpint(ftruncate(fd, (off_t)size), ==, 0);
	return fd;
}

/*
 * The file of a shared mapping must contain what the peer writes, and the peer must read what was written to the file.
 * A private mapping must leave the file as it is.
 */
static void
file_run(struct pair *pair, int sharing)
{
	struct place place = {.size = 4 * 4096};
	unsigned char found[PIECE];
	int fd = file_make(place.size);

	place.at = mmap(NULL, place.size, PROT_READ | PROT_WRITE, sharing, fd, 0);
	g_assert_true(place.at != MAP_FAILED);
	place_register(&pair->passive, &place);
	pair_establish(pair);
	peer_writes(pair, &place, 3000, PIECE, 0x41);
	expect_octets(peer_reads(pair, &place, 3000, PIECE), PIECE, 0x41);
	g_assert_cmpint(pread(fd, found, PIECE, 3000), ==, PIECE);
	expect_octets(found, PIECE, sharing == MAP_SHARED ? 0x41 : 0);
	if (sharing == MAP_SHARED) {
		memset(found, 0x42, PIECE);
		g_assert_cmpint(pwrite(fd, found, PIECE, 9000), ==, PIECE);
		expect_octets(peer_reads(pair, &place, 9000, PIECE), PIECE, 0x42);
	}
	/* What the device has written after the file was written to its disk is in the file, too. */
	g_assert_cmpint(fsync(fd), ==, 0);
	peer_writes(pair, &place, 3000, PIECE, 0x43);
	(void)peer_reads(pair, &place, 3000, 1);
	pair_disconnect(pair);
	place_free(&place);
	g_assert_cmpint(pread(fd, found, PIECE, 3000), ==, PIECE);
	expect_octets(found, PIECE, sharing == MAP_SHARED ? 0x43 : 0);
	close(fd);
}

/* A region of a shared mapping of a file is transferred. */
static void
test_file_shared(struct pair *pair)
{
	file_run(pair, MAP_SHARED);
}

/* A region of a private mapping of a file is transferred. */
static void
test_file_private(struct pair *pair)
{
	file_run(pair, MAP_PRIVATE);
}

/* --- children --------------------------------------------------------------------------------------- */

/*
 * Runs in the child and calls only functions that are allowed between fork and exec. The child's copy of the memory
 * must be that of the moment of the fork. It ends by exec, since valgrind would report memory that only the parent's
 * threads refer to as lost.
 */
static void
child_live(const struct place *place, int go, int value)
{
	char octet;

	for (size_t i = 0; i < place->size; i++) {
		if (place->at[i] != value)
			_exit(1);
	}
	memset(place->at, 0x7e, place->size);
	if (read(go, &octet, 1) == 0)
		(void)execl("/bin/true", "true", (char *)NULL);
	_exit(2);
}

/*
 * A child writes to its copy of registered memory, and lives while the parent and the peer use the memory. Both must see
 * the same pages: the parent writes to them first, which would give it a copy if it shared them with the child.
 */
static void
test_fork(struct pair *pair)
{
	struct place place RI_AT_END(place_free) = place_new(&pair->passive, 3 * 4096);
	int go[2], status = 0;
	pid_t child;

	pair_establish(pair);
	memset(place.at, 0x51, place.size);
	g_assert_cmpint(pipe2(go, O_CLOEXEC), ==, 0);
	child = fork();
	g_assert_cmpint(child, >=, 0);
	if (child == 0) {
		close(go[1]);
		child_live(&place, go[0], 0x51);
	}
	close(go[0]);
	memset(place.at, 0x52, place.size);
	expect_octets(peer_reads(pair, &place, 0, place.size), place.size, 0x52);
	peer_writes(pair, &place, 100, PIECE, 0x53);
	(void)peer_reads(pair, &place, 100, 1);
	expect_octets(place.at + 100, PIECE, 0x53);
	close(go[1]); /* the child ends */
	g_assert_cmpint(waitpid(child, &status, 0), ==, child);
	g_assert_cmpint(status, ==, 0);
	peer_writes(pair, &place, 0, place.size, 0x54);
	expect_octets(peer_reads(pair, &place, 0, place.size), place.size, 0x54);
	expect_octets(place.at, place.size, 0x54);
	pair_disconnect(pair);
}

/* Children that start a program, one after the other, while the peer writes. */
static void
test_exec(struct pair *pair)
{
	struct place place RI_AT_END(place_free) = place_new(&pair->passive, 3 * 4096);

	pair_establish(pair);
	for (int i = 1; i <= 20; i++) {
		pid_t child = fork();
		int status = 0;

		g_assert_cmpint(child, >=, 0);
		if (child == 0) {
			execl("/bin/true", "true", (char *)NULL);
			_exit(127);
		}
		memset(place.at, 0x60, place.size);
		peer_writes(pair, &place, 0, PIECE, i);
		(void)peer_reads(pair, &place, 0, 1);
		expect_octets(place.at, PIECE, i);
		g_assert_cmpint(waitpid(child, &status, 0), ==, child);
		g_assert_cmpint(status, ==, 0);
	}
	pair_disconnect(pair);
}

/* Memory that is registered after a child was forked, and lay in a page that both have. */
static void
test_fork_first(struct pair *pair)
{
	struct place place RI_AT_END(place_free) = {.size = 2 * 4096};
	int go[2], status = 0;
	pid_t child;

	place.at =
		mmap(NULL, place.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	g_assert_true(place.at != MAP_FAILED);
	memset(place.at, 0x71, place.size);
	g_assert_cmpint(pipe2(go, O_CLOEXEC), ==, 0);
	child = fork();
	g_assert_cmpint(child, >=, 0);
	if (child == 0) {
		close(go[1]);
		child_live(&place, go[0], 0x71);
	}
	close(go[0]);
	place_register(&pair->passive, &place);
	pair_establish(pair);
	peer_writes(pair, &place, 0, PIECE, 0x72);
	expect_octets(peer_reads(pair, &place, PIECE, 1), 1, 0x71);
	expect_octets(place.at, PIECE, 0x72);
	close(go[1]);
	g_assert_cmpint(waitpid(child, &status, 0), ==, child);
	g_assert_cmpint(status, ==, 0);
	pair_disconnect(pair);
}

/* --- the limit of locked memory ------------------------------------------------------------------ */

/* Switch the right to pin beyond the limit off, or on where the process may have it. */
static void
right_set(bool on)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {{0}};
	const uint32_t bit = CAP_TO_MASK(CAP_IPC_LOCK);

	g_assert_cmpint(syscall(SYS_capget, &head, data), ==, 0);
	if (on)
		data[0].effective |= bit & data[0].permitted;
	else
		data[0].effective &= ~bit;
	g_assert_cmpint(syscall(SYS_capset, &head, data), ==, 0);
}

/*
 * Devices pin regions, and one beyond the limit is refused; after the refusal the limit can be used up. Other
 * adapters may pin nothing.
 */
static void
test_limit(struct pair *pair)
{
	struct end *end = &pair->active;
	struct rlimit old, small;
	struct place place RI_AT_END(place_free) = {.size = (size_t)1 << 20};
	struct place part;
	it_status_t status;

	place.at =
		mmap(NULL, place.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	g_assert_true(place.at != MAP_FAILED);
	g_assert_cmpint(getrlimit(RLIMIT_MEMLOCK, &old), ==, 0);
	small = old;
	small.rlim_cur =
		MIN(old.rlim_cur, 2 * END_BUFFER + place.size / 2); /* with both ends' buffers */
	g_assert_cmpint(setrlimit(RLIMIT_MEMLOCK, &small), ==, 0);
	right_set(false);
	status = it_lmr_create21(end->pz, place.at, NULL, place.size, IT_ADDR_MODE_ABSOLUTE,
				 IT_PRIV_ALL, IT_LMR_FLAG_NONE, 0, &place.lmr, &place.context);
	if (status == IT_SUCCESS)
		pair_ok(it_lmr_free(place.lmr));
	g_assert_true(status == IT_ERR_RESOURCES || (status == IT_SUCCESS && !pair_is_device()));
	part = (struct place){.at = place.at, .size = place.size / 4};
	place_register(end, &part);
	pair_ok(it_lmr_free(part.lmr));
	right_set(true);
	g_assert_cmpint(setrlimit(RLIMIT_MEMLOCK, &old), ==, 0);
	place_register(end, &place);
}

static void
add(void)
{
	pair_add("pages/huge", test_huge);
	pair_add("pages/file-shared", test_file_shared);
	pair_add("pages/file-private", test_file_private);
	pair_add("pages/fork", test_fork);
	pair_add("pages/exec", test_exec);
	pair_add("pages/fork-first", test_fork_first);
	pair_add("pages/limit", test_limit);
}

int
main(int argc, char **argv)
{
	return pair_main(argc, argv, add);
}
