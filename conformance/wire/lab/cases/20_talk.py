# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""Sends, Writes and Reads of many sizes with verbs over siw, in each setting of the link and of MPA.

The usual run has all settings of the link with CRC and peer-to-peer mode both off and both on,
and some settings with only one of them on.
"""

import functools
import itertools

from lab_case import Case
from lab_pairs import leader, talk

# No Read of no octets from siw: while it is busy it answers with the length of an earlier one [WIRE 11.24].
SMALL = ','.join(f'{what}:{size}' for size in (0, 1, 3, 1000, 65537) for what in ('send', 'write', 'read'))
SMALL_OURS = SMALL.replace('read:0,', '')
LARGE = 'write:16m,read:16m,send:16m,read:1m:8'
MIDDLE = 'write:2m,read:2m,send:2m,read:200k:8'
MTUS = (1500, 9000, 1450, 1301)


def small(bench, role, family, mtu):
    """Two connections, with a pause of 0 and 50 ms before the first FPDU."""
    bench.set_mtu(mtu)
    we_lead = (MTUS.index(mtu) + family // 2) % 2 == 0
    ours, theirs = leader(we_lead, SMALL_OURS if we_lead else SMALL)
    talk(bench, role, family, ours, theirs, ['--count', '2', '--pause', '50'])


def transfers(bench, role, mtu, operations):
    bench.set_mtu(mtu)
    for ours in (True, False):
        talk(bench, role, 4, *leader(ours, operations))
        bench.port += 1


def name_of(what, role, crc, p2p, mtu, family=4):
    return f'talk {what} {role} ipv{family} mtu {mtu} crc {"on" if crc else "off"} p2p {"on" if p2p else "off"}'


CASES = []
for crc_on, p2p_on in itertools.product((False, True), repeat=2):
    plain = not crc_on and not p2p_on
    CASES += [Case(name_of('small', our_role, crc_on, p2p_on, size, ip),
                   functools.partial(small, role=our_role, family=ip, mtu=size), crc_on, p2p_on,
                   quick=plain and (ip == 4) == (size in (1500, 1301)), each=plain and ip == 4 and size == 1500,
                   long=crc_on != p2p_on and (size, ip) not in ((1500, 6), (1301, 4)),
                   table=('verbs program', our_role, '0 to 65537 octets'))
              for size, ip, our_role in itertools.product(MTUS, (4, 6), ('initiator', 'responder'))]
    for size, our_role in itertools.product((9000, 1450), ('initiator', 'responder')):
        CASES += [Case(name_of('middle', our_role, crc_on, p2p_on, size),
                       functools.partial(transfers, role=our_role, mtu=size, operations=MIDDLE), crc_on, p2p_on,
                       long=crc_on != p2p_on, quick=plain and size == 1450,
                       table=('verbs program', our_role, '2 MiB')),
                  Case(name_of('large', our_role, crc_on, p2p_on, size),
                       functools.partial(transfers, role=our_role, mtu=size, operations=LARGE), crc_on, p2p_on,
                       limit=300, long=not plain or size != 9000, table=('verbs program', our_role, '16 MiB'))]
