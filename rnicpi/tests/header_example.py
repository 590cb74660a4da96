# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""Writes the provider at the head of rnicpi.h to a file, so that the build compiles it and a test loads it.

Usage: header_example.py RNICPI.H OUT.C
"""

import sys

header, out = sys.argv[1:]
with open(header, encoding='ascii') as file:
    text = file.read()
code = text.partition('@code{.c}\n')[2].partition(' * @endcode')[0]
with open(out, 'w', encoding='ascii') as file:
    file.writelines(line[3:] + '\n' for line in code.splitlines())
