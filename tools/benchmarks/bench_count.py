#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""Instructions, locked instructions and cache lines of single calls, counted by callgrind.

it-bench-count makes the calls; this starts it below callgrind and reads what callgrind wrote. The
figures in instructions.json are the limits: instructions may grow by 3 %, lines by 3 % or 12 lines,
locked instructions not at all. They hold for the compiler, C library, processor and options that
are written beside them, and for no other.

As a test: bench_count.py SOURCE_ROOT [PROGRAM] (TAP).
"""
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

GROWTH = 0.03
LINES = 12          # by which the path may grow when the linker places its functions anew
SECONDS = 300
KINDS = ('instructions', 'locked', 'code lines', 'data lines')
LIMITS = pathlib.Path(__file__).resolve().parent / 'instructions.json'
PAGE = 'doc/performance.md'
STEPS = {
    'post-write': 'post of a 64-octet Write',
    'post-send': 'post of a 64-octet Send',
    'post-receive': 'post of a receive',
    'write-in': 'poll that places the Write',
    'send-in': 'poll that places the Send and returns its completion',
    'post-link': 'link of a window, done at its end',
    'unlink-in': 'poll that places a Send which revokes the window',
    'poll-one': 'poll that finds a completion',
    'poll-none': 'poll that finds nothing',
    'emul-post-write': 'emul: post of a Write, done at its end',
    'emul-post-send': 'emul: post of a Send, done at its end',
    'emul-poll-one': 'emul: poll that finds a completion',
    'emul-poll-none': 'emul: poll that finds nothing',
}
# Caches so large that each line is missed once, when it is touched first.
CALLGRIND = ['--tool=callgrind', '--instr-atstart=no', '--cache-sim=yes', '--collect-bus=yes',
             '--separate-threads=yes', '--I1=1048576,16,64', '--D1=16777216,16,64',
             '--LL=67108864,16,64']
STEPPING_THREAD = 2


class CannotCount(Exception):
    """Why nothing can be counted here."""


def identity(program):
    """Returns everything besides the sources on which the counts depend: compiler, C library, processor, options."""
    if shutil.which('valgrind') is None:
        raise CannotCount('valgrind is not installed')
    told = subprocess.run([program, '--identity'], capture_output=True, text=True, check=False)
    if told.returncode != 0:
        raise CannotCount('it-bench-count does not start: ' + told.stderr.strip())
    found = dict(line.split(': ', 1) for line in told.stdout.splitlines())
    version = subprocess.run(['valgrind', '--version'], capture_output=True, text=True, check=True)
    found['counter'] = version.stdout.strip()
    return found


def costs(text):
    """The sums of a dump's own costs by event; lines below "calls=" are the costs of callees."""
    events = re.search(r'^events: (.*)$', text, re.MULTILINE).group(1).split()
    sums = dict.fromkeys(events, 0)
    of_callee = False
    for line in text[text.index('\nsummary:') + 1:].splitlines()[1:]:
        if line.startswith('calls='):
            of_callee = True
        elif line[:1] in tuple('+-*0123456789'):
            if not of_callee:
                for event, value in zip(events, line.split()[1:]):
                    sums[event] += int(value)
            of_callee = False
    return {'instructions': sums['Ir'], 'locked': sums['Ge'], 'code lines': sums['I1mr'],
            'data lines': sums['D1mr'] + sums['D1mw']}


def dumps(folder):
    """The dumps of the measured windows, as pairs (name of the step, dump)."""
    for path in pathlib.Path(folder).iterdir():
        text = path.read_text(errors='replace')
        step = re.search(r'^desc: Trigger: Client Request: (\S+)$', text, re.MULTILINE)
        thread = re.search(r'^thread: (\d+)$', text, re.MULTILINE)
        if step and thread and int(thread.group(1)) == STEPPING_THREAD:
            yield step.group(1), text


def count(program):
    """The figures of each step: the medians over its windows, less the figures of the empty window."""
    program = os.path.abspath(program)
    windows = {}
    with tempfile.TemporaryDirectory() as folder:
        # An environment of its own: settings of the user would count, too.
        done = subprocess.run(
            ['valgrind', *CALLGRIND, f'--callgrind-out-file={folder}/out', program],
            env={'PATH': os.environ['PATH'], 'ITAPI_CONFIG': '/dev/null'}, cwd=folder,
            capture_output=True, text=True, timeout=SECONDS, check=False)
        if done.returncode != 0:
            raise RuntimeError(f'status {done.returncode}: {done.stderr.strip()}')
        for step, text in dumps(folder):
            windows.setdefault(step, []).append(costs(text))
    middles = {step: {kind: statistics.median_low(w[kind] for w in many) for kind in KINDS}
               for step, many in windows.items()}
    missing = [step for step in ('nothing', *STEPS) if step not in middles]
    if missing:
        raise RuntimeError('no counts of ' + ', '.join(missing))
    return {step: {kind: max(0, middles[step][kind] - middles['nothing'][kind]) for kind in KINDS}
            for step in STEPS}


def limits_read():
    return json.loads(LIMITS.read_text()) if LIMITS.exists() else []


def limits_for(found):
    """The committed figures for a build like this one, and an empty text. Without such figures: None, and a text that says
    how the most similar recorded build differs."""
    nearest = None
    for record in limits_read():
        differ = [key for key, value in record['built'].items() if found.get(key) != value]
        if not differ:
            return record['figures'], ''
        if nearest is None or len(differ) < len(nearest[1]):
            nearest = record['built'], differ
    if nearest is None:
        return None, 'there are no figures to compare with'
    return None, '; '.join(f'counted with {key} "{nearest[0][key]}", this is "{found.get(key)}"'
                           for key in nearest[1])


def most(kind, limit):
    """Returns the largest value that a figure may have."""
    if kind == 'locked':
        return limit
    grown = int(limit * (1 + GROWTH))
    return max(grown, limit + LINES) if kind.endswith('lines') else grown


def grown(figures, limits):
    """For each step, in words, the figures above their limits. A step without limits is reported,
    too."""
    return {step: [f'{kind}: {kinds[kind]}, was {limits[step][kind]}' for kind in KINDS
                   if kinds[kind] > most(kind, limits[step][kind])]
            if step in limits else ['it has no limits'] for step, kinds in figures.items()}


def table(figures):
    """Returns the table of the figures, as in doc/performance.md."""
    rows = ['| step | ' + ' | '.join(KINDS) + ' |', '|---|' + '---|' * len(KINDS)]
    rows += [f'| {STEPS[step]} | ' + ' | '.join(f'{figures[step][kind]:,}' for kind in KINDS) + ' |'
             for step in STEPS]
    return '\n'.join(rows) + '\n'


def page_with(page, figures):
    """The page with the table of these figures."""
    return re.sub(r'^\| step \|.*\n(\|.*\n)*', lambda _: table(figures), page, count=1,
                  flags=re.MULTILINE)


def of_release(records):
    return next((r['figures'] for r in records if 'no assertions' in r['built']['build']), None)


def record(counted, root):
    """Makes these figures, pairs of identity and figures, the limits; and writes the page."""
    records = [{'built': found, 'figures': figures} for found, figures in counted]
    LIMITS.write_text(json.dumps(records, indent=1) + '\n')
    page = pathlib.Path(root) / PAGE
    page.write_text(page_with(page.read_text(), of_release(records)))


def print_figures(found, figures, limits):
    print('; '.join(f'{key}: {value}' for key, value in found.items()))
    print(f'{"step":<54}' + ''.join(f'{kind:>22}' for kind in KINDS))
    for step, kinds in figures.items():
        cells = []
        for kind in KINDS:
            change = kinds[kind] - limits[step][kind] if limits and step in limits else 0
            cells.append(f'{kinds[kind]:,}' + (f' ({change:+d})' if change else ''))
        print(f'{STEPS[step]:<54}' + ''.join(f'{cell:>22}' for cell in cells))


def test(root, program=None):
    """TAP: the page has the figures; no step is above its limits."""
    try:
        if program is None:
            raise CannotCount('built for a sanitizer, or without valgrind/callgrind.h')
        found = identity(program)
        limits, why = limits_for(found)
        if limits is None:
            raise CannotCount(why)
    except CannotCount as error:
        print(f'1..0 # SKIP {error}')
        return 0
    page = (pathlib.Path(root) / PAGE).read_text()
    print(f'1..{1 + len(STEPS)}')
    same = page_with(page, of_release(limits_read())) == page
    print(f'{"ok" if same else "not ok"} 1 /count/page')
    above = grown(count(program), limits)
    for number, step in enumerate(STEPS, 2):
        print(f'{"not ok" if above[step] else "ok"} {number} /count/{step}')
        for text in above[step]:
            print(f'# {text}')
    if not same or any(above.values()):
        print('# if that is meant, say so in the commit, and: tools/bench --instructions --record')
        return 1
    return 0


if __name__ == '__main__':
    sys.exit(test(*sys.argv[1:]))
