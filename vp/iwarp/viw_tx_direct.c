/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Large payload from the application's memory to the socket, without a copy [fast].
 *
 * Only without CRC: a CRC must cover exactly what is sent, and the application may store into a region that
 * its peer reads. Up to VIW_DIRECT_FRAMES frames of one message leave in one system call. Their headers and
 * CRC fields are in an array here; the payload between them is named by address, under one use of the region.
 * If the socket takes less, the rest of the frame that it cut is copied to viw_tx::buf, so no memory of the
 * application is in use between calls. Frames that it did not begin are built again next time.
 *
 * The owner of tx.role, with an empty buffer. Standards: RFC 5044 4 (the CRC field is present, and zero).
 */
#include "viw_tx_direct.h"
#include "viw_copy.h"
#include "viw_qp.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "viw_socket.h"

#define GAP (8u + RDMAP_FPDU_PAYLOAD_UNTAGGED) /* end of one frame and head of the next */

struct plan {
	struct iovec iov[2 * VIW_DIRECT_FRAMES + 1]; /* gap, payload, gap, payload, ..., gap */
	uint32_t ends[VIW_DIRECT_FRAMES];            /* octets up to the end of each frame */
	uint32_t frames;
	uint32_t payload; /* octets of all frames */
	uint8_t gaps[VIW_DIRECT_FRAMES + 1][GAP];
};

/* How much of the piece to send: whole frames, or all that is left of the message. */
static uint32_t
payload_planned(const struct viw_tx *tx, const struct viw_direct *d)
{
	uint32_t most = tx->segment.ulpdu - ddp_header_size(d->seg.tagged);
	uint64_t n = d->wanted.length;

	if (n > (uint64_t)most * VIW_DIRECT_FRAMES)
		n = (uint64_t)most * VIW_DIRECT_FRAMES;
	uint32_t bound = tx->segment.paced ? tx->segment.room : VIW_DIRECT_MOST;
	if (n > bound)
		n = bound;
	return (uint32_t)(n == d->left ? n : n - n % most);
}

/* Write headers, PAD and CRC fields; point at the payload between them. */
static void
plan_frames(struct plan *plan, const struct viw_tx *tx, const struct viw_direct *d,
	    uint8_t *payload)
{
	uint32_t most = tx->segment.ulpdu - ddp_header_size(d->seg.tagged);
	struct ddp_segment seg = d->seg;
	uint32_t done = 0;
	uint32_t end = 0;
	uint32_t gap = 0; /* octets in the gap so far */

	for (plan->frames = 0; done < plan->payload; plan->frames++) {
		uint8_t *at = plan->gaps[plan->frames];
		uint32_t n = plan->payload - done < most ? plan->payload - done : most;

		seg.payload_len = n;
		seg.last = done + n == d->left;
		gap += rdmap_fpdu_begin(at + gap, &seg);
		plan->iov[2 * plan->frames] = (struct iovec){.iov_base = at, .iov_len = gap};
		plan->iov[2 * plan->frames + 1] =
			(struct iovec){.iov_base = payload + done, .iov_len = n};
		end += mpa_fpdu_size(ddp_header_size(seg.tagged) + n);
		plan->ends[plan->frames] = end;
		gap = mpa_pad(ddp_header_size(seg.tagged) + n) + MPA_CRC_SIZE;
		memset(plan->gaps[plan->frames + 1], 0, gap);
		done += n;
		seg.to += seg.tagged ? n : 0;
		seg.mo += seg.tagged ? 0 : n;
	}
	plan->iov[2 * plan->frames] =
		(struct iovec){.iov_base = plan->gaps[plan->frames], .iov_len = gap};
}

/* Copy octets [from, to) of the planned frames. False: a page of the payload is lost. */
static bool
copy_range(uint8_t *out, const struct plan *plan, uint32_t from, uint32_t to)
{
	uint32_t at = 0;

	for (uint32_t i = 0; i <= 2 * plan->frames && at < to; i++) {
		uint32_t len = (uint32_t)plan->iov[i].iov_len;
		uint32_t skip = from > at ? from - at : 0;
		uint32_t stop = to - at < len ? to - at : len;

		if (skip < stop) {
			const uint8_t *piece = (const uint8_t *)plan->iov[i].iov_base + skip;

			if (!vsw_copy(out, piece, stop - skip))
				return false;
			out += stop - skip;
		}
		at += len;
	}
	return true;
}

/*
 * The socket took `sent` octets: copy the rest of the frame that was divided. *done: the payload
 * that was sent or copied. False: a page of that rest is lost, so the stream ends in the middle of
 * a frame.
 */
static bool
direct_settle(struct viw_qp *qp, const struct plan *plan, const struct viw_direct *d, uint32_t sent,
	      uint32_t *done)
{
	struct viw_tx *tx = &qp->tx;
	uint32_t most = tx->segment.ulpdu - ddp_header_size(d->seg.tagged);
	uint32_t begun = 0;

	while (begun < plan->frames && plan->ends[begun] <= sent)
		begun++;
	uint32_t whole = begun > 0 ? plan->ends[begun - 1] : 0;
	if (sent > whole) {
		tx->len = plan->ends[begun] - sent;
		if (!copy_range(tx->buf, plan, sent, plan->ends[begun])) {
			tx->len = 0;
			return false;
		}
		whole = plan->ends[begun++];
	}
	tx->given += sent;
	viw_qp_built(qp, whole, begun);
	*done = begun == plan->frames ? plan->payload : begun * most;
	return true;
}

bool
viw_tx_is_direct(const struct viw_qp *qp, const struct viw_direct *d)
{
	return !qp->stream.crc && !qp->tx.segment.special && d->wanted.length >= VIW_DIRECT_MIN &&
	       payload_planned(&qp->tx, d) > 0;
}

enum vsw_mem_result
viw_tx_direct(struct viw_qp *qp, const struct viw_direct *d, uint32_t *begun)
{
	struct viw_tx *tx = &qp->tx;
	struct vsw_mem_access wanted = d->wanted;
	struct vsw_mem_use use;
	struct plan plan;

	*begun = 0;
	plan.payload = payload_planned(tx, d);
	wanted.length = plan.payload;
	enum vsw_mem_result result = vsw_mem_begin(qp->rnic->mem, &qp->who, &wanted, &use);
	if (result != VSW_MEM_OK)
		return result;
	plan_frames(&plan, tx, d, use.ptr);
	struct msghdr msg = {.msg_iov = plan.iov, .msg_iovlen = 2 * plan.frames + 1};
	ssize_t n = viw_sendmsg(qp->stream.fd, &msg, MSG_DONTWAIT | MSG_NOSIGNAL);
	int error = errno;
	bool there = n <= 0 || direct_settle(qp, &plan, d, (uint32_t)n, begun);
	vsw_mem_end(&use);
	if (!there)
		viw_stream_lost(qp, EFAULT);
	if (!there || (n < 0 && error == EFAULT))
		return VSW_MEM_LOST;
	if (n < 0 && error != EINTR)
		viw_tx_push_failed(qp, error);
	return VSW_MEM_OK;
}
