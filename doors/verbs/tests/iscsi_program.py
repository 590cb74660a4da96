# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""A disk that tgtd serves by iSER, and a test of libiscsi that reads it and compares the data.

Usage: iscsi_program.py ADDRESS FOLDER

Both run behind the door, since they are children of this program. The port is iSER's own, 3260;
tgtd accepts no other. There is one test, since the initiator of libiscsi 1.19 has 512
descriptors, loses some of them between tests, and ends by a signal when it has none.
"""

import os
import subprocess
import sys
import time

TARGET = 'iqn.2026-11.example:disk'
INITIATOR = 'iqn.2007-10.com.github:sahlberg:libiscsi:iscsi-test'
TEST = 'SCSI.Verify10.Simple'     # reads, and sends what it has read
SIZE = 16 << 20
PATIENCE = 100          # s


def main(address, folder):
    disk = os.path.join(folder, 'disk')
    with open(disk, 'wb') as file:
        file.write(os.urandom(SIZE))
    env = {**os.environ, 'TGT_IPC_SOCKET': os.path.join(folder, 'ipc')}
    server = subprocess.Popen(['/usr/sbin/tgtd', '-f', '--iscsi', 'portal=127.0.0.1:3261'], env=env, stdin=subprocess.DEVNULL)

    def admin(*words):
        return subprocess.run(['/usr/sbin/tgtadm', '--lld', 'iser', *words, '--tid', '1'], env=env, capture_output=True, text=True,
                              check=False)

    try:
        end = time.monotonic() + PATIENCE
        while admin('--mode', 'target', '--op', 'new', '--targetname', TARGET).returncode != 0:
            if server.poll() is not None or time.monotonic() > end:
                sys.exit('tgtd takes no target')
            time.sleep(0.1)
        for words in (('--mode', 'logicalunit', '--op', 'new', '--lun', '1', '-b', disk),
                      ('--mode', 'target', '--op', 'bind', '-I', 'ALL'),
                      ('--mode', 'target', '--op', 'bind', '-Q', INITIATOR)):
            done = admin(*words)
            if done.returncode != 0:
                sys.exit('tgtadm: ' + done.stderr)
        done = subprocess.run(['iscsi-test-cu', '-d', '-i', INITIATOR, '-t', TEST, 'iser://%s:3260/%s/1' % (address, TARGET)],
                              env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, timeout=PATIENCE, check=False)
        print(done.stdout)
        sys.exit(done.returncode)
    finally:
        server.kill()
        server.wait()


if __name__ == '__main__':
    main(*sys.argv[1:])
