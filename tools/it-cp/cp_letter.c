/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include <string.h>

#include "cp_letter.h"
#include "tool_error.h"

size_t
cp_letter_write(const struct cp_letter *letter, uint8_t octets[TOOL_MAIL_SIZE])
{
	struct tool_wire wire = tool_wire_of(octets, TOOL_MAIL_SIZE);
	size_t most = letter->word == CP_REQUEST ? TOOL_MAIL_SIZE : CP_REASON_MAX;
	g_autofree char *text = g_strndup(letter->text != NULL ? letter->text : "", most);

	tool_put(&wire, letter->word, 1);
	tool_put(&wire, letter->good, 1);
	tool_put(&wire, letter->sum, 1);
	tool_put(&wire, letter->mode, 4);
	tool_put(&wire, letter->size, 8);
	tool_put(&wire, letter->number, 8);
	tool_put(&wire, letter->context, 8);
	tool_put(&wire, letter->address, 8);
	tool_put_text(&wire, text);
	return wire.ok ? TOOL_MAIL_SIZE - wire.left : 0;
}

bool
cp_letter_read(struct cp_letter *letter, void *octets, size_t len)
{
	struct tool_wire wire = tool_wire_of(octets, len);

	memset(letter, 0, sizeof(*letter));
	letter->word = (enum cp_word)tool_get(&wire, 1);
	letter->good = tool_get(&wire, 1) != 0;
	letter->sum = (uint8_t)tool_get(&wire, 1);
	letter->mode = (uint32_t)tool_get(&wire, 4);
	letter->size = tool_get(&wire, 8);
	letter->number = tool_get(&wire, 8);
	letter->context = tool_get(&wire, 8);
	letter->address = tool_get(&wire, 8);
	letter->text =
		tool_get_text(&wire, letter->word == CP_REQUEST ? CP_PATH_MAX : CP_REASON_MAX);
	return wire.ok;
}

bool
cp_letter_send(struct tool_mail *mail, const struct cp_letter *letter, GError **error)
{
	uint8_t octets[TOOL_MAIL_SIZE];
	size_t len = cp_letter_write(letter, octets);

	if (len == 0)
		return tool_fail(error, TOOL_ERROR_FAILED, "a path or message is too long");
	return tool_mail_send(mail, octets, len, error);
}

bool
cp_letter_receive(struct tool_mail *mail, struct cp_letter *letter, GError **error)
{
	uint8_t octets[TOOL_MAIL_SIZE];
	size_t len = sizeof(octets);

	memset(letter, 0, sizeof(*letter));
	return tool_mail_receive(mail, octets, &len, error) &&
	       (cp_letter_read(letter, octets, len) ||
		tool_fail(error, TOOL_ERROR_PEER, "the peer sent a malformed message"));
}

void
cp_letter_clear(struct cp_letter *letter)
{
	g_clear_pointer(&letter->text, g_free);
}
