#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""Names and addresses of servers on the command line, and messages when a host lacks something
(TAP).

Called as test_names.py TOOLS. Each case has hosts of its own (net_hosts.py).
"""

import os
import re
import sys
import tempfile

import net_hosts
import tool_runs
from net_hosts import Host

TOOLS = sys.argv[1]
SERVER = ('it-ping', '-P')


def ping(host, *arguments):
    return host.tool(TOOLS, 'it-ping', '-C', '2', *arguments)


def two_hosts(here, peer):
    here.cable('v0', peer, 'w0')
    here.address('v0', '10.91.0.1/24', 'fd91::1/64')
    peer.address('w0', '10.91.0.2/24', 'fd91::2/64')


def test_forms():
    """Each tool accepts each form of a server's address; a port may be part of it."""
    with Host(here=True) as here, Host() as peer, tool_runs.Folder() as folder:
        two_hosts(here, peer)
        file = folder.file('sent', b'text')
        for address in ('[fd91::2]', '10.91.0.2', 'fd91::2'):
            with peer.server(TOOLS, *SERVER) as server:
                ping(here, '-p', server.port, address).expect(0)
                if address != 'fd91::2':
                    ping(here, '%s:%s' % (address, server.port)).expect(0)
            with peer.server(TOOLS, 'it-test', '-P') as server:
                here.tool(TOOLS, 'it-test', '-p', server.port, address, 'client', 'SR', '100').expect(0)
                if address != 'fd91::2':
                    here.tool(TOOLS, 'it-test', '%s:%s' % (address, server.port), 'client', 'SR', '100').expect(0)
        with peer.server(TOOLS, 'it-cp', '-P', '--serve', folder.served) as server:
            here.tool(TOOLS, 'it-cp', '-p', server.port, file, '[fd91::2]:one').expect(0)
            here.tool(TOOLS, 'it-cp', file, '[fd91::2]:%s:two' % server.port).expect(0)
            here.tool(TOOLS, 'it-cp', '-p', server.port, file, '10.91.0.2:three').expect(0)
        if folder.names() != ['one', 'three', 'two']:
            raise tool_runs.Failed('served: %s' % folder.names())
        for wrong, says in (('[fd91::2', '[ADDRESS]'), ('[fd91::2]x', '[ADDRESS]'), ('10.91.0.2:', 'not a port'),
                            ('10.91.0.2:70000', 'not a port'), (':7471', 'names no host'), ('[]', 'names no host')):
            ping(here, wrong).expect(2, says)
        # The message has the form that is accepted.
        done = ping(here, '-p', '9', '[fd91::2]').expect(1, '[fd91::2]:9')
        if 'nobody listens' not in done.err:
            raise tool_runs.Failed(done.err)


def link_address(host, name):
    return re.search(r'inet6 (fe80:[0-9a-f:]*)/', host.ip('-6', 'addr', 'show', 'dev', name)).group(1)


def test_zones():
    """A link-local address needs the name of its interface, and belongs to that interface."""
    with Host(here=True) as here, Host() as first, Host() as second:
        for name, host, other in (('v0', first, 'w0'), ('v1', second, 'w1')):
            here.cable(name, host, other)
            here.address(name, 'fe80::1/64')
            host.address(other, 'fe80::2/64')
        here.address('v0', '10.91.0.1/24')
        with second.server(TOOLS, *SERVER) as server:
            for address in ('fe80::2%v1', '[fe80::2%v1]', link_address(second, 'w1') + '%v1'):
                ping(here, '-p', server.port, address).expect(0)
            ping(here, '-p', server.port, '-a', 'iwarp:v1', 'fe80::2').expect(0)
            ping(here, '-p', server.port, 'fe80::2%v0').expect(1, 'cannot connect')
            ping(here, '-p', server.port, 'fe80::2').expect(2, 'fe80::2%eth0')
            ping(here, '-p', server.port, 'fe80::2%nosuch').expect(1, 'cannot find the host')
        with second.server(TOOLS, 'it-test', '-P') as server:
            for address in ('fe80::2%v1', '[fe80::2%%v1]:%s' % server.port):
                here.tool(TOOLS, 'it-test', '-p', server.port, address, 'client', 'SR', '100').expect(0)
            here.tool(TOOLS, 'it-test', '-p', server.port, 'fe80::2%v0', 'client', 'SR', '1').expect(1, 'cannot connect')
            here.tool(TOOLS, 'it-test', '-p', server.port, 'fe80::2', 'client', 'SR', '1').expect(2, 'fe80::2%eth0')
        with tool_runs.Folder() as folder, second.server(TOOLS, 'it-cp', '-P', '--serve', folder.served) as server:
            file = folder.file('sent', b'text')
            here.tool(TOOLS, 'it-cp', '-p', server.port, file, '[fe80::2%v1]:one').expect(0)
            here.tool(TOOLS, 'it-cp', file, '[fe80::2%%v1]:%s:two' % server.port).expect(0)
            here.tool(TOOLS, 'it-cp', '-p', server.port, file, '[fe80::2%v0]:three').expect(1, 'cannot connect')
            here.tool(TOOLS, 'it-cp', '-p', server.port, file, '[fe80::2]:four').expect(2, 'fe80::2%eth0')
            if folder.names() != ['one', 'two']:
                raise tool_runs.Failed('served: %s' % folder.names())


def named(host, lines, tool, *arguments):
    """Runs a tool on a host whose /etc/hosts contains those lines."""
    with tempfile.NamedTemporaryFile('w', suffix='.hosts') as file:
        file.write(lines)
        file.flush()
        os.chmod(file.name, 0o644)
        script = 'mount --bind "$1" /etc/hosts && shift && exec "$@"'
        words = tool_runs.command(TOOLS, tool, list(arguments))
        done = host.run('unshare', '-m', 'sh', '-c', script, 'sh', file.name, *words)
        return tool_runs.Done(done.returncode, done.stdout, done.stderr)


def test_several():
    """The addresses of a name are tried in turn."""
    with Host(here=True) as here, Host() as peer, Host() as other:
        two_hosts(here, peer)
        here.cable('v1', other, 'w1')
        here.address('v1', '10.92.0.1/24')
        other.address('w1', '10.92.0.2/24')
        if named(here, '127.0.0.1 x\n', 'it-ping', '--version').status != 0:
            raise tool_runs.Skipped('no mount namespace can be made here')
        lines = ''.join('%s many\n' % one for one in ('fd91::2', '10.92.0.2', '198.51.100.1', '10.91.0.2'))
        two = '10.92.0.2 many\n10.91.0.2 many\n'
        with peer.server(TOOLS, *SERVER, '-a', 'iwarp:w0') as server:
            said = [named(here, hosts, 'it-ping', '-C', '2', '-p', server.port, 'many').expect(0).err for hosts in (lines, two)]
            # A server that refuses is an answer.
            done = named(here, '10.91.0.2 many\n10.92.0.2 many\n', 'it-ping', '-C', '2', '--rping', '-p', server.port, 'many').expect(1)
            if '10.92.0.2' in done.err:
                raise tool_runs.Failed(done.err)
        with peer.server(TOOLS, 'it-test', '-P', '-a', 'iwarp:w0') as server:
            for hosts in (lines, two):
                said.append(named(here, hosts, 'it-test', '-p', server.port, 'many', 'client', 'SR', '100').expect(0).err)
            said.append(named(here, two, 'it-test', 'many:%s' % server.port, 'client', 'SR', '100').expect(0).err)
        with tool_runs.Folder() as folder, peer.server(TOOLS, 'it-cp', '-P', '-a', 'iwarp:w0', '--serve', folder.served) as server:
            file = folder.file('sent', b'text')
            for hosts, to in ((lines, 'many:one'), (two, 'many:two')):
                said.append(named(here, hosts, 'it-cp', '-p', server.port, file, to).expect(0).err)
            if folder.names() != ['one', 'two']:
                raise tool_runs.Failed('served: %s' % folder.names())
            # What was tried is said.
            for words in (('it-ping', '-p', '9', 'many'), ('it-test', '-p', '9', 'many', 'client', 'SR', '1'),
                          ('it-cp', '-p', '9', file, 'many:three')):
                named(here, two, *words).expect(1, 'at 10.92.0.2', 'at 10.91.0.2')
        if any('cannot' in one for one in said):
            raise tool_runs.Failed(''.join(said))


def test_no_path():
    with Host(here=True) as here, Host() as peer:
        two_hosts(here, peer)
        ping(here, '198.51.100.1').expect(1, "no path to '198.51.100.1'", 'route')
        ping(here, '-a', 'iwarp:lo', '10.91.0.2').expect(1, 'iwarp:lo has no path')


def test_ports_exhausted():
    with Host(here=True) as here, Host() as peer:
        two_hosts(here, peer)
        here.set('ipv4/ip_local_port_range', '40000 40001')
        with peer.server(TOOLS, 'it-test', '-P') as server:
            here.tool(TOOLS, 'it-test', '-p', server.port, '-t', '1', '-e', '8', '10.91.0.2', 'client', 'SR', '1').expect(
                1, 'no local TCP port is left', 'ip_local_port_range')


def test_trace():
    """If the folder for traces cannot be used, a message says so and the program goes on."""
    with Host(here=True) as here:
        for folder, why in (('/nonexistent', 'No such file'), ('/proc', ''), ('/dev/null', 'Not a directory')):
            done = here.tool(TOOLS, 'it-ping', '--self', '-C', '1', '-a', 'emul:ib', env={**os.environ, 'ITAPI_TRACE': folder})
            done.expect(0, 'ITAPI_TRACE', why)


if __name__ == '__main__':
    net_hosts.enter()
    sys.exit(tool_runs.main([
        ('forms', test_forms),
        ('zones', test_zones),
        ('several', test_several),
        ('no-path', test_no_path),
        ('ports-exhausted', test_ports_exhausted),
        ('trace', test_trace),
    ]))
