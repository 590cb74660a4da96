#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""RoCE between containers: hosts in network namespaces that veth pairs connect (TAP).

Called as test_roce_net.py TOOLS [IT-RUN]. Each case has hosts of its own (net_hosts.py).
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

import net_hosts
import tool_runs
from net_hosts import Host

TOOLS = sys.argv[1]
RUN = sys.argv[2] if len(sys.argv) > 2 else None
SERVER = ('it-ping', '-P', '-a', 'roce:w0')
BLOCKER = ('import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.bind(("10.91.0.11", 4791)); '
           'print("bound", flush=True); input()')


# ICMP "fragmentation needed" with an MTU of 576, again and again, about a packet from one address to another one.
FORGER = '''
import socket, struct, sys, time
def sum16(octets):
    total = sum(struct.unpack('!%dH' % (len(octets) // 2), octets))
    return ~((total >> 16) + (total & 0xffff)) & 0xffff
quoted = struct.pack('!BBHHHBBH4s4sHHHH12x', 0x45, 0, 1100, 0, 0x4000, 64, 17, 0, socket.inet_aton(sys.argv[1]),
                     socket.inet_aton(sys.argv[2]), 4791, 4791, 1080, 0)
head = lambda total: struct.pack('!BBHHH', 3, 4, total, 0, 576)
raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
while True:
    raw.sendto(head(sum16(head(0) + quoted)) + quoted, (sys.argv[1], 0))
    time.sleep(0.002)
'''


def two_hosts(here, peer, mtu=1500, peer_mtu=None):
    here.cable('v0', peer, 'w0')
    here.address('v0', '10.91.0.1/24', 'fd91::1/64')
    peer.address('w0', '10.91.0.2/24', 'fd91::2/64')
    here.ip('link', 'set', 'v0', 'mtu', str(mtu))
    peer.ip('link', 'set', 'w0', 'mtu', str(peer_mtu or mtu))


def octets_sent(host):
    return json.loads(host.run('ip', '-s', '-j', 'link', 'show', 'v0').stdout)[0]['stats64']['tx']['bytes']


def ping(host, server, address, *arguments):
    return host.tool(TOOLS, 'it-ping', '-C', '3', '-a', 'roce:v0', '-p', server.port, *arguments, address)


def test_round_trips():
    """IPv4 and IPv6; messages of several packets, whose length depends on the MTU of the interface."""
    for mtu in (1500, 9000):
        with Host(here=True) as here, Host() as peer:
            two_hosts(here, peer, mtu)
            with peer.server(TOOLS, *SERVER) as server:
                for address in ('10.91.0.2', 'fd91::2'):
                    ping(here, server, address, '-S', '100000').expect(0, '3 round trips of 100000 octets verified')


def test_router():
    """The two hosts are in different networks, with a router between them."""
    with Host(here=True) as here, Host() as between, Host() as peer:
        here.cable('v0', between, 'b0')
        between.cable('b1', peer, 'w0')
        here.address('v0', '10.91.0.1/24', 'fd91::1/64')
        between.address('b0', '10.91.0.9/24', 'fd91::9/64')
        between.address('b1', '10.92.0.9/24', 'fd92::9/64')
        peer.address('w0', '10.92.0.2/24', 'fd92::2/64')
        for host, far in ((here, '91'), (peer, '92')):
            host.ip('route', 'add', 'default', 'via', f'10.{far}.0.9')
            host.ip('-6', 'route', 'add', 'default', 'via', f'fd{far}::9')
        for family in ('ipv4/conf/all/forwarding', 'ipv6/conf/all/forwarding'):
            between.set(family, 1)
        with peer.server(TOOLS, *SERVER) as server:
            for address in ('10.92.0.2', 'fd92::2'):
                ping(here, server, address, '-S', '20000').expect(0, 'verified')


def test_path_mtu():
    """The peer's interface has a smaller MTU: it refuses the connection, and the message says what
    to change."""
    with Host(here=True) as here, Host() as peer:
        two_hosts(here, peer, 9000, 1500)
        with peer.server(TOOLS, *SERVER) as server:
            ping(here, server, '10.91.0.2').expect(
                1, 'the peer refuses a path MTU of 4096 octets, and this interface has an MTU of 9000')
            here.ip('link', 'set', 'v0', 'mtu', '1500')
            ping(here, server, '10.91.0.2').expect(0, 'verified')


def test_forged_path_mtu():
    """Anybody can forge a report that packets are too long. The kernel believes it; the connection
    must go on unchanged."""
    with Host(here=True) as here, Host() as peer:
        two_hosts(here, peer)
        with peer.server(TOOLS, 'it-test', '-P', '-a', 'roce:w0') as server:
            client = tool_runs.start(TOOLS, 'it-test', '-a', 'roce:v0', '-p', server.port, '--perf', 'write',
                                     '--size', '64k', '--verify', '--duration', '1s', '10.91.0.2')
            with subprocess.Popen(peer.within([sys.executable, '-c', FORGER, '10.91.0.1', '10.91.0.2'])) as forger:
                try:
                    tool_runs.finish(client).expect(0)
                    net_hosts.until(lambda: 'mtu 576' in here.run('ip', 'route', 'get', '10.91.0.2').stdout,
                                    'the kernel believes it')
                finally:
                    forger.kill()


def test_forged_runs():
    """After forged reports the kernel must still segment runs of packets: the later packets of a
    run have identifications other than 0."""
    with Host(here=True), tempfile.TemporaryDirectory() as folder:
        server_env = {**os.environ, 'ITAPI_ROCE_ADDRESS': '127.77.0.2'}
        client_env = {**os.environ, 'ITAPI_ROCE_ADDRESS': '127.77.0.1', 'ITAPI_PCAP': folder + '/client.pcapng'}
        with tool_runs.Server(TOOLS, 'it-ping', '-P', '-a', 'roce:lo', env=server_env) as server, \
                subprocess.Popen([sys.executable, '-c', FORGER, '127.77.0.1', '127.77.0.2']) as forger:
            try:
                time.sleep(0.3)      # it takes a while to start
                tool_runs.finish(tool_runs.start(TOOLS, 'it-ping', '-a', 'roce:lo', '-p', server.port, '-C', '200', '-S', '60000',
                                                 '127.77.0.2', env=client_env)).expect(0, 'verified')
            finally:
                forger.kill()
        with open(folder + '/client.pcapng', 'rb') as capture:
            sent = re.findall(rb'\x45.{3}(..)\x40\x00\x40\x11..\x7f\x4d\x00\x01\x7f\x4d\x00\x02\x12\xb7\x12\xb7', capture.read(), re.DOTALL)
        if len(sent) < 3000 or not any(ident != b'\0\0' for ident in sent[-100:]):
            raise tool_runs.Failed('%d packets, the last ones %r' % (len(sent), sent[-20:]))


def test_second_address():
    """Another program has the port at the second address: opening the adapter fails and leaves no
    socket at the first address. After that program has ended, opening succeeds."""
    with Host(here=True) as here, Host() as peer:
        two_hosts(here, peer)
        here.address('v0', '10.91.0.11/24')
        with subprocess.Popen([sys.executable, '-c', BLOCKER], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
            other.stdout.readline()
            here.tool(TOOLS, 'it-ping', '-P', '-a', 'roce:v0').expect(
                1, 'UDP port 4791 of 10.91.0.11 has process %d (python3)' % other.pid, 'ITAPI_ROCE_ADDRESS')
            other.communicate(b'\n')
        with peer.server(TOOLS, *SERVER) as server:
            ping(here, server, '10.91.0.2').expect(0, 'verified')
        with here.server(TOOLS, 'it-ping', '-P', '-a', 'roce:v0') as server:
            for address in ('10.91.0.1', '10.91.0.11', 'fd91::1'):
                peer.tool(TOOLS, 'it-ping', '-C', '3', '-a', 'roce:w0', '-p', server.port, address).expect(0, 'verified')


def test_chosen_address():
    """An IPv6 address can be chosen, too. An invalid address is refused, each time that it is used."""
    with Host(here=True) as here, Host() as peer:
        two_hosts(here, peer)
        here.address('v0', 'fd91::11/64')
        with tool_runs.Server(TOOLS, 'it-ping', '-P', '-a', 'roce:v0', env={**os.environ, 'ITAPI_ROCE_ADDRESS': 'fd91::11'}) as server:
            ping = ('it-ping', '-C', '3', '-a', 'roce:w0', '-p', server.port)
            peer.tool(TOOLS, *ping, 'fd91::11').expect(0, 'verified')
            peer.tool(TOOLS, *ping, '--timeout', '1', 'fd91::1').expect(1, 'cannot connect')
        for text in ('::1', '127.0.0.9'):
            tool_runs.run(TOOLS, 'it-ping', '-C', '3', '-a', 'roce:lo', '--self',
                          env={**os.environ, 'ITAPI_ROCE_ADDRESS': text}).expect(0, 'verified')
        for text in ('localhost', '127.0.0', '127.0.0.2 ', '0.0.0.0', '::', '224.0.0.1', '::ffff:127.0.0.2', 'fd91::11%v0'):
            tool_runs.run(TOOLS, 'it-ping', '-C', '3', '-a', 'roce:lo', '--self', env={**os.environ, 'ITAPI_ROCE_ADDRESS': text}).expect(
                1, 'ITAPI_ROCE_ADDRESS is not an address of IPv4 or IPv6, such as 127.0.0.2: "%s"' % text)
        tool_runs.run(TOOLS, 'it-ping', '-a', 'roce:lo', '--self', env={**os.environ, 'ITAPI_ROCE_ADDRESS': 'fd91::77'}).expect(
            1, 'UDP port 4791 of [fd91::77] cannot be opened')


def test_cable():
    """A cable that is unplugged for a moment only costs time. A peer that is killed ends the
    connection."""
    with Host(here=True) as here, Host() as peer:
        two_hosts(here, peer)
        with peer.server(TOOLS, 'it-test', '-P', '-a', 'roce:w0') as server:
            arguments = ('-a', 'roce:v0', '-p', server.port, '--perf', 'write', '--size', '4k', '--verify', '10.91.0.2')
            client = tool_runs.start(TOOLS, 'it-test', '--duration', '500ms', *arguments)
            time.sleep(0.3)
            peer.ip('link', 'set', 'w0', 'down')
            time.sleep(0.2)
            peer.ip('link', 'set', 'w0', 'up')
            tool_runs.finish(client).expect(0)
            before = octets_sent(here)
            client = tool_runs.start(TOOLS, 'it-test', '--duration', '60s', *arguments, env={**os.environ, 'ITAPI_ROCE_KEEP_ALIVE': '1'})
            net_hosts.until(lambda: octets_sent(here) > before + 1000000, 'the transfer begins')
            server.kill()
            # A request was under way; or nothing was, and the peer is asked whether it lives.
            done = tool_runs.finish(client).expect(1)
            if 'IT_DTO_ERR_TRANSPORT' not in done.err and 'the connection broke' not in done.err:
                raise tool_runs.Failed(done.err)


def test_verbs():
    """Programs of libibverbs that exchange their queue pair numbers over TCP."""
    program = shutil.which('ibv_rc_pingpong')
    if RUN is None or program is None:
        raise tool_runs.Skipped('it-run and ibv_rc_pingpong are not both there')
    env = tool_runs.behind_door(RUN, os.environ)
    with Host(here=True) as here, Host() as peer:
        two_hosts(here, peer)
        server = subprocess.Popen(peer.within([RUN, '--adapter', 'roce:w0', program, '-g', '0', '-n', '200']),
                                  env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        net_hosts.until(lambda: re.search(r':18515\s', peer.run('ss', '-tlnH').stdout), 'ibv_rc_pingpong listens')
        client = here.run(RUN, '--adapter', 'roce:v0', program, '-g', '0', '-n', '200', '10.91.0.2', env=env)
        said = server.communicate(timeout=tool_runs.PATIENCE)[0]
        if client.returncode != 0 or server.returncode != 0 or '200 iters' not in client.stdout or '200 iters' not in said:
            raise tool_runs.Failed('ibv_rc_pingpong: %s%s%s' % (client.stdout, client.stderr, said))


if __name__ == '__main__':
    net_hosts.enter()
    sys.exit(tool_runs.main([
        ('round-trips', test_round_trips),
        ('router', test_router),
        ('path-mtu', test_path_mtu),
        ('forged-path-mtu', test_forged_path_mtu),
        ('forged-runs', test_forged_runs),
        ('second-address', test_second_address),
        ('chosen-address', test_chosen_address),
        ('cable', test_cable),
        ('verbs', test_verbs),
    ]))
