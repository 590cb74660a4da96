/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include "it_spigot.h"

bool
end_is_online(const struct end *end, size_t spigot)
{
	it_ia_info_t *info = NULL;
	bool online;

	g_assert_cmpint(it_ia_query(end->ia, &info), ==, IT_SUCCESS);
	g_assert_cmpuint(spigot, <, info->num_spigots);
	online = info->spigot_info[spigot].spigot_online == IT_TRUE;
	it_ia_info_free(info);
	return online;
}
