#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""Certifies the template provider with one more claim, as a vendor adds it to a copy: each file of
claims/ contains one claim as a change.

A change is a unified diff of the template's files. Lines in front of it say what it is for:
"claims: A B" has the attributes that a case must prove, "told: A B" those that the change sets
but that no case can prove here, each with the reason in the text behind it, and "after: X" names
changes that are applied first. No case of the levels border, verbs, api and model may fail, and
none may wait for something that the profile excludes.

Usage: test_claims.py --certify PROGRAM --cc COMPILER [--level L]... [--case GLOB]... [--part-run] [--slow SECONDS]
       [--keep FOLDER] [--part N/OF] [NAME...]
With --part-run, a claim that some cases have not reached is no fault.
Prints TAP, one test for each change; all changes without a NAME.
"""
import argparse
import json
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[3]
TEMPLATE = ROOT / 'rnicpi/template'
CLAIMS = HERE / 'claims'
LEVELS = ('border', 'verbs', 'api', 'model')


class Change:
    """One file of claims/."""

    def __init__(self, name):
        self.name = name
        self.lines = (CLAIMS / f'{name}.diff').read_text('ascii').split('\n')
        head = '\n'.join(self.lines[:next(i for i, line in enumerate(self.lines) if line.startswith('--- '))])
        self.claims, self.told, self.after = (' '.join(re.findall(rf'^{word}: ([\w ]+)', head, re.M)).split() for word in ('claims', 'told', 'after'))

    def hunks(self):
        """For each part of the change: the file, the lines before and the lines after. An empty
        line belongs to both."""
        path, before, after = None, None, None
        for line in self.lines:
            if line.startswith('--- ') or line.startswith('@@'):
                if before or after:
                    yield path, before, after
                before, after = [], []
            elif line.startswith('+++ '):
                path = line[4:].split('\t')[0]
            elif before is not None:
                if line[:1] in ('', ' ', '-'):
                    before.append(line[1:])
                if line[:1] in ('', ' ', '+'):
                    after.append(line[1:])
        yield path, before, after

    def apply(self, folder):
        """Applies the change to the files of a folder. Each part must match at exactly one place
        after the previous part."""
        behind = {}
        for path, before, after in self.hunks():
            while before and after and before[-1] == after[-1] == '':
                before, after = before[:-1], after[:-1]
            file = folder / path
            text = file.read_text('ascii') if file.exists() else ''
            old, new = '\n'.join(before), '\n'.join(after)
            at = text.find(old, behind.get(path, 0)) if before else 0
            if at < 0:
                raise SystemExit(f'{self.name}: {path} has no longer\n{old}')
            file.write_text(text[:at] + new + text[at + len(old):], 'ascii')
            behind[path] = at + len(new)


def names_all():
    return sorted(path.stem for path in CLAIMS.glob('*.diff'))


def ordered(name):
    """Returns the names of a change and of all changes that it needs, in the order in which they
    are applied."""
    found = []
    for need in Change(name).after:
        found += [one for one in ordered(need) if one not in found]
    return found + [name]


def build(name, folder, args):
    """Builds the provider; raises if it does not compile."""
    for path in TEMPLATE.glob('mc*.[ch]'):
        shutil.copy(path, folder)
    for one in ordered(name):
        Change(one).apply(folder)
    provider = folder / 'memcopy.so'
    command = shlex.split(args.cc) + ['-std=gnu11', '-O1', '-g', '-Wall', '-Wextra', '-Werror', '-shared', '-fPIC', '-fvisibility=hidden', '-pthread',
                                      '-I', str(ROOT / 'rnicpi/include'), '-o', str(provider)] + sorted(map(str, folder.glob('mc*.c')))
    subprocess.run(command, check=True, timeout=120)
    return provider


def complaints(change, report, args):
    truth = {claim['attribute']: claim for claim in report['claims']}
    for case in report['cases']:
        if case['outcome'] not in ('passed', 'not applicable', 'not testable here'):
            yield f'{case["id"]} {case["outcome"]}: {case.get("what")}: expected {case.get("expected")}, seen {case.get("seen")} ({case.get("where")})'
        if case.get('seconds', 0) > args.slow:
            yield f'{case["id"]} took {case["seconds"]:.1f} s'
    for name in change.claims:
        if truth[name]['truth'] != 'proven' and not args.part_run:
            yield f'{name} = {truth[name]["value"]}: {truth[name]["truth"]}'
    for name in change.told:
        if truth[name]['truth'] in ('proven', 'refuted'):
            yield f'{name} is told to be beyond proof, and is {truth[name]["truth"]}'


def judge(name, args):
    """Complaints, and what was run."""
    change = Change(name)
    with tempfile.TemporaryDirectory(prefix='itapi-claims.') as made:
        folder = Path(args.keep or made) / name
        folder.mkdir(parents=True, exist_ok=True)
        provider = build(name, folder, args)
        report = folder / 'report.json'
        command = [args.certify, '--provider', str(provider), '--adapter', 'memcopy', '--seed', '1', '--quick', '--patience', str(args.patience),
                   '--limit', '120', '--silent', '--json', str(report)]
        for level in args.level or LEVELS:
            command += ['--level', level]
        for case in args.case:
            command += ['--case', case]
        run = subprocess.run(command, capture_output=True, text=True, timeout=900, check=False)
        if run.returncode not in (0, 1):
            return [f'it-certify ended with status {run.returncode}: {run.stderr[-300:]}'], ''
        told = json.loads(report.read_text('utf-8'))
    cases = told['cases']
    passed = sum(case['outcome'] == 'passed' for case in cases)
    longest = max(cases, key=lambda case: case.get('seconds', 0))
    return list(complaints(change, told, args)), f'{passed} of {len(cases)} cases passed, {longest["id"]} in {longest.get("seconds", 0):.1f} s'


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--certify', required=True)
    parser.add_argument('--cc', default='cc')
    parser.add_argument('--level', action='append')
    parser.add_argument('--case', action='append', default=[])
    parser.add_argument('--patience', type=float, default=60)
    parser.add_argument('--slow', type=float, default=40)
    parser.add_argument('--keep')
    parser.add_argument('--part', default='0/1')
    parser.add_argument('--part-run', action='store_true')
    parser.add_argument('names', nargs='*')
    args = parser.parse_args()
    part, parts = map(int, args.part.split('/'))
    names = (args.names or names_all())[part::parts]
    print(f'1..{len(names)}')
    failed = 0
    for number, name in enumerate(names, 1):
        try:
            bad, text = judge(name, args)
        except subprocess.SubprocessError as error:
            bad, text = [str(error)], ''
        print(f'{"not " if bad else ""}ok {number} {name}: {text}')
        for line in bad:
            print(f'#   {line}')
        sys.stdout.flush()
        failed += bool(bad)
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
