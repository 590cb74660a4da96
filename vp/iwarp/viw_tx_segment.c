/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * FPDUs in TCP segments, and streams with markers.
 *
 * A receiver may depend on FPDUs that begin and end with TCP segments (RFC 5044 5.1). In an aligned stream each
 * group of whole FPDUs that fits one segment is one message to the socket with MSG_EOR: Linux begins a
 * segment for it, and appends nothing to it, also when it sends again. sendmmsg() hands over many groups in
 * one system call. The kernel cuts a group only if the segments became smaller than when the group was built,
 * or if the peer's window stays smaller than the group. Streams within this machine are not aligned by
 * default: their segments are of 64 KiB, and nobody looks at segments there.
 *
 * The size of a segment follows the path, so it is asked for again before a frame is built, once in so many
 * octets that the system call costs nothing in comparison.
 *
 * In a stream with markers, frames are built without them. Before the buffer is sent, its content moves to
 * the end of the buffer and is copied from there to the begin, with markers (mpa_marker.h).
 *
 * The owner of tx.role. Standards: RFC 5044 4.3 and 5.1; [WIRE 3.3], [WIRE 3.4].
 */
#include "viw_tx_segment.h"
#include "viw_qp.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>

#include "mpa_marker.h"
#include "viw_socket.h"

#define VIW_GROUPS      64u            /* groups in one system call, at most */
#define VIW_LOCAL_ULPDU 65474u         /* towards this machine: payload of whole pages */
#define VIW_ASK_LOCAL   (1024u * 1024) /* octets between two questions for the size of a segment */
#define VIW_ASK_PATH    (16u * 1024)   /* the same, for a path on which it may change */
#define VIW_EMSS_LEAST  536u           /* if the socket does not tell (RFC 9293 3.7.1) */

/* --- size ---------------------------------------------------------------------------------- */

void
viw_segments_ask(struct viw_qp *qp)
{
	struct viw_segment *s = &qp->tx.segment;
	bool local = qp->stream.peer_local;
	int emss = 0;
	socklen_t len = sizeof(emss);

	assert(vsw_role_is_taken(&qp->tx.role));
	if (getsockopt(qp->stream.fd, IPPROTO_TCP, TCP_MAXSEG, &emss, &len) != 0 || emss <= 0)
		emss = VIW_EMSS_LEAST;
	s->emss = (uint32_t)emss;
	s->ulpdu = s->markers ? mpa_marker_mulpdu(s->emss) : mpa_mulpdu(s->emss);
	if (local && s->ulpdu > VIW_LOCAL_ULPDU)
		s->ulpdu = VIW_LOCAL_ULPDU;
	s->ask_at = qp->tx.queued + (local ? VIW_ASK_LOCAL : VIW_ASK_PATH);
}

void
viw_segments_reset(struct viw_qp *qp, const struct ri_stream *stream)
{
	struct viw_segment *s = &qp->tx.segment;
	enum viw_align align = qp->rnic->align;

	memset(s, 0, sizeof(*s));
	s->markers = stream->markers_tx;
	s->aligned = align == VIW_ALIGN_ON || (align == VIW_ALIGN_AUTO && !stream->peer_local);
	s->special = s->aligned || s->markers;
	s->room = s->markers ? VIW_BUF_SIZE / 2 : VIW_BUF_SIZE; /* markers need some of it */
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

void
viw_segments_drop(struct viw_qp *qp)
{
	assert(vsw_role_is_taken(&qp->tx.role));
	qp->tx.segment.cut = 0;
	qp->tx.segment.has_markers = false;
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

/* The socket took `n` octets. */
static void
octets_taken(struct viw_tx *tx, uint32_t n)
{
	struct viw_segment *s = &tx->segment;

	tx->at += n;
	s->position += n;
	if (tx->at == tx->len)
		s->has_markers = false;
	if (s->markers)
		tx->given = mpa_marker_plain(s->position);
	else
		tx->given += n;
}

ssize_t
viw_segments_send(struct viw_qp *qp)
{
	const int flags = MSG_DONTWAIT | MSG_NOSIGNAL | MSG_EOR;
	struct viw_tx *tx = &qp->tx;
	struct mmsghdr groups[VIW_GROUPS];
	struct iovec iov[VIW_GROUPS];
	uint32_t count = 0;
	uint32_t taken = 0;
	uint32_t at = tx->at;

	assert(vsw_role_is_taken(&qp->tx.role));
	if (tx->segment.markers && !tx->segment.has_markers)
		buffer_mark(qp);
	for (; count < VIW_GROUPS && at < tx->len; count++) {
		bool rest = count == 0 && tx->segment.cut > 0;
		uint32_t size = rest ? tx->segment.cut : group_size(tx, at);

		iov[count] = (struct iovec){.iov_base = tx->buf + at, .iov_len = size};
		groups[count] =
			(struct mmsghdr){.msg_hdr = {.msg_iov = &iov[count], .msg_iovlen = 1}};
		at += size;
	}
	if (count == 1) {
		ssize_t n = viw_send(qp->stream.fd, iov[0].iov_base, iov[0].iov_len, flags);

		if (n < 0)
			return n;
		groups[0].msg_len = (unsigned)n;
	} else {
		int n = viw_sendmmsg(qp->stream.fd, groups, count, flags);

		if (n < 0)
			return n;
		count = (uint32_t)n < count ? (uint32_t)n : count;
	}
	for (uint32_t i = 0; i < count; i++)
		taken += groups[i].msg_len;
	tx->segment.cut = 0;
	if (count > 0)
		tx->segment.cut = (uint32_t)iov[count - 1].iov_len - groups[count - 1].msg_len;
	octets_taken(tx, taken);
	return taken;
}
