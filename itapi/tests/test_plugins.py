#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""Runs programs over providers that are shared objects, in place of those that are compiled in.

Usage: test_plugins.py PROVIDER.so PROGRAM [ARGUMENT...] [-- PROGRAM [ARGUMENT...]]...      (TAP)

The registry takes whatever is in the folder of the shared object before its own, and says of its own
that the name is taken: that line is the proof of what was run.
"""

import os
import subprocess
import sys

PATIENCE = 600  # s


def groups(words):
    """The words between the marks."""
    group = []
    for word in [*words, '--']:
        if word != '--':
            group.append(word)
        elif group:
            yield group
            group = []


def run(provider, command):
    """Why it is not good; empty: it is."""
    environment = {**os.environ, 'ITAPI_PROVIDER_PATH': os.path.dirname(provider), 'ITAPI_LOG': 'info'}
    done = subprocess.run(command, capture_output=True, text=True, errors='replace', check=False,
                          stdin=subprocess.DEVNULL, timeout=PATIENCE, env=environment)
    said = done.stdout + done.stderr
    if done.returncode != 0:
        return f'status {done.returncode}\n{said}'
    if f'taken by the provider from {provider}' not in said:
        return f'{provider} was not loaded\n{said}'
    return ''


def main(provider, *words):
    provider = os.path.abspath(provider)
    commands = list(groups(words))
    print(f'1..{len(commands)}')
    for number, command in enumerate(commands, 1):
        name = ' '.join([os.path.basename(command[0]), *command[1:]])
        wrong = run(provider, command)
        print(f'{"not ok" if wrong else "ok"} {number} - /itapi/plugins/{os.path.basename(provider)}: {name}')
        print(''.join(f'# {line}\n' for line in wrong.splitlines()), end='', flush=True)


if __name__ == '__main__':
    main(*sys.argv[1:])
