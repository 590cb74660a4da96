/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* The log says with which peer a connection was, and why it has ended (viw_end_log.c). */

#include "rdmap_terminate.h"
#include "viw_peer.h"

#include <arpa/inet.h>
#include <string.h>
#include <sys/socket.h>

#define SECOND UINT64_C(1000000000)

static void
open_connected(struct peer *f)
{
	struct ri_stream how = end_stream(-1, true);

	*f = peer_open_by_hand(&how);
}

/* The connection has ended, and the log says so, with the address of the peer: `why`. Closes it. */
static void
expect_said(struct peer *f, const char *address, const char *why)
{
	g_autofree char *line =
		g_strdup_printf("peer %s: the connection has ended: %s", address, why);

	if (f->fd >= 0)
		peer_hang_up(f);
	peer_expect_over(f);
	if (!vth_logged(f->node->vth, line))
		g_error("not said: %s", line);
	peer_close(f);
}

/* Address and TCP port of the plain socket. */
static char *
address_of(const struct peer *f)
{
	struct sockaddr_in in = {0};
	socklen_t len = sizeof(in);

	g_assert_cmpint(getsockname(f->fd, (struct sockaddr *)&in, &len), ==, 0);
	return g_strdup_printf("127.0.0.1:%u", ntohs(in.sin_port));
}

static void
test_terminate_in(void)
{
	uint8_t fpdu[RDMAP_TERMINATE_FPDU_MAX], ulpdu[DDP_UNTAGGED_SIZE];
	struct ddp_segment seg = rdmap_tagged(RDMAP_WRITE, 0x1234, 0xabcd, true);
	struct rdmap_offender offender = {.ulpdu = ulpdu, .have = 14, .ulpdu_len = 14};
	struct peer f;

	open_connected(&f);
	g_autofree char *address = address_of(&f);
	(void)ddp_header_put(ulpdu, &seg);
	peer_play(&f, fpdu, rdmap_terminate_fpdu(fpdu, RDMAP_FAULT_TAGGED_BOUNDS, &offender, true));
	expect_said(&f, address,
		    "the peer sent a Terminate, 1101: layer DDP, tagged buffer error, base or "
		    "bounds violation (octets 11 01 c0 00); about: RDMA Write, STag 00001234, "
		    "TO abcd");
}

static void
test_terminate_out(void)
{
	struct ddp_segment seg = rdmap_untagged(RDMAP_SEND, 7, 0, true);
	uint8_t fpdu[64];
	struct peer f;

	open_connected(&f);
	g_autofree char *address = address_of(&f);
	peer_play(&f, fpdu, rdmap_fpdu_put(fpdu, &seg, true));
	expect_said(&f, address,
		    "message number is not the next one; this end sent a Terminate, 1203: layer "
		    "DDP, untagged buffer error, MSN out of range (octets 12 03 c0 00); about: "
		    "Send, MSN 7, MO 0");
}

/* An opcode that has no name. */
static void
test_reserved(void)
{
	struct ddp_segment seg = rdmap_untagged((enum rdmap_opcode)15, 1, 0, true);
	uint8_t fpdu[64];
	struct peer f;

	open_connected(&f);
	g_autofree char *address = address_of(&f);
	peer_play(&f, fpdu, rdmap_fpdu_put(fpdu, &seg, true));
	expect_said(&f, address,
		    "opcode is unknown or does not fit; this end sent a Terminate, 0206: layer "
		    "RDMAP, remote operation error, unexpected opcode (octets 02 06 c0 00); about: "
		    "reserved, MSN 1, MO 0");
}

static void
test_asked_for(void)
{
	struct peer f;

	open_connected(&f);
	g_autofree char *address = address_of(&f);
	g_assert_cmpint(end_modify(f.end, RI_QPS_TERMINATE), ==, RI_SUCCESS);
	expect_said(&f, address,
		    "the application or the start-up; this end sent a Terminate, 0000: layer "
		    "RDMAP, local catastrophic error");
}

static void
test_closed(gconstpointer here)
{
	struct peer f;

	open_connected(&f);
	g_autofree char *address = address_of(&f);
	if (GPOINTER_TO_INT(here))
		g_assert_cmpint(end_modify(f.end, RI_QPS_CLOSING), ==, RI_SUCCESS);
	expect_said(&f, address,
		    GPOINTER_TO_INT(here) ? "closed by this end" : "closed by the peer");
}

/* Two octets of a frame, then a FIN. */
static void
test_cut_off(void)
{
	struct peer f;

	open_connected(&f);
	g_autofree char *address = address_of(&f);
	peer_play(&f, "\0\1", 2);
	expect_said(&f, address,
		    "peer closed in the middle of a message; this end sent a Terminate, 0207");
}

static void
test_reset(void)
{
	const struct linger linger = {.l_onoff = 1, .l_linger = 0};
	struct peer f;

	open_connected(&f);
	g_autofree char *address = address_of(&f);
	g_assert_cmpint(setsockopt(f.fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)), ==, 0);
	expect_said(&f, address, "TCP failed: Connection reset by peer");
}

static void
test_aborted(void)
{
	struct peer f;

	open_connected(&f);
	g_autofree char *address = address_of(&f);
	g_assert_cmpint(end_modify(f.end, RI_QPS_ERROR), ==, RI_SUCCESS);
	expect_said(&f, address, "aborted by this end");
}

static void
test_late(void)
{
	struct peer f;

	open_connected(&f);
	g_autofree char *address = address_of(&f);
	g_assert_cmpint(end_modify(f.end, RI_QPS_CLOSING), ==, RI_SUCCESS);
	vth_advance(f.node->vth, 2 * SECOND);
	expect_said(&f, address, "closed by this end; the peer did not end it within 2 seconds");
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/iwarp/log/terminate-in", test_terminate_in);
	g_test_add_func("/iwarp/log/terminate-out", test_terminate_out);
	g_test_add_func("/iwarp/log/reserved", test_reserved);
	g_test_add_func("/iwarp/log/asked-for", test_asked_for);
	g_test_add_data_func("/iwarp/log/closed/here", GINT_TO_POINTER(1), test_closed);
	g_test_add_data_func("/iwarp/log/closed/there", GINT_TO_POINTER(0), test_closed);
	g_test_add_func("/iwarp/log/cut-off", test_cut_off);
	g_test_add_func("/iwarp/log/reset", test_reset);
	g_test_add_func("/iwarp/log/aborted", test_aborted);
	g_test_add_func("/iwarp/log/late", test_late);
	return g_test_run();
}
