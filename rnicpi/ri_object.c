/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Two checks that the dynamic linker of glibc lacks. For an object of another machine it says "No such file or directory". Of
 * an object that was not copied completely it maps pages behind the end of the file, and an access ends the process by SIGBUS.
 */
#include "ri_object.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ri_fd.h"

#define HEADERS_MAX 64 /* program headers that are looked at; a shared object has about ten */

/* The header of the file that this code is linked into; the linker defines it. */
extern const ElfW(Ehdr) __ehdr_start __attribute__((visibility("hidden")));

static bool
header_check(const ElfW(Ehdr) * head, char *text, size_t room)
{
	const ElfW(Ehdr) *own = &__ehdr_start;

	if (head->e_ident[EI_CLASS] != own->e_ident[EI_CLASS] ||
	    head->e_ident[EI_DATA] != own->e_ident[EI_DATA])
		return true; /* the dynamic linker says so, and the rest has another layout */
	if (head->e_machine == own->e_machine)
		return true;
	(void)snprintf(text, room, "is for another kind of processor: ELF machine %u, not %u",
		       head->e_machine, own->e_machine);
	return false;
}

/* Does the file reach as far as what is to be mapped? */
static bool
length_check(int fd, const ElfW(Ehdr) * head, char *text, size_t room)
{
	unsigned count = head->e_phnum < HEADERS_MAX ? head->e_phnum : HEADERS_MAX;
	unsigned long long need = 0;
	struct stat info;

	if (head->e_phentsize != sizeof(ElfW(Phdr)) || fstat(fd, &info) != 0)
		return true;
	for (unsigned i = 0; i < count; i++) {
		off_t at = (off_t)(head->e_phoff + i * sizeof(ElfW(Phdr)));
		ElfW(Phdr) part;

		if (pread(fd, &part, sizeof(part), at) != sizeof(part))
			break;
		if (part.p_type == PT_LOAD && part.p_offset + part.p_filesz > need)
			need = part.p_offset + part.p_filesz;
	}
	if (need <= (unsigned long long)info.st_size)
		return true;
	(void)snprintf(text, room, "is cut short: it has %llu octets, and needs at least %llu",
		       (unsigned long long)info.st_size, need);
	return false;
}

bool
ri_object_check(const char *path, char *text, size_t room)
{
	int fd = ri_fd_open(path, O_RDONLY | O_NONBLOCK, 0);
	ElfW(Ehdr) head;
	bool good = true;

	if (fd < 0)
		return true;
	if (pread(fd, &head, sizeof(head), 0) == sizeof(head) &&
	    memcmp(head.e_ident, ELFMAG, SELFMAG) == 0)
		good = header_check(&head, text, room) && length_check(fd, &head, text, room);
	close(fd);
	return good;
}
