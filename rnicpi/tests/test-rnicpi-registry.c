/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Loading real shared objects, good and faulty; claims against entries; names of values. */

#include <fcntl.h>
#include <glib/gstdio.h>
#include <link.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ri_load.h"

/* Folder with the shared objects, and the provider at the head of rnicpi.h, both from the command line. */
static const char *folder;
static const char *header_provider;

static bool
load(const char *kind, struct ri_error *error)
{
	g_autofree char *name = g_strdup_printf("provider-%s.so", kind);
	g_autofree char *path = g_build_filename(folder, name, NULL);

	return ri_load_file(path, error);
}

/* Loading fails with that code, and the text says `word`. */
static void
refuse(const char *kind, int code, const char *word)
{
	struct ri_error error = {0};
	unsigned before = ri_registry_count();

	g_assert_false(load(kind, &error));
	g_assert_cmpint(error.code, ==, (int)code);
	if (strstr(error.text, word) == NULL)
		g_error("\"%s\" does not say \"%s\"", error.text, word);
	g_assert_cmpuint(ri_registry_count(), ==, before);
}

static const struct ri_loaded *
find(const char *name)
{
	const struct ri_loaded *loaded;

	for (unsigned i = 0; (loaded = ri_registry_get(i)) != NULL; i++) {
		if (strcmp(loaded->name, name) == 0)
			return loaded;
	}
	return NULL;
}

/* The good provider is loaded, by an earlier test or by this one. */
static void
need_good(void)
{
	g_assert_true(find("good") != NULL || load("good", NULL));
}

/*
 * The good provider has few entries besides the required ones. Stubs, which may be called, are in
 * place of the others. An entry without a stub in ri_stubs is found here, because every member of
 * the copy is checked.
 */
static void
test_stubs(void)
{
	const struct ri_loaded *good;
	int fd = -1;
	char text[4] = "abc";

	g_assert_true(load("good", NULL));
	good = find("good");
	for (size_t at = offsetof(struct ri_loaded, device); at < offsetof(struct ri_loaded, name);
	     at += sizeof(void *)) {
		const void *entry;

		memcpy(&entry, (const char *)good + at, sizeof(entry));
		g_assert_nonnull(entry);
	}
	g_assert_cmpint(good->provider.cm->connect(NULL, NULL), ==, RI_ERR_UNSUPPORTED);
	g_assert_cmpint(good->provider.peer->receive(NULL, NULL), ==, RI_ERR_UNSUPPORTED);
	g_assert_cmpint(good->provider.qp->mcast_attach(NULL, NULL), ==, RI_ERR_UNSUPPORTED);
	g_assert_cmpint(good->provider.srq->create(NULL, NULL, NULL, NULL), ==, RI_ERR_UNSUPPORTED);
	g_assert_cmpuint(good->provider.device->dump(NULL, text, sizeof(text)), ==, 0);
	g_assert_cmpstr(text, ==, "");
	good->provider.cm->resolve_cancel(NULL, 0);
	g_assert_cmpuint(good->provider.fast->progress(NULL, 64), ==, 0);
	g_assert_false(good->provider.fast->leader_enter(NULL, &fd));
	g_assert_cmpint(fd, ==, -1);
	good->provider.fast->leader_leave(NULL);
	g_assert_false(good->provider.fast->spin_futile(NULL));
}

static void
test_good(void)
{
	struct ri_error error = {0};
	const struct ri_loaded *good;

	g_assert_true(load("good", &error));
	g_assert_cmpint(error.code, ==, RI_REGISTRY_ERROR_NONE);
	good = find("good");
	g_assert_nonnull(good);
	g_assert_true(g_str_has_suffix(good->origin, "provider-good.so"));
	g_assert_true(good->provider.device == &good->device);
	g_assert_true(good->provider.fast == &good->fast);
	g_assert_nonnull(good->device.route);
	g_assert_nonnull(good->llp.attach_stream);
	/* Absent tables are those of our own. */
	g_assert_true(good->provider.srq == &good->srq);
	g_assert_true(good->srq.create == ri_stubs.srq.create);
	g_assert_true(good->fast.progress == ri_stubs.fast.progress);
}

/* The provider that rnicpi.h shows is taken, and lists its adapter. */
static void
test_header(void)
{
	struct ri_device_desc desc = {0};
	uint32_t count = 1;

	g_assert_true(ri_load_file(header_provider, NULL));
	g_assert_cmpint(find("mine")->provider.device->probe(NULL, &desc, &count), ==, RI_SUCCESS);
	g_assert_cmpuint(count, ==, 1);
	g_assert_cmpstr(desc.name, ==, "mine0");
	g_assert_cmpint(find("mine")->provider.device->open(NULL, NULL), ==, RI_ERR_NO_DEVICE);
}

static void
test_old(void)
{
	struct ri_error error = {0};
	const struct ri_loaded *old;

	g_assert_true(load("old", &error));
	old = find("old");
	g_assert_nonnull(old);
	g_assert_nonnull(old->device.context_destroy);
	g_assert_true(old->device.route == ri_stubs.device.route); /* beyond the size it told */
	g_assert_cmpuint(old->device.size, ==, sizeof(old->device));
	g_assert_true(old->user.srq_open == ri_stubs.user.srq_open);
	/* The size is that of binaries which exist, so it is a number here. */
	g_assert_cmpuint(offsetof(struct ri_mem_ops, mr_reg_dmabuf), ==, 8 * sizeof(void *));
	g_assert_nonnull(old->mem.mr_dereg);
	g_assert_true(old->mem.mr_reg_dmabuf == ri_stubs.mem.mr_reg_dmabuf);
	g_assert_cmpuint(old->mem.size, ==, sizeof(old->mem));
}

static void
test_future(void)
{
	struct ri_error error = {0};
	const struct ri_loaded *future;

	g_assert_true(load("future", &error));
	future = find("future");
	g_assert_nonnull(future);
	g_assert_nonnull(future->fast.arm_cq);
	g_assert_cmpuint(future->fast.size, ==, sizeof(future->fast));
}

static void
test_refusals(void)
{
	refuse("bad-major", RI_REGISTRY_ERROR_VERSION, "version 2");
	refuse("bad-size", RI_REGISTRY_ERROR_SHAPE, "8 octets");
	refuse("no-name", RI_REGISTRY_ERROR_SHAPE, "ri_provider.name");
	refuse("bad-name", RI_REGISTRY_ERROR_SHAPE, "ri_provider.name");
	refuse("no-table", RI_REGISTRY_ERROR_MEMBER, "\"pd\"");
	refuse("small-table", RI_REGISTRY_ERROR_SHAPE, "\"cq\"");
	refuse("no-member", RI_REGISTRY_ERROR_MEMBER, "\"qp.modify\"");
	refuse("bad-setting", RI_REGISTRY_ERROR_SHAPE,
	       "ITAPI_TEST_COLOUR has the default 'green', which is none of its values");
	refuse("no-provider", RI_REGISTRY_ERROR_LOAD, "cannot run");
	refuse("no-entry", RI_REGISTRY_ERROR_LOAD, RI_PROVIDER_ENTRY_NAME);
	refuse("same-name", RI_REGISTRY_ERROR_NAME, "taken");
	refuse("not-there", RI_REGISTRY_ERROR_LOAD, "not-there");
}

static void
test_no_object(void)
{
	g_autofree char *path = g_strdup("/tmp/itapi-provider-XXXXXX");
	struct ri_error error = {0};
	int fd = g_mkstemp(path);

	g_assert_cmpint(write(fd, "not an object", 13), ==, 13);
	close(fd);
	g_assert_false(ri_load_file(path, &error));
	g_assert_cmpint(error.code, ==, RI_REGISTRY_ERROR_LOAD);
	g_unlink(path);
}

/* An object for another machine, and one that was not copied to its end: refused before the dynamic linker maps it. */
static void
test_no_object_here(void)
{
	g_autofree char *good = g_strdup_printf("%s/provider-good.so", folder);
	g_autofree char *path = g_strdup("/tmp/itapi-provider-XXXXXX");
	g_autofree char *octets = NULL;
	struct ri_error error = {0};
	gsize length, least = 0;

	need_good();
	close(g_mkstemp(path));
	g_assert_true(g_file_get_contents(good, &octets, &length, NULL));
	octets[offsetof(ElfW(Ehdr), e_machine)] ^= 1;
	g_assert_true(g_file_set_contents(path, octets, (gssize)length, NULL));
	g_assert_false(ri_load_file(path, &error));
	g_assert_nonnull(strstr(error.text, ": is for another kind of processor: ELF machine "));

	/* Each length is refused, up to the last octet that is mapped; a file with all of them is only another copy. */
	octets[offsetof(ElfW(Ehdr), e_machine)] ^= 1;
	for (unsigned i = 0; i < ((ElfW(Ehdr) *)(void *)octets)->e_phnum; i++) {
		const ElfW(Phdr) *part =
			(const ElfW(Phdr) *)(void *)(octets +
						     ((ElfW(Ehdr) *)(void *)octets)->e_phoff) +
			i;

		if (part->p_type == PT_LOAD && part->p_offset + part->p_filesz > least)
			least = part->p_offset + part->p_filesz;
	}
	for (gsize cut = 0; cut <= least; cut += cut < least - 1 && cut + 1000 > least - 1
							 ? least - 1 - cut
						 : cut < least - 1 ? 1000
								   : 1) {
		g_assert_true(g_file_set_contents(path, octets, (gssize)cut, NULL));
		g_assert_false(ri_load_file(path, &error));
		if (cut >= 1000)
			g_assert_cmpint(strstr(error.text, ": is cut short: ") != NULL, ==,
					cut < least);
	}
	g_unlink(path);
}

/* A whole folder: faulty providers do not stop the others from loading, and the reason of each is kept as text. */
static void
test_folders(void)
{
	g_autofree char *path = g_strdup_printf("::/nonexistent:%s:", folder);
	g_autofree char *text = NULL;
	unsigned before = ri_registry_count();

	g_assert_true(ri_load_all(NULL, NULL, path, NULL));
	g_assert_cmpuint(ri_registry_count(), ==, before); /* all good ones are there already */
	text = ri_registry_refusals();
	g_assert_nonnull(strstr(text, "provider-bad-size.so"));
	g_assert_nonnull(strstr(text, "qp.modify"));
	g_assert_nonnull(strstr(text, "cannot run"));
}

static const struct ri_provider *
built_in(void)
{
	static struct ri_provider other;

	other = find("good")->provider;
	other.name = "other";
	return &other;
}

static const struct ri_provider *
cannot_run(void)
{
	return NULL;
}

static void
test_built_in(void)
{
	const ri_provider_entry_fn entries[] = {cannot_run, built_in, NULL};

	g_assert_true(ri_load_all(NULL, entries, NULL, NULL));
	g_assert_nonnull(find("other"));
	g_assert_cmpstr(find("other")->origin, ==, "built-in");
}

/* Who names a folder gets what is in it, and not the provider of that name that is compiled in. */
static const struct ri_provider *
built_in_good(void)
{
	static struct ri_provider copy;

	copy = find("good")->provider;
	return &copy;
}

static void
test_path_first(void)
{
	const ri_provider_entry_fn entries[] = {built_in_good, NULL};
	g_autofree char *before = NULL;
	g_autofree char *after = NULL;
	unsigned count;

	need_good();
	before = ri_registry_refusals();
	count = ri_registry_count();
	g_assert_true(ri_load_all(NULL, entries, NULL, NULL));
	after = ri_registry_refusals();
	g_assert_cmpstr(before, ==, after); /* that was wanted: nobody is refused */
	g_assert_cmpuint(ri_registry_count(), ==, count);
	g_assert_true(g_str_has_suffix(find("good")->origin, "provider-good.so"));
}

/*
 * Only regular files are opened: at a FIFO without a writer the dynamic linker would wait without end. This one has
 * a writer, and enough in it for the linker to refuse it in words of its own.
 */
static void
test_no_file(void)
{
	g_autofree char *place = g_dir_make_tmp("itapi-registry-XXXXXX", NULL);
	g_autofree char *fifo = g_build_filename(place, "fifo.so", NULL);
	struct ri_error error = {0};
	const char text[4096] = "no object";
	int writer;

	g_assert_cmpint(mkfifo(fifo, 0600), ==, 0);
	writer = open(fifo, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	g_assert_cmpint(writer, >=, 0);
	g_assert_cmpint(write(writer, text, sizeof(text)), ==, (ssize_t)sizeof(text));
	g_assert_false(ri_load_file(fifo, &error));
	g_assert_cmpint(error.code, ==, RI_REGISTRY_ERROR_LOAD);
	g_assert_nonnull(strstr(error.text, "is not a regular file"));
	g_assert_false(ri_load_file(place, &error));
	g_assert_nonnull(strstr(error.text, "is not a regular file"));
	g_assert_cmpint(close(writer), ==, 0);
	g_assert_cmpint(g_remove(fifo), ==, 0);
	g_assert_cmpint(g_rmdir(place), ==, 0);
}

static void
test_hostile(void)
{
	struct ri_provider bad = find("good")->provider;
	struct ri_pd_ops huge = find("good")->pd;
	struct ri_loaded *loaded;
	char endless[4096];
	struct ri_error error = {0};

	g_assert_null(ri_loaded_new(NULL, "test", &error));
	memset(endless, 'a', sizeof(endless));
	endless[sizeof(endless) - 1] = '\0';
	bad.name = endless;
	g_assert_null(ri_loaded_new(&bad, "test", &error));
	bad.name = "";
	g_assert_null(ri_loaded_new(&bad, "test", &error));
	bad.name = "bell\a";
	g_assert_null(ri_loaded_new(&bad, "test", &error));
	bad.name = "fine";
	huge.size = UINT32_MAX;
	bad.pd = &huge;
	g_assert_null(ri_loaded_new(&bad, "test", &error));
	/* A size that ends in the middle of a pointer is no size; at its border the entry is not there. */
	for (uint32_t cut = 1; cut < sizeof(void *); cut++) {
		huge.size = sizeof(huge) - cut;
		g_assert_null(ri_loaded_new(&bad, "test", &error));
		g_assert_cmpint(error.code, ==, RI_REGISTRY_ERROR_SHAPE);
		g_assert_nonnull(strstr(error.text, "\"pd\" cannot have"));
	}
	huge.size = sizeof(huge) - sizeof(void *);
	g_assert_null(ri_loaded_new(&bad, "test", &error));
	g_assert_nonnull(strstr(error.text, "pd.destroy"));
	huge.size = sizeof(huge);
	for (uint32_t cut = 1; cut < sizeof(void *); cut++) {
		bad.size = sizeof(bad) - cut;
		g_assert_null(ri_loaded_new(&bad, "test", &error));
		g_assert_cmpint(error.code, ==, RI_REGISTRY_ERROR_SHAPE);
	}
	bad.size = UINT32_MAX;
	g_assert_null(ri_loaded_new(&bad, "test", &error));
	bad.size = sizeof(bad);
	bad.name = endless + sizeof(endless) - sizeof(((struct ri_loaded *)0)->name);
	loaded = ri_loaded_new(&bad, "test", NULL); /* the longest that a name may be */
	g_assert_nonnull(loaded);
	ri_loaded_free(loaded);
	bad.name--;
	g_assert_null(ri_loaded_new(&bad, "test", NULL));
}

/* A reason fits into its buffer, however long the name in front of it is. */
static void
test_long_words(void)
{
	struct ri_error error = {0};
	char word[2000];

	memset(word, 'w', sizeof(word) - 1);
	word[sizeof(word) - 1] = '\0';
	g_assert_false(ri_error_set(&error, RI_REGISTRY_ERROR_LOAD, "%s", word));
	g_assert_cmpuint(strlen(error.text), ==, sizeof(error.text) - 1);
	ri_error_prefix(&error, "short");
	g_assert_true(g_str_has_prefix(error.text, "short: www"));
	ri_error_prefix(&error, word);
	g_assert_cmpuint(strlen(error.text), <, sizeof(error.text));
}

static struct ri_rnic_attr
good_attr(void)
{
	return (struct ri_rnic_attr){.size = sizeof(struct ri_rnic_attr),
				     .transport = RI_TRANSPORT_IWARP,
				     .name = "good",
				     .num_ports = 1,
				     .max_pd = 1,
				     .max_qp = 1,
				     .max_cq = 1,
				     .max_cqe = 1,
				     .max_mr = 1,
				     .max_mr_length = 1,
				     .max_sq_wr = 1,
				     .max_rq_wr = 1,
				     .max_send_sge = 1,
				     .max_recv_sge = 1,
				     .max_write_sge = 1,
				     .max_read_sge = 1,
				     .max_message_size = 1,
				     .cm_forms = RI_CM_STREAM,
				     .addr_ip = true};
}

static void
claim_fails(const struct ri_rnic_attr *attr, const char *word)
{
	struct ri_error error = {0};

	g_assert_false(ri_claims_check(find("good"), attr, &error));
	g_assert_cmpint(error.code, ==, RI_REGISTRY_ERROR_CLAIM);
	if (strstr(error.text, word) == NULL)
		g_error("\"%s\" does not say \"%s\"", error.text, word);
}

/* One claim too many at a time; the text names the attribute or the entry. */
static void
test_claims(void)
{
	const struct {
		size_t offset;
		const char *word;
	} flags[] = {
		{offsetof(struct ri_rnic_attr, srq), "srq.create"},
		{offsetof(struct ri_rnic_attr, ud), "ah.create"},
		{offsetof(struct ri_rnic_attr, mw_narrow), "mem.mw_alloc"},
		{offsetof(struct ri_rnic_attr, mw_wide), "mem.mw_alloc"},
		{offsetof(struct ri_rnic_attr, software), "fast.progress"},
		{offsetof(struct ri_rnic_attr, three_way_handshake), "cm.confirm"},
		{offsetof(struct ri_rnic_attr, fast_register), "privileged_ops"},
		{offsetof(struct ri_rnic_attr, direct_stag), "privileged_ops"},
		{offsetof(struct ri_rnic_attr, dmabuf), "mem.mr_reg_dmabuf"},
	};
	struct ri_rnic_attr attr = good_attr();
	struct ri_error error = {0};

	g_assert_true(ri_claims_check(find("good"), &attr, &error));
	g_assert_cmpint(error.code, ==, RI_REGISTRY_ERROR_NONE);
	for (size_t i = 0; i < G_N_ELEMENTS(flags); i++) {
		attr = good_attr();
		memset((char *)&attr + flags[i].offset, true, 1);
		claim_fails(&attr, flags[i].word);
	}
	attr = good_attr();
	attr.cm_forms = RI_CM_ADDRESS | RI_CM_STREAM;
	claim_fails(&attr, "cm.listen");
	attr = good_attr();
	attr.cq_resizable = attr.reregister = attr.socket_conversion = true;
	g_assert_true(ri_claims_check(find("good"), &attr, NULL));
}

static void
test_sense(void)
{
	struct ri_rnic_attr attr = good_attr();

	attr.transport = 77;
	claim_fails(&attr, "transport");
	attr = good_attr();
	attr.cm_forms = 0;
	claim_fails(&attr, "cm_forms");
	attr = good_attr();
	attr.cm_forms |= 0x80;
	claim_fails(&attr, "cm_forms");
	attr = good_attr();
	attr.max_qp = 0;
	claim_fails(&attr, "max_qp");
	attr = good_attr();
	attr.accept_pdata = 257;
	claim_fails(&attr, "RI_PDATA_MAX");
	attr = good_attr();
	attr.immediate_size = 5;
	claim_fails(&attr, "immediate_size");
	attr = good_attr();
	attr.rtr_types = RI_RTR_SEND << 1;
	claim_fails(&attr, "rtr_types");
	attr = good_attr();
	attr.addr_ip = false;
	claim_fails(&attr, "addr");
	attr = good_attr();
	attr.addr_ip = false;
	attr.addr_gid = true;
	claim_fails(&attr, "RI_CM_STREAM");
	attr = good_attr();
	memset(attr.name, 'x', sizeof(attr.name));
	claim_fails(&attr, "name");
}

static void
test_names(void)
{
	for (int i = 0; i < RI_STATUS_COUNT; i++)
		g_assert_true(g_str_has_prefix(ri_status_name((enum ri_status)i), "RI_"));
	for (int i = 0; i < RI_WC_STATUS_COUNT; i++)
		g_assert_true(g_str_has_prefix(ri_wc_status_name((enum ri_wc_status)i), "RI_WC_"));
	for (int i = 0; i < RI_OP_COUNT; i++)
		g_assert_true(g_str_has_prefix(ri_opcode_name((enum ri_opcode)i), "RI_OP_"));
	for (int i = 0; i < RI_QPS_COUNT; i++)
		g_assert_true(g_str_has_prefix(ri_qp_state_name((enum ri_qp_state)i), "RI_QPS_"));
	for (int i = 0; i < RI_EVENT_COUNT; i++)
		g_assert_true(g_str_has_prefix(ri_event_name((enum ri_event)i), "RI_EVENT_"));
	g_assert_cmpstr(ri_status_name((enum ri_status)RI_STATUS_COUNT), ==, "?");
	g_assert_cmpstr(ri_event_name((enum ri_event) - 1), ==, "?");
	g_assert_cmpstr(ri_status_name(RI_ERR_BUSY), ==, "RI_ERR_BUSY");
}

/* The list of ends is the test's own. */
static void
test_ends(void)
{
	static const enum ri_event not_ends[] = {RI_EVENT_NONE,
						 RI_EVENT_QP_STREAM_UP,
						 RI_EVENT_QP_RQ_LIMIT,
						 RI_EVENT_QP_LAST_WQE,
						 RI_EVENT_QP_COMM_EST,
						 RI_EVENT_QP_SQ_DRAINED,
						 RI_EVENT_QP_PATH_MIGRATED,
						 RI_EVENT_QP_PATH_MIG_FAILED,
						 RI_EVENT_CQ_OVERFLOW,
						 RI_EVENT_CQ_OP_ERROR,
						 RI_EVENT_SRQ_LIMIT,
						 RI_EVENT_SRQ_CATASTROPHIC,
						 RI_EVENT_DEVICE_CATASTROPHIC,
						 RI_EVENT_PORT_ACTIVE,
						 RI_EVENT_PORT_ERROR,
						 RI_EVENT_PORT_CHANGE};

	for (int i = 0; i < RI_EVENT_COUNT; i++) {
		bool end = true;

		for (size_t j = 0; j < G_N_ELEMENTS(not_ends); j++)
			end = end && not_ends[j] != (enum ri_event)i;
		g_assert_true(ri_event_is_end((enum ri_event)i) == end);
		g_assert_true(ri_event_is_close((enum ri_event)i) ==
			      (i == RI_EVENT_QP_LLP_CLOSE_COMPLETE));
	}
}

/* A statement of settings that cannot be is refused in words; a row of a later version is read as far as known. */
static void
test_settings(void)
{
	static const struct ri_setting good = {.name = "A_1",
					       .meaning = "something",
					       .kind = RI_SETTING_NUMBER,
					       .min = 1,
					       .max = 5,
					       .preset = "5"};
	struct {
		struct ri_setting known;
		uint64_t unknown;
	} later[2] = {{good, 1}, {good, 2}};
	struct ri_setting row = good, wrong[12];
	static const char *const words[] = {"no name", "no name", "no name", "no name",
					    "no name", "not say", "not say", "not say",
					    "default", "default", "default", "below its least"};
	g_autofree struct ri_loaded *loaded = g_new0(struct ri_loaded, 1);
	struct ri_provider *provider = &loaded->provider;
	struct ri_error error = {0};

	for (size_t i = 0; i < G_N_ELEMENTS(wrong); i++)
		wrong[i] = good;
	wrong[0].name = NULL;
	wrong[1].name = "";
	wrong[2].name = "1A";
	wrong[3].name = "A=B";
	wrong[4].name = "a";
	wrong[5].meaning = NULL;
	wrong[6].kind = RI_SETTING_WORD + 1;
	wrong[7].kind = RI_SETTING_WORD; /* of which words? */
	wrong[8].preset = "6";
	wrong[9].preset = "0";
	wrong[10].preset = "";
	wrong[11].min = 6;
	wrong[11].preset = NULL;
	provider->settings = &row;
	provider->setting_size = sizeof(row);
	g_assert_true(ri_settings_check(loaded, &error)); /* none */
	provider->num_settings = 1;
	g_assert_true(ri_settings_check(loaded, &error));
	for (size_t i = 0; i < G_N_ELEMENTS(wrong); i++) {
		g_test_message("setting %zu", i);
		row = wrong[i];
		error.code = RI_REGISTRY_ERROR_NONE;
		g_assert_false(ri_settings_check(loaded, &error));
		g_assert_cmpint(error.code, ==, RI_REGISTRY_ERROR_SHAPE);
		g_assert_nonnull(strstr(error.text, words[i]));
	}
	row = good;
	for (uint32_t size = 0; size < sizeof(row); size += 4) {
		provider->setting_size = size;
		g_assert_false(ri_settings_check(loaded, &error));
	}
	provider->setting_size = sizeof(row);
	provider->num_settings = 65;
	g_assert_false(ri_settings_check(loaded, &error));
	provider->num_settings = 1;
	provider->settings = NULL;
	g_assert_false(ri_settings_check(loaded, &error));
	later[1].known.name = "SECOND";
	provider->settings = &later[0].known;
	provider->setting_size = sizeof(later[0]);
	provider->num_settings = 2;
	g_assert_true(ri_settings_check(loaded, &error));
	ri_loaded_setting(loaded, 1, &row);
	g_assert_cmpstr(row.name, ==, "SECOND");
	g_assert_cmpuint(row.max, ==, 5);
}

/*
 * A provider that was built against version 1.1 declares no settings, and the memory after its
 * table must not be read. The size is that of existing binaries, so it is a number here.
 */
static void
test_settings_of_old(void)
{
	const struct ri_loaded *old = find("old");

	g_assert_nonnull(old);
	g_assert_cmpuint(old->provider.abi_minor, ==, 1);
	g_assert_cmpuint(offsetof(struct ri_provider, settings), ==, 8 + 13 * sizeof(void *));
	g_assert_null(old->provider.settings);
	g_assert_cmpuint(old->provider.num_settings, ==, 0);
	g_assert_cmpuint(find("good")->provider.num_settings, ==, 1);
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	folder = argc > 2 ? argv[1] : ".";
	header_provider = argc > 2 ? argv[2] : "provider-header.so";
	g_test_add_func("/rnicpi/registry/stubs", test_stubs);
	g_test_add_func("/rnicpi/registry/good", test_good);
	g_test_add_func("/rnicpi/registry/header", test_header);
	g_test_add_func("/rnicpi/registry/old", test_old);
	g_test_add_func("/rnicpi/registry/future", test_future);
	g_test_add_func("/rnicpi/registry/refusals", test_refusals);
	g_test_add_func("/rnicpi/registry/no-object", test_no_object);
	g_test_add_func("/rnicpi/registry/no-object-here", test_no_object_here);
	g_test_add_func("/rnicpi/registry/folders", test_folders);
	g_test_add_func("/rnicpi/registry/settings", test_settings);
	g_test_add_func("/rnicpi/registry/settings-of-old", test_settings_of_old);
	g_test_add_func("/rnicpi/registry/built-in", test_built_in);
	g_test_add_func("/rnicpi/registry/path-first", test_path_first);
	g_test_add_func("/rnicpi/registry/hostile", test_hostile);
	g_test_add_func("/rnicpi/registry/no-file", test_no_file);
	g_test_add_func("/rnicpi/registry/long-words", test_long_words);
	g_test_add_func("/rnicpi/claims/entries", test_claims);
	g_test_add_func("/rnicpi/claims/sense", test_sense);
	g_test_add_func("/rnicpi/names/all", test_names);
	g_test_add_func("/rnicpi/names/ends", test_ends);
	return g_test_run();
}
