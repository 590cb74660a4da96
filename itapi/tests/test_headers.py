#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""Checks the two public headers as texts, and by compiling them alone.

As texts: parameters are named, directed and documented as the tables say; results are
documented; the headers contain only names of the tables; the export list is the list of
functions. By compiling: they compile from C99 on, as C++, in every binding mode, with the
strictest warnings; and they are refused if the application requests host byte order.

Usage: test_headers.py FOLDER_OF_ITAPI CC...      (TAP)
"""

import os
import re
import shutil
import subprocess
import sys

import tables

COMMENT = re.compile(r'/\*.*?\*/', re.DOTALL)
PROTOTYPE = re.compile(r'/\*\*((?:(?!\*/).)*)\*/\s*([\w ]+?[ *]+)(itx?_\w+)\(([^;{}]*)\);', re.DOTALL)
NAME = re.compile(r'\b(?:itx?_|IT_|ITX_|ITAPI_)\w+')
STRICT = ['-fsyntax-only', '-pedantic-errors', '-Wall', '-Wextra', '-Wundef', '-Wshadow',
          '-Wconversion', '-Wsign-conversion', '-Werror']
MODES = ['-DITAPI_TEST', '-DIT_32BIT', '-DITAPI_ENABLE_V20_BINDINGS', '-DITAPI_ENABLE_V21_BINDINGS']
HOST_ORDER = ['ITAPI_IANA_PORT_HOST_BYTE_ORDER', 'ITAPI_SERVICE_ID_HOST_BYTE_ORDER']


def squeeze(text):
    return ' '.join(text.split())


def prototypes(text):
    """Name to (comment, result, parameters as written)."""
    return {name: (comment, squeeze(result), [squeeze(part) for part in parameters.split(',')])
            for comment, result, name, parameters in PROTOTYPE.findall(text)}


def written(direction, c_type, name):
    marker = 'IN OUT' if direction == 'INOUT' else direction
    return '%s %s%s%s' % (marker, c_type, '' if c_type.endswith('*') else ' ', name)


def wrong_parameters(folder, found):
    """Each function whose prototype or parameter comments differ from its table."""
    for entry in tables.functions(folder):
        if entry.name not in found:
            yield '%s has no documented prototype' % entry.name
            continue
        comment, result, parameters = found[entry.name]
        if result != entry.returns:
            yield '%s returns %s' % (entry.name, result)
        if parameters != [written(*parameter) for parameter in entry.parameters]:
            yield '%s has other parameters: %s' % (entry.name, parameters)
        documented = re.findall(r'@param\[([\w,]+)\]\s+(\w+)', comment)
        directions = {'IN': 'in', 'OUT': 'out', 'INOUT': 'in,out'}
        if documented != [(directions[way], name) for way, _, name in entry.parameters]:
            yield '%s documents other parameters: %s' % (entry.name, documented)


def wrong_results(folder, found):
    """Yields each function whose comment lacks its results, whether it blocks, or the paragraph
    that specifies it."""
    known = {constant.name for constant in tables.constants(folder)
             if constant.type == 'it_status_t'}
    for entry in tables.functions(folder):
        comment = found[entry.name][0]
        results = re.findall(r'@retval\s+(\w+)', comment)
        for result in results:
            if result not in known:
                yield '%s documents the unknown result %s' % (entry.name, result)
        if len(results) != len(set(results)):
            yield '%s documents a result twice' % entry.name
        if entry.returns == 'it_status_t' and not results:
            yield '%s documents no result' % entry.name
        if not entry.extension and entry.returns == 'it_status_t' and results[0] != 'IT_SUCCESS':
            yield '%s does not document success first' % entry.name
        for item in ('- Thread:', '- Blocks:', '- Events', '- Clause: [IT '):
            if item not in comment:
                yield '%s lacks "%s"' % (entry.name, item)


def strangers(folder, text):
    """Names in the code of the headers that are in no table."""
    code = re.sub(r'^\s*#\s*(?:include|error).*$', '', COMMENT.sub(' ', text), flags=re.MULTILINE)
    unknown = set(NAME.findall(code)) - tables.identifiers(folder) - tables.OURS
    return sorted(name for name in unknown if not name.startswith(tables.OURS_BEGIN))


def wrong_exports(folder, text):
    """Differences between the export list and the functions of the tables."""
    text = COMMENT.sub(' ', text)
    versions = dict(re.findall(r'(\w[\w.]*)\s*\{(.*?)\}', text, re.DOTALL))
    for extension, version in ((False, 'ITAPI_2.1'), (True, 'ITAPI_EXT')):
        wanted = {entry.name for entry in tables.functions(folder) if entry.extension == extension}
        listed = set(re.findall(r'\b(itx?_\w+);', versions.get(version, '')))
        differences = (wanted ^ listed) - {tables.NARROW_ENTRY}
        yield from ('%s: %s' % (version, name) for name in sorted(differences))


def compiles(compiler, arguments):
    result = subprocess.run(compiler + arguments, stdin=subprocess.DEVNULL, capture_output=True,
                            text=True, check=False)
    return result.returncode == 0, result.stderr


def failed_compilations(compiler, folder):
    """Compiles in every mode, standard and header; yields the cases that should compile but do not."""
    for header in ('it_api.h', 'it_ext.h'):
        path = os.path.join(folder, 'include', header)
        for mode in MODES:
            for language in compiler[1]:
                good, message = compiles(compiler[0], STRICT + language + [mode, path])
                if not good:
                    yield '%s %s %s: %s' % (header, mode, language, message)


def accepted_host_order(compiler, folder):
    for macro in HOST_ORDER:
        path = os.path.join(folder, 'include', 'it_api.h')
        good, message = compiles(compiler, ['-fsyntax-only', '-x', 'c', '-D' + macro, path])
        if good or macro not in message:
            yield macro


def c_of(command):
    return command, [['-x', 'c', '-std=' + standard] for standard in ('c99', 'c11', 'c17')]


def cxx_of(command):
    return [command], [['-x', 'c++', '-std=' + standard] for standard in ('c++98', 'c++11', 'c++17')]


def main(arguments):
    folder, *compiler = arguments
    data = os.path.join(folder, 'tests', 'data')
    texts = ''
    for name in ('it_api.h', 'it_ext.h'):
        with open(os.path.join(folder, name), encoding='ascii') as header:
            texts += header.read()
    with open(os.path.join(folder, 'libitapi.map'), encoding='ascii') as exports:
        listed = exports.read()

    if shutil.which(compiler[0]) is None:
        print('1..0 # SKIP not installed: %s' % compiler[0])
        return

    found = prototypes(texts)
    cases = [
        ('parameters', wrong_parameters(data, found)),
        ('results', wrong_results(data, found)),
        ('nothing-else', strangers(data, texts)),
        ('exports', wrong_exports(data, listed)),
        ('alone-as-c', failed_compilations(c_of(compiler), folder)),
        ('host-order-refused', accepted_host_order(compiler, folder)),
    ]
    cxx = shutil.which('c++')
    if cxx:
        cases.append(('alone-as-c++', failed_compilations(cxx_of(cxx), folder)))
    print('1..%d' % len(cases))
    for number, (name, complaints) in enumerate(cases, 1):
        complaints = list(complaints)
        for complaint in complaints:
            print('# ' + complaint.replace('\n', '\n# '))
        print('%s %d - /itapi/headers/%s' % ('not ok' if complaints else 'ok', number, name))


if __name__ == '__main__':
    main(sys.argv[1:])
