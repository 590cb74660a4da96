#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""Writes wrappers that repeat each call of IT-API while a resource that it needs is refused.

A test program that links them calls them instead of the library. A wrapper makes the first
allocation or verb of the call fail, then the second, and so on until the call is not refused any
more (again.h); before and after each refused call it queries all objects. The calls that WITHOUT
names are not wrapped.

Usage: make_again.py OUTPUT SPY HEADER...
"""

import importlib.util
import re
import sys

HEAD = """/* Written by make_again.py. */
#include "again.h"

#include "it_api.h"
#include "it_ext.h"

#define LINKED(name) TEXT(name)
#define TEXT(name) #name

"""

WRAPPER = """it_status_t
{name}({params})
{{
	static it_status_t (*again_real)({params});
	it_status_t (*again_call)({params}) = __atomic_load_n(&again_real, __ATOMIC_RELAXED);
	it_status_t again_given;
	unsigned long again_number = 0;

	if (again_call == NULL) {{
		again_call = (it_status_t (*)({params}))again_find(LINKED({name}));
		__atomic_store_n(&again_real, again_call, __ATOMIC_RELAXED);
	}}
	do {{
		again_look("{name}");
		again_begin("{name}", ++again_number);
		again_given = again_call({args});
	}} while (again_end("{name}", again_number, (int)again_given));
{made}	return again_given;
}}

"""

# Objects whose queries a refused call must leave as they are.
QUERIED = ('ep', 'evd', 'listen', 'lmr', 'rmr', 'srq')


def made(name, params):
    """Returns the code that records that the call has created or freed an object."""
    lines = ''
    for one in params.split(','):
        handle = re.search(r'\bit_(\w+)_handle_t\s*(\*?)\s*(\w+)$', one.strip())
        if handle and handle[1] in QUERIED and handle[2]:
            lines += f"""	if (again_given == IT_SUCCESS)
		again_made("{handle[1]}", *{handle[3]});
"""
        elif handle and name in (f'it_{handle[1]}_free', 'it_ia_free'):
            lines += f"""	if (again_given == IT_SUCCESS)
		again_gone({handle[3]});
"""
    return lines


# They have succeeded when the request is with a listener, which may refuse it for want of memory.
WITHOUT = ('it_handoff', 'it_ud_service_request')


def main(output, spy, headers):
    spec = importlib.util.spec_from_file_location('make_spy', spy)
    make_spy = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(make_spy)
    with open(output, 'w', encoding='utf-8') as out:
        out.write(HEAD)
        for header in headers:
            for name, params in make_spy.prototypes(header):
                if name not in WITHOUT:
                    out.write(WRAPPER.format(name=name, params=params, args=make_spy.arguments(params),
                                             made=made(name, params)))


if __name__ == '__main__':
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
