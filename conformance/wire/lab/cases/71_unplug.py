# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""RDMA devices that are deleted while they are used, and interfaces that go down. Each case makes a
device of its own over a dummy interface."""

import functools
import os
import signal

import lab_device
from lab_case import Case, Failed

KINDS = ('rxe', 'siw')
DEVICE, INTERFACE, ADDRESS = 'plug', 'plug0', '10.79.0.1'
TESTS = ('idle', 'connected', 'busy', 'attempt', 'beside', 'interface')
OF_DATAGRAMS = ('datagrams-idle', 'datagrams-busy')
OF_INTERFACE = ('switch', 'waiting', 'traffic', 'addresses', 'follow')       # of another program
USUAL = {('connected', 'rxe'), ('connected', 'siw'), ('switch', 'rxe'), ('traffic', 'siw'), ('follow', 'rxe'), ('follow', 'siw'),
         ('waiting', 'siw')}
FOR_EVER = ['-C', '100000000', '-S', '1000']
SOON = 2                # seconds in which the kernel would have removed a device that nobody has open
END = 20                # seconds in which a program must have ended, and the device must have gone


def make(bench, kind):
    """Makes the device; one that an earlier case may have left is removed first."""
    lab_device.load_provider(bench)
    remove(bench)
    for line in (f'ip link add {INTERFACE} type dummy', f'ip link set {INTERFACE} up',
                 f'ip addr add {ADDRESS}/24 dev {INTERFACE}', f'rdma link add {DEVICE} type {kind} netdev {INTERFACE}'):
        bench.run(bench.theirs, line.split())


def remove(bench):
    """Removes the interface, and the device with it; either may already be gone."""
    bench.wait(bench.theirs, bench.start(bench.theirs, ['ip', 'link', 'del', INTERFACE]))


def unplug(bench, kind, test):
    """A test whose program deletes the device that it uses, or changes the interface below it."""
    make(bench, kind)
    path = f'/itapi/ib:{DEVICE}/unplug/{test}'
    program = lab_device.TOPIC + ('interface' if test in OF_INTERFACE else 'unplug')
    said = bench.run(bench.theirs, [os.path.join(bench.build, program), f'ib:{DEVICE}', '-p', path],
                     env={**lab_device.ENVIRONMENT, 'ITAPI_TEST_LINK': f'{DEVICE}:{kind}:{INTERFACE}:{ADDRESS}'})
    if lab_device.tests_of(said).get(path) != (True, ''):
        raise Failed(f'the test did not run:\n{said}')
    remove(bench)


def ping(bench, kind):
    """A tool whose device is deleted reports that and ends; the device can then be made again, and
    the tool runs over it."""
    make(bench, kind)
    command = [bench.tool('it-ping'), '--self', '--adapter', f'ib:{DEVICE}']
    job = bench.start(bench.theirs, command + FOR_EVER, {**lab_device.ENVIRONMENT, 'ITAPI_LOG': 'info'})
    bench.says(bench.theirs, job, 'IT_CM_MSG_CONN_ESTABLISHED_EVENT')
    removal = bench.start(bench.theirs, ['rdma', 'link', 'delete', DEVICE])
    ends = [bench.theirs.poll(one, END) for one in (job, removal)]
    said = bench.theirs.says(job)
    if ends[0] in (None, 0) or ends[0] < 0 or ends[1] != 0 or 'it-ping: ' not in said:
        raise Failed(f'it-ping and the removal ended with {ends}:\n{said}')
    said = bench.run(bench.theirs, [bench.tool('it-info'), '--adapter', f'ib:{DEVICE}'], status=1, env=lab_device.ENVIRONMENT)
    if DEVICE not in said:
        raise Failed(f'it-info does not name the device:\n{said}')
    bench.run(bench.theirs, ['rdma', 'link', 'add', DEVICE, 'type', kind, 'netdev', INTERFACE])
    bench.run(bench.theirs, [*command, '-C', '10'], env=lab_device.ENVIRONMENT)
    remove(bench)


def killed(bench, kind):
    """The deletion of the device waits for a stopped program, however long, and finishes when the
    program is killed."""
    make(bench, kind)
    job = bench.start(bench.theirs, [bench.tool('it-ping'), '--self', '--adapter', f'ib:{DEVICE}', *FOR_EVER],
                      {**lab_device.ENVIRONMENT, 'ITAPI_LOG': 'info'})
    bench.says(bench.theirs, job, 'IT_CM_MSG_CONN_ESTABLISHED_EVENT')
    bench.theirs.signal(job, signal.SIGSTOP)
    removal = bench.start(bench.theirs, ['rdma', 'link', 'delete', DEVICE])
    waited = bench.theirs.poll(removal, SOON) is None
    bench.kill(bench.theirs, job)
    ended = bench.theirs.poll(removal, END)
    if not waited or ended != 0:
        raise Failed(f'the removal {"waited" if waited else "did not wait"} for the program, and ended with {ended}')
    remove(bench)


CASES = []
for name in KINDS:
    CASES += [Case(f'unplug it-ping {name}', functools.partial(ping, kind=name)),
              Case(f'unplug killed {name}', functools.partial(killed, kind=name), long=True)]
    CASES += [Case(f'unplug {what} {name}', functools.partial(unplug, kind=name, test=what), long=(what, name) not in USUAL)
              for what in TESTS + OF_INTERFACE]
CASES += [Case(f'unplug {what} rxe', functools.partial(unplug, kind='rxe', test=what), long=True) for what in OF_DATAGRAMS]
