/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include <glib.h>
#include <string.h>

#include "tool_wire.h"

#define HELLO_MAGIC 0x49544c31u /* "ITL1" */

struct tool_wire
tool_wire_of(void *octets, size_t len)
{
	struct tool_wire wire = {.at = octets, .left = len, .ok = true};

	return wire;
}

static uint8_t *
wire_take(struct tool_wire *wire, size_t len)
{
	uint8_t *at = wire->at;

	if (!wire->ok || len > wire->left) {
		wire->ok = false;
		return NULL;
	}
	wire->at += len;
	wire->left -= len;
	return at;
}

void
tool_put(struct tool_wire *wire, uint64_t value, size_t octets)
{
	uint8_t *at = wire_take(wire, octets);

	for (size_t i = 0; at != NULL && i < octets; i++)
		at[i] = (uint8_t)(value >> (8 * (octets - 1 - i)));
}

void
tool_put_octets(struct tool_wire *wire, const void *octets, size_t len)
{
	uint8_t *at = wire_take(wire, len);

	if (at != NULL && len > 0)
		memcpy(at, octets, len);
}

void
tool_put_text(struct tool_wire *wire, const char *text)
{
	size_t len = strlen(text);

	if (len > UINT16_MAX)
		wire->ok = false;
	tool_put(wire, len, 2);
	tool_put_octets(wire, text, len);
}

uint64_t
tool_get(struct tool_wire *wire, size_t octets)
{
	const uint8_t *at = wire_take(wire, octets);
	uint64_t value = 0;

	for (size_t i = 0; at != NULL && i < octets; i++)
		value = value << 8 | at[i];
	return value;
}

char *
tool_get_text(struct tool_wire *wire, size_t limit)
{
	size_t len = (size_t)tool_get(wire, 2);
	const uint8_t *at = wire_take(wire, len);

	if (at == NULL || len > limit || memchr(at, '\0', len) != NULL) {
		wire->ok = false;
		return g_strdup("");
	}
	return g_strndup((const char *)at, len);
}

void
tool_hello_write(const struct tool_hello *hello, uint8_t octets[TOOL_HELLO_SIZE])
{
	struct tool_wire wire = tool_wire_of(octets, TOOL_HELLO_SIZE);

	memset(octets, 0, TOOL_HELLO_SIZE);
	tool_put(&wire, HELLO_MAGIC, 4);
	tool_put(&wire, hello->version, 2);
	tool_put(&wire, hello->tool, 1);
	tool_put(&wire, hello->refusal, 1);
	tool_put(&wire, hello->session, 8);
	tool_put(&wire, hello->index, 4);
	tool_put(&wire, hello->abilities, 4);
}

bool
tool_hello_read(struct tool_hello *hello, const void *octets, size_t len)
{
	uint8_t copy[TOOL_HELLO_SIZE];
	struct tool_wire wire = tool_wire_of(copy, sizeof(copy));
	uint32_t magic;

	if (len < sizeof(copy))
		return false;
	memcpy(copy, octets, sizeof(copy));
	magic = (uint32_t)tool_get(&wire, 4);
	hello->version = (uint16_t)tool_get(&wire, 2);
	hello->tool = (uint8_t)tool_get(&wire, 1);
	hello->refusal = (uint8_t)tool_get(&wire, 1);
	hello->session = tool_get(&wire, 8);
	hello->index = (uint32_t)tool_get(&wire, 4);
	hello->abilities = (uint32_t)tool_get(&wire, 4);
	return wire.ok && magic == HELLO_MAGIC;
}
