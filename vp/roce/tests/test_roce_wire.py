#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""The packets of vp/roce, decoded by tshark (TAP): it must dissect every packet as RoCEv2, and find
none malformed.

The packets are those of roce-frames, which runs both ends in virtual time. tshark 4.0 shows the
CRC but does not check it. Usage: test_roce_wire.py ROCE_FRAMES
"""

import collections
import os
import shutil
import subprocess
import sys
import tempfile

# Heuristics of other protocols that claim short payloads.
OTHERS = ('rpcordma', 'infiniband.eoib')
RC = {'SEND': {0, 2, 3, 4, 5}, 'WRITE': {6, 8, 9, 10, 11}, 'READ': {12, 13, 14, 15, 16}, 'ACKS': {17, 18}, 'ATOMICS': {19, 20}}
UC = {0x20, 0x22, 0x23, 0x24, 0x25, 0x26, 0x28, 0x29, 0x2a, 0x2b}
UD = {0x64, 0x65}


def tshark(path, *arguments):
    disabled = [word for name in OTHERS for word in ('--disable-protocol', name)]
    out = subprocess.run(['tshark', '-r', path, *disabled, *arguments], capture_output=True, text=True, check=False, timeout=120)
    if out.returncode != 0:
        raise AssertionError('tshark: ' + out.stderr)
    return out.stdout


def judge(path, layer):
    frames = tshark(path, '-T', 'fields', '-e', 'frame.protocols', '-e', 'infiniband.bth.opcode').splitlines()
    assert frames, 'no packets'
    opcodes = collections.Counter()
    for number, line in enumerate(frames, 1):
        protocols, _, opcode = line.partition('\t')
        assert f'{layer}:udp:infiniband' in protocols, f'packet {number} is {protocols}'
        opcodes[int(opcode, 0)] += 1
    wanted = set().union(*RC.values(), UC, UD)
    missing = wanted - set(opcodes)
    assert not missing, f'opcodes {sorted(missing)} are missing'
    text = tshark(path, '-V').lower()
    for word in ('malformed', 'dissector bug', '[bad', 'incorrect'):
        assert word not in text, f'{word}: {[line for line in text.splitlines() if word in line][:3]}'
    return len(frames), len(opcodes)


def main():
    if shutil.which('tshark') is None:
        print('1..0 # SKIP tshark is not installed')
        return 0
    print('1..2')
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        paths = [os.path.join(folder, name) for name in ('4.pcap', '6.pcap')]
        subprocess.run([sys.argv[1], *paths], check=True, timeout=60)
        for number, (path, layer) in enumerate(zip(paths, ('ip', 'ipv6')), 1):
            try:
                packets, opcodes = judge(path, layer)
                print(f'ok {number} - {packets} packets over {layer} with {opcodes} opcodes')
            except AssertionError as error:
                failed += 1
                print(f'not ok {number} - {layer}: {error}')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
