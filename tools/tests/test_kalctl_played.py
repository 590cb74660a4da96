#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""kalctl with daemons that the test simulates ("played"), and with a kald whose clients the test
simulates.

Usage: test_kalctl_played.py TOOLS KALD      (TAP)
"""

import functools
import os
import re
import select
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

from test_kalctl import Daemon, kalctl, processes
from tool_runs import PATIENCE, Failed, main

# Numbers and structs of kal/remote/kald_wire.h.
HELLO, LISTEN, LISTEN_OVER, DESCRIPTION, LIST, STOP, DESCRIBE, REPLY = 1, 6, 7, 9, 10, 12, 65, 0x8000
CLIENT = 1
HEAD = struct.Struct('=IHHII')
RESOURCES = ('rnic', 'pd', 'cq', 'srq', 'qp', 'mr', 'mw', 'ah', 'listen', 'memory')
HASTE = 30     # s; kalctl gives up after 5


def message(number, body=b'', identity=1):
    return HEAD.pack(HEAD.size + len(body), number, 1, identity, 0) + body


def amounts(**some):
    return struct.pack('=16Q', *[some.get(name, 0) for name in RESOURCES], *[0] * (16 - len(RESOURCES)))


def at_port(port):
    return struct.pack('=HHI16sII', socket.AF_INET, port, 0, bytes([127, 0, 0, 1]), 1, 0)


class Client:
    """A client of kald that sends what a case wants."""

    def __init__(self, path, **lent):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.settimeout(PATIENCE)
        self.socket.connect(path)
        self.ask(HELLO, struct.pack('=4I', 1, 1, CLIENT, 0) + amounts(**lent))

    def send(self, number, body):
        self.socket.send(message(number, body))

    def ask(self, number, body):
        """Sends a request and waits for its answer; a refusal fails the test."""
        self.send(number, body)
        while True:
            _, got, _, _, status = HEAD.unpack(self.socket.recv(8192)[:HEAD.size])
            if got == number | REPLY:
                if status != 0:
                    raise Failed(f'kald refuses {number}')
                return


def play_client(path, *words):
    """The process of a played client. `lent` and `used` give amounts; `+PORT` begins to listen at a
    port, `-PORT` ends that."""
    said = {word.split('=')[0]: int(word.split('=')[1]) for word in words if '=' in word}
    client = Client(path, **{name[5:]: value for name, value in said.items() if name.startswith('lent.')})
    for word in words:
        if word[0] == '+':
            client.ask(LISTEN, at_port(int(word[1:])))
        elif word[0] == '-':
            client.send(LISTEN_OVER, at_port(int(word[1:])))
    if 'page' in words:
        publish()
    print('ready', flush=True)
    client.socket.settimeout(None)
    while True:
        packet = client.socket.recv(8192)
        if not packet:
            return
        if HEAD.unpack(packet[:HEAD.size])[1] == DESCRIBE:
            client.send(DESCRIPTION, amounts(**{name[5:]: value for name, value in said.items() if name.startswith('used.')}))


def publish():
    """Publishes a table as in kal/live/kal_live_page.h: two adapters of one name and three queue
    pairs, one of them with a peer."""
    path = struct.pack('=BxxxI16s', 1, 0, bytes([10, 0, 0, 1]) + bytes(12))
    nowhere = bytes(24)
    slot = struct.Struct('=IBBBBIIIIIIQ')
    slots = [struct.pack('=8s6I', b'itaplive', 1, 320, 16384, 6, os.getpid(), 0).ljust(320, b'\0')]
    slots += [(slot.pack(0, 1, 0, 0, 0, number, number, 0, 0, 0, 0, 0)[:32] + b'played:0').ljust(320, b'\0') for number in (1, 2)]
    for number in (3, 4, 5):
        ends = path + path if number == 4 else path + nowhere
        slots.append((slot.pack(0, 2, 0, 0, 0, number, 1, number, 0, 0, 0, 0)[:32] + ends).ljust(320, b'\0'))
    page = os.memfd_create('itapi-live')
    os.write(page, b''.join(slots))


class Played:
    """A process of play_client()."""

    def __init__(self, daemon, *words):
        self.process = subprocess.Popen([sys.executable, '-B', __file__, 'client', daemon.socket, *words], stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, text=True)
        self.pid = self.process.pid
        if self.process.stdout.readline() != 'ready\n':
            raise Failed('a client does not begin')

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def ended_by(self):
        try:
            return -self.process.wait(1)
        except subprocess.TimeoutExpired:
            return None


def numbers(tools, kald):
    """kalctl shows what a process uses, not the amount that kald granted it in advance, with units
    and peers, in the right columns."""
    with Daemon(kald) as daemon:
        with Played(daemon, 'lent.qp=90', 'lent.cq=80', 'lent.mr=70', 'lent.memory=9000000', 'used.qp=6', 'used.cq=5', 'used.mr=4',
                    'used.memory=3200000', '+7', '+8', '-8', 'page') as one:
            line, = [text for text in kalctl(tools, daemon, 'list').expect(0).out.splitlines() if text.split()[0] == str(one.pid)]
            if line.split()[3:] != ['6', '1', '5', '4', '3.2', 'MB', '7']:
                raise Failed(f'the line is {line}')
            shown = kalctl(tools, daemon, 'show', str(one.pid)).expect(0).out
            if [shown.count(f'queue pair {number},') for number in (3, 4, 5)] != [1, 1, 1] or shown.count('adapter played:0') != 2:
                raise Failed(f'objects are not there once: {shown}')
            if not re.search(r'(?m)^  memory +3.2 MB +9.0 MB$', shown) or not re.search(r'(?m)^  qp +6 +90$', shown):
                raise Failed(f'it shows {shown}')


def pages(tools, kald):
    """The list has more processes than one message of kald can contain."""
    with Daemon(kald) as daemon:
        clients = [Client(daemon.socket, qp=number) for number in range(20)]
        found = sorted(entry['lent']['qp'] for entry in processes(tools, daemon))
        if found != list(range(20)):
            raise Failed(f'the list has {found}')
        for client in clients:
            client.socket.close()


def listeners(tools, kald):
    """`kalctl stop :PORT` stops all processes that listen at the port, also one that has more ports
    than are shown, and no others."""
    many = [f'+{port}' for port in range(100, 120)]
    # kald names the last one.
    with Daemon(kald) as daemon, Played(daemon, *many, '+5') as one, Played(daemon, '+5', '+6') as two, Played(daemon, *many) as other:
        done = kalctl(tools, daemon, '--json', 'stop', ':5').expect(0).json()
        if sorted(done['pids']) != sorted([one.pid, two.pid]) or done['pid'] not in done['pids'] or not done['signalled']:
            raise Failed(f'stopped were {done}, not {one.pid} and {two.pid}')
        if one.ended_by() != signal.SIGTERM or two.ended_by() != signal.SIGTERM or other.ended_by() is not None:
            raise Failed('kalctl ended the wrong processes')
        kalctl(tools, daemon, 'stop', ':5').expect(1, 'there is no such process')
        entry, = processes(tools, daemon)
        if entry['stopped']:
            raise Failed('one that does not listen there is stopped')


class Fake:
    """A played daemon. `answer` is a function of a request's number and of how often it came; it
    returns the list of packets to send."""

    def __init__(self, answer):
        self.folder = tempfile.TemporaryDirectory(prefix='kalctl.')
        self.answer = answer
        self.environment = {**os.environ, 'ITAPI_KALD': os.path.join(self.folder.name, 'socket')}
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.listener.bind(self.environment['ITAPI_KALD'])
        self.listener.listen(0 if answer is None else 4)
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.serve, daemon=True)
        if answer is not None:
            self.thread.start()

    def serve(self):
        while not self.over.is_set():
            if not select.select([self.listener], [], [], 0.1)[0]:
                continue
            client, _ = self.listener.accept()
            client.settimeout(0.1)
            times = 0
            while not self.over.is_set():
                try:
                    packet = client.recv(8192)
                    if not packet:
                        break
                    number, identity = HEAD.unpack(packet[:HEAD.size])[1::2]
                    times += 1
                    for said, body in [(HELLO, bytes(1380))] if number == HELLO else self.answer(number, times):
                        client.send(message(said if said >= 64 else said | REPLY, body, identity if said < 64 else 0))
                        if self.over.is_set():
                            break
                except TimeoutError:
                    continue
                except OSError:
                    break
            client.close()

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.over.set()
        if self.answer is not None:
            self.thread.join()
        self.listener.close()
        self.folder.cleanup()


def hastily(tools, fake, *words):
    """Runs kalctl with a simulated daemon; kalctl must fail soon, whatever the daemon sends."""
    try:
        done = subprocess.run([os.path.join(tools, 'kalctl'), *words], env=fake.environment, capture_output=True, text=True, check=False,
                              timeout=HASTE)
    except subprocess.TimeoutExpired as error:
        raise Failed(f'kalctl {words} does not end') from error
    if done.returncode != 1:
        raise Failed(f'kalctl {words} ended with {done.returncode}: {done.stdout}{done.stderr}')
    return done.stderr


def expect(text, words):
    if words not in text:
        raise Failed(f'"{words}" is not in: {text}')


def events(number, times):
    """No answer, but events without end."""
    del number, times
    while True:
        yield DESCRIBE, bytes(8)
        time.sleep(0.01)


def listed(after, count):
    return LIST, struct.pack('=QII', after, count, 0) + bytes(3584)


def silent(tools, kald):
    """A daemon that accepts no connection, or sends only events: kalctl reports that within
    seconds."""
    del kald
    with Fake(None) as fake:
        waiting = []
        for _ in range(3):
            waiting.append(socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET))
            waiting[-1].setblocking(False)
            try:
                waiting[-1].connect(fake.environment['ITAPI_KALD'])
            except BlockingIOError:
                pass
        expect(hastily(tools, fake, 'list'), 'no kald answers')
        for one in waiting:
            one.close()
    with Fake(events) as fake:
        expect(hastily(tools, fake, 'list'), 'kald does not answer')


def endless(tools, kald):
    """A list of several pages that does not advance, or has an empty page, is refused."""
    del kald
    for answer in (lambda number, times: [listed(3, 8)], lambda number, times: [listed(times, 0)],
                   lambda number, times: [listed(1000 - times, 8)], lambda number, times: [listed(8 * times, 7)]):
        with Fake(answer) as fake:
            expect(hastily(tools, fake, 'list'), 'the list of kald has no end')


def another(tools, kald):
    """Only the process that the user named gets a signal, whatever the daemon answers."""
    del kald
    with subprocess.Popen(['sleep', '1000'], stdin=subprocess.DEVNULL) as bystander:
        try:
            with Fake(lambda number, times: [(STOP, struct.pack('=II', 1, bystander.pid))]) as fake:
                expect(hastily(tools, fake, 'stop', '2'), f'asked about process 2, and answered about {bystander.pid}')
            time.sleep(0.1)
            if bystander.poll() is not None:
                raise Failed('a process got a signal that nobody named')
        finally:
            bystander.kill()


if __name__ == '__main__':
    if sys.argv[1] == 'client':
        play_client(*sys.argv[2:])
    else:
        sys.exit(main([('/tools/kalctl-played/' + case.__name__, functools.partial(case, *sys.argv[1:]))
                       for case in (numbers, pages, listeners, silent, endless, another)]))
