# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""Writes doc/verbs-lab.md: programs behind the verbs door with a peer over siw, their times
compared with siw, and rdma-core's tests on rxe."""

import re

from lab_doors import ROWS
from lab_report import NO_TIME

HEAD = """<!-- SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only -->
<!-- SPDX-FileCopyrightText: the itapi authors -->

# The verbs door beside Linux siw and rxe {#verbs_lab}

Made by `tools/check --lab --full --record doc` on %s, in a guest (`conformance/wire/lab`). @ref verbs says what the verbs door is.
"""
AGAINST = """
### Programs, one side behind the door and the other over siw

Both sides are the same binary of Debian. The side over siw runs in the guest, that behind the door (`it-run --adapter iwarp`) on
the host. MTU 1500, no CRC. Peer-to-peer mode only where the door serves ucmatose or ib_write_lat, whose server sends first.

| program | the door is the client | the door is the server |
|---|---|---|
"""
TIMED = """
### The same programs over %(kernel)s and behind the door

Both sides of a program run in the guest, %(where)s, in turn. Medians of %(rounds)d runs each.
The guest has two emulated processors, which both sides fill as they spin: the figures vary by a factor of two and more between runs,
and only a large ratio means something.

| program | figure | %(kernel)s | the door | speed of the door, %(kernel)s = 1 |
|---|---|---|---|---|
"""
WHERE = {'siw': 'over siw0 or behind the door on the same interface',
         'rxe': 'over rxe, which hands the packets of two programs of one device on without a network, or behind the door with `roce` in two '
                'namespaces'}
TESTS = """
### rdma-core's own tests on rxe0, and behind the door on emul:ib

Of %d tests, %d pass on both, %d are skipped on both, and %d differ. What is expected behind the door is in
`doors/verbs/tests/pyverbs-expected.txt`, and what rxe does otherwise in `conformance/wire/lab/pyverbs-rxe.txt`.

| test | rxe0 | the door | reason |
|---|---|---|---|
"""
RESULTS = {'ok': 'works', 'failed': 'fails', 'known': 'known to fail', 'skip': 'not run'}


def text_of(told):
    """The result of one case, as text for a cell."""
    if told is None or told['why'] == NO_TIME:
        return 'not run'
    why = told['why'] if told['result'] in ('known', 'skip') else ''
    return (RESULTS[told['result']] + (f': {why}' if why else '')).replace('|', '/').replace('\n', ' ')


def against(run, cases):
    """The rows of the first table."""
    names = [match.groups() for match in (re.fullmatch(r'doors (\S+) (client|server)', case.name) for case in cases) if match]
    for name in dict.fromkeys(name for name, _ in names):
        cells = [text_of(run.results.get(f'doors {name} {role}')) for role in ('client', 'server')]
        yield f'| {ROWS[name].title} | {" | ".join(cells)} |\n'


def write_doors(path, runs, date):
    """Writes the page from the results of the runs, if cases of the door ran in full."""
    told = [(run, cases, [detail for case in cases for detail in [(run.results.get(case.name) or {}).get('detail') or {}]])
            for run, cases in runs]
    if not any('timed' in detail for _, _, details in told for detail in details):
        return
    with open(path, 'w', encoding='utf-8') as file:
        file.write(HEAD % date.isoformat())
        for run, cases, details in told:
            file.write(f'\n## Linux {run.kernel}\n' + AGAINST)
            file.writelines(against(run, cases))
            for kernel, where in WHERE.items():
                timed = [detail for detail in details if detail.get('kernel') == kernel]
                if timed:
                    file.write(TIMED % {'kernel': kernel, 'where': where, 'rounds': timed[0]['rounds']})
                file.writelines(f'| {one["timed"]} | {one["unit"]} | {one["beside"]:g} | {one["door"]:g} | {one["speed"]:.2f} |\n'
                                for one in timed)
            for detail in details:
                if 'pyverbs' in detail:
                    file.write(TESTS % tuple(detail['pyverbs'][key] for key in ('tests', 'passed', 'skipped', 'differ')))
                    file.writelines(f'| {" | ".join(row)} |\n' for row in detail['pyverbs']['rows'])
