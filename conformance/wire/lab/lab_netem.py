# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""Puts a bad network between the two sides of the guest, in both directions."""

import contextlib

NETEMS = {
    'loss': 'loss 2%',
    'reordering': 'delay 4ms reorder 25% 50%',
    'delay': 'delay 20ms 5ms',
    'duplication': 'duplicate 10%',
    'all of it': 'delay 3ms 2ms loss 1% duplicate 2% reorder 10%',
}


@contextlib.contextmanager
def network(bench, netem):
    """Both directions are that bad."""
    ends = list(zip((bench.ours, bench.theirs), bench.links))
    try:
        for side, link in ends:
            bench.run(side, ['tc', 'qdisc', 'replace', 'dev', link, 'root', 'netem', *netem.split()])
        yield
    finally:
        for side, link in ends:
            side.poll(side.start(['tc', 'qdisc', 'del', 'dev', link, 'root']), 10)
