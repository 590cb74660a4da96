# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""Lets tshark judge the frames that one side sent in a capture."""

import os
import subprocess
import tempfile

import lab_fpdu

# tshark guesses that short Sends are RPC, which has nothing to do with iWARP.
TSHARK = ['tshark', '-n', '--disable-protocol', 'rpcordma']
MOST_COMPLAINTS = 10


def judge(path, ipv4, ipv6):
    """The number of FPDUs that those addresses sent, and the list of complaints about them.

    A line about a wrong CRC names the operation, the length and both checksums.

    tshark takes two connections between the same ports for one, so later ones are left out.
    """
    with tempfile.TemporaryDirectory(dir=os.path.dirname(path)) as folder:
        copy = os.path.join(folder, 'copy.pcap')
        lab_fpdu.copy_without_used_ports(path, copy)
        return judge_all(copy, ipv4, ipv6)


def judge_all(path, ipv4, ipv6):
    """Judges a capture in which no connection has the ports of an earlier one."""
    command = TSHARK + ['-r', path, '-O', 'iwarp_mpa,iwarp_ddp_rdmap', '-Y',
                        f'(ip.src == {ipv4} || ipv6.src == {ipv6}) && (iwarp_mpa || iwarp_ddp || iwarp_ddp_rdmap)']
    fpdus, complaints, number, length, unnamed = 0, [], '', '', False
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, errors='replace') as tshark:
        for line in tshark.stdout:
            line = line.strip()
            if line.startswith('Frame '):
                number, length, unnamed = line.split(':')[0], '', False
            elif line == 'FPDU':
                fpdus, unnamed = fpdus + 1, False
            elif line.startswith('ULPDU length: '):
                length = line.partition(': ')[2]
            elif 'Bad CRC32' in line:
                complaints.append(f'{number}: an FPDU with a ULPDU of {length}: {line}')
                unnamed = True
            elif 'OpCode: ' in line and unnamed:    # of that FPDU: its header comes after its CRC
                complaints[-1] = complaints[-1].replace('an FPDU', line.partition('OpCode: ')[2], 1)
                unnamed = False
            elif 'Malformed' in line:
                complaints.append(f'{number}: {line}')
        error = tshark.stderr.read()
    if tshark.returncode != 0 and 'cut short' not in error:
        complaints.append(f'tshark: {error.strip()}')
    return fpdus, complaints[:MOST_COMPLAINTS]
