/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include "it-run/run_program.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "tool_error.h"

#define HEAD_ROOM    256 /* of a file: the kernel reads no more of a line that names an interpreter */
#define SEGMENTS_MAX 512 /* of an ELF file that is looked at */
#define SCRIPTS_MAX  5   /* scripts whose interpreters are scripts, as the kernel counts */
#define SHELL        "/bin/sh"
#define CAPABILITIES "security.capability"
#define OUR_OWN      "/proc/self/exe"
#define MORE_RIGHTS  "it-run runs with more rights than its caller, and so would the program"

/* --- which file ------------------------------------------------------------------------------------- */

/* A name without a slash is looked for in PATH. */
static char *
find_file(const char *name, GError **error)
{
	char *path = g_find_program_in_path(name);
	struct stat status;

	if (path != NULL && strchr(name, '/') != NULL) {
		g_free(path); /* it would be an absolute path, and a program may look at its own name */
		path = g_strdup(name);
	}
	if (path != NULL)
		return path;
	if (strchr(name, '/') == NULL)
		tool_fail(error, TOOL_ERROR_FAILED, "no folder of PATH has a program '%s'", name);
	else if (stat(name, &status) != 0)
		tool_fail(error, TOOL_ERROR_FAILED, "'%s' cannot be run: %s", name,
			  g_strerror(errno));
	else if (S_ISDIR(status.st_mode))
		tool_fail(error, TOOL_ERROR_FAILED, "'%s' is a folder", name);
	else
		tool_fail(error, TOOL_ERROR_FAILED, "'%s' may not be executed by this user", name);
	return NULL;
}

/* --- programs with more rights than their caller ---------------------------------------------------------- */

/* Linux ignores the rights of a file where its file system says so, or a process that began this one. */
static bool
rights_are_ignored(const char *path)
{
	struct statvfs system;

	return (statvfs(path, &system) == 0 && (system.f_flag & ST_NOSUID) != 0) ||
	       prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1;
}

/* The dynamic linker takes no LD_PRELOAD from the environment of a process with more rights than its caller. */
static bool
rights_permit(const char *path, GError **error)
{
	const unsigned group_set = S_ISGID | S_IXGRP;
	const char *more = NULL;
	struct stat status;

	if (getauxval(AT_SECURE) != 0 || geteuid() != getuid() || getegid() != getgid())
		return tool_fail(error, TOOL_ERROR_FAILED, MORE_RIGHTS);
	if (stat(path, &status) != 0 || rights_are_ignored(path))
		return true;
	if ((status.st_mode & S_ISUID) != 0 && status.st_uid != getuid())
		more = "is set-uid";
	else if ((status.st_mode & group_set) == group_set && status.st_gid != getgid())
		more = "is set-gid";
	else if (getuid() != 0 && getxattr(path, CAPABILITIES, NULL, 0) > 0)
		more = "has capabilities of its file";
	return more == NULL ||
	       tool_fail(error, TOOL_ERROR_FAILED, "'%s' %s, so nothing can be preloaded into it",
			 path, more);
}

/* --- ELF ---------------------------------------------------------------------------------------------------- */

/* What decides whether a shared object fits into the process. */
struct image {
	unsigned char class;    /* EI_CLASS */
	unsigned char data;     /* EI_DATA */
	unsigned machine;       /* only if the class and the order of octets are ours */
	char linker[HEAD_ROOM]; /* the dynamic linker that it names, or "" */
};

static bool
read_at(int fd, void *octets, size_t length, uint64_t at)
{
	return pread(fd, octets, length, (off_t)at) == (ssize_t)length;
}

/* The dynamic linker that the file names. false: the file is damaged. */
static bool
read_linker(int fd, const ElfW(Ehdr) * head, struct image *image)
{
	ElfW(Phdr) segment;

	if (head->e_phentsize != sizeof(segment) || head->e_phnum > SEGMENTS_MAX)
		return false;
	for (unsigned i = 0; i < head->e_phnum; i++) {
		if (!read_at(fd, &segment, sizeof(segment), head->e_phoff + i * sizeof(segment)))
			return false;
		if (segment.p_type != PT_INTERP)
			continue;
		return segment.p_filesz > 0 && segment.p_filesz <= sizeof(image->linker) &&
		       read_at(fd, image->linker, segment.p_filesz, segment.p_offset) &&
		       image->linker[segment.p_filesz - 1] == '\0';
	}
	return true;
}

/* false: it is no ELF file, or it is damaged. */
static bool
read_image(int fd, struct image *image)
{
	static const struct image own = {.class = sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32,
					 .data = __BYTE_ORDER == __LITTLE_ENDIAN ? ELFDATA2LSB
										 : ELFDATA2MSB};
	ElfW(Ehdr) head;

	memset(image, 0, sizeof(*image));
	if (!read_at(fd, &head, sizeof(head), 0) || memcmp(head.e_ident, ELFMAG, SELFMAG) != 0)
		return false;
	image->class = head.e_ident[EI_CLASS];
	image->data = head.e_ident[EI_DATA];
	if (image->class != own.class || image->data != own.data)
		return true;
	image->machine = head.e_machine;
	return read_linker(fd, &head, image);
}

static bool
read_own_image(struct image *own)
{
	int fd = open(OUR_OWN, O_RDONLY | O_CLOEXEC);
	bool good = fd >= 0 && read_image(fd, own);

	if (fd >= 0)
		close(fd);
	return good;
}

/* The dynamic linker itself, which a user may run with a program as its argument, has no linker. */
static bool
is_linker(int fd, const struct image *own)
{
	struct stat file, linker;

	return fstat(fd, &file) == 0 && stat(own->linker, &linker) == 0 &&
	       file.st_dev == linker.st_dev && file.st_ino == linker.st_ino;
}

/* Can an object that is made as this program is be loaded into that one? */
static bool
image_fits(const char *path, int fd, GError **error)
{
	struct image own, image;
	g_autofree char *its_linker = NULL;
	g_autofree char *own_linker = NULL;

	if (!read_own_image(&own))
		return tool_fail(error, TOOL_ERROR_FAILED, OUR_OWN " cannot be read");
	if (!read_image(fd, &image))
		return tool_fail(error, TOOL_ERROR_FAILED, "'%s' is a damaged program", path);
	if (image.class != own.class)
		return tool_fail(error, TOOL_ERROR_FAILED,
				 "'%s' is a program of %d bits; it-run serves those of %d", path,
				 image.class == ELFCLASS64 ? 64 : 32,
				 own.class == ELFCLASS64 ? 64 : 32);
	if (image.data != own.data || image.machine != own.machine)
		return tool_fail(error, TOOL_ERROR_FAILED,
				 "'%s' is a program for another kind of processor", path);
	if (image.linker[0] == '\0')
		return is_linker(fd, &own) ||
		       tool_fail(error, TOOL_ERROR_FAILED,
				 "'%s' is linked statically, so nothing can be preloaded into it",
				 path);
	its_linker = g_path_get_basename(image.linker);
	own_linker = g_path_get_basename(own.linker);
	return strcmp(its_linker, own_linker) == 0 ||
	       tool_fail(error, TOOL_ERROR_FAILED,
			 "'%s' is made for another C library: its dynamic linker is %s, not %s",
			 path, image.linker, own.linker);
}

/* --- scripts ---------------------------------------------------------------------------------------------- */

/*
 * The file that runs a script, by its first line "#!...", for g_free(); NULL: it cannot be found
 * out, or there is none. If the line names env, the result is the program that env starts.
 */
static char *
interpreter_of(char *line)
{
	g_autofree char *base = NULL;
	g_auto(GStrv) words = NULL;
	char **word;

	line[strcspn(line, "\n")] = '\0';
	words = g_strsplit_set(g_strstrip(line + strlen("#!")), " \t", -1);
	if (words[0] == NULL)
		return NULL;
	base = g_path_get_basename(words[0]);
	if (strcmp(base, "env") != 0)
		return g_strdup(words[0]);
	for (word = words + 1; *word != NULL; word++)
		if (**word != '\0' && **word != '-' && strchr(*word, '=') == NULL)
			return g_find_program_in_path(*word);
	return NULL;
}

static bool file_fits(const char *path, unsigned scripts, GError **error);

static bool
script_fits(const char *path, char *line, unsigned scripts, GError **error)
{
	g_autofree char *interpreter = interpreter_of(line);
	GError *trouble = NULL;

	/* The kernel, or env, has its own words for an interpreter that is not there. */
	if (interpreter == NULL || scripts == 0 || file_fits(interpreter, scripts - 1, &trouble))
		return true;
	g_propagate_prefixed_error(error, trouble, "the script '%s' cannot be served: ", path);
	return false;
}

/* --- both ------------------------------------------------------------------------------------------------- */

static bool
file_fits(const char *path, unsigned scripts, GError **error)
{
	char head[HEAD_ROOM + 1] = {0};
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	ssize_t had = fd >= 0 ? pread(fd, head, HEAD_ROOM, 0) : -1;
	bool good;

	/* A script has the rights of its interpreter. */
	if (had > 2 && head[0] == '#' && head[1] == '!')
		good = script_fits(path, head, scripts, error);
	else if (had >= SELFMAG && memcmp(head, ELFMAG, SELFMAG) == 0)
		good = rights_permit(path, error) && image_fits(path, fd, error);
	else
		good = rights_permit(path, error);
	if (fd >= 0)
		close(fd);
	return good;
}

char *
run_program_find(const char *name, GError **error)
{
	char *path = find_file(name, error);

	if (path != NULL && !file_fits(path, SCRIPTS_MAX, error))
		g_clear_pointer(&path, g_free);
	return path;
}

void
run_program_start(const char *path, char **argv, char **environment, GError **error)
{
	g_autoptr(GPtrArray) words = g_ptr_array_new();

	execve(path, argv, environment);
	if (errno == ENOEXEC) {
		g_ptr_array_add(words, (gpointer)SHELL);
		g_ptr_array_add(words, (gpointer)path);
		for (char **word = argv + 1; *word != NULL; word++)
			g_ptr_array_add(words, *word);
		g_ptr_array_add(words, NULL);
		execve(SHELL, (char **)words->pdata, environment);
	}
	tool_fail(error, TOOL_ERROR_FAILED, "'%s' cannot be run: %s", path, g_strerror(errno));
}
