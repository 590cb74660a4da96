# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""The frames of vp/iwarp for RDMA Writes with immediate data, decoded by tshark (TAP).

Like tools/tests/test_capture.py, but with iwarp-immediate, since IT-API has no immediate data.
tshark 4.0 decodes the headers, but it calls opcodes 8 and 9 unknown and does not show the octets
after the header, so these are compared as TCP payload. Usage: test_immediate_wire.py
IWARP_IMMEDIATE
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile

import tool_nets
import tool_runs

WRITE, IMMEDIATE, SOLICITED = 0, 8, 9
SAID = 'cafef00d00000000'      # the octets of iwarp-immediate, and four zeros
FRAME = '001a414[89]00000000' + '00000000' + '(0000000[0-9])' + '00000000' + SAID
MSNS = [1, 2, 3]
MESSAGES = [WRITE, IMMEDIATE, WRITE, SOLICITED, WRITE, IMMEDIATE]
FIELDS = ('iwarp_rdma.opcode', 'iwarp_ddp.last_flag', 'iwarp_ddp.qn', 'iwarp_ddp.msn', 'iwarp_ddp.mo', 'tcp.payload')


def tshark(path, *arguments):
    out = subprocess.run(['tshark', '-r', path, '--disable-protocol', 'rpcordma', *arguments],
                         capture_output=True, text=True, check=False, timeout=300)
    if out.returncode != 0:
        raise tool_runs.Failed('tshark: ' + out.stderr)
    return out.stdout


def expect(what, wanted, got):
    if wanted != got:
        raise tool_runs.Failed(f'{what}: {got} instead of {wanted}')


class Wire:
    """The frames of one run of iwarp-immediate, as tshark decodes them."""

    def __init__(self, program, path):
        capture = tool_nets.Capture(path)
        if not capture.mark(b'capture-begins-here'):
            tool_nets.skip('nothing can be captured here')
        subprocess.run([program], check=True, timeout=tool_runs.PATIENCE)
        if '/0 (' not in capture.end():
            tool_nets.skip('packets were lost while capturing')
        self.text = tshark(path, '-V')
        # A column has the values of all FPDUs of a packet, but those of the tagged and the untagged apart.
        self.columns = {field: [] for field in FIELDS}
        for row in tshark(path, '-Y', 'iwarp_rdma', '-T', 'fields', *[word for field in FIELDS for word in ('-e', field)]).split('\n'):
            for field, values in zip(FIELDS, row.split('\t')):
                self.columns[field] += [value for value in values.split(',') if value]

    def good(self):
        opcodes = self.columns['iwarp_rdma.opcode']
        expect('FPDUs with a good CRC', len(opcodes), self.text.count('(Good CRC32)'))
        expect('FPDUs with a bad CRC', 0, self.text.count('(Bad CRC32'))
        expect('malformed packets', 0, self.text.lower().count('malformed'))
        expect('packets that could not be decoded', 0, self.text.count('Dissector bug'))

    def order(self):
        """Right after the end of each Write its immediate data must follow, and no other message."""
        ended = [int(opcode, 0) for opcode, last in zip(self.columns['iwarp_rdma.opcode'], self.columns['iwarp_ddp.last_flag'])
                 if int(last)]
        expect('messages', MESSAGES, ended)
        if len(self.columns['iwarp_rdma.opcode']) == len(ended):
            raise tool_runs.Failed('no Write was of several FPDUs')

    def headers(self):
        expect('queues', ['0'] * len(MSNS), self.columns['iwarp_ddp.qn'])
        expect('message numbers', MSNS, [int(msn) for msn in self.columns['iwarp_ddp.msn']])
        expect('offsets', ['0'] * len(MSNS), self.columns['iwarp_ddp.mo'])
        octets = ''.join(self.columns['tcp.payload'])
        expect('octets behind the headers', MSNS, [int(msn, 16) for msn in re.findall(FRAME, octets)])


def main():
    for program in ('tshark', 'dumpcap'):
        if shutil.which(program) is None:
            tool_nets.skip(f'{program} is not installed')
    tool_nets.enter_namespace()
    with tempfile.TemporaryDirectory(prefix='test-immediate-') as folder:
        wire = Wire(sys.argv[1], os.path.join(folder, 'wire.pcap'))
        return tool_runs.main([
            ('/iwarp/immediate-wire/good', wire.good),
            ('/iwarp/immediate-wire/order', wire.order),
            ('/iwarp/immediate-wire/headers', wire.headers),
        ])


if __name__ == '__main__':
    sys.exit(main())
