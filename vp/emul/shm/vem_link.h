/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Links of a fabric between processes, and which thread reads them.
 *
 * A *link* joins two processes: a socket for packets (vem_packet.h) and, in each direction, a ring (vem_ring.h) and a
 * wake-up socket. A process connects to ("dials") a name; the process that listens there accepts. Each side begins with
 * a HELLO that carries the descriptors of the ring that it reads and of its wake-up socket. Everything that the other
 * side sends is checked, and an impossible value ends the link. When the socket for packets ends, the other process
 * counts as dead.
 *
 * Wake-up sockets are written with MSG_DONTWAIT. A process keeps one end for itself and passes the other: if both sides
 * had the same descriptor, the other side could change its flags and so block a thread of this process.
 *
 * Threads: the service thread handles packets, with the lock of the fabric. The role `rx` is the right to read all rings; a
 * thread that removes something that a reader could find owns it, too. The lock `out_lock` is owned while an entry is written. A
 * polling thread reads the rings itself; a leader, or the service thread, sleeps on an epoll set of the wake-up sockets
 * (vsw_leader.h). In a forked child `forked` is set, and no function here has an effect.
 */
#ifndef VEM_LINK_H
#define VEM_LINK_H

#include "vem.h"
#include "vem_packet.h"
#include "vem_path.h"
#include "vem_place.h"
#include "vem_ring.h"
#include "vsw_leader.h"

#define VEM_LINKS_MAX  256 /* of a fabric in this process */
#define VEM_SLOT_PAGES 256
#define VEM_SLOTS      256  /* connections in a page */
#define VEM_LINK_QUEUE 1024 /* packets that a slow reader may leave waiting */
#define VEM_LINK_TURN \
	(1u << 17) /* octets of long messages that the owner of rx writes before it reads again */
#define VEM_BLOCK_BITS 12 /* of a queue pair number: those that a process counts itself */
#define VEM_BLOCK_QPS  (1u << VEM_BLOCK_BITS)
#define VEM_BLOCKS     (1u << (24 - VEM_BLOCK_BITS))
#define VEM_LATELY     8 /* links that each poll reads, if there are many */
#define VEM_DIALS      16 /* processes that datagrams have dialed, and whose links are not there yet */
#define VEM_KEY_NONE   UINT64_C(0) /* no block has this number */

struct vem_remote;

struct vem_slot {
	_Atomic(struct vem_remote *) remote;
	uint32_t life; /* how often it was given away; under the fabric's lock, as its use */
};

struct vem_queued;

struct vem_link {
	struct vem_shm *shm;
	int sock;
	int wake_in;  /* to be read */
	int wake_out; /* of the other side */
	int far_wake; /* what the other side gets, until it has it */
	int ring_fd;  /* likewise */
	struct ri_watch watch;
	bool dialed;
	bool greeted;      /* its HELLO has come */
	uint64_t accepted; /* number of its accept: who came first */
	/* Of its queue pair numbers, as it says; under the fabric's lock, as the next two. */
	uint32_t block;
	bool proven;       /* the block is its own ... */
	bool liar;         /* ... or another process's */
	atomic_bool up;    /* both rings are there */
	atomic_bool reads; /* and it is read with all others: no rule of a tester stops it */
	atomic_bool broken;
	const char *_Atomic why;   /* why it broke, for the log; set before `broken` */
	char name[VEM_PLACE_NAME]; /* that was dialed; "": it is not used for another connect */
	uint64_t via; /* the key of the name that the other side dialed, if it has one */
	uint64_t
		key; /* of datagrams that go through it; under vem_shm::ud_lock, and the fabric's if changed */
	atomic_uint senders; /* uses by senders of datagrams */
	atomic_bool stuck;   /* datagrams that find no room are dropped at once */
	unsigned number;     /* its place in vem_shm::links */
	struct vem_slot *pages[VEM_SLOT_PAGES];
	pid_t far_pid; /* of the other process; 0: it is not known */
	/* Rules of a tester (vem_link_path.c); under the fabric's lock. */
	struct vem_path path;
	struct ri_timer round; /* reads what is late, or looks for what is lost */
	uint64_t seen;         /* the end of the ring at the last round */
	uint64_t lost_to;      /* datagrams before that index are lost; by the owner of rx */
	uint64_t waits_since;  /* something on a path that is cut; 0: nothing does */
	uint32_t hint;         /* no slot in front of it is free */
	uint32_t users;

	alignas(VSW_CACHE_LINE) struct vem_ring_in in; /* by the owner of the role rx */
	struct vem_remote *owing;                      /* have answers to write; likewise */
	struct vem_ring_page *in_page;
	uint32_t turn;     /* the slot whose queue is run first when there is room; likewise */
	unsigned received; /* messages of this round that took a receive; likewise */
	unsigned waits;    /* polls for which an ACK waits; likewise */
	uint32_t turned;   /* octets of long messages that were written in this turn; likewise */
	bool wanted;       /* its writer waits for room, and has not been woken; likewise */
	uint64_t woken_at; /* what was read then */

	alignas(VSW_CACHE_LINE) struct vsw_lock out_lock;
	struct vem_ring_out out;
	struct vem_ring_page *out_page;
	atomic_bool starved; /* a writer found no room: all are run when there is some */
	atomic_bool readies; /* a connection owes a READY */

	pthread_mutex_t queue_lock; /* of the socket as a place to write, and of what follows */
	atomic_bool deaf; /* the other side takes no packets any more; written under queue_lock */
	struct vem_queued *queue; /* packets that wait, oldest first */
	struct vem_queued **queue_end;
	unsigned queued;
};

/* A name that a listener has. */
struct vem_name {
	uint64_t key; /* of a group; or VEM_KEY_NONE */
	struct vem_shm *shm;
	int fd;
	char name[VEM_PLACE_NAME];
	struct ri_watch watch;
	struct ri_timer again; /* looks for connections that there was no descriptor for */
	struct vem_name *next; /* of the adapter's; under the lock for forks */
};

/* A process that datagrams have dialed; vem_remote_ud.c. */
struct vem_dial {
	uint64_t key; /* of its name */
	int fd;
};

/* A group in which this process has members. */
struct vem_group {
	struct vem_group *next; /* under ud_lock, and the fabric's if changed */
	uint64_t key;
	uint32_t members; /* queue pairs; 0: it ends. Under the fabric's lock */
	struct vem_name *name;
	char text[VEM_PLACE_NAME];
};

struct vem_shm {
	struct vem_fabric *fabric;
	const struct ri_host *host;
	struct vem_place place;
	uint32_t block; /* of queue pair numbers */
	struct vem_name own;
	struct vem_name *names; /* all, for a forked child */
	uint64_t mark;          /* of what `epfd` returns; ri_set.h */
	int epfd;
	/* Read with the fabric's lock, by the owner of rx, with sleep_lock or with ud_lock; a link leaves with all four. */
	_Atomic(struct vem_link *) links[VEM_LINKS_MAX];
	atomic_uint linked; /* places in use, from 0 */
	struct vsw_role rx;
	struct vsw_leader leader;
	struct vsw_lock sleep_lock;
	atomic_uint sleepers; /* leaders; under that lock, as a change of the next */
	atomic_bool asleep;   /* the other sides are asked to wake this one */
	struct vem_paths
		*paths;  /* rules of a tester, by processes; under the fabric's lock; NULL: none */
	uint32_t knocks; /* numbers of lives that have knocked; under the fabric's lock */
	uint64_t accepts;
	unsigned idle;               /* looks at all links that found nothing; of the owner of rx */
	unsigned look;               /* the place at which the next poll goes on; likewise */
	unsigned lately[VEM_LATELY]; /* places whose links had entries; likewise */
	unsigned latest;             /* the last one of them that was set; likewise */
	atomic_uint fired;           /* completion queues that have fired */
	struct ri_task reap;
	struct ri_task repath; /* rules of a tester have changed */
	struct ri_timer sweep;
	atomic_uint sweeps;      /* since a link has ended */
	bool closing;            /* under the fabric's lock */
	struct vsw_lock ud_lock; /* of the keys of links, and of what follows */
	unsigned dial_count;
	struct vem_dial dials[VEM_DIALS];
	uint64_t undialed;    /* the key whose link could not be made last ... */
	uint64_t undialed_at; /* ... and when */
	struct vem_group *groups;
	struct ri_task dial;
	atomic_bool forked;
	struct vem_shm *next; /* in the list for forks */
};

/* How often the process has polled; one of two polls at once may count for nothing. */
static inline uint32_t
vem_shm_polls(const struct vem_shm *shm)
{
	return (uint32_t)atomic_load_explicit(&shm->leader.polls, memory_order_relaxed);
}

/* --- vem_shm.c ---------------------------------------------------------------------------- */

/* NULL: no place, no name, no memory; the log says which. */
struct vem_shm *vem_shm_open(struct vem_fabric *fabric);
void vem_shm_close(struct vem_shm *shm);
/* Entries of vsw_doorbell; `engine` is a struct ri_rnic. */
uint32_t vem_shm_bell_poll(void *engine);
uint32_t vem_shm_bell_progress(void *engine, uint32_t budget);
bool vem_shm_bell_enter(void *engine, int *fd);
void vem_shm_bell_leave(void *engine);
/* Own the role rx, and give it up; for threads that remove something. */
void vem_shm_rx_take(struct vem_shm *shm);
void vem_shm_rx_drop(struct vem_shm *shm);
/* Read what was written before a packet that has come: what was done before the end is done. Not an owner of rx. */
void vem_shm_catch_up(struct vem_link *link);
/* Read up to that index, and do what readers do. Owner of rx. */
void vem_shm_read_to(struct vem_link *link, uint64_t end);
/*
 * This many octets of a message were executed, and more follow. True: other links must be served
 * before the rest, because a peer that writes as fast as this process reads would keep them
 * waiting. The caller owns rx.
 */
bool vem_link_turn_is_over(struct vem_link *link, uint32_t octets);
/* The caller will not read again: if a turn is over, the service thread goes on. Owner of rx. */
void vem_link_turn_pass(struct vem_link *link);
/* A process has ended: remove the names that it has left. */
void vem_shm_sweep_soon(struct vem_shm *shm);
/* The log names the call, if it was a sandbox that refused it. */
void vem_shm_refused(const struct vem_shm *shm, const char *call, int error);
/* A line of the log. */
__attribute__((format(printf, 3, 4))) void vem_shm_say(const struct vem_shm *shm, unsigned level,
						       const char *format, ...);
/* The name of a block of queue pair numbers in the fabric. */
void vem_shm_name_of_block(const struct vem_shm *shm, uint32_t block, char name[VEM_PLACE_NAME]);
/* The name of a service in the fabric. */
void vem_shm_name_of(const struct vem_shm *shm, const struct ri_service *service,
		     char name[VEM_PLACE_NAME]);
/* Take it for a listener: RI_ERR_IN_USE, RI_ERR_RESOURCES. */
enum ri_status vem_shm_name_take(struct vem_shm *shm, const struct ri_service *service,
				 struct vem_name **out);
void vem_shm_name_give(struct vem_name *name);
/* The same by its text, and with a key. */
enum ri_status vem_shm_name_new(struct vem_shm *shm, const char text[VEM_PLACE_NAME], uint64_t key,
				struct vem_name **out);

/* --- vem_link.c --------------------------------------------------------------------------- */

/* On the service thread, with the fabric's lock. */
struct vem_link *vem_link_to(struct vem_shm *shm, const struct ri_service *service, bool fresh,
			     enum ri_cm_reason *reason);
/* The same to the process that has a block of queue pair numbers; NULL: no process has it (RI_CM_REASON_REFUSED), or a lack. */
struct vem_link *vem_link_to_block(struct vem_shm *shm, uint32_t block, enum ri_cm_reason *reason);
/* Does the block of numbers that the other side names belong to it? The name of the block shows that. */
bool vem_link_has_block(struct vem_link *link);
/* Is it to the process that has the block, as far as that says? */
bool vem_link_leads_to(const struct vem_link *link, uint32_t block);
/* The same over a socket that is connected to that name already, and is the link's or closed from here on. NULL: no memory. */
struct vem_link *vem_link_over(struct vem_shm *shm, int fd, const char name[VEM_PLACE_NAME]);
/* A name was dialed: accept. On the service thread, with the fabric's lock. `via`: the key of the name. */
void vem_link_accept(struct vem_shm *shm, int fd, uint64_t via);
/* Handle the packets that have come. With the fabric's lock, on the service thread. */
void vem_link_packets(struct vem_link *link);
/* It has broken: its connections end, and it is freed when none is left. With the fabric's lock, on the service thread. */
void vem_link_reap(struct vem_link *link);
/* Free it. Its connections are gone; the owner of rx, or nobody else is there. */
void vem_link_free(struct vem_link *link);
/* Any thread: it breaks. `why` is constant text. */
void vem_link_break(struct vem_link *link, const char *why);
void vem_link_wake(struct vem_link *link);
/* Any thread; what the socket does not take waits. */
void vem_link_send(struct vem_link *link, const struct vem_packet *packet);

#endif /* VEM_LINK_H */
