/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The datagrams of mads.txt: each is read before a page that cannot be read, every field is
 * compared with what another decoder has found, and it is written again, octet by octet. Then
 * invalid datagrams: each field that has illegal values gets one, one field at a time.
 */
#include <string.h>

#include "vectors.h"
#include "vrc_ip.h"
#include "vrc_mad.h"

struct sample {
	char *name; /* source/name */
	uint8_t octets[VRC_MAD_SIZE];
	size_t len;
	GHashTable *fields; /* text by name */
};

static GPtrArray *samples;  /* CM messages */
static GPtrArray *negative; /* what a receiver drops */

static void
octets_read(const char *hex, uint8_t *to, size_t room)
{
	g_assert_cmpuint(strlen(hex), <=, 2 * room);
	for (size_t i = 0; hex[2 * i] != '\0'; i++)
		to[i] = (uint8_t)(g_ascii_xdigit_value(hex[2 * i]) << 4 |
				  g_ascii_xdigit_value(hex[2 * i + 1]));
}

static void
sample_add(char **words)
{
	struct sample *sample = g_new0(struct sample, 1);
	bool bad = g_str_equal(words[0], "negative");

	sample->name = g_strdup_printf("%s/%s", words[0], words[1]);
	octets_read(words[3], sample->octets, sizeof(sample->octets));
	sample->fields = g_hash_table_new(g_str_hash, g_str_equal);
	sample->len = VRC_MAD_SIZE;
	for (char **word = words + 4; *word != NULL; word++) {
		char **pair = g_strsplit(*word, "=", 2);
		g_hash_table_insert(sample->fields, pair[0], pair[1]);
		if (g_str_equal(pair[0], "length"))
			sample->len = g_ascii_strtoull(pair[1], NULL, 16);
		g_free(pair); /* not what it has */
	}
	g_ptr_array_add(bad ? negative : samples, sample);
}

static void
samples_load(void)
{
	g_autofree char *text = NULL;
	g_autoptr(GError) error = NULL;

	if (!g_file_get_contents(MADS, &text, NULL, &error))
		g_error("%s", error->message);
	g_auto(GStrv) lines = g_strsplit(text, "\n", 0);
	samples = g_ptr_array_new();
	negative = g_ptr_array_new();
	for (char **line = lines; *line != NULL; line++) {
		if (**line == '#' || **line == '\0')
			continue;
		g_auto(GStrv) words = g_strsplit(*line, " ", 0);
		sample_add(words);
	}
}

static const struct sample *
sample_find(const char *name)
{
	for (guint i = 0; i < samples->len; i++) {
		const struct sample *sample = g_ptr_array_index(samples, i);
		if (g_str_equal(sample->name, name))
			return sample;
	}
	g_error("no datagram %s", name);
}

/* --- fields ------------------------------------------------------------------------------- */

static guint compared;

static void
number_compare(const struct sample *sample, const char *name, guint64 value)
{
	const char *text = g_hash_table_lookup(sample->fields, name);

	if (text == NULL)
		g_error("%s has no field %s", sample->name, name);
	if (g_ascii_strtoull(text, NULL, 16) != value)
		g_error("%s: %s is %#" G_GINT64_MODIFIER "x, should be %s", sample->name, name,
			value, text);
	compared++;
}

static void
octets_compare(const struct sample *sample, const char *name, const uint8_t *value, size_t len)
{
	uint8_t want[VRC_PRIVATE_MAX] = {0};

	octets_read(g_hash_table_lookup(sample->fields, name), want, len);
	if (memcmp(want, value, len) != 0)
		g_error("%s: %s differs", sample->name, name);
	compared++;
}

static void
req_compare(const struct sample *s, const struct vrc_mad_req *req)
{
	number_compare(s, "vendor_id", req->vendor_id);
	number_compare(s, "service_id", req->service_id);
	number_compare(s, "guid", req->guid);
	number_compare(s, "qkey", req->qkey);
	number_compare(s, "qpn", req->qpn);
	number_compare(s, "responder_depth", req->responder_depth);
	number_compare(s, "initiator_depth", req->initiator_depth);
	number_compare(s, "remote_timeout", req->remote_timeout);
	number_compare(s, "transport", req->transport);
	number_compare(s, "flow_control", req->flow_control);
	number_compare(s, "psn", req->psn);
	number_compare(s, "local_timeout", req->local_timeout);
	number_compare(s, "retry_count", req->retry_count);
	number_compare(s, "pkey", req->pkey);
	number_compare(s, "mtu", req->mtu);
	number_compare(s, "rdc_exists", req->rdc_exists);
	number_compare(s, "rnr_retry", req->rnr_retry);
	number_compare(s, "cm_retries", req->cm_retries);
	number_compare(s, "srq", req->srq);
	number_compare(s, "extended", req->extended);
	number_compare(s, "local_lid", req->primary.local_lid);
	number_compare(s, "remote_lid", req->primary.remote_lid);
	octets_compare(s, "local_gid", req->primary.local_gid, VRC_GID_SIZE);
	octets_compare(s, "remote_gid", req->primary.remote_gid, VRC_GID_SIZE);
	number_compare(s, "flow_label", req->primary.flow_label);
	number_compare(s, "rate", req->primary.rate);
	number_compare(s, "traffic_class", req->primary.traffic_class);
	number_compare(s, "hop_limit", req->primary.hop_limit);
	number_compare(s, "sl", req->primary.sl);
	number_compare(s, "subnet_local", req->primary.subnet_local);
	number_compare(s, "ack_timeout", req->primary.ack_timeout);
}

static void
rep_compare(const struct sample *s, const struct vrc_mad_rep *rep)
{
	number_compare(s, "qkey", rep->qkey);
	number_compare(s, "qpn", rep->qpn);
	number_compare(s, "psn", rep->psn);
	number_compare(s, "responder_depth", rep->responder_depth);
	number_compare(s, "initiator_depth", rep->initiator_depth);
	number_compare(s, "ack_delay", rep->ack_delay);
	number_compare(s, "failover", rep->failover);
	number_compare(s, "flow_control", rep->flow_control);
	number_compare(s, "rnr_retry", rep->rnr_retry);
	number_compare(s, "srq", rep->srq);
	number_compare(s, "guid", rep->guid);
}

static void
fields_compare(const struct sample *s, const struct vrc_mad *mad)
{
	number_compare(s, "tid", mad->tid);
	number_compare(s, "local_id", mad->local_id);
	if (g_hash_table_contains(s->fields, "remote_id"))
		number_compare(s, "remote_id", mad->remote_id);
	octets_compare(s, "private", mad->private_data, vrc_private_room(mad->attribute));
	switch (mad->attribute) {
	case VRC_REQ:
		req_compare(s, &mad->req);
		break;
	case VRC_REP:
		rep_compare(s, &mad->rep);
		break;
	case VRC_REJ:
		number_compare(s, "about", mad->rej.about);
		number_compare(s, "info_len", mad->rej.info_len);
		number_compare(s, "reason", mad->rej.reason);
		octets_compare(s, "info", mad->rej.info, VRC_INFO_MAX);
		break;
	case VRC_MRA:
		number_compare(s, "about", mad->mra.about);
		number_compare(s, "timeout", mad->mra.timeout);
		break;
	case VRC_DREQ:
		number_compare(s, "qpn", mad->dreq_qpn);
		break;
	case VRC_SIDR_REQ:
		number_compare(s, "pkey", mad->sidr_req.pkey);
		number_compare(s, "service_id", mad->sidr_req.service_id);
		break;
	case VRC_SIDR_REP:
		number_compare(s, "status", mad->sidr_rep.status);
		number_compare(s, "info_len", mad->sidr_rep.info_len);
		number_compare(s, "qpn", mad->sidr_rep.qpn);
		number_compare(s, "service_id", mad->sidr_rep.service_id);
		number_compare(s, "qkey", mad->sidr_rep.qkey);
		break;
	default:
		break;
	}
}

static void
test_samples(void)
{
	uint8_t again[VRC_MAD_SIZE];

	for (guint i = 0; i < samples->len; i++) {
		const struct sample *sample = g_ptr_array_index(samples, i);
		struct guarded g = guarded_copy(sample->octets, VRC_MAD_SIZE);
		struct vrc_mad mad;

		memset(&mad, 0xa5, sizeof(mad));
		if (vrc_mad_read(g.at, VRC_MAD_SIZE, &mad) != VRC_FOUND_CM)
			g_error("%s is not read", sample->name);
		fields_compare(sample, &mad);
		memset(again, 0x5a, sizeof(again));
		vrc_mad_write(&mad, again);
		if (memcmp(again, sample->octets, VRC_MAD_SIZE) != 0)
			g_error("%s is written otherwise", sample->name);
		guarded_free(&g);
	}
	g_test_message("%u datagrams, %u fields", samples->len, compared);
	g_assert_cmpuint(samples->len, ==, 206);
}

/* Each octet of the message of a kind that a field or private data covers arrives, and is written. */
static void
test_every_octet(void)
{
	static const char *const kinds[] = {
		"vectors/cm-tcp-v4/req",          "vectors/cm-tcp-v4/rep",
		"vectors/cm-rejects/rej-timeout", "vectors/cm-tcp-v4/mra",
		"vectors/cm-tcp-v4/dreq",         "vectors/cm-udp/sidr-req",
		"vectors/cm-udp/sidr-rep"};
	/* Reserved: class specific, behind the attribute, modifier; what else each kind has. */
	static const guint common = 2 + 2 + 4;
	static const guint reserved[] = {1 + 4 + 3 + 3, 3, 1, 1, 1, 2, 0};

	for (gsize k = 0; k < G_N_ELEMENTS(kinds); k++) {
		const struct sample *sample = sample_find(kinds[k]);
		guint lost = 0;

		for (guint at = 6; at < VRC_MAD_SIZE; at++) {
			uint8_t octets[VRC_MAD_SIZE];
			uint8_t again[VRC_MAD_SIZE];
			struct vrc_mad mad;

			memcpy(octets, sample->octets, sizeof(octets));
			octets[at] ^= 0x10;
			if (vrc_mad_read(octets, sizeof(octets), &mad) != VRC_FOUND_CM)
				continue; /* test_lies has these */
			vrc_mad_write(&mad, again);
			lost += memcmp(octets, again, sizeof(octets)) != 0;
		}
		if (lost != common + reserved[k])
			g_error("%s: %u octets are not kept", kinds[k], lost);
	}
}

/* --- lies --------------------------------------------------------------------------------- */

static const struct {
	const char *sample;
	guint at; /* octet */
	uint8_t value;
	enum vrc_found found;
} lies[] = {
	{"cm-tcp-v4/req", 0, 2, VRC_FOUND_BASE_VERSION},
	{"cm-tcp-v4/req", 1, 3, VRC_FOUND_CLASS},
	{"cm-tcp-v4/req", 1, 0x81, VRC_FOUND_CLASS},
	{"cm-tcp-v4/req", 2, 1, VRC_FOUND_CLASS_VERSION},
	{"cm-tcp-v4/req", 3, 1, VRC_FOUND_METHOD},
	{"cm-tcp-v4/req", 3, 0x83, VRC_FOUND_METHOD},
	{"cm-tcp-v4/req", 5, 4, VRC_FOUND_STATUS},
	{"cm-tcp-v4/req", 17, 0x0f, VRC_FOUND_ATTRIBUTE},
	{"cm-tcp-v4/req", 17, 0x1b, VRC_FOUND_ATTRIBUTE},
	{"cm-tcp-v4/req", 16, 1, VRC_FOUND_ATTRIBUTE},
	{"cm-rejects/rej-stale", 24 + 8, 3 << 6, VRC_FOUND_FIELD},
	{"cm-rejects/rej-stale", 24 + 9, 73 << 1, VRC_FOUND_FIELD},
	{"cm-rejects/rej-stale", 24 + 9, 72 << 1, VRC_FOUND_CM},
	{"cm-tcp-v4/mra", 24 + 8, 3 << 6, VRC_FOUND_FIELD},
	{"cm-udp/sidr-rep", 24 + 4, 6, VRC_FOUND_FIELD},
	{"cm-udp/sidr-rep", 24 + 4, 5, VRC_FOUND_CM},
	{"cm-udp/sidr-rep", 24 + 5, 73, VRC_FOUND_FIELD},
};

static void
test_lies(void)
{
	struct vrc_mad mad;

	for (gsize i = 0; i < G_N_ELEMENTS(lies); i++) {
		g_autofree char *name = g_strconcat("vectors/", lies[i].sample, NULL);
		uint8_t octets[VRC_MAD_SIZE];

		memcpy(octets, sample_find(name)->octets, sizeof(octets));
		octets[lies[i].at] = lies[i].value;
		enum vrc_found found = vrc_mad_read(octets, sizeof(octets), &mad);
		if (found != lies[i].found)
			g_error("%s, octet %u: %s", name, lies[i].at, vrc_found_name(found));
	}
}

/* Numbers of queue pairs that no connection has; a SIDR_REP without a queue pair may say anything. */
static void
test_queue_pairs(void)
{
	static const char *const kinds[] = {"vectors/cm-tcp-v4/req", "vectors/cm-tcp-v4/rep",
					    "vectors/cm-udp/sidr-rep"};
	static const guint at[] = {24 + 32, 24 + 12, 24 + 8};
	static const uint32_t bad[] = {0, 1, 0xffffff};
	struct vrc_mad mad;

	for (gsize k = 0; k < G_N_ELEMENTS(kinds); k++) {
		uint8_t octets[VRC_MAD_SIZE];

		memcpy(octets, sample_find(kinds[k])->octets, sizeof(octets));
		for (gsize i = 0; i < G_N_ELEMENTS(bad); i++) {
			octets[at[k]] = (uint8_t)(bad[i] >> 16);
			octets[at[k] + 1] = (uint8_t)(bad[i] >> 8);
			octets[at[k] + 2] = (uint8_t)bad[i];
			g_assert_cmpint(vrc_mad_read(octets, sizeof(octets), &mad), ==,
					VRC_FOUND_FIELD);
		}
		octets[at[k] + 2] = 0xfe;
		g_assert_cmpint(vrc_mad_read(octets, sizeof(octets), &mad), ==, VRC_FOUND_CM);
	}
	const struct sample *none = sample_find("vectors/cm-udp/sidr-rep-unsupported");
	g_assert_cmpint(vrc_mad_read(none->octets, VRC_MAD_SIZE, &mad), ==, VRC_FOUND_CM);
	g_assert_cmpuint(mad.sidr_rep.qpn, ==, 0);
}

static void
test_lengths(void)
{
	const struct sample *req = sample_find("vectors/cm-tcp-v4/req");
	uint8_t octets[VRC_MAD_SIZE + 1] = {0};
	struct vrc_mad mad;

	memcpy(octets, req->octets, VRC_MAD_SIZE);
	for (size_t len = 0; len <= VRC_MAD_SIZE; len++) {
		struct guarded g = guarded_copy(octets, len);
		g_assert_cmpint(vrc_mad_read(g.at, len, &mad), ==,
				len == VRC_MAD_SIZE ? VRC_FOUND_CM : VRC_FOUND_LENGTH);
		guarded_free(&g);
	}
	g_assert_cmpint(vrc_mad_read(octets, sizeof(octets), &mad), ==, VRC_FOUND_LENGTH);
}

static void
test_negative(void)
{
	static const struct {
		const char *name;
		enum vrc_found found;
	} want[] = {
		{"negative/mad-short", VRC_FOUND_LENGTH},
		{"negative/mad-class-unknown", VRC_FOUND_CLASS},
		{"negative/mad-class-version", VRC_FOUND_CLASS_VERSION},
		{"negative/req-no-cma-header", VRC_FOUND_CM},
		{"negative/req-foreign-gid", VRC_FOUND_CM},
	};
	struct vrc_ip_header header;
	struct vrc_mad mad;

	g_assert_cmpuint(negative->len, ==, G_N_ELEMENTS(want));
	for (guint i = 0; i < negative->len; i++) {
		const struct sample *sample = g_ptr_array_index(negative, i);
		g_assert_cmpstr(sample->name, ==, want[i].name);
		g_assert_cmpint(vrc_mad_read(sample->octets, sample->len, &mad), ==, want[i].found);
		if (want[i].found == VRC_FOUND_CM)
			g_assert(vrc_ip_header_read(mad.private_data, 92, &header) ==
				 g_str_equal(sample->name, "negative/req-foreign-gid"));
	}
}

/* --- answers to what is no CM message ------------------------------------------------------- */

static void
test_refusals(void)
{
	uint8_t octets[VRC_MAD_SIZE];
	uint8_t answer[VRC_MAD_SIZE];
	struct vrc_mad mad;

	memcpy(octets, sample_find("vectors/cm-tcp-v4/req")->octets, sizeof(octets));
	octets[3] = VRC_METHOD_GET;
	octets[17] = VRC_ATTR_CLASS_PORT_INFO;
	enum vrc_found found = vrc_mad_read(octets, sizeof(octets), &mad);
	g_assert_true(vrc_mad_refuse(octets, sizeof(octets), found, answer));
	g_assert_cmpuint(answer[3], ==, VRC_METHOD_GET_RESP);
	g_assert_cmpuint(answer[5], ==, 0x0c);
	g_assert_cmpmem(answer + 6, 250, octets + 6, 250);

	octets[2] = 1;
	found = vrc_mad_read(octets, sizeof(octets), &mad);
	g_assert_true(vrc_mad_refuse(octets, sizeof(octets), found, answer));
	g_assert_cmpuint(answer[5], ==, 4);

	/* An answer to an answer, and to what waits for none, could go round without end. */
	for (guint method = 0; method < 256; method++) {
		octets[3] = (uint8_t)method;
		found = vrc_mad_read(octets, sizeof(octets), &mad);
		g_assert(vrc_mad_refuse(octets, sizeof(octets), found, answer) ==
			 (method == VRC_METHOD_GET || method == VRC_METHOD_SET));
	}
	octets[3] = VRC_METHOD_GET;
	g_assert_false(vrc_mad_refuse(octets, 255, VRC_FOUND_LENGTH, answer));
	octets[1] = 4;
	found = vrc_mad_read(octets, sizeof(octets), &mad);
	g_assert_false(vrc_mad_refuse(octets, sizeof(octets), found, answer));
}

/* --- the header of IP services -------------------------------------------------------------- */

/* Every REQ and SIDR_REQ for an IP service has one, in both families, with the GIDs of its path; it is written again. */
static void
test_ip_headers(void)
{
	guint seen[3] = {0};

	for (guint i = 0; i < samples->len; i++) {
		const struct sample *sample = g_ptr_array_index(samples, i);
		struct vrc_ip_header header;
		uint8_t again[VRC_IP_HEADER_SIZE];
		uint8_t gid[VRC_GID_SIZE];
		struct vrc_mad mad;

		g_assert_cmpint(vrc_mad_read(sample->octets, VRC_MAD_SIZE, &mad), ==, VRC_FOUND_CM);
		if (mad.attribute != VRC_REQ && mad.attribute != VRC_SIDR_REQ)
			continue;
		bool datagram = mad.attribute == VRC_SIDR_REQ;
		uint64_t id = datagram ? mad.sidr_req.service_id : mad.req.service_id;
		g_assert_true(vrc_service_is_port(id, datagram));
		g_assert_false(vrc_service_is_port(id, !datagram));
		g_assert_true(vrc_ip_header_read(mad.private_data, VRC_IP_HEADER_SIZE, &header));
		seen[header.source.family]++;
		vrc_ip_header_write(&header, again);
		g_assert_cmpmem(again, sizeof(again), mad.private_data, sizeof(again));
		if (datagram)
			continue;
		vrc_gid_of_addr(&header.source, gid);
		g_assert_cmpmem(gid, sizeof(gid), mad.req.primary.local_gid, sizeof(gid));
		vrc_gid_of_addr(&header.dest, gid);
		g_assert_cmpmem(gid, sizeof(gid), mad.req.primary.remote_gid, sizeof(gid));
		if (g_str_has_prefix(sample->name, "rxe-6.1/"))
			g_assert_cmpuint(mad.req.primary.flow_label, ==,
					 vrc_flow_label(header.port, (uint16_t)id));
	}
	g_assert_cmpuint(seen[RI_ADDR_IPV4], >, 10);
	g_assert_cmpuint(seen[RI_ADDR_IPV6], >, 0);
}

static void
test_ip_header_lies(void)
{
	static const struct ri_addr v4 = {.family = RI_ADDR_IPV4, .octets = {192, 0, 2, 1}};
	static const struct ri_addr v6 = {.family = RI_ADDR_IPV6, .octets = {0xfe, 0x80}};
	struct vrc_ip_header header = {.port = 7174, .source = v4, .dest = v4};
	struct vrc_ip_header read;
	uint8_t octets[VRC_IP_HEADER_SIZE];

	vrc_ip_header_write(&header, octets);
	g_assert_cmpuint(octets[1], ==, 0x40);
	for (size_t len = 0; len < sizeof(octets); len++)
		g_assert_false(vrc_ip_header_read(octets, len, &read));
	for (guint version = 0; version < 16; version++) {
		octets[1] = (uint8_t)(version << 4 | 9); /* the low half is reserved */
		g_assert(vrc_ip_header_read(octets, sizeof(octets), &read) ==
			 (version == 4 || version == 6));
	}
	octets[1] = 0x40;
	octets[0] = 1;
	g_assert_false(vrc_ip_header_read(octets, sizeof(octets), &read));
	g_assert_false(vrc_addr_same(&v4, &v6));
	g_assert_true(vrc_addr_same(&v4, &v4));
}

static void
test_service_ids(void)
{
	struct ri_service port = {.kind = RI_SERVICE_PORT, .port = GUINT16_TO_BE(7174)};
	struct ri_service id = {.kind = RI_SERVICE_IB, .id = GUINT64_TO_BE(0x1234567890abcdef)};

	g_assert_cmphex(vrc_service_id(&port, false), ==, 0x0000000001061c06);
	g_assert_cmphex(vrc_service_id(&port, true), ==, 0x0000000001111c06);
	g_assert_cmphex(vrc_service_id(&id, false), ==, 0x1234567890abcdef);
	g_assert_false(vrc_service_is_port(0x1234567890abcdef, false));
	g_assert_false(vrc_service_is_port(0x0001000001061c06, false));
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	samples_load();
	g_test_add_func("/roce/cm/mad/samples", test_samples);
	g_test_add_func("/roce/cm/mad/every-octet", test_every_octet);
	g_test_add_func("/roce/cm/mad/lies", test_lies);
	g_test_add_func("/roce/cm/mad/queue-pairs", test_queue_pairs);
	g_test_add_func("/roce/cm/mad/lengths", test_lengths);
	g_test_add_func("/roce/cm/mad/negative", test_negative);
	g_test_add_func("/roce/cm/mad/refusals", test_refusals);
	g_test_add_func("/roce/cm/mad/ip-headers", test_ip_headers);
	g_test_add_func("/roce/cm/mad/ip-header-lies", test_ip_header_lies);
	g_test_add_func("/roce/cm/mad/service-ids", test_service_ids);
	return g_test_run();
}
