#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""it-run: what it refuses and why, what the program inherits, and the list of devices.

Usage: test_run.py TOOLS DOOR      (TAP)
"""

import contextlib
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

# pylint: disable=wrong-import-position
from door_programs import Door  # noqa: E402
from tool_runs import PATIENCE, Done, Failed, Folder, Skipped, main  # noqa: E402

TOOLS, DOOR = (os.path.realpath(path) for path in sys.argv[1:3])
RUN = os.path.join(TOOLS, 'it-run')
NOBODY = 65534
# Offsets in the header of an ELF file of 64 bits.
CLASS, DATA, MACHINE, PROGRAM_HEADERS, PROGRAM_HEADER_COUNT = 4, 5, 18, 32, 56
PT_NULL, PT_INTERP = 0, 3


def plain(**more):
    """An environment in which no variable of ours is set, except those of `more`."""
    return Door(TOOLS, DOOR).environment(**more)


def it_run(*words, env=None, **keywords):
    keywords.setdefault('stdin', subprocess.DEVNULL)
    done = subprocess.run([RUN, *words], env=env if env is not None else plain(), capture_output=True, text=True,
                          check=False, timeout=PATIENCE, **keywords)
    return Done(done.returncode, done.stdout, done.stderr)


def need(condition, what):
    if not condition:
        raise Failed(what)


def refused(words, *texts, status=1, **keywords):
    """it-run ends with this status, and prints one line of its own, which contains all these texts."""
    done = it_run(*words, **keywords).expect(status)
    said = [line for line in done.err.splitlines() if line.startswith('it-run: ')]
    need(len(said) == 1 and (done.out == '' or '--json' in words), 'not one sentence: %r' % done.err)
    for text in texts:
        need(text in said[0], '%r does not say %r' % (said[0], text))


# --- programs ----------------------------------------------------------------------------------------------


class Image:
    """A copy of a program of the system, whose header a test changes."""

    def __init__(self, folder, name, source='/bin/true'):
        self.path = os.path.join(folder.path, name)
        shutil.copy(source, self.path)
        with open(self.path, 'rb') as file:
            self.octets = bytearray(file.read())

    def change(self, at, value):
        self.octets[at:at + len(value)] = value

    def linker(self):
        """Where its program header of the dynamic linker is, and the name that it gives."""
        at = struct.unpack_from('<Q', self.octets, PROGRAM_HEADERS)[0]
        for _ in range(struct.unpack_from('<H', self.octets, PROGRAM_HEADER_COUNT)[0]):
            kind, _, offset, _, _, length = struct.unpack_from('<IIQQQQ', self.octets, at)
            if kind == PT_INTERP:
                return at, offset, length
            at += 56
        raise Failed('/bin/true has no dynamic linker')

    def done(self):
        with open(self.path, 'wb') as file:
            file.write(self.octets)
        os.chmod(self.path, 0o755)
        return self.path


def need_image():
    with open('/bin/true', 'rb') as file:
        head = file.read(6)
    if head[:6] != b'\x7fELF\x02\x01':
        raise Skipped('the programs of this machine are not of 64 bits, least significant octet first')


def linked_statically(folder, name='static'):
    image = Image(folder, name)
    image.change(image.linker()[0], struct.pack('<I', PT_NULL))
    return image.done()


def no_program():
    refused(['no-such-program'], "no folder of PATH has a program 'no-such-program'")
    refused(['./no-such-program'], "'./no-such-program' cannot be run: No such file")
    with Folder() as folder:
        refused([folder.path], 'is a folder')
        refused([folder.file('text', b'text')], 'may not be executed')


def image_of_another_kind():
    need_image()
    with Folder() as folder:
        refused([linked_statically(folder)], 'is linked statically')
        image = Image(folder, 'narrow')
        image.change(CLASS, b'\x01')
        refused([image.done()], 'is a program of 32 bits')
        image = Image(folder, 'foreign')
        image.change(MACHINE, struct.pack('<H', 0x1234))
        refused([image.done()], 'another kind of processor')
        image = Image(folder, 'reversed')
        image.change(DATA, b'\x02')
        refused([image.done()], 'another kind of processor')


def image_of_another_library():
    need_image()
    with Folder() as folder:
        image = Image(folder, 'musl')
        _, offset, length = image.linker()
        image.change(offset, b'/lib/ld-musl.so.1'.ljust(length, b'\0'))
        refused([image.done()], 'another C library', '/lib/ld-musl.so.1')


def damaged_image():
    """Values of a program's header are not trusted: it is cut at several places, or has wild
    numbers."""
    need_image()
    with Folder() as folder:
        for length in (5, 16, 63, 64, 100):
            image = Image(folder, 'cut')
            del image.octets[length:]
            refused([image.done()], 'is a damaged program')
        for at, value in ((PROGRAM_HEADERS, b'\xff' * 8), (PROGRAM_HEADER_COUNT, b'\xff\xff')):
            image = Image(folder, 'wild')
            image.change(at, value)
            refused([image.done()], 'is a damaged program')
        image = Image(folder, 'endless')
        at = image.linker()[0]
        for member in (8, 32):      # the offset and the length of the linker's name
            image = Image(folder, 'endless')
            image.change(at + member, b'\xff' * 8)
            refused([image.done()], 'is a damaged program')


def script(folder, name, first, rest=b''):
    path = folder.file(name, first + b'\n' + rest)
    os.chmod(path, 0o755)
    return path


def scripts():
    need_image()
    with Folder() as folder:
        static = linked_statically(folder)
        name = static.encode()
        refused([script(folder, 'one', b'#!' + name)], "the script '", 'is linked statically')
        refused([script(folder, 'two', b'#! ' + os.path.join(folder.path, 'one').encode() + b' -x')], 'is linked statically')
        refused([script(folder, 'three', b'#!/usr/bin/env -S A=b static')], 'is linked statically',
                env=plain(PATH=folder.path + ':' + os.environ['PATH']))
        # What is no business of it-run is left to the kernel.
        good = script(folder, 'good', b'#!/bin/sh', b'echo "$0 $1"')
        need(it_run(good, 'word').expect(0).out == good + ' word\n', 'a script does not run')
        textual = script(folder, 'textual', b'echo "$1"; exit 3')
        need(it_run(textual, 'word').expect(3).out == 'word\n', 'a script without an interpreter does not run')
        refused([script(folder, 'nowhere', b'#!/no/such/interpreter')], 'cannot be run: No such file')
        loop = os.path.join(folder.path, 'loop').encode()
        refused([script(folder, 'loop', b'#!' + loop)], 'cannot be run')


def program_with_rights():
    """As an ordinary user: set-uid and set-gid programs, programs with capabilities, and a script
    whose interpreter is one are refused."""
    if os.geteuid() != 0:
        raise Skipped('only root can make programs with more rights than their caller')
    nobody = {'user': NOBODY, 'group': NOBODY, 'extra_groups': []}
    with Folder() as folder:
        os.chmod(folder.path, 0o755)
        image = Image(folder, 'rights', source='/bin/echo').done()
        try:
            os.chmod(image, 0o4755)
            if subprocess.run([RUN, '--version'], env=plain(), capture_output=True, check=False, **nobody).returncode != 0:
                raise Skipped('nobody may not run it-run here')
        except (OSError, subprocess.SubprocessError) as error:
            raise Skipped('nobody cannot be made here: %s' % error) from error
        if os.statvfs(folder.path).f_flag & os.ST_NOSUID:
            raise Skipped('the folder for tests ignores set-uid')
        refused([image], 'is set-uid', **nobody)
        refused([script(folder, 'script', b'#!' + image.encode())], "the script '", 'is set-uid', **nobody)
        it_run(image, 'word').expect(0, 'word')
        os.chmod(image, 0o2755)
        refused([image], 'is set-gid', **nobody)
        os.chmod(image, 0o755)
        it_run(image, 'word', **nobody).expect(0, 'word')
        # Revision 2 of the format: the right to open raw sockets, permitted and effective.
        os.setxattr(image, 'security.capability', struct.pack('<IIIII', 0x02000001, 1 << 13, 0, 0, 0))
        refused([image], 'has capabilities of its file', **nobody)
        it_run(image, 'word').expect(0, 'word')
        # Without new privileges Linux ignores such rights.
        done = subprocess.run(['setpriv', '--no-new-privs', RUN, image, 'word'], env=plain(), capture_output=True,
                              text=True, check=False, timeout=PATIENCE, **nobody)
        need(done.returncode == 0 and done.stdout == 'word\n', 'without new privileges: %r' % done.stderr)


# --- adapters --------------------------------------------------------------------------------------------------


def no_adapter():
    refused(['-a', 'iwrap', 'true'], "no adapter named 'iwrap'", "did you mean 'iwarp'?")
    refused(['-a', 'emul:ib', '-a', 'emul:bi', 'true'], "'emul:bi'", "did you mean 'emul:ib'?")
    refused(['--list', '-a', 'iwrap'], "did you mean 'iwarp'?")
    refused(['true'], 'there is no adapter that a program could use', env=plain(ITAPI_VERBS_DEVICES='nothing'))


def command_line():
    for words, said in (([], 'which program?'), (['-a', 'a,b', 'true'], "'a,b' is not the name"), (['-a', '', 'true'], 'is not the name'),
                        (['--fault', 'help', 'true'], "begins with 'faulty:'"),
                        (['-a', 'emul:ib', '--fault', 'help', 'true'], "begins with 'faulty:'"),
                        (['--list', 'true'], "'true' is too much"), (['--json', 'true'], '--json is for --list'),
                        (['--no-such-option'], 'Unknown option')):
        refused(words, said, status=2)
    refused(['-a', 'faulty:emul:ib', '--fault', 'call cq_create 1 resource', 'true'], "did you mean 'resources'?", status=2)


def order_of_devices():
    done = it_run('-a', 'emul:iwarp', '-a', 'emul', 'ibv_devices').expect(0)
    need(re.findall(r'\bit_\w+', done.out) == ['it_emul_iwarp', 'it_emul_ib'], done.out)
    done = it_run('ibv_devices', env=plain(ITAPI_VERBS_DEVICES='emul:ib')).expect(0)
    need(re.findall(r'\bit_\w+', done.out) == ['it_emul_ib'], done.out)


def list_of_devices():
    """--list shows the devices that a program sees, in its order and with its numbers; its plain
    output is a table."""
    for words in ([], ['-a', 'emul:iwarp', '-a', 'iwarp', '-a', 'emul']):
        told = it_run(*words, '--list', '--json').expect(0).json()['devices']
        seen = re.findall(r'\b(it_\w+)\s+([0-9a-f]{16})', it_run(*words, 'ibv_devices').expect(0).out)
        need(told and [(row['name'], row['guid']) for row in told] == seen, '%r is not %r' % (told, seen))
        rows = [line.split(None, 4) for line in it_run(*words, '--list').expect(0).out.splitlines()]
        need(rows[0] == ['DEVICE', 'ADAPTER', 'TRANSPORT', 'PORT', 'ADDRESSES'], rows[0])
        need(rows[1:] == [[row['name'], row['adapter'], row['transport'], row['port'], ' '.join(row['addresses'])]
                          for row in told], '%r is not %r' % (rows, told))


def list_of_what_cannot_be_opened():
    """An adapter that fails when it is opened is listed with the reason."""
    done = it_run('--list', '-a', 'emul:ib', '-a', 'defect:profile-nameless:emul:ib').expect(1)
    lines = done.out.splitlines()
    need(len(lines) == 3 and 'it_emul_ib' in lines[1] and "cannot open the adapter 'defect:profile-nameless:" in lines[2], lines)
    told = it_run('--list', '--json', '-a', 'defect:profile-nameless:emul:ib').expect(1).json()
    need(not told['ok'] and 'cannot open' in told['devices'][0]['error'], told)


# --- what the program inherits ------------------------------------------------------------------------------------


def environment():
    """LD_PRELOAD gets one more element, ITAPI_VERBS_DEVICES is set, and no other variable of the
    caller changes."""
    with Folder() as folder:
        other = folder.file('other.so')
        shutil.copy(DOOR, other)
        for old, new in (('', DOOR), (other, DOOR + ':' + other), (DOOR, DOOR), (DOOR + ' ' + other, DOOR + ' ' + other)):
            env = {**plain(ITAPI_LOG='none', TEXT='a b'), 'LD_PRELOAD': old}
            words = [sys.executable, '-c', 'import os; print(sorted(os.environ.items()))']
            inside = dict(eval(it_run('-a', 'emul:ib', *words, env=env).expect(0).out))    # pylint: disable=eval-used
            need(inside == {**env, 'LD_PRELOAD': new, 'ITAPI_VERBS_DEVICES': 'emul:ib'}, inside)


def wrappers():
    """The folder of the provider of faults comes before the caller's folders."""
    inside = it_run('-a', 'faulty:emul:ib', '--fault', 'call cq_create 9 busy', 'sh', '-c',
                    'echo "$ITAPI_PROVIDER_PATH $ITAPI_FAULTY"', env=plain(ITAPI_PROVIDER_PATH='/nowhere', ITAPI_LOG='none'))
    need(re.fullmatch(r'/\S*/defects:/nowhere call cq_create 9 busy\n', inside.expect(0).out), inside.out)


def words_of_the_program():
    """Options after the name of the program belong to the program, and its arguments are passed
    unchanged."""
    show = [sys.executable, '-c', 'import sys; print(sys.argv[1:])']
    for words in (['-a', '--list', '', '--', 'a b', '-h'], ['--'], []):
        need(it_run('--', *show, *words).expect(0).out == '%s\n' % words, words)
        need(it_run(*show, *words).expect(0).out == '%s\n' % words, words)


def exit_status():
    for status in (0, 1, 2, 125, 255):
        it_run('sh', '-c', 'exit %d' % status).expect(status)


def signals():
    """it-run becomes the program, so signals end it in the same way, and it inherits the caller's
    signal dispositions."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGKILL):
        with subprocess.Popen([RUN, 'sh', '-c', 'echo $$; exec sleep 600'], env=plain(), stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, text=True) as process:
            need(process.stdout.readline() == '%d\n' % process.pid, 'another process')
            process.send_signal(number)
            need(process.wait(PATIENCE) == -number, 'it does not end of the signal')
    show = 'grep SigIgn /proc/self/status'
    for ignored in ([], [signal.SIGINT, signal.SIGPIPE, signal.SIGTERM, signal.SIGXFSZ, signal.SIGHUP]):
        mask = sum(1 << (number - 1) for number in ignored)

        def ignore(ignored=ignored):
            for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
                signal.signal(number, signal.SIG_IGN if number in ignored else signal.SIG_DFL)

        done = it_run('sh', '-c', show, preexec_fn=ignore, restore_signals=False).expect(0)
        need(int(done.out.split()[1], 16) == mask, '%s instead of %x' % (done.out, mask))


def descriptors():
    """Standard descriptors that the caller has closed are closed in the program; all others are
    unchanged."""
    show = 'import os; print(sorted(int(fd) for fd in os.listdir("/proc/self/fd"))[:-1])'
    with Folder() as folder:
        for closed in ('', '<&-', '2>&-', '<&- 2>&-'):
            out = os.path.join(folder.path, 'out')
            words = ['sh', '-c', '"$@" %s 5>/dev/null >"$OUT"' % closed, 'sh']
            program = [sys.executable, '-S', '-c', show]
            seen = []
            for before in ([], [RUN]):
                subprocess.run([*words, *before, *program], env=plain(OUT=out), check=True, timeout=PATIENCE,
                               stdin=subprocess.DEVNULL)
                with open(out, encoding='utf-8') as file:
                    seen.append(file.read())
            need(seen[0] == seen[1], '%s: %s' % (closed, seen))


def memory_of_faults():
    """A fault that a command injects takes effect in the program. it-run opens the adapter only to
    check the commands, and uses up none."""
    need_image()
    program = [sys.executable, '-c', 'import ctypes; d = ctypes.CDLL("libibverbs.so.1", use_errno=True); n = ctypes.c_int();'
               'd.ibv_get_device_list.restype = ctypes.POINTER(ctypes.c_void_p); d.ibv_open_device.restype = ctypes.c_void_p;'
               'd.ibv_alloc_pd.restype = ctypes.c_void_p; c = d.ibv_open_device(ctypes.c_void_p('
               'd.ibv_get_device_list(ctypes.byref(n))[0]));'
               'print([bool(d.ibv_alloc_pd(ctypes.c_void_p(c))) for _ in range(3)])']
    done = it_run('-a', 'faulty:emul:ib', '--fault', 'call pd_create 2 resources', *program, env=plain(ITAPI_LOG='none'))
    need(done.expect(0).out == '[True, False, True]\n', done.out)


# --- where the door is -----------------------------------------------------------------------------------------------


@contextlib.contextmanager
def copy_of_it_run():
    """it-run alone in a folder; yields its path and an environment in which it finds its library."""
    with tempfile.TemporaryDirectory(prefix='test-run-') as path:
        copy = os.path.join(path, 'it-run')
        shutil.copy(RUN, copy)
        library = os.path.join(os.path.dirname(TOOLS), 'itapi')
        yield copy, plain(LD_LIBRARY_PATH=library)


def place_of_the_door():
    with copy_of_it_run() as (copy, env):
        def run(*words):
            done = subprocess.run([copy, *words], env=env, capture_output=True, text=True, check=False, timeout=PATIENCE,
                                  stdin=subprocess.DEVNULL)
            return Done(done.returncode, done.stdout, done.stderr)

        run('true').expect(1, 'libitapi-verbs.so is neither beside it-run nor')
        beside = os.path.join(os.path.dirname(copy), 'libitapi-verbs.so')
        shutil.copy(DOOR, beside)
        need(run('sh', '-c', 'echo ${LD_PRELOAD%%:*}').expect(0).out == beside + '\n', 'another door')
        run('-a', 'faulty:emul:ib', 'true').expect(1, "the provider of 'faulty:emul:ib' is not installed")
        with open(beside, 'w', encoding='utf-8') as file:
            file.write('no object')
        run('true').expect(1, 'the door cannot be loaded: ')


CASES = [
    ('/run/no-program', no_program),
    ('/run/program/kind', image_of_another_kind),
    ('/run/program/library', image_of_another_library),
    ('/run/program/damaged', damaged_image),
    ('/run/program/script', scripts),
    ('/run/program/rights', program_with_rights),
    ('/run/no-adapter', no_adapter),
    ('/run/command-line', command_line),
    ('/run/devices/order', order_of_devices),
    ('/run/devices/list', list_of_devices),
    ('/run/devices/list/refused', list_of_what_cannot_be_opened),
    ('/run/inherits/environment', environment),
    ('/run/inherits/wrappers', wrappers),
    ('/run/inherits/words', words_of_the_program),
    ('/run/inherits/exit-status', exit_status),
    ('/run/inherits/signals', signals),
    ('/run/inherits/descriptors', descriptors),
    ('/run/faults', memory_of_faults),
    ('/run/door', place_of_the_door),
]

if __name__ == '__main__':
    sys.exit(main(CASES))
