# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""Functions that the checks of the sources share: the list of files, and C without its comments."""

import os
import re
import subprocess
import sys

_COMMENT_OR_LITERAL = re.compile(
    r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.DOTALL)

_FUNCTION_NAME = re.compile(r'^(?!(?:struct|union|enum|typedef|static|extern)\b)([A-Za-z_]\w*)\(')


def files_of(root):
    """Paths, relative to root, of every file that is or would be in the repository, sorted.

    A symbolic link is not listed: what it leads to is.
    """
    listed = _listed_by_git(root)
    if listed is None:
        listed = _walked(root)
    return sorted(path for path in listed if _is_plain_file(os.path.join(root, path)))


def _is_plain_file(path):
    return os.path.isfile(path) and not os.path.islink(path)


def _listed_by_git(root):
    if not os.path.exists(os.path.join(root, '.git')):
        return None
    command = ['git', '-C', root, 'ls-files', '-z', '-co', '--exclude-standard']
    try:
        output = subprocess.run(command, check=True, capture_output=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return None
    return [name for name in output.decode().split('\0') if name]


def _walked(root):
    """The files of the tree if there is no git: all but build folders and hidden caches."""
    for folder, subfolders, names in os.walk(root):
        subfolders[:] = [s for s in subfolders
                         if s not in ('.git', '.cache', '__pycache__') and not s.startswith('build')]
        for name in names:
            yield os.path.relpath(os.path.join(folder, name), root)


def read(root, path):
    """The text of a file; bytes that are no UTF-8 survive as surrogates."""
    with open(os.path.join(root, path), encoding='utf-8', errors='surrogateescape') as file:
        return file.read()


def is_binary(root, path):
    with open(os.path.join(root, path), 'rb') as file:
        return b'\0' in file.read(4096)


def code_only(text, keep_strings=False):
    """C with its comments (and the contents of its literals) blanked; lines keep their numbers."""
    def blank(match):
        token = match.group(0)
        if token[0] in '"\'':
            return token if keep_strings else token[0] + token[0]
        return '\n' * token.count('\n') or ' '
    return _COMMENT_OR_LITERAL.sub(blank, text)


def functions_of(code):
    """Every function defined: (name, first line, last line, text before its body, line of its brace)."""
    name = start = None
    for number, line in enumerate(code, 1):
        match = _FUNCTION_NAME.match(line)
        if match and not line.rstrip().endswith(';'):
            name, start = match.group(1), number
        elif line.startswith('{') and name is not None:
            head = ' '.join(code[start - 1:number - 1])
            body = number
        elif line.startswith('}') and name is not None:
            yield name, start, number, head, body
            name = None
        elif line.rstrip().endswith(';') and name is not None and not line.startswith(('\t', ' ')):
            name = None


def report(check, arguments):
    """The exit status of a check that is a program: prints each of its complaints about the tree.

    The tree is the first argument, or the one that this file is in. `check(root)` yields the complaints.
    """
    root = arguments[1] if len(arguments) > 1 else os.path.join(os.path.dirname(__file__), '../..')
    complaints = list(check(root))
    for text in complaints:
        print(text, file=sys.stderr)
    return 1 if complaints else 0
