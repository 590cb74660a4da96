/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * A provider for the tests of the kAL: its objects have no content, and its streams carry octets that nobody
 * interprets. It keeps the rules of RNIC-PI for states, events and threads. Its RTR message is one octet 'R'; any
 * first octet counts as one. The end of a stream gives the events of real providers: LLP_CLOSE_COMPLETE for a FIN,
 * LLP_RESET for a reset.
 */
#ifndef FAKE_PROVIDER_H
#define FAKE_PROVIDER_H

#include <semaphore.h>

#include "rnicpi.h"

/* The profile that the next open reports; a test that changes it calls fake_reset(). */
extern struct ri_rnic_attr fake_attr;
/* The addresses of spigot 0, one of each family. */
extern struct ri_addr fake_addrs[2];
extern const char *fake_beside; /* the interface of spigot 1; "": none */
/* Restore the defaults: iWARP, streams, loopback addresses of both families. */
void fake_reset(void);
/* Register the provider, once; its adapter is called "fake". */
void fake_register(void);

/* The number of objects of any kind that exist now. */
int fake_objects(void);
/* The description of the stream that was attached last; early octets are kept. */
struct ri_stream fake_last_stream(void);
const uint8_t *fake_last_early(void);
/* How many streams were attached, and how many octets were received on them. */
unsigned fake_attached(void);
unsigned fake_received(void);
/* The next verb of a kind returns this status and does nothing. */
extern enum ri_status fake_fail_create;
extern enum ri_status fake_fail_attach;

/* The registration of a dmabuf that came last. */
extern struct ri_dmabuf fake_dmabuf;
extern struct ri_mr_init fake_dmabuf_init;

/* If set, a registration posts the first when it has begun, and returns after it got the second. */
extern sem_t *fake_reg_begun, *fake_reg_go;

/* Raise an event for the provider's CQ, SRQ or QP on the calling thread, as an engine would. */
void fake_fire_cq(void);
void fake_raise(enum ri_event event, enum ri_object object);
/* Replace the first address of spigot 0 and raise the event of the change. */
void fake_move(const struct ri_addr *addr);
/* Raise the pending events of the newest queue pair now, instead of on the service thread. */
void fake_say_now(void);
/*
 * From now on a thread of the provider raises connection events and events of the adapter without pause, until the
 * device has been closed: for the newest listener, for a queue pair with that context, for unknown objects.
 */
void fake_talk(uint64_t qp_ctx);
/* The number of upcalls that were made while the device was being closed, since fake_talk. */
unsigned fake_talked_in_close(void);
/* Objects cannot be destroyed before their context is closed: the verbs return RI_ERR_BUSY. */
extern bool fake_clinging;
/* A connection event of a provider with connection management of its own. */
void fake_raise_cm(const struct ri_cm_event *event);
/* What the kAL requested of such a provider: the last call. */
enum fake_cm_call {
	FAKE_CM_NONE,
	FAKE_CM_LISTEN,
	FAKE_CM_CONNECT,
	FAKE_CM_ACCEPT,
	FAKE_CM_REJECT,
	FAKE_CM_CONFIRM,
	FAKE_CM_DISCONNECT
};
extern enum fake_cm_call fake_cm_last;
extern uint64_t fake_cm_listen_ctx;
extern struct ri_cm_params fake_cm_params;
extern enum ri_status fake_cm_status;
extern enum ri_cm_reason fake_cm_reason; /* of the last reject */
extern uint64_t fake_queried;            /* context of the last query */
extern uint64_t fake_cancelled;          /* and of the last query that ended */
extern struct ri_service_answer fake_answer;

/* What the kAL requested of ri_peer_ops and of multicast: the number of calls, and the last one. */
enum fake_peer_call {
	FAKE_PEER_NONE,
	FAKE_PEER_RECEIVE,
	FAKE_PEER_SEND,
	FAKE_MCAST_ATTACH,
	FAKE_MCAST_DETACH
};
extern unsigned fake_peer_calls;
extern enum fake_peer_call fake_peer_last;
extern struct ri_peer fake_peer;
extern struct ri_addr fake_group;
extern enum ri_status fake_peer_status; /* of the next calls */
/* What the newest queue pair and the newest region were created with. */
extern struct ri_qp_init fake_qp_init;
extern struct ri_mr_init fake_mr_init;

#endif /* FAKE_PROVIDER_H */
