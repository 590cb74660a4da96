#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""Checks the log for the lines that the guides promise.

Each case runs log_app with a value of ITAPI_LOG, or none, and says which lines stderr must have, how
often, and which it must not have.

Usage: test_log.py LOG_APP ADAPTER      (TAP)
"""

import os
import re
import subprocess
import sys
import threading

PATIENCE = 120  # s

TIME = r'(?m)^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z '
FORM = re.compile(TIME + r'itapi\[\d+\]: (?:error|warning|info|debug): [a-z]+(?: \S+)*?: [A-Za-z0-9/]')

# Which endpoint, queue pair and peer a line is about.
EP = r'ual \S+ EP 0x[0-9a-f]+ QP \d+'
PEER = EP + r' peer \S+:\d+: '
REFUSED = (r'debug: ' + EP + r': it_post_send: IT_ERR_INVALID_EP_STATE: '
           r'the endpoint is in a state that does not allow the call')
NO_IA = r'debug: ual: it_pz_create: IT_ERR_INVALID_IA: not the handle of an open adapter'
BROKEN = r'info: ' + PEER + r'IT_CM_MSG_CONN_BROKEN_EVENT'
ATTEMPT = r'info: ' + PEER + r'IT_CM_MSG_CONN_NONPEER_REJECT_EVENT: IT_CN_REJ_\w+'
ENDED = r'info: iwarp iwarp\S* QP \d+ peer \S+:\d+: the connection has ended: '
SENT = ENDED + r'.*; this end sent a Terminate, 11[0-9a-f]{2}: layer DDP, tagged buffer error, \w'
RECEIVED = ENDED + r'the peer sent a Terminate, 11[0-9a-f]{2}: layer DDP, tagged buffer error, \w'
LOST = (r'warning: ual \S+: EVD 0x[0-9a-f]+ of the stream IT_CM_REQ_EVENT_STREAM is full '
        r'\(1 events\): events are lost; make it larger')

# What to do, ITAPI_LOG, lines and how often each must be there (None: at least once).
CASES = (
    ('refusal', 'debug', ((REFUSED, 1), (NO_IA, 1), ('IT_ERR_QUEUE_EMPTY', 0))),
    ('refusal', 'info', ((REFUSED, 0), (NO_IA, 0))),
    ('refusal', None, (('.', 0),)),
    ('writer', 'debug', ((NO_IA, 1),)),
    ('stag', 'info', ((BROKEN, 2), (SENT, 'iwarp'), (RECEIVED, 'iwarp'))),
    ('stag', None, (('.', 0),)),
    ('attempt', 'info', ((ATTEMPT, 1),)),
    ('lost', None, ((LOST, 1),)),
    ('lost', 'warning', ((LOST, 2),)),
    ('lost', 'error', ((LOST, 0),)),
    ('lost', 'none', (('.', 0),)),
    ('closed', 'debug', (('.', 0),)),
    ('crowd', 'info', ()),
)
STRANGERS = 1200    # of the crowd; each causes a line


def complaints(said, lines, adapter):
    for pattern, count in lines:
        found = len(re.findall(pattern, said))
        if count == 'iwarp':    # one, where there is such a transport
            count = 1 if adapter.startswith('iwarp') else 0
        if found != count:
            yield '%d lines instead of %d like %s' % (found, count, pattern)


def said_late(run):
    """The output of a program whose pipe is not read until the program has done its work."""
    watchdog = threading.Timer(PATIENCE, run.kill)
    watchdog.start()
    run.stdout.readline()
    said = ''
    line = 'begin'
    while line and 'lines were lost' not in line:
        line = run.stderr.readline()
        said += line
    run.stdin.close()
    said += run.stderr.read()
    run.wait()
    watchdog.cancel()
    return said


def unaccounted(said):
    """Checks that each line about an invalid peer was written, or was counted as lost or as left
    out; some lines must have been lost."""
    lines = len(re.findall('which is not an MPA frame', said))
    lost = sum(map(int, re.findall(r'(\d+) lines were lost: stderr did not take them in time', said)))
    left_out = sum(map(int, re.findall(r'(\d+) lines were left out', said)))
    if lost == 0 or lines + lost + left_out < STRANGERS:
        yield '%d lines, %d lost and %d left out, of %d' % (lines, lost, left_out, STRANGERS)


def main(program, adapter):
    print('1..%d' % len(CASES))
    for number, (what, level, lines) in enumerate(CASES, 1):
        environment = {name: value for name, value in os.environ.items()
                       if name != 'ITAPI_LOG' and not name.startswith('G_MESSAGES')}
        if level is not None:
            environment['ITAPI_LOG'] = level
        if what == 'crowd' and not adapter.startswith('iwarp'):
            print('ok %d - /itapi/%s/log/crowd # SKIP its connections are not TCP' % (number, adapter))
            continue
        with subprocess.Popen([program, adapter, what], env=environment, stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as run:
            errors = said_late(run) if what == 'crowd' else run.communicate(timeout=PATIENCE)[1]
        said = re.sub(r'(?m)^==\d+== .*\n', '', errors)    # of valgrind
        wrong = list(complaints(said, lines, adapter))
        wrong += unaccounted(said) if what == 'crowd' else ()
        wrong += ['not of the form: ' + line for line in said.splitlines() if not FORM.match(line)]
        if run.returncode != 0:
            wrong.append('log_app ended with %d' % run.returncode)
        for complaint in wrong:
            print('# ' + complaint)
        for line in errors.splitlines() if wrong else ():
            print('# it said: ' + line)
        print('%s %d - /itapi/%s/log/%s-%s' % ('not ok' if wrong else 'ok', number, adapter, what,
                                              level or 'unset'))


if __name__ == '__main__':
    main(*sys.argv[1:])
