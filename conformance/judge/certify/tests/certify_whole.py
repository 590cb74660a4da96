#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""Certifies an adapter on all levels, as a vendor does; prints TAP. Writes the report into the
folder REPORTS, as JSON and as a page.

Usage: certify_whole.py REPORTS CERTIFY ADAPTER PROGRAM...
"""

import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True

import program_folder  # noqa: E402  pylint: disable=wrong-import-position


def main(reports, certify, adapter, *programs):
    os.makedirs(reports, exist_ok=True)
    report = os.path.join(reports, adapter.replace(':', '-'))
    with tempfile.TemporaryDirectory(prefix='itapi-certify.') as folder:
        path = program_folder.make(os.path.join(folder, 'programs'), programs)
        return subprocess.run([certify, '--adapter', adapter, '--programs', path, '--quick', '--seed', '1', '--patience', '100',
                               '--limit', '300', '--silent', '--tap', '-', '--json', report + '.json', '--html', report + '.html'],
                              check=False).returncode


if __name__ == '__main__':
    sys.exit(main(*sys.argv[1:]))
