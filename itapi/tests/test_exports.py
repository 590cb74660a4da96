#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""Checks that the library exports the functions of the tables, each under its version, and no more.

Usage: test_exports.py FOLDER_OF_TABLES LIBRARY      (TAP)
"""

import subprocess
import sys

import tables

# For providers that are shared objects.
PROVIDER_NAMES = ('ri_event_is_close', 'ri_event_is_end', 'ri_event_name', 'ri_opcode_name',
                  'ri_qp_state_name', 'ri_status_name', 'ri_wc_status_name')


def exported(library):
    """Returns each exported symbol as (name, version), without the symbols of the versions
    themselves."""
    listing = subprocess.run(['nm', '--dynamic', '--defined-only', '--with-symbol-versions', library],
                             check=True, capture_output=True, text=True).stdout
    for line in listing.splitlines():
        kind, symbol = line.split()[-2:]
        name, _, version = symbol.partition('@')
        if kind != 'A':
            yield name, version.lstrip('@')


def main(folder, library):
    wanted = {(entry.name, 'ITAPI_EXT' if entry.extension else 'ITAPI_2.1')
              for entry in tables.functions(folder)}
    wanted |= {(name, 'RNICPI_1') for name in PROVIDER_NAMES}
    wanted.add(('itapi_host_use', 'ITAPI_HOST_1'))  # for simulators
    found = set(exported(library))
    print('1..2')
    for number, (name, odd) in enumerate((('all', wanted - found), ('no-more', found - wanted)), 1):
        for symbol, version in sorted(odd):
            print('# %s %s' % (symbol, version))
        print('%s %d - /itapi/exports/%s' % ('not ok' if odd else 'ok', number, name))


if __name__ == '__main__':
    main(sys.argv[1], sys.argv[2])
