#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""What it-info says about providers, adapters, names and files that were refused, and it-info --env.

Usage: test_refusals.py TOOLS FOLDER_OF_FAULTY_PROVIDERS ODD SILENT      (TAP)
ODD and SILENT are the providers of vp/emul/tests/vem_odd.c.
"""

import functools
import os
import shutil
import sys

from tool_runs import Failed, Folder, Skipped, main, run

# A faulty provider and what must be said about it.
FAULTY = {
    'bad-major': 'made for version 2 of the provider interface',
    'bad-size': 'struct ri_provider cannot have 8 octets',
    'no-name': 'ri_provider.name must be a word',
    'no-table': 'has no table "pd"',
    'no-member': 'has no entry "qp.modify"',
    'no-entry': 'does not export ri_provider_entry',
    'no-provider': 'says that it cannot run on this machine',
    'bad-setting': "setting ITAPI_TEST_COLOUR has the default 'green', which is none of its values",
}


def plain(**more):
    """An environment in which no variable of ours is set, except those of `more`."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith('ITAPI_')}
    return {'env': {**kept, **more}}


def need(condition, what):
    if not condition:
        raise Failed(what)


def refused_of(tools, path):
    """The reasons that `it-info --json` gives; checks that its plain output and stderr have the
    same ones."""
    reasons = run(tools, 'it-info', '--json', **plain(ITAPI_PROVIDER_PATH=path)).expect(0).json()['refused']
    said = run(tools, 'it-info', **plain(ITAPI_PROVIDER_PATH=path)).expect(0)
    for reason in reasons:
        need('refused: ' + reason in said.out, '%r does not list %r' % (said.out, reason))
        need(said.err.count(']: warning: registry: ' + reason) == 1,
             '%r does not have %r once' % (said.err, reason))
    return reasons


def faulty_provider(tools, faulty, kind):
    with Folder() as folder:
        shutil.copy(os.path.join(faulty, 'provider-%s.so' % kind), folder.path)
        reasons = refused_of(tools, folder.path)
        need(len(reasons) == 1, 'not one reason: %r' % reasons)
        for text in (os.path.join(folder.path, 'provider-%s.so' % kind), FAULTY[kind]):
            need(text in reasons[0], '%r does not say %r' % (reasons[0], text))


def no_object(tools):
    """A file that is not a shared object, and a dangling link."""
    with Folder() as folder:
        text = folder.file('text.so', b'this is no shared object, but a text that is long enough to be looked at' * 8)
        os.symlink('nowhere', os.path.join(folder.path, 'link.so'))
        reasons = refused_of(tools, folder.path)
        need(len(reasons) == 2, 'not two reasons: %r' % reasons)
        need(reasons[0].startswith(os.path.join(folder.path, 'link.so') + ': cannot open shared object file'), reasons[0])
        need(reasons[1] == text + ': invalid ELF header', reasons[1])


def unreadable(tools):
    """A file that nobody may read."""
    if os.geteuid() == 0:
        raise Skipped('root may read every file')
    with Folder() as folder:
        os.chmod(folder.file('text.so', b'a text'), 0)
        need('Permission denied' in refused_of(tools, folder.path)[0], 'nothing about the permission')


def no_folder(tools):
    with Folder() as folder:
        file = folder.file('file')
        absent = os.path.join(folder.path, 'absent')
        reasons = refused_of(tools, absent + ':' + file)
        need(reasons == [absent + ': No such file or directory',
                         file + ': is not a folder; ITAPI_PROVIDER_PATH names the folders of providers'],
             'instead: %r' % reasons)


def no_name(tools):
    """For a name that matches no adapter, the message lists the names that exist, and the provider
    that was refused."""
    names = [one['name'] for one in run(tools, 'it-info', '--json', **plain()).expect(0).json()['adapters']]
    with Folder() as folder:
        file = folder.file('text.so')
        for tool, *words in (('it-info',), ('it-ping', '127.0.0.1')):
            said = run(tools, tool, '-a', 'nosuch', *words, **plain(ITAPI_PROVIDER_PATH=folder.path))
            said.expect(1, tool + ": there is no adapter named 'nosuch'; there are ",
                        '; a provider was refused: ' + file + ': file too short', *names)
        run(tools, 'it-info', '-a', file, **plain()).expect(
            1, 'a provider is not opened by its path', 'ITAPI_PROVIDER_PATH')
    run(tools, 'it-info', 'nosuch', **plain()).expect(2, "unexpected argument 'nosuch'; name an adapter with -a")


def silent_provider(tools, silent):
    """A provider that cannot list its adapters is reported. The adapters of other providers are
    still listed, and a misspelt name is still recognised."""
    with Folder() as folder:
        shutil.copy(silent, folder.path)
        there = plain(ITAPI_PROVIDER_PATH=folder.path)
        for words in ((), ('-a', 'nosuch')):
            said = run(tools, 'it-info', *words, **there)
            said.expect(1 if words else 0, ']: warning: kal: the provider silent cannot list its adapters: '
                        'RI_ERR_ACCESS: this user may not use the device')
        need("it-info: there is no adapter named 'nosuch'; there are " in said.err and
             '; the provider silent cannot list its adapters: ' in said.err, said.err)


def no_config(tools):
    """With a settings file that is invalid, no adapter can be opened, and the message has file,
    line and mistake."""
    with Folder() as folder:
        file = folder.file('conf', b'# limits\n[limits.client]\nqp = 5\nmr = lots\n')
        near = folder.file('near', b'[mpa]\ncrcs = true\n')
        absent = os.path.join(folder.path, 'absent')
        for path, reason in ((file, file + ":4: [limits.client] mr: 'lots' is not allowed; "
                                           'allowed is a number, or unlimited'),
                             (near, near + ":2: [mpa] crcs: there is no such key; did you mean 'crc'?"),
                             (absent, absent + ': No such file or directory'),
                             (folder.path, folder.path + ': Is a directory')):
            there = plain(ITAPI_CONFIG=path)
            run(tools, 'it-info', **there).expect(1, 'it-info: no adapter can be listed: ' + reason)
            run(tools, 'it-info', '-a', 'iwarp', **there).expect(
                1, "it-info: cannot open the adapter 'iwarp': " + reason)
            for words in ((), ('-a', 'iwarp')):
                said = run(tools, 'it-info', '--json', *words, **there).expect(1).json()
                need(said['ok'] is False and said['error'].endswith(reason), '%r' % said)
            row = rows(tools, 1, **there)['ITAPI_CONFIG']
            need(row['trouble'] == 'no adapter can be opened: ' + reason, '%r' % row)


def odd_adapters(tools, odd):
    """Each adapter that is listed but cannot be opened has a reason of its own."""
    with Folder() as folder:
        shutil.copy(odd, folder.path)
        judge_odd(tools, plain(ITAPI_PROVIDER_PATH=folder.path))


def judge_odd(tools, there):
    said = run(tools, 'it-info', '--json', **there).expect(1).json()
    troubles = {one['name']: one.get('error', '') for one in said['adapters']}
    for name, texts in (('odd:denied', ('the provider odd cannot open it: RI_ERR_ACCESS: '
                                        'this user may not use the device; try as a user who may',)),
                        ('odd:claims', ('srq', 'the provider odd cannot open it: RI_ERR_PROVIDER'))):
        for text in texts:
            need(text in troubles[name], '%r does not say %r' % (troubles[name], text))
        run(tools, 'it-info', '-a', name, **there).expect(1, "it-info: cannot open the adapter '%s': " % name, *texts)
        run(tools, 'it-info', **there).expect(1, "cannot open the adapter '%s': " % name, *texts)
    need(all(trouble == '' for name, trouble in troubles.items() if not name.startswith('odd')), '%r' % troubles)


def rows(tools, status, **there):
    """The rows of `it-info --env --json`, by name. That command opens no adapter."""
    said = run(tools, 'it-info', '--env', '--json', **there).expect(status).json()
    need(said['ok'] is (status == 0), 'ok is %r' % said['ok'])
    return {row['name']: row for row in said['settings']}


def now(row):
    return row['value'], row['origin'], row['trouble']


def settings(tools):
    """`it-info --env` lists each value with its origin: default, environment, the line of a file,
    or a variable that overrides a key."""
    for row in rows(tools, 0, **plain()).values():
        need(row['origin'] == 'default' and row['value'] == row['default'] and row['meaning'] and row['range'] and
             row['set_uid'] is False, '%r' % row)
    with Folder() as folder:
        file = folder.file('conf', b'[mpa]\ncrc = true\nconvert-timeout = 7\n\n[aliases]\nOpenIB-cma = iwarp\n')
        found = rows(tools, 0, **plain(ITAPI_CONFIG=file, ITAPI_SPIN_US='77', ITAPI_MPA_CRC='off'))
        for name, wanted in {
                'ITAPI_CONFIG': (file, 'environment', ''), 'ITAPI_SPIN_US': ('77', 'environment', ''),
                'ITAPI_MPA_CRC': ('off', 'environment', ''), 'ITAPI_LOG': ('warning', 'default', ''),
                '[mpa] crc': ('false', 'environment: ITAPI_MPA_CRC=off', ''),
                '[mpa] convert-timeout': ('7', file + ':3', ''),
                '[aliases] OpenIB-cma': ('iwarp', file + ':6', ''),
                '[mpa] fall-back': ('true', 'default', '')}.items():
            need(now(found[name]) == wanted, '%s is %r' % (name, now(found[name])))
        said = run(tools, 'it-info', '--env', **plain(ITAPI_CONFIG=file)).expect(
            0, '[mpa] convert-timeout = 7  [%s:3]\n' % file, 'ITAPI_SPIN_US = 50  [default]\n', 'ITAPI_TRACE is not set\n')
        need(all(len(line) <= 80 or line.startswith(('ITAPI_CONFIG', '[')) for line in said.out.split('\n')),
             'a long line: ' + said.out)


def bad_settings(tools):
    """Invalid values, and variables that no code reads, cause a warning when an adapter is used,
    and are marked in the list."""
    there = plain(ITAPI_SPIN_US='soon', ITAPI_MPA_CRC='no', ITAPI_LGO='debug', ITAPI_OTHER_THING='1')
    found = rows(tools, 1, **there)
    for name, wanted in {
            'ITAPI_SPIN_US': ('50', 'default', "'soon' is not allowed; allowed is a number from 0 to 1000000 (us)"),
            'ITAPI_MPA_CRC': ('on', 'default', "'no' is not allowed; allowed is one of on, off"),
            'ITAPI_LGO': ('', 'environment', 'nobody reads this variable; did you mean ITAPI_LOG?'),
            'ITAPI_OTHER_THING': ('', 'environment', 'nobody reads this variable')}.items():
        need(now(found[name]) == wanted, '%s is %r' % (name, now(found[name])))
    said = run(tools, 'it-info', **there).expect(0)
    for line in ("ITAPI_SPIN_US: 'soon' is not allowed; allowed is a number from 0 to 1000000 (us); the default 50 is used",
                 "ITAPI_MPA_CRC: 'no' is not allowed; allowed is one of on, off; the default on is used",
                 'ITAPI_LGO: nobody reads this variable; did you mean ITAPI_LOG?'):
        need(said.err.count(']: warning: settings: ' + line + '\n') == 1, '%r does not have %r once' % (said.err, line))
    need('OTHER_THING' not in said.err, said.err)


def stated_settings(tools, odd):
    """The settings that a third-party provider declares are listed and checked."""
    with Folder() as folder:
        shutil.copy(odd, folder.path)
        there = {'ITAPI_PROVIDER_PATH': folder.path}
        for value, status, wanted in (
                ('5', 0, ('5', 'environment', '')),
                ('10', 1, ('3', 'default', "'10' is not allowed; allowed is a number from 1 to 9 (ms)"))):
            row = rows(tools, status, **plain(ITAPI_ODD_DELAY_MS=value, **there))['ITAPI_ODD_DELAY_MS']
            need(row['owner'] == 'odd' and now(row) == wanted, '%r' % row)
        said = run(tools, 'it-info', '--json', **plain(ITAPI_ODD_DELAY='5', **there))
        need('ITAPI_ODD_DELAY: nobody reads' not in said.err, said.err)     # three characters are not near
        said = run(tools, 'it-info', '--json', **plain(ITAPI_ODD_DELAY_M='5', **there))
        need('ITAPI_ODD_DELAY_M: nobody reads this variable; did you mean ITAPI_ODD_DELAY_MS?' in said.err, said.err)


def near_names(tools):
    """For misspelt names of adapters and of fault commands, the message suggests the right word."""
    said = run(tools, 'it-info', '-a', 'emul:iwrap', **plain()).expect(1)
    need("did you mean 'emul:iwarp'?" in said.err, said.err)
    said = run(tools, 'it-info', '-a', 'emul:ib', **plain(ITAPI_EMUL_FAULTS='help; cal pd_create 1 busy'))
    for text in ('VERB: query_port, route, pd_create', 'HOW: inside, opcode', "no command 'cal'; did you mean 'call'?"):
        need(text in said.err, said.err)
    wrappers = os.path.join(os.path.dirname(tools), 'conformance', 'bad', 'defects')
    there = {'ITAPI_PROVIDER_PATH': wrappers}
    faults = 'help; call post_qs 1 full; complete 1 flushd; complete 1 flushed cq 1; call pd_create 1 busy pd'
    said = run(tools, 'it-info', '-a', 'faulty:emul:ib', **plain(ITAPI_FAULTY=faults, **there))
    for text in ('post_sq, post_rq, post_srq', 'STATUS of a completion: flushed', "did you mean 'post_sq'?",
                 "did you mean 'flushed'?", 'only a queue pair (qp K)', 'which one? K is a number'):
        need(text in said.err, said.err)
    said = run(tools, 'it-info', '-a', 'defect:completion-los:emul:ib', **plain(**there)).expect(1)
    need("did you mean 'defect:completion-lost:emul:ib'?" in said.err and len(said.err) < 1000, said.err)
    said = run(tools, 'it-info', '-a', 'nothing', **plain(**there)).expect(1)
    need('others, which it-info lists' in said.err and len(said.err) < 1000, said.err)     # there are hundreds


def help_fits(tools):
    """Each --help fits into 80 columns, and says where commands for faults are explained."""
    conformance = os.path.join(os.path.dirname(tools), 'conformance')
    programs = [os.path.join(tools, name) for name in ('it-info', 'it-ping', 'it-test', 'it-cp')]
    programs += [os.path.join(conformance, path) for path in (
        'judge/wire/it-wire', 'judge/wire/it-wire-peer', 'judge/certify/it-certify',
        'judge/certify/it-certify-cases', 'judge/differential/differential')]
    for program in programs:
        said = run(os.path.dirname(program), os.path.basename(program), '--help', '--timeout', **plain())
        for line in said.out.splitlines():
            need(len(line) <= 80, '%s: %d columns: %s' % (program, len(line), line))
        need(said.out != '', program + ' has no help')
        if os.path.dirname(program) == tools and not program.endswith('it-info'):
            need('ITAPI_EMUL_FAULTS' in said.out and 'ITAPI_FAULTY' in said.out, said.out)


def cases(tools, faulty, odd, silent):
    yield from (('provider-' + kind, functools.partial(faulty_provider, tools, faulty, kind)) for kind in FAULTY)
    yield 'silent-provider', functools.partial(silent_provider, tools, silent)
    for name, case in (('no-object', no_object), ('unreadable', unreadable), ('no-folder', no_folder), ('no-name', no_name),
                       ('no-config', no_config), ('settings', settings), ('bad-settings', bad_settings),
                       ('near-names', near_names), ('help-fits', help_fits)):
        yield name, functools.partial(case, tools)
    yield 'odd-adapters', functools.partial(odd_adapters, tools, odd)
    yield 'stated-settings', functools.partial(stated_settings, tools, odd)


if __name__ == '__main__':
    sys.exit(main([('/tools/refusals/' + name, case) for name, case in cases(*sys.argv[1:])]))
