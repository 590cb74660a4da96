# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""The static analysers, as steps of run_checks.py."""

import json
import os


def commands_of(folder):
    """The compile commands of a build folder for our C files, without generated ones, by their
    paths from the top of the tree."""
    with open(f'{folder}/compile_commands.json', encoding='utf-8') as file:
        commands = json.load(file)
    by_path = {os.path.relpath(os.path.join(c['directory'], c['file'])): c for c in commands}
    return {p: by_path[p] for p in sorted(by_path) if p.endswith('.c') and not p.startswith('build/')}


# Checks of clang-tidy that are off for tests, fuzzers and benchmarks. There the macros of GTest
# look like deep nesting, and comparisons mix integer types freely; check-source.py measures the
# functions anyway. Version 14 also takes a 64-bit shift for a 32-bit one after inlining, which
# UBSan checks correctly, and takes the octets of a frame for a string without its terminator.
TEST_ROOMS = ('/tests/', '/fuzz/', '/benchmarks/')
TEST_CHECKS = ('--checks=-readability-function-size,-bugprone-signed-char-misuse,-cert-str34-c,'
               '-bugprone-not-null-terminated-result,'
               '-clang-analyzer-core.UndefinedBinaryOperatorResult')


def tidy(checker, name, options, sources):
    """Runs clang-tidy over files, in parallel processes; each process gets one file, since version
    14 is confused by a second one."""
    if sources:
        checker.check(name, [
            'sh', '-c', 'jobs=$1; options=$2; shift 2; printf "%s\\n" "$@" | '
            'xargs -n 1 -P "$jobs" clang-tidy --quiet -p build/clang $options',
            'tidy', str(checker.jobs), options, *sources])


def run_analysers(checker):
    sources = commands_of('build/clang')
    with open('build/logs/compile_commands.json', 'w', encoding='utf-8') as file:
        json.dump(list(sources.values()), file)
    tests = [path for path in sources if any(room in path for room in TEST_ROOMS)]
    tidy(checker, 'clang-tidy', '', [path for path in sources if path not in tests])
    tidy(checker, 'clang-tidy of tests', TEST_CHECKS, tests)
    checker.check('cppcheck', [
        'cppcheck', '-q', f'-j{checker.jobs}', '--project=build/logs/compile_commands.json',
        '--library=gtk', '--library=posix', '-DG_DEFINE_QUARK(q,f)=',
        '--enable=warning,portability,performance', '--inline-suppr', '--error-exitcode=1',
        '--suppressions-list=tools/dev/cppcheck.supp'])
