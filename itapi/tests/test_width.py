#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""A program links with the library only if both have the same width of it_length_t (IT_32BIT).

Usage: test_width.py HEADERS LIBRARY COMPILER...      (TAP)
"""

import os
import shutil
import subprocess
import sys
import tempfile

PROGRAM = '''
#include <stdio.h>
#include "it_api.h"

int main(void)
{
	it_ia_handle_t ia;
	it_lmr_triplet_t segment = {0};

	printf("%d %zu\\n", (int)it_ia_create("no such adapter", 2, 1, &ia), sizeof(segment.length));
	return 0;
}
'''
NAMES = {32: 'itx_ia_create_32bit', 64: 'it_ia_create'}


def exported(library):
    listing = subprocess.run(['nm', '--dynamic', '--defined-only', library], check=True,
                             capture_output=True, text=True).stdout
    return {line.split()[-1].partition('@')[0] for line in listing.splitlines()}


def build(folder, headers, library, compiler, width):
    """Builds the program with that width; returns its path, and the output of compiler and linker."""
    source, program = (os.path.join(folder, f'width{width}{end}') for end in ('.c', ''))
    with open(source, 'w', encoding='utf-8') as file:
        file.write(PROGRAM)
    done = subprocess.run([*compiler, *(['-DIT_32BIT'] if width == 32 else []), '-I', headers, source,
                           '-o', program, library, '-Wl,-rpath,' + os.path.dirname(library)],
                          capture_output=True, text=True, check=False)
    return (program if done.returncode == 0 else None), done.stderr


def main(headers, library, *compiler):
    if shutil.which(compiler[0]) is None:
        print('1..0 # SKIP not installed: %s' % compiler[0])
        return
    library = os.path.abspath(library)
    symbols = exported(library)
    own = 32 if NAMES[32] in symbols else 64
    other = 96 - own
    results = [('one-name', NAMES[own] in symbols and NAMES[other] not in symbols, '')]
    with tempfile.TemporaryDirectory() as folder:
        program, said = build(folder, headers, library, compiler, own)
        if program:
            said = subprocess.run([program], capture_output=True, text=True, check=False).stdout
        results.append(('same', said.split()[1:] == [str(own // 8)], said))
        program, said = build(folder, headers, library, compiler, other)
        results.append(('other', program is None and NAMES[other] in said, said))
    print(f'1..{len(results)}')
    for number, (name, good, said) in enumerate(results, 1):
        print(f'{"ok" if good else "not ok"} {number} - /itapi/width/{name}')
        if not good:
            print(''.join(f'# {line}\n' for line in said.splitlines()), end='')


if __name__ == '__main__':
    main(*sys.argv[1:])
