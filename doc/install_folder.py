# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""Where a script that `meson install` calls writes the files of a folder which an option names."""

import os


def install_folder(option, *names):
    """The folder below the prefix, or an absolute one; both under DESTDIR, of which nothing outside is touched."""
    prefix = os.environ['MESON_INSTALL_DESTDIR_PREFIX']
    destdir = prefix.removesuffix(os.environ['MESON_INSTALL_PREFIX'])
    return os.path.join(destdir + option if os.path.isabs(option) else os.path.join(prefix, option), *names)
