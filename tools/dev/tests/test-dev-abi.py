#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""tools/dev/abi-check: what it reads from headers, and which changes it accepts."""

import contextlib
import io
import os
import platform
import shutil
import tempfile
import unittest

import tree_case

abi = tree_case.load('abi-check')

IT_API = '''#include <stdint.h>
#define IT_LIMIT 7
typedef struct { uint32_t key; union { uint64_t wide; uint8_t raw[12]; } value; } it_pair_t;
typedef enum { IT_RED = 1, IT_BLUE } it_colour_t;
it_colour_t it_mix(const it_pair_t *pair, int count);
'''
RNICPI = '''#include <stdint.h>
#define RI_ABI_MAJOR 1
#define RI_ABI_MINOR 2
enum ri_kind { RI_KIND_A, RI_KIND_COUNT };
struct ri_fixed { uint32_t a; uint32_t b; };
struct ri_ops { uint32_t size; int (*run)(struct ri_fixed *fixed); uint32_t flags; };
struct ri_any { uint32_t kind; union { uint64_t whole; uint32_t half; } u; };
const char *ri_kind_name(enum ri_kind kind);
'''
MAP = 'ITAPI_2.1 {\nglobal:\n\tit_mix;\n};\nRNICPI_1 {\nglobal:\n\tri_kind_name;\n};\n'


@unittest.skipIf(shutil.which('gcc') is None or shutil.which('readelf') is None or platform.machine() != 'x86_64',
                 'needs gcc and readelf on x86-64')
class Check(unittest.TestCase):
    """A tree of two small headers, recorded; each case changes one thing."""

    baselines = {}

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = folder.name
        os.makedirs(os.path.join(self.root, abi.FOLDER))
        self.write('itapi/it_ext.h', IT_API)
        self.write('itapi/libitapi.map', MAP)
        self.write('rnicpi/rnicpi.h', RNICPI)
        if not self.baselines:
            self.baselines.update(abi.described_now(self.root))
        for file, interface in self.baselines.items():
            abi.write(os.path.join(self.root, abi.FOLDER, file), interface)

    def write(self, path, text):
        path = os.path.join(self.root, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, 'w', encoding='utf-8') as file:
            file.write(text)

    def check(self, *options):
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            status = abi.main(['abi-check', *options, self.root])
        return status, said.getvalue()

    def assert_error(self, what):
        status, said = self.check()
        self.assertEqual(status, 1, said)
        self.assertIn(what, said)

    def assert_allowed(self, what):
        status, said = self.check()
        self.assertEqual(status, 0, said)
        self.assertIn(f'allowed, not in the baseline yet: {what}', said)
        self.assertIn('--record', said)
        self.check('--record')
        self.assertEqual(self.check(), (0, ''))

    def it_api(self, old, new):
        self.write('itapi/it_ext.h', IT_API.replace(old, new))

    def rnicpi(self, *changes):
        text = RNICPI
        for old, new in changes:
            self.assertIn(old, text)
            text = text.replace(old, new)
        self.write('rnicpi/rnicpi.h', text)

    def test_unchanged(self):
        self.assertEqual(self.check(), (0, ''))

    def test_baseline(self):
        found = abi.read(os.path.join(self.root, abi.FOLDER, 'itapi.txt'))
        self.assertEqual(found['struct it_pair_t'],
                         ['size 24', '0 uint32_t key', '8 union {} value', '8 uint64_t value.wide',
                          '8 uint8_t[12] value.raw'])
        self.assertEqual(found['function it_mix'], ['ITAPI_2.1 (it_pair_t const *, int) -> it_colour_t'])
        self.assertEqual(found['enum it_colour_t'], ['IT_RED = 1', 'IT_BLUE = 2'])
        self.assertEqual(found['macro IT_LIMIT'], ['7'])

    def test_symbol_removed(self):
        self.write('itapi/libitapi.map', MAP.replace('\tit_mix;\n', ''))
        self.assert_error('function it_mix: removed')

    def test_symbol_of_other_version(self):
        self.write('itapi/libitapi.map', MAP.replace('ITAPI_2.1', 'ITAPI_2.2'))
        self.assert_error('function it_mix: ITAPI_2.1 (it_pair_t const *, int)')

    def test_symbol_added(self):
        self.it_api('it_colour_t it_mix', 'void it_new(void);\nit_colour_t it_mix')
        self.write('itapi/libitapi.map', MAP.replace('\tit_mix;\n', '\tit_mix;\n\tit_new;\n'))
        self.assert_allowed('function it_new: new')

    def test_signature(self):
        self.it_api('int count', 'long count')
        self.assert_error('function it_mix: ')

    def test_member_inside(self):
        self.it_api('raw[12]', 'raw[16]')
        self.assert_error('struct it_pair_t: changed: 8 uint8_t[12] value.raw')

    def test_struct_without_size_grows(self):
        self.it_api('} value; }', '} value; int more; }')
        self.assert_error('does not carry its size')

    def test_enum_value(self):
        self.it_api('IT_RED = 1', 'IT_RED = 2')
        self.assert_error('IT_RED = 1 is now 2')

    def test_macro(self):
        self.it_api('IT_LIMIT 7', 'IT_LIMIT 8')
        self.assert_error('macro IT_LIMIT: 7 is now 8')

    def test_members_exchanged(self):
        self.rnicpi(('uint32_t a; uint32_t b;', 'uint32_t b; uint32_t a;'))
        self.assert_error('struct ri_fixed: changed: 0 uint32_t a')

    def test_enum_grows(self):
        self.rnicpi(('RI_KIND_A,', 'RI_KIND_A, RI_KIND_B,'))
        self.assert_allowed('enum ri_kind: RI_KIND_B')

    def test_table_grows(self):
        self.rnicpi(('uint32_t flags;', 'uint32_t flags; uint64_t more;'), ('MINOR 2', 'MINOR 3'))
        self.assert_allowed('struct ri_ops: 24 uint64_t more')

    def test_table_grows_in_the_same_version(self):
        self.rnicpi(('uint32_t flags;', 'uint32_t flags; uint64_t more;'))
        self.assert_error('structs have grown, and RI_ABI_MINOR has not')

    def test_table_grows_into_padding(self):
        self.rnicpi(('uint32_t flags;', 'uint32_t flags; uint32_t more;'), ('MINOR 2', 'MINOR 3'))
        self.assert_error('in octets that older binaries count as theirs: 20 uint32_t more')

    def test_union_has_one_more(self):
        self.rnicpi(('half; } u', 'half; uint8_t octets[8]; } u'), ('MINOR 2', 'MINOR 3'))
        self.assert_allowed('struct ri_any: 8 uint8_t[8] u.octets')

    def test_union_has_one_more_in_the_same_version(self):
        self.rnicpi(('half; } u', 'half; uint8_t octets[8]; } u'))
        self.assert_error('structs have grown, and RI_ABI_MINOR has not')

    def test_union_has_one_more_that_is_larger(self):
        self.rnicpi(('half; } u', 'half; uint8_t octets[9]; } u'), ('MINOR 2', 'MINOR 3'))
        self.assert_error('does not carry its size')

    def test_union_has_another_order(self):
        self.rnicpi(('whole; uint32_t half;', 'whole; uint8_t octets[8]; uint32_t half;'), ('MINOR 2', 'MINOR 3'))
        self.assert_error('struct ri_any: changed')

    def test_struct_grows_beside_a_union(self):
        self.rnicpi(('half; } u', 'half; } u; uint8_t more[0]'), ('MINOR 2', 'MINOR 3'))
        self.assert_error('does not carry its size')

    def test_reserved_member_gets_a_name(self):
        self.rnicpi(('uint32_t b;', 'uint32_t reserved;'))
        self.check('--record')
        self.rnicpi(('MINOR 2', 'MINOR 3'))
        self.assert_allowed('struct ri_fixed: 4 uint32_t b')

    def test_member_becomes_reserved(self):
        self.rnicpi(('uint32_t b;', 'uint32_t reserved;'), ('MINOR 2', 'MINOR 3'))
        self.assert_error('struct ri_fixed: changed: 4 uint32_t b')

    def test_guarded_struct_grows(self):
        self.rnicpi(('ri_fixed', 'ri_wr'))
        self.check('--record')
        self.rnicpi(('ri_fixed', 'ri_wr'), ('uint32_t b;', 'uint32_t b; uint32_t c;'), ('MINOR 2', 'MINOR 3'))
        self.assert_allowed('struct ri_wr: 8 uint32_t c')

    def test_guarded_struct_moves(self):
        self.rnicpi(('ri_fixed', 'ri_wr'))
        self.check('--record')
        self.rnicpi(('ri_fixed', 'ri_wr'), ('uint32_t a; uint32_t b;', 'uint32_t a; uint32_t c; uint32_t b;'),
                    ('MINOR 2', 'MINOR 3'))
        self.assert_error('struct ri_wr: changed: 4 uint32_t b')

    def test_entry_has_another_type(self):
        self.rnicpi(('int (*run)', 'void (*run)'))
        self.assert_error('struct ri_ops: changed: 8 (struct ri_fixed *) -> int * run')

    def test_minor_version_falls(self):
        self.rnicpi(('MINOR 2', 'MINOR 1'))
        self.assert_error('macro RI_ABI_MINOR: 2 is now 1')


if __name__ == '__main__':
    tree_case.main()
