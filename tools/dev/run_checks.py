#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""Builds and tests in every way that counts; tools/check calls it after the set-up.

Each way has its own folder under build/. What a step prints goes to build/logs/ and is shown only
if the step failed. Skips are named. The last line is the sum over everything.
"""

import argparse
import contextlib
import glob
import os
import re
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import time

from analysers import run_analysers
from tally import GOOD, Tally, read_testlog, text_of, write_testlog

SHOWN_LINES = 60
REPEATED_LINES = 12     # of each test that failed, behind everything else
REPEATED_TESTS = 5
AGAIN = 3               # programs that may fail beside others and pass alone
# What no busy machine causes.
DAMAGE = re.compile(r'Sanitizer|runtime error:|Assertion .* failed')
CHATTER = r'\d+ warnings? generated\.'     # of clang-tidy, about headers of others

# Of a sanitizer: functions and lines, which its reports name, and nothing of variables. gcc takes a fifth less time.
LINES = ['-Dc_args=-g1', '-Dcpp_args=-g1']

# The suites that run on arm64, where everything takes ten times as long.
ARM64 = ['vsw', 'rnicpi', 'session', 'ual', 'fuzz', 'roce', 'emul', 'iwarp', 'kal', 'itapi:itapi']

# name: (options of meson setup, test setup, compiler)
WAYS = {
    'plain': ([], 'plain', 'gcc'),
    # -O1: gcc takes twice as long to optimize the checks of UBSan further, and a third longer for TSan. It then warns where it
    # would not otherwise.
    'asan': (['-Db_sanitize=address,undefined', '-Db_lundef=false', '-Ddoc=disabled', '-Doptimization=1',
              '-Dwerror=false', *LINES], 'asan', 'gcc'),
    'tsan': (['-Db_sanitize=thread', '-Db_lundef=false', '-Ddoc=disabled', '-Doptimization=1', '-Dwerror=false', *LINES], 'tsan',
             'gcc'),
    'clang': (['-Ddoc=disabled'], 'plain', 'clang'),
    # What users install: without assertions, and the library optimized as a whole.
    'release': (['--buildtype=release', '-Ddoc=disabled'], 'plain', 'gcc'),
    # What developers debug. It is only compiled.
    'debug': (['--buildtype=debug', '-Ddoc=disabled'], 'plain', 'gcc'),
}


def children_seconds():
    """Time on processors of all programs that have ended, in seconds."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


class Checker:
    """Runs the steps and keeps the tally."""

    def __init__(self, jobs):
        self.tally = Tally()
        self.jobs = jobs
        self.bad = []       # what each check or test that failed said last
        self.unsteady = []  # tests that failed beside others and passed alone
        os.makedirs('build/logs', exist_ok=True)

    def run(self, name, command, env=None, show=True):
        """Runs a command into its log; returns whether it ended well, and shows the end if not."""
        log = f'build/logs/{name.replace(" ", "-")}.log'
        started, busy = time.monotonic(), children_seconds()
        with open(log, 'wb') as file:
            try:
                status = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=file,
                                        stderr=subprocess.STDOUT, env=env, check=False).returncode
            except OSError as error:
                file.write(f'{command[0]}: {error.strerror}\n'.encode())
                status = 127
        took = time.monotonic() - started
        print(f'{"ok  " if status == 0 else "FAIL"} {name} ({took:.0f} s, {children_seconds() - busy:.0f} s of processors)', flush=True)
        if status != 0 and show:
            self.show(log)
        return status == 0

    def show(self, log):
        """The end of a log, here and, in short, once more in the report."""
        with open(log, encoding='utf-8', errors='replace') as file:
            lines = [line for line in file.read().rstrip().split('\n') if not re.fullmatch(CHATTER, line)]
        title = f'--- the last lines of {log}'
        print('\n'.join([title, *lines[-SHOWN_LINES:]]), flush=True)
        self.bad.append('\n'.join([title, *lines[-REPEATED_LINES:]]))

    def show_record(self, record):
        """Shows the last lines that a failed test printed."""
        lines = text_of(record).rstrip().split('\n')
        title = f'--- {record["name"]}: {record["result"].lower()}, status {record["returncode"]}'
        telling = [line for line in lines if re.match(r'not ok|Bail out|\*\*|.*(ERROR|Sanitizer)', line)]
        print('\n'.join([title, *lines[-SHOWN_LINES:]]), flush=True)
        self.bad.append('\n'.join([title, *telling[:REPEATED_LINES], '...', *lines[-REPEATED_LINES:]]))

    def check(self, name, command, env=None):
        """A command that is one check of its own."""
        return self.tally.add(name, self.run(name, command, env))

    def set_up(self, way):
        """Makes the folder build/WAY; one that Meson no longer understands is made anew."""
        options, _, compiler = WAYS[way]
        folder = f'build/{way}'
        env = dict(os.environ, CC=compiler, CXX='g++' if compiler == 'gcc' else 'clang++')
        if os.path.exists(f'{folder}/build.ninja'):
            setup = ['meson', 'setup', '--reconfigure', folder, *options]
            if subprocess.run(setup, env=env, stdin=subprocess.DEVNULL, capture_output=True,
                              check=False).returncode != 0:
                shutil.rmtree(folder)
        if not os.path.exists(f'{folder}/build.ninja'):
            shutil.rmtree(folder, ignore_errors=True)
            if not self.run(f'{way} setup', ['meson', 'setup', folder, *options], env):
                return self.tally.add(f'{way} setup', False)
        return True

    def compiling(self, way):
        return ['ninja', '-C', f'build/{way}', '-j', str(self.jobs)]

    def build(self, way):
        return self.set_up(way) and self.check(f'{way} build', self.compiling(way))

    @contextlib.contextmanager
    def beside(self, *commands):
        """Runs commands that build in the background, while the caller runs tests, which wait for
        peers and timers half of the time.

        The commands run only on idle processors (SCHED_IDLE). At the end the caller waits for them:
        stopping a setup or a compiler would leave a folder that does not build, and the next step
        needs their results. That step reports what does not compile.
        """
        script = '; '.join(shlex.join(command) for command in commands)
        with subprocess.Popen(['chrt', '--idle', '0', 'sh', '-c', script], stdin=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True) as beside:
            try:
                yield
            except BaseException:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(beside.pid, signal.SIGINT)
                raise

    def test(self, way, label=None, setup=None, arguments=(), prefix=(), env=None, processes=None):
        """Runs the tests of build/WAY and counts each case.

        A few programs that failed without damage run again, alone: on a busy machine something
        may have come too late. The output of their first run is shown, and the report names
        those that passed alone.
        """
        label = label or way
        env = dict(os.environ, ITAPI_TEST_INSTALLED='1', **(env or {}))

        def run(name, processes, *what):
            for old in glob.glob(f'build/{way}/meson-logs/testlog*'):
                os.remove(old)
            good = self.run(name, [*prefix, 'meson', 'test', '-C', f'build/{way}', '--no-rebuild', '--num-processes',
                                   str(processes), '--setup', setup or WAYS[way][1], *what], env, show=False)
            logs = glob.glob(f'build/{way}/meson-logs/testlog*.json')
            return good, read_testlog(logs[0]) if logs else {}

        good, records = run(f'{label} tests', processes or self.jobs, *arguments)
        failed = {name: record for name, record in records.items() if record['result'] not in GOOD}
        if 0 < len(failed) <= AGAIN and not any(DAMAGE.search(text_of(record)) for record in failed.values()):
            for record in failed.values():
                self.show_record(record)
            good, alone = run(f'{label} again', 1, *arguments, *(name.split(' / ')[-1] for name in failed))
            self.unsteady += [f'{label}: {name}' for name, record in alone.items() if record['result'] in GOOD]
            records.update(alone)
        self.count(label, good, records)

    def count(self, label, good, records):
        """Counts each case of a run of tests, and the run itself if it failed without a test that did."""
        saved = f'build/logs/{label}-tests.json'
        write_testlog(saved, records)
        before = len(self.tally.failed)
        for record in self.tally.add_testlog(saved, label):
            self.show_record(record)
        if not good and len(self.tally.failed) == before:
            self.show(f'build/logs/{label.replace(" ", "-")}-tests.log')
            self.tally.add(f'{label} tests', False)

    def build_and_test(self, way, prefix=(), env=None, beside=None):
        """Most tests wait for a peer or a timer half of the time: more than twice as many programs as processors.

        beside: a build that is made in the background meanwhile.
        """
        if self.build(way):
            with self.beside(self.compiling(beside)) if beside and self.set_up(beside) else contextlib.nullcontext():
                self.test(way, prefix=prefix, env=env, processes=2 * self.jobs + 1)

    def report(self, seconds):
        """Prints what did not pass, by name, and last the line that programs read. The names come
        again at the end because often only the end of a long output is kept."""
        for line in self.tally.skip_lines():
            print(f'skipped: {line}')
        for what in self.bad[:REPEATED_TESTS]:
            print(what)
        for name in self.unsteady:
            print(f'failed beside others, passed alone: {name}')
        for name in self.tally.failed:
            print(f'failed: {name}')
        print(f'{seconds:.0f} s; logs are in build/logs')
        print(self.tally.summary())
        return 1 if self.tally.failed else 0


def check_plain(checker):
    """The plain build; its tests record every status that a call of IT-API returned."""
    notes = os.path.abspath('build/logs/statuses')
    shutil.rmtree(notes, ignore_errors=True)
    checker.build_and_test('plain', env={'IT_STATUS_LOG': notes}, beside='asan')
    checker.check('manual', ['ninja', '-C', 'build/plain', 'doc'])
    checker.check('statuses', ['tools/dev/status-table', '--check', notes])


def tsan_prefix():
    """The command before a program under TSan on this machine: nothing, or setarch -R; None if TSan
    does not work.

    Kernels that randomize more address bits than the TSan of gcc 12 knows kill its programs before
    main(); without randomization they run.
    """
    probe = 'build/logs/tsan-probe'
    subprocess.run(['gcc', '-fsanitize=thread', '-x', 'c', '-', '-o', probe], check=True,
                   input=b'int main(void) { return 0; }\n')
    for prefix in ([], ['setarch', '-R']):
        runs = [subprocess.run(prefix + [probe], capture_output=True, check=False).returncode
                for _ in range(10)]
        if not any(runs):
            return prefix
    return None


def check_tsan(checker, prefix):
    if prefix is None:
        checker.tally.skip('tsan', 'its programs do not start on this kernel, even with setarch -R')
    else:
        checker.build_and_test('tsan', prefix=prefix)


SAMPLE = ('--sample', '25', '--allow', '2')     # two may survive: a sample is no score
LARGE_SAMPLE = ('--sample', '150', '--allow', '5')


def mutate(checker, *arguments):
    return ['tools/mutate', '--jobs', str(checker.jobs), *arguments]


def check_mutants(checker, arguments=()):
    """Runs the seeded defects, and reports those that no test names."""
    checker.check('mutants', mutate(checker, *arguments))


def check_adapters(checker, arguments=()):
    """Adapters with defects: for each one, the case of it-certify that doc/testing.md names must
    report it. Many run at a time, since most cases only wait."""
    checker.check('adapters with defects', ['conformance/bad/defects/run', '--build', 'build/plain', '--named', 'doc/testing.md',
                                            '--jobs', str(4 * checker.jobs), *arguments])


def fuzz(checker, *arguments):
    return ['tools/fuzz', '--jobs', str(checker.jobs), *arguments]


def check_fuzz(checker, arguments=('--check',)):
    """The fuzzers: a fixed number of inputs from a fixed seed, or, with --seconds, for a time."""
    if subprocess.run(['tools/fuzz', '--probe'], capture_output=True, check=False).returncode == 77:
        checker.tally.skip('fuzz', 'clang cannot link a fuzzer here')
        return
    checker.check('fuzz', fuzz(checker, *arguments))


def suites(*names):
    return [word for name in names for word in ('--suite', name)]


def check_packages(checker):
    checker.check('packages', ['tools/dev/test-packages', '--jobs', str(checker.jobs)])


def check_asan_programs(checker):
    """The tests that the quick run under ASan leaves out (tools/dev/meson.build)."""
    if checker.build('asan'):
        checker.test('asan', label='asan programs', arguments=suites('again', 'programs', 'wire'), processes=2 * checker.jobs)


def check_tsan_programs(checker):
    """Runs tests that start programs under TSan."""
    prefix = tsan_prefix()
    if prefix is not None and checker.build('tsan'):
        checker.test('tsan', label='tsan programs', prefix=prefix,
                     arguments=suites('certify', 'doc', 'failing', 'programs', 'sizes', 'tools', 'wire'), processes=2 * checker.jobs)


def check_arm64(checker):
    """Tests on another processor and its kernel, both emulated: of all that touches memory, sockets or the wire, but no whole
    programs."""
    if checker.check('arm64 build', ['tools/dev/arm64', '--build']):
        good = checker.run('arm64 tests', ['tools/dev/arm64', *suites(*ARM64)], show=False)
        log = 'build/arm64/meson-logs/testlog.json'
        checker.count('arm64', good, read_testlog(log) if os.path.exists(log) else {})


def check_kald(checker):
    """Each test with a daemon of its own, and with one that is killed and started again five times a second."""
    if not checker.build('plain'):
        return
    for setup, more in (('kald', ['itapi:tools']), ('kaldrestart', [])):
        checker.test('plain', label=setup, setup=setup, arguments=suites('itapi:kal', 'itapi:itapi', *more), processes=2 * checker.jobs)


def check_valgrind(checker):
    if checker.build('plain'):
        checker.test('plain', label='valgrind', setup='valgrind', processes=2 * checker.jobs)


def check_claims(checker):
    """Runs certification with each optional claim of a profile left out in turn: a case that judges
    what is not claimed fails here."""
    if checker.build('plain'):
        checker.test('plain', label='claims', setup='long', arguments=suites('claims'))


def check_long(checker):
    if checker.build('plain'):
        checker.test('plain', label='long', setup='long', arguments=['--suite', 'long'])


def check_analysers(checker):
    if checker.build('clang'):
        run_analysers(checker)


def check_all_adapters(checker):
    if checker.build('plain'):
        check_adapters(checker)


# What --full adds, in this order, and what --soak runs, which takes hours; --part runs some of them alone. Each builds what it needs.
FULL = {
    'sample': lambda checker: check_mutants(checker, LARGE_SAMPLE),
    'adapters': check_all_adapters,
    'fuzz': lambda checker: check_fuzz(checker, ['--seconds', '60']),
    'packages': check_packages,
    'clang': lambda checker: checker.build_and_test('clang'),
    'release': lambda checker: checker.build_and_test('release'),
    'debug': lambda checker: checker.build('debug'),
    'asan-programs': check_asan_programs,
    'tsan-programs': check_tsan_programs,
    'kald': check_kald,
    'arm64': check_arm64,
    'claims': check_claims,
    'analysers': check_analysers,
}
SOAK = {
    'mutants': check_mutants,
    'valgrind': check_valgrind,
    'long': check_long,
}
PARTS = {**FULL, **SOAK}


def run_parts(checker, names):
    """Runs parts in turn, and prints how long each took; their division into --full and --soak
    depends on that."""
    for name in names:
        started = time.monotonic()
        PARTS[name](checker)
        print(f'part {name}: {(time.monotonic() - started) / 60:.1f} minutes', flush=True)


def check_all(checker, full, lab=None):
    """All but the lab, whose quick cases run inside if its arguments are given: guests leave the processors idle."""
    check_plain(checker)
    prefix = tsan_prefix()
    checker.build_and_test('asan', beside=None if prefix is None else 'tsan')
    check_tsan(checker, prefix)
    if full:
        run_parts(checker, FULL)
        if lab is not None:
            check_lab(checker, lab)
        return
    if lab is not None:
        with checker.beside(mutate(checker, *SAMPLE, '--build'), fuzz(checker, '--build')):
            check_lab(checker, lab)
    check_fuzz(checker)
    check_mutants(checker, SAMPLE)
    check_adapters(checker, ['--share', '3', '--patience', '20'])


def check_lab(checker, arguments):
    """The tests that need a virtual machine. Their lines are shown as they come, since a run takes
    minutes."""
    if not checker.build('plain'):
        return
    command = [sys.executable, '-B', 'conformance/wire/lab/run_lab.py', '--build', 'build/plain', '--tap', *arguments]
    said = []
    with open('build/logs/lab.log', 'w', encoding='utf-8') as log, \
            subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
                             errors='replace') as lab:
        for line in lab.stdout:
            print(line, end='', flush=True)
            log.write(line)
            said.append(line)
    before = len(checker.tally.failed)
    cases = checker.tally.add_tap('lab', ''.join(said))
    if (lab.returncode != 0 or cases == 0) and len(checker.tally.failed) == before:
        checker.tally.add(f'lab (status {lab.returncode})', False)


def main():
    parser = argparse.ArgumentParser(prog='tools/check', description=__doc__.split('\n')[0])
    parser.add_argument('--full', action='store_true',
                        help=f'also {", ".join(FULL)}; about three hours on two processors')
    parser.add_argument('--soak', action='store_true', help=f'only {", ".join(SOAK)}, which take many hours')
    parser.add_argument('--part', action='append', choices=PARTS, default=[],
                        help='only this part of --full or --soak; may be given again')
    parser.add_argument('--lab', action='store_true',
                        help='only what needs a guest (conformance/wire/lab); with --full all of its cases')
    parser.add_argument('--with-lab', action='store_true',
                        help='also the quick cases of the lab, where a guest can run')
    parser.add_argument('--record', metavar='FOLDER',
                        help='with the lab: write the pages interop.md, devices.md and verbs-lab.md there, such as doc')
    parser.add_argument('--jobs', type=int, default=os.cpu_count(), help='how many at a time')
    arguments = parser.parse_args()

    os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), '../..'))
    started = time.monotonic()
    checker = Checker(arguments.jobs)
    record = ['--record', arguments.record] if arguments.record else []
    if arguments.part or arguments.soak:
        run_parts(checker, arguments.part or SOAK)
    elif arguments.lab:
        check_lab(checker, (['--full'] if arguments.full else []) + record)
    else:
        check_all(checker, arguments.full, ['--quick', '--again', *record] if arguments.with_lab else None)
    return checker.report(time.monotonic() - started)


if __name__ == '__main__':
    sys.exit(main())
