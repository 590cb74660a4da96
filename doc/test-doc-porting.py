#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""Compares the table of the porting guide with what the adapters say of themselves (TAP).

Usage: test-doc-porting.py GUIDE IT-INFO
"""

import json
import re
import subprocess
import sys

ADAPTERS = {'emul:ib': 'emul:ib', 'emul:iwarp': 'emul:iwarp', 'iwarp': 'iwarp:lo'}
# Who it is, not what it can do.
IDENTITY = {'name', 'transport', 'vendor', 'provider_major_version', 'provider_minor_version',
            'spigots', 'spigot_id', 'online', 'addresses'}
ROW = re.compile(r'^\| `(\w+)` \| (\S+) \| (\S+) \| (\S+) \| (.+) \|$', re.MULTILINE)


def profile(it_info, adapter):
    """The members of an adapter and of its first spigot, as JSON writes them."""
    said = subprocess.run([it_info, '--json', '--adapter', adapter], check=True,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, timeout=60).stdout
    found = json.loads(said)['adapters'][0]
    members = {**found['spigots'][0], **found}
    return {name: json.dumps(value) for name, value in members.items() if name not in IDENTITY}


def complaints(table, profiles):
    for name in sorted(set().union(*profiles)):
        values = tuple(each.get(name, 'absent') for each in profiles)
        if len(set(values)) > 1 and table.get(name) != values:
            yield f'{name} is {values}, the guide says {table.get(name)}'
        elif len(set(values)) == 1 and name in table:
            yield f'{name} is {values[0]} everywhere and needs no row'
    for name in sorted(set(table) - set().union(*profiles)):
        yield f'{name} is not a member'


def main(guide, it_info):
    with open(guide, encoding='utf-8') as file:
        text = file.read()
    heads = re.search(r'^\| member \| (\S+) \| (\S+) \| (\S+) \| because \|$', text, re.MULTILINE)
    table = {row[0]: row[1:4] for row in ROW.findall(text)}
    wrong = list(complaints(table, [profile(it_info, ADAPTERS[name]) for name in heads.groups()]))
    print('1..1')
    print(''.join(f'# {line}\n' for line in wrong), end='')
    print(f'{"not ok" if wrong else "ok"} 1 - /doc/porting-guide/profiles')


if __name__ == '__main__':
    main(*sys.argv[1:])
