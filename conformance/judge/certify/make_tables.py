#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""Makes tables for it-certify from comments in other sources.

- The title of each test of itapi/tests: the first sentence of the comment above its function. A test without one is an error.
- The meaning of each attribute of the profile: the comment of its member of struct ri_rnic_attr.

Usage: make_tables.py HEADER OUT TEST-SOURCE...
"""
import re
import sys

ADDED = re.compile(r'pair_add\w*\(\s*(?:[A-Z_0-9| \n\t]+,\s*)?"([^"]+)",\s*(\w+)\)')
COMMENT = r'/\*((?:[^*]|\*(?!/))*)\*/\nstatic void\n{}\('
MEMBER = re.compile(r'^\t(?:bool|u?int\d+_t|char)\s+(\w+)(?:\[\d+\])?;\s*/\*\*<((?:[^*]|\*(?!/))*)\*/', re.M)


def plain(comment):
    """Returns the text of a comment as one line."""
    return ' '.join(line.strip().lstrip('*').strip() for line in comment.split('\n')).strip()


def sentence(text):
    """Returns the first sentence, without its full stop and without citations."""
    text = re.sub(r'\s*\[(?:IT|RI|WIRE) [\d.]+\](?:, \[(?:IT|RI|WIRE) [\d.]+\])*', '', text)
    text = re.split(r'(?<=[a-z0-9)])\. (?=[A-Z])', text, maxsplit=1)[0].rstrip('.')
    return text if '_' in text.split()[0] else text[0].upper() + text[1:]


def titles(path):
    """(path of the test, title) of each test that a source adds."""
    with open(path, encoding='ascii') as file:
        source = file.read()
    for name, function in ADDED.findall(source):
        found = re.search(COMMENT.format(re.escape(function)), source)
        if found is None:
            sys.exit(f'{path}: {function} has no comment, which is the title of its case')
        yield name, sentence(plain(found.group(1)))


def quoted(text):
    return '"' + text.replace('\\', '\\\\').replace('"', '\\"') + '"'


def main():
    header, out, sources = sys.argv[1], sys.argv[2], sys.argv[3:]
    with open(header, encoding='ascii') as file:
        profile = re.search(r'^struct ri_rnic_attr \{(.*?)^\};', file.read(), re.M | re.S).group(1)
    profile = re.sub(r'^(\t(?:bool|u?int\d+_t))\s*\n\t\t', r'\1 ', profile, flags=re.M)
    lines = ['#include "certify_programs.h"', '', '#include <stddef.h>', '', 'const struct certify_text certify_titles[] = {']
    seen = {}
    for source in sources:
        for name, title in titles(source):
            if seen.setdefault(title, name) != name:
                sys.exit(f'{source}: {name} has the title of {seen[title]}: {title}')
            lines.append(f'\t{{{quoted(name.strip("/"))}, {quoted(title)}}},')
    lines += ['\t{NULL, NULL},', '};', '', 'const struct certify_text certify_meanings[] = {']
    for name, meaning in MEMBER.findall(profile):
        lines.append(f'\t{{{quoted(name)}, {quoted(plain(meaning).rstrip("."))}}},')
    lines += ['\t{NULL, NULL},', '};', '']
    with open(out, 'w', encoding='ascii') as file:
        file.write('\n'.join(lines))


if __name__ == '__main__':
    main()
