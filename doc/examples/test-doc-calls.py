#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""The examples of the reference pages run on each kind of adapter, and each has a page that shows it.

Usage: test-doc-calls.py CALLS FILE...  (the program; its sources, then the headers with the pages)
"""

import re
import subprocess
import sys

ADAPTERS = ('emul:ib', 'emul:iwarp', 'iwarp:lo', 'shm:ib', 'shm:iwarp')
PATIENCE = 100  # s
MARK = re.compile(r'^/\* \[(\w+)\] \*/$', re.MULTILINE)
SHOWN = re.compile(r'@snippet (calls\w*\.c) (\w+)')


def runs(calls, adapter):
    """Runs the program on this adapter; returns a description of the fault, or None."""
    try:
        result = subprocess.run([calls, adapter], stdin=subprocess.DEVNULL, capture_output=True,
                                text=True, timeout=PATIENCE, check=False)
    except subprocess.TimeoutExpired:
        return f'no end after {PATIENCE} s'
    if result.returncode != 0 or not result.stdout.endswith('done\n'):
        return f'status {result.returncode}: {result.stderr.strip()}'
    return None


def unpaired(paths):
    """Marks that do not come twice, or that no page shows; snippets of pages that are nowhere."""
    marked, shown = {}, {}
    for path in paths:
        with open(path, encoding='utf-8') as file:
            text = file.read()
        name = path.rsplit('/', 1)[-1]
        for mark in MARK.findall(text):
            marked[name, mark] = marked.get((name, mark), 0) + 1
        for found in SHOWN.findall(text):
            shown[found] = shown.get(found, 0) + 1
    wrong = [f'{mark} stands {count} times' for mark, count in marked.items() if count != 2]
    wrong += [f'no page shows {mark}' for mark in marked if mark not in shown]
    wrong += [f'a page shows {mark}, which does not exist' for mark in shown if mark not in marked]
    return '; '.join(wrong) if wrong or marked else 'no marks'


def main(calls, paths):
    results = [(f'/doc/calls/{adapter}', runs(calls, adapter)) for adapter in ADAPTERS]
    results.append(('/doc/calls/pages', unpaired(paths) or None))
    print(f'1..{len(results)}')
    for number, (name, wrong) in enumerate(results, 1):
        print(f'{"ok" if wrong is None else "not ok"} {number} - {name}')
        if wrong is not None:
            print(f'# {wrong}')
    return 0 if all(wrong is None for _, wrong in results) else 1


if __name__ == '__main__':
    sys.exit(main(sys.argv[1], sys.argv[2:]))
