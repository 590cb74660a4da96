# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""Private data at its limits, rejects with data, IRD and ORD, markers, who sends first, many connections."""

import functools

from lab_case import Case, Failed
from lab_pairs import configured, leader, talk

BRIEF = 'send:100,write:100,read:100'
PRIVATE = (0, 1, 4, 250, 251)       # above 251 siw's length wraps [WIRE 11.6]
READS = ((0, 8), (1, 1), (8, 1), (1, 8), (128, 128))     # (IRD, ORD) of ours


def private_data(bench, role):
    for number in PRIVATE:
        both = ['--private', str(number), '--expect-private', str(number)]
        talk(bench, role, 4, *leader(True, BRIEF), both)
        bench.port += 1


def rejected(bench, role):
    """A refusal delivers its private data; `role` is the role of our side."""
    server = role == 'responder'
    for number in PRIVATE:
        data, wait = ['--private', str(number)], ['--expect-private', str(number)]
        talk(bench, role, 4, data if server else wait, wait if server else data, ['--reject'])
        bench.port += 1


def reads(bench, role):
    """Twenty Reads are posted at once, whatever the limits. A side whose limit is zero posts none,
    so it follows."""
    for ird, ord_ in READS:
        limits = ['--ird', str(ird), '--ord', str(ord_)]
        ours, theirs = leader(ird == 0, f'{BRIEF},read:5000:20')
        talk(bench, role, 4, ours + limits, theirs)
        bench.port += 1


def suppressed(bench, role):
    """Our side does not exchange IRD and ORD: siw connects nevertheless.

    Reads work in both directions, except Reads of a siw that is the responder: it takes missing
    values for zero.
    """
    for ours in (True, False):
        our_lead, their_lead = leader(ours, f'{BRIEF},read:5000:8' if ours or role == 'responder' else 'send:100,write:100')
        talk(bench, role, 4, our_lead + ['--suppress'], their_lead)
        bench.port += 1


def markers(bench, role):
    """siw supports no markers: if our side demands them, the connection is refused with that
    reason; otherwise it is established."""
    lead = leader(True, BRIEF)[0]
    port = ['-p', str(bench.port)]
    with configured('[mpa]\nmarkers = ask\n') as wanted:
        if role == 'initiator':
            client = [bench.tool('lab-itapi'), *port, *lead, bench.address(bench.theirs)]
            server = bench.server(bench.theirs, [bench.tool('lab-verbs'), *port], bench.port)
            bench.run(bench.ours, client, 1, wanted)
            bench.run(bench.ours, client)
            status = bench.wait(bench.theirs, server)
        else:
            server = bench.server(bench.ours, [bench.tool('lab-itapi'), *port, '--survive'], bench.port, wanted)
            bench.run(bench.theirs, [bench.tool('lab-verbs'), *port, *lead, bench.address(bench.ours)], 1)
            status = bench.wait(bench.ours, server)
            bench.port += 1
            talk(bench, role, 4, *leader(False, BRIEF))
    if status != 0:
        raise Failed(f'the server ended with {status}')


def server_first(bench, role):
    """The first FPDU of the applications is a message of the server."""
    for ours in (True, False):
        talk(bench, role, 4, *leader(ours, BRIEF), ['--first', '--count', '3'])
        bench.port += 1


def many(bench, role, count):
    ours, theirs = leader(True, 'send:1')
    talk(bench, role, 4, ours, theirs, ['--count', str(count)])


CASES = []
for our_role in ('initiator', 'responder'):
    CASES += [
        Case(f'limits private data {our_role}', functools.partial(private_data, role=our_role),
             quick=True, table=('verbs program', our_role, 'private data of 0 to 251 octets')),
        Case(f'limits reject {our_role}', functools.partial(rejected, role=our_role),
             quick=True, table=('verbs program', our_role, 'reject with private data of 0 to 251 octets')),
        Case(f'limits reads {our_role}', functools.partial(reads, role=our_role),
             quick=True, table=('verbs program', our_role, 'IRD and ORD of 0 to 128')),
        Case(f'limits suppressed depths {our_role}', functools.partial(suppressed, role=our_role), quick=True,
             table=('verbs program', our_role, 'IRD and ORD are not exchanged')),
        Case(f'limits markers {our_role}', functools.partial(markers, role=our_role), quick=True,
             table=('verbs program', our_role, 'markers, which siw refuses')),
        Case(f'limits server first {our_role} p2p on', functools.partial(server_first, role=our_role), False, True,
             table=('verbs program', our_role, 'server sends first')),
        Case(f'limits 500 connections {our_role}', functools.partial(many, role=our_role, count=500), limit=300,
             table=('verbs program', our_role, '500 connections, one after the other')),
        Case(f'limits 5000 connections {our_role}', functools.partial(many, role=our_role, count=5000), limit=1200,
             long=True, table=('verbs program', our_role, '5000 connections, one after the other')),
    ]
# As the responder without peer-to-peer mode we must not send before the initiator (RFC 5044 clause 7.1.2), so there
# is no such case for that role.
CASES.append(Case('limits server first initiator p2p off', functools.partial(server_first, role='initiator'),
                  table=('verbs program', 'initiator', 'server sends first')))
