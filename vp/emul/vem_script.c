/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The language of faults, and the two ways to give commands.
 *
 * ITAPI_EMUL_FAULTS has commands, separated by semicolons, that each adapter runs when it is opened; an invalid one is
 * refused with a warning in the log. ITAPI_EMUL_CONTROL names a local socket (SOCK_SEQPACKET) on which a tester
 * listens. Each adapter connects to it when it is opened and sends its name. From then on it runs the commands that it
 * receives, one in each packet, and answers each with "ok" or with an error text. So the application under test needs
 * no change and no tester in its process. A program that has more rights than its user (set-user-ID and the like) reads
 * neither variable.
 *
 *     call VERB N STATUS    the Nth call of that control verb from now on returns STATUS, once
 *     fail adapter          the adapter fails beyond repair
 *     fail qp N [HOW]       a queue pair's stream breaks; HOW as in the table below, "inside" by default
 *     fail cq N             a completion queue fails
 *     full cq N             a completion queue overflows, by an unknown queue pair
 *     fail srq N            a shared receive queue fails
 *     port down, port up    the spigot goes down, or up
 *     name NAME             what this adapter is called in the next command, which others are given
 *     path NAME HOW         what lies between this adapter and the one of that name: open, hold (messages wait), cut (they are
 *                           lost), delay MIN MAX (us; they take that much longer), drop PERCENT (of datagrams)
 *     path PID HOW          the same for what comes from a process to this one, on adapters shm: (vem_link_path.c); or path all HOW
 *     tell messages         send the tester "message N KIND P of L" when P octets of the Nth message of the adapter are placed
 *     help                  lists the commands and their words, in the log or as the answer
 *
 * N counts the adapter's objects from 1, the oldest that exists; "last" is the newest.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "ri_command.h"
#include "ri_fd.h"
#include "ri_log.h"
#include "vem_fault.h"
#include "vem_path.h"
#include "vem_setting.h"
#include "vsw_setting.h"

/* Terminate codes: layer and type, code (RFC 5040 4.8, RFC 5041 7, RFC 5044 8). */
static const struct vem_break breaks[] = {
	{"inside", RI_EVENT_QP_CATASTROPHIC, 0x0207, true},
	{"opcode", RI_EVENT_QP_OPCODE, 0x0206, true},
	{"access", RI_EVENT_QP_ACCESS, 0x0102, true},
	{"bounds", RI_EVENT_QP_BOUNDS, 0x1101, true},
	{"version", RI_EVENT_QP_DDP_VERSION, 0x1206, false},
	{"queue", RI_EVENT_QP_QN, 0x1201, false},
	{"gap", RI_EVENT_QP_RQ_MSN_GAP, 0x1203, false},
	{"crc", RI_EVENT_QP_LLP_CRC, 0x2002, false},
	{"reset", RI_EVENT_QP_LLP_RESET, 0, false},
	{"lost", RI_EVENT_QP_LLP_LOST, 0, false},
	{"gone", RI_EVENT_NONE, 0, true},
};

static const char *const calls[VEM_CALL_COUNT] = {
	[VEM_CALL_QUERY_PORT] = "query_port",
	[VEM_CALL_ROUTE] = "route",
	[VEM_CALL_PD_CREATE] = "pd_create",
	[VEM_CALL_CQ_CREATE] = "cq_create",
	[VEM_CALL_CQ_RESIZE] = "cq_resize",
	[VEM_CALL_SRQ_CREATE] = "srq_create",
	[VEM_CALL_SRQ_MODIFY] = "srq_modify",
	[VEM_CALL_SRQ_QUERY] = "srq_query",
	[VEM_CALL_QP_CREATE] = "qp_create",
	[VEM_CALL_QP_MODIFY] = "qp_modify",
	[VEM_CALL_QP_QUERY] = "qp_query",
	[VEM_CALL_QP_RESIZE] = "qp_resize",
	[VEM_CALL_MR_REG] = "mr_reg",
	[VEM_CALL_MR_REREG] = "mr_rereg",
	[VEM_CALL_MR_QUERY] = "mr_query",
	[VEM_CALL_MW_ALLOC] = "mw_alloc",
	[VEM_CALL_MW_QUERY] = "mw_query",
	[VEM_CALL_AH_CREATE] = "ah_create",
	[VEM_CALL_AH_MODIFY] = "ah_modify",
	[VEM_CALL_LISTEN] = "listen",
	[VEM_CALL_CONNECT] = "connect",
	[VEM_CALL_ACCEPT] = "accept",
	[VEM_CALL_CONFIRM] = "confirm",
	[VEM_CALL_DISCONNECT] = "disconnect",
	[VEM_CALL_RESOLVE] = "resolve",
	[VEM_CALL_PEER_RECEIVE] = "peer_receive",
	[VEM_CALL_PEER_SEND] = "peer_send",
	[VEM_CALL_MCAST_ATTACH] = "mcast_attach",
	[VEM_CALL_MCAST_DETACH] = "mcast_detach",
};

/* --- commands ----------------------------------------------------------------------------- */

static const char *const commands[] = {"call", "fail", "full",  "port", "name",
				       "path", "tell", "check", "help"};

#define COMMANDS (sizeof(commands) / sizeof(commands[0]))
#define BREAKS   (sizeof(breaks) / sizeof(breaks[0]))

/* The lists of words, for "help". */
#define HELP_LINES 7
#define HELP_LINE  512

/* A command that was read. */
struct order {
	enum {
		ORDER_CHECK,
		ORDER_HELP,
		ORDER_CALL,
		ORDER_ADAPTER,
		ORDER_QP,
		ORDER_CQ,
		ORDER_SRQ,
		ORDER_PORT,
		ORDER_PATH
	} kind;
	struct ri_command_call call; /* its verb is an enum vem_call */
	uint32_t number;             /* of the object; 0: the newest */
	uint32_t event;              /* of the completion queue */
	const struct vem_break *how; /* of the queue pair */
	bool up;                     /* the port */
	struct vem_path_order path;
};

/* The functions that read a command return NULL, or what is wrong with it. */
static const char *
read_call(struct ri_command *command, struct order *order)
{
	order->kind = ORDER_CALL;
	if (command->count > 4)
		return "wanted: call VERB N STATUS";
	return ri_command_read_call(command, calls, VEM_CALL_COUNT, &order->call);
}

static const char *
read_port(const struct ri_command *command, struct order *order)
{
	if (command->count != 2 ||
	    (!ri_command_is(command, 1, "up") && !ri_command_is(command, 1, "down")))
		return "wanted: port up, or port down";
	order->kind = ORDER_PORT;
	order->up = ri_command_is(command, 1, "up");
	return NULL;
}

static const char *
read_break(struct ri_command *command, struct order *order)
{
	const char *how = command->count > 3 ? command->word[3] : breaks[0].name;
	const char *names[BREAKS];

	order->kind = ORDER_QP;
	for (size_t i = 0; i < BREAKS; i++) {
		names[i] = breaks[i].name;
		if (strcmp(breaks[i].name, how) == 0)
			order->how = &breaks[i];
	}
	return order->how != NULL ? NULL : ri_command_unknown(command, 3, "fault", names, BREAKS);
}

/* The commands fail and full. */
static const char *
read_fail(struct ri_command *command, struct order *order)
{
	bool full = ri_command_is(command, 0, "full");
	bool qp = !full && ri_command_is(command, 1, "qp");

	if (!full && ri_command_is(command, 1, "adapter") && command->count == 2) {
		order->kind = ORDER_ADAPTER;
		return NULL;
	}
	if (!qp && !ri_command_is(command, 1, "cq") && (full || !ri_command_is(command, 1, "srq")))
		return full ? "wanted: full cq N" : "wanted: fail adapter, or fail qp, cq or srq N";
	if (command->count < 3 || !ri_command_number(command->word[2], &order->number))
		return "which one? N is a number from 1 on, or last";
	if (command->count > (qp ? 4 : 3))
		return "too many words";
	if (qp)
		return read_break(command, order);
	order->kind = ri_command_is(command, 1, "cq") ? ORDER_CQ : ORDER_SRQ;
	order->event = full ? RI_EVENT_CQ_OVERFLOW : RI_EVENT_CQ_OP_ERROR;
	return NULL;
}

static const char *
read_order(const char *text, size_t len, struct ri_command *command, struct order *order)
{
	memset(order, 0, sizeof(*order));
	if (memchr(text, '\0', len) != NULL)
		return "no text";
	if (!ri_command_split(command, text, len))
		return "too long";
	if (ri_command_is(command, 0, "call"))
		return read_call(command, order);
	if (ri_command_is(command, 0, "port"))
		return read_port(command, order);
	if (ri_command_is(command, 0, "fail") || ri_command_is(command, 0, "full"))
		return read_fail(command, order);
	if (ri_command_is(command, 0, "name") || ri_command_is(command, 0, "path") ||
	    ri_command_is(command, 0, "tell")) {
		order->kind = ORDER_PATH;
		return vem_path_read(command, &order->path);
	}
	if (ri_command_is(command, 0, "help")) {
		order->kind = ORDER_HELP;
		return command->count == 1 ? NULL : "too many words";
	}
	return ri_command_unknown(command, 0, "command", commands, COMMANDS);
}

/* "check COMMAND" reads a command without running it. */
static const char *
read_check(const char *text, size_t len, struct ri_command *command, struct order *order)
{
	static const char word[] = "check ";
	const size_t skipped = sizeof(word) - 1;

	if (len <= skipped || strncmp(text, word, skipped) != 0)
		return read_order(text, len, command, order);

	const char *why = read_order(text + skipped, len - skipped, command, order);

	order->kind = ORDER_CHECK;
	return why;
}

/* A line of "help". */
static void
help_line(char line[HELP_LINE], unsigned at)
{
	const char *names[BREAKS];

	switch (at) {
	case 0:
		snprintf(line, HELP_LINE,
			 "call VERB N STATUS: the Nth call of VERB from now on fails with STATUS, "
			 "once");
		break;
	case 1:
		ri_command_list(line, HELP_LINE, "VERB", calls, VEM_CALL_COUNT);
		break;
	case 2:
		ri_command_list(line, HELP_LINE, "STATUS", ri_command_statuses,
				RI_COMMAND_STATUSES);
		break;
	case 3:
		snprintf(line, HELP_LINE,
			 "fail adapter, fail qp N [HOW], fail cq N, fail srq N: it "
			 "fails; N counts from 1, the oldest; or last");
		break;
	case 4:
		for (size_t i = 0; i < BREAKS; i++)
			names[i] = breaks[i].name;
		ri_command_list(line, HELP_LINE, "HOW", names, BREAKS);
		break;
	case 5:
		snprintf(line, HELP_LINE,
			 "full cq N: the completion queue overflows; check COMMAND: is that a "
			 "command? "
			 "It is not run");
		break;
	default:
		snprintf(line, HELP_LINE,
			 "port down, port up: the spigot goes down, or up; name NAME, path NAME "
			 "HOW, path PID HOW, path all HOW, tell messages: what lies between "
			 "adapters");
		break;
	}
}

/* Run a command that was read; returns the answer. */
static const char *
order_run(struct ri_rnic *rnic, const struct order *order)
{
	const char *why;
	bool done = true;

	switch (order->kind) {
	case ORDER_CHECK:
	case ORDER_HELP:
		break; /* the caller, which read the command, has the lines */
	case ORDER_CALL:
		vem_fault_call(rnic, (enum vem_call)order->call.verb, order->call.number,
			       order->call.status);
		break;
	case ORDER_ADAPTER:
		vem_fault_adapter(rnic);
		break;
	case ORDER_PORT:
		vem_fault_port(rnic, order->up);
		break;
	case ORDER_PATH:
		why = vem_path_do(rnic, &order->path);
		return why != NULL ? why : "ok";
	case ORDER_QP:
		if (rnic->fabric->personality == VEM_IB && !order->how->infiniband)
			return "this fault is one of iWARP";
		return vem_fault_qp(rnic, order->number, order->how)
			       ? "ok"
			       : "there is no such queue pair, or it has no connection";
	case ORDER_CQ:
		done = vem_fault_cq(rnic, order->number, order->event);
		break;
	case ORDER_SRQ:
	default:
		done = vem_fault_srq(rnic, order->number);
		break;
	}
	return done ? "ok" : "there is no such object now";
}

/* --- commands in the environment ---------------------------------------------------------- */

/* A line about the commands of this adapter. */
static void
say(const struct ri_rnic *rnic, const char *text)
{
	const struct ri_log_about about = {.layer = "emul",
					   .adapter = vem_adapter_name(rnic->fabric)};

	ri_log(rnic->host, RI_LOG_WARNING, &about, "%s", text);
}

/* Log that a command was refused; characters that could harm a terminal are replaced. */
static void
refusal_log(const struct ri_rnic *rnic, const char *about, size_t len, const char *what)
{
	char text[RI_COMMAND_LINE + RI_COMMAND_WHY];

	(void)snprintf(text, sizeof(text), "refused: '%.*s': %s", len < 80 ? (int)len : 80, about,
		       what);
	for (char *c = text; *c != '\0'; c++)
		if (*c < ' ' || *c > '~')
			*c = '?';
	say(rnic, text);
}

static void
help_log(const struct ri_rnic *rnic)
{
	char line[HELP_LINE];

	for (unsigned i = 0; i < HELP_LINES; i++) {
		help_line(line, i);
		say(rnic, line);
	}
}

/* A command that is wrong, or that names an object that does not exist, is refused; the others are run. */
static void
environment_run(struct ri_rnic *rnic)
{
	const char *rest = vsw_setting_text(&vem_settings[VEM_SETTING_FAULTS]);
	const char *text = NULL;
	size_t len = 0;

	while (rest != NULL && (text = ri_command_next(&rest, &len)) != NULL) {
		struct ri_command command;
		struct order order;
		const char *answer = read_order(text, len, &command, &order);

		if (answer == NULL)
			answer = order_run(rnic, &order);
		if (strcmp(answer, "ok") != 0)
			refusal_log(rnic, text, len, answer);
		else if (order.kind == ORDER_HELP)
			help_log(rnic);
	}
}

/* --- commands of a tester ----------------------------------------------------------------- */

/* On the service thread: a command has arrived, or the tester has closed the socket. */
static void
control_readable(void *arg, uint32_t events)
{
	struct ri_rnic *rnic = arg;
	char text[RI_COMMAND_LINE];
	ssize_t len = recv(rnic->faults.control.fd, text, sizeof(text), MSG_DONTWAIT);

	(void)events;
	if (len > 0) {
		struct ri_command command;
		struct order order;
		char help[HELP_LINES * HELP_LINE];
		const char *answer = read_check(text, (size_t)len, &command, &order);

		if (answer == NULL)
			answer = order_run(rnic, &order);
		if (order.kind == ORDER_HELP && strcmp(answer, "ok") == 0) {
			char line[HELP_LINE];
			size_t at = 0;

			for (unsigned i = 0; i < HELP_LINES; i++) {
				help_line(line, i);
				at += (size_t)snprintf(help + at, sizeof(help) - at, "%s\n", line);
			}
			answer = help;
		}
		(void)!send(rnic->faults.control.fd, answer, strlen(answer),
			    MSG_NOSIGNAL | MSG_DONTWAIT);
	} else if (len == 0 || (errno != EAGAIN && errno != EINTR)) {
		/* vem_script_stop closes the descriptor. */
		rnic->host->watch_stop(rnic->host->self, &rnic->faults.control);
	}
}

/* A socket that is connected to the tester, -1: none. */
static int
control_connect(const char *path)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};

	if (strlen(path) >= sizeof(to.sun_path))
		return -1; /* cut short, it could name another socket */

	int fd = ri_fd_socket(AF_UNIX, SOCK_SEQPACKET, 0);

	if (fd < 0)
		return -1;
	snprintf(to.sun_path, sizeof(to.sun_path), "%s", path);
	if (connect(fd, (const struct sockaddr *)&to, sizeof(to)) == 0)
		return fd;
	close(fd);
	return -1;
}

void
vem_script_start(struct ri_rnic *rnic)
{
	struct ri_watch *control = &rnic->faults.control;
	const char *path = vsw_setting_text(&vem_settings[VEM_SETTING_CONTROL]);
	const char *name = vem_adapter_name(rnic->fabric);

	environment_run(rnic);
	if (path == NULL)
		return;
	control->fd = control_connect(path);
	if (control->fd < 0) {
		refusal_log(rnic, path, strlen(path), "nobody listens there");
		return;
	}
	control->fire = control_readable;
	control->arg = rnic;
	control->events = RI_WATCH_IN;
	(void)!send(control->fd, name, strlen(name), MSG_NOSIGNAL | MSG_DONTWAIT);
	if (rnic->host->watch_start(rnic->host->self, control) != RI_SUCCESS) {
		refusal_log(rnic, path, strlen(path), "cannot be watched");
		close(control->fd);
		control->fd = -1;
	}
}

void
vem_script_stop(struct ri_rnic *rnic)
{
	struct ri_watch *control = &rnic->faults.control;

	if (control->fd < 0)
		return;
	rnic->host->watch_stop(rnic->host->self, control);
	close(control->fd);
	control->fd = -1;
}
