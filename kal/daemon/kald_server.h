/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The daemon: sessions of clients and tools, their requests, and the recall of leases. Everything runs in one main loop. kald never
 * sees the data, the keys or the memory of a connection.
 */
#ifndef KALD_SERVER_H
#define KALD_SERVER_H

#include <glib.h>

#include <sys/socket.h>

#include "kald_apart.h"
#include "kald_ledger.h"
#include "kald_policy.h"

#define KALD_FDS_MAX 253 /* descriptors of one packet, as the kernel has it */

struct kald_group;
struct kald_taking;

struct kald_server {
	int listener;
	guint accepting; /* its source, or 0 */
	char *policy_path;
	struct kald_policy *policy;
	struct kald_ledger *ledger;
	GQueue sessions;     /* in the order of their serial numbers */
	GHashTable *by_user; /* struct kald_counts, by uid */
	GHashTable *unread;  /* descriptors that were sent and may be unread, by uid */
	GQueue ended; /* sockets of sessions that are over and whose clients have not read all */
	guint ended_look; /* the timer that looks at them, or 0 */
	GQueue borrows;   /* struct kald_borrow: wait for leases that are called back */
	GQueue listings;  /* struct kald_listing: wait for descriptions */
	GQueue slow;      /* sessions whose pause is over: one request of one of them at a time */
	guint slow_turns; /* the source that gives them their turn, or 0 */
	unsigned describing; /* sessions that have not answered KALD_DESCRIBE yet */
	gint64 started;
	uint64_t instance;
	uint64_t next_serial;
	GQueue groups;            /* struct kald_group: addresses that processes share */
	uint32_t next_slot;       /* where the search for a free one begins */
	uint32_t uid;             /* of kald: sees and stops all, as root does */
	unsigned watchers;        /* sessions with KALD_WATCH */
	struct kald_apart *apart; /* for what may wait for a client */
	int low;                  /* for kald_drop() */
};

/* Sessions of a user, and those that are over and whose descriptors are being closed, which may take as long as their client likes. */
struct kald_counts {
	unsigned live, closing;
};

/* A packet that waits to be sent. */
struct kald_packet {
	int fd;                   /* goes with it, and is closed; or -1 */
	struct kald_group *group; /* whose descriptors go with it; or NULL */
	struct kald_message message;
};

/* Descriptors that came with a request, and what was seen when they were looked at. */
struct kald_fds {
	int fds[KALD_FDS_MAX];
	uint32_t count;
	bool here;                  /* it is one UDP socket of kald's own network namespace */
	struct kald_group *claimed; /* what they are if they are claimed ... */
	const char *why;            /* ... or what is wrong with them */
};

struct kald_session {
	GList link;
	struct kald_server *server;
	uint64_t serial;
	uint32_t pid, gid, uid; /* as the kernel says */
	int fd, pidfd;          /* pidfd: -1 if the kernel has none */
	guint in, out, death, greeting;
	guint pause; /* the timer of its pause: it has sent too much, and is not read; or 0 */
	bool slow;   /* it is in kald_server::slow */
	gint64 paid_till; /* ahead of the clock by REQUEST_US for each request that counts against its allowance */
	enum kald_kind kind; /* 0 before KALD_HELLO */
	bool stopped;
	bool watches;
	bool describing;       /* KALD_DESCRIBE was sent and is not answered */
	gint64 describe_again; /* KALD_DESCRIBE is not sent again before */
	uint32_t lost;         /* changes that were not sent to it */
	bool rules_due;        /* the rules have changed, and were not sent to it */
	struct kald_borrower borrower;
	uint64_t used[KAL_RESOURCE_COUNT];
	GPtrArray *adapters; /* names, one for each open */
	GArray *ports;       /* uint16_t, one for each socket */
	GQueue out_queue;    /* struct kald_packet */
	uint32_t slot;       /* + 1, at the addresses that it shares; 0: it shares none */
	struct kald_taking *
		taking; /* a packet with descriptors is being taken, and nothing is read; or NULL */
	const struct kald_fds *got; /* came with the request that is being handled; NULL: none */
	uint32_t
		unread; /* descriptors that were sent to it since it was last seen to have read all */
	unsigned waiting; /* borrows and listings of it that wait */
};

/* kald_server.c */
/* Serve the socket; policy_path NULL: the defaults. NULL: the policy cannot be used. */
struct kald_server *kald_server_new(int listener, const char *policy_path, struct kal_why *why);
/* End all sessions. Descriptors of clients are left to the end of the process, which waits for none. */
void kald_server_free(struct kald_server *server);
/* Read the policy again. False: it cannot be used, and the old one stays. */
bool kald_server_reload(struct kald_server *server, struct kal_why *why);
/* Queue a message; fd: is closed when it was sent, or -1. Never ends a session. */
void kald_session_send(struct kald_session *session, const struct kald_message *message, int fd);
/* The same, with the descriptors of a group. */
void kald_session_send_group(struct kald_session *session, const struct kald_message *message,
			     struct kald_group *group);
void kald_session_event(struct kald_session *session, enum kald_number number);
/* Read from the client as long as its window has room. */
void kald_session_pace(struct kald_session *session);
/* Tell those that watch. */
void kald_tell(struct kald_server *server, const struct kald_session *about, enum kald_what what,
	       const char *text);
static inline struct kald_who
kald_session_who(const struct kald_session *session)
{
	return (struct kald_who){.uid = session->uid, .gid = session->gid};
}
/* A line on stderr. */
void kald_log(const char *format, ...) G_GNUC_PRINTF(1, 2);

/* Do more than CLOSING_MAX sessions of the user, which have ended, still wait to be closed? */
bool kald_session_many_closing(const struct kald_server *server, uint32_t uid);
/* A session that has ended is closed. */
void kald_session_closed(struct kald_server *server, uint32_t uid);
/* Processor time of this thread, in microseconds. */
int64_t kald_cpu_us(void);
/* kald_take.c has handled a packet of the session, in `took` us of processor time; `fine` false: it was wrong, and the session ends. */
void kald_session_taken(struct kald_session *session, const struct kald_message *request, bool fine,
			int64_t took);

/* kald_take.c */
/* Receive a request that has descriptors and examine them on a thread; then handle it. */
void kald_take(struct kald_session *session, const struct kald_message *request);
/* The session ends: its socket is closed when no thread uses it any more. */
void kald_take_forget(struct kald_session *session);
/* kald_unread.c: may the user have `fds` more unread descriptors? kald_unread_add: they were sent. */
bool kald_unread_room(const struct kald_session *session, uint32_t fds);
void kald_unread_add(struct kald_session *session, uint32_t fds);
/* kald_session_close() as soon as the client of a session that has ended has read, or dropped, the `unread` descriptors. */
void kald_unread_close(struct kald_server *server, uint32_t uid, int fd, uint32_t unread);
void kald_unread_free(struct kald_server *server);
/* Close the socket of a client: at once, or apart if descriptors are left in it and not too many wait. kald_session_closed comes then. */
void kald_session_close(struct kald_server *server, uint32_t uid, int fd);

/* kald_requests.c */
/* False: the message is wrong, and the session has to end. */
bool kald_request(struct kald_session *session, const struct kald_message *request,
		  enum kald_reading reading);
void kald_refuse(struct kald_session *session, const struct kald_head *to, enum kald_status status,
		 const struct kald_refusal *why);
socklen_t kald_sockaddr_of(const struct kald_addr *addr, struct sockaddr_storage *sa);
/* The welcome, or what has changed in it. */
void kald_welcome_send(struct kald_session *session, uint32_t id);

/* kald_recall.c */
/* Lend, if needed after a recall of other leases; then the answer comes later. */
void kald_borrow(struct kald_session *session, const struct kald_message *request);
/* Something was returned, or the time to wait for it is over: try the waiting requests again. */
void kald_borrow_again(struct kald_server *server);
/* Was the process stopped? Then the request is refused. */
bool kald_refuse_stopped(struct kald_session *session, const struct kald_head *to);

/* kald_list.c */
/* The answer may wait for descriptions. */
void kald_list(struct kald_session *session, const struct kald_message *request);
void kald_described(struct kald_session *session);

/* kald_share.c */
void kald_share(struct kald_session *session, const struct kald_message *request);
void kald_share_over(struct kald_session *session, const struct kald_share *said);
void kald_service(struct kald_session *session, const struct kald_message *request);
void kald_service_over(struct kald_session *session, const struct kald_service *said);
void kald_shares(struct kald_session *session, const struct kald_message *request);
void kald_share_forget(struct kald_session *session);
void kald_share_free(struct kald_server *server);

/* The session ends: forget what waits for it. */
void kald_borrow_forget(struct kald_session *session);
void kald_list_forget(struct kald_session *session);
/* May it see and stop the other one? */
bool kald_may_see(const struct kald_session *session, const struct kald_session *other);

#endif /* KALD_SERVER_H */
