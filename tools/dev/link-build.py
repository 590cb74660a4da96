#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""Makes links in a build folder, so that programs that look for files at paths relative to their
own find them as in an installation.

Meson runs it after each configuration. So the library of a build folder finds its providers, and it-certify the programs
that it starts, by their own paths, and no variable of the environment has to name a folder.

Links of a former configuration are removed; other files in those folders stay. Nothing outside
of the build folder is changed, although with unusual installation folders a program may look
there.

Usage: link-build.py FILE      (made from build-links.in; MESON_BUILD_ROOT: the build folder)
"""

import os
import sys

RECORD = 'meson-private/itapi-links'


def read_record(build):
    """The links that the last configuration made."""
    try:
        with open(os.path.join(build, RECORD), encoding='utf-8') as file:
            return file.read().splitlines()
    except FileNotFoundError:
        return []


def main(path):
    build = os.path.realpath(os.environ['MESON_BUILD_ROOT'])
    with open(os.path.join(build, path), encoding='utf-8') as file:
        words = [line for line in file.read().splitlines() if line and not line.startswith('#')]
    wanted = {os.path.normpath(link): target for link, target in zip(words[::2], words[1::2])}
    wanted = {link: target for link, target in wanted.items() if link.startswith(build + os.sep)}
    for link in read_record(build):
        if link not in wanted and os.path.islink(link):
            os.unlink(link)
    for link, target in wanted.items():
        os.makedirs(os.path.dirname(link), exist_ok=True)
        target = os.path.relpath(target, os.path.dirname(link))
        if os.path.islink(link) and os.readlink(link) != target:
            os.unlink(link)
        if not os.path.lexists(link):
            os.symlink(target, link)
    with open(os.path.join(build, RECORD), 'w', encoding='utf-8') as file:
        file.write(''.join(link + '\n' for link in wanted))
    return 0


if __name__ == '__main__':
    sys.exit(main(*sys.argv[1:]))
