# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""Programs of Debian that run behind the door, one row each: how both sides are started, and how the result is judged.

The page doc/verbs.md has the same rows, with their results (test_programs.py --record).
"""

import os
import dataclasses
import re

WORKS, DIFFERS, REFUSED = 'works', 'differs', 'refused'

# Words that are replaced in a command line: {port}, {address}, {folder} (the row's own), {tests}
# (this folder), {examples} (those of the manual), {build} (the programs built in this folder).
LOOPBACK, LOOPBACK6 = '127.0.0.1', '::1'


@dataclasses.dataclass
class Row:
    """A program. Without a server it runs alone."""

    name: str                   # of the row, unique
    title: str                  # of the page: what a user types, shortly
    client: str                 # its command line
    server: str = ''            # that of the other side
    result: str = WORKS
    why: str = ''               # what differs, or why it is refused; for the page
    needs: tuple = ()           # further programs or files
    says: tuple = ()            # expressions that the client's output has; the last words of each, as a rule
    server_says: tuple = ()
    silent: tuple = ()          # expressions that neither says
    status: tuple = (0,)        # of the client
    stays: bool = False         # the server does not end by itself
    port: int = 0               # at which it listens; 0: one of the test's
    ready: str = ''             # the file of {folder} that says so, if no TCP port does
    adapters: tuple = ('iwarp:lo',)
    address: str = LOOPBACK
    environment: dict = dataclasses.field(default_factory=dict)
    alone: str = ''             # rows with the same word do not run at once
    again: str = ''             # if the client says this, the row is run once more
    judge: str = ''             # the name of a function of test_programs.py, for what no output tells
    long: bool = False          # not in the quick runs
    no_tsan: str = ''           # why it cannot run with the runtime of ThreadSanitizer, whatever the door does

    def programs(self):
        """Returns the programs that must be installed for this row."""
        return (*{command.split()[0] for command in (self.client, self.server) if command and '{' not in command.split()[0]},
                *self.needs)


def perftest(tool, options='', size='', **more):
    """A row for a program of perftest over rdma_cm. Its table must end with a row of figures that
    begins with the size."""
    words = ' '.join(filter(None, [tool, '-R -F -p {port}', options]))
    return Row(name='-'.join(filter(None, [tool, *re.findall(r'[\w]+', options)])), title=f'{tool} -R {options}',
               client=words + ' {address}', server=words, says=(r'\n ' + (size or r'\d+') + r' +\d+ +[\d.]+ +[\d.]+',),
               silent=(r'(?i)failed', r'(?i)couldn.t'), again=CLOSED_FOR_A_MOMENT, **more)


# The server of perftest closes its listener after the first connection and opens it again for the
# next ones. A client that connects in between is refused for good if that takes longer than the
# attempt is repeated, which happens on a busy machine.
CLOSED_FOR_A_MOMENT = r'RDMA_CM_EVENT_REJECTED; error: -111\.'


def dapltest(name, client, says, **more):
    """A row for a client of dapltest, whose exit status does not show failures. Its server is ended
    by another client."""
    return Row(name='dapltest-' + name, title='dapltest -T ' + client.split()[0],
               client='dapltest -T %s -D ofa-lo %s' % tuple(client.split(None, 1)), server='dapltest -T S -D ofa-lo', port=62000,
               stays=True, alone='dapltest', says=says, judge='quits_dapltest',
               silent=(r'(?i)\berror\b', r'(?i)\bfail', r'DAT_(?!SUCCESS)\w*ERR', 'mismatch'), **DAT, **more)


# The provider that Debian's DAPL has for rdma_cm, and a file that names it; the device is of the interface lo.
DAT = {'environment': {'DAT_OVERRIDE': '{examples}/dat.conf'}, 'needs': ('/usr/lib/{machine}/libdaplofa.so.2',)}

FIO = 'fio --ioengine=rdma --port={port} --bs=64k --size=2m --iodepth=4'
# Sockets that are rsockets, by a preload of librdmacm's own.
# What each test of qperf takes.
SECONDS = os.environ.get('ITAPI_TEST_SECONDS', '1')
RSOCKETS = '/usr/lib/{machine}/rsocket/librspreload.so'

# Both sides of a row on shm:ib meet in a folder of the row's own, which has a file for each service and group.
SHM = {'adapters': ('shm:ib',), 'environment': {'XDG_RUNTIME_DIR': '{folder}'}}
FABRIC = 'itapi/fabric/default/'
BY_NAME = {**SHM, 'ready': FABRIC + 'ib.port-{port}'}


# The sides of a row on roce:lo have different addresses, since an address serves one process. An
# adapter of the loopback interface takes its address when it is opened, which is shortly before
# the program listens.
ROCE = {'adapters': ('roce:lo',), 'address': '{roce}', 'again': r'RDMA_CM_EVENT_REJECTED'}
BY_ROCE = {**ROCE, 'ready': '{roce}'}


def pingpong_roce(kind, **more):
    words = 'ibv_%s_pingpong -g 0 -n 200 -p {port}' % kind
    return Row(name='ibv_%s_pingpong-roce' % kind, title='ibv_%s_pingpong' % kind, client=words + ' {address}', server=words,
               says=('200 iters in',), server_says=('200 iters in',), **ROCE, **more)


def perftest_roce(tool, options='', size='', **more):
    """A row for a program of perftest on RoCE; with -R it connects by rdma_cm."""
    words = ' '.join(filter(None, [tool, '-F -p {port}', options]))
    return Row(name='-'.join(filter(None, [tool, 'roce', *re.findall(r'[\w]+', options)])), title=f'{tool} {options}',
               client=words + ' {address}', server=words, says=(r'\n ' + (size or r'\d+') + r' +\d+ +[\d.]+ +[\d.]+',),
               silent=(r'(?i)failed', r'(?i)couldn.t'), **{**(BY_ROCE if '-R' in options else ROCE), **more})


def pingpong(kind):
    words = 'ibv_%s_pingpong -g 0 -n 200 -p {port}' % kind
    return Row(name='ibv_%s_pingpong-shm' % kind, title='ibv_%s_pingpong' % kind, client=words + ' {address}', server=words,
               says=('200 iters in',), server_says=('200 iters in',), **SHM)


def waits(options, why):
    """A row for a mode in which ib_send_bw deadlocks on iWARP, where its server writes credits into
    the client's memory. It hung in 5 of 5 runs with these options, and in some runs with other
    options that include -e, or --use-srq and several queue pairs.
    """
    return dataclasses.replace(perftest('ib_send_bw', options), judge='waits_for_itself', says=(), silent=(), again='', stays=True,
                               long=True, result=DIFFERS, why=why)


def perftest_by_number(tool, options='', size='', **more):
    """A row for a program of perftest over shm; it exchanges the numbers of queue pairs itself,
    unless -R is given."""
    words = ' '.join(filter(None, [tool, '-F -p {port}', options]))
    return Row(name='-'.join(filter(None, [tool, 'shm', *re.findall(r'[\w]+', options)])), title=f'{tool} {options}',
               client=words + ' {address}', server=words, says=(r'\n ' + (size or r'\d+') + r' +\d+ +[\d.]+ +[\d.]+',),
               silent=(r'(?i)failed', r'(?i)couldn.t'), **{**SHM, **more})


# ucx_info crashes so with the runtime alone.
HOOKS = 'the hooks of UCX into functions for memory crash in the runtime of ThreadSanitizer'


def ucx(transports, test, title, base=SHM):
    """A row for a test of UCX that may use only these transports."""
    where = '' if base is SHM else '-roce'
    environment = {**base.get('environment', {}), 'UCX_TLS': transports + ',self', 'UCX_NET_DEVICES': device_of(base) + ':1'}
    return Row(name='-'.join(['ucx_perftest', transports.split(',')[0], test.split()[0]]) + where, title=title, server='ucx_perftest -p {port}',
               client='ucx_perftest {address} -p {port} -n 200 -t ' + test, says=(r'Final: +200 ',), silent=('ERROR',),
               no_tsan=HOOKS, **{**base, 'environment': environment})


def ucx_by_rdma_cm(base):
    """A row for UCX's example io_demo: Reads and Writes between a client and a server that connect
    by rdma_cm; each payload is compared."""
    environment = {**base.get('environment', {}), 'UCX_TLS': RC_OF_UCX + ',self', 'UCX_NET_DEVICES': device_of(base) + ':1',
                   'UCX_SOCKADDR_TLS_PRIORITY': 'rdmacm'}
    words = 'io_demo -p {port} -q -d 512:65536'
    return Row(name='io_demo-' + base['adapters'][0].replace(':', '-'), title='io_demo of UCX, connected by rdma_cm',
               client=words + ' -i 200 -o read,write -c 1 {address}', server=words, stays=True, says=("Client exit with status 'OK'",),
               silent=('ERROR', 'rror status', 'rejected'), no_tsan=HOOKS, **{**base, 'environment': environment})


def device_of(base):
    """The device of its adapter."""
    return 'it_' + base['adapters'][0].replace(':', '_')


def mpi(name, title, options, base=SHM, address=LOOPBACK, **environment):
    """A row for four ranks of Open MPI on this host."""
    env = {**base.get('environment', {}), 'OMPI_ALLOW_RUN_AS_ROOT': '1', 'OMPI_ALLOW_RUN_AS_ROOT_CONFIRM': '1', **environment}
    return Row(name='mpi-' + name, title=title, client='mpirun -n 4 --oversubscribe %s %s -B {tests}/mpi_program.py' % (options, PYTHON),
               says=('4 ranks: all sums are right',), alone='mpi',
               needs=(PYTHON, '/usr/lib/python3/dist-packages/mpi4py'), **{**base, 'environment': env, 'address': address})


def mpi_by_ucx(name, title, transports, base=SHM):
    row = mpi(name, title, OVER_UCX, base, UCX_TLS=transports + ',self', UCX_NET_DEVICES=device_of(base) + ':1')
    return dataclasses.replace(row, no_tsan=HOOKS)


def mpi_windows(suffix, base):
    """A row for one-sided communication of MPI: RDMA Writes, Reads and atomics by UCX."""
    row = late(mpi_by_ucx('windows' + suffix, 'Open MPI by UCX, rc_verbs, one-sided', RC_OF_UCX, base))
    return dataclasses.replace(row, client=row.client.replace(OVER_UCX, '--mca pml ucx --mca osc ucx')
                               .replace('mpi_program', 'mpi_windows_program'), says=('4 ranks: all windows are right',))


def netpipe(base):
    """A row for NetPIPE: two ranks of MPICH on this host, which check each message."""
    environment = {**base.get('environment', {}), 'UCX_TLS': RC_OF_UCX + ',self', 'UCX_NET_DEVICES': device_of(base) + ':1'}
    return Row(name='netpipe-' + base['adapters'][0].replace(':', '-'), title='NetPIPE, MPICH by UCX, rc_verbs',
               client='mpirun.mpich -n 2 NPmpich2 -i -u 1000000 -o {folder}/out', needs=('NPmpich2',), alone='mpi', no_tsan=HOOKS, long=True,
               says=(r' 786433 bytes +\d+ times --> +Integrity check passed',), silent=('(?i)failed',),
               **{**base, 'environment': environment, 'address': LOOPBACK})


def hpcc(transports):
    """A row for the HPC Challenge, whose tests check what they compute."""
    transport = transports.split(',', maxsplit=1)[0]
    row = mpi_by_ucx('hpcc', 'HPC Challenge, Open MPI by UCX, ' + transport, transports)
    return dataclasses.replace(row, name='hpcc-' + transport, client='python3 -B {tests}/hpcc_program.py {folder}', long=True,
                               needs=('hpcc', 'mpirun'), says=(r'Found 0 errors', r'PASSED', r'\nSuccess=1\n'),
                               silent=('FAILED', r'Found [1-9]\d* errors'))


def late(row):
    """Returns the row for long runs only: it takes many seconds of processor time, and a similar row
    is in the quick runs."""
    return dataclasses.replace(row, long=True)


def migration(adapter, **more):
    """A row for the migration of a QEMU guest to another QEMU of this host."""
    return Row(name='qemu-' + adapter.replace(':', '-'), title='QEMU, migration of a guest to rdma:HOST:PORT',
               client='python3 -B {tests}/migration_program.py {address} {port} {folder}', needs=('qemu-system-x86_64',),
               says=('the memory of both guests is the same; what was loaded is there',),
               no_tsan='QEMU without a door ends with the status of ThreadSanitizer, too', **more)


def iscsi(adapter, **more):
    """A disk by iSER."""
    return Row(name='iser-' + adapter.replace(':', '-'), title='tgtd and iscsi-test-cu, iSER',
               client='python3 -B {tests}/iscsi_program.py {address} {folder}', needs=('/usr/sbin/tgtd', 'iscsi-test-cu'), alone='iser',
               says=('Suite: Verify10\n +Test: Simple ...passed', r'asserts +1024 +1024 +1024 +0 '),
               no_tsan='libiscsi reads what it has not set: it fails with MALLOC_PERTURB_, too', **more)


def rpma(base):
    """librpma: its far memory is a region that is read, written and flushed."""
    return Row(name='rpma-' + device_of(base)[3:].replace('_', '-'), title='a program of librpma: Read, Write, flush, atomic Write, Send',
               client='{build}/rpma-program {address} {port}', needs=('{build}/rpma-program',), says=('^all octets are right',), long=True, **base)


def gloo(base):
    """Gloo, which PyTorch uses. The ranks of a device that has addresses have one each."""
    return Row(name='gloo-' + device_of(base)[3:].replace('_', '-'), title='a program of Gloo, its ibverbs transport: all-reduce, broadcast, barrier',
               client='{build}/gloo-program 3 %s 0 {folder}' % device_of(base), needs=('{build}/gloo-program',),
               says=('3 ranks: all results are right',), long=True, **{**base, 'address': LOOPBACK})


def ceph(base):
    """A cluster on this host."""
    device = device_of(base)
    return Row(name='ceph-' + device[3:].replace('_', '-'), title='Ceph: a monitor, an OSD and rados, `ms type = async+rdma`',
               client='python3 -B {tests}/ceph_program.py %s {address} {port} {folder}' % device, alone='ceph',
               needs=('ceph-mon', 'ceph-osd', 'rados', 'monmaptool'), long=True,
               says=('the object is the same', r'Total writes made: +[1-9]\d\d', r'Total reads made: +[1-9]\d\d'),
               **base)


PYTHON = '/usr/bin/python3'     # Debian's, for which mpi4py is
OVER_UCX = '--mca pml ucx --mca osc ^ucx'
OVER_OFI = '--mca pml cm --mca mtl ofi --mca mtl_ofi_provider_include '
RC_OF_UCX = 'rc_verbs,ud_verbs:aux'

ROWS = [
    Row('ibv_devices', 'ibv_devices', 'ibv_devices', adapters=('iwarp', 'emul:ib'),
        says=(r'it_iwarp_lo\s+[0-9a-f]{16}\n', r'it_emul_ib\s+[0-9a-f]{16}\n')),
    Row('ibv_devinfo', 'ibv_devinfo -v', 'ibv_devinfo -v', adapters=('iwarp:lo', 'emul:ib'),
        says=(r'hca_id:\s+it_iwarp_lo\n\s+transport:\s+iWARP', r'hca_id:\s+it_emul_ib\n\s+transport:\s+InfiniBand',
              r'state:\s+PORT_ACTIVE', r'GID\[ +0\]:\s+0000:0000:0000:0000:0000:ffff:7f00:0001'), silent=('Failed', 'Unable')),
    Row('ibv_asyncwatch', 'ibv_asyncwatch', 'ibv_asyncwatch -d it_iwarp_watched', judge='watches_a_link', adapters=('iwarp',)),
    Row('rping', 'rping', 'rping -c -a {address} -p {port} -C 10', 'rping -s -a {address} -p {port} -C 10'),
    Row('rping-verified', 'rping -V, 65535 bytes', 'rping -c -a {address} -p {port} -C 20 -V -v -S 65535',
        'rping -s -a {address} -p {port} -C 20 -V -v -S 65535', says=(r'rdma-ping-19: ',)),
    Row('rping-ipv6', 'rping -V over IPv6', 'rping -c -a {address} -p {port} -C 10 -V -v',
        'rping -s -a {address} -p {port} -C 10 -V -v', address=LOOPBACK6, says=(r'rdma-ping-9: ',)),
    Row('rping-persistent', 'rping -s -P', 'rping -c -a {address} -p {port} -C 3 -V -v', 'rping -s -P -a {address} -p {port}',
        stays=True, judge='again', says=(r'rdma-ping-2: ',)),
    Row('ucmatose', 'ucmatose', 'ucmatose -s {address} -p {port} -c 5 -C 10', 'ucmatose -p {port} -c 5 -C 10',
        says=(r'data transfers complete', r'return status 0')),
    Row('rdma_client', 'rdma_server, rdma_client', 'rdma_client -s {address} -p {port}', 'rdma_server -p {port}',
        says=(r'rdma_client: end 0',), server_says=(r'rdma_server: end 0',)),
    Row('cmtime', 'cmtime', 'cmtime -s {address} -p {port} -c 50', 'cmtime -b {address} -p {port} -c 50', stays=True,
        says=(r'\nconnect +: +[\d.]+', r'\ndestroy +: +[\d.]+')),
    Row('rstream', 'rstream -T v', 'rstream -s {address} -p {port} -T v -S 65536 -C 50 -I 10',
        'rstream -p {port} -T v -S 65536 -C 50 -I 10', says=(r'\ncustom +64k +50 +10 ',), silent=('data verification failed',)),
    Row('rstream-nonblocking', 'rstream -T v -T n', 'rstream -s {address} -p {port} -T v -T n -S 4096 -C 50 -I 10',
        'rstream -p {port} -T v -T n -S 4096 -C 50 -I 10', says=(r'\ncustom +4k +50 +10 ',), silent=('data verification failed',)),
    Row('riostream', 'riostream -T v', 'riostream -s {address} -p {port} -T v -S 4096 -C 50 -I 10',
        'riostream -p {port} -T v -S 4096 -C 50 -I 10', says=(r'\ncustom +4k +50 +10 ',), silent=('data verification failed',)),
    Row('rcopy', 'rcopy, the file compared', 'rcopy {folder}/source {address}:{folder}/copy -p {port}', 'rcopy -p {port}',
        stays=True, judge='compares_the_copy'),
    Row('sockets', 'a socket program in Python with librspreload', 'python3 -B {tests}/socket_program.py client {address} {port}',
        'python3 -B {tests}/socket_program.py server {address} {port}', says=(r'the same',),
        environment={'LD_PRELOAD': RSOCKETS}, needs=(RSOCKETS,)),
    Row('iperf', 'iperf with librspreload', 'iperf -c {address} -p {port} -n 1M', 'iperf -s -p {port}', stays=True,
        says=(r'connected with 127\.0\.0\.1 port \d+', r' 1\.00 MBytes '), environment={'LD_PRELOAD': RSOCKETS}, needs=(RSOCKETS,)),
    perftest('ib_send_lat', '-n 100'),
    perftest('ib_send_lat', '-n 100 -s 64 -I 64', '64'),
    perftest('ib_send_lat', '-n 100 -e'),
    perftest('ib_send_lat', '-n 100 --use-srq'),
    perftest('ib_send_bw', '-n 500'),
    perftest('ib_send_bw', '-n 500 -q 4'),
    perftest('ib_send_bw', '-n 500 -b'),
    waits('-n 5000 -s 64 -e', 'may wait without end: for a completion, while only a credit of its server lets it send what would complete'),
    dataclasses.replace(waits('-n 5000 --use-srq -q 2', 'may wait without end: its server credits another queue pair than that of the message'),
                        no_tsan='its queue pairs receive into the same memory, at the same time'),
    perftest('ib_write_lat', '-n 100'),
    perftest('ib_write_bw', '-n 500'),
    perftest('ib_write_bw', '-n 500 -q 4 -b'),
    perftest('ib_read_lat', '-n 100'),
    perftest('ib_read_bw', '-n 500 -q 2 -e'),
    perftest('ib_read_bw', '-n 500 -b'),
    perftest('ib_atomic_lat', '-n 100', '8'),
    perftest('ib_atomic_lat', '-n 100 -A CMP_AND_SWAP', '8'),
    perftest('ib_atomic_bw', '-n 200', '8'),
    perftest('ib_atomic_bw', '-n 200 -q 2', '8'),
    perftest('ib_send_lat', '-n 20 -a', '8388608', long=True),
    perftest('ib_write_bw', '-n 20 -a', '8388608', long=True),
    perftest('ib_read_bw', '-n 20 -a', '8388608', long=True),
    Row('qperf', 'qperf -cm1', 'qperf {address} -lp {port} -to 60 -t ' + SECONDS + ' -cm 1 rc_lat rc_bw rc_rdma_read_bw rc_rdma_write_bw '
        'rc_rdma_write_poll_lat ver_rc_compare_swap ver_rc_fetch_add quit', 'qperf -lp {port}',
        says=(r'rc_lat:\n +latency +=', r'rc_bw:\n +bw +=', r'rc_rdma_read_bw:\n +bw +=', r'rc_rdma_write_bw:\n +bw +=',
              r'rc_rdma_write_poll_lat:\n +latency +=', r'ver_rc_compare_swap:\n +msg_rate', r'ver_rc_fetch_add:\n +msg_rate')),
    *(Row('fio-' + verb, 'fio, engine rdma, verb=' + verb,
          FIO + ' --name=c --hostname={address} --rw=write --verb=' + verb, FIO + ' --name=s --rw=read --verb=' + other,
          says=(r'WRITE: bw=.* io=2048KiB',), silent=(r'fio: .*(?i:error|fail)',))
      for verb, other in (('write', 'write'), ('read', 'read'), ('send', 'recv'))),
    migration('iwarp:lo'), late(iscsi('iwarp:lo')), ceph({'adapters': ('iwarp:lo',)}), rpma({'adapters': ('iwarp:lo',)}),
    Row('fi_pingpong', 'fi_pingpong -p verbs', 'fi_pingpong -p verbs -e msg -c -I 20 -P {port} {address}',
        'fi_pingpong -p verbs -e msg -c -I 20 -B {port}', says=(r'\n1m +20 +',), adapters=('iwarp',), address='{interface}',
        result=DIFFERS, why='libfabric uses no loopback interface: it needs another one alone, as in it-run -a iwarp:eth0'),
    Row('fi_pingpong-rxm', 'fi_pingpong -p "verbs;ofi_rxm"', 'fi_pingpong -p verbs;ofi_rxm -e rdm -c -I 20 -P {port} {address}',
        'fi_pingpong -p verbs;ofi_rxm -e rdm -c -I 20 -B {port}', says=(r'\n1m +20 +',), adapters=('iwarp',), address='{interface}',
        result=DIFFERS, why='as before'),
    Row('dtest', 'dtest (DAPL)', 'dtest -P ofa-lo -b 4096 -h {address}', 'dtest -P ofa-lo -b 4096', port=15828, alone='dtest',
        says=(r'DAPL Test Complete\. PASSED',), server_says=(r'DAPL Test Complete\. PASSED',), **DAT),
    Row('dtestcm', 'dtestcm (DAPL)', 'dtestcm -P ofa-lo -c 100 -h {address}', 'dtestcm -P ofa-lo -c 100', port=45248, alone='dtest',
        says=(r'Connections: .* Num=100\n',), **DAT),
    Row('dtestsrq', 'dtestsrq (DAPL)', 'dtestsrq -P ofa-lo -h {address}', 'dtestsrq -P ofa-lo', port=45248, alone='dtest',
        says=(r'ALL 1 CONNECTED on client!', r'DAPL RC SRQ Test Complete'), server_says=(r'DAPL RC SRQ Test Complete',), **DAT),
    Row('dtestx', 'dtestx (DAPL)', 'dtestx -P ofa-lo -h {address}', result=REFUSED, status=tuple(range(256)),
        why='DAPL offers its extensions on InfiniBand devices only', says=(r'(?i)extension',), **DAT),
    dapltest('transactions', 'T -s {address} -i 20 -t 2 -w 2 -V client SR 1024 server SR 1024 client RW 4096 server RW 4096 '
             'client RR 4096 server RR 4096', (r'Stats ---- : 2 threads, 2 EPs', r'Total RDMA Write : +0\.6', 'End of Work')),
    dapltest('performance', 'P -s {address} -i 100 -p 8 RW 4096 1', (r'raw: RW, 100, 4096, 1, 8, ', 'End of Work')),
    Row('dapltest-limits', 'dapltest -T L', 'dapltest -T L -D ofa-lo -m 20 limit_ia limit_pz limit_evd limit_ep limit_psp limit_lmr',
        says=(r'LMRs created: 20', r'EPs created: 20', r'EVDs created: 20'), alone='dapltest', **DAT),
    Row('dlvsym', 'dlopen and dlvsym, as NCCL does', '{build}/library-by-name', adapters=('iwarp:lo', 'emul:ib'),
        says=('^it_iwarp_lo\nit_emul_ib\n$',)),
    Row('newer', 'a program of a later libibverbs', '{build}/newer-program', adapters=('iwarp:lo', 'emul:ib'), says=('^$',)),
    Row('ibv_rc_pingpong', 'ibv_rc_pingpong', 'ibv_rc_pingpong -d it_iwarp_lo -g 0 -p {port} {address}',
        'ibv_rc_pingpong -d it_iwarp_lo -g 0 -p {port}', stays=True, result=REFUSED, status=(1,),
        server_says=(r'itapi: it_iwarp_lo connects queue pairs by rdma_cm only', r'Failed to modify QP to RTR'),
        why='iWARP connects by rdma_cm only; a line says so and names the option -R of perftest'),
    Row('ib_send_lat-without', 'ib_send_lat without -R', 'ib_send_lat -F -n 100 -p {port} {address}',
        'ib_send_lat -F -n 100 -p {port}', stays=True, result=REFUSED, status=(1,),
        says=(r'itapi: it_iwarp_lo connects queue pairs by rdma_cm only',), why='as ibv_rc_pingpong'),
    Row('udaddy', 'udaddy, mckey', 'udaddy -s {address} -c 1', result=REFUSED, status=tuple(range(1, 256)),
        says=(r'RDMA_CM_EVENT_ADDR_ERROR',), why='iWARP has no datagrams'),
    Row('ibv_devinfo-shm', 'ibv_devinfo -v', 'ibv_devinfo -v', says=(r'hca_id:\s+it_shm_ib\n\s+transport:\s+InfiniBand',
        r'state:\s+PORT_ACTIVE'), silent=('Failed', 'Unable'), **SHM),
    *(pingpong(kind) for kind in ('rc', 'uc', 'ud', 'srq')),
    Row('rping-shm', 'rping -V', 'rping -c -a {address} -p {port} -C 10 -V -v', 'rping -s -a {address} -p {port} -C 10 -V -v',
        says=(r'rdma-ping-9: ',), **BY_NAME),
    Row('udaddy-shm', 'udaddy', 'udaddy -s {address} -c 3 -C 20', 'udaddy -c 3 -C 20', port=7174,
        says=(r'data transfers complete', r'return status 0'), server_says=(r'return status 0',), **{**SHM, 'ready': FABRIC + 'ib.id-*'}),
    Row('udpong-shm', 'udpong', 'udpong -s {address} -p {port} -S 64 -C 100', 'udpong -b {address} -p {port}', stays=True,
        says=(r'\ncustom +64 +100 ',), no_tsan='it hands a queue to its thread in a way that the runtime of ThreadSanitizer does not see',
        **{**SHM, 'ready': FABRIC + 'ib.block-*'}),
    Row('mckey-shm', 'mckey', 'mckey -m 239.1.2.3 -b {address} -s -C 5', 'mckey -m 239.1.2.3 -b {address} -C 5',
        says=(r'data transfers complete', r'return status 0'), server_says=(r'return status 0',),
        **{**SHM, 'ready': FABRIC + 'ib.group-*'}),
    perftest_by_number('ib_send_lat', '-n 100'),
    perftest_by_number('ib_send_lat', '-n 100 -e'),
    perftest_by_number('ib_send_lat', '-n 100 -c UC'),
    perftest_by_number('ib_send_lat', '-n 100 -c UD'),
    perftest_by_number('ib_send_lat', '-n 100 -c UD -e'),
    perftest_by_number('ib_send_bw', '-n 500 -q 4'),
    perftest_by_number('ib_send_bw', '-n 500 -c UD -b'),
    perftest_by_number('ib_write_lat', '-n 100 -c UC'),
    perftest_by_number('ib_write_bw', '-n 500 -q 2 -b'),
    perftest_by_number('ib_read_lat', '-n 100'),
    perftest_by_number('ib_read_bw', '-n 500 -e'),
    perftest_by_number('ib_atomic_lat', '-n 100', '8'),
    perftest_by_number('ib_atomic_bw', '-n 200 -A CMP_AND_SWAP', '8'),
    perftest_by_number('ib_atomic_bw', '-n 200 -q 2', '8'),
    perftest_by_number('ib_send_bw', '-n 500 -e'),
    perftest_by_number('ib_send_bw', '-n 500 --use-srq -q 4'),
    perftest_by_number('ib_send_bw', '-n 500 -c UC -q 4'),
    perftest_by_number('ib_send_lat', '-n 100 -R', **BY_NAME),
    perftest_by_number('ib_send_lat', '-n 100 -R -c UD', **{**SHM, 'ready': FABRIC + 'ib.*'}),
    perftest_by_number('ib_write_bw', '-n 500 -R', **BY_NAME),
    perftest_by_number('ib_write_bw', '-n 20 -a -c UC', '8388608', long=True),
    perftest_by_number('ib_send_lat', '-n 20 -a', '8388608', long=True),
    perftest_by_number('ib_send_lat', '-n 20 -a -c UD', '4096', long=True),
    perftest_by_number('ib_write_bw', '-n 20 -a -b', '8388608', long=True),
    perftest_by_number('ib_read_bw', '-n 20 -a', '8388608', long=True),
    Row('qperf-shm', 'qperf, reliable, unreliable and datagrams', 'qperf {address} -lp {port} -to 60 -t ' + SECONDS +
        ' rc_lat rc_bw uc_lat ud_lat ud_bw rc_rdma_read_bw uc_rdma_write_bw rc_fetch_add_mr quit', 'qperf -lp {port}',
        says=(r'rc_lat:\n +latency +=', r'rc_bw:\n +bw +=', r'uc_lat:\n +latency +=', r'ud_lat:\n +latency +=', r'ud_bw:\n +send_bw +=',
              r'rc_rdma_read_bw:\n +bw +=', r'uc_rdma_write_bw:\n +send_bw +=', r'rc_fetch_add_mr:\n +msg_rate'), **SHM),
    Row('ibv_devinfo-roce', 'ibv_devinfo -v', 'ibv_devinfo -v', says=(r'hca_id:\s+it_roce_lo\n\s+transport:\s+InfiniBand',
        r'state:\s+PORT_ACTIVE', r'port_lid:\s+0\n', r'link_layer:\s+Ethernet', r'GID\[ +0\]:\s+::ffff:127\.\d+\.\d+\.3, RoCE v2\n'),
        silent=('Failed', 'Unable'), **ROCE),
    Row('ibstatus-roce', 'ibstatus', 'ibstatus', says=(r"device 'it_roce_lo' port 1 status:", r'state:\s+4: ACTIVE'), **ROCE),
    Row('ibstat-roce', 'ibstat', 'ibstat', result=REFUSED, status=(255,), says=(r"IB device 'it_roce_lo' failed",),
        why='it reads the kernel\'s own files of a device', **ROCE),
    Row('ibsrpdm-roce', 'ibsrpdm', 'ibsrpdm -c', result=REFUSED, status=(1,), says=(r'Failed to get default CA',),
        why='it sends management datagrams through the kernel, as ibping and sminfo do', **ROCE),
    pingpong_roce('rc'), pingpong_roce('ud'), pingpong_roce('uc', long=True), pingpong_roce('srq', long=True),
    Row('ibv_rc_pingpong-roce-lid', 'ibv_rc_pingpong without -g', 'ibv_rc_pingpong -p {port} {address}', 'ibv_rc_pingpong -p {port}', stays=True,
        result=REFUSED, status=(1,), server_says=(r'itapi: it_roce_lo has no LIDs', r'Failed to modify QP to RTR'),
        why='RoCE has no LIDs, so a path needs GIDs; a line says so and names the option -g', **ROCE),
    Row('rping-roce', 'rping -V', 'rping -c -a {address} -p {port} -C 10 -V -v', 'rping -s -a {address} -p {port} -C 10 -V -v',
        says=(r'rdma-ping-9: ',), **BY_ROCE),
    Row('udaddy-roce', 'udaddy', 'udaddy -s {address} -c 3 -C 20', 'udaddy -b {address} -c 3 -C 20',
        says=(r'data transfers complete', r'return status 0'), server_says=(r'return status 0',), **{**BY_ROCE, 'again': r'UNREACHABLE'}),
    Row('mckey-roce', 'mckey', 'mckey -m 239.1.2.3 -b {own} -s -C 5', 'mckey -m 239.1.2.3 -b {address} -C 5',
        says=(r'data transfers complete', r'return status 0'), server_says=(r'return status 0',), **{**BY_ROCE, 'ready': '{roce}239.1.2.3'}),
    Row('udpong-roce', 'udpong', 'udpong -s {address} -p {port} -S 64 -C 100', result=REFUSED, status=(255,), says=(r'rconnect: ',),
        why='the datagram sockets of librdmacm make address handles without global route, which RoCE needs; with rxe they end alike', **ROCE),
    Row('qperf-roce', 'qperf -cm1', 'qperf {address} -lp {port} -to 60 -t ' + SECONDS + ' -cm 1 rc_lat rc_bw rc_rdma_write_bw rc_fetch_add_mr quit',
        'qperf -lp {port}', says=(r'rc_lat:\n +latency +=', r'rc_bw:\n +bw +=', r'rc_rdma_write_bw:\n +bw +=', r'rc_fetch_add_mr:\n +msg_rate'),
        long=True, **ROCE),
    Row('ucmatose-roce', 'ucmatose', 'ucmatose -s {address} -p {port} -c 5 -C 10', 'ucmatose -p {port} -c 5 -C 10',
        says=(r'data transfers complete', r'return status 0'), long=True, **BY_ROCE),
    Row('rdma_client-roce', 'rdma_server, rdma_client', 'rdma_client -s {address} -p {port}', 'rdma_server -p {port}',
        says=(r'rdma_client: end 0',), server_says=(r'rdma_server: end 0',), long=True, **BY_ROCE),
    Row('cmtime-roce', 'cmtime', 'cmtime -s {address} -p {port} -c 50', 'cmtime -b {address} -p {port} -c 50', stays=True,
        says=(r'\nconnect +: +[\d.]+', r'\ndestroy +: +[\d.]+'), long=True, **BY_ROCE),
    Row('rstream-roce', 'rstream -T v', 'rstream -s {address} -p {port} -T v -S 4096 -C 50 -I 10', 'rstream -p {port} -T v -S 4096 -C 50 -I 10',
        says=(r'\ncustom +4k +50 +10 ',), silent=('data verification failed',), long=True, **BY_ROCE),
    perftest_roce('ib_write_bw', '-R -n 200'),
    perftest_roce('ib_send_lat', '-R -n 100', long=True),
    perftest_roce('ib_read_bw', '-R -n 200', long=True),
    perftest_roce('ib_atomic_lat', '-R -n 100', '8', long=True),
    perftest_roce('ib_send_lat', '-n 100 -e', long=True),
    perftest_roce('ib_send_lat', '-n 100 -c UD', long=True),
    perftest_roce('ib_write_lat', '-n 100 -c UC', long=True),
    perftest_roce('ib_read_lat', '-n 100', long=True),
    late(migration('shm:ib', **SHM)), late(iscsi('shm:ib', **SHM)), ceph(SHM), ceph(ROCE), rpma(SHM), gloo(SHM), gloo(ROCE),
    Row('ucx_info', 'ucx_info -d', 'ucx_info -d', says=(r'Transport: rc_verbs\n# +Device: it_shm_ib:1', r'Transport: ud_verbs\n# +Device: it_shm_ib:1'),
        no_tsan=HOOKS, **SHM),
    ucx(RC_OF_UCX, 'tag_lat -s 64', 'ucx_perftest, rc_verbs'),
    late(ucx(RC_OF_UCX, 'tag_bw -s 65536', 'ucx_perftest, rc_verbs, 64 KiB')),
    late(ucx(RC_OF_UCX, 'ucp_get -s 4096', 'ucx_perftest, rc_verbs, get')),
    late(ucx(RC_OF_UCX, 'ucp_fadd -s 8', 'ucx_perftest, rc_verbs, atomic')),
    ucx('ud_verbs', 'tag_lat -s 64', 'ucx_perftest, ud_verbs'),
    late(ucx('ud_verbs', 'tag_bw -s 65536', 'ucx_perftest, ud_verbs, 64 KiB')),
    ucx(RC_OF_UCX, 'tag_lat -s 64', 'ucx_perftest, rc_verbs', ROCE),
    late(ucx('ud_verbs', 'tag_bw -s 65536', 'ucx_perftest, ud_verbs, 64 KiB', ROCE)),
    ucx_by_rdma_cm(BY_NAME), late(ucx_by_rdma_cm(BY_ROCE)),
    mpi_by_ucx('ucx-rc', 'Open MPI by UCX, rc_verbs: a ring and an all-reduce', RC_OF_UCX),
    late(mpi_by_ucx('ucx-ud', 'Open MPI by UCX, ud_verbs', 'ud_verbs')),
    late(mpi_by_ucx('ucx-rc-roce', 'Open MPI by UCX, rc_verbs', RC_OF_UCX, ROCE)),
    late(mpi_by_ucx('ucx-ud-roce', 'Open MPI by UCX, ud_verbs', 'ud_verbs', ROCE)),
    mpi_windows('', SHM), mpi_windows('-roce', ROCE),
    hpcc(RC_OF_UCX), hpcc('ud_verbs'), netpipe(SHM), netpipe(ROCE),
    mpi('ofi-rxd', 'Open MPI by libfabric, "verbs;ofi_rxd"', OVER_OFI + 'verbs;ofi_rxd'),
    late(mpi('ofi-rxm', 'Open MPI by libfabric, "verbs;ofi_rxm"', OVER_OFI + 'verbs;ofi_rxm', address='{interface}')),
    Row('rdma_xclient', 'rdma_xclient', 'rdma_xclient -s {address} -p {port}', result=REFUSED, status=tuple(range(1, 256)),
        why='no adapter has XRC'),
]
