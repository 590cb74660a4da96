/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Addresses, paths and connection qualifiers, between the standard's types and the layers below.
 */
#ifndef UAL_ADDR_H
#define UAL_ADDR_H

#include <stdbool.h>

#include "it_api.h"
#include "rnicpi_types.h"

/*
 * Both ends of a path; the local end "any" becomes RI_ADDR_NONE. False: malformed. Over InfiniBand ends are GIDs; one
 * with an IPv4-mapped address becomes that address if the adapter names peers by IP address.
 */
bool ual_addr_of_path(const struct ri_rnic_attr *attr, const it_path_t *path, struct ri_addr *local,
		      struct ri_addr *peer);
/* A path of that adapter; timeout 0, other members of an InfiniBand path 0. */
void ual_addr_to_path(const struct ri_rnic_attr *attr, size_t spigot, const struct ri_addr *local,
		      const struct ri_addr *peer, it_path_t *path);

/* False: a kind of address that is unknown, or that the adapter does not use. */
bool ual_addr_of_net(const struct ri_rnic_attr *attr, const it_net_addr_t *net,
		     struct ri_addr *addr);
void ual_addr_to_net(const struct ri_addr *addr, it_net_addr_t *net);

/* Kinds of qualifier that the adapter takes, as bits [IT 9.1]. */
it_conn_qual_type_t ual_qual_types(const struct ri_rnic_attr *attr);
/* Where to connect to. False: malformed, without a destination, or of a kind that the adapter does not take. */
bool ual_qual_active(const struct ri_rnic_attr *attr, const it_conn_qual_t *qual,
		     struct ri_service *service);
/* Where to listen; choose: the kAL chooses one of that kind. False: as above. */
bool ual_qual_passive(const struct ri_rnic_attr *attr, const it_conn_qual_t *qual, bool choose,
		      struct ri_service *service);
/* The service of a listener, as the kind of qualifier that it was created with. */
void ual_qual_of_service(it_conn_qual_type_t type, const struct ri_service *service,
			 it_conn_qual_t *qual);

#endif /* UAL_ADDR_H */
