/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The program of a node: a copy of its file in memory, which the dynamic linker takes for another
 * object than all other copies. Constructors and destructors are part of a run: they must get its
 * time, random numbers and threads. The dynamic linker would run them on the thread that starts the
 * node, while it owns its lock. So in the copy the tags of their entries are replaced by ones that
 * the dynamic linker does not know, and the node's own threads run them.
 */
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sim/sim.h"
#include "sim/sim_real.h"

/* Added to a tag: none that the dynamic linker knows, and in the range for uses like this one. */
#define HIDDEN 0x60001000

typedef void constructor_fn(int, char **, char **);
typedef void destructor_fn(void);

/* --- the copy ----------------------------------------------------------------------------------- */

static bool
runs_code(int64_t tag)
{
	return tag == DT_INIT || tag == DT_INIT_ARRAY || tag == DT_INIT_ARRAYSZ || tag == DT_FINI ||
	       tag == DT_FINI_ARRAY || tag == DT_FINI_ARRAYSZ;
}

/* What is no such file, dlopen() refuses with its own words. False: no memory. */
static bool
functions_hide(int fd, const char *octets, size_t len)
{
	const ElfW(Ehdr) *head = (const ElfW(Ehdr) *)(const void *)octets;
	const ElfW(Phdr) * parts;

	if (len < sizeof(*head) || memcmp(octets, ELFMAG, SELFMAG) != 0 ||
	    head->e_phentsize != sizeof(*parts) || head->e_phoff > len ||
	    head->e_phnum > (len - head->e_phoff) / sizeof(*parts))
		return true;
	parts = (const ElfW(Phdr) *)(const void *)(octets + head->e_phoff);
	for (unsigned i = 0; i < head->e_phnum; i++) {
		if (parts[i].p_type != PT_DYNAMIC || parts[i].p_offset > len ||
		    parts[i].p_filesz > len - parts[i].p_offset)
			continue;
		for (size_t at = 0; at + sizeof(ElfW(Dyn)) <= parts[i].p_filesz;
		     at += sizeof(ElfW(Dyn))) {
			ElfW(Dyn) entry;

			memcpy(&entry, octets + parts[i].p_offset + at, sizeof(entry));
			if (!runs_code(entry.d_tag))
				continue;
			entry.d_tag += HIDDEN;
			if (pwrite(fd, &entry, sizeof(entry), (off_t)(parts[i].p_offset + at)) !=
			    sizeof(entry))
				return false;
		}
	}
	return true;
}

/* The descriptor of the copy. */
static int
program_copy(const struct sim_node *node)
{
	g_autoptr(GMappedFile) file = NULL;
	g_autoptr(GError) error = NULL;
	const char *octets;
	gsize len, done = 0;
	int fd;

	/* Mapped: a buffer would cost each seed a page fault for each of its pages. */
	file = g_mapped_file_new(node->plan->program, FALSE, &error);
	if (file == NULL)
		sim_fail("no program", "%s", error->message);
	octets = g_mapped_file_get_contents(file);
	len = g_mapped_file_get_length(file);
	fd = memfd_create(node->plan->name, MFD_CLOEXEC);
	while (fd >= 0 && done < len) {
		ssize_t written = SIM_REAL(write)(fd, octets + done, len - done);

		if (written <= 0)
			sim_fail("no memory", "no memory for a copy of %s", node->plan->program);
		done += (gsize)written;
	}
	if (fd < 0 || !functions_hide(fd, octets, len))
		sim_fail("no memory", "no memory for a copy of %s", node->plan->program);
	return fd;
}

/* --- what was hidden ---------------------------------------------------------------------------- */

static ElfW(Addr) entry_of(const struct link_map *map, int64_t tag)
{
	for (const ElfW(Dyn) *entry = map->l_ld; entry->d_tag != DT_NULL; entry++)
		if (entry->d_tag == tag + HIDDEN)
			return entry->d_un.d_val;
	return 0;
}

static size_t
functions_of(const struct link_map *map, int64_t array, int64_t size, void ***functions)
{
	const ElfW(Addr) at = entry_of(map, array);

	*functions = (void **)(map->l_addr + at);
	return at != 0 ? entry_of(map, size) / sizeof(void *) : 0;
}

/*
 * libstdc++ keeps the streams that stdout and stderr are when it is initialised. So it is
 * initialised here, with streams that write to the output of the node that runs. Otherwise a
 * constructor of the first C++ program would initialise it with that node's streams.
 */
static void
cxx_begin(void *object)
{
	static long streams[8]; /* room for a std::ios_base::Init, which has no members */
	void *symbol = dlsym(object, "_ZNSt8ios_base4InitC1Ev");
	void (*begin)(void *);

	memcpy(&begin, &symbol, sizeof(begin));
	if (begin != NULL)
		begin(streams);
}

/* --- the program -------------------------------------------------------------------------------- */

void
sim_program_load(struct sim_node *node)
{
	struct sim_program *program = &node->program;
	struct sim_thread *me = sim_me;
	FILE *const output = stdout, *const errors = stderr;
	g_autofree char *path = NULL;
	void *object, *symbol;

	/*
	 * Nothing here is a step of the run: libraries are initialised outside of it. The calling thread
	 * may be waiting in the scheduler, or may belong to a node that has ended.
	 */
	sim_me = NULL;
	sim_node_streams_shared();
	/* The descriptor stays open, so that no other copy gets the same path. */
	path = g_strdup_printf("/proc/self/fd/%d", program_copy(node));
	object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (object != NULL)
		cxx_begin(object);
	stdout = output;
	stderr = errors;
	sim_me = me;
	if (object == NULL || dlinfo(object, RTLD_DI_LINKMAP, &program->map) != 0)
		sim_fail("no program", "%s cannot be loaded: %s; compile it with cc -shared -fPIC",
			 node->plan->program, dlerror());
	symbol = dlsym(object, "main");
	if (symbol == NULL)
		sim_fail("no program", "%s exports no function main", node->plan->program);
	memcpy(&program->main, &symbol, sizeof(program->main));
	program->ended = false;
}

int
sim_program_run(const struct sim_program *program, int count, char **arguments, char **environment)
{
	const struct link_map *map = program->map;
	constructor_fn *function;
	void **functions;
	size_t many = functions_of(map, DT_INIT_ARRAY, DT_INIT_ARRAYSZ, &functions);

	if (entry_of(map, DT_INIT) != 0) {
		function = (constructor_fn *)(map->l_addr + entry_of(map, DT_INIT));
		function(count, arguments, environment);
	}
	for (size_t i = 0; i < many; i++) {
		memcpy(&function, &functions[i], sizeof(function));
		function(count, arguments, environment);
	}
	return program->main(count, arguments, environment);
}

void
sim_program_end(struct sim_program *program)
{
	destructor_fn *function;
	void **functions;
	size_t many;

	if (program->ended || program->map == NULL)
		return; /* exit() in a destructor */
	program->ended = true;
	many = functions_of(program->map, DT_FINI_ARRAY, DT_FINI_ARRAYSZ, &functions);
	while (many-- > 0) {
		memcpy(&function, &functions[many], sizeof(function));
		function();
	}
	if (entry_of(program->map, DT_FINI) != 0) {
		function =
			(destructor_fn *)(program->map->l_addr + entry_of(program->map, DT_FINI));
		function();
	}
}
