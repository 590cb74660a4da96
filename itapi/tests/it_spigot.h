/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Spigots as their IA shows them. */
#ifndef IT_SPIGOT_H
#define IT_SPIGOT_H

#include "it_pair.h"

/* Is this spigot of the end's IA online? */
bool end_is_online(const struct end *end, size_t spigot);

#endif /* IT_SPIGOT_H */
