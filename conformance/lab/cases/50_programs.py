# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""Programs that nobody here wrote: those of rdma-core and perftest, as client and as server."""

import functools
import itertools

from lab_case import Case, Skipped

MTUS = (1500, 9000, 1450, 1301)
COUNT = '10'


def offers_rping(bench):
    if '--rping' not in bench.run(bench.ours, [bench.tool('it-ping'), '--help']):
        raise Skipped('this it-ping does not speak the protocol of rping')


def rping(bench, role, family, mtu, size):
    offers_rping(bench)
    bench.set_mtu(mtu)
    port, ping = str(bench.port), ['-C', COUNT, '-S', str(size)]
    ours = [bench.tool('it-ping'), '--rping', '-p', port]
    theirs = ['rping', '-p', port, '-V']
    if role == 'initiator':
        anywhere = '0.0.0.0' if family == 4 else '::'
        bench.pair((bench.theirs, theirs + ['-s', '-a', anywhere, *ping]),
                   (bench.ours, ours + [*ping, bench.address(bench.theirs, family)]), bench.port)
    else:
        bench.pair((bench.ours, ours), (bench.theirs, theirs + ['-c', '-a', bench.address(bench.ours, family), *ping]),
                   bench.port)


def raw(bench, role, theirs, messages, options=(), own_port='-p'):
    """Our end sends and receives what such a program does; `theirs` has {address} and {port}."""
    address = bench.address(bench.ours if role == 'responder' else bench.theirs)
    argv = [word.format(address=address) for word in theirs] + [own_port, str(bench.port)]
    ours = [bench.tool('lab-itapi'), '-p', str(bench.port), '--raw', messages, *options]
    if role == 'initiator':
        bench.pair((bench.theirs, argv), (bench.ours, ours + [address]), bench.port)
    else:
        bench.pair((bench.ours, ours), (bench.theirs, argv), bench.port)


def messages(what, number):
    return ','.join([what] * number)


PROGRAMS = [
    # (program, role, its command, our messages, our options, whether siw must speak peer-to-peer)
    ('rdma_server', 'initiator', ['rdma_server'], 'send:16,recv:16', ['--stop']),
    ('rdma_client', 'responder', ['rdma_client', '-s', '{address}'], 'recv:16,send:16', []),
    ('rdma_xserver', 'initiator', ['rdma_xserver'], 'send:16', ['--stop']),
    ('rdma_xclient', 'responder', ['rdma_xclient', '-s', '{address}'], 'recv:16', []),
    ('ucmatose server', 'initiator', ['ucmatose', '-b', '{address}'],
     f'{messages("recv:100", 10)},{messages("send:100", 10)}', []),
    ('ucmatose client', 'responder', ['ucmatose', '-s', '{address}'],
     f'{messages("send:100", 10)},{messages("recv:100", 10)}', ['--stop']),
    ('cmtime client', 'responder', ['cmtime', '-c', '1', '-s', '{address}'], '', []),
]

CASES = []
for crc_on, p2p_on in itertools.product((False, True), repeat=2):
    setting = f'crc {"on" if crc_on else "off"} p2p {"on" if p2p_on else "off"}'
    for our_role, ip, link in itertools.product(('initiator', 'responder'), (4, 6), MTUS):
        octets = 64 if link == 1500 else 60000
        CASES.append(Case(f'programs rping {our_role} ipv{ip} mtu {link} {setting}',
                          functools.partial(rping, role=our_role, family=ip, mtu=link, size=octets),
                          crc_on, p2p_on, table=('rping', our_role, f'{COUNT} rounds')))
    for program, our_role, command, sequence, flags in PROGRAMS:
        CASES.append(Case(f'programs {program} {setting}',
                          functools.partial(raw, role=our_role, theirs=command, messages=sequence, options=flags),
                          crc_on, p2p_on, table=(program, our_role, 'its messages')))
