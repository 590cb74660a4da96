#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""Servers on hosts whose interfaces have several or shared addresses, and whose addresses change
(TAP).

Called as test_listeners.py TOOLS. Each case has hosts of its own (net_hosts.py).
"""

import signal
import socket
import subprocess
import sys
import time

import net_hosts
import tool_runs
from net_hosts import Host, until

TOOLS = sys.argv[1]
SERVER = ('it-ping', '-P')


def ping(host, server, address, *arguments):
    return host.tool(TOOLS, 'it-ping', '-C', '2', '-p', server.port, *arguments, address)


def reaches(host, server, *addresses):
    for address in addresses:
        ping(host, server, address).expect(0)


def two_hosts(here, peer):
    here.cable('v0', peer, 'w0')
    here.address('v0', '10.91.0.1/24', 'fd91::1/64')
    peer.address('w0', '10.91.0.2/24', 'fd91::2/64')


def test_loopback_network():
    """All addresses of 127/8 reach a server; Debian's /etc/hosts gives the name of the host one of
    them."""
    with Host(here=True) as here, Host() as peer:
        two_hosts(here, peer)
        for adapter in ('iwarp', 'iwarp:lo'):
            with here.server(TOOLS, *SERVER, '-a', adapter) as server:
                reaches(here, server, '127.0.1.1', '127.0.0.1', '127.255.3.4', '::1')


def test_local_network():
    """A route of the type "local" gives a whole network to the loopback interface."""
    with Host(here=True) as here, Host() as peer:
        two_hosts(here, peer)
        here.ip('route', 'add', 'local', '198.51.100.0/24', 'dev', 'lo')
        here.ip('-6', 'route', 'add', 'local', '2001:db8:7::/64', 'dev', 'lo')
        peer.ip('route', 'add', '198.51.100.0/24', 'via', '10.91.0.1')
        peer.ip('-6', 'route', 'add', '2001:db8:7::/64', 'via', 'fd91::1')
        with here.server(TOOLS, *SERVER) as server:
            reaches(peer, server, '198.51.100.9', '2001:db8:7::9', '10.91.0.1')


def test_shared_address():
    """Two interfaces have the same address, as on servers behind a load balancer."""
    with Host(here=True) as here, Host() as peer:
        two_hosts(here, peer)
        here.address('lo', '192.0.2.77/32', '2001:db8::77/128')
        here.address('v0', '192.0.2.77/32', '2001:db8::77/128')
        peer.ip('route', 'add', '192.0.2.77', 'via', '10.91.0.1')
        peer.ip('-6', 'route', 'add', '2001:db8::77', 'via', 'fd91::1')
        for port in (0, 18700):
            with here.server(TOOLS, *SERVER, port=port) as server:
                reaches(peer, server, '192.0.2.77', '2001:db8::77')
                reaches(here, server, '192.0.2.77', '127.0.0.1')
        with here.server(TOOLS, *SERVER, '-a', 'iwarp:v0') as server:
            reaches(peer, server, '192.0.2.77')
            # It goes from one of the two, and is served as long as the other has it.
            here.ip('addr', 'del', '192.0.2.77/32', 'dev', 'lo')
            reaches(peer, server, '192.0.2.77')


def test_tentative():
    """An address that is being checked for duplicates when the server starts."""
    with Host(here=True) as here, Host() as peer:
        here.cable('v0', peer, 'w0')
        here.set('ipv6/conf/v0/accept_dad', 1)
        here.set('ipv6/conf/v0/dad_transmits', 3)
        peer.address('w0', 'fd91::2/64')
        here.ip('addr', 'add', 'fd91::1/64', 'dev', 'v0')
        with here.server(TOOLS, *SERVER, '-a', 'iwarp:v0') as server:
            if 'tentative' not in here.ip('addr', 'show', 'dev', 'v0'):
                raise tool_runs.Skipped('the address was checked before the server had started')
            until(lambda: 'tentative' not in here.ip('addr', 'show', 'dev', 'v0'), 'a good address')
            reaches(peer, server, 'fd91::1')


def test_changes():
    """Addresses and labels come and go, and the interface is renamed, deleted and made again."""
    with Host(here=True) as here, Host() as peer:
        two_hosts(here, peer)
        here.ip('addr', 'add', '10.91.0.3/24', 'dev', 'v0', 'label', 'v0:1')
        if 'v0:1' in here.tool(TOOLS, 'it-info').out:
            raise tool_runs.Failed('a label is listed as an interface')
        with here.server(TOOLS, *SERVER, '-a', 'iwarp:v0') as server:
            reaches(peer, server, '10.91.0.1', '10.91.0.3', 'fd91::1')
            here.ip('addr', 'add', '10.91.0.4/24', 'dev', 'v0', 'label', 'v0:other')
            until(lambda: ping(peer, server, '10.91.0.4').status == 0, 'the new address')
            here.ip('addr', 'del', '10.91.0.4/24', 'dev', 'v0')
            here.ip('link', 'set', 'v0', 'down')
            here.ip('link', 'set', 'v0', 'name', 'x0')
            here.ip('link', 'set', 'x0', 'up')
            until(lambda: ping(peer, server, '10.91.0.3').status == 0, 'the renamed interface')
            here.address('x0', '10.91.0.5/24')
            until(lambda: ping(peer, server, '10.91.0.5').status == 0, 'its new address')
            # The server gets no processor meanwhile, so it queries the interfaces only when all of this is done.
            server.process.send_signal(signal.SIGSTOP)
            here.ip('link', 'set', 'x0', 'down')
            here.ip('link', 'set', 'x0', 'name', 'v0')
            here.ip('link', 'del', 'v0')
            here.cable('v0', peer, 'w0')
            here.address('v0', '10.91.0.1/24')
            peer.address('w0', '10.91.0.2/24')
            server.process.send_signal(signal.SIGCONT)
            until(lambda: ping(peer, server, '10.91.0.1').status == 0, 'the new interface')


def plain_listener(host, address, port):
    """Another program that listens there."""
    script = ('import socket, sys; s = socket.create_server((sys.argv[1], int(sys.argv[2]))); '
              'print("ready", flush=True); sys.stdin.read()')
    process = subprocess.Popen(host.within([sys.executable, '-c', script, address, str(port)]),
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    if process.stdout.readline() != 'ready\n':
        raise tool_runs.Failed('the other program does not listen')
    return process


def test_partly_used():
    """Another program has the port at one address of this host."""
    with Host(here=True) as here, Host() as peer:
        two_hosts(here, peer)
        with plain_listener(here, '127.0.0.1', 18701) as other:
            with here.server(TOOLS, *SERVER, '-a', 'iwarp:v0', port=18701) as server:
                reaches(peer, server, '10.91.0.1', 'fd91::1')
            here.tool(TOOLS, 'it-ping', '-p', '18701').expect(1, 'port 18701 is in use')
            other.stdin.close()
        with plain_listener(here, '127.0.0.9', 18702) as other:
            with here.server(TOOLS, *SERVER, port=18702) as server:
                reaches(here, server, '127.0.0.1', '::1', '10.91.0.1')
                reaches(peer, server, '10.91.0.1')
            other.stdin.close()
        # The port that the kernel is to choose is never one that is taken somewhere.
        for _ in range(3):
            with here.server(TOOLS, *SERVER) as server:
                reaches(here, server, '127.0.0.1')


def test_two_servers():
    """Two processes have the same port, each on its own interface; no other interface reaches them."""
    with Host(here=True) as here, Host() as peer:
        two_hosts(here, peer)
        here.cable('v1', peer, 'w1')
        here.address('v1', '10.92.0.1/24')
        peer.address('w1', '10.92.0.2/24')
        with here.server(TOOLS, *SERVER, '-a', 'iwarp:v0', port=18703) as first, \
                here.server(TOOLS, *SERVER, '-a', 'iwarp:v1', port=18703):
            reaches(peer, first, '10.91.0.1', '10.92.0.1')
            here.tool(TOOLS, 'it-ping', '-a', 'iwarp:v1', '-p', '18703').expect(1, 'port 18703 is in use')
        with here.server(TOOLS, *SERVER, '-a', 'iwarp:lo', port=18704) as server:
            begin = time.monotonic()
            ping(peer, server, '10.91.0.1').expect(1, 'cannot connect')
            if time.monotonic() - begin > tool_runs.PATIENCE / 2:
                raise tool_runs.Failed('the refusal took too long')
            reaches(here, server, '127.0.0.1')


def test_many_addresses():
    """More addresses than a spigot lists."""
    with Host(here=True) as here, Host() as peer:
        two_hosts(here, peer)
        here.address('v0', *('10.91.0.%d/24' % i for i in range(100, 125)))
        here.address('v0', *('fd91::1:%d/64' % i for i in range(4)))
        for adapter in ('iwarp', 'iwarp:v0'):
            with here.server(TOOLS, *SERVER, '-a', adapter) as server:
                reaches(peer, server, '10.91.0.124', '10.91.0.1', 'fd91::1:3')


def test_many_interfaces():
    """More than 64 interfaces. The last one has the default route."""
    with Host(here=True) as here, Host() as peer:
        lines = []
        for i in range(40):
            lines += ['link add a%d type veth peer name b%d' % (i, i)]
            for name, net in (('a%d' % i, i), ('b%d' % i, 100 + i)):
                lines += ['link set %s up' % name, 'addr add 10.93.%d.1/30 dev %s' % (net, name)]
        batch = subprocess.run(['ip', '-batch', '-'], input='\n'.join(lines), text=True, capture_output=True, check=False)
        if batch.returncode != 0:
            raise tool_runs.Failed('ip -batch: ' + batch.stderr)
        two_hosts(here, peer)
        here.ip('route', 'add', 'default', 'via', '10.91.0.2')
        listed = here.tool(TOOLS, 'it-info').expect(0).out
        if missing := [name for i in range(40) for name in ('a%d' % i, 'b%d' % i) if 'iwarp:%s' % name not in listed]:
            raise tool_runs.Failed('not listed: ' + ' '.join(missing))
        info = here.tool(TOOLS, 'it-info', '--json').expect(0).json()
        spigots = [one['spigots'] for one in info['adapters'] if one['name'] == 'iwarp'][0]
        if len(spigots) != 82:
            raise tool_runs.Failed('%d spigots' % len(spigots))
        with here.server(TOOLS, *SERVER) as server:
            reaches(peer, server, '10.91.0.1')
            reaches(here, server, '10.93.139.1', '127.0.0.1')


def test_no_interface():
    """Each message says what is missing; here, a network interface that is up."""
    with Host() as bare:
        bare.ip('link', 'set', 'lo', 'down')
        done = bare.tool(TOOLS, 'it-ping').expect(1, 'no network interface is up')
        if 'breaks the rules' in done.err:
            raise tool_runs.Failed(done.err)
        bare.ip('link', 'add', 'v0', 'type', 'veth', 'peer', 'name', 'v1')
        bare.tool(TOOLS, 'it-ping', '-a', 'iwarp:v0').expect(1, 'v0 is a network interface that is down')
        bare.tool(TOOLS, 'it-ping', '-a', 'iwarp:v9').expect(1, 'v9 is not a network interface')
        bare.tool(TOOLS, 'it-info').expect(1, 'iwarp', 'no network interface is up')


if __name__ == '__main__':
    net_hosts.enter()
    sys.exit(tool_runs.main([
        ('loopback-network', test_loopback_network),
        ('local-network', test_local_network),
        ('shared-address', test_shared_address),
        ('tentative', test_tentative),
        ('changes', test_changes),
        ('partly-used', test_partly_used),
        ('two-servers', test_two_servers),
        ('many-addresses', test_many_addresses),
        ('many-interfaces', test_many_interfaces),
        ('no-interface', test_no_interface),
    ]))
