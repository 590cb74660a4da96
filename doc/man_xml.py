# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""Reads what Doxygen found in the headers (its XML output) into plain objects for the man pages.

Texts are strings in which BOLD, ITALIC and ROMAN choose the font from there on. References are resolved by
a function that the caller gives, since only the caller knows which pages there will be.
"""

import os
import re
import xml.etree.ElementTree as ElementTree

BOLD, ITALIC, ROMAN = '\x01', '\x02', '\x03'
FONTS = re.compile('[\x01\x02\x03]')
_INLINE = {'computeroutput': BOLD, 'bold': BOLD, 'emphasis': ITALIC}


class Doc:
    """The contents of a comment: its blocks in order, and the parts that Doxygen keeps apart (parameters, results)."""

    def __init__(self):
        self.blocks = []    # ('para', text), ('list', [[block]]), ('table', [[text]]), ('code', text), ('title', text)
        self.params = []    # (name, text)
        self.retvals = []   # (name, text)
        self.returns = []   # blocks
        self.see = []       # texts
        self.sections = []  # (title, blocks)


class Item:
    """A function, type, macro, member, value or group."""

    def __init__(self, node, kind):
        self.kind = kind
        self.id = node.get('id')
        self.name = (node.findtext('name') or node.findtext('compoundname') or '').strip()
        self.title = (node.findtext('title') or '').strip()
        self.node = node
        self.group = None   # the group that it belongs to
        self.owner = None   # the struct of a member, the enum of a value
        self.members = []   # of a struct or union: members; of an enum: values; of a group: items
        self.parts = []     # of a group: (title, node of the description, items) of its named parts
        self.files = []     # of a group: nodes of the headers that belong to it
        location = node.find('location')
        self.file = location.get('file') if location is not None else None
        self.lines = None
        if location is not None and location.get('bodystart') and location.get('bodyend'):
            self.lines = (int(location.get('bodystart')), int(location.get('bodyend')))

    def type(self):
        return plain(self.node.find('type'))

    def args(self):
        return ' '.join((self.node.findtext('argsstring') or '').split())

    def initializer(self):
        return plain(self.node.find('initializer'))


def plain(node):
    """The text of a node without its markup."""
    return ' '.join(''.join(node.itertext()).split()) if node is not None else ''


class Reader:
    """Everything in a folder of Doxygen's XML."""

    def __init__(self, folder):
        self.items = {}   # by id
        self.groups = []
        self.resolve = lambda refid, text: text
        self._files = []
        for name in sorted(os.listdir(folder)):
            if name.endswith('.xml') and not name.startswith(('index', 'dir_', 'Doxyfile')):
                for node in ElementTree.parse(os.path.join(folder, name)).getroot().iter('compounddef'):
                    self._compound(node)
        self._belong()

    # What there is.

    def _compound(self, node):
        kind = node.get('kind')
        if kind == 'file':
            self._files.append(node)
        if kind not in ('group', 'struct', 'union'):
            return
        item = Item(node, kind)
        self.items[item.id] = item
        if kind == 'group':
            self.groups.append(item)
        for section in node.findall('sectiondef'):
            members = [self._member(member, item) for member in section.findall('memberdef')]
            item.members += members
            if section.findtext('header'):
                item.parts.append((section.findtext('header'), section.find('description'), members))

    def _member(self, node, owner):
        item = Item(node, node.get('kind'))
        self.items[item.id] = item
        if owner.kind == 'group':
            item.group = owner
        else:
            item.owner = owner
        for value in node.findall('enumvalue'):
            child = Item(value, 'value')
            child.owner = item
            item.members.append(child)
            self.items[child.id] = child
        return item

    def _belong(self):
        """Groups learn their types, subgroups and headers."""
        for group in self.groups:
            for inner in group.node.findall('innerclass') + group.node.findall('innergroup'):
                child = self.items.get(inner.get('refid'))
                if child is not None:
                    child.group = group
                    group.members.append(child)
        for node in self._files:
            path = node.find('location').get('file')
            groups = {item.group for item in self.items.values()
                      if item.file == path and item.group is not None and item.kind != 'group'}
            leaves = {group for group in groups if not any(g.group is group for g in self.groups)}
            if len(leaves) == 1:
                leaves.pop().files.append(node)
            elif leaves and (parent := next(iter(leaves)).group) is not None:
                parent.files.append(node)

    # What it says.

    def brief(self, item):
        node = item.node.find('briefdescription')
        return ' '.join(self.inline(para).strip() for para in node.findall('para')) if node is not None else ''

    def doc(self, node):
        """Returns the contents of a description; empty if the node is None."""
        doc = Doc()
        if node is not None:
            for child in node:
                self._block(child, doc, doc.blocks)
        return doc

    def inline(self, node):
        """A node's text with fonts; blocks in it count as nothing."""
        parts = [node.text or '']
        for child in node:
            if child.tag == 'ref':
                parts.append(self.resolve(child.get('refid'), ''.join(child.itertext())))
            elif child.tag in _INLINE:
                parts.append(_INLINE[child.tag] + FONTS.sub('', self.inline(child)) + ROMAN)
            elif child.tag in ('linebreak', 'sp', 'nonbreakablespace'):
                parts.append(' ')
            elif child.tag in ('ndash', 'mdash'):
                parts.append('-')
            elif child.tag not in _BLOCKS:
                parts.append(self.inline(child))
            parts.append(child.tail or '')
        return ' '.join(''.join(parts).split())

    def _para(self, node, doc, blocks):
        """A paragraph: text, and blocks between its texts."""
        run = ElementTree.Element('para')
        run.text = node.text
        for child in node:
            if child.tag in _BLOCKS:
                self._run(run, blocks)
                self._block(child, doc, blocks)
                run = ElementTree.Element('para')
                run.text = child.tail
            else:
                run.append(child)
        self._run(run, blocks)

    def _run(self, run, blocks):
        text = self.inline(run).strip()
        if text:
            blocks.append(('para', text))

    def _block(self, node, doc, blocks):
        handler = _BLOCKS.get(node.tag)
        if handler is not None:
            handler(self, node, doc, blocks)

    def _list(self, node, doc, blocks):
        entries = []
        for entry in node.findall('listitem'):
            inner = []
            for child in entry:
                self._block(child, doc, inner)
            entries.append(inner)
        blocks.append(('list', entries))

    def _table(self, node, _, blocks):
        blocks.append(('table', [[' '.join(self.inline(para) for para in cell.findall('para')).strip()
                                  for cell in row.findall('entry')] for row in node.findall('row')]))

    def _code(self, node, _, blocks):
        def text(part):
            result = ' ' if part.tag == 'sp' else part.text or ''
            return result + ''.join(text(child) + (child.tail or '') for child in part)

        lines = [text(line) for line in node.findall('codeline')] or text(node).split('\n')
        blocks.append(('code', '\n'.join(line.rstrip() for line in lines).strip('\n')))

    def _params(self, node, doc, _):
        target = doc.params if node.get('kind') == 'param' else doc.retvals
        for entry in node.findall('parameteritem'):
            inner = []
            for child in entry.find('parameterdescription'):
                self._block(child, doc, inner)
            text = ' '.join(block[1] for block in inner if block[0] == 'para')
            for name in entry.iter('parametername'):
                target.append((plain(name), text))

    def _simple(self, node, doc, blocks):
        inner = []
        for child in node:
            self._block(child, doc, inner)
        if node.get('kind') == 'return':
            doc.returns += inner
        elif node.get('kind') == 'see':
            doc.see += [block[1] for block in inner if block[0] == 'para']
        elif node.get('kind') == 'par' and node.findtext('title'):
            doc.sections.append((node.findtext('title').rstrip(':'), inner))
        else:
            blocks += inner

    def _section(self, node, doc, blocks):
        if node.findtext('title'):
            blocks.append(('title', node.findtext('title')))
        for child in node:
            self._block(child, doc, blocks)


_BLOCKS = {
    'para': Reader._para,
    'itemizedlist': Reader._list,
    'orderedlist': Reader._list,
    'table': Reader._table,
    'programlisting': Reader._code,
    'verbatim': Reader._code,
    'parameterlist': Reader._params,
    'simplesect': Reader._simple,
    'sect1': Reader._section,
    'sect2': Reader._section,
    'sect3': Reader._section,
}
