# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""Captures the frames of it-test over vp/iwarp and checks them with tshark (TAP).

The test moves itself into a network namespace of its own, captures its loopback interface, runs
it-test there as two processes, and lets tshark decode every octet. Called as test_capture.py
TOOLS; where a namespace or a capture cannot be made, all cases are skipped.
"""

import os
import shutil
import sys
import tempfile

import tool_nets
import tool_runs
import tool_tshark
from tool_tshark import expect, tshark

COUNT = 25
OPERATIONS = ['client', 'SR', '5000', '2', 'server', 'SR', '100', 'client', 'RW', '100000',
              'server', 'RR', '70000', 'client', 'RR', '3']
READS = 2 * COUNT
NAMES = {0: 'Write', 1: 'Read Request', 2: 'Read Response', 3: 'Send', 5: 'Send with SE'}


class Wire:
    """The frames of one run of it-test, as tshark decodes them."""

    def __init__(self, tools, path):
        capture = tool_nets.Capture(path)
        if not capture.mark(b'capture-begins-here'):
            tool_nets.skip('nothing can be captured here')
        with tool_runs.Server(tools, 'it-test') as server:
            run = tool_runs.run(tools, 'it-test', '-p', server.port, '-C', str(COUNT), '127.0.0.1',
                                *OPERATIONS)
            self.status = run.status
            server.done()
        if '/0 (' not in capture.end():
            tool_nets.skip('packets were lost while capturing')
        self.text = tshark(path, '-V')
        self.fpdus = tool_tshark.fpdus(path)
        self.counted = tool_tshark.messages(path, NAMES)

    def checksums(self):
        expect('exit status of it-test', 0, self.status)
        fpdus = len(self.fpdus)
        expect('FPDUs with a good CRC', fpdus, self.text.count('(Good CRC32)'))
        expect('FPDUs with a bad CRC', 0, self.text.count('(Bad CRC32'))
        if fpdus < 5 * COUNT:
            raise tool_runs.Failed('only %d FPDUs' % fpdus)

    def well_formed(self):
        tool_tshark.expect_well_formed(self.text)

    def startup(self):
        requests = self.text.count('Request frame header')
        expect('MPA Replies', requests, self.text.count('Reply frame header'))
        if requests == 0:
            raise tool_runs.Failed('no MPA start-up was seen')

    def kinds(self):
        kinds = self.counted
        expect('Read Requests', READS, kinds['Read Request'])
        expect('Read Responses', READS, kinds['Read Response'])
        expect('kinds of message', set(), set(kinds) - set(NAMES.values()))
        if kinds['Write'] < COUNT or kinds['Send'] + kinds['Send with SE'] < 2 * COUNT:
            raise tool_runs.Failed('too few messages: %s' % dict(kinds))


def main():
    tools = sys.argv[1]
    for program in ('tshark', 'dumpcap'):
        if shutil.which(program) is None:
            tool_nets.skip('%s is not installed' % program)
    tool_nets.enter_namespace()
    with tempfile.TemporaryDirectory(prefix='test-capture-') as folder:
        wire = Wire(tools, os.path.join(folder, 'wire.pcap'))
        return tool_runs.main([
            ('/tools/capture/good-crc', wire.checksums),
            ('/tools/capture/nothing-malformed', wire.well_formed),
            ('/tools/capture/mpa-startup', wire.startup),
            ('/tools/capture/messages', wire.kinds),
        ])


if __name__ == '__main__':
    sys.exit(main())
