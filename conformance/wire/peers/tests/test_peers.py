#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""The program `peer` with itself: both sides of each protocol in one process.

Usage: test_peers.py TOOLS_TESTS PEERS ADAPTER      (TAP)
"""

import functools
import os
import sys

HOST = '127.0.0.1'
# In each of its tests qperf wants a message within the time that it has. Under TSan 5 MiB take longer than a second.
SECONDS = os.environ.get('ITAPI_TEST_SECONDS', '1')

# A protocol with options; octets that a client must have seen to arrive, None for some.
RUNS = [
    ('simple', (), 0),
    ('xsimple', (), 0),
    ('ucmatose', ('-c', '3', '-C', '4', '-S', '70000'), 0),
    ('ucmatose', ('-C', '0'), 0),
    ('cmtime', ('-c', '20'), 0),
    ('rstream', ('-C', '250', '-S', '2000'), 16 + 250 * 2000),
    ('rstream', ('--hasty', '-C', '20', '-S', '1000'), 16 + 20 * 1000),
    ('write_bw', ('-C', '300', '-S', '1000'), 0),
    ('write_bw', ('-C', '3', '-S', '1m'), 0),
    ('read_bw', ('-C', '300', '-S', '1000'), 64 * 1000),
    ('read_bw', ('-C', '3', '-S', '1m'), 3 << 20),
    ('send_bw', ('-C', '600', '-S', '1000'), 0),
    ('send_bw', ('-C', '1', '-S', '64'), 0),
    ('send_lat', ('-C', '50'), 0),
    ('qperf', ('--time', SECONDS), None),
    ('qperf', ('--time', SECONDS, '-S', '3000'), None),
    ('qperf', ('--time', SECONDS, '-S', '5m', '-c', '5'), None),
]

USAGE = [(), ('nothing',), ('simple', HOST, 'more'), ('--self', 'simple', HOST), ('-C', 'x', 'simple', HOST),
         ('-S', '17m', 'simple', HOST), ('-c', '0', 'cmtime'), ('--pause', '1y', 'simple', HOST),
         ('--time', '0', 'qperf', HOST), ('--time', '3601', 'qperf'), ('--self', '-C', '0', 'send_bw'), ('--self', '-S', '2049', 'rstream')]


def good_run(bench, protocol, options, arrived):
    folder, adapter = bench
    said = run(folder, 'peer', '--self', '-a', adapter, '--json', *options, protocol).expect(0).json()
    same((True, protocol, 'client'), (said['ok'], said['protocol'], said['side']))
    if arrived is not None:
        same(arrived, said['arrived_octets'])
    elif said['arrived_octets'] == 0:
        raise Failed('nothing arrived')


def usage(bench):
    for words in USAGE:
        run(bench[0], 'peer', *words).expect(2, 'peer: ')
    run(bench[0], 'peer', '--help').expect(0, 'rdma_xserver')


def same(wanted, got):
    if wanted != got:
        raise Failed(f'{got!r} is not {wanted!r}')


if __name__ == '__main__':
    sys.path.insert(0, sys.argv[1])
    from tool_runs import Failed, main, run
    BENCH = (sys.argv[2], sys.argv[3])
    CASES = [(f'{protocol}-{number}', functools.partial(good_run, BENCH, protocol, options, arrived))
             for number, (protocol, options, arrived) in enumerate(RUNS)]
    CASES += [('usage', functools.partial(usage, BENCH))]
    sys.exit(main([(f'/conformance/wire/peers/{BENCH[1]}/{name}', case) for name, case in CASES]))
