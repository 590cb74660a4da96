#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""Files below /sys/class/infiniband for programs behind the door: their content, and their removal.

Usage: test_sysfs.py TOOLS DOOR LOOKER IB      (TAP)
LOOKER is the program of look_at_sysfs.c, IB the provider for the kernel's devices.
"""

import glob
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

# pylint: disable=wrong-import-position
from door_programs import Door  # noqa: E402
from tool_runs import PATIENCE, Done, Failed, Skipped, main  # noqa: E402

TOOLS, DOOR, LOOKER, IB = (os.path.realpath(path) for path in sys.argv[1:5])
DEVICES, VERBS = '/sys/class/infiniband', '/sys/class/infiniband_verbs'
door = Door(TOOLS, DOOR)


def need(condition, what):
    if not condition:
        raise Failed(what)


class Place:
    """A folder for temporary files, where the trees of programs are seen; `with` removes it."""

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory(prefix='test-sysfs-')
        self.path = self.folder.name
        return self

    def __exit__(self, *unused):
        self.folder.cleanup()

    def trees(self):
        return sorted(glob.glob(os.path.join(self.path, 'itapi-sysfs-*')))

    def environment(self, **more):
        return door.environment(**{'TMPDIR': self.path, 'ITAPI_LOG': 'none', **more})

    def run(self, *words, adapters=('iwarp:lo', 'emul:ib'), **more):
        done = subprocess.run(door.words(words, adapters), env=self.environment(**more), capture_output=True, text=True, check=False,
                              timeout=PATIENCE, stdin=subprocess.DEVNULL)
        return Done(done.returncode, done.stdout, done.stderr)

    def start(self, *words, adapters=('iwarp:lo', 'emul:ib'), **more):
        return subprocess.Popen(door.words(words, adapters), env=self.environment(**more), stdin=subprocess.PIPE,
                                stdout=subprocess.PIPE, text=True)


def of_the_kernel(folder):
    return sorted(os.listdir(folder)) if os.path.isdir(folder) else []


def content():
    """The files have the values that a program can query."""
    with Place() as place:
        told = place.run('ibv_devinfo', '-v').expect(0).out
        for name, adapter in (('it_iwarp_lo', 'iwarp:lo'), ('it_emul_ib', 'emul:ib')):
            said = re.search(r'hca_id:\t%s\n(.*?)\n\n' % name, told + '\n', re.DOTALL).group(1)
            files = ('node_type', 'node_guid', 'node_desc', 'board_id', 'device/numa_node', 'ports/1/state', 'ports/1/link_layer',
                     'ports/1/gids/0', 'ports/1/gid_attrs/types/0')
            shown = place.run('cat', *(os.path.join(DEVICES, name, file) for file in files)).expect(0).out.splitlines()
            found = dict(zip(files, shown))
            need(found['node_guid'] in said, '%s: %s' % (found['node_guid'], said))
            need(found['node_desc'] == adapter and found['board_id'] == 'itapi' and found['device/numa_node'] == '-1', found)
            need('GID[  0]:\t\t' + found['ports/1/gids/0'] in said, '%s: %s' % (found, said))
            need(re.search(r'state:\t+PORT_ACTIVE', said) and found['ports/1/state'] == '4: ACTIVE', found)
            need(re.search(r'link_layer:\t+%s' % found['ports/1/link_layer'], said), found)
            need(found['node_type'] == ('4: RNIC' if name == 'it_iwarp_lo' else '1: CA'), found)
        said = place.run('cat', os.path.join(DEVICES, 'it_iwarp_lo/ports/1/gid_attrs/ndevs/0')).expect(0).out
        need(said == 'lo\n', said)


def folders():
    """The two folders list the kernel's entries and the door's; the paths of other files are
    unchanged."""
    with Place() as place:
        need(place.run('ls', DEVICES).expect(0).out.split() == sorted(of_the_kernel(DEVICES) + ['it_emul_ib', 'it_iwarp_lo']), 'devices')
        listed = place.run('ls', VERBS + '/').expect(0).out.split()
        need(set(listed) - set(of_the_kernel(VERBS)) - {'abi_version'} == {'uverbs10000', 'uverbs10001'}, listed)
        need(place.run('cat', VERBS + '/uverbs10000/ibdev', VERBS + '/uverbs10001/ibdev').expect(0).out == 'it_iwarp_lo\nit_emul_ib\n',
             'the device files')
        for path in (DEVICES + '/mlx5_0', DEVICES + '_mad', VERBS + '/uverbs0', DEVICES + '/it_other', '/sys/class/infinibandit_x'):
            seen = [place.run('ls', '-d', path).status, subprocess.run(['ls', '-d', path], capture_output=True, check=False).returncode]
            need(seen[0] == seen[1], '%s: %s' % (path, seen))
        need(place.run('ls', DEVICES + '/it_iwarp_lo/device/net/').expect(0).out == 'lo\n', 'the interface')
        need(place.run('ls', '-l', DEVICES).expect(0).err == '', 'ls -l complains')


def functions():
    """Every function of the C library that takes a path finds the files, and fails for one that is not there."""
    with Place() as place:
        place.run(LOOKER, DEVICES + '/it_iwarp_lo', 'fw_ver', 'device').expect(0)


def is_removed():
    """The tree can be read only by its user. It is removed with the process, however many threads
    have used it, and not with a child of the process."""
    with Place() as place:
        file = DEVICES + '/it_iwarp_lo/fw_ver'
        for words in (['cat', file], ['ls', '-R', DEVICES], [LOOKER, 'threads', file], [LOOKER, 'fork', file]):
            place.run(*words).expect(0)
            need(place.trees() == [], '%s leaves %s' % (words, place.trees()))
        with place.start(sys.executable, '-c', 'import os; os.listdir(%r); print("there", flush=True); input()' % DEVICES) as process:
            need(process.stdout.readline() == 'there\n', 'no program')
            trees = place.trees()
            need(len(trees) == 1 and os.stat(trees[0]).st_mode & 0o777 == 0o700, trees)
            process.communicate('\n', PATIENCE)
        need(place.trees() == [], 'it stays')


def of_killed():
    """A process that is killed, or ends by _exit() as dash does, leaves its tree. The next process
    that makes a tree removes it, and keeps the trees of living processes.
    """
    look = 'import os; os.listdir(%r); print("there", flush=True); input()' % DEVICES
    with Place() as place:
        with place.start(sys.executable, '-c', look) as killed, place.start(sys.executable, '-c', look) as living:
            for process in (killed, living):
                need(process.stdout.readline() == 'there\n', 'no program')
            need(len(place.trees()) == 2, place.trees())
            killed.send_signal(signal.SIGKILL)
            killed.wait(PATIENCE)
            place.run('sh', '-c', 'test -d %s; exec ls %s' % (DEVICES, DEVICES)).expect(0)
            place.run('cat', DEVICES + '/it_iwarp_lo/fw_ver').expect(0)
            need(len(place.trees()) == 1, place.trees())
            living.communicate('\n', PATIENCE)
        need(place.trees() == [], place.trees())


def of_others():
    """Things that only look like a tree are not removed: a file, a link, a folder that other users
    may read."""
    with Place() as place:
        os.mkdir(os.path.join(place.path, 'itapi-sysfs-open'), 0o755)
        os.mkdir(os.path.join(place.path, 'target'), 0o700)
        os.symlink('target', os.path.join(place.path, 'itapi-sysfs-link'))
        with open(os.path.join(place.path, 'itapi-sysfs-file'), 'w', encoding='ascii'):
            pass
        before = sorted(os.listdir(place.path))
        place.run('cat', DEVICES + '/it_iwarp_lo/fw_ver').expect(0)
        need(sorted(os.listdir(place.path)) == before, os.listdir(place.path))


def without_a_place():
    """If the folder for temporary files does not exist, the program sees the kernel's files and
    works as without the door."""
    with Place() as place:
        done = place.run('ls', DEVICES + '/it_iwarp_lo', TMPDIR='/nonexistent')
        need(done.status == 2 and 'No such file' in done.err, done.err)


def provider_of_devices():
    """The provider for the kernel's devices takes no device of the door for one of the kernel."""
    if not os.path.exists(IB):
        raise Skipped('the provider is not built')
    with Place() as place:
        os.mkdir(os.path.join(place.path, 'providers'))
        os.symlink(IB, os.path.join(place.path, 'providers/ib.so'))
        there = {'ITAPI_PROVIDER_PATH': os.path.join(place.path, 'providers')}
        began = time.monotonic()
        listed = place.run(os.path.join(TOOLS, 'it-info'), '--json', **there).expect(0).json()
        need(not any('it_' in row['name'] for row in listed['adapters']), listed)
        said = place.run('ibv_devinfo', **there).expect(0).out
        need(re.findall(r'hca_id:\t(\w+)', said) == ['it_iwarp_lo', 'it_emul_ib'], said)
        need(time.monotonic() - began < PATIENCE, 'it takes long')


CASES = [
    ('/sysfs/content', content),
    ('/sysfs/folders', folders),
    ('/sysfs/functions', functions),
    ('/sysfs/removed', is_removed),
    ('/sysfs/killed', of_killed),
    ('/sysfs/others', of_others),
    ('/sysfs/no-place', without_a_place),
    ('/sysfs/provider', provider_of_devices),
]

if __name__ == '__main__':
    sys.exit(main(CASES))
