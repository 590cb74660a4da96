# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""The folder into which a script of `meson install` writes files, if an option of the build names that folder."""

import os


def install_folder(option, *names):
    """The folder below the prefix, or an absolute one; both under DESTDIR, of which nothing outside is touched."""
    prefix = os.environ['MESON_INSTALL_DESTDIR_PREFIX']
    destdir = prefix.removesuffix(os.environ['MESON_INSTALL_PREFIX'])
    return os.path.join(destdir + option if os.path.isabs(option) else os.path.join(prefix, option), *names)
