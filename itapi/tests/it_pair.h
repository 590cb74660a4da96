/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Two ends in one process, each with an IA of its own, for tests over it_api.h alone. The adapter is
 * the program's argument --adapter NAME; a test of an adapter that is not built is skipped by name.
 */
#ifndef IT_PAIR_H
#define IT_PAIR_H

#include <glib.h>
#include <stdbool.h>

#include "../../rnicpi/support/ri_at_end.h"
#include "it_api.h"
#include "it_claims.h"

#ifdef __SANITIZE_THREAD__
#define IS_THREAD_SANITIZER 1
#else
#define IS_THREAD_SANITIZER 0
#endif

#define END_BUFFER    (256 * 1024)
#define WAIT_US       (pair_patience()) /* longer than any step takes */
#define REQUEST_SLOTS 8
#define RECV_SLOTS    8

/* A minute in microseconds, or the seconds in ITAPI_TEST_PATIENCE. */
int pair_patience(void);

/* Wait for the work of another thread, process or adapter. The test fails if it takes longer than WAIT_US. */
#define PAIR_UNTIL(condition)                                             \
	do {                                                              \
		const gint64 end_ = g_get_monotonic_time() + WAIT_US;     \
		while (!(condition)) {                                    \
			g_assert_cmpint(g_get_monotonic_time(), <, end_); \
			g_usleep(500);                                    \
		}                                                         \
	} while (0)

#define pair_ok(call) g_assert_cmpint(call, ==, IT_SUCCESS)

/* One end. */
struct end {
	it_ia_handle_t ia;
	it_ia_info_t *info;
	it_pz_handle_t pz;
	it_evd_handle_t request; /* threshold 1, as the next */
	it_evd_handle_t recv;
	it_evd_handle_t cm_msg;
	it_evd_handle_t cm_req;
	it_ep_handle_t ep;
	it_ep_attributes_t attr; /* as asked for */
	unsigned char *buffer;   /* END_BUFFER octets, all rights, absolute */
	it_lmr_handle_t lmr;
	it_rmr_context_t context;
};

struct pair {
	struct end active;
	struct end passive;
	it_listen_handle_t listen;
	it_conn_qual_t qual; /* to connect to */
	size_t spigot;
	it_path_t path;
};

/* Abilities that not every adapter has, as bits; it_ia_query() and itx_ia_query_support() report them. */
enum pair_need {
	NEEDS_ATOMICS = 1u << 0,
	NEEDS_WINDOWS = 1u << 1, /* of one type at least */
	NEEDS_NARROW = 1u << 2,
	NEEDS_WIDE = 1u << 3,
	NEEDS_UNLINK = 1u << 4, /* of windows of the default type */
	NEEDS_REMOTE_UNLINK = 1u << 5,
	NEEDS_RELATIVE = 1u << 6,
	NEEDS_LMR_MODIFY = 1u << 7,
	NEEDS_SRQ = 1u << 8,
	NEEDS_LOW_WATERMARK = 1u << 9,
	NEEDS_HARD_WATERMARK = 1u << 10,
	NEEDS_SOFT_WATERMARK = 1u << 11,
	NEEDS_EP_RESIZE = 1u << 12,
	NEEDS_EVD_RESIZE = 1u << 13,
	NEEDS_SRQ_RESIZE = 1u << 14,
	NEEDS_OVERFLOW = 1u << 15,
	NEEDS_SPIGOT_EVENTS = 1u << 16,
	NEEDS_DIRECT_LMR = 1u << 17,
	NEEDS_IPV6 = 1u << 18,
	NEEDS_READ_EXTENSIONS = 1u << 19,
	NEEDS_DMABUF = 1u << 20,
	NEEDS_LMR_UNLINK = 1u << 21, /* of regions, by a peer */
	NEEDS_HELD = 1u << 22,       /* a message without a receive waits in the adapter, in turn */
	NEEDS_WAITING = 1u << 23,    /* a message without a receive waits, in whichever way */
	NEEDS_REUSE = 1u << 24,
	NEEDS_TIME_WAIT = 1u << 25,
	NEEDS_SEGMENTS = 1u << 26, /* PAIR_SEGMENTS in a Send, a receive and a Write */
	NEEDS_UD = 1u << 27,
	NEEDS_READS = 1u << 28,
	NEEDS_PRIVATE_DATA = 1u << 29, /* PAIR_PDATA octets in a request and in an acceptance */
	NEEDS_CONVERSION = 1u << 30,   /* of connected sockets */
};

/* As many segments as an RDMAC adapter has; tests with more than one use no more. */
#define PAIR_SEGMENTS 4
#define PAIR_PDATA    32

/* Does the adapter have all of these abilities? */
bool end_has(const struct end *end, unsigned needs);
/* As pair_can; if an ability is missing, the test is skipped and the message names it. */
bool pair_needs(const struct pair *pair, unsigned needs);

/* Name of the adapter under test. */
const char *pair_adapter(void);
/* What its provider claims (it_claims.h). */
uint64_t pair_claim(const char *attribute);
/* Why an attempt fails that finds no room at the peer. MPA of revision 1, which tells no depths, has no word for that. */
it_conn_reject_code_t pair_no_room(void);
/* `wanted`, or what the attribute claims if that is less. Only claims of an adapter that is being certified limit it. */
uint32_t pair_at_most(const char *attribute, uint32_t wanted);
/*
 * Is the adapter being certified? Then behaviour that its claims leave open is free. Otherwise it is an adapter
 * of this release, and tests also expect what its documentation says beyond its claims.
 */
bool pair_certified(void);
/* The test is skipped: "not applicable: " and why, by the name of the claim. */
void pair_inapplicable(const char *format, ...) G_GNUC_PRINTF(1, 2);
/* Is it one of the system's devices? What those cannot do is not always an attribute of IT-API. */
static inline bool
pair_is_device(void)
{
	return g_str_has_prefix(pair_adapter(), "ib:");
}
/*
 * Is it RoCE over UDP? Its connection management can report only what messages of InfiniBand
 * express, a Send waits for a receive without limit, and a datagram may still be in transit when it
 * completes.
 */
static inline bool
pair_is_roce(void)
{
	return g_str_has_prefix(pair_adapter(), "roce:");
}
/* g_test_add_func with the adapter in the test's path; the test is skipped if the adapter is not built. */
void pair_add(const char *path, void (*test)(struct pair *pair));
/* As pair_add; the test is skipped also if the adapter lacks an ability that it needs. */
void pair_add_for(unsigned needs, const char *path, void (*test)(struct pair *pair));
/*
 * Like pair_add_for, but only on adapters of this release that let a message wait for its receive for a moment
 * . In all other tests a message waits longer than any step takes, however slow the machine is.
 */
void pair_add_impatient(unsigned needs, const char *path, void (*test)(struct pair *pair));
/* As pair_add, for a test that opens its adapters itself. */
void pair_add_bare(const char *path, void (*test)(void));
/* main() of a test program. */
int pair_main(int argc, char **argv, void (*add)(void));

/*
 * The parts of pair_add, for a test that opens its adapters itself: choose the adapter; open an end without
 * endpoint (false: no such adapter); make a listener.
 */
void pair_use(const char *name);
bool end_open(struct end *end);
void end_close(struct end *end);
void pair_listen(struct pair *pair);
/* What a test of pair_add gets, and the end of that test. */
bool pair_open(struct pair *pair);
void pair_close(struct pair *pair);
/* The name of the adapter and nothing else. */
it_ia_handle_t pair_ia(void);
/* A SEVD of the stream with room for 256 events. */
it_evd_handle_t pair_sevd(it_ia_handle_t ia, it_event_type_t stream, size_t threshold);
/* Make an EVD as small as the caller asked for; the library may have made it larger. */
void pair_resize(it_evd_handle_t evd, size_t size);
/* The number of descriptors that this process has open. */
unsigned pair_descriptors(void);
/* Does the descriptor become readable within so many milliseconds? PAIR_SURELY: it must, or the test fails. */
bool pair_readable(int fd, int timeout);
#define PAIR_SURELY (WAIT_US / 1000)
/* Wait until the thread of this process with that number (gettid()) sleeps in the kernel, in whichever call. */
void pair_asleep(int tid);
/* Wait until a thread waits on the EVD. Until then a wait may return IT_ERR_CALLBACK_EXISTS: it must be repeated. */
void pair_await_waiter(it_evd_handle_t evd);

/* Replace the endpoint by a new, unconnected one; attr as in end->attr. */
void end_new_ep(struct end *end);
/* As end_new_ep, on new DTO SEVDs with that threshold; the SEVD of receives has a descriptor if `fd` is set. */
void end_new_evds(struct end *end, size_t threshold, int *fd);
/* The next event, within WAIT_US, or the test fails. */
it_event_t end_next(it_evd_handle_t evd);
/* The next event, which must be of that number. */
it_event_t end_expect(it_evd_handle_t evd, it_event_type_t number);
/* The next event, which must be that completion. */
it_event_t end_done(it_evd_handle_t evd, it_event_type_t number, it_dto_cookie_t cookie,
		    it_dto_status_t status);
/*
 * Take the event of a connection that the other end has broken. With the messages of InfiniBand it may look like an
 * orderly end, because the other end's request to disconnect does not say why it was sent.
 */
static inline void
end_expect_broken_by_peer(const struct end *end)
{
	it_event_t event = end_next(end->cm_msg);
	bool may_look_orderly = pair_certified() || pair_is_roce() ||
				(pair_is_device() && end->info->transport_type == IT_IB_TRANSPORT);

	if (!may_look_orderly || event.event_number != IT_CM_MSG_CONN_DISCONNECT_EVENT)
		g_assert_cmphex(event.event_number, ==, IT_CM_MSG_CONN_BROKEN_EVENT);
}
/* No event is queued. */
void end_expect_none(it_evd_handle_t evd);
it_ep_state_rc_t end_state(const struct end *end);
uint32_t end_ord(const struct end *end);
/*
 * Should there be another round after `done` rounds? There are as many rounds as fit into ten seconds, but at least
 * four and at most `most`: InfiniBand devices wait for seconds after each connection. The first call sets `begin`.
 */
static inline bool
pair_round(guint done, guint most, gint64 *begin)
{
	gint64 now = g_get_monotonic_time();

	if (done == 0)
		*begin = now;
	return done < 4 || (done < most && now - *begin < 10 * G_USEC_PER_SEC);
}
/* Reset the endpoint as soon as the transport allows it; without qp_reusable it is replaced by a new one. */
void end_reset(struct end *end);
/* A segment of the end's buffer. */
it_lmr_triplet_t end_segment(const struct end *end, size_t offset, size_t length);
/* Segments that follow each other in memory, as no more than `most` segments; their number. */
size_t pair_merge(it_lmr_triplet_t *segments, size_t count, size_t most);
/* Send from the beginning of the buffer, receive into its second half, Write into the middle of the peer's. */
it_status_t end_send(struct end *end, size_t length, it_dto_cookie_t cookie, unsigned flags);
it_status_t end_recv(struct end *end, size_t length, it_dto_cookie_t cookie);
it_status_t pair_write(struct pair *pair, size_t length, it_dto_cookie_t cookie, unsigned flags);

/* Start to connect; both endpoints are unconnected. */
void pair_connect(struct pair *pair);
/* Connect and accept; takes both ESTABLISHED events. */
void pair_establish(struct pair *pair);
/* The active side disconnects; takes both DISCONNECT events. */
void pair_disconnect(struct pair *pair);

#endif /* IT_PAIR_H */
