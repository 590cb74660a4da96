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


def run_analysers(checker):
    sources = sources_of('build/clang') if os.path.exists('build/clang/compile_commands.json') else []
    if not sources:
        checker.tally.skip('clang-tidy', 'nothing was built by clang')
        return
    # xargs spreads the files over the processors; run-clang-tidy would need them as patterns.
    checker.check('clang-tidy', [
        'sh', '-c', 'printf "%s\\n" "$@" | xargs -n 4 -P "$0" clang-tidy --quiet -p build/clang',
        str(checker.jobs), *sources])
    checker.check('cppcheck', [
        'cppcheck', '-q', f'-j{checker.jobs}', '--project=build/clang/compile_commands.json',
        '--library=gtk', '--library=posix', '-DG_DEFINE_QUARK(q,f)=',
        '--enable=warning,portability,performance', '--inline-suppr', '--error-exitcode=1',
        '--suppressions-list=tools/dev/cppcheck.supp', '--cppcheck-build-dir=build/logs'])


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
