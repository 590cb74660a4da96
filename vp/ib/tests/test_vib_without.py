#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""The tree without libibverbs and librdmacm: which targets and tests exist then.

Configures a second build folder, where pkg-config finds neither library, and compares both
folders: only targets for the kernel's RDMA devices and for programs of verbs may be missing,
nothing may name the two libraries, and -Dib=enabled is refused. Nothing is compiled. TAP:
test_vib_without.py SOURCE BUILD
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

SOURCE, BUILD = (pathlib.Path(argument).resolve() for argument in sys.argv[1:3])
SECONDS = 600
HIDDEN = ('libibverbs', 'librdmacm')
# What may be missing, apart from the folders of the provider and of the door: programs of other folders.
FOLDERS = ('vp/ib', 'doors/verbs', 'doc')
PROGRAMS = {'lab-queues', 'lab-verbs', 'it-wire-peer-verbs', 'it-run', 'it-run-objects', 'test-fuzz-cm', 'fuzz-cm', 'sim-verbs',
            'sim-verbs-calls', 'sim-rdmacm', 'test-sim-verbs', 'test-sim-verbs-long', 'test-net-share', 'test-net-share-long'}
OPTIONS = ('optimization', 'debug', 'b_sanitize', 'b_coverage', 'fuzz', 'werror')


def introspect(folder, what):
    """Returns what `meson introspect` says of a build folder."""
    text = subprocess.run(['meson', 'introspect', f'--{what}', str(folder)], capture_output=True,
                          text=True, timeout=SECONDS, check=True).stdout
    return json.loads(text)


def hide(folder):
    """A pkg-config in this folder that knows neither library; the environment to use it."""
    real = shutil.which('pkg-config')
    script = folder / 'pkg-config'
    names = '|'.join(HIDDEN)
    script.write_text(f'#!/bin/sh\nfor word; do case $word in {names}) exit 1 ;; esac; done\n'
                      f'exec {real} "$@"\n', encoding='ascii')
    script.chmod(0o755)
    return dict(os.environ, PATH=f'{folder}:{os.environ["PATH"]}', PKG_CONFIG=str(script))


def configure(folder, env, *arguments):
    """Meson's exit status and output."""
    options = {option['name']: option['value'] for option in introspect(BUILD, 'buildoptions')}
    same = [f'-D{name}={str(options[name]).lower()}' for name in OPTIONS]
    done = subprocess.run(['meson', 'setup', *same, '-Ddoc=disabled', *arguments, str(folder),
                           str(SOURCE)], env=env, capture_output=True, text=True,
                          timeout=SECONDS, check=False)
    return done.returncode, done.stdout + done.stderr


def targets(folder):
    """The names of what is built, without those folders; the manual is disabled in the second folder."""
    found = set()
    for target in introspect(folder, 'targets'):
        place = pathlib.Path(target['defined_in']).parent
        if not any(place.is_relative_to(SOURCE / name) for name in FOLDERS):
            found.add(target['name'])
    return found


def tests(folder):
    """The names of the tests, without those of the provider, of the door and of the manual."""
    return {test['name'] for test in introspect(folder, 'tests')
            if not test['name'].startswith(('test-vib-', 'test-door-', 'test-doc-'))}


def compare(without):
    """The differences of a folder that was configured without the libraries that are not expected."""
    faults = []
    for what, names in (('targets', targets), ('tests', tests)):
        here, there = names(BUILD), names(without)
        for name in sorted(here - there - PROGRAMS):
            faults.append(f'{name} of the {what} is missing without the libraries')
        for name in sorted(there - here):
            faults.append(f'{name} of the {what} is only there without the libraries')
    text = (without / 'build.ninja').read_text(encoding='utf-8')
    faults += [f'the build names {word}' for word in ('ibverbs', 'rdmacm', 'vp/ib/vib_')
               if word in text]
    return faults


def cases(folder):
    """(name, faults) of each case."""
    status, text = configure(folder / 'a', env := hide(folder))
    faults = compare(folder / 'a') if status == 0 else text.splitlines()[-5:]
    if 'vp/ib is not built' not in text:
        faults.append('nothing says that vp/ib is not built')
    yield 'hidden', faults
    status, text = configure(folder / 'b', env, '-Dib=enabled')
    yield 'enabled', [] if status != 0 and 'libibverbs' in text else ['it was configured']


def main():
    """Judges each case."""
    for tool in ('meson', 'pkg-config'):
        if shutil.which(tool) is None:
            print(f'1..0 # SKIP {tool} is not there')
            return 0
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for number, (name, faults) in enumerate(cases(pathlib.Path(folder)), 1):
            failed += bool(faults)
            print(f'{"not ok" if faults else "ok"} {number} /ib/without/{name}', flush=True)
            for fault in faults:
                print(f'# {fault}')
    print('1..2')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
