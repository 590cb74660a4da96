# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""Tests of the ends of connections: an orderly end, a fault of either side, the death of either process."""

import functools
import random
import time

from lab_case import Case, Failed
from lab_pairs import leader, talk

WRONG = ('wrong-write', 'wrong-read', 'far-write', 'long-send')
SEED = 20
DEATHS = 4
EARLY = 0.03        # s after its start until which a process of killed_early() is killed
EARLY_DEATHS = 20   # of the usual run
MANY_DEATHS = 450   # of the full run
DEATHS_IN_A_ROW = 10


def orderly(bench, role):
    """Each side in turn disconnects, as leader and as follower."""
    for ours in (True, False):
        for stop in ([], ['--stop']):
            talk(bench, role, 4, *leader(ours, 'send:10,read:5000'), stop)
            bench.port += 1


def wrong(bench, role, fault, ours):
    """One side makes an invalid access: both sides see the connection end, and a later connection
    works."""
    operations = f'send:10,{fault}:64'
    said = talk(bench, role, 4, *leader(ours, operations))
    if not any('ended' in text for text in said):
        raise Failed(f'nobody saw the end of the connection: {said}')
    bench.port += 1
    talk(bench, role, 4, *leader(ours, 'send:10,write:10,read:10'))
    return said


def refused_read(bench, role):
    """Our Read with an invalid STag completes with a remote access error."""
    said = wrong(bench, role, 'wrong-read', True)
    if 'REMOTE_ACCESS' not in said[0]:
        raise Failed(f'no remote access error: {said[0]}')


def immediate(bench):
    """siw does not support RFC 7306: our request with immediate data completes, siw ends the
    connection by a Terminate, and our log says why."""
    server = bench.server(bench.theirs, [bench.tool('lab-verbs'), '-p', str(bench.port), '--count', '2', '--survive'], bench.port)
    said = bench.run(bench.ours, [bench.tool('iwarp-immediate'), bench.address(bench.theirs), str(bench.port)])
    if 'has refused immediate data' not in said:
        raise Failed(f'it was not refused: {said}')
    bench.run(bench.ours, [bench.tool('lab-itapi'), '-p', str(bench.port), '--lead', 'send:10,read:10', bench.address(bench.theirs)])
    if bench.wait(bench.theirs, server) != 0:
        raise Failed(f'siw did not serve the next connection: {bench.theirs.says(server)}')


def death(bench, role, ours):
    """One process is killed at random moments; the other sees the connection end, and its next
    connection works."""
    moments = random.Random(SEED)
    dead, living = (bench.ours, bench.theirs) if ours else (bench.theirs, bench.ours)
    dead_name, living_name = ('lab-itapi', 'lab-verbs') if ours else ('lab-verbs', 'lab-itapi')
    # The living side is the server if ours is the initiator and dies, and so on: it serves a second client.
    server_lives = (role == 'initiator') == ours
    for _ in range(DEATHS):
        bench.port += 1
        port = ['-p', str(bench.port)]
        lead = ['--lead', 'send:5000,write:200000,read:200000', '--forever']
        if not server_lives:
            survivor_dies_with(bench, (dead, dead_name), (living, living_name), port, lead, moments)
            continue
        server = bench.server(living, [bench.tool(living_name), *port, '--count', '2', '--survive'], bench.port)
        client = bench.start(dead, [bench.tool(dead_name), *port, *lead, bench.address(living)])
        bench.says(dead, client, 'connected')
        if dead.poll(client, moments.random()) is not None:
            raise Failed(f'the client ended by itself:\n{dead.says(client)}')
        bench.kill(dead, client)
        second = bench.start(dead, [bench.tool(dead_name), *port, '--lead', 'send:10,read:10', bench.address(living)])
        try:
            ends = bench.wait(dead, second), bench.wait(living, server)
        except Failed:
            ends = 'no end in time'
        if ends != (0, 0):
            raise Failed(f'the server did not survive, or the next client has no connection ({ends}):\n'
                         f'{living.says(server)}---\n{dead.says(second)}')


def survivor_dies_with(bench, server, client, port, lead, moments):
    """The server is killed; the client must end by itself, with an error and not by a signal."""
    dead = bench.server(server[0], [bench.tool(server[1]), *port, '--count', '1'], bench.port)
    job = bench.start(client[0], [bench.tool(client[1]), *port, *lead, bench.address(server[0])])
    bench.says(client[0], job, 'connected')
    if client[0].poll(job, moments.random()) is not None:
        raise Failed(f'the client ended by itself:\n{client[0].says(job)}')
    bench.kill(server[0], dead)
    status = bench.wait(client[0], job)
    if status != 1:
        raise Failed(f'the client ended with {status}:\n{client[0].says(job)}')


def killed_early(bench, deaths):
    """Clients are killed in their first 30 ms; after every ten of them the peer's kernel must still
    accept another client.

    Such a client can make siw lose a listening socket, and siw's lists are then corrupted when
    the process that owns the socket ends [WIRE 15.1]. In that case another server is started at
    another port, and the old one stays until the case is over. Only the connection manager must
    keep working.
    """
    moments = random.Random(SEED)

    def client_of_a_new_server():
        bench.port += 1
        port = ['-p', str(bench.port)]
        bench.server(bench.theirs, [bench.tool('lab-verbs'), *port, '--endure'], bench.port)
        return [bench.tool('lab-itapi'), *port, '--timeout', '10', '--lead', 'send:10,read:10', bench.address(bench.theirs)]

    client, lost = client_of_a_new_server(), 0
    for number in range(1, deaths + 1):
        job = bench.start(bench.ours, client)
        time.sleep(moments.uniform(0, EARLY))
        bench.kill(bench.ours, job)
        bench.wait(bench.ours, job)
        if number % DEATHS_IN_A_ROW == 0 and bench.wait(bench.ours, bench.start(bench.ours, client)) != 0:
            client, lost = client_of_a_new_server(), lost + 1
            bench.run(bench.ours, client)
    return {'lost listeners': lost}


CASES = []
for our_role in ('initiator', 'responder'):
    CASES.append(Case(f'ends in order {our_role}', functools.partial(orderly, role=our_role),
                      quick=True, table=('verbs program', our_role, 'each side ends in order')))
    for what in WRONG:
        for by_us in (True, False):
            who = 'of ours' if by_us else 'of theirs'
            CASES.append(Case(f'ends {what} {who} {our_role}',
                              functools.partial(wrong, role=our_role, fault=what, ours=by_us), quick='wrong-' in what,
                              table=('verbs program', our_role, f'a fault {who} ends it')))
    CASES.append(Case(f'ends refused Read {our_role}', functools.partial(refused_read, role=our_role),
                      quick=True, table=('verbs program', our_role, 'a refused Read is a remote access error')))
    for by_us in (True, False):
        who = 'our process' if by_us else 'their process'
        CASES.append(Case(f'ends death of {who} {our_role}', functools.partial(death, role=our_role, ours=by_us),
                          fatal=True, table=('verbs program', our_role, f'{who} is killed at random moments')))
CASES.append(Case('ends immediate data', immediate, quick=True,
                  table=('verbs program', 'initiator', 'immediate data is refused')))
# With peer-to-peer mode the kernel of the peer stops [WIRE 14.2], which the full run shows.
for count, p2p_on in ((EARLY_DEATHS, False), (MANY_DEATHS, False), (MANY_DEATHS, True)):
    CASES.append(Case(f'ends {count} killed early p2p {"on" if p2p_on else "off"}', functools.partial(killed_early, deaths=count),
                      p2p=p2p_on, fatal=True, long=count > EARLY_DEATHS, limit=900, breaks='siw_destroy_listen',
                      table=('verbs program', 'initiator', 'our process is killed in its first 30 ms')))
