/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Requests of clients and tools. The parser has refused impossible values; here the rules of the policy decide, and a refusal names
 * the rule. A request that only another kind of sender may make ends the session.
 */
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "kald_net.h"
#include "kald_server.h"
#include "ri_fd.h"
#include "ri_setting.h"

#define ADAPTERS_MAX 1024 /* of one session; what a process opens beyond it is not shown */
#define PORTS_MAX    4096

typedef bool handler(struct kald_session *session, const struct kald_message *request);

void
kald_refuse(struct kald_session *session, const struct kald_head *to, enum kald_status status,
	    const struct kald_refusal *why)
{
	struct kald_message reply;

	kald_message_begin(&reply, to->number | KALD_REPLY, to->id, status);
	reply.body.refusal = *why;
	kald_session_send(session, &reply, -1);
	kald_log("refused pid %u, user %u: %s", session->pid, session->uid, why->text);
	kald_tell(session->server, session, KALD_REFUSED, why->text);
}

static void
answer(struct kald_session *session, const struct kald_head *to, int fd)
{
	struct kald_message reply;

	kald_message_begin(&reply, to->number | KALD_REPLY, to->id, KALD_OK);
	kald_session_send(session, &reply, fd);
}

/* A rule forbids `what`. */
static void
forbid(struct kald_session *session, const struct kald_head *to, enum kald_key key,
       const char *what)
{
	struct kald_refusal why = {0};
	char rule[KALD_TEXT];

	kald_policy_rule(session->server->policy, key, kald_session_who(session), rule,
			 sizeof(rule));
	(void)snprintf(why.text, sizeof(why.text), "%.150s; it has no %.56s", rule, what);
	kald_refuse(session, to, KALD_FORBIDDEN, &why);
}

bool
kald_refuse_stopped(struct kald_session *session, const struct kald_head *to)
{
	static const struct kald_refusal why = {.text = "the process was stopped by kalctl"};

	if (session->stopped)
		kald_refuse(session, to, KALD_FORBIDDEN, &why);
	return session->stopped;
}

/* --- the beginning --------------------------------------------------------------------------------------- */

void
kald_welcome_send(struct kald_session *session, uint32_t id)
{
	const struct kald_policy *policy = session->server->policy;
	struct kald_who who = kald_session_who(session);
	struct kald_message reply;
	struct kald_welcome *welcome = &reply.body.welcome;

	kald_message_begin(&reply, KALD_HELLO | KALD_REPLY, id, KALD_OK);
	welcome->version = KALD_VERSION;
	welcome->instance = session->server->instance;
	welcome->privileged = kald_policy_flag(policy, KALD_KEY_PRIVILEGED, who);
	welcome->crc = kald_policy_flag(policy, KALD_KEY_CRC, who);
	welcome->dials = kald_policy_flag(policy, KALD_KEY_DIAL, who);
	welcome->any_peer = !kald_policy_nets(policy, who, welcome->nets, &welcome->num_nets);
	kald_policy_rule(policy, KALD_KEY_PEERS, who, welcome->peers_rule,
			 sizeof(welcome->peers_rule));
	for (unsigned resource = 0; resource < KAL_RESOURCE_COUNT; resource++)
		welcome->lent[resource] = session->borrower.leases[resource].amount;
	kald_session_send(session, &reply, -1);
}

/* May one more process of the user join? If not, it is refused. */
static bool
has_place(struct kald_session *session, const struct kald_head *to)
{
	const struct kald_account *user =
		kald_ledger_find(session->server->ledger, KALD_LEVEL_USER, session->uid);
	struct kald_who who = kald_session_who(session);
	unsigned members = user != NULL ? user->members : 0;
	struct kald_refusal why = {0};
	char rule[KALD_TEXT];

	if (members < kald_policy_processes(session->server->policy, who))
		return true;
	kald_policy_rule(session->server->policy, KALD_KEY_PROCESSES, who, rule, sizeof(rule));
	(void)snprintf(why.text, sizeof(why.text), "%.160s; user %u has %u", rule, who.uid,
		       members);
	kald_refuse(session, to, KALD_NO_ROOM, &why);
	return false;
}

static bool
hello(struct kald_session *session, const struct kald_message *request)
{
	const struct kald_hello *said = &request->body.hello;
	const uint32_t ids[KALD_LEVEL_COUNT] = {session->pid, session->uid, session->gid};
	struct kald_refusal why = {0};

	if (session->kind != 0)
		return false;
	if (said->version_min > KALD_VERSION || said->version_max < 1) {
		(void)snprintf(why.text, sizeof(why.text), "kald speaks version %d, not %u to %u",
			       KALD_VERSION, said->version_min, said->version_max);
		kald_refuse(session, &request->head, KALD_VERSION_NO, &why);
		return true;
	}
	if (said->kind == KALD_CLIENT && !has_place(session, &request->head))
		return true;
	session->kind = (enum kald_kind)said->kind;
	if (session->kind == KALD_CLIENT) {
		kald_ledger_join(session->server->ledger, &session->borrower, ids);
		for (unsigned resource = 0; resource < KAL_RESOURCE_COUNT; resource++) {
			session->used[resource] = said->lent[resource];
			(void)kald_ledger_claim(&session->borrower, resource, said->lent[resource]);
		}
		kald_tell(session->server, session, KALD_JOINED, "");
	}
	kald_welcome_send(session, request->head.id);
	return true;
}

/* --- of clients ------------------------------------------------------------------------------------------- */

static bool
borrow(struct kald_session *session, const struct kald_message *request)
{
	if (request->body.amount.amount == 0)
		return false;
	if (!kald_refuse_stopped(session, &request->head))
		kald_borrow(session, request);
	return true;
}

static bool
give_back(struct kald_session *session, const struct kald_message *request)
{
	const struct kald_amount *said = &request->body.amount;

	if (!kald_ledger_return(&session->borrower, said->resource, said->amount))
		return false;
	kald_borrow_again(session->server);
	return true;
}

static bool
open_adapter(struct kald_session *session, const struct kald_message *request)
{
	const char *name = request->body.name.name;
	char what[KALD_NAME + 16];

	if (kald_refuse_stopped(session, &request->head))
		return true;
	if (!kald_policy_adapter(session->server->policy, kald_session_who(session), name)) {
		(void)snprintf(what, sizeof(what), "adapter %s", name);
		forbid(session, &request->head, KALD_KEY_ADAPTERS, what);
		return true;
	}
	if (session->adapters->len < ADAPTERS_MAX)
		g_ptr_array_add(session->adapters, g_strdup(name));
	answer(session, &request->head, -1);
	return true;
}

static bool
close_adapter(struct kald_session *session, const struct kald_message *request)
{
	guint index;

	if (g_ptr_array_find_with_equal_func(session->adapters, request->body.name.name,
					     g_str_equal, &index))
		g_ptr_array_remove_index(session->adapters, index);
	return true;
}

socklen_t
kald_sockaddr_of(const struct kald_addr *addr, struct sockaddr_storage *sa)
{
	struct sockaddr_in *in = (struct sockaddr_in *)sa;
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)sa;

	memset(sa, 0, sizeof(*sa));
	sa->ss_family = addr->family;
	if (addr->family == AF_INET) {
		in->sin_port = htons(addr->port);
		memcpy(&in->sin_addr, addr->octets, sizeof(in->sin_addr));
		return sizeof(*in);
	}
	in6->sin6_port = htons(addr->port);
	in6->sin6_scope_id = addr->scope;
	memcpy(&in6->sin6_addr, addr->octets, sizeof(in6->sin6_addr));
	return sizeof(*in6);
}

/* A socket for a client; -1, with errno set. kald keeps no copy of it. */
static int
socket_new(int family)
{
	int fd = ri_fd_socket(family, SOCK_STREAM | SOCK_NONBLOCK, 0);
	int one = 1;

	if (fd >= 0 && family == AF_INET6)
		(void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof(one));
	if (fd >= 0)
		(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	return fd;
}

static void
refuse_error(struct kald_session *session, const struct kald_head *to, int fd, const char *what)
{
	struct kald_refusal why = {.error = (uint32_t)errno};

	(void)snprintf(why.text, sizeof(why.text), "%s: %s", what, g_strerror(errno));
	if (fd >= 0)
		close(fd);
	kald_refuse(session, to, KALD_SYSTEM, &why);
}

static bool
start_listening(struct kald_session *session, const struct kald_message *request)
{
	const struct kald_listen *said = &request->body.listen;
	const struct kald_policy *policy = session->server->policy;
	struct kald_who who = kald_session_who(session);
	uint16_t port = said->at.port;
	struct sockaddr_storage sa;
	socklen_t len = kald_sockaddr_of(&said->at, &sa);
	int fd = -1, one = 1;
	char what[32];

	if (kald_refuse_stopped(session, &request->head))
		return true;
	if (!kald_policy_port(policy, KALD_KEY_PORTS, who, port)) {
		(void)snprintf(what, sizeof(what), "port %u", port);
		forbid(session, &request->head, KALD_KEY_PORTS, what);
		return true;
	}
	if (said->have == 0 && kald_policy_port(policy, KALD_KEY_GRANT_PORTS, who, port)) {
		fd = socket_new(said->at.family);
		if (fd >= 0)
			(void)setsockopt(fd, IPPROTO_IP, IP_FREEBIND, &one, sizeof(one));
		if (fd < 0 || bind(fd, (struct sockaddr *)&sa, len) != 0 ||
		    listen(fd, SOMAXCONN) != 0) {
			refuse_error(session, &request->head, fd, "kald cannot listen there");
			return true;
		}
	}
	if (session->ports->len < PORTS_MAX)
		g_array_append_val(session->ports, port);
	answer(session, &request->head, fd);
	return true;
}

static bool
stop_listening(struct kald_session *session, const struct kald_message *request)
{
	for (guint i = 0; i < session->ports->len; i++) {
		if (g_array_index(session->ports, uint16_t, i) != request->body.listen.at.port)
			continue;
		g_array_remove_index_fast(session->ports, i);
		break;
	}
	return true;
}

/* The first port that the host gives to everybody. It is asked each time, as administrators change it. */
static uint64_t
unprivileged_ports(void)
{
	g_autofree char *text = NULL;
	uint64_t first;

	if (g_file_get_contents("/proc/sys/net/ipv4/ip_unprivileged_port_start", &text, NULL,
				NULL) &&
	    ri_setting_digits(g_strstrip(text), 0, UINT16_MAX + 1, &first))
		return first;
	return IPPORT_RESERVED;
}

/*
 * A process that gets a bound socket can end its connection and listen at the port. So a socket at
 * a port that the host reserves for privileged processes gives the client a right that it does not
 * have itself. Such ports are bound only if `grant-ports` contains them, whatever the socket is
 * for.
 */
static bool
may_bind(const struct kald_session *session, const struct kald_addr *local)
{
	return local->family == 0 || local->port == 0 || local->port >= unprivileged_ports() ||
	       kald_policy_port(session->server->policy, KALD_KEY_GRANT_PORTS,
				kald_session_who(session), local->port);
}

/* The connection goes on in the client; kald keeps no copy, since a reset at the death of a client comes with the last copy only. */
static bool
dial(struct kald_session *session, const struct kald_message *request)
{
	const struct kald_dial *said = &request->body.dial;
	const struct kald_policy *policy = session->server->policy;
	struct kald_who who = kald_session_who(session);
	struct sockaddr_storage sa;
	socklen_t len;
	char what[32];
	int fd;

	if (kald_refuse_stopped(session, &request->head))
		return true;
	if (!kald_policy_flag(policy, KALD_KEY_DIAL, who)) {
		forbid(session, &request->head, KALD_KEY_DIAL, "sockets of kald");
		return true;
	}
	if (!kald_policy_peer(policy, who, &said->peer)) {
		forbid(session, &request->head, KALD_KEY_PEERS, "network of that peer");
		return true;
	}
	if (!may_bind(session, &said->local)) {
		(void)snprintf(what, sizeof(what), "port %u", said->local.port);
		forbid(session, &request->head, KALD_KEY_GRANT_PORTS, what);
		return true;
	}
	fd = socket_new(said->peer.family);
	if (fd >= 0 && said->local.family != 0) {
		len = kald_sockaddr_of(&said->local, &sa);
		if (bind(fd, (struct sockaddr *)&sa, len) != 0) {
			refuse_error(session, &request->head, fd, "kald cannot bind there");
			return true;
		}
	}
	len = kald_sockaddr_of(&said->peer, &sa);
	if (fd < 0 || (connect(fd, (struct sockaddr *)&sa, len) != 0 && errno != EINPROGRESS))
		refuse_error(session, &request->head, fd, "kald cannot connect there");
	else
		answer(session, &request->head, fd);
	return true;
}

static bool
description(struct kald_session *session, const struct kald_message *request)
{
	for (unsigned resource = 0; resource < KAL_RESOURCE_COUNT; resource++)
		session->used[resource] = request->body.description.used[resource];
	kald_described(session);
	return true;
}

static bool
share(struct kald_session *session, const struct kald_message *request)
{
	if (!kald_refuse_stopped(session, &request->head))
		kald_share(session, request);
	return true;
}

static bool
share_over(struct kald_session *session, const struct kald_message *request)
{
	kald_share_over(session, &request->body.share);
	return true;
}

static bool
service(struct kald_session *session, const struct kald_message *request)
{
	if (!kald_refuse_stopped(session, &request->head))
		kald_service(session, request);
	return true;
}

static bool
service_over(struct kald_session *session, const struct kald_message *request)
{
	kald_service_over(session, &request->body.service);
	return true;
}

/* --- of tools --------------------------------------------------------------------------------------------- */

static bool
list(struct kald_session *session, const struct kald_message *request)
{
	kald_list(session, request);
	return true;
}

static bool
shares(struct kald_session *session, const struct kald_message *request)
{
	kald_shares(session, request);
	return true;
}

static bool
limits(struct kald_session *session, const struct kald_message *request)
{
	const struct kald_limits *said = &request->body.limits;
	const struct kald_account *account =
		kald_ledger_find(session->server->ledger, (enum kald_level)said->level, said->id);
	struct kald_account idle = {.level = (enum kald_level)said->level, .id = said->id};
	struct kald_message reply;
	bool own = said->level == KALD_LEVEL_USER && said->id == session->uid;

	if (!own && session->uid != 0 && session->uid != session->server->uid) {
		static const struct kald_refusal why = {.text = "a user sees its own account only"};

		kald_refuse(session, &request->head, KALD_FORBIDDEN, &why);
		return true;
	}
	if (account == NULL) {
		kald_policy_limits(session->server->policy, &idle);
		account = &idle;
	}
	kald_message_begin(&reply, KALD_LIMITS | KALD_REPLY, request->head.id, KALD_OK);
	for (unsigned resource = 0; resource < KAL_RESOURCE_COUNT; resource++) {
		reply.body.limited.limits[resource] = account->limits[resource];
		reply.body.limited.lent[resource] = account->lent[resource];
	}
	reply.body.limited.processes = account->members;
	kald_session_send(session, &reply, -1);
	return true;
}

static bool
has_port(const struct kald_session *session, uint32_t port)
{
	for (guint i = 0; i < session->ports->len; i++)
		if (g_array_index(session->ports, uint16_t, i) == port)
			return true;
	return false;
}

static bool
stop(struct kald_session *session, const struct kald_message *request)
{
	const struct kald_stop *said = &request->body.stop;
	static const struct kald_refusal why = {.text = "there is no such process of this user"};
	struct kald_message reply;

	kald_message_begin(&reply, KALD_STOP | KALD_REPLY, request->head.id, KALD_OK);
	for (GList *at = session->server->sessions.head; at != NULL; at = at->next) {
		struct kald_session *other = at->data;

		if (other->kind != KALD_CLIENT || !kald_may_see(session, other) ||
		    (said->serial != 0 && said->serial != other->serial) ||
		    (said->pid != 0 ? said->pid != other->pid : !has_port(other, said->port)))
			continue;
		if (!other->stopped) {
			kald_session_event(other, KALD_STOPPED);
			kald_log("user %u stopped pid %u, user %u", session->uid, other->pid,
				 other->uid);
			kald_tell(session->server, other, KALD_WAS_STOPPED, "");
		}
		other->stopped = true;
		reply.body.stop_reply.count++;
		reply.body.stop_reply.pid = other->pid;
	}
	kald_borrow_again(session->server); /* what they wait for is refused */
	if (reply.body.stop_reply.count == 0)
		kald_refuse(session, &request->head, KALD_ABSENT, &why);
	else
		kald_session_send(session, &reply, -1);
	return true;
}

static bool
watch(struct kald_session *session, const struct kald_message *request)
{
	session->server->watchers += !session->watches;
	session->watches = true;
	answer(session, &request->head, -1);
	return true;
}

/* --- all ---------------------------------------------------------------------------------------------------- */

static const struct {
	handler *run;
	enum kald_kind kind; /* 0: the first message */
} handlers[KALD_REQUESTS_END] = {
	[KALD_HELLO] = {hello, 0},
	[KALD_BORROW] = {borrow, KALD_CLIENT},
	[KALD_RETURN] = {give_back, KALD_CLIENT},
	[KALD_OPEN] = {open_adapter, KALD_CLIENT},
	[KALD_CLOSE] = {close_adapter, KALD_CLIENT},
	[KALD_LISTEN] = {start_listening, KALD_CLIENT},
	[KALD_LISTEN_OVER] = {stop_listening, KALD_CLIENT},
	[KALD_DIAL] = {dial, KALD_CLIENT},
	[KALD_DESCRIPTION] = {description, KALD_CLIENT},
	[KALD_LIST] = {list, KALD_TOOL},
	[KALD_LIMITS] = {limits, KALD_TOOL},
	[KALD_STOP] = {stop, KALD_TOOL},
	[KALD_WATCH] = {watch, KALD_TOOL},
	[KALD_SHARE] = {share, KALD_CLIENT},
	[KALD_SHARE_OVER] = {share_over, KALD_CLIENT},
	[KALD_SERVICE] = {service, KALD_CLIENT},
	[KALD_SERVICE_OVER] = {service_over, KALD_CLIENT},
	[KALD_SHARES] = {shares, KALD_TOOL},
};

bool
kald_request(struct kald_session *session, const struct kald_message *request,
	     enum kald_reading reading)
{
	static const struct kald_refusal unknown = {.text = "this kald knows no such request"};
	uint16_t number = request->head.number;

	/* A request of a later version is refused, and does no harm. */
	if (reading == KALD_UNKNOWN && number < KALD_EVENTS && session->kind != 0) {
		kald_refuse(session, &request->head, KALD_NOT_KNOWN, &unknown);
		return true;
	}
	if (reading != KALD_READ || number >= KALD_REQUESTS_END || handlers[number].run == NULL ||
	    session->kind != handlers[number].kind)
		return false;
	return handlers[number].run(session, request);
}
