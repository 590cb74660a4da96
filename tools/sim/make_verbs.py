#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""Generates a function for each call of libibverbs that doors/verbs implements: it notifies the
scheduler of the call, as those of make_calls.py do.

Usage: make_verbs.py OUTPUT LIST MAP HEADER      MAP: of the door; HEADER: verbs.h; LIST gets the names, for the linker
"""

import os
import re
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

# pylint: disable=wrong-import-position
from make_calls import names_of  # noqa: E402

PROTOTYPE = re.compile(r'^((?:const )?(?:struct |enum )?\w+\s*\**)\s*(_?ibv_\w+)\(([^;{}]*?)\);', re.MULTILINE)
EXPORTED = re.compile(r'^\t(_?ibv_\w+);', re.MULTILINE)
BEHIND = {
    'ibv_open_device': 'sim_verbs_opened(answer)',
    'ibv_create_qp': 'sim_verbs_queue_pair_made(answer)',
    'ibv_destroy_qp': 'sim_verbs_queue_pair_gone(answer, qp)',
    'ibv_get_cq_event': 'sim_verbs_waited(answer)',
    'ibv_get_async_event': 'sim_verbs_waited(answer)',
}
HEAD = """/* Made by make_verbs.py. */
#include "sim/sim_verbs.h"
"""


def function_of(result, name, parameters):
    arguments = ', '.join(names_of(parameters))
    known = f'SIM_VERBS({name})({arguments})'
    begin = [f'#undef {name}', f'{result} {name}({" ".join(parameters.split())});',
             f'{result} {name}({" ".join(parameters.split())})', '{']
    if result == 'void':
        return '\n'.join(begin + ['\tif (!sim_verbs_here())', '\t\treturn;', f'\tsim_enter("{name}");', f'\t{known};',
                                  '\tsim_leave();', '}', ''])
    lines = begin + ['\tif (!sim_verbs_here())', f'\t\treturn ({result})0;', f'\tsim_enter("{name}");',
                     f'\t{result} answer = {known};']
    if name in BEHIND:
        lines.append(f'\t{BEHIND[name]};')
    return '\n'.join(lines + ['\tsim_leave();', '\treturn answer;', '}', ''])


def main(output, listing, door_map, header):
    with open(door_map, encoding='utf-8') as file:
        exported = set(EXPORTED.findall(file.read()))
    with open(header, encoding='utf-8') as file:
        source = re.sub(r'/\*.*?\*/', '', file.read(), flags=re.DOTALL)
    text, names = [HEAD], []
    for result, name, parameters in PROTOTYPE.findall(source):
        if name in exported and name not in names:
            names.append(name)
            text.append(function_of(' '.join(result.split()), name, parameters))
    with open(output, 'w', encoding='utf-8') as file:
        file.write('\n'.join(text))
    with open(listing, 'w', encoding='utf-8') as file:
        file.write('{\n' + ''.join(f'{name};\n' for name in names) + '};\n')


if __name__ == '__main__':
    main(*sys.argv[1:])
