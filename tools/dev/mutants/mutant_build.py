# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""One build with every mutant in it: build/mutants/src is a copy of the tree, build/mutants/out its build.

Only files whose text changes are written, so a second build is as short as the change.
"""

import json
import os
import re
import shutil
import subprocess

import mutant_data
import source_tree

# Quick to compile, yet what tests wait for is not slow. Warnings are those of the real build.
OPTIONS = ['-Dbuildtype=plain', '-Doptimization=1', '-Dwerror=false', '-Dwarning_level=0',
           '-Db_lundef=false', '-Ddoc=disabled', '-Dc_args=-w']


# What tests ask for the claims of an adapter (itapi/tests/it_claims.c); their folder comes before it and cannot depend on it.
ASKED = 'conformance/judge/certify/it-certify-cases'


class BuildFailed(Exception):
    """The copy cannot be configured or compiled; the exception's text is the end of the log."""


def links_of(root):
    """The symbolic links of a tree, which source_tree.files_of leaves out."""
    for folder, subfolders, names in os.walk(root):
        subfolders[:] = [s for s in subfolders if s not in ('.git', '.cache') and not s.startswith('build')]
        for name in [*names, *subfolders]:
            path = os.path.join(folder, name)
            if os.path.islink(path):
                yield os.path.relpath(path, root)


def write_if_changed(path, data):
    try:
        with open(path, 'rb') as file:
            if file.read() == data:
                return
    except OSError:
        os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, 'wb') as file:
        file.write(data)


def copy_tree(root, copy, changed):
    """Makes `copy` equal to the tree, except for the files in `changed`, {path: new text}."""
    paths = set(source_tree.files_of(root))
    for path in paths:
        target = os.path.join(copy, path)
        if path in changed:
            data = changed[path].encode('utf-8', 'surrogateescape')
        else:
            with open(os.path.join(root, path), 'rb') as file:
                data = file.read()
        write_if_changed(target, data)
        shutil.copymode(os.path.join(root, path), target)
    for path in links_of(root):
        target = os.path.join(copy, path)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        if not os.path.islink(target):
            os.symlink(os.readlink(os.path.join(root, path)), target)
        paths.add(path)
    for folder, _, names in os.walk(copy):
        for name in names:
            path = os.path.relpath(os.path.join(folder, name), copy)
            if path not in paths:
                os.remove(os.path.join(copy, path))


def run_logged(command, log):
    with open(log, 'wb') as file:
        status = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=file,
                                stderr=subprocess.STDOUT, check=False).returncode
    if status != 0:
        with open(log, encoding='utf-8', errors='replace') as file:
            raise BuildFailed(f'{" ".join(command[:3])} failed; the end of {log}:\n{file.read()[-4000:]}')


class Build:
    """The copy and its build below a folder."""

    def __init__(self, root, folder, jobs):
        self.root, self.folder, self.jobs = root, folder, jobs
        self.changed = {}
        self.plain = []     # files whose mutants do not compile, so that they have none
        self.copy = os.path.join(folder, 'src')
        self.out = os.path.join(folder, 'out')

    def prepare(self, mutants):
        """Copies the tree with the mutants and configures the build."""
        header = os.path.join(self.copy, mutant_data.FOLDER, 'mutant.h')
        self.changed = mutant_data.rewrite_all(self.root, mutants, header)
        copy_tree(self.root, self.copy, self.changed)
        setup = ['meson', 'setup', self.out, self.copy, *OPTIONS]
        if os.path.exists(os.path.join(self.out, 'build.ninja')):
            return
        shutil.rmtree(self.out, ignore_errors=True)
        run_logged(setup, os.path.join(self.folder, 'setup.log'))

    def introspect(self, what):
        done = subprocess.run(['meson', 'introspect', '--' + what, self.out], capture_output=True,
                              check=False)
        if done.returncode != 0:
            raise BuildFailed(done.stderr.decode(errors='replace'))
        return json.loads(done.stdout)

    def tests(self):
        """The tests of the build by their names."""
        return {test['name']: test for test in self.introspect('tests')}

    def compile(self, tests):
        """Builds what these tests need, and nothing else; returns the tests that Meson then lists,
        by their names."""
        run_logged(['ninja', '-C', self.out, 'build.ninja'], os.path.join(self.folder, 'setup.log'))
        known = self.tests()
        missing = sorted(set(tests) - set(known))
        if missing:
            raise BuildFailed(f'no such test of Meson: {", ".join(missing)}')
        files = {target['id']: target['filename'] for target in self.introspect('targets')}
        wanted = {os.path.relpath(name, self.out) for test in tests
                  for needed in known[test]['depends'] for name in files.get(needed, [])}
        wanted.add(ASKED)
        log = os.path.join(self.folder, 'build.log')
        for _ in range(3):
            try:
                run_logged(['ninja', '-C', self.out, '-k', '0', '-j', str(self.jobs), *sorted(wanted)], log)
                return known
            except BuildFailed:
                if not self.restore_failed(log):
                    raise
        raise BuildFailed(f'mutants do not compile; see {log}')

    def restore_failed(self, log):
        """Restores the original text of files that do not compile with their mutants; False if
        there are no such files."""
        with open(log, encoding='utf-8', errors='replace') as file:
            named = set(re.findall(r'src/([^\s:]+\.[ch]):\d+:\d+: error', file.read()))
        failed = sorted(path for path in named if path in self.changed)
        for path in failed:
            del self.changed[path]
        self.plain += failed
        copy_tree(self.root, self.copy, self.changed)
        return bool(failed)
