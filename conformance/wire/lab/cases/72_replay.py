# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""A recording of two processes on iwarp is replayed on a device of the guest without a difference."""

import os
import re

import lab_device
from lab_case import Case, Failed

OPERATIONS = 10000
DEVICES = ('siw0',)
DEFECTS = 'conformance/bad/defects'     # of the build: the adapter record:NAME
RECORD = '''
set -e
rm -rf {folder}; mkdir {folder}; cd {folder}
ITAPI_RECORD=server {app} record:iwarp server {count} plain >port &
server=$!
for i in $(seq 100); do [ -s port ] && break; sleep 0.1; done
ITAPI_RECORD=client {app} record:iwarp client {count} "$(cat port)" plain
wait $server
'''


def replay(bench, device):
    """Records in the guest, over its loopback interface and without windows, which siw does not
    support; then replays on the device, with both ends on it."""
    lab_device.load_provider(bench)
    folder = f'/tmp/lab-replay-{device}'
    env = {'ITAPI_WRAPPED': f'{lab_device.PROVIDERS}/ib.so', 'ITAPI_PROVIDER_PATH': os.path.join(bench.build, DEFECTS), 'ITAPI_LOG': 'none'}
    app = os.path.join(bench.build, 'tools/replay/tests/replay-app')
    ends = [f'{folder}/server', f'{folder}/client']
    bench.run(bench.theirs, ['sh', '-c', RECORD.format(folder=folder, app=app, count=OPERATIONS)], env=env)
    ran = bench.run(bench.theirs, [bench.tool('it-replay'), '-a', f'ib:{device}', '-o', f'{folder}/result', '-t', '30', *ends], env=env)
    said = bench.run(bench.theirs, [bench.tool('it-replay'), '--diff', f'{folder}/result', *ends], env=env)
    counted = re.match(rf'(\d+) operations of 2 queue pairs were run on ib:{device}\n', ran)
    if counted is None or int(counted[1]) < OPERATIONS or 'no difference' not in said:
        raise Failed(ran + said)
    return {'device': device, 'operations': int(counted[1]), 'excused': re.findall(r'^excused (\d+ times: .*)$', said, re.MULTILINE)}


CASES = [Case(f'replay {device}', lambda bench, device=device: replay(bench, device), limit=900, long=True) for device in DEVICES]
