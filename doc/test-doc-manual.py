#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""Tests of the manual's filters: which text of pages and headers Doxygen gets, and which links of a manual count as broken."""

import os
import sys
import tempfile
import unittest
import unittest.mock

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, '..', 'tools', 'dev', 'tests')]

# pylint: disable=wrong-import-position
import install_man  # noqa: E402
import install_manual  # noqa: E402
import manual_filter  # noqa: E402
import manual_links  # noqa: E402
import tree_case  # noqa: E402

CHAPTER = ('<!-- a licence -->\n\n# [IT 6] Events\n\n## [IT 6.4] Waiting\n\n**[IT 6.4.1]** See [IT 6], R-05.\n'
           '\n```\n[IT 6] in code\n```\n\n**[R-05]** *First.*\n')
TREE = {'doc/spec/itapi/06-events.md': CHAPTER,
        'doc/spec/itapi/index.md': '# The book {#book}\n\n- [IT 6: Events](06-events.md)\n',
        'doc/guide.md': '# Guide {#guide}\n\n[the book](spec/itapi/index.md), [a file](a.c), `[IT 6]`, [IT 7]\n',
        'itapi/it_api.h': '/** Waits; R-05.\n * - Clause: [IT 6.4.1]; [IT 6].\n */\n'}


def in_folder(files, function):
    with tempfile.TemporaryDirectory() as root:
        for path, text in files.items():
            os.makedirs(os.path.join(root, os.path.dirname(path)), exist_ok=True)
            with open(os.path.join(root, path), 'w', encoding='utf-8') as file:
                file.write(text)
        return function(root)


def shown(path):
    return in_folder(TREE, lambda root: '\n'.join(manual_filter.filtered(root, os.path.join(root, path))))


class Manual(unittest.TestCase):
    def test_chapter(self):
        text = shown('doc/spec/itapi/06-events.md')
        self.assertEqual(text.count('\n'), CHAPTER.count('\n'))
        self.assertTrue(text.startswith('\n\n# IT 6 Events {#it_6}\n'), text)
        self.assertIn('\n## IT 6.4 Waiting {#it_6_4}\n', text)
        self.assertIn('@anchor it_6_4_1 **[IT 6.4.1]** See @ref it_6 "[IT 6]", @ref ruling_05 "R-05".', text)
        self.assertIn('\n[IT 6] in code\n', text)
        self.assertIn('@anchor ruling_05 **[R-05]**', text)

    def test_lists_own_their_pages(self):
        self.assertIn('- @subpage it_6 "IT 6: Events"', shown('doc/spec/itapi/index.md'))

    def test_guide(self):
        self.assertIn('@ref book "the book", [a file](a.c), `[IT 6]`, [IT 7]', shown('doc/guide.md'))

    def test_header(self):
        self.assertEqual(shown('itapi/it_api.h'), '/** Waits; @ref ruling_05 "R-05".\n * - Clause: '
                         '@ref it_6_4_1 "[IT 6.4.1]"; @ref it_6 "[IT 6]".\n */\n')

    def test_destdir(self):
        """With DESTDIR nothing is written, or removed, outside of it, whether the folders are absolute or not."""
        def install(root, folder):
            live, destdir = os.path.join(root, 'live'), os.path.join(root, 'destdir')
            folder = folder.format(live)
            os.makedirs(destdir, exist_ok=True)
            prefix = {'MESON_INSTALL_PREFIX': '/usr', 'MESON_INSTALL_DESTDIR_PREFIX': destdir + '/usr'}
            with unittest.mock.patch.dict(os.environ, prefix):
                install_man.main(os.path.join(root, 'pages'), folder)
                install_manual.main(os.path.join(root, 'examples'), os.path.join(root, 'html'), folder)
            below = destdir + (folder if folder.startswith('/') else '/usr/' + folder)
            self.assertEqual(sorted(os.listdir(below)), ['examples', 'html', 'man3'])
            self.assertEqual(os.listdir(os.path.join(live, 'examples')), ['mine.c'])
            self.assertEqual(os.listdir(live), ['examples'])

        files = {'pages/a.3': '', 'examples/put.c': '', 'html/index.html': '', 'live/examples/mine.c': ''}
        for folder in ('share/doc', '{}'):
            in_folder(files, lambda root, where=folder: install(root, where))

    def test_links(self):
        pages = {'a.html': '<a href="b.html#x">1</a> <a href="b.html#y">2</a> <a href="c.html">3</a> '
                           '<a href="#z">4</a> <a href="https://a.b/c">5</a> <a href="d/e.c">6</a> '
                           '<a href="../f.html">7</a> <a href="/tmp">8</a> <a href="javascript:void(0)">9</a>',
                 'b.html': '<a id="x" href="a.html"></a>', 'd/e.c': ''}
        self.assertEqual(in_folder(pages, manual_links.broken),
                         [('a.html', '#z'), ('a.html', '../f.html'), ('a.html', '/tmp'), ('a.html', 'b.html#y'),
                          ('a.html', 'c.html'), ('a.html', 'https://a.b/c')])

    def test_link_of_maker(self):
        page = {'a.html': 'by <a href="https://www.doxygen.org/index.html"><img src="d.svg"/></a> 1'}

        def mended(root):
            manual_links.mend(root)
            return manual_links.read_pages(root)['a.html']
        self.assertEqual(in_folder(page, mended), 'by <img src="d.svg"/> 1')

    def test_members(self):
        """Two members of one name get an anchor each, in the order of the header; one that is described keeps its own."""
        row = '<tr><td>%s&#160;&#160;&#160;<b>%s</b></td></tr>'
        source = ''.join('<a class="code hl_variable" href="structs.html#%s">%s</a>' % pair
                         for pair in (('k', 'kind'), ('one', 'list'), ('two', 'list')))
        pages = {'s_8h_source.html': source,
                 'structs.html': row % ('<a id="k"></a>', 'kind') + row % ('int', 'list') + row % ('long', 'list')}

        def mended(root):
            self.assertEqual(len(manual_links.broken(root)), 2)
            manual_links.mend(root)
            with open(os.path.join(root, 'structs.html'), encoding='utf-8') as file:
                text = file.read()
            self.assertEqual(manual_links.broken(root), [])
            self.assertLess(text.index('int'), text.index('id="one"'))
            self.assertLess(text.index('id="one"'), text.index('long'))
            self.assertLess(text.index('long'), text.index('id="two"'))
            self.assertEqual(text.count('id="k"'), 1)

        in_folder(pages, mended)


if __name__ == '__main__':
    tree_case.main()
