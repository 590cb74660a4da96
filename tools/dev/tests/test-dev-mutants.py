#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""tools/mutate: its data, the sources with mutants in them, and the verdicts about test runs."""

import os
import subprocess
import sys
import tempfile
import unittest

import tree_case

sys.path.insert(0, os.path.join(tree_case.TOOLS, 'mutants'))
sys.dont_write_bytecode = True
import mutant_data      # noqa: E402
import mutant_expression    # noqa: E402
import mutant_run       # noqa: E402
import mutant_score     # noqa: E402

SOURCE = '''/* a comment about limit > 3 */
static int
helper(int a)
{
	return a;
}

int
limit(int a,
      int b)
{
	if (a > 3 &&
	    b > 3)
		return helper(a);
	helper(b);
	return 0;
}
'''
PROGRAM = '''#include <stdio.h>
int
main(void)
{
	printf("%d %d %d\\n", limit(4, 4), limit(3, 4), limit(4, 3));
	return 0;
}
'''


def table(name='kal-limit', **changes):
    """The text of a mutant's table."""
    values = {'class': 'border', 'at': 'kal/x.c:limit', 'old': 'a > 3', 'new': 'a > 4', 'tests': ['t'], **changes}
    return f'[{name}]\n' + ''.join(f'{key} = {value!r}\n' for key, value in values.items() if value is not None)


def tree(*tables, source=SOURCE):
    return {'kal/x.c': source, mutant_data.FOLDER + '/kal.toml': '\n'.join(tables)}


class Data(tree_case.TreeCase):
    check = mutant_data.check

    def assert_stale(self, what, *tables, source=SOURCE):
        found = self.complaints(tree(*tables, source=source))
        self.assertEqual(len(found), 1, found)
        self.assertIn(what, found[0])

    def test_good(self):
        self.assert_good(tree(table(), table('kal-both', old='a > 3 && b > 3', new='1')))

    def test_white_space_does_not_count(self):
        self.assert_good(tree(table(old='a > 3 && b > 3', new='b'), source=SOURCE.replace(' &&\n\t   ', '\n\t    &&')))

    def test_stale(self):
        self.assert_stale('0 times', table(old='a > 5'))
        self.assert_stale('2 times', table(old='3', new='4'))
        self.assert_stale('no function', table(at='kal/x.c:gone'))

    def test_words_are_whole(self):
        self.assert_stale('0 times', table(old='elper(b);', new=''))

    def test_function_moved(self):
        data = tree(table())
        data['kal/y.c'] = data.pop('kal/x.c')
        self.assert_good(data)

    def test_bad_tables(self):
        self.assert_stale('unknown key', table(kind='x'))
        self.assert_stale('tests or a reason', table(tests=None))
        self.assert_stale('the same', table(new='a  >  3'))
        self.assert_stale('is none of', table(**{'class': 'odd'}))
        self.assert_stale('not FILE:FUNCTION', table(at='kal/x.c'))
        self.assert_stale('small letters', table('Kal-limit'))
        self.assert_stale('missing', table(old=None))
        self.assert_stale('not an expression', table(new=''))
        self.assert_stale('not an expression', table(old='a > 3 &&'))
        self.assert_stale('unequal', table(new='(a > 4'))
        self.assert_stale('part of a choice', table(new='a > 4 ? 1'))
        self.assert_stale('not a statement', table(old='helper(b);', new='helper(a)'))
        self.assert_stale('kal.toml', 'no toml')

    def test_overlap(self):
        self.assert_stale('overlap', table(old='return helper(a); helper(b);', new=''),
                          table('kal-half', old='helper(b); return 0;', new=''))

    def test_divided(self):
        self.assert_stale('bound by the > before it', table(old='3 && b > 3', new='0'))
        self.assert_stale('followed by its else', table(old='if (a > 3 && b > 3) return helper(a);', new=''),
                          source=SOURCE.replace('helper(a);\n', 'helper(a);\n\telse\n\t\treturn 7;\n'))


class Expressions(unittest.TestCase):
    """Which pieces keep their meaning in parentheses."""

    def test_operands(self):
        for before, old, after in (
                ('if (', 'a > 3', ' && b)'), ('x = a + ', 'b + c', ';'), ('x = a || ', 'b && c', ' || d;'),
                ('x = a - ', 'b * c', ' - d;'), ('return ', '-a', ' + b;'), ('x = (int)', 'a', ' + b;'),
                ('x = a ? b : ', 'c ? d : e', ';'), ('f(a, ', 'b == c', ', d)'), ('x[', 'a + b', '].y = c;'),
                ('if (n < sizeof(x) || ', '(uint8_t)a == 3', ')'), ('x = ', '(a + b)', '->c;')):
            self.assertEqual(mutant_expression.divides(before, old, after), '', (before, old, after))

    def test_parts_of_operands(self):
        for before, old, after in (
                ('if (', 'a < b', ' + c)'), ('x = a - ', 'b - c', ';'), ('x = a - ', 'b + c', ';'),
                ('if (!', 'a && b', ')'), ('x = -', 'a + b', ';'), ('x = (uint8_t)', 'a + b', ';'),
                ('if (a && ', 'b || c', ')'), ('if (', 'a || b', ' && c)'), ('x = ', 'a & b', ' == c;'),
                ('x = a * ', 'b + c', ';'), ('x = ', 'a + b', '->c;'),
                ('if (a && ', 'p < (uintptr_t)&g->end', ' + g->size)'), ('x = sizeof ', 'a + b', ';'),
                ('if (a->', 'b == c', ')'), ('x = a.', 'b', ';')):
            self.assertNotEqual(mutant_expression.divides(before, old, after), '', (before, old, after))


class Rewritten(unittest.TestCase):
    """A program with all mutants in it behaves as the original until a mutant is selected."""

    MUTANTS = [table(), table('kal-and', old='a > 3 && b > 3', new='a > 3 || b > 3'),
               table('kal-other', old='b > 3', new='b > 2'), table('kal-same', new='a > 2'),
               table('kal-skip', old='helper(b);', new='return 9;')]

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        root = self.folder.name
        for path, text in tree(*self.MUTANTS).items():
            os.makedirs(os.path.join(root, os.path.dirname(path)), exist_ok=True)
            with open(os.path.join(root, path), 'w', encoding='utf-8') as file:
                file.write(text)
        self.mutants, complaints = mutant_data.read_all(root)
        self.assertEqual(complaints, [])
        header = os.path.join(tree_case.TOOLS, 'mutants/mutant.h')
        texts = mutant_data.rewrite_all(root, self.mutants.values(), header)
        self.program = os.path.join(root, 'program')
        subprocess.run(['gcc', '-Wall', '-Werror', '-x', 'c', '-', '-o', self.program], check=True,
                       input=(texts['kal/x.c'] + PROGRAM).encode())

    def tearDown(self):
        self.folder.cleanup()

    def output(self, name=None):
        """The output of the program with one mutant, and whether it executed the mutant's code."""
        mark = os.path.join(self.folder.name, 'reached')
        env = dict(os.environ, MUTANT_REACHED=mark)
        if name:
            env['MUTANT_NUMBER'] = str(self.mutants[name].number)
        done = subprocess.run([self.program], env=env, capture_output=True, text=True, check=True)
        return done.stdout.split(), os.path.lexists(mark)

    def test_each(self):
        self.assertEqual(self.output(), (['4', '0', '0'], False))
        self.assertEqual(self.output('kal-limit'), (['0', '0', '0'], True))
        self.assertEqual(self.output('kal-and'), (['4', '3', '4'], True))
        self.assertEqual(self.output('kal-other'), (['4', '0', '4'], True))
        self.assertEqual(self.output('kal-same'), (['4', '3', '0'], True))
        self.assertEqual(self.output('kal-skip'), (['4', '9', '9'], True))


class Verdicts(unittest.TestCase):
    def ran(self, script, seconds=60.0):
        return mutant_run.run_program(['sh', '-c', script], dict(os.environ), None, seconds)

    def test_passed(self):
        run = self.ran('echo 1..1; echo ok 1 /a')
        self.assertTrue(run.passed)
        self.assertEqual(run.verdict(), 'survived')

    def test_nothing_ran(self):
        self.assertFalse(self.ran('echo 1..0').passed)
        run = self.ran('echo 1..1; echo "ok 1 /a # SKIP no root"')
        self.assertTrue(run.skipped)
        self.assertFalse(run.passed)

    def test_named(self):
        run = self.ran('echo "Bail out! x.c:3:f: assertion failed (1 == 2)"; kill -ABRT $$')
        self.assertEqual(run.verdict(), 'named')
        self.assertIn('1 == 2', run.reason())
        self.assertEqual(self.ran('echo "not ok 1 - /a"').verdict(), 'named')
        self.assertEqual(self.ran('echo "not ok 1 - /a"; sleep 600').verdict(), 'named')

    def test_crash(self):
        self.assertEqual(self.ran('echo ok 1 /a; kill -SEGV $$').verdict(), 'crash')
        self.assertEqual(self.ran('exit 3').verdict(), 'crash')

    def test_hang(self):
        self.assertEqual(self.ran('echo ok 1 /a; sleep 600', 0.5).verdict(), 'hang')
        self.assertEqual(self.ran('echo "not ok 1 - subprocess.TimeoutExpired"').verdict(), 'hang')

    def test_children_end_too(self):
        self.assertLess(self.ran('sleep 600 & echo ok 1 /a').seconds, 500)


class Score(unittest.TestCase):
    def test_page(self):
        mutants = {name: mutant_data.Mutant(name, 'border', 'vp/emul/x.c', 'f', 'a', 'b', ['t'])
                   for name in ('m-a', 'm-b')}
        mutants['m-c'] = mutant_data.Mutant('m-c', 'border', 'kal/x.c', 'f', 'a', 'b', [], 'same')
        results = [mutant_run.Result('m-a', 'named', 't'), mutant_run.Result('m-b', 'hang', 't')]
        lines = mutant_score.tables(mutants, results)
        page = mutant_score.replace_between(f'head\n{mutant_score.FIRST}\nbefore\n{mutant_score.LAST}\ntail\n', lines)
        self.assertIn('3 mutants, of which 1 cannot be observed. Of the other 2, 50.0 % are', page)
        self.assertIn('| vp/emul | 2 | 1 | 0 | 1 | 0 |', page)
        self.assertIn('| `m-b` | hang |', page)
        self.assertNotIn('before', page)
        self.assertTrue(page.startswith('head\n') and page.endswith('\ntail\n'))


if __name__ == '__main__':
    tree_case.main()
