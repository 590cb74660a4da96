/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include "it_pair.h"

#include <poll.h>
#include <stdbool.h>
#include <string.h>

#include "it_ext.h"
#include "it_fabric.h"

#define CM_ADDRESS 1 /* RI_CM_ADDRESS */
#define ALL_PRIVS  IT_PRIV_ALL

static const char *adapter;

/* How long a message waits for its receive, in ms. Each adapter reads the variable of its provider when it is opened. */
#define RNR_LONG  "60000"
#define RNR_SHORT "100"
static const char *const rnr_variables[] = {"ITAPI_IWARP_RNR_MS", "ITAPI_EMUL_RNR_MS"};

/* One of the two. */
struct job {
	void (*test)(struct pair *pair);
	void (*bare)(void);
	unsigned needs; /* of the first: enum pair_need */
	bool impatient; /* of the first */
};

/* All of them; pair_main frees them, since GLib does not where the cases are only listed. */
static GSList *jobs;

__attribute__((constructor)) static void
fabric_begin(void)
{
	fabric_of_its_own();
}

void
pair_use(const char *name)
{
	adapter = name;
}

const char *
pair_adapter(void)
{
	return adapter;
}

uint64_t
pair_claim(const char *attribute)
{
	return claim_value(adapter, attribute);
}

it_conn_reject_code_t
pair_no_room(void)
{
	bool addresses = (pair_claim("cm_forms") & CM_ADDRESS) != 0;

	return addresses || pair_claim("ird_ord_exchange") != 0 ? IT_CN_REJ_RESOURCES
								: IT_CN_REJ_OTHER;
}

bool
pair_certified(void)
{
	return claims_given();
}

void
pair_inapplicable(const char *format, ...)
{
	char *why, *reason;
	va_list args;

	va_start(args, format);
	why = g_strdup_vprintf(format, args);
	va_end(args);
	reason = g_strconcat("not applicable: ", why, NULL);
	g_test_skip(reason);
	g_free(reason);
	g_free(why);
}

int
pair_patience(void)
{
	const char *text = g_getenv("ITAPI_TEST_PATIENCE");
	double seconds = text != NULL ? g_ascii_strtod(text, NULL) : 0;

	return (int)((seconds != 0 ? CLAMP(seconds, 0.1, 1000) : 60) * G_USEC_PER_SEC);
}

it_ia_handle_t
pair_ia(void)
{
	it_ia_handle_t ia = NULL;

	pair_ok(it_ia_create(adapter, 2, 1, &ia));
	return ia;
}

static it_evd_handle_t
sevd_make(it_ia_handle_t ia, it_event_type_t stream, size_t threshold, int *fd)
{
	it_evd_flags_t flags = fd != NULL ? IT_EVD_CREATE_FD : 0;
	it_evd_handle_t evd = NULL;

	pair_ok(it_evd_create(ia, stream, flags, 256, threshold, NULL, &evd, fd));
	return evd;
}

it_evd_handle_t
pair_sevd(it_ia_handle_t ia, it_event_type_t stream, size_t threshold)
{
	return sevd_make(ia, stream, threshold, NULL);
}

void
pair_resize(it_evd_handle_t evd, size_t size)
{
	it_evd_param_t params = {.sevd_queue_size = size};

	pair_ok(it_evd_modify(evd, IT_EVD_PARAM_QUEUE_SIZE, &params));
}

uint32_t
pair_at_most(const char *attribute, uint32_t wanted)
{
	return pair_certified() ? (uint32_t)MIN(pair_claim(attribute), wanted) : wanted;
}

static void
attr_make(struct end *end)
{
	it_rc_only_attributes_t *rc = &end->attr.srv.rc;

	end->attr.max_request_dtos = REQUEST_SLOTS;
	end->attr.max_recv_dtos = RECV_SLOTS;
	end->attr.max_send_segments = pair_at_most("max_send_sge", PAIR_SEGMENTS);
	end->attr.max_recv_segments = pair_at_most("max_recv_sge", PAIR_SEGMENTS);
	rc->max_rdma_read_segments = 1;
	rc->max_rdma_write_segments = pair_at_most("max_write_sge", PAIR_SEGMENTS);
	rc->rdma_read_enable = IT_TRUE;
	rc->rdma_write_enable = IT_TRUE;
	rc->atomics_enable = end->info->atomic_support;
	rc->rdma_read_ird = pair_at_most("max_ird", 4);
	rc->rdma_read_ord =
		pair_at_most("max_ord", 3); /* not the same, so that none is taken for the other */
	/* Where the ends exchange no depths, an ORD beyond the peer's IRD would end the connection. */
	if (!end->info->ird_ord_ia_support)
		rc->rdma_read_ord = MIN(rc->rdma_read_ord, rc->rdma_read_ird);
	rc->hard_hi_watermark = IT_HARD_HI_WATERMARK_DISABLE;
}

bool
end_open(struct end *end)
{
	it_status_t status;

	memset(end, 0, sizeof(*end));
	status = it_ia_create(adapter, 2, 0, &end->ia);
	if (status == IT_ERR_INVALID_NAME)
		return false;
	pair_ok(status);
	pair_ok(it_ia_query(end->ia, &end->info));
	pair_ok(it_pz_create(end->ia, &end->pz));
	end->request = pair_sevd(end->ia, IT_DTO_EVENT_STREAM, 1);
	end->recv = pair_sevd(end->ia, IT_DTO_EVENT_STREAM, 1);
	end->cm_msg = pair_sevd(end->ia, IT_CM_MSG_EVENT_STREAM, 1);
	end->cm_req = pair_sevd(end->ia, IT_CM_REQ_EVENT_STREAM, 1);
	attr_make(end);
	end->buffer = g_malloc0(END_BUFFER);
	pair_ok(it_lmr_create21(end->pz, end->buffer, NULL, END_BUFFER, IT_ADDR_MODE_ABSOLUTE,
				ALL_PRIVS, IT_LMR_FLAG_NONE, 0, &end->lmr, &end->context));
	return true;
}

/* Free the objects in an order in which every free must succeed, and test each. */
void
end_close(struct end *end)
{
	if (end->ep != NULL)
		pair_ok(it_ep_free(end->ep));
	pair_ok(it_lmr_free(end->lmr));
	pair_ok(it_evd_free(end->request));
	pair_ok(it_evd_free(end->recv));
	pair_ok(it_evd_free(end->cm_msg));
	pair_ok(it_evd_free(end->cm_req));
	pair_ok(it_pz_free(end->pz));
	it_ia_info_free(end->info);
	pair_ok(it_ia_free(end->ia));
	g_free(end->buffer);
}

void
end_new_ep(struct end *end)
{
	if (end->ep != NULL)
		pair_ok(it_ep_free(end->ep));
	pair_ok(it_ep_rc_create(end->pz, end->request, end->recv, end->cm_msg, IT_EP_NO_FLAG,
				&end->attr, &end->ep));
}

void
end_new_evds(struct end *end, size_t threshold, int *fd)
{
	if (end->ep != NULL)
		pair_ok(it_ep_free(end->ep));
	end->ep = NULL;
	pair_ok(it_evd_free(end->request));
	pair_ok(it_evd_free(end->recv));
	end->request = pair_sevd(end->ia, IT_DTO_EVENT_STREAM, threshold);
	end->recv = sevd_make(end->ia, IT_DTO_EVENT_STREAM, threshold, fd);
	end_new_ep(end);
}

/* A spigot that has an address, and the kind of its connection qualifiers. */
void
pair_listen(struct pair *pair)
{
	const it_ia_info_t *info = pair->passive.info;
	it_conn_qual_t qual = {.type = IT_IANA_PORT};
	it_net_addr_t *addr = NULL;
	size_t paths = 1, total = 0;

	for (size_t i = 0; i < info->num_spigots && addr == NULL; i++) {
		pair->spigot = i;
		if (info->spigot_info[i].num_net_addr > 0)
			addr = info->spigot_info[i].net_addr;
	}
	g_assert_nonnull(addr);
	if ((info->spigot_info[pair->spigot].passive_side_conn_qual & IT_IANA_PORT) == 0)
		qual.type = IT_IB_SERVICEID;
	pair_ok(it_listen_create(pair->passive.ia, pair->spigot, pair->passive.cm_req,
				 IT_LISTEN_NO_FLAG, &qual, &pair->listen));
	pair->qual = qual;
	pair_ok(it_get_pathinfo(pair->active.ia, pair->spigot, addr, &paths, &total, &pair->path));
	g_assert_cmpuint(paths, >=, 1);
}

bool
pair_open(struct pair *pair)
{
	memset(pair, 0, sizeof(*pair));
	if (!end_open(&pair->active))
		return false;
	g_assert_true(end_open(&pair->passive));
	end_new_ep(&pair->active);
	end_new_ep(&pair->passive);
	pair_listen(pair);
	return true;
}

void
pair_close(struct pair *pair)
{
	if (pair->listen != NULL)
		pair_ok(it_listen_free(pair->listen));
	end_close(&pair->active);
	end_close(&pair->passive);
}

static bool
has_ipv6(const it_ia_info_t *info)
{
	for (size_t i = 0; i < info->num_spigots; i++) {
		for (size_t k = 0; k < info->spigot_info[i].num_net_addr; k++) {
			if (info->spigot_info[i].net_addr[k].addr_type == IT_IPV6)
				return true;
		}
	}
	return false;
}

enum {
	RNR_TERMINATE,
	RNR_RETRY,
	RNR_HOLD
}; /* enum ri_rnr_mode */

static bool
has_segments(void)
{
	if (!pair_certified())
		return true;
	return pair_claim("max_send_sge") >= PAIR_SEGMENTS &&
	       pair_claim("max_recv_sge") >= PAIR_SEGMENTS &&
	       pair_claim("max_write_sge") >= PAIR_SEGMENTS;
}

static bool
has_reads(void)
{
	if (!pair_certified())
		return true;
	return pair_claim("max_ird") > 0 && pair_claim("max_ord") > 0;
}

/* Which of `needs` the adapter lacks, of those that it_ia_query() does not report. The profile is read only if a test needs one. */
static unsigned
lacking_unasked(unsigned needs, const char **what)
{
	if ((needs & NEEDS_SEGMENTS) != 0 && !has_segments()) {
		*what = "max_send_sge, max_recv_sge or max_write_sge is below 4";
		return NEEDS_SEGMENTS;
	}
	if ((needs & NEEDS_PRIVATE_DATA) != 0 && pair_certified() &&
	    (pair_claim("connect_pdata") < PAIR_PDATA || pair_claim("accept_pdata") < PAIR_PDATA)) {
		*what = "connect_pdata or accept_pdata is below 32";
		return NEEDS_PRIVATE_DATA;
	}
	if ((needs & NEEDS_READS) != 0 && !has_reads()) {
		*what = "max_ird or max_ord is 0";
		return NEEDS_READS;
	}
	if ((needs & NEEDS_TIME_WAIT) != 0 && pair_claim("has_time_wait") == 0) {
		*what = "has_time_wait is not claimed";
		return NEEDS_TIME_WAIT;
	}
	if ((needs & NEEDS_WAITING) != 0 && pair_claim("rnr_mode") == RNR_TERMINATE) {
		*what = "rnr_mode is RI_RNR_TERMINATE";
		return NEEDS_WAITING;
	}
	if ((needs & NEEDS_HELD) != 0 &&
	    (pair_is_device() || pair_is_roce() ||
	     (pair_certified() && pair_claim("rnr_mode") != RNR_HOLD))) {
		*what = "rnr_mode is not RI_RNR_HOLD";
		return NEEDS_HELD;
	}
	if ((needs & NEEDS_LMR_UNLINK) != 0 && pair_is_device()) {
		*what = "regions that a peer can unlink are not there";
		return NEEDS_LMR_UNLINK;
	}
	return 0;
}

/* Each need: the claims that say so, as a reason names them, and whether the adapter meets it. */
static unsigned
lacking(const struct end *end, unsigned needs, const char **what)
{
	const it_ia_info_t *info = end->info;
	unsigned types = (unsigned)info->rmr_types_supported;
	bool narrow = (types & IT_RMR_TYPE_NARROW) != 0, wide = (types & IT_RMR_TYPE_WIDE) != 0;
	uint64_t more = 0;

	pair_ok(itx_ia_query_support(end->ia, &more));
	const struct {
		unsigned need;
		const char *name;
		bool met;
	} all[] = {
		{NEEDS_ATOMICS, "atomics is not claimed", info->atomic_support},
		{NEEDS_WINDOWS, "neither mw_narrow nor mw_wide is claimed", narrow || wide},
		{NEEDS_NARROW, "mw_narrow is not claimed", narrow},
		{NEEDS_WIDE, "mw_wide is not claimed", wide},
		{NEEDS_UNLINK,
		 narrow ? "mw_narrow_unbind is not claimed" : "mw_wide_unbind is not claimed",
		 narrow ? info->narrow_rmr_unlink_support : info->wide_rmr_unlink_support},
		{NEEDS_REMOTE_UNLINK, "send_invalidate is not claimed",
		 info->post_send_unlink_remote_support},
		{NEEDS_RELATIVE, "zero_based is not claimed", info->addr_mode_relative_support},
		{NEEDS_LMR_MODIFY, "reregister is not claimed",
		 (more & ITX_SUPPORT_LMR_MODIFY) != 0},
		{NEEDS_SRQ, "srq is not claimed", info->srq_support},
		{NEEDS_LOW_WATERMARK, "srq_limit is not claimed",
		 (more & ITX_SUPPORT_SRQ_LOW_WATERMARK) != 0},
		{NEEDS_HARD_WATERMARK, "rq_hard_limit is not claimed",
		 info->hard_hi_watermark_support},
		{NEEDS_SOFT_WATERMARK, "rq_soft_limit is not claimed",
		 info->soft_hi_watermark_support},
		{NEEDS_EP_RESIZE, "wq_resizable is not claimed", info->ep_work_queues_resizable},
		{NEEDS_EVD_RESIZE, "cq_resizable is not claimed",
		 (more & ITX_SUPPORT_DTO_EVD_RESIZE) != 0},
		{NEEDS_SRQ_RESIZE, "srq_resizable is not claimed", info->srq_resizable},
		{NEEDS_OVERFLOW, "cq_overflow_detect is not claimed",
		 info->dto_evd_overflow_detection},
		{NEEDS_SPIGOT_EVENTS, "port_events is not claimed",
		 info->spigot_online_support && info->spigot_offline_support},
		{NEEDS_DIRECT_LMR, "direct_stag is not claimed", info->direct_lmr_handle_support},
		{NEEDS_IPV6, "no spigot has an address of IPv6", has_ipv6(info)},
		{NEEDS_READ_EXTENSIONS, "read_local_extensions is not claimed",
		 info->rdma_read_local_extensions},
		{NEEDS_DMABUF, "dmabuf is not claimed", (more & ITX_SUPPORT_DMABUF) != 0},
		{NEEDS_REUSE, "qp_reusable is not claimed", (more & ITX_SUPPORT_EP_REUSE) != 0},
		{NEEDS_UD, "ud is not claimed",
		 (info->supported_service_types & IT_UD_SERVICE) != 0},
		{NEEDS_CONVERSION, "socket_conversion is not claimed",
		 info->socket_conversion_support},
	};

	for (size_t i = 0; i < G_N_ELEMENTS(all); i++) {
		if ((needs & all[i].need) == 0 || all[i].met)
			continue;
		*what = all[i].name;
		return all[i].need;
	}
	return lacking_unasked(needs, what);
}

bool
end_has(const struct end *end, unsigned needs)
{
	const char *what;

	return lacking(end, needs, &what) == 0;
}

bool
pair_needs(const struct pair *pair, unsigned needs)
{
	const char *what;

	if (lacking(&pair->active, needs, &what) == 0)
		return true;
	pair_inapplicable("%s", what);
	return false;
}

static bool
present(void)
{
	it_ia_handle_t ia;

	if (it_ia_create(adapter, 2, 0, &ia) == IT_ERR_INVALID_NAME)
		return false;
	pair_ok(it_ia_free(ia));
	return true;
}

static void
set_rnr(const char *ms)
{
	for (size_t i = 0; i < G_N_ELEMENTS(rnr_variables); i++)
		g_setenv(rnr_variables[i], ms, TRUE);
}

/* pair_open, or for a bare test only whether the adapter exists. */
static bool
prepare(const struct job *job, struct pair *pair)
{
	bool there;

	if (job->bare != NULL)
		return present();
	if (job->impatient)
		set_rnr(RNR_SHORT);
	there = pair_open(pair);
	if (job->impatient)
		set_rnr(RNR_LONG);
	return there;
}

static void
run(const void *data)
{
	const struct job *job = data;
	struct pair pair;

	if (!prepare(job, &pair)) {
		g_test_skip("no such adapter");
		return;
	}
	if (job->bare != NULL) {
		job->bare();
		return;
	}
	if (job->impatient && pair_is_roce())
		pair_inapplicable("a message that finds no receive is repeated without limit");
	else if (pair_needs(&pair, job->needs))
		job->test(&pair);
	pair_close(&pair);
}

static void
job_add(const char *path, struct job job)
{
	struct job *own = g_new(struct job, 1);
	g_autofree char *name = g_strdup_printf("/itapi/%s/%s", adapter, path);

	*own = job;
	jobs = g_slist_prepend(jobs, own);
	g_test_add_data_func(name, own, (GTestDataFunc)(void (*)(void))run);
}

void
pair_add(const char *path, void (*test)(struct pair *pair))
{
	job_add(path, (struct job){.test = test});
}

void
pair_add_for(unsigned needs, const char *path, void (*test)(struct pair *pair))
{
	job_add(path, (struct job){.test = test, .needs = needs});
}

void
pair_add_impatient(unsigned needs, const char *path, void (*test)(struct pair *pair))
{
	job_add(path, (struct job){.test = test, .needs = needs, .impatient = true});
}

void
pair_add_bare(const char *path, void (*test)(void))
{
	job_add(path, (struct job){.bare = test});
}

int
pair_main(int argc, char **argv, void (*add)(void))
{
	g_test_init(&argc, &argv, NULL);
	/* Another test may have taken the port since it was freed; then the next one is tried. */
	g_setenv("ITAPI_MPA_FALLBACK", "off", FALSE);
	set_rnr(RNR_LONG);
	adapter = argc > 1 ? argv[1] : "emul:ib";
	add();
	int status = g_test_run();
	g_slist_free_full(jobs, g_free);
	return status;
}

it_event_t
end_next(it_evd_handle_t evd)
{
	it_event_t event;

	memset(&event, 0, sizeof(event));
	pair_ok(it_evd_wait(evd, WAIT_US, &event, NULL));
	g_assert_true(event.any.evd == evd);
	return event;
}

it_event_t
end_expect(it_evd_handle_t evd, it_event_type_t number)
{
	it_event_t event = end_next(evd);

	g_assert_cmphex(event.event_number, ==, number);
	return event;
}

it_event_t
end_done(it_evd_handle_t evd, it_event_type_t number, it_dto_cookie_t cookie,
	 it_dto_status_t status)
{
	it_event_t event = end_expect(evd, number);

	g_assert_cmpuint(event.dto_cmpl.cookie, ==, cookie);
	g_assert_cmpint(event.dto_cmpl.dto_status, ==, status);
	return event;
}

void
end_expect_none(it_evd_handle_t evd)
{
	it_event_t event;

	g_assert_cmpint(it_evd_dequeue(evd, &event), ==, IT_ERR_QUEUE_EMPTY);
}

it_ep_state_rc_t
end_state(const struct end *end)
{
	it_ep_param_t params;

	pair_ok(it_ep_query(end->ep, IT_EP_PARAM_STATE, &params));
	return params.ep_state.rc;
}

uint32_t
end_ord(const struct end *end)
{
	it_ep_param_t params;

	pair_ok(it_ep_query(end->ep, IT_EP_PARAM_MAX_ORD, &params));
	return params.attr.srv.rc.rdma_read_ord;
}

void
end_reset(struct end *end)
{
	it_status_t status;

	if (!end_has(end, NEEDS_REUSE)) {
		end_new_ep(end);
		return;
	}
	/* With has_time_wait there is a time-wait, which is over after a while. */
	PAIR_UNTIL((status = it_ep_reset(end->ep)) != IT_ERR_CANNOT_RESET &&
		   status != IT_ERR_EP_TIMEWAIT);
	pair_ok(status);
	g_assert_cmpint(end_state(end), ==, IT_EP_STATE_UNCONNECTED);
}

unsigned
pair_descriptors(void)
{
	g_autoptr(GDir) dir = g_dir_open("/proc/self/fd", 0, NULL);
	unsigned count = 0;

	g_assert_nonnull(dir);
	while (g_dir_read_name(dir) != NULL)
		count++;
	return count;
}

static bool
sleeps(int tid)
{
	char *path = g_strdup_printf("/proc/self/task/%d/stat", tid), *text = NULL, *state;
	bool asleep;

	g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
	state = strrchr(text, ')'); /* the last part of the adapter's name */
	asleep = state != NULL && state[1] == ' ' && state[2] == 'S';
	g_free(text);
	g_free(path);
	return asleep;
}

void
pair_asleep(int tid)
{
	PAIR_UNTIL(sleeps(tid));
}

static void
ignore(it_evd_handle_t evd, void *arg)
{
	(void)evd;
	(void)arg;
}

/* A callback that can be attached is detached again. */
static bool
has_waiter(it_evd_handle_t evd)
{
	it_status_t status = it_evd_callback_attach(evd, ignore, NULL);

	if (status == IT_ERR_EVD_WAIT)
		return true;
	pair_ok(status);
	pair_ok(it_evd_callback_detach(evd));
	return false;
}

void
pair_await_waiter(it_evd_handle_t evd)
{
	PAIR_UNTIL(has_waiter(evd));
}

bool
pair_readable(int fd, int timeout)
{
	struct pollfd pfd = {.fd = fd, .events = POLLIN};

	return poll(&pfd, 1, timeout) == 1;
}

it_lmr_triplet_t
end_segment(const struct end *end, size_t offset, size_t length)
{
	it_lmr_triplet_t segment = {.lmr = end->lmr, .length = length};

	segment.addr.abs = end->buffer + offset;
	return segment;
}

size_t
pair_merge(it_lmr_triplet_t *segments, size_t count, size_t most)
{
	while (count > most) {
		count--;
		segments[count - 1].length += segments[count].length;
	}
	return count;
}

it_status_t
end_send(struct end *end, size_t length, it_dto_cookie_t cookie, unsigned flags)
{
	it_lmr_triplet_t from = end_segment(end, 0, length);

	return it_post_send(end->ep, &from, 1, cookie, (it_dto_flags_t)flags);
}

it_status_t
end_recv(struct end *end, size_t length, it_dto_cookie_t cookie)
{
	it_lmr_triplet_t to = end_segment(end, END_BUFFER / 2, length);

	return it_post_recv((it_handle_t)end->ep, &to, 1, cookie, 0);
}

it_status_t
pair_write(struct pair *pair, size_t length, it_dto_cookie_t cookie, unsigned flags)
{
	const struct end *to = &pair->passive;
	it_lmr_triplet_t from = end_segment(&pair->active, 0, length);

	return it_post_rdma_write(pair->active.ep, &from, 1, cookie, (it_dto_flags_t)flags,
				  it_make_rdma_addr_absolute(to->buffer + END_BUFFER / 4),
				  to->context);
}

void
pair_connect(struct pair *pair)
{
	pair_ok(it_ep_connect(pair->active.ep, &pair->path, NULL, &pair->qual,
			      IT_CONNECT_FLAG_TWO_WAY, NULL, 0));
}

void
pair_establish(struct pair *pair)
{
	it_event_t event;

	pair_connect(pair);
	event = end_expect(pair->passive.cm_req, IT_CM_REQ_CONN_REQUEST_EVENT);
	pair_ok(it_ep_accept(pair->passive.ep, event.conn_req.cn_est_id, NULL, 0));
	event = end_expect(pair->active.cm_msg, IT_CM_MSG_CONN_ESTABLISHED_EVENT);
	g_assert_true(event.conn.ep == pair->active.ep);
	event = end_expect(pair->passive.cm_msg, IT_CM_MSG_CONN_ESTABLISHED_EVENT);
	g_assert_true(event.conn.ep == pair->passive.ep);
}

void
pair_disconnect(struct pair *pair)
{
	pair_ok(it_ep_disconnect(pair->active.ep, NULL, 0));
	g_assert_cmpint(end_state(&pair->active), ==, IT_EP_STATE_NONOPERATIONAL);
	end_expect(pair->active.cm_msg, IT_CM_MSG_CONN_DISCONNECT_EVENT);
	end_expect(pair->passive.cm_msg, IT_CM_MSG_CONN_DISCONNECT_EVENT);
	g_assert_cmpint(end_state(&pair->passive), ==, IT_EP_STATE_NONOPERATIONAL);
}
