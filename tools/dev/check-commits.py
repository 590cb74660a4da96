#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""The first line of each commit is "area: change it", of at most 72 columns (doc/contributing.md).

Commits that are older than this check are left out, and so are merges. The exit status is 77 if
there is no history.

Usage: check-commits.py [ROOT]
"""

import os
import re
import subprocess
import sys

import source_tree

SINCE = '2026-11-26T15:30:00Z'
LANDED = ('4ee1a99',)   # too long, and found when others had it already
COLUMNS = 72
FORM = re.compile(r'[\w./+-]+(, [\w./+-]+)*: \S')


def history(root):
    """Lines "commit first line", or None."""
    if not os.path.exists(os.path.join(root, '.git')):
        return None
    command = ['git', '-C', root, 'log', '--no-merges', f'--since={SINCE}', '--format=%h %s']
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.splitlines() if done.returncode == 0 else None


def check_line(line):
    commit, _, subject = line.partition(' ')
    if len(subject) > COLUMNS:
        yield f'{commit}: {len(subject)} columns; at most {COLUMNS}: {subject}'
    if not FORM.match(subject):
        yield f'{commit}: not "area: change it": {subject}'


def check(root):
    for line in history(root) or ():
        if not line.startswith(LANDED):
            yield from check_line(line)


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(__file__), '../..')
    if history(root) is None:
        print('there is no history')
        return 77
    return source_tree.report(check, sys.argv)


if __name__ == '__main__':
    sys.exit(main())
