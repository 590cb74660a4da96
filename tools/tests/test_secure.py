#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""A program with more rights than the user who starts it (set-uid) loads no provider that the
environment names, and reports the variables that it ignores.

Usage: test_secure.py ADAPTERS PROVIDER.so SETTINGS      (TAP)

ADAPTERS and SETTINGS are programs that contain the library and list adapters and invalid
settings. The kernel treats a program as set-uid (AT_SECURE) if the effective user of the process
differs from the real one at the start, so root can test this without a set-uid file.
"""

import os
import subprocess
import sys
import tempfile

PATIENCE = 120      # s
NOBODY = 65534
ADAPTER = 'tiny'
UNREAD = 'it is set, but a program with more rights than its caller ignores it'


def run(program, variables, **options):
    return subprocess.run([program], env={**os.environ, **variables}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          text=True, timeout=PATIENCE, check=True, **options).stdout


def adapters(program, provider, **options):
    """The adapters that the program lists when the environment names the folder of the provider."""
    return run(program, {'ITAPI_PROVIDER_PATH': os.path.dirname(os.path.abspath(provider))}, **options).split()


def become_set_uid():
    os.setresuid(NOBODY, 0, 0)


def report(number, good, name, said):
    print(f'{"ok" if good else "not ok"} {number} - /install/secure/{name}')
    if not good:
        print(f'# it lists {said}')
    return good


def main(program, provider, lister):
    print('1..3')
    names = adapters(program, provider)
    good = report(1, ADAPTER in names, 'plain', names)
    reason = 'only root can start a program as another user'
    if os.geteuid() == 0:
        reason = None
        try:
            names = adapters(program, provider, preexec_fn=become_set_uid)
        except subprocess.CalledProcessError:
            raise
        except subprocess.SubprocessError as error:  # become_set_uid() was refused
            reason = f'the program cannot be started as set-uid here: {error}'
    if reason is not None:
        print(f'ok 2 - /install/secure/set-uid # SKIP {reason}')
        print(f'ok 3 - /install/secure/unread # SKIP {reason}')
        return 0 if good else 1
    good &= report(2, 'iwarp' in names and ADAPTER not in names, 'set-uid', names)
    with tempfile.TemporaryDirectory(prefix='test-secure-') as folder:
        capture = os.path.join(folder, 'capture')
        said = run(lister, {'ITAPI_CONFIG': '/nonexistent', 'ITAPI_LOG': 'debug', 'ITAPI_PCAP': capture},
                   preexec_fn=become_set_uid).splitlines()
        good &= report(3, {f'{name}: {UNREAD}' for name in ('ITAPI_CONFIG', 'ITAPI_LOG', 'ITAPI_PCAP')} <= set(said) and
                       not os.path.exists(capture), 'unread', said)
    return 0 if good else 1


if __name__ == '__main__':
    sys.exit(main(*sys.argv[1:]))
