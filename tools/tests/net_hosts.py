# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""Hosts for tests: network namespaces that veth pairs ("cables") connect. An ordinary user can run
these tests (TAP).

The test moves itself into a network namespace of its own, the host "here"; without root into a user namespace too. Other
hosts are namespaces of processes that it starts. All ends with the test.
"""

import os
import shutil
import subprocess
import sys
import time

import tool_runs

INSIDE = 'ITAPI_TEST_IN_NAMESPACE'


def skip(why):
    print('1..0 # SKIP %s' % why)
    sys.exit(0)


def enter():
    """Starts this test again in a network namespace of its own."""
    if os.environ.get(INSIDE):
        return
    for flags in ('-n', '-Urn'):
        probe = ['unshare', flags, 'ip', 'link', 'add', 'v0', 'type', 'veth', 'peer', 'name', 'v1']
        if all(map(shutil.which, ('unshare', 'nsenter', 'ip'))) and \
                subprocess.run(probe, capture_output=True, check=False).returncode == 0:
            os.execvpe('unshare', ['unshare', flags, sys.executable, '-B', *sys.argv], {**os.environ, INSIDE: '1'})
    skip('no network namespace with a veth pair can be made here')


def until(condition, what):
    """Waits until the condition holds."""
    end = time.monotonic() + tool_runs.PATIENCE
    while not condition():
        if time.monotonic() > end:
            raise tool_runs.Failed('it never came: ' + what)
        time.sleep(0.01)


class Host:
    """A network namespace; `with` removes it at its end, with all of its interfaces."""

    def __init__(self, here=False):
        self.holder = None
        if not here:
            self.holder = subprocess.Popen(['unshare', '-n', 'cat'], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
            own = os.readlink('/proc/self/ns/net')
            until(lambda: os.readlink('/proc/%d/ns/net' % self.holder.pid) != own, 'a namespace')
        self.ip('link', 'set', 'lo', 'up')

    def within(self, command):
        """The words of a command that runs on this host."""
        return command if self.holder is None else ['nsenter', '-n', '-t', str(self.holder.pid), '--', *command]

    def run(self, *command, **keywords):
        try:
            return subprocess.run(self.within(list(command)), capture_output=True, text=True, check=False,
                                  timeout=tool_runs.PATIENCE, stdin=subprocess.DEVNULL, **keywords)
        except subprocess.TimeoutExpired as error:
            raise tool_runs.Failed('it does not end: ' + ' '.join(command)) from error

    def ip(self, *words):
        done = self.run('ip', *words)
        if done.returncode != 0:
            raise tool_runs.Failed('ip %s: %s' % (' '.join(words), done.stderr))
        return done.stdout

    def set(self, path, value):
        """A value below /proc/sys/net/."""
        done = self.run('sh', '-c', 'echo "$2" > "/proc/sys/net/$1"', 'sh', path, str(value))
        if done.returncode != 0:
            raise tool_runs.Skipped('/proc/sys/net/%s cannot be set here: %s' % (path, done.stderr.strip()))

    def cable(self, own, other, other_own):
        """Makes a veth pair, `own` on this host and `other_own` on the other one, and sets both up.
        IPv6 addresses are usable at once, since duplicate detection is off."""
        self.ip('link', 'add', own, 'type', 'veth', 'peer', 'name', other_own)
        if other.holder is not None:
            self.ip('link', 'set', other_own, 'netns', str(other.holder.pid))
        for host, name in ((self, own), (other, other_own)):
            host.set('ipv6/conf/%s/accept_dad' % name, 0)
            host.ip('link', 'set', name, 'up')

    def address(self, name, *addresses):
        for address in addresses:
            self.ip('addr', 'add', address, 'dev', name, *(['nodad'] if ':' in address else []))

    def tool(self, tools, name, *arguments, **keywords):
        """Runs a tool on this host, and returns its output and exit status."""
        done = self.run(*tool_runs.command(tools, name, list(arguments)), **keywords)
        return tool_runs.Done(done.returncode, done.stdout, done.stderr)

    def server(self, tools, name, *arguments, **keywords):
        """A server on this host, a tool_runs.Server."""
        return HostServer(self, tools, name, *arguments, **keywords)

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        if self.holder is not None:
            self.holder.stdin.close()
            self.holder.wait()
            return
        for line in self.ip('-o', 'link').splitlines():
            name = line.split(':')[1].strip().split('@')[0]
            if name != 'lo':
                self.run('ip', 'link', 'del', name)
        self.ip('addr', 'flush', 'dev', 'lo')
        self.ip('link', 'set', 'lo', 'down')
        self.ip('link', 'set', 'lo', 'up')
        for family in ('-4', '-6'):
            for line in self.ip(family, 'rule').splitlines():
                priority = line.split(':')[0]
                if priority not in ('0', '32766', '32767'):
                    self.ip(family, 'rule', 'del', 'priority', priority)


class HostServer(tool_runs.Server):
    """A server that runs on a host."""

    def __init__(self, host, tools, name, *arguments, port=0, **keywords):
        self.host = host
        super().__init__(tools, name, *arguments, port=port, **keywords)

    def words(self, tools, name, arguments):
        return self.host.within(super().words(tools, name, arguments))
