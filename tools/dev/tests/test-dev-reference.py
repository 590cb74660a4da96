#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""Good and bad trees for check-reference.py."""

import tree_case

STATUSES = {'rnicpi/rnicpi_types.h': 'enum ri_status {\n\tRI_SUCCESS = 0, /**< Done. */\n\tRI_ERR_BUSY\n};\n'}
NAMES = '\ntypedef enum { IT_SUCCESS, IT_ERR_ABORT, IT_ERR_IA_CATASTROPHE, IT_ERR_FAULT, IT_SOFTWARE_EVENT } it_status_t;\n'
PAGE = '''/**
 * @brief Waits.
 *
 * - Thread: any.
 * - Blocks: yes.
 * - Clause: [IT 15.3.1].
 * - Also: IT_ERR_ABORT; see @ref itapi_results.
 *
 * @param[in] evd the dispatcher
 * @retval IT_SUCCESS Done.
 * @retval IT_ERR_FAULT @p evd is
 *     NULL.
 * @see it_evd_wait(), #IT_SOFTWARE_EVENT
 */
it_status_t it_evd_wait(IN int evd);
'''


def table(comment, kind='enum ri_status', name='ri_pd_ops'):
    return {**STATUSES, 'rnicpi/rnicpi.h':
            f'struct {name} {{\n\tuint32_t size; /**< Size. */\n{comment}\t{kind} (*destroy)(struct ri_pd *pd);\n}};\n'}


def entry(*lines):
    return '\t/**\n' + ''.join(f'\t * {line}\n' for line in lines) + '\t */\n'


def calls(text):
    return {'itapi/it_api.h': text + NAMES}


class Reference(tree_case.TreeCase):
    check = tree_case.load('check-reference.py').check

    def test_complete_entries(self):
        for comment, kind in ((entry('Ends it.', '- Results: RI_ERR_BUSY: a user', '  is left. Clause: [RI 2.2].'),
                               'enum ri_status'),
                              (entry('Ends it.', '- Results: none of its own.', '- Clause: [RI 2.2].'),
                               'enum ri_status'),
                              (entry('Ends it.', '- Results: none. Clause: [RI 2.2].'), 'void'),
                              (entry('Ends it.', '- Results: how many. Clause: [RI 2.2].'), 'uint32_t')):
            with self.subTest(comment):
                self.assert_good(table(comment, kind))

    def test_incomplete_entries(self):
        for comment, kind, what in (
                ('', 'enum ri_status', 'ri_pd_ops::destroy has no description'),
                (entry('Ends it [RI 2.2].'), 'enum ri_status', 'has no list of results'),
                (entry('Ends it.', '- Results: RI_ERR_BUSY.'), 'enum ri_status', 'cites no paragraph'),
                (entry('Ends it.', '- Results: RI_ERR_LAZY. [RI 2.2]'), 'enum ri_status', 'RI_ERR_LAZY'),
                (entry('Ends it.', '- Results: some. [RI 2.2]'), 'enum ri_status', 'names none'),
                (entry('Ends it.', '- Results: RI_ERR_BUSY. [RI 2.2]'), 'void', 'are not "none"')):
            with self.subTest(what):
                self.assert_bad(table(comment, kind), 'rnicpi/rnicpi.h', what)
        self.assert_bad(table('', name='ri_host'), 'rnicpi/rnicpi.h:3', 'no description')
        self.assert_good(table('', name='ri_timer'))

    def test_an_entry_after_another(self):
        first = entry('Ends it.', '- Results: none of its own. [RI 2.2]')
        tree = table(first)
        tree['rnicpi/rnicpi.h'] = tree['rnicpi/rnicpi.h'].replace('};', '\tvoid (*close)(void);\n};')
        self.assert_bad(tree, 'rnicpi/rnicpi.h:8', 'ri_pd_ops::close has no description')

    def test_pages_of_calls(self):
        self.assert_good(calls(PAGE))
        for old, new, what in ((' * @brief Waits.', ' * Waits.', 'a brief sentence'),
                               ('[IT 15.3.1]', 'the standard', 'cites no paragraph'),
                               (' * @see it_evd_wait(), #IT_SOFTWARE_EVENT\n', '', 'lacks references'),
                               ('@see it_evd_wait()', '@see it_evd_sleep()', 'refers to it_evd_sleep'),
                               ('#IT_SOFTWARE_EVENT', '#IT_HARDWARE_EVENT', 'refers to #IT_HARDWARE_EVENT'),
                               (' * @retval IT_SUCCESS Done.\n', '', 'does not list IT_SUCCESS'),
                               ('@retval IT_ERR_FAULT', '@retval IT_ERR_FAULTY', 'lists IT_ERR_FAULTY'),
                               ('@retval IT_ERR_FAULT', '@retval IT_ERR_ABORT', 'in its list and in')):
            with self.subTest(what):
                self.assert_bad(calls(PAGE.replace(old, new)), 'itapi/it_api.h', what)

    def test_what_is_said_once(self):
        own = PAGE.replace(' * - Also: IT_ERR_ABORT; see @ref itapi_results.\n', '').replace(
            '@retval IT_ERR_FAULT @p evd is\n *     NULL.', '@retval IT_ERR_ABORT It was freed\n *     meanwhile.')
        self.assert_good(calls(own + PAGE))
        self.assert_bad(calls(own + own), 'itapi/it_api.h', 'repeats what another page says of IT_ERR_ABORT')


if __name__ == '__main__':
    tree_case.main()
