# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""A program that uses only sockets (and gets rsockets by a preload): the client sends octets, the
server sends them back, and both compare.

Usage: socket_program.py client|server ADDRESS PORT
"""

import random
import socket
import sys

SIZES = (1, 13, 1000, 65536, 300000)


def receive(connection, length):
    octets = b''
    while len(octets) < length:
        part = connection.recv(length - len(octets))
        if not part:
            sys.exit('%d octets are missing' % (length - len(octets)))
        octets += part
    return octets


def main(side, address, port):
    wanted = random.Random(int(port))
    if side == 'server':
        with socket.socket() as listener:
            listener.bind((address, int(port)))
            listener.listen(1)
            connection, _ = listener.accept()
    else:
        connection = socket.socket()
        connection.connect((address, int(port)))
    with connection:
        for size in SIZES:
            octets = wanted.randbytes(size)
            if side == 'client':
                connection.sendall(octets)
            if receive(connection, size) != octets:
                sys.exit('other octets')
            if side == 'server':
                connection.sendall(octets)
    print('the same')


if __name__ == '__main__':
    main(*sys.argv[1:])
