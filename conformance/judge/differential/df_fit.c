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

/* The endpoints of one kind that the program has created, by their places, and the step that created each. */
struct renewed {
	struct df_step created[MAX(DF_EPS, DF_UDS)];
	bool known[MAX(DF_EPS, DF_UDS)];
};

/* The endpoint at `place` is replaced by one that is created like it was. False: the program has not created it. */
static bool
renew(struct df_program *program, const struct renewed *of, int place, const struct df_step *end)
{
	if (!of->known[place])
		return false;
	g_array_append_val(program->steps, *end);
	g_array_append_val(program->steps, of->created[place]);
	return true;
}

static void
note(struct renewed *of, int place, const struct df_step *created)
{
	of->created[place] = *created;
	of->known[place] = true;
}

struct df_program *
df_fit(const struct df_program *program, const struct df_profile *profile)
{
	struct df_program *fit = df_program_new();
	struct renewed eps = {0}, uds = {0};

	for (unsigned i = 0; i < program->steps->len; i++) {
		struct df_step step = *df_program_step(program, i);
		const struct df_step ep_end = {.kind = DF_EP_FREE, .ep = step.ep},
				     ud_end = {.kind = DF_UD_FREE, .obj = step.obj};

		if (step.kind == DF_EP_CREATE)
			note(&eps, step.ep, &step);
		if (step.kind == DF_UD_CREATE)
			note(&uds, step.obj, &step);
		if (profile->once &&
		    ((step.kind == DF_RESET && renew(fit, &eps, step.ep, &ep_end)) ||
		     (step.kind == DF_UD_RESET && renew(fit, &uds, step.obj, &ud_end))))
			continue;
		if (i % REFUSED_EACH != 0)
			step.segs = MIN(step.segs, most_segs(&step, profile));
		g_array_append_val(fit->steps, step);
	}
	return fit;
}
