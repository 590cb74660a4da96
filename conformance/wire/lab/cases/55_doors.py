# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""Programs of libibverbs and librdmacm behind the verbs door: against the same programs over siw, and timed beside them.

The first group has one side behind the door on the host and the other over siw in the guest. The second has both sides in the
guest, in turn over siw and behind the door. The last case has rdma-core's own tests on rxe, beside their results behind the door.
"""

import dataclasses
import functools
import re
import statistics

from lab_case import Case, Failed
from lab_doors import DIFFERS, ROWS, Pair, behind_door
from lab_pyverbs import compare

ROLES = ('client', 'server')        # of the side behind the door
# In these the server sends first, which a responder may do in peer-to-peer mode only.
SERVER_FIRST = ('ucmatose', 'ib_write_lat-n-100')
QUICK = {('rping-verified', 'client'), ('ib_send_lat-n-100', 'server')}
ADAPTER = 'iwarp:eth0'              # in the guest, the interface of siw0
ROUNDS = 3


def against_siw(bench, row, role):
    """One program, one side behind the door."""
    bench.set_mtu(1500)
    # libfabric takes the first device, and no loopback.
    adapter = f'iwarp:{bench.links[0]}' if row.result == DIFFERS else 'iwarp'

    def wrap(side, words):
        return behind_door(bench, words, adapter) if side is bench.ours else words
    server, client = (bench.theirs, bench.ours) if role == 'client' else (bench.ours, bench.theirs)
    Pair(bench, row, server, client, wrap).run()


@dataclasses.dataclass
class Timed:
    """A program that prints how fast it was: the regular expression that finds the figure, its
    unit, and whether a smaller value is better."""
    title: str
    options: str
    figure: str
    unit: str
    less: bool
    row: str

    def with_options(self):
        """The program's row with these options."""
        row = ROWS[self.row]
        tool = row.client.split()[0]
        if tool == 'cmtime':
            return dataclasses.replace(row, client=f'cmtime -s {{address}} -p {{port}} {self.options}',
                                       server=f'cmtime -b {{address}} -p {{port}} {self.options}')
        words = f'{tool} -R -F -p {{port}} {self.options}'
        return dataclasses.replace(row, client=words + ' {address}', server=words)


TIMED = [
    Timed('ib_send_lat -R -s 64', '-n 100 -s 64', r'\n 64 +\d+ +[\d.]+ +[\d.]+ +([\d.]+)', 'us, typical', True, 'ib_send_lat-n-100'),
    Timed('ib_read_lat -R -s 64', '-n 100 -s 64', r'\n 64 +\d+ +[\d.]+ +[\d.]+ +([\d.]+)', 'us, typical', True, 'ib_read_lat-n-100'),
    Timed('ib_write_bw -R -s 65536', '-n 100 -s 65536', r'\n 65536 +\d+ +[\d.]+ +([\d.]+)', 'MB/s', False, 'ib_write_bw-n-50'),
    Timed('cmtime', '-c 50', r'\nconnect +: +[\d.]+ +[\d.]+ +[\d.]+ +([\d.]+)', 'us a connection', True, 'cmtime'),
]


def in_turn(bench, timed):
    """Runs the same binary over siw and behind the door in turn, ROUNDS times; returns the medians,
    and the ratio by which the door is faster."""
    row, figures = timed.with_options(), {'siw': [], 'door': []}
    for _ in range(ROUNDS):
        for over, wrap in (('siw', lambda _, words: words), ('door', lambda _, words: behind_door(bench, words, ADAPTER))):
            bench.port += 1
            said = Pair(bench, row, bench.theirs, bench.theirs, wrap).run()
            bench.theirs.end_all()
            found = re.search(timed.figure, said)
            if not found:
                raise Failed(f'no figure in:\n{said}')
            figures[over].append(float(found.group(1)))
    siw, door = (statistics.median(figures[over]) for over in ('siw', 'door'))
    return {'timed': timed.title, 'unit': timed.unit, 'kernel': 'siw', 'beside': siw, 'door': door, 'rounds': ROUNDS,
            'speed': round(siw / door if timed.less else door / siw, 2)}


CASES = []
for each in ROWS.values():
    CASES += [Case(f'doors {each.name} {who}', functools.partial(against_siw, row=each, role=who),
                   p2p=each.name in SERVER_FIRST and who == 'server', quick=(each.name, who) in QUICK,
                   long=(each.name, who) not in QUICK, limit=120) for who in ROLES]
CASES += [Case(f'doors timed {each.title}', functools.partial(in_turn, timed=each), long=True, limit=300) for each in TIMED]
CASES.append(Case('doors tests of rdma-core rxe0', compare, long=True, fatal=True, limit=900))
