/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* A server over shared memory, and a process that connects with it by the bare protocol. */
#ifndef VEM_HOSTILE_H
#define VEM_HOSTILE_H

#include "vem_node.h"
#include "vem_remote.h"

#define HOSTILE_PORT 4713u

extern const char *hostile_adapter;
extern char *hostile_runtime; /* the folder of vem_runtime_begin() */

struct server {
	struct vth *vth;
	struct node *node;
	struct ri_service service;
	struct ri_listen *listen;
	struct ri_cm_params params;
};

struct server server_new(void);
/* All its events are forgotten. */
void server_free(struct server *s);
/* A connection works: it is made, carries a Write, and ends. */
void server_works(struct server *s);

/* A socket that is connected with the listener, and what it sends first. */
struct hostile {
	int sock;
	struct vem_packet hello;
	int fds[VEM_PACKET_FDS];
	struct vem_ring_page *ring; /* that the server reads */
};

struct hostile hostile_new(void);
/* False: the server has hung up before its greeting came, and nothing is left open. */
bool hostile_try(struct hostile *h);
/* It is cut off within 10 s. */
void hostile_expect_end(struct hostile *h);
void hostile_free(struct hostile *h);
/* A packet that the server takes, of its own personality. */
struct vem_packet good_hello(const struct hostile *h);
/* A packet with at most 16 descriptors. */
void send_fds(int sock, const void *octets, size_t len, const int *fds, unsigned count);

#endif /* VEM_HOSTILE_H */
