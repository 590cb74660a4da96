#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""Installs the example programs, and the manual that Doxygen made; `meson install` calls it.

Usage: install_manual.py EXAMPLES HTML DOCDIR      (DOCDIR below the prefix, or absolute)

Meson cannot install a folder whose files are known only after the build. In the installed manual, links to the example
programs lead to DOCDIR/examples, so that there is one copy of them. A manual that was not built is left out.
"""

import os
import shutil
import sys

sys.dont_write_bytecode = True

import install_folder  # noqa: E402  pylint: disable=wrong-import-position


def install(source, target, ignore):
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(source, target, ignore=ignore)


def main(examples, html, docdir):
    docdir = install_folder.install_folder(docdir)
    install(examples, os.path.join(docdir, 'examples'), shutil.ignore_patterns('*.py', '__pycache__'))
    if not os.path.exists(os.path.join(html, 'index.html')):
        print('the manual was not built, so it is not installed')
        return
    target = os.path.join(docdir, 'html')
    install(html, target, lambda folder, _: ['examples'] if folder == html else [])
    os.symlink('../examples', os.path.join(target, 'examples'))


if __name__ == '__main__':
    main(*sys.argv[1:])
