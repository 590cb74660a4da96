/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Calls as the guides and the standard write them, compiled as C++: unions of flags, flags of 0, null
 * handles. Each must compile without a cast, reach the call with the same values as in C, and do
 * what it says.
 *
 *   guide_lines ADAPTER      TAP
 */
#define ITAPI_ENABLE_V21_BINDINGS
#include <cstdio>
#include <cstring>
#include <type_traits>

#include "it_ext.h"

static unsigned failed;

static void
must(bool good, const char *what)
{
	if (good)
		return;
	failed++;
	std::printf("# %s\n", what);
}

#define MUST(call) must((call) == IT_SUCCESS, #call)

static_assert(std::is_same<decltype(IT_PRIV_LOCAL | IT_PRIV_REMOTE_WRITE), it_mem_priv_t>::value,
	      "a union of rights is of the type of rights");
static_assert((IT_COMPLETION_FLAG | IT_NOTIFY_FLAG) == 3, "a union of flags is a constant");

static it_evd_handle_t
dispatcher(it_ia_handle_t ia, it_event_type_t stream)
{
	it_evd_handle_t evd = IT_NULL_HANDLE;

	MUST(it_evd_create(ia, stream, 0, 16, 1, IT_NULL_HANDLE, &evd, nullptr));
	must(evd != IT_NULL_HANDLE, "a handle is not null");
	return evd;
}

static void
move_nothing(it_ia_handle_t ia, it_pz_handle_t pz, it_lmr_handle_t lmr)
{
	it_evd_handle_t dto = dispatcher(ia, IT_DTO_EVENT_STREAM);
	it_evd_handle_t cm = dispatcher(ia, IT_CM_MSG_EVENT_STREAM);
	it_ep_attributes_t attr;
	it_ep_handle_t ep = IT_NULL_HANDLE;
	it_lmr_triplet_t segment;
	it_ep_param_t params;

	std::memset(&attr, 0, sizeof(attr));
	attr.max_request_dtos = attr.max_recv_dtos = 4;
	attr.max_send_segments = attr.max_recv_segments = 1;
	attr.srv.rc.hard_hi_watermark = IT_HARD_HI_WATERMARK_DISABLE;
	MUST(it_ep_rc_create(pz, dto, dto, cm, 0, &attr, &ep));
	MUST(it_ep_query(ep, IT_EP_PARAM_STATE | IT_EP_PARAM_PZ, &params));
	must(params.pz == pz && params.ep_state.rc == IT_EP_STATE_UNCONNECTED, "what was asked for");
	std::memset(&segment, 0, sizeof(segment));
	segment.lmr = lmr;
	MUST(it_post_recv(ep, &segment, 1, 1, 0));
	must(it_post_send(ep, &segment, 1, 1, IT_COMPLETION_FLAG | IT_NOTIFY_FLAG) ==
		     IT_ERR_INVALID_EP_STATE,
	     "an unconnected endpoint sends nothing");
	must(it_post_send(ep, &segment, 1, 1, 0x4000) == IT_ERR_INVALID_DTO_FLAGS,
	     "flags reach the call as they are");
	MUST(it_ep_free(ep));
	MUST(it_evd_free(dto));
	MUST(it_evd_free(cm));
}

int
main(int argc, char **argv)
{
	static unsigned char buffer[4096];
	it_ia_handle_t ia = IT_NULL_HANDLE;
	it_pz_handle_t pz = IT_NULL_HANDLE;
	it_lmr_handle_t lmr = IT_NULL_HANDLE;
	it_rmr_context_t context = 0;
	it_lmr_param_t params;
	it_mem_priv_t rights = IT_PRIV_LOCAL;

	rights |= IT_PRIV_REMOTE_WRITE;
	MUST(it_ia_create(argc > 1 ? argv[1] : "emul:ib", 2, 1, &ia));
	MUST(it_pz_create(ia, &pz));
	MUST(it_lmr_create(pz, buffer, IT_NULL_HANDLE, sizeof(buffer), IT_ADDR_MODE_ABSOLUTE,
			   IT_PRIV_LOCAL | IT_PRIV_REMOTE_WRITE, 0, 0, &lmr, &context));
	MUST(it_lmr_query(lmr, IT_LMR_PARAM_MEM_PRIV | IT_LMR_PARAM_LENGTH, &params));
	must(params.privs == rights && params.length == sizeof(buffer), "rights are what was asked for");
	move_nothing(ia, pz, lmr);
	MUST(it_lmr_free(lmr));
	MUST(it_pz_free(pz));
	MUST(it_ia_free(ia));
	std::printf("%s 1 - guide lines\n1..1\n", failed == 0 ? "ok" : "not ok");
	return failed != 0;
}
