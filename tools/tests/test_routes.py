#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""Paths follow the kernel's routing (TAP): hosts with several interfaces, networks and tables; tools and examples.

Called as test_routes.py TOOLS LIST_PATHS PUT KV. Each case has hosts of its own (net_hosts.py).
"""

import json
import re
import subprocess
import sys

import net_hosts
import tool_runs
from net_hosts import Host

TOOLS, LIST, PUT, KV = sys.argv[1:5]


def paths(host, adapter, peer):
    """The paths that list_paths prints, as (number of the spigot, source address)."""
    done = host.run(LIST, adapter, peer)
    if done.returncode != 0:
        raise tool_runs.Failed('list_paths: %s' % done.stderr)
    return [tuple(line.split()) for line in done.stdout.splitlines()]


def expect(host, adapter, peer, *wanted):
    found = paths(host, adapter, peer)
    if found != list(wanted):
        raise tool_runs.Failed('%s to %s: paths %s instead of %s' % (adapter, peer, found, list(wanted)))


def ping(host, server, *arguments):
    host.tool(TOOLS, 'it-ping', '-C', '3', '-p', server.port, *arguments).expect(0)


def put(server_host, client, peer, adapter='iwarp', text='over the right interface'):
    """Both sides of the guide's example."""
    command = server_host.within([PUT, 'iwarp', '18600'])
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) as server:
        try:
            for line in server.stdout:
                if line == 'waiting\n':
                    break
            done = client.run(PUT, adapter, '18600', peer, text)
            if done.returncode != 0:
                raise tool_runs.Failed('put: %s%s' % (done.stdout, done.stderr))
            if 'received: %s\n' % text not in server.stdout.read() or server.wait(tool_runs.PATIENCE) != 0:
                raise tool_runs.Failed('the server of put got no text')
        finally:
            server.kill()


def two_interfaces(here, far, near):
    """Two hosts: the default route leads to `far`; `near` is behind the second interface, and has
    no route to the first network."""
    here.cable('v0', far, 'w0')
    here.cable('v1', near, 'w1')
    here.address('v0', '10.91.0.1/24', 'fd91::1/64')
    here.address('v1', '10.92.0.1/24', 'fd92::1/64')
    far.address('w0', '10.91.0.2/24', 'fd91::2/64')
    near.address('w1', '10.92.0.2/24', 'fd92::2/64')
    here.ip('route', 'add', 'default', 'via', '10.91.0.2')
    here.ip('-6', 'route', 'add', 'default', 'via', 'fd91::2')


def test_second_interface():
    with Host(here=True) as here, Host() as far, Host() as near:
        two_interfaces(here, far, near)
        expect(here, 'iwarp', '10.92.0.2', ('1', '10.92.0.1'))
        expect(here, 'iwarp', 'fd92::2', ('1', 'fd92::1'))
        expect(here, 'iwarp', '10.91.0.2', ('0', '10.91.0.1'))
        expect(here, 'iwarp', '198.51.100.7', ('0', '10.91.0.1'))
        expect(here, 'iwarp', '2001:db8::7', ('0', 'fd91::1'))
        # An adapter of the wrong interface offers nothing, rather than an attempt that times out.
        expect(here, 'iwarp:v0', '10.92.0.2')
        expect(here, 'iwarp:v1', '10.92.0.2', ('0', '10.92.0.1'))
        expect(here, 'iwarp:lo', '10.92.0.2')
        for address in ('10.92.0.2', 'fd92::2'):
            with near.server(TOOLS, 'it-ping') as server:
                ping(here, server, address)
            with near.server(TOOLS, 'it-ping') as server:
                ping(here, server, '-a', 'iwarp:v1', address)
            put(near, here, address)


def test_two_networks():
    """One interface has addresses in two networks: the source address is the one in the peer's
    network."""
    with Host(here=True) as here, Host() as peer:
        here.cable('v0', peer, 'w0')
        here.address('v0', '10.91.0.1/24', '10.92.0.1/24', 'fd91::1/64', 'fd92::1/64')
        peer.address('w0', '10.92.0.2/24', 'fd92::2/64')
        for adapter in ('iwarp', 'iwarp:v0'):
            for address, own in (('10.92.0.2', '10.92.0.1'), ('fd92::2', 'fd92::1')):
                first = paths(here, adapter, address)[0]
                if first != ('0', own):
                    raise tool_runs.Failed('%s to %s: first path %s' % (adapter, address, first))
                with peer.server(TOOLS, 'it-ping') as server:
                    ping(here, server, '-a', adapter, address)
        put(peer, here, '10.92.0.2')


def test_policy():
    """Each address has a routing table of its own: both spigots reach other networks, but only one
    reaches the network of the second."""
    with Host(here=True) as here, Host() as far, Host() as near:
        two_interfaces(here, far, near)
        for number, own, gateway, name in (('101', '10.91.0.1', '10.91.0.2', 'v0'),
                                           ('102', '10.92.0.1', '10.92.0.2', 'v1')):
            here.ip('route', 'add', 'default', 'via', gateway, 'dev', name, 'table', number)
            here.ip('rule', 'add', 'from', own, 'lookup', number, 'priority', number)
        expect(here, 'iwarp', '198.51.100.7', ('0', '10.91.0.1'), ('1', '10.92.0.1'))
        expect(here, 'iwarp', '10.92.0.2', ('1', '10.92.0.1'))
        # A rule for the destination: the kernel sends to it through the second interface.
        here.ip('rule', 'add', 'to', '198.51.100.9', 'lookup', '102', 'priority', '50')
        expect(here, 'iwarp', '198.51.100.9', ('1', '10.92.0.1'))
        near.address('lo', '198.51.100.9/32')
        with near.server(TOOLS, 'it-ping') as server:
            ping(here, server, '198.51.100.9')


def test_source_elsewhere():
    """The route names a source that is an address of the loopback interface, as routing daemons do."""
    with Host(here=True) as here, Host() as peer:
        here.cable('v0', peer, 'w0')
        here.address('v0', '10.91.0.1/24')
        here.address('lo', '192.0.2.55/32')
        peer.address('w0', '10.91.0.2/24')
        peer.address('lo', '198.51.100.7/32')
        peer.ip('route', 'add', '192.0.2.55/32', 'via', '10.91.0.1')
        here.ip('route', 'add', '198.51.100.0/24', 'via', '10.91.0.2', 'src', '192.0.2.55')
        first = paths(here, 'iwarp', '198.51.100.7')[0]
        if first != ('0', '192.0.2.55'):
            raise tool_runs.Failed('the first path is %s' % (first,))
        with peer.server(TOOLS, 'it-ping') as server:
            ping(here, server, '198.51.100.7')


def sent_octets(host, name):
    return json.loads(host.ip('-s', '-j', 'link', 'show', 'dev', name))[0]['stats64']['tx']['bytes']


def test_named_interface():
    """Two routes are equally specific: an adapter of one interface uses its own, whatever the
    kernel prefers."""
    with Host(here=True) as here, Host() as peer:
        here.cable('v0', peer, 'w0')
        here.cable('v1', peer, 'w1')
        here.address('v0', '10.91.0.1/24')
        here.address('v1', '10.92.0.1/24')
        peer.address('w0', '10.91.0.2/24')
        peer.address('w1', '10.92.0.2/24')
        peer.address('lo', '198.51.100.7/32')
        here.ip('route', 'add', 'default', 'via', '10.91.0.2', 'metric', '10')
        here.ip('route', 'add', 'default', 'via', '10.92.0.2', 'metric', '20')
        expect(here, 'iwarp', '198.51.100.7', ('0', '10.91.0.1'))
        expect(here, 'iwarp:v1', '198.51.100.7', ('0', '10.92.0.1'))
        before = sent_octets(here, 'v1')
        with peer.server(TOOLS, 'it-ping') as server:
            here.tool(TOOLS, 'it-ping', '-C', '50', '-S', '4k', '-p', server.port, '-a', 'iwarp:v1',
                      '198.51.100.7').expect(0)
        after = sent_octets(here, 'v1')
        if after - before < 50 * 4096:
            raise tool_runs.Failed('only %d octets went through the named interface' % (after - before))


def test_several_hops():
    """A route with two next hops: each spigot offers its own address."""
    with Host(here=True) as here, Host() as far, Host() as near:
        two_interfaces(here, far, near)
        here.ip('route', 'add', '203.0.113.0/24', 'nexthop', 'via', '10.91.0.2', 'nexthop', 'via', '10.92.0.2')
        expect(here, 'iwarp', '203.0.113.7', ('0', '10.91.0.1'), ('1', '10.92.0.1'))
        here.ip('route', 'add', 'unreachable', '203.0.113.128/25')
        expect(here, 'iwarp', '203.0.113.200')


def test_own_addresses():
    """Peers on this host: the source for an address of an interface is that address; for 127.0.1.1
    it is the one that the kernel chooses."""
    with Host(here=True) as here, Host() as peer:
        here.cable('v0', peer, 'w0')
        here.address('v0', '10.91.0.1/24', 'fd91::1/64')
        for address in ('10.91.0.1', 'fd91::1'):
            if paths(here, 'iwarp:v0', address)[0] != ('0', address):
                raise tool_runs.Failed('the source of %s is another' % address)
        expect(here, 'iwarp:lo', '127.0.1.1', ('0', '127.0.0.1'))
        expect(here, 'iwarp:lo', '::1', ('0', '::1'))
        expect(here, 'iwarp:lo', 'fd91::1', ('0', '::1'))


def kv(server_host, client, peer):
    command = server_host.within([KV, 'iwarp', '18601'])
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) as server:
        try:
            server.stdout.readline()
            for words in (('put', 'colour', 'blue'), ('get', 'colour')):
                done = client.run(KV, 'iwarp', '18601', peer, *words)
                if done.returncode != 0:
                    raise tool_runs.Failed('kv: %s%s' % (done.stdout, done.stderr))
            if not re.search('blue', done.stdout):
                raise tool_runs.Failed('kv get: ' + done.stdout)
        finally:
            server.kill()


def test_store():
    with Host(here=True) as here, Host() as far, Host() as near:
        two_interfaces(here, far, near)
        kv(near, here, '10.92.0.2')


if __name__ == '__main__':
    net_hosts.enter()
    sys.exit(tool_runs.main([
        ('second-interface', test_second_interface),
        ('two-networks', test_two_networks),
        ('policy', test_policy),
        ('source-elsewhere', test_source_elsewhere),
        ('named-interface', test_named_interface),
        ('several-hops', test_several_hops),
        ('own-addresses', test_own_addresses),
        ('store', test_store),
    ]))
