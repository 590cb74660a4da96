#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""Runs programs over providers that are shared objects, in place of those that are compiled in.

Usage: test_plugins.py [--skip TEXT] PROVIDER.so PROGRAM [ARGUMENT...] [-- PROGRAM [ARGUMENT...]]...      (TAP)
  --skip TEXT  one of the programs at least must skip a test and say TEXT as the reason

The registry loads the providers in the folder of the shared object before the built-in ones, and
logs that the name of a built-in one is taken: that line proves which provider was run.
"""

import os
import re
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
    """Runs a command; returns why it failed (empty if it did not), and its output."""
    environment = {**os.environ, 'ITAPI_PROVIDER_PATH': os.path.dirname(provider), 'ITAPI_LOG': 'info'}
    done = subprocess.run(command, capture_output=True, text=True, errors='replace', check=False,
                          stdin=subprocess.DEVNULL, timeout=PATIENCE, env=environment)
    said = done.stdout + done.stderr
    if done.returncode != 0:
        return f'status {done.returncode}\n{said}', said
    if f'taken by the provider from {provider}' not in said:
        return f'{provider} was not loaded\n{said}', said
    return '', said


def main(*words):
    skip = ''
    if words[0] == '--skip':
        skip, words = words[1], words[2:]
    provider = os.path.abspath(words[0])
    commands = list(groups(words[1:]))
    skipped = False
    print(f'1..{len(commands) + bool(skip)}')
    for number, command in enumerate(commands, 1):
        name = ' '.join([os.path.basename(command[0]), *command[1:]])
        wrong, said = run(provider, command)
        skipped = skipped or re.search(f'# SKIP.*{re.escape(skip)}', said) is not None
        print(f'{"not ok" if wrong else "ok"} {number} - /itapi/plugins/{os.path.basename(provider)}: {name}')
        print(''.join(f'# {line}\n' for line in wrong.splitlines()), end='', flush=True)
    if skip:
        print(f'{"ok" if skipped else "not ok"} {len(commands) + 1} - /itapi/plugins/skipped: {skip}')


if __name__ == '__main__':
    main(*sys.argv[1:])
