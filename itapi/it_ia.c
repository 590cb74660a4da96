/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Entry points: adapters [IT 15.1]. */

#include "it_answer.h"
#include "it_check.h"
#include "ual.h"

void
it_interface_list(OUT it_interface_t *interfaces, IN OUT size_t *num_interfaces,
		  IN OUT size_t *total_interfaces)
{
	SESSION_DEFER;
	size_t room = num_interfaces != NULL && interfaces != NULL ? *num_interfaces : 0;
	size_t filled, total;

	ual_ia_list(interfaces, room, &filled, &total);
	if (num_interfaces != NULL)
		*num_interfaces = filled;
	if (total_interfaces != NULL)
		*total_interfaces = total;
}

it_status_t
it_ia_create(IN const char *name, IN uint32_t major_version, IN uint32_t minor_version,
	     OUT it_ia_handle_t *ia_handle)
{
	SESSION_DEFER;
	it_ia_handle_t made = NULL;
	it_status_t status;

	ual_log_setup();
	if (ia_handle != NULL)
		*ia_handle = NULL;
	if (name == NULL || ia_handle == NULL)
		return IT_ANSWER(NULL, IT_ERR_FAULT);
	status = ual_ia_create(name, major_version, minor_version, &made);
	*ia_handle = made;
	return IT_ANSWER(NULL, status);
}

it_status_t
it_ia_free(IN it_ia_handle_t ia_handle)
{
	UAL_VISIT struct ual_ia *ia = ual_ia_of(ia_handle);

	return IT_ANSWER(ia_handle, ia != NULL ? ual_ia_free(ia) : IT_ERR_INVALID_IA);
}

it_status_t
it_ia_query(IN it_ia_handle_t ia_handle, OUT it_ia_info_t **ia_info)
{
	UAL_VISIT struct ual_ia *ia = ual_ia_of(ia_handle);

	if (ia == NULL)
		return IT_ANSWER(ia_handle, IT_ERR_INVALID_IA);
	if (ual_dead(ia))
		return IT_ANSWER(ia_handle, IT_ERR_IA_CATASTROPHE);
	return IT_ANSWER(ia_handle, ia_info != NULL ? ual_ia_query(ia, ia_info) : IT_ERR_FAULT);
}

void
it_ia_info_free(IN it_ia_info_t *ia_info)
{
	ual_ia_info_free(ia_info);
}

it_status_t
it_get_pathinfo(IN it_ia_handle_t ia_handle, IN size_t spigot_id, IN const it_net_addr_t *net_addr,
		IN OUT size_t *num_paths, OUT size_t *total_paths, OUT it_path_t *paths)
{
	UAL_VISIT struct ual_ia *ia = ual_ia_of(ia_handle);
	it_status_t status;
	size_t total = 0;

	if (ia == NULL)
		return IT_ANSWER(ia_handle, IT_ERR_INVALID_IA);
	if (ual_dead(ia))
		return IT_ANSWER(ia_handle, IT_ERR_IA_CATASTROPHE);
	if (net_addr == NULL || num_paths == NULL || total_paths == NULL)
		return IT_ANSWER(ia_handle, IT_ERR_FAULT);
	if (pointer_missing(paths, *num_paths))
		return IT_ANSWER(ia_handle, IT_ERR_FAULT);
	status = ual_ia_paths(ia, spigot_id, net_addr, *num_paths, &total, paths);
	if (status != IT_SUCCESS)
		return IT_ANSWER(ia_handle, status);
	*total_paths = total;
	if (*num_paths > total)
		*num_paths = total;
	return IT_ANSWER(ia_handle, IT_SUCCESS);
}

it_status_t
it_pz_create(IN it_ia_handle_t ia_handle, OUT it_pz_handle_t *pz_handle)
{
	UAL_VISIT struct ual_ia *ia = ual_ia_of(ia_handle);
	it_pz_handle_t made = NULL;
	it_status_t status;

	if (pz_handle != NULL)
		*pz_handle = NULL;
	if (ia == NULL)
		return IT_ANSWER(ia_handle, IT_ERR_INVALID_IA);
	if (ual_dead(ia))
		return IT_ANSWER(ia_handle, IT_ERR_IA_CATASTROPHE);
	if (pz_handle == NULL)
		return IT_ANSWER(ia_handle, IT_ERR_FAULT);
	status = ual_pz_create(ia, &made);
	*pz_handle = made;
	return IT_ANSWER(ia_handle, status);
}

it_status_t
it_pz_free(IN it_pz_handle_t pz_handle)
{
	UAL_VISIT struct ual_pz *pz = ual_pz_of(pz_handle);

	return IT_ANSWER(pz_handle, pz != NULL ? ual_pz_free(pz) : IT_ERR_INVALID_PZ);
}

it_status_t
it_pz_query(IN it_pz_handle_t pz_handle, IN it_pz_param_mask_t mask, OUT it_pz_param_t *params)
{
	UAL_VISIT struct ual_pz *pz = ual_pz_of(pz_handle);

	if (pz == NULL)
		return IT_ANSWER(pz_handle, IT_ERR_INVALID_PZ);
	if (!query_mask_valid((unsigned)mask, IT_PZ_PARAM_ALL, IT_PZ_PARAM_IA))
		return IT_ANSWER(pz_handle, IT_ERR_INVALID_MASK);
	if (params == NULL)
		return IT_ANSWER(pz_handle, IT_ERR_FAULT);
	if (mask != 0)
		params->ia = (it_ia_handle_t)ual_object_handle(
			(const struct ual_object *)(const void *)ual_ia_under(pz));
	return IT_ANSWER(pz_handle, IT_SUCCESS);
}
