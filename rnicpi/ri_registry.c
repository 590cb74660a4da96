/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Registers providers.
 *
 * The provider may be older than this library (its structs are shorter; the rest counts as zero), newer (longer; the rest
 * is unknown and ignored), or broken. So none of its tables is used in place. Each is copied over zeros, as many bytes as both
 * versions know; missing entries become stubs, and only the copy is used. Then the members that every provider must have are
 * checked. Members that only some must have depend on the profile of an adapter, which is known when the adapter is open
 * (ri_claims.c).
 *
 * The registry refuses impossible sizes (less than one entry, more than SIZE_MAX_SANE, an end in the middle of a pointer), and
 * names that are missing, too long or not text. It cannot recognize an invalid pointer.
 *
 * Providers are never taken out again: adapters, uAL objects and threads may hold their entries.
 */

#include "ri_registry.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SIZE_MAX_SANE 65536
#define COUNT(array)  (sizeof(array) / sizeof((array)[0]))

struct refusal {
	struct refusal *next;
	char text[];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct ri_loaded *registry; /* in order of registration */
static struct refusal *refusals;   /* oldest first */

typedef void (*entry_fn)(void);

/* A table of a provider, and where its copy goes. */
struct table {
	const char *name;
	size_t theirs; /* where ri_provider points to it */
	size_t ours;   /* where ri_loaded keeps it */
	size_t size;   /* as known here */
	bool required;
};

#define TABLE(member, type, required)                                                              \
	{                                                                                          \
#member, offsetof(struct ri_provider, member), offsetof(struct ri_loaded, member), \
			sizeof(struct type), required                                              \
	}

static const struct table tables[] = {
	TABLE(device, ri_device_ops, true), TABLE(pd, ri_pd_ops, true),
	TABLE(cq, ri_cq_ops, true),         TABLE(qp, ri_qp_ops, true),
	TABLE(mem, ri_mem_ops, true),       TABLE(srq, ri_srq_ops, false),
	TABLE(ah, ri_ah_ops, false),        TABLE(cm, ri_cm_ops, false),
	TABLE(llp, ri_llp_ops, false),      TABLE(peer, ri_peer_ops, false),
	TABLE(user, ri_user_ops, true),     TABLE(fast, ri_fast_ops, true),
};

/* An entry that every provider has. */
struct member {
	const char *name;
	size_t offset; /* in ri_loaded */
};

#define MEMBER(path)                                    \
	{                                               \
#path, offsetof(struct ri_loaded, path) \
	}

static const struct member required[] = {
	MEMBER(device.probe),
	MEMBER(device.open),
	MEMBER(device.close),
	MEMBER(device.query),
	MEMBER(device.query_port),
	MEMBER(device.context_create),
	MEMBER(device.context_destroy),
	MEMBER(pd.create),
	MEMBER(pd.destroy),
	MEMBER(cq.create),
	MEMBER(cq.destroy),
	MEMBER(qp.create),
	MEMBER(qp.modify),
	MEMBER(qp.query),
	MEMBER(qp.destroy),
	MEMBER(mem.mr_reg),
	MEMBER(mem.mr_query),
	MEMBER(mem.mr_dereg),
	MEMBER(user.rnic_open),
	MEMBER(user.rnic_close),
	MEMBER(user.cq_open),
	MEMBER(user.cq_close),
	MEMBER(user.qp_open),
	MEMBER(user.qp_close),
	MEMBER(fast.post_sq),
	MEMBER(fast.post_rq),
	MEMBER(fast.flush_sq),
	MEMBER(fast.poll_cq),
	MEMBER(fast.cq_depth),
	MEMBER(fast.arm_cq),
};

static const void *
pointer_at(const void *base, size_t offset)
{
	const void *pointer;

	memcpy(&pointer, (const char *)base + offset, sizeof(pointer));
	return pointer;
}

static void
pointer_set(void *base, size_t offset, const void *pointer)
{
	memcpy((char *)base + offset, &pointer, sizeof(pointer));
}

bool
ri_error_set(struct ri_error *error, enum ri_registry_error code, const char *format, ...)
{
	va_list args;

	if (error == NULL)
		return false;
	error->code = code;
	va_start(args, format);
	(void)vsnprintf(error->text, sizeof(error->text), format, args);
	va_end(args);
	return false;
}

void
ri_error_prefix(struct ri_error *error, const char *who)
{
	size_t len, whole;

	if (error == NULL)
		return;
	len = strlen(who);
	if (len > sizeof(error->text) / 2)
		len = sizeof(error->text) / 2;
	whole = strlen(error->text);
	if (whole > sizeof(error->text) - len - 3)
		whole = sizeof(error->text) - len - 3;
	memmove(error->text + len + 2, error->text, whole);
	memcpy(error->text, who, len);
	memcpy(error->text + len, ": ", 2);
	error->text[len + 2 + whole] = '\0';
}

/* The size is a multiple of a pointer's, at least `least`, and not absurdly large. */
static bool
size_is_sane(uint32_t size, size_t least)
{
	return size >= least && size <= SIZE_MAX_SANE && size % sizeof(entry_fn) == 0;
}

/* The provider's struct itself: version and size lead it in every version there will be. */
static bool
copy_head(struct ri_provider *own, const struct ri_provider *theirs, struct ri_error *error)
{
	uint16_t major;
	uint32_t size;

	if (theirs == NULL)
		return ri_error_set(error, RI_REGISTRY_ERROR_SHAPE, "there is no provider");
	memcpy(&major, &theirs->abi_major, sizeof(major));
	memcpy(&size, &theirs->size, sizeof(size));
	if (major != RI_ABI_MAJOR)
		return ri_error_set(
			error, RI_REGISTRY_ERROR_VERSION,
			"made for version %u of the provider interface, this is version %d", major,
			RI_ABI_MAJOR);
	if (!size_is_sane(size, offsetof(struct ri_provider, device)))
		return ri_error_set(error, RI_REGISTRY_ERROR_SHAPE,
				    "struct ri_provider cannot have %u octets", size);
	memset(own, 0, sizeof(*own));
	memcpy(own, theirs, size < sizeof(*own) ? size : sizeof(*own));
	return true;
}

/* A text of a provider into `room` octets; false if it is missing, too long, or no plain text. */
static bool
copy_text(char *out, size_t room, const char *text)
{
	size_t length = text != NULL ? strnlen(text, room) : 0;

	if (length == 0 || length >= room)
		return false;
	for (size_t i = 0; i < length; i++) {
		if (text[i] < ' ' || text[i] > '~')
			return false;
	}
	memcpy(out, text, length);
	out[length] = '\0';
	return true;
}

static bool
copy_names(struct ri_loaded *loaded, struct ri_error *error)
{
	if (!copy_text(loaded->name, sizeof(loaded->name), loaded->provider.name) ||
	    strpbrk(loaded->name, ":/ ") != NULL) {
		loaded->name[0] = '\0';
		return ri_error_set(error, RI_REGISTRY_ERROR_SHAPE,
				    "ri_provider.name must be a word of 1 to %zu plain characters",
				    sizeof(loaded->name) - 1);
	}
	if (!copy_text(loaded->description, sizeof(loaded->description),
		       loaded->provider.description))
		memcpy(loaded->description, loaded->name, sizeof(loaded->name));
	loaded->provider.name = loaded->name;
	loaded->provider.description = loaded->description;
	return true;
}

static bool
copy_table(struct ri_loaded *loaded, const struct table *table, struct ri_error *error)
{
	const void *theirs = pointer_at(&loaded->provider, table->theirs);
	char *own = (char *)loaded + table->ours;
	uint32_t size, known = (uint32_t)table->size;

	if (theirs == NULL && table->required)
		return ri_error_set(error, RI_REGISTRY_ERROR_MEMBER, "has no table \"%s\"",
				    table->name);
	pointer_set(&loaded->provider, table->theirs, own);
	if (theirs == NULL)
		return true;
	memcpy(&size, theirs, sizeof(size));
	if (!size_is_sane(size, sizeof(entry_fn) * 2))
		return ri_error_set(error, RI_REGISTRY_ERROR_SHAPE,
				    "table \"%s\" cannot have %u octets", table->name, size);
	memcpy(own, theirs, size < known ? size : known);
	return true;
}

static bool
has_required(const struct ri_loaded *loaded, struct ri_error *error)
{
	for (size_t i = 0; i < COUNT(required); i++) {
		if (pointer_at(loaded, required[i].offset) == NULL)
			return ri_error_set(error, RI_REGISTRY_ERROR_MEMBER,
					    "has no entry \"%s\", which every provider must have",
					    required[i].name);
	}
	return true;
}

struct ri_loaded *
ri_loaded_new(const struct ri_provider *provider, const char *origin, struct ri_error *error)
{
	size_t length = strlen(origin) + 1;
	struct ri_loaded *loaded = calloc(1, sizeof(*loaded) + length);
	bool good;

	if (loaded == NULL) {
		(void)ri_error_set(error, RI_REGISTRY_ERROR_MEMORY, "%s: no memory", origin);
		return NULL;
	}
	memcpy(loaded->origin, origin, length);
	loaded->source = provider;
	good = copy_head(&loaded->provider, provider, error) && copy_names(loaded, error);
	for (size_t i = 0; good && i < COUNT(tables); i++)
		good = copy_table(loaded, &tables[i], error);
	good = good && has_required(loaded, error) && ri_settings_check(loaded, error);
	for (size_t i = 0; good && i < COUNT(tables); i++) {
		const struct table *table = &tables[i];
		/* A size leads each table, and then all members are pointers. */
		uint32_t known = (uint32_t)table->size;

		memcpy((char *)loaded + table->ours, &known, sizeof(known));
		for (size_t at = sizeof(entry_fn); at < table->size; at += sizeof(entry_fn)) {
			if (pointer_at(loaded, table->ours + at) == NULL)
				pointer_set(loaded, table->ours + at,
					    pointer_at(&ri_stubs, table->ours + at));
		}
	}
	if (good)
		return loaded;
	if (loaded->name[0] != '\0')
		ri_error_prefix(error, loaded->name);
	ri_error_prefix(error, origin);
	ri_loaded_free(loaded);
	return NULL;
}

void
ri_loaded_free(struct ri_loaded *loaded)
{
	free(loaded);
}

/* With the lock held: enter it; or the one that has its name already. */
static const struct ri_loaded *
registry_enter(struct ri_loaded *loaded)
{
	struct ri_loaded **link = &registry;

	while (*link != NULL && strcmp((*link)->name, loaded->name) != 0)
		link = &(*link)->next;
	if (*link != NULL)
		return *link;
	*link = loaded;
	return NULL;
}

bool
ri_registry_add(const struct ri_provider *provider, const char *origin, struct ri_error *error)
{
	struct ri_loaded *loaded = ri_loaded_new(provider, origin, error);
	const struct ri_loaded *present;
	bool same;

	if (loaded == NULL)
		return false;
	pthread_mutex_lock(&lock);
	present = registry_enter(loaded);
	pthread_mutex_unlock(&lock);
	if (present == NULL)
		return true;
	same = present->source == provider;
	if (!same)
		(void)ri_error_set(error, RI_REGISTRY_ERROR_NAME,
				   "%s: %s: the name is taken by the provider from %s", origin,
				   loaded->name, present->origin);
	ri_loaded_free(loaded);
	return same;
}

void
ri_registry_before_fork(void)
{
	pthread_mutex_lock(&lock);
}

void
ri_registry_after_fork(void)
{
	pthread_mutex_unlock(&lock);
}

unsigned
ri_registry_count(void)
{
	unsigned count = 0;

	pthread_mutex_lock(&lock);
	for (const struct ri_loaded *loaded = registry; loaded != NULL; loaded = loaded->next)
		count++;
	pthread_mutex_unlock(&lock);
	return count;
}

const struct ri_loaded *
ri_registry_get(unsigned index)
{
	const struct ri_loaded *loaded;

	pthread_mutex_lock(&lock);
	loaded = registry;
	while (loaded != NULL && index-- > 0)
		loaded = loaded->next;
	pthread_mutex_unlock(&lock);
	return loaded;
}

void
ri_registry_note_refusal(const char *text)
{
	size_t length = strlen(text) + 1;
	struct refusal *refusal = calloc(1, sizeof(*refusal) + length);
	struct refusal **link = &refusals;

	if (refusal == NULL)
		return;
	memcpy(refusal->text, text, length);
	pthread_mutex_lock(&lock);
	while (*link != NULL && strcmp((*link)->text, text) != 0)
		link = &(*link)->next;
	if (*link == NULL) {
		*link = refusal;
		refusal = NULL;
	}
	pthread_mutex_unlock(&lock);
	free(refusal);
}

char *
ri_registry_refusals(void)
{
	size_t size = 1;
	char *text, *at;

	pthread_mutex_lock(&lock);
	for (const struct refusal *r = refusals; r != NULL; r = r->next)
		size += strlen(r->text) + 1;
	text = at = calloc(1, size);
	for (const struct refusal *r = refusals; text != NULL && r != NULL; r = r->next)
		at += sprintf(at, "%s\n", r->text);
	pthread_mutex_unlock(&lock);
	return text;
}
