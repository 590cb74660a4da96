#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""Runs both sides of the example that converts a TCP connection."""

import re
import subprocess
import sys

ADAPTER = 'iwarp:lo'
TEXT = 'one connection, two ways to speak'
PATIENCE = 60  # s


def main(upgrade):
    print('1..1')
    server = subprocess.Popen([upgrade, ADAPTER, 'server'], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, text=True)
    try:
        said = server.stdout.readline()
        port = re.sub(r'\D', '', said)
        client = subprocess.run([upgrade, ADAPTER, 'client', port, TEXT], stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, text=True, timeout=PATIENCE, check=False)
        said += server.stdout.read()
        good = (client.returncode == 0 and server.wait(PATIENCE) == 0 and
                f'by RDMA: {TEXT}\n' in client.stdout and f'served {len(TEXT)} octets\n' in said)
    finally:
        server.kill()
        server.wait()
    print('ok 1 - /doc/upgrade' if good else f'not ok 1 - /doc/upgrade\n# {said!r}')
    return 0 if good else 1


if __name__ == '__main__':
    sys.exit(main(sys.argv[1]))
