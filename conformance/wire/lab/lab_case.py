# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""The classes of a case and of the bench that it uses while it runs.

A file in cases/ has a list CASES. A case has a name, a function that runs it, and the guest that it
needs: the parameters of siw, and whether the peer is across the tap device ('link') or both ends are
in the guest, in two network namespaces ('veth'). The function gets a Bench and raises Failed, or
Skipped, with the reason. Runs differ in length: `quick` cases are part of each, `long` cases of a full
run only. Runs have two guests, of Debian's kernel and of a later one (lab_table.cases_of).
"""

import dataclasses
import os
import signal
import time

LIMIT = 120         # seconds for a case


class Failed(Exception):
    """The case found a defect."""


class Skipped(Exception):
    """The case cannot be run here."""


@dataclasses.dataclass
class Case:
    """One case. `known` names a defect because of which it may fail until the defect is mended."""
    name: str
    run: callable
    crc: bool = False
    p2p: bool = False
    topology: str = 'link'
    limit: int = LIMIT
    known: str = ''
    table: tuple = ()           # (peer, role, what) for the table of interoperation
    breaks: str = ''            # a function of the guest's kernel that may fail when a case that passed is over
    fatal: bool = False         # may break the guest's kernel: runs last
    quick: bool = False         # part of the short run, which is one guest across the tap device
    each: bool = False          # part of the short run with the later kernel, too
    long: bool = False          # takes too long for the usual run

    def siw(self):
        """The parameters of siw that this case needs in the guest."""
        return f'mpa_crc_required={int(self.crc)} peer_to_peer={int(self.p2p)}'

    def environment(self):
        """The environment of our side: the same settings as siw's, and a log that says why
        connections end."""
        return {'ITAPI_MPA_CRC': 'on' if self.crc else 'off', 'ITAPI_MPA_PEER_TO_PEER': 'on' if self.p2p else 'off',
                'ITAPI_LOG': 'info'}


class Bench:
    """The environment of a case: our side, their side (where siw is), the link between, and time."""

    def __init__(self, ours, theirs, build, topology):
        self.ours, self.theirs = ours, theirs
        self.build, self.topology = build, topology
        self.until = 0.0
        self.port = 20000
        self.mtu = None
        self.environment = {}
        self.links = ('lab0', 'eth0') if topology == 'link' else ('vours', 'vtheirs')

    def begin(self, limit, environment):
        self.until = time.monotonic() + limit
        self.port += 1
        self.environment = environment

    def left(self):
        return max(0.0, self.until - time.monotonic())

    def tool(self, name):
        """The path of a program of the build folder."""
        for folder in ('tools', f'tools/{name}', 'conformance/wire/lab', 'conformance/wire/peers', 'vp/iwarp'):
            path = os.path.join(self.build, folder, name)
            if os.path.isfile(path):
                return path
        raise Skipped(f'{name} was not built')

    def address(self, side, family=4):
        """The address of a side."""
        last = 1 if side is self.ours else 2
        return f'10.77.0.{last}' if family == 4 else f'fd77::{last}'

    def set_mtu(self, mtu):
        """Changes the MTU of both ends of the link."""
        if mtu != self.mtu:
            for side, link in zip((self.ours, self.theirs), self.links):
                self.run(side, ['ip', 'link', 'set', link, 'mtu', str(mtu)])
            self.mtu = mtu

    def start(self, side, argv, env=None):
        """Starts a program; returns its job. Programs that are not of ours ignore our settings."""
        return side.start(argv, {**self.environment, **(env or {})})

    def run(self, side, argv, status=0, env=None):
        """Runs a program to its end; returns what it said."""
        job = self.start(side, argv, env)
        got = self.wait(side, job)
        if got != status:
            raise Failed(f'{argv[0]} ended with {got}, not {status}:\n{side.says(job)}')
        return side.says(job)

    def wait(self, side, job):
        """The exit status of a job; Failed if it does not end in time."""
        while True:
            status = side.poll(job, min(1.0, self.left()))
            if status is not None:
                return status
            if self.left() == 0:
                raise Failed(f'no end within the time limit; it said:\n{side.says(job)}')

    def server(self, side, argv, port, env=None):
        """Starts a program and waits until it listens."""
        job = self.start(side, argv, env)
        if not side.listens(job, port, self.left()):
            raise Failed(f'{argv[0]} does not listen:\n{side.says(job)}')
        return job

    def says(self, side, job, words):
        """Waits until a running job has said these words."""
        while words not in side.says(job):
            if self.left() == 0 or side.poll(job, 0.2) is not None:
                raise Failed(f'it ended, or its time was over, before it said {words}:\n{side.says(job)}')

    def pair(self, server, client, port, statuses=(0, 0), env=None, their_env=None):
        """Runs a server and then its client, each (side, argv), and waits for both; returns what
        both printed.

        `env` is for our side, `their_env` for the other. If one of them fails, the other gets
        only a moment more.
        """
        environments = [env if side is self.ours else their_env for side, _ in (server, client)]
        jobs = [(server[0], self.server(*server, port, environments[0]))]
        jobs.append((client[0], self.start(*client, environments[1])))
        ends = [None, None]
        while None in ends:
            for i, (side, job) in enumerate(jobs):
                if ends[i] is None:
                    ends[i] = side.poll(job, min(0.3, self.left()))
                if ends[i] not in (None, statuses[i]):
                    self.until = min(self.until, time.monotonic() + 10)
            if self.left() == 0:
                break
        said = [side.says(job) for side, job in jobs]
        if tuple(ends) != tuple(statuses):
            raise Failed(f'server and client ended with {ends} (None: not in time), not {statuses}\n'
                         f'--- the server {server[1][0]}:\n{said[0]}\n--- the client {client[1][0]}:\n{said[1]}')
        return said

    def kill(self, side, job):
        side.signal(job, signal.SIGKILL)
