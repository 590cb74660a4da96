#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""Writes a wrapper around each function of IT-API, for a library that is preloaded before libitapi
(around.h).

Usage: make_around.py OUTPUT HEADER...
"""

import re
import sys

HEAD = """/* Written by make_around.py. */
#include "around.h"

#include "it_api.h"
#include "it_ext.h"

/* As the linker knows it, whatever the header makes of a name. */
#define LINKED(name) TEXT(name)
#define TEXT(name) #name

"""

WRAPPER = """struct around_{name} {{
	{result} (*real)({params});
	{members}
}};

static void
around_run_{name}(void *at)
{{
	struct around_{name} *call = (struct around_{name} *)at;

	{keep}call->real({args});
}}

{result}
{name}({params})
{{
	static {result} (*real)({params}); /* found by any thread, the same by all */
	struct around_{name} call = {{.real = __atomic_load_n(&real, __ATOMIC_RELAXED){set}}};

	if (call.real == NULL) {{
		call.real = ({result} (*)({params}))around_find(LINKED({name}));
		__atomic_store_n(&real, call.real, __ATOMIC_RELAXED);
	}}
	around("{name}", {timeout}, around_run_{name}, &call);
	{give}
}}

"""

PROTOTYPE = re.compile(r'^([a-z]\w*(?: \w+)*?[ *]+?)\s*\b(itx?_\w+)\s*\(([^;{}]*?)\)\s*;',
                       re.MULTILINE | re.DOTALL)


def prototypes(header):
    """(result, name, parameters) of each function of the header."""
    with open(header, encoding='utf-8') as file:
        text = re.sub(r'/\*.*?\*/', ' ', file.read(), flags=re.DOTALL)
    for match in PROTOTYPE.finditer(text):
        if not match[1].startswith('typedef'):
            yield match[1].strip(), match[2], ' '.join(match[3].split())


def named(params):
    """(type, name, suffix) of each parameter."""
    if params == 'void':
        return []
    parts = [re.match(r'(.*?)(\w+)(\[\w*\])?$', one.strip()) for one in params.split(',')]
    return [(part[1].strip(), part[2], part[3]) for part in parts]


def member(kind, name, suffix):
    """The declaration of a parameter that is kept."""
    kind = re.sub(r'\b(IN|OUT)\b', '', kind).strip()
    if suffix:
        kind += ' *'
    return f'{kind} {name};'


def wrapper(result, name, params):
    """The text for one function."""
    args = named(params)
    members = ' '.join(member(*one) for one in args)
    if result != 'void':
        members += f' {result} given;'
    return WRAPPER.format(
        name=name, result=result, params=params, members=members,
        args=', '.join('call->' + one[1] for one in args),
        set=''.join(f', .{one[1]} = {one[1]}' for one in args),
        keep='' if result == 'void' else 'call->given = ',
        give='return;' if result == 'void' else 'return call.given;',
        timeout='timeout != 0' if any(one[1] == 'timeout' for one in args) else '0')


def main(output, headers):
    """Write the file."""
    with open(output, 'w', encoding='utf-8') as out:
        out.write(HEAD)
        for header in headers:
            for result, name, params in prototypes(header):
                out.write(wrapper(result, name, params))


if __name__ == '__main__':
    main(sys.argv[1], sys.argv[2:])
