/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The fixture of tests of rdma_cm. They call the real librdmacm, with the door before libibverbs and the C library; an
 * adapter in one process has both ends of each connection.
 */
#ifndef CM_BENCH_H
#define CM_BENCH_H

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include <arpa/inet.h>
#include <glib.h>
#include <rdma/rdma_cma.h>

#include "door_sums.h"
#include "ri_at_end.h"

/* A call that returns 0. After it ids are counted again. */
#define OK(call)                      \
	do {                          \
		ALL_RIGHT(call);      \
		door_sums_check_cm(); \
	} while (0)
/* The same beside other threads that call. */
#define ALL_RIGHT(call) g_assert_cmpint((call), ==, 0)
/* A call that returns -1, with errno set to `error`, and changes no id that only the program moves. */
#define FAILS(call, error)                                         \
	do {                                                       \
		g_autofree char *before_ = door_sums_account_cm(); \
		FAILS_AND_MOVES(call, error);                      \
		g_autofree char *after_ = door_sums_account_cm();  \
		g_assert_cmpstr(before_, ==, after_);              \
	} while (0)
/* ... and moves ids, as an accept that fails is a rejection. */
#define FAILS_AND_MOVES(call, error)                 \
	do {                                         \
		errno = 0;                           \
		g_assert_cmpint((call), ==, -1);     \
		g_assert_cmpint(errno, ==, (error)); \
		door_sums_check_cm();                \
	} while (0)

#define UNTIL(condition)                                             \
	do {                                                         \
		for (unsigned ms_ = 0; !(condition); g_usleep(1000)) \
			g_assert_cmpuint(ms_++, <, 20000);           \
	} while (0)

#define CM_MESSAGE 64 /* octets of a message */

/* A copy of an event, which is acknowledged. */
struct cm_event {
	enum rdma_cm_event_type type;
	int status;
	struct rdma_cm_id *id;
	struct rdma_cm_id *listen_id;
	union {
		struct rdma_conn_param conn;
		struct rdma_ud_param ud;
	} param;
	uint8_t data[256]; /* private data */
	uint8_t length;
};

/* Choose the adapters, before anything else: as ITAPI_VERBS_DEVICES. Those of RoCE are in a network of the test's own. */
void cm_adapters(const char *names);
/* Is the first one of iWARP? */
bool cm_is_iwarp(void);
bool cm_is_roce(void);
/* Does its first attempt to connect last until somebody listens, if that is soon? */
bool cm_waits_for_listener(void);

struct rdma_event_channel *cm_channel(void);
/* Destroys it, for RI_AT_END. */
void cm_channel_end(struct rdma_event_channel **channel);
struct rdma_cm_id *cm_id(struct rdma_event_channel *channel, enum rdma_port_space ps);
/* Destroys one without a queue pair, for RI_AT_END. */
void cm_id_end(struct rdma_cm_id **id);
/* The next event, which comes soon; it is acknowledged. */
struct cm_event cm_next(struct rdma_event_channel *channel);
/* ... of that type and id, if it is not NULL. The end of a time-wait that nobody asks for may come first. */
struct cm_event cm_expect(struct rdma_event_channel *channel, enum rdma_cm_event_type type,
			  const struct rdma_cm_id *id);
/* None but of time-waits comes for a while. */
void cm_expect_none(struct rdma_event_channel *channel);

/* 127.0.0.1 or another address, with that port in host order. */
struct sockaddr_storage cm_addr(const char *text, uint16_t port);
/*
 * A port, in host order, that is free at every address and lies outside of ip_local_port_range. So
 * the kernel assigns it to no other socket, and it stays free between two binds of a test.
 */
uint16_t cm_free_port(void);
/* Bind to an address and listen, at any port or at that one. */
struct rdma_cm_id *cm_listener(struct rdma_event_channel *channel, enum rdma_port_space ps,
			       const char *text);
struct rdma_cm_id *cm_listener_at(struct rdma_event_channel *channel, enum rdma_port_space ps,
				  const char *text, uint16_t port);
/* An id that has resolved the way to a listener at 127.0.0.1, with its own queue pair. */
struct rdma_cm_id *cm_active(struct rdma_event_channel *channel, struct rdma_cm_id *listener);
/* The same without a queue pair, and to an address. */
struct rdma_cm_id *cm_resolved(struct rdma_event_channel *channel, enum rdma_port_space ps,
			       const struct sockaddr_storage *dest);
void cm_qp(struct rdma_cm_id *id);
struct rdma_conn_param cm_param(const void *data, uint8_t length);

/* Two ends of a connection over one channel. */
struct cm_pair {
	struct rdma_event_channel *channel;
	struct rdma_cm_id *listener;
	struct rdma_cm_id *active;
	struct rdma_cm_id *passive; /* has no queue pair before cm_accept */
	struct cm_event request;
};

/* As far as the request, with private data. */
void cm_ask(struct cm_pair *pair, const void *data, uint8_t length);
/* The whole. */
void cm_accept(struct cm_pair *pair, const void *data, uint8_t length);
void cm_connect(struct cm_pair *pair);
/* Both ends go, connected or not. */
void cm_finish(struct cm_pair *pair);
void cm_gone(struct rdma_cm_id **id);
/* A message from one end to the other arrives. */
void cm_talk(struct rdma_cm_id *from, struct rdma_cm_id *to);

#endif /* CM_BENCH_H */
