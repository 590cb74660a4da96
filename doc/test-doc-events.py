#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""Compares the table of asynchronous events with the header and with the tests that it names (TAP).

Usage: test-doc-events.py PAGE it_api.h TEST...
"""

import re
import sys

ROW = re.compile(r'^\| `(IT_ASYNC_\w+)` \| (\S+) \| (\S+) \| (\S+) \| (.*?) ?\|$', re.MULTILINE)
EVENT = re.compile(r'^\t(IT_ASYNC_\w+) = ', re.MULTILINE)
# pair_add("path", ...), pair_add_for(needs, "path", ...), pair_add_impatient(needs, "path", ...), and the tests of
# spigots, which are added without their folder.
PATH = re.compile(r'(pair_add|add_on_cable)(?:_(?:for|impatient)\([\w\s|]+,|\()\s*"([\w/-]+)"')


def read(path):
    with open(path, encoding='utf-8') as file:
        return file.read()


def complaints(rows, events, paths):
    for event in sorted(events - set(rows)):
        yield f'{event} is not in the table'
    for event in sorted(set(rows) - events):
        yield f'{event} is not an event'
    for event, (*tests, reason) in rows.items():
        if '-' in tests and not reason:
            yield f'{event}: no word on why it has no test'
        for test in tests:
            if test != '-' and test.strip('`') not in paths:
                yield f'{event}: there is no test {test}'


def main(page, header, *sources):
    rows = {row[0]: row[1:] for row in ROW.findall(read(page))}
    events = {name for name in EVENT.findall(read(header)) if not name.endswith('_STREAM')}
    paths = {('spigot/' if how == 'add_on_cable' else '') + path
             for source in sources for how, path in PATH.findall(read(source))}
    wrong = list(complaints(rows, events, paths))
    print('1..1')
    print(''.join(f'# {line}\n' for line in wrong), end='')
    print(f'{"not ok" if wrong else "ok"} 1 - /doc/asynchronous-events/table')


if __name__ == '__main__':
    main(*sys.argv[1:])
