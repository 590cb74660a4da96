/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Texts in the structs of extensions. */
#ifndef IT_TEXT_H
#define IT_TEXT_H

#include <stddef.h>
#include <string.h>

/* Copy as much as fits, with a zero octet at its end. */
static inline void
it_text_copy(char *out, size_t room, const char *text)
{
	size_t length = strnlen(text, room - 1);

	memcpy(out, text, length);
	out[length] = '\0';
}

#endif /* IT_TEXT_H */
