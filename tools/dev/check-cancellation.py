#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""Compares the cancellation points that the library calls with the table in doc/threads-and-locks.md.

A thread that is cancelled inside of a post, a poll or an upcall would leave locks and roles taken
[IT 1.19]. So each file that calls cancellation points of the C library is in a row, which says why no
thread is cancelled there; what ri_calls.h offers needs no row. A file that is in no row, and one in a
row that calls none, are complaints.

Usage: check-cancellation.py [ROOT]
"""

import re
import sys

import source_tree

PAGE = 'doc/threads-and-locks.md'
HEADING = '## Cancellation points'
FOLDERS = ('itapi/', 'ual/', 'kal/', 'rnicpi/', 'vp/', 'doors/')
OUTSIDE = 'rnicpi/template/'  # a project to be copied, which is no part of the library
OWN = 'rnicpi/support/ri_calls.h'

# The cancellation points of POSIX (XSH 2.9.5.2) and of the C library, required and optional ones.
# Left out are fcntl and ioctl, since the commands that the library uses are no cancellation
# points, and functions that only format a string.
POINTS = """
    accept accept4 clock_nanosleep close connect copy_file_range creat dlopen dprintf fclose fdatasync fflush fgetc fgets
    fopen fprintf fputc fputs fread freopen fscanf fseek fsync fwrite getaddrinfo getc getdelim getifaddrs getline getnameinfo
    getpwnam getpwuid getrandom glob if_nameindex lockf mkostemp mkstemp mq_receive mq_send msgrcv msgsnd msync nanosleep open
    openat opendir pause poll popen ppoll pread preadv printf pselect pthread_cond_clockwait pthread_cond_timedwait
    pthread_cond_wait pthread_join putc puts pwrite pwritev read readdir readv recv recvfrom recvmmsg recvmsg scandir select
    sem_clockwait sem_timedwait sem_wait send sendfile sendmmsg sendmsg sendto sigpause sigsuspend sigtimedwait sigwait
    sigwaitinfo sleep splice syslog system tcdrain usleep vdprintf vfprintf vprintf vsyslog wait waitid waitpid write writev
    epoll_wait epoll_pwait
""".split()
# Not a member, not a declaration of a member, not part of a longer name.
CALL = re.compile(r'(?<![\w.>*])(' + '|'.join(POINTS) + r')\s*\(')
FILE = re.compile(r'`([\w-]+/[\w./-]+)`')


def calls_of(text):
    """Each cancellation point that a file calls: name -> line of the first call."""
    code = source_tree.code_only(text)
    found = {}
    for match in CALL.finditer(code):
        found.setdefault(match[1], code.count('\n', 0, match.start()) + 1)
    return found


def rows_of(text):
    """The files that the first column of the table names: path -> line."""
    rows = {}
    inside = False
    for number, line in enumerate(text.split('\n'), 1):
        if line.startswith('## '):
            inside = line == HEADING
        if inside and line.startswith('|'):
            rows.update({name: number for name in FILE.findall(line.split('|')[1])})
    return rows


def check(root):
    """All complaints about a tree."""
    rows = rows_of(source_tree.read(root, PAGE))
    unused = dict(rows)
    for path in source_tree.files_of(root):
        if not path.startswith(FOLDERS) or path.startswith(OUTSIDE) or '/tests/' in path or not path.endswith(('.c', '.h')) or path == OWN:
            continue
        calls = calls_of(source_tree.read(root, path))
        if calls:
            unused.pop(path, None)
        if path in rows:
            continue
        for name, line in calls.items():
            yield (f'{path}:{line}: {name}() is a cancellation point. Use ri_calls.h, or enter the file into the table in {PAGE}, '
                   f'with the reason why no thread is cancelled there.')
    for path, line in unused.items():
        yield f'{PAGE}:{line}: {path} calls no cancellation point.'


if __name__ == '__main__':
    sys.exit(source_tree.report(check, sys.argv))
