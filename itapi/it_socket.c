/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Entry point: conversion of a socket [IT 11]. */

#include "it_answer.h"
#include "it_check.h"
#include "ual.h"

it_status_t
it_socket_convert(IN int sd, IN it_ep_handle_t ep_handle, IN it_sc_flags_t flags,
		  IN const unsigned char *msg, IN size_t len)
{
	UAL_VISIT struct ual_ep *ep = ual_ep_of(ep_handle);

	if (ep == NULL)
		return IT_ANSWER(ep_handle, IT_ERR_INVALID_EP);
	if (pointer_missing(msg, len))
		return IT_ANSWER(ep_handle, IT_ERR_FAULT);
	return IT_ANSWER(ep_handle, ual_cm_convert(ep, sd, flags, msg, len));
}
