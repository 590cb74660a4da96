/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Atomics: results, atomicity, rights, bounds and alignment. */

#include <string.h>

#include "verbs_pair.h"

#define ATOMIC_ALL (CERT_ALL | RI_ACCESS_REMOTE_ATOMIC)

/* A connected pair, and words of the far side that may be changed. */
struct scene {
	struct pair pair;
	struct cert *cert;
	struct cert_region *words;
};

static void
scene_open(struct scene *scene, struct cert *cert)
{
	pair_connected(&scene->pair, cert);
	scene->cert = cert;
	scene->words = cert_region_new(scene->pair.far, 64, ATOMIC_ALL);
}

static uint64_t *
word(const struct cert_region *region, unsigned i)
{
	return (uint64_t *)(void *)region->at + i;
}

/* An atomic on a word of the far side; its result goes to a word of the near side. */
static struct ri_wr
atomic_of(struct scene *scene, enum ri_opcode opcode, unsigned i, struct ri_sge *result)
{
	*result = cert_sge(scene->pair.from, 0, 8);
	return (struct ri_wr){
		.wr_id = 1,
		.opcode = (uint8_t)opcode,
		.sgl = result,
		.num_sge = 1,
		.flags = RI_WR_SIGNALED,
		.u.remote = {.addr = (uintptr_t)word(scene->words, i), .stag = scene->words->stag}};
}

static uint64_t
done(struct scene *scene, const struct ri_wr *wr)
{
	struct ri_wc wc;

	memset(scene->pair.from->at, 0xa5, 16);
	cert_post(scene->pair.a, wr);
	wc = cert_wc_is(scene->pair.a, false, 1, RI_WC_SUCCESS);
	CERT_UINT(scene->cert, wc.opcode, ==, wr->opcode);
	CERT_UINT(scene->cert, wc.byte_len, ==, 8);
	CERT_UINT(scene->cert, *word(scene->pair.from, 1), ==, UINT64_C(0xa5a5a5a5a5a5a5a5));
	return *word(scene->pair.from, 0);
}

static void
fetch_add(struct cert *cert)
{
	static const uint64_t addends[] = {
		0, 1, UINT64_MAX, UINT64_C(1) << 63, UINT32_MAX, UINT64_C(0x0123456789abcdef)};
	struct scene scene;
	struct ri_sge result;
	uint64_t expected = UINT64_C(0xfedcba9876543210);

	scene_open(&scene, cert);
	*word(scene.words, 0) = *word(scene.words, 2) = 77;
	*word(scene.words, 1) = expected;
	for (size_t i = 0; i < G_N_ELEMENTS(addends); i++) {
		struct ri_wr wr = atomic_of(&scene, RI_OP_FETCH_ADD, 1, &result);

		wr.u.remote.operand = addends[i];
		CERT_UINT(cert, done(&scene, &wr), ==, expected);
		expected += addends[i];
		CERT_UINT(cert, *word(scene.words, 1), ==, expected);
	}
	CERT_UINT(cert, *word(scene.words, 0), ==, 77);
	CERT_UINT(cert, *word(scene.words, 2), ==, 77);
}

static void
compare_swap(struct cert *cert)
{
	struct scene scene;
	struct ri_sge result;
	struct ri_wr wr;

	scene_open(&scene, cert);
	*word(scene.words, 0) = *word(scene.words, 2) = 77;
	*word(scene.words, 1) = UINT64_C(0x8000000000000001);
	wr = atomic_of(&scene, RI_OP_CMP_SWAP, 1, &result);
	wr.u.remote.operand = UINT64_C(0x8000000000000001);
	wr.u.remote.swap = UINT64_C(0x1122334455667788);
	CERT_UINT(cert, done(&scene, &wr), ==, UINT64_C(0x8000000000000001));
	CERT_UINT(cert, *word(scene.words, 1), ==, UINT64_C(0x1122334455667788));
	cert_note(cert, "one bit differs, so nothing is swapped");
	wr.u.remote.operand = UINT64_C(0x1122334455667788) ^ UINT64_C(1) << 40;
	wr.u.remote.swap = 5;
	CERT_UINT(cert, done(&scene, &wr), ==, UINT64_C(0x1122334455667788));
	CERT_UINT(cert, *word(scene.words, 1), ==, UINT64_C(0x1122334455667788));
	CERT_UINT(cert, *word(scene.words, 0), ==, 77);
	CERT_UINT(cert, *word(scene.words, 2), ==, 77);
}

/* --- refusals ------------------------------------------------------------------------------ */

static void
expect_refused(struct scene *scene, const struct ri_wr *wr)
{
	cert_fill(scene->words->at, 64, 9);
	cert_post(scene->pair.a, wr);
	CERT_UINT(scene->cert, cert_wc(scene->pair.a, false).status, !=, RI_WC_SUCCESS);
	cert_wait_end(scene->pair.a);
	cert_wait_end(scene->pair.b);
	cert_expect_fill(scene->cert, "words that are not changed", scene->words->at, 64, 9);
}

static void
refusals(struct cert *cert)
{
	for (unsigned row = 0; row < 8; row++) {
		static const char *const names[] = {
			"a word that is not aligned", "a word behind the region",
			"a word before the region",   "a key that is wrong",
			"a region without the right", "a queue pair without the right",
			"a sink without the right",   "the key of a region that is gone"};
		struct scene scene;
		struct ri_sge result;
		struct ri_qp_init init;
		struct cert_region *other;
		struct ri_wr wr;

		cert_note(cert, "%s", names[row]);
		scene_open(&scene, cert);
		wr = atomic_of(&scene, RI_OP_FETCH_ADD, 0, &result);
		wr.u.remote.operand = 1;
		if (row == 0)
			wr.u.remote.addr += 4;
		else if (row == 1)
			wr.u.remote.addr += 64;
		else if (row == 2)
			wr.u.remote.addr -= 8;
		else if (row == 3)
			wr.u.remote.stag ^= 1u << 9;
		if (row == 4 || row == 7) {
			other = cert_region_new(scene.pair.far, 64,
						row == 4 ? CERT_ALL : ATOMIC_ALL);
			wr.u.remote.stag = other->stag;
			wr.u.remote.addr = (uintptr_t)other->at;
			if (row == 7)
				cert_region_free(other);
		} else if (row == 5) {
			init = cert_end_defaults(scene.pair.far);
			init.access &= ~(uint32_t)RI_ACCESS_REMOTE_ATOMIC;
			scene.pair.a = cert_end_new(scene.pair.near, NULL);
			scene.pair.b = cert_end_new(scene.pair.far, &init);
			cert_connect(scene.pair.a, scene.pair.b);
		} else if (row == 6) {
			other = cert_region_new(scene.pair.near, 64, RI_ACCESS_LOCAL_READ);
			result.stag = other->stag;
			result.addr = (uintptr_t)other->at;
		}
		expect_refused(&scene, &wr);
		cert_node_close(scene.pair.near);
		cert_node_close(scene.pair.far);
	}
}

/* --- atomicity ----------------------------------------------------------------------------- */

#define ROUNDS 400u

/* Two pairs add to one word, each with several requests outstanding. */
static void
two_pairs(struct cert *cert)
{
	struct scene scene;
	struct cert_end *a[2], *b[2];
	struct ri_sge result;
	uint32_t posted[2] = {0}, finished[2] = {0};
	gint64 until = 0;

	scene_open(&scene, cert);
	*word(scene.words, 3) = 0;
	for (unsigned i = 0; i < 2; i++) {
		a[i] = cert_end_new(scene.pair.near, NULL);
		b[i] = cert_end_new(scene.pair.far, NULL);
		cert_connect(a[i], b[i]);
	}
	while (finished[0] + finished[1] < 2 * ROUNDS) {
		for (unsigned i = 0; i < 2; i++) {
			struct ri_wr wr = atomic_of(&scene, RI_OP_FETCH_ADD, 3, &result);
			struct ri_wc wc;

			wr.u.remote.operand = 1 + i * UINT64_C(0x100000000);
			if (posted[i] < ROUNDS && posted[i] - finished[i] < 8) {
				cert_post(a[i], &wr);
				posted[i]++;
			}
			if (scene.pair.near->p->fast->poll_cq(a[i]->uscq, &wc, 1) > 0) {
				CERT_UINT(cert, wc.status, ==, RI_WC_SUCCESS);
				finished[i]++;
				until = 0;
			}
		}
		CERT_TRUE(cert, cert_patience(cert, &until));
	}
	CERT_UINT(cert, *word(scene.words, 3), ==, 2 * ROUNDS + ROUNDS * UINT64_C(0x100000000));
}

static const struct cert_case cases[] = {
	{.id = "verbs.atomic.add.0001",
	 .title = "Fetch-and-add returns the old value and adds 64 bits",
	 .rule = "[RI 10.5] [RI 3.1]",
	 .needs = "atomics max_ird max_ord",
	 .settles = "atomics",
	 .run = fetch_add},
	{.id = "verbs.atomic.swap.0001",
	 .title = "Compare-and-swap returns the old value and swaps only what is equal",
	 .rule = "[RI 10.5] [RI 3.1]",
	 .needs = "atomics max_ird max_ord",
	 .settles = "atomics",
	 .run = compare_swap},
	{.id = "verbs.atomic.refuse.0001",
	 .title = "An atomic without a right, out of bounds or not aligned changes nothing",
	 .rule = "[RI 5.3.2] [RI 3.3.3]",
	 .needs = "atomics max_ird max_ord",
	 .run = refusals},
	{.id = "verbs.atomic.order.0001",
	 .title = "Atomics of two queue pairs on one word lose nothing",
	 .rule = "[RI 10.5]",
	 .needs = "atomics max_ird max_ord",
	 .settles = "atomics",
	 .run = two_pairs},
};

CERT_SET(verbs_atomics, cases);
