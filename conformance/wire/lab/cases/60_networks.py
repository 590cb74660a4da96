# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""Bad networks between two namespaces of the guest: with vp/iwarp at both ends, and against siw."""

import contextlib
import functools
import json
import os
import statistics
import tempfile
import time

from lab_case import Case, Failed, Skipped
from lab_netem import NETEMS, network
from lab_pairs import configured, leader, talk

DATA = 'send:1,write:200000,read:200000,send:70000,read:5000:8'
SILENCE = 'loss 100%'
NOTICED = 40            # seconds in which a peer that vanished is noticed, with the settings of vanished()
SETTINGS = '[tcp]\nkeep-alive-idle = 2\nkeep-alive-interval = 1\nkeep-alive-count = 3\nuser-timeout = 6\n'


def data(bench, peer, role, netem=None):
    """Every octet arrives over the bad network, and a later connection of the same processes works,
    too."""
    for ours in (True, False):
        with network(bench, netem) if netem else contextlib.nullcontext():
            talk(bench, role, 4, *leader(ours, DATA), ['--count', '2'], peer=peer)
        bench.port += 1


def tools(bench, netem):
    """The tools across the bad network, all over vp/iwarp."""
    port, address = str(bench.port), bench.address(bench.ours)
    with network(bench, netem), tempfile.TemporaryDirectory() as folder:
        bench.pair((bench.ours, [bench.tool('it-ping'), '-p', port]),
                   (bench.theirs, [bench.tool('it-ping'), '-p', port, '-C', '5', '-S', '3000', address]), bench.port)
        bench.pair((bench.ours, [bench.tool('it-test'), '-p', port]),
                   (bench.theirs, [bench.tool('it-test'), '-p', port, '-C', '3', address, 'client', 'SR', '70000',
                                   'server', 'RW', '30000', 'client', 'RR', '30000']), bench.port)
        source, served = os.path.join(folder, 'source'), os.path.join(folder, 'served')
        os.mkdir(served)
        with open(source, 'wb') as file:
            file.write(os.urandom(1 << 18))
        server = bench.server(bench.ours, [bench.tool('it-cp'), '-p', port, '--serve', served], bench.port)
        bench.run(bench.theirs, [bench.tool('it-cp'), '-p', port, source, f'{address}:copy'])
        bench.run(bench.theirs, ['cmp', source, os.path.join(served, 'copy')])
        bench.kill(bench.ours, server)


def during(bench, peer, role, change):
    """A transfer is running while the network changes; it must end successfully."""
    ours, theirs = leader(role == 'initiator', ','.join([DATA] * 20))
    programs = [[bench.tool('lab-itapi'), '-p', str(bench.port), *ours],
                [bench.tool(peer), '-p', str(bench.port), *theirs]]
    sides = [bench.ours, bench.theirs]
    first = 1 if role == 'initiator' else 0
    jobs = [None, None]
    jobs[first] = bench.server(sides[first], programs[first], bench.port)
    other = 1 - first
    jobs[other] = bench.start(sides[other], programs[other] + [bench.address(sides[first])])
    bench.says(sides[other], jobs[other], 'connected')
    change(bench)
    for side, job in zip(sides, jobs):
        status = bench.wait(side, job)
        if status != 0:
            raise Failed(f'{side.says(job)}')


def link_down(bench):
    """Our end of the link is down for three seconds."""
    bench.run(bench.ours, ['ip', 'link', 'set', bench.links[0], 'down'])
    time.sleep(3)
    bench.run(bench.ours, ['ip', 'link', 'set', bench.links[0], 'up'])


def mtu_changes(bench):
    for mtu in (1280, 1500, 600, 9000, 1301, 1500):
        bench.set_mtu(mtu)
        time.sleep(0.3)


def firewall(bench):
    """For three seconds all packets are dropped without notice."""
    with network(bench, SILENCE):
        time.sleep(3)


def tiny_mtu(bench, peer, role):
    try:
        bench.set_mtu(576)
        data(bench, peer, role)
    finally:
        bench.set_mtu(1500)


def markers(bench):
    """Markers in both directions, with FPDUs of a small and of a large MTU."""
    with configured('[mpa]\nmarkers = ask\n') as environment:
        bench.environment = {**bench.environment, **environment}
        for mtu in (1301, 9000, 1500):
            bench.set_mtu(mtu)
            data(bench, ITSELF, 'initiator')


def vanished(bench, idle):
    """A peer that has vanished is detected, whether requests are outstanding or not; then other
    clients are served."""
    if 'user-timeout' not in bench.run(bench.ours, [bench.tool('it-info'), '--env']):
        raise Skipped('this kAL has no settings of TCP')
    with configured(SETTINGS) as environment:
        port = ['-p', str(bench.port)]
        lead = ['--lead', 'send:1' if idle else DATA, '--forever']
        server = bench.server(bench.ours, [bench.tool('lab-itapi'), *port, '--count', '2', '--survive', '--timeout', '100'],
                              bench.port, environment)
        client = bench.start(bench.theirs, [bench.tool('lab-verbs'), *port, *lead, bench.address(bench.ours)])
        bench.says(bench.theirs, client, 'connected')
        if bench.theirs.poll(client, 1) is not None:
            raise Failed(f'the client ended by itself:\n{bench.theirs.says(client)}')
        if idle:
            bench.theirs.signal(client, 19)
            time.sleep(1)
        with network(bench, SILENCE):
            since = time.monotonic()
            # By the end of the connection, or by what it was doing when that ended.
            while 'ended' not in bench.ours.says(server):
                if time.monotonic() - since > NOTICED or bench.ours.poll(server, 0.5) is not None:
                    raise Failed(f'not noticed within {NOTICED} s:\n{bench.ours.says(server)}')
            bench.kill(bench.theirs, client)
        bench.run(bench.theirs, [bench.tool('lab-itapi'), *port, '--lead', 'send:10,read:10', bench.address(bench.ours)])
        if bench.wait(bench.ours, server) != 0:
            raise Failed(f'the server is of no use afterwards:\n{bench.ours.says(server)}')


def ours_over(bench, octets, align):
    """Runs it-test between the two ends. Returns microseconds: for 64 octets half a round trip; for
    larger sizes the mean time of a Write in a series."""
    bench.port += 1
    port = ['-p', str(bench.port)]
    few = '300' if octets < 1 << 20 else '60'
    env = {'ITAPI_IWARP_ALIGN': align, 'ITAPI_LOG': 'error'}      # info would stand between the lines of the result
    _, said = bench.pair((bench.theirs, [bench.tool('it-test'), *port]),
                         (bench.ours, [bench.tool('it-test'), *port, '--json', '--perf', 'send' if octets == 64 else 'write',
                                       '-S', str(octets), '-C', few, bench.address(bench.theirs)]),
                         bench.port, env=env, their_env=env)
    result = json.loads(said[said.index('{'):said.rindex('}') + 1])
    return result['p50_us'] / 2 if octets == 64 else octets / result['megabytes_per_second']


def plain_tcp(bench, octets):
    """The same measurement by rstream over ordinary sockets: round trips for 64 octets, else a
    stream."""
    bench.port += 1
    size = ['-p', str(bench.port), '-T', 's', '-S', str(octets),
            *(['-I', '300', '-C', '1'] if octets == 64 else ['-I', '1', '-C', '300' if octets < 1 << 20 else '60'])]
    _, said = bench.pair((bench.theirs, ['rstream', '-b', bench.address(bench.theirs), *size]),
                         (bench.ours, ['rstream', '-s', bench.address(bench.theirs), *size]), bench.port)
    return float(said.split()[-1])


def alignment(bench):
    """With 1 ms of delay, aligned FPDUs are about as fast as unaligned ones and as plain TCP; the
    figures are in the result.

    The aims are ratios of 0.85 and 0.75. The case fails only far below them, since the machine
    is emulated.
    """
    ways = {'auto': functools.partial(ours_over, align='auto'), 'off': functools.partial(ours_over, align='off'), 'TCP': plain_tcp}
    ratios = {}
    with network(bench, 'delay 1ms'):
        for octets in (64, 65536, 1 << 20):
            took = {name: [] for name in ways}
            for name in tuple(ways) * 5:
                took[name].append(ways[name](bench, octets))
            auto, off, tcp = (statistics.median(took[name]) for name in ways)
            ratios[octets] = {'auto of off': round(off / auto, 3), 'off of TCP': round(tcp / off, 3), 'us by TCP': round(tcp, 1)}
    if min(min(ratio['auto of off'], ratio['off of TCP']) for ratio in ratios.values()) < 0.5:
        raise Failed(f'slow over 1 ms: {ratios}')
    return {'speed over 1 ms': ratios}


ITSELF, SIW = 'lab-itapi', 'lab-verbs'
PEERS = {ITSELF: 'vp/iwarp', SIW: 'siw'}


def case(what, run, *row):
    return Case(f'networks {what}', run, crc=True, topology='veth', limit=200,
                table=(*row, 'between namespaces: ' + what.split(' with ')[0]))


CASES = [case('all of it with the tools', functools.partial(tools, netem=NETEMS['all of it']), 'tools over vp/iwarp',
              'both')]
for other, our_role in ((ITSELF, 'initiator'), (SIW, 'initiator'), (SIW, 'responder')):
    peer_role = (PEERS[other], our_role)
    for how, words in NETEMS.items():
        # Each is enough in one role; the roles alternate.
        if other == ITSELF or (list(NETEMS).index(how) % 2 == 0) == (our_role == 'initiator'):
            CASES.append(case(f'{how} with {PEERS[other]}',
                              functools.partial(data, peer=other, role=our_role, netem=words), *peer_role))
    if our_role == 'initiator':
        CASES.append(case(f'an MTU of 576 with {PEERS[other]}', functools.partial(tiny_mtu, peer=other, role=our_role),
                          *peer_role))
        for name, what in (('a link that is down for 3 s', link_down), ('an MTU that changes', mtu_changes),
                           ('a silent firewall for 3 s', firewall)):
            CASES.append(case(f'{name} with {PEERS[other]}',
                              functools.partial(during, peer=other, role=our_role, change=what), *peer_role))
CASES += [case('markers with vp/iwarp', markers, 'vp/iwarp', 'both'),
          Case('networks the speed over 1 ms', alignment, crc=True, topology='veth', limit=400, long=True),
          case('a peer that vanishes with data outstanding', functools.partial(vanished, idle=False), 'siw', 'responder'),
          case('a peer that vanishes when idle', functools.partial(vanished, idle=True), 'siw', 'responder')]
