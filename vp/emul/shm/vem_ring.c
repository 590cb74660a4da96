/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include "vem_ring.h"

#include <string.h>

#include "vsw_copy.h"

#define PROBES        128 /* laps from one probe to the next */
#define PROBE         2   /* its first lap among them */
#define LINES_FETCHED 3   /* of the next entry: header, octets, and the line behind it */

_Static_assert(sizeof(struct vem_ring_line) == VEM_RING_LINE, "a line");
_Static_assert(sizeof(struct vem_ring_page) <= VEM_RING_PAGE, "the indices have a page");

/* The lap of a line, never 0: a cleared word is no entry. */
static uint32_t
lap_of(uint64_t line)
{
	return (uint32_t)(line / VEM_RING_LINES % UINT32_MAX) + 1;
}

static uint32_t
lines_of(uint32_t length)
{
	return 1 + (length + VEM_RING_LINE - 1) / VEM_RING_LINE;
}

static struct vem_ring_line *
line_at(const struct vem_ring_out *out, uint64_t line)
{
	return &out->lines[line % VEM_RING_LINES];
}

void
vem_ring_out_init(struct vem_ring_out *out, struct vem_ring_page *page)
{
	*out = (struct vem_ring_out){
		.page = page,
		.lines = (struct vem_ring_line *)(void *)((uint8_t *)page + VEM_RING_PAGE)};
}

void
vem_ring_in_init(struct vem_ring_in *in, struct vem_ring_page *page)
{
	*in = (struct vem_ring_in){
		.page = page,
		.lines = (struct vem_ring_line *)(void *)((uint8_t *)page + VEM_RING_PAGE)};
}

/* --- writing ------------------------------------------------------------------------------ */

/* Lines that an entry takes: the rest of the lap before it, if it does not fit there, and the line behind it. */
static uint64_t
lines_needed(const struct vem_ring_out *out, uint32_t length, uint32_t *pad)
{
	uint32_t at = out->written % VEM_RING_LINES;
	uint32_t lines = lines_of(length);

	*pad = at + lines > VEM_RING_LINES ? VEM_RING_LINES - at : 0;
	return (uint64_t)*pad + lines + 1;
}

/* Is there room for that number of lines? The reader's index is read only if its last known value leaves too little room. */
static bool
has_room(struct vem_ring_out *out, uint64_t lines)
{
	if (out->written + lines - out->read <= VEM_RING_LINES)
		return true;

	uint64_t read = atomic_load_explicit(&out->page->read, memory_order_acquire);

	/* It goes forward, and not beyond what was written. */
	if (read - out->read > out->written - out->read) {
		out->broken = true;
		return false;
	}
	out->read = read;
	return out->written + lines - read <= VEM_RING_LINES;
}

uint8_t *
vem_ring_begin(struct vem_ring_out *out, uint32_t length)
{
	uint32_t pad;
	uint64_t lines = lines_needed(out, length, &pad);

	if (out->broken || !has_room(out, lines))
		return NULL;
	if (out->wants) {
		out->wants = false;
		atomic_store_explicit(&out->page->wants_room, 0, memory_order_relaxed);
	}
	if (pad != 0) {
		uint64_t word = (uint64_t)lap_of(out->written) << 32 | VEM_RING_PAD;
		struct vem_ring_line *line = line_at(out, out->written);

		atomic_store_explicit(&line_at(out, out->written + pad)->word, 0,
				      memory_order_relaxed);
		atomic_store_explicit(&line->word, word, memory_order_release);
		out->written += pad;
	}
	return (uint8_t *)(line_at(out, out->written) + 1);
}

/*
 * The reader used the next lines in the last lap, so its processor may own them. Fetch them for
 * writing in advance. The first line is not fetched, because the reader polls it.
 */
static inline void
lines_fetch(const struct vem_ring_out *out)
{
	for (unsigned i = 1; i <= LINES_FETCHED; i++)
		__builtin_prefetch(line_at(out, out->written + i), 1);
}

bool
vem_ring_end(struct vem_ring_out *out, const uint8_t head[VEM_RING_HEAD], uint32_t length,
	     bool streamed)
{
	struct vem_ring_line *line = line_at(out, out->written);
	uint64_t word = (uint64_t)lap_of(out->written) << 32 | length;

	memcpy(line->head, head, VEM_RING_HEAD);
	out->written += lines_of(length);
	atomic_store_explicit(&line_at(out, out->written)->word, 0, memory_order_relaxed);
#ifdef __x86_64__
	if (streamed)
		__asm__ volatile("sfence" ::: "memory");
#else
	(void)streamed;
#endif
	/* An exchange: either this reads that the reader sleeps, or the reader, which looks again, finds the entry. */
	atomic_exchange(&line->word, word);
	lines_fetch(out);
	return vem_ring_must_wake(out);
}

bool
vem_ring_want_room(struct vem_ring_out *out, uint32_t length)
{
	uint32_t pad;
	uint64_t lines = lines_needed(out, length, &pad);

	out->wants = true;
	atomic_store(&out->page->wants_room, 1);
	atomic_thread_fence(memory_order_seq_cst);
	return has_room(out, lines) || out->broken;
}

/* --- copying ------------------------------------------------------------------------------ */

bool
vem_ring_ways_lap(struct vem_ring_ways *ways, uint64_t lap)
{
	uint64_t *cost = &ways->cost[ways->streams];

	if (lap == ways->lap)
		return ways->streams;
	if (ways->lines >= VEM_RING_LINES / 2) {
		uint64_t took = ways->ticks * 256 / ways->lines;

		/* A thread that was stopped meanwhile says nothing about the copies: up slowly, down at once. */
		*cost = *cost == 0 || took < *cost ? took
			: took < *cost * 2         ? *cost + (took - *cost) / 8
						   : *cost + *cost / 8;
	}
	ways->lap = lap;
	ways->ticks = ways->lines = 0;
	/* The first lap of a probe finds the lines where those before it have left them; what the second one costs is what counts. */
	if (lap % PROBES == PROBE)
		ways->streams = !ways->streams;
	else if (lap % PROBES != PROBE + 1)
		/* Twice: octets that went around the caches cost the reader more, too. */
		ways->streams = ways->cost[1] != 0 && ways->cost[1] * 2 < ways->cost[0];
	return ways->streams;
}

void
vem_ring_ways_took(struct vem_ring_ways *ways, uint64_t ticks, size_t octets)
{
	ways->ticks += ticks;
	ways->lines += octets / VEM_RING_LINE;
}

#if defined(VSW_GUARDS)

/* Whole lines; `to` is aligned to 16. Not instrumented, as vsw_copy. */
static inline __attribute__((always_inline, warn_unused_result)) bool
stream(uint8_t *to, const uint8_t *from, size_t len)
{
#ifdef VSW_GUARD_ASAN
	__asan_loadN((void *)(uintptr_t)from, (long)len);
	__asan_storeN(to, (long)len);
#endif
	__asm__ volatile goto("1: movdqu (%[from]), %%xmm0\n\t"
			      "movdqu 16(%[from]), %%xmm1\n\t"
			      "movdqu 32(%[from]), %%xmm2\n\t"
			      "movdqu 48(%[from]), %%xmm3\n\t"
			      "movntdq %%xmm0, (%[to])\n\t"
			      "movntdq %%xmm1, 16(%[to])\n\t"
			      "movntdq %%xmm2, 32(%[to])\n\t"
			      "movntdq %%xmm3, 48(%[to])\n\t"
			      "addq $64, %[from]\n\t"
			      "addq $64, %[to]\n\t"
			      "subq $64, %[len]\n\t"
			      "jne 1b\n"
			      "2:\n\t" VSW_GUARD
			      : [to] "+r"(to), [from] "+r"(from), [len] "+r"(len)
			      :
			      : "xmm0", "xmm1", "xmm2", "xmm3", "cc", "memory"
			      : lost);
	return true;
lost:
	return false;
}

/* Apart: short copies do not carry it along. */
static __attribute__((noinline, warn_unused_result)) bool
copy_long(struct vem_ring_out *out, uint8_t *to, const uint8_t *from, size_t len, bool *streamed)
{
	struct vem_ring_ways *ways = &out->ways;
	bool streams = vem_ring_ways_lap(ways, out->written / VEM_RING_LINES);
	size_t whole = streams ? len & ~(size_t)(VEM_RING_LINE - 1) : 0;
	uint64_t begin = __builtin_ia32_rdtsc();

	if (streams)
		*streamed = true;
	if ((streams && !stream(to, from, whole)) ||
	    !vsw_copy(to + whole, from + whole, len - whole))
		return false;
	vem_ring_ways_took(ways, __builtin_ia32_rdtsc() - begin, len);
	return true;
}

bool
vem_ring_copy(struct vem_ring_out *out, uint8_t *to, const uint8_t *from, size_t len,
	      bool *streamed)
{
	return len >= VEM_RING_STREAMED && (uintptr_t)to % 16 == 0
		       ? copy_long(out, to, from, len, streamed)
		       : vsw_copy(to, from, len);
}

#else

bool
vem_ring_copy(struct vem_ring_out *out, uint8_t *to, const uint8_t *from, size_t len,
	      bool *streamed)
{
	(void)out;
	(void)streamed;
	return vsw_copy(to, from, len);
}

#endif

/* --- reading ------------------------------------------------------------------------------ */

/* The word of the next line. False: there is no entry, or it is not one that can be there. */
static bool
word_read(struct vem_ring_in *in, uint64_t *word)
{
	const struct vem_ring_line *line = &in->lines[in->read % VEM_RING_LINES];

	*word = atomic_load_explicit(&line->word, memory_order_acquire);
	if (*word == 0 || in->broken)
		return false;
	if (*word >> 32 != lap_of(in->read))
		in->broken = true;
	return !in->broken;
}

bool
vem_ring_look(struct vem_ring_in *in, struct vem_ring_entry *entry)
{
	uint64_t word;

	if (!word_read(in, &word))
		return false;
	if ((uint32_t)word == VEM_RING_PAD && in->read % VEM_RING_LINES != 0) {
		in->read += VEM_RING_LINES - in->read % VEM_RING_LINES;
		if (!word_read(in, &word))
			return false;
	}

	uint32_t at = in->read % VEM_RING_LINES;
	uint32_t length = (uint32_t)word;

	if (length > VEM_RING_MAX || at + lines_of(length) > VEM_RING_LINES) {
		in->broken = true;
		return false;
	}
	/* The first octets are copied after the header was checked, by way of the responder. */
	__builtin_prefetch(&in->lines[at + 1]);
	memcpy(entry->head, in->lines[at].head, VEM_RING_HEAD);
	entry->octets = (const uint8_t *)&in->lines[at + 1];
	entry->length = length;
	entry->lines = lines_of(length);
	return true;
}

void
vem_ring_take(struct vem_ring_in *in, const struct vem_ring_entry *entry)
{
	in->read += entry->lines;
}

bool
vem_ring_release(struct vem_ring_in *in)
{
	if (in->read == in->released)
		return false;
	in->released = in->read;
	/* Either this reads that the writer wants room, or the writer, which looks again, finds it. */
	atomic_store(&in->page->read, in->read);
	atomic_thread_fence(memory_order_seq_cst);
	return atomic_load(&in->page->wants_room) != 0;
}

bool
vem_ring_sleep(struct vem_ring_in *in)
{
	uint64_t word;

	if (++in->sleeps == 0)
		in->sleeps = 1;
	atomic_store(&in->page->asleep, in->sleeps);
	atomic_thread_fence(memory_order_seq_cst);
	return !word_read(in, &word) && !in->broken;
}

void
vem_ring_awake(struct vem_ring_in *in)
{
	atomic_store_explicit(&in->page->asleep, 0, memory_order_relaxed);
}
