/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The link over UDP: one socket for an address, port 4791, which all queue pairs of the address share.
 *
 * The socket is not connected and does not fragment: then Linux gives each IPv4 datagram the
 * identification 0, which the CRC covers and which a socket cannot see (roce_icrc.h). vro_udp_open
 * tests that. Over IPv6 there is no identification.
 *
 * Threads: one at a time, that of the engine. Nothing here blocks.
 */
#ifndef VRO_UDP_H
#define VRO_UDP_H

#include "vro_qp.h"

#define VRO_DATAGRAM  512u
#define VRO_UDP_BATCH 16u /* datagrams, or runs of them, of one receive call */
#define VRO_UDP_RUN   60u /* packets of one system call, at most */

/*
 * A run: packets of one flow that are passed to the kernel in one call, with UDP_SEGMENT. All have
 * the length of the first; only the last may be shorter.
 */
struct vro_run {
	struct vro_udp *udp; /* NULL: no packet is there */
	struct roce_flow flow;
	uint8_t *at;
	uint32_t count;
	uint32_t segment; /* octets of the first packet ... */
	uint32_t len;     /* ... and of all */
};

/* What is built and not sent; several sockets may share one. */
struct vro_out {
	uint8_t *octets;     /* room of two runs */
	struct vro_run full; /* the kernel did not take it ... */
	struct vro_run open; /* ... and the run behind it, which grows */
	uint64_t since;      /* ns: it has had no buffers since then; 0: it has */
};

struct vro_udp {
	struct vro_link link; /* first */
	int fd;
	uint8_t gid[16];
	uint32_t scope;      /* IPv6 link-local: index of the interface */
	uint32_t room;       /* octets that the kernel keeps of what came */
	bool alone;          /* the kernel does not segment for this socket */
	struct vro_out *out; /* `own`, or another socket's */
	struct vro_out own;
	uint8_t *batch;       /* room of what comes, and behind it own.octets */
	struct vro_inbox *in; /* what a receive call is given ... */
	uint32_t taken;       /* ... and how much of it the last one has used */
	bool bulk;            /* long runs come: receive one at a time, and answer it */
	bool many;            /* two calls in a row found something: receive a batch */
	bool found;           /* the last call did */
	atomic_bool reported; /* a call got an error that the kernel's queue still has */
	bool singly;          /* the system refuses to receive several datagrams by one call ... */
	bool deaf;            /* ... or any */
	uint64_t calls_out;   /* system calls that sent packets ... */
	uint64_t calls_in;    /* ... and that received some */
	uint64_t
		refused; /* packets that the kernel did not take for other reasons: no route, too long */
	/*
	 * The network reports that no socket listens at a destination; the report may be forged. `head` is
	 * the part of the packet that it quotes, `len` octets, perhaps none. May be NULL.
	 */
	void (*absent)(struct vro_udp *udp, const uint8_t gid[16], const uint8_t *head, size_t len);
	/*
	 * The system refuses to send or to receive, as a sandbox does; or packets could not be sent for a
	 * reason of this host, such as a smaller MTU of the interface, or an address that was removed. A
	 * refusal to receive is reported once. Called on the thread that sends or receives. May be NULL.
	 */
	void (*denied)(struct vro_udp *udp, bool receiving, int error);
	void *owner;
	/* vro_udp_receive, or what also gives the capture all that comes. */
	uint32_t (*receive)(struct vro_udp *udp, struct vro_engine *engine);
	/* A packet is sent, or has come; its flow has the identification that is known. NULL: nothing is captured. */
	void (*tap)(struct vro_udp *udp, const struct roce_flow *flow, const uint8_t *octets,
		    size_t len, bool received);
};

enum vro_ident {
	VRO_IDENT_GOOD = 0, /* the kernel sends identification 0, or there is none */
	VRO_IDENT_OTHER,    /* it sends another one: peers would drop all packets */
	VRO_IDENT_NOT_SEEN  /* it does not show what it sends */
};

/*
 * Open the socket of that address, or take over `shared`, a socket that is bound to it and that
 * several processes share (-1: none). If the call fails, `shared` still belongs to the caller.
 * *ident: which identifications the kernel uses. RI_ERR_IN_USE: another socket has the address;
 * RI_ERR_NO_ROUTE: this host does not have it; RI_ERR_RESOURCES.
 */
enum ri_status vro_udp_open(struct vro_udp *udp, const uint8_t gid[16], uint32_t scope, int shared,
			    enum vro_ident *ident) RI_MUST_CHECK;
/*
 * Open a socket that receives packets to a group on that interface (0: the one that the kernel
 * chooses). Other sockets may receive them, too. Nothing is sent by it. RI_ERR_RESOURCES.
 */
enum ri_status vro_udp_open_group(struct vro_udp *udp, const uint8_t gid[16],
				  uint32_t index) RI_MUST_CHECK;
void vro_udp_close(struct vro_udp *udp);
/*
 * From now on, the flows of received packets contain traffic class and hop limit. Only datagrams
 * deliver these, and reading them costs the kernel as much as a tenth of a short message. The
 * sockets of groups always read them.
 */
void vro_udp_headers(struct vro_udp *udp);
/* Give all packets from now on to this function, on the thread that sends or receives. */
void vro_udp_capture(struct vro_udp *udp,
		     void (*tap)(struct vro_udp *udp, const struct roce_flow *flow,
				 const uint8_t *octets, size_t len, bool received));
/* Receive what is there, at most one batch, and deliver it; vro_engine_flush follows. Returns the datagrams. */
uint32_t vro_udp_receive(struct vro_udp *udp, struct vro_engine *engine);
/*
 * Send a packet of at most VRO_DATAGRAM octets, without ICRC, that does not come from the engine.
 * It is lost if the kernel refuses it. Any thread.
 */
void vro_udp_datagram(struct vro_udp *udp, const struct roce_flow *flow, const uint8_t *octets,
		      size_t len);
/* Send all that is built. False: the kernel does not take it now. */
bool vro_udp_flush(struct vro_out *out);

#endif /* VRO_UDP_H */
