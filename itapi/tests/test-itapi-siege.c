/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * A service under attack by thousands of bad peers (it_siege.h) must go on serving clients, with bounded memory and
 * descriptors. Afterwards it must be as before and idle. ITAPI_TEST_RUNS is the number of phases of the attack.
 *
 * The service is this process: a listener, and a fixed number of endpoints, each of which echoes one message. When no
 * endpoint is free, the one that has been in use for longest is taken. The clients are one process, so that only the
 * service is measured here. Rates and times are printed, not judged: the test only requires that each client is served.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "it_pair.h"
#include "it_siege.h"

#define SEATS   128u                     /* more endpoints than talking peers */
#define MESSAGE 8u                       /* bytes; each seat has its own */
#define LEAST   3u                       /* visits of the client in a phase */
#define TIME_US (3 * G_USEC_PER_SEC / 2) /* of a phase; a visit that is under way comes on top */
#define STARTS  128u                     /* start-ups of a listener, at most [WIRE 8.17] */
#define PARTED  64u         /* refused peers that have not hung up, at most [WIRE 8.17] */
#define BACKLOG 256u        /* requests that wait for an answer, at most: the size of the EVD */
#define GROWTH  (32u << 20) /* bytes; much less than one for each peer would cost */
#define IDLE_US 50
#define SETTLED 16 /* descriptors more than before, at most, when the attack is over */
#define PHASES  2  /* of the attack */
#define REST_US (200 * 1000)

/* --- the client's process ----------------------------------------------------------------------- */

struct visits {
	uint32_t served, tries, mean_us, worst_us;
};

static pid_t client;
static int client_link;

static it_path_t
path_to_service(struct end *end)
{
	size_t paths = 1, total = 0;
	it_path_t path;

	pair_ok(it_get_pathinfo(end->ia, 0, end->info->spigot_info[0].net_addr, &paths, &total,
				&path));
	g_assert_cmpuint(paths, ==, 1);
	return path;
}

/* One try: connect, send, hear the same, disconnect. False: refused or broken on the way. */
static bool
visit(struct end *end, uint16_t port, unsigned number)
{
	it_path_t path = path_to_service(end);
	it_conn_qual_t qual = {.type = IT_IANA_LR_PORT};
	unsigned char *there = end->buffer, *back = end->buffer + END_BUFFER / 2;
	it_event_t event;

	qual.conn_qual.lr_port.remote = port;
	end_new_ep(end);
	memset(there, (int)number + 1, MESSAGE);
	memset(back, 0, MESSAGE);
	pair_ok(end_recv(end, MESSAGE, 1));
	pair_ok(it_ep_connect(end->ep, &path, NULL, &qual, IT_CONNECT_FLAG_TWO_WAY, NULL, 0));
	event = end_next(end->cm_msg);
	if (event.event_number != IT_CM_MSG_CONN_ESTABLISHED_EVENT)
		return false;
	pair_ok(end_send(end, MESSAGE, 2, 0));
	event = end_next(end->recv);
	if (event.dto_cmpl.dto_status != IT_DTO_SUCCESS)
		return false;
	g_assert_cmpmem(there, MESSAGE, back, MESSAGE);
	return true;
}

static void
drain(it_evd_handle_t evd)
{
	it_event_t event;

	while (it_evd_dequeue(evd, &event) == IT_SUCCESS)
		;
}

static struct visits
visit_all(struct end *end, uint16_t port)
{
	struct visits visits = {0};
	gint64 first = g_get_monotonic_time();
	uint64_t sum = 0;

	while (visits.served < LEAST || g_get_monotonic_time() - first < TIME_US) {
		gint64 begun = g_get_monotonic_time();
		uint32_t us;
		bool served;

		do {
			served = visit(end, port, visits.served);
			visits.tries++;
			pair_ok(it_ep_free(end->ep));
			end->ep = NULL;
			drain(end->cm_msg);
			drain(end->recv);
			drain(end->request);
			g_assert_cmpint(g_get_monotonic_time() - begun, <, WAIT_US);
		} while (!served);
		us = (uint32_t)(g_get_monotonic_time() - begun);
		sum += us;
		visits.served++;
		visits.worst_us = MAX(visits.worst_us, us);
	}
	visits.mean_us = (uint32_t)(sum / visits.served);
	return visits;
}

static void
client_live(int link)
{
	struct end end;
	uint16_t port;

	if (!end_open(&end))
		_exit(1);
	while (recv(link, &port, sizeof(port), 0) == sizeof(port)) {
		struct visits visits = visit_all(&end, port);

		if (send(link, &visits, sizeof(visits), MSG_NOSIGNAL) != sizeof(visits))
			break;
	}
	end_close(&end);
	_exit(0);
}

static void
client_recruit(void)
{
	int ends[2];

	g_assert_cmpint(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), ==, 0);
	client = fork();
	g_assert_cmpint(client, >=, 0);
	if (client == 0) {
		close(ends[0]);
		client_live(ends[1]);
	}
	close(ends[1]);
	client_link = ends[0];
}

static void
client_dismiss(void)
{
	int status = 1;

	close(client_link);
	g_assert_cmpint(waitpid(client, &status, 0), ==, client);
	g_assert_cmpint(status, ==, 0);
}

/* --- the service --------------------------------------------------------------------------------- */

struct seat {
	it_ep_handle_t ep;
	uint64_t taken; /* when, as a number; 0: free */
};

struct service {
	struct pair *pair;
	struct seat seats[SEATS];
	uint64_t turn;
	unsigned descriptors; /* most at once */
	uint32_t requests, echoes, evictions;
};

static it_lmr_triplet_t
seat_segment(struct service *service, const struct seat *seat)
{
	size_t offset = (size_t)(seat - service->seats) * MESSAGE;

	return end_segment(&service->pair->passive, offset, MESSAGE);
}

/* A fresh endpoint with its receive. */
static void
seat_renew(struct service *service, struct seat *seat)
{
	struct end *end = &service->pair->passive;
	it_lmr_triplet_t segment = seat_segment(service, seat);
	it_dto_cookie_t cookie = (it_dto_cookie_t)(seat - service->seats);

	if (seat->ep != NULL)
		pair_ok(it_ep_free(seat->ep));
	pair_ok(it_ep_rc_create(end->pz, end->request, end->recv, end->cm_msg, IT_EP_NO_FLAG,
				&end->attr, &seat->ep));
	pair_ok(it_post_recv((it_handle_t)seat->ep, &segment, 1, cookie, 0));
	seat->taken = 0;
}

static struct seat *
seat_find(struct service *service)
{
	struct seat *oldest = &service->seats[0];

	for (unsigned i = 0; i < SEATS; i++) {
		if (service->seats[i].taken == 0)
			return &service->seats[i];
		if (service->seats[i].taken < oldest->taken)
			oldest = &service->seats[i];
	}
	service->evictions++;
	seat_renew(service, oldest);
	return oldest;
}

static struct seat *
seat_of(struct service *service, it_ep_handle_t ep)
{
	for (unsigned i = 0; i < SEATS; i++)
		if (service->seats[i].ep == ep)
			return &service->seats[i];
	return NULL;
}

static bool
serve_request(struct service *service)
{
	struct seat *seat;
	it_event_t event;

	if (it_evd_dequeue(service->pair->passive.cm_req, &event) != IT_SUCCESS)
		return false;
	service->requests++;
	seat = seat_find(service);
	/* The peer may be gone meanwhile. */
	if (it_ep_accept(seat->ep, event.conn_req.cn_est_id, NULL, 0) == IT_SUCCESS)
		seat->taken = ++service->turn;
	return true;
}

static bool
serve_message(struct service *service)
{
	it_lmr_triplet_t segment;
	struct seat *seat;
	it_event_t event;

	if (it_evd_dequeue(service->pair->passive.recv, &event) != IT_SUCCESS)
		return false;
	seat = seat_of(service, event.dto_cmpl.ep);
	if (seat == NULL || event.dto_cmpl.dto_status != IT_DTO_SUCCESS)
		return true;
	segment = seat_segment(service, seat);
	service->echoes++;
	pair_ok(it_post_send(seat->ep, &segment, 1, 0, 0));
	return true;
}

static bool
serve_end(struct service *service)
{
	struct seat *seat;
	it_event_t event;

	if (it_evd_dequeue(service->pair->passive.cm_msg, &event) != IT_SUCCESS)
		return false;
	seat = seat_of(service, event.conn.ep);
	if (seat != NULL && event.event_number != IT_CM_MSG_CONN_ESTABLISHED_EVENT)
		seat_renew(service, seat);
	return true;
}

static void
serve(struct service *service)
{
	bool busy = serve_request(service);

	busy = serve_message(service) || busy;
	busy = serve_end(service) || busy;
	drain(service->pair->passive.request);
	if (!busy)
		g_usleep(IDLE_US);
}

/* --- measures ------------------------------------------------------------------------------------- */

static uint64_t
memory_used(void)
{
	g_autofree char *text = NULL;
	unsigned long pages = 0;

	g_assert_true(g_file_get_contents("/proc/self/statm", &text, NULL, NULL));
	g_assert_cmpint(sscanf(text, "%*u %lu", &pages), ==, 1);
	return (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static double
seconds_used(void)
{
	struct rusage usage;

	g_assert_cmpint(getrusage(RUSAGE_SELF, &usage), ==, 0);
	return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
	       (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

/* No call is made now: the library uses next to no processor time. */
static bool
rests(void)
{
	double seconds = seconds_used();

	g_usleep(REST_US);
	return seconds_used() - seconds < REST_US / 10e6; /* a tenth of it */
}

static int
phases(void)
{
	const char *runs = g_getenv("ITAPI_TEST_RUNS");

	return runs != NULL ? MAX(atoi(runs), 1) : PHASES;
}

/* Serve until the client has made its visits. */
static struct visits
serve_client(struct service *service)
{
	uint16_t port = service->pair->qual.conn_qual.port;
	gint64 looked = 0, until = g_get_monotonic_time() + TIME_US + (gint64)(LEAST + 1) * WAIT_US;
	struct visits visits;
	ssize_t n;

	g_assert_cmpint(send(client_link, &port, sizeof(port), MSG_NOSIGNAL), ==, sizeof(port));
	while ((n = recv(client_link, &visits, sizeof(visits), MSG_DONTWAIT)) < 0) {
		gint64 now = g_get_monotonic_time();

		g_assert_cmpint(now, <, until);
		serve(service);
		if (now - looked > 20000) {
			looked = now;
			service->descriptors = MAX(service->descriptors, pair_descriptors());
		}
	}
	g_assert_cmpint(n, ==, sizeof(visits)); /* else the client has failed */
	return visits;
}

static void
tell(const char *when, const struct visits *visits)
{
	g_assert_cmpuint(visits->served, >=, LEAST);
	g_test_message("%s: %u clients served in %u tries, %.2f ms each, worst %.2f ms", when,
		       visits->served, visits->tries, visits->mean_us / 1e3,
		       visits->worst_us / 1e3);
}

static void
test_siege(struct pair *pair)
{
	struct service service = {.pair = pair};
	struct visits visits;
	struct siege_count count;
	unsigned descriptors;
	uint64_t memory;
	double seconds;
	gint64 begun;

	for (unsigned i = 0; i < SEATS; i++)
		seat_renew(&service, &service.seats[i]);
	visits = serve_client(&service);
	tell("in peace", &visits);
	descriptors = pair_descriptors();
	memory = memory_used();
	seconds = seconds_used();
	begun = g_get_monotonic_time();
	siege_begin(pair->qual.conn_qual.port);
	for (int phase = phases(); phase > 0; phase--) {
		visits = serve_client(&service);
		tell("under attack", &visits);
	}
	g_test_message("%.2f s of processor time in %.2f s; %u requests, %u echoes, %u evictions",
		       seconds_used() - seconds,
		       (double)(g_get_monotonic_time() - begun) / G_USEC_PER_SEC, service.requests,
		       service.echoes, service.evictions);
	g_test_message("memory %+.1f MiB, descriptors %u before, %u at most",
		       ((double)memory_used() - (double)memory) / (1 << 20), descriptors,
		       service.descriptors);
	if (g_getenv("ITAPI_TEST_NO_RSS") == NULL)
		g_assert_cmpuint(memory_used(), <, memory + GROWTH);
	/* And one that is just accepted, and a few that are ending. */
	g_assert_cmpuint(service.descriptors, <=,
			 descriptors + STARTS + PARTED + BACKLOG + SEATS + SETTLED);
	siege_stop();
	PAIR_UNTIL((serve(&service), siege_is_over(&count)));
	g_test_message("%u bad peers at once, %u connects, %u replies, %u ended by the service",
		       count.peers, count.connects, count.replies, count.ended);
	g_assert_cmpuint(count.connects, >, 0);
	g_assert_cmpuint(count.ended, >, 0);
	visits = serve_client(&service);
	tell("afterwards", &visits);
	PAIR_UNTIL((serve(&service), pair_descriptors() <= descriptors + SETTLED));
	PAIR_UNTIL(rests());
	for (unsigned i = 0; i < SEATS; i++)
		pair_ok(it_ep_free(service.seats[i].ep));
	drain(pair->passive.request);
	drain(pair->passive.recv);
	drain(pair->passive.cm_msg);
	drain(pair->passive.cm_req);
}

static void
add(void)
{
	pair_add("siege/served", test_siege);
}

int
main(int argc, char **argv)
{
	int result;

	pair_use(argc > 1 ? argv[1] : "iwarp:lo");
	g_setenv("ITAPI_MPA_FALLBACK", "off", FALSE);
	siege_recruit();
	client_recruit();
	result = pair_main(argc, argv, add);
	client_dismiss(); /* first: it has copies of the others' links */
	siege_dismiss();
	return result;
}
