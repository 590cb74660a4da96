#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""A device appears while a program runs. Its provider is in the library's folder and was not loaded
yet; the next list of adapters must contain the device's.

Usage: test_later.py PROGRAM LIBRARY FOLDER PROVIDER.so      (TAP)
The library is copied, so that FOLDER, the folder of providers beside it, belongs to this test.
"""

import os
import shutil
import subprocess
import sys
import tempfile

PATIENCE = 120      # s
ADAPTER = 'tiny'


def lists(program, library, subfolder, provider, there):
    """Returns the two lists that the program prints; the device appears between them, or is `there`
    from the beginning."""
    with tempfile.TemporaryDirectory() as place:
        folder, device = os.path.join(place, subfolder), os.path.join(place, 'device')
        os.makedirs(folder)
        shutil.copy(library, os.path.join(place, 'libitapi.so.2'))
        shutil.copy(provider, os.path.join(folder, 'later.so'))
        with open(os.path.join(folder, 'later.needs'), 'w', encoding='ascii') as needs:
            needs.write(device + '\n')
        if there:
            with open(device, 'w', encoding='ascii'):
                pass
        kept = {name: value for name, value in os.environ.items() if not name.startswith('ITAPI_')}
        said = subprocess.run([program, device], env={**kept, 'LD_LIBRARY_PATH': place}, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, text=True, timeout=PATIENCE, check=True).stdout
        return [part.split() for part in said.split('\n\n')]


def report(number, name, good, said):
    print(f'{"ok" if good else "not ok"} {number} - /tools/later/{name}')
    if not good:
        print(f'# it lists {said}')
    return good


def main(*arguments):
    print('1..2')
    said = lists(*arguments, there=True)
    good = report(1, 'there', len(said) == 2 and all(names.count(ADAPTER) == 1 for names in said), said)
    said = lists(*arguments, there=False)
    good &= report(2, 'appears', len(said) == 2 and ADAPTER not in said[0] and said[1].count(ADAPTER) == 1 and
                   set(said[0]) < set(said[1]), said)
    return 0 if good else 1


if __name__ == '__main__':
    sys.exit(main(*sys.argv[1:]))
