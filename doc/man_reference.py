# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""The pages of section 3: which there are, and what each one says in which section.

A comment of a call has its lists of "- Label: text" taken apart: Thread and Blocks become ATTRIBUTES, Events
become EVENTS, Results and the @retval lines become RETURN VALUE and ERRORS; Clause is what SPECIFICATION
makes of every citation of the comment.
"""

import os
import re

import man_roff as roff
import man_spec
from man_xml import BOLD, FONTS, ROMAN

OVERVIEWS = {'it': 'itapi', 'ri': 'rnicpi'}
TITLES = {'it': 'IT-API Programmer\\(aqs Manual', 'ri': 'RNIC-PI Provider\\(aqs Manual'}
_LABEL = re.compile(r'(Threads?|Blocks|States|Events(?: here| at the peer)?|Clause|Results|Also|Required): *(.*)$')
_CODE = '\x01?(?:(?:RI|IT)_[A-Z0-9_]+|true|false|NULL)\x03?'
_RESULT = re.compile(rf'({_CODE}(?:(?:, | or | and ){_CODE})*)(?:: (.*)|\.?)$')
_CHOICE = re.compile(r'defined\((\w+)\)')
_CLAUSE = re.compile(r'\s*Clauses?: (?:\[[^\]]*\]|R-\d\d|RFC \d+|to|and|[ ,;])+\.?$')


def side(item):
    """Which of the two interfaces an item belongs to."""
    return 'ri' if os.path.basename(item.file or item.name).startswith('rnicpi') else 'it'


def is_entry(item):
    """Whether a member is an entry of a table of functions, which gets a page as a function does."""
    return item.kind == 'variable' and item.owner is not None and '(*' in item.type() and \
        bool(re.match(r'ri_(\w+_ops|host|upcalls)$', item.owner.name))


def page_name(item):
    """The name of the page that an item has for itself; None if it has none."""
    if item.kind == 'group':
        return item.name + '_rules' if item.group is None else item.name
    if item.kind in ('function', 'struct', 'union', 'enum', 'typedef'):
        return item.name if re.match(r'(itx?|ri)_\w+$', item.name) else None
    if is_entry(item):
        return f'{re.sub("_ops$", "", item.owner.name)}_{item.name}'
    return None


def without_clause(blocks):
    """Blocks without the sentences that only cite."""
    result = []
    for block in blocks:
        if block[0] == 'para':
            text = _CLAUSE.sub('', block[1])
            if text:
                result.append(('para', text))
        else:
            result.append(block)
    return result


def labelled(blocks):
    """Takes the known labels out of the lists: what they say, and the blocks that are left."""
    found, rest = [], []
    for block in blocks:
        if block[0] != 'list':
            rest.append(block)
            continue
        entries = []
        for entry in block[1]:
            match = _LABEL.match(entry[0][1]) if entry and entry[0][0] == 'para' else None
            if match:
                found.append((match.group(1), _CLAUSE.sub('', match.group(2)), entry[1:]))
            else:
                entries.append(entry)
        if entries:
            rest.append(('list', entries))
    return found, rest


def other_names(text):
    """The names that macros of a header give to functions: {function: [(name, macros, one of them defined)]}.

    A name without macros holds in every case; `None` among them means that none of the others is defined. What a
    condition of another kind guards, such as `#ifdef`, is left out.
    """
    found, conditions = {}, []
    for line in text.split('\n'):
        words = line.split()
        if re.match(r'#\s*if', line):
            conditions.append([set(), _CHOICE.findall(line), not line.startswith('#if defined(')])
        elif line.startswith('#elif'):
            conditions[-1][0] |= set(conditions[-1][1])
            conditions[-1][1:] = _CHOICE.findall(line), conditions[-1][2] or not line.startswith('#elif defined(')
        elif line.startswith('#else'):
            conditions[-1][0] |= set(conditions[-1][1])
            conditions[-1][1] = [None, *sorted(conditions[-1][0])]
        elif line.startswith('#endif'):
            conditions.pop()
        elif words[:1] == ['#define'] and len(words) == 3 and re.match(r'itx?_\w+$', words[1]) and re.match(r'itx?_\w+$', words[2]):
            choice = conditions[-1] if len(conditions) > 1 else [set(), [], False]      # the first is the header's guard
            if not choice[2]:
                names = found.setdefault(words[2], [])
                names[:] = [(name, sorted(set(when) | set(choice[1]), key=str) if name == words[1] else when)
                            for name, when in names]
                if words[1] not in [name for name, _ in names]:
                    names.append((words[1], choice[1]))
    return found


class Manual:
    """All pages of one run."""

    def __init__(self, reader, values):
        self.reader = reader
        self.root, self.date, self.version = values['source'], values['date'], values['version']
        self.spec = man_spec.Books(self.root)
        self.names = {}    # page by id of its item
        self.seen = set()  # pages that the current page has named
        self.current = None
        self._sources = {}
        self._aliases = {}
        for item in reader.items.values():
            name = page_name(item)
            if name is not None:
                self.names[item.id] = name
        self.values = {item.name: item for item in reader.items.values() if item.kind == 'value'}
        reader.resolve = self.resolve

    # References.

    def resolve(self, refid, text):
        """A reference in a text: the page with its section, or the bare name."""
        item = self.reader.items.get(refid)
        name = self.names.get(refid)
        text = ' '.join(text.split())
        if item is None:  # a place inside a page
            name = self.names.get(refid.rpartition('_1')[0])
            if name not in (None, self.current):
                self.seen.add(name)
                return f'{text} ({BOLD}{name}{ROMAN}(3))'
            return text
        if name is None:
            return BOLD + text + ROMAN
        if name == self.current:
            return BOLD + (name if item.kind != 'group' else text) + ROMAN
        self.seen.add(name)
        tail = re.split(r'::|\.', text.removesuffix('()'))[-1]
        if tail in (item.name, item.title, name):
            return f'{BOLD}{name}{ROMAN}(3)'
        return f'{text} ({BOLD}{name}{ROMAN}(3))'

    def links(self):
        """(link, page) of the names that have no page of their own: old names, and macros."""
        functions = {name: name for name in self.names.values()}
        for item in self.reader.items.values():
            if item.kind != 'define' or not re.match(r'(it|ri)_\w+$', item.name, re.IGNORECASE):
                continue
            target = functions.get(item.initializer()) or self.names[item.group.id]
            if item.name not in functions:
                yield item.name, target

    # Pages.

    def pages(self):
        writers = {'group': self._group, 'function': self._function, 'variable': self._function,
                   'struct': self._struct, 'union': self._struct, 'enum': self._enum, 'typedef': self._typedef}
        for ident, name in sorted(self.names.items(), key=lambda pair: pair[1]):
            item = self.reader.items[ident]
            self.current, self.seen = name, set()
            page = roff.Page(name, f'.TH {name} 3 {self.date} "itapi {self.version}" "{TITLES[self._side(item)]}"')
            page.lines += ['.ad l', '.nh']
            page.section('NAME')
            named = [name] + [other for other, _ in self._others(item)]
            page.lines.append(f'{", ".join(map(roff.escape, named))} \\- {self._purpose(item)}')
            writers[item.kind](page, item)
            self._specification(page, item)
            self._see_also(page, item)
            yield page

    def _side(self, item):
        if item.kind == 'group':
            return 'ri' if item.name.startswith('rnicpi') else 'it'
        return side(item)

    def _purpose(self, item):
        """The one line that tells what a page is about."""
        text = FONTS.sub('', self.reader.brief(item)).replace('(3)', '').split('. ')[0].rstrip('.')
        if item.kind == 'group':
            text = item.title if item.group is not None else f'rules that hold for all of {item.title}'
        if not text:
            text = item.title or item.name
        text = re.sub(r' \[(?:IT|RI|WIRE) [\d.]+\],?', '', text)
        if re.match(r'[A-Z]([a-z]+)?\b(?![-.])', text):
            text = text[0].lower() + text[1:]
        self.seen = set()
        return roff.escape(text)

    def _include(self, item):
        return '#include <rnicpi/rnicpi.h>' if side(item) == 'ri' else f'#include <{os.path.basename(item.file)}>'

    def _described(self, item):
        """Returns the text of an item's comment, its brief sentence first."""
        doc = self.reader.doc(item.node.find('detaileddescription'))
        brief = self.reader.brief(item)
        if brief and item.kind != 'function' and doc.blocks and doc.blocks[0][0] == 'para':
            doc.blocks[0] = ('para', f'{brief} {doc.blocks[0][1]}')
        elif brief:
            doc.blocks.insert(0, ('para', brief))
        doc.blocks = without_clause(doc.blocks)
        return doc

    def _function(self, page, item):
        doc = self._described(item)
        found, doc.blocks = labelled(doc.blocks)
        if item.kind == 'function':
            page.section('LIBRARY')
            page.para('IT-API library (libitapi, -litapi)')
        page.section('SYNOPSIS')
        page.code(self._prototype(item), bold=True)
        page.section('DESCRIPTION')
        page.blocks(doc.blocks)
        for other, when in self._others(item):
            page.para(f'{BOLD}{other}{ROMAN}() is another name of this call{self._choice(other, when)}.')
        for label, text, more in found:
            if label == 'Required':
                page.para(f'Required: {text}')
                page.blocks(more)
        if doc.params:
            page.section('PARAMETERS')
            for name, text in doc.params:
                page.tagged(name, roff.sentence(text))
        self._results(page, item, doc, found)
        self._labels(page, found)
        for title, blocks in doc.sections:
            page.section('EXAMPLES' if title == 'Example' else title.upper())
            page.blocks(without_clause(blocks))

    def _others(self, item):
        """The names that macros give to a function, with the condition of each."""
        if item.kind != 'function' or side(item) != 'it':
            return []
        if item.file not in self._aliases:
            self._aliases[item.file] = other_names('\n'.join(self._source(item)))
        return self._aliases[item.file].get(item.name, [])

    def _choice(self, other, when):
        """When a name means this function, as the end of a sentence."""
        macros = ' or '.join(f'{BOLD}{macro}{ROMAN}' for macro in when if macro is not None)
        if not macros:
            return ''
        rest = [name for names in self._aliases.values() for name, others in names.items()
                if other in [one for one, _ in others] and name != self.current]
        self.seen |= set(rest)
        text = ', unless ' if None in when else ', if '
        return f'{text}{macros} is defined before the header is included' + \
            (f'; else it is {" or ".join(f"{BOLD}{name}{ROMAN}(3)" for name in sorted(rest))}' if rest else '')

    def _prototype(self, item):
        if item.kind == 'function':
            head = f'{item.type()} {item.name}'.replace('* ', '*')
            return f'{self._include(item)}\n\n{roff.declaration(head, roff.arguments_of(item.args()))}'
        returns = item.type().split('(*')[0].strip()
        head = f'{returns} (*{item.name})'.replace('* (', '*(')
        pointer = roff.declaration(head, roff.arguments_of(item.args()[1:]), indent='    ')
        return f'{self._include(item)}\n\nstruct {item.owner.name} {{\n    ...\n{pointer}\n    ...\n}};'

    def _results(self, page, item, doc, found):
        good = [(n, t) for n, t in doc.retvals if re.match(r'(IT|RI)_SUCCESS$', n) or not re.match(r'(IT|RI)_', n)]
        bad = [(n, t) for n, t in doc.retvals if (n, t) not in good]
        returns = without_clause(doc.returns)
        for label, text, more in found:
            if label == 'Results':
                codes = self._codes(text)
                good += [(n, t) for n, t in codes if not re.match('(IT|RI)_ERR', n)]
                bad += [(n, t) for n, t in codes if re.match('(IT|RI)_ERR', n)]
                returns += ([] if codes else [('para', roff.sentence(text))]) + more
        status = re.match(r'(enum ri_status|it_status_t)\b', item.type())
        if not status and not good and not bad and not returns:
            return
        page.section('RETURN VALUE')
        page.blocks(returns)
        if status:
            self._status(page, item, good, bad)
        else:
            for name, text in good:
                page.tagged(name, roff.sentence(text))
        also = [('para', f'Also: {text}') for label, text, _ in found if label == 'Also']
        if bad or also:
            page.section('ERRORS')
            for name, text in bad:
                page.tagged(name, roff.sentence(text))
            page.blocks(also)

    def _status(self, page, item, good, bad):
        success = 'IT_SUCCESS' if side(item) == 'it' else 'RI_SUCCESS'
        kind = 'it_status_t' if side(item) == 'it' else 'ri_status'
        self.seen.add(kind)
        for name, text in good:
            if FONTS.sub('', name) != success:
                page.tagged(name, roff.sentence(text))
        texts = [text for name, text in good if name == success]
        page.para(f'{BOLD}{success}{ROMAN}: {roff.sentence(texts[0])}' if texts
                  else f'{BOLD}{success}{ROMAN} is returned on success.')
        page.para('If it fails, one of the values of ERRORS is returned, and nothing visible has changed.' if bad
                  else f'If it fails, another value of {BOLD}{kind}{ROMAN}(3) is returned.')

    def _codes(self, text):
        """The values that a text lists, each with its meaning; none if it is prose."""
        result = []
        for piece in re.split(rf'; (?={_CODE})', text.strip().rstrip('.')):
            match = _RESULT.match(piece)
            if not match:
                return []
            for name in re.findall(_CODE, match.group(1)):
                name = FONTS.sub('', name)
                meaning = match.group(2)
                if not meaning and name in self.values:
                    meaning = self.reader.brief(self.values[name])
                result.append((name, meaning or ''))
        return result

    def _labels(self, page, found):
        sections = (('STATES', {'States': None}),
                    ('EVENTS', {'Events': None, 'Events here': 'At this side', 'Events at the peer': 'At the peer'}),
                    ('ATTRIBUTES', {'Thread': 'Threads', 'Threads': 'Threads', 'Blocks': 'Blocks'}))
        for title, labels in sections:
            entries = [entry for entry in found if entry[0] in labels and entry[1] != 'none.']
            if entries:
                page.section(title)
            for label, text, more in entries:
                text = roff.sentence(text)
                if labels[label] is None:
                    page.para(text[0].upper() + text[1:])
                else:
                    page.tagged(labels[label], text[0].upper() + text[1:])
                page.blocks(more)

    def _source(self, item):
        if item.file not in self._sources:
            with open(os.path.join(self.root, item.file), encoding='utf-8') as file:
                self._sources[item.file] = file.read().split('\n')
        return self._sources[item.file]

    def _struct(self, page, item):
        page.section('SYNOPSIS')
        page.code(f'{self._include(item)}\n\n{roff.definition(self._source(item), *item.lines)}', bold=True)
        page.section('DESCRIPTION')
        doc = self._described(item)
        page.blocks(doc.blocks)
        entries = [member for member in item.members if is_entry(member)]
        members = [member for member in item.members if member not in entries and '@' not in member.name]
        self._list(page, 'MEMBERS', [(member.name, self._described(member).blocks) for member in members])
        self._list(page, 'ENTRIES', [(f'{member.name}', [('para', f'{BOLD}{self.names[member.id]}{ROMAN}(3): '
                                                                  + self.reader.brief(member))])
                                     for member in entries])
        self.seen |= {self.names[member.id] for member in entries}

    def _enum(self, page, item):
        page.section('SYNOPSIS')
        typedef = 'typedef' in self._source(item)[item.lines[0] - 1]
        page.code(f'{self._include(item)}\n\n' + (f'typedef enum {{ ... }} {item.name};' if typedef else
                                                  f'enum {item.name} {{ ... }};'), bold=True)
        page.section('DESCRIPTION')
        page.blocks(self._described(item).blocks)
        self._list(page, 'VALUES', [(f'{value.name} {value.initializer()}'.strip(), self._described(value).blocks)
                                    for value in item.members])

    def _list(self, page, title, entries):
        if entries:
            page.section(title)
        for tag, blocks in entries:
            first = blocks[0][1] if blocks and blocks[0][0] == 'para' else ''
            page.tagged(tag, first)
            for block in blocks[1 if first else 0:]:
                page.lines.append('.RS')
                page.blocks([block])
                page.lines.append('.RE')

    def _typedef(self, page, item):
        page.section('SYNOPSIS')
        text = re.sub(r' ?\* (?=\w)', ' *', item.node.findtext('definition') or '') + ';'
        pointer = re.match(r'(.*?) ?\( ?\*(\w+)\) ?\((.*)\);$', text)
        if pointer:
            head = f'{pointer.group(1)} (*{pointer.group(2)})'
            text = roff.declaration(head, roff.arguments_of(f'({pointer.group(3)})'))
        page.code(f'{self._include(item)}\n\n{text}', bold=True)
        page.section('DESCRIPTION')
        page.blocks(self._described(item).blocks)

    def _group(self, page, item):
        page.section('DESCRIPTION')
        page.blocks(self._described(item).blocks)
        for node in item.files:
            page.blocks(without_clause(self.reader.doc(node.find('detaileddescription')).blocks))
        seen, named = set(self.seen), set()
        for title, node, members in item.parts:
            page.subsection(title)
            page.blocks(without_clause(self.reader.doc(node).blocks))
            for member in members:
                named.add(member.id)
                page.tagged(member.name, self.reader.brief(member))
        for title, kinds in (('GROUPS', ('group',)), ('FUNCTIONS', ('function',)), ('MACROS', ('define',)),
                             ('TYPES', ('struct', 'union', 'enum', 'typedef'))):
            members = [member for member in item.members if member.kind in kinds and member.id not in named
                       and (member.kind != 'define' or re.match('(it|ri)_', member.name, re.IGNORECASE))]
            entries = []
            for member in members:
                name = self.names.get(member.id)
                tag = f'{name}(3)' if name else f'{member.name} {member.initializer()}'.strip()
                entries.append((tag[:60], self._described(member).blocks if member.kind == 'define' else
                                [('para', member.title if member.kind == 'group' else self.reader.brief(member))]))
            self._list(page, title, entries)
        self.seen = seen  # the lists are references themselves

    # The ends of pages.

    def _specification(self, page, item):
        nodes = [item.node]
        if item.kind == 'group':
            nodes = [node.find('detaileddescription') for node in nodes + item.files] + [part[1] for part in item.parts]
        cited = self.spec.cited(' '.join(''.join(node.itertext()) for node in nodes if node is not None))
        if cited:
            page.section('SPECIFICATION')
            page.para('The specification is part of the manual. This page cites:')
            for where, numbers in cited:
                page.tagged(where, ', '.join(numbers))

    def _see_also(self, page, item):
        doc = self.reader.doc(item.node.find('detaileddescription'))  # names its @see targets, too
        others = [] if doc.see else sorted(self._users(item))
        names = self.seen | set(others)
        group = item.group or (item.owner.group if item.owner is not None else None)
        if group is not None:
            names.add(self.names[group.id])
        if is_entry(item):
            names.add(item.owner.name)
        names.discard(self.current)
        entries = [f'{BOLD}{name}{ROMAN}(3)' for name in sorted(names)]
        entries.append(f'{BOLD}{OVERVIEWS[self._side(item)]}{ROMAN}(7)')
        page.section('SEE ALSO')
        page.text(', '.join(entries))

    def _users(self, item):
        """Of a call: the structs and enums of its arguments; of a type: the calls that have it as argument."""
        calls = [call for call in self.reader.items.values() if call.kind == 'function' or is_entry(call)]
        if item in calls:
            return {self.names[other.id] for other in self.reader.items.values()
                    if other.kind in ('struct', 'union', 'enum') and other.id in self.names
                    and re.search(rf'\b{other.name}\b', item.args())}
        if item.kind in ('struct', 'union', 'enum', 'typedef') and item.name not in ('it_status_t', 'ri_status'):
            return {self.names[call.id] for call in calls if re.search(rf'\b{item.name}\b', call.args())}
        return set()
