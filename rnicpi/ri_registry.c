/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Taking a provider over.
 *
 * The provider may be older than we are (its structs are shorter: the rest is zero), newer (longer:
 * the rest is unknown and cut off), or broken. So nothing of it is used in place: each table is copied
 * by the smaller of the two sizes over zeros, and only the copy is looked at. A member that every
 * provider must have is then asked for by name. What only some must have depends on the adapter's
 * profile, which nobody knows before an adapter is open: that is ri_claims.c.
 *
 * Sizes that cannot be (no room for one entry, or more than any version will ever have), and names
 * that are missing, endless or not text are refused; a pointer into nowhere cannot be told.
 *
 * Providers are never taken out again: adapters, uAL objects and threads may hold their entries.
 */

#include "ri_registry.h"

#include <pthread.h>
#include <string.h>

#define NAME_MAX_LENGTH 31
#define TEXT_MAX_LENGTH 255
#define SIZE_MAX_SANE   65536

G_DEFINE_QUARK(ri_registry_error, ri_registry_error)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static GPtrArray *registry;
static GString *refusals;

typedef void (*entry_fn)(void);

/* A table of a provider, and where its copy goes. */
struct table {
	const char *name;
	size_t theirs; /* where ri_provider points to it */
	size_t ours;   /* where ri_loaded keeps it */
	size_t size;   /* as known here */
	gboolean required;
};

#define TABLE(member, type, required)                                                              \
	{                                                                                          \
#member, offsetof(struct ri_provider, member), offsetof(struct ri_loaded, member), \
			sizeof(struct type), required                                              \
	}

static const struct table tables[] = {
	TABLE(device, ri_device_ops, TRUE), TABLE(pd, ri_pd_ops, TRUE),
	TABLE(cq, ri_cq_ops, TRUE),         TABLE(qp, ri_qp_ops, TRUE),
	TABLE(mem, ri_mem_ops, TRUE),       TABLE(srq, ri_srq_ops, FALSE),
	TABLE(ah, ri_ah_ops, FALSE),        TABLE(cm, ri_cm_ops, FALSE),
	TABLE(llp, ri_llp_ops, FALSE),      TABLE(user, ri_user_ops, TRUE),
	TABLE(fast, ri_fast_ops, TRUE),
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

/* The provider's struct itself: version and size lead it in every version there will be. */
static gboolean
copy_head(struct ri_provider *own, const struct ri_provider *theirs, GError **error)
{
	uint16_t major;
	uint32_t size;

	memcpy(&major, &theirs->abi_major, sizeof(major));
	memcpy(&size, &theirs->size, sizeof(size));
	if (major != RI_ABI_MAJOR) {
		g_set_error(error, RI_REGISTRY_ERROR, RI_REGISTRY_ERROR_VERSION,
			    "made for version %u of the provider interface, this is version %d",
			    major, RI_ABI_MAJOR);
		return FALSE;
	}
	if (size < offsetof(struct ri_provider, device) || size > SIZE_MAX_SANE) {
		g_set_error(error, RI_REGISTRY_ERROR, RI_REGISTRY_ERROR_SHAPE,
			    "struct ri_provider cannot have %u octets", size);
		return FALSE;
	}
	memset(own, 0, sizeof(*own));
	memcpy(own, theirs, MIN(size, sizeof(*own)));
	return TRUE;
}

/* A text of a provider, as a copy; NULL if it is missing, too long, or no plain text. */
static char *
copy_text(const char *text, size_t longest)
{
	size_t length = text != NULL ? strnlen(text, longest + 1) : 0;

	if (length == 0 || length > longest)
		return NULL;
	for (size_t i = 0; i < length; i++) {
		if (!g_ascii_isprint(text[i]))
			return NULL;
	}
	return g_strndup(text, length);
}

static gboolean
copy_names(struct ri_loaded *loaded, GError **error)
{
	loaded->name = copy_text(loaded->provider.name, NAME_MAX_LENGTH);
	if (loaded->name == NULL || strpbrk(loaded->name, ":/ ") != NULL) {
		g_set_error(error, RI_REGISTRY_ERROR, RI_REGISTRY_ERROR_SHAPE,
			    "ri_provider.name must be a word of 1 to %d plain characters",
			    NAME_MAX_LENGTH);
		return FALSE;
	}
	loaded->description = copy_text(loaded->provider.description, TEXT_MAX_LENGTH);
	if (loaded->description == NULL)
		loaded->description = g_strdup(loaded->name);
	loaded->provider.name = loaded->name;
	loaded->provider.description = loaded->description;
	return TRUE;
}

static gboolean
copy_table(struct ri_loaded *loaded, const struct table *table, GError **error)
{
	const void *theirs = pointer_at(&loaded->provider, table->theirs);
	char *own = (char *)loaded + table->ours;
	uint32_t size, known = (uint32_t)table->size;

	if (theirs == NULL) {
		if (!table->required)
			return TRUE;
		g_set_error(error, RI_REGISTRY_ERROR, RI_REGISTRY_ERROR_MEMBER,
			    "has no table \"%s\"", table->name);
		return FALSE;
	}
	memcpy(&size, theirs, sizeof(size));
	if (size < sizeof(entry_fn) * 2 || size > SIZE_MAX_SANE) {
		g_set_error(error, RI_REGISTRY_ERROR, RI_REGISTRY_ERROR_SHAPE,
			    "table \"%s\" cannot have %u octets", table->name, size);
		return FALSE;
	}
	/* An entry that the size cuts in two is not there. */
	size -= size % (uint32_t)sizeof(entry_fn);
	memcpy(own, theirs, MIN(size, known));
	memcpy(own, &known, sizeof(known));
	pointer_set(&loaded->provider, table->theirs, own);
	return TRUE;
}

static gboolean
has_required(const struct ri_loaded *loaded, GError **error)
{
	for (size_t i = 0; i < G_N_ELEMENTS(required); i++) {
		if (pointer_at(loaded, required[i].offset) != NULL)
			continue;
		g_set_error(error, RI_REGISTRY_ERROR, RI_REGISTRY_ERROR_MEMBER,
			    "has no entry \"%s\", which every provider must have",
			    required[i].name);
		return FALSE;
	}
	return TRUE;
}

struct ri_loaded *
ri_loaded_new(const struct ri_provider *provider, const char *origin, GError **error)
{
	struct ri_loaded *loaded = g_new0(struct ri_loaded, 1);
	gboolean good = provider != NULL;

	if (!good)
		g_set_error(error, RI_REGISTRY_ERROR, RI_REGISTRY_ERROR_SHAPE,
			    "there is no provider");
	loaded->origin = g_strdup(origin);
	good = good && copy_head(&loaded->provider, provider, error) && copy_names(loaded, error);
	for (size_t i = 0; good && i < G_N_ELEMENTS(tables); i++)
		good = copy_table(loaded, &tables[i], error);
	good = good && has_required(loaded, error);
	if (good)
		return loaded;
	g_prefix_error(error, "%s: ", loaded->name != NULL ? loaded->name : origin);
	ri_loaded_free(loaded);
	return NULL;
}

void
ri_loaded_free(struct ri_loaded *loaded)
{
	g_free(loaded->name);
	g_free(loaded->description);
	g_free(loaded->origin);
	g_free(loaded);
}

/* With the lock held. */
static const struct ri_loaded *
find(const char *name)
{
	for (unsigned i = 0; registry != NULL && i < registry->len; i++) {
		const struct ri_loaded *loaded = g_ptr_array_index(registry, i);

		if (strcmp(loaded->name, name) == 0)
			return loaded;
	}
	return NULL;
}

gboolean
ri_registry_add(const struct ri_provider *provider, const char *origin, GError **error)
{
	struct ri_loaded *loaded = ri_loaded_new(provider, origin, error);
	const struct ri_loaded *present;

	if (loaded == NULL)
		return FALSE;
	pthread_mutex_lock(&lock);
	present = find(loaded->name);
	if (present == NULL) {
		if (registry == NULL)
			registry = g_ptr_array_new();
		g_ptr_array_add(registry, loaded);
	}
	pthread_mutex_unlock(&lock);
	if (present == NULL)
		return TRUE;
	g_set_error(error, RI_REGISTRY_ERROR, RI_REGISTRY_ERROR_NAME,
		    "%s: the name is taken by the provider from %s", loaded->name, present->origin);
	ri_loaded_free(loaded);
	return FALSE;
}

unsigned
ri_registry_count(void)
{
	unsigned count;

	pthread_mutex_lock(&lock);
	count = registry != NULL ? registry->len : 0;
	pthread_mutex_unlock(&lock);
	return count;
}

const struct ri_loaded *
ri_registry_get(unsigned index)
{
	const struct ri_loaded *loaded = NULL;

	pthread_mutex_lock(&lock);
	if (registry != NULL && index < registry->len)
		loaded = g_ptr_array_index(registry, index);
	pthread_mutex_unlock(&lock);
	return loaded;
}

void
ri_registry_note_refusal(const char *text)
{
	pthread_mutex_lock(&lock);
	if (refusals == NULL)
		refusals = g_string_new(NULL);
	g_string_append_printf(refusals, "%s\n", text);
	pthread_mutex_unlock(&lock);
}

char *
ri_registry_refusals(void)
{
	char *text;

	pthread_mutex_lock(&lock);
	text = g_strdup(refusals != NULL ? refusals->str : "");
	pthread_mutex_unlock(&lock);
	return text;
}
