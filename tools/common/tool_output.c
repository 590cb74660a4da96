/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * stdio remembers that a write has failed, but not its errno. If the program learns of the failure later, it learns the
 * reason by one further write: a line end behind output that is incomplete in any case.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tool_output.h"

#define NAME_TRIES 16
#define NAME_ROOM  64 /* characters that the name of an unfinished file has more */

static atomic_int first_loss; /* errno, of stdout */

static void
ignore_signal(int number)
{
	(void)number;
}

/* The lowest free descriptor is taken, so the three are looked at in their order. */
static void
fill_standard_descriptors(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
		int flags = fd == STDOUT_FILENO ? O_RDONLY : O_RDWR;

		if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
			(void)!open("/dev/null", flags); /* NOLINT: stays open, also in children */
	}
}

static void
end_output(int status, void *unused)
{
	int number = tool_output_end(stdout);

	(void)unused;
	if (number == 0)
		return;
	fprintf(stderr, "%s: the output could not be written: %s\n", program_invocation_short_name,
		strerror(number)); /* NOLINT: the other threads have ended */
	if (status == 0)
		_exit(EXIT_FAILURE);
}

void
tool_output_watch(void)
{
	struct sigaction action = {.sa_handler = ignore_signal, .sa_flags = SA_RESTART};
	static bool watched;

	if (watched)
		return; /* stdout can be closed once only */
	watched = true;
	fill_standard_descriptors();
	sigemptyset(&action.sa_mask);
	/* Handlers, since an ignored signal stays ignored after exec. */
	sigaction(SIGPIPE, &action, NULL);
	sigaction(SIGXFSZ, &action, NULL);
	if (on_exit(end_output, NULL) != 0)
		abort(); /* the C library has room for 32 functions without memory */
}

int
tool_output_flush(void)
{
	int none = 0;
	int number;

	errno = 0;
	if (fflush(stdout) == 0 && ferror(stdout) == 0)
		return atomic_load(&first_loss);
	number = errno;
	if (number == 0 && write(STDOUT_FILENO, "\n", 1) < 0)
		number = errno;
	(void)atomic_compare_exchange_strong(&first_loss, &none, number != 0 ? number : EIO);
	return atomic_load(&first_loss);
}

int
tool_output_end(FILE *stream)
{
	int number = stream == stdout ? tool_output_flush() : 0;

	errno = 0;
	if (stream != stdout && (fflush(stream) != 0 || ferror(stream) != 0))
		number = errno != 0 ? errno : EIO;
	errno = 0;
	if (fclose(stream) != 0 && number == 0)
		number = errno != 0 ? errno : EIO;
	return number;
}

static int
write_all(int fd, const char *octets, size_t len)
{
	while (len > 0) {
		ssize_t written = write(fd, octets, len);

		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0)
			return written < 0 ? errno : EIO;
		octets += written;
		len -= (size_t)written;
	}
	return 0;
}

/* Write to a descriptor and close it, in any case. */
static int
fill_and_close(int fd, const void *octets, size_t len)
{
	int number = write_all(fd, octets, len);

	if (close(fd) != 0 && number == 0)
		number = errno;
	return number;
}

/* A new file beside another one, with the rights that new files have: its descriptor, or -1 with errno. */
static int
open_beside(const char *path, char *part, size_t room)
{
	int fd = -1;

	for (unsigned i = 0; i < NAME_TRIES && fd < 0; i++) {
		(void)snprintf(part, room, "%s.%ld-%u.part", path, (long)getpid(), i);
		fd = open(part, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
		if (fd < 0 && errno != EEXIST)
			break;
	}
	return fd;
}

/* The octets get the file's name when all are written. `before` is the file that has it now, or NULL. */
static int
replace_file(const char *path, const struct stat *before, const void *octets, size_t len)
{
	size_t room = strlen(path) + NAME_ROOM;
	char *part = malloc(room);
	int number = 0;
	int fd;

	if (part == NULL)
		return ENOMEM;
	fd = open_beside(path, part, room);
	if (fd < 0) {
		number = errno;
		free(part);
		return number;
	}
	if (before != NULL && fchmod(fd, before->st_mode & 0777) != 0)
		number = errno;
	if (number == 0)
		number = fill_and_close(fd, octets, len);
	else
		close(fd);
	if (number == 0 && rename(part, path) != 0)
		number = errno;
	if (number != 0)
		unlink(part);
	free(part);
	return number;
}

int
tool_output_file(const char *path, const void *octets, size_t len)
{
	struct stat info;
	int fd;

	if (stat(path, &info) != 0)
		return errno == ENOENT ? replace_file(path, NULL, octets, len) : errno;
	if (S_ISREG(info.st_mode))
		return replace_file(path, &info, octets, len);
	fd = open(path, O_WRONLY | O_NOCTTY | O_CLOEXEC);
	return fd < 0 ? errno : fill_and_close(fd, octets, len);
}
