/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* The table of the process: what other processes see of it, what they cannot do to it, and pages that lie. */

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kal_cm_states.h"
#include "kal_live.h"
#include "kal_live_read.h"
#include "kal_live_stats.h"
#include "ri_at_end.h"
#include "ri_count.h"

/* What a reader was passed. */
struct seen {
	unsigned kinds[KAL_LIVE_KINDS];
	struct kal_live_item last[KAL_LIVE_KINDS];
};

static void
note(void *arg, const struct kal_live_item *item)
{
	struct seen *seen = arg;

	g_assert_cmpuint(item->slot.kind, >, KAL_LIVE_FREE);
	g_assert_cmpuint(item->slot.kind, <, KAL_LIVE_KINDS);
	g_assert_nonnull(memchr(item->adapter, '\0', sizeof(item->adapter)));
	g_assert_cmpuint(item->slot.cqs[0], <, KAL_LIVE_SLOTS);
	g_assert_nonnull(item->state);
	seen->kinds[item->slot.kind]++;
	seen->last[item->slot.kind] = *item;
}

static int
look(pid_t pid, struct seen *seen)
{
	unsigned missed;

	memset(seen, 0, sizeof(*seen));
	return kal_live_read(pid, note, seen, &missed);
}

/* An adapter with a queue pair, as long as a test. */
struct scene {
	struct kal_live_slot *adapter, *cq, *qp;
};

static void
begin(struct scene *scene)
{
	scene->adapter = kal_live_take(KAL_LIVE_ADAPTER, NULL);
	kal_live_name(scene->adapter, "test");
	scene->cq = kal_live_take(KAL_LIVE_CQ, scene->adapter);
	scene->qp = kal_live_take(KAL_LIVE_QP, scene->adapter);
	g_assert_nonnull(scene->qp);
	kal_live_qp(scene->qp, 17, RI_QP_RC, scene->cq, scene->cq);
	kal_live_path(scene->qp, KAL_CONN_UP,
		      &(struct kal_live_path){.local_port = 99, .peer_port = 99, .peer_qpn = 99});
}

static void
end(struct scene *scene)
{
	kal_live_give(scene->qp);
	kal_live_give(scene->cq);
	kal_live_give(scene->adapter);
}

/* The descriptor of this process that others open. */
static int
own_page(void)
{
	g_autoptr(GDir) folder = g_dir_open("/proc/self/fd", 0, NULL);
	const char *name;

	while ((name = g_dir_read_name(folder)) != NULL) {
		g_autofree char *path = g_build_filename("/proc/self/fd", name, NULL);
		g_autofree char *link = g_file_read_link(path, NULL);

		if (g_strcmp0(link, "/memfd:" KAL_LIVE_NAME " (deleted)") == 0)
			return atoi(name);
	}
	return -1;
}

/* A child sees what its parent does, and has nothing of it itself. */
static void
test_other_process(void)
{
	struct scene scene RI_AT_END(end);
	struct seen seen;
	int status;
	pid_t pid;

	begin(&scene);
	ri_count(&scene.qp->count.qp.posts[RI_OP_SEND], 7);
	g_assert_cmpint(look(0, &seen), ==, 0);
	g_assert_cmpuint(seen.kinds[KAL_LIVE_QP], ==, 1);
	g_assert_cmpstr(seen.last[KAL_LIVE_QP].state, ==, "UP");
	pid = fork();
	g_assert_cmpint(pid, >=, 0);
	if (pid == 0) {
		/* A write to what is left of the parent's objects is seen by nobody. */
		ri_count(&scene.qp->count.qp.posts[RI_OP_SEND], 1000);
		if (look(getppid(), &seen) != 0 || seen.kinds[KAL_LIVE_QP] != 1 ||
		    seen.last[KAL_LIVE_QP].slot.number != 17 ||
		    seen.last[KAL_LIVE_QP].slot.is.path.peer_port != 99 ||
		    seen.last[KAL_LIVE_QP].slot.count.qp.posts[RI_OP_SEND] != 7 ||
		    strcmp(seen.last[KAL_LIVE_QP].adapter, "test") != 0)
			_exit(1);
		if (own_page() >= 0 || look(0, &seen) != ENOENT)
			_exit(2);
		/* Its own table, with the names of its parent's objects beside it. */
		kal_live_give(scene.qp);
		begin(&scene);
		if (look(0, &seen) != 0 || seen.kinds[KAL_LIVE_QP] != 1 || own_page() < 0)
			_exit(3);
		_exit(0);
	}
	g_assert_cmpint(waitpid(pid, &status, 0), ==, pid);
	g_assert_cmpint(status, ==, 0);
	g_assert_cmpint(look(0, &seen), ==, 0);
	g_assert_cmpuint(seen.last[KAL_LIVE_QP].slot.count.qp.posts[RI_OP_SEND], ==, 7);
	g_assert_cmpint(look(pid, &seen), ==, ESRCH);
}

/* Nobody can cut, write or lengthen the page, its owner's other mappings included. */
static void
test_sealed(void)
{
	struct scene scene RI_AT_END(end);
	int fd;

	begin(&scene);
	fd = own_page();
	g_assert_cmpint(fd, >=, 0);
	g_assert_cmpint(ftruncate(fd, 0), ==, -1);
	g_assert_cmpint(ftruncate(fd, 1 << 30), ==, -1);
	if ((fcntl(fd, F_GET_SEALS) & 0x0010) != 0) {
		g_assert_cmpint(pwrite(fd, "x", 1, 0), ==, -1);
		g_assert_true(mmap(NULL, 4096, PROT_WRITE, MAP_SHARED, fd, 0) == MAP_FAILED);
	}
}

/* A page of another process, for a reader. */
struct page {
	int fd;
	struct kal_live_slot slots[4];
};

static void
page_begin(struct page *page)
{
	struct kal_live_head *head = (struct kal_live_head *)page->slots;

	memset(page, 0, sizeof(*page));
	page->fd = memfd_create("page", MFD_CLOEXEC);
	memcpy(head->magic, KAL_LIVE_MAGIC, sizeof(head->magic));
	head->version = KAL_LIVE_VERSION;
	head->slot_size = sizeof(struct kal_live_slot);
	head->slots = KAL_LIVE_SLOTS;
	head->high = 3;
	page->slots[1].kind = KAL_LIVE_ADAPTER;
	page->slots[1].adapter = 1;
	memset(page->slots[1].is.name, 'x', sizeof(page->slots[1].is.name));
	page->slots[2].kind = KAL_LIVE_QP;
	page->slots[2].adapter = 1;
	page->slots[2].state = 255;
	page->slots[2].cqs[0] = UINT32_MAX;
}

static int
page_read(struct page *page, struct seen *seen)
{
	unsigned missed = 0;

	memset(seen, 0, sizeof(*seen));
	g_assert_cmpint(pwrite(page->fd, page->slots, sizeof(page->slots), 0), ==,
			sizeof(page->slots));
	return kal_live_read_file(page->fd, note, seen, &missed);
}

/* Each thing that a page can say and that is wrong. */
static void
test_lies(void)
{
	struct kal_live_head *head;
	struct page page;
	struct seen seen;

	page_begin(&page);
	head = (struct kal_live_head *)page.slots;
	/* A name without an end, a state and a place that do not exist: shown, and harmless. */
	g_assert_cmpint(page_read(&page, &seen), ==, 0);
	g_assert_cmpuint(seen.kinds[KAL_LIVE_QP], ==, 1);
	g_assert_cmpstr(seen.last[KAL_LIVE_QP].state, ==, "unknown");
	g_assert_cmpuint(strlen(seen.last[KAL_LIVE_QP].adapter), ==, 63);
	/* A name that is not an adapter, that does not exist, or that is a queue pair. */
	for (uint32_t adapter = 0; adapter < 5; adapter++) {
		page.slots[2].adapter = adapter != 4 ? adapter : UINT32_MAX;
		g_assert_cmpint(page_read(&page, &seen), ==, 0);
		g_assert_cmpuint(seen.kinds[KAL_LIVE_QP], ==, adapter == 1);
	}
	page.slots[2].adapter = 1;
	page.slots[2].kind = KAL_LIVE_KINDS;
	g_assert_cmpint(page_read(&page, &seen), ==, 0);
	g_assert_cmpuint(seen.kinds[KAL_LIVE_QP], ==, 0);
	page.slots[2].kind = KAL_LIVE_QP;
	/* The writing of it never ends. */
	page.slots[2].sequence = 1;
	g_assert_cmpint(page_read(&page, &seen), ==, 0);
	g_assert_cmpuint(seen.kinds[KAL_LIVE_QP], ==, 0);
	page.slots[2].sequence = 2;
	/* Sizes: of slots that are not in the file, of more than there can be, of none. */
	head->high = 1000;
	g_assert_cmpint(page_read(&page, &seen), ==, EPROTO);
	head->high = head->slots = UINT32_MAX;
	g_assert_cmpint(page_read(&page, &seen), ==, EPROTO);
	head->slots = 2; /* more in use than there are */
	head->high = 3;
	g_assert_cmpint(page_read(&page, &seen), ==, EPROTO);
	head->slots = KAL_LIVE_SLOTS;
	head->high = 0;
	g_assert_cmpint(page_read(&page, &seen), ==, EPROTO);
	head->high = 3;
	head->slot_size++;
	g_assert_cmpint(page_read(&page, &seen), ==, EPROTO);
	head->slot_size--;
	head->version++;
	g_assert_cmpint(page_read(&page, &seen), ==, EPROTO);
	head->version--;
	head->magic[0] = 'x';
	g_assert_cmpint(page_read(&page, &seen), ==, EPROTO);
	close(page.fd);
}

/* Calls that read, of this process so far; 0: the kernel does not count them. */
static uint64_t
reads_made(void)
{
	g_autofree char *text = NULL;
	const char *at;

	if (!g_file_get_contents("/proc/self/io", &text, NULL, NULL))
		return 0;
	at = strstr(text, "syscr: ");
	return at != NULL ? g_ascii_strtoull(at + strlen("syscr: "), NULL, 10) : 0;
}

/* The writing of none of very many ends: the reader does not look at each of them a hundred times. */
static void
test_always_busy(void)
{
	const size_t bytes = (size_t)KAL_LIVE_SLOTS * sizeof(struct kal_live_slot);
	g_autofree struct kal_live_slot *slots = g_malloc0(bytes);
	struct kal_live_head *head = (struct kal_live_head *)slots;
	struct seen seen = {0};
	struct page page;
	uint64_t before, reads;
	unsigned missed;

	page_begin(&page);
	memcpy(slots, page.slots, sizeof(page.slots));
	head->high = KAL_LIVE_SLOTS;
	for (unsigned i = 2; i < KAL_LIVE_SLOTS; i++) {
		slots[i] = page.slots[2];
		slots[i].sequence = 1;
	}
	g_assert_cmpint(write(page.fd, slots, bytes), ==, (ssize_t)bytes);
	before = reads_made();
	g_assert_cmpint(kal_live_read_file(page.fd, note, &seen, &missed), ==, 0);
	reads = reads_made() - before;
	g_assert_cmpuint(seen.kinds[KAL_LIVE_ADAPTER], ==, 1);
	g_assert_cmpuint(seen.kinds[KAL_LIVE_QP], ==, 0);
	g_assert_cmpuint(reads, <, 5 * KAL_LIVE_SLOTS);
	close(page.fd);
}

/*
 * A deleted file on another mount, with the name and the content of a table, is not taken for one.
 * Only root can create it there.
 */
static void
test_name_is_not_enough(void)
{
	const char *path = "/memfd:" KAL_LIVE_NAME;
	struct page page;
	struct seen seen;
	int go[2], ready[2], status, fd;
	char octet;
	pid_t pid;

	fd = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
	if (fd < 0) {
		g_test_skip("the root folder cannot be written");
		return;
	}
	g_unlink(path);
	page_begin(&page);
	g_assert_cmpint(page_read(&page, &seen), ==, 0);
	g_assert_cmpint(write(fd, page.slots, sizeof(page.slots)), ==, sizeof(page.slots));
	close(page.fd);
	g_assert_cmpint(pipe(go), ==, 0);
	g_assert_cmpint(pipe(ready), ==, 0);
	pid = fork();
	if (pid == 0) {
		close(go[1]);
		_exit(write(ready[1], "x", 1) == 1 && read(go[0], &octet, 1) == 1 &&
				      own_page() == fd
			      ? 0
			      : 1);
	}
	g_assert_cmpint(read(ready[0], &octet, 1), ==, 1);
	g_assert_cmpint(look(pid, &seen), ==, ENOENT);
	g_assert_cmpint(write(go[1], "x", 1), ==, 1);
	g_assert_cmpint(waitpid(pid, &status, 0), ==, pid);
	g_assert_cmpint(status, ==, 0);
	close(fd);
	close(go[0]);
	close(go[1]);
	close(ready[0]);
	close(ready[1]);
}

static atomic_bool stop_writing;

static void *
write_on(void *arg)
{
	struct scene *scene = arg;

	for (uint32_t i = 0; !atomic_load(&stop_writing); i++) {
		const struct kal_live_path path = {
			.local_port = (uint16_t)i, .peer_port = (uint16_t)i, .peer_qpn = i};

		kal_live_path(scene->qp, KAL_CONN_UP, &path);
	}
	return NULL;
}

/* Slots that are written all the time are read whole or not at all. */
static void
test_torn(void)
{
	struct scene scene RI_AT_END(end);
	struct seen seen = {0};
	unsigned whole = 0, missed;
	pthread_t thread;
	int fd;

	begin(&scene);
	fd = own_page();
	atomic_store(&stop_writing, false);
	g_assert_cmpint(pthread_create(&thread, NULL, write_on, &scene), ==, 0);
	for (unsigned i = 0; i < 2000; i++) {
		const struct kal_live_path *path = &seen.last[KAL_LIVE_QP].slot.is.path;

		memset(&seen, 0, sizeof(seen));
		g_assert_cmpint(kal_live_read_file(fd, note, &seen, &missed), ==, 0);
		if (seen.kinds[KAL_LIVE_QP] == 0)
			continue;
		whole++;
		g_assert_cmpuint(path->local_port, ==, path->peer_port);
		g_assert_cmpuint((uint16_t)path->peer_qpn, ==, path->peer_port);
	}
	atomic_store(&stop_writing, true);
	pthread_join(thread, NULL);
	g_assert_cmpuint(whole, >, 0);
}

/* Beyond the room nothing is shown, and nothing breaks; slots are used again. */
static void
test_full(void)
{
	struct kal_live_slot **slots = g_new0(struct kal_live_slot *, KAL_LIVE_SLOTS);
	struct scene scene;
	struct seen seen;
	unsigned taken = 0, missed;

	begin(&scene);
	while ((slots[taken] = kal_live_take(KAL_LIVE_CQ, scene.adapter)) != NULL)
		taken++;
	g_assert_cmpuint(taken, ==, KAL_LIVE_SLOTS - 4);
	kal_live_qp(NULL, 1, 1, NULL, NULL);
	kal_live_event(NULL);
	kal_live_give(NULL);
	memset(&seen, 0, sizeof(seen));
	g_assert_cmpint(kal_live_read(0, note, &seen, &missed), ==, 0);
	g_assert_cmpuint(seen.kinds[KAL_LIVE_CQ], ==, taken + 1);
	g_assert_cmpuint(missed, ==, 1);
	for (unsigned i = 0; i < taken; i++)
		kal_live_give(slots[i]);
	slots[0] = kal_live_take(KAL_LIVE_CQ, scene.adapter);
	g_assert_nonnull(slots[0]);
	g_assert_cmpuint(slots[0]->count.cq.events, ==, 0);
	kal_live_give(slots[0]);
	end(&scene);
	g_free(slots);
}

/* The sums have what is gone and what is there. */
static void
test_sums(void)
{
	struct scene scene RI_AT_END(end);
	struct kal_live_slot *srq;
	struct kal_live_sum *sums;
	g_autofree char *text = NULL;
	uint64_t before = 0, events = 0, done = 0;

	begin(&scene);
	sums = kal_live_sums();
	for (const struct kal_live_sum *sum = sums; sum != NULL; sum = sum->next) {
		before += sum->qp.posts[RI_OP_RDMA_WRITE];
		events += sum->events;
		done += sum->cq.done[RI_WC_SUCCESS];
	}
	kal_live_sums_free(sums);
	scene.qp->count.qp.known = RI_COUNTED_POSTS | RI_COUNTED_CRC;
	ri_count(&scene.qp->count.qp.posts[RI_OP_RDMA_WRITE], 5);
	ri_count(&scene.qp->count.qp.crc_errors, 3);
	kal_live_give(scene.qp);
	scene.qp = kal_live_take(KAL_LIVE_QP, scene.adapter);
	ri_count(&scene.qp->count.qp.posts[RI_OP_RDMA_WRITE], 6);
	scene.cq->count.cq.of.known = 5;
	ri_count(&scene.cq->count.cq.of.done[RI_WC_SUCCESS], 7);
	for (unsigned i = 0; i < 3; i++)
		kal_live_event(scene.cq);
	kal_live_give(scene.cq);
	scene.cq = kal_live_take(KAL_LIVE_CQ, scene.adapter);
	kal_live_event(scene.cq);
	srq = kal_live_take(KAL_LIVE_SRQ, scene.adapter);
	srq->count.qp.known = RI_COUNTED_POSTS;
	ri_count(&srq->count.qp.posts[RI_OP_RECV], 7);
	kal_live_give(srq);
	sums = kal_live_sums();
	g_assert_nonnull(sums);
	g_assert_null(sums->next);
	g_assert_cmpstr(sums->name, ==, "test");
	g_assert_cmpuint(sums->qp.posts[RI_OP_RDMA_WRITE], ==, before + 11);
	g_assert_cmpuint(sums->events, ==, events + 4);
	g_assert_cmpuint(sums->cq.done[RI_WC_SUCCESS], ==, done + 7);
	g_assert_cmphex(sums->cq.known & 5, ==, 5);
	text = kal_live_stats_text(sums);
	g_assert_nonnull(strstr(text, "\"rdma_write\":11"));
	g_assert_nonnull(strstr(text, "\"recv\":7"));
	g_assert_nonnull(strstr(text, "\"shared_receive_queues\":1,"));
	g_assert_nonnull(strstr(text, "\"crc_errors\":3"));
	g_assert_null(strstr(text, "frames_sent"));
	kal_live_sums_free(sums);
}

/* The file of ITAPI_STATS: made for its owner only, appended to, and no file of another user. */
static void
test_stats_file(void)
{
	g_autofree char *folder = g_dir_make_tmp("live.XXXXXX", NULL);
	g_autofree char *path = g_build_filename(folder, "stats", NULL);
	g_autofree char *other = g_build_filename(folder, "other", NULL);
	g_autofree char *text = NULL;
	const char *why;
	struct stat st;

	g_assert_cmpint(kal_live_stats_append(path, "one\n", &why), ==, 0);
	g_assert_cmpint(kal_live_stats_append(path, "two\n", &why), ==, 0);
	g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
	g_assert_cmpstr(text, ==, "one\ntwo\n");
	g_assert_cmpint(stat(path, &st), ==, 0);
	g_assert_cmpint(st.st_mode & 07777, ==, 0600);
	g_assert_cmpint(symlink(path, other), ==, 0);
	g_assert_cmpint(kal_live_stats_append(other, "x", &why), ==, ELOOP);
	g_assert_cmpstr(why, ==, "it is a symbolic link");
	g_unlink(other);
	g_assert_cmpint(link(path, other), ==, 0);
	g_assert_cmpint(kal_live_stats_append(other, "x", &why), ==, EPERM);
	g_assert_cmpstr(why, ==, "it has several names");
	g_unlink(other);
	g_assert_cmpint(chmod(path, 0622), ==, 0);
	g_assert_cmpint(kal_live_stats_append(path, "x", &why), ==, EPERM);
	g_assert_cmpstr(why, ==, "other users may write it");
	g_assert_cmpint(chmod(path, 0600), ==, 0);
	if (geteuid() == 0) {
		g_assert_cmpint(chown(path, 65534, 65534), ==, 0);
		g_assert_cmpint(kal_live_stats_append(path, "x", &why), ==, EPERM);
		g_assert_cmpstr(why, ==, "it belongs to another user");
	}
	g_assert_cmpint(mkfifo(other, 0600), ==, 0);
	g_assert_cmpint(kal_live_stats_append(other, "x", &why), ==, ENXIO);
	g_unlink(other);
	g_assert_cmpint(kal_live_stats_append("/dev/null", "x", &why), ==, EPERM);
	g_assert_cmpint(kal_live_stats_append(folder, "x", &why), ==, EISDIR);
	g_unlink(path);
	g_rmdir(folder);
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/kal/live/other-process", test_other_process);
	g_test_add_func("/kal/live/sealed", test_sealed);
	g_test_add_func("/kal/live/lies", test_lies);
	g_test_add_func("/kal/live/always-busy", test_always_busy);
	g_test_add_func("/kal/live/name-is-not-enough", test_name_is_not_enough);
	g_test_add_func("/kal/live/torn", test_torn);
	g_test_add_func("/kal/live/full", test_full);
	g_test_add_func("/kal/live/sums", test_sums);
	g_test_add_func("/kal/live/stats-file", test_stats_file);
	return g_test_run();
}
