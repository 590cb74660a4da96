# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""A guest of QEMU that moves to another QEMU by RDMA; the memory of both is compared.

Usage: migration_program.py ADDRESS PORT FOLDER

Both run behind the door, since they are children of this program. The guest never runs, so its memory is what was loaded: random
octets, and pages of zeros, of which QEMU sends no octet.
"""

import contextlib
import json
import os
import socket
import subprocess
import sys
import time

MEMORY = 48 << 20       # octets of the guest
LOADED = 6 << 20        # those that are random, from BEGIN on
BEGIN = 2 << 20
PATIENCE = 100          # s


class Guest:
    """A QEMU, and the connection with its monitor."""

    def __init__(self, path, *options):
        self.process = subprocess.Popen(
            ['qemu-system-x86_64', '-machine', 'pc', '-accel', 'tcg', '-m', '%dM' % (MEMORY >> 20), '-display', 'none', '-nodefaults',
             '-S', '-qmp', 'unix:%s,server,nowait' % path, *options], stdin=subprocess.DEVNULL)
        self.monitor = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.monitor.settimeout(PATIENCE)
        end = time.monotonic() + PATIENCE
        while True:
            try:
                self.monitor.connect(path)
                break
            except OSError:
                if self.process.poll() is not None or time.monotonic() > end:
                    raise
                time.sleep(0.02)
        self.words = self.monitor.makefile('rw')
        self.words.readline()       # who it is
        self.does('qmp_capabilities')

    def does(self, command, **arguments):
        """Sends a command to the monitor and returns the answer."""
        self.words.write(json.dumps({'execute': command, 'arguments': arguments}) + '\n')
        self.words.flush()
        while True:
            answer = json.loads(self.words.readline())
            if 'error' in answer:
                sys.exit('%s: %s' % (command, answer['error']['desc']))
            if 'return' in answer:
                return answer['return']

    def memory(self, path):
        self.does('pmemsave', val=0, size=MEMORY, filename=path)
        with open(path, 'rb') as file:
            return file.read()

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.process.kill()
        self.process.wait()


def main(address, port, folder):
    uri = 'rdma:%s:%s' % (address, port)
    content = os.path.join(folder, 'content')
    with open(content, 'wb') as file:
        file.write(os.urandom(LOADED))
    with contextlib.ExitStack() as both:
        target = both.enter_context(Guest(os.path.join(folder, 'target'), '-incoming', uri))
        source = both.enter_context(Guest(os.path.join(folder, 'source'), '-device',
                                          'loader,file=%s,addr=%d,force-raw=on' % (content, BEGIN)))
        source.does('migrate', uri=uri)
        end = time.monotonic() + PATIENCE
        while True:
            state = source.does('query-migrate')
            if state.get('status') in ('completed', 'failed') or time.monotonic() > end:
                break
            time.sleep(0.02)
        if state.get('status') != 'completed':
            sys.exit('the migration: %s' % state)
        before, after = (guest.memory(os.path.join(folder, 'memory')) for guest in (source, target))
        with open(content, 'rb') as file:
            loaded = file.read() == before[BEGIN:BEGIN + LOADED]
        print('the memory of both guests is %s; %s' % ('the same' if before == after else 'not the same',
                                                       'what was loaded is there' if loaded else 'nothing was loaded'))


if __name__ == '__main__':
    main(*sys.argv[1:])
