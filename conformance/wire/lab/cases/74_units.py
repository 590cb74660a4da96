# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""kald as systemd runs it, in the sandbox of its unit (lab-unit)."""

import os

from lab_case import Case, Failed, Skipped

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))


def unit(bench):
    if not os.path.exists('/lib/systemd/systemd'):
        raise Skipped('systemd is not installed')
    if not os.path.isfile(os.path.join(bench.build, 'kal/daemon/kald')):
        raise Skipped('kald was not built')
    said = bench.run(bench.theirs, [os.path.join(HERE, 'lab-unit'), os.path.abspath(bench.build), SOURCE])
    if 'all of it' not in said:
        raise Failed(said)


CASES = [Case('units kald', unit, limit=200)]
