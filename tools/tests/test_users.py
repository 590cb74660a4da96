#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""Users and runtime folders of the adapters between processes (shm): which processes are refused,
and with which message.

Usage: test_users.py TOOLS      (TAP)
"""

import contextlib
import functools
import os
import subprocess
import sys
import tempfile

from tool_runs import PATIENCE, Failed, Server, Skipped, main, run

ADAPTERS = ('shm:ib', 'shm:iwarp')
NOBODY = 65534


def environment(runtime):
    """The environment of this process, with another runtime folder, or with none."""
    env = {name: value for name, value in os.environ.items() if name not in ('XDG_RUNTIME_DIR', 'ITAPI_FABRIC')}
    return {**env, 'XDG_RUNTIME_DIR': runtime} if runtime is not None else env


def ping(tools, adapter, env, *expected, status=0):
    """Runs a pair of it-ping and returns the client's output."""
    with Server(tools, 'it-ping', '-a', adapter, env=env) as server:
        said = run(tools, 'it-ping', '-a', adapter, '-p', server.port, '-C', '5', '127.0.0.1', env=env).expect(status, *expected)
        server.done().expect(0)
    return said


@contextlib.contextmanager
def runtime_folder(mode=0o700):
    with tempfile.TemporaryDirectory(prefix='itapi-users-') as folder:
        os.chmod(folder, mode)
        yield folder


def names_in(folder):
    return sorted(name for _, _, files in os.walk(folder) for name in files if not name.startswith('.'))


def no_folder(adapter, tools):
    """If there is no runtime folder, or it does not exist, the sockets have abstract names."""
    for runtime in (None, '', '/nonexistent/runtime'):
        ping(tools, adapter, environment(runtime), '5 round trips')


def private_folder(adapter, tools):
    """The folder has names while a server runs, and none afterwards."""
    with runtime_folder() as folder:
        env = environment(folder)
        with Server(tools, 'it-ping', '-a', adapter, env=env) as server:
            names = names_in(folder)
            if not any(name.endswith('port-' + server.port) for name in names):
                raise Failed('no name of port %s among %s' % (server.port, names))
            run(tools, 'it-ping', '-a', adapter, '-p', server.port, '-C', '5', '127.0.0.1', env=env).expect(0)
            server.done().expect(0)
        if names_in(folder):
            raise Failed('left: %s' % names_in(folder))


def left_names(adapter, tools):
    """A killed server leaves its names in the folder; the next process removes them."""
    with runtime_folder() as folder:
        env = environment(folder)
        with Server(tools, 'it-ping', '-a', adapter, env=env) as server:
            server.kill()
        if not names_in(folder):
            raise Failed('a killed server has left no name: this test sees nothing')
        run(tools, 'it-info', '-a', adapter, env=env).expect(0)
        if names_in(folder):
            raise Failed('left: %s' % names_in(folder))


def other_folder(adapter, tools):
    """A folder that other users may enter, or that is a link, is refused, with a message."""
    with runtime_folder(0o755) as folder:
        run(tools, 'it-info', '-a', adapter, env=environment(folder)).expect(1, 'others than its owner may enter it')
    with runtime_folder() as folder:
        os.makedirs(os.path.join(folder, 'itapi', 'fabric'), 0o700)
        os.chmod(os.path.join(folder, 'itapi'), 0o770)
        run(tools, 'it-info', '-a', adapter, env=environment(folder)).expect(1, 'others than its owner may enter it')
    with runtime_folder() as folder, runtime_folder() as other:
        os.symlink(other, os.path.join(folder, 'itapi'))
        run(tools, 'it-info', '-a', adapter, env=environment(folder)).expect(1, 'is not a folder')


def strangers_folder(adapter, tools):
    """A folder that belongs to another user is refused."""
    if os.geteuid() != 0:
        raise Skipped('only root can give a folder away')
    with runtime_folder() as folder:
        os.chown(folder, NOBODY, -1)
        run(tools, 'it-info', '-a', adapter, env=environment(folder)).expect(1, 'belongs to user %d' % NOBODY)


def bad_fabric(adapter, tools):
    for name in ('a/b', '..', 'x' * 32, ''):
        env = {**environment(None), 'ITAPI_FABRIC': name}
        said = run(tools, 'it-info', '-a', adapter, env=env)
        # An empty variable counts as unset.
        said.expect(0) if name == '' else said.expect(1, 'the name of a fabric has')


def two_fabrics(adapter, tools):
    """Processes of different fabrics do not meet."""
    env = environment(None)
    with Server(tools, 'it-ping', '-a', adapter, env={**env, 'ITAPI_FABRIC': 'one'}) as server:
        run(tools, 'it-ping', '-a', adapter, '-p', server.port, '127.0.0.1',
            env={**env, 'ITAPI_FABRIC': 'two'}).expect(1, 'nobody listens there')


# --- another user ---------------------------------------------------------------------------

def place(adapter, port):
    """The abstract name of this user's port."""
    return '\0itapi/fabric/%u/default/%s.port-%s' % (os.geteuid(), adapter.split(':')[1], port)


STRANGER = """
import os, socket, sys
os.setgid(%d)
os.setuid(%d)
there = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
name = sys.argv[2].replace('@', chr(0), 1)
if sys.argv[1] == 'dial':
    there.connect(name)
    there.settimeout(60)
    print('refused' if there.recv(4096) == b'' else 'greeted', flush=True)
else:
    there.bind(name)
    there.listen()
    print('listens', flush=True)
    other, _ = there.accept()
    other.settimeout(60)
    print('refused' if other.recv(4096) == b'' else 'greeted', flush=True)
""" % (NOBODY, NOBODY)


def stranger(what, name):
    """A process of the user nobody."""
    return subprocess.Popen([sys.executable, '-I', '-S', '-c', STRANGER, what, name.replace('\0', '@', 1)], stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def need_root():
    if os.geteuid() != 0:
        raise Skipped('only root can start a process of another user')


def stranger_dials(adapter, tools):
    """A process of another user that knows the name is refused; the server says so, and serves its own user."""
    need_root()
    env = environment(None)
    with Server(tools, 'it-ping', '-a', adapter, env=env) as server:
        with stranger('dial', place(adapter, server.port)) as other:
            said = other.communicate(timeout=PATIENCE)[0]
        if said != 'refused\n':
            raise Failed('the stranger says: ' + said)
        run(tools, 'it-ping', '-a', adapter, '-p', server.port, '-C', '5', '127.0.0.1', env=env).expect(0)
        server.done().expect(0, 'a process of user %d is refused: this fabric joins the processes of user 0 only' % NOBODY)


def stranger_listens(adapter, tools):
    """A process of another user that has taken a name first gets no connection; the client says whose the name is."""
    need_root()
    with stranger('listen', place(adapter, 4713)) as other:
        if other.stdout.readline() != 'listens\n':
            raise Failed('the stranger says: ' + other.stdout.read())
        run(tools, 'it-ping', '-a', adapter, '-p', '4713', '127.0.0.1', env=environment(None)).expect(
            1, 'port-4713 is a name of user %d: this fabric joins the processes of user 0 only' % NOBODY)
        said = other.communicate(timeout=PATIENCE)[0]
        if said != 'refused\n':
            raise Failed('the stranger says: ' + said)


def strangers_apart(adapter, tools):
    """Two users run the same program: each has a fabric of its own."""
    need_root()
    program = os.path.join(tools, 'it-ping')
    as_nobody = ['setpriv', '--reuid', str(NOBODY), '--regid', str(NOBODY), '--clear-groups', program]
    if subprocess.run([*as_nobody, '--version'], capture_output=True, check=False).returncode != 0:
        raise Skipped('nobody may not execute programs of this folder')
    with Server(tools, 'it-ping', '-a', adapter, env=environment(None)) as server:
        done = subprocess.run([*as_nobody, '-a', adapter, '-p', server.port, '127.0.0.1'], env=environment(None),
                              capture_output=True, text=True, timeout=PATIENCE, check=False)
        if done.returncode != 1 or 'nobody listens there' not in done.stderr:
            raise Failed('%d: %s' % (done.returncode, done.stderr))


CASES = [no_folder, private_folder, left_names, other_folder, strangers_folder, bad_fabric, two_fabrics, stranger_dials,
         stranger_listens, strangers_apart]

if __name__ == '__main__':
    sys.exit(main([('/tools/users/%s/%s' % (adapter, case.__name__), functools.partial(case, adapter, sys.argv[1]))
                   for adapter in ADAPTERS for case in CASES]))
