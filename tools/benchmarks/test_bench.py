# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""Tests how tools/bench evaluates figures; nothing is measured (TAP): test_bench.py SOURCE_ROOT."""

import importlib.machinery
import importlib.util
import os
import subprocess
import sys
import tempfile
import xml.dom.minidom

sys.dont_write_bytecode = True
ROOT = sys.argv[1]
sys.path.insert(0, os.path.join(ROOT, 'tools/benchmarks'))
import bench_copy       # noqa: E402
import bench_count      # noqa: E402
import bench_doors      # noqa: E402
import bench_nets       # noqa: E402
import bench_peers      # noqa: E402
import bench_tests      # noqa: E402

LOADER = importlib.machinery.SourceFileLoader('bench', os.path.join(ROOT, 'tools/bench'))
bench = importlib.util.module_from_spec(importlib.util.spec_from_loader('bench', LOADER))
LOADER.exec_module(bench)

DUMP = '''version: 1
thread: 2
desc: Trigger: Client Request: post-write
events: Ir Dr Dw I1mr D1mr D1mw ILmr DLmr DLmw Ge
summary: 99

fn=(1) outer
10 5 1 0 2 1
+1 4
calls=1 20
* 7 1 1 1 1 1 0 0 0 1
fn=(2) inner
20 7 1 1 1 1 1 0 0 0 1
'''


class Fixed:
    """A run whose figures are given."""

    def __init__(self, *values):
        self.values = list(values)

    def once(self, cores):
        if not self.values:
            raise RuntimeError('no more figures')
        return {'value': self.values.pop(0), 'unit': 'ns'}


def same(expected, found):
    if expected != found:
        raise AssertionError(f'expected {expected!r}, found {found!r}')


def costs_of_callees_count_once():
    same({'instructions': 16, 'locked': 1, 'code lines': 3, 'data lines': 3}, bench_count.costs(DUMP))


def limits():
    same([103, 112, 5], [bench_count.most(*at) for at in
                         (('instructions', 100), ('code lines', 100), ('locked', 5))])
    kinds = dict.fromkeys(bench_count.KINDS, 100)
    same({'x': []}, bench_count.grown({'x': dict(kinds, instructions=103)}, {'x': kinds}))
    same({'x': ['instructions: 104, was 100']},
         bench_count.grown({'x': dict(kinds, instructions=104)}, {'x': kinds}))
    same({'x': ['locked: 101, was 100']},
         bench_count.grown({'x': dict(kinds, locked=101)}, {'x': kinds}))


def another_build_is_named():
    built = bench_count.limits_read()[0]['built']
    same(bench_count.limits_read()[0]['figures'], bench_count.limits_for(dict(built))[0])
    figures, why = bench_count.limits_for(dict(built, compiler='other 1'))
    if figures is not None or 'compiler' not in why or 'other 1' not in why:
        raise AssertionError(why)


def verdicts():
    for ours, expected in ((90, 'met'), (110, 'missed')):
        row = bench.Row('x', Fixed(*[ours] * 15), Fixed(*[100] * 15), 1.0)
        row.measure((0, 1), 15)
        same((None, expected, (ours / 100, ours / 100)), (row.error, row.verdict(), row.interval()))
    row = bench.Row('x', Fixed(*range(93, 108)), Fixed(*[100] * 15), 1.0)
    row.measure((0, 1), 15)
    same('unsure', row.verdict())


def a_disturbed_pair_is_made_again():
    row = bench.Row('x', Fixed(*[50] * 6), Fixed(100, 100, 200, 100, 100, 100), 1.0)
    row.measure((0, 1), 5)
    same((None, 1, 5, 0.5), (row.error, row.thrown, len(row.pairs), row.ratio()))


def a_run_that_fails_is_told():
    row = bench.Row('x', Fixed(1, 2), Fixed(1, 1), 1.0)
    row.measure((0, 1), 5)
    same(('no more figures', 'failed'), (row.error, row.verdict()))


class Late(Fixed):
    """A Fixed whose value None means that the run takes too long."""

    def once(self, cores):
        if self.values and self.values[0] is None:
            self.values.pop(0)
            raise bench.TookTooLong('late')
        return super().once(cores)


def a_late_run_is_made_again():
    row = bench.Row('x', Late(50, None, 50, 50, None, 50, 50), Fixed(*[100] * 7), 1.0)
    row.measure((0, 1), 5)
    same((None, 2, 5, 0.5), (row.error, row.thrown, len(row.pairs), row.ratio()))
    row = bench.Row('x', Late(50, None, None, None, 50), Fixed(*[100] * 7), 1.0)
    row.measure((0, 1), 5)
    same(('late', 'failed'), (row.error, row.verdict()))


def a_program_that_dies_says_of_what():
    """A program that fails without output is reported with the reason: out of time, a signal, or
    its exit status."""
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, 'dies')
        for body, kind, wanted in (
                ('kill -ALRM $$', bench.TookTooLong, 'not done in time'),
                ('kill -TERM $$', RuntimeError, 'SIGTERM'),
                ('exit 3', RuntimeError, 'status 3'),
                ('echo no memory >&2; exit 1', RuntimeError, 'no memory')):
            with open(program, 'w', encoding='ascii') as file:
                file.write(f'#!/bin/sh\n{body}\n')
            os.chmod(program, 0o755)
            try:
                bench.Run('it-lat', op='write').by(program).once((0, 1))
            except RuntimeError as error:
                same((kind, True), (type(error), wanted in str(error) and 'it-lat' in str(error)))
            else:
                raise AssertionError(f'{body!r} is not a failure')


def another_build_runs_the_same():
    run = bench.Run('it-lat', size=8, op='send')
    other = run.by('/elsewhere')
    same((run.args, '/elsewhere', bench.RUN), (other.args, other.program, run.program))


def peers_are_read():
    same(1618.84, round(bench_peers.pingpong_ns(
        'bytes   #sent   #ack     total       time     MB/sec    usec/xfer   Mxfers/sec\n'
        '64      1k      =1k      125k        3.24s      0.04    1.61884       0.00\n'), 2))
    same(596.0, bench_peers.perftest_ns(
        'iterations,50.0_percentile_lat,avg_lat,overall_lat,avg_bw\n2000,0.5,0.7,0.596,0.64\n'))
    same(1.048576, bench_peers.perftest_gbs(
        'iterations,overall_lat,avg_bw,overall_bw,avg_mr\n2000,0.596,900.0,1000.0,5\n'))


def doors_are_read():
    same(13310.0, round(bench_doors.typical_ns(
        ' #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    t_stdev[usec]\n'
        ' 64      5000          7.64           22098.92      13.31\t       246.25      1597.04\n'), 3))
    same(0.593, round(bench_doors.average_gbs(
        ' #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]\n'
        ' 65536      5000             1982.82            565.90             0.009054\n'), 3))


def copies_are_whole():
    with tempfile.TemporaryDirectory() as folder:
        bench_copy.make(folder, 1)
        ways, why = bench_copy.others(folder)
        same({'cp', 'rsync', 'nc', 'scp'}, set(ways) | set(why))
        if ways['cp'].once(None)['value'] <= 0:
            raise AssertionError('took no time')
        for bad in ('true', 'false'):
            try:
                bench_copy.Copy(folder, [bad]).once(None)
            except RuntimeError:
                continue
            raise AssertionError(f'{bad} copies')


def copies_share_nothing():
    """If the file system can share blocks between files, cp gets the option that makes it copy the
    data."""
    path = os.environ['PATH']
    with tempfile.TemporaryDirectory() as folder:
        bench_copy.make(folder, 1)
        try:
            os.environ['PATH'] = folder + os.pathsep + path
            for status, shares in ((0, True), (1, False)):
                cp = os.path.join(folder, 'cp')
                with open(cp, 'w') as script:
                    script.write(f'#!/bin/sh\nexit {status}\n')
                os.chmod(cp, 0o700)
                ways, _ = bench_copy.others(folder)
                same(shares, '--reflink=never' in ways['cp'].client)
        finally:
            os.environ['PATH'] = path


def curves():
    drawing = xml.dom.minidom.parseString(bench_peers.svg(
        'x', {'ours': {8: 4000.0, 64: 4100.0, 4 << 20: 1e6}, 'theirs': {64: 5000.0}}))
    same(2, len(drawing.getElementsByTagName('polyline')))
    same(4, len(drawing.getElementsByTagName('circle')))
    for circle in drawing.getElementsByTagName('circle'):
        at = float(circle.getAttribute('cx')), float(circle.getAttribute('cy'))
        if not (0 < at[0] < bench_peers.WIDTH and 0 < at[1] < bench_peers.HEIGHT):
            raise AssertionError(f'{at} is outside')


def rows_of_peers():
    """At each size there is a row for every installed peer, for a raw socket and for memcpy, and
    the curves show all of them."""
    rows = bench_peers.rows(bench.Run, bench.Row, bench.ours_stream, bench.raw_stream)
    same(len(bench_peers.SIZES) * (4 + len(bench_peers.present())), len(rows))
    same(len(rows), len({row.name for row in rows}))
    same({'wire', 'memory', 'between'}, {row.peer.medium for row in rows})
    far = bench_peers.rows(bench.Run, bench.Row, bench.ours_stream, bench.raw_stream, 'mtu1500')
    same(len(bench_peers.SIZES) * (2 + sum(peer.medium == 'wire' for peer in bench_peers.present())), len(far))
    same({'mtu1500'}, {run.net for row in far for run in (row.ours, row.calibrator)})
    curves = {}
    for row in rows:
        row.ours, row.calibrator, row.probed = Fixed(*[200] * 5), Fixed(*[100] * 5), False
        row.measure((0, 1), 5)
        same((None, row.better == 'higher', row.better == 'lower'),
             (row.error, row.is_ahead(), row.is_behind()))
        bench_peers.curves_add(curves, row)
    row.lines = [bench_peers.NEAR_NS - 1, 40]
    same('near', row.distance())
    row.lines.append(bench_peers.NEAR_NS)
    same('moved', row.distance())
    same('far', (setattr(row, 'lines', [200, 300]), row.distance())[1])
    same(200e9 / 8, curves['wire', 'rate']['itapi'][8])
    same(100, curves['wire', 'latency']['raw'][4096])
    with tempfile.TemporaryDirectory() as folder:
        bench_peers.draw(os.path.join(folder, 'x'), curves)
        same({f'x-{medium}-{what}.svg' for medium, what in curves}, set(os.listdir(folder)))
        for name in os.listdir(folder):
            xml.dom.minidom.parse(os.path.join(folder, name))


def rows_between_networks():
    """For each pair of networks and each size there are rows for bandwidth, for the median and for
    the worst of 1,000 round trips; large sizes also have rows without alignment. All are
    compared with plain TCP."""
    rows = bench.net_rows(everything=True)
    framed = [size for size in bench_peers.SIZES if size >= 65536]
    same(len(bench_nets.NETS) * (len(bench_peers.SIZES) * 6 + 2 * len(framed)), len(rows))
    same(len(rows), len({row.name for row in rows}))
    same(set(), {row.name for row in bench.net_rows()} - {row.name for row in rows})
    for row in rows:
        same('-crc-off' in row.name, row.ours.env.get('ITAPI_MPA_CRC') == 'off')
        aligned, off = '-auto-of-off' in row.name, {'ITAPI_IWARP_ALIGN': 'off'}
        same((True, not aligned), (row.ours.net in row.name, off.items() <= row.ours.env.items()))
        same(aligned, off.items() <= row.calibrator.env.items())


def networks_are_made():
    """In a pair of networks, a program at either side sees the address of the other. Where none can
    be made, the test prints the reason."""
    with bench_nets.ended():
        try:
            net = bench_nets.made('mtu9000-cubic')
        except bench_nets.CannotMake as error:
            print(f'# no networks here: {error}')
            return
        for side in (0, 1):
            out = subprocess.run([*bench_nets.inside('mtu9000-cubic', side), 'ip', 'route', 'get',
                                  bench_nets.ADDRESSES[1 - side]], capture_output=True, text=True, check=True).stdout
            same(True, f'dev v{side} src {bench_nets.ADDRESSES[side]}' in out)
        keepers = net.keepers
    same([True, True], [keeper.poll() is not None for keeper in keepers])


def figures_of_tests():
    text = '# figure mesh-rate 5.50\n# figure mesh-rate-x 7\nok 1 /x # figure mesh-slowest 1\n'
    same(5.5, bench_tests.figure_of(text, 'mesh-rate'))
    for name in ('mesh', 'mesh-slowest'):
        try:
            same(None, bench_tests.figure_of(text, name))
        except RuntimeError as error:
            same(f'the test prints no figure {name}', str(error))
    rows = bench_tests.rows(bench.Row, bench.BUILD)
    same([], [row.name for row in rows if row.aim is None or not row.ours.targets])


def wrong_options_end_it_before_the_runs():
    for options, says in ((['--copy', '0'], '--copy is 1 to'),
                          (['--copy', '-5'], '--copy is 1 to'),
                          (['--pairs', '4'], '--pairs is at least 5'),
                          (['--rows', 'no such row'], 'no row has a name that contains'),
                          (['--peers', '--rows', 'no such row'], 'no row has a name that contains'),
                          (['--svg', 'x'], '--svg needs --peers'),
                          (['--net', 'mtu1500'], '--net needs --peers'),
                          (['--record'], '--record needs --instructions'),
                          (['--peers', '--copy', '3'], 'not allowed with'),
                          (['--instructions', '--rows', 'x'], '--rows goes with neither'),
                          (['--json', '/nonexistent/x'], 'there is no such folder')):
        # A path without programs: if an option is taken, the build fails, and nothing is measured.
        done = subprocess.run([sys.executable, '-B', os.path.join(ROOT, 'tools/bench'), *options],
                              capture_output=True, text=True, env={'PATH': '/nonexistent'},
                              timeout=30, check=False)
        same((options, True, True), (options, done.returncode != 0, says in done.stderr))


def main():
    cases = [costs_of_callees_count_once, limits, another_build_is_named, verdicts,
             a_disturbed_pair_is_made_again, a_run_that_fails_is_told, a_late_run_is_made_again,
             a_program_that_dies_says_of_what, another_build_runs_the_same,
             peers_are_read, doors_are_read, copies_are_whole, copies_share_nothing, curves, rows_of_peers, rows_between_networks,
             networks_are_made, figures_of_tests,
             wrong_options_end_it_before_the_runs]
    print(f'1..{len(cases)}')
    failed = 0
    for number, case in enumerate(cases, 1):
        try:
            case()
            print(f'ok {number} /bench/{case.__name__}')
        except Exception as error:      # any of them is a failure of the case
            print(f'# {type(error).__name__}: {error}\nnot ok {number} /bench/{case.__name__}')
            failed += 1
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
