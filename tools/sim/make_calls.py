#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""Generates a function for each call of IT-API that replaces the library's: it notifies the
scheduler, and then calls the library.

Usage: make_calls.py OUTPUT LIST HEADER...       LIST gets the names, for the linker
"""

import re
import sys

PROTOTYPE = re.compile(r'^((?:const )?\w+ \**)(itx?_\w+)\(([^;{}]*)\);', re.MULTILINE)
# Pure functions, and those that are macros or inline.
LEFT_OUT = re.compile(r'_name$|^it_(hton64|ntoh64|make_rdma_addr_\w+)$')
BEFORE = {'it_ia_create': ('sim_api_may_open(name)', 'IT_ERR_INVALID_NAME')}
BEHIND = {
    'it_ia_create': 'sim_api_opened(answer, ia_handle)',
    'it_ia_free': 'sim_api_closed(answer, ia_handle)',
    'it_evd_dequeue': 'sim_api_polled(answer)',
    'it_evd_wait': 'sim_api_polled(answer)',
    'it_evd_dequeue_n': 'sim_api_polled(answer)',
}
HEAD = """/* Made by make_calls.py. */
#define ITAPI_ENABLE_V21_BINDINGS
#include "sim/sim_api.h"

#include <stddef.h>

#include "sim/sim.h"
#include "sim/sim_real.h"
"""


def names_of(parameters):
    """The names of the parameters of a prototype."""
    found = []
    for parameter in parameters.split(','):
        match = re.search(r'(\w+)(?:\[[^\]]*\])?\s*$', parameter.strip())
        if match and match[1] != 'void':
            found.append(match[1])
    return found


def function_of(result, name, parameters):
    arguments = ', '.join(names_of(parameters))
    lines = [f'{result.strip()} {name}({" ".join(parameters.split())})', '{']
    if name in BEFORE:
        condition, status = BEFORE[name]
        lines += [f'\tif (!{condition})', f'\t\treturn {status};']
    lines.append(f'\tsim_enter("{name}");')
    if result.strip() == 'void':
        lines += [f'\tSIM_REAL({name})({arguments});', '\tsim_leave();']
    else:
        lines.append(f'\t{result.strip()} answer = SIM_REAL({name})({arguments});')
        if name in BEHIND:
            lines.append(f'\t{BEHIND[name]};')
        lines += ['\tsim_leave();', '\treturn answer;']
    return '\n'.join(lines + ['}', ''])


def main(output, listing, *headers):
    text, names = [HEAD], []
    for path in headers:
        with open(path, encoding='utf-8') as file:
            for result, name, parameters in PROTOTYPE.findall(file.read()):
                if not LEFT_OUT.search(name):
                    names.append(name)
                    text.append(function_of(result, name, parameters))
    with open(output, 'w', encoding='utf-8') as file:
        file.write('\n'.join(text))
    with open(listing, 'w', encoding='utf-8') as file:
        file.write('{\n' + ''.join(f'{name};\n' for name in names) + '};\n')


if __name__ == '__main__':
    main(*sys.argv[1:])
