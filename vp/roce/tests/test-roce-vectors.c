/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The RoCEv2 vectors: each packet is read, compared field by field, written again octet by octet,
 * and read truncated at every length, before a page that cannot be accessed. Each negative vector
 * must be refused for the right reason. Also CRC values, masks and identifications.
 */
#include "ri_at_end.h"
#include "vectors.h"

#ifdef __x86_64__
#include <cpuid.h>
#endif
#include <string.h>

#include "roce_icrc.h"

struct frame {
	struct roce_flow flow;
	struct roce_packet packet;
	const uint8_t *octets; /* of the UDP datagram */
	size_t len;
};

/* What is wrong with this frame, as far as that can be judged without a queue pair. */
static enum roce_fault
frame_read(const uint8_t *at, size_t len, struct frame *f)
{
	enum roce_fault fault = roce_ip_read(at, len, &f->flow, &f->octets, &f->len);

	if (fault == ROCE_OK)
		fault = roce_packet_read(f->octets, f->len, &f->packet);
	if (fault == ROCE_OK && !roce_icrc_check(&f->flow, false, f->octets, f->len))
		fault = ROCE_CRC;
	return fault;
}

/* Fails with the name of the vector unless the field, if it has it, is `value`. */
static void
same(const struct vector *v, const char *field, guint64 value)
{
	if (vector_has(v, field) && vector_number(v, field) != value)
		g_error("%s/%s: %s is %" G_GUINT64_FORMAT ", read as %" G_GUINT64_FORMAT,
			v->connection, v->name, field, vector_number(v, field), value);
}

static void
fields_compare(const struct vector *v, const struct frame *f)
{
	const struct roce_packet *p = &f->packet;

	same(v, "tos", f->flow.traffic_class);
	same(v, "ttl", f->flow.hop_limit);
	same(v, "ident", f->flow.ident);
	same(v, "df", !f->flow.fragments);
	same(v, "flow_label", f->flow.flow_label);
	same(v, "sport", f->flow.source_port);
	same(v, "opcode", p->opcode);
	same(v, "se", p->solicited);
	same(v, "migreq", p->migrated);
	same(v, "padcnt", p->pad);
	same(v, "pkey", p->pkey);
	same(v, "fecn", p->fecn);
	same(v, "becn", p->becn);
	same(v, "destqp", p->qpn);
	same(v, "ackreq", p->ack_request);
	same(v, "psn", p->psn);
	same(v, "va", p->va);
	same(v, "rkey", p->rkey);
	same(v, "dma_length", p->length);
	same(v, "swap_add", p->swap_add);
	same(v, "compare", p->compare);
	same(v, "orig", p->original);
	same(v, "syndrome", p->syndrome);
	same(v, "msn", p->msn);
	same(v, "imm", GUINT32_FROM_BE(p->immediate));
	same(v, "inv_rkey", p->invalidate);
	same(v, "qkey", p->qkey);
	same(v, "srcqp", p->source_qpn);
	same(v, "payload_len", p->payload_length);
}

/* Written from what was read, the packet is the same; but for reserved bits and the UDP checksum, which we do not send. */
static void
written_again(const struct vector *v, const struct frame *f)
{
	const struct roce_packet *p = &f->packet;
	uint8_t out[ROCE_FRAME_MAX];
	uint32_t ip = roce_ip_write(out, &f->flow, f->len);
	uint32_t head = roce_packet_write(out + ip, p);
	size_t len = head + p->payload_length;

	g_assert_cmpuint(head, ==, roce_head_size(roce_parts(p->opcode)));
	memcpy(out + ip + head, p->payload, p->payload_length);
	memset(out + ip + len, 0, roce_pad(p->payload_length));
	len = roce_icrc_seal(&f->flow, out + ip, len + roce_pad(p->payload_length));
	if (g_str_equal(v->name, "res7")) {
		g_assert_cmphex(out[ip + 8], ==, v->octets[ip + 8] & 0x80);
		return;
	}
	if (g_str_equal(v->name, "udp-checksum"))
		memcpy(out + ip - 2, v->octets + ip - 2, 2);
	g_assert_cmpmem(out, ip + len, v->octets, v->len);
}

static void
positive(void)
{
	struct vectors *all RI_AT_END(vectors_free) = vectors_load("roce.json");
	guint grhs = 0;

	for (guint i = 0; i < vectors_count(all); i++) {
		const struct vector *v = vectors_at(all, i);
		struct frame f;

		memset(&f, 0, sizeof(f));
		if (frame_read(v->octets, v->len, &f) != ROCE_OK)
			g_error("%s/%s is not read", v->connection, v->name);
		fields_compare(v, &f);
		written_again(v, &f);
		if (json_object_has_member(v->object, "grh_in_buffer")) {
			uint8_t grh[ROCE_GRH];
			g_autofree char *hex = NULL;
			GString *text = g_string_new(NULL);

			roce_grh_write(grh, &f.flow, f.len);
			for (guint k = 0; k < sizeof(grh); k++)
				g_string_append_printf(text, "%02x", grh[k]);
			hex = g_string_free(text, FALSE);
			g_assert_cmpstr(hex, ==,
					json_object_get_string_member(v->object, "grh_in_buffer"));
			grhs++;
		}
	}
	g_assert_cmpuint(vectors_count(all), ==, 190);
	g_assert_cmpuint(grhs, >=, 4);
}

/* Whole packets only: a frame that ends early, and a datagram that does, whatever the IP header says. */
static void
truncated(void)
{
	struct vectors *all RI_AT_END(vectors_free) = vectors_load("roce.json");

	for (guint i = 0; i < vectors_count(all); i++) {
		const struct vector *v = vectors_at(all, i);
		struct frame whole, f;

		g_assert_cmpint(frame_read(v->octets, v->len, &whole), ==, ROCE_OK);
		for (size_t len = 0; len < v->len; len++) {
			struct guarded g = guarded_copy(v->octets, len);

			g_assert_cmpint(frame_read(g.at, len, &f), ==, ROCE_IP);
			guarded_free(&g);
		}
		for (size_t len = 0; len < whole.len; len++) {
			struct guarded g = guarded_copy(whole.octets, len);
			bool right = roce_packet_read(g.at, len, &f.packet) == ROCE_OK &&
				     roce_icrc_check(&whole.flow, false, g.at, len);

			g_assert_false(right);
			guarded_free(&g);
		}
	}
}

static const struct {
	const char *name;
	enum roce_fault fault;
} refused[] = {
	{"icrc-one-bit", ROCE_CRC},
	{"icrc-byte-order", ROCE_CRC},
	{"icrc-no-lrh", ROCE_CRC},
	{"icrc-unmasked-ttl", ROCE_CRC},
	{"payload-flipped", ROCE_CRC},
	{"ident-changed", ROCE_CRC},
	{"tver-1", ROCE_VERSION},
	{"opcode-reserved-15", ROCE_OPCODE},
	{"opcode-rd", ROCE_OPCODE},
	{"short-bth", ROCE_SHORT},
	{"no-icrc", ROCE_SHORT},
	{"short-reth", ROCE_SHORT},
	{"pad-beyond-payload", ROCE_SHORT},
	{"fragment", ROCE_IP},
	{"ud-first", ROCE_OPCODE},
};

/* What only a queue pair can refuse is read. */
static void
negative(void)
{
	struct vectors *all RI_AT_END(vectors_free) = vectors_load("roce-negative.json");
	guint faults = 0;

	for (guint i = 0; i < vectors_count(all); i++) {
		const struct vector *v = vectors_at(all, i);
		enum roce_fault expected = ROCE_OK;
		struct frame f;

		for (guint k = 0; k < G_N_ELEMENTS(refused); k++)
			if (g_str_equal(v->name, refused[k].name))
				expected = refused[k].fault;
		faults += expected != ROCE_OK;
		if (frame_read(v->octets, v->len, &f) != expected)
			g_error("%s: %d instead of %d", v->name, frame_read(v->octets, v->len, &f),
				expected);
	}
	g_assert_cmpuint(faults, ==, G_N_ELEMENTS(refused));
}

static JsonObject *
icrc_load(JsonParser **parser)
{
	const char *dir = g_getenv("ITAPI_VECTORS");
	g_autofree char *path =
		g_build_filename(dir != NULL ? dir : VECTORS_DIR, "roce-icrc.json", NULL);

	*parser = json_parser_new();
	g_assert_true(json_parser_load_from_file(*parser, path, NULL));
	return json_node_get_object(json_parser_get_root(*parser));
}

static guint8 *
hex_of(JsonObject *object, const char *member, gsize *len)
{
	const char *hex = json_object_get_string_member(object, member);
	guint8 *octets = g_malloc0(strlen(hex) / 2);

	*len = strlen(hex) / 2;
	for (gsize i = 0; i < *len; i++)
		octets[i] = (guint8)(g_ascii_xdigit_value(hex[2 * i]) << 4 |
				     g_ascii_xdigit_value(hex[2 * i + 1]));
	return octets;
}

static uint32_t
bitwise(uint32_t crc, const uint8_t *at, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		crc ^= at[i];
		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ ((crc & 1) != 0 ? 0xedb88320u : 0);
	}
	return crc;
}

static void
crc(void)
{
	uint8_t octets[300];

	g_assert_cmphex(~roce_crc(~0u, "123456789", 9), ==, 0xcbf43926);
	memset(octets, 0xff, 8);
	g_assert_cmphex(roce_crc(~0u, octets, 8), ==, 0xdebb20e3);
	for (guint i = 0; i < sizeof(octets); i++)
		octets[i] = (uint8_t)g_test_rand_int();
	for (size_t from = 0; from < 8; from++)
		for (size_t len = 0; from + len <= sizeof(octets); len++)
			g_assert_cmphex(roce_crc(0x12345678, octets + from, len), ==,
					bitwise(0x12345678, octets + from, len));
}

#ifdef __x86_64__
/* Which parts of the registers beyond the lower 128 bits are in use: bit 2 and bit 6, of AVX and AVX-512. */
static uint32_t
upper_parts(void)
{
	uint32_t low, high;

	__asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(1));
	return low & (1u << 2 | 1u << 6);
}
#endif

/* A CRC leaves no upper parts of registers in use, for which later instructions would wait. */
static void
registers(void)
{
#ifdef __x86_64__
	static uint8_t octets[4096];
	uint32_t a = 0, b, c, d;

	if (!__builtin_cpu_supports("avx") || __get_cpuid_count(0xd, 1, &a, &b, &c, &d) == 0 ||
	    (a & 1u << 2) == 0) {
		g_test_skip("this processor does not tell");
		return;
	}
	__asm__ volatile("vzeroupper" ::: "memory");
	if (upper_parts() != 0) {
		g_test_skip("this processor counts registers that are all zeros");
		return;
	}
	(void)roce_crc(1, octets, sizeof(octets));
	g_assert_cmphex(upper_parts(), ==, 0);
#else
	g_test_skip("only x86 has such parts");
#endif
}

/* A changed octet of the headers changes the CRC, or does not, as it is said. */
static void
masks(void)
{
	JsonParser *parser;
	JsonArray *mutants = json_object_get_array_member(icrc_load(&parser), "mutants");

	g_assert_cmpuint(json_array_get_length(mutants), ==, 22);
	for (guint i = 0; i < json_array_get_length(mutants); i++) {
		JsonObject *m = json_array_get_object_element(mutants, i);
		gboolean unchanged = json_object_get_boolean_member(m, "icrc_unchanged");
		gsize len;
		g_autofree guint8 *octets = hex_of(m, "hex", &len);
		struct frame f;

		if ((frame_read(octets, len, &f) == ROCE_OK) != unchanged)
			g_error("mutant %s", json_object_get_string_member(m, "name"));
	}
	g_object_unref(parser);
}

/* What is kept of one flow is not taken for another one, which differs in any octet of an address, or in a port. */
static void
flows(void)
{
	const uint8_t octets[16] = {ROCE_RC | ROCE_SEND_ONLY};
	const uint8_t address[4] = {10, 1, 2, 3};
	struct roce_flow flow = {.source_port = 49152, .destination_port = ROCE_UDP_PORT};

	roce_gid_of_v4(flow.source, address);
	roce_gid_of_v4(flow.destination, address);
	for (guint i = 0; i < 10; i++) {
		struct roce_flow other = flow;
		uint32_t first = roce_icrc(&flow, octets, sizeof(octets));

		if (i < 8)
			(i < 4 ? other.source : other.destination)[12 + i % 4] ^= 8;
		else
			*(i == 8 ? &other.source_port : &other.destination_port) ^= 1;
		g_assert_cmphex(roce_icrc(&other, octets, sizeof(octets)), !=, first);
		g_assert_cmphex(roce_icrc(&flow, octets, sizeof(octets)), ==, first);
	}
}

/* A socket sees neither identification nor flags; both are found, and a packet that is damaged elsewhere is still refused. */
static void
identification(void)
{
	JsonParser *parser;
	JsonArray *list = json_object_get_array_member(icrc_load(&parser), "ident");
	struct vectors *all = vectors_load("roce.json");
	const struct vector *plain = vectors_find(all, "rc-bits", "no-df");
	struct frame f;

	for (guint i = 0; i < json_array_get_length(list); i++) {
		JsonObject *m = json_array_get_object_element(list, i);
		guint wanted = (guint)json_object_get_int_member(m, "ident");
		gsize len;
		g_autofree guint8 *octets = hex_of(m, "hex_ident_zeroed", &len);

		g_assert_cmpint(roce_ip_read(octets, len, &f.flow, &f.octets, &f.len), ==, ROCE_OK);
		g_assert_true(roce_icrc_check(&f.flow, false, f.octets, f.len) == (wanted == 0));
		g_assert_true(roce_icrc_check(&f.flow, true, f.octets, f.len));
		g_assert_cmpuint(f.flow.ident, ==, wanted);
		g_assert_false(f.flow.fragments);
		octets[len - 6] ^= 0x10;
		f.flow.ident = 0;
		g_assert_false(roce_icrc_check(&f.flow, true, f.octets, f.len));
	}
	g_assert_cmpint(roce_ip_read(plain->octets, plain->len, &f.flow, &f.octets, &f.len), ==,
			ROCE_OK);
	f.flow.ident = 0;
	f.flow.fragments = false;
	g_assert_true(roce_icrc_check(&f.flow, true, f.octets, f.len));
	g_assert_cmphex(f.flow.ident, ==, 48879);
	g_assert_true(f.flow.fragments);
	vectors_free(&all);
	g_object_unref(parser);
}

static void
ports(void)
{
	JsonParser *parser;
	JsonObject *o = json_object_get_object_member(icrc_load(&parser), "source_ports");
	JsonArray *qpns = json_object_get_array_member(o, "flow_label_of_qpns");
	JsonArray *labels = json_object_get_array_member(o, "port_of_flow_label");

	for (guint i = 0; i < json_array_get_length(qpns); i++) {
		JsonArray *a = json_array_get_array_element(qpns, i);
		uint32_t l = (uint32_t)json_array_get_int_element(a, 0);
		uint32_t r = (uint32_t)json_array_get_int_element(a, 1);

		g_assert_cmphex(roce_label_of_qpns(l, r), ==, json_array_get_int_element(a, 2));
		g_assert_cmphex(roce_label_of_qpns(r, l), ==, json_array_get_int_element(a, 2));
	}
	for (guint i = 0; i < json_array_get_length(labels); i++) {
		JsonArray *a = json_array_get_array_element(labels, i);

		g_assert_cmphex(roce_port_of_label((uint32_t)json_array_get_int_element(a, 0)), ==,
				json_array_get_int_element(a, 1));
	}
	g_object_unref(parser);
}

/* Numbers of 24 bits; times of RNR NAKs; P_Keys. */
static void
numbers(void)
{
	g_assert_cmpint(roce_diff(5, 3), ==, 2);
	g_assert_cmpint(roce_diff(1, 0xffffff), ==, 2);
	g_assert_cmpint(roce_diff(0xffffff, 1), ==, -2);
	g_assert_cmpint(roce_diff(0x900 + 0x7fffff, 0x900), ==, 0x7fffff);
	g_assert_cmpint(roce_diff(0x900 + 0x800000, 0x900), ==, -0x800000);
	g_assert_cmphex(roce_add(0xfffffe, 3), ==, 1);
	g_assert_cmpuint(roce_rnr_time(0), ==, 655360000);
	g_assert_cmpuint(roce_rnr_time(1), ==, 10000);
	g_assert_cmpuint(roce_rnr_time(12), ==, 640000);
	g_assert_cmpuint(roce_rnr_time(14), ==, 1280000);
	g_assert_cmpuint(roce_rnr_time(31), ==, 491520000);
	g_assert_true(roce_pkey_fits(0xffff, 0x7fff));
	g_assert_false(roce_pkey_fits(0x7fff, 0x7fff));
	g_assert_false(roce_pkey_fits(0xffff, 0xfffe));
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/roce/vectors/positive", positive);
	g_test_add_func("/roce/vectors/truncated", truncated);
	g_test_add_func("/roce/vectors/negative", negative);
	g_test_add_func("/roce/vectors/crc", crc);
	g_test_add_func("/roce/vectors/registers", registers);
	g_test_add_func("/roce/vectors/masks", masks);
	g_test_add_func("/roce/vectors/flows", flows);
	g_test_add_func("/roce/vectors/identification", identification);
	g_test_add_func("/roce/vectors/ports", ports);
	g_test_add_func("/roce/vectors/numbers", numbers);
	return g_test_run();
}
