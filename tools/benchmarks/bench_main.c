/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Options, where the two sides are, and the second process. Prints one line of JSON with the figure.
 * Every run ends by itself: an alarm bounds it, and the child dies with its parent.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"
#include "tool_output.h"

#define RUN_SECONDS_MAX 60

#define ROCE_FIRST 0x7f4d0001u /* 127.77.0.1: tests take those behind 127.0.0.1 */

/* Of both sides, the active one first. */
struct where {
	const char *network[2]; /* files of network namespaces; NULL: that of this process */
	struct in_addr address[2];
	bool roce; /* whose addresses have one process each */
};

/* Go to the network namespace of that file, NULL: stay. */
static void
enter_network(const char *path)
{
	if (path == NULL)
		return;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || setns(fd, CLONE_NEWNET) != 0)
		bench_die("cannot enter the network %s: %s", path, strerror(errno));
	close(fd);
}

/* This process is the active side, or the passive one: go to its network, and know both addresses. */
static void
take_place(const struct where *where, int side)
{
	char own[INET_ADDRSTRLEN];

	enter_network(where->network[side]);
	bench_place.own = where->address[side];
	bench_place.peer = where->address[1 - side];
	bench_place.near = ntohl(bench_place.peer.s_addr) >> 24 == IN_LOOPBACKNET;
	if (where->roce && (inet_ntop(AF_INET, &bench_place.own, own, sizeof(own)) == NULL ||
			    setenv("ITAPI_ROCE_ADDRESS", own, 1) != 0))
		bench_die("setenv: %s", strerror(errno));
}

static const struct bench_case *
find_case(const char *name)
{
	const struct bench_case *lists[] = {bench_raw_cases,  bench_frames_cases, bench_fpdu_cases,
					    bench_mem_cases,  bench_itapi_cases,  bench_guard_cases,
					    bench_many_cases, bench_scale_cases,  bench_udp_cases};

	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		for (const struct bench_case *c = lists[i]; c->name != NULL; c++) {
			if (strcmp(c->name, name) == 0)
				return c;
		}
	}
	bench_die("no case '%s'", name);
}

static uint64_t
read_number(const char *text)
{
	char *end;
	uint64_t value;

	errno = 0;
	value = strtoull(text, &end, 0);
	if (errno != 0 || end == text || *end != '\0')
		bench_die("'%s' is not a number", text);
	return value;
}

static struct in_addr
read_address(const char *text)
{
	struct in_addr address;

	if (inet_pton(AF_INET, text, &address) != 1)
		bench_die("'%s' is not an IPv4 address", text);
	return address;
}

static void
parse_options(int argc, char **argv, struct bench_opts *opts, struct where *where)
{
	static const struct option table[] = {
		{"adapter", required_argument, NULL, 'a'},
		{"op", required_argument, NULL, 'o'},
		{"size", required_argument, NULL, 's'},
		{"window", required_argument, NULL, 'w'},
		{"iters", required_argument, NULL, 'n'},
		{"core-a", required_argument, NULL, 'A'},
		{"core-b", required_argument, NULL, 'B'},
		{"block", no_argument, NULL, 'b'},
		{"crc-off", no_argument, NULL, 'c'},
		{"upto", required_argument, NULL, 'u'},
		{"addr-a", required_argument, NULL, 'x'},
		{"addr-b", required_argument, NULL, 'y'},
		{"net-a", required_argument, NULL, 'X'},
		{"net-b", required_argument, NULL, 'Y'},
		{NULL, 0, NULL, 0},
	};
	int c;

	while ((c = getopt_long(argc, argv, "a:o:s:w:n:A:B:bcu:x:y:X:Y:", table, NULL)) != -1) {
		switch (c) {
		case 'a':
			opts->adapter = optarg;
			break;
		case 'o':
			opts->op = optarg;
			break;
		case 's':
			opts->size = read_number(optarg);
			break;
		case 'w':
			opts->window = (unsigned)read_number(optarg);
			break;
		case 'n':
			opts->iters = read_number(optarg);
			break;
		case 'A':
			opts->core_a = (int)read_number(optarg);
			break;
		case 'B':
			opts->core_b = (int)read_number(optarg);
			break;
		case 'b':
			opts->block = true;
			break;
		case 'c':
			opts->crc_off = true;
			break;
		case 'u':
			opts->upto = (unsigned)read_number(optarg);
			break;
		case 'x':
			where->address[0] = read_address(optarg);
			break;
		case 'y':
			where->address[1] = read_address(optarg);
			break;
		case 'X':
			where->network[0] = optarg;
			break;
		case 'Y':
			where->network[1] = optarg;
			break;
		default:
			exit(2);
		}
	}
	if (optind + 1 != argc)
		bench_die("usage: it-bench-run [options] CASE");
	opts->name = argv[optind];
	if (opts->size == 0 || opts->window == 0 || opts->iters == 0)
		bench_die("size, window and iters are at least 1");
	if (opts->upto >= 10000)
		bench_die("upto is of 10,000, which are all");
}

int
main(int argc, char **argv)
{
	struct bench_opts opts = {.adapter = "iwarp",
				  .op = "write",
				  .size = 64,
				  .window = 1,
				  .core_a = -1,
				  .core_b = -1,
				  .iters = 20000};
	struct where where = {.address = {{htonl(INADDR_LOOPBACK)}, {htonl(INADDR_LOOPBACK)}}};
	const struct bench_case *c;
	pid_t child = -1;
	int ctl[2] = {-1, -1};
	int status = 0;
	double value;

	tool_output_watch();
	parse_options(argc, argv, &opts, &where);
	where.roce = strncmp(opts.adapter, "roce:", 5) == 0;
	for (uint32_t side = 0; where.roce && side < 2; side++)
		if (where.address[side].s_addr == htonl(INADDR_LOOPBACK))
			where.address[side].s_addr = htonl(ROCE_FIRST + side);
	c = find_case(opts.name);
	alarm(RUN_SECONDS_MAX);
	if (c->two) {
		if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ctl) != 0)
			bench_die("socketpair: %s", strerror(errno));
		child = fork();
		if (child < 0)
			bench_die("fork: %s", strerror(errno));
		if (child == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			alarm(RUN_SECONDS_MAX);
			close(ctl[0]);
			take_place(&where, 1);
			bench_pin(opts.core_b);
			c->run(&opts, ctl[1], false);
			_exit(0);
		}
		close(ctl[1]);
	}
	take_place(&where, 0);
	bench_pin(opts.core_a);
	value = c->run(&opts, ctl[0], true);
	if (child > 0 && (waitpid(child, &status, 0) != child || status != 0))
		bench_die("the passive side failed");
	printf("{\"case\": \"%s\", \"value\": %.6g, \"unit\": \"%s\"}\n", c->name, value, c->unit);
	return 0;
}
