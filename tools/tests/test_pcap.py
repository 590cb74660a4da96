#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""Captures that the library writes itself (ITAPI_PCAP), judged by tshark (TAP).

Usage: test_pcap.py TOOLS TEST_ITAPI_STATES IT_SIM KV.so ('-' and '-' where there is no simulator)
"""

import collections
import os
import re
import resource
import shutil
import stat
import subprocess
import sys
import tempfile

import tool_runs
import tool_tshark
from tool_tshark import expect, tshark

TOOLS, STATES, SIM, KV = (word if word == '-' else os.path.abspath(word) for word in sys.argv[1:5])
DEFECTS = os.path.join(os.path.dirname(TOOLS), 'conformance/bad/defects')    # the adapter record:NAME
COUNT = 3
PLAN = ['client', 'SR', '5000', '2', 'server', 'SR', '100', 'client', 'RW', '100000', 'server', 'RR', '70000', 'client', 'RR', '3']
# Of PLAN, for each of its iterations; further Sends are its own letters.
WRITES, READS, SENDS = COUNT, 2 * COUNT, 2 * COUNT
IWARP = {0: 'write', 1: 'read', 2: 'response', 3: 'send', 5: 'send', 7: 'terminate'}
# Last or only packet of a message.
ROCE = {3: 'send', 2: 'send', 4: 'send', 5: 'send', 8: 'write', 10: 'write', 12: 'read', 15: 'response', 16: 'response', 17: 'ack'}


def messages(path):
    """Returns the number of complete messages of each kind."""
    kinds = tool_tshark.messages(path, IWARP)
    # A packet that is repeated, as roce does, is one; datagrams of connection management are none.
    rows = tshark(path, '-Y', 'infiniband.bth.opcode < 0x60', '-T', 'fields', '-e', 'infiniband.bth.opcode', '-e', 'infiniband.bth.destqp',
                  '-e', 'infiniband.bth.psn').splitlines()
    for row in sorted(set(rows)):
        kinds[ROCE.get(int(row.split()[0], 0), 'part')] += 1
    return kinds


def crc_table():
    """CRC32C, a byte at a time."""
    table = []
    for value in range(256):
        for _ in range(8):
            value = value >> 1 ^ (0x82f63b78 if value & 1 else 0)
        table.append(value)
    return table


CRC = crc_table()


def crc32c(octets):
    value = 0xffffffff
    for octet in octets:
        value = CRC[(value ^ octet) & 255] ^ value >> 8
    return value ^ 0xffffffff


def walk(path, crc=True):
    """Counts FPDUs by following their length fields from the start-up on. tshark only guesses where
    an FPDU begins, and is wrong if a segment ends within one."""
    streams = collections.defaultdict(bytes)
    for row in tshark(path, '-Y', 'tcp.len > 0', '-T', 'fields', '-e', 'tcp.stream', '-e', 'tcp.srcport', '-e', 'tcp.seq', '-e',
                      'tcp.payload').splitlines():
        stream, port, sequence, octets = row.split('\t')
        expect('sequence number', len(streams[stream, port]) + 1, int(sequence))
        streams[stream, port] += bytes.fromhex(octets.replace(':', ''))
    kinds = collections.Counter()
    for octets in streams.values():
        expect('the key of the start-up', b'MPA ID Re', octets[:9])
        at = 20 + int.from_bytes(octets[18:20], 'big')
        while at < len(octets):
            length = int.from_bytes(octets[at:at + 2], 'big')
            if octets[at + 3] & 15 or length > 14:      # a Write of no octets only wakes the peer
                kinds[IWARP.get(octets[at + 3] & 15, 'no opcode')] += octets[at + 2] >> 6 & 1
            end = at + (length + 2 + 3) // 4 * 4
            if crc:
                expect('CRC', int.from_bytes(octets[end:end + 4], 'little'), crc32c(octets[at:end]))
            at = end + 4
        expect('the end of the last FPDU', len(octets), at)
    return kinds


def well_formed(path):
    text = tshark(path, '-o', 'ip.check_checksum:TRUE', '-o', 'tcp.check_checksum:TRUE', '-V')
    tool_tshark.expect_well_formed(text)
    expect('wrong checksums', [], re.findall('.*hecksum [Ss]tatus: Bad.*', text))
    expect('octets that come twice or are missing', [],
           re.findall(r'Expert Info \(.*(?:retransmission|not captured|out-of-order).*', text))
    return text


def numbers(path):
    """Checks packet numbers of RoCEv2: they are consecutive in each direction of a queue pair, and
    a response has the number of its request."""
    wanted, seen = {}, collections.defaultdict(set)
    for row in tshark(path, '-Y', 'infiniband.bth.opcode < 0x60', '-T', 'fields', '-e', 'infiniband.bth.destqp', '-e',
                      'infiniband.bth.opcode', '-e', 'infiniband.bth.psn', '-e', 'infiniband.reth.dmalen').splitlines():
        qp, opcode, psn, length = row.split('\t')
        opcode, psn = int(opcode), int(psn)
        if 13 <= opcode <= 18 or psn in seen[qp]:
            continue        # an answer, or it is repeated
        expect('packet number for queue pair %s' % qp, wanted.get(qp, psn), psn)
        taken = max(1, -(-int(length) // 4096)) if opcode == 12 else 1
        seen[qp].update((psn + i) % (1 << 24) for i in range(taken))    # the rest of a Read may be asked for again
        wanted[qp] = (psn + taken) % (1 << 24)
    return wanted


def judge(path, parts=0, least_sends=SENDS):
    text = well_formed(path)
    kinds = walk(path) if 'Request frame header' in text else messages(path)
    if kinds['ack']:
        expect('queue pairs', True, len(numbers(path)) > 1)
    # roce asks for a long Read in parts.
    if not READS <= kinds['read'] <= READS + parts:
        raise tool_runs.Failed('Reads: %s' % dict(kinds))
    # The rest of a part that is asked for again has the end of the part's answer.
    if not (READS if parts else kinds['read']) <= kinds['response'] <= kinds['read']:
        raise tool_runs.Failed('answers of Reads: %s' % dict(kinds))
    if kinds['send'] < least_sends or not WRITES <= kinds['write'] <= WRITES + 4:
        raise tool_runs.Failed('messages: %s' % dict(kinds))
    if 'the connection' not in text:
        raise tool_runs.Failed('no comment about a connection')
    return kinds


def environment(pattern, **more):
    return {**os.environ, 'ITAPI_PCAP': pattern, **more}


def plan(adapter, pattern, *words, **keywords):
    return tool_runs.run(TOOLS, 'it-test', '-a', adapter, '--self', '-C', str(COUNT), *(words or PLAN),
                         env=environment(pattern, **keywords.pop('more', {})), **keywords)


class Cases:
    def __init__(self, folder):
        self.folder = folder

    def path(self, name):
        return os.path.join(self.folder, name)

    def pair(self, adapter):
        """Two processes, a file each: both files must contain the same messages."""
        name = 'pair-' + adapter.replace(':', '-')
        # On roce each process has an address of its own, which nobody else on this host may take.
        own = '127.%d.%d.' % (64 + os.getpid() // 256 % 128, os.getpid() % 256)
        ends = [{'ITAPI_ROCE_ADDRESS': own + last} if adapter == 'roce:lo' else {} for last in '23']
        with tool_runs.Server(TOOLS, 'it-test', '-a', adapter, env=environment(self.path(name + '.%p'), **ends[0])) as server:
            tool_runs.run(TOOLS, 'it-test', '-a', adapter, '-p', server.port, '-C', str(COUNT),
                          ends[0].get('ITAPI_ROCE_ADDRESS', '127.0.0.1'), *PLAN,
                          env=environment(self.path(name + '.%p'), **ends[1])).expect(0)
            server.done().expect(0)
        files = [self.path(file) for file in os.listdir(self.folder) if file.startswith(name + '.')]
        expect('files', 2, len(files))
        one, other = (judge(path, parts=3 * COUNT if 'roce' in adapter else 0) for path in files)
        for kind in ('send', 'write', 'read', 'response'):      # of roce, acknowledgements may be of several messages
            expect('messages of the other end: ' + kind, one[kind], other[kind])
        text = tshark(files[0], '-V')
        if adapter != 'iwarp:lo' and 'the connection is closed' not in text:
            raise tool_runs.Failed('no comment about the end')
        expect('Replies', text.count('Request frame header'), text.count('Reply frame header'))
        expect('mode', 0o600, stat.S_IMODE(os.stat(files[0]).st_mode))

    def crc_off(self):
        """Without CRC the octets go another way."""
        plan('iwarp:lo', self.path('plain'), more={'ITAPI_MPA_CRC': 'off'}).expect(0)
        kinds = walk(self.path('plain'), crc=False)
        expect('Reads', READS, kinds['read'])
        expect('answers of Reads', READS, kinds['response'])
        if kinds['send'] < SENDS or kinds['write'] < WRITES:
            raise tool_runs.Failed('messages: %s' % dict(kinds))

    def both_ends(self, adapter):
        """Both ends are in one process: each message is captured once."""
        path = self.path(adapter.replace(':', '-'))
        plan(adapter, path).expect(0)
        judge(path, parts=3 * COUNT if 'roce' in adapter else 0)
        if 'roce' in adapter:
            expect('packets that came', '', tshark(path, '-Y', 'frame.packet_flags_direction == 1'))

    def exact(self, adapter):
        """The capture has as many messages as were posted: a second run that posts more has exactly
        those in addition."""
        counts = []
        for number in (1, 3):
            path = self.path('exact-%s-%d' % (adapter.replace(':', '-'), number))
            plan(adapter, path, *['client', 'RW', '10000'] * number).expect(0)
            counts.append((walk if 'iwarp' in adapter else messages)(path)['write'])
        expect('further Writes', 2 * COUNT, counts[1] - counts[0])

    def recorded(self, adapter):
        """A run of which a recording is made as well: the capture has the messages that the
        recording lists, and no others."""
        path, record = (self.path('%s-%s' % (what, adapter.replace(':', '-'))) for what in ('of-record', 'record'))
        plan('record:' + adapter, path, more={'ITAPI_RECORD': record, 'ITAPI_PROVIDER_PATH': DEFECTS}).expect(0)
        kinds = (walk if 'iwarp' in adapter else messages)(path)
        posted = collections.Counter()
        with open(record, encoding='ascii') as file:
            for line in file:
                words = line.split()
                posted[words[3] if words[1] == 'post' else 'other'] += 1
                if words[1] == 'failed' and '.' in words[2]:
                    raise tool_runs.Failed('a request was refused: ' + line)
        for kind, name in (('send', 'send'), ('write', 'rdma_write'), ('read', 'rdma_read'), ('response', 'rdma_read')):
            expect('messages: ' + kind, posted[name], kinds[kind])
        if posted['send'] < SENDS or posted['recv'] < SENDS:
            raise tool_runs.Failed('posted: %s' % dict(posted))

    def again(self):
        """A second connection between the same ends is a stream of its own; and the refusal of a
        message comes before the end of the connection that it causes."""
        path = self.path('again')
        done = subprocess.run([STATES, 'emul:iwarp'], env=environment(path), capture_output=True, text=True, timeout=300, check=False)
        expect('exit status', 0, done.returncode)
        well_formed(path)
        if len(set(tshark(path, '-T', 'fields', '-e', 'tcp.stream').split())) < 10:
            raise tool_runs.Failed('too few connections')
        expect('octets behind a reset', '', tshark(path, '-Y', 'tcp.analysis.flags && tcp.len > 0'))

    def kept(self):
        """A file that exists is not written."""
        path = self.path('kept')
        with open(path, 'w', encoding='utf-8') as file:
            file.write('mine')
        plan('emul:ib', path, 'client', 'SR', '8').expect(0)
        with open(path, encoding='utf-8') as file:
            expect('content', 'mine', file.read())
        others = [name for name in os.listdir(self.folder) if name.startswith('kept.')]
        expect('files with a number', 1, len(others))
        well_formed(self.path(others[0]))

    def unwritable(self):
        done = plan('emul:ib', self.path('nowhere/file'), 'client', 'SR', '8').expect(0)
        if 'nothing is captured: ' not in done.err or 'No such file' not in done.err:
            raise tool_runs.Failed('it does not say why: ' + done.err)

    def full(self):
        """If the file cannot grow any more, a message says so and the program goes on."""
        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (100000, 100000))
        path = self.path('full')
        done = plan('emul:iwarp', path, preexec_fn=limit).expect(0)
        if 'the capture ends here' not in done.err:
            raise tool_runs.Failed('it does not say why: ' + done.err)
        if os.stat(path).st_size > 100000:
            raise tool_runs.Failed('the limit does not hold')

    def off(self):
        """An empty name is none."""
        plan('emul:ib', '', 'client', 'SR', '8').expect(0)

    def simulated(self):
        """Under it-sim each node has a file, in virtual time. A seed gives the same files each
        time, and captures do not change its run."""
        if SIM == '-':
            raise tool_runs.Skipped('there is no simulator in this build')
        for adapter in ('emul:ib', 'emul:iwarp'):
            scene = self.path('scene.sim')
            with open(scene, 'w', encoding='utf-8') as file:
                file.write('node server %s %s 7471 daemon\nnode writer %s %s 7471 @server put colour blue at 2ms\n'
                           'node reader %s %s 7471 @server get colour after writer\n'
                           % (KV, adapter, KV, adapter, KV, adapter))
            runs, traces = [], []
            for folder in ('one', 'two', None):
                words = [SIM, scene, '--seed', '7', '--trace']
                if folder is not None:
                    words += ['--pcap', self.path(folder)]
                done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=100)
                traces.append(done.stdout)
                if folder is not None:
                    runs.append({})
                    for name in sorted(os.listdir(self.path(folder))):
                        with open(self.path(os.path.join(folder, name)), 'rb') as file:
                            runs[-1][name] = file.read()
            expect('files', ['reader.pcapng', 'server.pcapng', 'writer.pcapng'], sorted(runs[0]))
            expect('the same octets', True, runs[0] == runs[1])
            expect('the same trace', True, traces[0] == traces[1] == traces[2])
            counts = {}
            for name in runs[0]:
                well_formed(self.path('one/' + name))
                kinds = messages(self.path('one/' + name))
                counts[name] = sum(kinds[kind] for kind in ('send', 'write', 'read'))
            expect('messages of the server', counts['reader.pcapng'] + counts['writer.pcapng'], counts['server.pcapng'])
            if counts['reader.pcapng'] == 0:
                raise tool_runs.Failed('no message')


def main():
    if shutil.which('tshark') is None:
        print('1..0 # SKIP tshark is not installed')
        return 0
    with tempfile.TemporaryDirectory(prefix='test-pcap-') as folder:
        cases = Cases(folder)
        return tool_runs.main([
            ('/tools/pcap/pair/iwarp', lambda: cases.pair('iwarp:lo')),
            ('/tools/pcap/pair/shm-ib', lambda: cases.pair('shm:ib')),
            ('/tools/pcap/pair/shm-iwarp', lambda: cases.pair('shm:iwarp')),
            ('/tools/pcap/pair/roce', lambda: cases.pair('roce:lo')),
            ('/tools/pcap/without-crc', cases.crc_off),
            ('/tools/pcap/both-ends/iwarp', lambda: cases.both_ends('iwarp:lo')),
            ('/tools/pcap/both-ends/emul-ib', lambda: cases.both_ends('emul:ib')),
            ('/tools/pcap/both-ends/emul-iwarp', lambda: cases.both_ends('emul:iwarp')),
            ('/tools/pcap/both-ends/shm-ib', lambda: cases.both_ends('shm:ib')),
            ('/tools/pcap/both-ends/shm-iwarp', lambda: cases.both_ends('shm:iwarp')),
            ('/tools/pcap/both-ends/roce', lambda: cases.both_ends('roce:lo')),
            ('/tools/pcap/exact/iwarp', lambda: cases.exact('iwarp:lo')),
            ('/tools/pcap/exact/emul-ib', lambda: cases.exact('emul:ib')),
            ('/tools/pcap/exact/emul-iwarp', lambda: cases.exact('emul:iwarp')),
            ('/tools/pcap/exact/shm-ib', lambda: cases.exact('shm:ib')),
            ('/tools/pcap/exact/shm-iwarp', lambda: cases.exact('shm:iwarp')),
            ('/tools/pcap/exact/roce', lambda: cases.exact('roce:lo')),
            ('/tools/pcap/recorded/iwarp', lambda: cases.recorded('iwarp:lo')),
            ('/tools/pcap/recorded/emul-ib', lambda: cases.recorded('emul:ib')),
            ('/tools/pcap/again', cases.again),
            ('/tools/pcap/existing-file', cases.kept),
            ('/tools/pcap/unwritable', cases.unwritable),
            ('/tools/pcap/full-disk', cases.full),
            ('/tools/pcap/off', cases.off),
            ('/tools/pcap/simulated', cases.simulated),
        ])


if __name__ == '__main__':
    sys.exit(main())
