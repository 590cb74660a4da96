/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * A program behind the door that closes the descriptors of event channels of rdma_cm in each way
 * that the C library has, and that does so in children, too, where the channels of the parent must
 * not end. It prints each deviation from the expected results.
 */
#include <errno.h>
#include <fcntl.h>
#include <rdma/rdma_cma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static int failures;

static void
check(int condition, const char *what)
{
	if (condition)
		return;
	printf("%s: %s\n", what, strerror(errno));
	failures++;
}

static struct rdma_event_channel *
make_channel(void)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct stat status;

	check(channel != NULL, "rdma_create_event_channel");
	if (channel == NULL)
		exit(1);
	check(fstat(channel->fd, &status) == 0 && S_ISCHR(status.st_mode), "no character device");
	return channel;
}

/* Does the channel take commands? */
static int
works(struct rdma_event_channel *channel)
{
	struct rdma_cm_id *id;

	if (rdma_create_id(channel, &id, NULL, RDMA_PS_TCP) != 0)
		return 0;
	return rdma_destroy_id(id) == 0;
}

/* The number is that of a file, which takes what is written. */
static void
is_file(int fd, const char *what)
{
	struct stat status;
	char text[5] = "";

	check(fstat(fd, &status) == 0 && S_ISREG(status.st_mode), what);
	check(write(fd, "text", 4) == 4 && pread(fd, text, 4, 0) == 4 && strcmp(text, "text") == 0,
	      what);
}

static int
temporary_file(void)
{
	char name[] = "/tmp/close-channels-XXXXXX";
	int fd = mkstemp(name);

	check(fd >= 0 && unlink(name) == 0, "mkstemp");
	return fd;
}

/* Another file gets the number of a channel. */
static void
replace(int how, const char *what)
{
	struct rdma_event_channel *channel = make_channel();
	int fd = channel->fd, file = temporary_file();

	check(works(channel), what);
	if (how == 2)
		check(dup2(file, fd) == fd, what);
	else
		check(dup3(file, fd, O_CLOEXEC) == fd, what);
	is_file(fd, what);
	close(file);
	close(fd);
}

/* What fails leaves the channel alone. */
static void
replace_by_nothing(void)
{
	struct rdma_event_channel *channel = make_channel();

	check(dup2(-1, channel->fd) < 0 && errno == EBADF && works(channel), "dup2 of nothing");
	check(dup3(channel->fd, channel->fd, 0) < 0 && errno == EINVAL && works(channel),
	      "dup3 of itself");
	check(dup2(channel->fd, channel->fd) == channel->fd && works(channel), "dup2 of itself");
	check(close_range(1000000, 2000000, 0) == 0 && works(channel), "close_range beyond");
	check(close_range((unsigned)channel->fd, (unsigned)channel->fd, CLOSE_RANGE_CLOEXEC) == 0 &&
		      works(channel),
	      "close_range that only marks");
	rdma_destroy_event_channel(channel);
}

static void
close_by_number(int how, const char *what)
{
	struct rdma_event_channel *channel = make_channel();
	int fd = channel->fd, file;

	if (how == 0)
		check(close(fd) == 0, what);
	else if (how == 1)
		check(close_range((unsigned)fd, (unsigned)fd, 0) == 0, what);
	else
		closefrom(fd);
	check(!works(channel), what);
	file = temporary_file();
	/* The number may be that of the next file. */
	is_file(file, what);
	close(file);
}

/* A child closes what it has inherited, and ends. vfork() runs in the memory of the parent. */
static void
in_child(int with_vfork, int how, const char *what)
{
	struct rdma_event_channel *channel = make_channel();
	int status = -1;
	/* NOLINTNEXTLINE(clang-analyzer-security.insecureAPI.vfork,clang-analyzer-unix.Vfork): programs call it */
	pid_t child = with_vfork ? vfork() : fork();

	if (child == 0) {
		if (how == 0)
			close(channel->fd);
		else if (how == 1)
			close_range(3, ~0u, 0);
		else
			dup2(1, channel->fd);
		_exit(0);
	}
	check(waitpid(child, &status, 0) == child && status == 0, what);
	check(works(channel), what);
	rdma_destroy_event_channel(channel);
}

int
main(void)
{
	replace(2, "dup2");
	replace(3, "dup3");
	replace_by_nothing();
	close_by_number(0, "close");
	close_by_number(1, "close_range");
	for (int how = 0; how < 3; how++) {
		in_child(0, how, "a child of fork");
		in_child(1, how, "a child of vfork");
	}
	close_by_number(2, "closefrom");
	return failures == 0 ? 0 : 1;
}
