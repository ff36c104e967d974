# SPDX-License-Identifier: MIT OR Apache-2.0
"""Tokens of Rust sources, in the detail that declarations and paths need."""

import re

TOKEN = re.compile(
    r"""(?P<skipped>\s+|//[^\n]*|[bc]?r(?P<hashes>\#*)".*?"(?P=hashes)|[bc]?"(?:\\.|[^"\\])*"
        |b?'(?:\\.[^']*|[^\\'])'|'\w+)
      |(?:r\#)?\w+|::|.""",
    re.VERBOSE | re.DOTALL,
)
CLOSING = {"(": ")", "[": "]", "{": "}"}
TEST_ONLY = re.compile(r"cfg\((test\)|all\(test,)")
# Keywords that begin an item, and those of items that end with a block if they have one. Anything else behind an attribute
# is a field, a variant or a statement.
BLOCKS = {"fn", "mod", "struct", "enum", "union", "trait", "impl", "macro_rules"}
ITEMS = BLOCKS | {"pub", "unsafe", "async", "extern", "const", "static", "type", "use"}


def tokens_of(text):
    """The tokens of a source with their lines, without comments, literals in quotes and lifetimes."""
    tokens, at, line = [], 0, 1
    while at < len(text):
        if text.startswith("/*", at):
            end = end_of_comment(text, at)
        else:
            match = TOKEN.match(text, at)
            end = match.end()
            if match["skipped"] is None:
                tokens.append((match[0], line))
        line += text.count("\n", at, end)
        at = end
    return tokens


def end_of_comment(text, at):
    """The position behind the block comment that begins at `at`; they nest."""
    depth = 0
    for match in re.compile(r"/\*|\*/").finditer(text, at):
        depth += 1 if match[0] == "/*" else -1
        if depth == 0:
            return match.end()
    raise ValueError("a comment is not closed")


def close_of(tokens, at):
    """The position of the bracket that closes the one at `at`."""
    open_ones = []
    for index in range(at, len(tokens)):
        token = tokens[index][0]
        if token in CLOSING:
            open_ones.append(CLOSING[token])
        elif token == open_ones[-1]:
            open_ones.pop()
            if not open_ones:
                return index
    raise ValueError(f"line {tokens[at][1]}: {tokens[at][0]} is not closed")


def without_tests(tokens):
    """The tokens without attributes, and without items that an attribute keeps for tests."""
    kept, at = [], 0
    while at < len(tokens):
        opening = opening_of_attribute(tokens, at)
        if opening is None:
            kept.append(tokens[at])
            at += 1
            continue
        end = close_of(tokens, opening)
        at = end + 1
        if TEST_ONLY.match("".join(token for token, _ in tokens[opening + 1 : end])):
            at = end_of_item(tokens, at)
    return kept


def opening_of_attribute(tokens, at):
    """The position of the bracket of the attribute that begins at `at`; none if there is no attribute."""
    opening = at + 1
    if tokens[at][0] == "#" and opening < len(tokens):
        opening += tokens[opening][0] == "!"
        if opening < len(tokens) and tokens[opening][0] == "[":
            return opening
    return None


def end_of_item(tokens, at):
    """The position behind the item, field, variant or statement that begins at `at`, with further attributes."""
    while (opening := opening_of_attribute(tokens, at)) is not None:
        at = close_of(tokens, opening) + 1
    item = tokens[at][0] in ITEMS
    block = False
    while at < len(tokens):
        token = tokens[at][0]
        block = block or (item and token in BLOCKS)
        if token in CLOSING.values():
            return at
        if token in CLOSING:
            at = close_of(tokens, at)
        if token == ";" or (token == "," and not item) or (token == "{" and block):
            return at + 1
        at += 1
    return at
