/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * A dialogue in text on a TCP connection, which then becomes an RDMA connection: the same TCP connection,
 * converted (it_socket_convert). The client asks for a file by name in a line, the server answers its
 * length in a line and says "rdma"; then both convert, the client tells where its buffer is, the server
 * writes the octets there and says so with a Send.
 *
 *   upgrade ADAPTER server            prints the port it listens on, serves one client
 *   upgrade ADAPTER client PORT TEXT  asks for TEXT; prints what came by RDMA
 *
 * The server passes the last line of the dialogue to it_socket_convert, so it waits for the MPA Request and may not send
 * first: the client is the initiator.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "it_api.h"
#include "it_ext.h"

#define ROOM    4096
#define SECONDS (20 * 1000000ull) /* patience, in microseconds */

/* Where the client's buffer is; all in network byte order (a context and an address are 64 bits). */
struct region {
	uint64_t context;
	uint64_t addr;
};

struct side {
	it_ia_handle_t ia;
	it_pz_handle_t pz;
	it_evd_handle_t dto;
	it_evd_handle_t cm;
	it_ep_handle_t ep;
	it_lmr_handle_t lmr;
	it_rmr_context_t context;
	char buffer[ROOM];
};

static void
check(it_status_t status, const char *what)
{
	if (status == IT_SUCCESS)
		return;
	fprintf(stderr, "upgrade: %s: %s\n", what, it_status_name(status));
	exit(1);
}

static void
need(int good, const char *what)
{
	if (!good) {
		perror(what);
		exit(1);
	}
}

/* An endpoint with everything it needs; not connected. */
static void
open_side(struct side *side, const char *adapter)
{
	it_ep_attributes_t attr;

	check(it_ia_create(adapter, 2, 1, &side->ia), "it_ia_create");
	check(it_pz_create(side->ia, &side->pz), "it_pz_create");
	check(it_evd_create(side->ia, IT_DTO_EVENT_STREAM, 0, 16, 1, NULL, &side->dto, NULL),
	      "it_evd_create");
	check(it_evd_create(side->ia, IT_CM_MSG_EVENT_STREAM, 0, 16, 1, NULL, &side->cm, NULL),
	      "it_evd_create");
	check(it_lmr_create21(side->pz, side->buffer, NULL, ROOM, IT_ADDR_MODE_ABSOLUTE,
			      IT_PRIV_LOCAL | IT_PRIV_REMOTE_WRITE, IT_LMR_FLAG_NONE, 0, &side->lmr,
			      &side->context),
	      "it_lmr_create");
	memset(&attr, 0, sizeof(attr));
	attr.max_request_dtos = 8;
	attr.max_recv_dtos = 8;
	attr.max_send_segments = 1;
	attr.max_recv_segments = 1;
	attr.srv.rc.max_rdma_write_segments = 1;
	attr.srv.rc.max_rdma_read_segments = 1;
	attr.srv.rc.rdma_write_enable = IT_TRUE;
	attr.srv.rc.hard_hi_watermark = IT_HARD_HI_WATERMARK_DISABLE;
	check(it_ep_rc_create(side->pz, side->dto, side->dto, side->cm, 0, &attr, &side->ep),
	      "it_ep_rc_create");
}

static it_lmr_triplet_t
piece(struct side *side, size_t at, size_t length)
{
	it_lmr_triplet_t segment = {.lmr = side->lmr, .length = length};

	segment.addr.abs = side->buffer + at;
	return segment;
}

/* The next event, which must be of that number; a completion must also be a success. Its octets. */
static size_t
await(it_evd_handle_t evd, it_event_type_t number)
{
	it_event_t event;

	check(it_evd_wait(evd, SECONDS, &event, NULL), "it_evd_wait");
	if (event.event_number != number) {
		fprintf(stderr, "upgrade: event %#x instead of %#x\n", (unsigned)event.event_number,
			(unsigned)number);
		exit(1);
	}
	if ((number & IT_EVENT_STREAM_MASK) != IT_DTO_EVENT_STREAM)
		return 0;
	if (event.dto_cmpl.dto_status != IT_DTO_SUCCESS) {
		fprintf(stderr, "upgrade: a transfer ended with %s\n",
			it_dto_status_name(event.dto_cmpl.dto_status));
		exit(1);
	}
	return event.dto_cmpl.transferred_length;
}

/* What the peer announced, which is not believed beyond the half of the buffer it may write. */
static size_t
announced(const char *line)
{
	unsigned long length = strtoul(line, NULL, 10);

	if (length > ROOM / 2) {
		fprintf(stderr, "upgrade: the server announces %lu octets\n", length);
		exit(1);
	}
	return length;
}

/* A line, octet by octet: nothing behind it may be read, since it belongs to RDMA mode. */
static void
read_line(int sd, char *line, size_t room)
{
	size_t at = 0;

	do
		need(at + 1 < room && read(sd, line + at, 1) == 1, "read");
	while (line[at++] != '\n');
	line[at - 1] = '\0';
}

static int
serve(struct side *side)
{
	struct sockaddr_in sa = {.sin_family = AF_INET};
	socklen_t len = sizeof(sa);
	int listener = socket(AF_INET, SOCK_STREAM, 0), sd;
	char line[256], answer[64];
	struct region theirs;
	it_lmr_triplet_t in = piece(side, 0, sizeof(theirs)), out;

	sa.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	need(bind(listener, (struct sockaddr *)&sa, sizeof(sa)) == 0 && listen(listener, 1) == 0,
	     "listen");
	need(getsockname(listener, (struct sockaddr *)&sa, &len) == 0, "getsockname");
	printf("port %u\n", ntohs(sa.sin_port));
	fflush(stdout);
	sd = accept(listener, NULL, NULL);
	need(sd >= 0, "accept");
	close(listener); /* one client is all it serves */
	read_line(sd, line, sizeof(line));
	snprintf(answer, sizeof(answer), "%zu rdma\n", strlen(line));

	/* Receives first, then the conversion, which sends the answer as its last message. */
	check(it_post_recv((it_handle_t)side->ep, &in, 1, 1, 0), "it_post_recv");
	check(it_socket_convert(sd, side->ep, IT_SC_DEFAULT, (unsigned char *)answer,
				strlen(answer)),
	      "it_socket_convert");
	close(sd); /* it is ours no more */
	await(side->cm, IT_CM_MSG_CONN_ESTABLISHED_EVENT);
	if (await(side->dto, IT_DTO_RC_RECV_CMPL_EVENT) != sizeof(theirs)) {
		fprintf(stderr, "upgrade: the client tells no region\n");
		exit(1);
	}
	memcpy(&theirs, side->buffer, sizeof(theirs));
	memcpy(side->buffer, line, strlen(line));
	out = piece(side, 0, strlen(line));
	check(it_post_rdma_write(side->ep, &out, 1, 2, 0, it_ntoh64(theirs.addr),
				 it_ntoh64(theirs.context)),
	      "it_post_rdma_write");
	check(it_post_send(side->ep, NULL, 0, 3, IT_COMPLETION_FLAG), "it_post_send");
	await(side->dto, IT_DTO_SEND_CMPL_EVENT);
	await(side->cm, IT_CM_MSG_CONN_DISCONNECT_EVENT);
	printf("served %zu octets\n", strlen(line));
	return 0;
}

static int
ask(struct side *side, unsigned short port, const char *text)
{
	struct sockaddr_in sa = {.sin_family = AF_INET, .sin_port = htons(port)};
	int sd = socket(AF_INET, SOCK_STREAM, 0);
	struct region mine;
	size_t length;
	char line[256];
	it_lmr_triplet_t out = piece(side, ROOM / 2, sizeof(mine));

	sa.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	need(connect(sd, (struct sockaddr *)&sa, sizeof(sa)) == 0, "connect");
	if (snprintf(line, sizeof(line), "%s\n", text) >= (int)sizeof(line)) {
		fprintf(stderr, "upgrade: that does not fit in a line\n");
		exit(1);
	}
	need(write(sd, line, strlen(line)) == (ssize_t)strlen(line), "write");
	read_line(sd, line, sizeof(line));
	printf("the server says: %s\n", line);
	length = announced(line);

	check(it_post_recv((it_handle_t)side->ep, NULL, 0, 1, 0), "it_post_recv");
	check(it_socket_convert(sd, side->ep, IT_SC_DEFAULT, NULL, 0), "it_socket_convert");
	close(sd);
	await(side->cm, IT_CM_MSG_CONN_ESTABLISHED_EVENT);
	mine.context = it_hton64(side->context);
	mine.addr = it_hton64(it_make_rdma_addr_absolute(side->buffer));
	memcpy(side->buffer + ROOM / 2, &mine, sizeof(mine));
	/* Without a completion, which might come before or after that of the answer. */
	check(it_post_send(side->ep, &out, 1, 2, 0), "it_post_send");
	await(side->dto, IT_DTO_RC_RECV_CMPL_EVENT); /* so the Write before it is in place */
	printf("by RDMA: %.*s\n", (int)length, side->buffer);
	check(it_ep_disconnect(side->ep, NULL, 0), "it_ep_disconnect");
	await(side->cm, IT_CM_MSG_CONN_DISCONNECT_EVENT);
	return 0;
}

int
main(int argc, char **argv)
{
	static struct side side;
	int result;

	if (!(argc == 3 && strcmp(argv[2], "server") == 0) &&
	    !(argc == 5 && strcmp(argv[2], "client") == 0)) {
		fprintf(stderr, "usage: upgrade ADAPTER server | client PORT TEXT\n");
		return 2;
	}
	open_side(&side, argv[1]);
	result = argc == 3 ? serve(&side) : ask(&side, (unsigned short)atoi(argv[3]), argv[4]);
	check(it_ia_free(side.ia), "it_ia_free");
	return result;
}
