/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* What the files of connection management share. Nobody outside kal_cm*.c and kal_request.c. */
#ifndef KAL_CM_INTERNAL_H
#define KAL_CM_INTERNAL_H

#include <glib.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>

#include "kal_cm.h"
#include "kal_cm_states.h"
#include "kal_fds.h"
#include "kal_mpa.h"
#include "kal_table.h"

#define KAL_NS_PER_S           1000000000ull
#define KAL_CONNECT_DEFAULT    (20 * KAL_NS_PER_S)   /* initiator, and RTR at the responder */
#define KAL_REQUEST_READ_MAX   (5 * KAL_NS_PER_S)    /* MPA Request after TCP accept */
#define KAL_REQUEST_ANSWER_MAX (120 * KAL_NS_PER_S)  /* our consumer's answer */
#define KAL_LOOK_AGAIN         (10 * 1000 * 1000ull) /* who has no room now looks again */
#define KAL_STARTS_MAX         128                   /* start-ups of a listener */
#define KAL_START_SHARE        32 /* of them, for each stage before a whole Request */

struct kal_cm {
	struct kal_cm_params p;
	bool stream;            /* we set up streams (RI_CM_STREAM), else the provider connects */
	bool crc;               /* ask for CRC */
	bool fall_back;         /* dial again if a peer may know revision 1 only */
	pthread_mutex_t lock;   /* the tables, states, and what an event reports */
	bool told;              /* under it: something was queued for the client */
	struct kal_table conns; /* by the client's ctx: kal_conn */
	struct kal_table listeners; /* by our id: kal_listener */
	struct kal_table requests;  /* by id: kal_request */
	struct kal_table queries;   /* by the client's ctx: kal_service_query */
	atomic_uint alive; /* kal_request structs; the end waits for those in other hands */
	uint64_t last_listener;
};

/* What a conversion still has to do before the start-up goes on as any other. */
enum kal_convert_step {
	KAL_CONVERT_NONE = 0, /* nothing, or this is none */
	KAL_CONVERT_MESSAGE,  /* send the message, then wait for the MPA Request */
	KAL_CONVERT_REQUEST,  /* wait for it */
	KAL_CONVERT_LEAVE /* no MPA frames: send the message, then the provider has the stream */
};

/* MPA start-up under way; exists from connect or accept until the connection stands or failed. */
struct kal_setup {
	struct kal_conn *conn;      /* may be gone once the setup was stolen */
	const struct ri_host *host; /* outlives everything */
	struct kal_fd fd;           /* empty once the provider has it */
	struct ri_watch watch;
	struct ri_timer timer;
	int error; /* errno of a connect that failed at once */
	bool initiator;
	bool tcp_up;
	struct kal_cm_req req; /* initiator: what was asked for */
	struct kal_mpa_offered offered;
	struct kal_mpa_frame request;
	struct kal_mpa_negotiated negotiated;
	uint8_t out[KAL_MPA_FRAME_MAX];
	size_t out_len;
	size_t out_at;
	uint8_t in[KAL_MPA_FRAME_MAX];
	size_t in_len;
	/* Conversion of a socket (kal_convert.c). */
	bool converted;
	enum kal_convert_step step;
	uint8_t *message; /* last of streaming mode, from the heap; NULL: none */
	size_t message_len;
	size_t message_at;
};

struct kal_conn {
	struct kal_link link; /* of kal_cm::conns; the key is the client's ctx */
	struct kal_cm *cm;
	struct ri_qp *qp;
	pthread_mutex_t verbs;           /* around verbs on qp; and the setup pointer */
	enum kal_conn_state state;       /* cm->lock */
	bool retired;                    /* cm->lock */
	struct kal_setup *setup;         /* verbs */
	struct ri_task tidy;             /* drops the setup once the connection stands */
	struct ri_task last_word;        /* tells what is owed, behind the provider's flush */
	enum kal_cm_kind owed;           /* cm->lock */
	enum kal_cm_reason why;          /* cm->lock */
	struct kal_cm_event pending;     /* cm->lock: what the next event will report */
	struct kal_event_node *reserved; /* cm->lock: nodes for what this life still has to tell */
	uint32_t ird;                    /* as configured */
	uint32_t ord;
};

/* A socket at one address of a spigot; without a descriptor: unused. */
struct kal_listen_sock {
	struct kal_fd fd;
	struct ri_watch watch;
	struct ri_addr addr;
};

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

/* A request of the provider for which there was no memory. */
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
	/* cm->lock: what is still to be refused, at most as many as the provider raises; kal_request.c */
	struct kal_unheard *unheard;
	uint32_t unheard_count;
	struct ri_task refuse;
	/* kal_listen_socks.c */
	struct kal_listen_sock socks[RI_PORT_ADDR_MAX];
	bool anywhere;         /* not at the spigot's addresses, since it had none */
	atomic_bool watching;  /* the sockets belong to the service thread */
	struct ri_timer look;  /* looks again after it looked away */
	struct ri_task follow; /* the spigot's addresses changed */
};

/* A request for a connection: first half open, then delivered, then answered. */
struct kal_request {
	struct kal_link link;            /* of kal_cm::requests; the key is its id */
	struct kal_cm_node *told, *gone; /* reserved: what is said of it, and of its death */
	struct kal_cm *cm;
	struct kal_listener *listener; /* while half open, else NULL */
	struct ri_request *provider;   /* the provider's, or NULL */
	uint32_t id;                   /* 0 while half open, else the key */
	uint64_t listener_id;
	uint64_t ctx;
	bool taken;                 /* cm->lock: who set it ends the request */
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

/* kal_cm.c */
/* The table lock; whoever releases it tells the client what was queued meanwhile. */
void kal_cm_lock(struct kal_cm *cm);
void kal_cm_unlock(struct kal_cm *cm);
/* Move, and tell the client what the table says. `reason` counts with FAILED. */
enum ri_status kal_conn_move(struct kal_conn *conn, enum kal_conn_event conn_event,
			     enum kal_cm_reason reason) RI_MUST_CHECK;
/* The same in two: move now, tell later. The caller holds cm->lock. */
void kal_conn_tell(struct kal_conn *conn, enum kal_cm_kind report, enum kal_cm_reason reason);
/* The same, once the provider has flushed what was posted: after kal_conn_kill. */
void kal_conn_tell_last(struct kal_conn *conn, enum kal_cm_kind report, enum kal_cm_reason reason);
enum kal_conn_state kal_conn_state(struct kal_conn *conn);
/* Under verbs: the queue pair goes to ERROR; what was posted is flushed. */
void kal_conn_kill(struct kal_conn *conn);
/* Copy what the peer's frame says into the pending event. */
void kal_conn_note_frame(struct kal_conn *conn, const struct kal_mpa_frame *frame);

/* Under verbs: a new life begins, which has `count` things to tell at most. False: no memory. */
bool kal_conn_reserve(struct kal_conn *conn, unsigned count);
/* The caller holds cm->lock: tell with a node that was reserved. */
void kal_cm_tell(struct kal_cm *cm, struct kal_cm_node *node, uint64_t ctx,
		 const struct kal_cm_event *event);

/* kal_cm_stream.c */
enum ri_status kal_stream_connect(struct kal_conn *conn,
				  const struct kal_cm_req *req) RI_MUST_CHECK;
enum ri_status kal_stream_accept(struct kal_conn *conn, const struct kal_cm_req *req,
				 struct kal_request *request,
				 struct kal_accept_rep *rep) RI_MUST_CHECK;
/* Under verbs: what is under way belongs to the caller from now on. NULL if there is nothing. */
struct kal_setup *kal_setup_steal(struct kal_conn *conn);
/* Not under verbs. Ends it; NULL is fine. */
void kal_setup_free(struct kal_setup *setup);
/* A setup of its own for kal_convert.c: watch and timer are ready to be started. NULL: no memory. */
struct kal_setup *kal_setup_new(struct kal_conn *conn, bool initiator);
void kal_setup_offer(struct kal_setup *setup, const struct kal_cm_req *req, bool suppress);
/* Under verbs: hand the stream to the provider. A failure is to be told later, as any of the socket. */
enum ri_status kal_stream_hand_over(struct kal_conn *conn, struct kal_setup *setup, size_t early_at,
				    uint16_t abort_code) RI_MUST_CHECK;
/* The same on the service thread, failure told; true: it failed, verbs is released. */
bool kal_stream_attach(struct kal_conn *conn, struct kal_setup *setup, size_t early_at,
		       uint16_t abort_code);
/* The same: it failed; releases verbs. */
void kal_stream_give_up(struct kal_conn *conn, enum kal_conn_event conn_event,
			enum kal_cm_reason reason);
/* Both. Not under verbs. */
void kal_stream_drop(struct kal_conn *conn);

/* kal_convert.c */
/* Under verbs: take over a connected socket; its descriptor stays the caller's. */
enum ri_status kal_stream_convert(struct kal_conn *conn, const struct kal_convert_req *req,
				  const void *message, int fd,
				  struct kal_convert_rep *rep) RI_MUST_CHECK;
/* On the service thread, under verbs: the socket is ready; true: it failed, verbs is released. */
bool kal_convert_advance(struct kal_conn *conn, struct kal_setup *setup, uint32_t events);

/* kal_cm_address.c */
/* When a wait ends for which an application gave a time; 0: the default. */
uint64_t kal_deadline(const struct ri_host *host, uint64_t timeout_us);
enum ri_status kal_address_connect(struct kal_conn *conn,
				   const struct kal_cm_req *req) RI_MUST_CHECK;
enum ri_status kal_address_accept(struct kal_conn *conn, const struct kal_cm_req *req,
				  struct kal_request *request,
				  struct kal_accept_rep *rep) RI_MUST_CHECK;

/* kal_request.c */
/* Takes the descriptor over. */
void kal_request_new(struct kal_listener *listener, struct kal_fd *fd);
/* End every delivered request of this RNIC, without events; those half open ended with their listeners. */
void kal_request_end_all(struct kal_cm *cm);
/* With all that will have to be told of it. NULL: no memory. */
struct kal_request *kal_request_alloc(struct kal_cm *cm);
/* The last touch of a request, and of its kal_cm. */
void kal_request_release(struct kal_request *request);
/* The caller holds cm->lock: it gets an id and the client is told; it died and the client is told. */
void kal_request_enter(struct kal_request *request);
void kal_request_tell_gone(struct kal_request *request);
/* The caller holds cm->lock. NULL: there is none of that id. */
struct kal_listener *kal_listener_of(struct kal_cm *cm, uint64_t id);

/* kal_request_theirs.c */
void kal_request_from_provider(struct kal_cm *cm, const struct ri_cm_event *event);
void kal_request_gone(struct kal_cm *cm, const struct ri_cm_event *event);
/* Not inside of an upcall. */
void kal_request_refuse_theirs(struct kal_cm *cm, const struct kal_unheard *theirs,
			       enum kal_cm_reason reason, const void *pdata, uint16_t len);
/* Before the listener is known to anybody. */
void kal_request_listener_init(struct kal_listener *listener);
/* The listener ends, and its provider raises nothing for it any more: refuse what nobody heard. */
void kal_request_refuse_unheard(struct kal_listener *listener);
/* Take it away from everybody else, by id; NULL: none of that kind. Quiet afterwards. */
struct kal_request *kal_request_take(struct kal_cm *cm, uint32_t id, bool service);
/* One that was taken has died meanwhile: the client is told, and it is freed. */
void kal_request_dead(struct kal_request *request);
/* Undo. */
void kal_request_put_back(struct kal_request *request);
/* Give it to another listener under a new id. False: no memory, and it is as it was. */
bool kal_request_hand(struct kal_request *request, uint64_t ctx, uint64_t listener_id);
/* Say no to the peer: as its consumer (KAL_REASON_CONSUMER, private data), or for want of one. */
void kal_request_refuse(struct kal_request *request, enum kal_cm_reason reason, const void *pdata,
			uint16_t len);
void kal_request_free(struct kal_request *request);
/* The caller holds cm->lock. It is the caller's to end now; false: somebody else was faster. */
bool kal_request_leave(struct kal_request *request);

/* kal_starts.c. Under cm->lock: a half-open request begins, silent, and is half open no more. */
void kal_start_enter(struct kal_request *request);
void kal_start_leave(struct kal_request *request);
/* It has come so far. Not under cm->lock, as the next ones. */
void kal_start_advance(struct kal_request *request, enum kal_start_stage stage);
/* On the service thread: `fresh` has just begun. If there are too many now, one of the others is reset. */
void kal_starts_trim(struct kal_listener *listener, const struct kal_request *fresh);
/* All places are taken by whole Requests that wait for the consumer: nobody can go. */
bool kal_starts_full(struct kal_listener *listener);
/* On the service thread, when there are no descriptors left: one start-up of this listener, or else of another
 * one of this adapter, is reset. False: there is none that may go. */
bool kal_starts_free_descriptor(struct kal_listener *listener);
/* The listener ends, and nothing is accepted for it any more: its start-ups are reset. */
void kal_starts_end_all(struct kal_listener *listener);

/* kal_resolve.c */
void kal_resolve_from_provider(struct kal_cm *cm, const struct ri_cm_event *event);
void kal_resolve_end_all(struct kal_cm *cm);

/* kal_listen.c, kal_listen_socks.c */
void kal_listener_unref(struct kal_listener *listener);
void kal_listener_init(struct kal_listener *listener);
/* Open its sockets; a port that was left open is chosen. */
enum ri_status kal_listener_open(struct kal_listener *listener,
				 struct ri_service *service) RI_MUST_CHECK;
/* Its id and service are known: begin to take. */
enum ri_status kal_listener_watch(struct kal_listener *listener) RI_MUST_CHECK;
/* Nothing of it runs any more, and its sockets are closed. Not with cm->lock. */
void kal_listener_close(struct kal_listener *listener);

/* kal_sock.c */
/* A sockaddr for an address and a port in network order. Returns its length, 0 if no IP address. */
socklen_t kal_sock_addr(struct sockaddr_storage *out, const struct ri_addr *addr, uint16_t port);
void kal_sock_addr_back(const struct sockaddr_storage *in, struct ri_addr *addr, uint16_t *port);
/* A non-blocking TCP socket of that family: 0, or errno. */
int kal_sock_new(struct kal_fd *fd, int family);
/* For the start-up: no delays. */
void kal_sock_prepare(int fd);
/* For RDMA mode: when its process dies, the peer gets a reset (architecture.md, Connections). */
void kal_sock_rdma_mode(int fd);
/* Reset the connection now, whoever has copies of the descriptor; it is still to be closed. */
void kal_sock_abort(int fd);
bool kal_sock_is_local(const struct ri_addr *addr);
/* May this process have that port (network order) for itself? What the host reserves, it reserves here. */
bool kal_sock_may_serve(uint16_t port);
enum kal_cm_reason kal_sock_reason(int error);

#endif /* KAL_CM_INTERNAL_H */
