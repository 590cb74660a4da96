# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""A seed of it-sim gives the same run in the guest, with another kernel, processor and C library,
as on the host."""

import json
import os
import shlex
import subprocess
import tempfile

from lab_case import Case, Failed

SEEDS = '1..100'
PROGRAM = 'tools/sim/tests/sim-kv.so'   # of the build
SCENE = '''node server {kv} {adapter} 7471 daemon
node writer {kv} {adapter} 7471 @server put colour blue at 2ms
node reader {kv} {adapter} 7471 @server get colour after writer
node adder {kv} {adapter} 7471 @server count 5 at 1ms..3ms
chaos legal
wire 80us
expect exit reader any
'''


def swept(text):
    """The result to be compared: (the hash of all seeds, the number of good ones)."""
    result = json.loads(text)
    return result['hash'], result['good']


def sim(bench, adapter):
    scene = SCENE.format(kv=os.path.join(bench.build, PROGRAM), adapter=adapter)
    tool = bench.tool('it-sim')
    with tempfile.TemporaryDirectory(prefix='lab-sim.') as folder:
        path = os.path.join(folder, 'kv.sim')
        with open(path, 'w', encoding='utf-8') as file:
            file.write(scene)
        here = subprocess.run([tool, path, '--json', '--seeds', SEEDS], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=300, check=False)
    if here.returncode not in (0, 1):
        raise Failed(here.stderr)
    there = bench.run(bench.theirs, ['sh', '-c', f'printf %s {shlex.quote(scene)} >/tmp/kv.sim; '
                                     f'{shlex.quote(tool)} /tmp/kv.sim --json --seeds {SEEDS} || [ $? = 1 ]'])
    if swept(here.stdout) != swept(there):
        raise Failed(f'here {swept(here.stdout)}, in the guest {swept(there)}')
    return {'adapter': adapter, 'seeds': SEEDS, 'hash': swept(there)[0]}


CASES = [Case(f'sim {adapter}', lambda bench, adapter=adapter: sim(bench, adapter), limit=600, long=adapter != 'emul:ib')
         for adapter in ('emul:ib', 'emul:iwarp')]
