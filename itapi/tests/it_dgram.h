/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Endpoints for datagrams, for tests. Everything here fails the test if it does not work. */
#ifndef IT_DGRAM_H
#define IT_DGRAM_H

#include "it_pair.h"

#define KEY      0x01234567u /* the Q_Key of rdma_cm: over IP a service is found with no other */
#define HEADER   40u         /* octets of address header before a datagram */
#define SIGNALED IT_COMPLETION_FLAG

/* One end with a datagram endpoint, and its address handle for the other end. */
struct dgram {
	struct end *end;
	it_ep_handle_t ep;
	it_addr_handle_t way;
	it_remote_ep_info_t info; /* the address at which others reach it */
};

/* Does the adapter have datagrams? If not, the test is skipped. */
bool dgram_offered(const struct end *end);
/* Endpoint attributes that suit a datagram test. */
it_ep_attributes_t dgram_attr(void);
it_ep_handle_t dgram_ep(const struct end *end);
struct dgram dgram_open(struct pair *pair, struct end *end);
void dgram_close(struct dgram *dgram);
it_ep_state_ud_t dgram_state(it_ep_handle_t ep);
it_dg_remote_ep_addr_t dgram_target(it_addr_handle_t way, const it_remote_ep_info_t *info);
/* Post a receive into the buffer; send from its beginning. */
void dgram_offer(const struct dgram *dgram, size_t at, size_t length, it_dto_cookie_t cookie);
void dgram_send(const struct dgram *from, const it_remote_ep_info_t *to, size_t length,
		it_dto_cookie_t cookie);
/* The beginning of the end's buffer holds a pattern. */
void dgram_fill(const struct dgram *dgram, size_t length);
/* Reset the endpoint as soon as it is quiescent. */
void dgram_reset(it_ep_handle_t ep);

#endif /* IT_DGRAM_H */
