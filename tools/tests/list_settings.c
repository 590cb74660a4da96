/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Prints each setting that has an invalid value, one a line: its name, a colon, and what is wrong. */
#include <it_ext.h>
#include <stdio.h>
#include <stdlib.h>

int
main(void)
{
	size_t room = 256, total = 0;
	itx_setting_t *list = calloc(room, sizeof(*list));

	if (list == NULL || itx_settings_list(list, &room, &total) != IT_SUCCESS)
		return 1;
	for (size_t i = 0; i < room; i++) {
		if (list[i].trouble[0] != '\0')
			printf("%s: %s\n", list[i].name, list[i].trouble);
	}
	free(list);
	return room == total ? 0 : 1;
}
