/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Endpoints for datagrams, for tests. Everything here fails the test if it does not work. */
#ifndef IT_DGRAM_H
#define IT_DGRAM_H

#include "it_pair.h"

#define KEY      0x1234u
#define HEADER   40u /* octets in front of a datagram */
#define SIGNALED IT_COMPLETION_FLAG

/* One end with an endpoint for datagrams, and its way to the other. */
struct dgram {
	struct end *end;
	it_ep_handle_t ep;
	it_addr_handle_t way;
	it_remote_ep_info_t info; /* how others reach it */
};

/* Does the adapter have datagrams? A test that needs them skips if not. */
bool dgram_offered(const struct end *end);
/* Attributes that suit one. */
it_ep_attributes_t dgram_attr(void);
it_ep_handle_t dgram_ep(const struct end *end);
struct dgram dgram_open(struct pair *pair, struct end *end);
void dgram_close(struct dgram *dgram);
it_ep_state_ud_t dgram_state(it_ep_handle_t ep);
it_dg_remote_ep_addr_t dgram_target(it_addr_handle_t way, const it_remote_ep_info_t *info);
/* Offer octets of the buffer; send from its front. */
void dgram_offer(const struct dgram *dgram, size_t at, size_t length, it_dto_cookie_t cookie);
void dgram_send(const struct dgram *from, const it_remote_ep_info_t *to, size_t length,
		it_dto_cookie_t cookie);
/* The front of the end's buffer has a pattern. */
void dgram_fill(const struct dgram *dgram, size_t length);
/* Reset as soon as it is quiet. */
void dgram_reset(it_ep_handle_t ep);

#endif /* IT_DGRAM_H */
