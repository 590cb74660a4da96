#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""A tool whose stderr is a full pipe goes on with its work; a tool that is started without stderr
opens no file with descriptor number 2.

Usage: test_unread.py TOOLS      (TAP)
"""

import fcntl
import functools
import os
import re
import socket
import subprocess
import sys
import tempfile

from tool_runs import PATIENCE, Failed, command, main, run

STRANGERS = 400     # connections; each causes a line of the log


def need(true, what):
    if not true:
        raise Failed(what)


def listening(tools, name, *arguments, **environment):
    """Starts a server whose stderr is a pipe of one page; reads only its first line."""
    process = subprocess.Popen(command(tools, name, ['-p', '0', *arguments]), stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, bufsize=0,
                               env={**os.environ, **environment})
    fcntl.fcntl(process.stderr, fcntl.F_SETPIPE_SZ, 4096)
    said = b''
    while b'listening on port ' not in said or not said.endswith(b'\n'):
        octet = process.stderr.read(1)
        if not octet:
            raise Failed('the server does not listen: %r' % said)
        said += octet
    return process, re.search(rb'listening on port (\d+)', said).group(1).decode()


def annoy(port):
    """Strangers that speak another language."""
    for _ in range(STRANGERS):
        with socket.create_connection(('127.0.0.1', int(port)), timeout=PATIENCE) as stranger:
            stranger.sendall(b'GET / HTTP/1.0\r\n\r\n' + bytes(64))
            stranger.settimeout(PATIENCE)
            try:
                while stranger.recv(4096):
                    pass
            except ConnectionError:
                pass


def unread_pipe(tools):
    process, port = listening(tools, 'it-ping', '-P', ITAPI_LOG='info')
    try:
        annoy(port)
        run(tools, 'it-ping', '-p', port, '-C', '3', '127.0.0.1').expect(0)
        process.terminate()
        # It does not wait for a reader at its end, either.
        if process.wait(PATIENCE) not in (0, -15):
            raise Failed('the server ended with %d' % process.returncode)
        said = process.stderr.read().decode()
        form = (r'\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z it-ping\[%d\]: info: kal iwarp peer 127\.0\.0\.1:\d+: a connection request was refused: '
                % process.pid)
        need(re.search(form, said), 'no line of the form in ' + said)
    finally:
        process.kill()
        process.wait()
        process.stderr.close()


def unread_progress(tools):
    """The bar of it-cp."""
    with tempfile.TemporaryDirectory() as folder:
        source, target = os.path.join(folder, 'source'), os.path.join(folder, 'target')
        os.mkdir(target)
        with open(source, 'wb') as file:
            file.write(os.urandom(1 << 20))
        server, port = listening(tools, 'it-cp', '-s', target)
        full, writer = os.pipe()
        try:
            fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096)
            os.write(writer, bytes(4096))
            copy = subprocess.run(command(tools, 'it-cp', ['-p', port, '--progress', source, '127.0.0.1:copy']),
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=writer, timeout=PATIENCE,
                                  check=False)
            need(copy.returncode == 0, 'it-cp ended with %d' % copy.returncode)
        finally:
            os.close(full)
            os.close(writer)
            server.kill()
            server.wait()
            server.stderr.close()


def closed(tools):
    """Nothing that a tool opens becomes its stdin, stdout or stderr."""
    with socket.socket() as probe:
        probe.bind(('127.0.0.1', 0))
        port = str(probe.getsockname()[1])
    words = command(tools, 'it-ping', ['-p', port, '-P'])
    process = subprocess.Popen(['/bin/sh', '-c', 'exec "$0" "$@" <&- >&- 2>&-', *words])
    try:
        done = None
        while done is None or done.status != 0:
            need(process.poll() is None, 'the server has ended')
            done = run(tools, 'it-ping', '-p', port, '-C', '1', '127.0.0.1')
        for number in range(3):
            there = os.readlink('/proc/%d/fd/%d' % (process.pid, number))
            need(there == '/dev/null', 'descriptor %d is %s' % (number, there))
    finally:
        process.kill()
        process.wait()


if __name__ == '__main__':
    sys.exit(main([('/tools/unread/' + name, functools.partial(case, sys.argv[1])) for name, case in (
        ('pipe', unread_pipe), ('progress', unread_progress), ('closed', closed))]))
