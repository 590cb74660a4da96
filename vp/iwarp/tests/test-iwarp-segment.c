/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The framing of a queue pair as a plain socket sees it: FPDUs in TCP segments of every size,
 * segments that change their size, markers in both directions, right and wrong, and streams without
 * CRC.
 */

#include "viw_peer.h"

#include <errno.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "mpa_marker.h"
#include "rdmap_message.h"
#include "viw_qp.h"

#define ROOM (1u << 17)

/* --- helpers ------------------------------------------------------------------------------- */

/* A stream like those of end_stream(), CRC on, towards a peer that is not on this machine. */
static struct ri_stream
far_stream(void)
{
	struct ri_stream like = end_stream(-1, true);

	like.peer_local = false;
	return like;
}

/* Segments that this socket has sent, none counted twice. */
static guint
segments_sent(int fd)
{
	struct tcp_info info = {0};
	socklen_t len = sizeof(info);

	g_assert_cmpint(getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len), ==, 0);
	return info.tcpi_data_segs_out - info.tcpi_total_retrans;
}

/* The provider's socket, while its stream stands; ThreadSanitizer does not see that the end of it comes later. */
__attribute__((no_sanitize("thread"), noinline)) static int
own_fd(const struct peer *f)
{
	return ((struct viw_qp *)(void *)f->end->qp)->stream.fd;
}

/* A Send of `len` octets leaves, and the peer reads its frames: how many, and the octets of the largest. */
struct frames {
	guint count;
	guint largest;
};

static struct frames
send_and_read(struct peer *f, struct mpa_rules rules, size_t len)
{
	g_autofree uint8_t *buf = g_malloc(2 * ROOM);
	struct frames frames = {0};
	size_t have = 0, at = 0;
	bool last = false;
	bool fin;

	g_assert_cmpint(end_send(f->end, 1, &f->mem, 0, len), ==, RI_SUCCESS);
	while (!last) {
		struct mpa_fpdu fpdu;
		struct ddp_segment seg;
		enum mpa_result result = mpa_fpdu_read(&rules, buf + at, have - at, &fpdu);

		if (result == MPA_MORE) {
			have += peer_listen(f, buf + have, 1, &fin);
			g_assert_false(fin);
			continue;
		}
		g_assert_cmpint(result, ==, MPA_OK);
		g_assert_cmpint(ddp_segment_read(fpdu.ulpdu, fpdu.ulpdu_len, fpdu.ulpdu_len, &seg),
				==, DDP_OK);
		g_assert_cmpmem(seg.payload, seg.payload_len, f->mem.at + seg.mo, seg.payload_len);
		if (!rules.crc)
			g_assert_cmpuint(mpa_crc_load(buf + at + fpdu.size - MPA_CRC_SIZE), ==, 0);
		last = seg.last;
		frames.count++;
		frames.largest = MAX(frames.largest, fpdu.size);
		at += fpdu.size;
	}
	g_assert_cmpuint(at, ==, have);
	(void)end_wait_ok(f->end, false, 1, NULL);
	return frames;
}

/* --- segments ------------------------------------------------------------------------------ */

/*
 * A message consists of full FPDUs and a last, small one. The full FPDUs leave room at the end of their segments;
 * together the room is larger than the small FPDU, so the message must take one full segment less than it has FPDUs.
 */
static void
test_aligned(void)
{
	static const int limits[] = {1249, 1250, 1251, 1252, 1310, 1458, 8973};

	for (gsize i = 0; i < G_N_ELEMENTS(limits); i++) {
		for (int crc = 0; crc < 2; crc++) {
			struct ri_stream like = far_stream();

			like.crc = crc;
			struct peer f RI_AT_END(peer_close) = peer_open_like(&like, limits[i]);
			chunk_fill(&f.mem, 1);
			guint emss = (guint)tcp_emss(own_fd(&f));
			guint most = mpa_mulpdu(emss) - DDP_UNTAGGED_SIZE;
			guint full = emss % 4 == 0 ? 3 : 28 / (emss % 4) + 1;

			if (full * most > ROOM / 4)
				full = ROOM / 4 / most;
			guint before = segments_sent(own_fd(&f));
			struct frames seen =
				send_and_read(&f, (struct mpa_rules){.crc = crc}, full * most + 2);
			g_assert_cmpuint(seen.count, ==, full + 1);
			g_assert_cmpuint(seen.largest, <=, emss);
			g_assert_cmpuint(seen.largest + 4, >, emss);
			g_assert_cmpuint(segments_sent(own_fd(&f)) - before, ==, full + 1);
		}
	}
}

/* The switch: "off" lets TCP fill segments, "on" aligns within this machine. */
static void
test_switch(void)
{
	for (int on = 0; on < 2; on++) {
		struct ri_stream like = far_stream();

		g_assert_true(g_setenv("ITAPI_IWARP_ALIGN", on ? "on" : "off", TRUE));
		like.peer_local = on;
		struct peer f RI_AT_END(peer_close) = peer_open_like(&like, 1251);
		g_unsetenv("ITAPI_IWARP_ALIGN");
		chunk_fill(&f.mem, 2);
		guint emss = (guint)tcp_emss(own_fd(&f));
		guint most = mpa_mulpdu(emss) - DDP_UNTAGGED_SIZE;
		guint before = segments_sent(own_fd(&f));
		struct frames seen =
			send_and_read(&f, (struct mpa_rules){.crc = true}, 29 * most + 2);
		guint segments = segments_sent(own_fd(&f)) - before;

		g_assert_cmpuint(emss % 4, !=, 0);
		g_assert_cmpuint(seen.count, ==, 30);
		if (on)
			g_assert_cmpuint(segments, ==, seen.count);
		else
			g_assert_cmpuint(segments, <, seen.count);
	}
}

/* A queue pair that has nothing but a sending role and frames: full ones, and some that are not. */
static struct viw_qp *
frames_new(GRand *rand, int fd, const struct viw_segment *segment, uint8_t *buf)
{
	struct viw_qp *qp = g_new0(struct viw_qp, 1);
	uint32_t emss = segment->emss;
	uint32_t most = segment->markers ? mpa_marker_mulpdu(emss) : mpa_mulpdu(emss);

	g_assert_true(vsw_role_take(&qp->tx.role));
	qp->stream.fd = fd;
	qp->tx.buf = buf;
	qp->tx.segment = *segment;
	while (qp->tx.len < 40 * emss) {
		uint32_t len = g_rand_int_range(rand, 0, 5) != 0
				       ? most
				       : (uint32_t)g_rand_int_range(rand, 14, 300);

		qp->tx.len += mpa_fpdu_seal(buf + qp->tx.len, len, false);
	}
	return qp;
}

/* Octets of the group at `from`, as many whole frames as fit a segment; `from` is at octet `at` of the stream. */
static uint32_t
group_of(const struct viw_segment *s, const uint8_t *from, uint32_t len, uint32_t at)
{
	uint32_t end = 0;

	while (end < len) {
		uint32_t size = s->markers ? mpa_marker_frame(from + end, at + end)
					   : mpa_fpdu_size(wire_load_be16(from + end));

		if (end > 0 && end + size > s->emss)
			break;
		end += size;
	}
	return end;
}

/*
 * Checks the messages of the sender through a socket that keeps their boundaries: each must consist
 * of whole groups and be as long as possible. All groups but the last must fill their segments.
 */
static void
messages_check(GRand *rand, const struct viw_segment *like)
{
	g_autofree uint8_t *buf = g_malloc0(VIW_BUF_SIZE);
	g_autofree uint8_t *got = g_malloc(ROOM);
	int fd[2];

	g_assert_cmpint(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fd), ==, 0);
	g_autofree struct viw_qp *qp = frames_new(rand, fd[0], like, buf);
	uint32_t plain = qp->tx.len;
	uint32_t at = 0;

	(void)viw_segments_send(qp);
	while (at < qp->tx.len) {
		if (qp->tx.at < qp->tx.len)
			(void)viw_segments_send(qp);
		ssize_t n = recv(fd[1], got, ROOM, 0);
		uint32_t end = 0, last = 0;

		g_assert_cmpint(n, >, 0);
		g_assert_cmpmem(got, n, buf + at, n);
		while (end < (uint32_t)n) {
			g_assert_true(end == 0 || (like->runs && last == like->emss));
			last = group_of(like, buf + at + end, qp->tx.len - at - end, at + end);
			end += last;
		}
		g_assert_cmpuint(end, ==, n);
		uint32_t most = MIN(65200, (uint32_t)MAX(0, like->edge - (gint64)at));
		most -= most % like->emss;
		g_assert_true(end <= most || end == last);
		if (like->runs && last == like->emss && at + end < qp->tx.len)
			g_assert_cmpuint(end + like->emss, >, most);
		at += end;
	}
	g_assert_cmpuint(qp->tx.given, ==, plain);
	close(fd[0]);
	close(fd[1]);
}

/*
 * A socket accepts only parts of messages. The rest of the group at which it stopped must be sent
 * as a message of its own, and every octet must be sent once. Returns how often the socket stopped
 * inside a group.
 */
static uint32_t
parts_check(GRand *rand, const struct viw_segment *like)
{
	g_autofree uint8_t *buf = g_malloc0(VIW_BUF_SIZE);
	g_autofree uint8_t *got = g_malloc(ROOM);
	g_autoptr(GHashTable) borders = g_hash_table_new(NULL, NULL);
	uint32_t done = 0, parts = 0;
	int small = 1;
	int fd[2];

	g_assert_cmpint(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd), ==, 0);
	g_assert_cmpint(setsockopt(fd[0], SOL_SOCKET, SO_SNDBUF, &small, sizeof(small)), ==, 0);
	g_autofree struct viw_qp *qp = frames_new(rand, fd[0], like, buf);
	for (uint32_t at = 0; at < qp->tx.len; at += group_of(like, buf + at, qp->tx.len - at, at))
		g_hash_table_add(borders, GUINT_TO_POINTER(at));
	g_hash_table_add(borders, GUINT_TO_POINTER(qp->tx.len));
	while (done < qp->tx.len) {
		ssize_t n = qp->tx.at < qp->tx.len ? viw_segments_send(qp) : 0;

		g_assert_true(n >= 0 || errno == EAGAIN);
		parts += qp->tx.segment.cut > 0;
		g_assert_true(g_hash_table_contains(
			borders, GUINT_TO_POINTER(qp->tx.at + qp->tx.segment.cut)));
		n = recv(fd[1], got, (gsize)g_rand_int_range(rand, 1, ROOM), MSG_DONTWAIT);
		if (n > 0) {
			g_assert_cmpmem(got, n, buf + done, n);
			done += (uint32_t)n;
		}
	}
	close(fd[0]);
	close(fd[1]);
	return parts;
}

static void
test_messages(void)
{
	g_autoptr(GRand) rand = g_rand_new_with_seed(0x5e6);
	uint32_t parts = 0;

	for (uint32_t emss = 500; emss < 3000; emss += 37) {
		for (unsigned how = 0; how < 4; how++) {
			struct viw_segment like = {.special = true,
						   .aligned = true,
						   .markers = how % 2 != 0,
						   .runs = how / 2 != 0,
						   .edge = emss % 8 == 0 ? 1 << 20 : 30000,
						   .emss = emss};

			messages_check(rand, &like);
			if (!like.markers)
				parts += parts_check(rand, &like);
		}
	}
	g_assert_cmpuint(parts, >, 100);
}

/*
 * FPDUs fill segments: an FPDU of a message that goes on ends where its segment ends, if there is
 * room for an FPDU at all. Frames that have a fixed size, such as Read Requests, take their places,
 * too.
 */
static void
test_fill(void)
{
	static const int limits[] = {536, 1252, 1460, 8960, 1251};
	g_autoptr(GRand) rand = g_rand_new_with_seed(0xf111);
	g_autofree uint8_t *buf = g_malloc0(VIW_BUF_SIZE);

	for (gsize i = 0; i < G_N_ELEMENTS(limits); i++) {
		g_autofree struct viw_qp *qp = g_new0(struct viw_qp, 1);
		struct viw_tx *tx = &qp->tx;
		uint32_t last = 0;
		int fd[2];

		tcp_pair_mss(fd, limits[i]);
		uint32_t emss = (uint32_t)tcp_emss(fd[0]);
		g_assert_true(vsw_role_take(&tx->role));
		qp->stream.fd = fd[0];
		tx->buf = buf;
		tx->segment = (struct viw_segment){.special = true, .aligned = true};
		while (tx->len < 50 * emss) {
			uint32_t left = (uint32_t)g_rand_int_range(rand, 1, (gint32)(3 * emss));

			if (g_rand_boolean(rand)) {
				left = 46; /* a Read Request */
			} else {
				viw_segments_ask(qp);
				uint32_t room = emss - last;
				bool fills = emss % 4 == 0 && last > 0 && room >= 64;

				g_assert_cmpuint(tx->segment.ulpdu, ==,
						 fills ? room - 6 : mpa_mulpdu(emss));
				left = MIN(left, tx->segment.ulpdu);
			}
			uint32_t size = mpa_fpdu_seal(buf + tx->len, left, false);
			tx->len += size;
			tx->queued += size;
			last = last + size > emss ? size : last + size;
			last = last == emss ? 0 : last;
		}
		close(fd[0]);
		close(fd[1]);
	}
}

/* A socket gets less at a time if its peer is not on this machine, and even less if it paces. */
static void
test_paced(void)
{
	static const char *const controls[] = {"bbr", "cubic", "reno"};
	struct viw_rnic rnic = {.align = VIW_ALIGN_OFF};

	for (gsize i = 0; i < 2 * G_N_ELEMENTS(controls); i++) {
		g_autofree struct viw_qp *qp = g_new0(struct viw_qp, 1);
		const char *control = controls[i / 2];
		struct ri_stream stream = far_stream();
		bool paced = g_str_equal(control, "bbr") && i % 2 == 0;
		int fd[2];

		stream.peer_local = i % 2 != 0;
		tcp_pair(fd);
		if (setsockopt(fd[0], IPPROTO_TCP, TCP_CONGESTION, control, strlen(control)) != 0) {
			g_test_message("no %s here", control);
		} else {
			g_assert_true(vsw_role_take(&qp->tx.role));
			qp->stream.fd = fd[0];
			qp->rnic = &rnic;
			viw_segments_reset(qp, &stream);
			g_assert_cmpint(qp->tx.segment.paced, ==, paced);
			g_assert_cmpuint(qp->tx.segment.room, ==,
					 stream.peer_local ? VIW_BUF_SIZE
					 : paced           ? 48 * 1024
							   : 96 * 1024);
		}
		close(fd[0]);
		close(fd[1]);
	}
}

/* The path takes less, and more again: IP options make room in each segment for themselves. */
static void
test_follows_path(void)
{
	uint8_t options[40];
	struct ri_stream like = far_stream();
	struct mpa_rules rules = {.crc = true};

	memset(options, 1, sizeof(options)); /* "no operation" */
	struct peer f RI_AT_END(peer_close) = peer_open_like(&like, 1400);
	chunk_fill(&f.mem, 3);
	guint emss = (guint)tcp_emss(own_fd(&f));
	g_assert_cmpuint(send_and_read(&f, rules, 60000).largest, ==, emss & ~3u);
	if (setsockopt(own_fd(&f), IPPROTO_IP, IP_OPTIONS, options, sizeof(options)) != 0 ||
	    (guint)tcp_emss(own_fd(&f)) == emss) {
		g_test_skip("IP options do not change the size of a segment here");
		return;
	}
	guint less = (guint)tcp_emss(own_fd(&f));
	g_assert_cmpuint(less, ==, emss - sizeof(options));
	(void)send_and_read(&f, rules, 20000); /* some of them may be of the old size */
	g_assert_cmpuint(send_and_read(&f, rules, 60000).largest, ==, less & ~3u);
	g_assert_cmpint(setsockopt(own_fd(&f), IPPROTO_IP, IP_OPTIONS, options, 0), ==, 0);
	g_assert_cmpuint((guint)tcp_emss(own_fd(&f)), ==, emss);
	(void)send_and_read(&f, rules, 20000);
	g_assert_cmpuint(send_and_read(&f, rules, 60000).largest, ==, emss & ~3u);
}

/* --- markers ------------------------------------------------------------------------------- */

/* Append a frame to a plain stream. */
static void
frame_add(GByteArray *plain, struct ddp_segment seg, const uint8_t *payload, uint32_t len, bool crc)
{
	uint8_t fpdu[4096];

	seg.payload = payload;
	seg.payload_len = len;
	g_assert_cmpuint(len, <=, sizeof(fpdu) - 64);
	g_byte_array_append(plain, fpdu, rdmap_fpdu_put(fpdu, &seg, crc));
}

/* Put the markers in. */
static GByteArray *
marked_of(const GByteArray *plain, bool crc)
{
	GByteArray *out = g_byte_array_new();
	guint at = 0;

	while (at < plain->len) {
		uint32_t size = mpa_fpdu_size(wire_load_be16(plain->data + at));
		uint8_t buf[8192];

		g_byte_array_append(out, buf,
				    mpa_marker_insert(buf, plain->data + at, size, at, crc));
		at += size;
	}
	return out;
}

#define WRITTEN 2000u /* octets that sends_and_writes() writes to the front of the memory */
#define SENT    40u   /* octets of each of its Sends */

static uint8_t
octet_of(uint32_t i)
{
	return (uint8_t)(i * 11 + 5);
}

/* `count` Sends, with Writes between them, which fill WRITTEN octets at 4096 of the peer's memory. */
static GByteArray *
sends_and_writes(const struct peer *f, uint32_t count, bool crc)
{
	GByteArray *plain = g_byte_array_new();
	uint8_t octets[WRITTEN];
	uint32_t done = 0;

	for (uint32_t i = 0; i < WRITTEN; i++)
		octets[i] = octet_of(i);
	for (uint32_t i = 0; i < count; i++) {
		uint32_t n = i + 1 < count ? WRITTEN / count + 3 * i : WRITTEN - done;

		frame_add(plain,
			  rdmap_tagged(RDMAP_WRITE, f->mem.stag, (uintptr_t)f->mem.at + 4096 + done,
				       true),
			  octets + done, n, crc);
		frame_add(plain, rdmap_untagged(RDMAP_SEND, i + 1, 0, true), octets, SENT, crc);
		done += n;
	}
	return plain;
}

/* All of sends_and_writes() has come. */
static void
expect_all(struct peer *f, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		g_assert_cmpuint(end_wait_ok(f->end, true, i, NULL).byte_len, ==, SENT);
	for (uint32_t i = 0; i < WRITTEN; i++)
		g_assert_cmpuint(f->mem.at[4096 + i], ==, octet_of(i));
}

static struct ri_stream
marked_stream(bool crc)
{
	struct ri_stream like = end_stream(-1, false);

	like.crc = crc;
	like.markers_rx = true;
	return like;
}

static void
test_markers_in(void)
{
	for (unsigned how = 0; how < 6; how++) {
		bool crc = how % 2 != 0;
		struct ri_stream like = marked_stream(crc);
		struct peer f RI_AT_END(peer_close) = peer_open_like(&like, 0);

		g_autoptr(GByteArray) plain = sends_and_writes(&f, PEER_RECVS, crc);
		g_autoptr(GByteArray) marked = marked_of(plain, crc);
		peer_play_cut(&f, marked->data, marked->len, how / 2);
		expect_all(&f, PEER_RECVS);
	}
}

/* Octets that come with the start-up, as many as there may be; one of them may be a wrong marker. */
static void
test_markers_early(void)
{
	for (guint early = 1; early < 1100; early += early < 30 ? 1 : 93) {
		struct ri_stream like = marked_stream(true);
		struct peer f RI_AT_END(peer_close) = {0};

		f = peer_prepare(node_new(), NULL);
		g_autoptr(GByteArray) plain = sends_and_writes(&f, PEER_RECVS, true);
		g_autoptr(GByteArray) marked = marked_of(plain, true);
		like.early = marked->data;
		like.early_len = early;
		peer_attach(&f, &like, 0);
		peer_play(&f, marked->data + early, marked->len - early);
		expect_all(&f, PEER_RECVS);
	}
	struct ri_stream like = marked_stream(true);
	struct peer f RI_AT_END(peer_close) = {0};
	f = peer_prepare(node_new(), NULL);
	like.early = "\0\0\0\4";
	like.early_len = 4;
	peer_attach(&f, &like, 0);
	peer_expect_terminate(&f, 0x2003);
	peer_hang_up(&f);
	peer_expect_over(&f);
}

/* What a wrong marker, or a wrong octet of a marker, is answered with. */
static void
wrong_octet(guint at, uint8_t change, bool crc, int code, unsigned how)
{
	struct ri_stream like = marked_stream(crc);
	struct peer f RI_AT_END(peer_close) = peer_open_like(&like, 0);

	g_autoptr(GByteArray) plain = sends_and_writes(&f, PEER_RECVS, crc);
	g_autoptr(GByteArray) marked = marked_of(plain, crc);
	g_assert_cmpuint(at, <, marked->len);
	marked->data[at] ^= change;
	peer_play_cut(&f, marked->data, marked->len, how);
	peer_expect_terminate(&f, code);
	peer_hang_up(&f);
	peer_expect_over(&f);
	if (code == 0x2003)
		g_assert_cmpuint(node_count(f.end, RI_EVENT_QP_LLP_FPDU), ==, 1);
}

static void
test_markers_wrong(void)
{
	for (guint marker = 0; marker < 4; marker++) {
		for (unsigned how = 0; how < 3; how++) {
			wrong_octet(512 * marker + 3, 4, how != 0, 0x2003, how);
			wrong_octet(512 * marker + 2, 0x80, true, 0x2003, how);
			wrong_octet(512 * marker + 1, 1, true, 0x2002, how); /* reserved */
		}
	}
	wrong_octet(600, 1, true, 0x2002, 0); /* payload */
}

/* A Send that waits for its receive is delivered, although a wrong marker has come behind it. */
static void
test_markers_wait(void)
{
	struct ri_stream like = marked_stream(true);

	g_assert_true(g_setenv("ITAPI_IWARP_RNR_MS", "600000", TRUE));
	struct peer f RI_AT_END(peer_close) = peer_open_like(&like, 0);
	g_unsetenv("ITAPI_IWARP_RNR_MS");
	g_autoptr(GByteArray) plain = sends_and_writes(&f, PEER_RECVS + 1, true);
	guint good = plain->len;
	for (unsigned i = 0; i < 30; i++)
		frame_add(plain, rdmap_tagged(RDMAP_WRITE, f.mem.stag, (uintptr_t)f.mem.at, true),
			  f.mem.at, 0, true);
	g_autoptr(GByteArray) marked = marked_of(plain, true);
	guint wrong = ((guint)mpa_marker_position(good) + 511) / 512 * 512;
	g_assert_cmpuint(wrong + 4, <=, marked->len);
	marked->data[wrong + 3] ^= 8;
	peer_play(&f, marked->data, marked->len);
	for (unsigned i = 0; i < PEER_RECVS; i++)
		(void)end_wait_ok(f.end, true, i, NULL);
	g_assert_cmpint(end_state(f.end), ==, RI_QPS_RTS);
	g_assert_cmpint(end_recv(f.end, PEER_RECVS, &f.mem, 0, 64), ==, RI_SUCCESS);
	(void)end_wait_ok(f.end, true, PEER_RECVS, NULL);
	peer_expect_terminate(&f, 0x2003);
}

/* All that a queue pair sends has markers: the ready-to-receive message, messages, the Terminate. */
static void
test_markers_out(void)
{
	static const uint8_t bad[8] = {0};
	struct ri_stream like = end_stream(-1, true);
	struct mpa_unmark unmark = {.crc = true};
	struct mpa_rules rules = {.crc = true};
	g_autofree uint8_t *buf = g_malloc(ROOM);
	struct mpa_fpdu fpdu;
	uint32_t len;
	bool fin;

	like.markers_tx = true;
	like.rtr_send = RI_RTR_WRITE;
	struct peer f RI_AT_END(peer_close) = peer_open_like(&like, 0);
	g_assert_cmpuint(peer_listen(&f, buf, 24, &fin), ==, 24);
	g_assert_cmpmem(buf, 6, "\0\0\0\0\0\x0e", 6);
	len = mpa_unmark(&unmark, buf, 24);
	g_assert_cmpint(mpa_fpdu_read(&rules, buf, len, &fpdu), ==, MPA_OK);
	chunk_fill(&f.mem, 4);
	g_assert_cmpint(end_send(f.end, 1, &f.mem, 0, 30000), ==, RI_SUCCESS);
	uint32_t plain = mpa_fpdu_size(DDP_UNTAGGED_SIZE + 30000);
	uint32_t want = (uint32_t)mpa_marker_position(len + plain) - 24;
	g_assert_cmpuint(peer_listen(&f, buf, want, &fin), ==, want);
	len = mpa_unmark(&unmark, buf, want);
	g_assert_cmpuint(len, ==, plain);
	g_assert_cmpint(mpa_fpdu_read(&rules, buf, len, &fpdu), ==, MPA_OK);
	g_assert_cmpmem(fpdu.ulpdu + DDP_UNTAGGED_SIZE, 30000, f.mem.at, 30000);
	(void)end_wait_ok(f.end, false, 1, NULL);
	peer_play(&f, bad, sizeof(bad)); /* a wrong CRC */
	f.unmark = &unmark;
	peer_expect_terminate(&f, 0x2002);
}

/* --- no CRC -------------------------------------------------------------------------------- */

/* Without CRC the field is sent as 0 and may have any content; with it, it must be right. */
static void
test_crc_choice(void)
{
	for (int crc = 0; crc < 2; crc++) {
		for (int wrong = 0; wrong < 2; wrong++) {
			struct ri_stream like = end_stream(-1, false);
			g_autoptr(GByteArray) plain = g_byte_array_new();

			like.crc = crc;
			struct peer f RI_AT_END(peer_close) = peer_open_like(&like, 0);
			chunk_fill(&f.mem, 5);
			frame_add(plain, rdmap_untagged(RDMAP_SEND, 1, 0, true), f.mem.at, 7,
				  !wrong);
			plain->data[plain->len - 1] ^= (uint8_t)wrong;
			(void)send_and_read(&f, (struct mpa_rules){.crc = crc}, 20000);
			peer_play(&f, plain->data, plain->len);
			if (crc && wrong) {
				peer_expect_terminate(&f, 0x2002);
			} else {
				(void)end_wait_ok(f.end, true, 0, NULL);
			}
		}
	}
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/iwarp/segment/aligned", test_aligned);
	g_test_add_func("/iwarp/segment/messages", test_messages);
	g_test_add_func("/iwarp/segment/fill", test_fill);
	g_test_add_func("/iwarp/segment/paced", test_paced);
	g_test_add_func("/iwarp/segment/switch", test_switch);
	g_test_add_func("/iwarp/segment/follows-path", test_follows_path);
	g_test_add_func("/iwarp/segment/markers-in", test_markers_in);
	g_test_add_func("/iwarp/segment/markers-early", test_markers_early);
	g_test_add_func("/iwarp/segment/markers-wrong", test_markers_wrong);
	g_test_add_func("/iwarp/segment/markers-wait", test_markers_wait);
	g_test_add_func("/iwarp/segment/markers-out", test_markers_out);
	g_test_add_func("/iwarp/segment/crc-choice", test_crc_choice);
	return g_test_run();
}
