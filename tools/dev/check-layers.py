#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""Compares every #include of the tree with the layers.

Between the layers stand contract headers; code includes contracts and its own folder, never
another layer's inside. RULES below is that sentence spelt out, one row per folder. GLib counts as
a layer too, since the installed headers must do without it.

A rule that fits no file is a complaint, too. So is a control verb of a provider that is called elsewhere
than in rnicpi/ri_call*.c, where calls are checked, and a word of IT-API in the folder that access layers
share (FOREIGN_WORDS).

Usage: check-layers.py [ROOT]
"""

import fnmatch
import os
import re
import sys

import source_tree

PROVIDER_INTERFACE = ['rnicpi/rnicpi*.h']
# Without the control verbs, which are the kAL's.
PROVIDER_USER_HALF = ['rnicpi/rnicpi_types.h', 'rnicpi/rnicpi_attr.h', 'rnicpi/rnicpi_event.h',
                      'rnicpi/rnicpi_fast.h', 'rnicpi/rnicpi_host.h']
GLIB = ['<glib.h>', '<glib/*>', '<glib-*>', '<gio/*>', '<gmodule.h>', '<json-glib/*>']

# The test vectors and their reader, for the tests of the layers that speak on the wire.
VECTORS = 'conformance/wire/vectors/vectors.h'

# Results on stdout that are not lost: of the C library only, for every program.
OUTPUT = 'tools/common/tool_output.h'
FABRIC = 'itapi/tests/it_fabric.h'

# The longest matching prefix of a file's path picks its row: what it may include besides the
# C library and, where 'own' is left out, the headers of its own folder.
RULES = {
    'itapi/': ['ual/ual.h', 'ual/ual_dto.h', 'ual/ual_names.h', 'ual/ual_log.h'] + GLIB,
    'itapi/tests/': ['rnicpi/support/ri_at_end.h'] + GLIB,
    # Its processes meet in a folder, as those of the provider's own tests do.
    'itapi/tests/test-itapi-kills.c': ['vp/emul/tests/vem_runtime.h'] + GLIB,
    'itapi/it_api.h': [],
    'itapi/it_ext.h': [],
    'ual/': ['itapi/it_api.h', 'ual/session/*.h', 'kal/kal_call.h', 'kal/*/kal_settings*.h', 'kal/live/kal_live_read.h', 'rnicpi/support/ri_at_end.h',
             'rnicpi/support/ri_calls.h', 'rnicpi/support/ri_fd.h', 'rnicpi/support/ri_log.h', 'rnicpi/support/ri_outlet.h',
             'rnicpi/support/ri_owned.h'] +
            PROVIDER_USER_HALF + GLIB,
    # What access layers share knows none of them.
    'ual/session/': ['kal/kal_call.h', 'kal/host/kal_settings.h', 'rnicpi/support/ri_order.h', 'rnicpi/support/ri_owned.h',
                     'rnicpi/support/ri_relax.h', 'rnicpi/support/ri_slot.h'],
    'ual/session/tests/': ['kal/kal_call.h', 'rnicpi/support/ri_relax.h'] + GLIB,
    # Beside the uAL: another access layer over the session, for programs of verbs.
    'doors/verbs/': ['ual/session/*.h', 'kal/kal_call.h', 'kal/host/kal_host_use.h', 'kal/host/kal_settings.h', 'rnicpi/support/ri_*.h'] + PROVIDER_USER_HALF + GLIB,
    'doors/verbs/tests/': ['doors/verbs/*.h', 'itapi/tests/child_of_fork.h', 'itapi/tests/it_net.h', 'kal/kal_call.h',
                          'rnicpi/support/ri_*.h'] + PROVIDER_USER_HALF + GLIB,
    'kal/': PROVIDER_INTERFACE + ['kal/*/kal_*.h', 'rnicpi/support/*.h', 'rnicpi/ri_*.h'] + GLIB,
    'kal/host/': PROVIDER_INTERFACE + ['kal/kal_call.h', 'rnicpi/support/*.h', 'rnicpi/ri_*.h'] + GLIB,
    'kal/config/': PROVIDER_INTERFACE + ['kal/kal_objects.h', 'kal/host/*.h', 'rnicpi/support/*.h', 'rnicpi/ri_*.h'] + GLIB,
    # The client half of the daemon, and what both say to each other.
    'kal/remote/': PROVIDER_INTERFACE + ['kal/kal_call.h', 'kal/host/kal_*.h', 'kal/config/kal_config.h', 'kal/config/kal_resources.h',
                                         'kal/cm/kal_sock.h', 'kal/cm/kal_sock_source.h', 'rnicpi/support/*.h'],
    # The table that other processes read: what is counted, not who counts.
    'kal/live/': ['rnicpi/rnicpi_types.h', 'rnicpi/rnicpi_attr.h', 'rnicpi/rnicpi_fast.h', 'kal/kal_call.h', 'kal/host/kal_*.h',
                  'kal/cm/kal_cm_states.h', 'rnicpi/support/*.h'],
    # The daemon sees no provider, no object and no connection.
    'kal/daemon/': ['kal/remote/kald_*.h', 'kal/config/kal_config.h', 'kal/config/kal_config_file.h', 'rnicpi/support/ri_at_end.h',
                    'rnicpi/support/ri_fd.h', 'rnicpi/support/ri_outlet.h', 'rnicpi/support/ri_setting.h'] + GLIB,
    'kal/cm/': PROVIDER_INTERFACE + ['kal/kal_*.h', 'kal/config/kal_config.h', 'kal/host/kal_fds.h', 'kal/live/kal_live.h', 'rnicpi/support/*.h',
                                     'rnicpi/ri_*.h'] + GLIB,
    'kal/tests/': PROVIDER_INTERFACE + ['kal/*/kal_*.h', 'kal/daemon/tests/kald_play.h', 'rnicpi/support/*.h', 'rnicpi/ri_*.h', 'itapi/tests/scarce/scarce.h', 'vp/common/tests/vsw_octets.h',
                                         VECTORS] + GLIB,
    'rnicpi/': [],
    'rnicpi/template/': PROVIDER_INTERFACE,
    'rnicpi/ri_': [],
    'rnicpi/tests/': GLIB,
    'vp/common/': PROVIDER_INTERFACE + ['rnicpi/support/*.h'] + GLIB,
    'vp/emul/tests/': PROVIDER_INTERFACE + ['rnicpi/support/*.h', 'vp/common/*.h', 'itapi/tests/scarce/scarce.h'] + GLIB,
    'vp/iwarp/': PROVIDER_INTERFACE + ['rnicpi/support/*.h', 'vp/common/*.h'] + GLIB,
    'vp/iwarp/tests/': PROVIDER_INTERFACE + ['rnicpi/support/*.h', 'vp/common/*.h', 'vp/iwarp/*.h', VECTORS] + GLIB,
    'vp/roce/': PROVIDER_INTERFACE + ['rnicpi/support/*.h', 'vp/common/*.h', 'vp/roce/wire/*.h', 'vp/roce/cm/*.h'] + GLIB,
    # Codecs, which know no provider.
    'vp/roce/wire/': ['rnicpi/support/ri_wire.h'],
    'vp/roce/cm/': PROVIDER_INTERFACE + ['rnicpi/support/*.h', 'vp/common/*.h', 'vp/roce/wire/*.h'] + GLIB,
    'vp/roce/tests/': PROVIDER_INTERFACE + ['rnicpi/support/*.h', 'vp/common/*.h', 'vp/roce/*.h', VECTORS] + GLIB,
    'vp/roce/cm/tests/': PROVIDER_INTERFACE + ['rnicpi/support/*.h', 'vp/common/*.h', 'vp/roce/*.h', VECTORS] + GLIB,
    # The codecs of the wires, for captures.
    'vp/emul/vem_tap': PROVIDER_INTERFACE + ['rnicpi/support/*.h', 'vp/common/*.h', 'vp/roce/wire/*.h', 'vp/iwarp/mpa_*.h',
                                             'vp/iwarp/ddp_*.h', 'vp/iwarp/rdmap_*.h'],
    'vp/emul/': PROVIDER_INTERFACE + ['rnicpi/support/*.h', 'vp/common/*.h'] + GLIB,
    'vp/ib/': PROVIDER_INTERFACE + ['rnicpi/support/*.h', 'vp/common/*.h'] + GLIB,
    'conformance/wire/peers/': ['itapi/it_api.h', 'itapi/it_ext.h', 'tools/common/*.h'] + GLIB,
    'conformance/wire/lab/': ['itapi/it_api.h', 'itapi/it_ext.h', 'tools/common/*.h'] + GLIB,
    # It speaks to the tables of a provider, since IT-API has no calls for what it judges.
    'conformance/wire/lab/lab_peer.c': PROVIDER_INTERFACE + ['rnicpi/ri_load.h', 'rnicpi/ri_registry.h', 'kal/kal_call.h'] + GLIB,
    # The frame stands where the library stands: it loads providers and gives them the host of production.
    'conformance/judge/certify/cert_': PROVIDER_INTERFACE + ['rnicpi/ri_load.h', 'kal/host/kal_absent.h', 'kal/kal_call.h', 'kal/host/kal_host.h',
                                                             'itapi/tests/scarce/scarce.h', FABRIC, OUTPUT] + GLIB,
    'conformance/judge/certify/tests/': PROVIDER_INTERFACE + ['rnicpi/template/mc.h'] + GLIB,
    'conformance/judge/certify/run/': ['tools/common/*.h'] + GLIB,
    'conformance/': PROVIDER_INTERFACE + ['itapi/it_api.h', 'itapi/it_ext.h', 'rnicpi/support/ri_at_end.h', OUTPUT] + GLIB,
    'conformance/judge/differential/': ['itapi/it_api.h', 'itapi/it_ext.h', 'itapi/tests/it_claims.h', 'itapi/tests/it_door.h', FABRIC, OUTPUT] + GLIB,
    'conformance/bad/': PROVIDER_INTERFACE + ['rnicpi/ri_registry.h', 'rnicpi/support/*.h', 'itapi/it_api.h', 'itapi/it_ext.h',
                                          OUTPUT] + GLIB,
    # The CRC of the project, and no more of its provider.
    'conformance/record/': PROVIDER_INTERFACE + ['rnicpi/support/*.h', 'vp/iwarp/mpa_crc.h'],
    'conformance/fuzz/': PROVIDER_INTERFACE + ['rnicpi/ri_load.h', 'rnicpi/support/*.h', 'kal/kal_*.h', 'kal/*/kal_*.h',
                                               'kal/remote/kald_*.h', 'kal/daemon/kald_*.h',
                                               'vp/*/vem_*.h', 'vp/*/viw_*.h', 'vp/*/vsw_*.h', 'vp/iwarp/*.h', 'vp/roce/*.h', 'vp/roce/*/*.h',
                                               'tools/common/*.h', 'tools/it-cp/*.h', 'tools/it-test/*.h', 'doors/verbs/door_*.h'] + GLIB,
    'doc/examples/': ['itapi/it_api.h', 'itapi/it_ext.h'],
    # Lines of the log have one form, and block no thread, in the tools as in the library.
    'tools/': ['itapi/it_api.h', 'itapi/it_ext.h', 'rnicpi/support/ri_at_end.h', 'rnicpi/support/ri_fd.h', 'rnicpi/support/ri_log.h',
               'rnicpi/support/ri_near.h', 'rnicpi/support/ri_outlet.h'] + GLIB,
    # It stands in place of the machine: it has a host table, and gives it to its threads.
    'tools/sim/': ['doors/verbs/door_list.h', 'itapi/it_api.h', 'itapi/it_ext.h', 'tools/common/*.h', 'rnicpi/rnicpi_host.h', 'rnicpi/support/ri_fd.h', 'kal/host/kal_host_use.h',
                   'kal/host/kal_capture.h'] + GLIB,
    'tools/kalctl/': ['kal/config/kal_config.h', 'kal/daemon/kald_policy.h', 'kal/remote/kald_wire.h', 'rnicpi/support/ri_fd.h',
                      'rnicpi/support/ri_setting.h', 'tools/common/*.h'] + GLIB,
    'tools/replay/': ['itapi/it_api.h', 'itapi/it_ext.h', 'tools/common/*.h'] + GLIB,
    'tools/it-run/': ['doors/verbs/door_list.h', 'itapi/it_api.h', 'tools/common/*.h'] + GLIB,
}

# Layers in a folder of another one.
NESTED = ('ual/session/', 'kal/host/', 'kal/config/', 'kal/cm/', 'kal/live/', 'kal/remote/', 'kal/daemon/')

# Words that a layer must not know, by the prefix of its files, with whose they are.
FOREIGN_WORDS = {
    'ual/session/': ('IT-API', re.compile(r'\b(?:itx?_\w+|ITX?_\w+|ual_\w+|UAL_\w+|IT-API|(?:IA|EP|EVD|SEVD|AEVD|LMR|RMR|PZ)s?|'
                                          r'handles?|[Ee]vent dispatchers?|[Ee]ndpoints?)\b|\[IT \d')),
}

INCLUDE = re.compile(r'^\s*#\s*include\s+([<"])([^>"]+)[>"]', re.MULTILINE)


def row_of(path):
    """The row of RULES for a file, or None outside the layers."""
    prefixes = [prefix for prefix in RULES if path.startswith(prefix)]
    return max(prefixes, key=len, default=None)


def folder_of(path):
    """The layer a file belongs to, as the prefix of its path: 'kal/', 'vp/iwarp/'."""
    for nested in NESTED:
        if path.startswith(nested):
            return nested
    parts = path.split('/')
    depth = 2 if parts[0] == 'vp' else 1
    return '/'.join(parts[:depth]) + '/'


def resolve(path, name, headers):
    """The header of ours that an #include "name" in path means, or None if there is none."""
    beside = os.path.normpath(os.path.join(os.path.dirname(path), name))
    if beside in headers:
        return beside
    own = [h for h in headers if folder_of(h) == folder_of(path) and h.endswith('/' + name)]
    anywhere = [h for h in headers if h == name or h.endswith('/' + name)]
    return (own or anywhere or [None])[0]


def is_glib(name):
    return any(fnmatch.fnmatch(f'<{name}>', pattern) for pattern in GLIB)


def allowed(path, target):
    if not target.startswith('<') and folder_of(target) == folder_of(path):
        return True
    return any(fnmatch.fnmatch(target, pattern) for pattern in RULES[row_of(path)])


def complaint(path, line, target):
    row = row_of(path)
    may = [rule for rule in RULES[row] if not rule.startswith('<')]
    may.append('its own folder')
    if GLIB[0] in RULES[row]:
        may.append('GLib')
    return (f'{path}:{line}: {row} must not include {target}; it may include {", ".join(may)}. '
            'A need beyond that belongs into a contract header: see doc/architecture.md.')


def check_file(root, path, headers):
    """The complaints about one file."""
    text = source_tree.code_only(source_tree.read(root, path), keep_strings=True)
    for match in INCLUDE.finditer(text):
        line = text.count('\n', 0, match.start(1)) + 1
        name = match.group(2)
        if match.group(1) == '"':
            target = resolve(path, name, headers)
            if target is None:
                yield (f'{path}:{line}: no header of ours is called "{name}"; '
                       'system headers are included with <>.')
                continue
        elif is_glib(name):
            target = f'<{name}>'
        else:
            # Installed headers may include each other with <>, as an outsider would.
            target = resolve(path, name, headers) if name in INSTALLED else None
            if target is None:
                continue
        if not allowed(path, target):
            yield complaint(path, line, target)


def check_words(root, path):
    """The complaints about words of another layer in one file, in its comments too. Includes are judged by RULES."""
    for prefix, (whose, words) in FOREIGN_WORDS.items():
        if not path.startswith(prefix):
            continue
        for number, line in enumerate(source_tree.read(root, path).split('\n'), 1):
            if INCLUDE.match(line):
                continue
            for match in words.finditer(line):
                yield f'{path}:{number}: "{match.group(0)}" is a word of {whose}, which {prefix} does not know.'


# A control verb, called through the provider's tables: provider->qp->create(...).
VERB = re.compile(r'->\s*(?:device|pd|cq|qp|mem|srq|ah|cm|llp)->\w+\s*\(')


def check_verbs(root, path):
    """The complaints about control verbs that one file of the kAL calls by itself."""
    text = source_tree.code_only(source_tree.read(root, path))
    for match in VERB.finditer(text):
        line = text.count('\n', 0, match.start()) + 1
        yield f'{path}:{line}: control verbs are called through rnicpi/ri_call.h, which checks them.'


def unused_rules(root):
    """The rules of RULES that no file of a whole tree needs: prefixes and patterns that fit none."""
    files = source_tree.files_of(root)
    for prefix, patterns in RULES.items():
        if not any(path.startswith(prefix) for path in files):
            yield f'check-layers.py: no file begins with {prefix}; remove its row from RULES.'
        for pattern in patterns:
            if not pattern.startswith('<') and not fnmatch.filter(files, pattern):
                yield f'check-layers.py: {prefix} may include {pattern}, but no file fits that.'


INSTALLED = ('it_api.h', 'it_ext.h', 'rnicpi.h', 'rnicpi_types.h', 'rnicpi_attr.h', 'rnicpi_event.h',
             'rnicpi_fast.h', 'rnicpi_host.h')


def check(root):
    """All complaints about a tree."""
    files = source_tree.files_of(root)
    headers = [path for path in files if path.endswith('.h')]
    for path in files:
        if path.endswith(('.c', '.h', '.cc', '.cpp')) and row_of(path) is not None:
            yield from check_file(root, path, headers)
        if path.startswith('kal/') and path.endswith('.c') and '/tests/' not in path:
            yield from check_verbs(root, path)
        yield from check_words(root, path)


def all_complaints(root):
    yield from check(root)
    yield from unused_rules(root)


if __name__ == '__main__':
    sys.exit(source_tree.report(all_complaints, sys.argv))
