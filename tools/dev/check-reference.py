#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""Every entry of RNIC-PI and every call of IT-API has a complete reference page.

An entry of RNIC-PI (a function pointer in a table of rnicpi/rnicpi*.h) has a list of its results, "- Results:",
and cites a paragraph of that book. An entry that returns a status names statuses that exist, or says "none of
its own"; one that returns nothing says "none". A call of IT-API has a brief sentence, cites a paragraph, refers
to related calls and events that exist ("@see"), and, if it returns a status, lists IT_SUCCESS and its other
statuses. What every call may give, IT_ERR_ABORT and IT_ERR_IA_CATASTROPHE, is described once: pages name it in
their line "- Also:". Parameters, threads and blocking are compared with tables by itapi/tests/test_headers.py.
Each complaint is one line, path:line: what is wrong.

Usage: check-reference.py [ROOT]
"""

import re
import sys

import source_tree

PROVIDER_HEADERS = re.compile(r'rnicpi/rnicpi\w*\.h')
STATUSES_OF_PROVIDERS = 'rnicpi/rnicpi_types.h'
CALL_HEADERS = ('itapi/it_api.h', 'itapi/it_ext.h')
COMMON = ('IT_ERR_ABORT', 'IT_ERR_IA_CATASTROPHE')

COMMENT = r'/\*\*(?!<)((?:(?!\*/).)*)\*/\s*'
TABLE = re.compile(r'^struct (ri_\w+_ops|ri_host|ri_upcalls) \{\n(.*?)^\};', re.DOTALL | re.MULTILINE)
ENTRY = re.compile(r'(?:%s)?^\t([^\n;]*?)\(\*(\w+)\)\(' % COMMENT, re.DOTALL | re.MULTILINE)
CALL = re.compile(COMMENT + r'(?:extern )?([a-z][\w ]*?[ *])(itx?_\w+)\(', re.DOTALL)
ENUM = re.compile(r'enum ri_status \{(.*?)\};', re.DOTALL)
CITED = re.compile(r'\[(IT|RI) \d')
RETVAL = re.compile(r'^ \* @retval (\w+)((?:(?!^ \* @|^ \*$).)*)', re.DOTALL | re.MULTILINE)
SEE = re.compile(r'^ \* @see ((?:(?!^ \* @).)*)', re.DOTALL | re.MULTILINE)
LINES = (('@brief ', 'a brief sentence'), ('@see ', 'references to related calls, "@see"'))


def line_of(text, offset):
    return text.count('\n', 0, offset) + 1


def item(comment, name):
    """The text of an item of a list in a comment, up to the next item or the end; None without it."""
    found = re.search(r'- %s:(.*?)(?=^\s*\* - |^\s*\*\s*$|^\s*\* @|\Z)' % name, comment, re.DOTALL | re.MULTILINE)
    return found and ' '.join(re.sub(r'^\s*\*', ' ', found.group(1), flags=re.MULTILINE).split())


def check_results(kind, results, known):
    """What is wrong with the results of one entry."""
    if results is None:
        yield 'has no list of results, "- Results:"'
        return
    for name in sorted(set(re.findall(r'\bRI_(?:ERR_\w+|SUCCESS)\b', results)) - known):
        yield f'names a status that does not exist, {name}'
    if kind == 'void' and not results.startswith('none'):
        yield 'returns nothing, but its results are not "none"'
    if kind == 'enum ri_status' and 'RI_ERR_' not in results and not results.startswith('none of its own'):
        yield 'returns a status, but names none, nor "none of its own"'


def check_entries(root, path, known):
    text = source_tree.read(root, path)
    for table in TABLE.finditer(text):
        for entry in ENTRY.finditer(table.group(2)):
            comment, kind, name = entry.group(1), entry.group(2).strip(), entry.group(3)
            where = f'{path}:{line_of(text, table.start(2) + entry.start(3))}: {table.group(1)}::{name}'
            if comment is None:
                yield f'{where} has no description'
                continue
            for wrong in check_results(kind, item(comment, 'Results'), known):
                yield f'{where} {wrong}'
            if not CITED.search(comment):
                yield f'{where} cites no paragraph'


def check_call(comment, kind, words, said):
    """What is wrong with the page of one call; `said`: texts of the common statuses so far."""
    for line, what in LINES:
        if f' * {line}' not in comment:
            yield f'lacks {what}'
    if not CITED.search(comment):
        yield 'cites no paragraph'
    for name in re.findall(r'#?\w+', ' '.join(SEE.findall(comment))):
        if name.lstrip('#') not in words:
            yield f'refers to {name}, which does not exist'
    statuses = dict(RETVAL.findall(comment))
    if kind == 'it_status_t' and 'IT_SUCCESS' not in statuses:
        yield 'returns a status, but does not list IT_SUCCESS'
    also = item(comment, 'Also') or ''
    for name, text in statuses.items():
        if name not in words:
            yield f'lists {name}, which does not exist'
        if name in COMMON and name in also:
            yield f'has {name} in its list and in "- Also:"'
        elif name in COMMON and text in said:
            yield f'repeats what another page says of {name}; name it in "- Also:"'
        if name in COMMON:
            said.add(text)


def check_calls(root, path, words, said):
    text = source_tree.read(root, path)
    for call in CALL.finditer(text):
        where = f'{path}:{line_of(text, call.start(3))}: the page of {call.group(3)}'
        for wrong in check_call(call.group(1), call.group(2).strip(), words, said):
            yield f'{where} {wrong}'


def words_of(root, paths):
    """Every name in the declarations of these headers."""
    code = ' '.join(source_tree.code_only(source_tree.read(root, path)) for path in paths)
    return set(re.findall(r'\w+', code))


def check(root):
    """All complaints about a tree."""
    files = source_tree.files_of(root)
    known = set()
    if STATUSES_OF_PROVIDERS in files:
        listed = ENUM.search(source_tree.code_only(source_tree.read(root, STATUSES_OF_PROVIDERS)))
        known = set(re.findall(r'\bRI_\w+', listed.group(1))) if listed else set()
    calls = [path for path in CALL_HEADERS if path in files]
    words, said = words_of(root, calls), set()
    for path in files:
        if PROVIDER_HEADERS.fullmatch(path):
            yield from check_entries(root, path, known)
    for path in calls:
        yield from check_calls(root, path, words, said)


if __name__ == '__main__':
    sys.exit(source_tree.report(check, sys.argv))
