/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * it-info: lists the adapters, their spigots and their abilities. It uses only it_interface_list(), it_ia_query() and
 * itx_ia_query_support(). An adapter that cannot be opened is listed with the reason and makes the exit status 1. A
 * provider that was refused is listed too, and does not: the other providers' adapters can be used. With --env it
 * lists settings instead (info_env.c), with --live what running processes do (info_live.c).
 */

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "it-info/info_env.h"
#include "it-info/info_live.h"
#include "tool_adapter.h"
#include "tool_error.h"
#include "tool_json.h"
#include "tool_log.h"
#include "tool_options.h"
#include "tool_print.h"

#define PROGRAM "it-info"

struct boolean {
	const char *name;
	size_t offset;
};

#define BOOLEAN(member)                                 \
	{                                               \
#member, offsetof(it_ia_info_t, member) \
	}

static const struct boolean booleans[] = {
	BOOLEAN(ep_work_queues_resizable),
	BOOLEAN(three_way_handshake_support),
	BOOLEAN(private_data_support),
	BOOLEAN(max_message_size_support),
	BOOLEAN(ird_ord_ia_support),
	BOOLEAN(ird_ord_suppressible),
	BOOLEAN(spigot_online_support),
	BOOLEAN(spigot_offline_support),
	BOOLEAN(srq_support),
	BOOLEAN(hard_hi_watermark_support),
	BOOLEAN(soft_hi_watermark_support),
	BOOLEAN(srq_resizable),
	BOOLEAN(extended_iwarp_qp_states),
	BOOLEAN(socket_conversion_support),
	BOOLEAN(rdma_read_ord_increasable),
	BOOLEAN(rdma_read_ird_modifiable),
	BOOLEAN(addr_mode_relative_support),
	BOOLEAN(rdma_read_requires_remote_write),
	BOOLEAN(ep_rdma_enables_modifiable),
	BOOLEAN(rdma_read_local_extensions),
	BOOLEAN(dto_evd_overflow_detection),
	BOOLEAN(atomic_support),
	BOOLEAN(lmr_link_support),
	BOOLEAN(direct_lmr_handle_support),
	BOOLEAN(post_send_unlink_remote_support),
	BOOLEAN(narrow_rmr_unlink_support),
	BOOLEAN(wide_rmr_unlink_support),
	BOOLEAN(unlink_fence_support),
};

#define LENGTH(member)                                  \
	{                                               \
#member, offsetof(it_ia_info_t, member) \
	}

static const struct boolean lengths[] = {
	LENGTH(connect_private_data_len), LENGTH(accept_private_data_len),
	LENGTH(reject_private_data_len),  LENGTH(disconnect_private_data_len),
	LENGTH(ud_req_private_data_len),  LENGTH(ud_rep_private_data_len),
};

/* Bits of itx_support_t. */
static const struct {
	const char *name;
	unsigned bit;
} supports[] = {
	{"lmr_modify_support", ITX_SUPPORT_LMR_MODIFY},
	{"dto_evd_resizable", ITX_SUPPORT_DTO_EVD_RESIZE},
	{"srq_low_watermark_support", ITX_SUPPORT_SRQ_LOW_WATERMARK},
	{"local_read_checked", ITX_SUPPORT_LOCAL_READ_CHECK},
	{"remote_status_support", ITX_SUPPORT_REMOTE_STATUS},
	{"dmabuf_support", ITX_SUPPORT_DMABUF},
	{"ep_reuse_support", ITX_SUPPORT_EP_REUSE},
};

/* What a query of an adapter returned. */
struct told {
	const it_ia_info_t *info;
	uint64_t support; /* itx_support_t */
};

static bool
is_set(const it_ia_info_t *info, const struct boolean *one)
{
	it_boolean_t value;

	memcpy(&value, (const char *)info + one->offset, sizeof(value));
	return value != IT_FALSE;
}

static size_t
length_of(const it_ia_info_t *info, const struct boolean *one)
{
	size_t value;

	memcpy(&value, (const char *)info + one->offset, sizeof(value));
	return value;
}

/* An address as text; g_free() it. */
static char *
address_text(const it_net_addr_t *addr)
{
	char text[INET6_ADDRSTRLEN] = "";

	if (addr->addr_type == IT_IPV4)
		inet_ntop(AF_INET, &addr->addr.ipv4, text, sizeof(text));
	else if (addr->addr_type == IT_IPV6)
		inet_ntop(AF_INET6, &addr->addr.ipv6, text, sizeof(text));
	else if (addr->addr_type == IT_IB_GID)
		inet_ntop(AF_INET6, &addr->addr.gid, text, sizeof(text));
	return g_strdup(text[0] != '\0' ? text : "?");
}

/* "" if unknown. */
static const char *
vendor_of(const it_ia_info_t *info)
{
	if (info != NULL && info->transport_type == IT_IWARP_TCP_TRANSPORT &&
	    info->vendor.iwarp.valid_vid)
		return (const char *)info->vendor.iwarp.vid;
	return "";
}

static const char *
transport_of(it_transport_type_t type)
{
	if (type == IT_IB_TRANSPORT)
		return "InfiniBand";
	if (type == IT_IWARP_TCP_TRANSPORT)
		return "iWARP";
	return type >= IT_VENDOR_TRANSPORT ? "vendor" : "VIA";
}

static const char *
services_of(const it_ia_info_t *info)
{
	if (info->supported_service_types & IT_UD_SERVICE)
		return "connections, datagrams";
	return "connections";
}

static void
print_spigot(const it_spigot_info_t *spigot)
{
	printf("  spigot %-2zu %-8s", spigot->spigot_id,
	       spigot->spigot_online ? "online" : "offline");
	for (size_t i = 0; i < spigot->num_net_addr; i++) {
		g_autofree char *text = address_text(&spigot->net_addr[i]);

		printf(" %s", text);
	}
	printf("\n            send %zu, RDMA %zu octets at most\n", spigot->max_rc_send_len,
	       spigot->max_rc_rdma_len);
}

struct bit {
	unsigned bit;
	const char *word;
};

static const struct bit rmr_types[] = {
	{IT_RMR_TYPE_NARROW, "narrow"},
	{IT_RMR_TYPE_WIDE, "wide"},
};

static const struct bit iobl_types[] = {
	{IT_IOBL_PAGE_LIST, "page-list"},
	{IT_IOBL_BLOCK_LIST, "block-list"},
	{IT_IOBL_VE_PAGE_LIST, "pages-of-several-sizes"},
};

/* The bits of a mask as words; bits without a word as a number. */
static void
print_mask(const char *name, unsigned mask, const struct bit *bits, size_t count)
{
	printf("  %-34s%s", name, mask == 0 ? " none" : "");
	for (size_t i = 0; i < count; i++) {
		if ((mask & bits[i].bit) != 0)
			printf(" %s", bits[i].word);
		mask &= ~bits[i].bit;
	}
	if (mask != 0)
		printf(" %#x", mask);
	printf("\n");
}

static void
print_abilities(const struct told *told)
{
	const it_ia_info_t *info = told->info;

	for (size_t i = 0; i < G_N_ELEMENTS(booleans); i++)
		printf("  %-34s %s\n", booleans[i].name, is_set(info, &booleans[i]) ? "yes" : "no");
	for (size_t i = 0; i < G_N_ELEMENTS(supports); i++)
		printf("  %-34s %s\n", supports[i].name,
		       (told->support & supports[i].bit) != 0 ? "yes" : "no");
	for (size_t i = 0; i < G_N_ELEMENTS(lengths); i++)
		printf("  %-34s %zu\n", lengths[i].name, length_of(info, &lengths[i]));
	printf("  %-34s %u\n", "dto_alignment_hint", info->dto_alignment_hint);
	print_mask("rmr_types_supported", (unsigned)info->rmr_types_supported, rmr_types,
		   G_N_ELEMENTS(rmr_types));
	print_mask("iobl_types_supported", (unsigned)info->iobl_types_supported, iobl_types,
		   G_N_ELEMENTS(iobl_types));
}

static void
print_adapter(const it_interface_t *interface, const struct told *told, const char *trouble,
	      bool verbose)
{
	const it_ia_info_t *info = told->info;
	g_autofree char *name = tool_escape(interface->name);
	g_autofree char *vendor = tool_escape(vendor_of(info));

	printf("%s\n  transport %s, API %u.%u\n", name, transport_of(interface->transport_type),
	       interface->major_version, interface->minor_version);
	if (info == NULL) {
		g_autofree char *why = tool_escape(trouble);

		printf("  cannot be opened: %s\n", why);
		return;
	}
	printf("  provider %u.%u%s%s, %s\n", info->sw_major_version, info->sw_minor_version,
	       *vendor != '\0' ? " " : "", vendor, services_of(info));
	for (size_t i = 0; i < info->num_spigots; i++)
		print_spigot(&info->spigot_info[i]);
	if (verbose)
		print_abilities(told);
}

static void
json_spigot(JsonBuilder *json, const it_spigot_info_t *spigot)
{
	json_builder_begin_object(json);
	tool_json_count(json, "spigot_id", spigot->spigot_id);
	tool_json_boolean(json, "online", spigot->spigot_online);
	tool_json_count(json, "max_rc_send_len", spigot->max_rc_send_len);
	tool_json_count(json, "max_rc_rdma_len", spigot->max_rc_rdma_len);
	tool_json_count(json, "max_ud_send_len", spigot->max_ud_send_len);
	tool_json_count(json, "active_side_conn_qual", spigot->active_side_conn_qual);
	tool_json_count(json, "passive_side_conn_qual", spigot->passive_side_conn_qual);
	json_builder_set_member_name(json, "addresses");
	json_builder_begin_array(json);
	for (size_t i = 0; i < spigot->num_net_addr; i++) {
		g_autofree char *text = address_text(&spigot->net_addr[i]);

		tool_json_element(json, text);
	}
	json_builder_end_array(json);
	json_builder_end_object(json);
}

static void
json_info(JsonBuilder *json, const struct told *told)
{
	const it_ia_info_t *info = told->info;

	tool_json_count(json, "provider_major_version", info->sw_major_version);
	tool_json_count(json, "provider_minor_version", info->sw_minor_version);
	if (*vendor_of(info) != '\0')
		tool_json_text(json, "vendor", vendor_of(info));
	tool_json_boolean(json, "rc_service", (info->supported_service_types & IT_RC_SERVICE) != 0);
	tool_json_boolean(json, "ud_service", (info->supported_service_types & IT_UD_SERVICE) != 0);
	for (size_t i = 0; i < G_N_ELEMENTS(booleans); i++)
		tool_json_boolean(json, booleans[i].name, is_set(info, &booleans[i]));
	for (size_t i = 0; i < G_N_ELEMENTS(supports); i++)
		tool_json_boolean(json, supports[i].name, (told->support & supports[i].bit) != 0);
	for (size_t i = 0; i < G_N_ELEMENTS(lengths); i++)
		tool_json_count(json, lengths[i].name, length_of(info, &lengths[i]));
	tool_json_count(json, "dto_alignment_hint", info->dto_alignment_hint);
	tool_json_count(json, "rmr_types_supported", info->rmr_types_supported);
	tool_json_count(json, "iobl_types_supported", info->iobl_types_supported);
	json_builder_set_member_name(json, "spigots");
	json_builder_begin_array(json);
	for (size_t i = 0; i < info->num_spigots; i++)
		json_spigot(json, &info->spigot_info[i]);
	json_builder_end_array(json);
}

static void
json_adapter(JsonBuilder *json, const it_interface_t *interface, const struct told *told,
	     const char *trouble)
{
	json_builder_begin_object(json);
	tool_json_text(json, "name", interface->name);
	tool_json_text(json, "transport", transport_of(interface->transport_type));
	tool_json_count(json, "api_major_version", interface->major_version);
	tool_json_count(json, "api_minor_version", interface->minor_version);
	if (told->info != NULL)
		json_info(json, told);
	else
		tool_json_text(json, "error", trouble);
	json_builder_end_object(json);
}

/* Prints one adapter; false if it could not be opened. */
static bool
show_adapter(const it_interface_t *interface, bool verbose, JsonBuilder *json)
{
	struct tool_adapter adapter;
	g_autoptr(GError) trouble = NULL;
	bool good = tool_adapter_open(&adapter, interface->name, &trouble);
	struct told told = {.info = good ? adapter.info : NULL};
	const char *why = trouble != NULL ? trouble->message : "";

	/* Of an adapter that goes meanwhile, nothing. */
	if (good && itx_ia_query_support(adapter.ia, &told.support) != IT_SUCCESS)
		told.support = 0;
	if (json != NULL)
		json_adapter(json, interface, &told, why);
	else
		print_adapter(interface, &told, why, verbose);
	if (good)
		tool_adapter_close(&adapter);
	return good;
}

/* An adapter that is not listed may exist (an alias, one of several interfaces). */
static bool
name_it(it_interface_t *interface, const char *name, GError **error)
{
	struct tool_adapter adapter;

	memset(interface, 0, sizeof(*interface));
	if (!tool_adapter_open(&adapter, name, error))
		return false;
	g_strlcpy(interface->name, name, sizeof(interface->name));
	interface->transport_type = adapter.info->transport_type;
	interface->major_version = adapter.info->api_major_version;
	interface->minor_version = adapter.info->api_minor_version;
	tool_adapter_close(&adapter);
	return true;
}

/* Providers that were refused when the adapters were listed. */
static void
show_refused(JsonBuilder *json)
{
	g_auto(GStrv) refused = tool_log_said_by(TOOL_LOG_REGISTRY);

	if (json != NULL) {
		json_builder_set_member_name(json, "refused");
		json_builder_begin_array(json);
	}
	for (char **one = refused; *one != NULL; one++) {
		g_autofree char *safe = tool_escape(*one);

		if (json != NULL)
			tool_json_element(json, *one);
		else
			printf("refused: %s\n", safe);
	}
	if (json != NULL)
		json_builder_end_array(json);
}

static bool
show_all(const it_interface_t *list, size_t count, bool verbose, bool as_json)
{
	JsonBuilder *json = NULL;
	bool good = true;

	if (as_json) {
		json = tool_json_begin(PROGRAM);
		json_builder_set_member_name(json, "adapters");
		json_builder_begin_array(json);
	}
	for (size_t i = 0; i < count; i++)
		good = show_adapter(&list[i], verbose, json) && good;
	if (as_json) {
		json_builder_end_array(json);
	}
	show_refused(json);
	if (as_json) {
		tool_json_boolean(json, "ok", good);
		tool_json_print(json);
	}
	return good;
}

/* The adapter of that name, or all adapters. NULL: the error is set. g_free() the array. */
static it_interface_t *
find_adapters(const char *name, size_t *count, GError **error)
{
	unsigned lines = tool_log_count();
	g_autofree it_interface_t *list = NULL;
	g_autofree char *reasons = NULL;

	if (name == NULL) {
		list = tool_adapter_list(count);
		reasons = tool_log_reasons(lines);
		if (*count > 0 || reasons == NULL)
			return g_steal_pointer(&list);
		tool_fail(error, TOOL_ERROR_FAILED, "no adapter can be listed: %s", reasons);
		return NULL;
	}
	*count = 1;
	list = g_new0(it_interface_t, 1);
	return name_it(list, name, error) ? g_steal_pointer(&list) : NULL;
}

int
main(int argc, char **argv)
{
	g_autofree char *name = NULL;
	gboolean json = FALSE;
	gboolean verbose = FALSE;
	gboolean env = FALSE;
	g_autofree char *live = NULL;
	g_autofree char *interval = NULL;
	uint64_t interval_us = 0;
	GOptionEntry entries[] = {
		{"adapter", 'a', 0, G_OPTION_ARG_FILENAME, &name, "Only this adapter", "NAME"},
		{"verbose", 'v', 0, G_OPTION_ARG_NONE, &verbose, "Print every attribute", NULL},
		{"env", 0, 0, G_OPTION_ARG_NONE, &env,
		 "Print every setting, its value and its origin", NULL},
		{"live", 0, 0, G_OPTION_ARG_STRING, &live,
		 "Connections, peers and counters of a process", "PID|all"},
		{"interval", 'i', 0, G_OPTION_ARG_STRING, &interval,
		 "With --live: again after this time, until stopped", "TIME"},
		{"json", 0, 0, G_OPTION_ARG_NONE, &json, "Print everything for programs", NULL},
		{NULL, 0, 0, G_OPTION_ARG_NONE, NULL, NULL, NULL},
	};
	g_autoptr(GOptionContext) context = g_option_context_new("- lists RDMA adapters");
	g_autofree it_interface_t *list = NULL;
	GError *error = NULL;
	size_t count = 0;
	bool good = false;

	tool_begin();
	g_option_context_add_main_entries(context, entries, NULL);
	if (tool_parse(context, &argc, &argv, &error) && argc > 1)
		tool_fail(&error, TOOL_ERROR_USAGE,
			  "unexpected argument '%s'; name an adapter with -a", argv[1]);
	if (error == NULL && env && name != NULL)
		tool_fail(&error, TOOL_ERROR_USAGE,
			  "--env shows all adapters, and cannot be used with -a");
	if (error == NULL && live != NULL && (name != NULL || env))
		tool_fail(&error, TOOL_ERROR_USAGE, "--live cannot be used with -a or --env");
	if (error == NULL && interval != NULL && live == NULL)
		tool_fail(&error, TOOL_ERROR_USAGE, "--interval goes with --live only");
	if (error == NULL && interval != NULL)
		(void)tool_duration(interval, &interval_us, &error);
	if (error == NULL && live != NULL)
		good = info_live(PROGRAM, live, interval_us, json, &error);
	else if (error == NULL && env)
		good = info_env(PROGRAM, json, &error);
	else if (error == NULL)
		list = find_adapters(name, &count, &error);
	if (error != NULL) {
		if (json)
			tool_json_failure(PROGRAM, error);
		return tool_die(PROGRAM, error);
	}
	if (!env && live == NULL)
		good = show_all(list, count, verbose, json);
	return good ? 0 : 1;
}
