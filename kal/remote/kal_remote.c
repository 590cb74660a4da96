/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The connection of this process to kald.
 *
 * Threads that ask do so one after another (`asking`). The one that asks reads all packets until it has its answer, and handles the
 * events among them; it sleeps without the lock, so threads that need no answer never wait for a daemon that gives none. Without a
 * thread that asks the service thread reads; it only tries the lock. A thread that asks while the daemon is away connects again by
 * itself, for at most PATIENCE.
 *
 * Amounts cross as differences (lent, returned), so a request and a recall that cross each other do no harm. Only the first message
 * has the whole: what an earlier daemon has lent.
 */
#include "kal_remote.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kal_call.h"
#include "kal_host.h"
#include "kal_host_share.h"
#include "kal_remote_claims.h"
#include "kal_remote_wire.h"
#include "kal_resources.h"
#include "kal_settings.h"
#include "kal_sock.h"
#include "kal_sock_source.h"
#include "kald_net.h"
#include "ri_calls.h"
#include "ri_errno.h"
#include "ri_fd.h"
#include "ri_log.h"
#include "ri_owned.h"

#define MS            UINT64_C(1000000)
#define PATIENCE      (5000 * MS) /* of a thread that asks */
#define PATIENCE_AUTO (2000 * MS) /* of the first one, if a daemon is not required */
#define SLICE_MS \
	100 /* of a sleep for a packet: another thread may have closed the socket meanwhile */
#define NAP_MS     20          /* between attempts of a thread that asks */
#define SAME_AGAIN (1000 * MS) /* a line is not logged again before */

enum remote_state {
	REMOTE_NONE = 0, /* none is wanted, or none was found */
	REMOTE_AWAY,     /* it was there */
	REMOTE_GREETING, /* connected; the answer to the first message is to come */
	REMOTE_JOINED,
	REMOTE_REFUSED /* it wants nothing to do with this process */
};

static pthread_mutex_t asking =
	PTHREAD_MUTEX_INITIALIZER; /* before the next one; threads that ask, join or leave */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
	bool reading;     /* a thread that asks sleeps, and will read what comes */
	unsigned clients; /* of the kAL in this process */
	const struct ri_host *host;
	struct kal_remote_place place;
	bool required;
	enum remote_state state;
	char found[KAL_REMOTE_PATH];
	struct kal_fd fd;
	struct ri_watch watch;
	struct ri_timer again;
	unsigned attempts;
	int error; /* of the last attempt to connect */
	uint32_t last_id, greeting_id;
	uint32_t awaited; /* id of the request whose sender waits */
	bool sent;        /* `request`, over the connection that is there now */
	bool answered;
	struct kald_message reply; /* to it */
	/* Here, since calls work on a stack of 32 KiB: what comes, what is asked, and what is sent without an answer. */
	struct kald_message in, request, out;
	struct kal_fd came[KALD_SHARE_FDS]; /* what came with `in` ... */
	struct kal_fd got[KALD_SHARE_FDS];  /* ... and with `reply` */
	int proof; /* goes with `request`: a socket of this network namespace; 0: none */
	struct kald_welcome rules;
	bool stopped;
	bool recalled[KAL_RESOURCE_COUNT]; /* to be returned */
	struct kal_claims claims;
	char said[KALD_TEXT]; /* in the log, last */
	uint64_t said_at;
} r;

static void try_connect(void);

static uint64_t
now(void)
{
	return r.host->now(r.host->self);
}

/* --- the log ---------------------------------------------------------------------------------------------- */

static void
say(enum ri_log_level level, const char *text)
{
	RI_ASSERT_OWNED(&lock);
	if (strncmp(r.said, text, sizeof(r.said) - 1) == 0 && now() < r.said_at + SAME_AGAIN)
		return;
	(void)snprintf(r.said, sizeof(r.said), "%s", text);
	r.said_at = now();
	ri_log(r.host, level, &(struct ri_log_about){.layer = "kal"}, "kald at %s%s", r.found,
	       text);
}

/* It does not answer, perhaps because a sandbox refuses a system call, and this is what follows. */
static void
say_silent(enum ri_log_level level, const char *what_follows)
{
	char text[KALD_TEXT];

	(void)snprintf(text, sizeof(text), " does not answer%s%s%s", r.error != 0 ? ": " : "",
		       r.error != 0 ? ri_errno_text(r.error) : "", what_follows);
	say(level, text);
}

static void
say_refusal(const struct kald_message *reply)
{
	char text[KALD_TEXT + 16];

	(void)snprintf(text, sizeof(text), " refuses: %s", reply->body.refusal.text);
	say(RI_LOG_WARNING, text);
}

/* --- messages that come ----------------------------------------------------------------------------------- */

/*
 * Return to kald what it has recalled. If the socket is full, the amount stays lent and the timer
 * tries again, since kald asks only once. False: some of it was not returned yet.
 */
static bool
post_returns(void)
{
	for (unsigned resource = 0; resource < KAL_RESOURCE_COUNT; resource++) {
		if (!r.recalled[resource])
			continue;
		kald_message_begin(&r.out, KALD_RETURN, 0, KALD_OK);
		r.out.body.amount.resource = resource;
		r.out.body.amount.amount = kal_lease_spare((enum kal_resource)resource);
		if (kal_remote_send(&r.fd, &r.out) != 0) {
			kal_lease_add((enum kal_resource)resource, r.out.body.amount.amount);
			return false;
		}
		r.recalled[resource] = false;
	}
	return true;
}

static void
post_description(void)
{
	kald_message_begin(&r.out, KALD_DESCRIPTION, 0, KALD_OK);
	kal_lease_amounts(NULL, r.out.body.description.used);
	/* If the socket takes nothing now, kald asks again, or the connection ends. */
	(void)kal_remote_send(&r.fd, &r.out);
}

/* Post the claims that kald does not know yet, without waiting for answers. False: some are left, and the timer tries again. */
static bool
post_claims(void)
{
	if (kal_claims_post(&r.claims, &r.fd, &r.out, &r.last_id) && post_returns())
		return true;
	r.host->timer_start(r.host->self, &r.again, now() + NAP_MS * MS);
	return false;
}

/* The connection is over. */
static void
lose(enum remote_state next)
{
	RI_ASSERT_OWNED(&lock);
	if (kal_fd_get(&r.fd) < 0)
		return;
	r.host->watch_stop(r.host->self, &r.watch);
	kal_fd_close(&r.fd);
	r.state = next;
	r.attempts = 0;
	if (next == REMOTE_AWAY)
		r.host->timer_start(r.host->self, &r.again, now() + 100 * MS);
}

/* Say by r.out that something has ended, now or later; without memory for that the connection ends, and the next one says what there is. */
static void
post_end(void)
{
	RI_ASSERT_OWNED(&lock);
	if (r.state != REMOTE_JOINED)
		return; /* the next kald knows nothing of it */
	if (kal_claims_end(&r.claims, &r.out))
		(void)post_claims();
	else
		lose(REMOTE_AWAY);
}

static void
welcomed(const struct kald_message *message)
{
	bool anew = r.state == REMOTE_GREETING;

	r.rules = message->body.welcome;
	if (!anew)
		return;
	r.state = REMOTE_JOINED;
	kal_lease_set(r.rules.lent);
	memset(r.recalled, 0, sizeof(r.recalled)); /* by the one before */
	kal_claims_again(&r.claims);
	(void)post_claims();
}

static void
handle_greeting(const struct kald_message *message)
{
	if (message->head.status == KALD_OK) {
		if (message->head.id == r.greeting_id || r.state == REMOTE_JOINED)
			welcomed(message);
		return;
	}
	say_refusal(message);
	lose(REMOTE_REFUSED);
}

/* One packet. What came with it goes to r.got only if it is the answer that a thread waits for. */
static void
handle(const struct kald_message *message)
{
	if (r.state == REMOTE_JOINED && (message->head.number & KALD_REPLY) != 0)
		kal_claims_answered(&r.claims, message->head.id);
	switch (message->head.number) {
	case KALD_HELLO | KALD_REPLY:
		handle_greeting(message);
		break;
	case KALD_BORROW | KALD_REPLY:
		/* Counted even if the thread that asked has given up. */
		if (message->head.status == KALD_OK)
			kal_lease_add(message->body.amount.resource, message->body.amount.amount);
		break;
	case KALD_RECALL:
		r.recalled[message->body.amount.resource] = true;
		if (r.state == REMOTE_JOINED)
			(void)post_claims();
		break;
	case KALD_DESCRIBE:
		post_description();
		break;
	case KALD_STOPPED:
		r.stopped = true;
		say(RI_LOG_WARNING, " was told by kalctl to stop this process: it opens, listens, "
				    "connects and borrows no more");
		break;
	default:
		break;
	}
	if ((message->head.number & KALD_REPLY) != 0 && r.awaited != 0 &&
	    message->head.id == r.awaited) {
		r.reply = *message;
		r.answered = true;
		kal_remote_close_all(r.got);
		for (unsigned i = 0; i < KALD_SHARE_FDS && kal_fd_get(&r.came[i]) >= 0; i++)
			kal_fd_move(&r.got[i], &r.came[i]);
	} else if (message->head.number == (KALD_SHARE | KALD_REPLY) &&
		   message->head.status != KALD_OK) {
		say_refusal(message); /* a claim */
	}
	kal_remote_close_all(r.came);
}

/* All packets that are there. */
static void
receive_all(void)
{
	while (kal_fd_get(&r.fd) >= 0) {
		int result = kal_remote_receive(&r.fd, &r.in, r.came);

		if (result == 0)
			return;
		if (result > 0) {
			handle(&r.in);
			continue;
		}
		lose(REMOTE_AWAY);
		return;
	}
}

/* On the service thread. A thread that owns the lock reads by itself. */
static void
remote_ready(void *arg, uint32_t events)
{
	(void)arg, (void)events;
	if (pthread_mutex_trylock(&lock) != 0)
		return;
	if (!r.reading)
		receive_all();
	pthread_mutex_unlock(&lock);
}

static void
remote_again(void *arg)
{
	static const unsigned pauses_ms[] = {1000, 5000};

	(void)arg;
	if (pthread_mutex_trylock(&lock) != 0) {
		/* A thread that asks connects by itself; one that does something else leaves it to this timer. */
		const struct ri_host *host = kal_host_here();

		host->timer_start(host->self, &r.again, host->now(host->self) + 100 * MS);
		return;
	}
	if (r.state == REMOTE_JOINED) {
		(void)post_claims();
	} else if (r.state == REMOTE_AWAY && r.reading) {
		r.host->timer_start(r.host->self, &r.again, now() + 100 * MS);
	} else if (r.state == REMOTE_AWAY) {
		try_connect();
		if (r.state == REMOTE_AWAY)
			r.host->timer_start(r.host->self, &r.again,
					    now() + pauses_ms[r.attempts++ > 0] * MS);
	}
	pthread_mutex_unlock(&lock);
}

/* --- joining ------------------------------------------------------------------------------------------------ */

static int
greet(void)
{
	kald_message_begin(&r.out, KALD_HELLO, ++r.last_id, KALD_OK);
	r.out.body.hello.version_min = 1;
	r.out.body.hello.version_max = KALD_VERSION;
	r.out.body.hello.kind = KALD_CLIENT;
	kal_lease_amounts(r.out.body.hello.lent, NULL);
	r.greeting_id = r.last_id;
	return kal_remote_send(&r.fd, &r.out);
}

static void
try_connect(void)
{
	RI_ASSERT_OWNED(&lock);
	r.error = kal_remote_connect(&r.place, &r.fd, r.found);
	if (r.error != 0)
		return;
	r.watch = (struct ri_watch){
		.fire = remote_ready, .fd = kal_fd_get(&r.fd), .events = RI_WATCH_IN};
	if (r.host->watch_start(r.host->self, &r.watch) != RI_SUCCESS) {
		kal_fd_close(&r.fd);
		return;
	}
	r.state = REMOTE_GREETING;
	/* What it refuses at once it has said before: that is read, too. */
	if (greet() != 0)
		receive_all();
}

/* Give the lock up for a sleep, and take it again. What the thread asks stays its own, since it owns `asking`. */
static void
sleep_begin(void)
{
	RI_ASSERT_OWNED(&lock);
	r.reading = true;
	pthread_mutex_unlock(&lock);
}

static void
sleep_end(void)
{
	pthread_mutex_lock(&lock);
	r.reading = false;
}

/* Sleep until a packet is there, or for a moment. */
static void
await_packet(short events, uint64_t deadline)
{
	struct pollfd wait = {.fd = kal_fd_get(&r.fd), .events = events};
	uint64_t here = now(), left = deadline > here ? (deadline - here) / MS + 1 : 0;

	if (left == 0)
		return;
	sleep_begin();
	(void)ri_poll(&wait, 1, (int)(left < SLICE_MS ? left : SLICE_MS));
	sleep_end();
}

static void
nap(void)
{
	sleep_begin();
	ri_nap(&(struct timespec){.tv_nsec = (long)(NAP_MS * MS)});
	sleep_end();
}

/* Connected and welcome? If not, try until the deadline. */
static bool
be_joined(uint64_t deadline)
{
	RI_ASSERT_OWNED(&lock);
	while (r.state != REMOTE_JOINED) {
		if (r.state == REMOTE_REFUSED || r.state == REMOTE_NONE || now() >= deadline)
			return false;
		if (r.state == REMOTE_AWAY)
			try_connect();
		if (r.state == REMOTE_AWAY)
			nap();
		if (r.state != REMOTE_GREETING)
			continue;
		await_packet(POLLIN, deadline);
		receive_all();
	}
	return true;
}

/* Ask r.request, and wait for r.reply. False: there is no answer in time. */
static bool
ask(void)
{
	uint64_t deadline = now() + PATIENCE;

	RI_ASSERT_OWNED(&lock);
	kal_remote_close_all(r.got);
	r.answered = r.sent = false;
	while (!r.answered && be_joined(deadline) && now() < deadline) {
		int error;

		r.sent = false;
		/* It may be about what is claimed. */
		if (!post_claims()) {
			nap();
			receive_all();
			continue;
		}
		r.request.head.id = ++r.last_id;
		error = r.proof == 0 ? kal_remote_send(&r.fd, &r.request)
				     : kal_remote_send_with(&r.fd, &r.request, &r.proof, 1);
		if (error == EAGAIN) {
			await_packet(POLLOUT, deadline);
			receive_all();
			continue;
		}
		if (error != 0) {
			receive_all();
			lose(REMOTE_AWAY);
			continue;
		}
		r.sent = true;
		r.awaited = r.request.head.id;
		while (!r.answered && r.state == REMOTE_JOINED && now() < deadline) {
			await_packet(POLLIN, deadline);
			receive_all();
		}
		r.awaited = 0;
	}
	if (r.answered && r.reply.head.status != KALD_OK)
		say_refusal(&r.reply);
	else if (!r.answered && r.state != REMOTE_REFUSED)
		say_silent(RI_LOG_WARNING, "");
	return r.answered;
}

/* No answer came in time, and the caller goes on as if refused: what kald grants late, by r.request, is given back at once. */
static void
take_back(enum kald_number over)
{
	if (!r.sent)
		return;
	r.out = r.request;
	r.out.head.number = (uint16_t)over;
	r.out.head.id = 0;
	post_end();
}

/* --- accounts ------------------------------------------------------------------------------------------------ */

/* For a thread that asks. */
static void
asker_enter(void)
{
	pthread_mutex_lock(&asking);
	pthread_mutex_lock(&lock);
}

static void
asker_leave(void)
{
	pthread_mutex_unlock(&lock);
	pthread_mutex_unlock(&asking);
}

static enum ri_status
borrow(enum kal_resource resource, uint64_t amount)
{
	enum ri_status status = RI_ERR_RESOURCES;

	asker_enter();
	kald_message_begin(&r.request, KALD_BORROW, 0, KALD_OK);
	r.request.body.amount.resource = resource;
	r.request.body.amount.amount = amount;
	if (ask() && r.reply.head.status == KALD_OK)
		status = RI_SUCCESS;
	asker_leave();
	return status;
}

static const struct kal_lender lender = {.borrow = borrow};

/* --- sockets --------------------------------------------------------------------------------------------------- */

/* May it listen there? 0 or an errno; r.got: the socket, if kald has opened it. */
static int
ask_listen(const struct kald_addr *at, bool have)
{
	kald_message_begin(&r.request, KALD_LISTEN, 0, KALD_OK);
	r.request.body.listen.at = *at;
	r.request.body.listen.have = have;
	if (ask()) {
		if (r.reply.head.status == KALD_SYSTEM && r.reply.body.refusal.error != 0)
			return (int)r.reply.body.refusal.error;
		if (r.reply.head.status != KALD_OK)
			return EACCES;
	} else if (r.required || r.state == REMOTE_REFUSED) {
		take_back(KALD_LISTEN_OVER);
		return EACCES;
	}
	kal_claims_listen(&r.claims, at);
	return 0;
}

static void
listen_forget(const struct kald_addr *at)
{
	kal_claims_listen_over(&r.claims, at);
	kald_message_begin(&r.out, KALD_LISTEN_OVER, 0, KALD_OK);
	r.out.body.listen.at = *at;
	post_end();
}

static int
bound_addr(const struct kal_fd *fd, struct kald_addr *at)
{
	struct sockaddr_storage sa;
	socklen_t len = sizeof(sa);

	memset(&sa, 0, sizeof(sa));
	if (getsockname(kal_fd_get(fd), (struct sockaddr *)&sa, &len) != 0)
		return errno;
	kal_remote_addr_of(&sa, at);
	return at->port != 0 ? 0 : EINVAL;
}

/* A port that the kernel chooses is asked for when it is known. */
static int
listen_anywhere(struct kal_fd *fd, const struct sockaddr_storage *sa, socklen_t len)
{
	struct kald_addr at;
	int error = kal_sock_own.listen(fd, sa, len);

	if (error != 0)
		return error;
	error = bound_addr(fd, &at);
	if (error == 0)
		error = ask_listen(&at, true);
	if (error != 0)
		kal_fd_close(fd);
	return error;
}

/* At an address that was asked for, and is counted. What was refused before is not: another socket of this process may have that address. */
static int
listen_allowed(struct kal_fd *fd, const struct sockaddr_storage *sa, socklen_t len,
	       const struct kald_addr *at)
{
	int error = 0;

	if (kal_fd_get(&r.got[0]) >= 0)
		kal_fd_move(fd, &r.got[0]);
	else
		error = kal_sock_own.listen(fd, sa, len);
	if (error != 0)
		listen_forget(at);
	return error;
}

static int
remote_listen(struct kal_fd *fd, const struct sockaddr_storage *sa, socklen_t len)
{
	struct kald_addr at;
	int error;

	kal_remote_addr_of(sa, &at);
	asker_enter();
	if (at.port == 0) {
		error = listen_anywhere(fd, sa, len);
	} else {
		error = ask_listen(&at, false);
		if (error == 0)
			error = listen_allowed(fd, sa, len, &at);
	}
	asker_leave();
	return error;
}

static void
remote_listen_over(const struct kal_fd *fd)
{
	struct kald_addr at;

	pthread_mutex_lock(&lock);
	if (kal_fd_get(fd) >= 0 && bound_addr(fd, &at) == 0)
		listen_forget(&at);
	pthread_mutex_unlock(&lock);
}

/* Connections are judged here, by the rules that kald has sent: a call for each would cost more than 1 in 10 of a connect. */
static bool
may_dial(const struct kald_addr *peer)
{
	char text[KALD_TEXT + INET6_ADDRSTRLEN], name[INET6_ADDRSTRLEN] = "";

	if (r.stopped)
		return false;
	if (r.rules.any_peer == 1 ||
	    kald_nets_have(r.rules.nets, r.rules.num_nets, (uint8_t)peer->family, peer->octets))
		return true;
	(void)inet_ntop(peer->family, peer->octets, name, sizeof(name));
	(void)snprintf(text, sizeof(text), " refuses: %.150s; no network of it has %s",
		       r.rules.peers_rule, name);
	say(RI_LOG_WARNING, text);
	return false;
}

static int
dial_there(struct kal_fd *fd, const struct kal_dial *dial, const struct kald_addr *peer)
{
	kald_message_begin(&r.request, KALD_DIAL, 0, KALD_OK);
	r.request.body.dial.peer = *peer;
	if (dial->local != NULL)
		kal_remote_addr_of(dial->local, &r.request.body.dial.local);
	if (!ask())
		return EACCES;
	if (r.reply.head.status == KALD_SYSTEM && r.reply.body.refusal.error != 0)
		return (int)r.reply.body.refusal.error;
	if (r.reply.head.status != KALD_OK || kal_fd_get(&r.got[0]) < 0)
		return EACCES;
	kal_fd_move(fd, &r.got[0]);
	*dial->connecting = true;
	return 0;
}

static int
remote_dial(struct kal_fd *fd, const struct kal_dial *dial)
{
	struct kald_addr peer;
	bool allowed, there;
	int error = EACCES;

	kal_remote_addr_of(dial->peer, &peer);
	pthread_mutex_lock(&lock);
	allowed = may_dial(&peer);
	there = r.rules.dials != 0 && peer.port != 0;
	pthread_mutex_unlock(&lock);
	if (!allowed || !there)
		return allowed ? kal_sock_own.dial(fd, dial) : EACCES;
	asker_enter();
	error = dial_there(fd, dial, &peer);
	asker_leave();
	return error;
}

static const struct kal_sock_source source = {
	.listen = remote_listen,
	.listen_over = remote_listen_over,
	.dial = remote_dial,
};

/* --- addresses that are shared ----------------------------------------------------------------------------- */

/* The status of an answer, or of a call without an answer. */
static enum ri_status
share_status(bool answered)
{
	if (!answered)
		return r.required || r.state == REMOTE_REFUSED ? RI_ERR_PERMISSION
							       : RI_ERR_UNSUPPORTED;
	switch (r.reply.head.status) {
	case KALD_OK:
		return RI_SUCCESS;
	case KALD_NOT_KNOWN: /* a daemon of before */
		return RI_ERR_UNSUPPORTED;
	case KALD_FORBIDDEN:
		return RI_ERR_PERMISSION;
	default:
		return r.reply.body.refusal.error == EADDRINUSE ? RI_ERR_IN_USE : RI_ERR_RESOURCES;
	}
}

static void
share_forget(const struct kald_addr *at)
{
	kald_message_begin(&r.out, KALD_SHARE_OVER, 0, KALD_OK);
	r.out.body.share.at = *at;
	post_end();
}

/* The slot was given: keep all descriptors, and give the caller its own. */
static enum ri_status
sharing_begin(struct ri_share *share, const struct kald_addr *at)
{
	if (kal_sharing_begin(&r.claims.sharings, share, at, r.reply.body.shared.slot, r.got))
		return RI_SUCCESS;
	share_forget(at);
	return RI_ERR_RESOURCES;
}

static enum ri_status
remote_share(struct ri_share *share)
{
	bool v4 = share->addr.family == RI_ADDR_IPV4;
	struct kald_addr at = {
		.family = v4 ? AF_INET : AF_INET6, .port = share->port, .scope = share->scope};
	int proof = ri_fd_socket(AF_INET, SOCK_DGRAM, 0);
	enum ri_status status;
	bool answered;

	if (proof < 0)
		return RI_ERR_RESOURCES;
	memcpy(at.octets, share->addr.octets, v4 ? 4 : 16);
	asker_enter();
	kald_message_begin(&r.request, KALD_SHARE, 0, KALD_OK);
	r.request.body.share.at = at;
	r.proof = proof;
	answered = ask();
	r.proof = 0;
	status = share_status(answered);
	if (!answered)
		take_back(KALD_SHARE_OVER);
	if (status == RI_SUCCESS)
		status = sharing_begin(share, &at);
	asker_leave();
	ri_close(proof);
	return status;
}

static void
remote_share_over(struct ri_share *share)
{
	struct kal_sharing **link;

	pthread_mutex_lock(&lock);
	link = kal_sharing_find(&r.claims.sharings, share);
	if (*link != NULL) {
		share_forget(&(*link)->at);
		kal_sharing_free(link);
	}
	pthread_mutex_unlock(&lock);
}

/* kald may be away, or take no message now: then the message is sent later. */
static void
service_over(struct ri_share *share, uint32_t number)
{
	struct kal_sharing *one = *kal_sharing_find(&r.claims.sharings, share);

	if (one == NULL)
		return;
	kal_sharing_service_over(one, number);
	if (r.state == REMOTE_JOINED)
		(void)post_claims();
}

static enum ri_status
service_begin(struct ri_share *share, uint32_t number)
{
	enum ri_status status = RI_ERR_RESOURCES;
	const struct kal_sharing *one;
	bool answered;

	asker_enter();
	one = *kal_sharing_find(&r.claims.sharings, share);
	if (one != NULL) {
		kald_message_begin(&r.request, KALD_SERVICE, 0, KALD_OK);
		r.request.body.service.at = one->at;
		r.request.body.service.service = number;
		answered = ask();
		status = share_status(answered);
		/* What kald grants late, or granted before it ended, is over at once. */
		if (!answered)
			service_over(share, number);
	}
	asker_leave();
	return status == RI_ERR_UNSUPPORTED ? RI_ERR_RESOURCES : status;
}

static enum ri_status
remote_service(struct ri_share *share, uint32_t number, bool over)
{
	if (!over)
		return service_begin(share, number);
	pthread_mutex_lock(&lock);
	service_over(share, number);
	pthread_mutex_unlock(&lock);
	return RI_SUCCESS;
}

static const struct kal_share_source share_source = {
	.share = remote_share,
	.share_over = remote_share_over,
	.service = remote_service,
};

/* --- clients of the kAL ---------------------------------------------------------------------------------------- */

/* The child has no connection; kal_fds.c has closed its copy. */
static void
remote_forked(void)
{
	pthread_mutex_init(&asking, NULL);
	pthread_mutex_init(&lock, NULL);
	memset(&r, 0, sizeof(r));
	kal_sock_source_set(NULL);
	kal_share_source_set(NULL);
}

static void
watch_forks(void)
{
	kal_fds_watch_forks(); /* first: it goes through a list that r.fd is in */
	(void)pthread_atfork(NULL, NULL, remote_forked);
}

/* What the administrator and the environment want. False: no daemon. */
static bool
daemon_wanted(const struct kal_config *config)
{
	const char *said = kal_setting_text(KAL_SETTING_KALD);
	bool require = said != NULL && strcmp(said, "require") == 0;
	bool is_auto = said != NULL && strcmp(said, "auto") == 0;
	bool off = said == NULL || strcmp(said, "off") == 0;

	memset(&r.place, 0, sizeof(r.place));
	r.required = config->kald == KAL_KALD_REQUIRE ||
		     (config->kald != KAL_KALD_OFF && !off && !is_auto);
	if (config->kald == KAL_KALD_REQUIRE || config->kald == KAL_KALD_AUTO) {
		r.place.system_only = true;
		return true;
	}
	if (config->kald == KAL_KALD_OFF || off)
		return false;
	r.place.path = require || is_auto ? NULL : said;
	return true;
}

/* Everything as without a daemon. */
static void
detach(void)
{
	RI_ASSERT_OWNED(&lock);
	r.host->timer_stop(r.host->self, &r.again);
	lose(REMOTE_NONE);
	r.state = REMOTE_NONE;
	r.stopped = false;
	kal_remote_close_all(r.got);
	kal_sock_source_set(NULL);
	kal_share_source_set(NULL);
	kal_lease_begin(NULL, NULL);
	kal_claims_free(&r.claims);
}

/* The first client: find a daemon. */
static enum ri_status
attach(void)
{
	uint64_t deadline = now() + (r.required ? PATIENCE : PATIENCE_AUTO);
	bool refused;

	r.again.fire = remote_again;
	r.state = REMOTE_AWAY;
	r.attempts = 0;
	kal_lease_begin(&lender, NULL);
	kal_sock_source_set(&source);
	kal_share_source_set(&share_source);
	try_connect();
	/* Where none has to be, nobody waits for one that is not there. */
	if ((r.state != REMOTE_AWAY || r.required) && be_joined(deadline))
		return RI_SUCCESS;
	refused = r.state == REMOTE_REFUSED;
	if (!refused && r.required)
		say_silent(RI_LOG_ERROR, "; it is required, so no adapter can be opened");
	else if (!refused && r.state == REMOTE_GREETING)
		say_silent(RI_LOG_WARNING, "; the process goes on without it");
	detach();
	if (refused)
		return RI_ERR_PERMISSION;
	return r.required ? RI_ERR_RESOURCES : RI_SUCCESS;
}

enum ri_status
kal_remote_join(struct kal_config *config)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	enum ri_status status = RI_SUCCESS;

	pthread_once(&once, watch_forks);
	asker_enter();
	/* kald counts what is on the machine; a simulated thread, and with it its process, is not. */
	if (kal_host_own() == NULL) {
		r.host = kal_host_here();
		if (r.host == NULL)
			status = RI_ERR_RESOURCES;
		else if (r.clients == 0 && daemon_wanted(config))
			status = attach();
	}
	if (status == RI_SUCCESS)
		r.clients++;
	if (status == RI_SUCCESS && r.state != REMOTE_NONE) {
		config->crc = config->crc || r.rules.crc == 1;
		config->privileged = config->privileged || r.rules.privileged == 1;
	}
	asker_leave();
	return status;
}

void
kal_remote_leave(void)
{
	bool last;

	/* A forked child has none of its parent's. */
	pthread_mutex_lock(&lock);
	last = r.clients <= 1;
	if (!last)
		r.clients--;
	pthread_mutex_unlock(&lock);
	if (!last)
		return;
	asker_enter();
	if (r.clients > 0 && --r.clients == 0 && r.state != REMOTE_NONE)
		detach();
	asker_leave();
}

enum ri_status
kal_remote_open(const char *adapter)
{
	enum ri_status status = RI_SUCCESS;
	bool answered;

	asker_enter();
	if (r.state != REMOTE_NONE) {
		kald_message_begin(&r.request, KALD_OPEN, 0, KALD_OK);
		(void)snprintf(r.request.body.name.name, KALD_NAME, "%s", adapter);
		answered = ask();
		if (answered ? r.reply.head.status != KALD_OK
			     : r.required || r.state == REMOTE_REFUSED)
			status = RI_ERR_PERMISSION;
		else
			kal_claims_name(&r.claims, adapter, true);
		if (!answered && status != RI_SUCCESS)
			take_back(KALD_CLOSE);
	}
	asker_leave();
	return status;
}

void
kal_remote_close(const char *adapter)
{
	pthread_mutex_lock(&lock);
	if (r.state != REMOTE_NONE) {
		kal_claims_name(&r.claims, adapter, false);
		kald_message_begin(&r.out, KALD_CLOSE, 0, KALD_OK);
		(void)snprintf(r.out.body.name.name, KALD_NAME, "%s", adapter);
		post_end();
	}
	pthread_mutex_unlock(&lock);
}
