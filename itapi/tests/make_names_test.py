#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""Writes a program that compares the names that the functions of it_ext.h return with the tables of
the standard.

Each value of a table must be called by a constant of that value and type, the standard's if it has
one; each other value below LIMIT, and two far away, must be called unknown.

Usage: make_names_test.py FOLDER_OF_TABLES OUTPUT
"""

import collections
import sys

import tables

LIMIT = 0x21000

FUNCTIONS = {
    'it_status_name': 'it_status_t',
    'it_event_name': 'it_event_type_t',
    'it_dto_status_name': 'it_dto_status_t',
    'it_reject_name': 'it_conn_reject_code_t',
    'it_ep_state_name': 'it_ep_state_rc_t',
    'it_ud_state_name': 'it_ep_state_ud_t',
    'it_ud_answer_name': 'it_ud_svc_req_status_t',
    'it_handle_type_name': 'it_handle_type_enum_t',
}

HEAD = r"""/* Written by make_names_test.py. */
#include <stdio.h>
#include <string.h>

#include "it_ext.h"

static unsigned number, failed;

static void
result(unsigned wrong, const char *function)
{
	printf("%s %u - /itapi/names/%s\n", wrong == 0 ? "ok" : "not ok", ++number, function);
	failed += wrong != 0;
}

static unsigned
odd(long long value, const char *name)
{
	printf("# %lld is called %s\n", value, name != NULL ? name : "NULL");
	return 1;
}
"""

CHECK = r"""
static const char *
wanted_by_%(function)s(long long value)
{
	switch (value) {
%(cases)s	default:
		return "|(unknown)|";
	}
}

static void
check_%(function)s(void)
{
	static const long long far[] = {-1, 0x7fffffff};
	unsigned wrong = 0;

	for (long long i = 0; i < %(limit)d + 2; i++) {
		long long value = i < %(limit)d ? i : far[i - %(limit)d];
		const char *name = %(function)s((%(type)s)value);
		char marked[80];

		(void)snprintf(marked, sizeof(marked), "|%%s|", name != NULL ? name : "");
		if (strstr(wanted_by_%(function)s(value), marked) == NULL)
			wrong += odd(value, name);
	}
	result(wrong, "%(function)s");
}
"""


def names(folder, c_type):
    """Value to the names it may be called: the standard's, or else the field's."""
    standard, field = collections.defaultdict(list), collections.defaultdict(list)
    for row in tables.rows(folder, 'enums'):
        if row['type'] == c_type:
            if row['status'] == 'standard':
                standard[int(row['value'])].append(row['constant'])
            elif row['status'] == 'extension':
                field[int(row['copy_value'])].append(row['copy_constant'])
    return {**field, **standard}


def main(folder, output):
    with open(output, 'w', encoding='ascii') as program:
        program.write(HEAD)
        for function, c_type in FUNCTIONS.items():
            cases = ''.join('\tcase %d:\n\t\treturn "|%s|";\n' % (value, '|'.join(called))
                            for value, called in sorted(names(folder, c_type).items()))
            program.write(CHECK % {'function': function, 'type': c_type, 'cases': cases,
                                   'limit': LIMIT})
        program.write('\nint\nmain(void)\n{\n\tprintf("1..%d\\n");\n' % len(FUNCTIONS))
        program.writelines('\tcheck_%s();\n' % function for function in FUNCTIONS)
        program.write('\treturn failed != 0;\n}\n')


if __name__ == '__main__':
    main(sys.argv[1], sys.argv[2])
