#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""Good and bad trees for check-citations.py."""

import tree_case

CHAPTER = '''# [IT 6] Events

## [IT 6.4] Waiting

**[IT 6.4.1]** Text, cited as `[IT 99]` by nobody.

| row | means |
|---|---|
| **[IT 6.4.2]** | a row |
'''
CALLS = '''# [IT 15] The calls

## [IT 15.3] Dispatchers

**[IT 15.3.1]** `it_evd_wait` waits: [IT 6.4].
and `it_evd_also` too.
'''
RULINGS = '# [IT 17] Rulings\n\n**[R-05]** *Completions first.*\n'
BOOK = {'doc/spec/itapi/06.md': CHAPTER, 'doc/spec/itapi/15.md': CALLS, 'doc/spec/itapi/17.md': RULINGS}


def with_file(path, text):
    return {**BOOK, path: text}


def page(clause, name='it_evd_wait'):
    return f'/**\n * @brief Waits.\n *\n * - Clause: {clause}\n */\nit_status_t {name}(IN int evd);\n'


class Citations(tree_case.TreeCase):
    check = tree_case.load('check-citations.py').check

    def test_what_leads_somewhere(self):
        self.assert_good(BOOK)
        for text in ('/* [IT 6], [IT 6.4] to [IT 6.4.2]; R-05. */', 'int a[2] = {r[IT], 5};',
                     '/* RI-QP-014 and r-05 are no rulings */'):
            with self.subTest(text):
                self.assert_good(with_file('ual/a.c', text))
        self.assert_good(with_file('doc/a.md', '[IT 6: events](spec/itapi/06.md), `[IT 6.99]`'))

    def test_what_leads_nowhere(self):
        for text, what in (('\n/* [IT 6.5] */', '[IT 6.5] is defined nowhere'),
                           ('\n/* [RI 6.4] */', '[RI 6.4] is defined nowhere'),
                           ('\n/* (R-06) */', 'R-06 is defined nowhere'),
                           ('\n/* [IT 6.4, 6] */', 'is not a citation'),
                           ('\n/* [IT 6.4 */', 'is not a citation'),
                           ('\n/* itapi-' 'semantics 6.4 */', 'is not in this tree'),
                           ('\n/* iwarp-' 'wire.md 2 */', 'is not in this tree'),
                           ('\n/* R' 'V 9.1 */', 'is not in this tree'),
                           ('\n/* V' 'S-10 */', 'is not in this tree')):
            with self.subTest(text):
                self.assert_bad(with_file('ual/a.c', text), 'ual/a.c:2', what)
        self.assert_bad(with_file('doc/a.md', 'see [IT 7]'), 'doc/a.md:1', 'defined nowhere')

    def test_definitions(self):
        self.assert_bad(with_file('doc/spec/itapi/07.md', '# [IT 7] Data\n\n**[IT 6.4.1]** Again.\n'),
                        'doc/spec/itapi/07.md:3', 'is defined in doc/spec/itapi/06.md:5 already')
        self.assert_bad(with_file('doc/spec/itapi/07.md', '# [IT 7] Data\n\n**[IT 7.1.1]** Lost.\n'),
                        'doc/spec/itapi/07.md:3', 'stands outside of [IT 7.1]')
        self.assert_good(with_file('doc/spec/itapi/07.md',
                                   '# [IT 7] Data\n\n```\n**[IT 6.4.1]** an example\n```\n'))

    def test_calls(self):
        self.assert_good(with_file('itapi/it_api.h', page('[IT 15.3.1]; [IT 6.4].')
                                   + page('[IT 15.3.1].', 'it_evd_also')))
        self.assert_bad(with_file('itapi/it_api.h', '\n' + page('[IT 6.4].')),
                        'itapi/it_api.h:7', 'it_evd_wait does not cite its paragraph')
        self.assert_bad(with_file('itapi/it_api.h', page('[IT 15.3.1].', 'it_evd_free')),
                        'itapi/it_api.h:6', '[IT 15.3.1] does not name it_evd_free')


if __name__ == '__main__':
    tree_case.main()
