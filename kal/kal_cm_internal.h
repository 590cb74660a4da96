/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* What the files of connection management share: kal_cm*.c, kal_listen*.c, kal_request*.c, kal_starts.c,
 * kal_convert.c, kal_partings.c, kal_paths.c, kal_resolve.c, kal_sock.c. Others include kal_cm.h. */
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
#include "ri_log.h"

#define KAL_NS_PER_S           1000000000ull
#define KAL_CONNECT_DEFAULT    (20 * KAL_NS_PER_S)   /* initiator, and RTR at the responder */
#define KAL_REQUEST_READ_MAX   (5 * KAL_NS_PER_S)    /* MPA Request after TCP accept */
#define KAL_REQUEST_ANSWER_MAX (120 * KAL_NS_PER_S)  /* our consumer's answer */
#define KAL_PARTING_MAX        (2 * KAL_NS_PER_S)    /* until a refused peer has closed */
#define KAL_RETRY_AFTER        (10 * 1000 * 1000ull) /* ns until a try to find room is repeated */
#define KAL_STARTS_MAX         128                   /* start-ups of a listener */
#define KAL_INTERFACE_NAME_MAX 32                    /* of ri_port_attr::if_name */
#define KAL_START_SHARE        32 /* of them, for each stage before a whole Request */

struct kal_cm {
	struct kal_cm_params p;
	bool stream;            /* we set up streams (RI_CM_STREAM), else the provider connects */
	bool crc;               /* ask for CRC */
	bool fall_back;         /* connect again with revision 1 if the peer may know only that */
	pthread_mutex_t lock;   /* the tables, states, and what an event reports */
	bool told;              /* under it: an event was queued for the client */
	struct kal_table conns; /* by the client's ctx: kal_conn */
	struct kal_table listeners; /* by our id: kal_listener */
	struct kal_table requests;  /* by id: kal_request */
	struct kal_table held;      /* by id: requests of the provider that a call has taken */
	struct kal_table queries;   /* by the client's ctx: kal_service_query */
	struct kal_partings {
		struct kal_parting *oldest, *newest;
		unsigned count;
		unsigned
			ending; /* taken out of the list by the service thread, and not freed yet */
	} partings;             /* under the lock; kal_partings.c */
	atomic_uint alive;      /* kal_request structs; the end waits for those in other hands */
	uint64_t last_listener;
	atomic_int
		dial_short; /* errno of the last connect, if this host lacked something for it; kal_cm_dial.c */
};

/* What a conversion still has to do before the start-up goes on as any other. */
enum kal_convert_step {
	KAL_CONVERT_NONE = 0, /* nothing, or this is none */
	KAL_CONVERT_MESSAGE,  /* send the message, then wait for the MPA Request */
	KAL_CONVERT_REQUEST,  /* wait for it */
	KAL_CONVERT_LEAVE /* no MPA frames: send the message, then the provider has the stream */
};

/* MPA start-up under way; exists from connect or accept until the connection is established or has failed. */
struct kal_setup {
	struct kal_conn *conn; /* may be freed once the setup was taken out of it */
	struct kal_cm *cm;
	const struct ri_host *host; /* outlives everything */
	struct kal_fd fd;           /* empty once the provider has it */
	struct ri_watch watch;
	struct ri_timer timer;
	int error; /* errno of a connect that failed at once */
	bool initiator;
	bool tcp_up;
	struct kal_cm_req req;  /* initiator: what was asked for */
	uint64_t deadline;      /* of the attempt; ns of ri_host::now, or RI_NEVER */
	uint64_t insists_until; /* how long a refusal is not final; the same */
	bool paused;            /* refused: the timer begins again */
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

/* What the next event of a connection will report; the members are those of kal_cm_event. */
struct kal_pending {
	uint32_t reason;
	uint32_t port;
	uint32_t ird, ord;
	uint32_t own_ird, own_ord;
	bool ird_ord_valid;
	struct ri_addr peer, local;
	struct ri_service service;
};

struct kal_conn {
	struct kal_link link; /* of kal_cm::conns; the key is the client's ctx */
	struct kal_cm *cm;
	struct ri_qp *qp;
	uint32_t qpn;               /* its number, for the log */
	pthread_mutex_t verbs;      /* around verbs on qp; and the setup pointer */
	enum kal_conn_state state;  /* cm->lock */
	bool retired;               /* cm->lock */
	bool wait_due;              /* cm->lock: the end of its time-wait has not been reported */
	bool three_way;             /* cm->lock: the client awaits a reply, and answers it */
	struct kal_setup *setup;    /* verbs */
	struct ri_task tidy;        /* drops the setup once the connection is established */
	struct ri_task last_word;   /* queues the owed event after the provider's flush */
	enum kal_cm_kind owed;      /* cm->lock */
	enum kal_cm_reason why;     /* cm->lock */
	struct kal_pending pending; /* cm->lock */
	/*
	 * cm->lock: nodes for the events of this connection. The first has room for private data and reports it. If the
	 * kAL sets streams up, the last one is bare: it is for the end, which has no private data then.
	 */
	struct kal_event_node *reserved;
	uint32_t ird; /* as configured */
	uint32_t ord;
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
	/* cm->lock: requests still to be refused, at most `backlog`; kal_request_theirs.c */
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

/* kal_cm.c */
/* The table lock; kal_cm_unlock tells the client that events were queued meanwhile. */
void kal_cm_lock(struct kal_cm *cm);
void kal_cm_unlock(struct kal_cm *cm);
/* Make the move and queue the event that the table of states names. `reason` is used with FAILED. */
enum ri_status kal_conn_move(struct kal_conn *conn, enum kal_conn_event conn_event,
			     enum kal_cm_reason reason) RI_MUST_CHECK;
/* Queue the event of a move. The caller owns cm->lock. */
void kal_conn_tell(struct kal_conn *conn, enum kal_cm_kind report, enum kal_cm_reason reason);
/* The same after the provider has flushed what was posted; call kal_conn_kill first. */
void kal_conn_tell_last(struct kal_conn *conn, enum kal_cm_kind report, enum kal_cm_reason reason);
enum kal_conn_state kal_conn_state(struct kal_conn *conn);
/* Under verbs: move the queue pair to ERROR, so that what was posted is flushed. */
void kal_conn_kill(struct kal_conn *conn);
/* Copy what the peer's frame says into the pending event. */
void kal_conn_note_frame(struct kal_conn *conn, const struct kal_mpa_frame *frame);

/* Under verbs: reserve nodes for the `count` events of a new connection. False: no memory. */
bool kal_conn_reserve(struct kal_conn *conn, unsigned count);
/* The caller owns cm->lock: queue an event in a reserved node. */
void kal_cm_tell(struct kal_cm *cm, struct kal_cm_node *node, uint64_t ctx,
		 const struct kal_cm_event *event);

/* kal_cm_dial.c */
enum ri_status kal_stream_connect(struct kal_conn *conn,
				  const struct kal_cm_req *req) RI_MUST_CHECK;
/* On the service thread, under verbs: the initiator's socket is ready; true: verbs was released. */
bool kal_dial_advance(struct kal_conn *conn, struct kal_setup *setup, uint32_t events);
/*
 * On the service thread, under verbs: an attempt without a Reply ended with that errno, or at its end (0). True: that is not final, and
 * kal_setup::timer makes it again.
 */
bool kal_dial_later(struct kal_conn *conn, struct kal_setup *setup, int error);
/* On the service thread, under verbs: make it again; false: it has failed, and verbs was released. */
bool kal_dial_resume(struct kal_conn *conn, struct kal_setup *setup);

/* kal_cm_stream.c */
enum ri_status kal_stream_accept(struct kal_conn *conn, const struct kal_cm_req *req,
				 struct kal_request *request,
				 struct kal_accept_rep *rep) RI_MUST_CHECK;
/* Under verbs: take the setup out of the connection; the caller owns it. NULL if there is none. */
struct kal_setup *kal_setup_steal(struct kal_conn *conn);
/* Stop and free a setup, or NULL. Not under verbs. */
void kal_setup_free(struct kal_setup *setup);
/* A setup whose watch and timer can be started. NULL: no memory. */
struct kal_setup *kal_setup_new(struct kal_conn *conn, bool initiator);
void kal_setup_offer(struct kal_setup *setup, const struct kal_cm_req *req, bool suppress);
/* Send what is left from *at on. 1: all is sent, 0: the socket's buffer is full, or -errno. */
int kal_setup_send(struct kal_setup *setup, const uint8_t *octets, size_t len, size_t *at);
/* Under verbs: hand the stream to the provider. The caller reports a failure as one of the socket. */
enum ri_status kal_stream_hand_over(struct kal_conn *conn, struct kal_setup *setup, size_t early_at,
				    uint16_t abort_code) RI_MUST_CHECK;
/* The same on the service thread. True: it failed, the failure is reported, and verbs is released. */
bool kal_stream_attach(struct kal_conn *conn, struct kal_setup *setup, size_t early_at,
		       uint16_t abort_code);
/* On the service thread, under verbs: the attempt failed. Reports the failure, logs why, and releases verbs. */
void kal_stream_give_up(struct kal_conn *conn, enum kal_conn_event conn_event,
			enum kal_cm_reason reason, const char *why);
/* kal_setup_steal and kal_setup_free. Not under verbs. */
void kal_stream_drop(struct kal_conn *conn);

/* kal_partings.c */
/*
 * Take over the socket of a peer whose start-up ended; nobody watches it any more. It is closed when the peer has closed
 * its end, or after KAL_PARTING_MAX, or when too many others wait. Any thread, not under cm->lock.
 */
void kal_parting_begin(struct kal_cm *cm, struct kal_fd *fd);
/* Close all. When this returns, no thread uses any of them. */
void kal_partings_end_all(struct kal_cm *cm);
/* On the service thread: descriptors are short. False: there is no parting. */
bool kal_partings_end_oldest(struct kal_cm *cm);

/* kal_cm_say.c */
#define KAL_SAYING_MAX 320
#define KAL_WHY_MAX    240 /* of a finding or verdict in words */
/* A line for the log, made under locks and written without them: the writer may be the application's. */
struct kal_saying {
	struct ri_log_about about;
	char peer[RI_LOG_ADDRESS];
	char text[KAL_SAYING_MAX];
};
bool kal_say_wanted(const struct kal_cm *cm);
void kal_say(const struct ri_host *host, const struct kal_saying *saying);
/* Under verbs. */
void kal_say_failure(const struct kal_setup *setup, const char *why, struct kal_saying *saying);
/* Say at once that a request is refused; its descriptor is still there. */
void kal_say_refused(struct kal_request *request, const char *why);

/* kal_convert.c */
/* Under verbs: take over a connected socket; its descriptor stays the caller's. */
enum ri_status kal_stream_convert(struct kal_conn *conn, const struct kal_convert_req *req,
				  const void *message, int fd,
				  struct kal_convert_rep *rep) RI_MUST_CHECK;
/* On the service thread, under verbs: the socket is ready; true: it failed, verbs is released. */
bool kal_convert_advance(struct kal_conn *conn, struct kal_setup *setup, uint32_t events);

/* kal_cm_address.c */
/* The deadline for a timeout of the application in us; 0: the default, UINT64_MAX: none. */
uint64_t kal_deadline(const struct ri_host *host, uint64_t timeout_us);
enum ri_status kal_address_connect(struct kal_conn *conn,
				   const struct kal_cm_req *req) RI_MUST_CHECK;
enum ri_status kal_address_accept(struct kal_conn *conn, const struct kal_cm_req *req,
				  struct kal_request *request,
				  struct kal_accept_rep *rep) RI_MUST_CHECK;

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
/* The caller owns cm->lock. NULL: there is none of that id. */
struct kal_listener *kal_listener_of(struct kal_cm *cm, uint64_t id);

/* kal_request_theirs.c */
void kal_request_from_provider(struct kal_cm *cm, const struct ri_cm_event *event);
void kal_request_gone(struct kal_cm *cm, const struct ri_cm_event *event);
/* Not inside of an upcall. */
void kal_request_refuse_theirs(struct kal_cm *cm, const struct kal_unheard *theirs,
			       enum kal_cm_reason reason, const void *pdata, uint16_t len);
/* Before the listener is known to anybody. */
void kal_request_listener_init(struct kal_listener *listener);
/* The listener ends, and its provider raises nothing for it any more: refuse the requests that no client has seen. */
void kal_request_refuse_unheard(struct kal_listener *listener);
/* Take a request by id, and stop its watch and timer; NULL: there is none of that kind. */
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
 * this listener, or else of another one of this adapter. False: there is none that may be reset. */
bool kal_starts_free_descriptor(struct kal_listener *listener);
/* The listener accepts no more and is destroyed: reset its start-ups. */
void kal_starts_end_all(struct kal_listener *listener);

/* kal_resolve.c */
void kal_resolve_from_provider(struct kal_cm *cm, const struct ri_cm_event *event);
void kal_resolve_end_all(struct kal_cm *cm);

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

/* kal_paths.c */
/*
 * Does the path lead through the interface of the adapter, although the kernel would send through another one? Then the socket
 * is to be bound to the interface of that name.
 */
enum ri_status kal_path_is_forced(const struct kal_cm *cm, const struct kal_cm_req *req,
				  bool *forced, char name[KAL_INTERFACE_NAME_MAX]) RI_MUST_CHECK;

/* kal_sock.c */
/* A sockaddr for an address and a port in network order. Returns its length, 0 if no IP address. */
socklen_t kal_sock_addr(struct sockaddr_storage *out, const struct ri_addr *addr, uint16_t port);
void kal_sock_addr_back(const struct sockaddr_storage *in, struct ri_addr *addr, uint16_t *port);
/* A non-blocking TCP socket of that family: 0, or errno. */
int kal_sock_new(struct kal_fd *fd, int family);
/*
 * Is the connection one of the socket with itself? TCP makes one (RFC 9293, 3.5, simultaneous open) if nobody listens
 * at the peer's port and the kernel chose, or the consumer gave, the same port of the same address as the local one.
 */
bool kal_sock_is_own_peer(int fd);
/* Send small frames without delay. */
void kal_sock_prepare(int fd);
/*
 * The TCP connection is up: have the kernel notice if the peer vanishes, and report that as ETIMEDOUT. What the
 * application has set on a socket of its own stands.
 */
void kal_sock_watch_peer(int fd, const struct kal_keep_alive *keep_alive);
/* For RDMA mode: when its process dies, the peer gets a reset (architecture.md, Connections). */
void kal_sock_rdma_mode(int fd);
/* Reset the connection, also if there are duplicates of the descriptor. The caller still closes it. */
void kal_sock_abort(int fd);
bool kal_sock_is_local(const struct ri_addr *addr);
/* An address as people write it. */
void kal_sock_addr_text(const struct ri_addr *addr, char *text, size_t room);
/* May this process bind that TCP port (network order)? Ports that the host reserves are reserved here, too. */
bool kal_sock_may_serve(uint16_t port);
enum kal_cm_reason kal_sock_reason(int error);

#endif /* KAL_CM_INTERNAL_H */
