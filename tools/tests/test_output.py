#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""Output that cannot be written ends every program with a message and a failure (TAP).

Usage: test_output.py BUILD SOURCE
"""

import functools
import os
import resource
import subprocess
import sys
import tempfile

from test_kalctl import Daemon
from tool_runs import PATIENCE, Failed, Folder, Server, finish, main, run, start

SELF = ('--self', '-a', 'emul:ib', '-C', '3')
NEW = '@new'      # of a command: a file that does not exist yet


def certify(build, *words):
    programs = os.path.join(build, 'conformance/judge/certify')
    return [os.path.join(programs, 'it-certify'), '--adapter', 'emul:ib', '--programs', programs, '--level', 'border', '--quick',
            '--seed', '1', *words]


def certified(build, path):
    """Writes a small report of it-certify, for the programs that read one."""
    subprocess.run(certify(build, '--silent', '--json', path), check=True, timeout=PATIENCE)
    return path


def recorded(build, path):
    """Records a short run, for it-replay."""
    run(os.path.join(build, 'tools'), 'it-ping', '--self', '-a', 'record:emul:ib', '-C', '3',
        env={**os.environ, 'ITAPI_RECORD': path, 'ITAPI_PROVIDER_PATH': os.path.join(build, 'conformance/bad/defects')}).expect(0)
    return path


def scenario(build, path):
    """Writes one of two nodes, for it-sim."""
    put = os.path.join(build, 'tools/sim/tests/sim-put.so')
    with open(path, 'w', encoding='utf-8') as file:
        file.write(f'node server {put} emul:ib 7471\nnode client {put} emul:ib 7471 @server hello at 1ms\n')
    return path


def commands(build, source, made):
    """Yields the name and the command line of each program that prints something and ends by
    itself; makes the files that they read."""
    def tool(name, *words):
        return [os.path.join(build, 'tools', name), *words]
    conformance = os.path.join(build, 'conformance')
    yield 'it-info', tool('it-info')
    yield 'it-info --json', tool('it-info', '--json')
    yield 'it-info --env', tool('it-info', '--env')
    yield 'it-info --version', tool('it-info', '--version')
    for name in ('it-info', 'it-ping', 'it-test', 'it-cp'):
        yield name + ' --help', tool(name, '--help')
    if os.path.exists(tool('it-run')[0]):
        yield 'it-run --help', tool('it-run', '--help')
        yield 'it-run --list', tool('it-run', '--list')
        yield 'it-run --list --json', tool('it-run', '--list', '--json')
    if os.path.exists(tool('it-sim')[0]):
        yield 'it-sim --help', tool('it-sim', '--help')
        scene = scenario(build, os.path.join(made, 'put.sim'))
        yield 'it-sim', tool('it-sim', scene, '--seeds', '1..2')
        yield 'it-sim --trace', tool('it-sim', scene, '--seed', '1', '--trace')
    yield 'it-replay --help', tool('it-replay', '--help')
    recording = recorded(build, os.path.join(made, 'recording'))
    yield 'it-replay', tool('it-replay', recording)
    yield 'it-replay --adapter', tool('it-replay', recording, '--adapter', 'emul:ib', '--output', NEW)
    yield 'it-replay --diff', tool('it-replay', recording, '--diff', recording)
    yield 'it-info --live', tool('it-info', '--live', 'all')
    yield 'it-info --live --json', tool('it-info', '--live', 'all', '--json')
    for words in ('list', 'shares', 'limits', 'policy check /dev/null', '--json list'):
        yield 'kalctl ' + words, tool('kalctl', *words.split())
    for name in ('it-ping', 'it-test'):
        yield name, tool(name, *SELF)
        yield name + ' --json', tool(name, *SELF, '--json')
    yield 'it-wire --list', [os.path.join(conformance, 'judge/wire/it-wire'), '--list', '--cases',
                             os.path.join(source, 'conformance/judge/wire/cases')]
    yield 'it-wire-peer --help', [os.path.join(conformance, 'judge/wire/it-wire-peer'), '--help']
    yield 'it-certify --list', [os.path.join(conformance, 'judge/certify/it-certify'), '--list', '--programs',
                                os.path.join(conformance, 'judge/certify')]
    report = certified(build, os.path.join(made, 'report.json'))
    yield 'it-certify compare', [os.path.join(conformance, 'judge/certify/it-certify'), 'compare', report, report]
    yield 'defects-list', [os.path.join(conformance, 'bad/defects/defects-list')]
    yield 'differential --help', [os.path.join(conformance, 'judge/differential/differential'), '--help']
    for script in ('tools/bench', 'conformance/bad/defects/run', 'conformance/wire/lab/run_lab.py', 'tools/mutate',
                   'conformance/judge/wire/judge_siw.py'):
        yield script + ' --help', [sys.executable, '-B', os.path.join(source, script), '--help']


def ended(command, stdout, status, **keywords):
    with Folder() as folder:
        return ended_in(folder, command, stdout, status, **keywords)


def ended_in(folder, command, stdout, status, **keywords):
    words = [os.path.join(folder.path, 'new') if word == NEW else word for word in command]
    said = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=stdout, stderr=subprocess.PIPE, text=True,
                          timeout=PATIENCE, check=False, **keywords)
    if said.returncode != status or (status != 0 and not said.stderr):
        raise Failed('exit status %d instead of %d: %r' % (said.returncode, status, said.stderr))
    return said.stderr


def can_be_written(command):
    with open('/dev/null', 'wb') as null:
        ended(command, null, 0)


def is_full(command):
    with open('/dev/full', 'wb') as full:
        if 'No space left' not in ended(command, full, 1):
            raise Failed('the reason is missing')


def is_closed(command):
    ended(command, None, 1, preexec_fn=lambda: os.close(1))


def has_no_reader(command):
    reader, writer = os.pipe()
    os.close(reader)
    try:
        ended(command, writer, 1)
    finally:
        os.close(writer)


def at_limit(command):
    """stdout is a file that may not grow beyond 10 octets, so only a part of the output is written."""
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (10, 10))
    with Folder() as folder, open(os.path.join(folder.path, 'out'), 'wb') as out:
        ended(command, out, 1, preexec_fn=limit)


def reader_goes(tools):
    """`it-ping -v | head -1`: a run without an end stops when the reader closes the pipe."""
    with Server(tools, 'it-ping', '-a', 'iwarp', '-P') as server:
        client = start(tools, 'it-ping', '-a', 'iwarp', '-p', server.port, '-v', '127.0.0.1')
        client.stdout.readline()
        client.stdout.close()
        err = client.stderr.read()
        client.stderr.close()
        if client.wait(PATIENCE) != 1 or 'Broken pipe' not in err:
            raise Failed('status %s: %s' % (client.returncode, err))


def watcher_is_full(tools):
    """`kalctl watch` runs until its output cannot be written, which it notices at the first event."""
    with open('/dev/full', 'wb') as full, subprocess.Popen([os.path.join(tools, 'kalctl'), 'watch'], stdin=subprocess.DEVNULL,
                                                           stdout=full, stderr=subprocess.PIPE, text=True) as watcher:
        try:
            for _ in range(100):
                run(tools, 'it-ping', *SELF).expect(0)
                if watcher.poll() is not None:
                    break
            said = finish(watcher)
            if said.status != 1 or 'No space left' not in said.err:
                raise Failed('status %d: %s' % (said.status, said.err))
        finally:
            watcher.kill()


def certifies(build):
    """it-certify fails if the result of its run cannot be written."""
    with open('/dev/full', 'wb') as full:
        if 'No space left' not in ended(certify(build), full, 1):
            raise Failed('the reason is missing')


def copied_without_report(tools):
    """The report of a copy is lost: that is a failure, although the file is complete."""
    with Folder() as folder, open('/dev/full', 'wb') as full:
        source = folder.file('source', b'octets')
        ended([os.path.join(tools, 'it-cp'), '--self', '-a', 'emul:ib', '--serve', folder.served, source, ':copy'], full, 1)
        if folder.content('served/copy') != b'octets':
            raise Failed('another content')
        ended([os.path.join(tools, 'it-cp'), '--self', '-a', 'emul:ib', '-q', '--serve', folder.served, source, ':copy'], full, 0)


def reports(build, report):
    """A report of it-certify reaches a reader behind a pipe; if it cannot be written, the program
    fails."""
    page = [os.path.join(build, 'conformance/judge/certify/it-certify'), 'page', report]
    with Folder() as folder:
        pipe = os.path.join(folder.path, 'pipe')
        os.mkfifo(pipe)
        # A file behind the reader, since the page is longer than what pipes keep.
        with tempfile.TemporaryFile() as read:
            with subprocess.Popen(['cat', pipe], stdout=read) as reader:
                ended([*page, pipe], subprocess.DEVNULL, 0)
                reader.wait(timeout=PATIENCE)
            read.seek(0)
            if b'</html>' not in read.read():
                raise Failed('the reader of the pipe got no page')
        full = os.path.join(folder.path, 'full')
        os.symlink('/dev/full', full)
        said = subprocess.run([*page, full], stderr=subprocess.PIPE, text=True, check=False)
        if said.returncode == 0 or 'No space left' not in said.stderr:
            raise Failed('status %d: %s' % (said.returncode, said.stderr))
        if os.readlink(full) != '/dev/full':
            raise Failed('the device was replaced by a file')


def cases(build, source, made):
    tools = os.path.join(build, 'tools')
    for name, command in commands(build, source, made):
        ways = [is_full, is_closed]
        if '--help' not in command:
            ways += [can_be_written, has_no_reader, at_limit]
        for way in ways:
            yield '%s, %s' % (name, way.__name__), functools.partial(way, command)
    yield 'reader goes', functools.partial(reader_goes, tools)
    yield 'watcher is full', functools.partial(watcher_is_full, tools)
    yield 'certifies', functools.partial(certifies, build)
    yield 'copied without report', functools.partial(copied_without_report, tools)
    yield 'reports', functools.partial(reports, build, os.path.join(made, 'report.json'))


if __name__ == '__main__':
    # `it-info --env` fails if a variable is set that nobody reads; those of the project's tests are such.
    for setting in [name for name in os.environ if name.startswith('ITAPI_TEST_')]:
        del os.environ[setting]
    BUILD, SOURCE = sys.argv[1:3]
    with Folder() as made_here, Daemon(os.path.join(BUILD, 'kal/daemon/kald')) as daemon:
        os.environ['ITAPI_KALD'] = daemon.socket
        with Server(os.path.join(BUILD, 'tools'), 'it-ping', '-P', '-a', 'iwarp:lo'):     # something to be listed
            STATUS = main(list(cases(BUILD, SOURCE, made_here.path)))
    sys.exit(STATUS)
