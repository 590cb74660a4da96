/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The meaning of each status, for the log: the sentence of it_api.h. A test compares the two.
 */
#include "ual_names.h"

#include <stddef.h>

static const char *const reasons[] = {
	[IT_SUCCESS] = "done, or accepted",
	[IT_ERR_ABORT] =
		"another thread is freeing the object or its adapter, or the provider failed in a "
		"way that no other status describes",
	[IT_ERR_ACCESS] =
		"the process itself may not read or write the pages as the asked privileges would",
	[IT_ERR_ADDRESS] = "the address range wraps around or is not mapped",
	[IT_ERR_AEVD_NOT_ALLOWED] = "an aggregate EVD is given where only a simple one is allowed, "
				    "or as member of another",
	[IT_ERR_ASYNC_AFF_EVD_EXISTS] =
		"the adapter has its EVD for affiliated asynchronous events already",
	[IT_ERR_ASYNC_UNAFF_EVD_EXISTS] =
		"the adapter has its EVD for unaffiliated asynchronous events already",
	[IT_ERR_CALLBACK_EXISTS] = "a callback is attached to the EVD",
	[IT_ERR_CANNOT_RESET] = "the transport is not yet finished with the endpoint, or the "
				"adapter's endpoints serve one connection only",
	[IT_ERR_CONN_QUAL_BUSY] = "the connection qualifier has a listen already",
	[IT_ERR_EP_BUSY] = "a narrow RMR is linked through the endpoint",
	[IT_ERR_EP_TIMEWAIT] = "the transport keeps the last connection in time-wait",
	[IT_ERR_EVD_BUSY] = "something still feeds the EVD",
	[IT_ERR_EVD_WAIT] = "a thread waits on the EVD",
	[IT_ERR_EVD_QUEUE_FULL] = "the EVD has no room for a software event",
	[IT_ERR_FAULT] = "a pointer that must not be NULL is NULL",
	[IT_ERR_HARD_HI_WATERMARK] = "the hard high watermark is not supported or cannot work",
	[IT_ERR_IA_CATASTROPHE] =
		"the adapter failed beyond recovery; only freeing works from here on",
	[IT_ERR_INTERRUPT] = "a signal handler ran during the wait; nothing was taken",
	[IT_ERR_INVALID_ADDR_MODE] = "the addressing mode is unknown or not supported here",
	[IT_ERR_INVALID_ADDRESS] =
		"the address does not fit: the sharing group, the mapping or the alignment",
	[IT_ERR_INVALID_AEVD] = "not the handle of an aggregate EVD of this adapter",
	[IT_ERR_INVALID_AH] = "not the handle of an address handle, or of another protection zone",
	[IT_ERR_INVALID_ATIMEOUT] = "connection attribute local_ack_timeout is out of range",
	[IT_ERR_INVALID_ATOMIC_OP] = "no such atomic operation",
	[IT_ERR_INVALID_CM_RETRY] = "connection attribute max_cm_retries is out of range",
	[IT_ERR_INVALID_CN_EST_FLAGS] =
		"the connection flags are unknown, contradict each other or are not supported",
	[IT_ERR_INVALID_CN_EST_ID] =
		"the identifier of a connection request is dead, used up, or another endpoint's",
	[IT_ERR_INVALID_CONN_EVD] =
		"not an EVD of the stream that connection events need, or of another adapter",
	[IT_ERR_INVALID_CONN_QUAL] =
		"the connection qualifier is malformed or of a kind not supported here",
	[IT_ERR_INVALID_CONVERSION] = "no rule leads from what is given to what is wanted",
	[IT_ERR_INVALID_DTO_FLAGS] = "a flag is unknown or not allowed for the operation",
	[IT_ERR_INVALID_EP] = "not the handle of an endpoint of this adapter",
	[IT_ERR_INVALID_EP_ATTR] = "an endpoint attribute is out of range or contradicts another",
	[IT_ERR_INVALID_EP_KEY] = "the datagram key is not allowed",
	[IT_ERR_INVALID_EP_STATE] = "the endpoint is in a state that does not allow the call",
	[IT_ERR_INVALID_EP_TYPE] = "the endpoint is of the other kind (connected or datagram)",
	[IT_ERR_INVALID_EVD] = "not the handle of an EVD",
	[IT_ERR_INVALID_EVD_STATE] = "the EVD is in use in a way that excludes the call",
	[IT_ERR_INVALID_EVD_TYPE] =
		"no event stream has this number, or the EVD is of the wrong stream",
	[IT_ERR_INVALID_FLAGS] = "a flag is unknown or contradicts another",
	[IT_ERR_INVALID_HANDLE] = "not the handle of any object of this interface",
	[IT_ERR_INVALID_IA] = "not the handle of an open adapter",
	[IT_ERR_INVALID_IOBL] =
		"the I/O buffer list is malformed, too long or of a kind not supported here",
	[IT_ERR_INVALID_LENGTH] = "the length is zero or does not fit",
	[IT_ERR_INVALID_LISTEN] = "not the handle of a listen",
	[IT_ERR_INVALID_LMR] = "not the handle of an LMR of this adapter",
	[IT_ERR_INVALID_LTIMEOUT] = "connection attribute local_cm_timeout is out of range",
	[IT_ERR_INVALID_MAJOR_VERSION] =
		"the interface version asked for is not one that the library knows",
	[IT_ERR_INVALID_MASK] = "the mask has a bit that the call does not allow",
	[IT_ERR_INVALID_MINOR_VERSION] =
		"the library knows the major version, but not this minor one",
	[IT_ERR_INVALID_NAME] = "no adapter has this name",
	[IT_ERR_INVALID_NETADDR] = "the network address is malformed or of a kind not usable here",
	[IT_ERR_INVALID_NUM_SEGMENTS] =
		"more segments than the endpoint or S-RQ allows, or none where one is needed",
	[IT_ERR_INVALID_PDATA_LENGTH] =
		"the private data is longer than the adapter carries with this message",
	[IT_ERR_INVALID_PRIVS] = "the privileges contradict each other or what the memory allows",
	[IT_ERR_INVALID_PZ] =
		"not the handle of a protection zone, or not the one that the objects share",
	[IT_ERR_INVALID_QUEUE_SIZE] = "the queue size is zero or below what is queued",
	[IT_ERR_INVALID_RECV_DTO] = "the number of receives is below what is outstanding",
	[IT_ERR_INVALID_RECV_EVD] =
		"not an EVD of the data transfer stream of this adapter (receive side)",
	[IT_ERR_INVALID_RECV_EVD_STATE] = "the receive EVD has overflowed",
	[IT_ERR_INVALID_REQ_EVD] =
		"not an EVD of the data transfer stream of this adapter (request side)",
	[IT_ERR_INVALID_REQ_EVD_STATE] = "the request EVD has overflowed",
	[IT_ERR_INVALID_RETRY] = "connection attribute retry_count is out of range",
	[IT_ERR_INVALID_RMR] = "not the handle of an RMR of this adapter",
	[IT_ERR_INVALID_RNR_RETRY] = "connection attribute rnr_retry_count is out of range",
	[IT_ERR_INVALID_RMR_TYPE] = "the RMR type is unknown or not supported here",
	[IT_ERR_INVALID_RTIMEOUT] = "connection attribute remote_cm_timeout is out of range",
	[IT_ERR_INVALID_SOFT_EVD] = "the EVD is not of the software event stream",
	[IT_ERR_INVALID_SOURCE_PATH] = "the local half of the path does not belong to this adapter",
	[IT_ERR_INVALID_SPIGOT] = "the adapter has no spigot with this number",
	[IT_ERR_INVALID_SRQ] = "not the handle of a shared receive queue of this adapter",
	[IT_ERR_INVALID_SRQ_SIZE] =
		"the size of the shared receive queue is zero or below what is outstanding",
	[IT_ERR_INVALID_THRESHOLD] = "the threshold is above the queue size",
	[IT_ERR_INVALID_UD_STATUS] = "no such status of a datagram service reply",
	[IT_ERR_INVALID_UD_SVC] =
		"not the handle of a datagram service request, or one whose answer is outstanding",
	[IT_ERR_INVALID_UD_SVC_REQ_ID] =
		"the identifier of a datagram service request is dead or used up",
	[IT_ERR_INVALID_WATERMARK] = "the watermarks contradict each other or the size of the S-RQ",
	[IT_ERR_LMR_BUSY] = "an RMR is linked to the LMR",
	[IT_ERR_MISMATCH_FD] = "a file descriptor was asked for without a place to put it",
	[IT_ERR_NO_CONTEXT] = "the consumer context was never set",
	[IT_ERR_NO_PERMISSION] = "the process lacks the privilege",
	[IT_ERR_OP_NOT_SUPPORTED] = "the adapter, or this release, does not support the operation",
	[IT_ERR_PAYLOAD_SIZE] = "more octets than one transfer may carry",
	[IT_ERR_PDATA_NOT_SUPPORTED] = "the adapter carries no private data with this message",
	[IT_ERR_PRIV_OPS_UNAVAILABLE] =
		"privileged operations are not open to this process or endpoint",
	[IT_ERR_PZ_BUSY] = "something still lives in the protection zone",
	[IT_ERR_QUEUE_EMPTY] = "the EVD holds no event",
	[IT_ERR_RANGE] = "the range is not inside the memory region",
	[IT_ERR_RESOURCES] =
		"memory, descriptors, keys or provider objects ran out; a later try may succeed",
	[IT_ERR_RESOURCE_IRD] = "beyond the adapter: inbound RDMA Reads",
	[IT_ERR_RESOURCE_LMR_LENGTH] = "beyond the adapter: length of a memory region",
	[IT_ERR_RESOURCE_ORD] = "beyond the adapter: outbound RDMA Reads",
	[IT_ERR_RESOURCE_QUEUE_SIZE] = "beyond the adapter: events in one EVD",
	[IT_ERR_RESOURCE_RECV_DTO] = "beyond the adapter: outstanding receives",
	[IT_ERR_RESOURCE_REQ_DTO] = "beyond the adapter: outstanding requests",
	[IT_ERR_RESOURCE_RRSEG] = "beyond the adapter: segments of one RDMA Read",
	[IT_ERR_RESOURCE_RSEG] = "beyond the adapter: segments of one receive",
	[IT_ERR_RESOURCE_RWSEG] = "beyond the adapter: segments of one RDMA Write",
	[IT_ERR_RESOURCE_SSEG] = "beyond the adapter: segments of one Send",
	[IT_ERR_SOFT_HI_WATERMARK] = "the soft high watermark is not supported or cannot work",
	[IT_ERR_SRQ_BUSY] = "an endpoint uses the shared receive queue",
	[IT_ERR_SRQ_LOW_WATERMARK] =
		"the low watermark is above the size of the shared receive queue",
	[IT_ERR_SRQ_NOT_SUPPORTED] = "the adapter has no shared receive queues",
	[IT_ERR_TIMEOUT_EXPIRED] = "the time ran out before the EVD notified; nothing was taken",
	[IT_ERR_TOO_MANY_POSTS] =
		"the queue holds as many requests as it may; take a completion first",
	[IT_ERR_WAITER_LIMIT] = "as many threads wait on the EVD as may (64)",
};

const char *
ual_reason(it_status_t value)
{
	unsigned int i = (unsigned int)value;

	if (i >= sizeof(reasons) / sizeof(reasons[0]) || reasons[i] == NULL)
		return UAL_NAME_UNKNOWN;
	return reasons[i];
}
