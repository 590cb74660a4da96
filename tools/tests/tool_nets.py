# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""Network namespaces for tests, without root where Linux allows it, and captures of the packets in
them."""

import array
import contextlib
import fcntl
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import time

import tool_runs

INSIDE = 'ITAPI_TEST_IN_NAMESPACE'
SIOCETHTOOL = 0x8946
NO_OFFLOAD = (0x1f, 0x24, 0x2c)     # segmentation by the device, by software, and its opposite: off


def skip(why):
    print('1..0 # SKIP %s' % why)
    sys.exit(0)


def enter_namespace():
    """Starts this test again, alone on a network of its own; returns in the new process."""
    if INSIDE in os.environ:
        subprocess.run(['ip', 'link', 'set', 'lo', 'up'], check=True)
        return
    for flags in ('-n', '-Urn'):
        probe = ['unshare', flags, 'ip', 'link', 'set', 'lo', 'up']
        if shutil.which('unshare') and shutil.which('ip') and \
                subprocess.run(probe, capture_output=True, check=False).returncode == 0:
            os.execvpe('unshare', ['unshare', flags, sys.executable, '-B', *sys.argv],
                       {**os.environ, INSIDE: '1'})
    skip('no network namespace can be made here')


class Far:
    """A second network namespace, connected with that of this process by a pair of veth devices:
    `near` here, `far` there.

    Addresses are 10.77.0.1 and fd77::1 here, 10.77.0.2 and fd77::2 there. `with` ends it.
    """
    ADDRESSES = (('10.77.0.1/24', '10.77.0.2/24'), ('fd77::1/64', 'fd77::2/64'))

    def __init__(self, mtu, offload=False):
        self.keeper = subprocess.Popen(['unshare', '-n', 'sh', '-c', 'echo there; exec sleep 100000'],
                                       stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        if self.keeper.stdout.readline().strip() != 'there':
            skip('no second network namespace can be made here')
        self.inside = ['nsenter', '-t', str(self.keeper.pid), '-n']
        try:
            self.make(mtu, offload)
        except subprocess.CalledProcessError as error:
            self.__exit__()
            skip('no veth device can be made here: %s' % error)

    def make(self, mtu, offload):
        self.here('ip', 'link', 'add', 'near', 'type', 'veth', 'peer', 'name', 'far', 'netns', str(self.keeper.pid))
        self.there('ip', 'link', 'set', 'lo', 'up')
        for run, device, which in ((self.here, 'near', 0), (self.there, 'far', 1)):
            run('ip', 'link', 'set', device, 'mtu', str(mtu), 'up')
            for pair in self.ADDRESSES:
                run('ip', 'address', 'add', pair[which], 'dev', device, *(['nodad'] if ':' in pair[which] else []))
            if not offload:
                run(sys.executable, '-B', __file__, 'no-offload', device)

    @staticmethod
    def here(*command):
        subprocess.run(command, check=True, stdin=subprocess.DEVNULL)

    def there(self, *command):
        subprocess.run([*self.inside, *command], check=True, stdin=subprocess.DEVNULL)

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        with contextlib.suppress(subprocess.CalledProcessError):
            self.here('ip', 'link', 'delete', 'near')
        self.keeper.kill()
        self.keeper.wait()
        self.keeper.stdout.close()


class Capture:
    """A capture of an interface of this namespace, in a file. Marks in it are datagrams that
    contain a word."""

    def __init__(self, path, interface='lo', beyond=None):
        self.path, self.beyond = path, beyond
        self.dumpcap = subprocess.Popen(
            ['dumpcap', '-q', '-P', '-i', interface, '-s', '0', '-B', '128', '-w', path],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)

    def mark(self, word):
        """Sends a datagram with this word until it is in the file; then all earlier packets are
        there, too. False: it never is."""
        deadline = time.monotonic() + tool_runs.PATIENCE
        seen = 0
        with socket.socket(type=socket.SOCK_DGRAM) as mailbox:
            mailbox.bind(('', 0))
            target = (self.beyond, 9) if self.beyond else ('127.0.0.1', mailbox.getsockname()[1])
            while time.monotonic() < deadline and self.dumpcap.poll() is None:
                mailbox.sendto(word, target)
                time.sleep(0.1)
                if os.path.exists(self.path):
                    with open(self.path, 'rb') as file:
                        file.seek(seen)
                        new = file.read()
                        if word in new:
                            return True
                        seen = max(0, seen + len(new) - len(word))
        return False

    def end(self):
        """Stops the capture when everything is in the file; returns dumpcap's report of lost
        packets."""
        if not self.mark(b'capture-ends-here'):
            raise tool_runs.Failed('the capture has no end')
        self.dumpcap.send_signal(signal.SIGINT)
        return self.dumpcap.communicate(timeout=tool_runs.PATIENCE)[1]


def no_offload(device):
    """Switches segmentation offload off, so that a capture shows the packets as they are sent."""
    with socket.socket() as any_socket:
        for command in NO_OFFLOAD:
            value = array.array('B', struct.pack('II', command, 0))
            fcntl.ioctl(any_socket, SIOCETHTOOL,
                        struct.pack('16sP', device.encode(), value.buffer_info()[0]) + bytes(16))


if __name__ == '__main__':
    no_offload(sys.argv[2])
