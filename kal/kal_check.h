/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Checks of single values of a flat request, which may come from another process. A boolean that is neither 0 nor 1, a
 * value outside its enumeration and a reserved member that is not 0 are refused with RI_ERR_INVALID_ARG before
 * they are used. Such a value is called invalid.
 */
#ifndef KAL_CHECK_H
#define KAL_CHECK_H

#include <stdint.h>
#include <string.h>

#include "rnicpi_attr.h"

#define KAL_ACCESS_ALL                                                          \
	(RI_ACCESS_LOCAL_READ | RI_ACCESS_LOCAL_WRITE | RI_ACCESS_REMOTE_READ | \
	 RI_ACCESS_REMOTE_WRITE | RI_ACCESS_REMOTE_ATOMIC | RI_ACCESS_BIND)
#define KAL_QP_ATTR_ALL                                                           \
	(RI_QP_ATTR_STATE | RI_QP_ATTR_ACCESS | RI_QP_ATTR_IRD | RI_QP_ATTR_ORD | \
	 RI_QP_ATTR_SOFT | RI_QP_ATTR_QKEY | RI_QP_ATTR_HARD)

/* Queue pair numbers and packet numbers have 24 bits. */
#define KAL_NUMBER_MAX 0xffffffu

/* A boolean that is a number in the request. */
static inline bool
kal_flag_is_invalid(uint32_t flag)
{
	return flag > 1;
}

/* A boolean of type bool. Its byte is checked, since reading an invalid bool is undefined. */
static inline bool
kal_bool_is_invalid(const bool *flag)
{
	uint8_t byte;

	memcpy(&byte, flag, sizeof(byte));
	return byte > 1;
}

static inline bool
kal_addr_is_invalid(const struct ri_addr *addr)
{
	return addr->family > RI_ADDR_GID;
}

static inline bool
kal_service_is_invalid(const struct ri_service *service)
{
	return service->kind > RI_SERVICE_IB;
}

static inline bool
kal_access_is_invalid(uint32_t access)
{
	return (access & ~(uint32_t)KAL_ACCESS_ALL) != 0;
}

static inline bool
kal_ah_is_invalid(const struct ri_rnic_attr *attr, const struct ri_ah_init *init)
{
	return init->port >= attr->num_ports || kal_addr_is_invalid(&init->dest) ||
	       kal_addr_is_invalid(&init->source);
}

#endif /* KAL_CHECK_H */
