#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""The tutorials lead where they say, with an installed copy (TAP). How pages are read: tutorial_reader.py.

Usage: test-doc-tutorial.py BUILD PAGE...

The pages are followed in their order, in one empty folder.
"""

import json
import os
import pty
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, '..', 'tools', 'dev')]

# pylint: disable=wrong-import-position
import installed  # noqa: E402
import tutorial_reader  # noqa: E402


def sanitized(build):
    """Whether a program that is compiled without a sanitizer cannot load the library."""
    with open(os.path.join(build, 'meson-info', 'intro-buildoptions.json'), encoding='utf-8') as file:
        return any(option['name'] == 'b_sanitize' and option['value'] != 'none' for option in json.load(file))


def environment_of(there):
    """That of somebody who uses the installed copy and has set no variable of ours."""
    found = {name: value for name, value in there.environment(LC_ALL='C').items() if not name.startswith('ITAPI_')}
    return {**found, 'PATH': there.path('bindir') + os.pathsep + found['PATH']}


def main(build, *pages):
    installed.skip_without('cc', 'meson', 'pkg-config')
    if sanitized(build):
        print('1..0 # SKIP a program that is compiled without the sanitizer cannot load the library')
        return 0
    try:
        for end in pty.openpty():
            os.close(end)
    except OSError as error:
        print(f'1..0 # SKIP there are no pseudo-terminals: {error}')
        return 0
    with installed.Installed(build) as there, tempfile.TemporaryDirectory(prefix='itapi-tutorial.') as folder:
        reader = tutorial_reader.Reader(environment_of(there), folder)
        reader.follow_all(pages)
    print(f'1..{reader.cases}')
    return 1 if reader.failed else 0


if __name__ == '__main__':
    sys.exit(main(*sys.argv[1:]))
