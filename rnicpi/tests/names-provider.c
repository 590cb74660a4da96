/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* A provider from outside, as far as its linking goes: it calls what rnicpi_types.h declares. */

#include "rnicpi.h"

const struct ri_provider *ri_provider_entry(void) __attribute__((visibility("default")));

const struct ri_provider *
ri_provider_entry(void)
{
	static struct ri_provider provider = {
		.abi_major = RI_ABI_MAJOR, .abi_minor = RI_ABI_MINOR, .size = sizeof(provider)};

	/* Only the names are asked for. */
	provider.name = ri_status_name(RI_ERR_BUSY);
	if (ri_event_is_end(RI_EVENT_QP_LLP_RESET) && !ri_event_is_close(RI_EVENT_QP_LLP_RESET) &&
	    ri_event_name(RI_EVENT_NONE) != NULL && ri_opcode_name(RI_OP_SEND) != NULL &&
	    ri_qp_state_name(RI_QPS_RTS) != NULL)
		provider.description = ri_wc_status_name(RI_WC_FLUSHED);
	return &provider;
}
