# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""Replaces citations such as [IT 6.4] by words: the book, and the title of the section."""

import re

import spec_paragraphs as spec

BOOKS = {'IT': 'IT-API semantics', 'RI': 'RNIC-PI', 'WIRE': 'The wire'}


class Books:
    """The numbered paragraphs of doc/spec with their titles."""

    def __init__(self, root):
        self._titles = {}
        for path in spec.pages(root):
            title = None
            for _, line in spec.lines_of(root, path):
                heading = spec.HEADING.match(line)
                if heading:
                    title = heading.group(3).replace('`', '')
                    self._titles[heading.group(2)] = title
                for match in spec.PARAGRAPH.finditer(spec.without_code(line)):
                    self._titles[match.group(1)] = title

    def cited(self, text):
        """(where they lead, [citation]) of all in a text that exist: in the books' order, none twice."""
        numbers = {match.group(1) or match.group(0)
                   for match in re.finditer(f'{spec.CITATION.pattern}|{spec.RULING.pattern}', text)}
        found = {}
        for number in sorted(numbers & set(self._titles), key=_order):
            ruling = number.startswith('R-')
            book = BOOKS['IT' if ruling else number.split()[0]]
            title = 'rulings' if ruling else f'"{self._titles[number]}"'
            found.setdefault(f'{book}, {title}', []).append(number if ruling else f'[{number}]')
        return list(found.items())


def _order(number):
    book, _, rest = number.replace('R-', 'Z ').partition(' ')
    return book, [int(part) for part in rest.split('.')]
