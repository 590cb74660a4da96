/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The receiver owns a ring of slots that the sender writes by RDMA. A chunk is written into slot
 * n % CP_SLOTS without a completion of its own; the letter that announces it comes behind it on the
 * same connection, so it tells both that the source may be used again (its completion here) and
 * that the octets are in place (its arrival there).
 */

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "cp_copy.h"
#include "tool_error.h"
#include "tool_signal.h"

bool
cp_copy_open(struct cp_copy *copy, struct tool_mail *mail, enum cp_sum_kind kind, bool receiver,
	     GError **error)
{
	memset(copy, 0, sizeof(*copy));
	copy->mail = mail;
	copy->kind = kind;
	return tool_memory_make(&copy->ring, mail->link->adapter, CP_SLOTS * CP_CHUNK,
				receiver ? IT_PRIV_REMOTE_WRITE : IT_PRIV_NONE, false, error);
}

void
cp_copy_close(struct cp_copy *copy)
{
	tool_memory_free(&copy->ring);
	g_clear_pointer(&copy->checksum, g_free);
}

static size_t
slot_offset(uint64_t number)
{
	return (size_t)(number % CP_SLOTS) * CP_CHUNK;
}

static void
show(const struct cp_copy *copy)
{
	if (copy->progress != NULL)
		copy->progress(copy, copy->progress_arg);
}

/* Reads a whole chunk of the file into its slot. */
static bool
read_chunk(struct cp_source *source, uint8_t *octets, size_t len, GError **error)
{
	while (len > 0) {
		ssize_t got = read(source->fd, octets, len);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return tool_fail(error, TOOL_ERROR_FAILED, "cannot read the file: %s",
					 g_strerror(errno));
		if (got == 0)
			return tool_fail(error, TOOL_ERROR_FAILED,
					 "the file became shorter meanwhile");
		octets += got;
		len -= (size_t)got;
	}
	return true;
}

static bool
write_chunk(struct cp_copy *copy, uint64_t number, size_t len, GError **error)
{
	it_lmr_triplet_t part = tool_memory_part(&copy->ring, slot_offset(number), len);
	struct cp_letter letter = {.word = CP_CHUNK_READY, .number = number, .size = len};

	return tool_check(it_post_rdma_write(copy->mail->link->ep, &part, 1, 0, 0,
					     copy->peer_address + slot_offset(number),
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

/* Send all chunks of the file, as slots become free. */
static bool
send_chunks(struct cp_copy *copy, struct cp_source *source, struct cp_sum *sum, GError **error)
{
	bool finished = false;

	for (; copy->done < copy->size; copy->chunks++) {
		uint64_t number = copy->chunks;
		size_t len = (size_t)MIN(copy->size - copy->done, CP_CHUNK);
		uint8_t *octets = copy->ring.octets + slot_offset(number);

		if (tool_stopped())
			return tool_fail(error, TOOL_ERROR_INTERRUPTED, "interrupted");
		while (number - copy->freed >= CP_SLOTS) {
			if (!hear_receiver(copy, &finished, error))
				return false;
			if (finished)
				return tool_fail(error, TOOL_ERROR_PEER,
						 "the receiver finished too early");
		}
		if (!read_chunk(source, octets, len, error))
			return false;
		cp_sum_add(sum, octets, len);
		if (!write_chunk(copy, number, len, error))
			return false;
		copy->done += len;
		show(copy);
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
	struct cp_sum sum;

	copy->size = source->size;
	cp_sum_begin(&sum, copy->kind);
	if (!send_chunks(copy, source, &sum, &trouble)) {
		g_free(cp_sum_end(&sum));
		if (!g_error_matches(trouble, TOOL_ERROR, TOOL_ERROR_PEER))
			abort_copy(copy, trouble);
		g_propagate_error(error, trouble);
		return false;
	}
	copy->checksum = cp_sum_end(&sum);
	finish.text = copy->checksum;
	if (!cp_letter_send(copy->mail, &finish, error))
		return false;
	while (!finished) {
		if (!hear_receiver(copy, &finished, error))
			return false;
	}
	return true;
}

/* Every chunk but the last is full, so the size of a file gives the number of its letters. */
static bool
take_chunk(struct cp_copy *copy, struct cp_target *target, struct cp_sum *sum, uint64_t expected,
	   const struct cp_letter *chunk, GError **error)
{
	struct cp_letter letter = {.word = CP_FREE, .number = expected};
	const uint8_t *octets = copy->ring.octets + slot_offset(expected);

	if (chunk->number != expected || chunk->size == 0 ||
	    chunk->size != MIN(CP_CHUNK, copy->size - copy->done))
		return tool_fail(error, TOOL_ERROR_PEER, "the sender announced a wrong chunk");
	if (!cp_target_write(target, octets, (size_t)chunk->size, error))
		return false;
	cp_sum_add(sum, octets, (size_t)chunk->size);
	copy->done += chunk->size;
	show(copy);
	return cp_letter_send(copy->mail, &letter, error);
}

static bool
finish(struct cp_copy *copy, struct cp_target *target, const struct cp_letter *letter,
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

/* Take chunks up to the last; the checksum is finished then, in every case. */
static bool
take_all(struct cp_copy *copy, struct cp_target *target, struct cp_sum *sum, GError **error)
{
	struct cp_letter letter = {0};
	bool more = true;
	bool good = true;

	for (uint64_t number = 0; good && more; number++) {
		cp_letter_clear(&letter);
		good = !tool_stopped() || tool_fail(error, TOOL_ERROR_INTERRUPTED, "interrupted");
		good = good && cp_letter_receive(copy->mail, &letter, error);
		more = good && letter.word == CP_CHUNK_READY;
		good = good && (!more || take_chunk(copy, target, sum, number, &letter, error));
	}
	copy->checksum = cp_sum_end(sum);
	if (good && letter.word == CP_FINISH)
		good = finish(copy, target, &letter, error);
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
	struct cp_sum sum;

	cp_sum_begin(&sum, copy->kind);
	result.good = take_all(copy, target, &sum, &trouble);
	result.text = trouble != NULL ? trouble->message : copy->checksum;
	if (copy->mail->link->connected &&
	    cp_letter_send(copy->mail, &result, result.good ? error : NULL)) {
		if (!result.good)
			tool_link_linger(copy->mail->link);
	} else if (result.good) {
		return false; /* the file has its name, but the sender does not know it */
	}
	if (trouble != NULL)
		g_propagate_error(error, trouble);
	return result.good;
}
