#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""Third-party programs over RoCE between two hosts in network namespaces: rows of
doors/verbs/tests/programs_table.py (TAP).

Called as test_roce_programs.py IT-RUN FOLDER quick|all. FOLDER has the table.
"""

import functools
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

RUN, FOLDER, HOW = sys.argv[1:4]
sys.path.insert(0, FOLDER)
import programs_table  # noqa: E402  pylint: disable=wrong-import-position

PORT = 20011
QUICK = ('rping-roce', 'udaddy-roce', 'ibv_ud_pingpong-roce', 'ib_write_bw-roce-R-n-200')
NETS = {'IPv4': ('10.92.0.', 1500), 'IPv6': ('fd92::', 1500), 'IPv4-9000': ('10.92.0.', 9000), 'IPv6-9000': ('fd92::', 9000)}
# Over IPv6: the index of the address among those of the device, and a group of that family; who listens nowhere in particular listens on IPv4.
IPV6 = {'-g 0': '-g 1', '239.1.2.3': 'ff1e::9203', 'ucmatose -p': 'ucmatose -b {address} -p', 'rstream -p': 'rstream -b {address} -p'}
# These exchange their numbers over TCP of IPv4 alone, and then use the GID of the command line.
BY_TCP = ('ibv_', 'ib_', 'ucx_')
NOT_IPV6 = {'qperf': 'qperf resolves IPv4 only', '-R': 'this perftest resolves IPv4 only', 'rdma_client': 'rdma_server listens on IPv4',
            'io_demo': 'io_demo knows addresses of IPv4 only'}


def rows():
    for row in programs_table.ROWS:
        if row.adapters == ('roce:lo',) and row.server and row.result == programs_table.WORKS:
            yield row


class Side:
    """A host, and the environment of its programs."""

    def __init__(self, host, device, own, other, folder, family):
        self.host, self.device, self.family = host, device, family
        self.values = {'port': PORT, 'folder': folder, 'tests': FOLDER, 'machine': '', 'own': own, 'address': other, 'examples': ''}

    def words(self, text):
        values, v6 = dict(self.values), self.family == 'IPv6'
        for old, new in IPV6.items() if v6 else ():
            text = text.replace(old, new)
        if v6 and text.startswith(BY_TCP):
            values['address'] = NETS['IPv4'][0] + '2'
            text += ' --ipv6' if text.startswith('ib_') else ''
        return self.host.within([RUN, '--adapter', 'roce:' + self.device, *text.format(**values).split()])

    def environment(self, row):
        env = {name: text.format(**self.values) for name, text in row.environment.items()}
        if 'UCX_NET_DEVICES' in env:
            env.update(UCX_NET_DEVICES='it_roce_%s:1' % self.device, UCX_IB_GID_INDEX='1' if self.family == 'IPv6' else '0')
        return tool_runs.behind_door(RUN, {**os.environ, **env})


def listens(host, row):
    """Whether the server is ready: it listens at its TCP port, or, for a row with `ready`, the UDP
    port of RoCE is open."""
    if row.ready:
        return re.search(r':4791\s', host.run('ss', '-ulnH').stdout)
    return re.search(r':%d\s' % PORT, host.run('ss', '-tlnH').stdout)


def judge(row, said, status, says, who):
    if status not in ((0,) if who == 'client' or not row.stays else (status,)):
        raise tool_runs.Failed('%s ends with %s: %s' % (who, status, said[-1500:]))
    for expression in says:
        if not re.search(expression, said):
            raise tool_runs.Failed('%s does not say %r: %s' % (who, expression, said[-1500:]))
    for expression in row.silent:
        if re.search(expression, said):
            raise tool_runs.Failed('%s says %r: %s' % (who, expression, said[-1500:]))


def once(row, client, server, peer):
    with subprocess.Popen(server.words(row.server), env=server.environment(row), stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as other:
        try:
            net_hosts.until(lambda: other.poll() is not None or listens(peer, row), row.name + ' listens')
            if row.ready:
                time.sleep(0.3)
            try:
                done = subprocess.run(client.words(row.client), env=client.environment(row), stdin=subprocess.DEVNULL,
                                      stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=tool_runs.PATIENCE / 2, check=False)
            except subprocess.TimeoutExpired as error:
                raise tool_runs.Failed('the client does not end: %s' % (error.output or b'')[-800:]) from error
            judge(row, done.stdout, done.returncode, row.says, 'client')
            if row.stays:
                other.kill()
            judge(row, other.communicate(timeout=tool_runs.PATIENCE / 2)[0], other.returncode, row.server_says, 'server')
        except subprocess.TimeoutExpired as error:
            raise tool_runs.Failed('the server does not end') from error
        finally:
            other.kill()


def between(net, row):
    """The server on one host, the client on the other."""
    prefix, mtu = NETS[net]
    tool_runs.need_installed([name for name in row.programs() if not shutil.which(name)], not row.long)
    for word, why in NOT_IPV6.items() if net.startswith('IPv6') else ():
        if word in row.client.split():
            raise tool_runs.Skipped(why)
    with Host(here=True) as here, Host() as peer, tempfile.TemporaryDirectory() as folder:
        here.cable('v0', peer, 'w0')
        for host, name, last in ((here, 'v0', '1'), (peer, 'w0', '2')):
            host.ip('link', 'set', name, 'mtu', str(mtu))
            host.address(name, '10.92.0.%s/24' % last, 'fd92::%s/64' % last)
        family = net.split('-')[0]
        server = Side(peer, 'w0', prefix + '2', prefix + '2', folder, family)
        client = Side(here, 'v0', prefix + '1', prefix + '2', folder, family)
        for attempt in range(3):
            try:
                return once(row, client, server, peer)
            except tool_runs.Failed as error:
                if attempt == 2 or not row.again or not re.search(row.again, str(error)):
                    raise
    return None


def mpi(transports):
    """MPI with one rank on each of two hosts: a ring and an all-reduce. mpirun starts its processes
    on the other host by a script in place of ssh."""
    tool_runs.need_installed([name for name in ('mpirun', '/usr/lib/python3/dist-packages/mpi4py') if not shutil.which(name) and
                              not os.path.exists(name)], True)
    with Host(here=True) as here, Host() as peer, tempfile.TemporaryDirectory() as folder:
        here.cable('v0', peer, 'w0')
        peer.ip('link', 'set', 'w0', 'down')
        peer.ip('link', 'set', 'w0', 'name', 'v0')      # so that one command fits both
        peer.ip('link', 'set', 'v0', 'up')
        for host, last in ((here, '1'), (peer, '2')):
            host.address('v0', '10.92.0.%s/24' % last, 'fd92::%s/64' % last)
        agent = os.path.join(folder, 'agent')
        with open(agent, 'w', encoding='ascii') as file:
            file.write('#!/bin/sh\nshift\nexec %s sh -c "$*"\n' % ' '.join(peer.within([])))
        os.chmod(agent, 0o755)
        command = ['mpirun', '-n', '2', '--host', '10.92.0.1:1,10.92.0.2:1', '--mca', 'plm_rsh_agent', agent, '--mca', 'pml', 'ucx',
                   '--mca', 'osc', '^ucx', '--mca', 'oob_tcp_if_include', '10.92.0.0/24', '-x', 'UCX_TLS=%s,self' % transports,
                   RUN, '--adapter', 'roce:v0', programs_table.PYTHON, '-B', os.path.join(FOLDER, 'mpi_program.py')]
        # Root is one in a namespace of its own, where this test is not started by root itself.
        root = {'OMPI_ALLOW_RUN_AS_ROOT': '1', 'OMPI_ALLOW_RUN_AS_ROOT_CONFIRM': '1'}
        done = subprocess.run(command, env={**os.environ, **root}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, timeout=tool_runs.PATIENCE, check=False)
        if done.returncode != 0 or '2 ranks: all sums are right' not in done.stdout:
            raise tool_runs.Failed('mpirun ends with %s: %s' % (done.returncode, done.stdout[-1500:]))


if __name__ == '__main__':
    net_hosts.enter()
    wanted = [(net, row) for net in NETS for row in rows()
              if HOW == 'all' or (row.name in QUICK and net == ('IPv6' if row.name.startswith('rping') else 'IPv4'))]
    cases = [('/roce/between/%s/%s' % (net, row.name), functools.partial(between, net, row)) for net, row in wanted]
    if HOW == 'all':
        cases += [('/roce/between/mpi/' + way, functools.partial(mpi, way)) for way in (programs_table.RC_OF_UCX, 'ud_verbs')]
    sys.exit(tool_runs.main(cases))
