/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Reads the vector files for tests. The folder is compiled in (VECTORS_DIR) or taken from ITAPI_VECTORS. */

#include "vectors.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static guint8 *
octets_of(const char *hex, gsize *len)
{
	guint8 *octets;

	*len = strlen(hex) / 2;
	octets = g_malloc(*len + 1);
	for (gsize i = 0; i < *len; i++)
		octets[i] = (guint8)(g_ascii_xdigit_value(hex[2 * i]) << 4 |
				     g_ascii_xdigit_value(hex[2 * i + 1]));
	return octets;
}

static const char *
text_member(JsonObject *object, const char *name)
{
	return json_object_has_member(object, name) ? json_object_get_string_member(object, name)
						    : NULL;
}

static gboolean
true_member(JsonObject *object, const char *name)
{
	return json_object_has_member(object, name) && json_object_get_boolean_member(object, name);
}

static struct vector
vector_of(JsonObject *object)
{
	struct vector v = {.object = object, .crc = TRUE};

	v.name = text_member(object, "name");
	v.kind = text_member(object, "kind");
	v.expect = text_member(object, "expect");
	if (json_object_has_member(object, "fields"))
		v.fields = json_object_get_object_member(object, "fields");
	v.octets = octets_of(json_object_get_string_member(object, "hex"), &v.len);
	if (json_object_has_member(object, "length"))
		g_assert_cmpint((gint64)v.len, ==, json_object_get_int_member(object, "length"));
	return v;
}

static void
connection_add(GArray *list, JsonObject *connection)
{
	JsonArray *frames = json_object_get_array_member(connection, "frames");
	gboolean roce = json_object_has_member(connection, "conversation");
	JsonObject *agreed = roce ? NULL : json_object_get_object_member(connection, "negotiated");

	for (guint i = 0; i < json_array_get_length(frames); i++) {
		struct vector v = vector_of(json_array_get_object_element(frames, i));

		v.connection = text_member(connection, roce ? "conversation" : "connection");
		v.from_initiator =
			g_str_equal(text_member(v.object, "dir"), roce ? "A->B" : "I->R");
		if (roce) {
			g_array_append_val(list, v);
			continue;
		}
		v.crc = true_member(agreed, "crc");
		v.markers = true_member(agreed, v.from_initiator ? "markers_i2r" : "markers_r2i");
		g_array_append_val(list, v);
	}
}

struct vectors *
vectors_load(const char *file)
{
	struct vectors *v = g_new0(struct vectors, 1);
	const char *dir = g_getenv("ITAPI_VECTORS");
	g_autofree char *path = g_build_filename(dir != NULL ? dir : VECTORS_DIR, file, NULL);
	g_autoptr(GError) error = NULL;
	JsonArray *top;

	v->list = g_array_new(FALSE, TRUE, sizeof(struct vector));
	v->parser = json_parser_new();
	json_parser_load_from_file(v->parser, path, &error);
	g_assert_no_error(error);
	top = json_node_get_array(json_parser_get_root(v->parser));
	for (guint i = 0; i < json_array_get_length(top); i++) {
		JsonObject *object = json_array_get_object_element(top, i);

		if (json_object_has_member(object, "frames")) {
			connection_add(v->list, object);
		} else {
			struct vector one = vector_of(object);

			g_array_append_val(v->list, one);
		}
	}
	g_assert_cmpuint(v->list->len, >, 0);
	return v;
}

void
vectors_free(struct vectors **freed)
{
	struct vectors *v = *freed;

	for (guint i = 0; i < v->list->len; i++)
		g_free(g_array_index(v->list, struct vector, i).octets);
	g_array_unref(v->list);
	g_object_unref(v->parser);
	g_free(v);
}

guint
vectors_count(const struct vectors *v)
{
	return v->list->len;
}

const struct vector *
vectors_at(const struct vectors *v, guint i)
{
	g_assert_cmpuint(i, <, v->list->len);
	return &g_array_index(v->list, struct vector, i);
}

const struct vector *
vectors_find(const struct vectors *v, const char *connection, const char *name)
{
	for (guint i = 0; i < vectors_count(v); i++) {
		const struct vector *one = vectors_at(v, i);

		if (g_str_equal(one->name, name) &&
		    (connection == NULL || g_strcmp0(one->connection, connection) == 0))
			return one;
	}
	g_error("no vector %s", name);
}

gboolean
vector_has(const struct vector *v, const char *field)
{
	return v->fields != NULL && json_object_has_member(v->fields, field);
}

guint64
vector_number(const struct vector *v, const char *field)
{
	JsonNode *node = json_object_get_member(v->fields, field);

	if (node == NULL)
		g_error("vector %s has no field %s", v->name, field);
	if (json_node_get_value_type(node) == G_TYPE_STRING)
		return g_ascii_strtoull(json_node_get_string(node), NULL, 0);
	return (guint64)json_node_get_int(node);
}

guint8 *
vector_octets(const struct vector *v, const char *field, gsize *len)
{
	return octets_of(vector_has(v, field) ? text_member(v->fields, field) : "", len);
}

int
vector_expected_code(const struct vector *v)
{
	const char *terminate = v->expect != NULL ? strstr(v->expect, "Terminate layer ") : NULL;
	unsigned layer;
	unsigned type;
	unsigned code = 0;

	if (terminate == NULL ||
	    sscanf(terminate, "Terminate layer %u etype %u code %x", &layer, &type, &code) < 2)
		return -1;
	return (int)(layer << 12 | type << 8 | code);
}

gboolean
vector_expects_accept(const struct vector *v)
{
	return v->expect != NULL && g_str_has_prefix(v->expect, "ACCEPT");
}

struct guarded
guarded_copy(const void *from, gsize len)
{
	gsize page = (gsize)sysconf(_SC_PAGESIZE);
	gsize room = (len + page - 1) / page * page;
	struct guarded g = {.len = len, .size = room + page};

	g.map = mmap(NULL, g.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	g_assert_true(g.map != MAP_FAILED);
	g_assert_cmpint(mprotect((guint8 *)g.map + room, page, PROT_NONE), ==, 0);
	g.at = (guint8 *)g.map + room - len;
	if (from != NULL && len > 0)
		memcpy(g.at, from, len);
	return g;
}

void
guarded_free(struct guarded *g)
{
	munmap(g->map, g->size);
	memset(g, 0, sizeof(*g));
}
