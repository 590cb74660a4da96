# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""All cases of cases/, and the table of interoperation that a run writes."""

import glob
import importlib.util
import os

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'cases')

# Groups of cases (the first word of their names) that the usual run has with the later kernel, too.
LATER_GROUPS = ('ends', 'devices', 'unplug')


def all_cases():
    """The cases of all files, in the order of the files' names."""
    cases = []
    for path in sorted(glob.glob(os.path.join(FOLDER, '*.py'))):
        name = os.path.basename(path)[:-3]
        spec = importlib.util.spec_from_file_location(f'cases.{name}', path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        cases += module.CASES
    names = [case.name for case in cases]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise ValueError(f'two cases are called {", ".join(sorted(twice))}')
    return cases


def cases_of(length, suite='stable'):
    """The cases of a run that is 'quick', 'usual' or 'full', with the kernel of Debian's release or of its backports.

    With the later kernel, only a full run has all cases. A usual run has the quick ones and
    those of some groups, a quick run those that are marked for it.
    """
    later = suite == 'backports'
    if length == 'full':
        return all_cases()
    if length == 'quick':
        return [case for case in all_cases() if (case.each if later else case.quick)]
    return [case for case in all_cases()
            if not case.long and (not later or case.quick or case.name.split(' ')[0] in LATER_GROUPS)]


def boots_of(cases):
    """The cases by the guest that they need: a list of (topology, parameters of siw, cases).

    Cases that may crash the guest's kernel come last, so that no other case needs a fresh guest.
    """
    boots = {}
    for case in cases:
        boots.setdefault((case.fatal, case.topology, case.siw()), []).append(case)
    return [(key[1], key[2], boots[key]) for key in sorted(boots)]
