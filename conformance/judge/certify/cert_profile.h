/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */
#ifndef CERT_PROFILE_H
#define CERT_PROFILE_H

/**
 * @file cert_profile.h
 * @brief The attributes of the profile by name: their values, and the conditions of cert_case::needs.
 */

#include <glib.h>
#include <stdbool.h>

#include "rnicpi.h"

/** Types of ri_rnic_attr's members. */
enum cert_attr_type {
	CERT_ATTR_BOOL,
	CERT_ATTR_U8,
	CERT_ATTR_U16,
	CERT_ATTR_U32,
	CERT_ATTR_U64,
	CERT_ATTR_TEXT
};

/** A member of ri_rnic_attr. */
struct cert_attribute {
	const char *name;
	size_t offset;
	enum cert_attr_type type;
	bool informs; /**< Text, a hint, or what no case can see: none settles it. */
};

/** All members of ri_rnic_attr but its size, in their order; ends with a NULL name. */
extern const struct cert_attribute cert_attributes[];

/** An attribute by its name; NULL: there is none. */
const struct cert_attribute *cert_attribute_find(const char *name, size_t length);
/** Clears the claims that a provider of that minor version does not know: it leaves padding there [RI 11.1.2]. */
void cert_profile_cut(struct ri_rnic_attr *attr, uint32_t minor);
/** Its value as text, which the caller frees. */
char *cert_attribute_text(const struct cert_attribute *attribute, const struct ri_rnic_attr *attr);
/** The first condition of @p needs that the profile does not meet, in words that the caller frees; NULL: none. */
char *cert_profile_lack(const struct ri_rnic_attr *attr, const char *needs);
/** What is wrong with conditions, in words that the caller frees; NULL: nothing. */
char *cert_profile_check(const char *needs);

/** The next number of a SplitMix64 sequence. */
uint64_t cert_sequence_next(uint64_t *state);

#endif /* CERT_PROFILE_H */
