/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* The log says with which peer a connection was, and why it has ended (viw_end_log.c). */

#include "rdmap_terminate.h"
#include "viw_peer.h"

#include <arpa/inet.h>
#include <string.h>
#include <sys/socket.h>

#define SECOND UINT64_C(1000000000)

/* --- what the peer or this end does --------------------------------------------------------------- */

static void
terminate_in(struct peer *f)
{
	uint8_t fpdu[RDMAP_TERMINATE_FPDU_MAX], ulpdu[DDP_UNTAGGED_SIZE];
	struct ddp_segment seg = rdmap_tagged(RDMAP_WRITE, 0x1234, 0xabcd, true);
	struct rdmap_offender offender = {.ulpdu = ulpdu, .have = 14, .ulpdu_len = 14};

	(void)ddp_header_put(ulpdu, &seg);
	peer_play(f, fpdu, rdmap_terminate_fpdu(fpdu, RDMAP_FAULT_TAGGED_BOUNDS, &offender, true));
}

static void
play_untagged(struct peer *f, enum rdmap_opcode opcode, uint32_t msn)
{
	struct ddp_segment seg = rdmap_untagged(opcode, msn, 0, true);
	uint8_t fpdu[64];

	peer_play(f, fpdu, rdmap_fpdu_put(fpdu, &seg, true));
}

static void
terminate_out(struct peer *f)
{
	play_untagged(f, RDMAP_SEND, 7);
}

/* An opcode that has no name. */
static void
reserved(struct peer *f)
{
	play_untagged(f, (enum rdmap_opcode)15, 1);
}

static void
asked_for(struct peer *f)
{
	g_assert_cmpint(end_modify(f->end, RI_QPS_TERMINATE), ==, RI_SUCCESS);
}

static void
closed_here(struct peer *f)
{
	g_assert_cmpint(end_modify(f->end, RI_QPS_CLOSING), ==, RI_SUCCESS);
}

static void
closed_there(struct peer *f)
{
	(void)f; /* it hangs up in any case */
}

/* Two octets of a frame, then a FIN. */
static void
cut_off(struct peer *f)
{
	peer_play(f, "\0\1", 2);
}

static void
reset(struct peer *f)
{
	const struct linger linger = {.l_onoff = 1, .l_linger = 0};

	g_assert_cmpint(setsockopt(f->fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)), ==, 0);
}

static void
aborted(struct peer *f)
{
	g_assert_cmpint(end_modify(f->end, RI_QPS_ERROR), ==, RI_SUCCESS);
}

static void
late(struct peer *f)
{
	closed_here(f);
	vth_advance(f->node->vth, 2 * SECOND);
}

static const struct row {
	const char *path;
	void (*play)(struct peer *f);
	const char *why; /* of the end, in the log */
} rows[] = {
	{"/iwarp/log/terminate-in", terminate_in,
	 "the peer sent a Terminate, 1101: layer DDP, tagged buffer error, base or bounds "
	 "violation (octets 11 01 c0 00); about: "
	 "RDMA Write, STag 00001234, TO abcd"},
	{"/iwarp/log/terminate-out", terminate_out,
	 "message number is not the next one; this end sent a Terminate, 1203: layer DDP, untagged "
	 "buffer error, MSN out of range "
	 "(octets 12 03 c0 00); about: Send, MSN 7, MO 0"},
	{"/iwarp/log/reserved", reserved,
	 "opcode is unknown or does not fit; this end sent a Terminate, 0206: layer RDMAP, remote "
	 "operation error, unexpected opcode "
	 "(octets 02 06 c0 00); about: reserved, MSN 1, MO 0"},
	{"/iwarp/log/asked-for", asked_for,
	 "the application or the start-up; this end sent a Terminate, 0000: layer RDMAP, local "
	 "catastrophic error"},
	{"/iwarp/log/closed/here", closed_here, "closed by this end"},
	{"/iwarp/log/closed/there", closed_there, "closed by the peer"},
	{"/iwarp/log/cut-off", cut_off,
	 "peer closed in the middle of a message; this end sent a Terminate, 0207"},
	{"/iwarp/log/reset", reset, "TCP failed: Connection reset by peer"},
	{"/iwarp/log/aborted", aborted, "aborted by this end"},
	{"/iwarp/log/late", late, "closed by this end; the peer did not end it within 2 seconds"},
};

/* The connection ends, and the log says so, with address and TCP port of the plain socket that is the peer. */
static void
test_row(gconstpointer arg)
{
	const struct row *row = arg;
	struct ri_stream how = end_stream(-1, true);
	struct sockaddr_in in = {0};
	socklen_t len = sizeof(in);
	struct peer f RI_AT_END(peer_close) = peer_open_by_hand(&how);

	g_assert_cmpint(getsockname(f.fd, (struct sockaddr *)&in, &len), ==, 0);
	g_autofree char *line = g_strdup_printf("peer 127.0.0.1:%u: the connection has ended: %s",
						ntohs(in.sin_port), row->why);
	row->play(&f);
	if (f.fd >= 0)
		peer_hang_up(&f);
	peer_expect_over(&f);
	if (!vth_logged(f.node->vth, line))
		g_error("not said: %s", line);
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	for (size_t i = 0; i < G_N_ELEMENTS(rows); i++)
		g_test_add_data_func(rows[i].path, &rows[i], test_row);
	return g_test_run();
}
