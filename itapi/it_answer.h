/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Every status that an entry point returns passes here, so that refusals can be logged. */
#ifndef IT_ANSWER_H
#define IT_ANSWER_H

#include "ual_log.h"

/* The status, as the call's answer about an object; only a branch if the level is not logged. */
#define IT_ANSWER(handle, status) ual_answer(__func__, handle, status)

#endif /* IT_ANSWER_H */
