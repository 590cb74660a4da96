# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""Third-party programs, as client and as server: those of rdma-core and perftest, and qperf.

Our side is it-ping --rping, or peer (conformance/wire/peers). The usual run has them with CRC
and peer-to-peer mode both off and both on; rping, the most common one, runs in all settings.
"""

import functools
import itertools

from lab_case import Case, Skipped

MTUS = (1500, 9000, 1450, 1301)
COUNT = '10'
RSTREAM = ['-C', '20', '-S', '1000']
QPERF = ('rc_lat', 'rc_rdma_read_lat', 'rc_rdma_read_bw', 'rc_rdma_write_poll_lat')   # without immediate data
PERFTEST = ('-F', '-n', '50')       # iterations; no complaint about the processor's speed


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
        bench.pair((bench.ours, ours + ['-S', str(size)]),
                   (bench.theirs, theirs + ['-c', '-a', bench.address(bench.ours, family), *ping]), bench.port)


def program(bench, protocol, role, server, client, options=()):
    """One run of a program as server (we are the initiator) or as client, with `peer` on our side.

    The server of cmtime does not end by itself. Programs of perftest exchange the largest
    InfiniBand MTU that fits the link; peer sends the one for an MTU of 1500.
    """
    bench.set_mtu(1500)
    ours = [bench.tool('peer'), '-p', str(bench.port), *options, protocol]
    port = ['-p', str(bench.port)]
    if role == 'initiator':
        argv = [word.format(address=bench.address(bench.theirs)) for word in server]
        if protocol == 'cmtime':
            bench.server(bench.theirs, argv + port, bench.port)
            bench.run(bench.ours, ours + [bench.address(bench.theirs)])
        else:
            bench.pair((bench.theirs, argv + port), (bench.ours, ours + [bench.address(bench.theirs)]), bench.port)
    else:
        argv = [word.format(address=bench.address(bench.ours)) for word in client]
        bench.pair((bench.ours, ours), (bench.theirs, argv + port), bench.port)


def qperf(bench, role):
    """The tests of qperf with -cm1, which uses the connection manager; before each test its sides
    agree on it over a TCP connection."""
    bench.set_mtu(1500)
    ours = [bench.tool('peer'), '-p', str(bench.port), 'qperf']
    theirs = ['env', 'LD_PRELOAD=' + bench.tool('lab-queues.so'), 'qperf', '-lp', str(bench.port)]
    if role == 'initiator':
        bench.server(bench.theirs, theirs, bench.port)      # it does not end by itself
        bench.run(bench.ours, ours + [bench.address(bench.theirs)])
        bench.run(bench.ours, ours + ['-S', '3000', bench.address(bench.theirs)])
    else:
        patience = ['-to', '60']    # seconds of the guest's clock, which may run ahead of ours (guest.md)
        bench.pair((bench.ours, ours),
                   (bench.theirs, theirs + [bench.address(bench.ours), '-cm1', '-t', '2', *patience, *QPERF]), bench.port)


def perftest(tool):
    command = [f'ib_{tool}', '-R', *PERFTEST]
    return (tool, command, command + ['{address}'], ['-C', PERFTEST[-1]])


# (protocol of peer, the command of their server, of their client, options of peer)
PROGRAMS = {
    'rdma_client and rdma_server': ('simple', ['rdma_server'], ['rdma_client', '-s', '{address}'], []),
    'rdma_xclient and rdma_xserver': ('xsimple', ['rdma_xserver'], ['rdma_xclient', '-s', '{address}'], []),
    'ucmatose': ('ucmatose', ['ucmatose', '-b', '{address}'], ['ucmatose', '-s', '{address}'], []),
    'cmtime': ('cmtime', ['cmtime', '-c', '20', '-b', '{address}'], ['cmtime', '-c', '20', '-s', '{address}'],
               ['-c', '20']),
    'rstream': ('rstream', ['rstream', '-b', '{address}', '-I', '1', *RSTREAM],
                ['rstream', '-s', '{address}', '-I', '1', *RSTREAM], RSTREAM),
    'ib_write_bw -R': perftest('write_bw'),
    'ib_read_bw -R': perftest('read_bw'),
    'ib_send_bw -R': perftest('send_bw'),
    'ib_send_lat -R': perftest('send_lat'),
}

CASES = []
for crc_on, p2p_on in itertools.product((False, True), repeat=2):
    plain = not crc_on and not p2p_on
    setting = f'crc {"on" if crc_on else "off"} p2p {"on" if p2p_on else "off"}'
    for our_role, ip, link in itertools.product(('initiator', 'responder'), (4, 6), MTUS):
        octets = 64 if link == 1500 else 60000
        CASES.append(Case(f'programs rping {our_role} ipv{ip} mtu {link} {setting}',
                          functools.partial(rping, role=our_role, family=ip, mtu=link, size=octets),
                          crc_on, p2p_on, quick=plain and ip == 4 and link != 9000,
                          long=not plain and link not in ((1500, 1301) if crc_on == p2p_on else (1450,)),
                          table=('rping', our_role, f'{COUNT} rounds')))
    for our_role in ('initiator', 'responder'):
        CASES.append(Case(f'programs qperf {our_role} {setting}', functools.partial(qperf, role=our_role), crc_on, p2p_on,
                          long=crc_on != p2p_on, table=('qperf', our_role, 'a run')))
    for name, (protocol_name, serve, connect, flags) in PROGRAMS.items():
        for our_role in ('initiator', 'responder'):
            # The server of ucmatose sends first, which a responder may do in peer-to-peer mode only.
            if name == 'ucmatose' and our_role == 'responder' and not p2p_on:
                continue
            CASES.append(Case(f'programs {name} {our_role} {setting}',
                              functools.partial(program, protocol=protocol_name, role=our_role, server=serve,
                                                client=connect, options=flags),
                              crc_on, p2p_on, quick=plain,
                              long=crc_on != p2p_on, table=(name, our_role, 'a run')))
