#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""Runs the cases of conformance/wire/lab/cases in guests whose kernel drives siw.

There are two kernels, that of Debian's release and the later one of its backports; if the second
is not available, the run says why. One guest is booted for each set of siw's parameters, and
again if its kernel crashed. Each case prints a line of TAP as it ends; the last line is "N
passed, N failed, N skipped". With --again a case that fails in one guest and passes in the next
counts as skipped, and both results are reported. Such a case is unsteady; the usual run, without
--again, counts it as a failure.
"""

import argparse
import datetime
import fnmatch
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.normpath(os.path.join(HERE, '../../..'))
sys.path[:0] = [HERE, os.path.join(ROOT, 'tools/dev')]
sys.dont_write_bytecode = True

import lab_capture                                      # noqa: E402
import lab_fpdu                                         # noqa: E402
from lab_devices_report import write_devices             # noqa: E402
from lab_doors_report import write_doors                # noqa: E402
from lab_report import NO_TIME, write_report            # noqa: E402
from lab_table import boots_of, cases_of                # noqa: E402
import results                                          # noqa: E402
from tally import Tally                                 # noqa: E402

SHOWN_LINES = 40
BOOT_TIME = 180             # seconds for a guest to come up and go down
BOOT_TRIALS = 3             # before a guest is said not to come up
AGAIN_TIME = 300            # to run unsteady cases once more
BUILD_TIME = 900            # to fetch and build the guest's kernel
MOST_BOOTS = 40             # of one run: each case at least once, and again after broken kernels
SUITES = ('stable', 'backports')    # of Debian, from which vm-build takes the kernels, in the order of the runs
# What a kernel of a guest may do in peer-to-peer mode, whoever the peer is.
PEER_BUG_PLACE = 'cm_work_handler'
PEER_BUG = ('the connection manager of Linux stops with a BUG if a connection in peer-to-peer mode ends before it was '
            'reported as established [WIRE 14.2]')
# Further results that a case may report: listeners that siw lost, whether the kernel failed after
# the case, and figures of a program over a device of the kernel and behind the verbs door, with
# their ratio.
NOTED = ('lost listeners', 'broke', 'kernel', 'beside', 'door', 'speed')
# What a case says that failed because of a frame of siw with a wrong CRC. The capture must show that frame, too.
WRONG_CRC = 'CRC is wrong; this end sent a Terminate'
PEER_CRC = 'siw sent a frame with a wrong CRC [WIRE 14.7]'
OUR_ADDRESSES = ('10.77.0.1', 'fd77::1')
PEER_ADDRESSES = ('10.77.0.2', 'fd77::2')


class NoGuest(Exception):
    """No guest can run here."""


def enough_memory(mib):
    """Whether the machine has that much free memory."""
    with open('/proc/meminfo', encoding='ascii') as file:
        free = re.search(r'^MemAvailable:\s+(\d+)', file.read(), re.MULTILINE)
    return free is None or int(free.group(1)) > mib * 1024


def last_line(text):
    return (text.strip().split('\n') or [''])[-1]


def complaint_of(command, limit):
    """Runs a program; returns its error output, or '' if it succeeded. All its processes are killed
    at the end."""
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                          text=True, errors='replace', start_new_session=True) as process:
        try:
            said = process.communicate(timeout=limit)[1]
        except subprocess.TimeoutExpired:
            return f'{os.path.basename(command[0])} took more than {limit} s'
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGTERM)
    panic = re.search(r'Kernel panic.*', said)
    return '' if process.returncode == 0 else (panic.group() if panic else last_line(said) or
                                               f'{os.path.basename(command[0])} ended with {process.returncode}')


def try_command(command, trials, limit):
    """Runs a program until it succeeds, at most `trials` times with `limit` seconds each; then
    raises NoGuest."""
    for _ in range(trials):
        complaint = complaint_of(command, limit)
        if not complaint:
            return
    raise NoGuest(complaint)


def release_of(suite):
    """The release of the kernel that was built for the guest; '' if none was built."""
    link = 'current' if suite == 'stable' else f'current-{suite}'
    try:
        with open(os.path.join(os.environ['RDMA_LAB_CACHE'], link, 'release'), encoding='ascii') as file:
            return file.read().strip()
    except OSError:
        return ''


def prepare(build, suite, quick):
    """Makes sure that a guest with this kernel boots; returns the topologies that are possible."""
    if os.uname().machine != 'x86_64':
        raise NoGuest('this machine is not x86-64')
    if not enough_memory(1500):
        raise NoGuest('less than 1.5 GB of memory are free')
    os.environ.setdefault('RDMA_LAB_CACHE', os.path.join(
        os.environ.get('XDG_CACHE_HOME') or os.path.join(os.environ.get('HOME') or build, '.cache'), 'rdma-lab'))
    os.environ['RDMA_LAB_SUITE'] = suite
    if quick and suite != 'stable' and not release_of(suite):
        raise NoGuest('none was built yet with a kernel of the backports, which takes a minute or two; '
                      'tools/check --lab does that')
    try_command([f'{HERE}/vm-build', '--offline'], 1, BUILD_TIME)
    try_command([f'{HERE}/vm-run', '--timeout', str(BOOT_TIME), '--', 'true'], BOOT_TRIALS, 2 * BOOT_TIME)
    flags = ['--net'] if os.geteuid() == 0 else ['--net', '--map-root-user']
    tap = subprocess.run(['unshare', *flags, 'ip', 'tuntap', 'add', 'dev', 'lab0', 'mode', 'tap'],
                         capture_output=True, check=False)
    if quick and tap.returncode != 0:
        raise NoGuest('the quick cases are for a guest across a tap device, and none can be made')
    return ['link', 'veth'] if tap.returncode == 0 else ['veth']


class Run:
    """The run with one kernel: its cases, their results, and its files."""

    def __init__(self, arguments, suite, tally, number):
        self.arguments = arguments
        self.suite = suite
        self.prefix = ''        # of the names of cases; empty with the kernel that has most of them
        self.kernel = ''        # its release
        self.build = os.path.abspath(arguments.build)
        self.until = 0
        self.known, self.cases, self.p2p = {}, set(), set()
        self.unsteady = {}      # name of a case: what was told of its failure, if it may run again
        self.suspects = {}      # the same, where the capture of this guest must show that it is the peer's
        self.captured = False   # this guest's frames are kept until it has ended
        self.tally = tally
        self.results = {}       # name of a case: what lab_bench.py told of it
        self.frames = 0         # of ours that tshark looked at
        self.complaints = 0     # that it had
        self.aligned = {}       # MTU: FPDUs of ours, and how many segments ended inside one
        self.seconds = {}       # group of cases, which is the first word of their names: time they took
        self.boots, self.number = 0, number
        self.work = tempfile.mkdtemp(prefix='rdma-lab-run.')
        self.logs = os.path.join(self.build, 'lab-logs', suite)
        shutil.rmtree(self.logs, ignore_errors=True)
        os.makedirs(self.logs)

    def command(self, topology, siw, names, capture):
        """The command line of vm-run for one boot."""
        bench = ['python3', '-B', f'{HERE}/lab_bench.py', '--build', self.build, '--topology', topology,
                 '--until', str(self.until), '--limit', str(self.arguments.limit), *names]
        patience = max(60, int(self.until - time.time()) + BOOT_TIME + 300)
        command = [f'{HERE}/vm-run', '--timeout', str(patience), '--siw', siw, '--smp', '2', '--mem', '1024']
        if topology == 'veth':
            return command + ['--links', 'siw0:siw:eth0', '--'] + bench
        quoted = ' '.join("'" + word.replace("'", "'\\''") + "'" for word in bench)
        if capture:
            command += ['--pcap', capture]
        return command + ['--net', 'tap', '--mtu', '9000', '--wait-port', '7400', '--until-peer', '--peer', quoted,
                          '--', 'python3', '-B', f'{HERE}/lab_agent.py']

    def boot(self, topology, siw, cases):
        """Boots a guest, runs cases in it, and records their results."""
        self.boots += 1
        name = f'{self.boots:02}-{topology}-{siw.replace(" ", "-")}'
        capture = os.path.join(self.work, name + '.pcap') if topology == 'link' else None
        command = self.command(topology, siw, [case.name for case in cases], capture)
        print(f'# guest {self.boots}: {topology}, {siw}, {len(cases)} cases', flush=True)
        self.captured = capture is not None and shutil.which('tshark') is not None
        failed = len(self.tally.failed) + len(self.unsteady)
        with open(os.path.join(self.logs, name + '.log'), 'w', encoding='utf-8') as log, \
                subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                 text=True, errors='replace') as guest:
            try:
                running = self.follow(guest, log)
            finally:
                guest.terminate()
        if running:
            self.note({'name': running, 'result': 'failed', 'seconds': 0,
                       'why': f'the guest ended before the case, with {guest.returncode}:\n' + self.tail(name)})
        self.judge_suspects(capture)
        if capture and os.path.exists(capture):
            self.judge_capture(name, capture, len(self.tally.failed) + len(self.unsteady) > failed)
        return guest.returncode

    def follow(self, guest, log):
        """Records results until the guest ends; returns the name of a case that was running then."""
        running = None
        for line in guest.stdout:
            log.write(line)
            if line.startswith('@lab '):
                told = json.loads(line[5:])
                running = told.get('begin')
                if 'name' in told:
                    self.note(told)
        return running

    def tail(self, name):
        with open(os.path.join(self.logs, name + '.log'), encoding='utf-8') as log:
            return ''.join(log.readlines()[-SHOWN_LINES:])

    def judge_suspects(self, capture):
        """Cases failed because of a wrong CRC of the peer: do they get a second guest? Yes if
        tshark finds as many wrong CRCs in the capture."""
        if not self.suspects:
            return
        complaints = lab_capture.judge(capture, *PEER_ADDRESSES)[1] if os.path.exists(capture) else []
        wrong = [line for line in complaints if 'Bad CRC32' in line]
        print('\n'.join(f'# {PEER_CRC}: {line}' for line in wrong))
        for name, told in self.suspects.items():
            if len(wrong) >= len(self.suspects):
                self.unsteady[name] = {**told, 'excuse': f'{PEER_CRC}: {"; ".join(wrong)}'}
            else:
                self.count(told)
        self.suspects.clear()

    def judge_capture(self, name, capture, wanted):
        """Lets tshark check every frame of our side in the capture of the link, and looks for FPDUs
        that were cut.

        The capture is kept if it shows a fault, or if a case failed (`wanted`).
        """
        complaints = []
        if shutil.which('tshark') is None:
            self.tally.skip(f'capture {name}', 'there is no tshark')
        else:
            started = time.monotonic()
            frames, complaints = lab_capture.judge(capture, *OUR_ADDRESSES)
            self.frames += frames
            self.complaints += len(complaints)
            self.note({'name': f'capture {name}', 'result': 'failed' if complaints else 'ok',
                       'why': '\n'.join(complaints), 'seconds': round(time.monotonic() - started, 1), 'frames': frames})
        places = []
        for mtu, (fpdus, cut) in sorted(lab_fpdu.aligned(capture, OUR_ADDRESSES, places).items()):
            before = self.aligned.get(mtu, (0, 0))
            self.aligned[mtu] = (before[0] + fpdus, before[1] + cut)
            self.note({'name': f'alignment mtu {mtu} {name}', 'result': 'failed' if cut else 'ok',
                       'why': '\n'.join([f'{cut} segments end inside an FPDU'] + places), 'seconds': 0,
                       'frames': fpdus})
        if self.arguments.keep or wanted or places or complaints:
            shutil.move(capture, self.logs)
        else:
            os.remove(capture)

    def note(self, told):
        """Counts and prints one result; a failure may wait for its second guest."""
        first = self.unsteady.get(told['name'])
        if self.captured and told['result'] == 'failed' and WRONG_CRC in told['why'] and told['name'] in self.cases and not first:
            self.suspects[told['name']] = self.results[told['name']] = told
            return
        if self.arguments.again and told['result'] == 'failed' and told['name'] in self.cases and not first:
            self.unsteady[told['name']] = self.results[told['name']] = told
            print(f'# {told["name"]} failed, and has a second guest at the end: {told["why"]}'.replace('\n', '\n# '))
            return
        if first and told['result'] == 'ok' and 'excuse' in first:
            print(f'# in the first guest: {first["excuse"]}')
        elif first and told['result'] == 'ok':
            told = {**told, 'result': 'skip', 'why': f'unsteady: it failed in the first guest: {last_line(first["why"])}'}
        self.count(told)

    def count(self, told):
        """Counts and prints one result."""
        name, result, why = told['name'], told['result'], told['why']
        known = self.known.get(name) or (PEER_BUG if name in self.p2p and PEER_BUG_PLACE in why else '')
        self.results[name] = told
        if result == 'failed' and known:
            told['result'], told['why'] = 'known', known
        self.number += 1
        extra = f', {told["frames"]} frames of ours' if 'frames' in told else ''
        told_more = ''.join(f', {key}: {value}' for key, value in (told.get('detail') or {}).items() if key in NOTED)
        print(f'# {told["seconds"]} s{extra}{told_more}')
        if result == 'failed':
            print('\n'.join('# ' + line for line in why.split('\n')[-SHOWN_LINES:]))
        group = name.split(' ')[0]
        self.seconds[group] = self.seconds.get(group, 0) + told['seconds']
        if told['result'] in ('known', 'skip'):
            self.tally.skip(self.prefix + name, told['why'])
            print(f'ok {self.number} - {self.prefix}{name} # SKIP {last_line(told["why"])}', flush=True)
        else:
            self.tally.add(self.prefix + name, result == 'ok')
            print(f'{"ok" if result == "ok" else "not ok"} {self.number} - {self.prefix}{name}', flush=True)

    def run_all(self, topologies, cases):
        """Boots guests until each of these cases has a result, or the time is over."""
        for topology, siw, group in boots_of(cases):
            where = topology if topology in topologies else 'veth'
            left, trials = group, 0
            while left and trials < BOOT_TRIALS and time.time() < self.until and self.boots < MOST_BOOTS:
                self.boot(where, siw, left)
                rest = [case for case in left if case.name not in self.results]
                trials = trials + 1 if len(rest) == len(left) else 0
                left = rest
            if trials == BOOT_TRIALS:
                for case in left:
                    self.note({'name': case.name, 'result': 'failed', 'seconds': 0,
                               'why': f'the guest did not come up; see {self.logs}'})

    def begin(self):
        """Prepares the guest and prints its kernel's release; returns the topologies that are
        possible."""
        topologies = prepare(self.build, self.suite, self.arguments.length == 'quick')
        self.kernel = release_of(self.suite)
        if self.suite != SUITES[0]:
            self.prefix = f'linux {".".join(self.kernel.split(".")[:2])}: '
        print(f'# Linux {self.kernel}', flush=True)
        if 'link' not in topologies:
            print('# no tap device can be made here: both ends run in the guest')
        return topologies

    def no_guest(self, reason):
        """Counts the whole run as one that is skipped."""
        self.number += 1
        name = 'lab' if self.suite == SUITES[0] else f'lab with {self.suite}'
        self.tally.skip(name, f'no guest can run: {reason}')
        print(f'ok {self.number} - {name} # SKIP no guest can run: {reason}', flush=True)

    def run(self, topologies, cases):
        """Runs all cases, and failed ones that may be repeated a second time; all have a result
        then."""
        minutes = self.arguments.minutes or (75 if self.arguments.length == 'full' else 15)
        self.until = time.time() + minutes * 60
        self.known = {case.name: case.known for case in cases if case.known}
        self.cases = {case.name for case in cases}
        self.p2p = {case.name for case in cases if case.p2p}
        self.run_all(topologies, cases)
        again = [case for case in cases if case.name in self.unsteady]
        for case in again:
            del self.results[case.name]
        self.until = max(self.until, time.time() + AGAIN_TIME)
        self.run_all(topologies, again)
        for case in again:
            if case.name not in self.results:
                self.count(self.unsteady[case.name])
        for case in cases:
            if case.name not in self.results:
                self.note({'name': case.name, 'result': 'skip', 'seconds': 0, 'why': NO_TIME})


def options():
    parser = argparse.ArgumentParser(prog='run_lab.py', description=__doc__.split('\n')[0])
    parser.add_argument('patterns', nargs='*', default=['*'], help='shell patterns of the names of cases')
    parser.add_argument('--build', default='build', help='the build folder (default: build)')
    parser.add_argument('--quick', dest='length', action='store_const', const='quick', default='usual',
                        help='only some cases, for which one guest is enough')
    parser.add_argument('--full', dest='length', action='store_const', const='full', help='also those that take long')
    parser.add_argument('--kernel', dest='kernels', action='append', choices=SUITES,
                        help='only with the kernel of this suite of Debian; the later one has fewer cases without --full')
    parser.add_argument('--again', action='store_true', help='a case that fails runs once more, in another guest')
    parser.add_argument('--minutes', type=float,
                        help='with each kernel begin no case later than this (default: 15; 75 with --full)')
    parser.add_argument('--limit', type=int, default=10**6, help='most seconds for a case')
    parser.add_argument('--record', metavar='FOLDER', help='write the pages interop.md, devices.md and verbs-lab.md there, such as doc')
    parser.add_argument('--keep', action='store_true', help='keep the captures')
    parser.add_argument('--tap', action='store_true', help='TAP only, without the summary')
    parser.add_argument('--list', action='store_true', help='only name the cases')
    return parser.parse_args()


def run_kernels(arguments, wanted, tally):
    """Runs the cases of each kernel; returns the runs, each with its cases."""
    runs, number = [], 0
    for suite, cases in wanted.items():
        run = Run(arguments, suite, tally, number)
        try:
            run.run(run.begin(), cases)
            runs.append((run, cases))
        except NoGuest as reason:
            run.no_guest(reason)
        finally:
            shutil.rmtree(run.work)
        number = run.number
    print(f'1..{number}')
    return runs


def main():
    arguments = options()
    wanted = {suite: [case for case in cases_of(arguments.length, suite)
                      if any(fnmatch.fnmatchcase(case.name, pattern) for pattern in arguments.patterns)]
              for suite in arguments.kernels or SUITES}
    if arguments.list:
        for suite, cases in wanted.items():
            print(f'# {suite}: {len(cases)} cases')
            print('\n'.join(f'{case.name}{" (" + case.known + ")" if case.known else ""}' for case in cases))
        return 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))     # by way of what ends the guest
    started = time.monotonic()
    tally = Tally()
    runs = run_kernels(arguments, {suite: cases for suite, cases in wanted.items() if cases}, tally)
    for run, _ in runs:
        print(f'# Linux {run.kernel}: {run.boots} guests, seconds: ' +
              ', '.join(f'{group} {seconds:.0f}' for group, seconds in run.seconds.items()) + f'; logs are in {run.logs}')
    if not arguments.tap:
        for kind, names in (('skipped', tally.skipped), ('failed', tally.failed)):
            print(''.join(f'{kind}: {name}\n' for name in names), end='')
    if arguments.record:
        write_report(f'{arguments.record}/interop.md', runs, datetime.date.today())
        write_devices(f'{arguments.record}/devices.md', runs, datetime.date.today())
        write_doors(f'{arguments.record}/verbs-lab.md', runs, datetime.date.today())
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f'# {time.monotonic() - started:.0f} s, {used.ru_utime + used.ru_stime:.0f} s of processors')
    if not arguments.tap:
        print(tally.summary())
    return 1 if tally.failed else 0


if __name__ == '__main__':
    sys.exit(results.told(main))
