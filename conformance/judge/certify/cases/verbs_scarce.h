/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */
#ifndef VERBS_SCARCE_H
#define VERBS_SCARCE_H

/**
 * @file verbs_scarce.h
 * @brief One control verb while each of its allocations in turn fails.
 *
 * A verb that runs out of memory must return RI_ERR_RESOURCES, change nothing and leak nothing, and
 * the same call must succeed when there is memory again [RI 2.1.1].
 */

#include "cert_host.h"
#include "cert_node.h"

#define SCARCE_MOST  400u /* allocations of one verb */
#define SCARCE_TIMES 4u   /* how often each one fails */

/* What a case creates; each file of cases defines its own. */
struct scene;

/* What is swept. */
struct scarce {
	const char *name;
	void (*prepare)(struct scene *scene); /* before each call that may succeed; or NULL */
	enum ri_status (*attempt)(struct scene *scene); /* the verb, and nothing that allocates */
	void (*undo)(struct scene *scene);              /* after a success */
	void (*check)(struct scene *scene); /* after a failure: all is as it was; or NULL */
};

static inline void
scarce_undo(const struct scarce *what, struct scene *scene)
{
	what->undo(scene);
	if (what->prepare != NULL)
		what->prepare(scene);
}

/* One call in want of memory. False: it needs fewer allocations than n. */
static inline bool
scarce_once(struct cert *cert, const struct scarce *what, struct scene *scene, unsigned n,
	    bool for_good)
{
	struct cert_host *host = cert_host(cert);
	unsigned attached = cert_host_attached(host), watched = cert_host_watched(host);
	long kept;

	for (unsigned i = 0; i < SCARCE_TIMES; i++) {
		enum ri_status status;
		unsigned refused;

		cert_verb_begin(cert);
		kept = cert_host_blocks();
		cert_host_starve(n, for_good);
		status = what->attempt(scene);
		refused = cert_host_feed();
		kept = cert_host_blocks() - kept;
		cert_verb_end(cert, CERT_WHERE, what->name);
		if (refused == 0 || status == RI_SUCCESS) {
			cert_expect_status(cert, CERT_WHERE, what->name, status, RI_SUCCESS);
			scarce_undo(what, scene);
			if (refused == 0)
				return false;
			continue;
		}
		cert_expect_status(cert, CERT_WHERE, what->name, status, RI_ERR_RESOURCES);
		/* What was undone before may be given back only now. */
		CERT_UINT(cert, cert_host_attached(host), <=, attached);
		CERT_UINT(cert, cert_host_watched(host), <=, watched);
		/* A table that has grown may stay, so the first failure may keep something. */
		if (i > 0)
			CERT_UINT(cert, MAX(kept, 0), ==, 0);
		if (what->check != NULL)
			what->check(scene);
	}
	return true;
}

/* With memory it succeeds. */
static inline void
scarce_enough(struct cert *cert, const struct scarce *what, struct scene *scene)
{
	enum ri_status status;

	cert_verb_begin(cert);
	status = what->attempt(scene);
	cert_verb_end(cert, CERT_WHERE, what->name);
	cert_expect_status(cert, CERT_WHERE, what->name, status, RI_SUCCESS);
	scarce_undo(what, scene);
}

/* False: the case is skipped. */
static inline bool
scarce_can(struct cert *cert)
{
	if (!cert_host_can_starve())
		cert_skip(cert, "the allocator of this process is that of a sanitizer or of "
				"valgrind");
	return cert_host_can_starve();
}

/* Each allocation of the verb fails once, and then that one and all later ones. */
static inline void
scarce_sweep(struct cert *cert, const struct scarce *what, struct scene *scene)
{
	cert_note(cert, "%s", what->name);
	if (what->prepare != NULL)
		what->prepare(scene);
	scarce_enough(cert, what, scene);
	for (unsigned good = 0; good < 2; good++) {
		unsigned n = 1;

		while (scarce_once(cert, what, scene, n, good == 1)) {
			scarce_enough(cert, what, scene);
			CERT_UINT(cert, ++n, <=, SCARCE_MOST);
		}
		cert_note(cert, "%u allocations", n - 1);
	}
}

#endif /* VERBS_SCARCE_H */
