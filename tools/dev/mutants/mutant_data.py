# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""Mutants as data: reads the *.toml of this folder, and finds each mutant's place in the sources.

One table of TOML is one mutant:

    [vsw-queue-full]                            its name, unique in the tree
    class = 'border'                            one of CLASSES
    at = 'vp/common/vsw_queue.c:vsw_queue_push' file and function
    old = 'used >= q->depth'                    text that occurs once in the function
    new = 'used > q->depth'                     what the mutant has instead
    tests = ['test-vsw-queue:/vsw/queue/full']  tests of Meson, after the colon the case (-p of GTest)

Text that ends with ';' or '}' is statements, else an expression; `new` of statements may be empty.
White space in `old` stands for any white space, so reformatting is harmless; a function that moved
to another file of the same folder is found there.

`equivalent = 'why'` instead of tests: nobody can observe the mutant, so no test can catch it.
`survives = 'why'` besides tests: observable, but no test catches it yet.
`caught = 'crash'` or 'hang' besides tests: a test fails, but does not name the fault.
"""

import dataclasses
import glob
import os
import re
import sys
import tomllib
import zlib

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
import mutant_expression  # noqa: E402
import source_tree  # noqa: E402  (the folder above is no package)

FOLDER = 'tools/dev/mutants'

CLASSES = {
    'border': 'a check at its border value, also where a check above hides it',
    'check': 'a check of an argument, a right, a state or a length left out',
    'concurrency': 'a hand-over between threads, a lock, a retry flag',
    'error-path': 'a leak or a half-made object where something failed',
    'fork': 'what a forked child inherits',
    'memory-order': 'an atomic access with too weak an order',
    'peer-limit': 'a limit on what a peer may cost or ask',
    'provider': 'an answer of a provider that is believed without a check',
    'state': 'a wrong or missing step of a state machine',
    'value': 'a wrong value, conversion, name or count',
    'wire': 'a field of a frame or a message, read or written',
    'zero-length': 'a transfer, frame or list of no octets',
}

_NAME = re.compile(r'[a-z0-9]+(?:-[a-z0-9]+)+')
_KEYS = {'class', 'at', 'old', 'new', 'tests', 'equivalent', 'survives', 'caught'}

# Tests see these only if threads happen to meet.
CHANCE = ('concurrency', 'memory-order')


class Stale(Exception):
    """The data of a mutant does not fit the tree."""


@dataclasses.dataclass
class Mutant:
    """One seeded defect. Its number, made from the name, selects it at run time."""

    name: str
    kind: str
    path: str
    function: str
    old: str
    new: str
    tests: list
    equivalent: str = ''
    survives: str = ''
    caught: str = 'named'

    @property
    def number(self):
        return zlib.crc32(self.name.encode()) & 0x7fffffff

    @property
    def layer(self):
        """The folder of the source, two levels deep for providers."""
        parts = self.path.split('/')
        return '/'.join(parts[:2]) if parts[0] == 'vp' else parts[0]

    @property
    def is_certain(self):
        """Whether its tests name it each time."""
        return not self.survives and self.caught == 'named' and self.kind not in CHANCE

    @property
    def is_statement(self):
        return self.old.rstrip().endswith((';', '}'))


def malformed(text, statements):
    """Why a text cannot be put in place of code; empty if it can."""
    code = source_tree.code_only(text).strip()
    for opening, closing in ('()', '[]', '{}'):
        if code.count(opening) != code.count(closing):
            return f'has unequal numbers of {opening} and {closing}'
    if statements:
        return '' if not code or code.endswith((';', '}')) else 'is not a statement'
    if code.count('?') != code.count(':'):
        return 'is a part of a choice by ? and :'
    if not code or re.match(r'[=|^/%<>?:,.]|&&', code) or re.search(r'[-+*/%&|^=<>?:,.]$', code):
        return 'is not an expression'
    return ''


def read_mutant(name, table):
    """Makes a mutant from its table; raises Stale, with what is wrong with the data."""
    unknown = set(table) - _KEYS
    if unknown:
        raise Stale(f'{name}: unknown key {", ".join(sorted(unknown))}')
    missing = {'class', 'at', 'old', 'new'} - set(table)
    if missing:
        raise Stale(f'{name}: {", ".join(sorted(missing))} missing')
    if not _NAME.fullmatch(name):
        raise Stale(f'{name}: a name is small letters and digits with hyphens between')
    if table['class'] not in CLASSES:
        raise Stale(f'{name}: class {table["class"]} is none of {", ".join(CLASSES)}')
    path, colon, function = table['at'].partition(':')
    if not colon or not function:
        raise Stale(f'{name}: at = {table["at"]!r} is not FILE:FUNCTION')
    if table['old'].split() == table['new'].split():
        raise Stale(f'{name}: old and new are the same')
    for key in ('old', 'new'):
        wrong = malformed(table[key], table['old'].rstrip().endswith((';', '}')))
        if wrong:
            raise Stale(f'{name}: {key} = {table[key]!r} {wrong}')
    if bool(table.get('tests')) == bool(table.get('equivalent')):
        raise Stale(f'{name}: needs either tests or a reason why it is equivalent')
    if table.get('caught', 'crash') not in ('crash', 'hang'):
        raise Stale(f'{name}: caught is crash or hang, or left out if a test names the fault')
    return Mutant(name, table['class'], path, function, table['old'], table['new'],
                  table.get('tests', []), table.get('equivalent', ''), table.get('survives', ''),
                  table.get('caught', 'named'))


def read_file(path):
    """The mutants of one file, and the complaints about the others."""
    mutants, complaints = [], []
    try:
        with open(path, 'rb') as file:
            tables = tomllib.load(file)
    except tomllib.TOMLDecodeError as error:
        return [], [f'{path}: {error}']
    for name, table in tables.items():
        try:
            mutants.append(read_mutant(name, table))
        except Stale as error:
            complaints.append(f'{os.path.basename(path)}: {error}')
    return mutants, complaints


def read_all(root):
    """Every mutant of a tree by its name, and the complaints about the data."""
    by_name, complaints, numbers = {}, [], {}
    for path in sorted(glob.glob(os.path.join(root, FOLDER, '*.toml'))):
        mutants, wrong = read_file(path)
        complaints += wrong
        for mutant in mutants:
            if mutant.number in numbers:
                complaints.append(f'{os.path.basename(path)}: {mutant.name}: name or number is '
                                  f'taken by {numbers[mutant.number]}')
                continue
            numbers[mutant.number] = mutant.name
            by_name[mutant.name] = mutant
    return by_name, complaints


def pattern_of(text):
    """A regular expression for C text, in which any white space matches any other."""
    words = r'\s+'.join(re.escape(word) for word in text.split())
    before = r'(?<!\w)' if re.match(r'\w', text.strip()) else ''
    after = r'(?!\w)' if re.search(r'\w$', text.strip()) else ''
    return re.compile(before + words + after)


def span_of_function(text, name):
    """First and last offset of a function in a file's text, or None."""
    code = source_tree.code_only(text).split('\n')
    for found, first, last, _, _ in source_tree.functions_of(code):
        if found == name:
            lines = text.split('\n')
            return len('\n'.join(lines[:first - 1])), len('\n'.join(lines[:last]))
    return None


class Sources:
    """The C files of a tree, read once; finds the places of mutants."""

    def __init__(self, root):
        self.root = root
        self.texts = {}

    def text(self, path):
        if path not in self.texts:
            full = os.path.join(self.root, path)
            self.texts[path] = source_tree.read(self.root, path) if os.path.isfile(full) else ''
        return self.texts[path]

    def files_around(self, path):
        """The file, then the other C files of its folder."""
        folder = os.path.dirname(path)
        others = glob.glob(os.path.join(self.root, folder, '*.[ch]'))
        return [path] + sorted(os.path.relpath(other, self.root) for other in others
                               if os.path.relpath(other, self.root) != path)

    def place(self, mutant):
        """(path, first, last offset) of a mutant's old text; Stale if it is not there exactly once."""
        for path in self.files_around(mutant.path):
            span = span_of_function(self.text(path), mutant.function)
            if span is not None:
                break
        else:
            raise Stale(f'{mutant.name}: no function {mutant.function} in '
                        f'{os.path.dirname(mutant.path)}')
        found = list(pattern_of(mutant.old).finditer(self.text(path), *span))
        if len(found) != 1:
            raise Stale(f'{mutant.name}: {path}: {mutant.function} has {mutant.old!r} '
                        f'{len(found)} times instead of once')
        start, end = found[0].span()
        if mutant.old.startswith('if ') and mutant.is_statement and \
                re.match(r'\s*else\b', self.text(path)[end:span[1]]):
            raise Stale(f'{mutant.name}: {path}: {mutant.old!r} is followed by its else, which belongs to it')
        if not mutant.is_statement:
            borders = (span[0], start), (start, end), (end, span[1])
            divided = mutant_expression.divides(
                *(source_tree.code_only(self.text(path)[first:last]) for first, last in borders))
            if divided:
                raise Stale(f'{mutant.name}: {path}: {mutant.old!r} {divided}')
        return path, start, end


def check(root):
    """The complaints about the data of a tree."""
    mutants, complaints = read_all(root)
    sources = Sources(root)
    for mutant in mutants.values():
        try:
            sources.place(mutant)
        except Stale as error:
            complaints.append(str(error))
    try:
        rewrite_all(root, mutants.values(), skip_stale=True)
    except Stale as error:
        complaints.append(str(error))
    return complaints


def wrap(mutant, text):
    """C that is the old text unless the mutant is selected."""
    if mutant.is_statement:
        return f'{{ if (itapi_mutant({mutant.number})) {{ {mutant.new} }} else {{ {text} }} }}'
    return f'(itapi_mutant({mutant.number}) ? ({mutant.new}) : ({text}))'


def rewrite(text, edits, first=0, last=None):
    """The text from `first` to `last` with edits, (first, last, mutant), which may be nested."""
    last = len(text) if last is None else last
    edits = sorted(edits, key=lambda edit: (edit[0], -edit[1], edit[2].name))
    parts, position = [], first
    while edits:
        start, end, _ = edits[0]
        group = [edit for edit in edits if edit[0] < end]
        edits = edits[len(group):]
        same = [edit for edit in group if edit[:2] == (start, end)]
        for edit in group:
            if edit[1] > end:
                raise Stale(f'{same[0][2].name} and {edit[2].name} overlap; let one contain the other')
        inner = rewrite(text, group[len(same):], start, end)
        for edit in same:
            inner = wrap(edit[2], inner)
        parts += [text[position:start], inner]
        position = end
    return ''.join(parts) + text[position:last]


def rewrite_all(root, mutants, header='mutant.h', skip_stale=False):
    """The new text of every file that has mutants, by its path; `header` selects the mutant at run
    time."""
    sources, by_path = Sources(root), {}
    for mutant in mutants:
        try:
            path, start, end = sources.place(mutant)
        except Stale:
            if skip_stale:
                continue
            raise
        by_path.setdefault(path, []).append((start, end, mutant))
    return {path: f'#include "{header}"\n#line 1\n' + rewrite(sources.text(path), edits)
            for path, edits in by_path.items()}
