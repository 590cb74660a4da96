# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""Counts what passed, failed and was skipped, over Meson's test logs and checks of other kinds.

The unit is the finest that a program reports: each line of TAP, or the program where it speaks no
TAP. A program that ends badly after good lines (a leak found at exit, say) is one failure more.
"""

import collections
import json
import re

GOOD = ('OK', 'SKIP', 'EXPECTEDFAIL')   # Meson's results of programs that did well
ALIKE = 3   # so many skipped cases of one program with one reason are named one by one

_TAP_LINE = re.compile(r'^(not )?ok\b(?:\s+\d+)?\s*(?:-\s+)?([^#]*)(?:#\s*(skip|todo)\S*\s*(.*))?$',
                       re.IGNORECASE)


class Tally:
    """Counters, and the names of what did not pass."""

    def __init__(self):
        self.passed = 0
        self.failed = []
        self.skipped = []
        self._alike = collections.defaultdict(list)     # (program, reason): its entries in skipped

    def add(self, name, good):
        if good:
            self.passed += 1
        else:
            self.failed.append(name)
        return good

    def skip(self, name, reason, program=None):
        self.skipped.append(f'{name}: {reason}' if reason else name)
        self._alike[program or name, reason].append(self.skipped[-1])

    def skip_lines(self):
        """Yields a line for each skipped case; many cases that one program skipped for one reason are one line."""
        for (program, reason), names in self._alike.items():
            if len(names) > ALIKE:
                yield f'{program}: {len(names)} cases: {reason}'
            else:
                yield from names

    def add_testlog(self, path, label):
        """Counts one testlog.json; returns the records of the programs that did not do well."""
        bad = []
        with open(path, encoding='utf-8') as file:
            for line in file:
                record = json.loads(line)
                if self._add_record(record, label):
                    bad.append(record)
        return bad

    def add_tap(self, name, text):
        """Counts the test lines of TAP that a program printed; returns how many there were."""
        cases = list(tap_cases(text))
        for case, result, reason in cases:
            if result == 'skip':
                self.skip(f'{name} {case}', reason, name)
            else:
                self.add(f'{name} {case}', result == 'ok')
        return len(cases)

    def _add_record(self, record, label):
        name = f'{label}: {record["name"]}'
        failed_before = len(self.failed)
        cases = self.add_tap(name, record.get('stdout', ''))
        if record['result'] == 'SKIP' and not cases:
            self.skip(name, skip_reason(record))
        elif record['result'] in GOOD:
            self.passed += not cases
        elif len(self.failed) == failed_before:
            self.failed.append(f'{name} ({record["result"].lower()}, status {record["returncode"]})')
        return len(self.failed) > failed_before

    def summary(self):
        return f'{self.passed} passed, {len(self.failed)} failed, {len(self.skipped)} skipped'


def read_testlog(path):
    """The records of a testlog.json by the names of their programs."""
    with open(path, encoding='utf-8') as file:
        return {record['name']: record for record in map(json.loads, file)}


def write_testlog(path, records):
    with open(path, 'w', encoding='utf-8') as file:
        file.writelines(json.dumps(record) + '\n' for record in records.values())


def text_of(record):
    """All that a program printed."""
    return record.get('stdout', '') + record.get('stderr', '')


def tap_cases(text):
    """(name, 'ok' | 'not ok' | 'skip', reason) of each test line; nothing if the text is not TAP.

    A plan of no tests, "1..0 # SKIP why", is one skipped case without a name.
    """
    if not re.search(r'^1\.\.\d+', text, re.MULTILINE):
        return
    plan = re.search(r'^1\.\.0\s*#\s*skip\S*\s*(.*)$', text, re.MULTILINE | re.IGNORECASE)
    if plan:
        yield '', 'skip', plan.group(1).strip()
    for line in text.split('\n'):
        match = _TAP_LINE.match(line)
        if match is None:
            continue
        bad, name, directive, reason = match.groups()
        name = name.strip()
        if directive and directive.lower() == 'skip':
            yield name, 'skip', reason.strip()
        else:
            yield name, 'not ok' if bad and not directive else 'ok', ''


def skip_reason(record):
    """The last line that a skipped program printed."""
    return (record.get('stdout', '') + '\n' + record.get('stderr', '')).strip().split('\n')[-1].strip()
