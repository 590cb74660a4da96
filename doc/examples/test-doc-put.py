#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""Runs both sides of the example of the application guide."""

import re
import subprocess
import sys

ADAPTER = 'iwarp:lo'
TEXT = 'to whom it may concern'
PATIENCE = 60  # s


def main(put):
    print('1..1')
    server = subprocess.Popen([put, ADAPTER, '0'], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, text=True)
    try:
        said = server.stdout.readline()
        port = re.sub(r'\D', '', said)
        client = subprocess.run([put, ADAPTER, port, '127.0.0.1', TEXT],
                                stdin=subprocess.DEVNULL, timeout=PATIENCE, check=False)
        said += server.stdout.read()
        good = (client.returncode == 0 and server.wait(PATIENCE) == 0 and
                f'received: {TEXT}\n' in said)
    finally:
        server.kill()
        server.wait()
    print('ok 1 - /doc/put' if good else f'not ok 1 - /doc/put\n# it said: {said!r}')
    return 0 if good else 1


if __name__ == '__main__':
    sys.exit(main(sys.argv[1]))
