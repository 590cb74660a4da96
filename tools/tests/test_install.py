#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""The installation is complete: headers, pkg-config files, library, tools, folder of providers.

Usage: test_install.py BUILD SOURCE      (TAP)

The tests use only the files that `meson install` wrote into a folder, like a user without a
source tree.
"""

import os
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, '../dev'), os.path.join(HERE, '../../doc')]

import installed  # noqa: E402  pylint: disable=wrong-import-position
import manual_links  # noqa: E402  pylint: disable=wrong-import-position

TOOLS = ['it-certify', 'it-cp', 'it-info', 'it-ping', 'it-replay', 'it-sim', 'it-test']
HEADERS = ['it_api.h', 'it_ext.h', 'it_sim.h', 'rnicpi/rnicpi.h', 'rnicpi/rnicpi_attr.h', 'rnicpi/rnicpi_event.h',
           'rnicpi/rnicpi_fast.h', 'rnicpi/rnicpi_host.h', 'rnicpi/rnicpi_types.h']
STANDARDS = [('cc', '.c', 'c99'), ('cc', '.c', 'c11'), ('c++', '.cc', 'c++17')]
# it_api.h serves three generations of programs.
BINDINGS = [[], ['-DITAPI_ENABLE_V20_BINDINGS'], ['-DITAPI_ENABLE_V21_BINDINGS']]
STRICT = ['-Wall', '-Wextra', '-pedantic', '-Werror']
# What a user's environment may say about the library; it must not reach these tests.
OURS = 'ITAPI_'


class Skipped(Exception):
    """Why a case cannot be judged here."""


class Install:
    """The cases; a case that fails raises installed.Failed, with the reason."""

    def __init__(self, there, build, source):
        self.there = there
        self.build = build
        self.source = source
        self.door = os.path.exists(os.path.join(build, 'tools/it-run'))     # with the headers of libibverbs only
        self.work = there.path('prefix', 'work')
        os.makedirs(self.work)

    def scratch(self, name, text=None):
        """The path of a scratch file; it is written if `text` is given."""
        path = os.path.join(self.work, name)
        if text is not None:
            with open(path, 'w', encoding='utf-8') as file:
                file.write(text)
        return path

    def header(self, header, compiler, suffix, standard):
        """Each header compiles by itself, without a warning."""
        path = self.scratch('alone' + suffix, f'#include <{header}>\n')
        package = 'rnicpi' if header.startswith('rnicpi/') else 'itapi'
        for bindings in BINDINGS if package == 'itapi' else [[]]:
            self.there.run([compiler, f'-std={standard}', *STRICT, *bindings, '-fsyntax-only',
                            *self.there.pkg_config('--cflags', package), path])

    def all_headers(self):
        """The list of headers in this test names exactly the headers that were installed."""
        folder = self.there.path('includedir')
        found = sorted(os.path.relpath(os.path.join(parent, name), folder)
                       for parent, _, names in os.walk(folder) for name in names)
        if found != HEADERS:
            raise installed.Failed(f'installed are {found}, tested {HEADERS}')

    def tool(self, name):
        """A tool starts where it is installed. Only with the prefix /usr may it need
        LD_LIBRARY_PATH to find the library."""
        run = self.there.run if self.there.directories['prefix'] == '/usr' else installed.run
        said = run([self.there.path('bindir', name), '--version'])
        if not said.startswith(f'{name} (itapi) '):
            raise installed.Failed(f'it said: {said}')

    def completion(self, name):
        """bash-completion finds a file with the name of the tool."""
        path = self.there.path('datadir', 'bash-completion/completions', name)
        with open(path, encoding='utf-8') as file:
            if f' {name}' not in file.read().splitlines()[-1]:
                raise installed.Failed(f'{path} is not about {name}')

    def examples(self):
        """The example programs compile in the folder where they are installed, and put.c, which is
        complete, becomes a program."""
        folder = self.there.path('docdir', 'examples')
        names = sorted(name for name in os.listdir(folder) if name.endswith('.c'))
        for name in names:
            self.there.run(['cc', *STRICT, '-c', '-o', self.scratch('example.o'), os.path.join(folder, name),
                            *self.there.pkg_config('--cflags', 'itapi')])
        self.there.compile([os.path.join(folder, 'put.c')], self.scratch('put'))

    def manual(self):
        """The installed manual has no broken link, and its links to the examples work."""
        html = self.there.path('docdir', 'html')
        if not os.path.exists(html) and not os.path.exists(os.path.join(self.build, 'doc/html/index.html')):
            raise Skipped('the manual was not built')
        broken = list(manual_links.broken(html))
        if broken or not os.path.exists(os.path.join(html, 'examples/put.c')):
            raise installed.Failed(f'broken are {broken}')

    def adapters(self, program='adapters'):
        """Returns the adapters that a program lists, after compiling it against the installation."""
        path = self.scratch(program)
        if not os.path.exists(path):
            self.there.compile([os.path.join(self.source, 'tools/tests/list_adapters.c')], path, options=STRICT)
        return self.there.run([path]).split()

    def program(self):
        """A program compiles as README says, runs, and finds the built-in providers."""
        names = self.adapters()
        for name in ('iwarp:lo', 'emul:ib', 'emul:iwarp', 'shm:ib', 'shm:iwarp'):
            if name not in names:
                raise installed.Failed(f'no adapter {name} among {names}')

    def provider(self):
        """A shared object in providerdir is found as soon as it lies there, by tools as well."""
        plugin = os.path.join(self.there.variable('rnicpi', 'providerdir'), 'tiny.so')
        if 'tiny' in self.adapters():
            raise installed.Failed('its adapter is there before it was installed')
        self.there.run(['cc', '-std=gnu11', *STRICT, '-shared', '-fPIC', '-fvisibility=hidden',
                        *self.there.pkg_config('--cflags', 'rnicpi'), '-o', plugin,
                        os.path.join(self.source, 'rnicpi/tests/tiny_provider.c')])
        try:
            names = self.adapters()
            if names.count('tiny') != 1:
                raise installed.Failed(f'no adapter "tiny" among {names}')
        finally:
            os.remove(plugin)

    def provider_of_path(self):
        """A folder that ITAPI_PROVIDER_PATH names comes before the installed one."""
        folder = self.scratch('mine')
        os.makedirs(folder)
        self.there.run(['cc', '-shared', '-fPIC', *self.there.pkg_config('--cflags', 'rnicpi'),
                        '-o', os.path.join(folder, 'tiny.so'),
                        os.path.join(self.source, 'rnicpi/tests/tiny_provider.c')])
        environment = self.there.environment(ITAPI_PROVIDER_PATH=folder)
        names = self.there.run([self.scratch('adapters')], env=environment).split()
        if names[0] != 'tiny':
            raise installed.Failed(f'the first adapter is not "tiny": {names}')

    def defects(self):
        """The provider with defects and faults is installed outside of providerdir, so that only
        programs that are told its folder find it."""
        folder = self.there.variable('rnicpi', 'defectsdir')
        listed = self.there.run([os.path.join(folder, 'defects-list')]).splitlines()
        ids = [line.split('\t')[0] for line in listed]
        if ids[0] != 'none' or len(ids) < 100:
            raise installed.Failed(f'defects-list names {len(ids)} defects')
        if any(name.startswith(('defect:', 'faulty:')) for name in self.adapters()):
            raise installed.Failed('adapters with defects are there without ITAPI_PROVIDER_PATH')
        environment = self.there.environment(ITAPI_PROVIDER_PATH=folder)
        for name in ('faulty:emul:iwarp', f'defect:{ids[1]}:emul:ib', f'defect:{ids[0]}:iwarp'):
            said = self.there.run([self.there.path('bindir', 'it-info'), '--adapter', name], env=environment)
            if name not in said:
                raise installed.Failed(f'it-info says of {name}: {said}')

    def devices(self):
        """it-run finds the object that it preloads where that is installed, and a program that it
        starts finds the devices."""
        tool = self.there.path('bindir', 'it-run')
        said = self.there.run([tool, '--list', '--adapter', 'emul:ib'])
        if 'it_emul_ib' not in said:
            raise installed.Failed(f'it-run --list says: {said}')
        loaded = self.there.run([tool, '--adapter', 'emul:ib', 'sh', '-c', 'echo "$LD_PRELOAD"']).strip()
        if loaded != self.there.path('libdir', 'itapi/libitapi-verbs.so'):
            raise installed.Failed(f'it-run preloads {loaded}')

    def devices_with_faults(self):
        """For an adapter faulty:NAME, it-run finds the provider of faults in its installed folder."""
        said = self.there.run([self.there.path('bindir', 'it-run'), '--adapter', 'faulty:emul:ib', '--fault',
                               'call cq_create 1 busy', 'sh', '-c', 'echo "$ITAPI_PROVIDER_PATH"']).strip()
        if said != self.there.variable('rnicpi', 'defectsdir'):
            raise installed.Failed(f'it-run names the folder {said}')

    def cases(self):
        yield 'headers/all', self.all_headers
        for header in HEADERS:
            for compiler, suffix, standard in STANDARDS:
                yield (f'headers/{header}/{standard}',
                       lambda h=header, c=compiler, x=suffix, s=standard: self.header(h, c, x, s))
        for name in TOOLS + ['it-run'] * self.door:
            yield f'tools/{name}', lambda n=name: self.tool(n)
            yield f'completion/{name}', lambda n=name: self.completion(n)
        yield 'examples', self.examples
        yield 'manual', self.manual
        yield 'program', self.program
        yield 'provider/installed', self.provider
        yield 'provider/path', self.provider_of_path
        yield 'provider/defects', self.defects
        if self.door:
            yield 'tools/it-run/devices', self.devices
            yield 'tools/it-run/faults', self.devices_with_faults


def main(build, source):
    installed.skip_without('meson', 'cc', 'c++', 'pkg-config')
    for name in [name for name in os.environ if name.startswith(OURS)]:
        del os.environ[name]
    bad = 0
    with installed.Installed(build) as there:
        cases = list(Install(there, build, source).cases())
        print(f'1..{len(cases)}')
        for number, (name, case) in enumerate(cases, 1):
            try:
                case()
                print(f'ok {number} - /install/{name}')
            except Skipped as reason:
                print(f'ok {number} - /install/{name} # SKIP {reason}')
            except (installed.Failed, OSError) as error:
                bad += 1
                print(f'not ok {number} - /install/{name}')
                print(''.join(f'# {line}\n' for line in str(error).splitlines()), end='')
    return 1 if bad else 0


if __name__ == '__main__':
    sys.exit(main(*sys.argv[1:]))
