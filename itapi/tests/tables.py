# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""Reads the tables of IT-API 2.1 in data/ and determines what our header must have.

The tables have both the standard and one copy of its header (columns "copy_"). Our header
follows the standard, except where the project decided otherwise; all such decisions are in this
file:

- private data of the four CM events comes right behind `evd`, where the copy has it;
- it_event_cm_any_t, it_in_addr_t and it_event_t.cm_any are kept;
- the union of it_path_t has the name `u` as well as `remote`;
- asynchronous events have both sets of names.
"""

import csv
import os

MODES = ('V10', 'V20', 'V21')

CM_EVENTS = ('it_connection_event_t', 'it_conn_request_event_t', 'it_ud_svc_reply_event_t',
             'it_ud_svc_request_event_t')

KEPT_TYPES = ('it_in_addr_t', 'it_event_cm_any_t')

# it_ia_create of a library for IT_32BIT, which no program of the other width shall find.
NARROW_ENTRY = 'itx_ia_create_32bit'
# Identifiers of the headers that are in no table: include guards, that entry, and the help for `u`.
OURS = {'IT_API_H', 'IT_EXT_H', 'ITX_EXTENSION', 'itx_path_ends', 'ITX_FLAGS', NARROW_ENTRY,
        'itx_setting_t', 'itx_support_t', 'ITX_SUPPORT_LMR_MODIFY', 'ITX_SUPPORT_DTO_EVD_RESIZE', 'ITX_SUPPORT_SRQ_LOW_WATERMARK',
        'ITX_SUPPORT_LOCAL_READ_CHECK', 'ITX_SUPPORT_REMOTE_STATUS', 'ITX_SUPPORT_DMABUF', 'ITX_SUPPORT_EP_REUSE',
        'itx_log_level_t', 'itx_log_writer_t',
        'ITX_LOG_ERROR', 'ITX_LOG_WARNING', 'ITX_LOG_INFO', 'ITX_LOG_DEBUG', 'itx_counter_t', 'itx_live_kind_t', 'itx_live_t'}
# ... and how those of live objects begin.
OURS_BEGIN = ('ITX_COUNTER', 'ITX_LIVE_')


def rows(folder, name):
    path = os.path.join(folder, name + '.tsv')
    with open(path, encoding='ascii') as table:
        return list(csv.DictReader(table, delimiter='\t', quoting=csv.QUOTE_NONE))


class Constant:
    """A constant of an enumeration."""

    def __init__(self, row, extension):
        self.type = row['type']
        self.name = row['copy_constant' if extension else 'constant']
        self.value = int(row['copy_value' if extension else 'value'])


class Member:
    """A member of a structure or union, or a nested one with members of its own."""

    def __init__(self, row):
        self.path = row['path'].split('.')
        self.name = self.path[-1]
        self.c_type = row['c_type']
        self.array = row['array']
        self.bits = row['bits']
        self.members = []

    @property
    def nested(self):
        return bool(self.members)

    def flat(self):
        """This member and all below it."""
        yield self
        for member in self.members:
            yield from member.flat()


class Structure:
    def __init__(self, name, kind):
        self.name = name
        self.kind = kind
        self.members = []

    def flat(self):
        for member in self.members:
            yield from member.flat()


class Function:
    def __init__(self, name, returns, extension):
        self.name = name
        self.returns = returns
        self.extension = extension
        self.parameters = []    # (direction, type, name)


def constants(folder):
    for row in rows(folder, 'enums'):
        if row['status'] == 'standard':
            yield Constant(row, False)
        # The copy's name for a number that the standard knows by another, and its new numbers.
        if row['type'] == 'it_event_type_t' and row['copy_constant'] not in ('-', row['constant']):
            yield Constant(row, True)
        elif row['status'] == 'extension':
            yield Constant(row, True)


def member_order(structure, row):
    copy_order = structure in CM_EVENTS and row['depth'] == '1'
    return int(row['copy_order' if copy_order or row['order'] == '-' else 'order'])


def structures(folder, mode):
    """Returns every structure and union in the order of the tables, as the mode declares it."""
    found = {}
    table = rows(folder, 'structs')
    for row in sorted(table, key=lambda row: (int(row['depth']), member_order(row['type'], row))):
        kept = row['type'] in KEPT_TYPES or (row['type'], row['path']) == ('it_event_t', 'cm_any')
        if row['status'] != 'standard' and not kept:
            continue
        if row['mode'] != 'all' and mode not in row['mode'].split('|'):
            continue
        structure = found.setdefault(row['type'], Structure(row['type'], row['kind']))
        member = Member(row)
        place = structure
        for step in member.path[:-1]:
            place = next(inner for inner in place.members if inner.name == step)
        place.members.append(member)
    return [found[name] for name in dict.fromkeys(row['type'] for row in table) if name in found]


def functions(folder):
    found = {}
    for row in rows(folder, 'functions'):
        if row['function'] == 'CookieAssign':
            continue    # went with the copy's wide cookie
        function = found.setdefault(row['function'], Function(
            row['function'], row['return_type'], row['status'] == 'extension'))
        function.parameters.append((row['direction'], row['c_type'], row['parameter']))
    return list(found.values())


def typedefs(folder, narrow):
    """Name and type of each; narrow: with IT_32BIT."""
    for row in rows(folder, 'typedefs'):
        if row['status'] != 'standard':
            continue
        if row['condition'] == 'all' or (row['condition'] == 'IT_32BIT defined') == narrow:
            yield row['name'], row['c_type']


def macros(folder, mode):
    """Name and text of each macro with a fixed text."""
    for row in rows(folder, 'macros'):
        if row['status'] != 'standard' or row['kind'] in ('mode', 'guard', 'linkage'):
            continue
        if row['kind'] == 'binding' and row['condition'] != mode:
            continue
        yield row['name'], '' if row['value'] == '(empty)' else row['value']


def identifiers(folder):
    """Every name in the tables."""
    names = set()
    for row in rows(folder, 'enums'):
        names |= {row['type'], row['constant'], row['copy_constant']}
    for row in rows(folder, 'structs'):
        names |= {row['type'], row['path'].split('.')[-1]}
    for row in rows(folder, 'functions'):
        names |= {row['function'], row['parameter']}
    for row in rows(folder, 'typedefs'):
        names |= {row['name'], row['c_type'].replace('struct ', '').replace(' *', '')}
    for row in rows(folder, 'macros'):
        names.add(row['name'])
    return names
