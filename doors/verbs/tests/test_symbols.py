#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""Checks that no function of libibverbs that takes an object is left to the real library.

A program that has objects of ours and calls such a function would crash in the real one. Two lists are compared with what the
door exports: the library that is installed, and one that is stored here for the newest release.

Usage: test_symbols.py DOOR STORED_LIST [INSTALLED_LIBRARY]      (TAP)
"""

import subprocess
import sys

# These take no object, so the real ones serve. The last one is for drivers.
WITHOUT_OBJECTS = {
    'ibv_copy_ah_attr_from_kern', 'ibv_copy_path_rec_from_kern', 'ibv_copy_path_rec_to_kern', 'ibv_copy_qp_attr_from_kern',
    'ibv_dofork_range', 'ibv_dontfork_range', 'ibv_event_type_str', 'ibv_get_sysfs_path', 'ibv_node_type_str',
    'ibv_port_state_str', 'ibv_rate_to_mbps', 'ibv_rate_to_mult', 'ibv_read_sysfs_file', 'ibv_wc_status_str',
    'mbps_to_ibv_rate', 'mult_to_ibv_rate', 'ibv_register_driver'}

# In the door's own node-less space: of the C library, and of a private node whose name changes with each release.
WITHOUT_NODES = {'close', 'dlopen', 'fstat', 'fstat64', 'open', 'open64', 'write', 'ibv_query_gid_type'}


def exported(library):
    """Each default symbol of a library as (version, name)."""
    listing = subprocess.run(['nm', '--dynamic', '--defined-only', '--with-symbol-versions', library],
                             check=True, capture_output=True, text=True).stdout
    for line in listing.splitlines():
        kind, symbol = line.split()[-2:]
        name, _, version = symbol.partition('@@')
        if kind != 'A' and '@' not in name:
            yield version, name


def stored(path):
    with open(path, encoding='utf-8') as file:
        return {tuple(line.split()) for line in file if not line.startswith('#')}


def report(number, name, missing):
    for version, symbol in sorted(missing):
        print('# %s %s' % (version, symbol))
    print('%s %d - /door/symbols/%s' % ('not ok' if missing else 'ok', number, name))


def needed(symbols):
    return {(version, name) for version, name in symbols
            if version.startswith('IBVERBS_1.') and name not in WITHOUT_OBJECTS}


def main(door, newest, installed=None):
    ours = set(exported(door))
    theirs = stored(newest)
    print('1..3')
    report(1, 'newest', needed(theirs) - ours)
    if installed is None:
        print('ok 2 - /door/symbols/installed # SKIP there is no libibverbs.so.1')
    else:
        report(2, 'installed', needed(exported(installed)) - ours)
    report(3, 'no-more', {(version, name) for version, name in ours - theirs
                          if version != '' or name not in WITHOUT_NODES})


if __name__ == '__main__':
    main(*sys.argv[1:])
