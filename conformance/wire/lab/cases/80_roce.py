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
import statistics

from lab_case import Case, Failed
from lab_doors import behind_door
from lab_netem import NETEMS, network

DEVICE = 'rxe7'
SIW = 'siw1'                    # has the interface in the other cases; the kernel's rdma_cm would find it first
TRIALS = 8                      # of a client whose server does not listen yet; no socket shows that of rdma_cm
NOT_YET = re.compile(r'RDMA_CM_EVENT_REJECTED|blka 8|RDMA_CM_EVENT_UNREACHABLE|[Cc]onnection refused|[Cc]ouldn.t connect|failed to connect')
NAME, GID = 'name', 'gid'       # what a program is told of its device: nothing but the name, or the GID by -g
INDEX = 'index'                 # or the GID by -x, as perftest has it
ROUNDS = 3                      # of programs that are timed
FIGURES = r'\n \d+ +\d+ +[\d.]+ +[\d.]+'


@contextlib.contextmanager
def rxe(bench):
    """Replaces siw by rxe on the interface of their side. A case that ended badly may have left
    either of them."""
    link = bench.links[1]
    bench.run(bench.theirs, ['sh', '-c', f'for old in {SIW} {DEVICE}; do rdma link delete $old 2>/dev/null; done; '
                             f'rdma link add {DEVICE} type rxe netdev {link}'])
    try:
        yield
    finally:
        bench.theirs.poll(bench.theirs.start(['sh', '-c', f'rdma link delete {DEVICE}; rdma link add {SIW} type siw netdev {link}']), 20)


@contextlib.contextmanager
def own_port(bench):
    """Unloads the kernel's rxe, whose module occupies the UDP port of RoCE in the first namespace,
    so that a process can use the port."""
    bench.run(bench.theirs, ['sh', '-c', f'rdma link delete {DEVICE} 2>/dev/null; modprobe -r rdma_rxe'])
    try:
        yield
    finally:
        bench.theirs.poll(bench.theirs.start(['modprobe', 'rdma_rxe']), 20)


def words_of(bench, side, words, theirs='rxe'):
    """The command of a program whose output is line-buffered, so that a hanging program shows how
    far it came. Our side runs behind the door; so does theirs unless it is over rxe."""
    words = ['stdbuf', '-oL', *words]
    if side is not bench.ours and theirs == 'rxe':
        return words
    return behind_door(bench, words, f'roce:{bench.links[side is not bench.ours]}')


def gid_index(bench, side, family):
    """The index in the GID table of the address of that side."""
    said = bench.run(side, words_of(bench, side, ['ibv_devinfo', '-v', *(['-d', DEVICE] if side is bench.theirs else [])]))
    wanted = ipaddress.ip_address(bench.address(side, family))
    for index, text in re.findall(r'GID\[ *(\d+)\]:\s+([0-9a-f:.]+)', said):
        gid = ipaddress.IPv6Address(text)
        if wanted in (gid, gid.ipv4_mapped):
            return index
    raise Failed(f'no GID is {wanted}:\n{said}')


def ends(bench, side, job, name, other):
    """Waits for a job and returns its exit status; if it does not end, the error contains what
    other() returns."""
    try:
        return bench.wait(side, job)
    except Failed as error:
        raise Failed(f'the {name}: {error}\n--- the other side:\n{other()}') from error


def both(bench, server_side, server, client_side, client, theirs='rxe'):
    """Runs a server and a client to their ends; the client is repeated if the server did not listen
    yet. Returns what both printed."""
    job = bench.start(server_side, words_of(bench, server_side, server, theirs))
    for _ in range(TRIALS):
        server_side.poll(job, 1)
        client_job = bench.start(client_side, words_of(bench, client_side, client, theirs))
        status = ends(bench, client_side, client_job, 'client', lambda: server_side.says(job))
        said = client_side.says(client_job)
        if status == 0 or not NOT_YET.search(said):
            break
    return job, status, said


def program(bench, role, family, mtu, server, client, says, stays=False, device='', netem=None):
    """Runs one program; `role` is that of our side. `device`: whether the program gets the name of
    the device, or that and the GID. `netem`: the faults of the network."""
    bench.set_mtu(mtu)
    with rxe(bench), network(bench, netem) if netem else contextlib.nullcontext():
        server_side, client_side = (bench.theirs, bench.ours) if role == 'client' else (bench.ours, bench.theirs)
        # The pingpongs exchange their numbers over a TCP socket of the first family that getaddrinfo names, which is that of IPv4.
        values = {'port': bench.port, 'address': bench.address(server_side, 4 if device in (GID, INDEX) else family),
                  'own': bench.address(server_side, family), 'peer': bench.address(client_side, family)}

        def fill(side, words):
            words = words.format(**values).split()
            if device in (GID, INDEX):
                words[1:1] = ['-g' if device == GID else '-x', gid_index(bench, side, family)]
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
    """If a process is stopped, the kernel still answers for it: a keep-alive request each second
    gets its response, and the connection stays."""
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


def in_turn(bench, title, unit, options, figure, less):
    """Runs the same binary over rxe, both sides in the guest's first namespace, and over vp/roce
    between two namespaces; returns the medians of some rounds."""
    tool = title.split()[0]
    words = f'{tool} -F -R {options}'.split()
    figures = {'rxe': [], 'door': []}
    bench.set_mtu(1500)
    for _, over in itertools.product(range(ROUNDS), figures):
        bench.port += 1
        with rxe(bench) if over == 'rxe' else own_port(bench):
            server = [*words, *(['-d', DEVICE] if over == 'rxe' else []), '-p', str(bench.port)]
            client = [*server, bench.address(bench.theirs)]
            job, _, said = both(bench, bench.theirs, server, bench.theirs if over == 'rxe' else bench.ours, client, over)
            ends(bench, bench.theirs, job, 'server', lambda: said)
        found = re.search(figure, said)
        if not found:
            raise Failed(f'no figure in:\n{said}\n--- the server:\n{bench.theirs.says(job)}')
        figures[over].append(float(found.group(1)))
    rxes, door = (statistics.median(figures[over]) for over in ('rxe', 'door'))
    return {'timed': title, 'unit': unit, 'kernel': 'rxe', 'beside': rxes, 'door': door, 'rounds': ROUNDS,
            'speed': round(rxes / door if less else door / rxes, 2)}


def perftest(tool, options, device=NAME):
    words = f'{tool} -F -p {{port}} {options}'
    return (words, words + ' {address}', FIGURES, False, device)


# name: (server, client, what the client says, the server stays, told the device)
PROGRAMS = {
    'rping': ('rping -s -a {address} -p {port} -C 10 -V -S 3000', 'rping -c -a {address} -p {port} -C 10 -V -S 3000', ''),
    'ucmatose': ('ucmatose -p {port} -c 5 -C 10', 'ucmatose -s {address} -p {port} -c 5 -C 10', 'return status 0'),
    'rdma_client': ('rdma_server -p {port}', 'rdma_client -s {address} -p {port}', 'rdma_client: end 0'),
    'cmtime': ('cmtime -b {address} -p {port} -c 20', 'cmtime -s {address} -p {port} -c 20', r'\nconnect +: +[\d.]+', True),
    'mckey': ('mckey -m 239.1.2.3 -b {own} -C 10', 'mckey -m 239.1.2.3 -b {peer} -s -C 10', 'return status 0'),
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
INDEXED = {
    'ib_send_lat': perftest('ib_send_lat', '-n 100', INDEX),
    'ib_send_lat -c UC': perftest('ib_send_lat', '-c UC -n 100', INDEX),
    'ib_send_lat -c UD': perftest('ib_send_lat', '-c UD -n 100', INDEX),
    'ib_send_bw': perftest('ib_send_bw', '-n 50', INDEX),
    'ib_write_bw': perftest('ib_write_bw', '-n 50', INDEX),
    'ib_write_bw -c UC': perftest('ib_write_bw', '-c UC -n 50', INDEX),
    'ib_read_bw': perftest('ib_read_bw', '-n 50', INDEX),
    'ib_atomic_lat -A FETCH_AND_ADD': perftest('ib_atomic_lat', '-A FETCH_AND_ADD -n 100', INDEX),
    'ib_atomic_bw -A CMP_AND_SWAP': perftest('ib_atomic_bw', '-A CMP_AND_SWAP -n 100', INDEX),
}
# Each octet is compared: by rping, and by ibv_rc_pingpong -c.
IN_BAD_NETWORKS = {
    'rping': ('rping -s -a {address} -p {port} -C 5 -V -S 8000', 'rping -c -a {address} -p {port} -C 5 -V -S 8000', ''),
    'ibv_rc_pingpong': ('ibv_rc_pingpong -c -s 8000 -n 100 -p {port}', 'ibv_rc_pingpong -c -s 8000 -n 100 -p {port} {address}',
                        '100 iters in', False, GID),
}
TIMED = [('ib_send_lat -R -s 64', 'us, typical', '-n 100 -s 64', r'\n 64 +\d+ +[\d.]+ +[\d.]+ +([\d.]+)', True),
         ('ib_write_lat -R -s 64', 'us, typical', '-n 100 -s 64', r'\n 64 +\d+ +[\d.]+ +[\d.]+ +([\d.]+)', True),
         ('ib_write_bw -R -s 65536', 'MB/s', '-n 100 -s 65536', r'\n 65536 +\d+ +[\d.]+ +([\d.]+)', False),
         ('ib_read_bw -R -s 65536', 'MB/s', '-n 100 -s 65536', r'\n 65536 +\d+ +[\d.]+ +([\d.]+)', False)]
USUAL = {('rping', 'client'), ('rping', 'server'), ('ibv_rc_pingpong', 'client'), ('ib_write_bw -R', 'server'),
         ('ibv_ud_pingpong', 'client')}

CASES = []
keys = ('server', 'client', 'says', 'stays', 'device')
for (name, parts), our_role, ip, link in itertools.product({**PROGRAMS, **BY_NUMBER, **INDEXED}.items(), ('client', 'server'), (4, 6),
                                                           (1500, 9000)):
    if (ip, link) != (4, 1500) and name != 'rping' and name not in BY_NUMBER:
        continue
    CASES.append(Case(f'roce {name} {our_role} ipv{ip} mtu {link}',
                      functools.partial(program, role=our_role, family=ip, mtu=link, **dict(zip(keys, parts))),
                      topology='veth', fatal=True, limit=60,
                      long=(ip, link) != (4, 1500) or (name, our_role) not in USUAL, table=(name, our_role, 'rxe')))
CASES.append(Case('roce a stopped peer is asked', stopped, topology='veth', fatal=True, limit=200, long=True))
CASES += [Case(f'roce {name} {our_role} {kind}',
               functools.partial(program, role=our_role, family=4, mtu=1500, netem=netem, **dict(zip(keys, parts))),
               topology='veth', fatal=True, limit=150, long=True, table=(f'{name}, {kind}', our_role, 'rxe'))
          for (name, parts), our_role, (kind, netem) in itertools.product(IN_BAD_NETWORKS.items(), ('client', 'server'), NETEMS.items())]
CASES += [Case(f'roce timed {each[0]}', functools.partial(in_turn, **dict(zip(('title', 'unit', 'options', 'figure', 'less'), each))),
               topology='veth', fatal=True, limit=300, long=True) for each in TIMED]
