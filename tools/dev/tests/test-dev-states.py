#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""Tests of states-dot: the states and moves that it reads from a state table."""

import os
import tempfile
import unittest

import tree_case

states = tree_case.load('states-dot')

TABLE = '''
/* clang-format off */
static const struct viw_qp_rule qp_rules[QP_STATE_COUNT][EV_COUNT] = {
	/*                  event               next state  action */
	[QP_IDLE] = {
		[EV_START] = { QP_RTS, qp_start },
		[EV_FAIL]  = { QP_ERROR, NULL }, /* [EV_NOT] = { QP_NOT } */
	},
	[QP_RTS] = {
		[EV_FAIL]  = { .next = QP_ERROR, .action = qp_flush },
	},
	[QP_ERROR] = {
		[EV_RESET] = GO(IDLE),
		[EV_FAIL]  = GO(ERROR),
		[EV_START] = REFUSE(ERR_STATE),
	},
};
/* clang-format on */
static const struct fault_rule fault_rules[COUNT] = {
	[ONE] = { 1, 2 },
};
'''


class StatesCase(unittest.TestCase):
    def page(self, tree):
        with tempfile.TemporaryDirectory() as root:
            os.makedirs(os.path.join(root, 'doc'))
            for path, content in tree.items():
                os.makedirs(os.path.join(root, os.path.dirname(path)), exist_ok=True)
                with open(os.path.join(root, path), 'w', encoding='utf-8') as file:
                    file.write(content)
            stale = states.main(['states-dot', '--check', root])
            states.main(['states-dot', root])
            self.assertEqual(stale, 1)
            self.assertEqual(states.main(['states-dot', '--check', root]), 0)
            with open(os.path.join(root, 'doc/states.md'), encoding='utf-8') as file:
                return file.read()

    def test_cells(self):
        page = self.page({'vp/iwarp/viw_qp_states.c': TABLE})
        self.assertIn('## vp/iwarp/viw_qp_states.c, qp_rules', page)
        self.assertIn('| event | in IDLE | in RTS | in ERROR |', page)
        self.assertIn('| start | RTS [qp start] | - | - [ERR_STATE] |', page)
        self.assertIn('| fail | ERROR | ERROR [qp flush] | stays |', page)
        self.assertIn('| reset | - | - | IDLE |', page)
        self.assertIn('QP_IDLE -> QP_RTS [label="start"];', page)
        self.assertNotIn('EV_NOT', page)
        self.assertNotIn('fault_rules', page)

    def test_tests_have_their_own(self):
        page = self.page({'vp/iwarp/tests/test-iwarp-states.c': TABLE})
        self.assertNotIn('qp_rules', page)


if __name__ == '__main__':
    tree_case.main()
