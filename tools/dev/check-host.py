#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""Finds code that uses the real machine instead of the host table.

Above RNIC-PI and below it, time, random numbers, threads and sleep come from struct ri_host [RI
11.3], so that a run on a simulated host repeats. kal/host has the production table. Everywhere
else in FOLDERS a clock, a sleep, a random source, a descriptor loop or a thread of one's own is
a complaint, and so is a use of the production table by its name, unless a row of ALLOWED names
the file, the call and the reason. A row of ALLOWED that matches nothing is a complaint, too.

Usage: check-host.py [ROOT]
"""

import re
import sys

import source_tree

# doors/verbs stands on calls of the C library that programs of verbs see; it has no simulated host yet.
FOLDERS = ('itapi/', 'ual/', 'kal/', 'rnicpi/', 'vp/common/', 'vp/emul/')
OUTSIDE = ('kal/host/', 'rnicpi/template/')

WORLD = {
    'a clock': 'clock_gettime gettimeofday time clock ftime',
    'a sleep': 'nanosleep clock_nanosleep usleep sleep sched_yield g_usleep pause',
    'a random source': 'getrandom getentropy random rand rand_r drand48 arc4random arc4random_buf g_random_int g_random_int_range',
    'a descriptor loop': 'poll ppoll select pselect epoll_create epoll_create1 epoll_wait epoll_pwait ri_fd_epoll '
                         'timerfd_create ri_fd_timerfd',
    'a thread of its own': 'pthread_create g_thread_new g_thread_try_new thrd_create',
    'a wait for a thread': 'pthread_cond_wait pthread_cond_timedwait pthread_cond_clockwait pthread_barrier_wait sem_wait '
                           'ri_relax',
    'the host of production': 'kal_host_default',
}
KINDS = {name: kind for kind, names in WORLD.items() for name in names.split()}
CALL = re.compile(r'(?<![\w.>*])(' + '|'.join(KINDS) + r')\s*\(')

# What a simulated host never meets, or what no result of a run depends on.
ALLOWED = {
    ('kal/kal_dispatch.c', 'pthread_cond_wait'): 'registrations of memory that run on other threads, none of which can be '
                                                 'interrupted by a simulator',
    ('kal/daemon/kald_apart.c', 'pthread_create'): 'of the daemon, which no simulated host has',
    ('kal/daemon/kald_drop.c', 'sem_wait'): 'of the daemon, which no simulated host has',
    ('kal/daemon/kald_server.c', 'clock_gettime'): 'of the daemon: the processor time of a request',
    ('vp/emul/shm/vem_shm.c', 'ri_fd_epoll'): 'rings of other processes, which no simulated host has',
    ('rnicpi/support/ri_log.c', 'clock_gettime'): 'the time in a line of the log of production',
    ('rnicpi/support/ri_outlet.c', 'clock_gettime'): 'how long the end of a process waits for a slow reader',
    ('rnicpi/support/ri_outlet.c', 'pthread_create'): 'only if stderr or the file of a trace does not take a line at once',
    ('rnicpi/support/ri_outlet.c', 'pthread_cond_wait'): 'that thread',
    ('rnicpi/support/ri_outlet.c', 'pthread_cond_clockwait'): 'that thread',
    ('rnicpi/support/ri_outlet.c', 'poll'): 'that thread',
    ('rnicpi/support/ri_order.h', 'nanosleep'): 'orders memory of real processors where membarrier is refused',
    ('rnicpi/support/ri_fd.h', 'timerfd_create'): 'offers it to kal/host',
    ('rnicpi/support/ri_fd.h', 'ri_fd_epoll'): 'offers it to kal/host',
    ('rnicpi/support/ri_fd.h', 'epoll_create1'): 'offers it to kal/host',
    ('rnicpi/support/ri_calls.h', 'ppoll'): 'asks once, without a sleep',
    ('rnicpi/support/ri_calls.h', 'epoll_wait'): 'asks once, without a sleep',
    ('rnicpi/support/ri_calls.h', 'nanosleep'): 'offers it to vp/iwarp',
    ('rnicpi/support/ri_relax.h', 'ri_relax'): 'is ri_host::relax of production',
    ('rnicpi/support/ri_relax.h', 'sched_yield'): 'is ri_host::relax of production',
    ('vp/common/vsw_relax.h', 'ri_relax'): 'a host older than RNIC-PI 1.7',
    ('vp/common/vsw_lock.h', 'ri_relax'): 'a lock owned for a few instructions, in which no simulator switches threads',
    ('vp/common/vsw_mark.c', 'ri_relax'): 'a mark set for a few instructions, in which no simulator switches threads',
}


def calls_of(root):
    """Each call that reaches the real machine: (path, line, name)."""
    for path in source_tree.files_of(root):
        if not path.startswith(FOLDERS) or path.startswith(OUTSIDE) or '/tests/' in path or not path.endswith(('.c', '.h')):
            continue
        code = source_tree.code_only(source_tree.read(root, path))
        for match in CALL.finditer(code):
            yield path, code.count('\n', 0, match.start()) + 1, match[1]


def check(root):
    """All complaints about a tree."""
    for path, line, name in calls_of(root):
        if (path, name) not in ALLOWED:
            yield f'{path}:{line}: {name}() is {KINDS[name]} past the host table; take it from struct ri_host, or from kal_host_here().'


def unused_rows(root):
    """The rows of ALLOWED that no file of a whole tree needs."""
    found = {(path, name) for path, _, name in calls_of(root)}
    for path, name in ALLOWED:
        if (path, name) not in found:
            yield f'check-host.py: {path} calls no {name}; remove its row from ALLOWED.'


def all_complaints(root):
    yield from check(root)
    yield from unused_rows(root)


if __name__ == '__main__':
    sys.exit(source_tree.report(all_complaints, sys.argv))
