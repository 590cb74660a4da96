/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Names of the values that applications see, spelt as in it_api.h. A value outside its enumeration has the
 * name UAL_NAME_UNKNOWN. The texts are constants. Any thread.
 */
#ifndef UAL_NAMES_H
#define UAL_NAMES_H

#include "it_api.h"

#define UAL_NAME_UNKNOWN "(unknown)"

const char *ual_name_status(it_status_t value);
/* What a status means: a sentence, small letter first, no full stop. */
const char *ual_reason(it_status_t value);
const char *ual_name_event(it_event_type_t value);
const char *ual_name_dto_status(it_dto_status_t value);
const char *ual_name_reject(it_conn_reject_code_t value);
const char *ual_name_ep_state(it_ep_state_rc_t value);
const char *ual_name_ud_state(it_ep_state_ud_t value);
const char *ual_name_ud_answer(it_ud_svc_req_status_t value);
const char *ual_name_handle_type(it_handle_type_enum_t value);

#endif /* UAL_NAMES_H */
