#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""Good and bad trees for check-source.py."""

import tree_case

HEAD = ('/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */\n'
        '/* SPDX-FileCopyrightText: the itapi authors */\n')


def function(body, signature='int\nf(int a)'):
    return f'{HEAD}{signature}\n{{\n{body}}}\n'


def nested(depth):
    opening = ''.join('\t' * i + 'if (a) {\n' for i in range(1, depth + 1))
    closing = ''.join('\t' * i + '}\n' for i in range(depth, 0, -1))
    return opening + closing


class Source(tree_case.TreeCase):
    check = tree_case.load('check-source.py').check

    def assert_c_good(self, text, path='kal/x.c'):
        self.assert_good({path: text})

    def assert_c_bad(self, text, line, what, path='kal/x.c'):
        self.assert_bad({path: text}, f'{path}:{line}', what)

    def test_plain_file(self):
        self.assert_c_good(function('\treturn a;\n'))

    def test_licence(self):
        self.assert_c_bad(HEAD.split('\n')[0] + '\nint a;\n', 1, 'SPDX-FileCopyrightText')
        self.assert_good({'data/vectors.json': '{}\n', 'LICENSE': 'either\n'})

    def test_file_length(self):
        self.assert_c_good(HEAD + 'int a;\n' * 598)
        self.assert_c_bad(HEAD + 'int a;\n' * 999, 1000, '1001 lines')
        self.assert_c_good(HEAD + 'int a;\n' * 2000, path='itapi/it_api.h')

    def test_readme_length(self):
        self.assert_good({'kal/README.md': HEAD + 'text\n' * 25})
        self.assert_bad({'kal/README.md': HEAD + 'text\n' * 27}, 'kal/README.md:1', 'at most 25')

    def test_function_length(self):
        self.assert_c_good(function('\ta++;\n' * 77))
        self.assert_c_bad(function('\ta++;\n' * 78), 4, 'f has 81 lines')

    def test_nesting(self):
        self.assert_c_good(function(nested(4)))
        self.assert_c_bad(function(nested(5)), 10, 'nests 5 deep')

    def test_values_do_not_nest(self):
        values = ('\tstruct s t[] = {\n\t\t{\n\t\t\t.x = {\n\t\t\t\t{\n\t\t\t\t\t1,\n'
                  '\t\t\t\t},\n\t\t\t},\n\t\t},\n\t};\n')
        self.assert_c_good(function(values + nested(4)))

    def test_strings_and_comments_do_not_nest(self):
        self.assert_c_good(function('\t/* {{{{{{ goto */\n\tputs(") {");\n\tputchar(\'{\');\n' + nested(4)))

    def test_parameters(self):
        six = 'int a, int b, int c, int d, int e, int (*f)(int, int)'
        self.assert_c_good(function('', f'int\nf({six})'))
        self.assert_c_bad(function('', f'int\nf(int z, {six})'), 4, 'takes 7 parameters')
        self.assert_c_good(function('', f'it_status_t\nit_ep_make(int z, {six})'))
        self.assert_c_good(function('', 'int\nf(void)'))

    def test_goto(self):
        self.assert_c_bad(function('\tgoto out;\n'), 6, 'goto')
        self.assert_c_bad(function('\tgoto __asm__;\n'), 6, 'goto')
        self.assert_c_good(function('\t__asm__ volatile goto("");\n'))

    def test_environment(self):
        for call in ('getenv("A")', 'secure_getenv ("A")', 'g_getenv("A")', 'use(environ)'):
            with self.subTest(call):
                self.assert_c_bad(function(f'\t{call};\n'), 6, 'reads the environment')
        self.assert_c_good(function('\t/* getenv("A") */\n\tmy_getenv("A");\n\tenvironment(1);\n'))

    def test_log(self):
        call = function('\thost->log(host->self, RI_LOG_ERROR, "here", text);\n')
        for path in ('kal/x.c', 'vp/ib/x.c', 'conformance/bad/defects/x.c'):
            self.assert_c_bad(call, 6, 'one form', path=path)
        for path in ('kal/tests/x.c', 'rnicpi/template/x.c', 'rnicpi/support/ri_log.c'):
            self.assert_c_good(call, path=path)

    def test_descriptors(self):
        for call in ('socket(a, b, 0)', 'accept4 (a, NULL, NULL, 0)', 'eventfd(0, 0)', 'open(a, O_RDONLY)', 'dup(a)',
                     'fopen(a, "re")', 'timerfd_create(0, 0)', 'pipe2(a, 0)'):
            for path in ('kal/x.c', 'vp/ib/x.c', 'ual/x.c', 'rnicpi/x.c'):
                with self.subTest(call=call, path=path):
                    self.assert_c_bad(function(f'\tx = {call};\n'), 6, 'below 3', path=path)
            self.assert_c_good(function(f'\tx = {call};\n'), path='tools/it-info.c')
            self.assert_c_good(function(f'\tx = {call};\n'), path='kal/tests/x.c')
        self.assert_c_good(function('\tri_fd_socket(a, b, 0);\n\tops->open(a);\n\tops.accept(a);\n'), path='kal/x.c')

    def test_unfinished(self):
        self.assert_c_bad(function('\t/* TO' 'DO: more */\n'), 6, 'unfinished')

    def test_white_space(self):
        self.assert_c_bad(HEAD + 'int a; \n', 3, 'white space')
        self.assert_c_bad(HEAD + 'int a;', 3, 'no newline')

    def test_ascii(self):
        self.assert_c_bad(HEAD + '/* \u00b5s */\n', 3, 'ASCII')

    def test_glib_free(self):
        for path in ('ual/ual_dto.c', 'vp/iwarp/viw_post.c', 'vp/iwarp/viw_engine.c',
                     'vp/iwarp/mpa_frame.c', 'rnicpi/rnicpi_types.h', 'itapi/it_api.h', 'ual/session/session.c'):
            with self.subTest(path):
                self.assert_c_bad(HEAD + 'void *p = g_malloc(1);\n', 3, 'g_malloc', path=path)
                self.assert_c_bad(HEAD + 'gboolean b;\n', 3, 'gboolean', path=path)
        self.assert_c_good(HEAD + 'void *p = g_malloc(1);\n', path='tools/it-info.c')
        self.assert_c_good(HEAD + 'void *p = msg_alloc(1); /* no g_malloc(here) */\n', path='ual/ual_dto.c')

    def test_allocation(self):
        for call in ('g_malloc(1)', 'g_strerror (a)', 'g_strdup_printf("%d", a)', 'strerror(a)', 'strerror_r(a, b, c)'):
            for path in ('kal/x.c', 'ual/ual_ep.c', 'vp/ib/vib_cm.c', 'rnicpi/ri_load.c', 'itapi/it_ep.c'):
                with self.subTest(call=call, path=path):
                    self.assert_c_bad(function(f'\t{call};\n'), 6, 'memory', path=path)
            self.assert_c_good(function(f'\t{call};\n'), path='tools/it-info.c')
            self.assert_c_good(function(f'\t{call};\n'), path='kal/tests/x.c')
        self.assert_c_good(function('\tg_strlcpy(a, b, c);\n\treturn g_steal_pointer(&a);\n'))

    def test_format(self):
        style = ('# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only\n'
                 '# SPDX-FileCopyrightText: the itapi authors\nBasedOnStyle: LLVM\n')
        found = self.complaints({'.clang-format': style, 'kal/x.c': HEAD + 'int  a;\n'})
        if not found:
            self.skipTest('no clang-format 14')
        self.assertIn('clang-format -i', found[0])
        self.assert_good({'.clang-format': style, 'kal/x.c': HEAD + 'int a;\n'})


if __name__ == '__main__':
    tree_case.main()
