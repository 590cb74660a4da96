#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""Names that no adapter has: the messages of the library and of the tools give the cause. And the
providers and programs that a build folder finds without an installation.

Usage: test_absent.py BUILD LIBRARY SUBFOLDER_OF_PROVIDERS OPENER IB_BUILT [PLAYED]      (TAP)

OPENER is a program that opens an adapter, twice. PLAYED is the provider ib over devices that a
test plays. The cases about devices are skipped where no user namespace can be made.
"""

import contextlib
import functools
import os
import shutil
import subprocess
import sys

from tool_runs import PATIENCE, Failed, Folder, Skipped, main, run

DEVICES = '/sys/class/infiniband'
# A file system of the test's own instead of /sys/class, with a class of devices in it; then the command.
NAMESPACE = ['unshare', '-Urm', 'sh', '-c',
             'mount -t tmpfs none /sys/class && mkdir ' + DEVICES + ' && for pair in $PAIRS; do '
             'mount --bind "${pair%%=*}" "${pair##*=}" || exit 99; done && exec "$@"', 'sh']
AARCH64 = 183


def plain(**more):
    kept = {name: value for name, value in os.environ.items() if not name.startswith('ITAPI_')}
    return {**kept, **more}


class Absent:
    """The cases; each is a method that raises Failed."""

    def __init__(self, build, library, subfolder, opener, ib_built):
        self.build, self.library, self.opener = (os.path.abspath(path) for path in (build, library, opener))
        self.subfolder = subfolder
        self.ib_built = ib_built == 'true'
        self.tools = os.path.join(build, 'tools')

    def info(self, name, *texts, without=(), **variables):
        """Looks up a name with it-info: the tool and the log of the library must print each of
        these texts exactly once."""
        said = run(self.tools, 'it-info', '-a', name, env=plain(**variables), cwd='/')
        said.expect(1, "it-info: there is no adapter named '%s'" % name, *texts)
        for text in texts:
            if said.err.count(text) != 1:
                raise Failed('%r is not there once: %s' % (text, said.err))
        for text in without:
            if text in said.err:
                raise Failed('%r is in: %s' % (text, said.err))
        return said

    def unknown(self):
        """For a name that resembles no other, the message lists the adapters, and suggests none."""
        self.info('nosuch', "'nosuch'; there are iwarp, ", without=('did you mean', 'provider'))
        self.info('', "''; there are iwarp, ", without=('did you mean',))
        self.info(':', "':'; there are ", without=('did you mean',))
        self.info('x' * 200, '; there are iwarp, ')

    def misspelt(self):
        self.info('iwrap', "; did you mean 'iwarp'?")
        self.info('emul:iba', "; did you mean 'emul:ib'?", '; the provider emul has emul:ib, emul:iwarp')
        self.info('emul', '; the provider emul has emul:ib, emul:iwarp, shm:ib, shm:iwarp;')
        self.info('ibb:mlx5_0', "; did you mean the provider 'ib'?")
        self.info('fualty:iwarp', "; did you mean the provider 'faulty'?")
        with Folder() as folder:
            file = folder.file('conf', b'[aliases]\nlaboratory = iwarp\n')
            self.info('labratory', "; did you mean 'laboratory'?", ITAPI_CONFIG=file)

    def path(self):
        self.info('/usr/lib/mine.so', '; a provider is not opened by its path: name its folder in ITAPI_PROVIDER_PATH')

    def for_tests(self):
        """For the name of an adapter with faults: the message says where that provider is, what it
        wraps, and why the adapter behind it is absent."""
        there = {'ITAPI_PROVIDER_PATH': os.path.join(self.build, 'conformance/bad/defects')}
        for name in ('faulty:iwarp', 'defect:none:iwarp', 'faulty', 'defect:', 'record:iwarp'):
            self.info(name, name.split(':')[0] + ': belongs to the provider defects',
                      'pkg-config --variable=defectsdir rnicpi')
        wraps = 'wraps adapters of emul, of iwarp, and of the objects that ITAPI_WRAPPED names'
        self.info('faulty:nosuch', wraps, **there)
        self.info('record:nosuch', wraps, **there)
        self.info('nosuch', '; there are iwarp, ', **there)
        self.info('faulty', wraps, **there)
        self.info('defect:nosuch:iwarp', wraps, 'defects-list', **there)
        said = self.info('faulty:ib:mlx5_0', wraps, '; the provider ib is not ', **there)
        if len(said.err) > 2000:
            raise Failed('a line of %d characters: %s' % (len(said.err), said.err))
        run(self.tools, 'it-info', '-a', 'faulty:iwarp', env=plain(**there)).expect(0)

    def log(self):
        """In a program that is not one of the tools, the library writes the message to its log,
        once; with the log off it is not written."""
        for variables, count in (({}, 1), ({'ITAPI_LOG': 'none'}, 0)):
            said = subprocess.run([self.opener, 'iwrap'], env=plain(**variables), stdin=subprocess.DEVNULL, capture_output=True,
                                  text=True, timeout=PATIENCE, check=False)
            if said.stdout != 'IT_ERR_INVALID_NAME\n' * 2:
                raise Failed('the statuses are %r' % said.stdout)
            if said.stderr.count("there is no adapter named 'iwrap'; did you mean 'iwarp'?") != count:
                raise Failed('the log is %r' % said.stderr)
        run(self.tools, 'it-info', '-a', 'iwrap', env=plain(ITAPI_LOG='none')).expect(
            1, "it-info: there is no adapter named 'iwrap'; did you mean 'iwarp'?")

    def no_devices(self):
        """The library finds the provider `ib` of the build folder, and the message names what that
        provider lacks."""
        if not self.ib_built:
            self.info('ib:mlx5_0', '; the provider ib is not part of this build')
            return
        if os.path.exists(DEVICES):
            raise Skipped('this machine has ' + DEVICES)
        self.info('ib:mlx5_0', '; the provider ib is not loaded, because there is no %s' % DEVICES)
        self.certify('ib:mlx5_0', '; the provider ib is not loaded, because there is no %s' % DEVICES)

    def certify(self, name, *texts):
        """it-certify prints the same text about a name, and finds its programs without a variable
        of the environment."""
        command = [os.path.join(self.build, 'conformance/judge/certify/it-certify'), '--adapter', name]
        said = subprocess.run(command, env=plain(), stdin=subprocess.DEVNULL, capture_output=True, text=True, cwd='/',
                              timeout=PATIENCE, check=False)
        for text in (*texts, 'NOT certified'):
            if text not in said.stdout:
                raise Failed('%r is not in: %s%s' % (text, said.stdout, said.stderr))

    def certify_runs(self):
        """it-certify finds its programs from any folder, all levels of them."""
        command = os.path.join(self.build, 'conformance/judge/certify/it-certify')
        for words, texts in ((['--list'], ['border.load.0001', 'verbs.']), (['--list', '--adapter', 'emul:ib'], ['\napi.dto.']),
                             (['--case', 'border.load.0001', '--case', 'api.ia.*', '--adapter', 'emul:ib'],
                              ['\nborder     passed          1      0', '\napi        passed '])):
            said = subprocess.run([command, *words], env=plain(), stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                  cwd='/', timeout=PATIENCE, check=False)
            if said.returncode != 0 or any(text not in '\n' + said.stdout for text in texts):
                raise Failed('it ended with %d: %s%s' % (said.returncode, said.stdout, said.stderr))
        self.certify('iwrap', "; did you mean 'iwarp'?")

    @contextlib.contextmanager
    def elsewhere(self, object_=None):
        """A copy of the library in a folder, with this provider `ib` beside it, or none. Yields the
        environment that uses it, and the folder."""
        with Folder() as place:
            shutil.copy(self.library, os.path.join(place.path, 'libitapi.so.2'))
            providers = os.path.join(place.path, self.subfolder)
            os.makedirs(providers)
            if object_ is not None:
                with open(os.path.join(providers, 'ib.so'), 'wb') as file:
                    file.write(object_)
            yield {'LD_LIBRARY_PATH': place.path}, providers

    def object(self):
        with open(os.path.join(self.build, 'vp/ib/ib.so'), 'rb') as file:
            return file.read()

    def not_installed(self):
        if not self.ib_built:
            raise Skipped('vp/ib is not built')
        with self.elsewhere() as (there, providers):
            self.info('ib:mlx5_0', '; the provider ib is not installed (on Debian it is the package itapi-ib); the library looks for '
                      'it in ' + providers, **there)

    def refused(self, change, *texts):
        """A shared object that cannot be loaded: the message gives the reason, and other adapters
        can still be opened."""
        if not self.ib_built:
            raise Skipped('vp/ib is not built')
        with self.elsewhere(change(self.object())) as (there, providers):
            said = run(self.tools, 'it-info', '-a', 'ib:mlx5_0', env=plain(**there))
            line = '; the provider ib was refused: %s/ib.so: ' % providers
            said.expect(1, "it-info: there is no adapter named 'ib:mlx5_0'" + line, *texts)
            run(self.tools, 'it-info', '-a', 'iwarp', env=plain(**there)).expect(0)

    def version(self, faulty):
        with open(os.path.join(self.build, 'rnicpi', 'provider-bad-major.so'), 'rb') as file:
            octets = file.read()
        self.refused(lambda _: octets, faulty)

    def devices(self, played):
        """Where the kernel has RDMA devices, the tools of the build folder list and open those that
        the provider finds."""
        if not self.ib_built:
            raise Skipped('vp/ib is not built')
        pairs = '%s=%s' % (os.path.abspath(played), os.path.join(self.build, 'vp/ib/ib.so')) if played else ''
        with Folder() as folder:
            os.makedirs(os.path.join(folder.path, 'infiniband/odd0'))
            os.makedirs(os.path.join(folder.path, 'verbs'))
            folder.file('verbs/abi_version', b'6\n')

            def inside(*command):
                return subprocess.run([*NAMESPACE, *command], env=plain(PAIRS=pairs), stdin=subprocess.DEVNULL, capture_output=True,
                                      text=True, cwd=folder.path, timeout=PATIENCE, check=False)
            probe = inside('true')
            if probe.returncode != 0:
                raise Skipped('no namespace with a class of devices can be made: ' + probe.stderr.strip())
            said = inside(os.path.join(self.tools, 'it-info'), '-a', 'ib:goood' if played else 'ib:mlx5_0')
            text = "; did you mean 'ib:good'?; the provider ib has ib:good, " if played else '; the provider ib '
            if said.returncode != 1 or text not in said.stderr or 'not loaded' in said.stderr or 'not installed' in said.stderr:
                raise Failed('it-info ended with %d: %s%s' % (said.returncode, said.stdout, said.stderr))
            said = inside(os.path.join(self.tools, 'it-info'), '-a', 'ib:good')
            if (said.returncode == 0) != bool(played):
                raise Failed('it-info ended with %d: %s%s' % (said.returncode, said.stdout, said.stderr))
            said = inside(os.path.join(self.build, 'conformance/judge/certify/it-certify'), '--adapter', 'ib:good', '--case', 'border.load.*')
            if 'verbs ' in said.stderr or ('1      0' in said.stdout) != bool(played):
                raise Failed('it-certify ended with %d: %s%s' % (said.returncode, said.stdout, said.stderr))


def damaged(octets, at, new):
    return octets[:at] + bytes([new]) + octets[at + 1:]


def needless(octets):
    return octets.replace(b'libibverbs.so.1\0', b'libibverbs.so.X\0')


def cases(build, library, subfolder, opener, ib_built, played=None):
    absent = Absent(build, library, subfolder, opener, ib_built)
    yield from (('unknown', absent.unknown), ('misspelt', absent.misspelt), ('path', absent.path), ('for-tests', absent.for_tests),
                ('log', absent.log), ('no-devices', absent.no_devices), ('certify', absent.certify_runs),
                ('not-installed', absent.not_installed))
    for name, change, text in (
            ('library', needless, 'libibverbs.so.X: cannot open shared object file'),
            ('machine', lambda octets: damaged(octets, 18, AARCH64), 'is for another kind of processor: ELF machine %d' % AARCH64),
            ('class', lambda octets: damaged(octets, 4, 1), 'wrong ELF class: ELFCLASS32'),
            ('short', lambda octets: octets[:3000], 'is cut short: it has 3000 octets, and needs at least '),
            ('empty', lambda octets: b'', 'file too short'),
            ('text', lambda octets: b'no object' * 100, 'invalid ELF header')):
        yield 'refused-' + name, functools.partial(absent.refused, change, text)
    yield 'refused-version', functools.partial(absent.version, 'made for version 2 of the provider interface')
    yield 'devices', functools.partial(absent.devices, None)
    if played:
        yield 'devices-played', functools.partial(absent.devices, played)


if __name__ == '__main__':
    sys.exit(main([('/tools/absent/' + name, case) for name, case in cases(*sys.argv[1:])]))
