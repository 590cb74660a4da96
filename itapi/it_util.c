/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Entry points that are helpers: handles, contexts, addresses, byte order [IT 15.1]. */

#include <endian.h>
#include <string.h>

#include "it_answer.h"
#include "ual.h"
#include "ual_dto.h"

static const uint8_t mapped_prefix[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

it_status_t
it_get_handle_type(IN it_handle_t handle, OUT it_handle_type_enum_t *type_of_handle)
{
	static const it_handle_type_enum_t types[UAL_TYPE_COUNT] = {
		[UAL_IA] = IT_HANDLE_TYPE_IA,   [UAL_PZ] = IT_HANDLE_TYPE_PZ,
		[UAL_EVD] = IT_HANDLE_TYPE_EVD, [UAL_EP] = IT_HANDLE_TYPE_EP,
		[UAL_LMR] = IT_HANDLE_TYPE_LMR, [UAL_RMR] = IT_HANDLE_TYPE_RMR,
		[UAL_SRQ] = IT_HANDLE_TYPE_SRQ, [UAL_LISTEN] = IT_HANDLE_TYPE_LISTEN,
		[UAL_AH] = IT_HANDLE_TYPE_ADDR, [UAL_UD_SVC] = IT_HANDLE_TYPE_UD_SVC_REQ,
	};
	SESSION_SECTION;
	enum ual_type type;

	if (ual_object_any(handle, &type) == NULL)
		return IT_ANSWER(handle, IT_ERR_INVALID_HANDLE);
	if (type_of_handle == NULL)
		return IT_ANSWER(handle, IT_ERR_FAULT);
	*type_of_handle = types[type];
	return IT_ANSWER(handle, IT_SUCCESS);
}

it_status_t
it_set_consumer_context(IN it_handle_t handle, IN it_context_t context)
{
	SESSION_SECTION;
	enum ual_type type;
	struct ual_object *object = ual_object_any(handle, &type);

	if (object == NULL)
		return IT_ANSWER(handle, IT_ERR_INVALID_HANDLE);
	atomic_store(&object->context, context.index);
	atomic_store(&object->has_context, true);
	return IT_ANSWER(handle, IT_SUCCESS);
}

it_status_t
it_get_consumer_context(IN it_handle_t handle, OUT it_context_t *context)
{
	SESSION_SECTION;
	enum ual_type type;
	struct ual_object *object = ual_object_any(handle, &type);

	if (object == NULL)
		return IT_ANSWER(handle, IT_ERR_INVALID_HANDLE);
	if (context == NULL)
		return IT_ANSWER(handle, IT_ERR_FAULT);
	if (!atomic_load(&object->has_context))
		return IT_ANSWER(handle, IT_ERR_NO_CONTEXT);
	context->index = atomic_load(&object->context);
	return IT_ANSWER(handle, IT_SUCCESS);
}

uint64_t
it_hton64(IN uint64_t hostint)
{
	return htobe64(hostint);
}

uint64_t
it_ntoh64(IN uint64_t netint)
{
	return be64toh(netint);
}

it_rdma_addr_t
it_make_rdma_addr_absolute(IN void *addr)
{
	return (it_rdma_addr_t)(uintptr_t)addr;
}

it_rdma_addr_t
it_make_rdma_addr_relative(IN it_length_t offset)
{
	return (it_rdma_addr_t)offset;
}

/* The address as the 16 bytes of an IPv6 address or GID. False: an unknown kind. */
static bool
wide_of(const it_net_addr_t *net, uint8_t wide[16])
{
	switch (net->addr_type) {
	case IT_IPV4:
		memcpy(wide, mapped_prefix, sizeof(mapped_prefix));
		memcpy(wide + 12, &net->addr.ipv4, 4);
		return true;
	case IT_IPV6:
		memcpy(wide, &net->addr.ipv6, 16);
		return true;
	case IT_IB_GID:
		memcpy(wide, &net->addr.gid, 16);
		return true;
	case IT_VIA_HOSTADDR:
		break;
	}
	return false;
}

it_status_t
it_convert_net_addr(IN const it_net_addr_t *source_addr, IN it_net_addr_type_t addr_type,
		    OUT it_net_addr_t *destination_addr)
{
	it_net_addr_t out = {.addr_type = addr_type};
	uint8_t wide[16];

	if (source_addr == NULL)
		return IT_ANSWER(NULL, IT_ERR_FAULT);
	if (!wide_of(source_addr, wide))
		return IT_ANSWER(NULL, IT_ERR_INVALID_NETADDR);
	if (addr_type != IT_IPV4 && addr_type != IT_IPV6 && addr_type != IT_IB_GID)
		return IT_ANSWER(NULL, IT_ERR_INVALID_CONVERSION);
	/* Only an IPv4-mapped address can be converted to another kind. */
	if (addr_type != source_addr->addr_type &&
	    memcmp(wide, mapped_prefix, sizeof(mapped_prefix)) != 0)
		return IT_ANSWER(NULL, IT_ERR_INVALID_CONVERSION);
	if (destination_addr == NULL)
		return IT_ANSWER(NULL, IT_ERR_FAULT);
	if (addr_type == IT_IPV4)
		memcpy(&out.addr.ipv4, wide + 12, 4);
	else
		memcpy(&out.addr.ipv6, wide, 16);
	*destination_addr = out;
	return IT_ANSWER(NULL, IT_SUCCESS);
}
