#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""Two connection managers over UDP on two loopback addresses: a connection, a query, and a port
without a listener.

Usage: test_cm_wire.py PEER, with the path of roce-cm-peer
"""

import subprocess
import sys

HERE, THERE, PORT = '127.0.77.1', '127.0.77.2', '7174'


def peer(*arguments):
    return subprocess.Popen([sys.argv[1], *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def both(what, port):
    """Runs both sides; returns what they print, and the exit status of the active one."""
    listener = peer(THERE, 'listen', PORT)
    active = peer(HERE, what, THERE, port)
    said = active.communicate(timeout=30)[0]
    if what != 'connect' or active.returncode != 0:
        listener.terminate()
    heard = listener.communicate(timeout=30)[0]
    return active.returncode, said, heard


def connection():
    status, said, heard = both('connect', PORT)
    return status == 0 and 'established: ' in said and 'disconnected: ' in heard and '<- DREP' in said


def query():
    status, said, _ = both('resolve', PORT)
    return status == 0 and 'queue pair 0x1234' in said


def nobody():
    status, said, _ = both('connect', '7175')
    return status == 1 and 'failed: status 8 reason 8' in said


def main():
    cases = (connection, query, nobody)
    print(f'1..{len(cases)}')
    for number, case in enumerate(cases, 1):
        print(f'{"ok" if case() else "not ok"} {number} - {case.__name__}', flush=True)


if __name__ == '__main__':
    main()
