#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""A program with more rights than the user who starts it loads no provider that the environment names.

Usage: test_secure.py PROGRAM PROVIDER.so      (TAP)

The program, which contains the library, lists the adapters. The kernel treats it as set-uid (AT_SECURE) if
the effective user of the process differs from the real one at the start, so root can test this without a set-uid file.
"""

import os
import subprocess
import sys

PATIENCE = 120      # s
NOBODY = 65534
ADAPTER = 'tiny'


def adapters(program, provider, **options):
    """What the program lists when the environment names the folder of the provider."""
    environment = {**os.environ, 'ITAPI_PROVIDER_PATH': os.path.dirname(os.path.abspath(provider))}
    return subprocess.run([program], env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
                          timeout=PATIENCE, check=True, **options).stdout.split()


def become_set_uid():
    os.setresuid(NOBODY, 0, 0)


def report(number, good, name, said):
    print(f'{"ok" if good else "not ok"} {number} - /install/secure/{name}')
    if not good:
        print(f'# it lists {said}')
    return good


def main(program, provider):
    print('1..2')
    names = adapters(program, provider)
    good = report(1, ADAPTER in names, 'plain', names)
    if os.geteuid() != 0:
        print('ok 2 - /install/secure/set-uid # SKIP only root can start a program as another user')
        return 0 if good else 1
    try:
        names = adapters(program, provider, preexec_fn=become_set_uid)
    except subprocess.CalledProcessError:
        raise
    except subprocess.SubprocessError as error:  # become_set_uid() was refused
        print(f'ok 2 - /install/secure/set-uid # SKIP the program cannot be started as set-uid here: {error}')
        return 0 if good else 1
    good &= report(2, 'iwarp' in names and ADAPTER not in names, 'set-uid', names)
    return 0 if good else 1


if __name__ == '__main__':
    sys.exit(main(*sys.argv[1:]))
