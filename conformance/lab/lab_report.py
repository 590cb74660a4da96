# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""Writes doc/interop.md: what a run found, by peer and role."""


HEAD = """<!-- SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only -->
<!-- SPDX-FileCopyrightText: the itapi authors -->

# Interoperation with Linux siw {#interop}

Written by `tools/check --lab --record` on %s: vp/iwarp against siw of Linux, in a guest (conformance/lab). A row
is one peer program in one role of ours. A cell counts cases that passed, of all that were run; the words behind it say
what did not pass.

| peer | our role | what | passed | not passed |
|---|---|---|---|---|
"""


def row_of(rows, key, told):
    row = rows.setdefault(key, [0, 0, []])
    row[1] += told['result'] != 'skip'
    row[0] += told['result'] == 'ok'
    if told['result'] in ('known', 'skip'):
        row[2].append(f'{told["name"]}: {told["why"]}')
    elif told['result'] == 'failed':
        row[2].append(told['name'])


def write_report(path, cases, results, date):
    """Writes the table of the cases that have a row in it."""
    rows = {}
    for case in cases:
        if case.table and case.name in results:
            row_of(rows, case.table, results[case.name])
    with open(path, 'w', encoding='utf-8') as file:
        file.write(HEAD % date.isoformat())
        for key, (good, count, words) in rows.items():
            words = ['; '.join(words).replace('|', '/')] if words else ['']
            file.write(f'| {" | ".join(key)} | {good} of {count} | {words[0]} |\n')
