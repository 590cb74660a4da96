/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Persistent memory far away, by librpma: Read, Write with a flush behind it, an atomic Write and a
 * Send, all compared.
 *
 * rpma-program ADDRESS PORT           starts the server, and is its client
 */
#include <librpma.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define OCTETS  (1u << 20)
#define MAIL    (OCTETS / 2) /* where the Send arrives */
#define MAIL_AT 8192u        /* where it comes from */
#define WORD_AT 128u         /* of the atomic Write */
#define FILL    0x5a

#define USAGE                                                                        \
	(RPMA_MR_USAGE_READ_SRC | RPMA_MR_USAGE_READ_DST | RPMA_MR_USAGE_WRITE_SRC | \
	 RPMA_MR_USAGE_WRITE_DST | RPMA_MR_USAGE_SEND | RPMA_MR_USAGE_RECV |         \
	 RPMA_MR_USAGE_FLUSH_TYPE_VISIBILITY)

static const char text[64] = "written, and flushed";
static const char word[8] = {'a', 't', 'o', 'm', 'i', 'c', '8'};
static const char mail[] = "a message";

static void
must(const char *call, int error)
{
	if (error == 0)
		return;
	fprintf(stderr, "%s: %s\n", call, rpma_err_2str(error));
	exit(1);
}
#define MUST(call) must(#call, (call))

static void
check(const char *what, bool good)
{
	if (good)
		return;
	fprintf(stderr, "%s: wrong\n", what);
	exit(1);
}

static void
event_is(struct rpma_conn *conn, enum rpma_conn_event wanted)
{
	enum rpma_conn_event event;

	MUST(rpma_conn_next_event(conn, &event));
	check(rpma_utils_conn_event_2str(wanted), event == wanted);
}

/* The next completion. */
static struct ibv_wc
done(struct rpma_conn *conn)
{
	struct rpma_cq *cq;
	struct ibv_wc wc;

	MUST(rpma_conn_get_cq(conn, &cq));
	MUST(rpma_cq_wait(cq));
	MUST(rpma_cq_get_wc(cq, 1, &wc, NULL));
	check("status of a completion", wc.status == IBV_WC_SUCCESS);
	return wc;
}

static void
serve(struct rpma_peer *peer, struct rpma_conn_cfg *cfg, char *memory, struct rpma_mr_local *mr,
      const char *address, const char *port)
{
	struct rpma_conn_private_data pdata;
	struct rpma_conn_req *req;
	struct rpma_conn *conn;
	char descriptor[64];
	struct rpma_ep *ep;
	size_t size;

	memset(memory, FILL, OCTETS);
	MUST(rpma_ep_listen(peer, address, port, &ep));
	MUST(rpma_ep_next_conn_req(ep, cfg, &req));
	MUST(rpma_mr_get_descriptor_size(mr, &size));
	check("size of a descriptor", size <= sizeof(descriptor));
	MUST(rpma_mr_get_descriptor(mr, descriptor));
	pdata = (struct rpma_conn_private_data){descriptor, (uint8_t)size};
	MUST(rpma_conn_req_recv(req, mr, MAIL, sizeof(mail), NULL));
	MUST(rpma_conn_req_connect(&req, &pdata, &conn));
	event_is(conn, RPMA_CONN_ESTABLISHED);
	check("length of the Send", done(conn).byte_len == sizeof(mail));
	check("Send", memcmp(memory + MAIL, mail, sizeof(mail)) == 0);
	check("Write", memcmp(memory, text, sizeof(text)) == 0);
	check("atomic Write", memcmp(memory + WORD_AT, word, sizeof(word)) == 0);
	event_is(conn, RPMA_CONN_CLOSED);
	MUST(rpma_conn_disconnect(conn));
	MUST(rpma_conn_delete(&conn));
	MUST(rpma_ep_shutdown(&ep));
}

/* The server may not listen yet. */
static struct rpma_conn *
connection(struct rpma_peer *peer, struct rpma_conn_cfg *cfg, const char *address, const char *port)
{
	enum rpma_conn_event event = RPMA_CONN_UNDEFINED;
	struct rpma_conn_req *req;
	struct rpma_conn *conn;

	for (unsigned i = 0; i < 100 && event != RPMA_CONN_ESTABLISHED; i++) {
		MUST(rpma_conn_req_new(peer, address, port, cfg, &req));
		MUST(rpma_conn_req_connect(&req, NULL, &conn));
		MUST(rpma_conn_next_event(conn, &event));
		if (event != RPMA_CONN_ESTABLISHED) {
			MUST(rpma_conn_delete(&conn));
			(void)usleep(100000);
		}
	}
	check("the connection", event == RPMA_CONN_ESTABLISHED);
	return conn;
}

static void
use(struct rpma_peer *peer, struct rpma_conn_cfg *cfg, char *memory, struct rpma_mr_local *mr,
    const char *address, const char *port)
{
	const int all = RPMA_F_COMPLETION_ALWAYS;
	struct rpma_conn_private_data pdata;
	struct rpma_mr_remote *far;
	struct rpma_conn *conn;
	size_t size;

	conn = connection(peer, cfg, address, port);
	MUST(rpma_conn_get_private_data(conn, &pdata));
	MUST(rpma_mr_remote_from_descriptor(pdata.ptr, pdata.len, &far));
	MUST(rpma_mr_remote_get_size(far, &size));
	check("size", size == OCTETS);
	MUST(rpma_read(conn, mr, 0, far, 0, OCTETS, all, NULL));
	(void)done(conn);
	for (size_t i = 0; i < OCTETS; i++)
		check("Read", memory[i] == FILL);
	memcpy(memory, text, sizeof(text));
	MUST(rpma_write(conn, far, 0, mr, 0, sizeof(text), RPMA_F_COMPLETION_ON_ERROR, NULL));
	MUST(rpma_flush(conn, far, 0, sizeof(text), RPMA_FLUSH_TYPE_VISIBILITY, all, NULL));
	(void)done(conn);
	MUST(rpma_atomic_write(conn, far, WORD_AT, word, all, NULL));
	(void)done(conn);
	memcpy(memory + MAIL_AT, mail, sizeof(mail));
	MUST(rpma_send(conn, mr, MAIL_AT, sizeof(mail), all, NULL));
	(void)done(conn);
	MUST(rpma_conn_disconnect(conn));
	event_is(conn, RPMA_CONN_CLOSED);
	MUST(rpma_mr_remote_delete(&far));
	MUST(rpma_conn_delete(&conn));
}

int
main(int argc, char **argv)
{
	bool server = argc == 4;
	struct ibv_context *verbs;
	struct rpma_mr_local *mr;
	struct rpma_conn_cfg *cfg;
	struct rpma_peer *peer;
	pid_t pid = -1;
	int status = 0;
	char *memory = (char *)aligned_alloc(4096, OCTETS);

	if (argc < 3 || memory == NULL)
		return 2;
	if (!server) {
		char *other[] = {argv[0], argv[1], argv[2], (char *)"server", NULL};

		check("the server", posix_spawn(&pid, argv[0], NULL, NULL, other, environ) == 0);
	}
	MUST(rpma_utils_get_ibv_context(
		argv[1], server ? RPMA_UTIL_IBV_CONTEXT_LOCAL : RPMA_UTIL_IBV_CONTEXT_REMOTE,
		&verbs));
	MUST(rpma_peer_new(verbs, &peer));
	MUST(rpma_mr_reg(peer, memory, OCTETS, USAGE, &mr));
	MUST(rpma_conn_cfg_new(&cfg));
	(server ? serve : use)(peer, cfg, memory, mr, argv[1], argv[2]);
	MUST(rpma_mr_dereg(&mr));
	MUST(rpma_peer_delete(&peer));
	MUST(rpma_conn_cfg_delete(&cfg));
	free(memory);
	if (server)
		return 0;
	check("the end of the server", waitpid(pid, &status, 0) == pid && status == 0);
	printf("all octets are right\n");
	return 0;
}
