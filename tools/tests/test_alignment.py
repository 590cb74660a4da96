# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""Whether each TCP segment begins with an FPDU between two networks, and whether FPDUs leave in batches (TAP).

The two sides of it-test are in two network namespaces that a pair of veth devices connects. The
capture is read by conformance/wire/lab/lab_fpdu.py, which walks the streams of both sides.
Called as test_alignment.py TOOLS SOURCE_ROOT [all]; without `all` some cases are left out. Where
namespaces or captures cannot be made, all cases are skipped.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import tool_nets
import tool_runs

sys.path.insert(0, os.path.join(sys.argv[2], 'conformance/wire/lab'))
import lab_fpdu         # noqa: E402

TOOLS = sys.argv[1]
MESSAGES = ['-o', 'write', '-S', '100000', '-C', '30']
BUILT = 560 << 10       # octets that may be built, but not sent, when segments change: a buffer, and until the next question
SMALL = '4096 32768 65536'


class Run:
    """One run of it-test between two networks, and the packets that it sent."""

    def __init__(self, mtu, arguments, host='10.77.0.2', offload=False, window=None, disturb=None, **settings):
        self.excused = []       # (from, to): octets of the client's stream that were under way when segments shrank
        with tempfile.TemporaryDirectory(prefix='test-alignment-') as folder, tool_nets.Far(mtu, offload) as self.far:
            path = os.path.join(folder, 'wire.pcap')
            if window:
                self.far.there('sh', '-c', 'echo %s > /proc/sys/net/ipv4/tcp_rmem' % window)
                self.far.here('sh', '-c', 'echo %s > /proc/sys/net/ipv4/tcp_wmem' % window)
            capture = tool_nets.Capture(path, 'near', '10.77.0.2')
            if not capture.mark(b'capture-begins-here'):
                tool_nets.skip('nothing can be captured here')
            os.environ.update(settings)
            try:
                with tool_runs.Server(TOOLS, 'it-test', inside=self.far.inside) as server:
                    client = tool_runs.start(TOOLS, 'it-test', '-p', server.port, *arguments, host)
                    if disturb:
                        disturb(self, server, client)       # and ends both
                        tool_runs.finish(client)
                    else:
                        tool_runs.finish(client).expect(0)
                        server.done().expect(0)
            finally:
                for name in settings:
                    del os.environ[name]
            self.lost = '/0 (' not in capture.end()
            self.streams = [s for s in lab_fpdu.streams_of(path, ['10.77.0.1', '10.77.0.2', 'fd77::1', 'fd77::2']) if s.fpdus]
            self.packets = sum(self.has_octets(frame) for _, frame in lab_fpdu.frames(path)) if offload else None

    @staticmethod
    def has_octets(frame):
        segment = lab_fpdu.segment_of(frame)
        return segment is not None and len(segment.octets) > 0

    def fpdus(self):
        return sum(stream.fpdus for stream in self.streams)

    def cuts(self):
        """The FPDUs that were cut, in all streams, without those that are excused."""
        return [cut for stream in self.streams for cut in stream.cuts
                if not any(begin <= cut <= end for begin, end in self.excused)]

    def expect_aligned(self, fpdus):
        if self.lost:
            raise tool_runs.Skipped('frames were lost by the capture')
        if any(not stream.judged for stream in self.streams) or self.fpdus() < fpdus:
            raise tool_runs.Failed('only %d FPDUs were seen' % self.fpdus())
        cuts = self.cuts()
        if cuts:
            raise tool_runs.Failed('%d segments begin inside an FPDU, of %d FPDUs; the first at octets %s; excused %s'
                                   % (len(cuts), self.fpdus(), cuts[:9], self.excused))


def bulk():
    Run(1500, MESSAGES).expect_aligned(2000)


def jumbo():
    Run(9000, ['-o', 'write', '-S', '300000', '-C', '20']).expect_aligned(600)


def window():
    """The peer's window is always full, and ends in the middle of segments."""
    Run(1500, MESSAGES, window=SMALL).expect_aligned(2000)
    Run(9000, ['-o', 'write', '-S', '300000', '-C', '20'], window=SMALL).expect_aligned(600)


def sizes():
    """Messages that together fill segments exactly, and messages that leave a little room."""
    Run(1500, ['-o', 'send', '-S', '1,64,1404,1430,4000', '-C', '300', '-W', '32']).expect_aligned(1500)


def both_ways():
    Run(1500, ['-o', 'write', '-b', '-S', '30000', '-C', '60']).expect_aligned(2400)
    Run(1500, ['-o', 'read', '-b', '-S', '30000', '-C', '60']).expect_aligned(2400)


def odd():
    """Segments that FPDUs cannot fill."""
    Run(1450, MESSAGES).expect_aligned(2000)


def six():
    Run(1500, MESSAGES, host='fd77::2', window=SMALL).expect_aligned(2000)


def no_crc():
    Run(1500, MESSAGES, ITAPI_MPA_CRC='off').expect_aligned(2000)


def crowd():
    Run(1500, ['-o', 'write', '-S', '5000', '-C', '60', '-t', '4']).expect_aligned(900)


def octets(port):
    """Returns two numbers of octets for the client's busiest connection: sent without those that
    were sent again, and sent or still queued in the socket."""
    shown = subprocess.run(['ss', '-tinH', 'state', 'established', 'dport', '=', port], capture_output=True, text=True,
                           check=True).stdout
    most = (0, 0)
    for line in shown.splitlines():
        found = {name: int(value) for name, value in re.findall(r'(bytes_sent|notsent|bytes_retrans):(\d+)', line)}
        sent = found.get('bytes_sent', 0) - found.get('bytes_retrans', 0)
        most = max(most, (sent, sent + found.get('notsent', 0)))
    return most


def wait_until(done, client):
    until = time.monotonic() + tool_runs.PATIENCE
    while not done():
        if client.poll() is not None or time.monotonic() > until:
            raise tool_runs.Failed('no data moves')
        time.sleep(0.02)


def change(run, server, client):
    """Repeatedly stops the server until the client's socket is full, then changes the MTU of the
    client's interface and lets the server go on."""
    wait_until(lambda: octets(server.port)[0] > 1 << 20, client)
    for mtu in (1300, 1500, 1280, 1500):
        server.kill(signal.SIGSTOP)
        before = None
        while before != octets(server.port):
            before = octets(server.port)
            time.sleep(0.1)
        run.far.here('ip', 'link', 'set', 'near', 'mtu', str(mtu))
        if mtu < 1500:
            run.excused.append((before[0], before[1] + BUILT))
        server.kill(signal.SIGCONT)
        enough = before[1] + 2 * BUILT
        wait_until(lambda enough=enough: octets(server.port)[0] > enough, client)
    client.kill()
    server.kill()


def changes():
    """When segments become smaller, only FPDUs that are under way are cut; when they become larger,
    none is."""
    run = Run(1500, ['-o', 'write', '-S', '100000', '-D', '%ds' % tool_runs.PATIENCE], window=SMALL, disturb=change)
    run.expect_aligned(4000)
    if not run.lost and not any(stream.cuts for stream in run.streams):
        raise tool_runs.Failed('the MTU was never changed')


def batches():
    """With segmentation offload, the kernel passes on all that it has at once: many FPDUs in one
    packet."""
    for mtu, least in ((1500, 4), (9000, 2)):
        run = Run(mtu, ['-o', 'write', '-S', '200000', '-C', '200'], offload=True)
        if not run.lost and run.fpdus() < least * run.packets:
            raise tool_runs.Failed('%d FPDUs in %d packets at MTU %d' % (run.fpdus(), run.packets, mtu))


def off_cuts():
    """Shows that the test can fail: with alignment off, FPDUs are cut."""
    run = Run(1500, ['-o', 'send', '-S', '1404', '-C', '800', '-W', '32'], ITAPI_IWARP_ALIGN='off')
    if not run.lost and not run.cuts():
        raise tool_runs.Failed('no FPDU is cut')


def main():
    for program in ('dumpcap', 'nsenter', 'ss'):
        if shutil.which(program) is None:
            tool_nets.skip('%s is not installed' % program)
    tool_nets.enter_namespace()
    cases = [window, changes, batches]
    if 'all' in sys.argv[3:]:
        cases += [bulk, jumbo, sizes, both_ways, odd, six, no_crc, crowd, off_cuts]
    return tool_runs.main([('/tools/alignment/' + case.__name__.replace('_', '-'), case) for case in cases])


if __name__ == '__main__':
    sys.exit(main())
