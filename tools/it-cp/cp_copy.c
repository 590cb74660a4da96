/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The receiver owns a ring of slots that the sender writes by RDMA. A chunk is written into slot n
 * % CP_SLOTS without a completion of its own; the message that announces it follows on the same
 * connection. The completion of that message at the sender shows that the source may be used again,
 * and its arrival at the receiver shows that the octets are in place.
 *
 * A crew of threads moves chunks between the file and the ring (cp_crew.h), so that the file, the
 * checksum and the connection are at work at the same time. The sender's own ring is smaller: its
 * crew reads AHEAD chunks, of which the first one is being sent, and they stay in the processor's
 * cache. The receiver's crew may be CP_BEHIND chunks behind the announcements that have arrived.
 */

#include <string.h>

#include "cp_copy.h"
#include "cp_crew.h"
#include "tool_error.h"
#include "tool_signal.h"

#define AHEAD 3 /* of them, two for the threads that a slow checksum has */

bool
cp_copy_open(struct cp_copy *copy, struct tool_mail *mail, enum cp_sum_kind kind, bool receiver,
	     GError **error)
{
	memset(copy, 0, sizeof(*copy));
	copy->mail = mail;
	copy->kind = kind;
	copy->slots = receiver ? CP_SLOTS : AHEAD;
	return tool_memory_make(&copy->ring, mail->link->adapter, copy->slots * CP_CHUNK,
				receiver ? IT_PRIV_REMOTE_WRITE : IT_PRIV_NONE, false, error);
}

void
cp_copy_close(struct cp_copy *copy)
{
	tool_memory_free(&copy->ring);
	g_clear_pointer(&copy->checksum, g_free);
}

/* Where that chunk is in a ring of `slots` slots. */
static size_t
slot_offset(uint64_t number, size_t slots)
{
	return (size_t)(number % slots) * CP_CHUNK;
}

static void
show_progress(const struct cp_copy *copy)
{
	if (copy->progress != NULL)
		copy->progress(copy, copy->progress_arg);
}

static bool
crew_begin(struct cp_crew *crew, const struct cp_copy *copy, int fd, bool sends, GError **error)
{
	struct cp_crew_task task = {
		.fd = fd,
		.fills_ring = sends,
		.ring = copy->ring.octets,
		.chunk = CP_CHUNK,
		.slots = copy->slots,
		.size = copy->size,
		.kind = copy->kind,
	};

	return cp_crew_begin(crew, &task, error);
}

static uint64_t
chunks_of(const struct cp_copy *copy)
{
	return copy->size / CP_CHUNK + (copy->size % CP_CHUNK != 0);
}

static bool
write_chunk(struct cp_copy *copy, uint64_t number, size_t len, GError **error)
{
	it_lmr_triplet_t part =
		tool_memory_part(&copy->ring, slot_offset(number, copy->slots), len);
	struct cp_letter letter = {.word = CP_CHUNK_READY, .number = number, .size = len};

	return tool_check(it_post_rdma_write(copy->mail->link->ep, &part, 1, 0, 0,
					     copy->peer_address + slot_offset(number, CP_SLOTS),
					     copy->peer_context),
			  "it_post_rdma_write", error) &&
	       cp_letter_send(copy->mail, &letter, error);
}

/* The receiver's next letter: a slot is free, or (*finished) the result. */
static bool
hear_receiver(struct cp_copy *copy, bool *finished, GError **error)
{
	struct cp_letter letter;
	bool good = cp_letter_receive(copy->mail, &letter, error);

	if (good && letter.word == CP_FREE && letter.number == copy->freed &&
	    copy->freed < copy->chunks) {
		copy->freed++;
	} else if (good && letter.word == CP_RESULT && letter.good) {
		*finished = true;
	} else if (good && letter.word == CP_RESULT) {
		good = tool_fail(error, TOOL_ERROR_PEER, "the receiver failed: %s", letter.text);
	} else if (good) {
		good = tool_fail(error, TOOL_ERROR_PEER, "the receiver is out of turn");
	}
	cp_letter_clear(&letter);
	return good;
}

/* Wait until the receiver has a slot for the chunk of this number. */
static bool
slot_await(struct cp_copy *copy, uint64_t number, GError **error)
{
	bool finished = false;

	while (number - copy->freed >= CP_SLOTS) {
		if (!hear_receiver(copy, &finished, error))
			return false;
		if (finished)
			return tool_fail(error, TOOL_ERROR_PEER, "the receiver finished too early");
	}
	return true;
}

/* Send all chunks of the file, as slots become free. */
static bool
send_chunks(struct cp_copy *copy, struct cp_crew *crew, GError **error)
{
	uint64_t total = chunks_of(copy);

	for (; copy->chunks < total; copy->chunks++) {
		uint64_t number = copy->chunks;

		if (tool_stopped())
			return tool_fail(error, TOOL_ERROR_INTERRUPTED, "interrupted");
		/* The slots of all chunks before this one may be filled anew: their letters have completed. */
		cp_crew_grant(crew, MIN(total, number + copy->slots));
		if (!slot_await(copy, number, error) || !cp_crew_await(crew, number + 1, error) ||
		    !write_chunk(copy, number, cp_crew_octets(crew, number), error))
			return false;
		copy->done += cp_crew_octets(crew, number);
		show_progress(copy);
	}
	return true;
}

/* Tell the receiver why there is no more data, if the connection still works. */
static void
abort_copy(struct cp_copy *copy, const GError *why)
{
	struct cp_letter letter = {.word = CP_ABORT, .text = why->message};

	if (copy->mail->link->connected && cp_letter_send(copy->mail, &letter, NULL))
		tool_link_linger(copy->mail->link);
}

bool
cp_send(struct cp_copy *copy, struct cp_source *source, GError **error)
{
	struct cp_letter finish = {.word = CP_FINISH, .size = source->size};
	GError *trouble = NULL;
	bool finished = false;
	struct cp_crew crew;
	bool good;

	copy->size = source->size;
	if (!crew_begin(&crew, copy, source->fd, true, error))
		return false;
	good = send_chunks(copy, &crew, &trouble) && cp_source_unchanged(source, &trouble);
	copy->checksum = cp_crew_end(&crew);
	if (!good) {
		if (!g_error_matches(trouble, TOOL_ERROR, TOOL_ERROR_PEER))
			abort_copy(copy, trouble);
		g_propagate_error(error, trouble);
		return false;
	}
	finish.text = copy->checksum;
	if (!cp_letter_send(copy->mail, &finish, error))
		return false;
	while (!finished) {
		if (!hear_receiver(copy, &finished, error))
			return false;
	}
	return true;
}

/* Wait for the crew until it is at most `behind` chunks behind the letters, and free what it has written. */
static bool
free_chunks(struct cp_copy *copy, struct cp_crew *crew, uint64_t behind, GError **error)
{
	while (copy->chunks - copy->freed > behind) {
		struct cp_letter letter = {.word = CP_FREE, .number = copy->freed};

		if (!cp_crew_await(crew, copy->freed + 1, error))
			return false;
		copy->done += cp_crew_octets(crew, copy->freed);
		copy->freed++;
		show_progress(copy);
		if (!cp_letter_send(copy->mail, &letter, error))
			return false;
	}
	return true;
}

/* Every chunk but the last is full, so the size of a file gives the number of its letters. */
static bool
take_chunk(struct cp_copy *copy, struct cp_crew *crew, const struct cp_letter *chunk,
	   GError **error)
{
	uint64_t number = copy->chunks;
	uint64_t total = chunks_of(copy);

	if (chunk->number != number || number >= total ||
	    chunk->size != cp_crew_octets(crew, number))
		return tool_fail(error, TOOL_ERROR_PEER, "the sender announced a wrong chunk");
	copy->chunks++;
	cp_crew_grant(crew, copy->chunks);
	return free_chunks(copy, crew, copy->chunks < total ? CP_BEHIND : 0, error);
}

static bool
copy_finish(struct cp_copy *copy, struct cp_target *target, const struct cp_letter *letter,
	    GError **error)
{
	if (copy->done != copy->size || letter->size != copy->size)
		return tool_fail(error, TOOL_ERROR_VERIFY,
				 "%" G_GUINT64_FORMAT " of %" G_GUINT64_FORMAT " octets arrived",
				 copy->done, copy->size);
	if (!g_str_equal(letter->text, copy->checksum))
		return tool_fail(error, TOOL_ERROR_VERIFY, "the %s differs: sent %s, arrived %s",
				 cp_sum_name(copy->kind), letter->text, copy->checksum);
	return cp_target_commit(target, error);
}

/* Take chunks up to the letter that follows them, which is *last. */
static bool
take_all(struct cp_copy *copy, struct cp_crew *crew, struct cp_letter *last, GError **error)
{
	bool more = true;
	bool good = true;

	while (good && more) {
		cp_letter_clear(last);
		good = !tool_stopped() || tool_fail(error, TOOL_ERROR_INTERRUPTED, "interrupted");
		good = good && cp_letter_receive(copy->mail, last, error);
		more = good && last->word == CP_CHUNK_READY;
		good = good && (!more || take_chunk(copy, crew, last, error));
	}
	return good;
}

/* Take all chunks and what ends them; the checksum is there then, in every case. */
static bool
take_file(struct cp_copy *copy, struct cp_target *target, GError **error)
{
	struct cp_letter letter = {0};
	struct cp_crew crew;
	bool good;

	if (!crew_begin(&crew, copy, target->fd, false, error))
		return false;
	good = take_all(copy, &crew, &letter, error);
	copy->checksum = cp_crew_end(&crew);
	if (good && letter.word == CP_FINISH)
		good = copy_finish(copy, target, &letter, error);
	else if (good && letter.word == CP_ABORT)
		good = tool_fail(error, TOOL_ERROR_PEER, "the sender failed: %s", letter.text);
	else if (good)
		good = tool_fail(error, TOOL_ERROR_PEER, "the sender is out of turn");
	cp_letter_clear(&letter);
	return good;
}

bool
cp_receive(struct cp_copy *copy, struct cp_target *target, GError **error)
{
	struct cp_letter result = {.word = CP_RESULT};
	GError *trouble = NULL;

	result.good = take_file(copy, target, &trouble);
	result.text = trouble != NULL ? trouble->message : copy->checksum;
	/* A file that has its name is copied, also if the sender is gone and does not learn it. */
	if (copy->mail->link->connected && cp_letter_send(copy->mail, &result, NULL) &&
	    !result.good)
		tool_link_linger(copy->mail->link);
	if (trouble != NULL)
		g_propagate_error(error, trouble);
	return result.good;
}
