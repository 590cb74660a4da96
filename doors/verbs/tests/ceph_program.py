# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""A cluster of Ceph whose daemons communicate by RDMA: a monitor, an OSD that stores in memory, and
clients that store an object, read it back and compare it.

Usage: ceph_program.py DEVICE ADDRESS PORT FOLDER

All run behind the door, since they are children of this program. Ceph exchanges the numbers of
queue pairs over TCP; on iWARP it connects by rdma_cm instead. Each process has a loopback
address of its own for RoCE.
"""

import os
import subprocess
import sys
import time

CLUSTER, OSD = '6b8d2b5a-0f5e-4f0c-9c4e-3d7f5f3b1a11', '11111111-0f5e-4f0c-9c4e-3d7f5f3b1a11'
PATIENCE = 100          # s
SIZE = 5 << 20
# Buffers are 128 KiB each, and by default 4 GiB a process. The OSD needs an address, since it takes none of a loopback by itself.
CONFIGURATION = '''[global]
fsid = {cluster}
mon host = 127.0.0.1:{port}
public addr = 127.0.0.1
cluster addr = 127.0.0.1
auth cluster required = none
auth service required = none
auth client required = none
ms type = async+rdma
ms async rdma device name = {device}
ms async rdma cm = {cm}
ms async rdma type = {kind}
ms async rdma receive buffers = 1024
ms async rdma receive queue len = 512
ms async rdma send buffers = 256
mon data = {folder}/mon
mon allow pool size one = true
osd data = {folder}/osd
osd objectstore = memstore
memstore device bytes = 8589934592
osd crush chooseleaf type = 0
osd pool default size = 1
osd pool default min size = 1
run dir = {folder}
admin socket =
log file =
keyring = {folder}/keyring
'''


class Cluster:
    """The processes, in a folder."""

    def __init__(self, device, address, port, folder):
        self.folder, self.file = folder, os.path.join(folder, 'ceph.conf')
        self.network = address.rsplit('.', 1)[0]
        self.used = 1
        self.daemons = []
        iwarp = 'iwarp' in device
        with open(self.file, 'w', encoding='ascii') as file:
            file.write(CONFIGURATION.format(cluster=CLUSTER, port=port, device=device, cm=str(iwarp).lower(),
                                            kind='iwarp' if iwarp else 'ib', folder=folder))
        for name in ('mon', 'osd'):
            os.mkdir(os.path.join(folder, name))

    def environment(self):
        self.used += 1
        return {**os.environ, 'ITAPI_ROCE_ADDRESS': '%s.%d' % (self.network, self.used)}

    def words(self, program, *words):
        return [program, *([] if program.endswith('tool') else ['-c', self.file]), *words]

    def run(self, *words):
        """Runs a program that ends."""
        done = subprocess.run(self.words(*words), env=self.environment(), cwd=self.folder, stdin=subprocess.DEVNULL, text=True,
                              stdout=subprocess.PIPE, timeout=PATIENCE, check=False)
        if done.returncode != 0:
            sys.exit('%s: status %d: %s' % (' '.join(words), done.returncode, done.stdout))
        return done.stdout

    def start(self, *words):
        self.daemons.append(subprocess.Popen(self.words(*words), env=self.environment(), cwd=self.folder, stdin=subprocess.DEVNULL,
                                             stdout=subprocess.DEVNULL))

    def until(self, said, *words):
        end = time.monotonic() + PATIENCE
        while said not in self.run(*words):
            if time.monotonic() > end or any(daemon.poll() is not None for daemon in self.daemons):
                sys.exit('%s never says "%s"' % (' '.join(words), said))
            time.sleep(0.2)

    def end(self):
        for daemon in self.daemons:
            daemon.kill()
            daemon.wait()


def serve(cluster, port):
    """The monitor, the OSD and a pool."""
    cluster.run('monmaptool', '--create', '--add', 'a', '127.0.0.1:' + port, '--fsid', CLUSTER, 'monmap')
    cluster.run('ceph-authtool', '--create-keyring', 'keyring', '--gen-key', '-n', 'mon.', '--cap', 'mon', 'allow *')
    cluster.run('ceph-authtool', 'keyring', '--gen-key', '-n', 'client.admin', '--cap', 'mon', 'allow *', '--cap', 'osd', 'allow *')
    cluster.run('ceph-mon', '--mkfs', '-i', 'a', '--monmap', 'monmap', '--keyring', 'keyring')
    cluster.start('ceph-mon', '-f', '-i', 'a')
    cluster.run('ceph', 'osd', 'new', OSD)
    cluster.run('ceph', 'osd', 'crush', 'add', 'osd.0', '1.0', 'root=default', 'host=here')
    cluster.run('ceph-osd', '-i', '0', '--mkfs', '--osd-uuid', OSD)
    cluster.start('ceph-osd', '-f', '-i', '0')
    cluster.until('1 up', 'ceph', 'osd', 'stat')
    cluster.run('ceph', 'osd', 'pool', 'create', 'pool', '8', '8', 'replicated')


def main(device, address, port, folder):
    cluster = Cluster(device, address, port, folder)
    octets = os.urandom(SIZE)
    with open(os.path.join(folder, 'in'), 'wb') as file:
        file.write(octets)
    try:
        serve(cluster, port)
        cluster.run('rados', '-p', 'pool', 'put', 'object', 'in')
        cluster.run('rados', '-p', 'pool', 'get', 'object', 'out')
        with open(os.path.join(folder, 'out'), 'rb') as file:
            print('the object is', 'the same' if file.read() == octets else 'ANOTHER ONE')
        # It reads them with a comparison.
        print(cluster.run('rados', '-p', 'pool', 'bench', '2', 'write', '-b', '65536', '-t', '4', '--no-cleanup'))
        print(cluster.run('rados', '-p', 'pool', 'bench', '2', 'seq', '-t', '4'))
    finally:
        cluster.end()


if __name__ == '__main__':
    main(*sys.argv[1:])
