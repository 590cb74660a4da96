/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Entry points: names of the values that applications see. */

#include "it_ext.h"
#include "ual_names.h"

const char *
it_status_name(IN it_status_t status)
{
	return ual_name_status(status);
}

const char *
it_event_name(IN it_event_type_t event_number)
{
	return ual_name_event(event_number);
}

const char *
it_dto_status_name(IN it_dto_status_t dto_status)
{
	return ual_name_dto_status(dto_status);
}

const char *
it_reject_name(IN it_conn_reject_code_t reject_reason_code)
{
	return ual_name_reject(reject_reason_code);
}

const char *
it_ep_state_name(IN it_ep_state_rc_t state)
{
	return ual_name_ep_state(state);
}

const char *
it_ud_state_name(IN it_ep_state_ud_t state)
{
	return ual_name_ud_state(state);
}

const char *
it_ud_answer_name(IN it_ud_svc_req_status_t status)
{
	return ual_name_ud_answer(status);
}

const char *
it_handle_type_name(IN it_handle_type_enum_t type)
{
	return ual_name_handle_type(type);
}
