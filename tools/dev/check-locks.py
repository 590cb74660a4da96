#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""Compares the locks in the code with the table in doc/threads-and-locks.md.

A lock is a pthread_mutex_t, a vsw_lock or a vsw_role that is a member of a struct or a static
variable. The table names it in backquotes, `struct::member` or `file.c:variable`. A lock without an
entry and an entry without a lock are complaints. So is a static lock in a file that has no handler for forks: in the child of a
fork a lock that another thread owned is never released. Only the folders below are compared.

Usage: check-locks.py [ROOT]
"""

import os
import re
import sys

import source_tree

PAGE = 'doc/threads-and-locks.md'
FOLDERS = ('itapi/', 'ual/', 'kal/', 'rnicpi/', 'vp/', 'doors/')
OUTSIDE = 'rnicpi/template/'  # a project to be copied, which is no part of the library

TYPES = r'(?:pthread_mutex_t|struct\s+vsw_lock|struct\s+vsw_role)'
STRUCT = re.compile(r'^struct\s+(\w+)\s*\{$(.*?)^\}', re.MULTILINE | re.DOTALL)
MEMBER = re.compile(r'^\s*(?:alignas\([^)]*\)\s*)?' + TYPES + r'\s+(\w+)\s*;', re.MULTILINE)
STATIC = re.compile(r'\bstatic\s+' + TYPES + r'\s+(\w+)\s*(?:;|=)')
FORK_HANDLER = re.compile(r'\bpthread_atfork\s*\(|^\w+_forked\(void\)$|^\w+_before_fork\(void\)$', re.MULTILINE)
# Owned only by a thread that owns kal_adapters.c:load_lock, too.
BEHIND_ANOTHER = ('ri_load.c:passed_lock',)
ENTRY = re.compile(r'`(\w+::\w+|\w+\.c:\w+)`')


def locks_of(path, text):
    """Every lock that one file declares: (its name in the table, line)."""
    code = source_tree.code_only(text)
    for struct in STRUCT.finditer(code):
        for member in MEMBER.finditer(struct.group(2)):
            line = code.count('\n', 0, struct.start(2) + member.start(1)) + 1
            yield f'{struct.group(1)}::{member.group(1)}', line
    for static in STATIC.finditer(code):
        line = code.count('\n', 0, static.start(1)) + 1
        yield f'{os.path.basename(path)}:{static.group(1)}', line


def entries_of(text):
    """The locks that the rows of the table name: name -> line."""
    entries = {}
    for number, line in enumerate(text.split('\n'), 1):
        if line.startswith('|'):
            entries.update({name: number for name in ENTRY.findall(line)})
    return entries


def check(root):
    """All complaints about a tree."""
    entries = entries_of(source_tree.read(root, PAGE))
    missing = dict(entries)
    for path in source_tree.files_of(root):
        if not path.startswith(FOLDERS) or path.startswith(OUTSIDE) or '/tests/' in path or not path.endswith(('.c', '.h')):
            continue
        text = source_tree.read(root, path)
        for name, line in locks_of(path, text):
            missing.pop(name, None)
            if '::' not in name and name not in BEHIND_ANOTHER and not FORK_HANDLER.search(text):
                yield f'{path}:{line}: {name} has no handler for forks in its file.'
            if name not in entries:
                yield f'{path}:{line}: the table in {PAGE} has no row for the lock {name}.'
    for name, line in missing.items():
        yield f'{PAGE}:{line}: no lock in the code is called {name}.'


if __name__ == '__main__':
    sys.exit(source_tree.report(check, sys.argv))
