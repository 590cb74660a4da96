#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""The ways in which a program gets the door: preloaded, in place of libibverbs, or opened by name;
and the other libraries that the program loads.

Usage: test_load.py TOOLS DOOR BUILD      (TAP)
BUILD has the programs of this folder.
"""

import functools
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

# pylint: disable=wrong-import-position
from door_programs import (Door, Program, bound_ports, deadline, enter, missing, need_good,  # noqa: E402
                           wait_until)
from tool_runs import PATIENCE, Done, Failed, Skipped, main, need_installed  # noqa: E402

TOOLS, DOOR, BUILD = (os.path.realpath(path) for path in sys.argv[1:4])
# Beside the door, as it is installed.
REPLACEMENT = os.path.join(os.path.dirname(DOOR), 'verbs')
PORT = 17471
door = Door(TOOLS, DOOR)


def need(condition, what):
    if not condition:
        raise Failed(what)


def run(*words, **environment):
    done = subprocess.run(words, env=door.environment(**{'ITAPI_LOG': 'none', **environment}), capture_output=True, text=True,
                          check=False, timeout=PATIENCE, stdin=subprocess.DEVNULL)
    return Done(done.returncode, done.stdout, done.stderr)


def replaced(*words, devices='emul:ib', **environment):
    return run(*words, LD_LIBRARY_PATH=REPLACEMENT, ITAPI_VERBS_DEVICES=devices, **environment)


def linked():
    """In place of libibverbs, the door serves programs that are linked with that library, also
    programs that load vendors' libraries."""
    need_installed(missing(['ibv_devices', 'ib_send_lat']))
    need(re.findall(r'\bit_\w+', replaced('ibv_devices').expect(0).out) == ['it_emul_ib'], 'no device')
    replaced('ibv_devinfo', '-v').expect(0, 'hca_id:\tit_emul_ib')
    replaced('ib_send_lat', '-d', 'it_other').expect(1, 'IB device it_other not found')


def linked_with_rdma_cm():
    """With the door in place of libibverbs, programs of rdma_cm work, too."""
    need_installed(missing(['rping']))
    env = door.environment(LD_LIBRARY_PATH=REPLACEMENT, ITAPI_VERBS_DEVICES='iwarp:lo')
    words = ['-a', '127.0.0.1', '-p', str(PORT), '-C', '3', '-V', '-v']
    with Program(['rping', '-s', *words], env) as server:
        wait_until(lambda: PORT in bound_ports('0A'), server, 'a listener', deadline())
        with Program(['rping', '-c', *words], env) as client:
            need_good(client.wait(deadline()), client.words).expect(0, 'rdma-ping-2: ')


def by_name():
    """dlopen() and dlvsym() find the door's functions, and functions that only the real library
    has."""
    program = os.path.join(BUILD, 'library-by-name')
    need(replaced(program).expect(0).out == 'it_emul_ib\n', 'in place of libibverbs')
    need(run(*door.words([program], ['emul:ib'])).expect(0).out == 'it_emul_ib\n', 'preloaded')
    with tempfile.TemporaryDirectory(prefix='test-load-') as folder:
        alone = shutil.copy(DOOR, folder)
        said = run(program, LD_PRELOAD=alone, ITAPI_VERBS_DEVICES='emul:ib')
        need(said.status == 1 and 'ibv_event_type_str failed' in said.err, 'without the replacement: %s' % said.err)


def by_another_name():
    """A library that is opened by another name, or by a path, is the one that the program asked
    for."""
    words = [sys.executable, '-c', 'import ctypes, os, sys; h = ctypes.CDLL("libibverbs.so.1"); n = ctypes.CDLL(None);'
             'f = next(p for p in sys.argv[1:] if os.path.exists(p + "/libibverbs.so.1"));'
             'r = ctypes.CDLL(f + "/libibverbs.so.1"); print(hasattr(h, "itapi_verbs_list"), hasattr(r, "itapi_verbs_list"),'
             'hasattr(ctypes.CDLL("libc.so.6"), "printf"), hasattr(n, "itapi_verbs_list"))',
             f'/usr/lib/{platform.machine()}-linux-gnu', '/usr/lib64', '/usr/lib']
    need(run(*door.words(words, ['emul:ib'])).expect(0).out == 'True False True True\n', 'preloaded')


def by_runpath():
    """A library in the program's RUNPATH is found: for the dynamic linker the caller of dlopen() is
    the program, not the door."""
    if door.sanitizer:
        raise Skipped('the runtime of the sanitizer calls dlopen() itself')
    program = os.path.join(BUILD, 'library-by-name')
    run(*door.words([program, 'libhidden.so'], ['emul:ib'])).expect(0, 'it_emul_ib')
    run(*door.words([program, 'libnowhere.so'], ['emul:ib'])).expect(1, 'libnowhere.so: cannot open shared object file')


def channels():
    """A channel of rdma_cm ends when its descriptor is closed, by whichever function, but not when
    a child closes its copy."""
    done = run(*door.words([os.path.join(BUILD, 'close-channels')], ['iwarp:lo']))
    need(done.status == 0 and done.out == '', done.out + done.err)


def killed(adapter, port):
    """A client that is killed ends only its own connection: the receives of the server are flushed,
    and the next client is served."""
    need_installed(missing(['rping']))     # librdmacm and its programs

    def start(what):
        return Program(door.words([os.path.join(BUILD, 'killed-peer'), what, '127.0.0.1', str(port)], [adapter]), door.environment())
    with start('server') as server:
        wait_until(lambda: 'listens' in server.said()[0], server, 'a listener', deadline())
        for times in (1, 2):
            with start('stay') as client:
                wait_until(lambda: server.said()[0].count('up') == times, server, 'the client', deadline())
                client.process.kill()
                wait_until(lambda: server.said()[0].count('RDMA_CM_EVENT_DISCONNECTED') == times, server, 'its end', deadline())
        with start('talk') as client:
            need_good(client.wait(deadline()), client.words).expect(0)
        said = need_good(server.wait(deadline()), server.words).expect(0).out.split()
        need(said == ['listens', *['up', 'RDMA_CM_EVENT_DISCONNECTED'] * 3], ' '.join(said))


CASES = [
    ('/load/killed/iwarp', functools.partial(killed, 'iwarp:lo', PORT + 1)),
    ('/load/killed/shm', functools.partial(killed, 'shm:ib', PORT + 2)),
    ('/load/replacement/linked', linked),
    ('/load/replacement/rdma_cm', linked_with_rdma_cm),
    ('/load/name', by_name),
    ('/load/name/other', by_another_name),
    ('/load/runpath', by_runpath),
    ('/load/channels', channels),
]

if __name__ == '__main__':
    enter(DOOR, os.path.join(TOOLS, 'it-run'))
    sys.exit(main(CASES))
