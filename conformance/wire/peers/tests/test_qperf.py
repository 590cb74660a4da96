#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""`peer qperf` with a peer that sends false values, is silent or disappears on the TCP connection
on which the sides agree on a test.

Usage: test_qperf.py TOOLS_TESTS PEERS      (TAP)

For values that are sent only after the RDMA connection is established, there is a proxy between
`peer` as client and as server; it passes all octets on, except those that it changes.
"""

import functools
import socket
import struct
import sys
import threading

HOST = '127.0.0.1'
REQUEST = '<4H16I64s64s'
REQUEST_SIZE, NODE_SIZE, RESULTS_SIZE, PORT_SIZE = 200, 40, 256, 4
BEFORE, AFTER = b'synchronization before test', b'synchronization after test'
FIELDS = ('access_recv', 'affinity', 'alt_port', 'flip', 'msg_size', 'mtu_size', 'no_msgs', 'poll_mode', 'port',
          'rd_atomic', 'sl', 'sock_buf_size', 'src_path_bits', 'time', 'timeout', 'use_cm')
SECONDS = 20        # that a socket of ours waits


def request(version=(0, 4, 11), test=16, **fields):
    values = {'msg_size': 1, 'time': 1, 'timeout': 5, 'use_cm': 1, **fields}
    return struct.pack(REQUEST, *version, test, *(values.get(name, 0) for name in FIELDS), b'', b'')


# What a client sends before it waits; the words of the server's complaint.
BAD_REQUESTS = {
    'newer': (request((0, 5, 0)), 'the client is qperf 0.5.0'),
    'other-major': (request((1, 4, 0)), 'the client is qperf 1.4.0'),
    'version-only': (struct.pack('<3H', 0, 3, 9), 'the client is qperf 0.3.9'),
    'rc-bw': (request(test=13), 'test 13 of qperf'),
    'no-such-test': (request(test=0xffff), 'test 65535 of qperf'),
    'no-cm': (request(use_cm=0), '-cm1'),
    'size-0': (request(msg_size=0), 'messages of 0 octets'),
    'size-large': (request(msg_size=(1 << 24) + 1), 'messages of 16777217 octets'),
    'size-largest': (request(msg_size=0xffffffff), 'messages of 4294967295 octets'),
    'time-0': (request(time=0), 'a test of 0 seconds'),
    'time-long': (request(time=3601), 'a test of 3601 seconds'),
    'time-longest': (request(time=0xffffffff), 'a test of 4294967295 seconds'),
}

# What a client sends before it closes its direction; the words of the server's complaint.
CUT_REQUESTS = {
    'nothing': (b'', 'instead of sending a request'),
    'half-a-version': (request()[:3], 'instead of sending a request'),
    'half-a-request': (request()[:100], 'instead of sending the parameters of the request'),
}

BEYOND = b'\xff' * 8
MANY = struct.pack('<Q', 1 << 40)
NODE_AT = {'client': REQUEST_SIZE, 'server': PORT_SIZE}
RESULTS_AT = PORT_SIZE + NODE_SIZE + len(BEFORE)

# Who sends the octets that the go-between changes, where they are and what they become; who complains; its words.
CHANGES = {
    'port-0': ('server', 0, bytes(4), 'client', 'on port 0, which is none'),
    'port-65536': ('server', 0, struct.pack('<I', 65536), 'client', 'on port 65536, which is none'),
    'port-of-nobody': ('server', 0, struct.pack('<I', 1), 'client', 'nobody listens there'),
    'server-address': ('server', NODE_AT['server'], BEYOND, 'client', 'beyond the last address'),
    'client-address': ('client', NODE_AT['client'], BEYOND, 'server', 'beyond the last address'),
    'server-before': ('server', NODE_AT['server'] + NODE_SIZE, b'S', 'client', f'something else than "{BEFORE.decode()}"'),
    'client-before': ('client', NODE_AT['client'] + NODE_SIZE, b'S', 'server', f'something else than "{BEFORE.decode()}"'),
    'sent-too-much': ('server', RESULTS_AT + 164, MANY, 'client', f'sent {1 << 40}; we sent'),
    'had-too-much': ('server', RESULTS_AT + 188, MANY, 'client', f'it had {1 << 40} messages'),
    'had-nothing': ('server', RESULTS_AT + 188, bytes(8), 'client', 'it had 0 messages'),
    'send-errors': ('server', RESULTS_AT + 172, b'\x01', 'client', 'counted 1 errors'),
    'receive-errors': ('server', RESULTS_AT + 196, b'\x02', 'client', 'counted 2 errors'),
    'after': ('client', NODE_AT['client'] + NODE_SIZE + len(BEFORE), b'S', 'server',
              f'something else than "{AFTER.decode()}"'),
}


def serve(folder, *options):
    return Server(folder, 'peer', '-a', 'iwarp', *options, '-c', '1', 'qperf')


def connect(port):
    return socket.create_connection((HOST, int(port)), SECONDS)


def listen():
    listener = socket.create_server((HOST, 0))
    listener.settimeout(SECONDS)
    return listener


def accept(listener):
    end = listener.accept()[0]
    end.settimeout(SECONDS)
    return end


def client(folder, port, *options):
    return start(folder, 'peer', '-a', 'iwarp', '-p', str(port), *options, '-c', '1', '--time', '1', 'qperf', HOST)


def read_all(end):
    """Reads to the end of the stream, without urgent data."""
    octets = b''
    while True:
        more = end.recv(4096)
        if not more:
            return octets.decode()
        octets += more


def receive(end, count):
    octets = b''
    while len(octets) < count:
        more = end.recv(count - len(octets))
        if not more:
            raise Failed(f'the stream ended after {len(octets)} of {count} octets')
        octets += more
    return octets


def contains(words, text):
    if words not in text:
        raise Failed(f'"{words}" is not in "{text}"')


def bad_request(folder, octets, words):
    """The server reports why it gives up, to its user and to the client."""
    with serve(folder) as server, connect(server.port) as end:
        end.sendall(octets)
        contains(words, read_all(end))
        end.close()
        server.done().expect(1, words)


def cut_request(folder, octets, words):
    with serve(folder) as server, connect(server.port) as end:
        end.sendall(octets)
        end.shutdown(socket.SHUT_WR)
        contains(words, read_all(end))
        server.done().expect(1, words)


def silent_client(folder):
    with serve(folder, '--timeout', '1') as server, connect(server.port):
        server.done().expect(1, 'waiting for a request: the peer sent too little within 1 seconds')


def no_client(folder):
    with serve(folder, '--timeout', '1') as server:
        server.done().expect(1, 'nobody connected within 1 seconds')


def no_rdma_client(folder):
    with serve(folder, '--timeout', '1') as server, connect(server.port) as end:
        end.sendall(request())
        if struct.unpack('<I', receive(end, PORT_SIZE))[0] not in range(1, 65536):
            raise Failed('the server tells no port')
        server.done().expect(1, 'rc_lat: nobody connected within 1 seconds')


def client_gives_up(folder):
    with serve(folder) as server, connect(server.port) as end:
        end.send(b'?', socket.MSG_OOB)
        end.sendall(b'no device\x1b[2J')
        end.close()
        server.done().expect(1, 'the peer gave up: no device [2J')


def client_request(folder):
    """The fields of our client's request, read with the layout of this file."""
    with listen() as listener:
        job = client(folder, listener.getsockname()[1], '-S', '1000')
        with accept(listener) as end:
            fields = struct.unpack(REQUEST, receive(end, REQUEST_SIZE))
        finish(job).expect(1, 'instead of sending the port for RDMA')
    got = dict(zip(('major', 'minor', 'increment', 'test') + FIELDS, fields))
    wanted = {'major': 0, 'minor': 4, 'test': 16, 'msg_size': 1000, 'time': 1, 'use_cm': 1, 'timeout': PATIENCE}
    for name, value in got.items():
        if value != wanted.get(name, 0):
            raise Failed(f'{name} of the request is {value}')


def silent_server(folder):
    with listen() as listener:
        job = client(folder, listener.getsockname()[1], '--timeout', '1')
        with accept(listener):
            finish(job).expect(1, 'waiting for the port for RDMA: the peer sent too little within 1 seconds')


def server_gives_up(folder):
    """The server gives up as qperf does: its answer is cut off, and the reason follows the urgent
    octet."""
    with listen() as listener:
        job = client(folder, listener.getsockname()[1])
        with accept(listener) as end:
            receive(end, REQUEST_SIZE)
            end.sendall(b'12')
            end.send(b'?', socket.MSG_OOB)
            end.sendall(b'failed to create QP\n')
            end.shutdown(socket.SHUT_WR)
            finish(job).expect(1, 'rc_lat: the peer gave up: failed to create QP\n')


def no_server(folder):
    with listen() as listener:
        port = listener.getsockname()[1]
    finish(client(folder, port)).expect(1, f'TCP port {port} of {HOST}: connect: ')


def pass_on(source, sink, at, octets):
    """Passes a stream on; from its octet `at`, other octets are passed instead."""
    passed = 0
    try:
        while True:
            more = bytearray(source.recv(4096))
            if not more:
                break
            for i in range(max(0, at - passed), min(len(more), at + len(octets) - passed)):
                more[i] = octets[passed + i - at]
            sink.sendall(more)
            passed += len(more)
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        source.close()      # one of the two has gone
        sink.close()


def change(folder, speaker, at, octets, judge, words):
    impatient = ('--timeout', '3')
    with serve(folder, *impatient) as server, listen() as listener:
        job = client(folder, listener.getsockname()[1], *impatient)
        with accept(listener) as near, connect(server.port) as far:
            changes = {'client': (1 << 40, b''), 'server': (1 << 40, b''), speaker: (at, octets)}
            threads = [threading.Thread(target=pass_on, args=(near, far, *changes['client'])),
                       threading.Thread(target=pass_on, args=(far, near, *changes['server']))]
            for thread in threads:
                thread.start()
            ends = {'client': finish(job), 'server': server.done()}
            for thread in threads:
                thread.join()
        ends[judge].expect(1, words)


def unchanged(folder):
    """If the proxy changes nothing, the test passes."""
    with serve(folder) as server, listen() as listener:
        job = client(folder, listener.getsockname()[1])
        with accept(listener) as near, connect(server.port) as far:
            for ends in ((near, far), (far, near)):
                threading.Thread(target=pass_on, args=(*ends, 1 << 40, b''), daemon=True).start()
            finish(job).expect(0)
            server.done().expect(0)


if __name__ == '__main__':
    sys.path.insert(0, sys.argv[1])
    from tool_runs import Failed, PATIENCE, Server, finish, main, start
    FOLDER = sys.argv[2]
    CASES = [(function.__name__.replace('_', '-'), functools.partial(function, FOLDER))
             for function in (silent_client, no_client, no_rdma_client, client_gives_up, client_request, silent_server,
                              server_gives_up, no_server, unchanged)]
    for what, how, table in (('request', bad_request, BAD_REQUESTS), ('cut', cut_request, CUT_REQUESTS),
                             ('change', change, CHANGES)):
        CASES += [(f'{what}-{name}', functools.partial(how, FOLDER, *row)) for name, row in table.items()]
    sys.exit(main([(f'/conformance/wire/peers/qperf/{name}', case) for name, case in CASES]))
