# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""Runs the tests of IT-API on a device of the guest over vp/ib, and knows where a device deviates.

devices.toml names each test that a device cannot pass, with the paragraph that says why. Such a test is left out of its
program's run, since a failed test ends the program. Case `devices deviations` runs them one by one and fails if one passes.
"""

import os
import re
import tomllib

from lab_case import Failed, Skipped

FOLDER = os.path.dirname(os.path.abspath(__file__))
PROVIDERS = '/tmp/itapi-providers'      # in the guest
ENVIRONMENT = {'ITAPI_PROVIDER_PATH': PROVIDERS}
TESTS = {'rxe0': ENVIRONMENT, 'siw0': {**ENVIRONMENT, 'ITAPI_TEST_WAIT_HARMS': '1'}}     # [WIRE 14.2]
TEST_LINE = re.compile(r'(ok|not ok) \d+ (/\S+)(?: # SKIP (.*))?')
TOPIC = 'itapi/tests/test-itapi-'


def deviations(device):
    """The known deviations of a device: a list of entries of devices.toml."""
    with open(os.path.join(FOLDER, 'devices.toml'), 'rb') as file:
        return tomllib.load(file).get(device, [])


def program_of(entry):
    """The program that has the test: the first word of its name, unless the entry says which."""
    return entry.get('program', entry['test'].split('/')[0])


def path_of(device, test):
    return f'/itapi/ib:{device}/{test}'


def load_provider(bench):
    """Lets programs in the guest find ib.so, and none of the providers for tests that are built beside it."""
    if bench.topology != 'link':
        raise Skipped('there is no tap device, and the guest without one has siw only')
    if not os.path.exists(f'{bench.build}/vp/ib/ib.so'):
        raise Skipped('vp/ib was not built')
    bench.run(bench.theirs, ['mkdir', '-p', PROVIDERS])
    bench.run(bench.theirs, ['ln', '-sf', f'{bench.build}/vp/ib/ib.so', PROVIDERS])


def tests_of(said):
    """The results of tests, from the output of a program: {path: (passed, reason for a skip)}."""
    return {path: (verdict == 'ok', skipped) for verdict, path, skipped in TEST_LINE.findall(said)}


def run_topic(bench, topic, device, env=None):
    """Runs one test program on a device, without the tests that are known to differ; returns the
    result of each test."""
    load_provider(bench)
    left_out = [entry['test'] for entry in deviations(device) if program_of(entry) == topic]
    argv = [os.path.join(bench.build, TOPIC + topic), f'ib:{device}']
    for test in left_out:
        argv += ['-s', path_of(device, test)]
    said = bench.run(bench.theirs, argv, env={**TESTS[device], **(env or {})})
    tests = tests_of(said)
    if not tests:
        raise Failed(f'no test ran:\n{said}')
    if any(reason == 'no such adapter' for _, reason in tests.values()):
        raise Failed(f'there is no adapter ib:{device}')
    return {path: reason for path, (_, reason) in tests.items() if path not in
            [path_of(device, test) for test in left_out]}


def passes(bench, device, entry):
    """Whether a test that is known to differ passes, within the seconds that its entry gives it."""
    job = bench.start(bench.theirs, [os.path.join(bench.build, TOPIC + program_of(entry)), f'ib:{device}', '-p',
                                     path_of(device, entry['test'])], TESTS[device])
    status = bench.theirs.poll(job, entry.get('seconds', 20))
    if status is None:
        bench.kill(bench.theirs, job)
    return status == 0 and any(good and not skipped for good, skipped in tests_of(bench.theirs.says(job)).values())
