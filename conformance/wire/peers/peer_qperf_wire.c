/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include <string.h>
#include <unistd.h>

#include "peer_qperf.h"
#include "tool_error.h"

#define BEFORE "synchronization before test"
#define AFTER  "synchronization after test"

#define MAJOR  0
#define MINOR  4
#define MINUTE 60

/* Where the fields are. Those that are not here have no meaning for the tests that are played. */
enum {
	REQUEST_MAJOR = 0,
	REQUEST_MINOR = 2,
	REQUEST_INCREMENT = 4,
	REQUEST_VERSIONS = 6, /* octets */
	REQUEST_TEST = 6,
	REQUEST_SIZE = 24,
	REQUEST_TIME = 60,
	REQUEST_TIMEOUT = 64,
	REQUEST_USE_CM = 68,
	REQUEST_OCTETS = 200,

	PORT_OCTETS = 4,

	NODE_ADDRESS = 0,
	NODE_KEY = 24,
	NODE_OCTETS = 40,

	RESULTS_PROCESSORS = 0,
	RESULTS_TICKS = 4,  /* in a second */
	RESULTS_BEGIN = 12, /* in ticks */
	RESULTS_END = 84,
	RESULTS_SENT = 156, /* octets, messages and errors, 8 octets each */
	RESULTS_RECEIVED = 180,
	RESULTS_OCTETS = 256,
};

bool
qperf_send_request(const struct peer_tcp *tcp, const struct qperf_request *request,
		   unsigned patience, GError **error)
{
	uint8_t octets[REQUEST_OCTETS] = {0};

	peer_little_put(octets + REQUEST_MAJOR, MAJOR, 2);
	peer_little_put(octets + REQUEST_MINOR, MINOR, 2);
	peer_little_put(octets + REQUEST_TEST, request->test, 2);
	peer_little_put(octets + REQUEST_SIZE, request->size, 4);
	peer_little_put(octets + REQUEST_TIME, request->time, 4);
	peer_little_put(octets + REQUEST_TIMEOUT, patience == 0 ? MINUTE : patience, 4);
	peer_little_put(octets + REQUEST_USE_CM, 1, 4);
	return peer_tcp_send(tcp, octets, sizeof(octets), "the request", error);
}

/* The version comes first, and is all that another version may have in common. */
static bool
receive_version(const struct peer_tcp *tcp, uint8_t octets[REQUEST_VERSIONS], GError **error)
{
	unsigned major;
	unsigned minor;

	if (!peer_tcp_receive(tcp, octets, REQUEST_VERSIONS, "a request", error))
		return false;
	major = (unsigned)peer_little_get(octets + REQUEST_MAJOR, 2);
	minor = (unsigned)peer_little_get(octets + REQUEST_MINOR, 2);
	return (major == MAJOR && minor == MINOR) ||
	       tool_fail(error, TOOL_ERROR_PEER,
			 "the client is qperf %u.%u.%u; only %d.%d is known here", major, minor,
			 (unsigned)peer_little_get(octets + REQUEST_INCREMENT, 2), MAJOR, MINOR);
}

bool
qperf_receive_request(const struct peer_tcp *tcp, struct qperf_request *request, GError **error)
{
	uint8_t octets[REQUEST_OCTETS];

	if (!receive_version(tcp, octets, error) ||
	    !peer_tcp_receive(tcp, octets + REQUEST_VERSIONS, sizeof(octets) - REQUEST_VERSIONS,
			      "the parameters of the request", error))
		return false;
	request->test = (unsigned)peer_little_get(octets + REQUEST_TEST, 2);
	request->size = (uint32_t)peer_little_get(octets + REQUEST_SIZE, 4);
	request->time = (uint32_t)peer_little_get(octets + REQUEST_TIME, 4);
	if (peer_little_get(octets + REQUEST_USE_CM, 4) != 1)
		return tool_fail(error, TOOL_ERROR_PEER,
				 "the client does not use the connection manager (-cm1)");
	if (request->size == 0 || request->size > PEER_MAX_SIZE)
		return tool_fail(error, TOOL_ERROR_PEER,
				 "the client wants messages of %u octets, not of 1 to %u",
				 request->size, (unsigned)PEER_MAX_SIZE);
	return (request->time > 0 && request->time <= PEER_MAX_TIME) ||
	       tool_fail(error, TOOL_ERROR_PEER,
			 "the client wants a test of %u seconds, not of 1 to %d", request->time,
			 PEER_MAX_TIME);
}

bool
qperf_send_port(const struct peer_tcp *tcp, uint16_t port, GError **error)
{
	uint8_t octets[PORT_OCTETS];

	peer_little_put(octets, port, sizeof(octets));
	return peer_tcp_send(tcp, octets, sizeof(octets), "the port for RDMA", error);
}

bool
qperf_receive_port(const struct peer_tcp *tcp, uint16_t *port, GError **error)
{
	uint8_t octets[PORT_OCTETS];
	uint64_t number;

	if (!peer_tcp_receive(tcp, octets, sizeof(octets), "the port for RDMA", error))
		return false;
	number = peer_little_get(octets, sizeof(octets));
	*port = (uint16_t)number;
	return (number > 0 && number <= UINT16_MAX) ||
	       tool_fail(error, TOOL_ERROR_PEER,
			 "the server listens for RDMA on port %" G_GUINT64_FORMAT ", which is none",
			 number);
}

bool
qperf_exchange_nodes(const struct peer_tcp *tcp, const struct qperf_node *ours,
		     struct qperf_node *theirs, uint32_t size, GError **error)
{
	uint8_t octets[NODE_OCTETS] = {0};

	peer_little_put(octets + NODE_ADDRESS, ours->address, 8);
	peer_little_put(octets + NODE_KEY, ours->key, 4);
	if (!peer_tcp_send(tcp, octets, sizeof(octets), "address and key", error) ||
	    !peer_tcp_receive(tcp, octets, sizeof(octets), "address and key", error))
		return false;
	theirs->address = peer_little_get(octets + NODE_ADDRESS, 8);
	theirs->key = (uint32_t)peer_little_get(octets + NODE_KEY, 4);
	return theirs->address <= UINT64_MAX - size ||
	       tool_fail(error, TOOL_ERROR_PEER,
			 "the peer's buffer of %u octets at %" G_GINT64_MODIFIER
			 "x goes beyond the last address",
			 size, theirs->address);
}

static bool
receive_text(const struct peer_tcp *tcp, const char *text, GError **error)
{
	char octets[sizeof(BEFORE)];
	size_t len = strlen(text);

	return peer_tcp_receive(tcp, octets, len, text, error) &&
	       (memcmp(octets, text, len) == 0 ||
		tool_fail(error, TOOL_ERROR_PEER, "the peer sent something else than \"%s\"",
			  text));
}

bool
qperf_synchronize(const struct peer_tcp *tcp, GError **error)
{
	return peer_tcp_send(tcp, BEFORE, strlen(BEFORE), BEFORE, error) &&
	       receive_text(tcp, BEFORE, error);
}

static void
put_traffic(uint8_t *at, const struct qperf_traffic *traffic)
{
	peer_little_put(at, traffic->octets, 8);
	peer_little_put(at + 8, traffic->messages, 8);
	peer_little_put(at + 16, traffic->errors, 8);
}

static void
get_traffic(const uint8_t *at, struct qperf_traffic *traffic)
{
	traffic->octets = peer_little_get(at, 8);
	traffic->messages = peer_little_get(at + 8, 8);
	traffic->errors = peer_little_get(at + 16, 8);
}

bool
qperf_send_results(const struct peer_tcp *tcp, const struct qperf_results *results, GError **error)
{
	uint8_t octets[RESULTS_OCTETS] = {0};
	uint64_t ticks = (uint64_t)sysconf(_SC_CLK_TCK);

	peer_little_put(octets + RESULTS_PROCESSORS, g_get_num_processors(), 4);
	peer_little_put(octets + RESULTS_TICKS, ticks, 4);
	peer_little_put(octets + RESULTS_BEGIN, (uint64_t)results->begin * ticks / G_USEC_PER_SEC,
			8);
	peer_little_put(octets + RESULTS_END, (uint64_t)results->end * ticks / G_USEC_PER_SEC, 8);
	put_traffic(octets + RESULTS_SENT, &results->sent);
	put_traffic(octets + RESULTS_RECEIVED, &results->received);
	return peer_tcp_send(tcp, octets, sizeof(octets), "the results", error);
}

/* The times of the server's clock are not looked at. */
bool
qperf_receive_results(const struct peer_tcp *tcp, struct qperf_results *results, GError **error)
{
	uint8_t octets[RESULTS_OCTETS];

	if (!peer_tcp_receive(tcp, octets, sizeof(octets), "the results", error))
		return false;
	get_traffic(octets + RESULTS_SENT, &results->sent);
	get_traffic(octets + RESULTS_RECEIVED, &results->received);
	return true;
}

bool
qperf_send_end(const struct peer_tcp *tcp, GError **error)
{
	return peer_tcp_send(tcp, AFTER, strlen(AFTER), AFTER, error);
}

bool
qperf_receive_end(const struct peer_tcp *tcp, GError **error)
{
	return receive_text(tcp, AFTER, error);
}
