/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Addresses and lengths of 64 bits: an address that differs from one in a region by a multiple of
 * 2^32 must be refused, although the lower halves are equal; a region may cross a multiple of 2^32,
 * or be longer than 2^32 octets. The long region consists of few pages that are mapped many times.
 */

#include <sys/mman.h>
#include <unistd.h>

#include "verbs_reach.h"

#define GIB4   (UINT64_C(1) << 32)
#define ROOM   768u
#define START  256u /* the region: [START, START + LENGTH) of the memory */
#define LENGTH 256u
#define PIECE  64u

static struct ri_mr *
region_of(struct reach *reach, const struct ri_mr_init *init, uint32_t *stag)
{
	struct ri_mr *mr = NULL;

	CERT_VERB(reach->cert, RI_SUCCESS,
		  reach->owner->p->mem->mr_reg(reach->owner->pd, init, &mr, stag));
	return mr;
}

static void
deregister(struct reach *reach, struct ri_mr *mr)
{
	CERT_VERB(reach->cert, RI_SUCCESS, reach->owner->p->mem->mr_dereg(mr));
}

/* --- beyond a region --------------------------------------------------------------------------- */

/* How far from a range of the region, modulo 2^64. */
static const uint64_t distances[] = {
	GIB4,       0 - GIB4,   GIB4 / 2,          0 - GIB4 / 2,      GIB4 * 3,
	GIB4 + 7,   GIB4 << 1,  UINT64_C(1) << 40, UINT64_C(1) << 47, UINT64_C(1) << 48,
	GIB4 << 24, GIB4 << 31, UINT64_C(1) << 24, UINT64_C(1) << 16,
};

/* Octets of an operation whose end, or whose length, is all right in 31 or 32 bits. A Send of them may be too long at all. */
static const uint32_t lengths[] = {UINT32_MAX, UINT32_MAX - PIECE + 1, UINT32_C(1) << 31,
				   (UINT32_C(1) << 31) + PIECE};

static void
beyond(struct cert *cert, enum reach_subject subject)
{
	static uint8_t memory[ROOM] __attribute__((aligned(16)));
	uint8_t expected[ROOM];
	struct ri_mr_init init = {
		.addr = (uintptr_t)memory + START, .length = LENGTH, .access = reach_rights(cert)};
	struct ri_sge good = {.addr = init.addr + 16, .length = subject == REACH_ADD ? 8 : PIECE};
	struct reach reach;
	struct ri_mr *mr;

	if (!reach_can(cert, subject))
		return;
	cert_note(cert, "%s", reach_name(subject));
	reach_open(&reach, cert, subject);
	mr = region_of(&reach, &init, &good.stag);
	reach_over(&reach, memory, expected, ROOM);
	for (size_t i = 0; i < G_N_ELEMENTS(distances); i++) {
		struct ri_sge bad = good;

		bad.addr += distances[i] & ~(subject == REACH_ADD ? UINT64_C(7) : 0);
		cert_note(cert, "%#" G_GINT64_MODIFIER "x octets beyond its region",
			  (guint64)distances[i]);
		reach_connect(&reach);
		reach_granted(&reach, &good, START + 16);
		reach_refused(&reach, &bad);
		reach_disconnected(&reach);
	}
	/* Of one that is refused at the peer the memory of this side must be that long, too; the case of long regions has it. */
	for (size_t i = 0; i < G_N_ELEMENTS(lengths) && !reach_remote(subject); i++) {
		struct ri_sge bad = good;

		if (subject == REACH_RECEIVE)
			break;
		bad.length = lengths[i];
		cert_note(cert, "%u octets of a region of %u", bad.length, LENGTH);
		reach_connect(&reach);
		reach_granted(&reach, &good, START + 16);
		reach_refused(&reach, &bad);
		reach_disconnected(&reach);
	}
	deregister(&reach, mr);
	reach_close(&reach);
}

static void
beyond_local(struct cert *cert)
{
	beyond(cert, REACH_SEND);
	beyond(cert, REACH_WRITE_FROM);
	beyond(cert, REACH_RECEIVE);
	beyond(cert, REACH_READ_INTO);
}

static void
beyond_remote(struct cert *cert)
{
	beyond(cert, REACH_WRITE);
	beyond(cert, REACH_READ);
	beyond(cert, REACH_ADD);
}

/* --- segments whose sum does not fit ------------------------------------------------------------- */

/* Together they are as long as `sum` modulo 2^32. */
static void
too_long_together(struct pair *pair, uint32_t first, uint32_t sum, enum ri_opcode opcode)
{
	struct ri_sge sgl[2] = {pair->source, pair->source};
	struct ri_wr wr = {.wr_id = 1,
			   .opcode = (uint8_t)opcode,
			   .sgl = sgl,
			   .num_sge = 2,
			   .flags = RI_WR_SIGNALED,
			   .u.remote = {.addr = pair->sink.addr, .stag = pair->sink.stag}};
	struct cert *cert = pair->cert;

	sgl[0].length = first;
	sgl[1].length = sum - first;
	cert_note(cert, "%s of %u and %u octets", ri_opcode_name(opcode), sgl[0].length,
		  sgl[1].length);
	cert_fill(pair->into->at, VERBS_MEMORY, 3);
	if (opcode == RI_OP_SEND)
		cert_post_recv(pair->b, 2, &pair->sink, 1);
	cert_post(pair->a, &wr);
	CERT_UINT(cert, cert_wc(pair->a, false).status, !=, RI_WC_SUCCESS);
	cert_wait_end(pair->a);
	cert_wait_end(pair->b);
	cert_expect_fill(cert, "memory of the peer", pair->into->at, VERBS_MEMORY, 3);
	cert_node_close(pair->near);
	cert_node_close(pair->far);
}

static void
sums(struct cert *cert)
{
	static const uint32_t firsts[] = {UINT32_C(1) << 31, UINT32_MAX, UINT32_MAX - 15};
	static const uint32_t results[] = {0, 16};
	const struct ri_rnic_attr *attr = cert_attr(cert);
	const struct {
		enum ri_opcode opcode;
		uint32_t most;
	} rows[] = {{RI_OP_SEND, attr->max_send_sge},
		    {RI_OP_RDMA_WRITE, attr->max_write_sge},
		    {RI_OP_RDMA_READ, attr->max_ord > 0 ? attr->max_read_sge : 0}};
	bool some = false;

	for (size_t row = 0; row < G_N_ELEMENTS(rows); row++) {
		if (rows[row].most < 2)
			continue;
		some = true;
		for (size_t i = 0; i < G_N_ELEMENTS(firsts); i++) {
			for (size_t j = 0; j < G_N_ELEMENTS(results); j++) {
				struct pair pair;

				pair_connected(&pair, cert);
				too_long_together(&pair, firsts[i], results[j], rows[row].opcode);
			}
		}
	}
	if (!some)
		cert_not_claimed(cert, "requests of two segments are not claimed");
}

/* An inline request whose sum is short in 32 bits alone: the post refuses it, and looks at no octet. */
static void
inline_sums(struct cert *cert)
{
	static const uint32_t firsts[] = {UINT32_C(1) << 31, UINT32_MAX - 7};
	struct cert_node *near = cert_node_open(cert), *far = cert_node_open(cert);
	struct ri_qp_init init = cert_end_defaults(near);
	struct cert_region *from = cert_region_new(near, 64, CERT_ALL);
	struct ri_sge sgl[2] = {cert_sge(from, 0, 8), cert_sge(from, 8, 8)};
	struct ri_wr wr = {.opcode = RI_OP_SEND,
			   .sgl = sgl,
			   .num_sge = 2,
			   .flags = RI_WR_SIGNALED | RI_WR_INLINE};
	struct cert_end *a, *b;

	init.max_inline = MIN(16, cert_attr(cert)->max_inline);
	a = cert_end_new(near, &init);
	b = cert_end_new(far, NULL);
	if (a->init.max_send_sge < 2) {
		cert_not_claimed(cert, "requests of two segments are not claimed");
		return;
	}
	cert_connect(a, b);
	for (size_t i = 0; i < G_N_ELEMENTS(firsts); i++) {
		sgl[0].length = firsts[i];
		sgl[1].length = 0 - firsts[i];
		cert_note(cert, "%u and %u octets", sgl[0].length, sgl[1].length);
		CERT_FAST(cert, RI_ERR_LIMIT, near->p->fast->post_sq(a->uqp, &wr));
	}
	cert_wc_none(a, false);
}

/* --- regions across a multiple of 2^32 ----------------------------------------------------------- */

#define ACROSS_BEFORE 3001u
#define ACROSS_BEHIND 2999u
#define ACROSS_ROOM   16384u

/* The first byte of ACROSS_ROOM bytes with a multiple of 2^32 in the middle, or NULL: no such place is free. */
static uint8_t *
map_across(void)
{
	uint8_t *any = mmap(NULL, ACROSS_ROOM, PROT_NONE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	uint64_t middle;

	if (any == MAP_FAILED)
		return NULL;
	munmap(any, ACROSS_ROOM);
	middle = (uintptr_t)any & ~(GIB4 - 1);
	for (unsigned i = 0; i < 64 && middle > GIB4; i++, middle -= GIB4) {
		uint8_t *wanted = (uint8_t *)(uintptr_t)(middle - ACROSS_ROOM / 2);
		uint8_t *at = mmap(wanted, ACROSS_ROOM, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

		if (at == wanted)
			return at;
		if (at != MAP_FAILED)
			munmap(at, ACROSS_ROOM);
	}
	return NULL;
}

/* Ranges of such a region whose first octet is at `first`, and which is at `at` of the memory. */
static void
across(struct reach *reach, uint64_t first, size_t at, uint32_t stag)
{
	const uint32_t whole = ACROSS_BEFORE + ACROSS_BEHIND;
	const uint32_t piece = reach->subject == REACH_ADD ? 8 : REACH_MOST / 2 + 1;
	const uint32_t places[] = {0,
				   7,
				   ACROSS_BEFORE - 1,
				   ACROSS_BEFORE - piece,
				   ACROSS_BEFORE - piece / 2,
				   ACROSS_BEFORE,
				   whole - piece};
	const uint64_t outside[] = {first - 1, first + whole - piece + 1, first + GIB4,
				    first - GIB4, first + whole};

	for (size_t bad = 0; bad < G_N_ELEMENTS(outside); bad++) {
		struct ri_sge range = {.length = piece, .stag = stag};

		reach_connect(reach);
		for (size_t i = 0; i < G_N_ELEMENTS(places) && bad == 0; i++) {
			uint32_t place = places[i];

			if (reach->subject == REACH_ADD) /* a word that is aligned */
				place = (uint32_t)((((first + place + 7) & ~UINT64_C(7)) - first));
			if (place > whole - piece)
				continue;
			cert_note(reach->cert, "%s: %u octets from the octet %u",
				  reach_name(reach->subject), piece, place);
			range.addr = first + place;
			reach_granted(reach, &range, at + place);
		}
		range.addr = outside[bad];
		cert_note(reach->cert, "%s: from the octet %" G_GINT64_FORMAT,
			  reach_name(reach->subject), (gint64)(range.addr - first));
		reach_refused(reach, &range);
		reach_disconnected(reach);
	}
}

static void
across_memory(struct cert *cert)
{
	uint8_t *memory = map_across();
	g_autofree uint8_t *expected = g_malloc(ACROSS_ROOM);
	struct ri_mr_init init = {.length = ACROSS_BEFORE + ACROSS_BEHIND,
				  .access = reach_rights(cert)};

	if (memory == NULL) {
		cert_skip(cert, "no memory can be mapped there");
		return;
	}
	init.addr = (uintptr_t)memory + ACROSS_ROOM / 2 - ACROSS_BEFORE;
	for (int subject = 0; subject <= REACH_LAST; subject++) {
		struct reach reach;
		struct ri_mr *mr;
		uint32_t stag;

		if (!reach_can(cert, (enum reach_subject)subject))
			continue;
		reach_open(&reach, cert, (enum reach_subject)subject);
		reach_over(&reach, memory, expected, ACROSS_ROOM);
		mr = region_of(&reach, &init, &stag);
		across(&reach, init.addr, ACROSS_ROOM / 2 - ACROSS_BEFORE, stag);
		deregister(&reach, mr);
		reach_close(&reach);
	}
	munmap(memory, ACROSS_ROOM);
}

/* I/O addresses across 2^31, 2^32, 2^40 and 2^63. */
static void
across_names(struct cert *cert)
{
	static const uint64_t middles[] = {GIB4 / 2, GIB4, UINT64_C(1) << 40, UINT64_C(1) << 63};
	uint8_t *memory =
		mmap(NULL, ACROSS_ROOM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	g_autofree uint8_t *expected = g_malloc(ACROSS_ROOM);
	size_t at = ACROSS_ROOM / 2 - ACROSS_BEFORE;
	struct ri_mr_init init = {.length = ACROSS_BEFORE + ACROSS_BEHIND,
				  .access = reach_rights(cert),
				  .iova_given = true};

	CERT_TRUE(cert, memory != MAP_FAILED);
	init.addr = (uintptr_t)memory + at;
	for (int subject = 0; subject <= REACH_LAST; subject++) {
		struct reach reach;

		if (!reach_can(cert, (enum reach_subject)subject))
			continue;
		reach_open(&reach, cert, (enum reach_subject)subject);
		reach_over(&reach, memory, expected, ACROSS_ROOM);
		for (size_t i = 0; i < G_N_ELEMENTS(middles); i++) {
			struct ri_mr *mr;
			uint32_t stag;

			init.iova = middles[i] - ACROSS_BEFORE;
			cert_note(cert, "around %#" G_GINT64_MODIFIER "x", (guint64)middles[i]);
			mr = region_of(&reach, &init, &stag);
			across(&reach, init.iova, at, stag);
			deregister(&reach, mr);
		}
		reach_close(&reach);
	}
	munmap(memory, ACROSS_ROOM);
}

/* --- a region of more than 2^32 octets ------------------------------------------------------------- */

#define LONG_STEP  (UINT64_C(64) << 20)         /* octets of the file, mapped again and again */
#define LONG_WHOLE (GIB4 + (UINT64_C(2) << 20)) /* octets of the region */
#define LONG_ALIGN (UINT64_C(2) << 20)  /* of its first octet, for the large pages of zeros */
#define LONG_EDGE  (UINT64_C(64) << 10) /* octets of memory of its own, at either end */

/* Everything between the edges of a region that is written: the same file over and over. */
static bool
map_middle(uint8_t *at)
{
	int fd = memfd_create("it-certify", MFD_CLOEXEC);
	bool good = fd >= 0 && ftruncate(fd, (off_t)LONG_STEP) == 0;

	for (uint64_t from = 0; good && from < LONG_WHOLE; from += LONG_STEP) {
		size_t length = MIN(LONG_STEP, LONG_WHOLE - from);
		const void *there = mmap(at + from, length, PROT_READ | PROT_WRITE,
					 MAP_SHARED | MAP_FIXED, fd, 0);

		good = there == at + from;
	}
	if (fd >= 0)
		close(fd);
	return good;
}

/*
 * Maps the address range and its memory. Its first and its last LONG_EDGE octets have memory of
 * their own, so that an access that is wrong by 2^32 octets is found. Without the right to write,
 * no octet between them is ever written, and the kernel needs one page of zeros for all.
 */
static uint8_t *
map_long(bool written, uint8_t **whole)
{
	uint8_t *at;

	*whole = mmap(NULL, LONG_WHOLE + LONG_ALIGN, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (*whole == MAP_FAILED)
		return NULL;
	at = (uint8_t *)(((uintptr_t)*whole + LONG_ALIGN - 1) & ~(uintptr_t)(LONG_ALIGN - 1));
	(void)madvise(at, LONG_WHOLE, MADV_HUGEPAGE);
	if (written && !map_middle(at)) {
		munmap(*whole, LONG_WHOLE + LONG_ALIGN);
		return NULL;
	}
	for (unsigned i = 0; i < 2; i++) {
		uint8_t *edge = at + (i == 0 ? 0 : LONG_WHOLE - LONG_EDGE);

		const void *there = mmap(edge, LONG_EDGE, PROT_READ | PROT_WRITE,
					 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);

		if (there != edge) {
			munmap(*whole, LONG_WHOLE + LONG_ALIGN);
			return NULL;
		}
	}
	return at;
}

/* At both ends of the region the same offsets modulo 2^32. */
static void
long_subject(struct reach *reach, uint8_t *region, uint32_t stag)
{
	uint8_t expected[2][LONG_EDGE];
	uint8_t *edges[2] = {region, region + LONG_WHOLE - LONG_EDGE};
	uint64_t first = (uintptr_t)region;
	uint32_t piece = reach->subject == REACH_ADD ? 8 : 200;

	reach_connect(reach);
	for (unsigned i = 0; i < 2; i++)
		reach_over(reach, edges[i], expected[i], LONG_EDGE);
	for (unsigned i = 0; i < 4; i++) {
		unsigned edge = i % 2;
		size_t at = i < 2 ? 4096 + 16 : LONG_EDGE - piece;
		struct ri_sge range = {
			.addr = (uintptr_t)edges[edge] + at, .length = piece, .stag = stag};

		cert_note(reach->cert, "%s, from the octet %" G_GUINT64_FORMAT,
			  reach_name(reach->subject), (guint64)(range.addr - first));
		reach->memory = edges[edge];
		reach->expected = expected[edge];
		reach_granted(reach, &range, at);
		CERT_BYTES(reach->cert, edges[1 - edge], expected[1 - edge], LONG_EDGE);
	}
	cert_note(reach->cert, "%s, beyond the last octet", reach_name(reach->subject));
	reach->memory = edges[1];
	reach->expected = expected[1];
	reach_refused(reach, &(struct ri_sge){.addr = first + LONG_WHOLE - piece + 8,
					      .length = piece,
					      .stag = stag});
	CERT_BYTES(reach->cert, edges[0], expected[0], LONG_EDGE);
	reach_disconnected(reach);
}

/* Does the operation write to the memory that is tried? */
static bool
is_written(enum reach_subject subject)
{
	return subject == REACH_RECEIVE || subject == REACH_READ_INTO || subject == REACH_WRITE ||
	       subject == REACH_ADD;
}

/* All operations of one side on its long region. False: it cannot be registered. */
static bool
long_side(struct cert *cert, uint8_t *memory, bool there, bool written)
{
	struct ri_mr_init init = {.addr = (uintptr_t)memory,
				  .length = LONG_WHOLE,
				  .access = RI_ACCESS_LOCAL_READ | RI_ACCESS_REMOTE_READ};
	enum ri_status status;
	struct reach reach;
	struct ri_mr *mr = NULL;
	uint32_t stag;

	if (written)
		init.access = reach_rights(cert);
	reach_open(&reach, cert, there ? REACH_WRITE : REACH_SEND);
	cert_verb_begin(cert);
	status = reach.owner->p->mem->mr_reg(reach.owner->pd, &init, &mr, &stag);
	cert_verb_end(cert, CERT_WHERE, "mr_reg");
	if (status == RI_ERR_RESOURCES) { /* a device pins as much as this user may */
		reach_close(&reach);
		return false;
	}
	cert_expect_status(cert, CERT_WHERE, "a region of more than 2^32 octets", status,
			   RI_SUCCESS);
	for (int subject = 0; subject <= REACH_LAST; subject++) {
		bool remote = reach_remote((enum reach_subject)subject) || subject == REACH_RECEIVE;

		reach.subject = (enum reach_subject)subject;
		if (remote == there && is_written(reach.subject) == written &&
		    reach_can(cert, reach.subject))
			long_subject(&reach, memory, stag);
	}
	deregister(&reach, mr);
	reach_close(&reach);
	return true;
}

static void
long_region(struct cert *cert, bool written)
{
	uint8_t *whole, *memory;
	bool some;

	if (cert_attr(cert)->max_mr_length < LONG_WHOLE) {
		cert_not_claimed(cert, "max_mr_length is less");
		return;
	}
	memory = map_long(written, &whole);
	if (memory == NULL) {
		cert_skip(cert, "so much memory cannot be mapped");
		return;
	}
	some = long_side(cert, memory, false, written);
	some = long_side(cert, memory, true, written) || some;
	if (!some)
		cert_skip(cert, "so much memory cannot be registered");
	munmap(whole, LONG_WHOLE + LONG_ALIGN);
}

static void
long_read(struct cert *cert)
{
	long_region(cert, false);
}

static void
long_written(struct cert *cert)
{
	long_region(cert, true);
}

/* --- lengths of registrations and windows ----------------------------------------------------------- */

/* Lengths whose lower halves fit the memory. */
static const uint64_t long_lengths[] = {GIB4, GIB4 + 16, GIB4 + LENGTH, GIB4 << 8,
					(GIB4 << 8) + 16};

static void
registrations(struct cert *cert)
{
	struct cert_node *node = cert_node_open(cert);
	uint8_t *at = mmap(NULL, 2 * 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct ri_mr_init init = {.access = CERT_ALL};

	CERT_TRUE(cert, at != MAP_FAILED);
	CERT_TRUE(cert, mprotect(at, 4096, PROT_READ | PROT_WRITE) == 0);
	init.addr = (uintptr_t)at;
	for (size_t i = 0; i < G_N_ELEMENTS(long_lengths); i++) {
		struct ri_mr *mr = NULL;
		enum ri_status status;
		uint32_t stag;

		init.length = long_lengths[i];
		cert_note(cert, "%#" G_GINT64_MODIFIER "x octets; only 4096 are mapped",
			  (guint64)init.length);
		cert_verb_begin(cert);
		status = node->p->mem->mr_reg(node->pd, &init, &mr, &stag);
		cert_verb_end(cert, CERT_WHERE, "mr_reg");
		CERT_UINT(cert, status, !=, RI_SUCCESS);
		if (init.length <= node->attr.max_mr_length)
			CERT_TRUE(cert, status == RI_ERR_ADDRESS || status == RI_ERR_ACCESS ||
						status == RI_ERR_RESOURCES);
	}
	munmap(at, 2 * 4096);
}

static const struct cert_case cases[] = {
	{.id = "verbs.far.beyond.0001",
	 .title = "A segment a multiple of 2^32 octets beyond its region is refused, and so is one "
		  "of 2^31 octets and more",
	 .rule = "[RI 3.3.1] [RI 3.3.3]",
	 .run = beyond_local},
	{.id = "verbs.far.beyond.0002",
	 .title = "A peer reaches nothing a multiple of 2^32 octets beyond a region",
	 .rule = "[RI 3.3.1] [RI 3.3.3]",
	 .run = beyond_remote},
	{.id = "verbs.far.sum.0001",
	 .title = "Segments are added up in more than 32 bits",
	 .rule = "[RI 3.3.1]",
	 .run = sums},
	{.id = "verbs.far.sum.0002",
	 .title = "The segments of an inline request are added up in more than 32 bits",
	 .rule = "[RI 10.49]",
	 .needs = "inline_data",
	 .settles = "inline_data",
	 .run = inline_sums},
	{.id = "verbs.far.across.0001",
	 .title = "A region across a multiple of 2^32 is reached everywhere, and nothing around it",
	 .rule = "[RI 3.3.1] [RI 3.3.3]",
	 .run = across_memory},
	{.id = "verbs.far.across.0002",
	 .title = "I/O addresses across 2^31, 2^32, 2^40 and 2^63 name what they should",
	 .rule = "[RI 10.53]",
	 .needs = "iova",
	 .settles = "iova",
	 .run = across_names},
	{.id = "verbs.far.long.0001",
	 .title = "A region of more than 2^32 octets is read at both ends, each by its own address",
	 .rule = "[RI 3.3.1] [RI 3.3.3]",
	 .settles = "max_mr_length",
	 .run = long_read},
	{.id = "verbs.far.long.0002",
	 .title = "A region of more than 2^32 octets is written at both ends, each by its own "
		  "address",
	 .rule = "[RI 3.3.1] [RI 3.3.3]",
	 .settles = "max_mr_length",
	 .run = long_written,
	 .flags = CERT_SLOW},
	{.id = "verbs.far.register.0001",
	 .title = "The length of a registration counts with all its bits",
	 .rule = "[RI 2.1.1] [RI 3.3.1]",
	 .run = registrations},
};

CERT_SET(verbs_far, cases);
