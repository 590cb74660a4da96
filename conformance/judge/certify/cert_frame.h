/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */
#ifndef CERT_FRAME_H
#define CERT_FRAME_H

/**
 * @file cert_frame.h
 * @brief The functions that run cases, for the files of the frame. Cases do not include this file.
 */

#include <pthread.h>

#include "cert_host.h"
#include "cert_node.h"
#include "cert_record.h"

/** What all cases of a process share. */
struct cert_setup {
	const struct ri_provider *provider; /**< taken over, with the fast path of cert_fast.c */
	const struct ri_provider *taken;    /**< as the registry has it */
	const struct ri_provider *raw;
	const char *adapter;
	const char *origin; /**< file of the provider, or another word for where it comes from */
	struct ri_rnic_attr attr;
	uint64_t seed;
	gint64 patience_us;
	gint64 duration_us;
	int fd; /**< where records go; -1: stdout */
	const char
		*installed; /**< folder of installed providers; NULL: the one fixed at build time */
};

/** One run of one case. */
struct cert {
	const struct cert_setup *setup;
	const struct cert_case *one;
	struct cert_host *host;
	uint64_t random;
	pthread_mutex_t lock; /**< guards the following */
	GPtrArray *nodes;     /**< struct cert_node, open */
	char *violation[3];   /**< of an upcall: what, expected, seen; the first one */
	bool skipped;
};

/** Writes a record; @p words ends with NULL. */
void cert_record(const struct cert_setup *setup, const char *kind, const char *const *words);

/**
 * Waits until the service thread has done its due work, so that an upcall that is already due is
 * recorded. Waits at most a second, since that thread may be waiting for the calling one.
 */
void cert_host_settle(struct cert_host *host);

/** Runs one case. Returns only if it has not failed. */
void cert_run(const struct cert_setup *setup, const struct cert_case *one);

/** An upcall, on any thread, broke a rule: the case fails at its end. */
void cert_violation(struct cert *cert, const char *what, const char *expected, const char *seen);
/** Fails the case if an upcall broke a rule so far. */
void cert_violation_check(struct cert *cert);
/** Is this thread inside a control verb of CERT_VERB? */
bool cert_in_verb(void);
/** A context that no object of this process had. */
uint64_t cert_ctx_next(void);

/** Where a thread is on the fast path. */
enum cert_fast {
	CERT_FAST_NONE = 0, /**< In no entry. */
	CERT_FAST_ENGINE,   /**< In an entry that may make upcalls. */
	CERT_FAST_QUIET     /**< In one that makes none: cq_depth or arm_cq. */
};
/** Where this thread is. */
enum cert_fast cert_fast_inside(void);
/** The provider with a fast path that notes where its threads are. For one provider in a process. */
const struct ri_provider *cert_fast_watch(const struct ri_provider *provider);

/** The upcalls of a node: its first argument is @p upcalls. */
struct cert_upcalls *cert_upcalls_new(struct cert *cert);
const struct ri_upcalls *cert_upcalls_table(struct cert_upcalls *upcalls);
/** The adapter is closed: every further upcall is a fault, and so is one that is under way. The recorder itself stays until the process ends. */
void cert_upcalls_close(struct cert_upcalls *upcalls);

/** Loads and opens what the options name. False with a reason. */
bool cert_setup_open(struct cert_setup *setup, const char *path, const char *adapter,
		     GError **error);
/** Why the library would refuse the adapter's profile, in words that the caller frees; NULL: it would not. */
char *cert_claims_fault(const struct cert_setup *setup);
/** Records what is certified: the provider, the adapter, each attribute of its profile. */
void cert_setup_tell(const struct cert_setup *setup);

#endif /* CERT_FRAME_H */
