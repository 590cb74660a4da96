/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * For tests that compare a used object with a new one, octet by octet. A table lists the members
 * that a test may not overwrite or compare, with the reasons. All other members are overwritten and
 * compared, also members that are added later.
 */
#ifndef VSW_OCTETS_H
#define VSW_OCTETS_H

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifndef __has_builtin
#define __has_builtin(name) 0
#endif

/* Does the compiler say where the padding of a struct is? A copy that is compared has none that differs. */
#define VSW_KNOWS_PADDING __has_builtin(__builtin_clear_padding)
#if VSW_KNOWS_PADDING
#define VSW_CLEAR_PADDING(copy) __builtin_clear_padding(copy)
#else
#define VSW_CLEAR_PADDING(copy) ((void)(copy))
#endif

struct vsw_member {
	size_t at, size;
	unsigned how; /* bits of the test's own */
};

#define VSW_MEMBER(type, name, how)                                                \
	{                                                                          \
		offsetof(struct type, name), sizeof(((struct type *)0)->name), how \
	}

/* A table of members. */
struct vsw_members {
	const char *type; /* of the object, as gdb knows it */
	size_t size;      /* octets of an object */
	const struct vsw_member *members;
	size_t count;
};

/* All that the table says of an octet. */
static inline unsigned
vsw_octet_how(const struct vsw_members *table, size_t octet)
{
	unsigned how = 0;

	for (size_t i = 0; i < table->count; i++)
		if (octet >= table->members[i].at &&
		    octet < table->members[i].at + table->members[i].size)
			how |= table->members[i].how;
	return how;
}

/* All octets but those of members that have one of these bits. */
static inline void
vsw_octets_fill(const struct vsw_members *table, void *object, unsigned but, uint8_t with)
{
	uint8_t *octets = object;

	for (size_t i = 0; i < table->size; i++)
		if ((vsw_octet_how(table, i) & but) == 0)
			octets[i] = with;
}

/* Do they differ at this octet, and is it of no member that has one of these bits? */
static inline bool
vsw_octet_differs(const struct vsw_members *table, const void *fresh, const void *used,
		  unsigned but, size_t octet)
{
	return ((const uint8_t *)fresh)[octet] != ((const uint8_t *)used)[octet] &&
	       (vsw_octet_how(table, octet) & but) == 0;
}

static inline void
vsw_octets_same(const struct vsw_members *table, const void *fresh, const void *used, unsigned but)
{
	const uint8_t *a = fresh, *b = used;
	g_autoptr(GString) text = g_string_new(NULL);

	for (size_t i = 0; i < table->size; i++)
		if (vsw_octet_differs(table, fresh, used, but, i))
			g_string_append_printf(text,
					       "octet %zu of struct %s is %02x and not %02x; ", i,
					       table->type, b[i], a[i]);
	if (text->len > 0)
		g_test_message("for the names of members: gdb, ptype /o struct %s", table->type);
	g_assert_cmpstr(text->str, ==, "");
}

#endif /* VSW_OCTETS_H */
