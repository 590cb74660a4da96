#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""Instructions of a post and a poll of vp/ib above those of libibverbs, counted by callgrind.

vib_count makes both kinds of calls on a played device, so the device's own instructions are in
both figures and cancel out. TAP: test_vib_count.py SOURCE_ROOT [PROGRAM]
"""
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(sys.argv[1])
sys.path.insert(0, str(ROOT / 'tools' / 'benchmarks'))
import bench_count      # noqa: E402  pylint: disable=wrong-import-position

# The limits: how many instructions a call may need more than the bare call of libibverbs. 40 for a
# Write of one segment and for a poll that finds one completion, plus those that count it
# (ri_qp_counters, ri_cq_counters). For a copied payload: the result of gcc 12 plus a tenth, and
# those.
COUNTING = 5
LIMITS = (('post', 'bare-post', 40 + COUNTING), ('post-copied', 'bare-post', 166 + COUNTING), ('poll', 'bare-poll', 40 + COUNTING))


def count(program):
    """The median of the instructions of each step."""
    program = pathlib.Path(program).resolve()
    windows = {}
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(['valgrind', *bench_count.CALLGRIND,
                        f'--callgrind-out-file={folder}/out', program],
                       cwd=folder, capture_output=True, text=True,
                       timeout=bench_count.SECONDS, check=True)
        for step, text in bench_count.dumps(folder):
            windows.setdefault(step, []).append(bench_count.costs(text)['instructions'])
    return {step: statistics.median_low(many) for step, many in windows.items()}


def main():
    """Judges each figure."""
    if len(sys.argv) < 3:
        print('1..0 # SKIP not an optimized build by gcc for x86-64, or without valgrind/callgrind.h')
        return 0
    if shutil.which('valgrind') is None:
        print('1..0 # SKIP valgrind is not installed')
        return 0
    figures = count(sys.argv[2])
    failed = 0
    print(f'1..{len(LIMITS)}')
    for number, (step, bare, most) in enumerate(LIMITS, 1):
        above = figures[step] - figures[bare]
        failed += above > most
        print(f'{"not ok" if above > most else "ok"} {number} /ib/count/{step}')
        print(f'# {figures[bare] - figures["nothing"]} instructions without the provider, '
              f'{above} more with it, of at most {most}')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
