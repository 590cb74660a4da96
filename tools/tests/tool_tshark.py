# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""Reads captures with tshark, for the tests of tools."""

import collections
import subprocess

from tool_runs import Failed


def tshark(path, *arguments):
    out = subprocess.run(['tshark', '-r', path, '--disable-protocol', 'rpcordma', *arguments],
                         capture_output=True, text=True, check=False, timeout=300)
    if out.returncode != 0:
        raise Failed('tshark: ' + out.stderr)
    return out.stdout


def expect(what, wanted, got):
    if wanted != got:
        raise Failed('%s: %s instead of %s' % (what, got, wanted))


def fpdus(path):
    """The opcode and the last flag of each FPDU, in the order of the packets."""
    rows = [row.split('\t') for row in tshark(
        path, '-T', 'fields', '-e', 'iwarp_rdma.opcode', '-e', 'iwarp_ddp.last_flag').splitlines() if row.strip()]
    return [(int(opcode, 0), int(last)) for opcodes, lasts in rows
            for opcode, last in zip(opcodes.split(','), lasts.split(',')) if opcode]


def messages(path, names):
    """The number of complete messages of each kind; an FPDU with the last flag ends a message."""
    kinds = collections.Counter()
    for opcode, last in fpdus(path):
        kinds[names.get(opcode, opcode)] += last
    return kinds


def expect_well_formed(text):
    """`text` is that of tshark -V."""
    expect('malformed packets', 0, text.lower().count('malformed'))
    expect('packets that could not be decoded', 0, text.count('Dissector bug'))
