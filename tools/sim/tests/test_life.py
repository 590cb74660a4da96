#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""Nodes of it-sim that begin and end as processes do: constructors, destructors, files, streams (TAP).

Usage: test_life.py IT_SIM LIFE CXX      CXX: "-" where there is no C++
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', 'dev', 'tests'))

# pylint: disable=wrong-import-position
import tree_case  # noqa: E402

IT_SIM, LIFE = map(os.path.abspath, sys.argv[1:3])
CXX = sys.argv[3] if sys.argv[3] == '-' else os.path.abspath(sys.argv[3])
PATIENCE = 120      # s


class Life(unittest.TestCase):
    maxDiff = None

    def run_sim(self, scene, *options):
        with tempfile.TemporaryDirectory(prefix='itapi-sim.') as folder:
            path = os.path.join(folder, 'scene.sim')
            with open(path, 'w', encoding='utf-8') as file:
                file.write(scene)
            done = subprocess.run([IT_SIM, path, *options], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                  env={**os.environ, 'TMPDIR': folder}, timeout=PATIENCE, check=False)
            # What a node has not written out is in no file, also when the run has ended.
            self.left = {name: os.path.getsize(os.path.join(folder, name)) for name in os.listdir(folder)}
            return done

    def said(self, scene, *options):
        """The output lines of the nodes for one seed, which must be good."""
        done = self.run_sim(scene, *(options or ('--seed', '1')))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout.splitlines()[:-1]

    def good(self, scene):
        done = self.run_sim(scene, '--seeds', '1..8', '--twice', '--json')
        self.assertEqual(json.loads(done.stdout)['failures'], [], scene)

    def test_constructors(self):
        """Constructors run in the node: their clocks, threads and random numbers are those of the
        seed."""
        scene = f'node a {LIFE} constructed\nnode b {LIFE} constructed\n'
        said = self.said(scene)
        self.assertEqual(said, self.said(scene))
        for node in ('a', 'b'):
            for line in ('began at 946684800', 'one passes the barrier', 'waited 1 s', 'destructor'):
                self.assertIn(f'{node}: {line}', said)
        self.assertNotEqual(*(next(line for line in said if line.startswith(f'{node}: drew'))[3:] for node in ('a', 'b')))
        self.good(scene)

    def test_ends(self):
        """At the end of threads and programs, handlers and destructors run in the order of the C
        library."""
        self.assertEqual(self.said(f'node a {LIFE} threads-end\n'),
                         ['a: value one is gone', 'a: value two is gone', 'a: handler', 'a: destructor'])
        self.assertEqual(self.said(f'node a {LIFE} leaves\n'), ['a: handler', 'a: destructor'])

    def test_files(self):
        """A program writes out what it has buffered when it ends, and not when it is killed."""
        self.good(f'node a {LIFE} file-left\nnode b {LIFE} file-read after a\nexpect output b left\n')
        self.good(f'node a {LIFE} file-lost\nnode b {LIFE} file-read after a\nkill a at 1ms\nexpect output b nothing\n')
        self.assertEqual(self.left['life.txt'], 0)

    def test_streams(self):
        self.good(f'node a {LIFE} half\nrestart a at 500us\nexpect output a "half a line"\n')
        self.assertEqual(self.said(f'node a {LIFE} closed\n'), ['a: closed', 'a: destructor'])

    # --- calls

    def test_polls(self):
        """A thread that polls memory and a clock sees what other threads write, before its
        deadline."""
        self.good(f'node a {LIFE} clock-spin\nexpect output a "in time"\n')
        self.good(f'node a {LIFE} full-counter\nexpect output a "counted 100"\n')

    def test_timers(self):
        """A timerfd ends when it is closed, and with its node."""
        self.assertEqual(self.said(f'node a {LIFE} timer-closed\n')[0], 'a: the same number, 0 octets')
        done = self.run_sim(f'node a {LIFE} timer-left\nnode b {LIFE} for-ever\nkill a at 5ms\n', '--seed', '1')
        self.assertIn('deadlock', done.stdout)

    def test_locks(self):
        self.good(f'node a {LIFE} own-lock\nexpect output a "its own"\n')
        self.good(f'node a {LIFE} reused-cond\nexpect output a "after a second"\nuntil 2s\n')
        self.good(f'node a {LIFE} futex-bits\nexpect output a "nobody wakes"\nexpect output a "wakes 1"\n')

    def test_woken(self):
        """The seed decides which waiter is woken, and no more waiters are woken than the call says."""
        firsts = set()
        for seed in range(1, 13):
            said = self.said(f'node a {LIFE} one-of-two\n', '--seed', str(seed))
            firsts.add(next(line for line in said if line.endswith('is first')))
            self.assertEqual([line for line in said if 'first' not in line], ['a: 1 woken', 'a: 2 woken', 'a: joined once', 'a: destructor'])
        self.assertEqual(len(firsts), 2)
        self.good(f'node a {LIFE} futex-one\nexpect output a "wakes 1 and 1"\n')
        self.good(f'node a {LIFE} timer-set\nexpect output a "early nothing, late something, again nothing"\n')

    def test_statements(self):
        """"pause" and "slow" last as long as they say, and "expect progress" counts from the right
        moment."""
        self.good(f'node a {LIFE} beats\nexpect progress 3s\n')
        done = self.run_sim(f'node a {LIFE} beats\npause a 5s at 2500ms\nexpect progress 4s\n', '--seed', '1')
        self.assertEqual(done.returncode, 0, done.stdout)       # a node that is paused makes no progress
        times = [float(re.search(r', ([0-9.]+) ms, hash', self.run_sim(f'node a {LIFE} rests\nslow a {factor}\n', '--seed', '1').stdout)[1])
                 for factor in (1, 1000000)]
        self.assertGreater(times[1], times[0] + 1000)

    def test_own(self):
        """getopt's position and the working folder belong to a node, and are reset when it
        restarts."""
        lines = ['-a 1', '-b alone', 'then rest']
        said = self.said(f'node a {LIFE} options -a 1 -b rest\nnode b {LIFE} options -a 1 -b rest\nrestart b at 10ms\n')
        for node, times in (('a', 1), ('b', 2)):
            self.assertEqual([line[3:] for line in said if line.startswith(f'{node}: ') and 'destr' not in line], lines * times)
        with tempfile.TemporaryDirectory(prefix='itapi-sim.') as folder:
            shutil.copy(LIFE, os.path.join(folder, 'life.so'))
            with open(os.path.join(folder, 'scene.sim'), 'w', encoding='utf-8') as file:
                file.write('node a ./life.so folder\nnode b ./life.so folder\nrestart a at 1500us\n')
            done = subprocess.run([IT_SIM, 'scene.sim', '--seed', '1'], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True,
                                  text=True, timeout=PATIENCE, check=False)
        said = sorted(line for line in done.stdout.splitlines() if 'from' in line)
        self.assertEqual(said, ['a: from there to /'] * 2 + ['b: from there to /'], done.stdout)

    @unittest.skipIf(CXX == '-', 'there is no C++')
    def test_cxx(self):
        """Static objects and streams in C++ are those of a node."""
        scene = f'node a {CXX}\nnode b {CXX}\n'
        said = self.said(scene)
        self.assertEqual(said, self.said(scene))
        for node in ('a', 'b'):
            lines = [line for line in said if line.startswith(f'{node}: ')]
            self.assertEqual([line[3:] for line in lines if 'drew' not in line],
                             ['a word, and 1 words', 'the object of a thread ends', 'the static object ends'])
        self.good(f'{scene}expect output b "a word, and 1 words"\n')

    @unittest.skipIf(CXX == '-', 'there is no C++')
    def test_plugin(self):
        """The destructors of a shared object run when it is unloaded, not after its code is gone."""
        said = self.said(f'node a {CXX} {CXX}\n')
        self.assertEqual(said[-3:], ['a: the static object ends', 'a: unloaded', 'a: the static object ends'])

    # --- texts

    def test_reports(self):
        """With any octets in the output of a node, reports are valid XML and JSON, and safe text for terminals."""
        for text in ('\033[31mred\001', 'r\xff\xfe\x80', 'x' + '\u00e4' * 200, 'xx' + '\u00e4' * 200):
            words = text.encode('latin-1' if text.isascii() or text[1] == '\xff' else 'utf-8')
            with tempfile.TemporaryDirectory(prefix='itapi-sim.') as folder:
                scene, report = os.path.join(folder, 'scene.sim'), os.path.join(folder, 'report.xml')
                with open(scene, 'wb') as file:
                    file.write(b'node a %s noisy "%s"\n' % (LIFE.encode(), words))
                done = subprocess.run([IT_SIM, scene, '--seeds', '1..2', '--json', '--junit', report], stdin=subprocess.DEVNULL,
                                      capture_output=True, timeout=PATIENCE, check=False)
                self.assertEqual(json.loads(done.stdout.decode())['failures'][0]['count'], 2)
                self.assertIn('a ended with 1', xml.etree.ElementTree.parse(report).find('.//failure').text)

    def test_scenarios(self):
        """A scenario may have a byte order mark and CRLF; a file that is not a scenario is refused,
        and the message has its name."""
        self.assertEqual(self.said(f'\ufeffnode a {LIFE} own-lock\r\nexpect exit a 0\r\n')[0], 'a: its own')
        done = self.run_sim(f'node a {LIFE} own-lock\nslow a 2.5\n')
        self.assertEqual((done.returncode, '2.5' in done.stderr), (2, True), done.stderr)
        for path, words in (('/', 'Is a directory'), ('/dev/zero', 'more than 1048576 octets'), ('/nowhere', 'No such file')):
            done = subprocess.run([IT_SIM, path], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                  env={**os.environ, 'LC_ALL': 'C'}, timeout=PATIENCE, check=False)
            self.assertEqual((done.returncode, words in done.stderr), (2, True), done.stderr)

    def test_nothing_is_left(self):
        """A run that crashes leaves no file, and faults reach adapters whatever the length of TMPDIR."""
        with tempfile.TemporaryDirectory(prefix='itapi-sim.') as folder:
            deep = os.path.join(folder, 'x' * 100)
            os.mkdir(deep)
            scene = os.path.join(folder, 'scene.sim')
            with open(scene, 'w', encoding='utf-8') as file:
                file.write(f'node a {LIFE} crash at 1ms\nnode b {LIFE} own-lock\ncut a b at 1us\n')
            done = subprocess.run([IT_SIM, scene, '--seeds', '1..3', '--json'], stdin=subprocess.DEVNULL, capture_output=True,
                                  text=True, env={**os.environ, 'TMPDIR': deep}, timeout=PATIENCE, check=False)
            self.assertEqual([failure['kind'] for failure in json.loads(done.stdout)['failures']], ['crash in a: Segmentation fault'])
            self.assertEqual(os.listdir(deep), [])


if __name__ == '__main__':
    tree_case.main()
