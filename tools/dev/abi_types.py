# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""The parts of a header that a binary depends on: layouts, values of constants and signatures, read from DWARF.

gcc compiles a probe that includes the header and has a pointer to each function, and keeps types that nothing uses;
readelf prints the debug information. The result depends neither on optimization nor on the order of declarations.
"""

import os
import re
import subprocess
import tempfile

OWN = re.compile(r'(it|itx|ri|IT|ITX|RI)_')
ENTRY = re.compile(r'^ <(\d+)><([0-9a-f]+)>: Abbrev Number: \d+ \(DW_TAG_(\w+)\)')
VALUE = re.compile(r'^ +<[0-9a-f]+> +DW_AT_(\w+) *: (?:\([^)]*\):? ?)*(.*?)\s*$')
MACRO = re.compile(r'^#define ((?:IT|ITX|RI)_\w+) (?!__)(\S.*)$', re.MULTILINE)
AGGREGATES = {'structure_type': 'struct', 'union_type': 'union'}


class Entry:
    """One entry of the debug information."""

    def __init__(self, tag):
        self.tag = tag
        self.values = {}
        self.children = []

    def name(self):
        return self.values.get('name', '')

    def number(self, key, default=0):
        return int(self.values.get(key, str(default)).split()[0], 0)


class Dwarf:
    """The entries of an object file, and the names of their types."""

    def __init__(self, text):
        self.entries = {}
        self.top = []
        self._read(text)
        self.named = {}     # a struct, union or enum without a tag has the name of its first typedef
        for entry in self.top:
            if entry.tag == 'typedef' and self.target(entry) is not None and not self.target(entry).name():
                self.named.setdefault(id(self.target(entry)), entry.name())

    def _read(self, text):
        path = []
        entry = Entry('none')
        for line in text.splitlines():
            found = ENTRY.match(line)
            if found:
                depth, entry = int(found[1]), Entry(found[3])
                self.entries[found[2]] = entry
                del path[depth:]
                if path:
                    path[-1].children.append(entry)
                if depth == 1:
                    self.top.append(entry)
                path.append(entry)
                continue
            found = VALUE.match(line)
            if found:
                entry.values[found[1]] = found[2]

    def target(self, entry):
        """The entry that is the type of another; None is void."""
        where = entry.values.get('type')
        return self.entries[re.match(r'<0x(\w+)>', where)[1]] if where else None

    def title(self, entry):
        return entry.name() or self.named.get(id(entry), '')

    def type_text(self, entry):
        """The type of a member, a parameter or a result."""
        if entry is None:
            return 'void'
        if entry.tag in AGGREGATES:
            return f'{AGGREGATES[entry.tag]} {self.title(entry) or "{}"}'
        if entry.tag == 'enumeration_type':
            return f'enum {self.title(entry) or "{}"}'
        if entry.tag == 'subroutine_type':
            return self.signature(entry)
        inner = self.target(entry)
        if entry.tag == 'array_type':
            return self.type_text(inner) + ''.join(
                f'[{child.number("upper_bound", child.number("count") - 1) + 1}]' for child in entry.children)
        if entry.tag.endswith('_type') and entry.tag != 'base_type':
            mark = {'pointer': '*'}.get(entry.tag.removesuffix('_type'), entry.tag.removesuffix('_type'))
            return f'{self.type_text(inner)} {mark}'
        return entry.name()

    def signature(self, entry):
        words = ['...' if child.tag == 'unspecified_parameters' else self.type_text(self.target(child))
                 for child in entry.children]
        return f'({", ".join(words) or "void"}) -> {self.type_text(self.target(entry))}'

    def members(self, entry, base=0, prefix=''):
        """'offset type name' of each member; those of a struct without a name are listed with it."""
        lines = []
        for child in entry.children:
            if child.tag != 'member':
                continue
            offset = base + child.number('data_member_location')
            bits = f' : {child.number("bit_size")}' if 'bit_size' in child.values else ''
            bits += f' at bit {child.number("data_bit_offset")}' if 'data_bit_offset' in child.values else ''
            inner = self.target(child)
            name = prefix + child.name()
            lines.append(f'{offset} {self.type_text(inner)} {name or "(none)"}{bits}')
            if inner.tag in AGGREGATES and not self.title(inner):
                lines += self.members(inner, offset, name + '.' if child.name() else prefix)
        return lines


def described(dwarf):
    """{'struct ri_x': ['size 16', '0 uint32_t size', ...], ...} for the types whose names have one
    of our prefixes."""
    found = {}
    for entry in dwarf.top:
        name = dwarf.title(entry)
        if entry.tag == 'enumeration_type':
            values = [f'{child.name()} = {child.number("const_value")}' for child in entry.children]
            name = name or 'with ' + values[0].split()[0]
            if OWN.match(name.removeprefix('with ')):
                found[f'enum {name}'] = values
        elif not OWN.match(name) or 'declaration' in entry.values:
            continue
        elif entry.tag in AGGREGATES:
            found[f'{AGGREGATES[entry.tag]} {name}'] = [f'size {entry.number("byte_size")}', *dwarf.members(entry)]
        elif entry.tag == 'typedef':
            found[f'typedef {name}'] = [dwarf.type_text(dwarf.target(entry))]
    return found


def exports(text):
    """{'it_ep_free': 'ITAPI_2.1', ...} out of a version script."""
    found, node = {}, ''
    for version, symbol in re.findall(r'^([\w.]+) \{|^\t(\w+);', text, re.MULTILINE):
        node = version or node
        if symbol:
            found[symbol] = node
    return found


def of_header(folder, header, symbols=()):
    """Everything that binaries take from a header; `symbols`: {name: version} of the library's functions."""
    gcc = ['gcc', '-std=c11', '-I', folder]
    with tempfile.TemporaryDirectory() as work:
        source, built = os.path.join(work, 'probe.c'), os.path.join(work, 'probe.o')
        with open(source, 'w', encoding='utf-8') as file:
            file.write(f'#include "{header}"\n')
        declared = set(re.findall(r'\b(\w+)\s*\(', run([*gcc, '-E', '-P', source])))
        macros = run([*gcc, '-E', '-dM', source])
        with open(source, 'a', encoding='utf-8') as file:
            file.writelines(f'__typeof__({name}) *abi_probe_{name};\n' for name in sorted(declared & set(symbols)))
        run([*gcc, '-O0', '-gdwarf-5', '-fno-eliminate-unused-debug-types', '-c', source, '-o', built])
        dwarf = Dwarf(run(['readelf', '--wide', '--debug-dump=info', built]))
    found = described(dwarf)
    found.update({f'macro {name}': [body.strip()] for name, body in MACRO.findall(macros)})
    found.update({f'function {name}': [f'{symbols[name]}, in no header'] for name in set(symbols) - declared})
    for entry in dwarf.top:
        if entry.tag == 'variable' and entry.name().startswith('abi_probe_'):
            name = entry.name().removeprefix('abi_probe_')
            pointed = dwarf.target(dwarf.target(entry))
            found[f'function {name}'] = [f'{symbols[name]} {dwarf.type_text(pointed)}']
    return found


def run(command):
    return subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=True, text=True,
                          errors='replace', env=dict(os.environ, LC_ALL='C')).stdout
