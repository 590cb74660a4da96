# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""The numbered paragraphs of doc/spec, and citations of them (doc/spec/README.md has the scheme).

A chapter or section is defined by its heading, "## [IT 6.4] Title"; a paragraph by its number in
bold, "**[IT 6.4.2]**"; a ruling by "**[R-05]**". The same numbers in brackets but not in bold,
and "R-05" alone, are citations.
"""

import os
import re

BOOKS = ('IT', 'RI', 'WIRE')
FOLDER = 'doc/spec'

HEADING = re.compile(r'^(#+) \[((?:%s) \d+(?:\.\d+)*)\] (.*)$' % '|'.join(BOOKS))
PARAGRAPH = re.compile(r'\*\*\[((?:%s) \d+(?:\.\d+)+|R-\d\d)\]\*\*' % '|'.join(BOOKS))
CITATION = re.compile(r'(?<!\*\*)\[((?:%s) \d+(?:\.\d+)*)\](?!\()' % '|'.join(BOOKS))
RULING = re.compile(r'(?<![\w.[-])R-\d\d(?!\w)')


_CODE = re.compile(r'`+[^`]*`+')


def without_code(line):
    """A line of a page without what stands in backticks."""
    return _CODE.sub('', line)


def anchor(number):
    """The name of a paragraph in the manual: it_6_4_2, ruling_05."""
    if number.startswith('R-'):
        return 'ruling_' + number[2:]
    return number.lower().replace(' ', '_').replace('.', '_')


def pages(root):
    """Paths of the books' pages, relative to root, sorted."""
    for folder, subfolders, names in os.walk(os.path.join(root, FOLDER)):
        subfolders.sort()
        for name in sorted(names):
            if name.endswith('.md'):
                yield os.path.relpath(os.path.join(folder, name), root)


def lines_of(root, path):
    """The lines of a page that are not in a block of code, with their numbers."""
    fenced = False
    with open(os.path.join(root, path), encoding='utf-8') as file:
        for number, line in enumerate(file, 1):
            if line.startswith('```'):
                fenced = not fenced
            elif not fenced:
                yield number, line.rstrip('\n')


def definitions(root):
    """Every definition in the books: (number, path, line); a number can come twice."""
    for path in pages(root):
        for number, line in lines_of(root, path):
            heading = HEADING.match(line)
            if heading:
                yield heading.group(2), path, number
            for match in PARAGRAPH.finditer(without_code(line)):
                yield match.group(1), path, number
