#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""Good and bad trees for check-cancellation.py."""

import tree_case

PAGE = 'doc/threads-and-locks.md'
TABLE = '## Cancellation points\n\n| files | why |\n|---|---|\n| `kal/kal_a.c`, `vp/emul/b.c` | control calls |\n'
GOOD = {
    PAGE: TABLE,
    'kal/kal_a.c': 'int\nf(int fd)\n{\n\treturn close(fd);\n}\n',
    'vp/emul/b.c': 'void\ng(void)\n{\n\tpthread_cond_wait(a, b);\n}\n',
}


class Cancellation(tree_case.TreeCase):
    check = tree_case.load('check-cancellation.py').check

    def tree(self, path, content):
        return dict(GOOD, **{path: content})

    def test_files_in_the_table(self):
        self.assert_good(GOOD)

    def test_file_without_row(self):
        self.assert_bad(self.tree('ual/ual_a.c', 'int\nf(int fd)\n{\n\treturn close(fd);\n}\n'), 'ual/ual_a.c:4', 'close()')
        self.assert_bad(self.tree('vp/iwarp/a.h', '\n#define look(fd) poll(fd, 1, 0)\n'), 'vp/iwarp/a.h:2', 'poll()')

    def test_row_without_call(self):
        self.assert_bad(self.tree('kal/kal_a.c', 'int x;\n'), f'{PAGE}:5', 'kal/kal_a.c')

    def test_row_elsewhere_on_the_page(self):
        tree = {PAGE: TABLE.replace('Cancellation', 'Other'), 'kal/kal_a.c': GOOD['kal/kal_a.c']}
        self.assert_bad(tree, 'kal/kal_a.c:4', 'close()')

    def test_no_cancellation_points(self):
        self.assert_good(self.tree('ual/ual_a.c', '/* close(fd) */\nint f(void);\nint x = ri_close(1) + device->close(2) + a.poll(3);\n'))
        self.assert_good(self.tree('ual/tests/t.c', 'int x = close(1);\n'))
        self.assert_good(self.tree('tools/t.c', 'int x = close(1);\n'))


if __name__ == '__main__':
    tree_case.main()
