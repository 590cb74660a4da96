/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* A library that only has to be found. */
extern const int hidden;
const int hidden = 1;
