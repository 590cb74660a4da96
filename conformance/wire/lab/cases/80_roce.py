# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""vp/roce against the kernel's rxe: the same program on both sides, ours behind the verbs door, in two namespaces of the guest.

A process that is killed while it transfers data over rxe may break the guest's kernel: so these cases come last.
"""

import contextlib
import functools
import ipaddress
import itertools
import re
import signal

from lab_case import Case, Failed
from lab_doors import behind_door

DEVICE = 'rxe7'
SIW = 'siw1'                    # has the interface in the other cases; the kernel's rdma_cm would find it first
TRIALS = 8                      # of a client whose server does not listen yet; no socket shows that of rdma_cm
NOT_YET = re.compile(r'RDMA_CM_EVENT_REJECTED|blka 8|RDMA_CM_EVENT_UNREACHABLE|[Cc]onnection refused|[Cc]ouldn.t connect|failed to connect')
NAME, GID = 'name', 'gid'       # what a program is told of its device
FIGURES = r'\n \d+ +\d+ +[\d.]+ +[\d.]+'


@contextlib.contextmanager
def rxe(bench):
    """The interface of their side has rxe instead of siw. A case that ended badly may have left either."""
    link = bench.links[1]
    bench.run(bench.theirs, ['sh', '-c', f'for old in {SIW} {DEVICE}; do rdma link delete $old 2>/dev/null; done; '
                             f'rdma link add {DEVICE} type rxe netdev {link}'])
    try:
        yield
    finally:
        bench.theirs.poll(bench.theirs.start(['sh', '-c', f'rdma link delete {DEVICE}; rdma link add {SIW} type siw netdev {link}']), 20)


def words_of(bench, side, words):
    """A program line by line, so that one that does not end shows how far it came."""
    words = ['stdbuf', '-oL', *words]
    return behind_door(bench, words, f'roce:{bench.links[0]}') if side is bench.ours else words


def gid_index(bench, side, family):
    """The entry of the GID table that is the address of that side."""
    said = bench.run(side, words_of(bench, side, ['ibv_devinfo', '-v', *(['-d', DEVICE] if side is bench.theirs else [])]))
    wanted = ipaddress.ip_address(bench.address(side, family))
    for index, text in re.findall(r'GID\[ *(\d+)\]:\s+([0-9a-f:.]+)', said):
        gid = ipaddress.IPv6Address(text)
        if wanted in (gid, gid.ipv4_mapped):
            return index
    raise Failed(f'no GID is {wanted}:\n{said}')


def ends(bench, side, job, name, other):
    """The exit status of a job; `other`: what to show besides if the job has not ended."""
    try:
        return bench.wait(side, job)
    except Failed as error:
        raise Failed(f'the {name}: {error}\n--- the other side:\n{other()}') from error


def both(bench, server_side, server, client_side, client):
    """Both to their end, the client again if its server did not listen yet; what both said."""
    job = bench.start(server_side, words_of(bench, server_side, server))
    for _ in range(TRIALS):
        server_side.poll(job, 1)
        client_job = bench.start(client_side, words_of(bench, client_side, client))
        status = ends(bench, client_side, client_job, 'client', lambda: server_side.says(job))
        said = client_side.says(client_job)
        if status == 0 or not NOT_YET.search(said):
            break
    return job, status, said


def program(bench, role, family, mtu, server, client, says, stays=False, device=''):
    """One program; `role` is our side's. `device`: it is told the device, or that and the GID."""
    bench.set_mtu(mtu)
    with rxe(bench):
        server_side, client_side = (bench.theirs, bench.ours) if role == 'client' else (bench.ours, bench.theirs)
        # The pingpongs exchange their numbers over a TCP socket of the first family that getaddrinfo names, which is that of IPv4.
        values = {'port': bench.port, 'address': bench.address(server_side, 4 if device == GID else family)}

        def fill(side, words):
            words = words.format(**values).split()
            if device == GID:
                words[1:1] = ['-g', gid_index(bench, side, family)]
            if device and side is bench.theirs:
                words[1:1] = ['-d', DEVICE]
            return words
        job, status, said = both(bench, server_side, fill(server_side, server), client_side, fill(client_side, client))
        if status != 0 or not re.search(says, said):
            raise Failed(f'the client ended with {status}:\n{said}\n--- the server:\n{server_side.says(job)}')
        if stays:
            server_side.signal(job, signal.SIGINT)
        elif ends(bench, server_side, job, 'server', lambda: said) != 0:
            raise Failed(f'the server ended badly:\n{server_side.says(job)}\n--- the client:\n{said}')


def stopped(bench):
    """The kernel answers for a process that is stopped: it is asked each second whether it lives, and the connection goes on."""
    bench.set_mtu(1500)
    with rxe(bench):
        words = ['-a', bench.address(bench.theirs), '-p', str(bench.port), '-C', '1000']
        server = bench.start(bench.theirs, ['rping', '-s', *words])
        bench.theirs.poll(server, 2)
        client = bench.start(bench.ours, words_of(bench, bench.ours, ['rping', '-c', *words]), {'ITAPI_ROCE_KEEP_ALIVE': '1'})
        bench.ours.poll(client, 2)
        bench.theirs.signal(server, signal.SIGSTOP)
        early = bench.ours.poll(client, 10)
        bench.theirs.signal(server, signal.SIGCONT)
        if early is not None:
            raise Failed(f'the client ended with {early}:\n{bench.ours.says(client)}')
        for side, job, name in ((bench.ours, client, 'client'), (bench.theirs, server, 'server')):
            if ends(bench, side, job, name, lambda: '') != 0:
                raise Failed(f'the {name} ended badly:\n{side.says(job)}')


def perftest(tool, options):
    words = f'{tool} -F -p {{port}} {options}'
    return (words, words + ' {address}', FIGURES, False, NAME)


# name: (server, client, what the client says, the server stays, told the device)
PROGRAMS = {
    'rping': ('rping -s -a {address} -p {port} -C 10 -V -S 3000', 'rping -c -a {address} -p {port} -C 10 -V -S 3000', ''),
    'ucmatose': ('ucmatose -p {port} -c 5 -C 10', 'ucmatose -s {address} -p {port} -c 5 -C 10', 'return status 0'),
    'rdma_client': ('rdma_server -p {port}', 'rdma_client -s {address} -p {port}', 'rdma_client: end 0'),
    'cmtime': ('cmtime -b {address} -p {port} -c 20', 'cmtime -s {address} -p {port} -c 20', r'\nconnect +: +[\d.]+', True),
    'udaddy': ('udaddy -b {address} -c 2 -C 10', 'udaddy -s {address} -c 2 -C 10', 'return status 0'),
    'qperf -cm1': ('qperf -lp {port}', 'qperf {address} -lp {port} -to 40 -t 1 -cm 1 rc_lat rc_bw quit', r'rc_lat:\n +latency +='),
    'rstream': ('rstream -p {port} -T v -S 4096 -C 20 -I 1', 'rstream -s {address} -p {port} -T v -S 4096 -C 20 -I 1',
                r'\ncustom +4k +20 +1 '),
    'ib_send_lat -R': perftest('ib_send_lat', '-R -n 100'),
    'ib_write_bw -R': perftest('ib_write_bw', '-R -n 50'),
    'ib_read_bw -R': perftest('ib_read_bw', '-R -n 50'),
}
BY_NUMBER = {
    f'ibv_{kind}_pingpong': (f'ibv_{kind}_pingpong -n 100 -p {{port}}', f'ibv_{kind}_pingpong -n 100 -p {{port}} {{address}}',
                             '100 iters in', False, GID)
    for kind in ('rc', 'uc', 'ud', 'srq')
}
USUAL = {('rping', 'client'), ('rping', 'server'), ('ibv_rc_pingpong', 'client'), ('ib_write_bw -R', 'server'),
         ('ibv_ud_pingpong', 'client')}

CASES = []
for (name, parts), our_role, ip, link in itertools.product({**PROGRAMS, **BY_NUMBER}.items(), ('client', 'server'), (4, 6), (1500, 9000)):
    if (ip, link) != (4, 1500) and name != 'rping' and name not in BY_NUMBER:
        continue
    keys = ('server', 'client', 'says', 'stays', 'device')
    CASES.append(Case(f'roce {name} {our_role} ipv{ip} mtu {link}',
                      functools.partial(program, role=our_role, family=ip, mtu=link, **dict(zip(keys, parts))),
                      topology='veth', fatal=True, limit=60,
                      long=(ip, link) != (4, 1500) or (name, our_role) not in USUAL, table=(name, our_role, 'rxe')))
CASES.append(Case('roce a stopped peer is asked', stopped, topology='veth', fatal=True, limit=200, long=True))
