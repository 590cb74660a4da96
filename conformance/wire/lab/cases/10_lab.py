# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""Tests of the lab itself: siw with siw, and siw with an independent implementation, without any
code of vp/iwarp."""

import os

from lab_case import Case

PEER = os.path.join(os.path.dirname(os.path.abspath(__file__)), '../iwarp-peer')


def siw_with_siw(bench):
    address = bench.address(bench.theirs)
    bench.pair((bench.theirs, ['rping', '-s', '-a', address, '-p', str(bench.port), '-C', '5', '-V']),
               (bench.theirs, ['rping', '-c', '-a', address, '-p', str(bench.port), '-C', '5', '-V']), bench.port)


def peer_with_siw(bench):
    bench.pair((bench.ours, [PEER, 'rping-server', bench.address(bench.ours), str(bench.port)]),
               (bench.theirs, ['rping', '-c', '-a', bench.address(bench.ours), '-p', str(bench.port), '-C', '3', '-V']),
               bench.port)


CASES = [
    Case('lab siw with siw', siw_with_siw, quick=True, each=True),
    Case('lab peer with siw', peer_with_siw, quick=True, each=True),
]
