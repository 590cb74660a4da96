#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""Runs the cases of one boot; started by run_lab.py through vm-run.

Topology 'link': this program runs on the host, in the namespace of the tap device, and the other side
is the agent in the guest. Topology 'veth': it runs in the guest, and our side is a network namespace
there, so that the guest's kernel can make the network bad. Each result is one line of JSON on
standard output, behind the word @lab.
"""

import argparse
import json
import os
import sys
import time

import lab_side
from lab_case import Bench, Failed, Skipped
from lab_table import all_cases

# The guest's other devices go, so that there is one way only between the two ends.
VETH = """
ip link set eth0 down
ip link set sim0 down
ip netns add ours
ip link add vours type veth peer name vtheirs
ip link set vours netns ours
ip netns exec ours ip link set lo up
ip netns exec ours ip link set vours up
ip netns exec ours ip addr add 10.77.0.1/30 dev vours
ip netns exec ours ip -6 addr add fd77::1/64 dev vours nodad
ip link set vtheirs up
ip addr add 10.77.0.2/30 dev vtheirs
ip -6 addr add fd77::2/64 dev vtheirs nodad
rdma link add siw1 type siw netdev vtheirs
"""


def tell(**what):
    print('@lab ' + json.dumps(what), flush=True)


def make_bench(arguments):
    """The two sides, ready."""
    if arguments.topology == 'link':
        return Bench(lab_side.Local(), lab_side.Remote('10.77.0.2'), arguments.build, 'link')
    bench = Bench(lab_side.Local(['ip', 'netns', 'exec', 'ours']), lab_side.Local(), arguments.build, 'veth')
    bench.begin(120, {})
    for line in VETH.strip().split('\n'):
        bench.run(bench.theirs, line.split())
    return bench


def run_case(bench, case, limit):
    """Runs one case; returns its result, the reason, and details for the report."""
    bench.begin(min(case.limit, limit), case.environment())
    detail = None
    try:
        detail = case.run(bench)
        result, why = 'ok', ''
    except Skipped as reason:
        result, why = 'skip', str(reason)
    except Failed as reason:
        result, why = 'failed', str(reason)
    return result, why, detail if isinstance(detail, dict) else None


def after_case(bench):
    """Ends the processes that a case left; returns what is wrong with the guest then, as text."""
    bench.ours.end_all()
    stuck = bench.theirs.end_all()
    trouble = bench.theirs.kernel_trouble()
    if stuck:
        trouble += f'{stuck} processes of the guest cannot be killed'
    return trouble


def case_breaks(case, trouble, gone=False):
    """Whether the guest has failed in the way that is known for this case: at the known place in
    the kernel, or so that it does not answer."""
    return bool(case.breaks) and (gone or case.breaks in trouble)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--build', required=True)
    parser.add_argument('--topology', required=True)
    parser.add_argument('--limit', type=int, default=10**6, help='most seconds for a case')
    parser.add_argument('--until', type=float, required=True, help='when to begin no further case, by the clock')
    parser.add_argument('names', nargs='+')
    arguments = parser.parse_args()

    cases = {case.name: case for case in all_cases()}
    bench = make_bench(arguments)
    for name in arguments.names:
        if time.time() > arguments.until:
            break
        tell(begin=name)
        started = time.monotonic()
        result, why, detail, gone_after = 'failed', '', None, False
        try:
            result, why, detail = run_case(bench, cases[name], arguments.limit)
            trouble = after_case(bench)
        except lab_side.Gone as gone:
            trouble = str(gone)
            gone_after = result == 'ok'
        if trouble and result == 'ok' and case_breaks(cases[name], trouble, gone_after):
            detail = {**(detail or {}), 'broke': cases[name].breaks}
        elif trouble:
            result, why = 'failed', f'{why}\nthe kernel of the guest broke:\n{trouble}'
        tell(name=name, result=result, why=why, seconds=round(time.monotonic() - started, 1), detail=detail)
        if trouble:
            return 1
    return 0


if __name__ == '__main__':
    sys.dont_write_bytecode = True
    os.environ.setdefault('G_SLICE', 'always-malloc')
    sys.exit(main())
