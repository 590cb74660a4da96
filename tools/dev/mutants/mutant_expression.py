# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""Does a piece of a C expression keep its meaning when it stands in parentheses?

A mutant puts its old text in parentheses. In `pc < end + size` the text `pc < end` is not a
complete operand: parentheses around it would change the meaning of the *unmutated* code, and so
the result of every test of that build.
"""

import re

_TOKEN = re.compile(r'\s*(<<=|>>=|->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|\w+|""|\'\'|[^\s\w])')
_LEVELS = (('*', '/', '%'), ('+', '-'), ('<<', '>>'), ('<', '>', '<=', '>='), ('==', '!='), ('&',), ('^',), ('|',),
           ('&&',), ('||',), ('?', ':'), ('=', '+=', '-=', '*=', '/=', '%=', '&=', '|=', '^=', '<<=', '>>='), (',',))
_LEVEL = {operator: level for level, operators in enumerate(_LEVELS) for operator in operators}
_GROUPABLE = {'*', '+', '&', '^', '|', '&&', '||'}     # a op (b op c) is (a op b) op c
_POSTFIX = {'->', '.', '[', '(', '++', '--'}
_UNARY = {'!', '~', '-', '+', '&', '*', '++', '--', 'sizeof'}
_CAST = re.compile(r'(?<!sizeof)\(\s*(?:(?:const|volatile|unsigned|signed|struct|union|enum|_Atomic)\s+)*'
                   r'(?:\w+_t|bool|char|short|int|long|float|double|void|(?:struct|union|enum)\s+\w+|unsigned|greg_t)'
                   r'[\s*]*\)$')
_KEYWORDS = {'return', 'case', 'else', 'do', 'goto'}


def tokens_of(code):
    return _TOKEN.findall(code)


def is_operand(before):
    """Is the end of this text the end of an operand, so that an operator after it is binary?"""
    before = before.rstrip()
    if not before or _CAST.search(before):
        return False
    word = re.search(r'\w+$', before)
    return word.group(0) not in _KEYWORDS if word else before[-1] in ')]"\''


def binaries_of(code):
    """The binary operators of an expression that stand in no bracket."""
    depth, found, position = 0, [], 0
    for match in _TOKEN.finditer(code):
        token = match.group(1)
        position = match.start(1)
        if token in '([{':
            depth += 1
        elif token in ')]}':
            depth -= 1
        elif depth == 0 and token in _LEVEL and is_operand(code[:position]):
            found.append(token)
    return found


def divides(before, old, after):
    """Why `old`, which stands between `before` and `after`, is not a complete operand there; empty
    if it is one."""
    binaries = binaries_of(old)
    left, right = tokens_of(before)[-1:], tokens_of(after)[:1]
    if left and left[0] in ('->', '.'):
        return f'begins behind the {left[0]} before it'
    if not binaries:
        return ''
    loosest = max(binaries, key=lambda operator: _LEVEL[operator])
    if left and left[0] in _UNARY | set(_LEVEL):
        operator = left[0]
        text = before.rstrip()[:-len(operator)]
        if operator not in _LEVEL or not is_operand(text):
            return f'has its first operand under the {operator} before it'
        if operator == ':' and '?' in binaries:
            pass        # a choice in the last part of a choice
        elif _LEVEL[operator] < _LEVEL[loosest] or (_LEVEL[operator] == _LEVEL[loosest] and not (
                operator in _GROUPABLE and set(binaries) <= {operator} | set(sum(_LEVELS[:_LEVEL[operator]], ())))):
            return f'has its first operand bound by the {operator} before it'
    elif _CAST.search(before):
        return 'has its first operand under the cast before it'
    if right and (right[0] in _POSTFIX or (right[0] in _LEVEL and _LEVEL[right[0]] < _LEVEL[loosest])):
        return f'has its last operand bound by the {right[0]} after it'
    return ''
