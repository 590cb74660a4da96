/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* A client with the fake adapter open, calls in one line each, events with a time limit, and plain TCP peers. */
#ifndef KAL_FIXTURE_H
#define KAL_FIXTURE_H

#include <glib.h>

#include "fake_provider.h"
#include "kal_call.h"
#include "kal_mpa.h"
#include "ri_at_end.h"

struct fixture {
	struct kal_client *client;
	uint32_t rnic, pd, cq;
};

struct fixture fixture_open(void);
/* The administrator's file of those opened from now on; NULL: none. */
void fixture_config(const char *text);
struct fixture fixture_open_on(const struct ri_host *host);
/*
 * The usual host, on which time stands still: timers that are set further than a second ahead fire when
 * fixture_time_passes() is called. So no test depends on how long something takes.
 */
const struct ri_host *fixture_frozen_host(void);
/* Let all timers that were frozen so far fire. */
void fixture_time_passes(void);
/* How often a timer was frozen, since the frozen host was asked for. */
unsigned fixture_frozen_count(void);
/* The deadline of the last of them. */
uint64_t fixture_frozen_deadline(void);
/* Close the client and check that the provider has no object left. */
void fixture_close(struct fixture *f);

/* One call; the size of the reply must be exactly the given one. */
enum ri_status fixture_call(struct fixture *f, enum kal_call_number call, const void *req,
			    size_t req_len, void *rep, size_t rep_len);
/* A call whose request is an id. */
enum ri_status fixture_id(struct fixture *f, enum kal_call_number call, uint32_t id);

uint32_t fixture_qp(struct fixture *f, uint64_t ctx, uint32_t ird, uint32_t ord);
/* A listener on spigot 0, port 0: the kAL chooses; *port in network order. */
uint32_t fixture_listen(struct fixture *f, uint64_t ctx, uint16_t *port, uint32_t backlog);
/* Register `length` octets; *id: the region, unless the pointer is NULL. */
enum ri_status fixture_register(struct fixture *f, uint64_t length, uint32_t *id);
/* Connect to 127.0.0.1 or ::1. */
void fixture_connect_req(struct kal_cm_req *req, uint32_t qp, bool ipv6, uint16_t port);
/* True, and the test is skipped: this process runs under valgrind, whose limit on descriptors differs from a kernel's. */
bool fixture_no_descriptor_limit(void);
/* The next event; fails the test after a minute. */
struct kal_event fixture_event(struct fixture *f);
/* The next event, which must be an event of a connection of that kind and context. */
struct kal_cm_event fixture_cm(struct fixture *f, enum kal_cm_kind kind, uint64_t ctx);
/* True if no event comes for a short time. */
bool fixture_silent(struct fixture *f);
enum ri_qp_state fixture_state(struct fixture *f, uint32_t qp);
/* Other processes see these ports, in network order, of the connection of the process's only queue pair (kal_live_read.h). */
void fixture_shown(uint16_t local, uint16_t peer);

/* Plain TCP peers: blocking sockets whose receives fail after a minute. */
int raw_listen(uint16_t *port);
/*
 * A port at which nobody listens, until the descriptor is closed: no program that is given any free port gets it. Sockets
 * with SO_REUSEADDR may have it, as those of the kAL and of kald.
 */
int raw_keep(uint16_t *port);
/* A free port for a connection to leave from. It is below the range from which the kernel gives ports away. */
uint16_t raw_free_port(void);
int raw_accept(int listener);
int raw_connect(bool ipv6, uint16_t port);
void raw_send(int fd, const void *data, size_t len);
/* Receive until `len` octets are there or the stream ends; returns their number, -1: reset. */
int raw_recv(int fd, void *data, size_t len);
/* Receive one whole start-up frame, octet by octet, into `buf` of KAL_MPA_FRAME_MAX octets. */
struct kal_mpa_frame raw_frame(int fd, enum kal_mpa_kind kind, uint8_t *buf);
void raw_send_frame(int fd, const struct kal_mpa_frame *frame);
/* Close with a reset. */
void raw_abort(int fd);
/* The number of descriptors that this process has open. */
unsigned raw_count_fds(void);
/* Wait until this process has no more descriptors than that. */
void raw_wait_fds(unsigned most);
/* Wait until this process rests: for a while it uses no processor time to speak of. */
void raw_wait_rest(void);

#endif /* KAL_FIXTURE_H */
