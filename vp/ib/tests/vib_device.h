/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * A device of libibverbs that a test simulates ("plays"), below the whole data path of the provider: posted requests
 * and receives are kept until the test completes them. Calls can be made to fail. One thread, virtual time.
 */
#ifndef VIB_DEVICE_H
#define VIB_DEVICE_H

#include "vib_ah.h"
#include "vib_objects.h"
#include "vsw_test_host.h"
#include <stdatomic.h>

#define DEVICE_ROOM 64

/* An ibv_ah. */
struct device_ah {
	struct ibv_ah ah;
	union ibv_gid dest;
};

/* A request as the device got it. */
struct device_wr {
	struct ibv_send_wr wr;
	uint32_t mw_rkey;    /* of a bind: the window's STag for libibverbs at the post */
	struct ibv_sge sge;  /* the first segment */
	uint8_t inlined[64]; /* what was copied with IBV_SEND_INLINE, if device::copies */
	uint32_t inlined_length;
};

/* The device, and the adapter that the provider has made of it. */
struct device {
	struct vth *vth;
	struct ibv_device device;
	struct ibv_context verbs;
	struct ri_rnic rnic;
	struct ri_context *context;
	struct ri_pd *pd;
	struct ri_cq *cq;
	struct ri_upcalls upcalls;
	struct ri_map map;

	unsigned calls; /* of ibv_post_send */
	unsigned sends; /* requests that it has */
	unsigned done;  /* of them, completed */
	struct device_wr sent[DEVICE_ROOM];
	unsigned recvs;
	uint64_t received[DEVICE_ROOM]; /* wr_id of the receives */
	int received_sges;              /* segments of the last one */
	unsigned
		refuse; /* the request with this number, from 1, and all behind it are refused; 0: none */
	bool unsaid; /* which one is refused */
	bool queues; /* it has queued a request that it refuses, and does not say which one that is */
	struct ibv_qp_attr moved; /* the last move of a queue pair, and its mask */
	int moved_mask;
	unsigned inits; /* moves to INIT, and the port of the last one */
	unsigned init_port;
	enum ibv_qp_type type; /* of the last queue pair */
	int rtr_error;         /* of these moves */
	int rts_error;
	void (*in_move)(struct device *device); /* happens in the next such move */
	int groups; /* attachments to multicast groups, and the last one that came or went */
	union ibv_gid group;
	int mcast_error;
	bool no_interface; /* it is not known */
	uint64_t reg_iova; /* of the last registration */
	bool in_error;     /* what a query says of a queue pair */
	int error;         /* with which error */
	int recv_error;    /* of a receive */
	unsigned completions;
	struct ibv_wc wc[DEVICE_ROOM];
	bool copies;                            /* inline data is looked at */
	unsigned inline_most;                   /* the most inline bytes of a queue pair */
	void (*in_post)(struct device *device); /* happens once, in the next post */
	void (*in_qp_destroy)(
		struct device *device); /* happens in the next destruction of a queue pair */
	bool flushes_receives;          /* of the queue pair that goes to its error state */
	void (*in_cq_destroy)(void);    /* happens in each destruction of a CQ */
	int regions, windows, qps;
	uint32_t next_qpn; /* the number of the next queue pair */
	atomic_int pds, ahs;
	bool ethernet;    /* link layer of the port */
	int thread_error; /* of a thread for a call */
	bool threads; /* calls that wait have threads of their own; else they run inside vib_call_start */
	int ah_error;    /* of ibv_create_ah for a peer */
	uint8_t ah_held; /* ibv_create_ah waits for peers whose address ends so; 0: for none */
	pthread_mutex_t ah_lock;
	pthread_cond_t ah_told;
	uint32_t last_key;
	int reg_error;
	bool read_only; /* its regions lie in memory that may not be written */
	int dmabuf_error; /* of a dmabuf with a descriptor; its answer to another one is dmabuf_probe */
	int dmabuf_probe;
	struct ri_dmabuf dmabuf; /* the last one that was registered */
	uint64_t dmabuf_addr;
	unsigned int dmabuf_access;
	bool two_keys;          /* its regions of a dmabuf have another key for peers */
	int create_error;       /* of a domain, CQ, queue pair or window */
	atomic_uint verbs_made; /* calls of libibverbs that make, change or post something */
	unsigned verb_refused;  /* the one with this number, from 1, fails; 0: none */
	int cqs, srqs;
	struct ibv_srq_attr srq_attr;             /* of the last shared receive queue */
	int srq_error;                            /* of a change of it */
	void (*in_notify)(struct device *device); /* happens in the next request for an event */
	unsigned cq_events;
	int init_error; /* of the way of a queue pair to its INIT state */
	unsigned init_failures;
	int cqe;           /* entries of the CQ */
	int cqe_less;      /* so many fewer than were asked for */
	bool inline_lies;  /* it says that it copies anything */
	bool inline_short; /* it makes a queue pair with half of the room that was asked for */
	int resize_error;
	bool gone;            /* it was removed: no verb that changes something works */
	bool watched;         /* it was asked to tell of failed completions */
	unsigned aborts;      /* of connections */
	GArray *cm_events;    /* struct ri_cm_event */
	GArray *async_events; /* struct ri_async_event */
};

extern struct device *device_of_process;

/* A call that makes, changes or posts something begins: 0, or the error with which it is refused. */
int device_verb(void);
/* The calls for a shared receive queue are in vib_device_srq.c; this one is in the table of the device. */
int device_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);

struct device *device_new(void);
/* Checks that nothing is left. */
void device_free(struct device **device);
/* A queue pair that can be posted to; of datagrams if @p ud. */
struct vib_qp *device_qp(struct device *device, bool ud);
/* With that number of requests outstanding. */
struct vib_qp *device_qp_of(struct device *device, bool ud, uint32_t room);
/* What these two make a queue pair of. */
struct ri_qp_init device_qp_init(bool ud, uint32_t room);
/* One that can be posted to if it is RC or UD; else as it was created. */
struct vib_qp *device_qp_made(struct device *device, struct ri_qp_init *init);
/* The peer for which ibv_create_ah waits is found, or with an error is not. */
void device_neighbour(struct device *device, int error);
/* Complete the oldest request that is not completed; of a failure, all behind it are flushed. */
void device_complete(struct device *device, enum ibv_wc_status status);
/* Complete the receive with this index. */
void device_receive(struct device *device, unsigned index, const struct ibv_wc *how);

#endif /* VIB_DEVICE_H */
