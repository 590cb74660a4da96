/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* An object without code, of which meson.build makes the replacement of libibverbs. */
extern const char itapi_verbs_replacement;
