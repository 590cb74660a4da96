#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""Compares the completions of bash for the tools with the output of their --help.

Usage: test_completion.py COMPLETION TOOLS      (TAP)
"""

import os
import re
import subprocess
import sys
import tempfile

PATIENCE = 120      # s
LIBRARY = '/usr/share/bash-completion/bash_completion'

# Completes the last of the words $4..., of which the line $3 was made, as bash does when somebody types the line.
SCRIPT = r'''
source "$1" && source "$2" || exit 1
COMP_LINE=$3
shift 3
compopt() { :; }  # bash allows it only while somebody types
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMP_POINT=${#COMP_LINE} COMP_TYPE=9 COMP_KEY=9
_it_tools "$1" "${*: -1}" "${*: -2:1}" || exit 1
[ ${#COMPREPLY[@]} -eq 0 ] || printf '%s\n' "${COMPREPLY[@]}"
'''


class Completion:
    """Runs the cases."""

    def __init__(self, completion, tools):
        self.completion = completion
        self.environment = {**os.environ, 'PATH': f'{tools}:{os.environ["PATH"]}'}
        self.count = 0
        self.bad = 0

    def run(self, *command):
        return subprocess.run(command, env=self.environment, stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=PATIENCE, check=True).stdout

    def complete(self, line):
        # Where bash divides a line into words.
        words = re.findall(r'[^ :=]+|[:=]+', line) + ([''] if line.endswith(' ') else [])
        return sorted(self.run('bash', '--norc', '-c', SCRIPT, 'bash', LIBRARY, self.completion, line, *words).split())

    def only_harmless(self):
        """An adapter whose name the shell would run as a command is not offered, and no command is run."""
        with tempfile.TemporaryDirectory(prefix='itapi-completion.') as folder:
            tool, proof = os.path.join(folder, 'it-info'), os.path.join(folder, 'proof')
            with open(tool, 'w', encoding='utf-8') as file:
                file.write(f"#!/bin/sh\nprintf '%s\\n' iwarp:lo 'iwarp:$(>{proof})' 'emul:`>{proof}`' '*'\n")
            os.chmod(tool, 0o755)
            hostile = Completion(self.completion, folder)
            self.check('it-ping/adapters/hostile', ['iwarp:lo'], hostile.complete('it-ping -a '))
            self.check('it-ping/adapters/no-command', ['it-info'], os.listdir(folder))

    def options(self, tool):
        """The options of --help, as they are typed: -p, --port= with a value, --self without."""
        found = re.findall(r'^  (?:(-\w), )?(--[\w-]+=?)', self.run(tool, '--help'), re.MULTILINE)
        return sorted(option for pair in found for option in pair if option)

    def check(self, name, wanted, got):
        self.count += 1
        good = wanted == got and bool(got)
        self.bad += not good
        print(f'{"ok" if good else "not ok"} {self.count} - /completion/{name}')
        if not good:
            print(f'# wanted {wanted}\n# got    {got}')


def main(completion, tools):
    if not os.path.exists(LIBRARY):
        print(f'1..0 # SKIP not installed: {LIBRARY}')
        return 0
    tests = Completion(completion, tools)
    adapters = [line for line in tests.run('it-info').splitlines() if re.fullmatch(r'\S+', line)]
    with_door = os.path.exists(os.path.join(tools, 'it-run'))
    for tool in ('it-cp', 'it-info', 'it-ping', 'it-replay', 'it-sim', 'it-test', 'kalctl'):
        options = tests.options(tool)
        tests.check(f'{tool}/options', options, tests.complete(f'{tool} -'))
    tests.check('it-test/options/begun', ['--threads=', '--timeout='], tests.complete('it-test --t'))
    tests.check('it-ping/adapters', sorted(adapters), tests.complete('it-ping --adapter '))
    tests.check('it-ping/adapters/colon', ['lo'], tests.complete('it-ping -a iwarp:l'))
    tests.only_harmless()
    tests.check('it-test/perf', ['read', 'send', 'write'], tests.complete('it-test --perf '))
    tests.check('it-test/perf/equals', ['read'], tests.complete('it-test --perf=re'))
    tests.check('it-test/plan', ['RR', 'RW', 'SR'], tests.complete('it-test 127.0.0.1 client '))
    tests.check('it-cp/checksum', ['crc32c', 'sha256', 'xxh3'], tests.complete('it-cp -c '))
    tests.check('kalctl/commands', ['shares', 'show', 'stop'], tests.complete('kalctl s'))
    if with_door:
        tests.check('it-run/options', tests.options('it-run'), tests.complete('it-run -'))
        tests.check('it-run/adapters', ['ib', 'iwarp'], tests.complete('it-run -a emul:'))
        tests.check('it-run/program', ['it-test'], tests.complete('it-run -a emul:ib it-tes'))
        tests.check('it-run/of-program', tests.complete('it-test --perf '), tests.complete('it-run --adapter emul:ib it-test --perf '))
        tests.check('it-run/of-program/first', tests.complete('it-test --t'), tests.complete('it-run it-test --t'))
    print(f'1..{tests.count}')
    return 1 if tests.bad else 0


if __name__ == '__main__':
    sys.exit(main(*sys.argv[1:]))
