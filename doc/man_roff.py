# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""Writes man(7): fonts, paragraphs, lists, tables, and C code that fits into 80 columns."""

import re
import textwrap

from man_xml import BOLD, FONTS, ITALIC, ROMAN

NO_BREAK = '\x04'
WIDTH = 68    # columns of code, so that with its indentation it fits into 80
LINES_MAX = 3  # of one cell of a table
_FONTS = {BOLD: r'\fB', ITALIC: r'\fI', ROMAN: r'\fR'}
_CITATION = re.compile(r'\[(?:IT|RI|WIRE) [\d.]+\]')
_SENTENCE = re.compile(r'(?<=[.:;?!]) +(?=[A-Z\x01\x02(])')


def escape(text):
    """Text that stands in no font."""
    return text.replace('\\', r'\e').replace('-', r'\-').replace('`', r'\(ga').replace('^', r'\(ha') \
        .replace('~', r'\(ti').replace("'", r'\(aq') if text else ''


def inline(text):
    """A text with fonts, in one line of roff."""
    text = _CITATION.sub(lambda match: match.group(0).replace(' ', NO_BREAK), text)
    parts = []
    for part in re.split('([\x01\x02\x03])', text):
        parts.append(_FONTS[part] if part in _FONTS else
                     escape(part).replace(r'\(aq', "'") if part else '')
    return ''.join(parts)


def guarded(line):
    """A line of text that roff does not take for a request."""
    return r'\&' + line if line.startswith(('.', "'")) else line


def filled(text):
    """A text as lines of roff: each sentence begins one."""
    lines = []
    for sentence in _SENTENCE.split(' '.join(text.split())):
        lines += textwrap.wrap(inline(sentence), 78, break_long_words=False, break_on_hyphens=False)
    return [guarded(line.replace(NO_BREAK, r'\ ')) for line in lines]


def sentence(text):
    """A text that begins with a capital letter and ends with a full stop."""
    text = text.strip()
    if not text:
        return text
    if text[0].islower() and re.match(r'[a-z]+(?:[ ,.;]|$)', text):
        text = text[0].upper() + text[1:]
    return text if text[-1] in '.:?!' else text + '.'


def column_widths(rows):
    """The width of each column of a table and the gap between two; (None, 0) if a list is easier to read."""
    columns = list(zip(*[[FONTS.sub('', cell) for cell in row] for row in rows]))
    longest = [max(map(len, column)) for column in columns]
    widths = [max(len(word) for cell in column for word in cell.split() or ['']) for column in columns]
    gap = 2 if sum(widths) + 2 * (len(widths) - 1) <= WIDTH else 1
    room = WIDTH - sum(widths) - gap * (len(widths) - 1)
    if room < 0:
        return None, 0
    while room > 0 and widths != longest:
        lacking = [want - width for want, width in zip(longest, widths)]
        widths[lacking.index(max(lacking))] += 1
        room -= 1
    if any(want > LINES_MAX * width for want, width in zip(longest, widths)):
        return None, 0
    return widths, gap


def named_cell(name, cell):
    """A cell of a row that stands as text: a sentence that begins with the name of its column."""
    name = FONTS.sub('', name)
    if name == 'meaning':
        return sentence(cell)
    name = name.capitalize() if re.match('[a-z-]+$', name) else BOLD + name + ROMAN
    return sentence(f'{name}: {cell}')


class Page:
    """One page as it grows."""

    def __init__(self, name, title):
        self.name = name
        self.lines = ["'\\\" t", title]

    def section(self, title):
        self.lines.append(f'.SH {title}')

    def subsection(self, title):
        self.lines.append(f'.SS {inline(title).replace(NO_BREAK, " ")}')

    def text(self, text):
        self.lines += filled(text)

    def para(self, text):
        if self.lines[-1].startswith(('.SH', '.SS')):
            self.text(text)
        else:
            self.lines.append('.PP')
            self.text(text)

    def tagged(self, tag, text):
        self.lines += ['.TP', guarded(inline(BOLD + FONTS.sub('', tag) + ROMAN).replace(NO_BREAK, ' '))]
        self.text(text or '-')

    def code(self, text, bold=False):
        """Lines as they stand; those that are too long for a page are the caller's fault."""
        heads = [line for line in self.lines[-2:] if not line.startswith('.RS')]
        if not heads[-1].startswith(('.SH', '.SS')):
            self.lines.append('.PP')
        self.lines.append('.nf')
        self.lines += (['.ft B'] if bold else []) + [guarded(escape(line)) for line in text.split('\n')]
        self.lines += (['.ft R'] if bold else []) + ['.fi']

    def blocks(self, blocks):
        for block in blocks:
            if block[0] == 'para':
                self.para(block[1])
            elif block[0] == 'title':
                self.subsection(block[1])
            elif block[0] in ('code', 'lines'):
                self.lines.append('.RS 2')
                self.code(shown_code(block[1]) if block[0] == 'code' else shown_lines(block[1]))
                self.lines.append('.RE')
            elif block[0] == 'table':
                self.table(block[1])
            else:
                self.list(block[1])

    def list(self, entries):
        for entry in entries:
            self.lines.append(r'.IP \(bu 3')
            for block in entry:
                if block[0] == 'para':
                    self.text(block[1])
                else:
                    self.lines.append('.RS 3')
                    self.blocks([block])
                    self.lines.append('.RE')

    def table(self, rows):
        """A table if its columns have room side by side, else a list: each row under its first cell."""
        widths, gap = column_widths(rows)
        if widths is None:
            for row in rows[1:]:
                self.tagged(row[0], ' '.join(named_cell(*pair) for pair in zip(rows[0][1:], row[1:])))
            return
        self.lines += ([] if self.lines[-1].startswith('.S') else ['.PP']) + ['.TS', f'{gap} '.join(f'lw({width}n)' for width in widths) + '.']
        for number, row in enumerate(rows):
            for i, cell in enumerate(row):
                if number == 0:
                    cell = BOLD + FONTS.sub('', cell) + ROMAN
                self.lines += [('' if i == 0 else 'T}\t') + 'T{', *(filled(cell) or [r'\&'])]
            self.lines.append('T}')
        self.lines.append('.TE')

    def write(self, path):
        with open(path, 'w', encoding='ascii') as file:
            file.write('\n'.join(self.lines) + '\n')


# C code.

def declaration(head, arguments, tail=';', indent=''):
    """head(arguments)tail over as many lines as it needs."""
    whole = f'{indent}{head}({", ".join(arguments)}){tail}'
    if len(whole) <= WIDTH:
        return whole
    hang = len(indent) + len(head) + 1
    if hang + max(len(a) for a in arguments) + len(tail) + 1 > WIDTH:
        head, hang = head + '(\n', len(indent) + 8
        lines, line = [indent + head.rstrip('\n')], ' ' * hang
    else:
        lines, line = [], f'{indent}{head}('
    start = line
    for i, argument in enumerate(arguments):
        piece = argument + (',' if i + 1 < len(arguments) else f'){tail}')
        if line != start and len(line) + 1 + len(piece) > WIDTH:
            lines.append(line.rstrip())
            line = start = ' ' * hang
        line += ('' if line == start else ' ') + piece
    return '\n'.join(lines + [line])


def arguments_of(text):
    """The arguments of "(a, b)", which may hold parentheses themselves."""
    text = text.strip()
    text = text[text.index('(') + 1:text.rindex(')')]
    result, depth, start = [], 0, 0
    for i, char in enumerate(text):
        depth += (char == '(') - (char == ')')
        if char == ',' and depth == 0:
            result.append(text[start:i].strip())
            start = i + 1
    return result + [text[start:].strip()]


_COMMENT = re.compile(r'/\*.*?\*/|//[^\n]*', re.DOTALL)


def definition(source, first, last):
    """Lines first to last of a header without comments, with four columns for a level, and none of them too long."""
    text = _COMMENT.sub('', '\n'.join(source[first - 1:last]))
    lines = []
    for line in text.split('\n'):
        line = line.rstrip()
        if not line:
            continue
        last = lines[-1] if lines and '#' not in (lines[-1][0], line[0]) else ';'
        if not last.endswith(('{', ';', ',', '}')) or last.endswith(',') and last.count('(') > last.count(')'):
            lines[-1] += ' ' + line.strip()
        else:
            lines.append(line)
    return '\n'.join(_fitting(line) for line in lines)


def _fitting(line):
    level = len(line) - len(line.lstrip('\t'))
    indent, text = '    ' * level, ' '.join(line.split())
    pointer = re.match(r'(.*\(\*\w+\))\((.*)\)(.*)$', text)
    if pointer:
        return declaration(pointer.group(1), arguments_of(f'({pointer.group(2)})'), pointer.group(3), indent)
    return indent + text


def shown_lines(text):
    """Lines that are not C, such as what a program prints; what is too long is broken between words."""
    lines = []
    for line in text.split('\n'):
        lines += textwrap.wrap(line, WIDTH, subsequent_indent=' ' * (len(line) - len(line.lstrip()) + 4),
                               break_on_hyphens=False) or ['']
    return '\n'.join(lines)


_WORD = re.compile(r'"(?:\\.|[^"\\])*"[,;)]*|\'(?:\\.|[^\'\\])*\'[,;)]*|[^\s"\']+')
_ASIDE = re.compile(r'( *)(\S.*[;{]) +(/\*.*\*/)$')


def shown_code(text):
    """Statements of a program with four columns for a level; what is too long is broken between its words."""
    lines = []
    for line in textwrap.dedent(text).split('\n'):
        if lines and (lines[-1].count('(') > lines[-1].count(')') or re.search(r'[=+?|&-]$', lines[-1])):
            lines[-1] += ' ' + line.strip()
        else:
            lines.append(line.replace('\t', '    ').rstrip())
    return '\n'.join('\n'.join(_broken(line)) for line in lines)


def _broken(line):
    """A line of code as lines that fit: broken behind a comma if that is enough, else between any words."""
    if len(line) <= WIDTH:
        return [line]
    aside = _ASIDE.match(line)
    if aside:  # a comment behind a statement goes before it
        return _broken(aside.group(1) + aside.group(3)) + _broken(aside.group(1) + aside.group(2))
    indent = ' ' * (len(line) - len(line.lstrip()))
    if line.lstrip().startswith(('/*', '*')):
        return textwrap.wrap(line, WIDTH, subsequent_indent=indent + ' * ', break_on_hyphens=False)
    units = [[]]
    for word in _WORD.findall(line):
        units[-1].append(word)
        if word.endswith((',', '&&', '||', '=')):
            units.append([])
    lines, now = [], indent
    for unit in (' '.join(words) for words in units if words):
        for piece in [unit] if len(indent) + 8 + len(unit) <= WIDTH else unit.split(' '):
            if now.strip() and len(now) + 1 + len(piece) > WIDTH:
                lines.append(now)
                now = ' ' * min(_open_column(lines, len(indent)), max(0, WIDTH - len(piece)))
            now += (' ' if now.strip() else '') + piece
    return lines + [now]


def _open_column(lines, indent):
    """The column behind the innermost parenthesis that the lines have left open, if there is room."""
    columns = []
    for line in lines:
        for column, char in enumerate(line):
            if char == '(':
                columns.append(column + 1)
            elif char == ')' and columns:
                columns.pop()
    return columns[-1] if columns and columns[-1] <= WIDTH // 2 else indent + 8
