#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""it-sim with programs that end well, that fail, and that never end (TAP).

Usage: test_sim.py IT_SIM APP PUT KV WRONG SLOTS TESTER FIXED PING TEST CP CALLS UPGRADE DIFFERENTIAL [SEEDS]      SEEDS: how many of the long sweeps
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', 'dev', 'tests'))

# pylint: disable=wrong-import-position
import tree_case  # noqa: E402

IT_SIM, APP, PUT, KV, WRONG, SLOTS, TESTER, FIXED, PING, TEST, CP, CALLS, UPGRADE, DIFFERENTIAL = map(os.path.abspath, sys.argv[1:15])
SEEDS = int(sys.argv[15]) if len(sys.argv) > 15 else 25
TWINS = max(SEEDS, 100)     # of each program that is right where its twin is wrong
LONG = SEEDS > 100
PATIENCE = 500      # s

KV_SCENE = f"""
node server {KV} ADAPTER 7471 daemon
node writer {KV} ADAPTER 7471 @server put colour blue at 2ms
node reader {KV} ADAPTER 7471 @server get colour after writer
node adder {KV} ADAPTER 7471 @server count 5 at 1ms..3ms
expect output reader blue
"""
PUT_SCENE = f"""
node server {PUT} ADAPTER 7471
node client {PUT} ADAPTER 7471 @server hello at 1ms
expect output server 'received: hello'
"""


class Sim(unittest.TestCase):
    maxDiff = None

    def run_sim(self, scene, *options, way=()):
        with tempfile.TemporaryDirectory(prefix='itapi-sim.') as folder:
            path = os.path.join(folder, 'scene.sim')
            with open(path, 'w', encoding='utf-8') as file:
                file.write(scene)
            # A run that ends in the middle leaves its files.
            return subprocess.run([*way, IT_SIM, path, *options], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                  env={**os.environ, 'TMPDIR': folder}, timeout=PATIENCE, check=False)

    def result(self, scene, *options):
        done = self.run_sim(scene, '--json', *options)
        self.assertIn(done.returncode, (0, 1), done.stderr)
        return json.loads(done.stdout)

    def app(self, words, *options, more=''):
        return self.result(f'node a {APP} {words}\n{more}', *options)

    def assert_good(self, result):
        self.assertEqual(result['failures'], [])
        self.assertTrue(result['ok'])

    def assert_bad(self, result, kind, *words):
        self.assertFalse(result['ok'])
        kinds = [failure['kind'] for failure in result['failures']]
        self.assertEqual(kinds, [kind])
        for word in words:
            self.assertIn(word, result['failures'][0]['text'])

    # --- programs of IT-API

    def sweep(self, scene, adapter):
        result = self.result(scene.replace('ADAPTER', adapter), '--seeds', f'1..{SEEDS}', '--twice', '-j', '2')
        self.assert_good(result)
        self.assertEqual(result['seeds'], SEEDS)
        return result['hash']

    def test_put_ib(self):
        self.sweep(PUT_SCENE, 'emul:ib')

    def test_put_iwarp(self):
        self.sweep(PUT_SCENE, 'emul:iwarp')

    def test_kv_ib(self):
        self.sweep(KV_SCENE, 'emul:ib')

    def test_kv_iwarp(self):
        self.sweep(KV_SCENE, 'emul:iwarp')

    def test_same_hash(self):
        """Another process, other jobs: the same runs."""
        scene = KV_SCENE.replace('ADAPTER', 'emul:ib')
        one = self.result(scene, '--seeds', '1..20')
        other = self.result(scene, '--seeds', '1..20', '-j3')
        self.assertEqual(one['hash'], other['hash'])
        self.assertNotEqual(one['hash'], self.result(scene, '--seeds', '2..21')['hash'])

    def test_same_elsewhere(self):
        """Runs are the same on one processor, without an environment, in the namespaces of a
        container and, in the long test, under valgrind."""
        scene = KV_SCENE.replace('ADAPTER', 'emul:ib') + 'chaos legal\nwire 50us\n'
        hashes = [self.result(scene, '--seeds', '1..5')['hash']]
        ways = [['taskset', '-c', '0'], ['env', '-i'], ['unshare', '-Urpf', '--mount-proc']]
        for way in ways + ([['valgrind', '-q', '--error-exitcode=99']] if LONG else []):
            # What the machine or the build cannot start says nothing about the runs.
            if subprocess.run([*way, IT_SIM, '--version'], capture_output=True, check=False).returncode == 0:
                done = self.run_sim(scene, '--json', '--seeds', '1..5', way=way)
                self.assertEqual(done.returncode, 0, f'{way[0]}: {done.stderr}')
                hashes.append(json.loads(done.stdout)['hash'])
        self.assertGreaterEqual(len(hashes), 3)
        self.assertEqual(len(set(hashes)), 1)

    def test_trace(self):
        scene = KV_SCENE.replace('ADAPTER', 'emul:iwarp')
        traces = [self.run_sim(scene, '--seed', seed, '--trace').stdout for seed in ('7', '7', '8')]
        self.assertEqual(traces[0], traces[1])
        self.assertNotEqual(traces[0], traces[2])
        self.assertIn('reader: blue', traces[0])
        self.assertIn('script: start writer', traces[0])
        # Steps are no output of nodes: none satisfies an expectation.
        self.assertNotRegex(traces[0], r'(?m)^\w+: +\d+\.\d+ ms')
        step = re.search(r'(?m)^\d+\.\d+ ms  reader  .*$', traces[0])[0]
        more = f"{scene}expect output reader '{step}'\n"
        self.assertIn('did not write', self.run_sim(more, '--seed', '7', '--trace').stdout)

    def test_both_orders(self):
        """With no order between them, the get comes first in some seeds."""
        result = self.result(f'node server {KV} emul:ib 7471 daemon\n'
                             f'node writer {KV} emul:ib 7471 @server put colour blue at 1ms\n'
                             f'node reader {KV} emul:ib 7471 @server get colour at 1ms\n', '--seeds', '1..60')
        self.assert_bad(result, 'reader ended with 1; expected 0: kv: no such key')
        self.assertGreater(result['good'], 5)
        self.assertLess(result['good'], 55)

    def test_killed_peer(self):
        result = self.result(f'node server {KV} emul:iwarp 7471 daemon\n'
                             f'node writer {KV} emul:iwarp 7471 @server put colour blue at 1ms\n'
                             'kill server at 1ms..1002us\nexpect exit writer any\n', '--seeds', '1..60', '--twice')
        self.assert_good(result)

    def test_restarted_server(self):
        scene = (f'node server {KV} emul:ib 7471 daemon\n'
                 f'node writer {KV} emul:ib 7471 @server put colour blue at 1ms\n'
                 'restart server at 5ms\n'
                 f'node reader {KV} emul:ib 7471 @server get colour at 9ms\n')
        result = self.result(scene, '--seeds', '1..20', '--twice')
        self.assert_bad(result, 'reader ended with 1; expected 0: kv: no such key')     # the new life has an empty store
        self.assertEqual(result['good'], 0)
        self.assert_good(self.result(scene + 'expect exit reader 1\n', '--seeds', '1..20'))

    def test_fault(self):
        scene = PUT_SCENE.replace('ADAPTER', 'emul:iwarp')
        result = self.result(scene + 'client: call qp_create 1 resources\nexpect exit server any\nuntil 1s\n')
        self.assertFalse(result['ok'])
        self.assertTrue(any('IT_ERR_RESOURCES' in one['kind'] or one['kind'] == 'time is up' or 'deadlock' == one['kind']
                            for one in result['failures']), result)

    def test_fault_at_a_time(self):
        result = self.result(f'node a {PUT} emul:ib 7471\na: fail adapter at 3ms\nexpect exit a 1\n', '--seeds', '1..20', '--twice')
        self.assert_good(result)

    def test_real_adapters(self):
        for name in ('iwarp', 'iwarp:lo', 'ib:mlx5_0'):
            self.assert_good(self.app(f'open {name}', '--seed', '1', more='expect exit a 4\nexpect output a IT_ERR_INVALID_NAME\n'))
            said = self.run_sim(f'node a {APP} open {name}\n', '--seed', '1').stderr
            self.assertIn(f"the adapter '{name}' is one of the real machine; in a simulation there are emul:ib and emul:iwarp", said)
        said = self.run_sim(f'node a {APP} open shm:ib\n', '--seed', '1').stderr
        self.assertIn("the adapter 'shm:ib' reaches other processes, and a simulation is one", said)
        self.assert_good(self.app('open shm:iwarp', '--seed', '1', more='expect exit a 4\nexpect output a IT_ERR_INVALID_NAME\n'))
        self.assert_good(self.app('open emul:ib', '--seed', '1'))

    def test_legal_kv(self):
        for adapter in ('emul:ib', 'emul:iwarp'):
            self.sweep(KV_SCENE + 'chaos legal\n', adapter)

    def test_legal_put(self):
        self.sweep(PUT_SCENE + 'wire 2ms\nchaos legal\n', 'emul:iwarp')

    def test_wire_takes_time(self):
        """With `wire 900ms` messages take time, so the run ends later in virtual time."""
        scene = PUT_SCENE.replace('ADAPTER', 'emul:ib')
        times = [self.run_sim(scene + more, '--seed', '1').stdout.splitlines()[-1] for more in ('', 'wire 900ms\n')]
        ends = [float(line.split(' steps, ')[1].split(' ms')[0]) for line in times]
        self.assertLess(ends[0], 2)
        self.assertGreater(ends[1], 50)

    # --- paths

    def paths(self, adapter, *lines, seeds='1..20' if LONG else '1..5'):
        return self.result(KV_SCENE.replace('ADAPTER', adapter) + '\n'.join([*lines, 'until 200s', '']), '--seeds', seeds, '--twice', '-j', '2')

    def end_of(self, adapter, *lines):
        """The virtual time, in ms, at which the run of the first seed ends."""
        said = self.run_sim(KV_SCENE.replace('ADAPTER', adapter) + '\n'.join([*lines, 'until 200s', '']), '--seed', '1').stdout
        return float(re.search(r' steps, ([0-9.]+) ms', said)[1])

    def test_path_is_whole_again(self):
        for adapter in ('emul:ib', 'emul:iwarp'):
            for line in ('cut server writer for 50ms at 1ms', 'hold server writer for 50ms at 2100us', 'delay server writer 50ms..60ms',
                         'cut server writer for 400ms at 2050us..2300us'):
                self.assert_good(self.paths(adapter, line))
            self.assertGreater(self.end_of(adapter, 'cut server writer for 50ms at 1ms'), 51)
            self.assertGreater(self.end_of(adapter, 'hold server writer at 1ms', 'heal server writer at 700ms'), 700)
            self.assertGreater(self.end_of(adapter, 'hold server writer at 1ms', 'heal at 900ms'), 900)
            self.assertGreater(self.end_of(adapter, 'delay server writer 100ms..101ms'), 200)
            self.assertLess(self.end_of(adapter, 'delay server writer 100ms..101ms', 'heal at 1ms'), 100)

    def test_path_is_cut(self):
        """A connection request, and later a message, is repeated as often as the protocol demands;
        then its program gets an event."""
        for adapter, when, least, most in (
                ('emul:ib', 'at 1ms', 500, 600), ('emul:ib', 'inside message 1 of writer', 500, 600),
                ('emul:iwarp', 'at 1ms', 20000, 20100),         # less than that of TCP: the patience of the program
                ('emul:iwarp', 'inside message 1 of writer', 60000, 60100)):
            more = (f'cut server writer {when}', 'expect exit writer 1', 'expect exit reader any')
            said = self.run_sim(KV_SCENE.replace('ADAPTER', adapter).replace('expect output reader blue', '') +
                                '\n'.join([*more, 'until 200s', '']), '--seed', '1')
            self.assertEqual(said.returncode, 0, said.stdout + said.stderr)
            end = float(re.search(r' steps, ([0-9.]+) ms', said.stdout)[1])
            self.assertTrue(least < end < most, f'{adapter} {when}: {end}')

    def test_path_of_others(self):
        """A cut between two nodes does not affect their paths to other nodes."""
        self.assertLess(self.end_of('emul:ib', 'cut writer reader'), 20)

    def test_hold_for_ever(self):
        result = self.result(f'node server {WRONG} emul:ib 7471 reuse right\n'
                             f'node client {WRONG} emul:ib 7471 reuse right @server at 1ms\nhold server client inside message 1 of client\n', '--seeds', '1..5')
        self.assert_bad(result, 'deadlock', 'server waits in', 'client waits in')

    def test_cut_and_held(self):
        """A message that is held back is not retransmitted. So a path that is cut, held and cut
        again breaks no sooner than one cut breaks it."""
        scene = (f'node server {SLOTS} emul:ib 7471\nnode client {SLOTS} emul:ib 7471 @server colour ultramarine at 1ms\n'
                 'cut server client inside message 1 of client\nhold server client at 300ms\ncut server client at 600ms\nheal at 900ms\n')
        self.assert_good(self.result(scene, '--seeds', '1..3'))
        broken = self.result(scene.replace('hold server client at 300ms\n', ''), '--seed', '1')
        self.assertFalse(broken['ok'])

    def test_inside_a_message(self):
        """The client dies when a part of its Write is placed; the rest never is."""
        for adapter in ('emul:ib', 'emul:iwarp'):
            scene = (f'node server {SLOTS} {adapter} 7471 daemon\nnode client {SLOTS} {adapter} 7471 @server colour ultramarine at 1ms\n'
                     'kill client inside message 1\n')
            for seed in ('1', '2', '3'):
                trace = self.run_sim(scene, '--seed', seed, '--trace').stdout
                parts = re.findall(r'octets (\d+) to (\d+) of a Write of 64 arrive', trace)
                placed = sum(int(end) - int(begin) for begin, end in parts)
                self.assertTrue(0 < placed < 64, trace)
                self.assertIn('script: kill client', trace)
            whole = self.run_sim(scene.replace('inside message', 'at message'), '--seed', '1', '--trace').stdout
            self.assertEqual(sum(int(end) - int(begin) for begin, end in re.findall(r'octets (\d+) to (\d+) of a Write', whole)), 64)
            self.assertIn('script: kill client', whole)

    def test_restart_inside_a_message(self):
        """After a restart, no thread of the node's former life runs."""
        result = self.paths('emul:ib', 'restart server inside message 1..3 of writer', 'expect exit writer any', 'expect exit adder any', seeds='1..20')
        self.assertTrue(all('no such key' in failure['text'] for failure in result['failures']), result['failures'])

    def test_progress(self):
        """"expect progress" reports a node that does not recover after the cut."""
        def scene(how):
            return (f'node server {WRONG} emul:ib 7471 broken {how} daemon\nnode client {WRONG} emul:ib 7471 broken {how} @server at 1ms\n'
                    'chaos legal\nkill server at 5ms\nheal at 10ms\nexpect progress 5s\nexpect exit client any\n')
        self.assert_bad(self.result(scene('wrong'), '--seeds', '1..5'), 'no progress after all is healed', 'after all is healed, at 10.0',
                        'client waits in')
        self.assert_good(self.result(scene('right'), '--seeds', '1..5'))
        slow = f'node a {APP} lives wait\nexpect progress 5s\n'
        self.assert_bad(self.result(slow, '--seed', '1'), 'no progress after all is healed', 'a waits in sleep')
        self.assert_good(self.result(slow.replace('5s', '20s'), '--seed', '1'))
        self.assert_good(self.result(slow + 'pause a 1s at 8s\n', '--seed', '1'))      # that is still to come

    # --- shrinking

    def test_shrink(self):
        more = [f'delay server writer {i}ns..{i}us at {i}us\nslow writer {i} at 2{i + 10}us' for i in range(1, 15)]
        scene = (KV_SCENE.replace('ADAPTER', 'emul:ib') + '\n'.join(more) + '\nrestart server at 4ms..5ms\npause reader 9ms at 1ms\n')
        failure = self.result(scene, '--seed', '2')['failures'][0]
        shrunk = self.run_sim(scene, '--seed', '2', '--shrink')
        self.assertEqual(shrunk.returncode, 1, shrunk.stderr)
        self.assertIn('# 2 of 30 statements are left', shrunk.stdout)
        self.assertRegex(shrunk.stdout, r'\nrestart server at 4\d{6}ns\npause reader 9000000ns at 1000000ns\n')
        again = self.result(shrunk.stdout, '--seed', '2')['failures'][0]
        self.assertEqual(again['kind'], failure['kind'])
        good = self.run_sim(KV_SCENE.replace('ADAPTER', 'emul:ib'), '--seed', '1', '--shrink')
        self.assertEqual((good.returncode, good.stdout), (0, ''))

    def test_shrink_words(self):
        """--shrink prints each statement in the form in which it was read."""
        scene = (f'node a {APP} exit "two words"\nnode b {APP} sleep\ncut a b for 2ms at 1ms..9ms\nhold a b at 5ms\ndelay a b 1us..2us\n'
                 'drop a b 30\nheal a b at 9ms\nheal at 9ms\nkill b after a\nslow b 3\npause b 1ms at 1ms\nb: fail qp 1 at 2ms\n'
                 'restart b inside message 2..4 of a\nexpect exit b any\nexpect output a "it is"\nexpect reached there\nchaos legal\n'
                 'expect progress 7s\n')
        shrunk = self.run_sim(scene, '--seed', '3', '--shrink').stdout
        self.assertIn("# 0 of 11 statements are left", shrunk)
        self.assertIn("exit 'two words' at 0ns\nexpect output a 'it is'\n", shrunk)

    def test_shrink_inside(self):
        """A statement inside a message stays one."""
        scene = (f'node server {SLOTS} emul:ib 7471 daemon\nnode client {SLOTS} emul:ib 7471 @server colour ultramarine at 1ms\n'
                 'kill client inside message 1\nslow server 2\nexpect exit client 0\n')
        shrunk = self.run_sim(scene, '--seed', '1', '--shrink')
        self.assertIn('kill client inside message 1 of client\n', shrunk.stdout)
        self.assertIn('# 1 of 2 statements', shrunk.stdout)

    # --- a program that tests

    def test_tester(self):
        scene = KV_SCENE.replace('ADAPTER', 'emul:ib') + f'node tester {TESTER} ROUNDS\nheal\nuntil 200s\n'
        good = scene.replace('ROUNDS', '3') + 'expect reached "one in four"\n'
        self.assert_good(self.result(good, '--seeds', '1..20', '--twice'))
        self.assertIn('script: cut server writer', self.run_sim(good, '--seed', '1', '--trace').stdout)
        self.assert_bad(self.result(scene.replace('ROUNDS', '4'), '--seed', '1'), "tester: 'at most three cuts' does not hold")
        self.assert_bad(self.result(scene.replace('ROUNDS', '0 fail'), '--seeds', '1..3'), 'tester: that is enough')
        self.assert_bad(self.result(scene.replace('ROUNDS', '0') + 'expect reached nowhere\n', '--seeds', '1..3'), "no seed reached 'nowhere'")
        for words, why in (('dance', 'not a statement that a tester can make'), ('kill nobody', 'no node of that name'),
                           ('kill server at message 1', 'no statement about messages')):
            said = self.run_sim(scene.replace('ROUNDS', f'0 "{words}"'), '--seed', '1')
            self.assertIn('tester: -1', said.stdout)
            self.assertIn(why, said.stderr)
        said = self.run_sim(f'node tester {TESTER} 0 "cut tester other"\nnode other {APP} sleep\n', '--seed', '1')
        self.assertIn('no statement about paths', said.stderr)

    # --- wrong programs, and their twins

    def wrong(self, name, adapter, kind, more='', start='at 1ms', clients=1):
        def scene(how):
            lines = [f'node server {WRONG} {adapter} 7471 {name} {how}' + (' daemon' if 'kill' in more else '')]
            lines += [f'node client{i} {WRONG} {adapter} 7471 {name} {how} @server {start}' for i in range(clients)]
            return '\n'.join([*lines, 'chaos legal', more, ''])
        found = self.result(scene('wrong'), '--seeds', '1..100' if LONG else '1..20', '-j', '2')
        self.assertFalse(found['ok'], f'{name} on {adapter}')
        self.assertTrue(any(kind in failure['text'] for failure in found['failures']), found['failures'])
        self.assert_good(self.result(scene('right'), '--seeds', f'1..{TWINS}', '-j', '2'))

    def test_wrong_octet(self):
        for adapter in ('emul:ib', 'emul:iwarp'):
            self.wrong('octet', adapter, 'is not the one that was written')

    def test_wrong_reuse(self):
        for adapter in ('emul:ib', 'emul:iwarp'):
            self.wrong('reuse', adapter, 'is not the one that was written')

    def test_wrong_free(self):
        for adapter in ('emul:ib', 'emul:iwarp'):
            self.wrong('free', adapter, 'ended with 1')

    def test_wrong_two(self):
        for adapter in ('emul:ib', 'emul:iwarp'):
            self.wrong('two', adapter, 'is not the one that was written')

    def test_wrong_arrived(self):
        """Over InfiniBand the completion says that the data have arrived, so this program is
        correct there."""
        self.wrong('arrived', 'emul:iwarp', 'is not the one that was written')
        scene = (f'node server {WRONG} emul:ib 7471 arrived wrong\nnode client {WRONG} emul:ib 7471 arrived wrong @server at 1ms\n'
                 'chaos legal\n')
        self.assert_good(self.result(scene, '--seeds', '1..50'))

    def test_wrong_broken(self):
        self.wrong('broken', 'emul:ib', 'deadlock', more='kill server at 5ms')

    def test_wrong_reject(self):
        self.wrong('reject', 'emul:iwarp', 'deadlock')

    def test_wrong_early(self):
        self.wrong('early', 'emul:ib', 'not connected', start='')

    def test_wrong_count(self):
        self.wrong('count', 'emul:ib', 'an addition is lost', clients=2)

    def test_wrong_patience(self):
        self.wrong('patience', 'emul:ib', 'IT_ERR_TIMEOUT_EXPIRED')

    def test_wrong_lock(self):
        self.wrong('lock', 'emul:ib', 'an addition is lost', clients=2)

    def test_wrong_credit(self):
        """A Send waits up to a second for a receive. So the mistake has an effect only if the
        program is stopped at the wrong time."""
        for adapter in ('emul:ib', 'emul:iwarp'):
            self.wrong('credit', adapter, 'ended with 1', more='pause server 2s at 1ms..1500us')

    def test_wrong_flushed(self):
        """Over iWARP a Write completes before it arrives, so that only a message of the peer shows
        that it has."""
        self.wrong('flushed', 'emul:ib', 'is not the one that was written')

    def test_wrong_revoke(self):
        for adapter in ('emul:ib', 'emul:iwarp'):
            self.wrong('revoke', adapter, 'ended with 1')

    def test_wrong_silent(self):
        for adapter in ('emul:ib', 'emul:iwarp'):
            self.wrong('silent', adapter, 'is not the one that was written')

    def test_wrong_reply(self):
        self.wrong('reply', 'emul:ib', 'the Send is not complete')

    def test_wrong_guess(self):
        for adapter in ('emul:ib', 'emul:iwarp'):
            self.wrong('guess', adapter, 'ended with')

    def test_wrong_wakeup(self):
        self.wrong('wakeup', 'emul:ib', 'server, thread 1, waits in pthread_cond_wait')

    def test_page(self):
        """The sweeps that doc/simulation.md shows give the hashes of that page on every machine.
        The quick tests include the one with the most steps."""
        def scene(program, more=''):
            return (f'node server {program} emul:ib 7471\nnode client {program} emul:ib 7471 @server colour ultramarine at 1ms\n'
                    f'expect output server "colour = ultramarine"\n{more}')
        root = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', '..')
        with open(os.path.join(root, 'doc', 'simulation.md'), encoding='utf-8') as file:
            shown = re.findall(r'^ +(200 seeds, .*)$', file.read(), re.MULTILINE)
        said = [self.run_sim(scene(program, more), '--seeds', '1..200', '-j', '2').stdout.splitlines()[0]
                for program, more in ((SLOTS, 'chaos legal\n'), (SLOTS, ''), (FIXED, 'chaos legal\n'))[:3 if LONG else 1]]
        self.assertEqual([shown[1], shown[0], shown[2]][:len(said)], said)
        trace = self.run_sim(scene(SLOTS, 'chaos legal\n'), '--seed', '1', '--trace').stdout
        self.assertRegex(trace, r'octets \d+ to 64 of a Write of 64 arrive')

    # --- tools

    def is_never_blamed(self, program, server, client):
        """One of our tools runs on both sides, while the adapter uses every freedom of the
        specification: it must pass with every seed."""
        for adapter in ('emul:ib', 'emul:iwarp'):
            scene = (f'node server {program} -a {adapter} -p 7471 {server}\nnode client {program} -a {adapter} -p 7471 {client} at 1ms\n'
                     'chaos legal\nwire 20us\n')
            self.assert_good(self.result(scene, '--seeds', f'1..{TWINS}', '-j', '2'))

    def test_tool_ping(self):
        self.is_never_blamed(PING, '', '-C 3 @server')
        result = self.result(f'node server {PING} -a emul:ib -p 7471\nnode client {PING} -a emul:ib -p 7471 -C 3 @server at 1ms\n'
                             'kill server at 1010us\n', '--seeds', '1..3')
        self.assertEqual(result['good'], 0)

    def test_tool_test(self):
        self.is_never_blamed(TEST, '', '-C 2 @server client SR 500 2 server SR 100 client RW 3000 client RR 3000')

    def test_tool_cp(self):
        """All seeds write into one folder; each copy gets its final name only when it is complete."""
        octets = bytes(range(256)) * 200
        with tempfile.TemporaryDirectory(prefix='it-sim.') as folder:
            with open(f'{folder}/source', 'wb') as file:
                file.write(octets)
            for adapter in ('emul:ib', 'emul:iwarp'):
                scene = (f'node server {CP} -q -a {adapter} -p 7471 -s {folder}\n'
                         f'node client {CP} -q -a {adapter} -p 7471 {folder}/source 127.77.0.1:copy at 1ms\nchaos legal\nwire 20us\n')
                self.assert_good(self.result(scene, '--seeds', f'1..{min(SEEDS, 2000)}', '-j', '2'))
                with open(f'{folder}/copy', 'rb') as file:
                    self.assertEqual(file.read(), octets)
                os.unlink(f'{folder}/copy')

    def test_calls(self):
        """The examples of the reference pages, both sides in one node."""
        for adapter in ('emul:ib', 'emul:iwarp'):
            scene = f'node one {CALLS} {adapter}\nchaos legal\n'
            self.assert_good(self.result(scene, '--seeds', f'1..{TWINS}', '-j', '2'))
            # A callback runs on the thread of the adapters, which is of no node.
            self.assertIn('\nadapters: IT_SOFTWARE_EVENT\n', self.run_sim(scene, '--seed', '1', '--trace').stdout)

    def test_differential(self):
        """Random programs agree with the model in whatever order the threads run."""
        for adapter in ('emul:ib', 'emul:iwarp'):
            for kind in ('', '--wide', '--changes', '--watermarks', '--privileged', '--threads 2'):
                scene = f'node one {DIFFERENTIAL} --adapter {adapter} {kind} --count 4\nchaos legal\n'
                self.assert_good(self.result(scene, '--seeds', f'1..{max(5, SEEDS // 50)}', '-j', '2'))

    def test_absent(self):
        """The programs that doc/simulation.md names as unable to run as nodes fail with the reason
        that it gives."""
        self.assert_bad(self.result(f'node one {DIFFERENTIAL} --adapter emul:ib --faults --count 1\n', '--seeds', '1..2'),
                        'one calls socket()')
        self.assert_bad(self.result(f'node server {UPGRADE} emul:iwarp server\nnode client {UPGRADE} emul:iwarp client 32768 hello at 1ms\n',
                                    '--seeds', '1..2'), 'deadlock', 'Connection refused')

    # --- the C library

    def test_sleep(self):
        self.assert_good(self.app('sleep', '--seeds', '1..10', '--twice'))

    def test_timer(self):
        self.assert_good(self.app('timer', '--seeds', '1..20', '--twice'))

    def test_wait(self):
        self.assert_good(self.app('wait', '--seeds', '1..50', '--twice'))

    def test_threads(self):
        self.assert_good(self.app('threads', '--seeds', '1..50', '--twice'))

    def test_random(self):
        said = [self.run_sim(f'node a {APP} random\nnode b {APP} random\n', '--seed', seed).stdout for seed in ('1', '1', '2')]
        self.assertEqual(said[0], said[1])
        # Each of two calls, of each node, draws what no other does, with any seed.
        lines = re.findall('(?m)^[ab]: ([0-9a-f]{16}) ([0-9a-f]{16})$', said[0] + said[2])
        self.assertEqual((len(lines), len({number for line in lines for number in line})), (4, 8))

    def test_lost_update(self):
        result = self.app('add', '--seeds', '1..100')
        self.assert_bad(result, 'a ended with 1; expected 0: total: 1 instead of 2')
        self.assert_good(self.app('add locked', '--seeds', '1..100'))

    def test_lock_order(self):
        result = self.app('both', '--seeds', '1..100')
        self.assert_bad(result, 'deadlock', 'a, thread 2, waits in pthread_mutex_lock for thread 3 of a',
                        'a, thread 1, waits in pthread_join for thread 2')
        self.assertGreater(result['good'], 0)
        self.assert_good(self.app('both ordered', '--seeds', '1..100'))

    def test_write(self):
        self.assert_good(self.app('write', '--seed', '1', more="expect output a 'past stdio'\n"))

    # --- nodes

    def test_statics(self):
        """Each node, and each life of a node, has its own static variables."""
        self.assert_good(self.result(f'node a {APP} lives\nnode b {APP} lives\nexpect output a "life 1"\nexpect output b "life 1"\n'))
        said = self.run_sim(f'node a {APP} lives wait\nrestart a at 2s\n', '--seed', '1').stdout
        self.assertEqual(said.count('a: life 1'), 2, said)

    def test_pause_and_slow(self):
        said = self.run_sim(f'node a {APP} write\npause a 5s at 0s\n', '--seed', '1', '--trace').stdout
        self.assertIn('5000.000', said)
        quick = self.run_sim(f'node a {APP} threads\n', '--seed', '1').stdout
        slow = self.run_sim(f'node a {APP} threads\nslow a 1000\n', '--seed', '1').stdout
        self.assertNotEqual(quick.splitlines()[-1], slow.splitlines()[-1])

    def test_deadlock(self):
        self.assert_bad(self.result(f'node server {PUT} emul:ib 7471\n'), 'deadlock', 'server waits in it_evd_wait')

    def test_no_progress(self):
        self.assert_bad(self.app('vain emul:ib', '--seed', '1'), 'no progress', 'a polls in it_evd_dequeue')

    def test_time_is_up(self):
        self.assert_bad(self.app('lives wait', '--seed', '1', more='until 5s\n'), 'time is up', 'a waits in sleep')

    def test_ends(self):
        self.assert_bad(self.app('exit', '--seed', '1'), 'a ended with 3; expected 0')
        self.assert_good(self.app('exit', '--seed', '1', more='expect exit a 3\n'))
        self.assert_good(self.app('exit', '--seed', '1', more='expect exit a any\n'))
        self.assert_bad(self.app('abort', '--seed', '1'), 'a aborts', 'that is too much')
        self.assert_bad(self.app('assert', '--seed', '1'), "a: assertion 'never == 1' failed", 'sim_app.c:')
        self.assert_bad(self.app('crash', '--seed', '1'), 'crash in a: Segmentation fault')
        self.assert_bad(self.app('datagrams', '--seed', '1'), 'a calls socket()', 'does not simulate')
        self.assert_bad(self.app('fork', '--seed', '1'), 'a calls fork()')
        self.assert_bad(self.app('write', '--seed', '1', more='expect output a nothing\n'), "a did not write 'nothing'")

    def test_twice(self):
        """--twice reports a program that uses a value that differs between two runs."""
        self.assert_good(self.app('pid', '--seeds', '1..10'))
        self.assert_bad(self.app('pid', '--seeds', '1..10', '--twice'), 'two runs of one seed differ')

    # --- results

    def test_exit_status(self):
        self.assertEqual(self.run_sim(f'node a {APP} exit\n', '--seed', '1').returncode, 1)
        self.assertEqual(self.run_sim(f'node a {APP} write\n', '--seed', '1').returncode, 0)
        self.assertEqual(self.run_sim(f'node a {APP} write\n', '--seed', 'x').returncode, 2)

    def test_report(self):
        said = self.run_sim(f'node a {APP} add\n', '--seeds', '1..50').stdout
        self.assertRegex(said, r'50 seeds, \d+ good, \d+ bad, hash [0-9a-f]{16}\n')
        self.assertRegex(said, r'it-sim \S+scene\.sim --seed \d+ --trace\n')

    def test_seed_of_report(self):
        """The seed that a report names fails when it runs alone, and the seeds before it do not
        fail."""
        failure = self.app('add', '--seeds', '1..50')['failures'][0]
        seed = failure['seed']
        self.assertFalse(self.app('add', '--seed', str(seed))['ok'])
        if seed > 1:
            self.assertTrue(self.app('add', '--seeds', f'1..{seed - 1}')['ok'])
        self.assertTrue(failure['command'].endswith(f'--seed {seed} --trace'))

    def test_junit(self):
        with tempfile.TemporaryDirectory(prefix='itapi-sim.') as folder:
            path = os.path.join(folder, 'result.xml')
            self.run_sim(f'node a {APP} add\n', '--seeds', '1..50', '--junit', path)
            suite = xml.etree.ElementTree.parse(path).getroot()
            self.assertEqual((suite.get('tests'), suite.get('failures')), ('1', '1'))
            self.assertIn('--trace', suite[0][0].text)
            bad = self.app('add', '--seeds', '1..50')['failures'][0]
            self.assertIn(f'seed {bad["seed"]}, and {bad["count"] - 1} more\n', suite[0][0].text)
            self.run_sim(f'node a {APP} write\n', '--junit', path)
            suite = xml.etree.ElementTree.parse(path).getroot()
            self.assertEqual((suite.get('tests'), suite.get('failures')), ('1', '0'))

    # --- scenarios that are wrong

    def test_mistakes(self):
        node = f'node a {APP} write\n'
        for scene, line, words in (
                ('', None, 'at least one node'),
                ('nod a x.so\n', 1, 'unknown statement'),
                (node + '\0kill a\n', None, 'is zero'),
                ('node a\n', 1, 'wanted: node NAME PROGRAM'),
                ('node 1a x.so\n', 1, 'invalid name of a node'),
                (node + node, 2, 'a second node of that name'),
                (node + 'kill b\n', 2, 'no node of that name'),
                (node + 'kill a at noon\n', 2, 'no time'),
                (node + 'kill a at 3ms..1ms\n', 2, 'no time'),
                (node + 'kill a at 100000000s\n', 2, 'no time'),
                (node + 'pause a\n', 2, 'too few'),
                (node + 'slow a 0\n', 2, 'no factor'),
                (node + 'a:\n', 2, 'wanted: NODE: COMMAND'),
                (node + 'b: fail qp 1\n', 2, 'no node of that name'),
                (node + 'expect exit a 256\n', 2, 'expected an exit status'),
                (node + 'expect a 0\n', 2, 'wanted: expect'),
                (node + 'until 0s\n', 2, 'wanted: until'),
                (node + 'wire 1ns\n', 2, 'wanted: wire'),
                (node + 'chaos total\n', 2, 'wanted: chaos legal'),
                (node + 'cut a\n', 2, 'which two nodes?'),
                (node + 'cut a a\n', 2, 'no path to itself'),
                (node + 'cut a b\n', 2, 'no node of that name'),
                (node + node.replace('a', 'b', 1) + 'cut a b long\n', 3, 'perhaps for TIME'),
                (node + node.replace('a', 'b', 1) + 'cut a b for noon\n', 3, 'perhaps for TIME'),
                (node + node.replace('a', 'b', 1) + 'delay a b 5\n', 3, 'wanted: delay A B'),
                (node + node.replace('a', 'b', 1) + 'drop a b 101\n', 3, 'wanted: drop A B'),
                (node + node.replace('a', 'b', 1) + 'heal a\n', 3, 'which two nodes?'),
                (node + 'kill a at message 0\n', 2, 'expected the number of a message'),
                (node + 'kill a inside message 3..1\n', 2, 'expected the number of a message'),
                (node + 'kill a at message 1 of b\n', 2, 'no node of that name'),
                (node + 'node b x.so at message 1 of a\n', 2, 'begins at a time'),
                (node + 'expect progress soon\n', 2, 'wanted: expect progress TIME'),
                (node + 'kill "a\n', 2, 'matching quote'),
                (f'node a {APP} @b\n', 1, 'no node of that name')):
            done = self.run_sim(scene)
            self.assertEqual(done.returncode, 2, scene)
            self.assertIn(words, done.stderr, scene)
            if line is not None:
                self.assertIn(f'scene.sim:{line}: ', done.stderr, scene)

    def test_no_scenario(self):
        done = subprocess.run([IT_SIM, '/nowhere/x.sim'], capture_output=True, text=True, check=False, env={**os.environ, 'LC_ALL': 'C'})
        self.assertEqual(done.returncode, 2)
        self.assertTrue(done.stderr.startswith('it-sim: /nowhere/x.sim: No such file or directory\n'), done.stderr)

    def test_no_program(self):
        for program, words in {'/nowhere/x.so': 'node a: its program /nowhere/x.so: No such file', '/': 'is not a regular file'}.items():
            done = self.run_sim(f'node a {program}\n', '--seed', '1')
            self.assertEqual(done.returncode, 2)
            self.assertIn(words, done.stderr)
        self.assert_bad(self.result('node a /etc/hostname\n', '--seed', '1'), 'no program', 'compile it with cc -shared -fPIC')

    def test_options(self):
        node = f'node a {APP} write\n'
        for options, words in ((('--seeds', '5..1'), '--seeds'), (('--seed', '1', '--seeds', '1..2'), 'not both'), (('-j', '0'), '--jobs'),
                               (('--trace',), '--trace is for one'), (('--patience', '0'), '--patience'), (('--shrink',), '--shrink is for one'), (('two', 'three'), 'too much')):
            done = self.run_sim(node, *options)
            self.assertEqual(done.returncode, 2, options)
            self.assertIn(words, done.stderr)


if __name__ == '__main__':
    tree_case.main()
