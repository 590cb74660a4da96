# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""What tshark says of the frames in a capture that one side sent."""

import subprocess

# tshark guesses that short Sends are RPC, which has nothing to do with iWARP.
TSHARK = ['tshark', '-n', '--disable-protocol', 'rpcordma']
MOST_COMPLAINTS = 10


def judge(path, ipv4, ipv6):
    """How many iWARP frames those addresses sent, and what is wrong with them: a list of lines."""
    ours = f'(ip.src == {ipv4} || ipv6.src == {ipv6})'
    command = TSHARK + ['-r', path, '-Y', f'{ours} && (iwarp_mpa || iwarp_ddp)', '-T', 'fields',
                        '-e', 'frame.number', '-e', '_ws.malformed', '-e', '_ws.expert.message',
                        '-e', 'iwarp_ddp.last_flag']
    frames, complaints = 0, []
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True) as tshark:
        for line in tshark.stdout:
            number, malformed, expert, segments = (line.rstrip('\n').split('\t') + [''] * 4)[:4]
            frames += len(segments.split(',')) if segments else 1
            if malformed or 'CRC' in expert:
                complaints.append(f'frame {number}: {malformed or expert}')
        error = tshark.stderr.read()
    if tshark.returncode != 0 and 'cut short' not in error:
        complaints.append(f'tshark: {error.strip()}')
    return frames, complaints[:MOST_COMPLAINTS]
