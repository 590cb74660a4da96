/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Listing and opening devices where that fails: no device, a library that cannot use the kernel's,
 * no permission, a device of another kind, no memory. Each has its status and a line of the log.
 * The test plays libibverbs, and has a folder in place of the kernel's files.
 */
#include <errno.h>
#include <glib/gstdio.h>
#include <linux/capability.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "vib_device.h"
#include "vib_events.h"
#include "vib_profile.h"

#define DEVICE_FILE "null" /* in VIB_FILES: there is such a file, and all may use it */

static struct ibv_device usable = {.transport_type = IBV_TRANSPORT_IB,
				   .name = "fake0",
				   .dev_name = DEVICE_FILE,
				   .ibdev_path = "/nowhere"};
static struct ibv_device other = {.transport_type = IBV_TRANSPORT_USNIC, .name = "other0"};
static struct ibv_device *devices[] = {&other, &usable, NULL};
static struct ibv_context verbs;
static int list_error; /* of ibv_get_device_list; -1: it has none */
static int open_error; /* of ibv_open_device; 0: it works */
static int opened;
static int asked; /* calls of ibv_get_device_list */

/* What follows the opening of the file, and how it ends. */
enum step {
	STEP_PROFILE = 0,
	STEP_CM,
	STEP_EVENTS,
	STEP_COUNT
};
static enum ri_status steps[STEP_COUNT];
static int managers; /* of connections, open */

/* --- libibverbs ---------------------------------------------------------------------------------- */

#undef ibv_get_device_list
struct ibv_device **
ibv_get_device_list(int *count)
{
	static struct ibv_device *none[] = {NULL};

	asked++;
	*count = list_error == 0 ? 2 : 0;
	if (list_error > 0) {
		errno = list_error;
		return NULL;
	}
	return list_error == 0 ? devices : none;
}

void
ibv_free_device_list(struct ibv_device **list)
{
	g_assert_nonnull(list);
}

const char *
ibv_get_device_name(struct ibv_device *device)
{
	return device->name;
}

struct ibv_context *
ibv_open_device(struct ibv_device *device)
{
	g_assert_true(device == &usable);
	errno = open_error;
	opened += open_error == 0;
	return open_error == 0 ? &verbs : NULL;
}

int
ibv_close_device(struct ibv_context *context)
{
	g_assert_true(context == &verbs);
	opened--;
	return 0;
}

enum ibv_fork_status
ibv_is_fork_initialized(void)
{
	return IBV_FORK_UNNEEDED;
}

int
ibv_fork_init(void)
{
	return 0;
}

/* --- the rest of the provider ------------------------------------------------------------------------ */

const struct ri_srq_ops vib_srq_ops;

static struct vib_quirk quirk = {.driver = ""};

enum ri_status
vib_profile_make(struct ri_rnic *rnic)
{
	rnic->quirk = &quirk;
	return steps[STEP_PROFILE];
}

enum ri_status
vib_query_port(struct ri_rnic *rnic, uint32_t port, struct ri_port_attr *attr)
{
	(void)rnic;
	(void)port;
	(void)attr;
	return RI_SUCCESS;
}

enum ri_status
vib_cm_open(struct ri_rnic *rnic)
{
	(void)rnic;
	managers += steps[STEP_CM] == RI_SUCCESS;
	return steps[STEP_CM];
}

void
vib_cm_stop(struct ri_rnic *rnic)
{
	(void)rnic;
}

void
vib_cm_close(struct ri_rnic *rnic)
{
	(void)rnic;
	managers--;
}

void
vib_cm_profile(const struct ri_rnic *rnic, struct ri_rnic_attr *attr)
{
	(void)rnic;
	(void)attr;
}

void
vib_cm_context_end(struct ri_context *context)
{
	(void)context;
}

enum ri_status
vib_events_start(struct ri_rnic *rnic)
{
	(void)rnic;
	return steps[STEP_EVENTS];
}

void
vib_events_stop(struct ri_rnic *rnic)
{
	(void)rnic;
}

static bool removed; /* the device, while it was open */
static int looks;    /* of librdmacm at the devices */
static struct ibv_context *no_devices[1];

bool
vib_removal_done(const struct ri_rnic *rnic)
{
	(void)rnic;
	return removed;
}

struct ibv_context **
rdma_get_devices(int *num_devices)
{
	g_assert_null(num_devices);
	looks++;
	return no_devices;
}

void
rdma_free_devices(struct ibv_context **list)
{
	g_assert_true(list == no_devices);
}

/* --- cases --------------------------------------------------------------------------------------------- */

/* What the kernel shows, below the folder where the test runs. NULL: nothing. */
static void
kernel_shows(const char *device, const char *version, const char *driver)
{
	static const char *const gone[] = {"infiniband/fake0",    "verbs/abi_version",
					   "verbs/uverbs9/ibdev", "verbs/uverbs9/abi_version",
					   "verbs/uverbs9",       "verbs",
					   "infiniband"};

	for (size_t i = 0; i < G_N_ELEMENTS(gone); i++)
		(void)g_remove(gone[i]);
	if (device != NULL) {
		g_assert_cmpint(g_mkdir("infiniband", 0700), ==, 0);
		if (device[0] != '\0')
			g_assert_true(g_file_set_contents("infiniband/fake0", "", -1, NULL));
	}
	if (version == NULL)
		return;
	g_assert_cmpint(g_mkdir("verbs", 0700), ==, 0);
	/* Not even root can read a link to itself. */
	if (strcmp(version, "loop") == 0)
		g_assert_cmpint(symlink("abi_version", "verbs/abi_version"), ==, 0);
	else
		g_assert_true(g_file_set_contents("verbs/abi_version", version, -1, NULL));
	if (driver == NULL)
		return;
	g_assert_cmpint(g_mkdir("verbs/uverbs9", 0700), ==, 0);
	g_assert_true(g_file_set_contents("verbs/uverbs9/ibdev", "odd0\n", -1, NULL));
	g_assert_true(g_file_set_contents("verbs/uverbs9/abi_version", driver, -1, NULL));
}

/* A usual kernel. */
static void
kernel_good(void)
{
	kernel_shows("fake0", "6\n", NULL);
}

static void
test_list(void)
{
	static const struct {
		int error;
		enum ri_status status;
		uint32_t count;
		const char *text;
	} rows[] = {{0, RI_SUCCESS, 1, NULL},
		    {-1, RI_SUCCESS, 0, "the kernel has no RDMA device"},
		    {ENODEV, RI_SUCCESS, 0, "the kernel has no RDMA device"},
		    {ENOSYS, RI_SUCCESS, 0, "it does not know version 6 of the kernel's interface"},
		    {ENOMEM, RI_ERR_RESOURCES, 0, NULL},
		    {EMFILE, RI_ERR_RESOURCES, 0, NULL}};

	kernel_good();
	for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
		struct vth *vth = vth_new(false);
		struct ri_host host = *vth_host(vth);
		struct ri_device_desc descs[2];
		uint32_t count = G_N_ELEMENTS(descs);

		host.log_level = RI_LOG_INFO;
		list_error = rows[i].error;
		g_assert_cmpint(vib_device_ops.probe(&host, descs, &count), ==, rows[i].status);
		g_assert_cmpuint(count, ==, rows[i].count);
		if (rows[i].text != NULL)
			g_assert_true(vth_logged(vth, rows[i].text));
		if (count > 0)
			g_assert_cmpstr(descs[0].name, ==, "ib:fake0");
		vth_free(&vth);
	}
	list_error = 0;
}

/*
 * libibverbs lists no device, with the same errno for several reasons or with none; the kernel's
 * files distinguish the reasons. If the kernel shows no interface for programs, libibverbs must not
 * be called, because it may remember that it found none.
 */
static void
test_reasons(void)
{
	static const struct {
		const char *device, *version, *driver; /* kernel_shows() */
		int error;                             /* of the library */
		int asked;
		const char *text;
		const char *other; /* is not said */
	} rows[] = {
		{NULL, NULL, NULL, ENOSYS, 0, "the kernel has no RDMA device", "ib_uverbs"},
		{"", NULL, NULL, ENOSYS, 0, "the kernel has no RDMA device", "ib_uverbs"},
		{"fake0", NULL, NULL, ENOSYS, 0, "the module ib_uverbs is not loaded", "too old"},
		{"fake0", "loop", NULL, ENOSYS, 0,
		 "verbs/abi_version cannot be read: Too many levels of symbolic links",
		 "ib_uverbs"},
		{"fake0", "7\n", NULL, ENOSYS, 1, "the library is too old for version 7",
		 "ib_uverbs"},
		{"fake0", "2\n", NULL, ENOSYS, 1, "it does not know version 2", "ib_uverbs"},
		{"fake0", "", NULL, ENOSYS, 1, "has no number: \"\"", "ib_uverbs"},
		{"fake0", "6 or so\n", NULL, ENOSYS, 1, "has no number: \"6 or so\"", "ib_uverbs"},
		{"fake0", "-7\n", NULL, ENOSYS, 1, "has no number: \"-7\"", "ib_uverbs"},
		{"fake0", "6\n", "3\n", -1, 1,
		 "does not list the device odd0 of the kernel: " VIB_FILES "uverbs9: No such file",
		 "the kernel has no RDMA device"},
	};

	for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
		struct vth *vth = vth_new(false);
		struct ri_host host = *vth_host(vth);
		struct ri_device_desc descs[2];
		uint32_t count = G_N_ELEMENTS(descs);

		host.log_level = RI_LOG_INFO;
		kernel_shows(rows[i].device, rows[i].version, rows[i].driver);
		list_error = rows[i].error;
		asked = 0;
		g_assert_cmpint(vib_device_ops.probe(&host, descs, &count), ==, RI_SUCCESS);
		g_assert_cmpuint(count, ==, 0);
		g_assert_cmpint(asked, ==, rows[i].asked);
		g_assert_true(vth_logged(vth, rows[i].text));
		g_assert_false(vth_logged(vth, rows[i].other));
		vth_free(&vth);
	}
	list_error = 0;
	kernel_good();
}

/* A device of the kernel that is not among those that the library lists, until it is. */
static void
test_unlisted(void)
{
	g_autofree char *name = g_strdup(usable.dev_name);

	kernel_shows("fake0", "6\n", "3\n");
	for (unsigned i = 0; i < 2; i++) {
		struct vth *vth = vth_new(false);
		struct ri_host host = *vth_host(vth);
		struct ri_device_desc descs[2];
		uint32_t count = G_N_ELEMENTS(descs);

		host.log_level = RI_LOG_INFO;
		g_assert_cmpint(vib_device_ops.probe(&host, descs, &count), ==, RI_SUCCESS);
		g_assert_cmpuint(count, ==, 1);
		g_assert_cmpint(vth_logged(vth, "does not list the device odd0"), ==, i == 0);
		g_strlcpy(usable.dev_name, "uverbs9", sizeof(usable.dev_name));
		vth_free(&vth);
	}
	g_strlcpy(usable.dev_name, name, sizeof(usable.dev_name));
	kernel_good();
}

static void
test_open(void)
{
	static const struct {
		int error;
		enum ri_status status;
		const char *text;
	} rows[] = {{0, RI_SUCCESS, NULL},
		    {EACCES, RI_ERR_PERMISSION,
		     VIB_FILES DEVICE_FILE " cannot be opened: Permission denied"},
		    {EPERM, RI_ERR_PERMISSION, "cannot be opened: Operation not permitted"},
		    {ENOMEM, RI_ERR_RESOURCES, "cannot be opened: Cannot allocate memory"},
		    {EMFILE, RI_ERR_RESOURCES, "cannot be opened: Too many open files"},
		    {ENODEV, RI_ERR_NO_DEVICE,
		     "cannot be opened: No such device (the device was removed)"},
		    {ENXIO, RI_ERR_NO_DEVICE,
		     "cannot be opened: No such device or address (the device was removed)"},
		    {EIO, RI_ERR_NO_DEVICE,
		     "cannot be opened: Input/output error (the device was removed)"}};

	for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
		struct vth *vth = vth_new(false);
		const struct ri_upcalls upcalls = {.size = sizeof(upcalls)};
		struct ri_open open = {
			.name = "ib:fake0", .host = vth_host(vth), .upcalls = &upcalls};
		struct ri_rnic *rnic = NULL;

		open_error = rows[i].error;
		g_assert_cmpint(vib_device_ops.open(&open, &rnic), ==, rows[i].status);
		if (rows[i].text != NULL)
			g_assert_true(vth_logged(vth, rows[i].text));
		if (rnic != NULL)
			vib_device_ops.close(rnic);
		g_assert_cmpint(opened, ==, 0);
		vth_free(&vth);
	}
	open_error = 0;
}

/* The device has no file: whether it was removed, or this machine lacks the file, decides what is said. */
static void
test_no_file(void)
{
	static const struct {
		const char *kernel; /* its folder of the kernel */
		const char *text;
	} rows[] = {{"/", "No such file or directory (the kernel has the device"},
		    {"/nowhere", "No such file or directory (the device was removed)"}};
	const struct ri_upcalls upcalls = {.size = sizeof(upcalls)};
	g_autofree char *name = g_strdup(usable.dev_name);

	g_strlcpy(usable.dev_name, "none", sizeof(usable.dev_name));
	for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
		struct vth *vth = vth_new(false);
		struct ri_open open = {
			.name = "ib:fake0", .host = vth_host(vth), .upcalls = &upcalls};
		struct ri_rnic *rnic = NULL;

		g_strlcpy(usable.dev_path, rows[i].kernel, sizeof(usable.dev_path));
		open_error = EBADF; /* of what libibverbs did next */
		g_assert_cmpint(vib_device_ops.open(&open, &rnic), ==, RI_ERR_NO_DEVICE);
		g_assert_true(vth_logged(vth, rows[i].text));
		vth_free(&vth);
	}
	open_error = 0;
	g_strlcpy(usable.dev_name, name, sizeof(usable.dev_name));
}

/* librdmacm looks at the devices again after a removed one is closed, and only then. */
static void
test_removed(void)
{
	const struct ri_upcalls upcalls = {.size = sizeof(upcalls)};

	for (int i = 0; i < 2; i++) {
		struct vth *vth = vth_new(false);
		struct ri_open open = {
			.name = "ib:fake0", .host = vth_host(vth), .upcalls = &upcalls};
		struct ri_rnic *rnic = NULL;

		removed = i != 0;
		looks = 0;
		g_assert_cmpint(vib_device_ops.open(&open, &rnic), ==, RI_SUCCESS);
		vib_device_ops.close(rnic);
		g_assert_cmpint(looks, ==, i);
		vth_free(&vth);
	}
	removed = false;
}

static void
on_pipe(int number)
{
	(void)number;
}

/* SIGPIPE is ignored for a driver that raises it, but not if the program has said what it wants. */
static void
test_sigpipe(void)
{
	static const struct {
		bool raises;
		void (*before)(int);
		void (*after)(int);
	} rows[] = {{false, SIG_DFL, SIG_DFL}, {true, SIG_DFL, SIG_IGN}, {true, on_pipe, on_pipe}};
	const struct ri_upcalls upcalls = {.size = sizeof(upcalls)};

	for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
		struct vth *vth = vth_new(false);
		struct ri_open open = {
			.name = "ib:fake0", .host = vth_host(vth), .upcalls = &upcalls};
		struct sigaction action = {.sa_handler = rows[i].before};
		struct ri_rnic *rnic = NULL;

		g_assert_cmpint(sigaction(SIGPIPE, &action, NULL), ==, 0);
		quirk.raises_sigpipe = rows[i].raises;
		g_assert_cmpint(vib_device_ops.open(&open, &rnic), ==, RI_SUCCESS);
		vib_device_ops.close(rnic);
		g_assert_cmpint(sigaction(SIGPIPE, NULL, &action), ==, 0);
		g_assert_true(action.sa_handler == rows[i].after);
		vth_free(&vth);
	}
	quirk.raises_sigpipe = false;
}

/* A step after the opening of the file fails: the file is closed again. */
static void
test_step(void)
{
	const struct ri_upcalls upcalls = {.size = sizeof(upcalls)};

	for (unsigned i = 0; i < STEP_COUNT; i++) {
		struct vth *vth = vth_new(false);
		struct ri_open open = {
			.name = "ib:fake0", .host = vth_host(vth), .upcalls = &upcalls};
		struct ri_rnic *rnic = NULL;

		steps[i] = RI_ERR_NO_DEVICE;
		g_assert_cmpint(vib_device_ops.open(&open, &rnic), ==, RI_ERR_NO_DEVICE);
		g_assert_cmpint(opened, ==, 0);
		g_assert_cmpint(managers, ==, 0);
		steps[i] = RI_SUCCESS;
		vth_free(&vth);
	}
}

/* A device of another kind is no adapter, though it has the name. */
static void
test_other(void)
{
	struct vth *vth = vth_new(false);
	const struct ri_upcalls upcalls = {.size = sizeof(upcalls)};
	const struct ri_open open = {
		.name = "ib:other0", .host = vth_host(vth), .upcalls = &upcalls};
	struct ri_rnic *rnic = NULL;

	g_assert_cmpint(vib_device_ops.open(&open, &rnic), ==, RI_ERR_NO_DEVICE);
	vth_free(&vth);
}

static bool
is_unlimited(void)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {{0}};

	g_assert_cmpint(syscall(SYS_capget, &head, data), ==, 0);
	return (data[CAP_TO_INDEX(CAP_IPC_LOCK)].effective & CAP_TO_MASK(CAP_IPC_LOCK)) != 0;
}

/* A limit that is too small is logged when the adapter is opened, unless it does not bind this process. */
static void
test_limit(void)
{
	static const struct {
		rlim_t bytes;
		bool told;
	} rows[] = {{1 << 20, false}, {65536, true}, {0, true}};
	const struct ri_upcalls upcalls = {.size = sizeof(upcalls)};
	struct rlimit limit;

	g_assert_cmpint(getrlimit(RLIMIT_MEMLOCK, &limit), ==, 0);
	if (limit.rlim_cur < rows[0].bytes) {
		g_test_skip("the limit of locked memory is below 1 MiB");
		return;
	}
	for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
		struct vth *vth = vth_new(false);
		struct ri_open open = {
			.name = "ib:fake0", .host = vth_host(vth), .upcalls = &upcalls};
		struct ri_rnic *rnic = NULL;

		limit.rlim_cur = rows[i].bytes;
		g_assert_cmpint(setrlimit(RLIMIT_MEMLOCK, &limit), ==, 0);
		g_assert_cmpint(vib_device_ops.open(&open, &rnic), ==, RI_SUCCESS);
		g_assert_cmpint(vth_logged(vth, "bytes can be registered"), ==,
				rows[i].told && !is_unlimited());
		vib_device_ops.close(rnic);
		vth_free(&vth);
	}
}

int
main(int argc, char **argv)
{
	g_autofree char *place = g_dir_make_tmp("open-XXXXXX", NULL);
	int result;

	g_setenv("LC_ALL", "C", TRUE);
	g_test_init(&argc, &argv, NULL);
	g_assert_cmpint(g_chdir(place), ==, 0);
	kernel_good();
	g_test_add_func("/ib/open/list", test_list);
	g_test_add_func("/ib/open/reasons", test_reasons);
	g_test_add_func("/ib/open/unlisted", test_unlisted);
	g_test_add_func("/ib/open/open", test_open);
	g_test_add_func("/ib/open/no-file", test_no_file);
	g_test_add_func("/ib/open/removed", test_removed);
	g_test_add_func("/ib/open/sigpipe", test_sigpipe);
	g_test_add_func("/ib/open/step", test_step);
	g_test_add_func("/ib/open/other", test_other);
	g_test_add_func("/ib/open/limit", test_limit);
	result = g_test_run();
	kernel_shows(NULL, NULL, NULL);
	g_assert_cmpint(g_rmdir(place), ==, 0);
	return result;
}
