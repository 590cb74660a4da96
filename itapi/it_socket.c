/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Entry point: conversion of a socket (itapi-semantics 11). Of this release no adapter offers it. */

#include "it_check.h"
#include "ual.h"

it_status_t
it_socket_convert(IN int sd, IN it_ep_handle_t ep_handle, IN it_sc_flags_t flags,
		  IN const unsigned char *msg, IN size_t len)
{
	(void)sd;
	(void)flags;
	if (ual_ep_of(ep_handle) == NULL)
		return IT_ERR_INVALID_EP;
	return pointer_missing(msg, len) ? IT_ERR_FAULT : IT_ERR_OP_NOT_SUPPORTED;
}
