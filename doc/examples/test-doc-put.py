#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""Runs both sides of the example of the application guide."""

import os
import re
import subprocess
import sys

TEXT = 'to whom it may concern'
PATIENCE = 60  # s
CASES = [  # adapter, address where the server listens, what the client calls it
    ('iwarp:lo', '127.0.0.1', '127.0.0.1'),
    ('iwarp:lo', '::1', '::1'),
    ('iwarp', '127.0.0.1', '127.0.0.1'),
    ('iwarp', '::1', '::1'),
    ('iwarp:lo', '127.0.0.1', 'localhost'),
]


def run(put, adapter, address, host):
    """Runs both sides; returns the server's output, and whether both succeeded, or None in place of that if the server has no such address."""
    server = subprocess.Popen([put, adapter, '0'], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, text=True)
    try:
        said = ''
        while not said.endswith('waiting\n'):
            line = server.stdout.readline()
            said += line
            if not line:
                return said, False
        port = re.search(rf'^listening on port (\d+) of {re.escape(address)}$', said, re.MULTILINE)
        if port is None:
            return said, None
        client = subprocess.run([put, adapter, port.group(1), host, TEXT],
                                stdin=subprocess.DEVNULL, timeout=PATIENCE, check=False)
        said += server.stdout.read()
        return said, (client.returncode == 0 and server.wait(PATIENCE) == 0 and
                      f'received: {TEXT}\n' in said)
    finally:
        server.kill()
        server.wait()


def has_ipv6():
    """Whether the loopback interface has ::1."""
    if not os.path.exists('/proc/net/if_inet6'):
        return False
    with open('/proc/net/if_inet6', encoding='ascii') as file:
        return any(line.startswith('0' * 31 + '1 ') for line in file)


def main(put):
    bad = 0
    print(f'1..{len(CASES)}')
    for number, (adapter, address, host) in enumerate(CASES, 1):
        said, good = run(put, adapter, address, host)
        name = f'{number} - /doc/put/{adapter}/{host}'
        if good:
            print(f'ok {name}')
        elif good is None and address == '::1' and not has_ipv6():
            print(f'ok {name} # SKIP this machine has no IPv6')
        else:
            bad += 1
            print(f'not ok {name}')
            print(''.join(f'# it said: {line}\n' for line in said.splitlines()), end='')
    return 1 if bad else 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1]))
