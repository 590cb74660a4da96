# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""Functions by which cases start lab-itapi on our side and lab-verbs on theirs."""

import contextlib
import tempfile


def talk(bench, role, family=4, ours=(), theirs=(), both=(), statuses=(0, 0), env=None, peer='lab-verbs', their_env=None):
    """Runs one exchange between lab-itapi and another program; `role` is that of our side:
    initiator or responder. Returns what both printed, our side first.

    `ours`, `theirs` and `both` are options of the programs; `statuses` is ours first, too. `env` and `their_env` are
    variables of the two.
    """
    common = ['-p', str(bench.port), *both]
    our_command = [bench.tool('lab-itapi'), *common, *ours]
    their_command = [bench.tool(peer), *common, *theirs]
    if role == 'initiator':
        said = bench.pair((bench.theirs, their_command),
                          (bench.ours, our_command + [bench.address(bench.theirs, family)]), bench.port,
                          statuses[::-1], env, their_env)
        return said[::-1]
    return bench.pair((bench.ours, our_command),
                      (bench.theirs, their_command + [bench.address(bench.ours, family)]), bench.port,
                      statuses, env, their_env)


@contextlib.contextmanager
def configured(text):
    """The environment of a program that has this configuration."""
    with tempfile.NamedTemporaryFile('w', suffix='.conf') as file:
        file.write(text)
        file.flush()
        yield {'ITAPI_CONFIG': file.name}


def leader(ours, operations):
    """The options of both sides if one leads: (ours, theirs)."""
    lead = ['--lead', operations]
    return (lead, []) if ours else ([], lead)
