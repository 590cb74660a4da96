#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""Writes a program that compares the headers with the tables, in C that is also C++.

A structure is compared with a mirror of itself written from the table: same size and alignment,
every member of the same type at the same place, bit-fields by the octets they set. If the
headers lack something, the program does not compile; if something in them is wrong, a check of
the program fails (TAP).

Usage: make_tables_test.py FOLDER {V10|V20|V21} {32|64} OUTPUT
"""

import sys

import tables

HEAD = '''/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */
/* Written by make_tables_test.py. */
%(choice)s
#include "it_api.h"
#include "it_ext.h"

#include <stdio.h>
#include <string.h>

#ifdef __cplusplus
#include <type_traits>
#define SAME(expression, ...) (std::is_same<decltype(expression), __VA_ARGS__>::value)
#define SAME_TYPE(name, ...) (std::is_same<name, __VA_ARGS__>::value)
#define OF_TYPE(constant, name) SAME(constant, name)
#define ALIGNMENT(type) alignof(type)
/* There may be others of its name. */
#define DECLARED(name, returns, ...) (sizeof(static_cast<returns (*)(__VA_ARGS__)>(&name)) != 0)
#else
#define SAME(expression, ...) \\
	__builtin_types_compatible_p(__typeof__(expression), __VA_ARGS__)
#define SAME_TYPE(name, ...) __builtin_types_compatible_p(name, __VA_ARGS__)
/* A constant of an enumeration is an int in C; the type is checked in C++. */
#define OF_TYPE(constant, name) (sizeof(name) == sizeof(int))
#define ALIGNMENT(type) _Alignof(type)
#define DECLARED(name, returns, ...) SAME(name, returns(__VA_ARGS__))
#endif
#define TEXT(macro) TEXT_OF(macro)
#define TEXT_OF(...) #__VA_ARGS__

static unsigned checks;
static unsigned failures;

static void
check(int good, const char *what)
{
	checks++;
	if (!good) {
		failures++;
		printf("# %%s\\n", what);
	}
}

/* Equal but for blanks, which formatting may add or take. */
static int
same_text(const char *a, const char *b)
{
	for (;; a++, b++) {
		a += strspn(a, " ");
		b += strspn(b, " ");
		if (*a != *b)
			return 0;
		if (*a == '\\0')
			return 1;
	}
}
'''

TAIL = '''
int
main(void)
{
	constants();
	typedefs();
	structures();
	functions();
	macros();
	printf("# %u checks\\n%s 1 - tables\\n1..1\\n", checks, failures == 0 ? "ok" : "not ok");
	return failures == 0 ? 0 : 1;
}
'''


def declaration(c_type, name):
    return c_type + name if c_type.endswith('*') else c_type + ' ' + name


def check(condition, what):
    return '\tcheck(%s,\n\t      "%s");\n' % (condition, what)


def function(name, lines):
    return '\nstatic void\n%s(void)\n{\n%s}\n' % (name, ''.join(lines))


def constants(folder):
    for constant in tables.constants(folder):
        yield check('(long long)%s == %dLL' % (constant.name, constant.value),
                    '%s is %d' % (constant.name, constant.value))
        yield check('OF_TYPE(%s, %s)' % (constant.name, constant.type),
                    '%s is of %s' % (constant.name, constant.type))


def typedefs(folder, narrow):
    for name, c_type in tables.typedefs(folder, narrow):
        yield check('SAME_TYPE(%s, %s)' % (name, c_type), '%s is %s' % (name, c_type))


def mirror_members(members, indent):
    text = ''
    for member in members:
        if member.nested:
            text += '%s%s {\n%s%s} %s;\n' % (indent, member.c_type,
                                             mirror_members(member.members, indent + '\t'),
                                             indent, member.name)
            continue
        line = declaration(member.c_type, member.name)
        if member.array:
            line += '[%s]' % member.array
        if member.bits:
            line += ' : ' + member.bits
        text += '%s%s;\n' % (indent, line)
    return text


def mirrors(folder, mode):
    for structure in tables.structures(folder, mode):
        yield '\n%s mirror_%s {\n%s};\n' % (structure.kind, structure.name,
                                            mirror_members(structure.members, '\t'))


def bit_field(structure, mirror, path):
    """Returns code that fills both structures with zeros and then sets all bits of the bit-field in
    each: the same octets must have changed."""
    return ('\t{\n\t\t%s real;\n\t\t%s image;\n\n'
            '\t\tmemset(&real, 0, sizeof(real));\n\t\tmemset(&image, 0, sizeof(image));\n'
            '\t\treal.%s--;\n\t\timage.%s--;\n'
            '\t\tcheck(real.%s == image.%s && memcmp(&real, &image, sizeof(real)) == 0,\n'
            '\t\t      "bits of %s.%s");\n\t}\n'
            % (structure, mirror, path, path, path, path, structure, path))


def structures(folder, mode):
    for structure in tables.structures(folder, mode):
        name = structure.name
        mirror = '%s mirror_%s' % (structure.kind, name)
        yield check('sizeof(%s) == sizeof(%s)' % (name, mirror), 'size of ' + name)
        yield check('ALIGNMENT(%s) == ALIGNMENT(%s)' % (name, mirror), 'alignment of ' + name)
        for member in structure.flat():
            path = '.'.join(member.path)
            if member.bits:
                yield bit_field(name, mirror, path)
                continue
            yield check('offsetof(%s, %s) == offsetof(%s, %s)' % (name, path, mirror, path),
                        'place of %s.%s' % (name, path))
            yield check('sizeof(((%s *)0)->%s) == sizeof(((%s *)0)->%s)'
                        % (name, path, mirror, path), 'size of %s.%s' % (name, path))
            if not member.nested and member.c_type not in ('union', 'struct'):
                c_type = member.c_type + ('[%s]' % member.array if member.array else '')
                yield check('SAME(((%s *)0)->%s, %s)' % (name, path, c_type),
                            'type of %s.%s' % (name, path))
    yield check('offsetof(it_path_t, u.iwarp) == offsetof(it_path_t, remote.iwarp)',
                'both names of the ends of a path')


def prototypes(folder):
    for entry in tables.functions(folder):
        types = ', '.join(c_type for _, c_type, _ in entry.parameters)
        yield check('DECLARED(%s, %s, %s)' % (entry.name, entry.returns, types),
                    'prototype of ' + entry.name)


def null_handle(folder, text):
    """Returns code that checks IT_NULL_HANDLE: in C its text must be the standard's; in C++, where
    that text is not a valid handle, it must be assignable to each handle."""
    handles = ['\t{\n\t\t%s handle = IT_NULL_HANDLE;\n\t%s\t}\n'
               % (name, check('handle == IT_NULL_HANDLE && !handle', 'IT_NULL_HANDLE as ' + name))
               for name, _ in tables.typedefs(folder, False) if name.endswith('_handle_t')]
    return ('#ifdef __cplusplus\n%s#else\n%s#endif\n'
            % (''.join(handles), check('same_text(TEXT(IT_NULL_HANDLE), TEXT(%s))' % text,
                                       'IT_NULL_HANDLE is ' + text)))


def macros(folder, mode):
    for name, text in tables.macros(folder, mode):
        if name == 'IT_NULL_HANDLE':
            yield null_handle(folder, text)
            continue
        yield check('same_text(TEXT(%s), TEXT(%s))' % (name, text), '%s is %s' % (name, text))
    for other in tables.MODES:
        wanted = 'defined' if other == mode else '!defined'
        yield ('#if !(%s(ITAPI_ENABLE_%s_BINDINGS))\n%s#endif\n'
               % (wanted, other, check('0', 'mode macro of ' + other)))


def main(arguments):
    folder, mode, width, output = arguments
    choice = '' if mode == 'V10' else '#define ITAPI_ENABLE_%s_BINDINGS\n' % mode
    choice += '#undef IT_32BIT\n' + ('#define IT_32BIT\n' if width == '32' else '')
    with open(output, 'w', encoding='ascii') as program:
        program.write(HEAD % {'choice': choice})
        program.writelines(mirrors(folder, mode))
        program.write(function('constants', constants(folder)))
        program.write(function('typedefs', typedefs(folder, width == '32')))
        program.write(function('structures', structures(folder, mode)))
        program.write(function('functions', prototypes(folder)))
        program.write(function('macros', macros(folder, mode)))
        program.write(TAIL)


if __name__ == '__main__':
    main(sys.argv[1:])
