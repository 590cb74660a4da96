# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""Runs the tools for their tests: alone, as a pair of processes, and counts what came out (TAP)."""

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time

# Another test's listeners are on another fabric of this user (shm:ib, shm:iwarp).
os.environ.setdefault('ITAPI_FABRIC', f'own-{os.getpid()}')

PATIENCE = 120      # s; generous, for sanitizers and valgrind on busy machines


class Failed(Exception):
    """A tool did something else than it should."""


class Skipped(Exception):
    """Why a case cannot be judged here."""


def need_installed(absent, always=True):
    """Skips the case if these programs are absent. It fails instead where tools/check has installed
    the packages for tests, unless only --full installs this one."""
    if absent and always and os.environ.get('ITAPI_TEST_INSTALLED'):
        raise Failed('not installed, though tools/dev/setup was to do it: ' + ', '.join(absent))
    if absent:
        raise Skipped('not installed: ' + ', '.join(absent))


class Done:
    """The result of a run of a tool: its exit status and output."""

    def __init__(self, status, out, err):
        self.status, self.out, self.err = status, out, err

    def expect(self, status, *texts):
        """Returns itself if the program ended with this status and printed all these texts;
        otherwise raises Failed."""
        if self.status != status:
            raise Failed('exit status %s instead of %s: %s' % (self.status, status, self.err))
        for text in texts:
            if text not in self.out + self.err:
                raise Failed('"%s" is not in: %s%s' % (text, self.out, self.err))
        return self

    def expect_either(self, status, *texts):
        """Returns itself if the program ended with this status and printed one of these texts;
        otherwise raises Failed."""
        self.expect(status)
        if not any(text in self.out + self.err for text in texts):
            raise Failed('none of %s is in: %s%s' % (', '.join(texts), self.out, self.err))
        return self

    def json(self):
        try:
            return json.loads(self.out)
        except ValueError as error:
            raise Failed('no JSON: %s: %s%s' % (error, self.out, self.err)) from error


def behind_door(binary, env):
    """The environment for third-party programs behind a door. `binary`, it-run or the door, shows
    whether the build has a sanitizer, whose runtime is then preloaded."""
    found = re.search(r'lib(?:asan|tsan)\.so\.\d+ => (\S+)', subprocess.run(['ldd', binary], capture_output=True, text=True,
                                                                          check=True).stdout)
    if not found:
        return dict(env)
    # The door stands before the runtime, and foreign programs leave memory and threads behind.
    return {**env, 'LD_PRELOAD': ':'.join(filter(None, [found[1], env.get('LD_PRELOAD')])),
            'ASAN_OPTIONS': env.get('ASAN_OPTIONS', '') + ':verify_asan_link_order=0:detect_leaks=0',
            'TSAN_OPTIONS': env.get('TSAN_OPTIONS', '') + ':ignore_noninstrumented_modules=1:die_after_fork=0:report_thread_leaks=0'}


def command(tools, name, arguments):
    """The command line of a tool; its time-out is that of the tests, unless the test gives another."""
    patience = [] if name == 'it-info' or '--timeout' in arguments else ['--timeout', str(PATIENCE)]
    return [os.path.join(tools, name), *patience, *arguments]


class Server:
    """A server process that listens; `with` ends it. `inside` are words before its command, for
    instance to start it in a namespace."""

    def __init__(self, tools, name, *arguments, port=0, inside=(), **keywords):
        self.process = subprocess.Popen(
            [*inside, *self.words(tools, name, ['-p', str(port), *arguments])],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **keywords)
        self.err = ''
        self.port = self.wait_for_port()
        self.reader = threading.Thread(target=self.read_errors, daemon=True)
        self.reader.start()

    def words(self, tools, name, arguments):
        """The words that start it."""
        return command(tools, name, arguments)

    def wait_for_port(self):
        for line in self.process.stderr:
            found = re.match(r'listening on port (\d+) of ', line)
            if found:
                return found.group(1)
            self.err += line
        raise Failed('the server does not listen: ' + self.err)

    def read_errors(self):
        for line in self.process.stderr:
            self.err += line

    def done(self):
        """Waits until it has ended by itself."""
        said = []
        out = threading.Thread(target=lambda: said.append(self.process.stdout.read()), daemon=True)
        out.start()
        out.join(PATIENCE)
        try:
            status = self.process.wait(0 if out.is_alive() else PATIENCE)
        except subprocess.TimeoutExpired as error:
            raise Failed('the server does not end: ' + self.err) from error
        out.join(PATIENCE)
        self.reader.join(PATIENCE)
        return Done(status, ''.join(said), self.err)

    def kill(self, number=signal.SIGKILL):
        self.process.send_signal(number)

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.process.stdout.close()


def start(tools, name, *arguments, **keywords):
    return subprocess.Popen(command(tools, name, arguments), stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **keywords)


def finish(process):
    try:
        out, err = process.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired as error:
        process.kill()
        process.communicate()
        raise Failed('%s does not end' % process.args) from error
    return Done(process.returncode, out, err)


def run(tools, name, *arguments, **keywords):
    return finish(start(tools, name, *arguments, **keywords))


def wait_for_traffic(port, processes, octets=4096):
    """Returns once the server on `port` has received or sent that many octets, however slowly both
    sides start."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        shown = subprocess.run(['ss', '-tinH', 'state', 'established', 'sport', '=', str(port)],
                               capture_output=True, text=True, check=True).stdout
        if any(int(had) >= octets for had in re.findall(r'bytes_(?:received|acked):(\d+)', shown)):
            return
        for process in processes:
            if process.poll() is not None:
                raise Failed('%s ended too early' % process.args)
        time.sleep(0.05)
    raise Failed('no data moves')


def wait_for_rings(process):
    """Returns once a client over shm has joined its peer and has used processor time since; such a
    client polls."""
    worked = None
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        if process.poll() is not None:
            raise Failed('%s ended too early' % process.args)
        with open('/proc/%u/maps' % process.pid, encoding='utf-8') as maps, \
                open('/proc/%u/stat' % process.pid, encoding='utf-8') as stat:
            joined, fields = maps.read().count('itapi-ring') >= 2, stat.read().rsplit(')', 1)[1].split()
        now = int(fields[11]) + int(fields[12])     # ticks of 10 ms
        if joined and worked is None:
            worked = now
        if joined and now - worked >= 5:
            return
        time.sleep(0.05)
    raise Failed('no data moves')


def wait_for_packets(tools, process, packets=8):
    """Returns once endpoints of a client over RoCE have sent and received that many packets."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        if process.poll() is not None:
            raise Failed('%s ended too early' % process.args)
        said = run(tools, 'it-info', '--live', str(process.pid), '--json')
        listed = said.json()['processes'] if said.status == 0 else []
        counted = [each.get('counters', {}) for one in listed for each in one['objects'] if each['kind'] == 'endpoint']
        if sum(each.get('frames_sent', 0) + each.get('frames_received', 0) for each in counted) >= packets:
            return
        time.sleep(0.05)
    raise Failed('no data moves')


class Folder:
    """A folder for one test: with files to copy, and a folder that a server serves."""

    def __enter__(self):
        self.temporary = tempfile.TemporaryDirectory(prefix='test-tools-')
        self.path = self.temporary.name
        self.served = os.path.join(self.path, 'served')
        os.mkdir(self.served)
        return self

    def __exit__(self, *unused):
        self.temporary.cleanup()

    def file(self, name, octets=b''):
        path = os.path.join(self.path, name)
        with open(path, 'wb') as new:
            new.write(octets)
        return path

    def content(self, name):
        with open(os.path.join(self.path, name), 'rb') as old:
            return old.read()

    def names(self):
        return sorted(os.listdir(self.served))


def main(cases):
    """Runs (name, function) pairs and prints how they went."""
    print('1..%d' % len(cases), flush=True)
    failed = 0
    for number, (name, function) in enumerate(cases, 1):
        trouble, skipped = None, ''
        try:
            function()
        except Skipped as reason:
            skipped = ' # SKIP %s' % reason
        except (Failed, OSError, AssertionError) as error:
            trouble = '%s: %s' % (type(error).__name__, error)
            failed += 1
        print('%s %d - %s%s' % ('not ok' if trouble else 'ok', number, name, skipped))
        if trouble:
            print('# ' + trouble.replace('\n', '\n# '))
        sys.stdout.flush()
    return 1 if failed else 0
