#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""The template, loaded by the library as an author of a provider does it: its connections work above the kAL. Prints TAP.

Its endpoints are for one connection each, which test-itapi-once looks at. That program gets the claims of the template as arguments.
Usage: template_ping.py PROVIDER IT_INFO IT_PING TEST_ITAPI_ONCE
"""

import os
import subprocess
import sys
import tempfile


def main(provider, *tools):
    commands = (['--adapter', 'memcopy'], ['--self', '--adapter', 'memcopy', '--count', '20'], ['memcopy'])
    claims = ''.join(f'{name}=1 ' for name in ('max_send_sge', 'max_recv_sge', 'max_write_sge', 'max_read_sge', 'max_ird', 'max_ord'))
    failed = 0
    print(f'1..{len(tools)}')
    with tempfile.TemporaryDirectory(prefix='itapi-template.') as folder:
        os.symlink(os.path.abspath(provider), os.path.join(folder, 'memcopy.so'))
        env = dict(os.environ, ITAPI_PROVIDER_PATH=folder, ITAPI_TEST_CLAIMS=claims)
        for number, (tool, arguments) in enumerate(zip(tools, commands), 1):
            done = subprocess.run([tool] + arguments, env=env, check=False, capture_output=True, text=True)
            failed += done.returncode != 0
            if tool is tools[-1] and done.returncode == 0 and 'ok 1 /itapi/memcopy/once' not in done.stdout:
                raise ValueError(done.stdout)
            print(f'{"ok" if done.returncode == 0 else "not ok"} {number} {os.path.basename(tool)}')
            if done.returncode != 0:
                print(f'# exit status {done.returncode}: {done.stdout} {done.stderr}'.replace('\n', '\n# '))
    return failed


if __name__ == '__main__':
    sys.exit(main(*sys.argv[1:]))
