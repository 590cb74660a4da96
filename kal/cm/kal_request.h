/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Listeners, and the requests that come to them: kal_listen*.c, kal_starts.c, kal_request*.c. */
#ifndef KAL_REQUEST_H
#define KAL_REQUEST_H

#include "kal_cm_internal.h"
#include "kal_fds.h"

#define KAL_REQUEST_READ_MAX   (5 * KAL_NS_PER_S)    /* MPA Request after TCP accept */
#define KAL_REQUEST_ANSWER_MAX (120 * KAL_NS_PER_S)  /* our consumer's answer */
#define KAL_RETRY_AFTER        (10 * 1000 * 1000ull) /* ns until a try to find room is repeated */
#define KAL_STARTS_MAX         128                   /* start-ups of a listener */
#define KAL_START_SHARE        32 /* of them, for each stage before a whole Request */

/* How far a start-up has come. One that has come less far is the first to go (kal_starts.c). */
enum kal_start_stage {
	KAL_START_SILENT = 0, /* not one octet */
	KAL_START_PARTIAL,    /* a part of the frame's header */
	KAL_START_HEADER,     /* the header, not yet all private data */
	KAL_START_WHOLE,      /* the Request is there, but the consumer's backlog is full */
	KAL_START_STAGES
};

struct kal_start_queue {
	struct kal_request *oldest, *newest;
	unsigned count;
};

/* The start-ups of a listener, by stage; cm->lock. */
struct kal_starts {
	struct kal_start_queue queues[KAL_START_STAGES];
};

/* A request of the provider for which there was no memory; it is still to be refused. */
struct kal_unheard {
	struct ri_request *request;
	bool service;
};

struct kal_listener {
	struct kal_link link; /* of kal_cm::listeners; the key is its id */
	struct kal_cm *cm;
	uint64_t ctx; /* the client's */
	uint32_t port;
	uint32_t backlog;
	bool suppress;
	struct ri_service service;
	struct kal_starts starts;
	atomic_uint waiting; /* delivered, not answered */
	atomic_uint refs;    /* the listener itself and its start-ups */
	atomic_bool closed;
	struct ri_listen *provider; /* the provider listens */
	/* cm->lock: requests still to be refused, at most `backlog`; kal_request_provider.c */
	struct kal_unheard *unheard;
	uint32_t unheard_count;
	struct ri_task refuse;
	/* kal_listen_socks.c, under its lock */
	struct kal_tcp_port *tcp_port;        /* it is a member of that; NULL: of none */
	struct kal_listener *next_member;     /* of it */
	char if_name[KAL_INTERFACE_NAME_MAX]; /* of the spigot: its interface and addresses */
	uint32_t num_addrs;
	struct ri_addr addrs[RI_PORT_ADDR_MAX];
	bool networks4, networks6; /* the spigot has networks, or more addresses than it lists */
	bool anywhere;             /* at any address, since the spigot had none */
	bool ready;                /* it may get requests */
	struct ri_task follow;     /* the spigot's addresses changed */
};

/* A request for a connection: first half open, then delivered, then answered. */
struct kal_request {
	struct kal_link link;            /* of kal_cm::requests; the key is its id */
	struct kal_cm_node *told, *gone; /* reserved for its arrival, and for its end */
	struct kal_cm *cm;
	struct kal_listener *listener; /* while half open, else NULL */
	struct ri_request *provider;   /* the provider's, or NULL */
	uint32_t id;                   /* 0 while half open, else the key */
	uint64_t listener_id;
	uint64_t ctx;
	bool taken;                 /* cm->lock: a thread has taken it and ends it */
	bool withdrawn;             /* cm->lock: the provider withdrew it while a call had it */
	bool service;               /* asks for a datagram service, not for a connection */
	enum kal_start_stage stage; /* while half open; service thread, written under cm->lock */
	uint64_t patience;          /* WHOLE: until when that may last */
	bool suppress;
	struct kal_fd fd;
	struct kal_request *next_start, *prev_start; /* cm->lock: while half open */
	struct ri_watch watch;
	struct ri_timer timer;
	struct kal_mpa_frame frame;
	struct kal_cm_event info; /* as delivered */
	uint8_t in[KAL_MPA_FRAME_MAX];
	size_t in_len;
};

/* kal_request.c */
/* A half-open request for an accepted socket, whose descriptor it takes over. */
void kal_request_new(struct kal_listener *listener, struct kal_fd *fd);
/* End all delivered requests of this RNIC, without events; half-open ones ended with their listeners. */
void kal_request_end_all(struct kal_cm *cm);
/* A request with nodes for all its events. NULL: no memory. */
struct kal_request *kal_request_alloc(struct kal_cm *cm);
/* Free a request. The caller must not touch its kal_cm afterwards. */
void kal_request_release(struct kal_request *request);
/* The caller owns cm->lock. Give the request an id and report its arrival; report its end. */
void kal_request_enter(struct kal_request *request);
void kal_request_tell_gone(struct kal_request *request);
/* The caller owns cm->lock. NULL: no listener has that id. */
struct kal_listener *kal_listener_of(struct kal_cm *cm, uint64_t id);

/* kal_request_provider.c */
void kal_request_from_provider(struct kal_cm *cm, const struct ri_cm_event *event);
void kal_request_gone(struct kal_cm *cm, const struct ri_cm_event *event);
/* Not inside of an upcall. */
void kal_request_refuse_at_provider(struct kal_cm *cm, const struct kal_unheard *raised,
				    enum kal_cm_reason reason, const void *pdata, uint16_t len);
/* Before the listener is in the table. */
void kal_request_listener_init(struct kal_listener *listener);
/* The listener ends, and its provider raises nothing for it any more: refuse the requests that no client has seen. */
void kal_request_refuse_unheard(struct kal_listener *listener);
/* Take a request by id, and stop its watch and timer; NULL: no request of that kind has the id. */
struct kal_request *kal_request_take(struct kal_cm *cm, uint32_t id, bool service);
/* The peer of a taken request has given up meanwhile: report that, and free the request. */
void kal_request_dead(struct kal_request *request);
/* Undo kal_request_take; if the peer has given up meanwhile, kal_request_dead. */
void kal_request_put_back(struct kal_request *request);
/* Give a taken request to another listener under a new id. If it fails: kal_request_put_back. */
enum ri_status kal_request_hand(struct kal_request *request, uint64_t ctx,
				uint64_t listener_id) RI_MUST_CHECK;
/* Refuse the request: as the consumer (KAL_REASON_CONSUMER, with private data), or for another reason. */
void kal_request_refuse(struct kal_request *request, enum kal_cm_reason reason, const void *pdata,
			uint16_t len);
void kal_request_free(struct kal_request *request);
/* Reset the stream of a request that the caller has taken, and free the request. */
void kal_request_abort(struct kal_request *request);
/* The caller owns cm->lock. Take the request, to end it; false: another thread has taken it. */
bool kal_request_leave(struct kal_request *request);

/* kal_starts.c. Under cm->lock: enter a new half-open request; remove one. */
void kal_start_enter(struct kal_request *request);
void kal_start_leave(struct kal_request *request);
/* The request has reached that stage. Not under cm->lock, as the next ones. */
void kal_start_advance(struct kal_request *request, enum kal_start_stage stage);
/* On the service thread, after `fresh` was entered: if there are too many start-ups, reset one of the others. */
void kal_starts_trim(struct kal_listener *listener, const struct kal_request *fresh);
/* Are all places taken by whole Requests that wait for the consumer? Then none can be replaced. */
bool kal_starts_full(struct kal_listener *listener);
/* On the service thread, when there are no descriptors left: close the oldest parting, or else reset one start-up of
 * this listener, or else of another one of this adapter. False: none of them may be reset. */
bool kal_starts_free_descriptor(struct kal_listener *listener);
/* The listener accepts no more and is destroyed: reset its start-ups. */
void kal_starts_end_all(struct kal_listener *listener);

/* kal_listen.c, kal_listen_socks.c */
void kal_listener_unref(struct kal_listener *listener);
void kal_listener_init(struct kal_listener *listener);
/* Open its sockets; TCP port 0 is replaced by a free one. */
enum ri_status kal_listener_open(struct kal_listener *listener,
				 struct ri_service *service) RI_MUST_CHECK;
/* Its id and service are known: begin to accept. */
enum ri_status kal_listener_watch(struct kal_listener *listener) RI_MUST_CHECK;
/* Stop everything that runs for it, and close its sockets. Not under cm->lock. */
void kal_listener_close(struct kal_listener *listener);

#endif /* KAL_REQUEST_H */
