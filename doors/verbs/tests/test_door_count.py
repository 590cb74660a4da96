#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""Instructions of posts and polls through the door above those of RNIC-PI's fast entries, counted by callgrind.

door_count makes both kinds of calls on the same queues, so the provider's own instructions are
in both figures and cancel out. TAP: test_door_count.py SOURCE_ROOT [PROGRAM]
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

# Most instructions above the bare call.
LIMITS = (('post', 60), ('poll', 60), ('receive', 45), ('poll-none', 25))
STEPPING_THREAD = 3     # main is 1, the service thread 2


def count(program):
    """The median of the instructions of each step."""
    program = pathlib.Path(program).resolve()
    windows = {}
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(['valgrind', *bench_count.CALLGRIND,
                        f'--callgrind-out-file={folder}/out', program],
                       cwd=folder, capture_output=True, text=True,
                       timeout=bench_count.SECONDS, check=True)
        bench_count.STEPPING_THREAD = STEPPING_THREAD
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
    for number, (step, most) in enumerate(LIMITS, 1):
        bare = figures[f'bare-{step}']
        above = figures[step] - bare
        failed += above > most
        print(f'{"not ok" if above > most else "ok"} {number} /door/count/{step}')
        print(f'# {bare - figures["nothing"]} instructions without the door, {above} more with it, of at most {most}')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
