#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""tools/dev/check-names.py on trees made up for each case."""

import tree_case

names = tree_case.load('check-names.py')

SOURCE = '''/* {} */
static int
viw_thing_do(int viw_argument)
{{
	return viw_argument;
}}
'''


class NamesCase(tree_case.TreeCase):
    check = names.check

    def comment(self, text):
        return {'vp/a.c': SOURCE.format(text)}

    def test_good(self):
        for text in ('viw_thing_do does it', 'see viw_thing_do()', 'viw_argument', 'all of vsw_* and viw_x.c, and one_more'):
            with self.subTest(text):
                self.assert_good(self.comment(text))

    def test_bad_comment(self):
        for text, name in (('viw_thing_did does it', 'viw_thing_did'), ('as some_helper() does', 'some_helper'),
                           ('(ri_nothing)', 'ri_nothing')):
            with self.subTest(text):
                self.assert_bad(self.comment('first\n * ' + text), 'vp/a.c:2', name)

    def test_strings_are_code(self):
        self.assert_good({'a.c': '/* vem_word */\nchar *a = "vem_word";\n'})

    def test_document(self):
        self.assert_bad({'doc/a.md': '# A\n\nCall `kal_gone()` first.\n'}, 'doc/a.md:3', 'kal_gone')
        self.assert_good({'doc/a.md': 'Call `side_open()`:\n\n    side_open();\n'})
        self.assert_good({'doc/a.md': 'Call `side_open()`:\n\n```c\nint side_open();\n```\n'})
        self.assert_good({'doc/a.md': 'Call `kal_there()`.\n', 'kal/a.c': 'int kal_there(void);\n'})

    def test_comment_defines_nothing(self):
        self.assert_bad({'a.c': '/* kal_b */\n'}, 'a.c:1', 'kal_b')


if __name__ == '__main__':
    tree_case.main()
