#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""A build folder as an installation: what a user or a vendor has without the tree.

    with installed.Installed(build) as there:
        there.compile(['prog.c'], 'prog', packages=['itapi'])
        there.run(['./prog'])
        there.run([there.path('bindir', 'it-info'), '--version'])

`meson install` writes everything into a temporary folder in place of "/" (its DESTDIR): nothing is built, and
nothing outside of the folder changes, so this needs no root. pkg-config reads the installed .pc files through
PKG_CONFIG_SYSROOT_DIR; programs find the library through LD_LIBRARY_PATH. A test that cannot do
this on its machine calls `skip_without` first.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile

PATIENCE = 300      # s; for one program, on a busy machine


class Failed(Exception):
    """A program ended otherwise than it should."""


def skip_without(*programs):
    """Ends the test as skipped if one of the programs is not installed."""
    missing = [program for program in programs if shutil.which(program) is None]
    if missing:
        print(f'1..0 # SKIP not installed: {", ".join(missing)}')
        sys.exit(0)


def directories(build):
    """The folders with which Meson was configured: {'prefix': '/usr/local', 'bindir': 'bin', ...}."""
    with open(os.path.join(build, 'meson-info', 'intro-buildoptions.json'), encoding='utf-8') as file:
        found = {option['name']: option['value'] for option in json.load(file)
                 if option['section'] == 'directory' or option['name'] == 'docdir'}
    found['docdir'] = found['docdir'] or os.path.join(found['datadir'], 'doc/itapi')
    return found


def run(command, **options):
    """Runs a command and returns its output. Raises Failed, with everything that it printed, unless
    its exit status is 0."""
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors='replace',
                          timeout=PATIENCE, check=False, **options)
    if done.returncode != 0:
        raise Failed(f'{" ".join(command)}\nended with status {done.returncode}\n{done.stdout}{done.stderr}')
    return done.stdout


class Installed:
    """The files that `meson install` writes, under a folder of their own; `with` removes it."""

    def __init__(self, build):
        self.directories = directories(build)
        self.folder = tempfile.TemporaryDirectory(prefix='itapi-installed.')
        self.root = os.path.realpath(self.folder.name)
        try:
            run(['meson', 'install', '-C', build, '--no-rebuild', '--quiet', '--destdir', self.root])
        except BaseException:
            self.folder.cleanup()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.folder.cleanup()

    def place(self, directory, *names):
        """The path of a file once it is installed at its final place: place('bindir', 'it-info')."""
        return os.path.join(self.directories['prefix'], self.directories[directory], *names)

    def path(self, directory, *names):
        """The present path of that file, below the folder of this test's installation."""
        return self.root + self.place(directory, *names)

    def environment(self, **more):
        """The environment for programs that are linked against the installed library, and for
        pkg-config."""
        return {**os.environ,
                'LD_LIBRARY_PATH': self.path('libdir'),
                'PKG_CONFIG_LIBDIR': self.path('libdir', 'pkgconfig'),
                'PKG_CONFIG_PATH': '',
                'PKG_CONFIG_SYSROOT_DIR': self.root,
                # Compilers and linkers are told of /usr, too: a system prefix must not be left out.
                'PKG_CONFIG_ALLOW_SYSTEM_CFLAGS': '1',
                'PKG_CONFIG_ALLOW_SYSTEM_LIBS': '1',
                **more}

    def run(self, command, **options):
        """Runs a command, as run() does, in the environment of the installation."""
        return run(command, **{'env': self.environment(), **options})

    def pkg_config(self, *arguments):
        """The words of pkg-config's answer: pkg_config('--cflags', 'rnicpi')."""
        return self.run(['pkg-config', *arguments]).split()

    def variable(self, package, name):
        """The current path of a folder that a .pc file names: variable('rnicpi', 'providerdir')."""
        value = run(['pkg-config', f'--variable={name}', package],
                    env={**self.environment(), 'PKG_CONFIG_SYSROOT_DIR': ''}).strip()
        return self.root + value

    def compile(self, sources, output, packages=('itapi',), compiler='cc', options=()):
        """Compiles and links as README says: cc prog.c $(pkg-config --cflags --libs itapi)."""
        self.run([compiler, *options, '-o', output, *sources, *self.pkg_config('--cflags', '--libs', *packages)])
