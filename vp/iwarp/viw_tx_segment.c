/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * FPDUs in TCP segments, and streams with markers.
 *
 * A receiver may depend on FPDUs that begin and end with TCP segments (RFC 5044 5.1). In an aligned
 * stream each *group* of whole FPDUs that fits one segment gets a segment of its own. Linux divides
 * its buffers into segments from their beginning, so there are two ways to achieve that:
 *
 * - A group that is shorter than a segment is passed to the socket as the end of a message, with
 *   MSG_EOR: Linux appends nothing to its segment, also in a retransmission, and begins another
 *   buffer.
 * - A group that fills its segment to the last octet needs no MSG_EOR. So several such groups and
 *   one more after them are one message (a *run*), as large as a buffer of the kernel. This makes
 *   an aligned stream fast: a buffer passes the layers of the network, and is released by a pacing
 *   congestion control, as a whole. So FPDUs are sized to fill segments: the next one in the buffer
 *   gets the room that is left in the last segment, even if its message continues.
 *
 * Linux divides a buffer of several segments where the window of the peer ends, in the middle of an FPDU, and then the
 * rest of the buffer is misaligned. So a run never passes the end of the window, which can only move forward; a group
 * of one segment may, since Linux sends such a buffer as a whole or not at all. The window is queried when the octets
 * to send pass its last known end. If they still pass it, the socket accepts only a few segments that cannot be sent
 * yet (TCP_NOTSENT_LOWAT), so that the octets after them can be a run when the window has moved.
 *
 * If segments became larger, a run that is already in the socket would be divided differently. So runs are used only
 * while that cannot happen (segments_may_grow); otherwise each group is a message.
 *
 * So the kernel cuts an FPDU only if segments became smaller after it was built, if the peer's
 * window stays smaller than a segment, or if SACK blocks take room. Streams within this machine are
 * not aligned by default: their segments have 64 KiB, and no receiver there depends on segments.
 *
 * The size of a segment depends on the path, so it is queried again before a frame is built, but
 * only after so many octets that the cost of the system call is negligible.
 *
 * In a stream with markers, frames are built without them. Before the buffer is sent, its content moves to
 * the end of the buffer and is copied from there to the begin, with markers (mpa_marker.h). Their frames fill a segment by
 * chance only.
 *
 * The owner of tx.role. Standards: RFC 5044 4.3 and 5.1; [WIRE 3.3], [WIRE 3.4]; doc/decisions/0014.
 */
#include "viw_tx_segment.h"
#include "viw_qp.h"

#include <linux/sockios.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>

#include "mpa_marker.h"
#include "viw_socket.h"

#define VIW_MESSAGES    64u    /* messages in one system call, at most */
#define VIW_RUN_MOST    65200u /* octets of a run: of a buffer of the kernel, its headers left out */
#define VIW_BEYOND      2u     /* segments that the socket may have beyond the window */
#define VIW_ROOM_PACED  (48u * 1024)   /* for a socket that paces; doc/decisions/0044 */
#define VIW_ROOM_FAR    (96u * 1024)   /* for another one whose peer is not on this machine */
#define VIW_ROOM_LEAST  64u            /* octets left in a segment for which an FPDU is made */
#define VIW_LOCAL_ULPDU 65474u         /* towards this machine: payload of whole pages */
#define VIW_ASK_LOCAL   (1024u * 1024) /* octets between two questions for the size of a segment */
#define VIW_ASK_PATH    (16u * 1024)   /* the same, for a path on which it may change */
#define VIW_EMSS_LEAST  536u           /* if the socket does not tell (RFC 9293 3.7.1) */

/* --- size ---------------------------------------------------------------------------------- */

/* Ask for the peer's window. False: the kernel does not report it. */
static bool
window_ask(struct viw_qp *qp, struct tcp_info *info)
{
	struct viw_segment *s = &qp->tx.segment;
	socklen_t len = sizeof(*info);

	memset(info, 0, sizeof(*info));
	if (getsockopt(qp->stream.fd, IPPROTO_TCP, TCP_INFO, info, &len) != 0 ||
	    len < offsetof(struct tcp_info, tcpi_snd_wnd) + sizeof(info->tcpi_snd_wnd))
		return false;
	if (info->tcpi_snd_wnd > s->window_most)
		s->window_most = info->tcpi_snd_wnd;
	return true;
}

/*
 * May segments become larger than they are? Yes, while they are smaller than they once were. Linux
 * also limits them to half of the largest window that the peer has had.
 */
static bool
segments_may_grow(struct viw_qp *qp)
{
	struct viw_segment *s = &qp->tx.segment;
	struct tcp_info info;

	if (s->emss < s->emss_most)
		return true;
	return s->window_most / 2 <= s->emss &&
	       (!window_ask(qp, &info) || s->window_most / 2 <= s->emss);
}

void
viw_segments_ask(struct viw_qp *qp)
{
	struct viw_segment *s = &qp->tx.segment;
	uint32_t room = 0;

	assert(vsw_role_is_taken(&qp->tx.role));
	if (qp->tx.queued >= s->asked_until) {
		/* The size of a segment determines the longest ULPDU (RFC 5044 5.1). */
		bool local = qp->stream.peer_local;
		int emss = 0;
		socklen_t len = sizeof(emss);

		if (getsockopt(qp->stream.fd, IPPROTO_TCP, TCP_MAXSEG, &emss, &len) != 0 ||
		    emss <= 0)
			emss = VIW_EMSS_LEAST;
		s->emss = (uint32_t)emss;
		if (s->emss > s->emss_most)
			s->emss_most = s->emss;
		s->runs = s->aligned && !segments_may_grow(qp);
		s->mulpdu = s->markers ? mpa_marker_mulpdu(s->emss) : mpa_mulpdu(s->emss);
		if (local && s->mulpdu > VIW_LOCAL_ULPDU)
			s->mulpdu = VIW_LOCAL_ULPDU;
		s->asked_until = qp->tx.queued + (local ? VIW_ASK_LOCAL : VIW_ASK_PATH);
	}
	/* An FPDU is a multiple of 4 octets, so it fills no other segment. */
	bool fill = s->runs && !s->markers && s->emss % 4 == 0;
	if (fill) {
		/* Room is what the frames in the buffer leave of the last of their segments; 0 without a frame. */
		while (s->seen < qp->tx.len) {
			uint32_t n = mpa_fpdu_size(wire_load_be16(qp->tx.buf + s->seen));

			s->last = s->last + n > s->emss ? n : s->last + n;
			s->seen += n;
		}
		room = s->last > 0 && s->last < s->emss ? s->emss - s->last : 0;
	}
	s->ulpdu = room >= VIW_ROOM_LEAST ? room - (MPA_LENGTH_SIZE + MPA_CRC_SIZE) : s->mulpdu;
	s->ask_at = fill ? 0 : s->asked_until;
}

/* --- window -------------------------------------------------------------------------------- */

/*
 * Before `len` octets are sent: query where the peer's window ends, unless they are one group, or
 * the known window has room for them. If the window has no room, limit what the socket accepts
 * beyond it.
 */
static void
edge_find(struct viw_qp *qp, uint32_t len)
{
	struct viw_segment *s = &qp->tx.segment;
	int64_t end = (int64_t)s->position + len;
	struct tcp_info info;

	if (!s->narrow && (!s->runs || len <= s->emss || end <= s->edge))
		return;
	if (end > s->edge && s->edge_known && window_ask(qp, &info))
		s->edge = (int64_t)(info.tcpi_bytes_acked - s->acked) + info.tcpi_snd_wnd;
	bool narrow = end > s->edge && s->edge_known;
	if (narrow == s->narrow)
		return;
	uint32_t lowat = narrow ? VIW_BEYOND * s->emss : s->lowat;
	(void)setsockopt(qp->stream.fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &lowat, sizeof(lowat));
	s->narrow = narrow;
}

/* Does the socket send at a pace of its own, for which it should get less at a time? Within this machine it is of no account. */
static bool
is_paced(int fd)
{
	char name[16] = ""; /* TCP_CA_NAME_MAX */
	socklen_t len = sizeof(name);

	return getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, &len) == 0 &&
	       strncmp(name, "bbr", 3) == 0;
}

void
viw_segments_reset(struct viw_qp *qp, const struct ri_stream *stream)
{
	struct viw_segment *s = &qp->tx.segment;
	enum viw_align align = qp->rnic->align;

	memset(s, 0, sizeof(*s));
	s->markers = stream->markers_tx;
	s->aligned = align == VIW_ALIGN_ON || (align == VIW_ALIGN_AUTO && !stream->peer_local);
	s->special = s->aligned || s->markers || qp->tap.on;
	s->paced = !stream->peer_local && is_paced(qp->stream.fd);
	if (stream->peer_local)
		s->room =
			s->markers ? VIW_BUF_SIZE / 2 : VIW_BUF_SIZE; /* markers need some of it */
	else
		s->room = s->paced ? VIW_ROOM_PACED : VIW_ROOM_FAR;
	if (s->aligned) {
		/* `acked`: what the kernel counts as acknowledged once the peer has acknowledged all octets before the stream. */
		struct tcp_info info;
		socklen_t len = sizeof(s->lowat);
		int queued = 0;

		/* In this order: an acknowledgement between the two calls makes the window end earlier, not later. */
		s->edge_known = ioctl(qp->stream.fd, SIOCOUTQ, &queued) == 0 &&
				window_ask(qp, &info) &&
				getsockopt(qp->stream.fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &s->lowat,
					   &len) == 0;
		if (s->edge_known)
			s->acked = info.tcpi_bytes_acked + (uint64_t)queued;
	}
	viw_segments_ask(qp);
}

/* --- markers ------------------------------------------------------------------------------- */

/* Put markers into the frames in the buffer, none of which is sent yet. */
static void
buffer_mark(struct viw_qp *qp)
{
	struct viw_tx *tx = &qp->tx;
	struct viw_segment *s = &tx->segment;
	const uint8_t *from = tx->buf + VIW_BUF_SIZE - tx->len;
	const uint8_t *end = tx->buf + VIW_BUF_SIZE;
	uint32_t len = 0;

	assert(tx->at == 0);
	assert(mpa_marker_position(tx->len) + MPA_MARKER_SIZE <= VIW_BUF_SIZE);
	memmove(tx->buf + VIW_BUF_SIZE - tx->len, tx->buf, tx->len);
	while (from < end) {
		uint32_t size = mpa_fpdu_size(wire_load_be16(from));

		len += mpa_marker_insert(tx->buf + len, from, size, s->marked, qp->stream.crc);
		s->marked += size;
		from += size;
	}
	tx->len = len;
	s->has_markers = true;
}

/* The buffer has no frames any more: forget what is known of them. */
static void
buffer_forget(struct viw_segment *s)
{
	s->has_markers = false;
	s->seen = 0;
	s->last = 0;
}

void
viw_segments_drop(struct viw_qp *qp)
{
	assert(vsw_role_is_taken(&qp->tx.role));
	qp->tx.segment.cut = 0;
	buffer_forget(&qp->tx.segment);
}

/* --- groups -------------------------------------------------------------------------------- */

/* Octets of the whole frame at `at`; its stream position counts only with markers. */
static uint32_t
frame_size(const struct viw_segment *s, const uint8_t *at, uint64_t position)
{
	return s->markers ? mpa_marker_frame(at, position) : mpa_fpdu_size(wire_load_be16(at));
}

/* Octets of the group that begins at octet `at` of the buffer: whole frames that fit one segment, at least one. */
static uint32_t
group_size(const struct viw_tx *tx, uint32_t at)
{
	const struct viw_segment *s = &tx->segment;
	uint64_t position = s->position + (at - tx->at);
	uint32_t size = 0;

	if (!s->aligned)
		return tx->len - at;
	while (at + size < tx->len) {
		uint32_t n = frame_size(s, tx->buf + at + size, position + size);

		if (size > 0 && size + n > s->emss)
			break;
		size += n;
	}
	return size;
}

/* Octets of the message that begins at octet `at` of the buffer: a run within the peer's window, or a group. */
static uint32_t
message_size(const struct viw_tx *tx, uint32_t at)
{
	const struct viw_segment *s = &tx->segment;
	int64_t left = s->edge - (int64_t)(s->position + (at - tx->at));
	int64_t segments = s->runs ? (left < VIW_RUN_MOST ? left : VIW_RUN_MOST) / s->emss : 1;
	uint32_t last = group_size(tx, at);
	uint32_t size = last;

	for (; segments > 1 && last == s->emss && at + size < tx->len; segments--) {
		last = group_size(tx, at + size);
		size += last;
	}
	return size;
}

/* The socket took `n` octets of a message at octet `at`: how many belong to the group in which it stopped. */
static uint32_t
group_rest(const struct viw_tx *tx, uint32_t at, uint32_t n)
{
	uint32_t end = 0;

	while (end < n)
		end += group_size(tx, at + end);
	return end - n;
}

ssize_t
viw_segments_send(struct viw_qp *qp)
{
	const int flags = MSG_DONTWAIT | MSG_NOSIGNAL | MSG_EOR;
	struct viw_tx *tx = &qp->tx;
	struct viw_segment *s = &tx->segment;
	struct mmsghdr messages[VIW_MESSAGES];
	struct iovec iov[VIW_MESSAGES];
	uint32_t cut = s->cut;
	uint32_t count = 0;
	uint32_t taken = 0;
	uint32_t at = tx->at;

	assert(vsw_role_is_taken(&qp->tx.role));
	if (s->markers && !s->has_markers)
		buffer_mark(qp);
	edge_find(qp, tx->len - tx->at);
	for (; count < VIW_MESSAGES && at < tx->len; count++) {
		uint32_t size = count == 0 && cut > 0 ? cut : message_size(tx, at);

		iov[count] = (struct iovec){.iov_base = tx->buf + at, .iov_len = size};
		messages[count] =
			(struct mmsghdr){.msg_hdr = {.msg_iov = &iov[count], .msg_iovlen = 1}};
		at += size;
	}
	if (count == 1) {
		ssize_t n = viw_send(qp->stream.fd, iov[0].iov_base, iov[0].iov_len, flags);

		if (n < 0)
			return n;
		messages[0].msg_len = (unsigned)n;
	} else {
		int n = viw_sendmmsg(qp->stream.fd, messages, count, flags);

		if (n < 0)
			return n;
		count = (uint32_t)n < count ? (uint32_t)n : count;
	}
	for (uint32_t i = 0; i + 1 < count; i++)
		taken += messages[i].msg_len;
	if (count > 0) {
		uint32_t n = messages[count - 1].msg_len;

		s->cut = count == 1 && cut > 0 ? cut - n : group_rest(tx, tx->at + taken, n);
		taken += n;
	}
	viw_tap_octets(qp, tx->buf + tx->at, taken, false);
	tx->at += taken;
	s->position += taken;
	if (tx->at == tx->len)
		buffer_forget(s);
	if (s->markers)
		tx->given = mpa_marker_plain(s->position);
	else
		tx->given += taken;
	return taken;
}
