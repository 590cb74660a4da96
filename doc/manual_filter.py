#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""Doxygen's input filter: makes anchors of numbered paragraphs, and links of citations.

Usage: manual_filter.py ROOT FILE

Lines stay where they are, so that Doxygen's warnings name the right ones. In a page (.md) the licence
comment becomes empty lines, which lets its first heading be its title, and a link to another page becomes a
reference; the lists of doc/spec put the pages that they name under themselves. In pages and headers
"[IT 6.4]" and "R-05" become references to the paragraphs that exist.
"""

import os
import re
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'tools', 'dev'))

import spec_paragraphs as spec  # noqa: E402  pylint: disable=wrong-import-position

COMMENT = re.compile(r'^<!--.*-->$')
LABEL = re.compile(r'\{#(\w+)\}\s*$')
LINK = re.compile(r'\[([^]]+)\]\(([\w./-]+\.md)\)')


def label_of(path):
    """The label of a page: that of its first heading; None without one."""
    with open(path, encoding='utf-8') as file:
        for line in file:
            heading = spec.HEADING.match(line.rstrip('\n'))
            if heading:
                return spec.anchor(heading.group(2))
            if line.startswith('# '):
                found = LABEL.search(line)
                return found.group(1) if found else None
    return None


class Filter:
    def __init__(self, root, path):
        self.path = path
        self.known = {number for number, _, _ in spec.definitions(root)}
        self.page = path.endswith('.md')
        self.lists = os.path.realpath(path).startswith(os.path.realpath(os.path.join(root, spec.FOLDER))) \
            and os.path.basename(path) in ('README.md', 'index.md')

    def reference(self, match):
        number = match.group(match.lastindex or 0)
        if number not in self.known:
            return match.group(0)
        return f'@ref {spec.anchor(number)} "{match.group(0)}"'

    def link(self, match):
        target = os.path.join(os.path.dirname(self.path), match.group(2))
        label = label_of(target) if os.path.isfile(target) else None
        if label is None:
            return match.group(0)
        inside = self.lists and 'glossary' not in target
        return f'@{"subpage" if inside else "ref"} {label} "{match.group(1)}"'

    def text(self, text):
        """A piece of a line that is no code."""
        if self.page:
            text = LINK.sub(self.link, text)
        text = spec.CITATION.sub(self.reference, text)
        return spec.RULING.sub(self.reference, text)

    def cited(self, line):
        return ''.join(part if part.startswith('`') else self.text(part)
                       for part in re.split(r'(`+[^`]*`+)', line))

    def line(self, line):
        if self.page and COMMENT.match(line):
            return ''
        heading = spec.HEADING.match(line) if self.page else None
        if heading:
            marks, number, title = heading.groups()
            return f'{marks} {number} {title} {{#{spec.anchor(number)}}}'
        if self.page and line.startswith('#'):
            return line
        parts = spec.PARAGRAPH.split(line)
        result = self.cited(parts[0])
        for number, after in zip(parts[1::2], parts[2::2]):
            result += f'@anchor {spec.anchor(number)} **[{number}]**{self.cited(after)}'
        return result


def filtered(root, path):
    """The lines of a file as Doxygen is to see them."""
    work = Filter(root, path)
    fenced = False
    with open(path, encoding='utf-8') as file:
        for line in file.read().split('\n'):
            if work.page and line.startswith('```'):
                fenced = not fenced
            yield line if fenced else work.line(line)


def main(arguments):
    sys.stdout.write('\n'.join(filtered(arguments[1], arguments[2])))


if __name__ == '__main__':
    main(sys.argv)
