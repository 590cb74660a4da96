# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""Runs programs behind the door for its tests: alone or in pairs, in a network namespace, with
their environment."""

import contextlib
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../../tools/tests'))

# pylint: disable=wrong-import-position
from tool_runs import PATIENCE, Done, Failed, behind_door  # noqa: E402

INSIDE = 'ITAPI_TEST_IN_NAMESPACE'
NOBODY = '65534'
STOP = 10       # s that a program has to end when it is told to
# What a sanitizer, the C library or a program of ours says when something is wrong, whatever the exit status.
TROUBLE = re.compile(r'ERROR: \w+Sanitizer|WARNING: ThreadSanitizer|runtime error:|\*\*\* stack smashing|'
                     r'corrupted (?:size|double)|free\(\): |Assertion .* failed')


# --- where -------------------------------------------------------------------------------------------------


def runs(*command):
    return subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL, check=False).returncode == 0


def enter(*readable, as_nobody=True):
    """Starts this test again, alone on a network of its own and without rights outside of it, as far as Linux allows that here.

    Root first becomes the user "nobody", if that user may read the files `readable`. Where no
    network namespace can be made, the test uses the network of the machine.
    """
    if INSIDE in os.environ:
        if os.environ[INSIDE] == 'alone':
            subprocess.run(['ip', 'link', 'set', 'lo', 'up'], check=True)
        return
    nobody = ['setpriv', '--reuid=' + NOBODY, '--regid=' + NOBODY, '--clear-groups', '--no-new-privs']
    may = as_nobody and os.geteuid() == 0 and runs(*nobody, 'cat', *readable, sys.executable, '/dev/null')
    own = [*nobody, '--'] if may else []
    for before, network in ((own, ['unshare', '-Urn']), ([], ['unshare', '-Urn']), ([], ['unshare', '-n']), (own, [])):
        if runs(*before, *network, *(['ip', 'link', 'set', 'lo', 'up'] if network else ['true'])):
            os.execvpe((before + network + [sys.executable])[0], [*before, *network, sys.executable, '-B', *sys.argv],
                       {**os.environ, INSIDE: 'alone' if network else 'shared', 'HOME': '/nonexistent'})
    os.environ[INSIDE] = 'shared'


def is_alone():
    """Is the network of the test its own, so that it may change interfaces?"""
    return os.environ.get(INSIDE) == 'alone'


def may_listen(port):
    """Is nothing bound to that TCP port?"""
    return port not in bound_ports('')


def bound_ports(state):
    """The local TCP ports in that state ('0A': listening; '': any)."""
    ports = set()
    for name in ('/proc/net/tcp', '/proc/net/tcp6'):
        with contextlib.suppress(OSError), open(name, encoding='ascii') as file:
            for line in file.readlines()[1:]:
                words = line.split()
                if state in ('', words[3]):
                    ports.add(int(words[1].rsplit(':', 1)[1], 16))
    return ports


def has_roce(address):
    """Whether a process has bound the UDP port of RoCE at that IPv4 address."""
    wanted = '%08X:%04X' % (int.from_bytes(socket.inet_aton(address), sys.byteorder), 4791)
    with open('/proc/net/udp', encoding='ascii') as file:
        return any(line.split()[1] == wanted for line in file.readlines()[1:])


# --- how -----------------------------------------------------------------------------------------------------


class Door:
    """it-run and the preloaded object of a build folder, and the environment that a program needs
    if they were built with a sanitizer."""

    def __init__(self, tools, door):
        self.run, self.path = os.path.join(os.path.realpath(tools), 'it-run'), os.path.realpath(door)
        needs = subprocess.run(['ldd', self.path], capture_output=True, text=True, check=True).stdout
        found = re.search(r'lib(asan|tsan)\.so', needs)
        self.sanitizer = found[1] if found else None

    def environment(self, **more):
        """An environment in which no variable of ours is set, except those of `more`."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(('ITAPI_', 'LD_PRELOAD', 'LD_LIBRARY'))}
        return behind_door(self.path, {**kept, **more})

    def words(self, command, adapters=('iwarp',)):
        """The command line that runs a command, words or a text of words, behind the door."""
        command = command.split() if isinstance(command, str) else list(command)
        return [self.run, *(word for name in adapters for word in ('-a', name)), '--', *command]


class Program:
    """A running program; `with` ends it. Its output goes to files, so it never blocks on a reader."""

    def __init__(self, words, env, cwd=None):
        self.words = words
        self.files = [tempfile.NamedTemporaryFile() for _ in range(2)]      # pylint: disable=consider-using-with
        self.process = subprocess.Popen(words, env=env, cwd=cwd, stdin=subprocess.DEVNULL, stdout=self.files[0],
                                        stderr=self.files[1], start_new_session=True)

    def said(self):
        """Returns the output of the program so far, stdout and stderr; the program keeps running."""
        texts = []
        for file in self.files:
            with open(file.name, encoding='utf-8', errors='replace') as copy:
                texts.append(copy.read())
        return texts

    def ended(self):
        return self.process.poll() is not None

    def wait(self, until):
        """Waits for the program's end and returns its result; kills it at that time (of
        time.monotonic())."""
        try:
            self.process.wait(max(0, until - time.monotonic()))
        except subprocess.TimeoutExpired as error:
            self.end()
            raise Failed('%s does not end: %s' % (' '.join(self.words), self.last_words())) from error
        return self.done()

    def stop(self):
        """Ends a program that does not end by itself, by SIGINT as a user does."""
        if not self.ended():
            self.process.send_signal(signal.SIGINT)
        try:
            self.process.wait(STOP)
        except subprocess.TimeoutExpired:
            self.end()
        return self.done()

    def done(self):
        return Done(self.process.returncode, *self.said())

    def last_words(self):
        return ' | '.join(text[-600:] for text in self.said())

    def end(self):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.end()
        for file in self.files:
            file.close()


def wait_until(condition, program, what, until):
    """Waits until the condition holds; the program must run meanwhile."""
    while not condition():
        if program.ended():
            raise Failed('%s ended before %s: %s' % (' '.join(program.words), what, program.last_words()))
        if time.monotonic() > until:
            raise Failed('%s: %s never came: %s' % (' '.join(program.words), what, program.last_words()))
        time.sleep(0.02)


def need_good(done, words):
    """Fails if a program crashed or a sanitizer reported something; otherwise returns its result."""
    trouble = TROUBLE.search(done.out + done.err)
    if trouble or (done.status < 0 and done.status not in (-signal.SIGINT, -signal.SIGKILL)):
        at = trouble.start() if trouble else 0
        raise Failed('%s: status %d: %s' % (' '.join(words), done.status, (done.out + done.err)[at:at + 3000]))
    return done


def missing(names):
    """Returns those of the programs and files that are not installed."""
    return [name for name in names if not (os.path.exists(name) if '/' in name else shutil.which(name))]


def deadline():
    return time.monotonic() + PATIENCE
