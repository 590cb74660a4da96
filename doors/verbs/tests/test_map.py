#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""Which functions of libibverbs a program finds in the door, and which in the real library.

A function of the real library that gets an object of ours takes it for one of its own and reads
members that are not there. So the door must define each exported function, except those in
MAY_STAY, which has the reasons. This is checked for the libibverbs of this machine, and for the
release that was the newest when newest-names.txt was written. And the door must export nothing
else.

Usage: test_map.py DOOR MAP NEWEST_NAMES      (TAP)
"""

import fnmatch
import glob
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../../tools/tests'))

# pylint: disable=wrong-import-position
from tool_runs import Failed, Skipped, main  # noqa: E402

DOOR, MAP, NEWEST = sys.argv[1:4]

# Functions that may be the real library's, by name, and why.
NO_OBJECT = 'converts numbers; it has no object'
TEXT = 'returns a text for a number; it has no object'
STRUCTS = 'copies from the structs of a kernel call to those of the API; it has no object'
MEMORY = 'is about memory of the process; nothing of ours is pinned, so either answer is right'
PROVIDERS = 'is called by providers of rdma-core for contexts that they made'
MAY_STAY = {
    'ibv_rate_to_mult': NO_OBJECT,
    'ibv_rate_to_mbps': NO_OBJECT,
    'mult_to_ibv_rate': NO_OBJECT,
    'mbps_to_ibv_rate': NO_OBJECT,
    'ibv_event_type_str': TEXT,
    'ibv_node_type_str': TEXT,
    'ibv_port_state_str': TEXT,
    'ibv_wc_status_str': TEXT,
    'ibv_copy_ah_attr_from_kern': STRUCTS,
    'ibv_copy_path_rec_from_kern': STRUCTS,
    'ibv_copy_path_rec_to_kern': STRUCTS,
    'ibv_copy_qp_attr_from_kern': STRUCTS,
    'ibv_dofork_range': MEMORY,
    'ibv_dontfork_range': MEMORY,
    'ibv_get_sysfs_path': 'returns the path of sysfs; it has no object',
    'ibv_read_sysfs_file': 'reads a file by its path; the path of a device of ours leads to our tree',
    'ibv_register_driver': PROVIDERS,
}
# The same for whole nodes.
NODES_MAY_STAY = {
    # Each of these names is in IBVERBS_1.1, too.
    'IBVERBS_1.0': 'is the interface of 2006, whose objects come from a list of devices of its own, where ours are not',
    'IBVERBS_PRIVATE_*': PROVIDERS,
}
# What programs call all the same out of a private node. It has no node here, and so serves each release's.
PRIVATE_OF_PROGRAMS = {'ibv_query_gid_type'}
# The only names in IBVERBS_1.0 that are in no later node.
ONLY_IN_FIRST = {'ibv_create_comp_channel', 'ibv_destroy_comp_channel'}

# Functions of the C library that the door puts before a program, and its own for it-run.
HOOKS = {
    # of the device file of rdma_cm, and of programs that look for libibverbs
    '__fxstat', '__fxstat64', 'close', 'close_range', 'closefrom', 'dlopen', 'dup2', 'dup3', 'fstat', 'fstat64', 'write',
    # of files of sysfs
    '__fxstatat', '__fxstatat64', '__lxstat', '__lxstat64', '__open64_2', '__open_2', '__openat64_2', '__openat_2', '__readlink_chk',
    '__readlinkat_chk', '__realpath_chk', '__xstat', '__xstat64', 'access', 'canonicalize_file_name', 'chdir', 'faccessat', 'fopen',
    'fopen64', 'fstatat', 'fstatat64', 'getxattr', 'lgetxattr', 'listxattr', 'llistxattr', 'lstat', 'lstat64', 'open', 'open64',
    'openat', 'openat64', 'opendir', 'readlink', 'readlinkat', 'realpath', 'scandir', 'scandir64', 'stat', 'stat64', 'statx',
}
OWN = {'itapi_verbs_list', 'itapi_verbs_simulate'}


def symbols(path, which):
    """Yields (node, name) for the symbols that an object defines or needs; the node is '' if there
    is none."""
    said = subprocess.run(['nm', '-D', '--with-symbol-versions', which, path], capture_output=True, text=True, check=True)
    for line in said.stdout.splitlines():
        kind, word = line.split()[-2:]
        name, _, node = word.partition('@')
        if kind in 'TWtwUvV' and name:
            yield node.lstrip('@'), name


def defined(path):
    return set(symbols(path, '--defined-only'))


def newest_names():
    with open(NEWEST, encoding='utf-8') as file:
        return {tuple(line.split()) for line in file if not line.startswith('#')}


def installed():
    """The path of the libibverbs that a program of this machine gets."""
    said = subprocess.run(['ldconfig', '-p'], capture_output=True, text=True, check=False,
                          env={**os.environ, 'PATH': os.environ['PATH'] + ':/sbin:/usr/sbin'}).stdout
    found = re.search(r'^\tlibibverbs\.so\.1 .* => (\S+)$', said, re.MULTILINE)
    if not found:
        raise Skipped('libibverbs is not installed')
    return found.group(1)


def why_real(node, name, exported):
    """Why a program may use the real library's function of that name; None if it may not."""
    if name in MAY_STAY:
        return MAY_STAY[name]
    for pattern, reason in NODES_MAY_STAY.items():
        if fnmatch.fnmatch(node, pattern) and name not in ONLY_IN_FIRST | PRIVATE_OF_PROGRAMS:
            if node != 'IBVERBS_1.0' or ('IBVERBS_1.1', name) in exported:
                return reason
    return None


def fall_through(exported, ours):
    """The functions among these that a program would find in the real library although it must not."""
    return sorted(f'{node} {name}' for node, name in exported
                  if why_real(node, name, exported) is None and (node, name) not in ours and ('', name) not in ours)


def judge(exported):
    missing = fall_through(exported, defined(DOOR))
    if missing:
        raise Failed('the door does not define ' + ', '.join(missing))


def functions_of(path):
    """Without the nodes, which are symbols, too."""
    return {(node, name) for node, name in defined(path) if not name.startswith('IBVERBS_')}


def judge_installed():
    exported = functions_of(installed())
    if len(exported) < 100:
        raise Failed('only %d names' % len(exported))
    judge(exported)


def judge_newest():
    exported = newest_names()
    if len(exported) < 200:
        raise Failed('only %d names' % len(exported))
    judge(exported)


def judge_imports():
    """Each function that programs of this machine import from libibverbs is the door's, or is in a
    list above."""
    folders = ('/usr/bin/ibv_*', '/usr/bin/ib_*', '/usr/bin/rping', '/usr/bin/fi_*', '/usr/bin/qperf', '/usr/bin/fio',
               '/usr/lib/python3/dist-packages/pyverbs/*.so', '/usr/lib/*/librdmacm.so.1', '/usr/lib/*/libfabric.so.1',
               '/usr/lib/*/libdaplofa.so.2')
    paths = [path for pattern in folders for path in glob.glob(pattern)]
    if not paths:
        raise Skipped('none of the programs is installed')
    imported = set()
    for path in paths:
        said = subprocess.run(['nm', '-D', '--with-symbol-versions', '--undefined-only', path], capture_output=True, text=True,
                              check=False).stdout
        imported |= {(node, name) for name, node in re.findall(r' U (\w+)@(IBVERBS_[\w.]+)', said)}
    if ('IBVERBS_1.1', 'ibv_open_device') not in imported:
        raise Failed('no program opens a device: %s' % paths)
    ours = defined(DOOR)
    for node, name in sorted(imported):
        if (node, name) not in ours and ('', name) not in ours and name not in MAY_STAY:
            raise Failed('a program needs %s of %s, which is neither the door\'s nor named as the real library\'s' % (name, node))


def judge_itself():
    """This test can fail: it reports a function that is missing in any node, and one that is in the
    wrong node."""
    ours = defined(DOOR)
    exported = newest_names()
    for function in sorted(exported & ours):
        expected = [] if function[0] == 'IBVERBS_1.0' and function[1] not in ONLY_IN_FIRST else ['%s %s' % function]
        if fall_through(exported, ours - {function}) != expected:
            raise Failed('it does not miss %s %s' % function)
    moved = (ours - {('IBVERBS_1.1', 'ibv_open_device')}) | {('IBVERBS_1.5', 'ibv_open_device')}
    if fall_through(exported, moved) != ['IBVERBS_1.1 ibv_open_device']:
        raise Failed('it does not see the node')
    if fall_through(exported | {('IBVERBS_1.99', 'ibv_new'), ('IBVERBS_1.0', 'ibv_old')}, ours) != [
            'IBVERBS_1.0 ibv_old', 'IBVERBS_1.99 ibv_new']:
        raise Failed('it does not see a name that nobody knew')


def no_name_too_many():
    """The lists above name only functions that some release exports, and the door exports exactly
    what its map and its hooks define."""
    every = {name for _, name in newest_names()}
    unknown = (set(MAY_STAY) | PRIVATE_OF_PROGRAMS | ONLY_IN_FIRST) - every
    if unknown:
        raise Failed('no release exports ' + ', '.join(sorted(unknown)))
    with open(MAP, encoding='utf-8') as file:
        text = re.sub(r'/\*.*?\*/', '', file.read(), flags=re.DOTALL)
    mapped = {(node, name) for node, body in re.findall(r'(IBVERBS_[\d.]+) \{(.*?)\}', text, re.DOTALL)
              for name in re.findall(r'(\w+);', body.split('local:')[0])}
    expected = mapped | {('', name) for name in HOOKS | OWN | PRIVATE_OF_PROGRAMS}
    exported = functions_of(DOOR)
    if exported != expected:
        raise Failed('not in the map, no hook: %s; not defined: %s' % (sorted(exported - expected), sorted(expected - exported)))
    if {name for _, name in mapped} & set(MAY_STAY):
        raise Failed('the door defines what is named as the real library\'s: %s' % sorted(
            {name for _, name in mapped} & set(MAY_STAY)))


CASES = [
    ('/map/installed', judge_installed),
    ('/map/newest', judge_newest),
    ('/map/imports', judge_imports),
    ('/map/judge', judge_itself),
    ('/map/nothing-else', no_name_too_many),
]

if __name__ == '__main__':
    if shutil.which('nm') is None:
        print('1..0 # SKIP not installed: nm')
        sys.exit(0)
    sys.exit(main(CASES))
