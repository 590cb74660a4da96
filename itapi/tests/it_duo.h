/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * What tests over it_api.h share: an opened adapter, and two connected endpoints of it in one process.
 * Everything here fails the test if it does not work.
 */
#ifndef IT_DUO_H
#define IT_DUO_H

#include <glib.h>
#include <stdbool.h>

#include "it_api.h"
#include "it_ext.h"

#define DUO_BUFFER 65536
#define DUO_DTOS   64
#define DUO_WAIT   (20 * 1000000ull) /* longer than anything takes, in microseconds */

/* One end. */
struct duo_end {
	it_evd_handle_t request; /* DTO SEVD of the send queue */
	it_evd_handle_t recv;    /* DTO SEVD of the receive queue */
	it_evd_handle_t connect; /* CM messages */
	it_ep_handle_t ep;
	unsigned char *buffer; /* DUO_BUFFER octets */
	it_lmr_handle_t lmr;
	it_rmr_context_t context;
};

struct duo {
	it_ia_handle_t ia;
	it_pz_handle_t pz;
	it_evd_handle_t requests; /* CM requests */
	it_listen_handle_t listen;
	struct duo_end active;
	struct duo_end passive;
};

/* The adapters that tests run on, as far as they are built in; ends with NULL. */
extern const char *const duo_adapters[];

/* Add a test for each of those adapters: PATH/ADAPTER. The test gets the adapter's name. */
void duo_add_tests(const char *path, void (*run)(gconstpointer adapter));

/* Text of a status for messages is a number; this says which call it was. */
#define duo_ok(call) g_assert_cmpint(call, ==, IT_SUCCESS)

it_ia_handle_t duo_open(const char *adapter);
/* A SEVD of the stream with room for 128 events and threshold 1. */
it_evd_handle_t duo_sevd(it_ia_handle_t ia, it_event_type_t stream, size_t threshold);
/* Endpoints, not connected; DTO SEVDs with that threshold. */
void duo_make(struct duo *duo, const char *adapter, size_t threshold);
/* The same, and the passive end's receive SEVD has a descriptor. */
void duo_make_fd(struct duo *duo, const char *adapter, size_t threshold, int *fd);
/* Connect them. */
void duo_connect(struct duo *duo);
/* Free everything, in the natural order. */
void duo_free(struct duo *duo);

/* Wait for an event of that number. */
void duo_expect(it_evd_handle_t evd, it_event_type_t number, it_event_t *event);
/* Post a Write of len octets from the active to the passive buffer. */
it_status_t duo_write(struct duo *duo, size_t len, it_dto_cookie_t cookie, unsigned flags);
it_status_t duo_send(struct duo_end *end, size_t len, it_dto_cookie_t cookie, unsigned flags);
it_status_t duo_recv(struct duo_end *end, size_t len, it_dto_cookie_t cookie);

#endif /* IT_DUO_H */
