#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""Tests the runner of the lab without a guest: which guests the cases need, what is counted, how
sides end jobs.

With the path of lab-itapi as argument it also runs that program with itself, over the loopback
interface.
"""

import argparse
import contextlib
import datetime
import io
import os
import re
import shutil
import struct
import sys
import tempfile
import unittest
import unittest.mock

HERE = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(HERE, '..'), os.path.join(HERE, '../../../../tools/dev/tests')]

import lab_bench                # noqa: E402
import lab_case                 # noqa: E402
import lab_doors                # noqa: E402
import lab_doors_report         # noqa: E402
import lab_fpdu                 # noqa: E402
import lab_pyverbs              # noqa: E402
import lab_report               # noqa: E402
import lab_side                 # noqa: E402
import lab_table                # noqa: E402
import run_lab                  # noqa: E402
import tree_case                # noqa: E402

PROGRAM = sys.argv[1] if len(sys.argv) > 1 else None
OPERATIONS = 'send:0,send:1,write:0,write:1,read:0,read:1,send:70000,write:1m,read:1m,read:1000:8'


def bench(seconds=120):
    side = lab_side.Local()
    result = lab_case.Bench(side, side, '/', 'link')
    result.begin(seconds, {})
    return result


class TableCase(unittest.TestCase):
    def test_cases_have_guests(self):
        cases = lab_table.all_cases()
        boots = lab_table.boots_of(cases)
        self.assertEqual(sorted(case.name for _, _, group in boots for case in group),
                         sorted(case.name for case in cases))
        self.assertTrue(all(case.siw() == siw and case.topology == topology
                            for topology, siw, group in boots for case in group))

    def test_what_may_break_the_guest_is_last(self):
        boots = lab_table.boots_of(lab_table.all_cases())
        fatal = [any(case.fatal for case in group) for _, _, group in boots]
        self.assertEqual(fatal, sorted(fatal))

    def test_kernels_have_cases(self):
        """The later kernel has fewer cases, except in a full run; each of its cases also runs with
        the first kernel."""
        names = {(length, suite): [case.name for case in lab_table.cases_of(length, suite)]
                 for length in ('quick', 'usual', 'full') for suite in run_lab.SUITES}
        self.assertEqual(names['full', 'stable'], names['full', 'backports'])
        for length in ('quick', 'usual'):
            self.assertLess(set(names[length, 'backports']), set(names['usual', 'stable']))
        self.assertLess(len(names['quick', 'backports']), 10)
        for name in ('lab siw with siw', 'devices it-ping rxe0', 'devices it-ping siw0'):
            self.assertIn(name, names['quick', 'backports'])
        for name in ('devices dto siw0', 'unplug switch rxe', 'ends 20 killed early p2p off', 'limits reads responder'):
            self.assertIn(name, names['usual', 'backports'])
        for name in ('talk large initiator ipv4 mtu 9000 crc off p2p off', 'networks loss with vp/iwarp'):
            self.assertNotIn(name, names['usual', 'backports'])

    def test_each_case_is_told_of_once(self):
        names = [case.name for case in lab_table.all_cases()]
        self.assertEqual(len(names), len(set(names)))


class CountCase(unittest.TestCase):
    def run_of(self, *told, known=None, again=False, captured=False, prefix=''):
        run = run_lab.Run.__new__(run_lab.Run)
        run.tally, run.results, run.known, run.seconds, run.number = run_lab.Tally(), {}, known or {}, {}, 0
        run.p2p, run.prefix = {'c'}, prefix
        run.suspects, run.captured = {}, captured
        run.arguments, run.unsteady, run.cases = argparse.Namespace(again=again), {}, {'a', 'b', 'c'}
        text = io.StringIO()
        with contextlib.redirect_stdout(text):
            for name, result, why in told:
                run.note({'name': name, 'result': result, 'why': why, 'seconds': 1})
        return run, text.getvalue()

    def test_results(self):
        run, text = self.run_of(('a', 'ok', ''), ('b', 'failed', 'x\ny'), ('c', 'skip', 'no c'))
        self.assertEqual(run.tally.summary(), '1 passed, 1 failed, 1 skipped')
        self.assertIn('not ok 2 - b\n', text)
        self.assertIn('ok 3 - c # SKIP no c\n', text)

    def test_known_failure(self):
        run, text = self.run_of(('a', 'failed', 'x'), ('b', 'ok', ''), known={'a': 'siw 1', 'b': 'siw 2'})
        self.assertEqual(run.tally.summary(), '1 passed, 0 failed, 1 skipped')
        self.assertEqual(run.tally.skipped, ['a: siw 1'])
        self.assertIn('ok 1 - a # SKIP siw 1', text)

    def test_bug_of_the_peer(self):
        why = f'RIP: 0010:{run_lab.PEER_BUG_PLACE}+0xa8f/0xe20'
        run, _ = self.run_of(('b', 'failed', why), ('c', 'failed', why))
        self.assertEqual(run.tally.failed, ['b'])
        self.assertEqual(run.tally.skipped, [f'c: {run_lab.PEER_BUG}'])

    def test_kernel_that_breaks_after_a_case(self):
        """A crash of the kernel is expected only after a case that names it, and only at the named
        place."""
        case = lab_case.Case('c', None, breaks='siw_destroy_listen')
        self.assertTrue(lab_bench.case_breaks(case, 'Call Trace: siw_destroy_listen+0xf9/0x1a0 [siw]'))
        self.assertFalse(lab_bench.case_breaks(case, 'RIP: 0010:cm_work_handler+0xa8f/0xe20 [iw_cm]'))
        self.assertTrue(lab_bench.case_breaks(case, 'the guest does not answer: timed out', True))
        self.assertFalse(lab_bench.case_breaks(lab_case.Case('c', None), 'the guest does not answer: timed out', True))
        self.assertFalse(lab_bench.case_breaks(lab_case.Case('c', None), 'Call Trace: siw_destroy_listen+0xf9/0x1a0 [siw]'))

    def test_second_kernel(self):
        """Each result names the kernel it belongs to, and the numbering continues."""
        run, text = self.run_of(('a', 'ok', ''), ('b', 'failed', 'x'), ('c', 'skip', 'y'), prefix='linux 7.1: ')
        self.assertIn('ok 1 - linux 7.1: a\n', text)
        self.assertEqual((run.tally.failed, run.tally.skipped), (['linux 7.1: b'], ['linux 7.1: c: y']))

    def begin(self, length, suite, release, complaint=''):
        """The output at the beginning of a run, if the cache has a kernel of that release, or none."""
        with tempfile.TemporaryDirectory() as cache, contextlib.redirect_stdout(io.StringIO()) as text, \
                unittest.mock.patch.dict(os.environ, RDMA_LAB_CACHE=cache), \
                unittest.mock.patch('run_lab.complaint_of', return_value=complaint):
            folder = os.path.join(cache, 'current' if suite == 'stable' else 'current-' + suite)
            os.mkdir(folder)
            if release:
                with open(os.path.join(folder, 'release'), 'w', encoding='ascii') as file:
                    file.write(release + '\n')
            arguments = argparse.Namespace(build=cache, length=length, kernels=None, minutes=0.0001, again=False)
            tally = run_lab.Tally()
            runs = run_lab.run_kernels(arguments, {suite: []}, tally)
            return tally.skipped, text.getvalue(), runs

    def test_kernel_that_cannot_be_had(self):
        why = 'vm-build: apt-get cannot read bookworm-backports: E: no network'
        skipped, text, runs = self.begin('usual', 'backports', '', why)
        self.assertEqual((skipped, runs), ([f'lab with backports: no guest can run: {why}'], []))
        self.assertIn(f'ok 1 - lab with backports # SKIP no guest can run: {why}\n1..1\n', text)

    def test_quick_run_builds_no_second_kernel(self):
        with unittest.mock.patch('run_lab.enough_memory', return_value=True):
            self.assertIn('none was built yet with a kernel of the backports', self.begin('quick', 'backports', '')[0][0])

    def test_second_guest(self):
        run, text = self.run_of(('a', 'failed', 'x'), ('b', 'failed', 'y'), ('a', 'ok', ''), ('b', 'failed', 'z'), again=True)
        self.assertEqual(run.tally.summary(), '0 passed, 1 failed, 1 skipped')
        self.assertIn('ok 1 - a # SKIP unsteady: it failed in the first guest: x', text)
        self.assertIn('not ok 2 - b', text)

    def wrong_crcs(self, lines, *second):
        """A run in which two cases failed because of a CRC, while tshark prints these lines; then a
        second guest."""
        why = f'x {run_lab.WRONG_CRC}, 2002'
        run, _ = self.run_of(('a', 'failed', why), ('b', 'failed', why), captured=True)
        self.assertEqual(run.tally.summary(), '0 passed, 0 failed, 0 skipped')
        with unittest.mock.patch('lab_capture.judge', return_value=(9, lines)), contextlib.redirect_stdout(io.StringIO()):
            run.judge_suspects(__file__)
            for name, result in second:
                run.note({'name': name, 'result': result, 'why': why if result == 'failed' else '', 'seconds': 1})
        return run

    def test_wrong_crc_of_the_peer(self):
        bad = ['Frame 7: Bad CRC32', 'Frame 9: Bad CRC32']
        run = self.wrong_crcs(bad, ('a', 'ok'), ('b', 'failed'))
        self.assertEqual((run.tally.summary(), run.tally.failed), ('1 passed, 1 failed, 0 skipped', ['b']))
        waiting = self.wrong_crcs(bad).unsteady
        self.assertEqual(list(waiting), ['a', 'b'])
        for line in bad:
            self.assertIn(line, waiting['a']['excuse'])

    def test_wrong_crc_that_the_capture_does_not_show(self):
        for lines in ([], ['Frame 7: Malformed'], ['Frame 7: Bad CRC32', 'Frame 9: Malformed']):
            run = self.wrong_crcs(lines)
            self.assertEqual((run.tally.failed, run.unsteady, run.suspects), (['a', 'b'], {}, {}))

    def test_wrong_crc_without_a_capture(self):
        run, _ = self.run_of(('a', 'failed', run_lab.WRONG_CRC))
        self.assertEqual(run.tally.failed, ['a'])

    def test_frames_have_no_second_guest(self):
        run, _ = self.run_of(('capture 1', 'failed', 'x'), again=True)
        self.assertEqual(run.tally.summary(), '0 passed, 1 failed, 0 skipped')

    def test_tap_is_counted_alike(self):
        run, text = self.run_of(('a', 'ok', ''), ('b', 'failed', 'x'), ('c', 'skip', 'why'))
        again = run_lab.Tally()
        self.assertEqual(again.add_tap('lab', text + '1..3\n'), 3)
        self.assertEqual(again.summary(), run.tally.summary())

    def test_row_of_the_table(self):
        rows = {}
        for result in ('ok', 'failed', 'skip', 'known'):
            case = lab_case.Case('c', None, crc=True, table=('peer', 'role', 'what'))
            lab_report.row_of(rows, case, {'name': result, 'result': result, 'why': 'w'})
        self.assertEqual(rows[('peer', 'role', 'what')], [1, 3, {'CRC'}, ['failed', 'skip: w', 'known: w']])


class DoorsCase(unittest.TestCase):
    """Programs behind the verbs door: how they are judged, and what the page says of them."""

    def test_what_is_said(self):
        row = lab_doors.programs_table.Row('a', 'A', 'a', 'b', says=('end 0',), server_says=('ready',), silent=('(?i)failed',))
        lab_doors.judge(row, 'ready', 'end 0')
        for server, client in (('ready', 'end 1'), ('', 'end 0'), ('ready\nFailed', 'end 0'), ('ready', 'failed, end 0')):
            with self.assertRaises(lab_case.Failed):
                lab_doors.judge(row, server, client)

    def pair(self, copies):
        """A program that copies a file, or one that copies another file."""
        one = bench()
        one.ours.listens = lambda *_: True
        row = lab_doors.programs_table.Row('a', 'A', 'cp {folder}/source {folder}/%s' % copies, 'sleep 1000', stays=True,
                                           judge='compares_the_copy')
        pair = lab_doors.Pair(one, row, one.ours, one.ours, lambda _, words: words)
        try:
            pair.run()
        finally:
            one.ours.end_all()
            self.assertFalse(os.path.exists(pair.folder))

    def test_copy(self):
        self.pair('copy')
        with self.assertRaises(lab_case.Failed):
            self.pair('other')

    def comparison(self, lines, *told):
        with tempfile.NamedTemporaryFile('w') as file, unittest.mock.patch('lab_pyverbs.LIST', file.name):
            file.write('[all]\n' + lines)
            file.flush()
            result = lab_pyverbs.Comparison('6.1')
        for one in told:
            result.add(*one)
        return result

    def test_results_that_differ(self):
        name = 'test_pd.PDTest.test_alloc_pd'
        same = self.comparison('', (name, 'pass', ''))
        self.assertEqual((same.complaints, same.rows, same.same['pass']), ([], [], 1))
        self.assertEqual(self.comparison('', (name, 'skip', 'why')).complaints,
                         [f'{name}: skip on rxe0, pass behind the door: why'])
        known = self.comparison(f'skip {name}  # no domains\n', (name, 'skip', ''))
        self.assertEqual((known.complaints, known.rows), ([], [[f'`{name}`', 'is skipped', 'passes', 'no domains']]))
        for result in ('pass', 'fail'):
            self.assertEqual(len(self.comparison(f'skip {name}  # no domains\n', (name, result, '')).complaints), 1)
        left = self.comparison(f'left {name}  # stops the kernel\n')
        self.assertEqual((left.left_out, left.rows), ([name], [[f'`{name}`', 'not run', 'passes', 'stops the kernel']]))

    def test_page(self):
        details = {'doors rping client': {}, 'doors timed cmtime': {'timed': 'cmtime', 'unit': 'us', 'kernel': 'siw', 'beside': 8.0, 'door': 2.0,
                                                                    'rounds': 5, 'speed': 4.0},
                   'roce timed latency': {'timed': 'latency', 'unit': 'us', 'kernel': 'rxe', 'beside': 3.0, 'door': 6.0, 'rounds': 5,
                                          'speed': 0.5}}
        cases = [lab_case.Case(name, None) for name in (*details, 'doors rping server', 'doors rcopy client')]
        run = argparse.Namespace(kernel='7.1', results={
            **{name: {'result': 'ok', 'why': '', 'detail': detail} for name, detail in details.items()},
            'doors rping server': {'result': 'known', 'why': 'a|b', 'detail': None}})
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, 'page.md')
            lab_doors_report.write_doors(path, [(run, cases[:1])], datetime.date(2000, 1, 2))
            self.assertFalse(os.path.exists(path))
            lab_doors_report.write_doors(path, [(run, cases)], datetime.date(2000, 1, 2))
            with open(path, encoding='utf-8') as file:
                text = file.read()
        for line in ('on 2000-01-02, ', '## Linux 7.1', '| rping | works | known to fail: a/b |',
                     '| rcopy, the file compared | not run | not run |', '| cmtime | us | 8 | 2 | 4.00 |', '| latency | us | 3 | 6 | 0.50 |',
                     'speed of the door, rxe = 1'):
            self.assertIn(line, text)


class FpduCase(unittest.TestCase):
    """Alignment of FPDUs in captures that this test makes: one connection from 10.77.0.1, with an
    MSS of 1460."""
    START = b'MPA ID Req Frame\0\2' + struct.pack('>H', 3) + b'abc'

    @staticmethod
    def frame(sequence, octets, flags=0x10, options=b'', ends=(1, 2), acknowledged=0, window=0):
        tcp = struct.pack('>HHIIBBHHH', *ends, sequence, acknowledged, (5 + len(options) // 4) << 4, flags, window, 0, 0)
        tcp += options + octets
        ip = struct.pack('>BBHIBBH', 0x45, 0, 20 + len(tcp), 0, 64, 6, 0)
        return bytes(12) + b'\x08\0' + ip + b''.join(b'\x0a\x4d\0' + bytes([end]) for end in ends) + tcp

    def aligned(self, *parts):
        """The result for a stream with these segments: each is octets, (sequence, octets[,
        options]), or a window."""
        frames = [self.frame(99, b'', 2, b'\2\4' + struct.pack('>H', 1460)),
                  self.frame(0, b'', 0x12, b'\1\3\3\2', (2, 1), 100)]
        for part in parts:
            if isinstance(part, int):
                frames.append(self.frame(1, b'', 0x10, b'', (2, 1), self.at, part))
                continue
            at, octets, options = (*part, b'')[:3] if isinstance(part, tuple) else (self.at, part, b'')
            frames.append(self.frame(at, octets, options=options))
            self.at = max(self.at, at + len(octets))
        with tempfile.NamedTemporaryFile() as file:
            file.write(struct.pack('<IHHiIII', 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1))
            for frame in frames:
                file.write(struct.pack('<IIII', 0, 0, len(frame), len(frame)) + frame)
            file.flush()
            return lab_fpdu.aligned(file.name, ('10.77.0.1', 'fd77::1'))

    def setUp(self):
        self.at = 100

    @staticmethod
    def fpdu(length):
        return struct.pack('>H', length) + bytes(length + -(length + 2) % 4 + 4)

    def test_whole(self):
        self.assertEqual(self.aligned(self.START, self.fpdu(18), self.fpdu(1000) + self.fpdu(21)), {1500: (3, 0)})

    def test_cut(self):
        octets = self.fpdu(18) + self.fpdu(1001)
        for place in (1, 23, 25, 500, len(octets) - 1):
            self.at = 100
            self.assertEqual(self.aligned(self.START, octets[:place], octets[place:]), {1500: (2, 1)})

    def test_window_is_probed(self):
        octets = self.fpdu(1000)
        self.assertEqual(self.aligned(self.START, 100, octets[:400], octets[400:]), {1500: (1, 0)})
        self.at = 100
        self.assertEqual(self.aligned(self.START, 100, octets[:404], octets[404:]), {1500: (1, 1)})

    def test_less_room(self):
        octets, first = self.fpdu(1000), 100 + len(self.START)
        parts = (first, octets[:900], b'\1\1\5\12' + bytes(8)), (first + 900, octets[900:])
        self.assertEqual(self.aligned(self.START, *parts), {1500: (1, 0)})

    def test_sent_again(self):
        octets = self.fpdu(1000)
        again = 100 + len(self.START)
        self.assertEqual(self.aligned(self.START, octets, (again, octets[:10]), (again, octets + self.fpdu(20))),
                         {1500: (2, 0)})

    def test_ports_used_again(self):
        records = [self.frame(sequence, octets, flags) for sequence, octets, flags in
                   ((99, b'', 2), (100, self.START, 0x10), (99, b'', 2), (700, b'', 2), (701, self.START, 0x10))]
        with tempfile.TemporaryDirectory() as folder:
            path, copy = os.path.join(folder, 'a'), os.path.join(folder, 'b')
            with open(path, 'wb') as file:
                file.write(struct.pack('<IHHiIII', 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1))
                file.write(b''.join(struct.pack('<IIII', 1, 2, len(one), len(one)) + one for one in records))
            self.assertEqual(lab_fpdu.copy_without_used_ports(path, copy), 1)
            self.assertEqual([frame for _, frame in lab_fpdu.frames(copy)], records[:3])

    def test_what_is_not_judged(self):
        self.assertEqual(self.aligned(b'GET / HTTP/1.1 and so on', self.fpdu(18)), {})
        self.at = 100
        self.assertEqual(self.aligned(self.START, (1000, self.fpdu(18))), {})


def crc32c(octets):
    value = 0xffffffff
    for octet in octets:
        value ^= octet
        for _ in range(8):
            value = value >> 1 ^ (0x82f63b78 if value & 1 else 0)
    return value ^ 0xffffffff


@unittest.skipUnless(shutil.which('tshark'), 'there is no tshark')
class CaptureCase(unittest.TestCase):
    """tshark's complaints about frames of 10.77.0.2, the responder of a connection."""

    @staticmethod
    def fpdu(rdmap, payload, damage=0):
        """An untagged FPDU with that octet of RDMAP; it belongs to the first message of queue 0."""
        octets = bytes([0x41, rdmap]) + struct.pack('>IIII', 0, 0, 1, 0) + payload
        octets = struct.pack('>H', len(octets)) + octets
        octets += bytes(-len(octets) % 4)
        return octets + struct.pack('<I', crc32c(octets) ^ damage)

    def judge(self, *fpdus):
        request, reply = (word + bytes([0x40, 2, 0, 0]) for word in (b'MPA ID Req Frame', b'MPA ID Rep Frame'))
        frames = [FpduCase.frame(99, b'', 2), FpduCase.frame(499, b'', 0x12, b'', (2, 1), 100),
                  FpduCase.frame(100, request, 0x18, b'', (1, 2), 500), FpduCase.frame(500, reply, 0x18, b'', (2, 1), 120)]
        at = 520
        for fpdu in fpdus:
            frames.append(FpduCase.frame(at, fpdu, 0x18, b'', (2, 1), 120))
            at += len(fpdu)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, 'pcap')
            with open(path, 'wb') as file:
                file.write(struct.pack('<IHHiIII', 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1))
                for frame in frames:
                    file.write(struct.pack('<IIII', 0, 0, len(frame), len(frame)) + frame)
            return run_lab.lab_capture.judge(path, *run_lab.PEER_ADDRESSES)

    def test_right(self):
        self.assertEqual(self.judge(self.fpdu(0x43, b'abc'), self.fpdu(0x43, bytes(100))), (2, []))

    def test_wrong_crc_is_told_with_its_operation(self):
        """Two FPDUs of one segment, the second with a wrong CRC, and a Terminate."""
        found = self.judge(self.fpdu(0x43, b'abc') + self.fpdu(0x45, bytes(100), 1), self.fpdu(0x47, bytes(4), 2))
        self.assertEqual(found[0], 3)
        self.assertRegex(found[1][0], r'^Frame 5: Send with SE \(0x5\) with a ULPDU of 118 bytes: CRC check: 0x\w+ '
                                      r'\(Bad CRC32, should be 0x\w+\)$')
        self.assertRegex(found[1][1], r'^Frame 6: Terminate \(0x7\) with a ULPDU of 22 bytes: ')
        self.assertEqual(len(found[1]), 2)


class SideCase(unittest.TestCase):
    def test_pair_that_ends_badly(self):
        with self.assertRaises(lab_case.Failed):
            one = bench()
            one.ours.listens = lambda *_: True
            one.pair((one.ours, ['true']), (one.ours, ['false']), 1)

    def test_job_that_does_not_end(self):
        one = bench(1)
        job = one.start(one.ours, ['sleep', '1000'])
        with self.assertRaises(lab_case.Failed):
            one.wait(one.ours, job)
        self.assertEqual(one.ours.end_all(), 0)
        self.assertEqual(one.ours.jobs, {})

    def test_fault_of_a_process_is_none_of_the_kernel(self):
        for line, trouble in (('traps: a[1] general protection fault ip:7ff', False), ('general protection fault: 0000 [#1]', True)):
            side = lab_side.Local()
            side.kernel_log = -1
            with unittest.mock.patch('lab_side.kernel_records', return_value=[line]):
                self.assertEqual(bool(side.kernel_trouble()), trouble)

    def test_program_that_is_missing(self):
        one = bench()
        self.assertEqual(one.wait(one.ours, one.start(one.ours, ['/nonexistent/program'])), 127)

    def test_output_and_status(self):
        one = bench()
        self.assertEqual(one.run(one.ours, ['sh', '-c', 'echo said; exit 3'], 3), 'said\n')
        one.ours.end_all()

    def talk(self, *options, both=()):
        """Runs the program with itself, with the options of (server, client); returns what the
        server printed."""
        one = bench()
        server = one.start(one.ours, [PROGRAM, '-p', '0', *both, *options[0]])
        while not (port := re.search(r'^port (\d+)$', one.ours.says(server), re.MULTILINE)):
            self.assertIsNone(one.ours.poll(server, 0.1), one.ours.says(server))
        one.run(one.ours, [PROGRAM, '-p', port.group(1), *both, *options[1], '127.0.0.1'])
        self.assertEqual(one.wait(one.ours, server), 0, one.ours.says(server))
        said = one.ours.says(server)
        one.ours.end_all()
        return said

    @unittest.skipUnless(PROGRAM, 'lab-itapi was not named')
    def test_talk(self):
        lead = ['--lead', OPERATIONS]
        for options in ((lead, []), ([], lead), ([], lead + ['--private', '9'])):
            self.assertIn('2 connections, all well', self.talk(*options, both=['--count', '2']))

    @unittest.skipUnless(PROGRAM, 'lab-itapi was not named')
    def test_talk_sees_faults(self):
        for fault in ('wrong-write', 'wrong-read', 'far-write', 'long-send'):
            self.assertIn('ended: IT_CM_MSG_CONN_BROKEN_EVENT', self.talk([], ['--lead', f'send:1,{fault}:8']))

    @unittest.skipUnless(PROGRAM, 'lab-itapi was not named')
    def test_reject(self):
        data = ['--private', '100', '--reject']
        self.assertIn('all well', self.talk(data, ['--expect-private', '100', '--reject']))


if __name__ == '__main__':
    del sys.argv[1:]
    tree_case.main()
