#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""The man pages against the headers, against the tools, against two formatters, and against each other (TAP).

Usage: test-doc-man.py ROOT [FOLDER] PAGE... -- TOOL...

FOLDER has section 3; without it (no Doxygen) its cases are skipped. What there has to be is read from the headers
here, not asked of the script that makes the pages.
"""

import functools
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, '..'), os.path.join(HERE, '..', '..', 'tools', 'dev', 'tests')]

# pylint: disable=wrong-import-position
import man_guide  # noqa: E402
import man_roff  # noqa: E402
import tree_case  # noqa: E402

SPLIT = sys.argv.index('--')
ROOT = sys.argv[1]
FOLDER = next((path for path in sys.argv[2:SPLIT] if os.path.isdir(path)), None)
WRITTEN = [path for path in sys.argv[2:SPLIT] if not os.path.isdir(path)]
TOOLS = {os.path.basename(path): path for path in sys.argv[SPLIT + 1:]}
COLUMNS = 80

_PROTOTYPE = re.compile(r'^(?:[a-z]\w* )+\**((?:itx?|ri)_\w+)\(', re.MULTILINE)
_STRUCT = re.compile(r'^struct (ri_\w+) \{\n(.*?)^\}', re.MULTILINE | re.DOTALL)
_ENTRY = re.compile(r'\(\*(\w+)\)\(')
_TYPE = re.compile(r'^(?:\} |typedef [\w \*]*[ *])((?:it|itx)_\w+_t);|^(?:struct|enum|union) (\w+) \{', re.MULTILINE)
_CALL = re.compile(r'/\*\*((?:(?!\*/).)*)\*/\n(?:[a-z]\w* )+\**(it_\w+)\(', re.DOTALL)
_REFERENCE = re.compile(r'(?<![\w.])((?:it|itx|ri|rnicpi|itapi)[\w.]*(?:-[a-z]+)?)\(([1-9])\)')


def read(path):
    with open(path, encoding='utf-8') as file:
        return file.read()


def headers(*names):
    """The C of the public headers; what is for C++ alone, at their ends, is left out."""
    folder = {'it': 'itapi', 'rn': 'rnicpi'}
    return '\n'.join(read(os.path.join(ROOT, folder[name[:2]], name)).split('extern "C++"')[0] for name in names)


IT_API = headers('it_api.h', 'it_ext.h')
RNIC_PI = headers('rnicpi.h', 'rnicpi_types.h', 'rnicpi_attr.h', 'rnicpi_event.h', 'rnicpi_fast.h', 'rnicpi_host.h')


def reference(name):
    return os.path.join(FOLDER, name + '.3')


def pages():
    """All pages that are no links."""
    generated = [reference(name[:-2]) for name in sorted(os.listdir(FOLDER))] if FOLDER else []
    return [path for path in generated + WRITTEN if not read(path).startswith('.so ')]


def entries():
    """The entries of RNIC-PI's tables: (page, table, entry)."""
    for table, body in _STRUCT.findall(RNIC_PI):
        if re.match(r'ri_(\w+_ops|host|upcalls)$', table):
            for entry in _ENTRY.findall(body):
                yield f'{table.removesuffix("_ops")}_{entry}', table, entry


def section(text, title):
    """Returns the text of one section of a page."""
    match = re.search(rf'^\.SH {title}\n(.*?)(?=^\.SH |\Z)', text, re.MULTILINE | re.DOTALL)
    return match.group(1) if match else ''


@functools.lru_cache
def rendered(*command):
    """All pages as a terminal shows them; what the formatter complains about is an error."""
    run = subprocess.run([*command, *pages()], capture_output=True, text=True, check=False, encoding='utf-8',
                         env=dict(os.environ, LC_ALL='C.UTF-8'))
    if run.returncode != 0 or run.stderr:
        raise AssertionError(f'{run.returncode}: {(run.stderr or run.stdout)[:2000]}')
    return re.sub('.\b', '', run.stdout)


def formatters():
    """The commands there are that render pages, the width being that of man(1) in 80 columns."""
    if shutil.which('mandoc'):
        yield ['mandoc', '-Tutf8', '-O', 'width=78']
    if shutil.which('groff'):
        yield ['groff', '-Tutf8', '-P-cbou', '-t', '-mandoc', '-ww', '-rLL=78n']


def option_names(text):
    """--long and -s of a text."""
    return set(re.findall(r'(?<![\w-])(--?[A-Za-z][\w-]*)', text))


class Man(unittest.TestCase):
    def need_reference(self):
        if FOLDER is None:
            self.skipTest('section 3 needs Doxygen')

    def assert_pages(self, names):
        self.need_reference()
        self.assertGreater(len(names), 0)
        self.assertEqual([name for name in names if not os.path.exists(reference(name))], [])

    def test_each_prototype_has_a_page(self):
        names = _PROTOTYPE.findall(IT_API) + _PROTOTYPE.findall(RNIC_PI)
        self.assertIn('it_ep_connect', names)
        self.assert_pages(names)

    def test_each_exported_symbol_has_a_page(self):
        symbols = re.findall(r'^\t(\w+);', read(os.path.join(ROOT, 'itapi', 'libitapi.map')), re.MULTILINE)
        renamed = re.findall(r'#define it_\w+ (itx_\w+_32bit)', IT_API)
        inner = ['itapi_host_use']  # for it-sim, no call of IT-API
        self.assert_pages([name for name in symbols if name not in renamed + inner])

    def test_each_entry_of_rnicpi_has_a_page(self):
        names = [name for name, _, _ in entries()]
        self.assertIn('ri_qp_create', names)
        self.assertEqual(len(names), len(set(names)))
        self.assert_pages(names)

    def test_each_type_has_a_page(self):
        names = [it or ri for it, ri in _TYPE.findall(IT_API + RNIC_PI)]
        self.assertIn('it_event_t', names)
        self.assertIn('ri_wc', names)
        self.assert_pages(names)

    def test_each_call_has_its_sections(self):
        self.need_reference()
        for name in _PROTOTYPE.findall(IT_API):
            text = read(reference(name))
            if re.search(rf'^void {name}\(', IT_API, re.MULTILINE):
                self.assertFalse(section(text, 'RETURN VALUE'), name)
            else:
                self.assertTrue(section(text, 'RETURN VALUE'), name)
            for title, word in (('NAME', r'\-'), ('LIBRARY', '-litapi'), ('SYNOPSIS', '#include <it_'),
                                ('SYNOPSIS', name + '('), ('DESCRIPTION', ''), ('ATTRIBUTES', 'Threads'),
                                ('SEE ALSO', 'itapi')):
                self.assertTrue(section(text, title), f'{name}: {title}')
                self.assertIn(word, section(text, title).replace(r'\-l', '-l'), f'{name}: {title}')

    def test_each_entry_shows_its_table(self):
        self.need_reference()
        for name, table, entry in entries():
            synopsis = section(read(reference(name)), 'SYNOPSIS')
            for word in ('#include <rnicpi/rnicpi.h>', f'struct {table} {{', f'(*{entry})('):
                self.assertIn(word, synopsis, name)

    def test_each_result_of_a_call_is_on_its_page(self):
        self.need_reference()
        calls = _CALL.findall(IT_API)
        self.assertGreater(sum('@retval' in comment for comment, _ in calls), 50)
        for comment, name in calls:
            text = read(reference(name))
            for result in re.findall(r'@retval (\w+)', comment):
                where = 'RETURN VALUE' if result == 'IT_SUCCESS' or not result.startswith('IT_') else 'ERRORS'
                self.assertIn(result, section(text, where), name)

    def test_names_that_are_typed(self):
        """A call whose name is a macro has that name in NAME, for man -k, and says when it is meant."""
        self.need_reference()
        names = re.findall(r'^#define (it_\w+) +(it_\w+)$', IT_API, re.MULTILINE)
        self.assertIn(('it_lmr_create', 'it_lmr_create10'), names)
        self.assertGreater(len(names), 10)
        for typed, name in names:
            text = read(reference(name))
            self.assertRegex(section(text, 'NAME'), rf', {typed}\b', name)
            self.assertIn(typed, section(text, 'DESCRIPTION'), name)
            if typed in ('it_lmr_create', 'it_rmr_create', 'it_rmr_bind'):
                self.assertIn('ITAPI_ENABLE_V2', section(text, 'DESCRIPTION'), name)

    def test_pages_are_found_by_the_name_of_the_project(self):
        """`man -k itapi` looks at NAME alone."""
        for path in WRITTEN:
            name = re.search(r'^\.S[hH] NAME\n(.*?)^\.S[hH]', read(path), re.MULTILINE | re.DOTALL)
            self.assertTrue('itapi' in name.group(1) or os.path.basename(path) == 'rnicpi.7', path)

    def test_the_first_page_names_all_others(self):
        first, = [read(path) for path in WRITTEN if os.path.basename(path) == 'itapi.7']
        also = first[first.index('.Sh SEE ALSO'):]
        for page in sorted(os.path.basename(path) for path in WRITTEN):
            name, number = page.rsplit('.', 1)
            self.assertEqual(f'.Xr {name} {number}' in also, page != 'itapi.7', page)

    def test_links_lead_to_pages(self):
        self.need_reference()
        links = {name: read(os.path.join(FOLDER, name)) for name in os.listdir(FOLDER)}
        links = {name: text.split()[1] for name, text in links.items() if text.startswith('.so ')}
        self.assertIn('it_lmr_create.3', links)
        for name, target in links.items():
            self.assertTrue(os.path.isfile(os.path.join(os.path.dirname(FOLDER), target)), f'{name}: {target}')
            self.assertNotIn(os.path.basename(target), links, name)

    def test_references_lead_to_pages(self):
        self.need_reference()
        commands = list(formatters())
        if not commands:
            self.skipTest('neither mandoc nor groff is here')
        there = {os.path.basename(path) for path in WRITTEN} | set(os.listdir(FOLDER))
        found = set(_REFERENCE.findall(rendered(*commands[0])))
        self.assertIn(('it_ep_accept', '3'), found)
        self.assertEqual(sorted(f'{name}.{number}' for name, number in found if f'{name}.{number}' not in there), [])

    def test_no_line_is_too_wide(self):
        commands = list(formatters())
        if not commands:
            self.skipTest('neither mandoc nor groff is here')
        for command in commands:
            wide = [line for line in rendered(*command).split('\n') if len(line) > COLUMNS]
            self.assertEqual(wide, [], command)

    def test_mandoc_has_no_warning(self):
        if not shutil.which('mandoc'):
            self.skipTest('mandoc is not here')
        rendered('mandoc', '-Tlint', '-W', 'warning')

    def test_mandoc_finds_a_fault(self):
        """That the case before can fail."""
        if not shutil.which('mandoc'):
            self.skipTest('mandoc is not here')
        run = subprocess.run(['mandoc', '-Tlint', '-W', 'warning'], input='.TH a 3\n.SH NAME\na\n.XX\n', text=True,
                             capture_output=True, check=False)
        self.assertNotEqual(run.returncode, 0)

    def assert_settings(self, names):
        text = read(next(path for path in WRITTEN if path.endswith('/itapi.conf.5'))).replace('\\-', '-')
        self.assertEqual([name for name in names if name not in text], [])

    def test_each_variable_of_the_code_is_on_the_page_of_settings(self):
        names = set()
        for folder in ('kal', 'ual', 'vp', 'rnicpi', 'itapi'):
            for path, _, files in os.walk(os.path.join(ROOT, folder)):
                if 'tests' not in os.path.relpath(path, ROOT).split(os.sep):
                    for name in files:
                        if name.endswith(('.c', '.h')):
                            names |= set(re.findall(r'"(ITAPI_[A-Z_]+)"', read(os.path.join(path, name))))
        self.assertIn('ITAPI_LOG', names)
        self.assert_settings(sorted(names))

    def test_each_setting_that_it_info_prints_is_on_the_page_of_settings(self):
        nothing_set = {name: value for name, value in os.environ.items() if not name.startswith('ITAPI_')}
        run = subprocess.run([TOOLS['it-info'], '--env', '--json'], capture_output=True, text=True, check=False,
                             env=nothing_set)
        words = {word for row in json.loads(run.stdout)['settings'] for word in row['name'].split()}
        self.assertIn('ITAPI_LOG', words)
        self.assert_settings(sorted(words))

    def test_options_of_the_tools(self):
        for page in WRITTEN:
            name = os.path.basename(page)
            if name.endswith('.1'):
                helped = subprocess.run([TOOLS[name[:-2]], '--help'], capture_output=True, text=True, check=True,
                                        env=dict(os.environ, LC_ALL='C')).stdout
                wanted = option_names('\n'.join(line for line in helped.split('\n') if line.startswith('  -')))
                text = re.search(r'\.Bl -tag -width Ds\n(?:(?!\.Bl).)*\.El', read(page), re.DOTALL).group(0)
                told = {'-' + word for line in re.findall(r'^\.It (Fl.*)', text, re.MULTILINE)
                        for word in re.findall(r'Fl (\S+)', line)}
                self.assertEqual(sorted(wanted), sorted(told), name)


class Roff(unittest.TestCase):
    """Texts that roff would read as requests or escapes must be printed as they are."""

    def test_a_line_that_begins_like_a_request(self):
        page = man_roff.Page('x', '.TH x 3')
        page.text(".so is no request, 'neither' is this")
        self.assertTrue(page.lines[-1].startswith(r'\&.so'), page.lines)

    def test_a_backslash(self):
        self.assertEqual(man_roff.inline(r'a\nb'), r'a\enb')

    def test_a_prototype_that_does_not_fit(self):
        arguments = [f'const struct some_long_type *argument{i}' for i in range(4)]
        for head in ('int f', 'enum ri_status a_name_that_leaves_no_room_for_its_arguments_beside_it'):
            text = man_roff.declaration(head, arguments)
            self.assertTrue(all(len(line) <= COLUMNS - 7 for line in text.split('\n')), text)
            self.assertEqual(re.sub(r'\s+', ' ', text.replace('(\n', '(')).replace('( ', '('),
                             f'{head}({", ".join(arguments)});')

    def test_a_definition_without_its_comments(self):
        source = ['struct a { /* one', ' * two */', '\tint b; /**< three */', '', '\tvoid (*c)(int d,',
                  '\t\t  int e);', '};']
        self.assertEqual(man_roff.definition(source, 1, 7), 'struct a {\n    int b;\n    void (*c)(int d, int e);\n};')

    def test_an_example_that_does_not_fit(self):
        code = ('\tif (a)\n\t\treturn;\n\tcall(some_argument_of_a_call, another_argument_of_the_call,\n'
                '\t     "a text, with a comma"); /* what it does, in a few words that need a line of their own */\n')
        shown = man_roff.shown_code(code.rstrip('\n')).split('\n')
        self.assertEqual(shown[:2], ['if (a)', '    return;'])
        self.assertEqual(shown[2], '/* what it does, in a few words that need a line of their own */')
        self.assertEqual(shown[3:], ['call(some_argument_of_a_call, another_argument_of_the_call,',
                                     '     "a text, with a comma");'])

    def test_a_table_that_does_not_fit_becomes_a_list(self):
        page = man_roff.Page('x', '.TH x 3')
        page.table([['key', 'a', 'b'], ['one', 'x' * 60, 'y' * 60]])
        self.assertNotIn('.TS', page.lines)
        page.table([['key', 'a'], ['one', 'two words']])
        self.assertIn('.TS', page.lines)

    def test_a_guide(self):
        text = ('<!-- a licence -->\n\n# Title {#label}\n\nSays `x-y` and *z*, see @ref label and [it](a.md).\n\n## Part\n\n'
                '1. first\n2. second\n   line\n\n    as it is\n\n| key | meaning |\n|---|---|\n| `k` | what \\| it is |\n')
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, 'guide.md')
            with open(path, 'w', encoding='utf-8') as file:
                file.write(text)
            values = {'name': 'n', 'number': '5', 'book': 'b', 'purpose': 'p', 'date': 'd', 'version': 'v',
                      'see': 'it-info(1)'}
            lines = man_guide.page_of(man_guide.Guide(path), values).lines
        for line in ('n \\- p', r'Says \fBx\-y\fR and \fIz\fR, see "Title" of the manual and it.', '.SH "PART"', 'first',
                     'second line', 'as it is', r'\fBk\fR', 'what | it is', r'\fBit\-info\fR(1)'):
            self.assertIn(line, lines)


if __name__ == '__main__':
    tree_case.main()
