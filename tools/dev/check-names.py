#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""Every function that a comment or a document names exists.

Names are words before "()", and words that begin with a prefix of the tree, such as vsw_wq_take. A name exists if it occurs
outside of comments: in C, in a script, in a build file, or in the code that a document quotes. Each complaint is one line,
path:line: what is wrong.

Usage: check-names.py [ROOT]
"""

import re
import sys

import source_tree

PREFIXES = ('it', 'itx', 'ual', 'kal', 'ri', 'vsw', 'viw', 'vem', 'vib', 'vro', 'vrc', 'roce', 'session', 'door', 'mpa', 'ddp', 'rdmap', 'cert',
            'df', 'tool', 'lab', 'fuzz', 'mc')
C = ('.c', '.h', '.cc')
DOCUMENTS = ('.md',)
COMMENT = re.compile(r'/\*.*?\*/|//[^\n]*', re.DOTALL)
QUOTED = re.compile(r'^( *)```.*?^\1```|^(?: {4}|\t)[^\n]*', re.DOTALL | re.MULTILINE)
WORD = re.compile(r'[A-Za-z_]\w+')
# A word that goes on with * or . is a group of names, or a file.
CALLED = re.compile(r'\b([a-z][a-z0-9_]*_[a-z0-9_]*[a-z0-9])(?:(\(\))|\b(?![*.]\w?|\(\d))')
# Functions of other libraries that nothing in the tree calls.
FOREIGN = {'verbs_get_ctx_op'}
SKIPPED = ('LICENSES/', 'tools/dev/tests/test-dev-names.py')    # the latter's trees are made up


def prose_of(path, text):
    """The parts of a file that people read: (position, text)."""
    if path.endswith(DOCUMENTS):
        return [(0, QUOTED.sub(lambda match: re.sub(r'[^\n]', ' ', match.group(0)), text))]
    if path.endswith(C):
        return [(match.start(), match.group(0)) for match in COMMENT.finditer(text)]
    return []


def code_of(path, text):
    """The rest."""
    if path.endswith(DOCUMENTS):
        return ' '.join(match.group(0) for match in QUOTED.finditer(text))
    return COMMENT.sub(' ', text) if path.endswith(C) else text


def check(root):
    texts = {path: source_tree.read(root, path) for path in source_tree.files_of(root)
             if not path.startswith(SKIPPED) and not source_tree.is_binary(root, path)}
    known = set(FOREIGN)
    for path, text in texts.items():
        known.update(WORD.findall(code_of(path, text)))
    for path, text in texts.items():
        for start, prose in prose_of(path, text):
            for match in CALLED.finditer(prose):
                name, call = match.groups()
                if name not in known and (call or name.split('_')[0] in PREFIXES):
                    line = text.count('\n', 0, start + match.start()) + 1
                    yield f'{path}:{line}: nothing has the name {name}'


if __name__ == '__main__':
    sys.exit(source_tree.report(check, sys.argv))
