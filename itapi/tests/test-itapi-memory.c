/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Memory without pages cannot be registered [IT 8.4.7], and an access to a registered page that is lost later ends the
 * connection, not the process [IT 8.4.10].
 */

#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "child_of_fork.h"
#include "it_pair.h"

#define SIGNALED IT_COMPLETION_FLAG

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
	it_ia_info_free(end.info);
	pair_ok(it_ia_free(end.ia));
	g_free(end.buffer);
	g_assert_cmpint(munmap(at, length), ==, 0);
}

/* --- lost pages ------------------------------------------------------------------------------ */

/* Processors on which a lost page ends the process; valgrind does not keep all registers at each access. */
static bool
is_guarded(void)
{
	const char *preload = g_getenv("LD_PRELOAD");

#if !defined(__x86_64__)
	return false;
#endif
	/* ThreadSanitizer delivers signals later, so the thread cannot continue elsewhere. */
	if (IS_THREAD_SANITIZER)
		return false;
	return preload == NULL || strstr(preload, "vgpreload") == NULL;
}

/* How pages are lost. */
enum loss {
	CUT, /* the file is truncated */
	UNMAPPED,
	PROTECTED, /* against every access */
	LOSSES
};

/* A region of its own: pages of a file, which can be lost. */
struct victim {
	int fd;
	uint8_t *at;
	size_t length;
	it_lmr_handle_t lmr;
	it_rmr_context_t context;
};

static void
victim_make(struct victim *v, const struct end *end, size_t length)
{
	v->length = length;
	v->fd = memfd_create("memory", MFD_CLOEXEC);
	g_assert_cmpint(ftruncate(v->fd, (off_t)length), ==, 0);
	v->at = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED, v->fd, 0);
	g_assert_true(v->at != MAP_FAILED);
	memset(v->at, 0x11, length);
	pair_ok(it_lmr_create21(end->pz, v->at, NULL, length, IT_ADDR_MODE_ABSOLUTE, IT_PRIV_ALL,
				IT_LMR_FLAG_NONE, 0, &v->lmr, &v->context));
}

/* All pages from that offset on are lost. */
static void
victim_lose(struct victim *v, size_t from, enum loss how)
{
	if (how == CUT)
		g_assert_cmpint(ftruncate(v->fd, (off_t)from), ==, 0);
	else if (how == UNMAPPED)
		g_assert_cmpint(munmap(v->at + from, v->length - from), ==, 0);
	else
		g_assert_cmpint(mprotect(v->at + from, v->length - from, PROT_NONE), ==, 0);
}

static void
victim_end(struct victim *v)
{
	pair_ok(it_lmr_free(v->lmr));
	g_assert_cmpint(munmap(v->at, v->length), ==, 0);
	g_assert_cmpint(close(v->fd), ==, 0);
}

static it_lmr_triplet_t
victim_segment(const struct victim *v, size_t length)
{
	return (it_lmr_triplet_t){.lmr = v->lmr, .addr.abs = v->at, .length = length};
}

/* The accesses that a lost page can meet; L: at the side that posts, R: at its peer. */
enum access {
	WRITE_R,
	WRITE_L,
	READ_R,
	READ_L,
	SEND_R,
	SEND_L,
	ATOMIC_R,
	ATOMIC_L
};

static bool
is_local(enum access access)
{
	return access == WRITE_L || access == READ_L || access == SEND_L || access == ATOMIC_L;
}

static void
post(struct pair *pair, enum access access, const struct victim *v, const struct victim *whole,
     size_t length)
{
	struct end *a = &pair->active, *b = &pair->passive;
	it_lmr_triplet_t lost = victim_segment(v, length), good = victim_segment(whole, length);
	it_rdma_addr_t lost_at = it_make_rdma_addr_absolute(v->at);
	it_rdma_addr_t good_at = it_make_rdma_addr_absolute(whole->at);

	switch (access) {
	case WRITE_R:
		pair_ok(it_post_rdma_write(a->ep, &good, 1, 1, SIGNALED, lost_at, v->context));
		break;
	case WRITE_L:
		pair_ok(it_post_rdma_write(a->ep, &lost, 1, 1, SIGNALED, good_at, whole->context));
		break;
	case READ_R:
		pair_ok(it_post_rdma_read(a->ep, &good, 1, 1, SIGNALED, lost_at, v->context));
		break;
	case READ_L:
		pair_ok(it_post_rdma_read(a->ep, &lost, 1, 1, SIGNALED, good_at, whole->context));
		break;
	case SEND_R:
		pair_ok(it_post_recv((it_handle_t)b->ep, &lost, 1, 7, 0));
		pair_ok(it_post_send(a->ep, &good, 1, 1, SIGNALED));
		break;
	case SEND_L:
		pair_ok(it_post_recv((it_handle_t)b->ep, &good, 1, 7, 0));
		pair_ok(it_post_send(a->ep, &lost, 1, 1, SIGNALED));
		break;
	case ATOMIC_R:
		good.length = 8;
		pair_ok(it_post_atomic(a->ep, IT_FETCH_AND_ADD, 5, 0, &good, 1, SIGNALED, lost_at,
				       v->context));
		break;
	case ATOMIC_L:
	default:
		lost.length = 8;
		pair_ok(it_post_atomic(a->ep, IT_COMPARE_AND_SWAP, 5, 0, &lost, 1, SIGNALED,
				       good_at, whole->context));
		break;
	}
}

/* What the side that posted learns. iWARP completes a Write or Send when TCP has it. */
static void
judge(struct pair *pair, enum access access)
{
	struct end *a = &pair->active, *b = &pair->passive;
	bool iwarp = a->info->transport_type == IT_IWARP_TCP_TRANSPORT;
	bool tcp = g_str_has_prefix(pair_adapter(), "iwarp");
	/* TCP may have taken a part of a frame whose rest is in the lost page. Then no Terminate can follow. */
	bool may_be_cut = tcp && access == READ_R && g_getenv("ITAPI_MPA_CRC") != NULL;
	it_event_t done = end_next(a->request);
	it_dto_status_t wanted = IT_DTO_ERR_LOCAL_PROTECTION;

	if (access == WRITE_R || access == SEND_R)
		wanted = iwarp ? IT_DTO_SUCCESS : IT_DTO_ERR_REMOTE_RESPONDER;
	else if (access == READ_R || access == ATOMIC_R)
		wanted = iwarp && !tcp ? IT_DTO_ERR_FLUSHED : IT_DTO_ERR_REMOTE_RESPONDER;
	else if ((access == READ_L || access == ATOMIC_L) && tcp)
		wanted = IT_DTO_ERR_FLUSHED; /* as if the key had been revoked meanwhile */
	g_assert_cmpuint(done.dto_cmpl.cookie, ==, 1);
	/* A Write or Send that TCP has not taken yet fails as the Terminate says, or is flushed. */
	if ((!tcp || wanted != IT_DTO_SUCCESS) &&
	    !(may_be_cut && done.dto_cmpl.dto_status == IT_DTO_ERR_FLUSHED))
		g_assert_cmpint(done.dto_cmpl.dto_status, ==, wanted);
	if (access == SEND_R)
		end_done(b->recv, IT_DTO_RC_RECV_CMPL_EVENT, 7, IT_DTO_ERR_LOCAL_PROTECTION);
	else if (access == SEND_L)
		end_done(b->recv, IT_DTO_RC_RECV_CMPL_EVENT, 7, IT_DTO_ERR_FLUSHED);
	end_expect(a->cm_msg, IT_CM_MSG_CONN_BROKEN_EVENT);
	if (is_local(access))
		end_expect_broken_by_peer(b);
	else
		end_expect(b->cm_msg, IT_CM_MSG_CONN_BROKEN_EVENT);
}

/* One access; `from`: the first byte that is lost; `length`: of the access. Afterwards a new connection works. */
static void
lose(struct pair *pair, enum access access, enum loss how, size_t from, size_t length)
{
	struct end *a = &pair->active, *b = &pair->passive;
	bool local = is_local(access);
	struct victim v, whole; /* at the two sides */

	g_test_message("access %d, loss %d, from %zu, length %zu", access, how, from, length);
	victim_make(&v, local ? a : b, MAX(length, from + page));
	victim_make(&whole, local ? b : a, length);
	pair_establish(pair);
	victim_lose(&v, from, how);
	post(pair, access, &v, &whole, length);
	judge(pair, access);
	victim_end(&v);
	victim_end(&whole);
	end_new_ep(a);
	end_new_ep(b);
}

static void
lose_each(struct pair *pair, enum access first, enum access last)
{
	static const size_t lengths[] = {64, 100000};

	if (!is_guarded()) {
		g_test_skip("a lost page ends the process here");
		return;
	}
	for (enum access access = first; access <= last; access++) {
		bool atomic = access == ATOMIC_R || access == ATOMIC_L;

		if (atomic && !end_has(&pair->active, NEEDS_ATOMICS))
			continue;
		for (enum loss how = CUT; how < LOSSES; how++) {
			for (size_t i = 0; i < (atomic ? 1 : G_N_ELEMENTS(lengths)); i++)
				lose(pair, access, how, 0, lengths[i]);
		}
		if (atomic)
			continue;
		lose(pair, access, CUT, 5 * page, 100000);
		/* Behind what a receiver of iWARP reads into a buffer. */
		lose(pair, access, CUT, 100 * page, 600000);
	}
}

static void
test_lost_writes(struct pair *pair)
{
	lose_each(pair, WRITE_R, WRITE_L);
}

static void
test_lost_reads(struct pair *pair)
{
	lose_each(pair, READ_R, READ_L);
}

static void
test_lost_sends(struct pair *pair)
{
	lose_each(pair, SEND_R, SEND_L);
}

static void
test_lost_atomics(struct pair *pair)
{
	lose_each(pair, ATOMIC_R, ATOMIC_L);
}

/* The same without CRC, where iWARP gives payload to the socket, and takes it, in place. */
static void
test_lost_in_place(void)
{
	struct pair pair;

	g_setenv("ITAPI_MPA_CRC", "off", TRUE);
	if (pair_open(&pair)) {
		lose_each(&pair, WRITE_R, SEND_L);
		pair_close(&pair);
	} else {
		g_test_skip("no such adapter");
	}
	g_unsetenv("ITAPI_MPA_CRC");
}

/* The thread of the application sleeps, and the service thread meets the lost page. */
static void
test_lost_while_asleep(struct pair *pair)
{
	struct victim v, whole;

	if (!is_guarded()) {
		g_test_skip("a lost page ends the process here");
		return;
	}
	victim_make(&v, &pair->passive, page);
	victim_make(&whole, &pair->active, page);
	pair_establish(pair);
	victim_lose(&v, 0, CUT);
	post(pair, WRITE_R, &v, &whole, 64);
	g_usleep(100 * 1000);
	judge(pair, WRITE_R);
	victim_end(&v);
	victim_end(&whole);
}

/* --- the application's own faults ------------------------------------------------------------ */

/* The end of a child that got its own fault: by a signal, since at _exit() valgrind counts what other threads knew as lost. */
static void
own_handler(int sig, siginfo_t *info, void *context)
{
	(void)context;
	if (sig == SIGSEGV && info->si_addr == (void *)64)
		(void)kill(getpid(), SIGKILL);
	_exit(1);
}

/* In a child: end by a fault of the application itself, with a handler of its own or without one. */
static void
child_fault(bool handler, bool before)
{
	struct sigaction own = {.sa_sigaction = own_handler, .sa_flags = SA_SIGINFO};
	volatile char *volatile nowhere = (volatile char *)64;
	it_ia_handle_t ia = NULL;

	if (!handler)
		signal(SIGSEGV, SIG_DFL);
	if (handler && before)
		sigaction(SIGSEGV, &own, NULL);
	if (it_ia_create(pair_adapter(), 2, 1, &ia) != IT_SUCCESS)
		_exit(2);
	if (handler && !before)
		sigaction(SIGSEGV, &own, NULL);
	*nowhere = 1;
	_exit(3);
}

/* How a child ends that does so by the signal; 0: each one hung in the runtime of the sanitizer. */
static int
child_faults(bool handler, bool before)
{
	for (unsigned i = 0; i < CHILD_TRIES; i++) {
		pid_t child = fork();
		int status = 0;

		g_assert_cmpint(child, >=, 0);
		if (child == 0)
			child_fault(handler, before);
		if (child_await(child, &status)) {
			g_assert_true(WIFSIGNALED(status));
			return WTERMSIG(status);
		}
	}
	g_test_skip(CHILD_STUCK);
	return 0;
}

static void
test_own_faults(void)
{
	it_ia_handle_t ia = NULL;
	struct sigaction was, now;
	int end;

	if (IS_THREAD_SANITIZER) {
		g_test_skip("ThreadSanitizer delivers signals later");
		return;
	}
	g_assert_cmpint(sigaction(SIGBUS, NULL, &was), ==, 0);
	if (it_ia_create(pair_adapter(), 2, 1, &ia) != IT_SUCCESS) {
		g_test_skip("no such adapter");
		return;
	}
	pair_ok(it_ia_free(ia));
	g_assert_cmpint(sigaction(SIGBUS, NULL, &now), ==, 0);
	g_assert_true(was.sa_handler == now.sa_handler);
	end = child_faults(true, true);
	g_assert_true(end == SIGKILL || end == 0);
	end = child_faults(true, false);
	g_assert_true(end == SIGKILL || end == 0);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
	g_assert_cmpint(child_faults(false, false), ==, SIGSEGV);
#endif
}

static void
add_tests(void)
{
	page = (size_t)sysconf(_SC_PAGESIZE);
	pair_add("memory/refused", test_refused);
	pair_add_for(NEEDS_LMR_MODIFY, "memory/rights", test_rights);
	pair_add_bare("memory/limit", test_limit);
	pair_add("memory/lost-writes", test_lost_writes);
	pair_add("memory/lost-reads", test_lost_reads);
	pair_add("memory/lost-sends", test_lost_sends);
	pair_add_for(NEEDS_ATOMICS, "memory/lost-atomics", test_lost_atomics);
	pair_add_bare("memory/lost-in-place", test_lost_in_place);
	pair_add("memory/lost-while-asleep", test_lost_while_asleep);
	pair_add_bare("memory/own-faults", test_own_faults);
}

int
main(int argc, char **argv)
{
	return pair_main(argc, argv, add_tests);
}
