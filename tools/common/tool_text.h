/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Numbers of IT-API as text. The strings are constant; an unknown number says so. */
#ifndef TOOL_TEXT_H
#define TOOL_TEXT_H

#include "it_api.h"

const char *tool_status_text(it_status_t status);
const char *tool_dto_text(it_dto_status_t status);
const char *tool_reject_text(it_conn_reject_code_t code);
const char *tool_transport_text(it_transport_type_t type);

#endif /* TOOL_TEXT_H */
