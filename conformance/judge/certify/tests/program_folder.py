# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""The folder of programs that it-certify expects; in a build folder they lie in several folders."""

import os


def make(path, programs):
    """Makes a folder with a link to each program, like the folder of an installation, and returns
    its path."""
    os.mkdir(path)
    for program in programs:
        os.symlink(os.path.abspath(program), os.path.join(path, os.path.basename(program)))
    return path
