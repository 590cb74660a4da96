# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""The tables of RNIC-PI as their headers describe them: entries, with their comments and lists of results."""

import collections
import re

import source_tree

HEADERS = re.compile(r'rnicpi/rnicpi\w*\.h')
COMMENT = r'/\*\*(?!<)((?:(?!\*/).)*)\*/\s*'
STATUS = re.compile(r'\bRI_(?:ERR_\w+|SUCCESS)\b')

_TABLE = re.compile(r'^struct (ri_\w+_ops|ri_host|ri_upcalls) \{\n(.*?)^\};', re.DOTALL | re.MULTILINE)
_ENTRY = re.compile(r'(?:%s)?^\t([^\n;]*?)\(\*(\w+)\)\(' % COMMENT, re.DOTALL | re.MULTILINE)

# `comment` is None without one; `kind` is the type of what the entry returns.
Entry = collections.namedtuple('Entry', 'path line table name kind comment')


def line_of(text, offset):
    return text.count('\n', 0, offset) + 1


def item(comment, name):
    """The text of an item of a list in a comment, up to the next item or the end; None without it."""
    found = re.search(r'- %s:(.*?)(?=^\s*\* - |^\s*\*\s*$|^\s*\* @|\Z)' % name, comment, re.DOTALL | re.MULTILINE)
    return found and ' '.join(re.sub(r'^\s*\*', ' ', found.group(1), flags=re.MULTILINE).split())


def entries_of(root, path):
    """Every entry of the tables of a header."""
    text = source_tree.read(root, path)
    for table in _TABLE.finditer(text):
        for entry in _ENTRY.finditer(table.group(2)):
            yield Entry(path, line_of(text, table.start(2) + entry.start(3)), table.group(1), entry.group(3),
                        entry.group(2).strip(), entry.group(1))
