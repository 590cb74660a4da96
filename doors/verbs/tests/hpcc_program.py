#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""The HPC Challenge with small matrices, by four ranks of Open MPI over UCX on this host.

Usage: hpcc_program.py FOLDER, where the results are written. It prints the results that the
tests report.
"""

import subprocess
import sys

# The example that its package has; the sixth line is the size of a matrix.
EXAMPLE = '/usr/share/doc/hpcc/examples/_hpccinf.txt'
COMMAND = 'mpirun -n 4 --oversubscribe --mca pml ucx --mca osc ^ucx hpcc'


def main():
    folder = sys.argv[1]
    with open(EXAMPLE, encoding='utf-8') as example:
        lines = example.readlines()
    lines[5] = '400         Ns\n'
    with open(folder + '/hpccinf.txt', 'w', encoding='utf-8') as settings:
        settings.writelines(lines)
    status = subprocess.run(COMMAND.split(), cwd=folder, stdin=subprocess.DEVNULL, check=False).returncode
    with open(folder + '/hpccoutf.txt', encoding='utf-8') as result:
        sys.stdout.write(result.read())
    return status


if __name__ == '__main__':
    sys.exit(main())
