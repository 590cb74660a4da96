/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Connection management datagrams (MADs of class 7), octets to fields and back: InfiniBand Architecture 1.2, volume 1,
 * chapters 12.6 (messages) and 13.4 (common header), as Linux's ib_cm sends and reads them.
 *
 * Pure functions: no state, no allocation, no I/O, any thread. The reader refuses values that no sender may send. It
 * accepts values that are permitted but not supported here (a path MTU, a transport, a service), since they are
 * answered by a message. Reserved bits are written as 0 and ignored.
 */
#ifndef VRC_MAD_H
#define VRC_MAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VRC_MAD_SIZE    256u
#define VRC_GID_SIZE    16u
#define VRC_INFO_MAX    72u  /* octets of additional information in a REJ, a SIDR_REP or an APR */
#define VRC_PRIVATE_MAX 224u /* the longest field of private data: that of RTU and DREP */
#define VRC_QPN_MIN     2u   /* 0 and 1 are the management queue pairs */
#define VRC_QPN_MAX     0xfffffeu /* 0xffffff is multicast */
#define VRC_RETRIES_MAX 15u       /* of a CM message; the field has 4 bits */
#define VRC_TIME_MAX    31u /* of a time, 4.096 us times 2 to that power; the field has 5 bits */

enum vrc_attribute {
	VRC_ATTR_CLASS_PORT_INFO = 0x01,
	VRC_REQ = 0x10,
	VRC_MRA,
	VRC_REJ,
	VRC_REP,
	VRC_RTU,
	VRC_DREQ,
	VRC_DREP,
	VRC_SIDR_REQ,
	VRC_SIDR_REP,
	VRC_LAP,
	VRC_APR
};

enum vrc_method {
	VRC_METHOD_GET = 0x01,
	VRC_METHOD_SET = 0x02,
	VRC_METHOD_SEND = 0x03, /* every CM message */
	VRC_METHOD_GET_RESP = 0x81
};

/* What is wrong with a datagram. */
enum vrc_found {
	VRC_FOUND_CM = 0,        /* nothing: a CM message */
	VRC_FOUND_LENGTH,        /* not 256 octets */
	VRC_FOUND_BASE_VERSION,  /* not 1 */
	VRC_FOUND_CLASS,         /* not connection management */
	VRC_FOUND_CLASS_VERSION, /* not 2 */
	VRC_FOUND_METHOD,        /* not Send */
	VRC_FOUND_STATUS,        /* an error that somebody reports */
	VRC_FOUND_ATTRIBUTE,     /* none of this class */
	VRC_FOUND_FIELD,         /* a value that no sender may send */
	VRC_FOUND_COUNT
};

/* The message that an MRA or a REJ answers. */
enum vrc_about {
	VRC_ABOUT_REQ = 0,
	VRC_ABOUT_REP,
	VRC_ABOUT_OTHER,
	VRC_ABOUT_COUNT
};

/* Reasons of a REJ that are sent here; vrc_reason.h has the meaning of all. */
enum vrc_rej_reason {
	VRC_REJ_NO_QP = 1,
	VRC_REJ_NO_RESOURCES = 3,
	VRC_REJ_TIMEOUT = 4, /* information: the CA GUID */
	VRC_REJ_UNSUPPORTED = 5,
	VRC_REJ_BAD_ID = 6,
	VRC_REJ_NO_SERVICE = 8,
	VRC_REJ_BAD_TRANSPORT = 9,
	VRC_REJ_STALE = 10,
	VRC_REJ_BAD_GID = 12, /* information: the GID of this side */
	VRC_REJ_BAD_MTU = 26, /* information: the largest code of this side, in one octet */
	VRC_REJ_NO_RESPONDERS = 27,
	VRC_REJ_CONSUMER = 28,
	VRC_REJ_BAD_CLASS_VERSION = 31
};

/* Statuses of a SIDR_REP. */
enum vrc_sidr_status {
	VRC_SIDR_FOUND = 0,
	VRC_SIDR_NO_SERVICE,
	VRC_SIDR_REJECTED,
	VRC_SIDR_NO_QP,
	VRC_SIDR_REDIRECTED,
	VRC_SIDR_BAD_VERSION,
	VRC_SIDR_COUNT
};

/* Statuses of an APR that are sent here. */
enum vrc_apr_status {
	VRC_APR_BAD_ID = 1,
	VRC_APR_UNSUPPORTED = 2
};

/* A path of a REQ: the primary or the alternate one. */
struct vrc_mad_path {
	uint16_t local_lid;
	uint16_t remote_lid;
	uint8_t local_gid[VRC_GID_SIZE];
	uint8_t remote_gid[VRC_GID_SIZE];
	uint32_t flow_label; /* 20 bits */
	uint8_t rate;        /* 6 bits */
	uint8_t traffic_class;
	uint8_t hop_limit;
	uint8_t sl; /* 4 bits */
	bool subnet_local;
	uint8_t ack_timeout; /* 5 bits */
};

struct vrc_mad_req {
	uint32_t vendor_id; /* 24 bits */
	uint64_t service_id;
	uint64_t guid; /* of the sender's channel adapter */
	uint32_t qkey;
	uint32_t qpn;            /* of the sender */
	uint8_t responder_depth; /* Reads and atomics that the sender serves at once */
	uint8_t initiator_depth; /* that it wants to have outstanding */
	uint8_t remote_timeout;  /* 5 bits: how long the receiver may take to answer */
	uint8_t transport;       /* 2 bits: 0 RC, 1 UC, 3 extended */
	bool flow_control;       /* end to end */
	uint32_t psn;            /* the first that the sender wants to receive */
	uint8_t local_timeout;   /* 5 bits: how long the sender takes to answer */
	uint8_t retry_count;     /* 3 bits, of the queue pairs */
	uint16_t pkey;
	uint8_t mtu; /* 4 bits: 1 to 5 for 256 to 4096 octets */
	bool rdc_exists;
	uint8_t rnr_retry;  /* 3 bits: of the receiver's queue pair */
	uint8_t cm_retries; /* 4 bits */
	bool srq;
	uint8_t extended; /* 3 bits */
	struct vrc_mad_path primary;
	struct vrc_mad_path alternate;
};

struct vrc_mad_rep {
	uint32_t vendor_id;
	uint32_t qkey;
	uint32_t qpn;
	uint32_t psn;
	uint8_t responder_depth;
	uint8_t initiator_depth;
	uint8_t ack_delay; /* 5 bits */
	uint8_t failover;  /* 2 bits */
	bool flow_control;
	uint8_t rnr_retry; /* 3 bits */
	bool srq;
	uint64_t guid;
};

struct vrc_mad_rej {
	uint8_t about; /* enum vrc_about */
	uint8_t info_len;
	uint16_t reason;
	uint8_t info[VRC_INFO_MAX];
};

struct vrc_mad_mra {
	uint8_t about;   /* enum vrc_about */
	uint8_t timeout; /* 5 bits: how long the sender's service takes */
};

struct vrc_mad_sidr_req {
	uint16_t pkey;
	uint64_t service_id;
};

struct vrc_mad_sidr_rep {
	uint8_t status; /* enum vrc_sidr_status */
	uint8_t info_len;
	uint32_t vendor_id;
	uint32_t qpn;
	uint64_t service_id;
	uint32_t qkey;
	uint8_t info[VRC_INFO_MAX];
};

struct vrc_mad_apr {
	uint8_t info_len;
	uint8_t status;
	uint8_t info[VRC_INFO_MAX];
};

/* One message. "Local" and "remote" are as its sender sees them. */
struct vrc_mad {
	uint16_t attribute; /* enum vrc_attribute */
	uint64_t tid;       /* transaction */
	uint32_t local_id;  /* communication id; SIDR: the request id */
	uint32_t remote_id; /* 0 in a REQ */
	union {
		struct vrc_mad_req req;
		struct vrc_mad_rep rep;
		struct vrc_mad_rej rej;
		struct vrc_mad_mra mra;
		uint32_t dreq_qpn; /* that of the receiver */
		struct vrc_mad_sidr_req sidr_req;
		struct vrc_mad_sidr_rep sidr_rep;
		struct vrc_mad_apr apr;
	};
	/* The field of private data; its length is not on the wire. A LAP has none here: nothing of it is read. */
	uint8_t private_data[VRC_PRIVATE_MAX];
};

/* Octets of the field of private data of such a message; 0: no message, or a LAP. */
size_t vrc_private_room(uint16_t attribute);

/* Read a datagram. Anything but VRC_FOUND_CM leaves *mad undefined. */
enum vrc_found vrc_mad_read(const void *octets, size_t len, struct vrc_mad *mad);

/* Write one; values beyond their field are cut to it. */
void vrc_mad_write(const struct vrc_mad *mad, uint8_t octets[VRC_MAD_SIZE]);

/*
 * Make the answer to a datagram that is not a CM message, if its sender waits for one: a GetResp
 * with a status, for a Get or a Set of this class. False: no answer is due.
 */
bool vrc_mad_refuse(const void *octets, size_t len, enum vrc_found found,
		    uint8_t answer[VRC_MAD_SIZE]);

/* For counters and logs. */
const char *vrc_found_name(enum vrc_found found);
const char *vrc_attribute_name(uint16_t attribute);

/* vrc_mad_req.c, for vrc_mad.c: the body of a REQ from its ninth octet on (behind the id). */
struct wire_reader;
struct wire_writer;
void vrc_mad_req_read(struct wire_reader *r, struct vrc_mad_req *req);
void vrc_mad_req_write(struct wire_writer *w, const struct vrc_mad_req *req);

#endif /* VRC_MAD_H */
