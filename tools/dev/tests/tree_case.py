# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""For tests of the checks: a tree of files made up for one case, and a result as TAP."""

import importlib.machinery
import importlib.util
import os
import sys
import tempfile
import unittest

TOOLS = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))


def load(script):
    """A script of tools/dev as a module, whatever its name."""
    sys.path.insert(0, TOOLS)
    sys.dont_write_bytecode = True
    name = script.replace('-', '_').removesuffix('.py')
    loader = importlib.machinery.SourceFileLoader(name, os.path.join(TOOLS, script))
    spec = importlib.util.spec_from_loader(name, loader)
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


class TreeCase(unittest.TestCase):
    """A test whose trees are dictionaries of path -> content."""

    check = None  # a function: root -> complaints

    def complaints(self, tree):
        with tempfile.TemporaryDirectory() as root:
            for path, content in tree.items():
                os.makedirs(os.path.join(root, os.path.dirname(path)), exist_ok=True)
                with open(os.path.join(root, path), 'w', encoding='utf-8') as file:
                    file.write(content)
            return list(type(self).check(root))

    def assert_good(self, tree):
        self.assertEqual(self.complaints(tree), [])

    def assert_bad(self, tree, where, what):
        """Exactly one complaint, about this place and with these words."""
        found = self.complaints(tree)
        self.assertEqual(len(found), 1, found)
        self.assertTrue(found[0].startswith(where + ':'), found)
        self.assertIn(what, found[0])


class _TapResult(unittest.TestResult):
    """One line per test, whatever number of subtests it has."""

    def startTest(self, test):
        super().startTest(test)
        self.note = ''
        self.bad_before = len(self.failures), len(self.errors)

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self.note = f' # SKIP {reason}'

    def stopTest(self, test):
        super().stopTest(test)
        broken = self.bad_before != (len(self.failures), len(self.errors))
        name = test.id().split('.', 1)[1]
        print(f'{"not ok" if broken else "ok"} {self.testsRun} {name}{self.note}', flush=True)

    def report(self):
        for test, text in self.failures + self.errors:
            print(f'{test}\n{text}', file=sys.stderr)


def main():
    """Runs the tests of the calling program, in TAP."""
    suite = unittest.defaultTestLoader.loadTestsFromModule(sys.modules['__main__'])
    print(f'1..{suite.countTestCases()}')
    result = _TapResult()
    suite.run(result)
    result.report()
    sys.exit(0 if result.wasSuccessful() else 1)
