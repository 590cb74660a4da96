#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""Loads the template provider into the library as the author of a provider does, and checks that
connections work. Prints TAP.

An endpoint of the template can be connected once; test-itapi-once tests that, and gets the
template's claims as arguments. The last test is of the template wrapped by the provider of
defects and faults. Usage: template_ping.py DEFECTS PROVIDER IT_INFO IT_PING TEST_ITAPI_ONCE
"""

import os
import subprocess
import sys
import tempfile


def main(defects, provider, *tools):
    commands = (['--adapter', 'memcopy'], ['--self', '--adapter', 'memcopy', '--count', '20'], ['memcopy'])
    claims = ''.join(f'{name}=1 ' for name in ('max_send_sge', 'max_recv_sge', 'max_write_sge', 'max_read_sge', 'max_ird', 'max_ord'))
    failed = 0
    print(f'1..{len(tools) + 1}')
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
        own, wrapped = os.path.join(folder, 'memcopy.so'), []
        for adapter in ('defect:none:memcopy', 'faulty:memcopy', 'record:memcopy'):
            done = subprocess.run([tools[1], '--self', '--adapter', adapter, '--count', '20'], check=False, capture_output=True, text=True,
                                  env=dict(env, ITAPI_PROVIDER_PATH=os.path.dirname(defects), ITAPI_WRAPPED=own))
            if done.returncode != 0:
                wrapped.append(f'# {adapter}: exit status {done.returncode}: {done.stderr}'.rstrip())
        failed += len(wrapped)
        print(f'{"not ok" if wrapped else "ok"} {len(tools) + 1} wrapped')
        print('\n'.join(wrapped), end='\n' if wrapped else '')
    return failed


if __name__ == '__main__':
    sys.exit(main(*sys.argv[1:]))
