# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""What tshark says of the frames in a capture that one side sent."""

import os
import subprocess
import tempfile

import lab_fpdu

# tshark guesses that short Sends are RPC, which has nothing to do with iWARP.
TSHARK = ['tshark', '-n', '--disable-protocol', 'rpcordma']
MOST_COMPLAINTS = 10


def judge(path, ipv4, ipv6):
    """How many FPDUs those addresses sent, and what is wrong with them: a list of lines.

    tshark takes two connections between the same ports for one, so it does not see the later one.
    """
    with tempfile.TemporaryDirectory(dir=os.path.dirname(path)) as folder:
        copy = os.path.join(folder, 'copy.pcap')
        lab_fpdu.copy_without_used_ports(path, copy)
        return judge_all(copy, ipv4, ipv6)


def judge_all(path, ipv4, ipv6):
    """The same for a capture in which no connection has the ports of an earlier one."""
    command = TSHARK + ['-r', path, '-O', 'iwarp_mpa', '-Y',
                        f'(ip.src == {ipv4} || ipv6.src == {ipv6}) && (iwarp_mpa || iwarp_ddp || iwarp_ddp_rdmap)']
    fpdus, complaints, number = 0, [], ''
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, errors='replace') as tshark:
        for line in tshark.stdout:
            number = line.split(':')[0] if line.startswith('Frame ') else number
            fpdus += line.strip() == 'FPDU'
            if 'Bad CRC32' in line or 'Malformed' in line:
                complaints.append(f'{number}: {line.strip()}')
        error = tshark.stderr.read()
    if tshark.returncode != 0 and 'cut short' not in error:
        complaints.append(f'tshark: {error.strip()}')
    return fpdus, complaints[:MOST_COMPLAINTS]
