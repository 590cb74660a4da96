# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""Looks whether the links of the built manual lead somewhere, and gives anchors to members that have none.

Doxygen 1.9 links to the members of nested unions and does not mark the place where their struct lists them.
The manual is read where there is no network and no source tree, so a link that leaves its folder is broken.
"""

import html
import os
import re
import urllib.parse

LINK = re.compile(r'href="([^"#][^"]*|#[^"]+)"')
ANCHOR = re.compile(r'\b(?:id|name)="([^"]+)"')
ELSEWHERE = re.compile(r'(?!javascript:)[a-z]+:|//')
MAKER = re.compile(r'<a href="https?://www\.doxygen\.org/[^"]*">(.*?)</a>', re.DOTALL)      # in the footer of each page
INDEX = re.compile(r'<li>(\w+)&#160;:&#160;(.*?)</li>')
VARIABLE = re.compile(r'<a class="code hl_variable" href="([^"]+)">(\w+)</a>')


def read_pages(folder):
    """The text of each page, by its name."""
    pages = {}
    for name in os.listdir(folder):
        if name.endswith('.html'):
            with open(os.path.join(folder, name), encoding='utf-8', errors='replace') as file:
                pages[name] = file.read()
    return pages


def members(pages):
    """The links to members of structs and unions, with the member's name, from the pages of headers and the index.

    In a header they are in order; the index has each name of a struct once, and those without a link in the header.
    """
    texts = sorted(pages.items())
    found = {link: member for name, text in texts if name.endswith('_source.html') for link, member in VARIABLE.findall(text)}
    for name, text in texts:
        if name.startswith('functions'):
            for member, entry in INDEX.findall(text):
                for link in LINK.findall(entry):
                    found.setdefault(link, member)
    return found


def mend(folder):
    """Marks the places of members that links name and that have no anchor."""
    pages = read_pages(folder)
    anchors = {name: set(ANCHOR.findall(text)) for name, text in pages.items()}
    changed = set()
    for link, member in members(pages).items():
        page, _, anchor = link.partition('#')
        place = f'&#160;&#160;&#160;<b>{member}</b></td></tr>'     # the first row of that name without a mark
        if page in pages and anchor not in anchors[page] and place in pages[page]:
            mark = place.replace('<b>', f'<a id="{anchor}" name="{anchor}"></a><b>')
            pages[page] = pages[page].replace(place, mark, 1)
            changed.add(page)
    for page, text in pages.items():
        pages[page] = MAKER.sub(r'\1', text)
        if pages[page] != text:
            changed.add(page)
    for page in changed:
        with open(os.path.join(folder, page), 'w', encoding='utf-8') as file:
            file.write(pages[page])


def broken(folder):
    """Every link of a page in a folder that leads nowhere: (page, link), sorted."""
    pages = read_pages(folder)
    anchors = {name: set(ANCHOR.findall(text)) for name, text in pages.items()}
    found = set()
    for name, text in pages.items():
        for link in map(html.unescape, LINK.findall(text)):
            target, _, anchor = link.partition('#')
            target = urllib.parse.unquote(target) or name
            inside = os.path.normpath(os.path.join(folder, target)).startswith(os.path.normpath(folder) + os.sep)
            if link.startswith('javascript:'):
                continue
            if ELSEWHERE.match(link) or not inside:
                found.add((name, link))
            elif target not in pages:
                if not os.path.exists(os.path.join(folder, target)):
                    found.add((name, link))
            elif anchor and anchor not in anchors[target]:
                found.add((name, link))
    return sorted(found)
