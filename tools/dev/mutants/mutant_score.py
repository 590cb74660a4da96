# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""The score of a run of mutants, in a line and as tables of doc/testing.md."""

VERDICTS = ('named', 'crash', 'hang', 'survived')
FIRST, LAST = '<!-- score: first line; tools/mutate --record writes it -->', '<!-- score: last line -->'


def summary(results):
    """One line."""
    counts = ', '.join(f'{count(results, verdict)} {verdict}' for verdict in VERDICTS)
    return f'{len(results)} mutants: {counts}; {percent(results)} caught by name'


def count(results, verdict):
    return sum(result.verdict == verdict for result in results)


def percent(results):
    return f'{100.0 * count(results, "named") / max(1, len(results)):.1f} %'


def table(head, rows):
    """A table of results grouped by something, with a sum."""
    lines = [f'| {head} | mutants | {" | ".join(VERDICTS)} |', '|---' * (2 + len(VERDICTS)) + '|']
    for name, results in rows:
        cells = [len(results)] + [count(results, verdict) for verdict in VERDICTS]
        lines.append(f'| {name} | ' + ' | '.join(str(cell) for cell in cells) + ' |')
    return lines


def grouped(mutants, results, key):
    groups = {}
    for result in results:
        groups.setdefault(key(mutants[result.name]), []).append(result)
    return sorted(groups.items())


def tables(mutants, results):
    """The lines of the score."""
    equivalent = sum(bool(mutant.equivalent) for mutant in mutants.values())
    lines = [f'{len(mutants)} mutants, of which {equivalent} cannot be observed. Of the other '
             f'{len(results)}, {percent(results)} are caught by a test that names the fault.', '']
    lines += table('folder', grouped(mutants, results, lambda m: m.layer) + [('all', results)])
    lines += ['']
    lines += table('class', grouped(mutants, results, lambda m: m.kind))
    others = [result for result in results if result.verdict != 'named']
    if others:
        lines += ['', 'Not caught by name:', '', '| mutant | verdict | remark |', '|---|---|---|']
        lines += [f'| `{r.name}` | {r.verdict} | {mutants[r.name].survives or r.reason} |' for r in others]
    return lines


def replace_between(text, lines):
    """A page with new lines between the two marks."""
    before, _, rest = text.partition(FIRST)
    _, _, after = rest.partition(LAST)
    return before + '\n'.join([FIRST, '', *lines, '', LAST]) + after


def record(path, mutants, results):
    """Writes the score into the page."""
    with open(path, encoding='utf-8') as file:
        text = file.read()
    with open(path, 'w', encoding='utf-8') as file:
        file.write(replace_between(text, tables(mutants, results)))
