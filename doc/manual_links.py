# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""Looks whether the links of the built manual lead somewhere.

Not looked at are links to other sites, and anchors inside the pages of structs and unions: Doxygen 1.9
names members of nested unions there that it does not describe.
"""

import html
import os
import re
import urllib.parse

LINK = re.compile(r'href="([^"#][^"]*|#[^"]+)"')
ANCHOR = re.compile(r'\b(?:id|name)="([^"]+)"')
ELSEWHERE = re.compile(r'[a-z]+:|//')
UNSURE = ('struct', 'union')


def broken(folder):
    """Every link of a page in a folder that leads nowhere: (page, link), sorted."""
    pages = {}
    for name in os.listdir(folder):
        if name.endswith('.html'):
            with open(os.path.join(folder, name), encoding='utf-8', errors='replace') as file:
                pages[name] = file.read()
    anchors = {name: set(ANCHOR.findall(text)) for name, text in pages.items()}
    found = set()
    for name, text in pages.items():
        for link in map(html.unescape, LINK.findall(text)):
            target, _, anchor = link.partition('#')
            target = urllib.parse.unquote(target) or name
            if ELSEWHERE.match(link):
                continue
            if target not in pages:
                if not os.path.exists(os.path.join(folder, target)):
                    found.add((name, link))
            elif anchor and anchor not in anchors[target] and not target.startswith(UNSURE):
                found.add((name, link))
    return sorted(found)
