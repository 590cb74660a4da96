/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * A ring of entries in memory that two processes share: one writes it, the other reads it. It is in a sealed memfd that the
 * reader has made. There is no lock in it, and no word that both write.
 *
 * The ring has lines of 64 octets. The first line of an entry has one word and a header of VEM_RING_HEAD octets; the octets of the
 * entry follow in whole lines. The word has the number of the lap and the length, and is stored last, so a reader that finds the
 * lap that it expects finds the whole entry. Before an entry is published, the word of the line behind it is cleared, so that old
 * octets there never look like an entry. An entry does not wrap: a word with VEM_RING_PAD fills the rest of the ring.
 *
 * Neither side trusts the other. The reader copies word and header once and checks the copies; the writer checks the index of
 * the reader, and keeps a private copy of its own. An impossible value breaks the ring for good (`broken`). A writer can change the
 * octets of an entry while they are copied, which damages only its own message. No access faults, since a sealed memfd keeps its size.
 *
 * A reader that is about to sleep stores that in its line of the page and checks the ring once more. A writer that
 * reads it there wakes the reader through the wake-up socket, once for each sleep, since sleeps are numbered. A writer
 * that finds no room stores that in its line; then vem_ring_release returns true, and the reader must wake the writer
 * if it sleeps.
 *
 * Threads: each struct belongs to one thread at a time.
 */
#ifndef VEM_RING_H
#define VEM_RING_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VEM_RING_LINE     64u
#define VEM_RING_LINES    4096u
#define VEM_RING_MAX      16384u /* octets of an entry */
#define VEM_RING_HEAD     56u    /* octets of its header */
#define VEM_RING_PAD      0x80000000u
#define VEM_RING_PAGE     4096u /* what is in front of the lines */
#define VEM_RING_SIZE     ((size_t)VEM_RING_PAGE + (size_t)VEM_RING_LINES * VEM_RING_LINE)
#define VEM_RING_STREAMED 2048u /* octets from which on a copy may go around the caches */

/* The memory; each line after the first is written by one side. */
struct vem_ring_page {
	uint8_t unused[VEM_RING_LINE];
	alignas(VEM_RING_LINE) _Atomic uint64_t read; /* lines read, by the reader, as the next */
	atomic_uint asleep; /* by the reader: 0, or the number of its sleep */
	alignas(VEM_RING_LINE) atomic_uint wants_room; /* by the writer */
};

struct vem_ring_line {
	_Atomic uint64_t word;
	uint8_t head[VEM_RING_HEAD];
};

/*
 * How long copies are stored: in the caches, or around them (non-temporal). Which is faster depends
 * on the machine and on the distance of the two processors. Near each other, one or the other takes
 * half the time; far from each other the second one takes an eighth; and a virtual machine may
 * move. So each lap uses one way, and is timed; every 128 laps, two laps use the other way as a
 * probe.
 */
struct vem_ring_ways {
	uint64_t lap;     /* that is under way */
	uint64_t ticks;   /* that its copies took, by the processor's counter */
	uint64_t lines;   /* that they copied */
	uint64_t cost[2]; /* of 256 lines in the caches, and around them; 0: not known */
	bool streams;     /* this lap goes around them */
};

/* The writer's side. */
struct vem_ring_out {
	struct vem_ring_page *page;
	struct vem_ring_line *lines;
	uint64_t written; /* lines */
	uint64_t read;    /* the reader's index when it was looked at last */
	bool wants;       /* wants_room is set */
	bool broken;
	atomic_uint
		woken; /* the number of the sleep from which the reader was woken last; by any thread */
	struct vem_ring_ways ways;
};

/* The reader's side. */
struct vem_ring_in {
	struct vem_ring_page *page;
	const struct vem_ring_line *lines;
	uint64_t read;     /* lines */
	uint64_t released; /* the index that the writer knows */
	uint32_t sleeps;
	bool broken;
};

/* An entry as the reader has it: copies, except of the octets. */
struct vem_ring_entry {
	uint8_t head[VEM_RING_HEAD];
	const uint8_t *octets; /* in the ring, until the entry is taken */
	uint32_t length;       /* of octets; 0 to VEM_RING_MAX */
	uint32_t lines;
};

/* --- the memory: vem_ring_map.c ---------------------------------------------------------------- */

/*
 * Make a ring: a sealed memfd, mapped. Returns its descriptor, or -1 with errno set, and *call is the system call that failed. A forked child
 * does not have the mapping.
 */
int vem_ring_create(struct vem_ring_page **page, const char **call);
/*
 * Map a ring that another process has made. NULL: either it is not what vem_ring_create makes, and errno is 0, or a
 * system call failed; *why says which. The caller still owns the descriptor, which is not needed any more.
 */
struct vem_ring_page *vem_ring_attach(int fd, const char **why);
void vem_ring_unmap(struct vem_ring_page *page);

void vem_ring_out_init(struct vem_ring_out *out, struct vem_ring_page *page);
void vem_ring_in_init(struct vem_ring_in *in, struct vem_ring_page *page);

/* --- writing ----------------------------------------------------------------------------------- */

/*
 * Find room for an entry with `length` octets; returns where the octets go. NULL: there is no room
 * now, or the ring is broken. Nothing is published until vem_ring_end.
 */
uint8_t *vem_ring_begin(struct vem_ring_out *out, uint32_t length);
/* Publish the entry. True: as vem_ring_must_wake. `streamed`: octets were stored around the caches. */
bool vem_ring_end(struct vem_ring_out *out, const uint8_t head[VEM_RING_HEAD], uint32_t length,
		  bool streamed);
/* Does the reader sleep, and has nobody woken it from this sleep? The caller does. Any thread. */
static inline bool
vem_ring_must_wake(struct vem_ring_out *out)
{
	unsigned asleep = atomic_load(&out->page->asleep);

	return asleep != 0 && atomic_exchange(&out->woken, asleep) != asleep;
}
/*
 * No room was found: ask the reader for a wake-up. True: try again, because there is now room for `length` octets, or
 * the ring is broken.
 */
bool vem_ring_want_room(struct vem_ring_out *out, uint32_t length);
/*
 * Copy to the ring, around the caches where that is worth it; then *streamed is set. False: a page of `from` is lost
 * (vsw_guard_take).
 */
bool vem_ring_copy(struct vem_ring_out *out, uint8_t *to, const uint8_t *from, size_t len,
		   bool *streamed) __attribute__((warn_unused_result));
/* Which way copies of that lap go. */
bool vem_ring_ways_lap(struct vem_ring_ways *ways, uint64_t lap);
/* What one of them took. */
void vem_ring_ways_took(struct vem_ring_ways *ways, uint64_t ticks, size_t octets);

/* --- reading ----------------------------------------------------------------------------------- */

/* The next entry. False: there is none, or the ring is broken. */
bool vem_ring_look(struct vem_ring_in *in, struct vem_ring_entry *entry);
/* The entry was read; its octets may be overwritten once it is released. */
void vem_ring_take(struct vem_ring_in *in, const struct vem_ring_entry *entry);
/*
 * Should the index of the reader be published now? Not for each entry, because both processes
 * access its line. `all`: nothing is left to read; then it is published after each entry if a
 * writer waits for room.
 */
static inline bool
vem_ring_release_due(const struct vem_ring_in *in, bool all)
{
	return in->read - in->released >= VEM_RING_LINES / 8 ||
	       (all && in->read != in->released &&
		atomic_load_explicit(&in->page->wants_room, memory_order_relaxed) != 0);
}
/* Tell the writer what was read. True: it waits for room. */
bool vem_ring_release(struct vem_ring_in *in);
/* The reader is about to sleep. False: there is an entry, or the ring is broken; it must not sleep. */
bool vem_ring_sleep(struct vem_ring_in *in);
void vem_ring_awake(struct vem_ring_in *in);

#endif /* VEM_RING_H */
