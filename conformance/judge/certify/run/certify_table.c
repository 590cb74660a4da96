/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include "certify_programs.h"

#include <stddef.h>

/* clang-format off */
const struct certify_program certify_programs[] = {
	/* adapters and objects */
	{"ia", "Adapters are opened, described and freed", "[IT 2.4] [IT 15.1]", false, 0},
	{"objects", "Endpoints and memory have the sizes and statuses of their calls", "[IT 3] [IT 8] [IT 15.4]", false, 0},
	{"attributes", "Attributes of endpoints are queried and modified by masks", "[IT 3]", false, 0},
	{"borders", "Arguments at their limits are accepted or refused", "[IT 15]", false, 0},
	{"statuses", "Calls return the statuses that the standard lists", "[IT 18]", false, 0},
	{"itx", "Extensions say what they can do, and do it", "[IT 15.11]", false, 0},
	{"descriptors", "An adapter is opened as soon as there are descriptors", "[IT 15.1]", false, 0},
	{"freeing", "Objects are freed while other threads use them", "[IT 2.2]", false, 0},
	{"fork", "A forked child opens adapters of its own", "[IT 1.13] [RI 11.3.4]", false, 0},
	{"many", "Many endpoints work at once", "[IT 2.1]", true, 300},

	/* events */
	{"evd", "Event dispatchers queue, wait and notify", "[IT 6.2] [IT 6.4]", false, 0},
	{"aevd", "Aggregates of event dispatchers notify", "[IT 6.5]", false, 0},
	{"callback", "Callbacks run as the standard says", "[IT 6.6]", false, 0},
	{"notify", "Completions notify when they are to", "[IT 6.2]", false, 0},
	{"async", "Asynchronous events name their causes", "[IT 14]", false, 0},
	{"async-wire", "Mistakes of an iWARP peer are told", "[IT 14]", false, 0},
	{"async-faults", "Faults of an adapter are told", "[IT 14]", false, 0},
	{"catastrophe", "An adapter that fails breaks its connections and refuses", "[IT 14] [RI 8.5]", false, 0},
	{"faults", "A failing verb is told and leaves nothing behind", "[IT 14]", false, 0},

	/* connections */
	{"states", "Endpoints have the states of the standard", "[IT 4]", false, 0},
	{"handshake", "Connections are made in two and in three steps", "[IT 4.3] [IT 4.4]", false, 0},
	{"listen", "Listeners queue requests, and end", "[IT 9.4]", false, 0},
	{"handoff", "Requests are handed off", "[IT 9.5]", false, 0},
	{"paths", "Addresses lead to paths", "[IT 10]", false, 0},
	{"pdata", "Private data arrives whole, up to its limits", "[IT 9.3]", false, 0},
	{"closing", "An adapter is freed while peers connect", "[IT 2.4]", false, 0},
	{"convert", "Connected sockets become endpoints", "[IT 11]", false, 0},
	{"convert-ends", "Conversions fail and end", "[IT 11.3]", false, 0},
	{"convert-use", "Converted sockets are used", "[IT 11.2]", false, 0},
	{"resize", "Queues are resized", "[IT 3]", false, 0},

	/* memory */
	{"lmr", "Regions are created, modified and queried", "[IT 8.4] [IT 8.8]", false, 0},
	{"dmabuf", "Memory of other devices is registered and used", "[IT 8.10] [RI 5.8.1]", false, 0},
	{"link", "Regions are linked and unlinked by requests", "[IT 8.9] [RI 5.5.1]", false, 0},
	{"privileged", "Privileged operations need the privilege", "[IT 8.9]", false, 0},
	{"rmr", "Windows are linked, used and unlinked", "[IT 8.5] [IT 8.6]", false, 0},
	{"rmr-checks", "Links of windows are checked", "[IT 8.5]", false, 0},

	/* transfers */
	{"dto", "Sends, Writes and Reads move data, in order, or are flushed", "[IT 7]", false, 0},
	{"atomic", "Atomic operations are atomic", "[IT 7.1]", false, 0},
	{"rulings", "The rulings of the specification hold", "[IT 17]", false, 0},
	{"srq", "Shared receive queues are shared", "[IT 12]", false, 0},
	{"srq-limits", "Watermarks of shared receive queues are told", "[IT 12]", false, 0},

	/* datagrams */
	{"ud", "Datagrams are sent and received", "[IT 5]", false, 0},
	{"ud-checks", "Requests of datagrams are checked", "[IT 5] [IT 15.9]", false, 0},
	{"ud-service", "Services of datagrams are resolved", "[IT 13]", false, 0},
	{"ud-faults", "Datagram endpoints fail with their adapter", "[IT 14]", true, 0},

	{NULL, NULL, NULL, false, 0},
};
/* clang-format on */

/* What no case of the level verbs can look at. */
const struct certify_text certify_settling[] = {
	{"many/1000", "max_qp max_cq"},
	{"async/inside/spigot", "port_events"},
	{"handshake/suppression", "ird_ord_suppressible"},
	{"convert/r-31-roles", "socket_conversion"},
	{"rulings/r-21-ascending", "in_order_placement"},
	{"srq/hard-high-watermark", "rq_hard_limit"},
	{NULL, NULL},
};
