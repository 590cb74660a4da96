# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""The static analysers and the model checker, as steps of run_checks.py."""

import json
import os

import source_tree


def sources_of(folder):
    """The C files that a build folder compiles, as paths from the top."""
    with open(f'{folder}/compile_commands.json', encoding='utf-8') as file:
        commands = json.load(file)
    paths = {os.path.relpath(os.path.join(c['directory'], c['file'])) for c in commands}
    return sorted(p for p in paths if p.endswith('.c') and not p.startswith('build/'))


# In tests the macros of GTest look like deep nesting and like paths that leak, integers are mixed
# freely in comparisons, and sizes are small. check-source.py and ASan look after the first two.
# Version 14 also takes a shift of 64 bits for one of 32 after inlining; UBSan knows better.
TEST_CHECKS = ('--checks=-readability-function-size,-clang-analyzer-unix.Malloc,'
               '-clang-analyzer-core.UndefinedBinaryOperatorResult,'
               '-bugprone-signed-char-misuse,-cert-str34-c,'
               '-bugprone-implicit-widening-of-multiplication-result')


def tidy(checker, name, options, sources):
    """clang-tidy over files, spread over the processors by xargs."""
    if sources:
        checker.check(name, [
            'sh', '-c', 'jobs=$1; options=$2; shift 2; printf "%s\\n" "$@" | '
            'xargs -n 2 -P "$jobs" clang-tidy --quiet -p build/clang $options',
            'tidy', str(checker.jobs), options, *sources])


def run_analysers(checker):
    sources = sources_of('build/clang') if os.path.exists('build/clang/compile_commands.json') else []
    if not sources:
        checker.tally.skip('clang-tidy', 'nothing was built by clang')
        return
    tests = [path for path in sources if '/tests/' in path]
    tidy(checker, 'clang-tidy', '', [path for path in sources if path not in tests])
    tidy(checker, 'clang-tidy of tests', TEST_CHECKS, tests)
    checker.check('cppcheck', [
        'cppcheck', '-q', f'-j{checker.jobs}', '--project=build/clang/compile_commands.json',
        '--library=gtk', '--library=posix', '-DG_DEFINE_QUARK(q,f)=',
        '--enable=warning,portability,performance', '--inline-suppr', '--error-exitcode=1',
        '--suppressions-list=tools/dev/cppcheck.supp', '-ibuild'])


def run_models(checker):
    """Every model of a protocol between threads, walked whole."""
    for model in source_tree.files_of('.'):
        if not model.endswith('.pml'):
            continue
        name = os.path.basename(model).removesuffix('.pml')
        folder = f'build/models/{name}'
        os.makedirs(folder, exist_ok=True)
        script = (f'cd {folder} && spin -a "$OLDPWD/{model}" && gcc -O2 -DSAFETY -w -o pan pan.c && '
                  './pan -m1000000 >pan.log; cat pan.log; grep -q "errors: 0" pan.log && '
                  '! grep -q "max search depth too small" pan.log')
        checker.check(f'model {name}', ['sh', '-c', script])
