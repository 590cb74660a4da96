# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""Results that a script gives its caller: on stdout, or in a file. Results that are lost make the script fail."""

import io
import os
import stat
import sys


def lost(what, error):
    """Ends the script, with a message on stderr."""
    sys.exit(f'{os.path.basename(sys.argv[0])}: {what} could not be written: {os.strerror(error)}')


class Watched(io.FileIO):
    """stdout that remembers its first failure, since a caller such as argparse's help ignores
    failures."""

    lost = None

    def write(self, octets):
        try:
            return super().write(octets)
        except OSError as error:
            self.lost = self.lost or error.errno
            raise


def told(main, *arguments):
    """Runs main() and returns its status; or prints a message and returns 1 if its output did not
    reach the file or reader behind stdout."""
    if sys.stdout is None:      # the caller has closed the descriptor, and print() would do nothing
        sys.exit(f'{os.path.basename(sys.argv[0])}: stdout is closed')
    watched = Watched(1, 'wb', closefd=False)
    sys.stdout = io.TextIOWrapper(io.BufferedWriter(watched), encoding=sys.stdout.encoding, line_buffering=True)
    status = 0
    try:
        status = main(*arguments)
    except SystemExit as end:
        status = end.code
    except OSError:
        if watched.lost is None:
            raise
    try:
        sys.stdout.flush()
    except OSError:
        pass
    if watched.lost is None:
        return status
    # The interpreter flushes stdout once more, and must not fail then.
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return status or lost('the output', watched.lost)


def save(path, text, encoding='utf-8'):
    """Writes this text to a file. A regular file is written under another name and renamed when it
    is complete. Anything else, such as a pipe or /dev/stdout, is written to directly.
    """
    path = os.fspath(path)
    regular = not os.path.exists(path) or stat.S_ISREG(os.stat(path).st_mode)
    place = f'{os.path.realpath(path)}.{os.getpid()}.part' if regular else path
    try:
        with open(place, 'w', encoding=encoding) as file:
            file.write(text)
        if regular:
            if os.path.exists(path):
                os.chmod(place, stat.S_IMODE(os.stat(path).st_mode))
            os.replace(place, os.path.realpath(path))
    except OSError as error:
        if regular and os.path.exists(place):
            os.unlink(place)
        lost(path, error.errno)
