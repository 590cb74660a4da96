#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""Lets it-wire judge siw, the software iWARP of Linux, in a guest of conformance/wire/lab.

The judge runs on the host, in the namespace of the guest's network device; it-wire-peer-verbs
runs in the guest. Some cases break siw or the guest's kernel. Then a new guest is booted and
repeats the case that could not be judged. If that case breaks this guest, too, a further guest
continues with the next case. Results are printed as TAP.
"""

import argparse
import glob
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import threading

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.normpath(os.path.join(HERE, '../../..'))
sys.path.insert(0, os.path.join(ROOT, 'tools/dev'))
sys.dont_write_bytecode = True

import results                                          # noqa: E402
from tally import Tally                                  # noqa: E402

CONTROL_PORT = 7180
SETTLE_MS = 50              # siw misses an FPDU right behind its Reply [WIRE 14.1]
STOP_TIME = 15              # seconds for a guest to end; a process that hangs in its kernel never does
DEAF = '# the peer listens no more'
LISTED = ' passes, but is listed as a deviation: '
TROUBLE = re.compile(r'BUG:|kernel BUG|Oops|Kernel panic|general protection|refcount_t|WARNING:|segfault')
VERDICT = re.compile(r'(not ok|ok) \d+ - (\S+?):?(?: (.*))?$')


class Result:
    """The outcome of a case, and the reason."""

    def __init__(self, outcome, text=''):
        self.outcome, self.text, self.capture, self.notes = outcome, text, None, []
        self.listed = ''        # why, if it is a deviation that did not show


def outcome_of(verdict, text):
    """The word for a line of TAP."""
    if '# SKIP' in text:
        return 'skipped'
    if verdict == 'ok':
        return 'passed'
    return 'deviation' if '# TO' 'DO' in text else 'failed'


class Boot:
    """The results that one guest gave."""

    def __init__(self, command, log):
        self.results = {}       # in their order
        self.complete = False   # the judge came to its last case
        self.trouble = []       # what the guest's kernel or the judge said
        self.log = log
        self.run(command)

    def run(self, command):
        last = None
        with open(self.log, 'w', encoding='utf-8') as log, \
                subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                 text=True, errors='replace') as guest:
            try:
                for line in guest.stdout:
                    log.write(line)
                    last = self.note(line.rstrip('\n'), last)
                    if line.startswith('Bail out!'):
                        threading.Timer(STOP_TIME, guest.terminate).start()
            finally:
                guest.terminate()

    def note(self, line, last):
        """Takes a line of the output; returns the result that it belongs to."""
        verdict = VERDICT.match(line)
        if verdict:
            last = Result(outcome_of(verdict.group(1), verdict.group(3) or ''), verdict.group(3) or '')
            self.results[verdict.group(2)] = last
        elif line.startswith(DEAF) and last:
            if last.outcome == 'passed':
                last.outcome = 'deviation' if last.listed else 'failed'
                last.text = f'# TO' f'DO known deviation: {last.listed}' if last.listed else ''
            last.text += ' ' * bool(last.text) + '(behind it the peer does not listen any more)'
        elif LISTED in line and last:
            last.listed = line.split(LISTED)[1]
        elif line.startswith('# capture: ') and last:
            last.capture = os.path.basename(line[len('# capture: '):])
        elif line.startswith('Bail out!'):
            self.trouble.append(line)
        elif re.match(r'# \d+ passed', line):
            self.complete = not self.trouble
        elif line.startswith('# ') and last and last.outcome == 'deviation' and last.notes == []:
            last.notes.append(line[2:])
        elif TROUBLE.search(line):
            self.trouble.append(line.strip())
        return last


class Judge:
    """A run of all cases, over as many guests as needed."""

    def __init__(self, arguments):
        self.arguments = arguments
        self.programs = os.path.join(os.path.abspath(arguments.build), 'conformance/judge/wire')
        self.output = os.path.abspath(arguments.output) if arguments.output else tempfile.mkdtemp(prefix='it-wire-siw.')
        self.captures = os.path.join(self.output, 'captures')
        os.makedirs(self.captures, exist_ok=True)
        for old in glob.glob(f'{self.output}/guest-*.log') + glob.glob(f'{self.captures}/*.pcapng'):
            os.unlink(old)      # of an earlier run
        self.results = {}
        self.boots = 0
        self.tally = Tally()

    def judge_command(self, after):
        command = [f'{self.programs}/it-wire', '--cases', self.arguments.cases, '--vectors', f'{ROOT}/conformance/wire/vectors']
        for pattern in self.arguments.patterns:
            command += ['--case', pattern]
        for option in ('role', 'deviations', 'accept', 'longer'):
            value = getattr(self.arguments, option)
            command += [f'--{option}', value] if value else []
        return command + (['--after', after] if after else [])

    def cases(self):
        listed = subprocess.run(self.judge_command(None) + ['--list'], stdout=subprocess.PIPE, text=True, check=True)
        return [line.split()[0] for line in listed.stdout.split('\n') if line]

    def boot(self, after):
        self.boots += 1
        judge = self.judge_command(after) + ['--peer', f'10.77.0.2:{CONTROL_PORT}', '--settle', str(self.arguments.settle),
                                             '--patience', str(self.arguments.patience), '--captures', self.captures]
        helper = [f'{self.programs}/it-wire-peer-verbs', '--adapter', 'siw0', '--port', str(CONTROL_PORT),
                  '--anywhere', '--persistent']
        command = [f'{ROOT}/conformance/wire/lab/vm-run', '--timeout', str(self.arguments.limit), '--verbose',
                   '--net', 'tap', '--links', 'siw0:siw:eth0', '--siw', self.arguments.siw,
                   '--wait-port', str(CONTROL_PORT), '--until-peer', '--peer', shlex.join(judge), '--'] + helper
        return Boot(command, os.path.join(self.output, f'guest-{self.boots:02}.log'))

    def tell(self, case, result):
        """Keeps and prints a result."""
        self.results[case] = result
        verdict = 'not ok' if result.outcome in ('failed', 'deviation') else 'ok'
        print(f'{verdict} {len(self.results)} - {case}{": " if result.outcome == "failed" else " "}{result.text}'.strip())
        for note in result.notes:
            print(f'# {note}')
        sys.stdout.flush()
        if result.outcome == 'skipped':
            self.tally.skip(case, result.text)
        else:
            self.tally.add(case, result.outcome != 'failed')

    def run(self):
        """Judges all cases."""
        cases = self.cases()
        print(f'1..{len(cases)}', flush=True)
        at = empty = 0
        while at < len(cases) and empty < 3:
            boot = self.boot(cases[at - 1] if at > 0 else None)
            seen = [case for case in cases[at:] if case in boot.results]
            # The judge reports the case in which it lost the peer; if all died at once, it is the next one.
            lost = None
            if not boot.complete:
                lost = seen.pop() if seen and boot.trouble and boot.trouble[0].startswith('Bail') else \
                    cases[at + len(seen)] if at + len(seen) < len(cases) else None
            for case in seen:
                self.tell(case, boot.results[case])
            at += len(seen)
            empty = 0 if boot.results else empty + 1
            if lost and not seen and boot.results:
                result = boot.results.get(lost, Result('failed'))
                result.notes += boot.trouble
                self.tell(lost, result)
                at += 1
            elif lost and seen:
                print(f'# behind {seen[-1]} the peer was lost: {"; ".join(boot.trouble[:3])}', flush=True)
                self.results[seen[-1]].notes += ['the peer was lost behind it'] + boot.trouble[:6]
        for case in cases[at:]:
            self.tell(case, Result('failed', 'the guest does not come up'))

    def report(self):
        path = os.path.join(self.output, 'results.json')
        results.save(path, json.dumps([{'id': case, 'outcome': result.outcome, 'text': result.text, 'capture': result.capture,
                                        'notes': result.notes} for case, result in self.results.items()], indent=1))
        print(f'# {self.boots} guests; logs, captures and results.json are in {self.output}')
        print(self.tally.summary())
        return 1 if self.tally.failed else 0


def main():
    parser = argparse.ArgumentParser(prog='judge_siw.py', description=__doc__.split('\n', maxsplit=1)[0])
    parser.add_argument('patterns', nargs='*', help='only cases whose ids fit (default: all)')
    parser.add_argument('--build', default='build', help='the build folder (default: build)')
    parser.add_argument('--cases', metavar='PATH', default=f'{HERE}/cases', help='a script, or a folder of them')
    parser.add_argument('--output', metavar='FOLDER', help='where logs, captures and results go (default: a new one)')
    parser.add_argument('--role', choices=('client', 'server'), help='what it-wire is (default: both)')
    parser.add_argument('--deviations', default=f'{HERE}/siw.deviations', help='the failures that are known')
    parser.add_argument('--strict', action='store_true', help="let siw's own order of a Terminate's bits fail a case")
    parser.add_argument('--siw', default='', help='parameters of siw, as vm-run takes them')
    parser.add_argument('--patience', type=float, default=3, help='seconds to wait for what must come (default: 3)')
    parser.add_argument('--settle', type=int, default=SETTLE_MS, metavar='MS',
                        help='wait between the start-up and the first FPDU; 0 lets siw miss it (default: 50)')
    parser.add_argument('--longer', metavar='TIMES', default='',
                        help='let cases of endurance run so many times longer: 400 send half a million FPDUs in each role')
    parser.add_argument('--limit', type=int, default=3600, help='most seconds for one guest (default: 3600)')
    arguments = parser.parse_args()
    arguments.accept = '' if arguments.strict else 'siw-terminate'
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))     # by way of what ends the guest
    judge = Judge(arguments)
    judge.run()
    return judge.report()


if __name__ == '__main__':
    sys.exit(results.told(main))
