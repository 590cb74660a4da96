/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include "viw_qp.h"

#include <inttypes.h>
#include <stdio.h>

static void
tap(struct viw_qp *qp, enum ri_captured_kind kind, bool received, const char *text)
{
	struct ri_captured what = qp->tap.what;

	what.kind = kind;
	what.received = received;
	what.text = text;
	ri_capture(qp->rnic->host, &what);
}

void
viw_tap_begin(struct viw_qp *qp)
{
	struct viw_tap *t = &qp->tap;

	t->on = false;
	if (!ri_capture_wanted(qp->rnic->host))
		return;
	t->what = (struct ri_captured){.adapter = qp->rnic->name, .which = qp->rnic};
	t->on = ri_capture_ends(qp->stream.fd, &t->what);
}

void
viw_tap_octets(struct viw_qp *qp, const void *octets, ssize_t len, bool received)
{
	struct ri_captured what = qp->tap.what;

	if (!qp->tap.on || len <= 0)
		return;
	what.kind = RI_CAPTURED_OCTETS;
	what.received = received;
	what.octets = octets;
	what.length = (uint64_t)len;
	ri_capture(qp->rnic->host, &what);
}

void
viw_tap_end(struct viw_qp *qp, bool orderly)
{
	if (!qp->tap.on)
		return;
	if (atomic_load(&qp->rx.eof))
		tap(qp, RI_CAPTURED_FIN, true, NULL);
	tap(qp, orderly ? RI_CAPTURED_FIN : RI_CAPTURED_RESET, false, NULL);
	qp->tap.on = false;
}

void
viw_tap_note(struct viw_qp *qp, const char *text)
{
	char line[360];

	if (!qp->tap.on)
		return;
	(void)snprintf(line, sizeof(line), "queue pair %" PRIu32 ": %s", qp->who.qpn, text);
	tap(qp, RI_CAPTURED_NOTE, false, line);
}

void
viw_tap_failed(struct viw_qp *qp, uint64_t wr_id, uint8_t status)
{
	char line[120];

	/* What is flushed fails because of something else. */
	if (!qp->tap.on || status == RI_WC_FLUSHED)
		return;
	(void)snprintf(line, sizeof(line), "request %" PRIu64 " completes with status %u", wr_id,
		       status);
	viw_tap_note(qp, line);
}
