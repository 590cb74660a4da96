/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include "df_fit.h"

#define REFUSED_EACH 8 /* one of 8 requests keeps segments that the adapter does not take */

/* The most segments of a step of that kind; DF_SEGS: it has none, or they are not limited. */
static int
most_segs(const struct df_step *step, const struct df_profile *profile)
{
	switch ((int)step->kind) {
	case DF_SEND:
	case DF_SEND_UNLINK:
		return profile->send_segs;
	case DF_RECV:
		return profile->recv_segs;
	case DF_WRITE:
		return profile->write_segs;
	default:
		return DF_SEGS;
	}
}

/* The endpoint is replaced by one that is created like it was. */
static void
renew(struct df_program *program, const struct df_step *reset, const struct df_step *created)
{
	const struct df_step end = {.kind = DF_EP_FREE, .ep = reset->ep};

	g_array_append_val(program->steps, end);
	g_array_append_val(program->steps, *created);
}

struct df_program *
df_fit(const struct df_program *program, const struct df_profile *profile)
{
	struct df_program *fit = df_program_new();
	struct df_step created[DF_EPS] = {{.kind = DF_RESET}};
	bool known[DF_EPS] = {false};

	for (unsigned i = 0; i < program->steps->len; i++) {
		struct df_step step = *df_program_step(program, i);

		if (step.kind == DF_EP_CREATE) {
			created[step.ep] = step;
			known[step.ep] = true;
		}
		if (step.kind == DF_RESET && profile->once && known[step.ep]) {
			renew(fit, &step, &created[step.ep]);
			continue;
		}
		if (i % REFUSED_EACH != 0)
			step.segs = MIN(step.segs, most_segs(&step, profile));
		g_array_append_val(fit->steps, step);
	}
	return fit;
}
