/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * A provider for the tests of the kAL: objects that only count, and streams that carry octets which
 * nobody looks at. It keeps the promises of RNIC-PI about states, events and threads.
 *
 * Its RTR message is one octet 'R'; whatever comes first counts as one. The end of a stream is told
 * as the real ones tell it: a FIN is LLP_CLOSE_COMPLETE, a reset is LLP_RESET.
 */
#ifndef FAKE_PROVIDER_H
#define FAKE_PROVIDER_H

#include "rnicpi.h"

/* The profile that the next open tells; tests change it and call fake_reset(). */
extern struct ri_rnic_attr fake_attr;
/* The addresses of spigot 0, one of each family. */
extern struct ri_addr fake_addrs[2];
/* Back to: iWARP, streams, loopback addresses of both families. */
void fake_reset(void);
/* Register it, once; its adapter is called "fake". */
void fake_register(void);

/* Objects of any kind that exist now. */
int fake_objects(void);
/* The stream that was attached last, as it was described; early octets are kept. */
struct ri_stream fake_last_stream(void);
const uint8_t *fake_last_early(void);
/* How many streams were attached, and octets received on them. */
unsigned fake_attached(void);
unsigned fake_received(void);
/* The next verb of a kind answers this instead of working. */
extern enum ri_status fake_fail_create;
extern enum ri_status fake_fail_attach;

/* The provider's CQ, SRQ or QP raises something, as an engine would, on the calling thread. */
void fake_fire_cq(void);
void fake_raise(enum ri_event event, enum ri_object object);
/* Spigot 0 gets another address in place of its first, and says so. */
void fake_move(const struct ri_addr *addr);
/* What the queue pair made last has to say is said at once, not when the host comes to it. */
void fake_say_now(void);
/*
 * From now on a thread of the provider raises connection events and events of the adapter without pause, until
 * the device has been closed: for the listener made last, for a queue pair of that context, for nobody.
 */
void fake_talk(uint64_t qp_ctx);
/* Upcalls that were made while the device was being closed, since fake_talk. */
unsigned fake_talked_in_close(void);
/* Objects are not destroyed before their context is: the verbs answer RI_ERR_BUSY. */
extern bool fake_clinging;
/* A connection event of a provider that connects by itself. */
void fake_raise_cm(const struct ri_cm_event *event);
/* What the kAL asked of such a provider: the call that came last. */
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
extern uint64_t fake_cancelled;          /* and of the last that was ended */
extern struct ri_service_answer fake_answer;

#endif /* FAKE_PROVIDER_H */
