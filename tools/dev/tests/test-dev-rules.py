#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""Good and bad trees for rule-table."""

import os
import tempfile

import tree_case

TABLE = tree_case.load('rule-table')

BOOK = '''# [RI 2] Verbs

## [RI 2.1] Rules

**[RI 2.1.1]** First.

**[RI 2.1.2]** Second.

# [RI 10] Differences

| row | topic | one | other | reconciled by |
|---|---|---|---|---|
| **[RI 10.1]** | atomics | no | yes | `atomics` |
'''
HEADER = '''struct ri_pd_ops {
	uint32_t size;
	/**
	 * Creates one.
	 * - Results: RI_ERR_RESOURCES: too many. Clause: [RI 2.1].
	 */
	enum ri_status (*create)(struct ri_context *context);
	/**
	 * Destroys it.
	 * - Results: RI_ERR_BUSY: in use; RI_ERR_FATAL. Clause: [RI 2.1].
	 */
	enum ri_status (*destroy)(struct ri_pd *pd);
};
'''
CASES = '''#include "cert_node.h"

#define ROW(number, name) {.id = "verbs.pd.000" number, .rule = "[RI 2.1.1] " "R-05", .run = name}

static const enum ri_status both[] = {RI_ERR_RESOURCES};

static void
expect(struct cert *cert, enum ri_status expected)
{
	CERT_VERB(cert, expected, cert->p->pd->create(cert->context));
}

static void
busy(struct cert *cert)
{
	expect(cert, both[0]); /* RI_ERR_FATAL stands in a comment */
	CERT_VERB(cert, RI_ERR_BUSY, cert->p->pd->destroy(cert->pd));
}

static const struct cert_case cases[] = {
	ROW("1", busy),
	{.id = "verbs.pd.0002", .rule = "[RI 2.1]", .settles = "atomics", .run = expect},
};
'''
PROGRAMS = '''const struct certify_program certify_programs[] = {
	{"dto", "Data moves", "[IT 7]", "", false, 0},
};
'''
TESTS = '''/* R-06: they stay. */
static void
test_stays(void)
{
}

static void
add(void)
{
	pair_add("dto/stays", test_stays);
	pair_add_for(NEEDS, "dto/r-07", test_other);
}
'''
DATA = '''without-a-case = 2
[reasons]
'ri_pd_ops::destroy RI_ERR_FATAL' = 'Nothing makes it fail.'
'''


def tree(**changes):
    """A tree whose page of rules is written. `changes` replace the data, the cases or the rulings,
    or add files."""
    rulings = changes.get('rulings', '**[R-05]** *A.*\n\n**[R-06]** *B.*\n\n**[R-07]** *C.*\n\n**[R-08]** *D.*\n')
    files = {'doc/spec/rnicpi/02.md': BOOK, 'doc/spec/itapi/17.md': '# [IT 17] Rulings\n\n' + rulings,
             'rnicpi/rnicpi.h': HEADER, 'conformance/judge/certify/cases/pd.c': changes.get('cases', CASES),
             'conformance/judge/certify/run/certify_table.c': PROGRAMS, 'itapi/tests/test-itapi-dto.c': TESTS,
             'conformance/judge/certify/coverage.toml': changes.get('data', DATA)} | changes.get('more', {})
    with tempfile.TemporaryDirectory() as root:
        for path, text in files.items():
            os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
            with open(os.path.join(root, path), 'w', encoding='utf-8') as file:
                file.write(text)
        files['doc/coverage.md'] = TABLE.Coverage(root).page()
    return files


class Rules(tree_case.TreeCase):
    check = TABLE.check

    def test_rows(self):
        page = tree()['doc/coverage.md']
        for row in ('| [RI 2.1.1] | `verbs.pd.0001` |', '| [RI 2.1.2] | *no case yet* |', '| [RI 10.1] | `verbs.pd.0002` |',
                    '| R-05 | `verbs.pd.0001` |', '| R-06 | `api.dto.stays` |', '| R-07 | `api.dto.r-07` |',
                    '| R-08 | *no case yet* |',
                    '| `ri_pd_ops::create` | `verbs.pd.0001`, `verbs.pd.0002` |',
                    '| `ri_pd_ops::create RI_ERR_RESOURCES` | `verbs.pd.0001` |',
                    '| `ri_pd_ops::destroy RI_ERR_BUSY` | `verbs.pd.0001` |',
                    '| `ri_pd_ops::destroy RI_ERR_FATAL` | Nothing makes it fail. |',
                    '12 rules: 9 have a case, 1 cannot be judged by one, 2 have no case yet.'):
            with self.subTest(row):
                self.assertIn(row + '\n', page)

    def test_good(self):
        self.assert_good(tree())

    def test_other_file(self):
        """A function of a case file is known in that file only; one of a header is known in all."""
        other = """static void
release(struct cert *cert)
{
	CERT_VERB(cert, RI_ERR_BUSY, cert->p->pd->destroy(cert->pd));
}
"""
        cases = CASES.replace('CERT_VERB(cert, RI_ERR_BUSY, cert->p->pd->destroy(cert->pd))', 'unsigned release = 1')
        gap = '| `ri_pd_ops::destroy RI_ERR_BUSY` | *no case yet* |'
        for path, missed in (('conformance/judge/certify/cases/other.c', True), ('conformance/judge/certify/cases/other.h', False),
                             ('conformance/judge/certify/cert_other.c', False)):
            with self.subTest(path):
                self.assertEqual(gap in tree(cases=cases, more={path: other})['doc/coverage.md'], missed)

    def test_page_is_old(self):
        files = tree()
        files['doc/spec/itapi/17.md'] = files['doc/spec/itapi/17.md'].replace('R-08', 'R-09')
        self.assert_bad(files, 'doc/coverage.md:1', 'run tools/dev/rule-table')

    def test_gaps_grow(self):
        self.assert_bad(tree(cases=CASES.replace(' " "R-05"', '"')), 'conformance/judge/certify/coverage.toml:1',
                        '3 rules are without a case or a reason, at most 2 may be')

    def test_gaps_fall(self):
        self.assert_bad(tree(cases=CASES.replace('"[RI 2.1]"', '"[RI 2.1.2]"')), 'conformance/judge/certify/coverage.toml:1',
                        'only 1 rules')

    def test_reasons(self):
        for reason, what in (("'R-05' = 'None.'", 'R-05 has a case, verbs.pd.0001'),
                             ("'RI 3' = 'None.'", "no rule 'RI 3'"),
                             ("'rule' = 'None.'", "no rule 'rule'")):
            with self.subTest(reason):
                self.assert_bad(tree(data=DATA + reason + '\n'), 'conformance/judge/certify/coverage.toml:1', what)

    def test_chapter(self):
        """A reason in coverage.toml may be given for a whole chapter."""
        book = {'doc/spec/rnicpi/03.md': '# [RI 3] Devices\n\n**[RI 3.1]** *A.*\n\n**[RI 3.2]** *B.*\n'}
        self.assert_bad(tree(more=book), 'conformance/judge/certify/coverage.toml:1', '4 rules are without a case or a reason')
        self.assert_good(tree(more=book, data=DATA + "'RI 3' = 'It describes.'\n"))
        reason = DATA.replace('= 2', '= 1') + "'RI 2' = 'It describes.'\n"
        self.assert_bad(tree(data=reason), 'conformance/judge/certify/coverage.toml:1', 'RI 2.1.1 has a case, verbs.pd.0001')

    def test_write(self):
        """--write writes the page, and the number of missing rules if it has become smaller."""
        with tempfile.TemporaryDirectory() as root:
            for path, text in tree(data=DATA.replace('= 2', '= 5')).items():
                os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
                with open(os.path.join(root, path), 'w', encoding='utf-8') as file:
                    file.write(text)
            os.remove(os.path.join(root, TABLE.PAGE))
            TABLE.write(root)
            self.assertEqual(list(TABLE.check(root)), [])
            with open(os.path.join(root, TABLE.DATA), encoding='utf-8') as file:
                self.assertIn('without-a-case = 2\n', file.read())


if __name__ == '__main__':
    tree_case.main()
