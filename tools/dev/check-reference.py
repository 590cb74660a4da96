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

import provider_tables
import source_tree
from provider_tables import item, line_of

STATUSES_OF_PROVIDERS = 'rnicpi/rnicpi_types.h'
CALL_HEADERS = ('itapi/it_api.h', 'itapi/it_ext.h')
COMMON = ('IT_ERR_ABORT', 'IT_ERR_IA_CATASTROPHE')

COMMENT = provider_tables.COMMENT
CALL = re.compile(COMMENT + r'(?:extern )?([a-z][\w ]*?[ *])(itx?_\w+)\(', re.DOTALL)
ENUM = re.compile(r'enum ri_status \{(.*?)\};', re.DOTALL)
CITED = re.compile(r'\[(IT|RI) \d')
RETVAL = re.compile(r'^ \* @retval (\w+)((?:(?!^ \* @|^ \*$).)*)', re.DOTALL | re.MULTILINE)
SEE = re.compile(r'^ \* @see ((?:(?!^ \* @).)*)', re.DOTALL | re.MULTILINE)
LINES = (('@brief ', 'a brief sentence'), ('@see ', 'references to related calls, "@see"'))


def check_results(kind, results, known):
    """Yields the faults in the results of one entry."""
    if results is None:
        yield 'has no list of results, "- Results:"'
        return
    for name in sorted(set(provider_tables.STATUS.findall(results)) - known):
        yield f'names a status that does not exist, {name}'
    if kind == 'void' and not results.startswith('none'):
        yield 'returns nothing, but its results are not "none"'
    if kind == 'enum ri_status' and 'RI_ERR_' not in results and not results.startswith('none of its own'):
        yield 'returns a status, but names none, nor "none of its own"'


def check_entries(root, path, known):
    for entry in provider_tables.entries_of(root, path):
        where = f'{path}:{entry.line}: {entry.table}::{entry.name}'
        if entry.comment is None:
            yield f'{where} has no description'
            continue
        for wrong in check_results(entry.kind, item(entry.comment, 'Results'), known):
            yield f'{where} {wrong}'
        if not CITED.search(entry.comment):
            yield f'{where} cites no paragraph'


def check_call(comment, kind, words, said):
    """Yields the faults in the page of one call; `said`: texts of the common statuses so far."""
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
        if provider_tables.HEADERS.fullmatch(path):
            yield from check_entries(root, path, known)
    for path in calls:
        yield from check_calls(root, path, words, said)


if __name__ == '__main__':
    sys.exit(source_tree.report(check, sys.argv))
