#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""Makes a man page of a page of doc/.

Usage: man_guide.py PAGE.md OUTPUT NAME=VALUE...

The values are name, number, book, purpose, date, version, and see (what the page refers to, such as
"it-info(1), itapi(7)"). What stands before the first "##" is DESCRIPTION, each "##" begins a section. Of Markdown
it understands what our pages use: headings, paragraphs, lists, tables, code, and links, whose text stays.
"""

import os
import re
import sys

sys.dont_write_bytecode = True

import man_roff  # noqa: E402  pylint: disable=wrong-import-position
from man_xml import BOLD, ITALIC, ROMAN  # noqa: E402  pylint: disable=wrong-import-position

_TITLE = re.compile(r'^# (.*?) *\{#(\w+)\}$', re.MULTILINE)
_MARKED = re.compile(r'`([^`]+)`|(?<!\w)\*([^*]+)\*(?!\w)|\[([^]]+)\]\([^)]+\)|@ref (\w+)(?: "([^"]+)")?|'
                     r'\b(itx?_\w+)\(\)')
_ITEM = re.compile(r'(?:-|\d+\.) +(.*)$')


def titles(folder):
    """The titles of the pages of a folder by their labels."""
    found = {}
    for name in sorted(os.listdir(folder)):
        if name.endswith('.md'):
            with open(os.path.join(folder, name), encoding='utf-8') as file:
                match = _TITLE.search(file.read())
            if match:
                found[match.group(2)] = match.group(1)
    return found


class Guide:
    """The blocks of one page, as man_roff writes them."""

    def __init__(self, path):
        self._titles = titles(os.path.dirname(path))
        self.blocks = []
        with open(path, encoding='utf-8') as file:
            text = re.sub(r'<!--.*?-->', '', file.read(), flags=re.DOTALL)
        for block in re.split(r'\n[ \t]*\n+', text.strip('\n')):
            self._block(block.strip('\n'))

    def text(self, text):
        """Returns the text with font changes in place of its Markdown marks."""
        def marked(match):
            code, emphasis, link, label, words, call = match.groups()
            if code or call:
                return BOLD + (code or call) + ROMAN + ('(3)' if call else '')
            if emphasis:
                return ITALIC + emphasis + ROMAN
            return link or words or f'"{self._titles.get(label, label)}" of the manual'

        return _MARKED.sub(marked, ' '.join(text.split()))

    def _block(self, block):
        first = block.split('\n')[0]
        if first.startswith('#'):
            marks, _, title = re.sub(r' *\{#\w+\}$', '', first).partition(' ')
            self.blocks.append((('page', 'section', 'title')[min(len(marks), 3) - 1], title))
            if '\n' in block:
                self._block(block.split('\n', 1)[1])
        elif first.startswith('|'):
            rows = [[self.text(cell.strip().replace(r'\|', '|')) for cell in re.split(r'(?<!\\)\|', line)[1:-1]]
                    for line in block.split('\n')]
            self.blocks.append(('table', [rows[0]] + rows[2:]))
        elif first.startswith('    '):
            self.blocks.append(('lines', '\n'.join(line[4:] for line in block.split('\n'))))
        elif _ITEM.match(first):
            self.blocks.append(('list', self._items(block)))
        else:
            self.blocks.append(('para', self.text(block)))

    def _items(self, block):
        items = []
        for line in block.split('\n'):
            match = _ITEM.match(line)
            if match:
                items.append(match.group(1))
            else:
                items[-1] += ' ' + line.strip()
        return [[('para', self.text(item))] for item in items]


def page_of(guide, values):
    """The man page of a guide."""
    name, number = values['name'], values['number']
    page = man_roff.Page(name, f'.TH {name} {number} {values["date"]} "itapi {values["version"]}" "{values["book"]}"')
    page.lines += ['.ad l', '.nh']
    page.section('NAME')
    page.lines.append(f'{man_roff.escape(name)} \\- {man_roff.escape(values["purpose"])}')
    page.section('DESCRIPTION')
    for kind, content in guide.blocks:
        if kind == 'section':
            page.section(f'"{man_roff.escape(content.upper())}"')
        elif kind != 'page':
            page.blocks([(kind, content)])
    page.section('SEE ALSO')
    page.text(re.sub(r'([\w.-]+)(\(\d\))', rf'{BOLD}\1{ROMAN}\2', values['see']))
    return page


def main(arguments):
    values = dict(argument.split('=', 1) for argument in arguments[3:])
    page_of(Guide(arguments[1]), values).write(arguments[2])


if __name__ == '__main__':
    main(sys.argv)
