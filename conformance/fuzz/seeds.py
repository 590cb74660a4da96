#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""Writes first inputs for the fuzzers into FOLDER/NAME, from the wire vectors and from the steps of
the tests.

A harness's source says how it reads its input. Usage: seeds.py FOLDER
"""

import hashlib
import json
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
VECTORS = os.path.join(HERE, '../wire/vectors')

# Calls of the kAL, in the order of enum kal_call_number.
CALLS = re.findall(r'^\tKAL_([A-Z_]+),', open(os.path.join(HERE, '../../kal/kal_call.h'), encoding='utf-8').read()
                   .split('enum kal_call_number {')[1].split('};')[0], re.MULTILINE)
POST, RECV, RECV_SHARED, POLL, ARM, TIME = range(len(CALLS) + 1, len(CALLS) + 7)

CONFIG = """# an administrator's file
[aliases]
OpenIB-cma = iwarp
other\\sname = emul:ib
[mpa]
crc = true
fall-back = false
convert-timeout = 120
[compat]
disconnect-data = refuse
broken-connection-events = drop
[policy]
privileged-uids = 1000;1001
[limits.client]
qp = 100
memory = 1073741824
[limits.process]
rnic = unlimited
[limits.user]
mr = 5
"""

SCRIPT = ['call pd_create 1 resources', 'call qp_create 3 limit', 'call route 2 fatal', 'call listen 1 none',
          'fail adapter', 'fail qp 1', 'fail qp last reset', 'fail qp 1 gone', 'fail cq 1', 'full cq last', 'fail srq 1',
          'port down', 'port up', 'fail qp 2 crc', 'nonsense', 'call pd_create 0 busy']

SETTINGS = [b'\x02info', b'\x02loud', b'\x0450', b'\x04-1', b'\x05off', b'\x061', b'\x07drop', b'\x081000', b'\x0999',
            b'\x0aport down', b'\x0c12', b'\xffITAPI_LOGS=1', b'\xffITAPI_EMUL_FAULT=x']


def vectors():
    """(kind, octets, crc) of each frame."""
    with open(os.path.join(VECTORS, 'vectors.json'), encoding='utf-8') as file:
        for connection in json.load(file):
            crc = connection.get('negotiated', {}).get('crc', True)
            for frame in connection['frames']:
                yield frame['kind'], bytes.fromhex(frame['hex']), crc
    with open(os.path.join(VECTORS, 'negative.json'), encoding='utf-8') as file:
        for frame in json.load(file):
            yield 'mpa_req' if frame['name'].startswith('mpa-') else 'fpdu', bytes.fromhex(frame['hex']), True


def offer(revision, words, ird, ord_, ird_max, rtr):
    return bytes([(revision == 2) | 2 | words << 2 | rtr << 4]) + b''.join(
        value.to_bytes(2, 'big') for value in (ird, ord_, ird_max))


def mpa():
    ours = offer(2, 1, 4, 4, 128, 3)
    for kind, octets, _ in vectors():
        if kind in ('mpa_req', 'mpa_rep'):
            for part in (0, 17, 65535):
                yield bytes([kind == 'mpa_rep']) + ours + part.to_bytes(2, 'big') + octets
    for rtr in range(4):
        yield b'\x02' + ours + offer(2, 1, 1, 30, 8, rtr) + b'private data'
    yield b'\x02' + offer(1, 0, 4, 4, 4, 0) + ours


def wire():
    for kind, octets, crc in vectors():
        if kind not in ('fpdu', 'stream'):
            continue
        for options in (0x0c, 0x1c, 0x2c):
            yield bytes([options | (2 if crc else 0), 9]) + octets
        length = int.from_bytes(octets[:2], 'big')
        if length < 256 and len(octets) >= length + 2:
            yield bytes([0x0f, 20, length]) + octets[2:length + 2]


def judge():
    for kind, octets, crc in vectors():
        if kind not in ('fpdu', 'stream'):
            continue
        yield bytes([2 if crc else 0, 0, 0]) + octets
        length = int.from_bytes(octets[:2], 'big')
        if length < 256 and len(octets) >= length + 2:
            for place in (0, 4, 488, 500, 508):
                yield bytes([7]) + place.to_bytes(2, 'big') + bytes([length]) + octets[2:length + 2]
            yield bytes([3, 0, 0, length]) + octets[2:length + 2]
            yield bytes([6, 1, 0]) + octets
            yield bytes([6, 2, 0]) + bytes(4) + octets


def stream():
    start = bytes([0x01, 80, 0x24])
    receive = bytes([3, 0, 0, 64])
    for kind, octets, crc in vectors():
        if kind in ('fpdu', 'stream') and len(octets) < 256:
            for piece in (0, 7):
                yield bytes([0x01 if crc else 0, 80, 0x24]) + receive + bytes([2, piece, len(octets)]) + octets
    for opcode in range(12):
        frame = bytes([0, 0, opcode, 0, 0, 0, 8, 24]) + bytes(range(24))
        yield start + receive + frame + receive + frame + bytes([12])
        for markers in (1, 2, 3):
            yield bytes([0x01, 80, 0xa4, markers]) + receive * 8 + frame * 16 + bytes([12])
        yield bytes([0x23, 80, 0x24]) + receive * 2 + frame * 2
        yield start + receive + bytes([0, 5, opcode, 1, 0, 0, 8, 24]) + bytes(24) + frame + bytes([9, 8, 64])
    for command in (4, 5, 6, 7):
        post = bytes([command, 0, 1, 64, 1, 1, 0])
        answer = bytes([12, 0, 0, 2, 0, 64]) + bytes(64)
        yield start + post * 3 + bytes([12]) + post + answer + bytes([0, 0, 11, 0])
        yield bytes([0x01, 80, 0xa4, 3]) + post * 10 + bytes([12]) + answer * 8
        yield start + post * 2 + bytes([12, 11, 0, 8, 64, 12])
        yield start + post + bytes([10, 8, 64])
    for options in (0x05, 0x09, 0x07, 0x0b, 0x11, 0x81, 0x21):
        yield bytes([options, 80, 0x24]) + receive + bytes([0, 0, 0, 0, 0, 0, 0, 0]) + bytes([8, 255])


def call(name, *octets):
    return bytes([CALLS.index(name) + 1, *octets])


def kal():
    queues = call('PD_CREATE', 0, 0, 0) + call('CQ_CREATE', 0, 0, 0) + call('SRQ_CREATE', 0, 0, 0)
    memory = call('MR_REG', 0, 0, 0) + call('MW_ALLOC', 0, 0, 0)
    pair = call('QP_CREATE', 0, 0, 0, 0, 255, 0)
    connect = (call('LISTEN', 0, 0, 0) + call('CONNECT', 0, 0, 0) + call('ACCEPT', 0, 1, 0, 0))
    send = bytes([POST, 0, 1, 1, 1, 0, 0, 32, 0, 0, 0, 0, 0])
    write = bytes([POST, 0, 2, 1, 1, 0, 0, 32, 0, 0, 0, 0, 0])
    receive = bytes([RECV, 1, 0, 64, 64])
    poll = bytes([POLL, 0, ARM, 0, 1, 1])
    for kind in (0, 0x80):
        open_ = call('RNIC_OPEN', kind, 0)
        base = open_ + queues + memory
        yield base + pair + pair + connect + receive + send + write + poll + call('DISCONNECT', 0, 0, 0) + bytes([TIME, 20])
        yield base + pair + pair + connect + call('QP_DESTROY', 0, 0, 0) + bytes([TIME, 1]) + call('QP_QUERY', 0, 0, 0)
        yield base + call('QP_CREATE', 0, 0, 0, 0, 0, 0) + bytes([RECV_SHARED, 0, 0, 64, 64]) + call('SRQ_MODIFY', 0, 0, 0)
        for name in CALLS:
            yield base + pair + call(name, 0, 0, 0, 0, 0, 0)
            yield base + pair + call(name, 1, 0, 0, 5, 1, 0, 0) + call(name, 16, 0, 3, 0, 0)
        yield open_ + call('RESOLVE', 0, 0, 0) + call('LISTEN', 0, 0, 0) + call('RESOLVE_ANSWER', 0, 0, 0)
        yield base + call('AH_CREATE', 0, 0, 0) + call('AH_MODIFY', 0, 0, 0) + call('AH_DESTROY', 0, 0, 0)


def kald():
    """Requests by a client and by a tool, with bodies of zeros and of ones, and then raw packets."""
    for kind in (0x00, 0x20):
        join = bytes([0x04 | kind])
        for number in range(14):
            for fill in (b'\0', b'\1\0\0\0', b'\xff'):
                body = fill * (40 // len(fill))
                yield join + bytes([0x14, len(body)]) + body + bytes([number, 1]) + b'\x08'
    yield b'\x04\x10\x10' + bytes([16, 0, 0, 0, 1, 0, 1, 0]) + bytes(8)
    yield b'\xec10.0.0.0/8' + b'\x0c'


def letters():
    yield bytes([0]) + bytes.fromhex('49544c310002030000000000000000070000000000') + bytes(11)
    for word in range(9):
        yield bytes([1, word, 1, 1]) + bytes(36) + b'\x00\x04path'
    plan = bytes([1, 0, 0, 1]) + b''.join(n.to_bytes(8, 'big') for n in (2, 2, 10, 4, 1, 1))
    yield bytes([2]) + plan + bytes([0, 1]) + (4096).to_bytes(8, 'big') + (2).to_bytes(8, 'big')
    yield b'\x03text \x1b[31m\xc3\xa4 \\ end'
    yield b'\x041,2k,4-64,1M'


def cm():
    """A connection of a process with itself, complete and ended after each command; and each
    command alone."""
    create, destroy, bind, resolve, route, connect, listen, accept, disconnect, event = 0, 1, 2, 3, 4, 6, 7, 8, 10, 12
    flow = [[create, 0, 0, 0], [create, 0, 0, 0], [bind, 0, 0], [listen, 0, 5, 0], [resolve, 2, 0], [event, 0, 0], [route, 2, 0],
            [event, 0, 0], [connect, 2, 1, 4, 0], [event, 0, 0], [accept, 4, 2, 4, 0], [event, 0, 0], [event, 0, 0],
            [disconnect, 2, 0], [event, 0, 0], [event, 0, 0], [destroy, 2, 0], [destroy, 0, 0]]
    for end in range(1, len(flow) + 1):
        yield bytes(sum(flow[:end], []))
    for command in range(24):
        yield bytes([0, 0, 0, 0, command, 0, 1, 1, 0])


def mads():
    """Each datagram of the vectors alone; and a connection, a query and a refusal, with and without
    changed octets."""
    with open(os.path.join(HERE, '../../vp/roce/cm/tests/mads.txt'), encoding='utf-8') as file:
        for line in file:
            if not line.startswith('#'):
                yield bytes([0]) + bytes.fromhex(line.split()[3]).ljust(256, b'\0')
    connect, time, accept, reject, confirm, leave, abandon = 0x05, 0x04, 0x86, 0x87, 0x08, 0x09, 0x0a
    start = bytes([1, connect, 0x20, 0, time, 1])
    ask = bytes([1, 0x0c, 0x20, 0, time, 1])
    for change in (b'', bytes([0x81, 0, 0]), bytes([0x01, 0, 1, 17, 0x12]), bytes([0x81, 0, 1, 32, 9])):
        yield start + change + bytes([accept, 0, 0, time, 1]) + change + bytes([leave, 0, 0, time, 1]) + change
        yield start + change + bytes([reject, 0, 7, time, 1]) + change + bytes([time, 200])
        yield start[:2] + bytes([0x22]) + start[3:] + bytes([accept, 0, 0, time, 1, confirm, 0, 1, time, 1, abandon, 0, 0]) + change
        yield ask + change + bytes([0x8d, 0, 5, time, 1]) + change
    yield bytes([1, 0x0f, 200, 100]) + start[1:] + bytes([time, 100, accept, 0, 0, time, 100, time, 255])


def config():
    group = ''
    yield CONFIG.encode()
    for line in CONFIG.split('\n'):
        yield f'[mpa]\n{line}\n'.encode()
        group = line if line.startswith('[') else group
        key = line.split('=')[0]
        for value in ('', '0', '-1', '1', '18446744073709551615', '18446744073709551616', '\\s', 'x' * 63, 'x' * 64):
            if '=' in line:
                yield f'{group}\n{key}= {value}\n'.encode()


def script():
    for options in (0, 1, 4, 5):
        yield bytes([options]) + '\n'.join(SCRIPT[6:]).encode()
        for line in SCRIPT:
            yield bytes([options]) + line.encode()
            yield bytes([options | 2]) + f'{line};{SCRIPT[0]};port down'.encode()


def settings():
    yield b'\x00'.join(SETTINGS)
    yield from SETTINGS
    for length in (63, 64, 120, 121, 122, 123):
        yield b'\xffITAPI_' + length * b'X' + b'=1'


def roce():
    """Each packet of the vectors alone; and each opcode to a queue pair in each state, with and
    without a receive and a request."""
    with open(os.path.join(VECTORS, 'roce.json'), encoding='utf-8') as file:
        for octets in map(bytes.fromhex, re.findall(r'"hex": "([0-9a-f]{80,600})"', file.read())):
            yield bytes([0]) + octets[28 if octets[0] >> 4 == 4 else 48:]
    for kind in range(0, 32):
        for opcode in range(32):
            packet = bytes([8, 5 | 16, 0, opcode, 0, 1, 4, 3, 4, 0x1f, 1])
            yield bytes([1, kind, 4, 32]) + packet + bytes([2, 1, 2]) + packet + bytes([6, 9])


def shm():
    """Options, then commands; see fuzz_shm.c."""
    entries = b''.join(bytes([4, kind, length >> 8, length & 255]) for kind in (1, 2, 3, 2, 1) for length in (0, 100, 5000))
    changed = b''.join(bytes([4, 0x80 | kind, 0, 64, 2, 0, at, 255, 0, 40, 7]) for kind in range(1, 10) for at in (4, 12, 20, 24, 28, 44))
    packets = b''.join(bytes([3, kind, 0, message, 1, 0, 8, 1]) for kind in range(8) for message in range(9))
    words = b''.join(bytes([7, where]) + value.to_bytes(8, 'big') for where in (0, 1, 16, 0x70)
                     for value in (1 << 32, 1 << 32 | 64, 1 << 32 | 0x80000000, 2 << 32 | 20000, 255))
    index = b''.join(bytes([7, 0xf0]) + value.to_bytes(8, 'big') + bytes([0, at]) for at in (8, 9, 16) for value in (1, 5000, 1 << 63))
    posts = b''.join(bytes([9, what, 8, 0]) for what in (3, 3, 0, 1, 2, 0))
    for option in (3, 2, 1, 0, 5, 4):
        option = bytes([option])
        yield option + entries
        yield option + posts + entries + b'\x08\x00\x00\x05\x08\x01'
        yield option + changed
        yield option + packets
        yield option + words
        yield option + index + posts
        yield option + b'\x02' + entries[:8] + b'\x0a\x00\x0a\x01\x02' + posts + b'\x0b\x10\x00\x01\x02' + entries[:12]


def main():
    for make in (cm, config, judge, kal, kald, letters, mads, mpa, roce, script, settings, shm, stream, wire):
        folder = os.path.join(sys.argv[1], make.__name__)
        os.makedirs(folder, exist_ok=True)
        for octets in make():
            with open(os.path.join(folder, hashlib.sha1(octets).hexdigest()), 'wb') as file:
                file.write(octets)


if __name__ == '__main__':
    main()
