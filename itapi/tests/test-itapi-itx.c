/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* The calls that existing applications brought with them [IT 15.11]. */

#include <glib/gstdio.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "it_ext.h"
#include "it_window.h"

static uint64_t
number(const unsigned char *at, unsigned octets)
{
	uint64_t value = 0;

	for (unsigned i = 0; i < octets; i++)
		value = value << 8 | at[i];
	return value;
}

/* A region handle as existing applications read it: cast to three numbers in this order. */
struct told {
	uint64_t context;
	uint64_t addr;
	uint64_t length;
};

static struct told
told_by(const unsigned char *data)
{
	struct told told;

	memcpy(&told, data, sizeof(told));
	return (struct told){it_ntoh64(told.context), it_ntoh64(told.addr), it_ntoh64(told.length)};
}

/* The call says what the provider claims, and refuses a handle that is no adapter. */
static void
test_support(struct pair *pair)
{
	static const struct {
		const char *claim;
		uint64_t bit;
	} all[] = {
		{"reregister", ITX_SUPPORT_LMR_MODIFY},
		{"cq_resizable", ITX_SUPPORT_DTO_EVD_RESIZE},
		{"srq_limit", ITX_SUPPORT_SRQ_LOW_WATERMARK},
		{"local_read_revocable", ITX_SUPPORT_LOCAL_READ_CHECK},
		{"remote_status", ITX_SUPPORT_REMOTE_STATUS},
		{"dmabuf", ITX_SUPPORT_DMABUF},
		{"qp_reusable", ITX_SUPPORT_EP_REUSE},
	};
	uint64_t support = 0;

	pair_ok(itx_ia_query_support(pair->active.ia, &support));
	for (size_t i = 0; i < G_N_ELEMENTS(all); i++) {
		g_test_message("%s", all[i].claim);
		g_assert_cmpint((support & all[i].bit) != 0, ==, pair_claim(all[i].claim) != 0);
	}
	g_assert_cmpint(itx_ia_query_support(NULL, &support), ==, IT_ERR_INVALID_IA);
	g_assert_cmpint(itx_ia_query_support((it_ia_handle_t)pair->active.pz, &support), ==,
			IT_ERR_INVALID_IA);
	g_assert_cmpint(itx_ia_query_support(pair->active.ia, NULL), ==, IT_ERR_FAULT);
}

/* The setting of that name among `count`. */
static const itx_setting_t *
setting_of(const itx_setting_t *list, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++) {
		if (strcmp(list[i].name, name) == 0)
			return &list[i];
	}
	g_error("there is no setting %s", name);
}

/* As many settings are listed as the array holds, with their values in the environment. */
static void
test_settings(struct pair *pair)
{
	g_autofree itx_setting_t *list = NULL;
	const itx_setting_t *spin;
	size_t count = 0, total = 0, again = 0;

	(void)pair;
	g_assert_cmpint(itx_settings_list(NULL, NULL, &total), ==, IT_ERR_FAULT);
	g_assert_cmpint(itx_settings_list(NULL, &count, NULL), ==, IT_ERR_FAULT);
	count = 1;
	g_assert_cmpint(itx_settings_list(NULL, &count, &total), ==, IT_ERR_FAULT);
	count = 0;
	pair_ok(itx_settings_list(NULL, &count, &total));
	g_assert_cmpuint(count, ==, 0);
	g_assert_cmpuint(total, >, 20);
	list = g_new0(itx_setting_t, total + 1);
	g_setenv("ITAPI_SPIN_US", "1234", TRUE);
	count = total + 1;
	pair_ok(itx_settings_list(list, &count, &again));
	g_unsetenv("ITAPI_SPIN_US");
	g_assert_cmpuint(again, ==, total);
	g_assert_cmpuint(count, ==, total);
	spin = setting_of(list, count, "ITAPI_SPIN_US");
	g_assert_cmpstr(spin->owner, ==, "itapi");
	g_assert_cmpstr(spin->value, ==, "1234");
	g_assert_cmpstr(spin->preset, ==, "50");
	g_assert_cmpstr(spin->origin, ==, "environment");
	g_assert_cmpstr(spin->range, ==, "a number from 0 to 1000000 (us)");
	g_assert_cmpstr(spin->trouble, ==, "");
	g_assert_cmpint(spin->set_uid, ==, IT_FALSE);
	g_assert_cmpstr(setting_of(list, count, "[mpa] crc")->preset, ==, "true");
	g_assert_cmpstr(setting_of(list, count, "ITAPI_IWARP_RNR_MS")->owner, ==, "iwarp");
	memset(list, 0, sizeof(*list) * 2);
	count = 1;
	pair_ok(itx_settings_list(list, &count, &again));
	g_assert_cmpuint(count, ==, 1);
	g_assert_cmpuint(again, ==, total);
	g_assert_cmpstr(list[1].name, ==, "");
}

/* The objects of this process, *count of them. */
static itx_live_t *
live_list(size_t *count)
{
	size_t total = 0;
	itx_live_t *list;

	*count = 0;
	pair_ok(itx_live_list(0, NULL, count, &total));
	g_assert_cmpuint(*count, ==, 0);
	list = g_new0(itx_live_t, total + 1);
	*count = total;
	pair_ok(itx_live_list((int)getpid(), list, count, &total));
	g_assert_cmpuint(*count, ==, total);
	return list;
}

/*
 * The least amount by which a counter must have grown: 0 if not all objects of the kind have the counter. The providers
 * of the tree count everything; a provider that is being certified may count what it wants (ri_user_ops::qp_count).
 */
static uint64_t
live_due(const itx_live_t *list, size_t count, itx_live_kind_t kind, itx_counter_t counter,
	 uint64_t n)
{
	bool known = true;

	for (size_t i = 0; i < count; i++) {
		if (list[i].kind != kind)
			continue;
		known = known && (list[i].known >> counter & 1) == 1;
	}
	return known || !pair_certified() ? n : 0;
}

/* Sum of a counter over the objects of a kind. */
static uint64_t
live_sum(const itx_live_t *list, size_t count, itx_live_kind_t kind, itx_counter_t counter)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < count; i++)
		if (list[i].kind == kind)
			sum += list[i].counters[counter];
	return sum;
}

static unsigned
live_count(const itx_live_t *list, size_t count, itx_live_kind_t kind, const char *state)
{
	unsigned n = 0;

	for (size_t i = 0; i < count; i++)
		n += list[i].kind == kind && (state == NULL || strcmp(list[i].state, state) == 0);
	return n;
}

/* A process that has a page of our name in which there is something else. */
static void
check_liar(void)
{
	size_t count = 0, total = 0;
	int ready[2], fd;
	char octet;
	pid_t pid;

	g_assert_cmpint(pipe(ready), ==, 0);
	pid = fork();
	if (pid == 0) {
		fd = memfd_create("itapi-live", 0);
		if (write(fd, "nonsense", 8) == 8 && write(ready[1], "x", 1) == 1)
			pause();
		_exit(1);
	}
	g_assert_cmpint(read(ready[0], &octet, 1), ==, 1);
	g_assert_cmpint(itx_live_list((int)pid, NULL, &count, &total), ==, IT_ERR_OP_NOT_SUPPORTED);
	g_assert_cmpint(kill(pid, SIGKILL), ==, 0);
	g_assert_cmpint(waitpid(pid, NULL, 0), ==, pid);
	g_assert_cmpint(itx_live_list((int)pid, NULL, &count, &total), ==, IT_ERR_INVALID_NAME);
	close(ready[0]);
	close(ready[1]);
}

/*
 * Another user must not see the table. The system call changes only this thread: glibc's seteuid() kills a process that
 * has cancelled a thread before it created one, and Linux no longer lets a thread use RDMA devices once it has had
 * other credentials.
 */
static void *
look_as_nobody(void *arg)
{
	size_t count = 0, total;

	g_assert_cmpint(syscall(SYS_setresuid, -1, 65534, -1), ==, 0);
	g_assert_cmpint(itx_live_list((int)getppid(), NULL, &count, &total), ==,
			IT_ERR_NO_PERMISSION);
	return arg;
}

/* Adapters that send frames count them, and one end has sent at least that many. */
static void
check_frames(const itx_live_t *list, size_t count, uint64_t frames)
{
	const uint64_t kinds = UINT64_C(1) << ITX_COUNTER_FRAMES_SENT |
			       UINT64_C(1) << ITX_COUNTER_FRAMES_RECEIVED |
			       UINT64_C(1) << ITX_COUNTER_RETRIES |
			       UINT64_C(1) << ITX_COUNTER_CRC_ERRORS;
	uint64_t sent = 0, received = 0;
	bool framed = false;

	for (size_t i = 0; i < count; i++) {
		const uint64_t *counters = list[i].counters;

		if (list[i].kind != ITX_LIVE_EP || strcmp(list[i].state, "UP") != 0 ||
		    (!g_str_has_prefix(list[i].adapter, "roce:") &&
		     !g_str_has_prefix(list[i].adapter, "iwarp:")))
			continue;
		framed = true;
		g_assert_cmphex(list[i].known & kinds, ==, kinds);
		g_assert_cmpuint(counters[ITX_COUNTER_CRC_ERRORS], ==, 0);
		sent = MAX(sent, counters[ITX_COUNTER_FRAMES_SENT]);
		received = MAX(received, counters[ITX_COUNTER_FRAMES_RECEIVED]);
	}
	g_assert_true((sent >= frames && received >= frames) || !framed);
}

/* The process sees its objects, and the counters say what it has done. */
static void
test_live(struct pair *pair)
{
	struct end *a = &pair->active, *b = &pair->passive;
	it_lmr_triplet_t from = end_segment(a, 0, 64), to = end_segment(b, 0, 64);
	size_t count = 0, total = 0, again;
	g_autofree itx_live_t *before = NULL, *list = NULL;
	uint64_t sends, receives, done, octets;

	g_assert_cmpint(itx_live_list(0, NULL, NULL, &total), ==, IT_ERR_FAULT);
	g_assert_cmpint(itx_live_list(0, NULL, &count, NULL), ==, IT_ERR_FAULT);
	count = 1;
	g_assert_cmpint(itx_live_list(0, NULL, &count, &total), ==, IT_ERR_FAULT);
	count = 0;
	g_assert_cmpint(itx_live_list(-1, NULL, &count, &total), ==, IT_ERR_INVALID_NAME);
	before = live_list(&again);
	g_assert_cmpuint(live_count(before, again, ITX_LIVE_EP, "UP"), ==, 0);
	sends = live_sum(before, again, ITX_LIVE_EP, ITX_COUNTER_SENDS);
	receives = live_sum(before, again, ITX_LIVE_EP, ITX_COUNTER_RECEIVES);
	octets = live_sum(before, again, ITX_LIVE_EP, ITX_COUNTER_OCTETS_POSTED);
	done = live_sum(before, again, ITX_LIVE_EVD, ITX_COUNTER_SUCCESSES);
	pair_establish(pair);
	for (uint64_t i = 0; i < 3; i++) {
		pair_ok(it_post_recv((it_handle_t)b->ep, &to, 1, i, SIGNALED));
		pair_ok(it_post_send(a->ep, &from, 1, i, SIGNALED));
		end_done(a->request, IT_DTO_SEND_CMPL_EVENT, i, IT_DTO_SUCCESS);
		end_done(b->recv, IT_DTO_RC_RECV_CMPL_EVENT, i, IT_DTO_SUCCESS);
	}
	list = live_list(&count);
	g_assert_cmpuint(live_count(list, count, ITX_LIVE_EP, "UP"), ==, 2);
	g_assert_cmpuint(live_count(list, count, ITX_LIVE_IA, NULL), >=, 1);
	for (size_t i = 0; i < count; i++) {
		g_assert_cmpuint(list[i].known >> ITX_COUNTER_COUNT, ==, 0);
		if (list[i].kind != ITX_LIVE_EP || strcmp(list[i].state, "UP") != 0)
			continue;
		g_assert_cmpstr(list[i].peer, !=, "");
		g_assert_cmpstr(list[i].type, ==, "RC");
		g_assert_cmpuint(list[i].known & 1, ==,
				 live_due(list, count, ITX_LIVE_EP, ITX_COUNTER_SENDS, 1));
	}
	g_assert_cmpuint(live_sum(list, count, ITX_LIVE_EP, ITX_COUNTER_SENDS), ==,
			 sends + live_due(list, count, ITX_LIVE_EP, ITX_COUNTER_SENDS, 3));
	g_assert_cmpuint(live_sum(list, count, ITX_LIVE_EP, ITX_COUNTER_RECEIVES), ==,
			 receives + live_due(list, count, ITX_LIVE_EP, ITX_COUNTER_RECEIVES, 3));
	g_assert_cmpuint(
		live_sum(list, count, ITX_LIVE_EP, ITX_COUNTER_OCTETS_POSTED), ==,
		octets + live_due(list, count, ITX_LIVE_EP, ITX_COUNTER_OCTETS_POSTED, 3 * 64));
	check_frames(list, count, 3);
	g_assert_cmpuint(live_sum(list, count, ITX_LIVE_EVD, ITX_COUNTER_SUCCESSES), ==,
			 done + live_due(list, count, ITX_LIVE_EVD, ITX_COUNTER_SUCCESSES, 6));
	pair_disconnect(pair);
	check_liar();
	if (geteuid() == 0)
		g_thread_join(g_thread_new("nobody", look_as_nobody, NULL));
	g_assert_cmpstr(itx_counter_name(ITX_COUNTER_SENDS), ==, "sends");
	for (unsigned i = 0; i < ITX_COUNTER_COUNT; i++)
		g_assert_nonnull(itx_counter_name((itx_counter_t)i));
	g_assert_null(itx_counter_name(ITX_COUNTER_COUNT));
}

/* Both sides describe a region in their private data, and both regions can be used. */
static void
test_regions(struct pair *pair)
{
	struct end *a = &pair->active, *b = &pair->passive;
	it_lmr_triplet_t mine = end_segment(a, 100, 5000), theirs = end_segment(b, 200, 6000);
	it_lmr_triplet_t out = end_segment(b, 0, 64);
	it_rmr_context_t told = 0, answered = 0;
	it_event_t event;
	const unsigned char *data;
	struct told region;

	g_assert_cmpint(itx_ep_connect_with_rmr(a->ep, &pair->path, NULL, &pair->qual,
						IT_CONNECT_FLAG_TWO_WAY,
						(const unsigned char *)"hi", 2, &mine, &told),
			==, IT_SUCCESS);
	g_assert_cmpuint(told, ==, a->context);
	event = end_expect(b->cm_req, IT_CM_REQ_CONN_REQUEST_EVENT);
	g_assert_cmpint(event.conn_req.private_data_present, ==, IT_TRUE);
	data = event.conn_req.private_data;
	g_assert_cmpint(memcmp(data, "hi", 2), ==, 0);
	g_assert_cmpuint(number(data + 2, 4), ==, 5000);
	g_assert_cmpuint(number(data + 6, 8), ==, a->context);
	g_assert_cmpuint(number(data + 14, 8), ==, (uintptr_t)a->buffer + 100);
	g_assert_cmpint(itx_bind_ep_to_device(b->ep, event.conn_req.cn_est_id), ==, IT_SUCCESS);
	g_assert_cmpint(itx_bind_ep_to_device(a->ep, event.conn_req.cn_est_id), ==,
			IT_ERR_INVALID_CN_EST_ID);
	g_assert_cmpint(itx_ep_accept_with_rmr(b->ep, event.conn_req.cn_est_id, &theirs, &answered),
			==, IT_SUCCESS);
	g_assert_cmpuint(answered, ==, b->context);
	event = end_expect(a->cm_msg, IT_CM_MSG_CONN_ESTABLISHED_EVENT);
	end_expect(b->cm_msg, IT_CM_MSG_CONN_ESTABLISHED_EVENT);
	data = event.conn.private_data;
	region = told_by(data);
	g_assert_cmpuint(region.context, ==, b->context);
	g_assert_cmpuint(region.addr, ==, (uintptr_t)b->buffer + 200);
	g_assert_cmpuint(region.length, ==, 6000);
	/* The initiator sends first, up to the last octet it is allowed; then the responder does. */
	it_lmr_triplet_t first = end_segment(a, 8192, 64);
	memset(a->buffer + 8192, 0x5a, 64);
	g_assert_cmpint(it_post_rdma_write(a->ep, &first, 1, 1, SIGNALED,
					   region.addr + region.length - 64, region.context),
			==, IT_SUCCESS);
	end_done(a->request, IT_DTO_RDMA_WRITE_CMPL_EVENT, 1, IT_DTO_SUCCESS);
	g_assert_cmpint(
		it_post_rdma_write(b->ep, &out, 1, 2, SIGNALED, (uintptr_t)a->buffer + 100, told),
		==, IT_SUCCESS);
	end_done(b->request, IT_DTO_RDMA_WRITE_CMPL_EVENT, 2, IT_DTO_SUCCESS);
	/* A Read after the first Write shows that the Write is in place. */
	it_lmr_triplet_t back = end_segment(a, 16384, 64);
	g_assert_cmpint(it_post_rdma_read(a->ep, &back, 1, 3, SIGNALED,
					  region.addr + region.length - 64, region.context),
			==, IT_SUCCESS);
	end_done(a->request, IT_DTO_RDMA_READ_CMPL_EVENT, 3, IT_DTO_SUCCESS);
	g_assert_cmpint(memcmp(a->buffer + 8192, a->buffer + 16384, 64), ==, 0);
	g_assert_cmpint(itx_bind_ep_to_device(b->ep, 12345), ==, IT_ERR_INVALID_CN_EST_ID);
	pair_disconnect(pair);
}

/* The calls of the extensions check their arguments. */
static void
test_checks(struct pair *pair)
{
	struct end *a = &pair->active, *b = &pair->passive;
	it_lmr_triplet_t mine = end_segment(a, 0, 64), foreign = end_segment(b, 0, 64);
	unsigned char data[IT_MAX_PRIV_DATA] = {0};
	it_rmr_context_t context = 0;

#define CONNECT(ep, length, lmr, out)                                                              \
	itx_ep_connect_with_rmr(ep, &pair->path, NULL, &pair->qual, IT_CONNECT_FLAG_TWO_WAY, data, \
				length, lmr, out)
	g_assert_cmpint(CONNECT(NULL, 0, &mine, &context), ==, IT_ERR_INVALID_EP);
	g_assert_cmpint(CONNECT(a->ep, 0, &foreign, &context), ==, IT_ERR_INVALID_LMR);
	g_assert_cmpint(CONNECT(a->ep, 0, NULL, &context), ==, IT_ERR_FAULT);
	g_assert_cmpint(CONNECT(a->ep, 0, &mine, NULL), ==, IT_ERR_FAULT);
	g_assert_cmpint(CONNECT(a->ep, sizeof(data), &mine, &context), ==,
			IT_ERR_INVALID_PDATA_LENGTH);
	g_assert_cmpint(CONNECT(a->ep, a->info->connect_private_data_len - 19, &mine, &context), ==,
			IT_ERR_INVALID_PDATA_LENGTH);
	mine.length = (it_length_t)UINT32_MAX + 1;
	g_assert_cmpint(CONNECT(a->ep, 0, &mine, &context), ==, IT_ERR_INVALID_LENGTH);
	mine.length = 64;
#undef CONNECT
	g_assert_cmpint(itx_ep_accept_with_rmr(NULL, 1, &mine, &context), ==, IT_ERR_INVALID_EP);
	g_assert_cmpint(itx_ep_accept_with_rmr(a->ep, 1, &foreign, &context), ==,
			IT_ERR_INVALID_LMR);
	g_assert_cmpint(itx_ep_accept_with_rmr(a->ep, 1, &mine, NULL), ==, IT_ERR_FAULT);
	g_assert_cmpint(itx_ep_accept_with_rmr(a->ep, 1, &mine, &context), ==,
			IT_ERR_INVALID_CN_EST_ID);
	g_assert_cmpint(itx_bind_ep_to_device(NULL, 1), ==, IT_ERR_INVALID_EP);
	g_assert_cmpint(itx_get_rmr_context_for_ep(NULL, a->lmr, &context), ==, IT_ERR_INVALID_EP);
	g_assert_cmpint(itx_get_rmr_context_for_ep(a->ep, b->lmr, &context), ==,
			IT_ERR_INVALID_LMR);
	g_assert_cmpint(itx_get_rmr_context_for_ep(a->ep, a->lmr, NULL), ==, IT_ERR_FAULT);
	g_assert_cmpint(itx_get_rmr_context_for_ep(a->ep, a->lmr, &context), ==, IT_SUCCESS);
	g_assert_cmpuint(context, ==, a->context);
}

/* An endpoint can be bound to an adapter only while it is unconnected. */
static void
test_bind(struct pair *pair)
{
	struct end *a = &pair->active, *b = &pair->passive;
	it_event_t event;

	pair_establish(pair);
	pair_disconnect(pair);
	end_reset(a);
	pair_connect(pair);
	event = end_expect(b->cm_req, IT_CM_REQ_CONN_REQUEST_EVENT);
	g_assert_cmpint(itx_bind_ep_to_device(b->ep, event.conn_req.cn_est_id), ==,
			IT_ERR_INVALID_EP_STATE);
	end_reset(b);
	g_assert_cmpint(itx_bind_ep_to_device(b->ep, event.conn_req.cn_est_id), ==, IT_SUCCESS);
	g_assert_cmpint(it_ep_accept(b->ep, event.conn_req.cn_est_id, NULL, 0), ==, IT_SUCCESS);
	end_expect(a->cm_msg, IT_CM_MSG_CONN_ESTABLISHED_EVENT);
	end_expect(b->cm_msg, IT_CM_MSG_CONN_ESTABLISHED_EVENT);
	pair_disconnect(pair);
}

/* Invalid names and folders. */
static void
test_trace_refused(struct pair *pair)
{
	g_autofree char *folder = g_dir_make_tmp("itapi-trace-XXXXXX", NULL);
	g_autofree char *absent = g_build_filename(folder, "absent", NULL);
	g_autofree char *longer_than_a_name = g_strnfill(300, 'n');
	g_autofree char *longer_than_a_path = g_strnfill(5000, 'p');

	(void)pair;
	g_setenv("ITAPI_TRACE", folder, TRUE);
	g_assert_cmpint(itx_init_tracing(NULL, 1), ==, IT_ERR_FAULT);
	g_assert_cmpint(itx_init_tracing("", 1), ==, IT_ERR_INVALID_NAME);
	g_assert_cmpint(itx_init_tracing("no/folder", 1), ==, IT_ERR_INVALID_NAME);
	g_assert_cmpint(itx_init_tracing(longer_than_a_name, 1), ==, IT_ERR_INVALID_NAME);
	g_assert_cmpint(itx_init_tracing(longer_than_a_path, 1), ==, IT_ERR_INVALID_NAME);
	g_setenv("ITAPI_TRACE", absent, TRUE);
	g_assert_cmpint(itx_init_tracing("demo", 1), ==, IT_ERR_RESOURCES);
	/* No user may write there, not even root. */
	g_assert_cmpint(g_chmod(folder, 0500), ==, 0);
	g_setenv("ITAPI_TRACE", geteuid() == 0 ? "/sys" : folder, TRUE);
	g_assert_cmpint(itx_init_tracing("demo", 1), ==, IT_ERR_NO_PERMISSION);
	g_unsetenv("ITAPI_TRACE");
	g_assert_cmpint(g_rmdir(folder), ==, 0);
}

/* The trace file has lines about the connection. */
static void
test_trace(struct pair *pair)
{
	g_autofree char *folder = g_dir_make_tmp("itapi-trace-XXXXXX", NULL);
	g_autofree char *name = g_strdup_printf("demo.3.%d.trace", (int)getpid());
	g_autofree char *path = g_build_filename(folder, name, NULL);
	GStatBuf info;
	g_autofree char *text = NULL;

	g_assert_true(g_setenv("ITAPI_TRACE", folder, TRUE));
	g_assert_cmpint(itx_init_tracing("demo", 3), ==, IT_SUCCESS);
	pair_establish(pair);
	pair_disconnect(pair);
	g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
	g_assert_cmpint(g_stat(path, &info), ==, 0);
	g_assert_cmpint(info.st_mode & 0777, ==, 0600);
	g_assert_nonnull(strstr(text, " begin demo\n"));
	g_assert_nonnull(strstr(text, " CONNECT ACTIVE1\n"));
	g_assert_nonnull(strstr(text, " ESTABLISHED CONNECTED\n"));
	g_unsetenv("ITAPI_TRACE");
	g_assert_cmpint(g_remove(path), ==, 0);
	g_assert_cmpint(g_rmdir(folder), ==, 0);
}

static void
add_tests(void)
{
	pair_add("itx/support", test_support);
	pair_add_for(NEEDS_PRIVATE_DATA | NEEDS_READS, "itx/regions", test_regions);
	pair_add_for(NEEDS_PRIVATE_DATA, "itx/checks", test_checks);
	pair_add("itx/bind", test_bind);
	pair_add("itx/settings", test_settings);
	pair_add("itx/live", test_live);
	pair_add("itx/trace", test_trace);
	pair_add("itx/trace-refused", test_trace_refused);
}

int
main(int argc, char **argv)
{
	return pair_main(argc, argv, add_tests);
}
