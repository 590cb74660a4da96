/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * A librdmacm that a test simulates, and the rest of the provider as vib_cm*.c sees it. Each call is recorded; a test
 * makes calls fail and sends events. One thread, virtual time: nothing happens outside fake_run and fake_advance.
 */
#ifndef VIB_FAKE_H
#define VIB_FAKE_H

#include "vib_cm.h"
#include "vsw_test_host.h"

struct fake_qp {
	struct vib_qp qp;
	struct ri_task tell;
	struct ibv_qp device;
	GString *moves; /* of the device's queue pair: "INIT RTR RTS " */
	struct ibv_qp_attr last;
	bool failed; /* the device's queue pair is in its error state */
};

struct fake {
	struct vth *vth;
	struct ri_rnic rnic;
	struct ri_context context;
	struct ri_pd pd;
	struct ri_upcalls upcalls;
	struct ibv_device device;
	struct ibv_context verbs;
	struct ibv_ah_attr way;     /* to the peer, as the kernel has it */
	struct ibv_gid_entry *gids; /* the port's table, and its entries */
	uint32_t num_gids;
	struct ri_addr addrs[3];
	uint32_t num_addrs;
	bool addrs_unknown;      /* the kernel cannot be asked for them */
	GArray *upcalled;        /* struct ri_cm_event */
	bool hold;               /* a thread for a call does not run until fake_release */
	void (*held)(void *arg); /* what it is to run; NULL: there is none */
	void *held_arg;
	void (*in_connect)(void *arg); /* happens while rdma_connect runs */
	void *in_connect_arg;
	void (*in_accept)(void *arg); /* likewise, rdma_accept */
	void *in_accept_arg;
	struct vib_qp *refused; /* an event of the device, which was not read yet, ends it */
	void (*in_catch_up)(void *arg); /* reads the events of the device */
	void *in_catch_up_arg;
	void (*in_establish)(void *arg); /* likewise, rdma_establish */
	void *in_establish_arg;
	unsigned failures; /* how often the connection manager told that the device is gone */
	void (*lie)(struct rdma_cm_event *event); /* changes the next event */
	unsigned reads;                           /* of the event channel */
};

/* The one that exists. */
extern struct fake *fake_of_process;
/* A call of librdmacm: note it, and fail as told: -1, with errno. */
int fake_call(const char *name);
/* The last line of the log. */
const char *fake_last_log(void);

struct fake *fake_new(bool iwarp);
/* Opening the connection manager once more, with this error of the event channel; what the log must say then. */
enum ri_status fake_open_fails(struct fake *fake, int error, const char *text);
/* Checks that nothing is left. */
void fake_free(struct fake **fake);
void fake_run(struct fake *fake);
void fake_advance(struct fake *fake, uint64_t ms);

/* The thread that is held back runs its call. */
void fake_release(struct fake *fake);

struct fake_qp *fake_qp_new(struct fake *fake);
void fake_qp_free(struct fake_qp **qp);

/* The next upcall, which must be of this kind; the one returned is valid until the next call. */
const struct ri_cm_event *fake_upcall(struct fake *fake, enum ri_cm_event_kind kind);
void fake_no_upcall(const struct fake *fake);

/* The calls of librdmacm since the last look, each followed by a blank; without create_id and destroy_id. */
char *fake_calls(void);
#define fake_assert_calls(want_)                      \
	do {                                          \
		g_autofree char *had_ = fake_calls(); \
		g_assert_cmpstr(had_, ==, want_);     \
	} while (0)
/* From now on this call fails so; error 0: it works again. */
void fake_fail(const char *call, int error);
guint fake_live_ids(void);
/* The id that was made last. */
struct rdma_cm_id *fake_last_id(void);
const struct rdma_conn_param *fake_last_param(void);
/* The last one that was set. */
uint8_t fake_last_ack_timeout(void);
/* Private data of the last request, reply or refusal. */
const char *fake_last_pdata(void);

/* Send an event and handle it. */
void fake_event(struct fake *fake, struct rdma_cm_id *id, enum rdma_cm_event_type type, int status,
		const char *pdata);
/* A peer asks a listener; the id of the request. The event is handled. */
struct rdma_cm_id *fake_request(struct fake *fake, struct rdma_cm_id *listen, const char *pdata);

#endif /* VIB_FAKE_H */
