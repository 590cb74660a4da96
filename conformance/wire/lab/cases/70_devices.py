# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""vp/ib on the guest's devices: rxe0 with InfiniBand semantics, siw0 with those of iWARP."""

import functools
import json

import lab_device
from lab_case import Case, Failed
from lab_pairs import leader, talk

DEVICES = ('rxe0', 'siw0')
RXE = '10.78.0.1'               # the address of rxe0
TOPICS = (
    'aevd', 'async', 'atomic', 'attributes', 'borders', 'callback', 'closing', 'convert', 'convert-ends', 'convert-use',
    'descriptors', 'dmabuf', 'dto', 'evd', 'fork', 'freeing', 'handoff', 'handshake', 'ia', 'itx', 'link', 'listen', 'lmr',
    'notify', 'objects', 'paths', 'pdata', 'privileged', 'resize', 'rmr', 'rmr-checks', 'rulings', 'srq', 'srq-limits', 'states', 'statuses',
    'ud', 'ud-checks', 'ud-service')
# Known deviations of a device, for the random programs. If a request fails, siw does not report the
# Terminate [RI 12.3.11], and rxe reports another status or breaks without an event [RI 12.2.5], [RI
# 12.2.6]; its kernel crashes if a peer invalidates a window that is not bound [RI 12.2.11]. rxe
# lets no peer invalidate a region. siw raises its IRD [RI 12.3.14]. Each receive counts as
# solicited [RI 12.1.6], and an SRQ of rxe is for one zone [RI 12.2.7]. How a request without a
# completion has ended is not known before a later one is completed [RI 12.2.17].
QUIRKS = {'rxe0': 'no-errors,no-region-unlink,all-solicited,srq-of-zone,late-flush', 'siw0': 'no-errors,raises-ird,all-solicited,no-empty-read,early-slots'}
# Each takes more than 10 seconds: on rxe0 each connection takes its time, and siw holds one that is given up until it ends.
LONG = {(what, 'rxe0') for what in ('dto', 'evd', 'freeing', 'handshake', 'paths', 'pdata', 'rmr', 'rulings', 'srq-limits', 'states',
                                    'ud')} | {('states', 'siw0')}
PEER_TOPICS = ('immediate', 'inline', 'iova', 'multicast', 'number', 'peer', 'uc')      # of lab_peer.c
PROGRAMS = '40'                 # of differential, for each kind
ATTEMPTS = '3'                  # of a program that disagrees
KINDS = {'plain': [], 'wide': ['--wide']}
ADAPTERS = ('iwarp', 'emul:ib', 'ib:rxe0', 'ib:siw0')
TRANSACTIONS = ['client', 'SR', '64', 'server', 'SR', '4096', '3', 'client', 'RW', '65537', 'client', 'RR', '100000',
                'server', 'RW', '8']
OPERATIONS = ','.join(f'{what}:{size}' for size in ('1', '1000', '65537', '2m') for what in ('send', 'write', 'read'))
RPING = ['-C', '10', '-S', '1000']
HUGE_PAGES = 4
PERFTEST = ('send_lat', 'send_bw', 'write_bw', 'read_bw')
NO_SERVER_YET = 10              # trials of a client


def topic(bench, name, device, env=None):
    """Runs the tests of IT-API of one topic; returns their results."""
    tests = lab_device.run_topic(bench, name, device, env)
    return {'device': device, 'topic': name, 'passed': sum(reason == '' for reason in tests.values()),
            'skipped': sorted({reason for reason in tests.values() if reason})}


def pages(bench, device):
    """The tests with special kinds of memory: huge pages, and files on tmpfs, since the guest has
    no file system on a disk."""
    bench.run(bench.theirs, ['sh', '-c', f'echo {HUGE_PAGES} >/proc/sys/vm/nr_hugepages'])
    told = topic(bench, 'pages', device, {'ITAPI_TEST_FOLDER': '/dev/shm'})
    bench.run(bench.theirs, ['sh', '-c', 'echo 0 >/proc/sys/vm/nr_hugepages'])
    if told['skipped']:
        raise Failed(f'not all tests ran: {told["skipped"]}')
    return told


def deviations(bench, device):
    """Each test that is listed as a known deviation still fails."""
    lab_device.load_provider(bench)
    stale = [entry['test'] for entry in lab_device.deviations(device)
             if not entry.get('crashes') and not entry.get('unsteady') and lab_device.passes(bench, device, entry)]
    if stale:
        raise Failed(f'devices.toml says that these differ, but they pass: {", ".join(stale)}')


def info(bench, device):
    """Returns the description of the device by it-info --json."""
    lab_device.load_provider(bench)
    said = bench.run(bench.theirs, [bench.tool('it-info'), '--json', '--adapter', f'ib:{device}'],
                     env={**lab_device.ENVIRONMENT, 'ITAPI_LOG': 'none'})
    return {'device': device, 'info': json.loads(said)['adapters'][0]}


def ping(bench, device):
    lab_device.load_provider(bench)
    bench.run(bench.theirs, [bench.tool('it-ping'), '--self', '--adapter', f'ib:{device}', '-C', '10', '-S', '5000'],
              env=lab_device.ENVIRONMENT)


def same_command(bench):
    """it-test with the same options over each provider."""
    lab_device.load_provider(bench)
    for adapter in ADAPTERS:
        bench.run(bench.theirs, [bench.tool('it-test'), '--self', '--adapter', adapter, '-C', '20', *TRANSACTIONS],
                  env=lab_device.ENVIRONMENT)


def peer(bench, what):
    """The parts of RNIC-PI that IT-API does not offer, tested by two processes in the guest that
    open the adapter themselves."""
    lab_device.load_provider(bench)
    said = bench.run(bench.theirs, [f'{bench.build}/conformance/wire/lab/lab-peer', f'{lab_device.PROVIDERS}/ib.so', 'ib:rxe0', what],
                     env={'ITAPI_LOG': 'info'})
    return {'peer': what, 'said': said.split('\n')}


def differential(bench, device, kind):
    lab_device.load_provider(bench)
    bench.run(bench.theirs, [f'{bench.build}/conformance/judge/differential/differential', '--adapter', f'ib:{device}', '--seed', '1',
                             '--count', PROGRAMS, '--no-shrink', '--patience', '20', '--quirks', QUIRKS[device], '--attempts', ATTEMPTS,
                             *KINDS[kind]],
              env={**lab_device.ENVIRONMENT, 'ITAPI_LOG': 'none'})


def iwarp_with_siw(bench, role):
    """vp/iwarp on the host and vp/ib over siw: each side in turn leads with Sends, Writes and
    Reads, and disconnects."""
    lab_device.load_provider(bench)
    bench.set_mtu(1500)
    for ours in (True, False):
        lead = leader(ours, OPERATIONS)
        talk(bench, role, 4, lead[0], [*lead[1], '--adapter', 'ib:siw0'], peer='lab-itapi', their_env=lab_device.ENVIRONMENT)
        bench.port += 1


def our_server(bench, server, client):
    """A server over vp/ib and a client over plain verbs, both in the guest."""
    lab_device.load_provider(bench)
    job = bench.start(bench.theirs, server, lab_device.ENVIRONMENT)
    bench.says(bench.theirs, job, 'listening on')
    said = bench.run(bench.theirs, client)
    if bench.wait(bench.theirs, job) != 0:
        raise Failed(f'{bench.theirs.says(job)}---\n{said}')


def our_client(bench, server, client):
    """A server over plain verbs and a client over vp/ib. No socket shows when the server is ready,
    so the client tries again."""
    lab_device.load_provider(bench)
    job = bench.start(bench.theirs, server)
    for _ in range(NO_SERVER_YET):
        ours = bench.start(bench.theirs, client, lab_device.ENVIRONMENT)
        if bench.wait(bench.theirs, ours) == 0 or bench.theirs.poll(job, 1) is not None:
            break
    if (bench.theirs.poll(ours, 0), bench.wait(bench.theirs, job)) != (0, 0):
        raise Failed(f'{bench.theirs.says(job)}---\n{bench.theirs.says(ours)}')


def rping(bench, role):
    port = ['-p', str(bench.port)]
    ours = [bench.tool('it-ping'), '--rping', '--adapter', 'ib:rxe0', *port]
    if role == 'initiator':
        our_client(bench, ['rping', '-s', '-a', RXE, '-V', *port, *RPING], [*ours, *RPING, RXE])
    else:
        our_server(bench, [*ours, *RPING[2:]], ['rping', '-c', '-a', RXE, '-V', *port, *RPING])


def perftest(bench, program, role):
    """Programs of perftest exchange an MTU; peer sends the one for 1500. The other program takes it
    from the first device, siw0."""
    bench.set_mtu(1500)
    port = ['-p', str(bench.port)]
    ours = [bench.tool('peer'), '--adapter', 'ib:rxe0', *port, '-C', '50', program]
    theirs = [f'ib_{program}', '-R', '-F', '-n', '50', *port]
    if role == 'initiator':
        our_client(bench, theirs, [*ours, RXE])
    else:
        our_server(bench, ours, [*theirs, RXE])


CASES = [Case('devices it-test over each provider', same_command)]
CASES += [Case(f'devices peer {what} rxe0', functools.partial(peer, what=what), limit=60) for what in PEER_TOPICS]
for name in DEVICES:
    CASES += [Case(f'devices info {name}', functools.partial(info, device=name)),
              Case(f'devices it-ping {name}', functools.partial(ping, device=name), each=True),
              Case(f'devices deviations {name}', functools.partial(deviations, device=name), limit=900, long=True, fatal=True)]
    CASES += [Case(f'devices {what} {name}', functools.partial(topic, name=what, device=name), limit=300,
                   long=(what, name) in LONG) for what in TOPICS]
    CASES += [Case(f'devices pages {name}', functools.partial(pages, device=name))]
    CASES += [Case(f'devices differential {what} {name}', functools.partial(differential, device=name, kind=what), limit=300,
                   long=True) for what in KINDS]
for our_role in ('initiator', 'responder'):
    CASES += [Case(f'devices iwarp with ib:siw0 {our_role}', functools.partial(iwarp_with_siw, role=our_role)),
              Case(f'devices rping with ib:rxe0 {our_role}', functools.partial(rping, role=our_role))]
    CASES += [Case(f'devices ib_{what} -R with ib:rxe0 {our_role}', functools.partial(perftest, program=what, role=our_role))
              for what in PERFTEST]
