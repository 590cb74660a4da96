# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""Writes doc/interop.md: the results of a run, by peer and role."""


HEAD = """<!-- SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only -->
<!-- SPDX-FileCopyrightText: the itapi authors -->

# Interoperation with Linux siw {#interop}

Made by `tools/check --lab --record doc` on %s: vp/iwarp against siw of Linux, in a guest
(`conformance/wire/lab`). A row is one peer program and one role of ours. "passed" counts the cases that passed, of those that
ran; "settings" tells what both sides asked for in them: CRC, peer-to-peer mode (P2P), both, or neither (-). Cases for which
the run had no time are not counted.

*Peer-to-peer mode is off by default, for a reason.* With it, a process that dies in the first 30 ms or so of a connection,
or another early end of it, can stop the connection manager of the *peer's* kernel: a BUG in iwcm, after which no process of that
host can use it until the host is booted again. Linux 6.1 and 6.12 did so within 20 kills of a client ([WIRE 14.2]). The row
"our process is killed in its first 30 ms" with the setting "-" shows the default, and with P2P, of a full run, that mode. By default
the connection manager goes on; the listener that such a client met may be lost ([WIRE 15.1]).

One peer is missing: krping, because no package of Debian has that module. `qperf` runs with `-cm1` the tests `rc_lat`,
`rc_rdma_read_lat`, `rc_rdma_read_bw` and `rc_rdma_write_poll_lat`, in the guest with `lab-queues.so`, without which siw lets it
make no queue pair for the last three. Of its other tests, `rc_rdma_write_lat` and `rc_rdma_write_bw` cannot run, because they
send immediate data; in `rc_bw` and `rc_bi_bw` a sender waits for no receive, and a connection of iWARP breaks when the
receiver is slower. Only `rc_bw -n` with at most 1024 messages would be sure to end; it was not tried.
"""
TABLE = """| peer | our role | what | settings | passed | not passed |
|---|---|---|---|---|---|
"""
NO_TIME = 'no time was left for it'


def setting(case):
    return '+'.join(name for name, on in (('CRC', case.crc), ('P2P', case.p2p)) if on) or '-'


def row_of(rows, case, told):
    """Adds one result to its row: passed, run, settings, and what did not pass."""
    row = rows.setdefault(case.table, [0, 0, set(), []])
    row[1] += told['result'] != 'skip'
    row[0] += told['result'] == 'ok'
    row[2].add(setting(case))
    if told['result'] in ('known', 'skip'):
        row[3].append(f'{told["name"]}: {told["why"]}')
    elif told['result'] == 'failed':
        row[3].append(told['name'])


def frames_text(run):
    """Returns the sentence about our FPDUs in the captures."""
    fpdus = ', '.join(f'{cut} of {fpdus} at MTU {mtu}' for mtu, (fpdus, cut) in sorted(run.aligned.items()))
    return (f'tshark looked at {run.frames} FPDUs of ours and complained of {run.complaints}. A TCP segment of ours ended '
            f'inside an FPDU: {fpdus}.\n\n')


def write_report(path, runs, date):
    """Writes for each run (one kernel each) the table of the cases that have a row in it, and the
    findings in its captures."""
    with open(path, 'w', encoding='utf-8') as file:
        file.write(HEAD % date.isoformat())
        for run, cases in runs:
            rows = {}
            for case in cases:
                told = run.results.get(case.name)
                if case.table and told and told['why'] != NO_TIME:
                    row_of(rows, case, told)
            file.write(f'\n## Linux {run.kernel}\n\n' + (frames_text(run) if run.frames else '') + TABLE)
            for key, (good, count, settings, words) in rows.items():
                file.write(f'| {" | ".join(key)} | {", ".join(sorted(settings))} | {good} of {count} | '
                           f'{"; ".join(words).replace("|", "/")} |\n')
