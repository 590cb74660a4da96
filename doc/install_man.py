#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""Installs the pages of section 3, whose names are known only after the build; `meson install` calls it.

Usage: install_man.py FOLDER MANDIR      (MANDIR below the prefix, or absolute)

Pages of others in the same folder stay. What was not built is left out.
"""

import os
import shutil
import sys

sys.dont_write_bytecode = True

import install_folder  # noqa: E402  pylint: disable=wrong-import-position


def main(folder, mandir):
    if not os.path.isdir(folder):
        print('section 3 of the man pages was not built, so it is not installed')
        return
    target = install_folder.install_folder(mandir, 'man3')
    os.makedirs(target, exist_ok=True)
    for name in sorted(os.listdir(folder)):
        shutil.copyfile(os.path.join(folder, name), os.path.join(target, name))


if __name__ == '__main__':
    main(*sys.argv[1:])
