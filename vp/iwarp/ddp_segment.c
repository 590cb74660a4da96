/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* The texts of DDP results; the codec itself is inline in the header. */

#include "ddp_segment.h"

const char *
ddp_result_text(enum ddp_result result)
{
	switch (result) {
	case DDP_OK:
		return "header complete";
	case DDP_MORE:
		return "header not complete yet";
	case DDP_SHORT:
		return "segment ends within its header";
	}
	return "unknown result";
}
