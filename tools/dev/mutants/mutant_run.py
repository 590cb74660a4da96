# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""Runs tests with one mutant selected and says how the mutant was caught.

named      the test failed and said which expectation did not hold
crash      the test was killed by a signal, or exited badly, without such words
hang       the test did not end in time
survived   all tests passed
"""

import concurrent.futures
import dataclasses
import os
import re
import resource
import signal
import subprocess
import tempfile
import threading
import time

PATIENCE = 180.0        # s for a test without a mutant: four times the slowest on a busy machine
WAIT = 15               # s that a test waits before it names what did not come, where it can be told that
SLOWEST = 25.0          # s: a test hangs that takes longer with a mutant than this ...
TIMES_SLOWER = 10.0     # ... and this many times what it takes without
MEMORY = 8 << 30        # octets of data: a mutant that allocates for ever must not take the machine
GRACE = 3.0             # s for a program to end after its first failure

# What a test prints when an expectation does not hold: GTest, then TAP of Python.
_NAMES_FAULT = re.compile(r'^(?:# )?(?:Bail out!|not ok\b|.*ERROR:.*(?:assertion failed|code should not be reached))',
                          re.MULTILINE)
_TIMED_OUT = re.compile(r'TimeoutExpired|timed out after')
_CASE = re.compile(r'^ok\b(?!.*# SKIP)', re.MULTILINE | re.IGNORECASE)


@dataclasses.dataclass
class Run:
    """The result of one run of a test."""

    status: int             # as of subprocess; None: the time was over
    text: str
    seconds: float

    @property
    def passed(self):
        return self.status == 0 and _CASE.search(self.text) is not None

    @property
    def skipped(self):
        return self.status in (0, 77) and not self.passed

    def verdict(self):
        if self.status is None or _TIMED_OUT.search(self.text):
            return 'hang'
        if self.status in (0, 77):
            return 'survived'
        return 'named' if _NAMES_FAULT.search(self.text) else 'crash'

    def reason(self):
        """The line that names the fault, or the last one."""
        found = re.search(r'^.*(?:ERROR:.*|Bail out!.*|not ok .*)$', self.text, re.MULTILINE)
        lines = [found.group(0)] if found else self.text.strip().split('\n')[-1:]
        return lines[0][:200]


@dataclasses.dataclass
class Result:
    """The result of one mutant: the verdict, the test that gave it, and how long that took."""

    name: str
    verdict: str
    test: str = ''
    seconds: float = 0.0
    reason: str = ''
    reached: bool = False


def limit_child():
    """Runs in the child before the program: no core files, limited memory."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))


def kill_group(process):
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def run_program(command, env, cwd, seconds):
    """Runs a test program with its children until it ends, or shortly past its first failure."""
    started = time.monotonic()
    with tempfile.TemporaryFile() as out:
        process = subprocess.Popen(command, env=env, cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=out, start_new_session=True, preexec_fn=limit_child)
        failed, over = threading.Event(), threading.Event()

        def expire():
            over.set()
            kill_group(process)

        def read():
            for line in process.stdout:
                said.append(line)
                if line.startswith((b'not ok', b'Bail out!')) and not failed.is_set():
                    failed.set()
                    timers.append(start_timer(GRACE, kill_group, process))

        said, timers = [], [start_timer(seconds, expire)]
        reader = threading.Thread(target=read, daemon=True)
        reader.start()
        status = process.wait()
        kill_group(process)
        reader.join()
        for timer in timers:
            timer.cancel()
        out.seek(0)
        text = b''.join(said) + out.read()
    if over.is_set() and not failed.is_set():
        status = None
    elif failed.is_set() and status == 0:
        status = 1
    return Run(status, text.decode(errors='replace'), time.monotonic() - started)


def start_timer(seconds, function, *arguments):
    timer = threading.Timer(seconds, function, arguments)
    timer.daemon = True
    timer.start()
    return timer


def remove(path):
    """Removes a file; says whether it was there."""
    try:
        os.remove(path)
    except FileNotFoundError:
        return False
    return True


class Runner:
    """Runs the tests of a build, alone and with mutants."""

    def __init__(self, tests, folder, out):
        self.tests, self.folder, self.out = tests, folder, out
        self.base = {}

    def command(self, wanted):
        """Command, environment and folder of 'TEST' or 'TEST:/case'."""
        name, _, case = wanted.partition(':')
        test = self.tests[name]
        command = [*test['cmd'], *(['-p', case] if case else [])]
        # As Meson runs them: in the build folder, unless the test names another one.
        return command, {**os.environ, **test['env']}, test['workdir'] or self.out

    def run(self, wanted, number=None, mark='', seconds=None):
        command, env, cwd = self.command(wanted)
        env.pop('MUTANT_NUMBER', None)
        env['ITAPI_TEST_PATIENCE'] = str(WAIT)
        env.setdefault('MALLOC_PERTURB_', '165')    # as Meson does, which draws it: memory that is free has other octets
        if number is not None:
            env.update(MUTANT_NUMBER=str(number), MUTANT_REACHED=mark)
        return run_program(command, env, cwd, seconds or PATIENCE)

    def run_base(self, wanted):
        """Why a test fails without any mutant; empty if it passes. It may fail once, since the
        machine may be busy."""
        for _ in range(2):
            run = self.run(wanted)
            if run.passed:
                self.base[wanted] = run.seconds
                return ''
            if run.status is None:
                break       # a test that hangs took its time: no second try
        how = 'is skipped' if run.skipped else f'fails ({run.verdict()}, status {run.status})'
        return f'{wanted} {how} without a mutant: {run.reason()}'

    def run_mutant(self, mutant):
        """The verdict; a mutant that survives although the data says otherwise gets a second try."""
        result = self.try_mutant(mutant)
        return self.try_mutant(mutant) if result.verdict == 'survived' and mutant.is_certain else result

    def try_mutant(self, mutant):
        """Its tests in turn until one names the fault; the best of the verdicts."""
        best = Result(mutant.name, 'survived')
        mark = os.path.join(self.folder, f'reached-{mutant.name}')
        remove(mark)
        for wanted in self.good_tests(mutant):
            limit = SLOWEST + TIMES_SLOWER * self.base[wanted]
            run = self.run(wanted, mutant.number, mark, limit)
            verdict = run.verdict()
            if verdict != 'survived' and best.verdict != 'crash':
                best = Result(mutant.name, verdict, wanted, round(run.seconds, 2), run.reason())
            if verdict == 'named':
                break
        best.reached = remove(mark)
        return best

    def run_all(self, mutants, jobs, tell):
        """Results of many mutants, some at a time, and what is wrong with tests; `tell` is called
        with each result.

        A test that fails without a mutant is left out, and so is a mutant that has no other
        test.
        """
        results = []
        with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            wanted = sorted({test for mutant in mutants for test in mutant.tests})
            bad = [text for text in pool.map(self.run_base, wanted) if text]
            able = [mutant for mutant in mutants if self.good_tests(mutant)]
            bad += [f'{mutant.name} is left out: none of its tests is good' for mutant in mutants
                    if mutant not in able]
            for result in pool.map(self.run_mutant, able):
                tell(result)
                results.append(result)
        return results, bad

    def good_tests(self, mutant):
        return [wanted for wanted in mutant.tests if wanted in self.base]
