# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""The cases of it-certify as their sources state them: ids, rules, and which results of which entries they expect.

A case is a row with an id and a function (conformance/judge/certify/cases), or a test of itapi/tests whose program
it-certify runs. The preprocessor expands the macros of a file, but not those of its headers. What
the frame of all cases (cert_*.c) expects, with a paragraph in its text, is judged by each case. What a case does is read off its function and the functions and tables of the suite that the function
names. An expectation CERT_VERB(cert, STATUS, table->entry(...)) with a status in its place pairs that status with the
entry. Where the status is a variable, or the call stands outside of an expectation, each status counts that these
functions and tables name elsewhere.
"""

import collections
import os
import re
import subprocess

import provider_tables
import source_tree

SUITE = 'conformance/judge/certify/'
TESTS = 'itapi/tests/'
PROGRAMS = 'conformance/judge/certify/run/certify_table.c'

# Members of struct ri_provider, with the tables behind them.
MEMBERS = ('ah', 'cm', 'cq', 'device', 'fast', 'llp', 'mem', 'pd', 'peer', 'qp', 'srq', 'user')

# `rule` is the text of the row and `settles` its attributes; `pairs` are (table, entry, status), with '' as the status of
# every call.
Case = collections.namedtuple('Case', 'id rule settles pairs')

_ROW = re.compile(r'\.id = ((?:"[^"]*"\s*)+),(.*?)(?=\.id = |\Z)', re.DOTALL)
_RULE = re.compile(r'\.rule =((?:\s*"[^"]*")+)')
_SETTLES = re.compile(r'\.settles =((?:\s*"[^"]*")+)')
_RUN = re.compile(r'\.run = (\w+)')
_SAID = re.compile(r'"[^"\n]*(\[RI [\d.]+\])[^"\n]*"')
_INCLUDE = re.compile(r'^#\s*include.*$', re.MULTILINE)
_FUNCTION = re.compile(r'(\w+)\s*\(')
_TABLE = re.compile(r'(\w+)\s*(?:\[[^=]*)?=\s*$')
_EXPECTED = re.compile(r'\bCERT_(?:VERB|FAST)\(')
_CALL = re.compile(r'\b(%s)(?:->|\.)(\w+)\(' % '|'.join(MEMBERS))
_TEST = re.compile(r'\bpair_add\w*\([^";]*"([^"]+)",\s*(\w+)\)')
_COMMENTED = re.compile(r'/\*((?:(?!\*/).)*)\*/\s*static void\s+(\w+)\(', re.DOTALL)
_PROGRAM = re.compile(r'^\t\{"([\w-]+)",\s*"[^"]*",\s*"([^"]*)",', re.MULTILINE)
_SETTLING = re.compile(r'^\t\{"([\w/-]+)",\s*"([\w ]+)"\},', re.MULTILINE)


def arguments_of(text, start):
    """The arguments of a call whose opening bracket is before `start`, and where it ends."""
    depth, parts, begin = 1, [], start
    for at in range(start, len(text)):
        if text[at] in '([{':
            depth += 1
        elif text[at] in ')]}':
            depth -= 1
        if depth == 0 or (depth == 1 and text[at] == ','):
            parts.append(text[begin:at])
            begin = at + 1
        if depth == 0:
            return parts, at
    return parts, len(text)


def definitions_of(text):
    """The functions and tables of a file after the preprocessor: name and text, by braces at the outermost level."""
    depth, head, begin = 0, 0, 0
    for match in re.finditer(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'|[{};]', text):
        token = match.group(0)
        if token == '{':
            begin = match.start() if depth == 0 else begin
            depth += 1
        elif token == '}':
            depth -= 1
            before = text[head:begin].rstrip()
            if depth == 0:
                found = (_FUNCTION if before.endswith(')') else _TABLE).search(before)
                if found:
                    yield found.group(1), text[head:match.end()]
                if before.endswith(')'):
                    head = match.end()
        elif token == ';' and depth == 0:
            head = match.end()


def expanded(root, path):
    """A file with its own macros expanded."""
    text = _INCLUDE.sub('', source_tree.read(root, path))
    return subprocess.run(['cc', '-E', '-P', '-undef', '-x', 'c', '-'], input=text, text=True, check=True,
                          stdout=subprocess.PIPE).stdout


def joined(literals):
    """The text of string literals that stand beside each other."""
    return ''.join(re.findall(r'"([^"]*)"', literals))


def calls_in(text):
    return {(f'ri_{table}_ops', entry) for table, entry in _CALL.findall(text)}


class Body:
    """A function or table: the names in it, the pairs (entry, status) that it states, and the calls
    whose status is a variable."""

    def __init__(self, text):
        self.names = set(re.findall(r'\b[a-z]\w*\b', text))
        self.pairs, rest, at = set(), '', 0
        for match in _EXPECTED.finditer(text):
            parts, end = arguments_of(text, match.end())
            statuses = provider_tables.STATUS.findall(parts[1]) if len(parts) > 2 else []
            calls = calls_in(','.join(parts[2:]))
            if statuses and calls:
                self.pairs |= {(*call, status) for call in calls for status in statuses}
                rest += text[at:match.start()]
                at = end
        rest += text[at:]
        self.open_calls = calls_in(rest)
        self.open_statuses = set(provider_tables.STATUS.findall(rest))


class Sources:
    """The functions and tables of the suite: for each file its own, and those of headers, which all
    files can name."""

    def __init__(self, root):
        self.files, self.all, self.rows, self.cited = {}, {}, [], {}
        for path in source_tree.files_of(root):
            if path.startswith(SUITE) and path.endswith(('.c', '.h')) and '/run/' not in path:
                code = expanded(root, path)
                if '/cases/' not in path:
                    self.cited[path] = _SAID.findall(code)
                texts = dict(definitions_of(code))
                self.rows += [(path, *row) for row in _ROW.findall(texts.pop('cases', ''))]
                self.files[path] = {name: Body(text) for name, text in texts.items()}
                if '/cases/' not in path or path.endswith('.h'):
                    self.all.update(self.files[path])

    def pairs(self, path, name):
        """The pairs (entry, status) that a function states, itself or through functions and tables
        that it names."""
        bodies, todo, known = [], [name], set()
        while todo:
            one = todo.pop()
            body = self.files[path].get(one) or self.all.get(one)
            if one not in known and body is not None:
                known.add(one)
                bodies.append(body)
                todo += body.names
        pairs = set().union(*(body.pairs for body in bodies))
        calls = set().union(*(body.open_calls for body in bodies))
        statuses = set().union(*(body.open_statuses for body in bodies)) | {''}
        pairs |= {(*call, status) for call in calls for status in statuses}
        return pairs | {(table, entry, '') for table, entry, _ in pairs}


def cases_of_suite(root):
    """The rows of conformance/judge/certify/cases."""
    sources = Sources(root)
    for path, name, row in sources.rows:
        rule, settles = (joined(' '.join(form.findall(row))) for form in (_RULE, _SETTLES))
        yield Case(joined(name), rule, settles.split(), sources.pairs(path, _RUN.search(row).group(1)))
    for path, texts in sorted(sources.cited.items()):
        yield Case(f'each case, by {os.path.basename(path)}', ' '.join(sorted(texts)), [], set())


def cases_of_programs(root):
    """The tests that it-certify runs as programs. Their rules come from the row of their program,
    from rulings in their names, and from citations in the comments above their functions."""
    table = source_tree.read(root, PROGRAMS)
    settling = dict(_SETTLING.findall(table))
    for program, rule in _PROGRAM.findall(table):
        text = source_tree.read(root, f'{TESTS}test-itapi-{program}.c')
        comments = {name: comment for comment, name in _COMMENTED.findall(text)}
        for name, function in _TEST.findall(text):
            ruled = [f'R-{number}' for number in re.findall(r'(?<![\w.])r-(\d\d)(?!\d)', name)]
            yield Case('api.' + name.replace('/', '.'), ' '.join([rule, *ruled, comments.get(function, '')]),
                       settling.get(name, '').split(), set())


def cases_of(root):
    """Every case, sorted by its id."""
    return sorted([*cases_of_suite(root), *cases_of_programs(root)], key=lambda case: case.id)
