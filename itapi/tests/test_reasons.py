#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""Compares the text that the log has for each status with the sentence in it_api.h (TAP).

Usage: test_reasons.py it_api.h ual_reasons.c
"""

import re
import sys

STATUS = re.compile(r'/\*\*((?:(?!\*/).)*?)\*/\s*(IT_(?:SUCCESS|ERR_\w+)) = \d+', re.DOTALL)
REASON = re.compile(r'\[(IT_(?:SUCCESS|ERR_\w+))\]\s*=\s*((?:"[^"\n]*"\s*)+),')


def plain(text):
    """The text in one line, without the marks of Doxygen, the capital letter at its beginning and
    the full stop at its end."""
    line = ' '.join(text.replace('\n', ' ').replace(' * ', ' ').split()).replace('#', '')
    return line[:1].lower() + line[1:].rstrip('.')


def read(path):
    with open(path, encoding='utf-8') as file:
        return file.read()


def main(header, source):
    said = {name: plain(text) for text, name in STATUS.findall(read(header))}
    logged = {name: plain(''.join(re.findall(r'"([^"]*)"', text))) for name, text in REASON.findall(read(source))}
    wrong = [f'{name}: "{logged.get(name)}" is not "{text}"' for name, text in sorted(said.items())
             if logged.get(name) != text]
    wrong += [f'{name}: it_api.h has no sentence' for name in sorted(set(logged) - set(said))]
    print('1..1')
    print(''.join(f'# {line}\n' for line in wrong), end='')
    print(f'{"ok" if said and not wrong else "not ok"} 1 - /itapi/reasons/as-in-the-header')


main(*sys.argv[1:])
