/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* What a caller says that a device does otherwise than the specification wants: words, with commas between. */
#ifndef DF_QUIRKS_H
#define DF_QUIRKS_H

#include "df_expect.h"

/* Is each of them known? NULL: there are none. */
bool df_quirks_known(const char *words);
/* Add them to the profile. They are known. */
void df_quirks_add(struct df_profile *profile, const char *words);

#endif /* DF_QUIRKS_H */
