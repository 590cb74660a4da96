/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The registry of providers: it checks providers, keeps copies of them, and reports why it refuses
 * one.
 *
 * The tables of a registered provider are copies, cut or extended with stubs to the sizes known
 * here, so a caller may call every member. A copy stays until the process ends.
 *
 * No function here ends the process for want of memory: it refuses with RI_REGISTRY_ERROR_MEMORY,
 * has registered nothing, and may be called again.
 */
#ifndef RI_REGISTRY_H
#define RI_REGISTRY_H

#include <stdbool.h>

#include "rnicpi.h"

/* A provider taken over. An absent entry is that of ri_stubs, so every entry may be called. */
struct ri_loaded {
	struct ri_provider provider; /* points to what follows */
	struct ri_device_ops device;
	struct ri_pd_ops pd;
	struct ri_cq_ops cq;
	struct ri_qp_ops qp;
	struct ri_mem_ops mem;
	struct ri_srq_ops srq;
	struct ri_ah_ops ah;
	struct ri_cm_ops cm;
	struct ri_llp_ops llp;
	struct ri_peer_ops peer;
	struct ri_user_ops user;
	struct ri_fast_ops fast;
	char name[32];
	char description[256];
	const struct ri_provider *source; /* what this is a copy of; only to be compared */
	struct ri_loaded *next;           /* in the registry */
	char origin[];                    /* file, "built-in" or "registered" */
};

/* The functions in the places of entries that a provider may leave out; the others are NULL (ri_stubs.c). */
extern const struct ri_loaded ri_stubs;

/* Why a provider is refused. */
enum ri_registry_error {
	RI_REGISTRY_ERROR_NONE = 0,
	RI_REGISTRY_ERROR_VERSION, /* another major version of the interface */
	RI_REGISTRY_ERROR_SHAPE,   /* sizes or names that cannot be */
	RI_REGISTRY_ERROR_MEMBER,  /* a required table or entry is missing */
	RI_REGISTRY_ERROR_NAME,    /* the name is taken */
	RI_REGISTRY_ERROR_CLAIM,   /* the profile claims what is not there, or makes no sense */
	RI_REGISTRY_ERROR_LOAD,    /* the file cannot be loaded, or is no provider */
	RI_REGISTRY_ERROR_MEMORY   /* there is no memory now; it may work later */
};

/* The same in words, which name the table, the member or the attribute. Needs no memory of its own. */
struct ri_error {
	enum ri_registry_error code;
	char text[512]; /* cut if it is longer */
};

/* Set one; NULL is fine. Always false. */
bool ri_error_set(struct ri_error *error, enum ri_registry_error code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* Put "who: " in front of one that is set; NULL is fine. */
void ri_error_prefix(struct ri_error *error, const char *who);

/* Make our own copy of a provider, or say why not. Registers nothing. */
struct ri_loaded *ri_loaded_new(const struct ri_provider *provider, const char *origin,
				struct ri_error *error);
void ri_loaded_free(struct ri_loaded *loaded);

/*
 * Register a provider and keep it. Memory to which it points must stay; the struct itself is
 * copied. Any thread. If two have the same name, the first one is kept; registering the same struct
 * again succeeds and changes nothing.
 */
bool ri_registry_add(const struct ri_provider *provider, const char *origin,
		     struct ri_error *error);
/* How many there are, and the n-th in order of registration, NULL beyond. Never shrinks. */
unsigned ri_registry_count(void);
const struct ri_loaded *ri_registry_get(unsigned index);

/*
 * A fork is about to happen, and has happened, on this thread: in between no other thread is inside the registry, so that the
 * child has all of it.
 */
void ri_registry_before_fork(void);
void ri_registry_after_fork(void);

/* Remember why something was refused while loading. Without memory, or if it is known: nothing happens. */
void ri_registry_note_refusal(const char *text);
/* One line per refusal so far; to be freed with free(). NULL: no memory. */
char *ri_registry_refusals(void);

/* Can the settings be that a provider states? (ri_setting.c) */
bool ri_settings_check(const struct ri_loaded *loaded, struct ri_error *error);
/* One of its ri_provider::num_settings settings. */
void ri_loaded_setting(const struct ri_loaded *loaded, uint32_t index, struct ri_setting *out);

/* Is the profile of an adapter sane, and is every claim in it backed by an entry? (ri_claims.c) */
bool ri_claims_check(const struct ri_loaded *loaded, const struct ri_rnic_attr *attr,
		     struct ri_error *error);

#endif /* RI_REGISTRY_H */
