#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""Runs Doxygen for the build: fills in the Doxyfile, says what the manual was made from.

Usage: manual.py DOXYFILE_IN OUTPUT DEPFILE STAMP NAME=VALUE... -- INPUT...

An input that is a folder stands for the .md files in it. What doc/manual_filter.py makes of a file
depends on the books of the specification, and so does the manual. DEPFILE tells Ninja about every input,
folders too, so that a page that was added makes a new manual. Doxygen's warnings are errors, and so are links
of the manual that lead nowhere.
"""

import os
import re
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True

import manual_links  # noqa: E402  pylint: disable=wrong-import-position


def pages_of(inputs):
    for path in inputs:
        if os.path.isdir(path):
            yield from sorted(os.path.join(path, n) for n in os.listdir(path) if n.endswith('.md'))
        else:
            yield path


def main(arguments):
    template, output, depfile, stamp = arguments[1:5]
    split = arguments.index('--')
    values = dict(argument.split('=', 1) for argument in arguments[5:split])
    inputs = arguments[split + 1:]
    pages = list(pages_of(inputs))

    values.update(output=output, python=sys.executable, input=' '.join(f'"{page}"' for page in pages))
    with open(template, encoding='utf-8') as file:
        doxyfile = re.sub(r'@(\w+)@', lambda match: values[match.group(1)], file.read())

    os.makedirs(output, exist_ok=True)
    shutil.rmtree(os.path.join(output, 'html'), ignore_errors=True)  # no page stays that is none any more
    result = subprocess.run(['doxygen', '-'], input=doxyfile, text=True, check=False)
    if result.returncode != 0:
        return 1

    # The guides link to the programs that they quote.
    shutil.copytree(os.path.join(values['source'], 'doc', 'examples'), os.path.join(output, 'html', 'examples'),
                    ignore=shutil.ignore_patterns('*.py', '__pycache__'), dirs_exist_ok=True)
    manual_links.mend(os.path.join(output, 'html'))
    for page, link in manual_links.broken(os.path.join(output, 'html')):
        print(f'{page}: the link {link} leads nowhere', file=sys.stderr)
        result.returncode = 1
    if result.returncode != 0:
        return 1

    tools = [os.path.join(values['source'], path)
             for path in ('doc/manual_filter.py', 'doc/manual_links.py', 'tools/dev/spec_paragraphs.py')]
    with open(depfile, 'w', encoding='utf-8') as file:
        print(f'{stamp}: {" ".join(pages + tools + [p for p in inputs if os.path.isdir(p)])}', file=file)
    with open(stamp, 'w', encoding='utf-8'):
        pass
    return 0


if __name__ == '__main__':
    sys.exit(main(sys.argv))
