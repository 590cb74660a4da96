#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""Turns the house rules into failures (doc/contributing.md has them in words).

Every complaint is one line, path:line: what is wrong. Functions are found by their shape, which
clang-format guarantees: the name at the start of a line, the braces of the body alone in column 0.

Usage: check-source.py [ROOT]
"""

import fnmatch
import os
import re
import shutil
import subprocess
import sys

import source_tree

MAX_FILE_LINES = 1000
MAX_FUNCTION_LINES = 80
MAX_NESTING = 4
MAX_PARAMETERS = 6
MAX_README_LINES = 25

# Data and texts that are not ours to mark or to measure.
DATA = ('*.json', '*.tsv', '*.pcap', '*.pcapng', '*.hex', '*.txt', '*.svg', '*.png')
UNMARKED = DATA + ('LICENSE', 'LICENSES/*', '.gitignore', '.gitattributes', '.mailmap',
                   'debian/changelog', 'debian/source/format', 'debian/*.doc-base')
LONG_FILES = ('itapi/it_api.h', 'doc/statuses.md', 'LICENSES/*')

# Fast path, wire formats and installed headers know nothing of GLib, not even indirectly.
GLIB_FREE = ('*_dto.c', '*_dto.h', '*_post.c', '*_engine.c', '*_fast.h', '*/mpa_*', '*/ddp_*',
             '*/rdmap_*', '*/it_api.h', '*/it_ext.h', 'rnicpi/rnicpi*.h',
             'rnicpi/support/*', 'ual/session/*')

GLIB_USED = re.compile(r'<(?:glib|gio|json-glib)\b|\bg_[a-z]\w*\s*\(|'
                       r'\bg(?:u?int\d*|boolean|u?char|s?size|u?long|pointer)\b')

# Below the tools each allocation can fail, and GLib's allocating functions end the process then.
# The functions listed here do not allocate. strerror() may allocate, too.
REQUEST_PATHS = ('itapi/*', 'ual/*', 'kal/*', 'rnicpi/*', 'vp/*')
# The daemon is a program: if memory ends, it ends, and its clients go on and claim what they have when it is back.
PROGRAMS = ('kal/daemon/*',)
GLIB_CALLED = re.compile(r'\b(g_[a-z]\w*)\s*\(|\b(strerror(?:_r|_l)?)\s*\(')
GLIB_WITHOUT_MEMORY = ('g_getenv', 'g_steal_pointer', 'g_strlcpy', 'g_queue_init', 'g_queue_push_tail_link', 'g_queue_unlink')

# A descriptor of the library never has the number of stderr: rnicpi/support/ri_fd.h creates them.
DESCRIPTOR_MADE = re.compile(r'(?<![\w>.])(socket|socketpair|accept4?|eventfd|epoll_create1?|timerfd_create|signalfd|'
                             r'inotify_init1?|memfd_create|pidfd_open|pipe2?|dup[23]?|open(?:at)?|fopen|opendir)\s*\(')

# Functions that may have more parameters: those of the standard, and ri_qp_ops::create, which
# names every object that a queue pair uses.
STANDARD_NAMES = re.compile(r'^(?:(it|itx)_|(?:\w+_)?qp_create$)')

# Hosts hand lines of the log on; a provider from outside has only the entry of the host.
LOG_WRITERS = ['rnicpi/support/ri_log.c', 'conformance/judge/certify/cert_host.c', 'rnicpi/template/*', 'doc/*']
# Only these files read the environment, by the rows of a table of settings (doc/configuration.md).
# Tests, their helpers and the judges of third-party providers may read it, too.
READS_ENVIRONMENT = re.compile(r'\b(?:secure_|g_)?getenv\s*\(|\benviron\b')
ENVIRONMENT_READERS = ('rnicpi/support/ri_setting.h', 'kal/config/kal_settings_list.c', '*/tests/*', 'tools/dev/*',
                       'conformance/*', 'doc/*')

LICENCE = 'SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only'
AUTHORS = 'SPDX-FileCopyrightText: the itapi authors'

# Spelt so that this file does not find itself.
UNFINISHED = re.compile(r'\b(TO' r'DO|FIX' r'ME|XX' r'X)\b')

BLOCK_OPENS = re.compile(r'(?:\)\s+|\belse\s+|\bdo\s+|:\s*|^\s*)\{\s*\\?$')


def matches(path, patterns):
    return any(fnmatch.fnmatch(path, pattern) for pattern in patterns)


def is_c(path):
    return path.endswith(('.c', '.h'))


def check_marks(path, lines):
    """The first lines of each file name the authors and the licence."""
    if matches(path, UNMARKED):
        return
    head = '\n'.join(lines[:6])
    for mark in (LICENCE, AUTHORS):
        if mark not in head:
            yield f'{path}:1: the first lines must have "{mark}"'


def check_text(path, lines):
    """Text is ASCII, without white space at the end of a line, ends with a newline, and has no mark
    of unfinished work."""
    if matches(path, DATA) or path.startswith('LICENSES/'):
        return
    for number, line in enumerate(lines, 1):
        if not line.isascii():
            yield f'{path}:{number}: a character that is not ASCII'
        if line != line.rstrip():
            yield f'{path}:{number}: white space at the end of the line'
        if UNFINISHED.search(line):
            yield f'{path}:{number}: a mark of unfinished work; finish it or write an issue'


def check_length(path, lines):
    if path.endswith('/README.md'):
        count = len([line for line in lines if 'SPDX-' not in line])
        if count > MAX_README_LINES + 1:
            yield f'{path}:1: {count} lines; the README of a folder has at most {MAX_README_LINES}'
    elif len(lines) > MAX_FILE_LINES and not matches(path, DATA + LONG_FILES):
        yield f'{path}:{MAX_FILE_LINES}: {len(lines)} lines; at most {MAX_FILE_LINES}, one job a file'


def check_glib_free(path, code):
    if not matches(path, GLIB_FREE) or '/tests/' in path:
        return
    for number, line in enumerate(code, 1):
        found = GLIB_USED.search(line)
        if found:
            yield f'{path}:{number}: {found.group(0)!r} in a file that must do without GLib'


def check_allocation(path, code):
    """No function on behalf of a request may end the process when memory is short."""
    if not matches(path, REQUEST_PATHS) or matches(path, PROGRAMS) or '/tests/' in path:
        return
    for number, line in enumerate(code, 1):
        for glib, error_text in GLIB_CALLED.findall(line):
            if error_text:
                yield f'{path}:{number}: {error_text} may allocate memory; ri_errno_text does not'
            elif glib not in GLIB_WITHOUT_MEMORY and not matches(path, GLIB_FREE):
                yield f'{path}:{number}: {glib} may end the process when memory is short'


def check_descriptors(path, code):
    """Descriptors must not be made by calls that can return 0 to 2: if stderr is closed, a
    connection would get number 2, and what any code writes to stderr would go into its stream."""
    if not matches(path, REQUEST_PATHS) or '/tests/' in path or path == 'rnicpi/support/ri_fd.h':
        return
    for number, line in enumerate(code, 1):
        for call in DESCRIPTOR_MADE.findall(line):
            yield f'{path}:{number}: {call} may return a number below 3; rnicpi/support/ri_fd.h has one that does not'


def count_parameters(head):
    """Returns the number of parameters of a function, given its name and parenthesis."""
    inside = head[head.index('(') + 1:head.rindex(')')].strip()
    if inside in ('', 'void'):
        return 0
    depth = count = 0
    for character in inside:
        depth += (character in '([') - (character in ')]')
        count += character == ',' and depth == 0
    return count + 1


def opens_block(line, position, stack):
    """Whether the brace at a position starts statements, and not the values of an initialiser."""
    in_values = bool(stack) and not stack[-1]
    at_end = line[position + 1:].strip(' \\') == ''
    return not in_values and at_end and BLOCK_OPENS.search(line) is not None


def deepest_block(body):
    """The deepest nesting of blocks in a body, the body itself not counted, and its line."""
    stack, deepest, where = [], 0, 0
    for number, line in enumerate(body):
        for position, character in enumerate(line):
            if character == '{':
                stack.append(opens_block(line, position, stack))
                if sum(stack) - 1 > deepest:
                    deepest, where = sum(stack) - 1, number
            elif character == '}' and stack:
                stack.pop()
    return deepest, where


def check_functions(path, code):
    for name, first, last, head, body in source_tree.functions_of(code):
        length = last - first + 1
        if length > MAX_FUNCTION_LINES:
            yield f'{path}:{first}: {name} has {length} lines; at most {MAX_FUNCTION_LINES}'
        depth, where = deepest_block(code[body - 1:last])
        if depth > MAX_NESTING:
            yield f'{path}:{body + where}: {name} nests {depth} deep; at most {MAX_NESTING}'
        parameters = count_parameters(head)
        if parameters > MAX_PARAMETERS and not STANDARD_NAMES.match(name):
            yield (f'{path}:{first}: {name} takes {parameters} parameters; at most '
                   f'{MAX_PARAMETERS}, else a struct')


def check_goto(path, code):
    for number, line in enumerate(code, 1):
        # The labels of an asm statement are reached from a fault handler (vp/common/vsw_guard.h).
        if re.search(r'\bgoto\b', re.sub(r'__asm__ volatile goto\b', '', line)):
            yield f'{path}:{number}: goto; small functions and g_autoptr unwind'


def check_environment(path, code):
    if matches(path, ENVIRONMENT_READERS):
        return
    for number, line in enumerate(code, 1):
        if READS_ENVIRONMENT.search(line):
            yield (f'{path}:{number}: reads the environment; a setting is a row of a table, read with '
                   'rnicpi/support/ri_setting.h')


def check_log(path, code):
    """Lines of the log are written through rnicpi/support/ri_log.h, which gives them one form;
    hosts pass lines on."""
    if '/tests/' in path or matches(path, LOG_WRITERS):
        return
    for number, line in enumerate(code, 1):
        if '->log(' in line:
            yield f'{path}:{number}: writes to the log with a subject of its own; ri_log of rnicpi/support/ri_log.h has one form'


def check_file(root, path):
    """The complaints about one file."""
    text = source_tree.read(root, path)
    lines = text.split('\n')
    if text and not text.endswith('\n') and not matches(path, DATA):
        yield f'{path}:{len(lines)}: no newline at the end of the file'
    yield from check_marks(path, lines)
    yield from check_text(path, lines)
    yield from check_length(path, lines[:-1])
    if is_c(path):
        code = source_tree.code_only(text).split('\n')
        yield from check_glib_free(path, code)
        yield from check_allocation(path, code)
        yield from check_descriptors(path, code)
        yield from check_goto(path, code)
        yield from check_environment(path, code)
        yield from check_log(path, code)
        yield from check_functions(path, code)


def check_format(root, paths):
    """Compares files with the output of clang-format 14. Other versions format differently, so with
    them nothing is checked."""
    tool = shutil.which('clang-format-14') or shutil.which('clang-format')
    if tool is None or not paths or not os.path.exists(os.path.join(root, '.clang-format')):
        return
    version = subprocess.run([tool, '--version'], capture_output=True, text=True, check=False).stdout
    if ' 14.' not in version:
        return
    result = subprocess.run([tool, '--dry-run', '--Werror'] + paths, cwd=root,
                            capture_output=True, text=True, check=False)
    seen = set()
    for match in re.finditer(r'^([^\s:]+):(\d+):\d+: error:', result.stderr, re.MULTILINE):
        if match.group(1) not in seen:
            seen.add(match.group(1))
            yield f'{match.group(1)}:{match.group(2)}: not in our format; run clang-format -i on it'
    if result.returncode != 0 and not seen:
        yield f'clang-format failed: {result.stderr.strip()}'


def check(root):
    """All complaints about a tree."""
    paths = [p for p in source_tree.files_of(root) if not source_tree.is_binary(root, p)]
    for path in paths:
        yield from check_file(root, path)
    yield from check_format(root, [path for path in paths if is_c(path)])


if __name__ == '__main__':
    sys.exit(source_tree.report(check, sys.argv))
