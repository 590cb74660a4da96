# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""Writes doc/devices.md: the abilities of vp/ib with each device of the guest, and the deviations
of each device."""

import lab_device

HEAD = """<!-- SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only -->
<!-- SPDX-FileCopyrightText: the itapi authors -->

# Devices of Linux under vp/ib {#devices}

Made by `tools/check --lab --record doc` on %s, in a guest (`conformance/wire/lab`): rxe0 has InfiniBand semantics,
siw0 those of iWARP. [RI 12] says what the drivers do.

"""
CLAIMS = """## What the adapters claim

What `it-info --json` says of them.

| attribute | %s |
|---|%s
"""
TOPICS = """
## The tests of IT-API

By topic: how many passed, how many are left out because the device differs, and what the device lacks for those that were
skipped.
"""
TOPICS_TABLE = """
### Linux %s

| topic | %s |
|---|%s
"""
DIFFERENCES = """
## Where a device differs

Tests that the device cannot pass, or not each time, and what it does. A full run of the lab fails if one of them passes after
all that is not marked as unsteady in conformance/wire/lab/devices.toml.

| device | test | what the device does |
|---|---|---|
"""
OTHERS = """
## Other runs

| what | result |
|---|---|
"""


def text_of(value):
    if isinstance(value, bool):
        return 'yes' if value else '-'
    return str(value)


def claims(infos):
    """Rows of attributes: those that each adapter has as one value."""
    names = [name for name, value in next(iter(infos.values())).items()
             if name not in ('name', 'transport') and not isinstance(value, (list, dict))]
    yield '| transport | ' + ' | '.join(info['transport'] for info in infos.values()) + ' |\n'
    for name in names:
        yield f'| `{name}` | ' + ' | '.join(text_of(info.get(name, '')) for info in infos.values()) + ' |\n'


def cell(told, left_out):
    """The result of one topic on one device, as a cell of the table."""
    if told is None:
        return 'not run'
    words = [f'{told["passed"]} passed']
    if left_out:
        words.append(f'{left_out} left out')
    return ', '.join(words) + ('; ' + ', '.join(told['skipped']) if told['skipped'] else '')


def details_of(run, cases):
    """The cases about devices of a run, each with its result, and their details for the page."""
    details = [(case, run.results.get(case.name)) for case in cases if case.name.startswith('devices ')]
    told = [(told.get('detail') or {}) for _, told in details if told]
    return (details, {detail['device']: detail['info'] for detail in told if 'info' in detail},
            {(detail['topic'], detail['device']): detail for detail in told if 'topic' in detail})


def write_devices(path, runs, date):
    """Writes the page from the results of the runs, if cases about devices ran: everything from the
    first run, the topics from each."""
    told = [(run, *details_of(run, cases)) for run, cases in runs]
    if not told or not told[0][2]:
        return
    _, details, infos, _ = told[0]
    devices = list(infos)
    columns, rule = ' | '.join(devices), '---|' * len(devices)
    entries = {device: lab_device.deviations(device) for device in devices}
    with open(path, 'w', encoding='utf-8') as file:
        file.write(HEAD % date.isoformat() + CLAIMS % (columns, rule))
        file.writelines(claims(infos))
        file.write(TOPICS)
        for run, _, _, topics in told:
            file.write(TOPICS_TABLE % (run.kernel, columns, rule))
            for topic in sorted({topic for topic, _ in topics}):
                cells = [cell(topics.get((topic, device)),
                              sum(lab_device.program_of(entry) == topic for entry in entries[device])) for device in devices]
                file.write(f'| `{topic}` | ' + ' | '.join(cells).replace('\n', ' ') + ' |\n')
        file.write(DIFFERENCES)
        for device in devices:
            file.writelines(f'| {device} | `{entry["test"]}` | {entry["what"]} |\n' for entry in entries[device])
        file.write(OTHERS)
        for case, result in details:
            if result and not any(key in (result.get('detail') or {}) for key in ('topic', 'info')):
                file.write(f'| {case.name[len("devices "):]} | {result["result"]} |\n')
