#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""Good and bad trees for check-locks.py."""

import tree_case

PAGE = 'doc/threads-and-locks.md'
TABLE = '| level | lock |\n|---|---|\n| 1 | `kal_cm::lock`, `kal_fds.c:list_lock` |\n'
GOOD = {
    PAGE: TABLE,
    'kal/kal_cm.h': 'struct kal_cm {\n\tint a;\n\tpthread_mutex_t\n\t\tlock; /* x */\n};\n',
    'kal/kal_fds.c': 'static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;\n'
                     'static void\nfds_forked(void)\n{\n\tpthread_mutex_init(&list_lock, NULL);\n}\n',
}


class Locks(tree_case.TreeCase):
    check = tree_case.load('check-locks.py').check

    def tree(self, path, content):
        return dict(GOOD, **{path: content})

    def test_named_locks(self):
        self.assert_good(GOOD)

    def test_member_without_row(self):
        self.assert_bad(self.tree('ual/ual_ia.h', 'struct ual_ia {\n\tint a;\n\tpthread_mutex_t drain;\n};\n'),
                        'ual/ual_ia.h:3', 'ual_ia::drain')

    def test_second_member_without_row(self):
        self.assert_bad(self.tree('kal/kal_rnic.h', 'struct kal_x {\n\tstruct vsw_lock a;\n};\n'),
                        'kal/kal_rnic.h:2', 'kal_x::a')

    def test_static_without_row(self):
        self.assert_bad(self.tree('rnicpi/ri_load.c', '\nstatic pthread_mutex_t lock;\nvoid f(void) { pthread_atfork(a, b, c); }\n'),
                        'rnicpi/ri_load.c:2', 'ri_load.c:lock')

    def test_static_without_fork_handler(self):
        lock = 'static pthread_mutex_t list_lock;\n'
        self.assert_bad(self.tree('kal/kal_fds.c', lock), 'kal/kal_fds.c:1', 'kal_fds.c:list_lock has no handler for forks')
        self.assert_good(self.tree('kal/kal_fds.c', lock + 'void f(void) { pthread_atfork(a, b, c); }\n'))

    def test_row_without_lock(self):
        self.assert_bad(self.tree(PAGE, TABLE + '| 2 | `kal_cm::other` |\n'), f'{PAGE}:4', 'kal_cm::other')

    def test_no_locks_of_the_tree(self):
        self.assert_good(self.tree('kal/kal_a.c', '/* struct x {\npthread_mutex_t b;\n} */\nvoid f(pthread_mutex_t *m);\n'))
        self.assert_good(self.tree('kal/tests/t.c', 'static pthread_mutex_t lock;\n'))
        self.assert_good(self.tree('kal/kal_a.c', 'int\nf(void)\n{\n\tpthread_mutex_t probe;\n}\n'))


if __name__ == '__main__':
    tree_case.main()
