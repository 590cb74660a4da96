#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""Makes section 3 of the man pages from the comments of the public headers.

Usage: man_pages.py DOXYFILE_IN OUTPUT DEPFILE STAMP NAME=VALUE... -- HEADER...

Doxygen reads the headers as for the manual, and this script writes its XML as man(7) into the folder OUTPUT: a
page for each function, each entry of RNIC-PI's tables, each type and each group; old names and macros become
links (.so). DEPFILE tells Ninja about every input.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'tools', 'dev'))

import man_reference  # noqa: E402  pylint: disable=wrong-import-position
import man_xml  # noqa: E402  pylint: disable=wrong-import-position
import spec_paragraphs  # noqa: E402  pylint: disable=wrong-import-position

# What differs from the manual. Its build judges the comments, so warnings are not repeated here.
OVERRIDES = """
INPUT_FILTER           =
USE_MDFILE_AS_MAINPAGE =
GENERATE_HTML          = NO
GENERATE_XML           = YES
XML_PROGRAMLISTING     = NO
SEARCHENGINE           = NO
HAVE_DOT               = NO
WARNINGS               = NO
WARN_IF_UNDOCUMENTED   = NO
WARN_IF_DOC_ERROR      = NO
WARN_IF_INCOMPLETE_DOC = NO
WARN_NO_PARAMDOC       = NO
WARN_AS_ERROR          = NO
"""


def xml_of(template, headers, values, folder):
    """Runs Doxygen; the folder of its XML, or None if it failed."""
    values = dict(values, output=folder, python=sys.executable, input=' '.join(f'"{path}"' for path in headers))
    with open(template, encoding='utf-8') as file:
        doxyfile = re.sub(r'@(\w+)@', lambda match: values[match.group(1)], file.read())
    result = subprocess.run(['doxygen', '-'], input=doxyfile + OVERRIDES, text=True, check=False)
    return os.path.join(folder, 'xml') if result.returncode == 0 else None


def main(arguments):
    template, output, depfile, stamp = arguments[1:5]
    split = arguments.index('--')
    values = dict(argument.split('=', 1) for argument in arguments[5:split])
    headers = arguments[split + 1:]

    with tempfile.TemporaryDirectory() as folder:
        xml = xml_of(template, headers, values, folder)
        if xml is None:
            return 1
        manual = man_reference.Manual(man_xml.Reader(xml), values)

    pages = list(manual.pages())
    shutil.rmtree(output, ignore_errors=True)  # no page stays that is none any more
    os.makedirs(output)
    for page in pages:
        page.write(os.path.join(output, page.name + '.3'))
    for link, target in manual.links():
        with open(os.path.join(output, link + '.3'), 'w', encoding='ascii') as file:
            print(f'.so man3/{target}.3', file=file)

    here = os.path.dirname(os.path.abspath(__file__))
    tools = [os.path.join(here, name) for name in sorted(os.listdir(here)) if re.match(r'man_.*\.py$', name)]
    folder = os.path.join(values['source'], 'doc', 'examples')
    examples = [folder] + [os.path.join(folder, name) for name in sorted(os.listdir(folder)) if name.endswith('.c')]
    books = [os.path.join(values['source'], path) for path in spec_paragraphs.pages(values['source'])]
    with open(depfile, 'w', encoding='utf-8') as file:
        print(f'{stamp}: {" ".join([template, spec_paragraphs.__file__] + headers + tools + books + examples)}', file=file)
    with open(stamp, 'w', encoding='utf-8'):
        pass
    return 0


if __name__ == '__main__':
    sys.exit(main(sys.argv))
