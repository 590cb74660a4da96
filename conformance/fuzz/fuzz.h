/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * What the harnesses share: the entry that libFuzzer and fuzz_replay.c call, a cursor over the input, and
 * requirements. An input that ends early reads as zeros, so every input is valid for a harness.
 */
#ifndef FUZZ_H
#define FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Run one input. The result is 0; a defect ends the process. */
int LLVMFuzzerTestOneInput(const uint8_t *octets, size_t len);

/*
 * Report that the tested code has received `count` more messages (packets, ring entries, commands
 * or calls). An input is the whole life of a connection, in which a peer sends many messages;
 * tools/fuzz reports the numbers of both.
 */
void fuzz_messages(unsigned count);

/* What is left of an input. */
struct fuzz_input {
	const uint8_t *at;
	size_t left;
};

static inline uint8_t
fuzz_u8(struct fuzz_input *in)
{
	if (in->left == 0)
		return 0;
	in->left--;
	return *in->at++;
}

/* A number of that many octets, at most 8. */
static inline uint64_t
fuzz_number(struct fuzz_input *in, unsigned octets)
{
	uint64_t value = 0;

	while (octets-- > 0)
		value = value << 8 | fuzz_u8(in);
	return value;
}

/* At most `want` octets of the input; *len is how many there are. */
static inline const uint8_t *
fuzz_take(struct fuzz_input *in, size_t want, size_t *len)
{
	const uint8_t *at = in->at;

	*len = want < in->left ? want : in->left;
	in->at += *len;
	in->left -= *len;
	return at;
}

/* A copy of exactly these octets, so that a read behind them is found. To be freed. */
static inline uint8_t *
fuzz_copy(const uint8_t *octets, size_t len)
{
	uint8_t *copy = malloc(len > 0 ? len : 1);

	if (copy == NULL)
		abort();
	if (len > 0)
		memcpy(copy, octets, len);
	return copy;
}

/* The same as text, with a zero behind it. */
static inline char *
fuzz_text(const uint8_t *octets, size_t len)
{
	char *text = malloc(len + 1);

	if (text == NULL)
		abort();
	if (len > 0)
		memcpy(text, octets, len);
	text[len] = '\0';
	return text;
}

/* What must hold for every input. */
#define FUZZ_REQUIRE(condition)                                                           \
	do {                                                                              \
		if (!(condition)) {                                                       \
			fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, \
				#condition);                                              \
			abort();                                                          \
		}                                                                         \
	} while (0)

#endif /* FUZZ_H */
