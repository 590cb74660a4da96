#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""Good and bad trees for check-layers.py."""

import tree_case

HEADERS = {path: '' for path in (
    'itapi/it_api.h', 'itapi/it_ext.h', 'ual/ual.h', 'ual/ual_dto.h', 'ual/ual_ep.h',
    'ual/session/session.h', 'ual/session/session_sleep.h', 'ual/session/tests/kal_script.h', 'kal/kal_call.h', 'kal/kal_cm.h', 'rnicpi/rnicpi.h', 'rnicpi/rnicpi_types.h',
    'rnicpi/rnicpi_fast.h', 'rnicpi/rnicpi_host.h', 'rnicpi/ri_call.h', 'rnicpi/support/ri_ring.h',
    'vp/common/vsw_qp.h', 'vp/iwarp/mpa_frame.h', 'vp/emul/vem_qp.h')}


def with_file(path, *includes):
    tree = dict(HEADERS)
    tree[path] = ''.join(f'#include {name}\n' for name in includes)
    return tree


LAYERS = tree_case.load('check-layers.py')


class Layers(tree_case.TreeCase):
    check = LAYERS.check

    def test_contracts_are_allowed(self):
        for path, includes in (
                ('itapi/it_ep.c', ('"ual.h"', '"ual/ual_dto.h"', '"it_api.h"', '<glib.h>')),
                ('ual/ual_ia.c', ('"kal/kal_call.h"', '"it_api.h"', '"rnicpi_fast.h"', '"ual_ep.h"')),
                ('ual/ual_evd.c', ('"session.h"', '"session/session_sleep.h"')),
                ('ual/tests/test-ual-a.c', ('"kal_script.h"', '"ual_ep.h"')),
                ('ual/session/session.c', ('"session.h"', '"kal_call.h"', '<pthread.h>')),
                ('ual/session/tests/t.c', ('"session_sleep.h"', '"kal_script.h"', '<glib.h>')),
                ('kal/kal_ia.c', ('"rnicpi.h"', '"kal_cm.h"', '<gio/gio.h>', '<sys/socket.h>')),
                ('rnicpi/ri_load.c', ('"rnicpi.h"', '"ri_call.h"', '<dlfcn.h>')),
                ('vp/iwarp/viw_qp.c', ('"vp/common/vsw_qp.h"', '"rnicpi/support/ri_ring.h"',
                                       '"mpa_frame.h"', '<rnicpi.h>')),
                ('conformance/cf_main.c', ('<rnicpi.h>', '<it_api.h>')),
                ('tools/it-info.c', ('<it_api.h>', '"it_ext.h"', '<json-glib/json-glib.h>')),
                ('examples/anything.c', ('"kal_cm.h"',))):
            with self.subTest(path):
                self.assert_good(with_file(path, *includes))

    def test_insides_are_not(self):
        for path, include, named in (
                ('itapi/it_ep.c', '"kal_call.h"', 'kal/kal_call.h'),
                ('itapi/it_ep.c', '"ual_ep.h"', 'ual/ual_ep.h'),
                ('ual/ual_ep.c', '"kal_cm.h"', 'kal/kal_cm.h'),
                ('ual/ual_ep.c', '"rnicpi.h"', 'rnicpi/rnicpi.h'),
                ('ual/ual_ep.c', '"vem_qp.h"', 'vp/emul/vem_qp.h'),
                ('ual/ual_ep.c', '"it_ext.h"', 'itapi/it_ext.h'),
                ('ual/session/session.c', '"ual_ep.h"', 'ual/ual_ep.h'),
                ('ual/session/session.c', '"../ual.h"', 'ual/ual.h'),
                ('ual/session/session.h', '"it_api.h"', 'itapi/it_api.h'),
                ('ual/session/session.c', '"rnicpi.h"', 'rnicpi/rnicpi.h'),
                ('ual/session/session.c', '<glib.h>', '<glib.h>'),
                ('ual/session/tests/t.c', '"ual_ep.h"', 'ual/ual_ep.h'),
                ('itapi/it_ep.c', '"session.h"', 'ual/session/session.h'),
                ('kal/kal_ia.c', '"session.h"', 'ual/session/session.h'),
                ('kal/kal_ia.c', '"../ual/ual.h"', 'ual/ual.h'),
                ('kal/kal_ia.c', '<it_api.h>', 'itapi/it_api.h'),
                ('rnicpi/ri_load.c', '"kal_call.h"', 'kal/kal_call.h'),
                ('vp/iwarp/viw_qp.c', '"vp/emul/vem_qp.h"', 'vp/emul/vem_qp.h'),
                ('vp/iwarp/viw_qp.c', '"ri_call.h"', 'rnicpi/ri_call.h'),
                ('vp/emul/vem_qp.c', '"kal_call.h"', 'kal/kal_call.h'),
                ('conformance/cf_main.c', '"vem_qp.h"', 'vp/emul/vem_qp.h'),
                ('tools/it-info.c', '"kal_call.h"', 'kal/kal_call.h')):
            with self.subTest(path, include=include):
                self.assert_bad(with_file(path, include), f'{path}:1', named)

    def test_glib_stays_out_of_installed_headers(self):
        for path in ('itapi/it_api.h', 'itapi/it_ext.h', 'rnicpi/rnicpi.h', 'rnicpi/rnicpi_fast.h',
                     'rnicpi/support/ri_ring.h'):
            with self.subTest(path):
                self.assert_bad(with_file(path, '<stdint.h>', '<glib.h>'), f'{path}:2', '<glib.h>')

    def test_unknown_header(self):
        self.assert_bad(with_file('kal/kal_ia.c', '"kal_nowhere.h"'), 'kal/kal_ia.c:1', 'kal_nowhere.h')

    def test_comments_do_not_include(self):
        tree = dict(HEADERS)
        tree['kal/kal_ia.c'] = '/*\n#include "ual.h"\n*/\n// #include "it_api.h"\n'
        self.assert_good(tree)

    def test_verbs_are_called_through_the_border(self):
        tree = dict(HEADERS)
        tree['kal/kal_ia.c'] = 'status = rnic->provider->device->open(&how, &made);\n'
        self.assert_bad(tree, 'kal/kal_ia.c:1', 'ri_call.h')
        tree['kal/kal_ia.c'] = '/* provider->qp->create() */ status = conn->cm->p.caller->name;\n'
        self.assert_good(tree)

    def test_words_of_it_api_stay_out_of_the_session(self):
        for path in ('ual/session/session.c', 'ual/session/session.h', 'ual/session/README.md', 'ual/session/tests/t.c'):
            for line in ('it_status_t a;', 'x = ITX_LOG;', 'int b; /* as IT_SUCCESS */', 'ual_ia_call();', '#define UAL_DEFER',
                         '/* [IT 6.2] */', '/* of an EVD */', 'IA', 'two EPs', 'a handle', 'an event dispatcher', 'IT-API'):
                with self.subTest(path, line=line):
                    self.assert_bad(dict(HEADERS, **{path: f'int a;\n{line}\n'}), f'{path}:2', 'word of IT-API')
        for line in ('a cleanup handler dispatches it;', 'an LLP, an EPOLL; with_it_all', 'ual/ and [RI 2.1]'):
            with self.subTest(line):
                self.assert_good(dict(HEADERS, **{'ual/session/session.c': line + '\n'}))
                self.assert_good(dict(HEADERS, **{'ual/ual_ia.c': 'ual_ia it_ia_free [IT 1.2]\n'}))

    def test_line_is_right(self):
        tree = dict(HEADERS)
        tree['kal/kal_ia.c'] = '/* two\n * lines */\n\n#include "rnicpi.h"\n#  include "ual.h"\n'
        self.assert_bad(tree, 'kal/kal_ia.c:5', 'ual/ual.h')


class UnusedRules(tree_case.TreeCase):
    check = LAYERS.unused_rules

    def test_rules_without_files(self):
        found = '\n'.join(self.complaints(HEADERS))
        self.assertIn('no file begins with tools/', found)
        self.assertIn('may include conformance/wire/vectors/vectors.h, but no file', found)
        self.assertNotIn('itapi/it_api.h', found)


if __name__ == '__main__':
    tree_case.main()
