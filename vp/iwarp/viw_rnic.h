/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The objects of the iWARP provider except the queue pair, and the entries of its tables.
 */
#ifndef VIW_RNIC_H
#define VIW_RNIC_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "rnicpi.h"
#include "viw_engine.h"
#include "vsw_object.h"
#include "vsw_user.h"

/* Limits that the profile announces. */
#define VIW_MAX_SGE \
	64u /* of a Send, Write or receive; a queue has room for what it was created with */
#define VIW_MAX_DEPTH   256u /* IRD and ORD; rings have the size that is negotiated */
#define VIW_MAX_READ    1u   /* segments of the sink of a Read, see viw_read.c */
#define VIW_MAX_WR      16384u
#define VIW_MAX_CQE     (1u << 20)
#define VIW_MAX_QP      65536u
#define VIW_MAX_MR      65536u
#define VIW_MAX_OBJECTS (1u << 20)
#define VIW_MAX_MESSAGE 0xffffffffu
#define VIW_QPN_LAST    0xffffffu
#define VIW_QPN_ROWS    1024u

/* Bounds of waiting, ns. */
#define VIW_LINGER UINT64_C(2000000000) /* from the Terminate or FIN sent to the FIN received */
#define VIW_RETRY  UINT64_C(100000)     /* until the next try to take both roles */

/* ITAPI_IWARP_ALIGN: do FPDUs begin and end with TCP segments? */
enum viw_align {
	VIW_ALIGN_AUTO = 0, /* unless the peer is on this machine */
	VIW_ALIGN_ON,
	VIW_ALIGN_OFF
};

/* A spigot: a network interface, as it was when its events were last reported. The service thread writes it. */
struct viw_port {
	uint32_t index;   /* of the interface */
	char if_name[32]; /* its name, as it was reported last */
	/* Its newest name: after it was deleted, a new interface of that name replaces it. */
	char last_name[32];
	bool online;
	uint32_t num_addrs;
	struct ri_addr addrs[RI_PORT_ADDR_MAX];
};

struct viw_rnic {
	const struct ri_host *host;
	const struct ri_upcalls *upcalls;
	char name[64];
	struct vsw_cq_upcall cq_upcall;
	struct vsw_mem_table *mem;
	struct vsw_objects objects;
	struct vsw_doorbell bell;
	struct viw_engine engine;
	uint64_t rnr_ns;
	enum viw_align align;
	uint32_t num_ports;
	struct viw_port *ports;          /* num_ports of them; their members: lock */
	struct ri_watch interface_watch; /* changes of network interfaces; viw_interface_watch.c */
	pthread_mutex_t lock;            /* the four below */
	struct viw_qp *
		free_qps; /* memory of queue pairs: used again, not freed while the adapter is open */
	struct viw_qp *numbered[VIW_QPN_ROWS]; /* those that exist, by their numbers */
	uint32_t last_qpn; /* begins at random, so programs that come and go have other numbers */
	uint32_t num_qps;
};

struct viw_context {
	struct vsw_context context; /* first */
	struct viw_rnic *rnic;
	struct vsw_item qps; /* under context.lock */
};

/* viw_device.c */
enum ri_status viw_probe(const struct ri_host *host, struct ri_device_desc *descs, uint32_t *count);
enum ri_status viw_open(const struct ri_open *open, struct ri_rnic **out);
void viw_close(struct ri_rnic *rnic);
enum ri_status viw_query(struct ri_rnic *rnic, struct ri_rnic_attr *attr);
enum ri_status viw_context_create(struct ri_rnic *rnic, const struct ri_owner *owner,
				  struct ri_context **out, struct ri_map *map);
void viw_context_destroy(struct ri_context *context);
size_t viw_dump(struct ri_rnic *rnic, char *text, size_t room);

/* viw_ports.c */
struct viw_interface {
	uint32_t index;
	char name[32];
	bool up;            /* switched on */
	bool online;        /* and with a carrier */
	bool loopback;      /* reaches this machine only */
	uint32_t mtu;       /* octets */
	uint32_t num_addrs; /* listed; one with RI_PORT_ADDR_MAX may have more */
	struct ri_addr addrs[RI_PORT_ADDR_MAX];
};
/* All members but the first two are private; all zero: empty. */
struct viw_interfaces {
	struct viw_interface *list; /* on the heap */
	uint32_t count;
	uint32_t room, last;
	int error;
};
/* All interfaces of this network namespace. False: the query fails, and the list is empty. */
bool viw_interfaces(struct viw_interfaces *all);
void viw_interfaces_free(struct viw_interfaces *all);
/*
 * Only those that are up and have an address, in the order of viw_interfaces_sort. RI_ERR_RESOURCES: the query fails
 * now, and the list is empty.
 */
enum ri_status viw_interfaces_up(struct viw_interfaces *all) RI_MUST_CHECK;
/* The interface named `first` comes first, loopbacks come last, others stay in the order of the kernel. */
void viw_interfaces_sort(struct viw_interface *list, uint32_t count, const char *first);
/*
 * The interface of the default route of least metric in a table as /proc/net/route or /proc/net/ipv6_route
 * prints it. False: the table has no default route. name: 32 octets.
 */
bool viw_default_route(FILE *table, bool ipv6, char *name);
enum ri_status viw_query_port(struct ri_rnic *rnic, uint32_t port, struct ri_port_attr *attr);

/* viw_interface_watch.c */
/* Begin to raise events of spigots; RI_ERR_RESOURCES. */
enum ri_status viw_interface_watch_start(struct viw_rnic *rnic) RI_MUST_CHECK;
void viw_interface_watch_stop(struct viw_rnic *rnic);

/* viw_srq.c */
/* As vsw_srq_params::wake. */
void viw_srq_wake(struct vsw_srq_member *member);

/* viw_qp.c */
extern const struct ri_qp_ops viw_qp_ops;
void viw_qp_free_all(struct viw_rnic *rnic);

/* viw_stream.c */
extern const struct ri_llp_ops viw_llp_ops;

#endif /* VIW_RNIC_H */
