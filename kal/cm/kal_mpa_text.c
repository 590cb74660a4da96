/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Findings and verdicts of kal_mpa.h in words: which field of which frame has which value. */

#include <stdio.h>
#include <string.h>

#include "kal_mpa.h"

#define REVISION_AT 17
#define LENGTH_AT   18
#define SHOWN       16 /* octets of something that is no key */

static const char *
name_of(enum kal_mpa_kind kind)
{
	return kind == KAL_MPA_REQUEST ? "Request" : "Reply";
}

/* The first octets, with a dot for each that does not print. */
static void
bad_key_text(const uint8_t *octets, size_t len, char *text, size_t room)
{
	char shown[SHOWN + 1] = "";

	for (size_t i = 0; i < len && i < SHOWN; i++)
		shown[i] = octets[i] >= ' ' && octets[i] <= '~' ? (char)octets[i] : '.';
	(void)snprintf(text, room,
		       "what the peer sends begins with '%s', which is not an MPA frame", shown);
}

void
kal_mpa_found_text(enum kal_mpa_kind kind, enum kal_mpa_found found, const uint8_t *octets,
		   size_t len, char *text, size_t room)
{
	const char *frame = name_of(kind);
	unsigned revision = len > REVISION_AT ? octets[REVISION_AT] : 0;
	unsigned length =
		len > LENGTH_AT + 1 ? (unsigned)octets[LENGTH_AT] << 8 | octets[LENGTH_AT + 1] : 0;

	switch (found) {
	case KAL_MPA_WHOLE:
		(void)snprintf(text, room, "the %s is whole", frame);
		return;
	case KAL_MPA_MORE:
		(void)snprintf(text, room, "only %zu octets of the %s came", len, frame);
		return;
	case KAL_MPA_BAD_KEY:
		bad_key_text(octets, len, text, room);
		return;
	case KAL_MPA_BAD_KIND:
		(void)snprintf(text, room, "a %s came instead of a %s: both ends %s",
			       name_of(kind == KAL_MPA_REQUEST ? KAL_MPA_REPLY : KAL_MPA_REQUEST),
			       frame, kind == KAL_MPA_REQUEST ? "respond" : "initiate");
		return;
	case KAL_MPA_BAD_REVISION:
		(void)snprintf(text, room, "the %s has revision %u; 1 and 2 are supported", frame,
			       revision);
		return;
	case KAL_MPA_BAD_LENGTH:
		(void)snprintf(text, room, "PD_Length of the %s is %u, and at most %u is allowed",
			       frame, length, KAL_MPA_PRIVATE_MAX);
		return;
	case KAL_MPA_BAD_WORDS:
		(void)snprintf(text, room,
			       "the %s has S, but its PD_Length of %u leaves no room for IRD and "
			       "ORD",
			       frame, length);
		return;
	}
	(void)snprintf(text, room, "finding %d", (int)found);
}

/* "Write", "Write and Read", and so on. */
static const char *
rtr_names(uint8_t rtr)
{
	static const char *const names[8] = {
		"none", "Write",          "Read",          "Write and Read",
		"Send", "Write and Send", "Read and Send", "Write, Read and Send"};

	return names[rtr & (RI_RTR_WRITE | RI_RTR_READ | RI_RTR_SEND)];
}

static void
rtr_text(const struct kal_mpa_frame *request, const struct kal_mpa_frame *reply, char *text,
	 size_t room)
{
	(void)snprintf(
		text, room,
		"no ready-to-receive message in common: the Request offers %s with an ORD of "
		"%u, the Reply names %s with an IRD of %u; Terminate 2007",
		rtr_names(request->rtr), (unsigned)request->ord, rtr_names(reply->rtr),
		(unsigned)reply->ird);
}

void
kal_mpa_verdict_text(enum kal_mpa_verdict verdict, const struct kal_mpa_offered *offered,
		     const struct kal_mpa_frame *request, const struct kal_mpa_frame *reply,
		     char *text, size_t room)
{
	switch (verdict) {
	case KAL_MPA_GO:
		(void)snprintf(text, room, "both ends agree");
		return;
	case KAL_MPA_REFUSE_MARKERS:
		(void)snprintf(text, room, "the Request has M: the peer wants markers");
		return;
	case KAL_MPA_CLOSE_MARKERS:
		(void)snprintf(text, room, "the Reply has M: the peer wants markers");
		return;
	case KAL_MPA_CLOSE_EARLY:
		(void)snprintf(text, room, "octets came behind the Request, before the Reply");
		return;
	case KAL_MPA_CLOSE_NO_ROOM:
		(void)snprintf(text, room, "the peer has no room for one more request");
		return;
	case KAL_MPA_CLOSE_REJECTED:
		(void)snprintf(text, room, "the Reply has R, and %u octets of private data",
			       (unsigned)reply->private_len);
		return;
	case KAL_MPA_CLOSE_NO_WORDS:
		(void)snprintf(text, room,
			       "the Request states IRD %u and ORD %u, but the Reply, of revision "
			       "%u, has neither",
			       (unsigned)request->ird, (unsigned)request->ord,
			       (unsigned)reply->revision);
		return;
	case KAL_MPA_TERMINATE_IRD:
		(void)snprintf(
			text, room,
			"the ORD of the Reply is %u, above the own IRD of %u; Terminate 2006",
			(unsigned)reply->ord, (unsigned)offered->ird_max);
		return;
	case KAL_MPA_TERMINATE_RTR:
		rtr_text(request, reply, text, room);
		return;
	}
	(void)snprintf(text, room, "verdict %d", (int)verdict);
}
