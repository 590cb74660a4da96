#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""Writes the wrappers that record which status each call of IT-API returned.

A test program that links them calls them instead of the library; each calls the library and
records the function, the status and the running test (spy.h).

Usage: make_spy.py OUTPUT HEADER...
"""

import re
import sys

HEAD = """/* Written by make_spy.py. */
#include "spy.h"

#include "it_api.h"
#include "it_ext.h"

/* As the linker knows it, whatever the header makes of a name. */
#define LINKED(name) TEXT(name)
#define TEXT(name) #name

"""

WRAPPER = """it_status_t
{name}({params})
{{
	static it_status_t (*spy_real)({params}); /* found by any thread, the same by all */
	it_status_t (*spy_call)({params}) = __atomic_load_n(&spy_real, __ATOMIC_RELAXED);
	it_status_t spy_given;

	if (spy_call == NULL) {{
		spy_call = (it_status_t (*)({params}))spy_find(LINKED({name}));
		__atomic_store_n(&spy_real, spy_call, __ATOMIC_RELAXED);
	}}
	spy_given = spy_call({args});
	spy_note("{name}", (int)spy_given);
	return spy_given;
}}

"""


def prototypes(header):
    """(name, parameters) of each function of the header that gives a status."""
    with open(header, encoding='utf-8') as file:
        text = re.sub(r'/\*.*?\*/', ' ', file.read(), flags=re.DOTALL)
    for match in re.finditer(r'\bit_status_t\s+(itx?_\w+)\s*\(([^;{}]*?)\)\s*;', text):
        yield match[1], ' '.join(match[2].split())


def arguments(params):
    """The names of the parameters."""
    return ', '.join(re.search(r'(\w+)(\[\w*\])?$', one.strip())[1] for one in params.split(','))


def main(output, headers):
    with open(output, 'w', encoding='utf-8') as out:
        out.write(HEAD)
        for header in headers:
            for name, params in prototypes(header):
                out.write(WRAPPER.format(name=name, params=params, args=arguments(params)))


if __name__ == '__main__':
    main(sys.argv[1], sys.argv[2:])
