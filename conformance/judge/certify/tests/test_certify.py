#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""Tests of it-certify: which cases a fault of a provider makes fail, how they are reported, the
forms of the report, and the suite's own tables.

Usage: test_certify.py CERTIFY BAD SOURCE PROGRAM...      (TAP)

BAD is the emulated provider with one fault, which the variable CERT_BAD names (bad.c). PROGRAM... are the programs that
it-certify starts; in a build folder they lie in several folders.
"""

import html.parser
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

CERTIFY, BAD, SOURCE = sys.argv[1:4]
PROGRAMS = sys.argv[4:]
HERE = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(HERE, '../../../../tools/dev/tests'))

import program_folder  # noqa: E402  pylint: disable=wrong-import-position
import tree_case  # noqa: E402  pylint: disable=wrong-import-position

FOLDER = tempfile.mkdtemp(prefix='itapi-certify.')
PATIENCE = 600   # s
ROOM = ['--patience=100', '--limit=300']   # on a machine that is busy; what a test gives itself counts
FIRST, SECOND = 'verbs.first.0001', 'verbs.first.0002'
ADAPTERS = ['emul:ib', 'emul:iwarp', 'iwarp']


def programs():
    """Returns the path of a folder with all programs, like that of an installation."""
    path = os.path.join(FOLDER, 'programs')
    return path if os.path.exists(path) else program_folder.make(path, PROGRAMS)


def run(*arguments, fault=None, expect=0, more=None):
    environment = {name: value for name, value in os.environ.items() if not name.startswith('ITAPI_')}
    environment.update(more or {})
    if fault is not None:
        environment['CERT_BAD'] = fault
    done = subprocess.run([CERTIFY, f'--programs={programs()}', *ROOM, *arguments], env=environment, text=True, check=False,
                          stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE)
    if done.returncode != expect:
        raise AssertionError(f'{arguments}: status {done.returncode}\n{done.stdout}\n{done.stderr}')
    return done


def report(*arguments, fault=None, expect=0, more=None):
    """Runs it-certify and returns its report as a dictionary."""
    path = os.path.join(FOLDER, 'report.json')
    if os.path.exists(path):
        os.remove(path)
    run('--silent', '--seed=1', f'--json={path}', *arguments, fault=fault, expect=expect, more=more)
    with open(path, encoding='utf-8') as file:
        return json.load(file)


def first_cases(fault, *arguments):
    """Returns the report on the provider with a fault, which must not be certified."""
    return report(f'--provider={BAD}', '--adapter=emul:ib', '--case=verbs.first.*', *arguments, fault=fault, expect=1)


def case(found, name):
    return next(one for one in found['cases'] if one['id'] == name)


class Providers(unittest.TestCase):
    """The tree's adapters pass; with a fault, the cases that meet it fail and name it."""

    def test_adapters(self):
        for adapter in ADAPTERS:
            with self.subTest(adapter):
                found = report(f'--adapter={adapter}', '--case=border.load.*', '--case=border.unused.*')
                self.assertTrue(found['certified'])
                self.assertEqual(found['scope'], 'part')
                self.assertEqual(found['facts']['adapter'], adapter)
                self.assertEqual([level['verdict'] for level in found['levels']], ['passed'] + ['not run'] * 5)

    def test_no_fault(self):
        found = report(f'--provider={BAD}', '--case=verbs.first.*')
        self.assertEqual(found['facts']['provider'], 'bad')
        self.assertEqual(found['facts']['object'], os.path.basename(BAD))
        self.assertRegex(found['facts']['sha256'], '^[0-9a-f]{64}$')

    def test_crash(self):
        found = first_cases('crash')
        self.assertEqual(case(found, FIRST)['outcome'], 'failed')
        self.assertIn('signal 6', case(found, FIRST)['seen'])
        self.assertEqual(case(found, SECOND)['outcome'], 'passed')

    def test_hang(self):
        found = first_cases('hang', '--limit=30')
        self.assertIn('was ended', case(found, FIRST)['seen'])
        self.assertEqual(case(found, SECOND)['outcome'], 'passed')

    def test_odd_status(self):
        found = first_cases('odd')
        self.assertEqual([one['outcome'] for one in found['cases']], ['failed'] * 2)
        self.assertIn('99', case(found, FIRST)['seen'])
        self.assertEqual(case(found, FIRST)['expected'], 'RI_SUCCESS')

    def test_names(self):
        """A value of the interface is reported by its name."""
        found = first_cases('misnamed')
        self.assertEqual((case(found, FIRST)['expected'], case(found, FIRST)['seen']), ('== RI_OP_RECV (11)', 'RI_OP_SEND (1)'))

    def test_upcall_in_verb(self):
        found = first_cases('loud')
        self.assertIn('RI 2.1.3', case(found, FIRST)['expected'])

    def test_timer_left(self):
        found = first_cases('leaving')
        self.assertEqual(case(found, FIRST)['seen'], 'a started timer')

    def test_descriptors_grow(self):
        found = report(f'--provider={BAD}', '--adapter=emul:ib', '--case=endurance.keys.*', '--duration=0.1', '--patience=5',
                       fault='growing', expect=1)
        self.assertIn('files', found['cases'][0]['what'])

    def test_figures(self):
        found = report('--adapter=emul:ib', '--case=figures.latency.*')
        sizes = [point['x'] for point in found['figures']]
        self.assertEqual(sizes, sorted(sizes))
        self.assertEqual({point['curve'] for point in found['figures']}, {'latency of a Send, median'})

    def test_claim_without_entry(self):
        found = report(f'--provider={BAD}', '--case=border.load.*', fault='boasting', expect=1)
        self.assertIn('llp.reserve', case(found, 'border.load.0001')['seen'])
        self.assertEqual([claim['truth'] for claim in found['claims'] if claim['attribute'] == 'cm_forms'], ['refuted'])

    def test_own_thread(self):
        """A thread that the provider started when it was loaded is noticed."""
        found = report(f'--provider={BAD}', '--adapter=emul:ib', '--case=border.threads.*', fault='thread', expect=1)
        self.assertEqual(case(found, 'border.threads.0001')['seen'], '1')

    def test_absent(self):
        """A provider that cannot be loaded is judged, not an error of the run."""
        found = report(f'--provider={BAD}', fault='absent', expect=1)
        self.assertFalse(found['certified'])
        self.assertIn('cannot run on this machine', case(found, 'border.load.0001')['seen'])


class Runs(unittest.TestCase):
    """Tests which cases run, how often, and with which exit status."""

    def test_usage(self):
        for wrong in ([], ['--adapter=iwarp', '--level=none'], ['--adapter=iwarp', 'more'],
                      ['--adapter=iwarp', '--case=no.such.case'], ['--adapter=iwarp', '--repeat=0']):
            with self.subTest(wrong):
                run(*wrong, expect=2)

    def test_repeat(self):
        found = report('--adapter=emul:ib', '--case=' + FIRST, '--repeat=3')
        self.assertEqual((case(found, FIRST)['runs'], case(found, FIRST)['failures']), (3, 0))

    def test_again(self):
        """The command of a failure repeats it."""
        again = shlex.split(case(first_cases('crash'), FIRST)['again'])
        self.assertEqual(again[:3], ['it-certify', '--provider', os.path.basename(BAD)])
        done = run('--provider', BAD, *again[3:], fault='crash', expect=1)
        self.assertIn('FAILED ' + FIRST, done.stdout)

    def test_api(self):
        """The tests of IT-API run on the named provider; a single test runs alone."""
        found = report(f'--provider={BAD}', '--adapter=emul:ib', '--case=api.atomic.*', '--case=api.pdata.*', '--case=api.handshake.suppression')
        self.assertTrue(found['certified'])
        truth = {claim['attribute']: claim['truth'] for claim in found['claims']}
        self.assertEqual(truth['ird_ord_suppressible'], 'proven')
        self.assertNotEqual(truth['atomics'], 'proven', 'a test proves what it looks at, not its whole topic')
        one = report('--adapter=emul:iwarp', '--case=api.atomic.values')
        self.assertEqual([entry['id'] for entry in one['cases']], ['api.atomic.values'])

    def test_api_failure(self):
        """If a test program crashes, only the running test fails; the later tests still run, and no
        claim is refuted."""
        found = report(f'--provider={BAD}', '--adapter=emul:ib', '--case=api.atomic.*', fault='crash', expect=1)
        outcomes = [entry['outcome'] for entry in found['cases']]
        self.assertIn('failed', outcomes)
        self.assertNotIn('not run', outcomes)
        self.assertNotIn('refuted', [claim['truth'] for claim in found['claims']])

    def test_assertion(self):
        """A failed test of IT-API reports the expectation that did not hold, and its place by the
        bare name of the file."""
        found = report('--adapter=emul:ib', '--case=api.ud-service.r-35-timeout', expect=1, more={'ITAPI_TEST_PATIENCE': '0.1'})
        self.assertRegex(found['cases'][0]['where'], r'^[a-z_-]+\.c:\d+:\w+$')
        self.assertIn('it_evd_wait', found['cases'][0]['what'])

    def test_titles(self):
        """No two cases of the level api have one title."""
        lines = run('--list', '--adapter=emul:ib', '--level=api').stdout.splitlines()
        titles = [line.split(maxsplit=1)[1].split(' [')[0] for line in lines]
        self.assertEqual(len(titles), len(set(titles)))

    def test_left_out(self):
        """The report of a partial run names the levels that were left out."""
        found = report('--adapter=emul:ib', '--case=verbs.first.*')
        self.assertEqual({entry['level'] for entry in found['left out']}, {'border', 'verbs', 'api', 'model', 'endurance', 'figures'})
        self.assertIn('--case', found['left out'][0]['why'])

    def test_progress(self):
        """If stderr is not a terminal, progress is printed as whole lines."""
        self.assertRegex(run('--adapter=emul:ib', '--case=verbs.first.*').stderr, r'it-certify: 1 of 2, verbs\.first\.0001')

    def test_one_segment(self):
        """An adapter with one segment is judged by what it claims, on each level."""
        found = report('--quick', f'--provider={BAD}', '--adapter=emul:ib', '--case=verbs.atomic.add.0001', '--case=api.atomic.*',
                       '--case=model.*', fault='one-segment')
        judged = [entry for entry in found['cases'] if entry['level'] in ('api', 'model')]
        self.assertLessEqual({entry['outcome'] for entry in judged}, {'passed', 'not applicable'})
        self.assertEqual({claim['attribute']: claim['truth'] for claim in found['claims']}['atomics'], 'proven')

    def test_list(self):
        names = [line.split()[0] for line in run('--list', '--adapter=emul:ib').stdout.splitlines()]
        self.assertEqual(len(names), len(set(names)))
        for name in (FIRST, 'border.load.0001', 'api.dto.flush', 'model.programs.0001'):
            self.assertIn(name, names)


class Page(html.parser.HTMLParser):
    """Elements that are open, the text, and what the page would load."""

    def __init__(self):
        super().__init__()
        self.open, self.text, self.loads = [], [], []

    def handle_starttag(self, tag, attrs):
        self.loads += [value for name, value in attrs if name in ('src', 'href')]
        if tag != 'meta':
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.loads += [value for name, value in attrs if name in ('src', 'href')]

    def handle_endtag(self, tag):
        if self.open.pop() != tag:
            raise AssertionError(f'{tag} is not the element that is open')

    def handle_data(self, data):
        self.text.append(data)


class Forms(unittest.TestCase):
    """The forms say the same."""

    @classmethod
    def setUpClass(cls):
        paths = {form: os.path.join(FOLDER, f'bad.{form}') for form in ('json', 'junit', 'tap', 'html')}
        run('--silent', '--seed=1', f'--provider={BAD}', '--adapter=emul:ib', '--case=verbs.first.*',
            *[f'--{form}={path}' for form, path in paths.items()], fault='crash', expect=1)
        cls.text = {}
        for form, path in paths.items():
            with open(path, encoding='utf-8') as file:
                cls.text[form] = file.read()

    def test_json(self):
        found = json.loads(self.text['json'])
        with open(os.path.join(HERE, '../run/report.schema.json'), encoding='utf-8') as file:
            self.check(found, json.load(file), 'report')
        self.assertEqual([one['outcome'] for one in found['cases']], ['failed', 'passed'])

    def check(self, value, schema, where):
        """Checks a value against the part of JSON Schema that report.schema.json uses."""
        kinds = {'object': dict, 'array': list, 'string': str, 'boolean': bool, 'integer': int, 'number': (int, float)}
        self.assertIsInstance(value, kinds[schema['type']], where)
        if 'enum' in schema:
            self.assertIn(value, schema['enum'], where)
        if 'const' in schema:
            self.assertEqual(value, schema['const'], where)
        if schema['type'] == 'array':
            for element in value:
                self.check(element, schema['items'], where + '[]')
        if schema['type'] == 'object':
            for name in schema.get('required', []):
                self.assertIn(name, value, where)
            for name, member in value.items():
                inner = schema.get('properties', {}).get(name, schema.get('additionalProperties'))
                self.assertTrue(inner, f'{where}.{name} is not in the schema')
                self.check(member, inner, f'{where}.{name}')

    def test_junit(self):
        suites = xml.etree.ElementTree.fromstring(self.text['junit'])
        counted = [(int(suite.get('tests')), int(suite.get('failures'))) for suite in suites]
        self.assertEqual((sum(tests for tests, _ in counted), sum(failures for _, failures in counted)), (2, 1))
        self.assertIn('signal 6', suites.find('.//failure').get('message'))

    def test_tap(self):
        lines = self.text['tap'].splitlines()
        self.assertEqual(lines[:3], ['TAP version 13', '1..2', f'not ok 1 {FIRST}'])
        self.assertIn(f'ok 2 {SECOND}', lines)

    def test_html(self):
        page = Page()
        page.feed(self.text['html'])
        self.assertEqual((page.open, page.loads), ([], []))
        text = ''.join(page.text)
        for part in ('not certified', FIRST, 'signal 6', 'it-certify --provider', 'left out', 'sha256', 'kernel'):
            self.assertIn(part, text)
        # What ended a process refutes no claim; each attribute has its meaning; no path of this machine is in the page.
        self.assertNotIn('refuted', text)
        self.assertIn('Segments of a Send', text)
        for folder in (os.path.dirname(os.path.abspath(BAD)), FOLDER):
            self.assertNotIn(folder, self.text['html'] + self.text['json'])

    def test_page(self):
        """The page that is made from the JSON is the one that the run wrote."""
        paths = {form: os.path.join(FOLDER, f'page.{form}') for form in ('json', 'html', 'again')}
        for fault, expect in ((None, 0), ('crash', 1)):
            with self.subTest(fault):
                run('--silent', '--seed=7', f'--provider={BAD}', '--adapter=emul:ib', '--case=verbs.first.*',
                    '--case=figures.latency.*', f'--json={paths["json"]}', f'--html={paths["html"]}', fault=fault, expect=expect)
                subprocess.run([CERTIFY, 'page', paths['json'], paths['again']], check=True, timeout=PATIENCE)
                with open(paths['html'], encoding='utf-8') as one, open(paths['again'], encoding='utf-8') as other:
                    self.assertEqual(one.read(), other.read())
        self.assertEqual(subprocess.run([CERTIFY, 'page', BAD, paths['again']], check=False, capture_output=True).returncode, 2)


class Compare(unittest.TestCase):
    """Two reports."""

    def test_regression(self):
        good, bad = (os.path.join(FOLDER, name) for name in ('good.json', 'worse.json'))
        run('--silent', '--seed=1', f'--provider={BAD}', '--adapter=emul:ib', '--case=verbs.first.*', f'--json={good}')
        run('--silent', '--seed=1', f'--provider={BAD}', '--adapter=emul:ib', '--case=verbs.first.*', f'--json={bad}',
            fault='crash', expect=1)
        self.assertIn(f'regression  {FIRST}: passed -> failed', self.compare(good, bad, 1))
        self.assertEqual(self.compare(good, good, 0), '0 regressions\n')
        self.assertIn(f'difference  {FIRST}: failed -> passed', self.compare(bad, good, 0))
        self.compare(good, BAD, 2)

    @staticmethod
    def compare(before, after, expect):
        done = subprocess.run([CERTIFY, 'compare', before, after], text=True, check=False, capture_output=True,
                              timeout=PATIENCE)
        if done.returncode != expect:
            raise AssertionError(f'status {done.returncode}\n{done.stdout}\n{done.stderr}')
        return done.stdout


class Suite(unittest.TestCase):
    """The suite's own tables."""

    @staticmethod
    def cases_say(option, expect=0):
        program = os.path.join(programs(), 'it-certify-cases')
        done = subprocess.run([program, option], text=True, check=False, capture_output=True, timeout=PATIENCE)
        if done.returncode != expect:
            raise AssertionError(f'{option}: status {done.returncode}\n{done.stdout}\n{done.stderr}')
        return done.stdout.splitlines()

    def test_attributes(self):
        """The attributes are the members of ri_rnic_attr."""
        with open(os.path.join(SOURCE, 'rnicpi/rnicpi_attr.h'), encoding='utf-8') as file:
            struct = re.search(r'struct ri_rnic_attr \{(.*?)\n\};', file.read(), re.DOTALL).group(1)
        struct = re.sub(r'/\*.*?\*/', '', struct, flags=re.DOTALL)
        members = re.findall(r'\b(?:bool|char|uint\d+_t)\s+(\w+)(?:\[\d+\])?;', struct)
        self.assertEqual(self.cases_say('--attributes'), members[1:])

    def test_each_claim_is_settled(self):
        """Each claim of the profile is proven or refuted by some case."""
        unsettled = {line.split()[1] for line in self.cases_say('--check') if line.startswith('unsettled ')}
        known = set(self.cases_say('--attributes'))
        listed = run('--list', '--adapter=emul:ib', '--level=api').stdout
        for line in run('--claims').stdout.splitlines():
            test, *claims = line.split()
            if test == 'program':
                continue
            self.assertLessEqual(set(claims), known)
            unsettled -= set(claims)
            self.assertTrue(test == 'model' or f'api.{test.replace("/", ".")} ' in listed, test)
        self.assertEqual(unsettled, set())

    def test_programs(self):
        """Each program of the table exists and has tests."""
        listed = run('--list', '--adapter=emul:ib', '--level=api').stdout
        for name in re.findall('^program (.+)$', run('--claims').stdout, re.MULTILINE):
            done = subprocess.run([os.path.join(programs(), 'test-itapi-' + name), 'emul:ib', '-l'], text=True, check=True,
                                  capture_output=True, timeout=PATIENCE)
            paths = re.findall('^/itapi/emul:ib/(.+)$', done.stdout, re.MULTILINE)
            self.assertTrue(paths, name)
            for path in paths:
                self.assertTrue(f'api.{path.replace("/", ".")} ' in listed, path)


if __name__ == '__main__':
    try:
        status = tree_case.main()
    finally:
        shutil.rmtree(FOLDER)
    sys.exit(status)
