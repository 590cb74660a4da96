#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""Every citation of the specification leads to a paragraph (doc/spec/README.md has the scheme).

Complains about numbers that are defined twice or outside of their section, citations and rulings that are
defined nowhere, citations in another form, and calls of IT-API whose reference page does not cite the
paragraph that names the call. Each complaint is one line, path:line: what is wrong.

Usage: check-citations.py [ROOT]
"""

import re
import sys

import source_tree
import spec_paragraphs as spec

# Names and abbreviations of former documents that are not in this tree, so that no reader can look
# them up. They are spelt so that this file does not match itself.
OLD_FORMS = re.compile(r'itapi-' r'semantics|iwarp-' r'wire|verbs-' r'semantics|\bR' r'V[- ]?\d|\bV' r'S-\d')
BRACKETS = re.compile(r'\[(?:%s) \d[^\]]*(?:\](?!\()|$)' % '|'.join(spec.BOOKS))
LINK = re.compile(r'\[[^]]*\]\([^)]*\)')
PROTOTYPE = re.compile(r'/\*\*((?:(?!\*/).)*)\*/\s*\w+ (itx?_\w+)\(', re.DOTALL)
CALLS = re.compile(r'\* - Clause: \[(IT 15\.\d+\.\d+)\]')
HEADERS = ('itapi/it_api.h', 'itapi/it_ext.h')
SKIPPED = ('LICENSES/', 'tools/dev/tests/test-dev-citations.py')  # the latter's trees are made up


def parent(number):
    """IT 6.4.2 -> IT 6.4; None for a chapter or a ruling."""
    return number.rsplit('.', 1)[0] if '.' in number else None


def check_definitions(root):
    seen = {}
    for number, path, line in spec.definitions(root):
        if number in seen:
            yield f'{path}:{line}: [{number}] is defined in {seen[number]} already'
        elif parent(number) is not None and parent(number) not in seen:
            yield f'{path}:{line}: [{number}] stands outside of [{parent(number)}]'
        seen.setdefault(number, f'{path}:{line}')


def check_line(where, line, known):
    """Complaints about the citations of one line."""
    for match in OLD_FORMS.finditer(line):
        yield f'{where}: {match.group(0)!r} is not in this tree; cite doc/spec'
    for match in BRACKETS.finditer(line):
        cited = spec.CITATION.fullmatch(match.group(0))
        if cited is None:
            yield f'{where}: {match.group(0)!r} is not a citation; one number in brackets, on one line'
        elif cited.group(1) not in known:
            yield f'{where}: [{cited.group(1)}] is defined nowhere in {spec.FOLDER}'
    for match in spec.RULING.finditer(line):
        if match.group(0) not in known:
            yield f'{where}: ruling {match.group(0)} is defined nowhere in {spec.FOLDER}'


def check_file(root, path, known):
    for number, line in enumerate(source_tree.read(root, path).split('\n'), 1):
        if path.endswith('.md'):
            line = LINK.sub('', spec.without_code(line))
        yield from check_line(f'{path}:{number}', line, known)


def paragraphs(root):
    """Number of a paragraph -> its text, to the next empty line."""
    texts = {}
    for path in spec.pages(root):
        current = None
        for _, line in spec.lines_of(root, path):
            found = spec.PARAGRAPH.search(spec.without_code(line))
            current = found.group(1) if found else current if line else None
            if current is not None:
                texts[current] = texts.get(current, '') + line + '\n'
    return texts


def check_calls(root, path, texts):
    """Each call's page cites the paragraph of chapter 15 that names it."""
    text = source_tree.read(root, path)
    for match in PROTOTYPE.finditer(text):
        line = text.count('\n', 0, match.start(2)) + 1
        clause = CALLS.search(match.group(1))
        if clause is None:
            yield f'{path}:{line}: the page of {match.group(2)} does not cite its paragraph in [IT 15]'
        elif f'`{match.group(2)}`' not in texts.get(clause.group(1), ''):
            yield f'{path}:{line}: [{clause.group(1)}] does not name {match.group(2)}'


def check(root):
    """All complaints about a tree."""
    known = {number for number, _, _ in spec.definitions(root)}
    texts = paragraphs(root)
    yield from check_definitions(root)
    for path in source_tree.files_of(root):
        if not path.startswith(SKIPPED) and not source_tree.is_binary(root, path):
            yield from check_file(root, path, known)
        if path in HEADERS:
            yield from check_calls(root, path, texts)


if __name__ == '__main__':
    sys.exit(source_tree.report(check, sys.argv))
