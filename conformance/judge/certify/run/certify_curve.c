/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Curves as pictures of a page: both axes logarithmic, since sizes and figures span decades. */

#include "certify_model.h"

#include <math.h>
#include <string.h>

#define WIDTH  460.0
#define HEIGHT 280.0
#define MARGIN 56.0

/* The least and greatest of positive values. */
struct span {
	double low;
	double high;
};

static void
span_add(struct span *span, double value)
{
	span->low = MIN(span->low, value);
	span->high = MAX(span->high, value);
}

/* 0 to 1. */
static double
curve_place(const struct span *span, double value)
{
	double width = log(span->high) - log(span->low);

	return width > 0 ? (log(value) - log(span->low)) / width : 0.5;
}

/* A point of the curve of a name? */
static bool
is_of(JsonObject *point, const char *curve)
{
	return model_is(point, "curve", curve) && model_number(point, "x") > 0 &&
	       model_number(point, "y") > 0;
}

static void
curve_label(GString *out, double x, double y, const char *anchor, double value)
{
	char text[G_ASCII_DTOSTR_BUF_SIZE];

	g_ascii_formatd(text, sizeof(text), "%.4g", value);
	g_string_append_printf(
		out, "<text x=\"%d\" y=\"%d\" font-size=\"11\" text-anchor=\"%s\">%s</text>\n",
		(int)x, (int)y, anchor, text);
}

static void
axes_append(GString *out, const char *curve, const char *unit, const struct span *x,
	    const struct span *y)
{
	g_autofree char *title = g_markup_printf_escaped("%s (%s)", curve, unit);

	g_string_append_printf(
		out,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" "
		"height=\"%d\" viewBox=\"0 0 %d %d\" role=\"img\"><title>%s</title>\n"
		"<text x=\"%d\" y=\"18\" font-size=\"13\">%s</text>\n"
		"<path d=\"M%d %d V%d H%d\" fill=\"none\" stroke=\"#888\"/>\n",
		(int)WIDTH, (int)HEIGHT, (int)WIDTH, (int)HEIGHT, title, (int)MARGIN, title,
		(int)MARGIN, (int)(MARGIN / 2), (int)(HEIGHT - MARGIN / 2),
		(int)(WIDTH - MARGIN / 2));
	curve_label(out, MARGIN, HEIGHT - MARGIN / 2 + 16, "start", x->low);
	curve_label(out, WIDTH - MARGIN / 2, HEIGHT - MARGIN / 2 + 16, "end", x->high);
	curve_label(out, MARGIN - 4, HEIGHT - MARGIN / 2, "end", y->low);
	curve_label(out, MARGIN - 4, MARGIN / 2 + 10, "end", y->high);
}

static void
curve_append(GString *out, JsonObject *model, JsonObject *first)
{
	const char *curve = model_text(first, "curve");
	double left = model_number(first, "x"), low = model_number(first, "y");
	struct span x = {left, left}, y = {low, low};
	bool begun = false;

	for (guint i = 0; i < model_length(model, "figures"); i++) {
		JsonObject *point = model_element(model, "figures", i);

		if (is_of(point, curve)) {
			span_add(&x, model_number(point, "x"));
			span_add(&y, model_number(point, "y"));
		}
	}
	axes_append(out, curve, model_text(first, "unit"), &x, &y);
	g_string_append(out,
			"<polyline fill=\"none\" stroke=\"#06c\" stroke-width=\"2\" points=\"");
	for (guint i = 0; i < model_length(model, "figures"); i++) {
		JsonObject *point = model_element(model, "figures", i);

		if (!is_of(point, curve))
			continue;
		g_string_append_printf(
			out, "%s%d,%d", begun ? " " : "",
			(int)(MARGIN +
			      curve_place(&x, model_number(point, "x")) * (WIDTH - 1.5 * MARGIN)),
			(int)(HEIGHT - MARGIN / 2 -
			      curve_place(&y, model_number(point, "y")) * (HEIGHT - MARGIN)));
		begun = true;
	}
	g_string_append(out, "\"/>\n</svg>\n");
}

void
certify_curves_append(GString *out, JsonObject *model)
{
	g_autoptr(GHashTable) drawn = g_hash_table_new(g_str_hash, g_str_equal);

	for (guint i = 0; i < model_length(model, "figures"); i++) {
		JsonObject *point = model_element(model, "figures", i);
		const char *curve = model_text(point, "curve");

		if (!is_of(point, curve) || !g_hash_table_add(drawn, (void *)curve))
			continue;
		if (g_hash_table_size(drawn) == 1)
			g_string_append(
				out, "<h2>Figures</h2>\n<p>Both axes are logarithmic; the "
				     "horizontal one is the size of a message in octets. Figures "
				     "are no reason to fail.</p>\n");
		curve_append(out, model, point);
	}
}
