/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The registry of providers: takes them over, keeps them, and refuses in words.
 *
 * A provider that was taken over is a copy of ours: its tables cut or filled up with zeros to the
 * sizes known here, so that whoever uses it may look at every member. It stays until the process ends.
 */
#ifndef RI_REGISTRY_H
#define RI_REGISTRY_H

#include <glib.h>

#include "rnicpi.h"

/* A provider taken over. Absent entries are NULL, absent tables are all zero. */
struct ri_loaded {
	struct ri_provider provider; /* points to what follows; NULL where a table is absent */
	struct ri_device_ops device;
	struct ri_pd_ops pd;
	struct ri_cq_ops cq;
	struct ri_qp_ops qp;
	struct ri_mem_ops mem;
	struct ri_srq_ops srq;
	struct ri_ah_ops ah;
	struct ri_cm_ops cm;
	struct ri_llp_ops llp;
	struct ri_user_ops user;
	struct ri_fast_ops fast;
	char *name;
	char *description;
	char *origin; /* file, "built-in" or "registered" */
};

#define RI_REGISTRY_ERROR (ri_registry_error_quark())
GQuark ri_registry_error_quark(void);

/* Why a provider is refused; the message names the table, the member or the attribute. */
enum ri_registry_error {
	RI_REGISTRY_ERROR_VERSION, /* another major version of the interface */
	RI_REGISTRY_ERROR_SHAPE,   /* sizes or names that cannot be */
	RI_REGISTRY_ERROR_MEMBER,  /* a required table or entry is missing */
	RI_REGISTRY_ERROR_NAME,    /* the name is taken */
	RI_REGISTRY_ERROR_CLAIM,   /* the profile claims what is not there, or makes no sense */
	RI_REGISTRY_ERROR_LOAD     /* the file cannot be loaded, or is no provider */
};

/* Make our own copy of a provider, or say why not. Registers nothing. */
struct ri_loaded *ri_loaded_new(const struct ri_provider *provider, const char *origin,
				GError **error);
void ri_loaded_free(struct ri_loaded *loaded);

/*
 * Take a provider over and keep it. What it points to must stay; the struct itself is copied.
 * Any thread. The first with a name keeps it.
 */
gboolean ri_registry_add(const struct ri_provider *provider, const char *origin, GError **error);
/* How many there are, and the n-th in order of registration, NULL beyond. Never shrinks. */
unsigned ri_registry_count(void);
const struct ri_loaded *ri_registry_get(unsigned index);

/* Remember, and give back in one text, why something was refused while loading. */
void ri_registry_note_refusal(const char *text);
/* One line per refusal so far; to be freed. */
char *ri_registry_refusals(void);

/* Is the profile of an adapter sane, and is every claim in it backed by an entry? (ri_claims.c) */
gboolean ri_claims_check(const struct ri_loaded *loaded, const struct ri_rnic_attr *attr,
			 GError **error);

#endif /* RI_REGISTRY_H */
